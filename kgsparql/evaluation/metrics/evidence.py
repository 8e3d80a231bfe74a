"""Whether the evidence has the triples that an answer must rest on, and whether the question's entities were found."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import identity
from kgsparql.evaluation.metrics.judging import Metric, f1
from kgsparql.evaluation.record import Record

_AT = 10

_RULE = (
    "Triples are equal if their terms are: IRIs by their characters, literals by value. No evidence: 0. A failed"
    " question: 0. Not defined for a question without golden triples."
)
_PLACES = (
    "The places are the triples in the order in which they are read: item after item, in each from its first to its"
    " last; a triple that was there before takes a place and is not counted again."
)
_PUBLISHED = "As in the evaluation of HubLink on ORKG, whose published figures this reproduces."

_Triple: TypeAlias = tuple[str, str, str]
_Formula: TypeAlias = Callable[[frozenset[_Triple], list[_Triple]], float]
"""Of the golden triples, and of every triple of the evidence as it is read, repeats included."""


def _golden_places(golden: frozenset[_Triple], places: list[_Triple]) -> list[int]:
    """Return the places, from 1, of the first ten that have a golden triple for the first time."""
    first = {triple: place for place, triple in reversed(list(enumerate(places[:_AT], 1)))}
    return sorted(place for triple, place in first.items() if triple in golden)


def _triple_precision(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(set(places)) if places else 0.0


def _triple_recall(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(golden)


def _average_precision(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return sum(number / place for number, place in enumerate(_golden_places(golden, places), 1)) / min(len(golden), _AT)


def _reciprocal_rank(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return next((1 / place for place in _golden_places(golden, places)), 0.0)


def _triple_metric(name: str, formula: _Formula, about: str) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        if not question.golden_triples:
            return None
        if record.status == "error":
            return 0.0
        golden = ((str(t.subject), str(t.predicate), str(t.object)) for t in question.golden_triples)
        places = [_triple_identity(triple) for item in record.evidence for triple in item.triples]
        return formula(frozenset(map(_triple_identity, golden)), places)

    return Metric(name, "evidence", "higher", value, f"{about} {_RULE}")


def _triple_identity(triple: _Triple) -> _Triple:
    return identity(triple[0]), identity(triple[1]), identity(triple[2])


def _linking_recall(first: int) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        topics = {str(topic.iri) for topic in question.topics}
        if not topics or record.linked is None:
            return None
        ranked = (list(dict.fromkeys((link.term, *link.candidates))) for link in record.linked)
        found = {term for terms in ranked for term in terms[:first]}
        return 0.0 if record.status == "error" else len(topics & found) / len(topics)

    about = (
        f"Entities of the question that are among the first {first} candidates of some mention / entities of the"
        " question. The first candidate is the entity that was taken. 1 where the entities were given to the method. A"
        " failed question: 0. Not defined for a question whose entities the dataset does not name, and for a"
        " method that does not look for entities."
    )
    return Metric(f"linking_recall@{first}", "linking", "higher", value, about)


METRICS = (
    _triple_metric(
        "triple_precision", _triple_precision, "Golden triples in the evidence / different triples in it."
    ),
    _triple_metric("triple_recall", _triple_recall, "Golden triples in the evidence / golden triples."),
    _triple_metric(
        "triple_f1", lambda golden, places: f1(_triple_precision(golden, places), _triple_recall(golden, places)),
        "2 · precision · recall / (precision + recall) of triples; 0 if both are 0.",
    ),
    _triple_metric(
        "triple_hit@10", lambda golden, places: len(_golden_places(golden, places)) / len(golden),
        f"Golden triples at the first 10 places / golden triples. {_PUBLISHED} {_PLACES}",
    ),
    _triple_metric(
        "triple_precision@10", lambda golden, places: _triple_precision(golden, places[:_AT]),
        f"Golden triples at the first 10 places / different triples at them. {_PLACES}",
    ),
    _triple_metric(
        "triple_map@10", _average_precision,
        "Sum over the first 10 places with a golden triple of (golden ones up to there / place), divided by the golden"
        f" triples, 10 at most. {_PLACES}",
    ),
    _triple_metric(
        "triple_mrr@10", _reciprocal_rank,
        f"1 / first place with a golden triple, 0 if none of the first 10 has one. {_PLACES}",
    ),
    *map(_linking_recall, (1, 3, 5, 10)),
)  # fmt: skip
