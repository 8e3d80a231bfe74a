"""Whether the entities of the question were found."""

from __future__ import annotations

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.metric import Metric
from kgsparql.evaluation.record import Record

__all__ = ["LINKING_METRICS"]


def _recall(first: int) -> Metric:
    def of(question: Question, record: Record) -> float | None:
        topics = {str(topic.iri) for topic in question.topics}
        if not topics or record.linked is None:
            return None
        ranked = ((link.term, *link.candidates) for link in record.linked)
        found = {term for terms in ranked for term in tuple(dict.fromkeys(terms))[:first]}
        return 0.0 if record.status == "error" else len(topics & found) / len(topics)

    of.__doc__ = (
        f"Entities of the question that are among the first {first} candidates of some mention / entities of the"
        " question. The first candidate is the entity that was taken. 1 where the entities were given to the method. A"
        " failed question: 0. Not defined for a question whose entities the dataset does not name, and for a"
        " method that does not look for entities."
    )
    return Metric(f"linking_recall@{first}", "linking", f"linking R@{first}", "higher", of, of.__doc__)


LINKING_METRICS = tuple(_recall(first) for first in (1, 3, 5, 10))
