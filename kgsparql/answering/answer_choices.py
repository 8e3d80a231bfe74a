"""What a model may name as the answer, by numbers: groups first, then each term that the evidence shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgsparql.answering.answer import MAX_CHOICES, AnswerTerm, Retrieval
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence
from kgsparql.linking.answer_type import expected_kind
from kgsparql.rdf.terms import Term, printable
from kgsparql.rdf.vocabulary import is_mediator

_SHOWN = 120  # terms of the evidence that get a number; candidates that it does not show are added up to MAX_CHOICES
_SAMPLE = 200  # terms from which the kind of a group is taken, those whose classes are known
_FITS = 0.5  # how well, in [0, 1], the kind of a group fits what is asked for, to come first


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One thing that may be the answer, or several together.

    :param markers: the items of evidence that it is in.
    """

    name: str
    terms: tuple[Term, ...]
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Terms that stand at the same place of an item."""

    name: str
    terms: tuple[Term, ...]
    marker: str


def answer_choices(retrieval: Retrieval, session: Session) -> list[AnswerChoice]:
    """The numbered choices of a retrieval, always the same: of the kind that is asked for first, the entities last.

    Groups are all ends of an item, and all terms at a place on the way to them. Each term that the text of an item
    shows has a number of its own, the entities that the question names too, since they may be what is asked for.
    """
    places = list(_places(retrieval.evidence))
    asked = _of_asked_kind(places, session)
    wanted = {term for place in asked for term in place.terms}
    groups: dict[frozenset[Term], AnswerChoice] = {}
    for place in sorted(places, key=lambda place: place not in asked):
        if len(place.terms) > 1:
            choice = AnswerChoice(f"all {len(place.terms):,} {place.name}", place.terms, (place.marker,))
            groups.setdefault(frozenset(place.terms), choice)
    singles = [AnswerChoice(a.shown, (a.term,), a.markers) for a in _single_answers(retrieval, session)]
    return [*groups.values(), *sorted(singles, key=lambda choice: choice.terms[0] not in wanted)]


def answers_of(choices: Sequence[AnswerChoice], retrieval: Retrieval, session: Session) -> tuple[AnswerTerm, ...]:
    """The terms of chosen choices, each once: candidates as they are, others with the markers of their choice."""
    known = {candidate.term: candidate for candidate in retrieval.candidates}
    labels = session.labels((t for choice in choices for t in choice.terms if t not in known), in_grace=True)
    found = {t: known.get(t) or AnswerTerm(t, labels[t], markers=c.markers) for c in choices for t in c.terms}
    return tuple(found.values())


def _places(evidence: Evidence) -> Iterator[_Place]:
    for item in evidence:
        yield _Place(f"at the end of {item.marker}", item.ends, item.marker)
        for step, terms in enumerate(item.between, 1):
            where = "in the middle" if len(item.between) == 1 else f"after step {step}"
            yield _Place(f"{where} of {item.marker}", terms, item.marker)


def _of_asked_kind(places: Sequence[_Place], session: Session) -> list[_Place]:
    """The places whose terms are, for the most part, of the kind that the question asks for."""
    expected = expected_kind(session.question)
    kinds = session.labels.majority_types(
        [[(term,) for term in place.terms[:_SAMPLE]] for place in places], in_grace=True, ask=False
    )
    fits = session.fit(expected, [kind[0] if kind else "" for kind in kinds])
    best = max(fits, default=0.0)
    return [place for place, fit in zip(places, fits, strict=True) if fit == best >= _FITS]


def _single_answers(retrieval: Retrieval, session: Session) -> list[AnswerTerm]:
    """The candidates that the evidence shows, other terms that it shows, more candidates, and the linked entities."""
    terms = (term for triple in retrieval.evidence.triples for term in (triple.subject, triple.object))
    labels = session.labels(terms, in_grace=True)
    markers: dict[Term, list[str]] = {}
    for item in retrieval.evidence:
        for term in dict.fromkeys(t for c in item.triples for t in (c.triple.subject, c.triple.object)):
            if not is_mediator(term) and printable(labels[term], 120) in item.text:
                markers.setdefault(term, []).append(item.marker)
    linked = {link.term: link.label for link in session.links}
    known = {candidate.term for candidate in retrieval.candidates}
    shown = [candidate for candidate in retrieval.candidates if candidate.term in markers]
    shown += [
        AnswerTerm(t, labels[t], markers=tuple(own)) for t, own in markers.items() if t not in known and t not in linked
    ]
    unseen = [c for c in retrieval.candidates if c.term not in markers][: max(0, MAX_CHOICES - len(shown))]
    asked_about = [
        AnswerTerm(term, label, markers=tuple(markers[term]))
        for term, label in linked.items() if term in markers and term not in known
    ]  # fmt: skip
    return [*shown[:_SHOWN], *unseen, *asked_about]
