"""English words for predicates and classes: the forms of their names, and what a name says of the two ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.words import IRREGULAR

PREPOSITIONS = frozenset(
    "about after against as at before by during for from in into near on since than through to under until via with "
    "within".split()
)
_ENDS = PREPOSITIONS | {"of"}
_ARTICLES = frozenset({"a", "an", "the"})
_ACTIVE = frozenset(
    "acted appeared attended began belonged came competed debuted died ended fought graduated grew joined lived moved "
    "participated performed played resided resigned retired served starred started stayed studied taught toured "
    "trained travelled went won worked wrote".split()
)
"""Past forms of what the subject does; others in -ed say what is done to it."""

_TO_SOMETHING = frozenset("applies belongs consists depends leads refers relates".split())
"""Verbs whose object stands behind a preposition, and may be named after it: *applies to jurisdiction*."""

_NOUNS_IN_ED = frozenset("bed breed creed deed feed hundred need seed shed speed weed".split())
_VERBS = frozenset(
    "affects borders causes celebrates cites contains controls covers crosses describes employs entails exemplifies "
    "follows governs holds includes influences inhibits involves knows leads mentions need needs operates owns "
    "precedes produces provides publishes references regulates replaces represents requires sells shares speaks "
    "sponsors supplies supports teaches translates treats uses".split()
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

_PLURALS = {one: many for many, one in IRREGULAR.items() if many != "persons"} | {"cast": "cast"}
_SAME = frozenset(
    "series species news people children men women cast hardware software equipment information staff music data "
    "metadata media research knowledge evidence".split()
)


def name_words(label: str) -> list[str]:
    """The words of a name in lower case, acronyms as they are; ``part(s)`` is ``parts``.

    >>> [" ".join(name_words(label)) for label in ("University", "TV_Series", "ScientificArticle")]
    ['university', 'TV series', 'scientific article']
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.replace("_", " ").replace("(s)", "s"))
    text = re.sub(r"\b([Ss]ub|[Ss]uper) ([Cc]lass|[Pp]roperty)", r"\1\2", text)
    words = re.sub(r"\s*\([^()]*\)", "", text).split() or text.split()
    return [word if word.isupper() and len(word) > 1 else word.lower() for word in words] or [label]


def is_past_form(word: str) -> bool:
    """Whether a word is a past form or a participle.

    >>> [word for word in ("founded", "born", "seed", "won", "wins") if is_past_form(word)]
    ['founded', 'born', 'won']
    """
    is_regular = word.endswith("ed") and len(word) > 3 and word not in _NOUNS_IN_ED
    return is_regular or word in _ACTIVE | _PARTICIPLES


def is_person(noun: str) -> bool:
    """Whether a noun is a word for persons.

    >>> is_person("doctoral students"), is_person("author of the book"), is_person("number of laureates")
    (True, True, False)
    """
    words = _head(noun)[0].split()
    return bool(words) and not _PERSONS.isdisjoint({words[-1], singular(words[-1])})


def plural(noun: str) -> str:
    """The plural of a noun; in ``place of birth`` the first word changes.

    >>> [plural(noun) for noun in ("city", "person", "place of birth", "tags", "class", "doctoral student")]
    ['cities', 'people', 'places of birth', 'tags', 'classes', 'doctoral students']
    """
    return _with_head(noun, _plural_word)


def singular(noun: str) -> str:
    """The singular of a noun.

    >>> [singular(noun) for noun in ("cities", "children", "series", "genres", "classes", "campuses", "spouses")]
    ['city', 'child', 'series', 'genre', 'class', 'campus', 'spouse']
    """
    return _with_head(noun, _singular_word)


def _with_head(noun: str, changed: Callable[[str], str]) -> str:
    head, rest = _head(noun)
    before, _, word = head.rpartition(" ")
    return f"{before} {changed(word)}{rest}".strip()


def _head(noun: str) -> tuple[str, str]:
    found = re.search(r" (?:of|in|at|by|for|to|on|with) ", noun)
    return (noun[: found.start()], noun[found.start() :]) if found else (noun, "")


