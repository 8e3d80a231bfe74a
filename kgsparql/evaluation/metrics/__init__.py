"""Metrics: pure functions of a question and a record, so that a new one scores old runs.

A metric stands in the ``METRICS`` of one of the files beside this one; open :mod:`.judging` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kgsparql.evaluation.metrics import answers, trust
from kgsparql.evaluation.metrics.judging import Metric

__all__ = ["METRICS", "Metric"]

METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in (*answers.METRICS, *trust.METRICS)})
"""All metrics by name, in the order of a table."""
