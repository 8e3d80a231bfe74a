"""Predicates in sentences: what joins the two ends of a step, by the name of its predicate alone.

A name that fits no pattern is quoted and said of both ends in one neutral form, so that nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from kgsparql.linking.english_forms import PREPOSITIONS, is_past_form, plural, singular, wording

_NO_NOUN = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|not)\b")
_PLACES = frozenset({"in", "on", "at", "by", "from", "into"})
_WITH_OBJECT = re.compile(r"(\w+)(?: (\w+))? (?:the|an?) (.+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """How a step is said of its start and its end.

    :param form: ``noun``: the end is a ``text`` of the start; ``passive``: the start is ``text`` the end; ``verb``: the
        start ``text`` the end; ``quoted``: the start has the end as ``text``.
    :param object_noun: what the end is, where the name says so behind a verb: the award of *received the award*.
    :param is_inverse: the two ends change places.
    :param is_back: it walks the step before it back, and never to the same thing.
    """

    form: OneOf["noun", "passive", "verb", "quoted"]
    text: str
    object_noun: str = ""
    is_inverse: bool = False
    is_back: bool = False

    @property
    def reversed(self) -> Relation:
        """The same, from its end."""
        return replace(self, is_inverse=not self.is_inverse)

    @property
    def is_noun(self) -> bool:
        """Whether the end is a so-and-so of the start."""
        return self.form == "noun" and not self.is_inverse

    def verb(self, *, are_many: bool) -> str:
        """The words between the start and the end, which agree with the start: *is named after*, *work for*."""
        if self.form == "passive":
            return f"{'are' if are_many else 'is'} {self.text}"
        first, _, rest = self.text.partition(" ")
        if are_many and first.endswith("s") and not first.endswith("ss"):
            first = singular(first)
        return f"{first} {rest}".strip()


def relation(label: str) -> Relation:
    """How a predicate is said, by its name.

    >>> [relation(name).form for name in ("date of birth", "directed by", "worked at", "prize awarded in")]
    ['noun', 'passive', 'verb', 'quoted']
    >>> relation("has manager").text, relation("received the award"), relation("member of").is_inverse
    ('manager', Relation(form='verb', text='received', object_noun='award', is_inverse=False, is_back=False), True)
    >>> [relation(name).form for name in ("founded", "Uses Tool Support", "is located in", "cites", "has been paid")]
    ['quoted', 'quoted', 'passive', 'verb', 'quoted']
    """
    name = label.strip().replace("(s)", "")
    first, _, rest = name.partition(" ")
    if rest and first.lower() in {"is", "was", "are"}:
        own = relation(rest)
        return own if own.form == "passive" or own.is_inverse else Relation("quoted", label)
    if rest and first.lower() == "has":
        return Relation("noun", rest) if _is_plain_noun(rest) else Relation("quoted", label)
    return _with_object(name) or _by_form(name) or Relation("quoted", label)


def _with_object(name: str) -> Relation | None:
    """What a name with a verb and its object says: *received the award*, *located in the city*."""
    found = _WITH_OBJECT.fullmatch(name)
    if found is None:
        return None
    verb, preposition, noun = found.groups()
    if not is_past_form(verb) or not (preposition is None or preposition in PREPOSITIONS) or not _is_plain_noun(noun):
        return None
    said = wording(f"{verb} {preposition}") if preposition else None
    form: OneOf["passive", "verb"] = "passive" if said is not None and said.form == "passive" else "verb"
    return Relation(form, f"{verb} {preposition or ''}".strip(), noun)


def _by_form(name: str) -> Relation | None:
    """What a name says whose words are all in its English form."""
    said = wording(name) if name else None
    if said is None:
        return None
    if said.form == "of" and _squashed(name) == _squashed(f"{said.text} of"):
        return Relation("noun", name[: -len(" of")], is_inverse=True)
    if said.form in {"passive", "verb"} and _squashed(name) == _squashed(said.text):
        if " " not in name and is_past_form(name.lower()):
            return None  # "founded": by whom, or when?
        lower = name if name.split(maxsplit=1)[0].isupper() else name[0].lower() + name[1:]
        return Relation("passive" if said.form == "passive" else "verb", lower)
    return Relation("noun", name) if _squashed(name).startswith(_squashed(said.text)) and _is_plain_noun(name) else None


def _squashed(name: str) -> str:
    return re.sub("[ _]", "", name).casefold()


def _is_plain_noun(name: str) -> bool:
    """Whether a name reads as a noun: nothing in it is said to happen, but for a last word such as *received*."""
    words = re.sub(r"\s*\([^()]*\)$", "", name).lower().split()
    if not words or _NO_NOUN.search(" ".join(words)):
        return False
    if len(words) > 1 and words[1].partition("/")[0] in _PLACES:  # "present in work": no present
        return False
    inner = words[1:-1] if len(words) > 1 and words[1] not in PREPOSITIONS else words[:-1]
    return PREPOSITIONS.isdisjoint((words[0], words[-1])) and not any(is_past_form(word) for word in inner)


def many(noun: str) -> str:
    """The plural of a name; what is in brackets stays, and so does what is no English word.

    >>> many("chemical element"), many("width (mm)"), many("award received"), many("Q42"), many("Städt")
    ('chemical elements', 'widths (mm)', 'awards received', 'Q42', 'Städt')
    >>> many("sex or gender")
    'sexes or genders'
    """
    if choice := re.fullmatch(r"(\w+) (or|and) (\w+)", noun):
        return f"{many(choice[1])} {choice[2]} {many(choice[3])}"
    bare = re.sub(r"\s*\([^()]*\)$", "", noun) or noun
    rest = noun[len(bare) :]
    words = bare.split()
    if len(words) == 2 and is_past_form(words[1]):
        bare, rest = words[0], f" {words[1]}{rest}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", bare):
        return noun
    return plural(bare) + rest


def owned(nouns: Sequence[str]) -> str:
    """Nouns of which each belongs to the one before it.

    >>> owned(["author", "date of birth"]), owned(["authors", "name"])
    ("author's date of birth", "authors' name")
    """
    return " ".join([*(f"{noun}'" if noun.endswith("s") else f"{noun}'s" for noun in nouns[:-1]), nouns[-1]])


def one(noun: str) -> str:
    """A noun with its article; a plural has none.

    >>> one("university"), one("author"), one("ID"), one("Nobel Prize"), one("tags")
    ('a university', 'an author', 'an ID', 'a Nobel Prize', 'tags')
    """
    if many(noun) == noun and noun.endswith("s"):
        return noun
    is_vowel = re.match(r"[aeio]|u(?!ni|s|r)|[AEFHILMNORSX](?=[A-Z]+\b)", noun if noun[:2].isupper() else noun.lower())
    return f"{'an' if is_vowel and not noun.lower().startswith(('eu', 'one')) else 'a'} {noun}"
