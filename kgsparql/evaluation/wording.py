"""Questions in plain English for the ends of a property path, from the names of its predicates and classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from kgsparql.paths import PropertyPath, Step
from kgsparql.terms import IRI

__all__ = ["Wording", "is_person", "plural", "question_text", "singular", "wording"]

_PREPOSITIONS = frozenset("by in at on to from for with as into about near under through after against".split())
_ENDS = _PREPOSITIONS | {"of"}
_ARTICLES = frozenset({"a", "an", "the"})
_ACTIVE = frozenset(
    "acted appeared attended belonged came competed died fought graduated grew lived moved participated performed "
    "played resided served starred stayed studied taught toured trained travelled went won worked wrote".split()
)
"""Past forms that say what the subject did; others in -ed say what was done to it."""

_NOUNS_IN_ED = frozenset("bed breed creed deed feed hundred need seed shed speed weed".split())
_VERBS = frozenset(
    "affects borders causes celebrates cites contains controls covers crosses describes employs entails exemplifies "
    "follows governs holds includes influences inhibits involves knows leads mentions operates owns precedes produces "
    "publishes references regulates replaces represents requires sells shares speaks sponsors supplies supports "
    "teaches translates treats uses".split()
)
_PARTICIPLES = frozenset(
    "born found given held known led lost made owned seen sent sold spoken taken won written".split()
)
_ADJECTIVES = frozenset("adjacent close different equal equivalent next opposite related relative same similar".split())
_PERSONS = frozenset(
    "person people human man woman actor actress adviser advisor architect artist athlete author boss brother cast ceo "
    "chairperson chef child coach colleague composer creator daughter designer director doctor editor employee father "
    "founder friend husband illustrator inventor laureate lawyer leader manager mayor mentor mother musician narrator "
    "parent partner player poet politician president producer professor publisher relative researcher scientist "
    "screenwriter secretary sibling singer sister son songwriter spouse student supervisor teacher trainer wife "
    "winner writer".split()
)
_PLURALS = {"person": "people", "human": "people", "child": "children", "man": "men", "woman": "women", "cast": "cast"}
_SAME = frozenset("series species news people children men women cast".split())
_SINGULARS = {many: one for one, many in _PLURALS.items() if one != "human"}


@dataclass(frozen=True, slots=True)
class Wording:
    """How one speaks of a predicate.

    :param form: ``noun``: its object *is the* ``text`` *of* its subject; ``passive``: the subject *is* ``text`` the
        object (*located in*, *part of*); ``verb``: the subject ``text`` the object (*worked at*, *produces*).
    """

    form: OneOf["noun", "passive", "verb"]
    text: str


def wording(label: str) -> Wording | None:
    """The form that the name of a predicate has; ``None`` for one that no sentence here has a place for.

    >>> [wording(name).form for name in ("birth place", "directed by", "worked at", "part of", "produces")]
    ['noun', 'passive', 'verb', 'passive', 'verb']
    >>> [wording(n).text for n in ("has_tags", "in language", "isPartOf", "award received", "member of sports team")]
    ['tags', 'language', 'part of', 'award', 'sports team']
    >>> wording("prize awarded in") is None
    True
    >>> [wording(n).text for n in ("received the award", "located in the administrative entity", "uses method")]
    ['award', 'administrative entity', 'method']
    """
    words = _words(label)
    if len(words) > 1 and words[0] in {"is", "was", "are"}:
        words = words[1:]
    if words[-1] in _ENDS and len(words) > 1:
        return _with_end(words)
    if len(words) == 1:
        return Wording("verb" if words[0] in _VERBS or _is_past(words[0]) else "noun", words[0])
    return Wording("noun", " ".join(_noun(words)))


def _noun(words: Sequence[str]) -> Sequence[str]:
    """The noun in a name of several words that does not end with a preposition."""
    first, second, *rest = words
    if first in {"has", "have", "had", "with", "in"} or first in _VERBS:
        return _without_article(words[1:])
    if rest and (first in {"member", "kind", "type"} and second == "of"):
        return rest
    if rest and (_is_past(first) or first in _PARTICIPLES) and (second in _PREPOSITIONS or second in _ARTICLES):
        return _without_article(words[1:] if second in _ARTICLES else rest)
    return words[:-1] if _is_past(words[-1]) or words[-1] in _PARTICIPLES else words


def _without_article(words: Sequence[str]) -> Sequence[str]:
    return words[1:] if words[0] in _ARTICLES and len(words) > 1 else words


def _with_end(words: Sequence[str]) -> Wording | None:
    """Of a name that ends with a preposition: what the subject did, or is."""
    first, text = words[0], " ".join(words)
    if first in _ACTIVE or first in _VERBS or (first.endswith("s") and not first.endswith(("ss", "us"))):
        return Wording("verb", text)
    is_clause = len(words) > 2 and words[-1] != "of" and not (_is_past(first) or first in _PARTICIPLES | _ADJECTIVES)
    return None if is_clause else Wording("passive", text)


def _words(label: str) -> list[str]:
    """The words of a name in lower case, acronyms as they are; ``part(s)`` is ``parts``."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.replace("_", " ").replace("(s)", "s"))
    words = re.sub(r"\s*\([^()]*\)", "", text).split() or text.split()
    return [word if word.isupper() and len(word) > 1 else word.lower() for word in words] or [label]


