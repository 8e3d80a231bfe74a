"""Whether what was found is of the kind that a question asks for: a time, an amount, a place, a person, a thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.answer_type import WHAT_ONE_DOES, expected_kind
from kgsparql.linking.words import root, words
from kgsparql.rdf.terms import Literal, Term, normalised

_Likeness: TypeAlias = NDArray[np.floating]

_NEAR = 0.42
"""How alike, as a cosine, the kind that is asked for and the name of the last step are, so that it says that kind."""

_PLACE_NEAR = 0.36
"""The same, of the last step and a place."""

_IS_KIND = 0.5
"""How alike the kind that is asked for and the name of a class are at least, so that the class is of that kind."""
_KIND_NEARER = 0.15
"""How much more alike another class must be, so that its members are rather what is asked for."""
_SAMPLE = 20
"""Ends of an item whose kind is looked up."""
_TIME = re.compile(r"^when\b|\b(?:what|which) (?:year|date|day)\b")
_AMOUNT = re.compile(r"\bhow (?:much|long|tall|high|heavy|far|big|large|deep|wide)\b")
_THING = re.compile(r"who|whom|where|(?:in )?which (?!year|date|day|number|age)")
_NO_KIND = r"(?:kinds?|types?|sorts?|is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b"
_ASKS_FOR_KIND = re.compile(rf"^who|\b(?:what|which) (?!{_NO_KIND})[^\W\d]+")
"""A question for people, or for things of a kind that it names; `where` has answers of many kinds."""
_PLACE = re.compile(r"^where\b|\bbirthplace\b|\bplace of\b")
_YEAR = re.compile(r"\d{3,4}")
_FIGURE = re.compile(r"[\d.,:TZ+-]*\d[\d.,:TZ+-]*")
_CODE = re.compile(r"[^\W\d]{0,3}[^\w]?\d[\d.,:TZ+-]*")
"""A number, a date, or an identifier such as `P-01`."""
_EITHER = ("organization", "company")
_SORTS = {
    "who": (*_EITHER, *"person,people,group band,artist,winner".split(",")),
    "where": ("organization", *"place location city country region building university venue".split()),
    "": tuple("song album film book document award event product class number species".split()),
}
"""What is called people and places, and what is neither; what belongs to the other question counts as neither, too."""
_CLEARLY = 0.1
"""How much more like something else a kind must be, so that it is not what `who` or `where` asks for."""
_SORT_NEAR = 0.36
"""How alike the name of a step and people or places are at least, so that it leads to such."""
_NAMES = frozenset(map(root, ("name", "names", "called", "title", "label", "surname", "known")))
_COUNTS = re.compile(r"\b(?:number|count|amount|total)\b", re.IGNORECASE)
_LISTS = frozenset(map(root, ("list", "set", "group", "collection", "sequence", "series")))
"""What nodes are called that only hold several things."""


def kind_gaps(session: Session, best: EvidenceItem, found: Retrieval, steps: Sequence[str]) -> Iterator[Gap]:
    """A question for a time, an amount or a thing, and ends that cannot be one, or are less like one than others."""
    asked = " ".join(session.question.casefold().split())
    literals = [end.value for end in best.ends if isinstance(end, Literal)]
    names = session.labels(best.ends[:_SAMPLE], in_grace=True).values()
    wanted = expected_kind(session.question)
    if _is_own_name(asked, literals, best, session):
        yield Gap("kind", "", "what was found is only the name of what is asked about")
    elif steps and names and all(_is_list_of(name, steps[-1]) for name in names):
        yield Gap("kind", "", "what was found is a list of what is asked for, and not what is in it")
    elif (asks := _TIME.search(asked)) and not any(map(_YEAR.search, (*names, *literals))):
        yield Gap("kind", asks[0], "this asks for a time, and what was found is none")
    elif (asks := _AMOUNT.search(asked)) and not any(map(_FIGURE.search, (*names, *literals))):
        yield Gap("kind", asks[0], "this asks for an amount, and what was found is none")
    elif _PLACE.search(asked) and literals and all(map(_CODE.fullmatch, literals)):
        yield Gap("kind", "place", "this asks for a place, and what was found is none")
    elif asked.startswith("where") and literals and not _says_place(steps, session):
        yield Gap("kind", "where", "this asks for a place, and nothing says that what was found is one")
    elif sort_gap := sort_gap_of(asked, best.ends, _forward_step(best, steps), session):
        yield sort_gap
    elif wanted == WHAT_ONE_DOES and root("profession") not in {
        root(word) for step in steps for word in words(normalised(step))
    }:
        yield Gap("kind", "do", "this asks what somebody does, and what was found does not say that")
    elif (asks := _THING.match(asked)) and best.ends and len(literals) == len(best.ends):
        step = [name for name in steps[-1:] if not _COUNTS.search(name)]
        is_said = bool(wanted) and float(session.ranker.similarities([wanted], step).max(initial=0.0)) >= _NEAR
        if not is_said and all(map(_CODE.fullmatch, literals)):
            yield Gap("kind", asks[0], f"this asks for {wanted or 'a thing'}, and what was found are numbers or dates")
    elif (
        _ASKS_FOR_KIND.search(asked)
        and session.ranker.by_meaning
        and (better := _nearer_kind(wanted, best, found, session))
    ):
        yield Gap("kind", wanted, f"this asks for {wanted!r}, and {better} is nearer to that")


def _is_own_name(asked: str, literals: Sequence[str], best: EvidenceItem, session: Session) -> bool:
    """Whether all that was found is how the thing that the question is about is called, and no name is asked for."""
    if not literals or len(literals) < len(best.ends) or not _NAMES.isdisjoint(map(root, words(asked))):
        return False
    starts = session.labels({path.start for path in best.paths}, in_grace=True).values()
    names = set(map(normalised, starts))
    if asked.startswith("who"):  # nor is the family name of somebody anybody else
        names.update(word for name in list(names) for word in words(name))
    return set(map(normalised, literals)) <= names


def _is_list_of(name: str, step: str) -> bool:
    """Whether a name only says that it is of several of what a step leads to: *authors list*."""
    more = set(map(root, words(normalised(name)))) - set(map(root, words(normalised(step))))
    return bool(more) and more <= _LISTS


def sort_gap_of(asked: str, ends: Sequence[Term], steps: Sequence[str], session: Session) -> Gap | None:
    """The doubt that what was found is not somebody where `who` asks, or no place where `where` does.

    :param ends: what was found; of literals the name of the step says what they are, of things without a class nothing.
    :param steps: the name of the predicate that they are the values of; empty where they are none.
    """
    sort = next((sort for sort in ("who", "where") if re.match(rf"{sort}m?\b", asked)), "")
    if not sort or not ends:
        return None
    (kinds,) = session.labels.shared_types([ends[:_SAMPLE]], in_grace=True)
    said = [*kinds, *steps]
    if not said or not (kinds or all(isinstance(end, Literal) for end in ends)):
        return None
    others = [name for own, names in _SORTS.items() if own != sort for name in names if name not in _EITHER]
    nearer, mine = _nearer(said, _SORTS[sort], others, session)
    is_said = bool(steps) and mine[-1] >= _SORT_NEAR and nearer[-1] < _CLEARLY
    if is_said or (nearer[: len(kinds) or 1] < _CLEARLY).any():
        return None
    wanted = "somebody" if sort == "who" else "a place"
    return Gap("kind", asked.split(maxsplit=1)[0], f"this asks for {wanted}, and what was found is {said[0]!r}")


def _nearer(
    said: Sequence[str], wanted: Sequence[str], others: Sequence[str], session: Session
) -> tuple[_Likeness, _Likeness]:
    """How much more names are like others than like what is wanted, and how much they are like that."""
    if session.ranker.by_meaning:
        mine = session.ranker.similarities(said, wanted).max(axis=1)
        return session.ranker.similarities(said, others).max(axis=1) - mine, mine
    last = [root(own[-1]) if (own := words(normalised(name))) else "" for name in said]
    mine, other = (np.array([word in set(map(root, names)) for word in last], float) for names in (wanted, others))
    return other - mine, mine


def _forward_step(best: EvidenceItem, steps: Sequence[str]) -> Sequence[str]:
    """The name of the last step, where its values are what was found."""
    return steps[-1:] if best.paths and best.paths[0].property_path.steps[-1].direction == "forward" else []


def _says_place(steps: Sequence[str], session: Session) -> bool:
    """Whether the last step is named like a place; always where only words are compared."""
    alike = session.ranker.similarities(steps[-1:], ["place location"]).max(initial=0.0)
    return not session.ranker.by_meaning or bool(alike >= _PLACE_NEAR)


def _nearer_kind(wanted: str, best: EvidenceItem, found: Retrieval, session: Session) -> str:
    """The class and marker of what is much more of the wanted kind than the ends of the best item; else empty."""
    items = [best, *(item for item in found.evidence if item.paths and item.ends and item.marker != best.marker)]
    kinds = session.labels.shared_types([item.ends[:_SAMPLE] for item in items], in_grace=True)
    names = list(dict.fromkeys(name for own in kinds for name in own))
    alike = dict(zip(names, session.ranker.similarities(names, [wanted])[:, 0].tolist(), strict=True))
    nearest = [max(own, key=alike.__getitem__, default="") for own in kinds]
    scores = [alike.get(name, 0.0) for name in nearest]
    other = scores.index(max(scores))
    is_much_nearer = nearest[0] and scores[other] >= _IS_KIND and scores[other] - scores[0] >= _KIND_NEARER
    return f"{nearest[other]} ({items[other].marker})" if is_much_nearer else ""
