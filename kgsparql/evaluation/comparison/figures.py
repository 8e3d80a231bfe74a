"""Figures of a comparison as texts."""

from __future__ import annotations

from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS
from kgsparql.evaluation.statistics import Interval

__all__ = ["SHARES", "amount", "is_quality", "p_text", "signed", "with_interval"]

SHARES = ("grounded", "unsupported_claims", "abstained", "partial", *ALWAYS)
"""Metrics that are told as shares of the questions, in per cent."""

_MONEY = frozenset({"cost", "paid_cost"})


def amount(metric: str, value: float | None) -> str:
    """A figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", None)
    ('0.811', '12,346', '3.2', '–')
    """
    if value is None:
        return "–"
    if metric in _MONEY:
        return f"{value:.2f}" if value >= 1 or not value else f"{float(f'{value:.2g}'):.8f}".rstrip("0")
    if metric in SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if is_quality(metric):
        return f"{value:.3f}"
    is_time = metric.startswith("seconds")
    size = abs(value)
    digits = 0 if size >= 100 or not size else 3 if size < 0.01 else 2 if size < (10 if is_time else 0.1) else 1
    return f"{value:,.{digits}f}"


def p_text(p: float) -> str:
    """A probability in three digits.

    >>> p_text(0.03), p_text(0.0002)
    ('p=0.030', 'p<0.001')
    """
    return "p<0.001" if p < 0.001 else f"p={p:.3f}"


def is_quality(metric: str) -> bool:
    """Whether it belongs into the table of quality."""
    return METRICS[metric].group != "cost" and metric not in SHARES


def with_interval(metric: str, found: Interval | None) -> str:
    """A mean with its interval in brackets."""
    if found is None:
        return "–"
    return f"{amount(metric, found.mean)} ({amount(metric, found.low)}–{amount(metric, found.high)})"


def signed(metric: str, value: float) -> str:
    """A difference with its sign.

    >>> signed("hits@1", -0.1), signed("hits@1", 0.1), signed("hits@1", -0.0001)
    ('-0.100', '+0.100', '0.000')
    """
    shown = amount(metric, abs(value))
    is_nothing = not shown.strip("0.,% ")
    return shown if is_nothing else f"{'-' if value < 0 else '+'}{shown}"
