"""Runs side by side: tables, tests, plots, reports."""

from kgsparql.evaluation.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
