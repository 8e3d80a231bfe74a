"""English words for predicates and classes: the grammatical forms of their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass
from kgsparql.linking.words import IRREGULAR

PREPOSITIONS = frozenset(
    "about after against as at before by during for from in into near on since than through to under until via with "
    "within".split()
)
_ENDS = PREPOSITIONS | {"of"}
_ARTICLES = frozenset({"a", "an", "the"})
_PRESENT = dict(
    pair.split("/")
    for pair in "acted/act appeared/appear attended/attend began/begin belonged/belong came/come competed/compete "
    "debuted/debut died/die ended/end fought/fight graduated/graduate grew/grow joined/join lived/live moved/move "
    "participated/participate performed/perform played/play resided/reside resigned/resign retired/retire "
    "served/serve starred/star started/start stayed/stay studied/study taught/teach toured/tour trained/train "
    "travelled/travel went/go won/win worked/work wrote/write".split()
)
_ACTIVE = frozenset(_PRESENT)
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
_OF_PERSONS = frozenset(
    "birth date|birth place|birthplace|brother|cause of death|child|citizenship|country of citizenship|date of birth|"
    "date of death|death date|death place|deathplace|ethnicity|father|gender|husband|mother|nationality|parent|"
    "partner|place of birth|place of burial|place of death|profession|religion|sibling|sister|spouse|wife".split("|")
)
_BY_PERSONS = re.compile(
    r"knows|born(?: in| on| at)?|wrote|(?:works|worked) (?:at|for)|(?:employed|married|educated|raised) \w+"
    r"|(?:graduated|studies|studied|teaches|taught) \w+"
)
"""Predicates that only people are subjects of: by a noun, and by what is done."""

_PLURALS = {one: many for many, one in IRREGULAR.items() if many != "persons"} | {"human": "people", "cast": "cast"}
_SAME = frozenset(
    "series species news people children men women cast hardware software equipment information staff music data "
    "metadata media research knowledge evidence".split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for a predicate.

    :param form: ``noun``: its object *is the* ``text`` *of* its subject; ``passive``: the subject *is* ``text`` the
        object (*located in*); ``verb``: the subject ``text`` the object (*worked at*, *produces*); ``of``: the subject
        is a ``text`` of the object (*part*, *member*).
    """

    form: OneOf["noun", "passive", "verb", "of"]
    text: str


def wording(label: str) -> Wording | None:
    """The words for a predicate by its name; ``None`` if no question can be made of it.

    >>> [wording(name).form for name in ("birth place", "directed by", "worked at", "part of", "produces")]
    ['noun', 'passive', 'verb', 'of', 'verb']
    >>> [wording(n).text for n in ("has_tags", "in language", "isPartOf", "award received", "member of sports team")]
    ['tags', 'language', 'part', 'award', 'sports team']
    >>> wording("prize awarded in") is None
    True
    >>> [wording(n).text for n in ("applies to jurisdiction", "service produced or provided", "born")]
    ['jurisdiction', 'service', 'born']
    >>> [wording(n).text for n in ("received the award", "located in the administrative entity", "uses method")]
    ['award', 'administrative entity', 'method']
    """
    words = _words(re.split(r" [–—-] ", label)[-1])  # the last part of a name with a dash says what the object is
    if len(words) > 1 and words[0] in {"is", "was", "are"}:
        words = list(_without_article(words[1:]))
    if len(words) > 1 and words[-1] == "includes":
        words = words[:-1]
    if len(words) > 1 and words[0] in {"can", "may"}:
        return Wording("verb", " ".join(words[:2]))
    if words[-1] in _ENDS and len(words) > 1:
        return _with_end(words)
    if len(words) == 1:
        if words[0] == "born":
            return Wording("passive", "born")
        is_verb = words[0] in _VERBS | _ACTIVE or _is_past(words[0])
        return Wording("verb" if is_verb else "noun", words[0])
    return Wording("noun", " ".join(_noun(words)))


