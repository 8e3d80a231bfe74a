"""Whether a graph gives the gold answers of a dataset."""

from kgsparql.evaluation.validation.validation import Finding, answered, missing_share, validate

__all__ = ["Finding", "answered", "missing_share", "validate"]
