"""Whether a graph gives the gold answers of a dataset. Open :mod:`.validation` first."""

from kgsparql.evaluation.validation.validation import Finding, answered, missing_share, validate

__all__ = ["Finding", "answered", "missing_share", "validate"]
