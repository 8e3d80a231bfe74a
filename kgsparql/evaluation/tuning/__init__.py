"""Options chosen on one part of the questions, and measured on the other.

Open :mod:`.tuning` first, then :mod:`.trials` (which setting is the best).
"""

from kgsparql.evaluation.tuning.tuning import Bench, tune

__all__ = ["Bench", "tune"]