def _noun(words: Sequence[str]) -> Sequence[str]:
    """The noun in a name of several words that does not end with a preposition."""
    first, second, *rest = words
    if first in {"has", "have", "had", "with", "in"} or first in _VERBS:
        return _without_article(words[1:])
    if rest and (first in {"member", "kind", "type"} and second == "of"):
        return rest
    if rest and (_is_past(first) or first in _PARTICIPLES) and (second in PREPOSITIONS or second in _ARTICLES):
        return _without_article(words[1:] if second in _ARTICLES else rest)
    if rest and first in _TO_SOMETHING and second in _ENDS:
        return _without_article(rest)
    end = len(words)
    while end > 1 and (_is_past(words[end - 1]) or words[end - 1] in _PARTICIPLES | {"or", "and"}):
        end -= 1
    return words[:end]


def _without_article(words: Sequence[str]) -> Sequence[str]:
    return words[1:] if words[0] in _ARTICLES and len(words) > 1 else words


def _with_end(words: Sequence[str]) -> Wording | None:
    """The words for a predicate whose name ends with a preposition."""
    first, text = words[0], " ".join(words)
    if first in _ACTIVE or first in _VERBS or (first.endswith("s") and not first.endswith(("ss", "us"))):
        return Wording("verb", text)
    is_made_of = (_is_past(first) or first in _PARTICIPLES) and (len(words) == 2 or words[1] in PREPOSITIONS | {"up"})
    if words[-1] == "of" and not is_made_of:
        return Wording("of", " ".join(words[:-1]))
    is_clause = len(words) > 2 and not (_is_past(first) or first in _PARTICIPLES | _ADJECTIVES)
    return None if is_clause else Wording("passive", text)


def _words(label: str) -> list[str]:
    """The words of a name in lower case, acronyms as they are; ``part(s)`` is ``parts``."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.replace("_", " ").replace("(s)", "s"))
    text = re.sub(r"\b([Ss]ub|[Ss]uper) ([Cc]lass|[Pp]roperty)", r"\1\2", text)
    words = re.sub(r"\s*\([^()]*\)", "", text).split() or text.split()
    return [word if word.isupper() and len(word) > 1 else word.lower() for word in words] or [label]


def is_past_form(word: str) -> bool:
    """Whether a word is a past form or a participle.

    >>> [word for word in ("founded", "born", "seed", "won", "wins") if is_past_form(word)]
    ['founded', 'born', 'won']
    """
    return _is_past(word) or word in _ACTIVE | _PARTICIPLES


def _is_past(word: str) -> bool:
    return word.endswith("ed") and len(word) > 3 and word not in _NOUNS_IN_ED


def when_asked(predicate: Wording, of: str, *, are_many: bool) -> str:
    """The question for the date of an event; empty if the predicate is a noun, or not in the past.

    >>> shop = "the shop"
    >>> [when_asked(wording(n), shop, are_many=False) for n in ("founded", "opened on", "died", "price", "sells")]
    ['when was the shop founded?', 'when was the shop opened?', 'when did the shop die?', '', '']
    """
    words = predicate.text.split()
    while len(words) > 1 and words[-1] in PREPOSITIONS:
        words.pop()
    if predicate.form not in {"passive", "verb"} or len(words) != 1:
        return ""
    if words[0] in _PRESENT:
        return f"when did {of} {_PRESENT[words[0]]}?"
    is_done = _is_past(words[0]) or words[0] in _PARTICIPLES
    return f"when {'were' if are_many else 'was'} {of} {words[0]}?" if is_done else ""


def is_done_by_persons(predicate: Wording) -> bool:
    """Whether only people are subjects of a predicate.

    >>> [is_done_by_persons(wording(name)) for name in ("works at", "knows", "spouse", "located in", "works with")]
    [True, True, True, False, False]
    """
    if predicate.form == "noun":
        return singular(predicate.text) in _OF_PERSONS
    return predicate.form in {"verb", "passive"} and _BY_PERSONS.fullmatch(predicate.text) is not None


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
    head, rest = _head(noun)
    before, _, word = head.rpartition(" ")
    return f"{before} {_plural_word(word)}{rest}".strip()


def singular(noun: str) -> str:
    """The singular of a noun.

    >>> [singular(noun) for noun in ("cities", "children", "series", "genres", "classes", "campuses", "spouses")]
    ['city', 'child', 'series', 'genre', 'class', 'campus', 'spouse']
    """
    head, rest = _head(noun)
    before, _, word = head.rpartition(" ")
    return f"{before} {_singular_word(word)}{rest}".strip()


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
