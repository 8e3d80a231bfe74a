"""Predicates in sentences: what joins the two ends of a step, by the name of its predicate alone.

A name that fits no pattern is quoted and said of both ends in one neutral form, so that nothing is made up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from kgsparql.linking.english_forms import PREPOSITIONS, is_past_form, plural, singular, wording

_NO_NOUN = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|not)\b")
_WITH_OBJECT = re.compile(r"(\w+)(?: (\w+))? (?:the|an?) (.+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """How a step is said of its start and its end.

    :param form: ``noun``: the end is a ``text`` of the start; ``passive``: the start is ``text`` the end; ``verb``: the
        start ``text`` the end; ``quoted``: the start has the end as ``text``.
    :param object_noun: what the end is, where the name says so behind a verb: the award of *received the award*.
    :param is_inverse: the two ends change places.
    """

    form: OneOf["noun", "passive", "verb", "quoted"]
    text: str
    object_noun: str = ""
    is_inverse: bool = False

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
    ('manager', Relation(form='verb', text='received', object_noun='award', is_inverse=False), True)
    >>> [relation(name).form for name in ("founded", "Uses Tool Support", "is located in", "cites", "has been paid")]
    ['quoted', 'quoted', 'passive', 'verb', 'quoted']
    """
    name = label.strip()
    words = name.split()
    if with_object := _WITH_OBJECT.fullmatch(name):
        first, second, noun = with_object.groups()
        if is_past_form(first) and (second is None or second in PREPOSITIONS) and _is_plain_noun(noun):
            form = wording(f"{first} {second}") if second else None
            is_passive = form is not None and form.form == "passive"
            return Relation("passive" if is_passive else "verb", " ".join(filter(None, (first, second))), noun)
    rest = " ".join(words[1:])
    if rest and words[0].lower() in {"is", "was", "are"}:
        own = relation(rest)
        return own if own.form == "passive" or own.is_inverse else Relation("quoted", label)
    if rest and words[0].lower() == "has":
        return Relation("noun", rest) if _is_plain_noun(rest) else Relation("quoted", label)
    said = wording(name) if name else None
    if said is not None and said.form == "of" and _squashed(name) == _squashed(f"{said.text} of"):
        return Relation("noun", name[: -len(" of")], is_inverse=True)
    if said is not None and said.form in {"passive", "verb"} and _squashed(name) == _squashed(said.text):
        is_said_of_both = len(words) == 1 and is_past_form(name.lower())  # "founded": by whom, or when?
        lower = name if words[0].isupper() else name[0].lower() + name[1:]
        if is_said_of_both:
            return Relation("quoted", label)
        return Relation("passive" if said.form == "passive" else "verb", lower)
    is_noun = said is not None and _squashed(name).startswith(_squashed(said.text)) and _is_plain_noun(name)
    return Relation("noun", name) if is_noun else Relation("quoted", label)


def _squashed(name: str) -> str:
    return re.sub("[ _]", "", name).casefold()


def _is_plain_noun(name: str) -> bool:
    """Whether a name reads as a noun: nothing in it is said to happen, but for a last word such as *received*."""
    words = re.sub(r"\s*\([^()]*\)$", "", name).lower().split()
    if not words or _NO_NOUN.search(" ".join(words)):
        return False
    inner = words[1:-1] if len(words) > 1 and words[1] not in PREPOSITIONS else words[:-1]
    return PREPOSITIONS.isdisjoint((words[0], words[-1])) and not any(is_past_form(word) for word in inner)


def many(noun: str) -> str:
    """The plural of a name; what is in brackets stays, and so does what is no English word.

    >>> many("chemical element"), many("width (mm)"), many("award received"), many("Q42"), many("Städt")
    ('chemical elements', 'widths (mm)', 'awards received', 'Q42', 'Städt')
    """
    bare = re.sub(r"\s*\([^()]*\)$", "", noun) or noun
    rest = noun[len(bare) :]
    words = bare.split()
    if len(words) == 2 and is_past_form(words[1]):
        bare, rest = words[0], f" {words[1]}{rest}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", bare):
        return noun
    return plural(bare) + rest


def one(noun: str) -> str:
    """A noun with its article; a plural has none.

    >>> one("university"), one("author"), one("ID"), one("Nobel Prize"), one("tags")
    ('a university', 'an author', 'an ID', 'a Nobel Prize', 'tags')
    """
    if many(noun) == noun and noun.endswith("s"):
        return noun
    is_vowel = re.match(r"[aeio]|u(?!ni|s|r)|[AEFHILMNORSX](?=[A-Z]+\b)", noun if noun[:2].isupper() else noun.lower())
    return f"{'an' if is_vowel and not noun.lower().startswith(('eu', 'one')) else 'a'} {noun}"