def _is_past(word: str) -> bool:
    return word.endswith("ed") and len(word) > 3 and word not in _NOUNS_IN_ED


def is_person(noun: str) -> bool:
    """Whether a noun, or the last word of several, is what one calls a person.

    >>> is_person("doctoral students"), is_person("author of the book"), is_person("number of laureates")
    (True, True, False)
    """
    words = _head(noun)[0].split()
    return bool(words) and not _PERSONS.isdisjoint({words[-1], singular(words[-1])})


def plural(noun: str) -> str:
    """More than one of what a noun says; of ``place of birth`` it is the first word that changes.

    >>> [plural(noun) for noun in ("city", "person", "place of birth", "tags", "class", "doctoral student")]
    ['cities', 'people', 'places of birth', 'tags', 'classes', 'doctoral students']
    """
    head, rest = _head(noun)
    before, _, word = head.rpartition(" ")
    return f"{before} {_plural_word(word)}{rest}".strip()


def singular(noun: str) -> str:
    """One of what a noun says.

    >>> [singular(noun) for noun in ("cities", "children", "series", "genres", "classes", "status", "class")]
    ['city', 'child', 'series', 'genre', 'class', 'status', 'class']
    """
    head, rest = _head(noun)
    before, _, word = head.rpartition(" ")
    return f"{before} {_singular_word(word)}{rest}".strip()


def _head(noun: str) -> tuple[str, str]:
    found = re.search(r" (?:of|in|at|by|for|to|on|with) ", noun)
    return (noun[: found.start()], noun[found.start() :]) if found else (noun, "")


