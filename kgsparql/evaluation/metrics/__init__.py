"""Metrics: pure functions of a question and a record, so that a new one scores old runs.

A metric stands in the ``METRICS`` of one of the files beside this one; open :mod:`.judging` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from kgsparql.evaluation.metrics.judging import Metric

__all__ = ["METRICS", "Metric"]

_FILES = ("answers", "trust")

METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for file in _FILES for metric in import_module(f"{__name__}.{file}").METRICS}
)
"""All metrics by name, in the order of a table."""
