"""Options chosen on one part of the questions, and judged on the other."""

from kgsparql.evaluation.tuning.tuning import Bench, tune

__all__ = ["Bench", "tune"]