def _plural_word(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    if word in _SAME or (word.endswith("s") and _singular_word(word) != word):
        return word
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _singular_word(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word in _SAME or len(word) < 4 or word.isupper():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if re.search(r"(?:ss|x|ch|sh)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A noun phrase: the topic, or what a part of a path leads to."""

    text: str
    is_plural: bool = False

    @property
    def one(self) -> str:
        """One of them, where a question is about things that have to do with any of them."""
        return f"one of {self.text}" if self.is_plural else self.text


def question_text(
    path: PropertyPath, topic: str, said: Mapping[IRI, Wording], kinds: Sequence[str], *, several: bool
) -> str:
    """A question for the ends of a path.

    :param topic: the name of the start.
    :param said: how one speaks of the predicates.
    :param kinds: what the ends of each step are, one for each step: a class in the singular; empty if nobody knows.
    :param several: whether there is more than one answer.

    >>> at, by = IRI("http://e.org/at"), IRI("http://e.org/by")
    >>> said = {at: wording("birth place"), by: wording("directed by")}
    >>> def asked(*steps, kinds):
    ...     path = PropertyPath.of(*("^" * s.startswith("^") + {"at": at, "by": by}[s.strip("^")].value for s in steps))
    ...     return question_text(path, "Jaws", said, kinds, several=True)
    >>> asked("by", "at", kinds=["person", "city"])
    'What are the birth places of the person that Jaws was directed by?'
    >>> asked("by", "^by", kinds=["person", "film"])
    'Which other films were directed by the person that Jaws was directed by?'
    >>> asked("^at", kinds=["person"])
    'Which people have Jaws as birth place?'
    """
    phrase = _Phrase(_quoted(topic))
    for i, step in enumerate(path.steps[:-1]):
        phrase = _phrase(step, phrase, said[step.predicate], kinds[i], is_back=_is_back(path, i))
    last = len(path) - 1
    step = path.steps[last]
    text = _asked(step, phrase, said[step.predicate], kinds[last], several, is_back=_is_back(path, last))
    return text[0].upper() + text[1:]


def _is_back(path: PropertyPath, i: int) -> bool:
    return i > 0 and path.steps[i].inverts(path.steps[i - 1])


def _quoted(topic: str) -> str:
    """A name that would not be seen as one stands in quotes."""
    if len(topic.split()) <= 5 and not re.search(r"[?!:;,]", topic):
        return topic
    return f'"{topic}"' if '"' not in topic else f"'{topic}'" if "'" not in topic else topic


def _phrase(step: Step, of: _Phrase, said: Wording, kind: str, *, is_back: bool) -> _Phrase:
    """What a step leads to from what a phrase names."""
    other = "other " if is_back else ""
    be = _be(said.text, plural_=of.is_plural)
    if step.direction == "forward":
        if said.form == "noun":
            noun = plural(said.text) if is_back else said.text
            return _Phrase(f"the {other}{noun} of {of.text}", noun != singular(noun))
        what = f"the {other}{kind or 'thing'}"
        if said.form == "passive":
            return _Phrase(f"{what} that {of.text} {be} {said.text}")
        return _Phrase(f"{what} that {of.text} {_verb(said.text, plural_=of.is_plural)}")
    what = f"the {other}{plural(kind or 'thing')}"
    if said.form == "noun":
        return _Phrase(f"{what} whose {singular(said.text)} is {of.one}", is_plural=True)
    if said.form == "passive":
        between = "that are " if said.text.endswith(" of") else ""
        return _Phrase(f"{what} {between}{said.text} {of.one}", is_plural=True)
    return _Phrase(f"{what} that {_verb(said.text, plural_=True)} {of.one}", is_plural=True)


def _asked(step: Step, of: _Phrase, said: Wording, kind: str, several: bool, *, is_back: bool) -> str:
    """The question for what a step leads to from what a phrase names."""
    other = "other " if is_back else ""
    what = f"which {other}{plural(kind) if several else kind}" if kind else f"what {'else ' if is_back else ''}".strip()
    if step.direction == "forward" and said.form == "noun":
        noun = plural(said.text) if several else said.text
        who = "who" if is_person(kind or said.text) else "what"
        return f"{who} {'are' if noun != singular(noun) else 'is'} the {other}{noun} of {of.text}?"
    if step.direction == "forward":
        if said.form == "verb":
            things = (
                f"the {other}{plural(kind) if several else kind}" if kind else f"everything {'else ' * is_back}".strip()
            )
            return f"name {things} that {of.text} {_verb(said.text, plural_=of.is_plural)}."
        if is_person(kind) and said.text.endswith(" by"):
            what = f"who {'else ' * is_back}".strip()
        return f"{what} {_be(said.text, plural_=of.is_plural)} {of.text} {said.text}?"
    if said.form == "noun":
        if of.is_plural and is_person(kind):
            return f"{'who else has a' if is_back else 'whose'} {singular(said.text)} {'that ' * is_back}is {of.one}?"
        return f"{what} {'have' if several and kind else 'has'} {of.one} as {singular(said.text)}?"
    if said.form == "passive":
        return f"{what} {_be(said.text, plural_=several and bool(kind))} {said.text} {of.one}?"
    return f"{what} {_verb(said.text, plural_=several and bool(kind))} {of.one}?"


def _be(text: str, *, plural_: bool) -> str:
    """What has been done is in the past, what is so is in the present."""
    is_past = text.endswith(" by") or text.startswith("born ")
    return ("were" if plural_ else "was") if is_past else ("are" if plural_ else "is")


def _verb(text: str, *, plural_: bool) -> str:
    """A verb in the present that agrees with its subject; others as they are.

    >>> _verb("belongs to", plural_=True), _verb("worked at", plural_=True)
    ('belong to', 'worked at')
    """
    first, _, rest = text.partition(" ")
    if plural_ and first.endswith("s") and not first.endswith("ss"):
        first = _singular_word(first)
    return f"{first} {rest}".strip()