def _plural_word(word: str) -> str:
    low = word.lower()
    if low in _PLURALS:
        return word[0] + _PLURALS[low][1:]
    if low in _SAME or low in IRREGULAR or (word.endswith("s") and _singular_word(word) != word):
        return word
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _singular_word(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in _SAME or len(word) < 4 or word.isupper():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if re.search(r"(?:ss|x|ch|sh|[^aeo]us)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


_NO_NOUN = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|not)\b")
_PLACES = frozenset({"in", "on", "at", "by", "from", "into"})
_WITH_OBJECT = re.compile(r"(\w+(?: \w+)?) (?:the|an?) (.+)")
_BRACKETS = re.compile(r"\s*\([^()]*\)$")


def marked(**features: object) -> set[str]:
    """Those of some features that are so."""
    return {*filter(features.get, features)}


@frozen
class Relation:
    """How a step is said of its start and its end.

    :param form: ``noun``: the end is a ``text`` of the start; ``passive``: the start is ``text`` the end; ``verb``: the
        start ``text`` the end; ``quoted``: the start has the end as ``text``;
        ``flag``: that ``text`` is so of the start, or not.
    :param thing: what the end is, where that is known: the award of *received the award*.
    :param holder: whose the noun is, of several nouns in a row, of which ``thing`` is the last.
    :param is_inverse: the two ends change places.
    :param is_of: the name says of the start what it is of the end: *member of*.
    :param is_back: it walks the step before it back, and never to the same thing.
    """

    form: str
    text: str
    thing: str = ""
    holder: str = ""
    is_inverse: bool = False
    is_of: bool = False
    is_back: bool = False

    @property
    def reversed(self) -> Relation:
        """The same, from its end."""
        return replace(self, is_inverse=not self.is_inverse)

    @property
    def is_noun(self) -> bool:
        """Whether the end is a so-and-so of the start."""
        return self.form == "noun" and not self.is_inverse

    @property
    def features(self) -> set[str]:
        """What rules ask of it."""
        first, second = f"{self.text} ".split(" ")[:2]
        return {self.form, f"'{self.text}'", f"{first.lower()}…"} | marked(
            inverse=self.is_inverse, of=self.is_of, back=self.is_back, owned=self.holder, thing=self.thing,
            done=second in {"by", "been"} or first == "born" or is_past_form(second),
            list=singular(self.text) != self.text,
        )  # fmt: skip


def relation(label: str) -> Relation:
    """How a predicate is said, by its name.

    >>> [relation(name).form for name in ("date of birth", "directed by", "worked at", "prize awarded in")]
    ['noun', 'passive', 'verb', 'quoted']
    >>> relation("has manager").text, relation("received the award").thing, relation("member of").is_inverse
    ('manager', 'award', True)
    >>> [relation(name).form for name in ("founded", "Uses Tool Support", "is located in", "cites", "has been paid")]
    ['quoted', 'quoted', 'passive', 'verb', 'quoted']
    """
    name = label.strip().replace("(s)", "")
    first, _, rest = name.partition(" ")
    found = None
    if rest and first.lower() in {"is", "was", "are"}:
        own = relation(rest)
        found = own if own.form == "passive" or own.is_inverse else None
    elif rest and first.lower() == "has":
        found = Relation("noun", rest) if _is_plain_noun(rest) else None
    elif name:
        found = _with_object(name) or _by_form(name)
    return found or Relation("quoted", label)


def _with_object(name: str) -> Relation | None:
    """What a name with a verb and its object says: *received the award*, *located in the city*."""
    found = _WITH_OBJECT.fullmatch(name)
    if found is None or not (is_past_form(found[1].split()[0]) and _is_plain_noun(found[2])):
        return None
    own = relation(found[1]) if " " in found[1] else Relation("verb", found[1])
    return replace(own, thing=found[2]) if own.form in {"passive", "verb"} else None


def _by_form(name: str) -> Relation | None:
    """What a name says whose words are all in its English form."""
    words = name_words(name)
    words = words[:-1] if len(words) > 1 and words[-1] == "includes" else words
    said, (first, second) = " ".join(words), (*words, "")[:2]
    own, whole = _squashed(name), _squashed(said)
    if re.search(r" [–—-] ", name) or (second and first in {"is", "was", "are"}):
        return None
    if second and words[-1] in _ENDS:
        return _with_end(words) if own == whole else None
    if second and first in {"can", "may"}:
        return Relation("verb", said) if own == whole and len(words) == 2 else None
    if not second and (first in _VERBS or is_past_form(first)):  # "founded": by whom, or when?
        return Relation("verb", said) if own == whole and first in _VERBS else None
    is_verb = second and (first in _VERBS or first in {"has", "have", "had", "with", "in"})
    if len(words) > 2 and not is_verb:
        is_done = is_past_form(first) and first not in _ACTIVE
        is_verb = (
            (first in {"member", "kind", "type"} and second == "of")
            or (is_done and second in PREPOSITIONS | _ARTICLES)
            or (first in _TO_SOMETHING and second in _ENDS)
        )
    return Relation("noun", name) if not is_verb and own.startswith(whole) and _is_plain_noun(name) else None


def _with_end(words: Sequence[str]) -> Relation | None:
    """What a name says that ends with a preposition."""
    first, text = words[0], " ".join(words)
    if first in _ACTIVE or first in _VERBS or (first.endswith("s") and not first.endswith(("ss", "us"))):
        return Relation("verb", text)
    is_done = is_past_form(first)
    if words[-1] == "of" and not (is_done and (len(words) == 2 or words[1] in PREPOSITIONS | {"up"})):
        return Relation("noun", " ".join(words[:-1]), is_inverse=True, is_of=True)
    return Relation("passive", text) if is_done or len(words) == 2 or first in _ADJECTIVES else None


def _squashed(name: str) -> str:
    return re.sub("[ _]", "", name).casefold()


def _is_plain_noun(name: str) -> bool:
    """Whether a name reads as a noun: nothing in it is said to happen, but for a last word such as *received*."""
    words = _BRACKETS.sub("", name).lower().split()
    if not words or _NO_NOUN.search(" ".join(words)):
        return False
    if len(words) > 1 and words[1].partition("/")[0] in _PLACES:  # "present in work": no present
        return False
    inner = words[1:-1] if len(words) > 1 and words[1] not in PREPOSITIONS else words[:-1]
    return PREPOSITIONS.isdisjoint((words[0], words[-1])) and not any(map(is_past_form, inner))


def folded(steps: Sequence[Relation]) -> list[Relation]:
    """Steps, of which nouns in a row are one.

    >>> [step.text for step in folded([Relation("noun", "author"), Relation("noun", "date of birth")])]
    ["author's date of birth"]
    """
    found = list[Relation]()
    for step in steps:
        if not (found and found[-1].is_noun and step.is_noun):
            found.append(step)
            continue
        holder = found.pop()
        text, is_back = f"{owning(holder.text)} {step.text}", holder.is_back or step.is_back
        found.append(replace(step, text=text, holder=holder.text, thing=step.text, is_back=is_back))
    return found


def many(noun: str) -> str:
    """The plural of a name; what is in brackets stays, and so does what is no English word.

    >>> many("chemical element"), many("width (mm)"), many("award received"), many("Q42"), many("Städt")
    ('chemical elements', 'widths (mm)', 'awards received', 'Q42', 'Städt')
    >>> many("sex or gender")
    'sexes or genders'
    """
    if choice := re.fullmatch(r"(\w+) (or|and) (\w+)", noun):
        return f"{many(choice[1])} {choice[2]} {many(choice[3])}"
    bare = _BRACKETS.sub("", noun) or noun
    rest = noun[len(bare) :]
    words = bare.split()
    if len(words) == 2 and is_past_form(words[1]):
        bare, rest = words[0], f" {words[1]}{rest}"
    return plural(bare) + rest if re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", bare) else noun


def owning(noun: str) -> str:
    """A noun before what belongs to it.

    >>> owning("author"), owning("authors")
    ("author's", "authors'")
    """
    return f"{noun}'" if noun.endswith("s") else f"{noun}'s"


def one(noun: str) -> str:
    """A noun with its article; a plural has none.

    >>> one("university"), one("author"), one("ID"), one("Nobel Prize"), one("tags")
    ('a university', 'an author', 'an ID', 'a Nobel Prize', 'tags')
    """
    if many(noun) == noun and noun.endswith("s"):
        return noun
    is_vowel = re.match(r"[aeio]|u(?!ni|s|r)|[AEFHILMNORSX](?=[A-Z]+\b)", noun if noun[:2].isupper() else noun.lower())
    return f"{'an' if is_vowel and not noun.lower().startswith(('eu', 'one')) else 'a'} {noun}"


def bare(verb: str) -> str:
    """A verb as it stands behind a plural.

    >>> bare("belongs to"), bare("worked at"), bare("lives in")
    ('belong to', 'worked at', 'live in')
    """
    first, _, rest = verb.partition(" ")
    return f"{first.removesuffix('s') if first in IRREGULAR else singular(first)} {rest}".strip()
