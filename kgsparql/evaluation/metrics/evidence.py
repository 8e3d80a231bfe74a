"""Whether the evidence has the triples that an answer must rest on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import identity
from kgsparql.evaluation.metrics.metric import Metric, f1
from kgsparql.evaluation.record import Record

__all__ = ["EVIDENCE_METRICS"]

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


@dataclass(frozen=True, slots=True)
class _Found:
    """Golden triples, and what is in the evidence.

    :param places: every triple as it is read, repeats included.
    """

    golden: frozenset[_Triple]
    places: tuple[_Triple, ...]

    @property
    def retrieved(self) -> dict[_Triple, None]:
        """The different triples, in their order."""
        return dict.fromkeys(self.places)

    @property
    def hits(self) -> list[int]:
        """The places, from 1, of the first ten that have a golden triple for the first time."""
        seen: set[_Triple] = set()
        hits = []
        for place, triple in enumerate(self.places[:_AT], 1):
            if triple in self.golden and triple not in seen:
                hits.append(place)
            seen.add(triple)
        return hits


def _precision(found: _Found) -> float:
    retrieved = found.retrieved
    return len(found.golden & retrieved.keys()) / len(retrieved) if retrieved else 0.0


def _recall(found: _Found) -> float:
    return len(found.golden.intersection(found.places)) / len(found.golden)


def _f1(found: _Found) -> float:
    return f1(_precision(found), _recall(found))


def _hit(found: _Found) -> float:
    return len(found.hits) / len(found.golden)


def _any(found: _Found) -> float:
    return float(bool(found.hits))


def _first_recall(found: _Found) -> float:
    return len(found.golden.intersection(islice(found.retrieved, _AT))) / len(found.golden)


def _first_precision(found: _Found) -> float:
    first = set(found.places[:_AT])
    return len(found.golden & first) / len(first) if first else 0.0


def _average_precision(found: _Found) -> float:
    sums = sum(number / place for number, place in enumerate(found.hits, 1))
    return sums / min(len(found.golden), _AT)


def _reciprocal_rank(found: _Found) -> float:
    return 1 / found.hits[0] if found.hits else 0.0


def _metric(name: str, title: str, formula: Callable[[_Found], float], about: str) -> Metric:
    def of(question: Question, record: Record) -> float | None:
        if not question.golden_triples:
            return None
        if record.status == "error":
            return 0.0
        golden = ((str(t.subject), str(t.predicate), str(t.object)) for t in question.golden_triples)
        places = (_equal(triple) for item in record.evidence for triple in item.triples)
        return formula(_Found(frozenset(map(_equal, golden)), tuple(places)))

    of.__doc__ = f"{about} {_RULE}"
    return Metric(name, "evidence", title, "higher", of, of.__doc__)


def _equal(triple: _Triple) -> _Triple:
    return identity(triple[0]), identity(triple[1]), identity(triple[2])


EVIDENCE_METRICS = (
    _metric("triple_precision", "triple P", _precision, "Golden triples in the evidence / different triples in it."),
    _metric("triple_recall", "triple R", _recall, "Golden triples in the evidence / golden triples."),
    _metric(
        "triple_f1", "triple F1", _f1, "2 · precision · recall / (precision + recall) of triples; 0 if both are 0."
    ),
    _metric(
        "triple_hit@10",
        "triple hit@10",
        _hit,
        f"Golden triples at the first 10 places / golden triples. {_PUBLISHED} {_PLACES}",
    ),
    _metric("triple_any@10", "triple any@10", _any, f"Whether a golden triple is at the first 10 places. {_PLACES}"),
    _metric(
        "triple_recall@10",
        "triple R@10",
        _first_recall,
        "Golden triples among the first 10 different triples / golden triples: as hit@10, but a triple that several"
        " items share takes one place.",
    ),
    _metric(
        "triple_precision@10",
        "triple P@10",
        _first_precision,
        f"Golden triples at the first 10 places / different triples at them. {_PLACES}",
    ),
    _metric(
        "triple_map@10",
        "triple MAP@10",
        _average_precision,
        "Sum over the first 10 places with a golden triple of (golden ones up to there / place), divided by the golden"
        f" triples, 10 at most. {_PLACES}",
    ),
    _metric(
        "triple_mrr@10",
        "triple MRR@10",
        _reciprocal_rank,
        f"1 / first place with a golden triple, 0 if none of the first 10 has one. {_PLACES}",
    ),
)
