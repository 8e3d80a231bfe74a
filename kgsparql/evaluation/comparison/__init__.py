"""Runs side by side: tables, tests, plots, reports.

Open :mod:`.comparison` first, then :mod:`.tables`, which every format shows.
"""

from kgsparql.evaluation.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
