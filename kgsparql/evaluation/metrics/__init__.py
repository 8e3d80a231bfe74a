"""Metrics: pure functions of a question and a record, so that a new one scores old runs.

A metric stands in the ``METRICS`` of one of the files beside this one; open :mod:`.metric` first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from types import MappingProxyType

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.metric import Better, Group, Metric
from kgsparql.evaluation.record import Record

__all__ = ["METRICS", "WITHOUT_TEXT", "Better", "Group", "Metric", "scores"]

_FILES = ("answers", "evidence", "trust", "costs", "text")

METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for file in _FILES for metric in import_module(f"{__name__}.{file}").METRICS}
)
"""All metrics by name, in the order of a table."""

WITHOUT_TEXT: frozenset[Group] = frozenset({"answer", "evidence", "linking", "grounding", "cost"})
"""The groups that need no extra package."""


def scores(question: Question, record: Record, *, groups: Collection[Group] = WITHOUT_TEXT) -> dict[str, float | None]:
    """The figures of one question by name of the metric; ``None`` where one is not defined for it.

    :raises InputError: if ``text`` is among them and its packages are not installed.
    """
    return {name: metric.of(question, record) for name, metric in METRICS.items() if metric.group in groups}
