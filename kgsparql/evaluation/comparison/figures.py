"""Figures of a comparison as texts, and what they come to in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS
from kgsparql.evaluation.statistics import Interval
from kgsparql.rdf.terms import printable

SHARES = ("grounded", "unsupported_claims", "abstained", "misleading", "wrong_yes_no", "partial", *ALWAYS)
"""Metrics that are shown as shares of the questions, in per cent."""


def amount(metric: str, value: float | None) -> str:
    """A figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", None)
    ('0.811', '12,346', '3.2', '–')
    """
    if value is None:
        return "–"
    if metric in {"cost", "paid_cost"}:
        return f"{value:.2f}" if value >= 1 or not value else f"{float(f'{value:.2g}'):.8f}".rstrip("0")
    if metric in SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if is_quality(metric):
        return f"{value:.3f}"
    size, is_time = abs(value), metric.startswith("seconds")
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
    text = amount(metric, abs(value))
    return f"{'-' if value < 0 else '+'}{text}" if text.strip("0.,% ") else text


def listed(names: Sequence[str]) -> str:
    """Names of rows, which may have commas themselves."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def heading(board: Leaderboard) -> str:
    """The dataset, how many questions, and whose answers."""
    counts = sorted({row.questions for row in board.rows})
    asked = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    models = sorted({row.model for row in board.rows}, key=lambda name: (not name, name))  # no model is the last
    names = printable(", ".join(name or "none" for name in models), 200)
    model = f"models: {names}" if len(models) > 1 else f"model {names}" if models[0] else "no model"
    return f"{printable(board.dataset, 100)}: {asked} {'question' if counts == [1] else 'questions'}, {model}"


def summary(board: Leaderboard) -> Iterator[str]:
    """The best row, and which rows are shown to be worse or better than the reference."""
    metric = board.primary
    has_methods = any(row.mean(metric) is not None for row in board.rows if not row.is_ceiling) if metric else False
    if board.best is not None:
        yield from _best(board, board.rows[board.best])
    elif metric and all(row.is_no_ceiling for row in board.rows if row.n):
        yield "No row is a ceiling: nobody chooses in any of them."
    elif metric and not has_methods:
        yield "No method has a figure: there are only ceilings, where an oracle chooses."
    else:
        yield "No metric of quality is defined: nobody knows the right answers."
    if board.reference is None or len(board.rows) < 2:
        return
    reference = board.rows[board.reference].name
    for verdict, words in (
        ("worse", "Shown to be worse than"), ("better", "Shown to be better than"),
        ("not shown", "Not shown to differ from"),
    ):  # fmt: skip
        tests = {i: own[metric] for i, own in board.tests.items() if metric in own}
        if names := [board.rows[i].title for i, test in tests.items() if test.verdict == verdict]:
            yield f"{words} {reference}: {listed(names)}."


def _best(board: Leaderboard, best: Row) -> Iterator[str]:
    metric = board.primary
    found = best.means[metric]
    if found is None:
        return
    tied = listed([board.rows[i].name for i in board.tied])
    why = f"{board.decided_by} decides" if board.decided_by else "nothing tells them apart"
    yield f"Best {metric}: {best.name}, {with_interval(metric, found)}{f'; tied with {tied} ({why})' if tied else ''}."
    sign = 1.0 if METRICS[metric].better == "higher" else -1.0
    above = [
        f"{row.name} ({amount(metric, own)} of {row.n:,})"
        for row in board.rows
        if not (row.is_no_ceiling or row.is_ceiling)
        and (own := row.mean(metric)) is not None
        and sign * (own - found.mean) > 1e-9
    ]
    if above:
        shared = f"the shared questions ({board.shared:,})" if board.shared else "rows with more of them"
        yield (
            f"Better only over its own questions, which are others: {listed(above)}. The best is decided on"
            f" {shared}; a row with less than half as many questions as another is left out."
        )
