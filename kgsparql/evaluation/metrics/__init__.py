"""Metrics: pure functions of a question and a record, so that a new one scores old runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.answers import ANSWER_METRICS
from kgsparql.evaluation.metrics.costs import COST_METRICS
from kgsparql.evaluation.metrics.evidence import EVIDENCE_METRICS
from kgsparql.evaluation.metrics.links import LINKING_METRICS
from kgsparql.evaluation.metrics.metric import Better, Group, Metric
from kgsparql.evaluation.metrics.text import TEXT_METRICS, prepare
from kgsparql.evaluation.metrics.trust import GROUNDING_METRICS
from kgsparql.evaluation.record import Record

__all__ = ["METRICS", "WITHOUT_TEXT", "Better", "Group", "Metric", "prepare", "scores"]

_ALL = (*ANSWER_METRICS, *EVIDENCE_METRICS, *LINKING_METRICS, *GROUNDING_METRICS, *COST_METRICS, *TEXT_METRICS)

METRICS: Mapping[str, Metric] = MappingProxyType({m.name: m for m in _ALL})
"""All metrics by name, in the order of a table."""

WITHOUT_TEXT: frozenset[Group] = frozenset({"answer", "evidence", "linking", "grounding", "cost"})
"""The groups that need no extra package."""


def scores(question: Question, record: Record, *, groups: Collection[Group] = WITHOUT_TEXT) -> dict[str, float | None]:
    """The figures of one question by name of the metric; ``None`` where one is not defined for it.

    :param groups: those of the metrics that are wanted.
    :raises InputError: if ``text`` is wanted and its packages are not installed.
    """
    return {name: metric.of(question, record) for name, metric in METRICS.items() if metric.group in groups}
