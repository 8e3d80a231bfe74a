"""What a comparison comes to, in a few sentences: which row is best, what is as good, who is shown to be worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgsparql.evaluation.comparison.figures import amount, with_interval
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row
from kgsparql.evaluation.metrics import METRICS
from kgsparql.rdf.terms import printable

__all__ = ["heading", "listed", "summary"]


def heading(leaderboard: Leaderboard) -> str:
    """The dataset, how many questions, and whose answers."""
    counts = sorted({row.questions for row in leaderboard.rows})
    asked = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    models = sorted({row.model for row in leaderboard.rows}, key=lambda name: (not name, name))  # no model is the last
    names = printable(", ".join(name or "none" for name in models), 200)
    model = f"models: {names}" if len(models) > 1 else f"model {names}" if models[0] else "no model"
    return f"{printable(leaderboard.dataset, 100)}: {asked} {'question' if counts == [1] else 'questions'}, {model}"


def summary(leaderboard: Leaderboard) -> Iterator[str]:
    """The best row, and who is shown to be worse than it."""
    metric = leaderboard.primary
    has_methods = (
        any(row.mean(metric) is not None for row in leaderboard.rows if not row.is_ceiling) if metric else False
    )
    if leaderboard.best is None and metric and all(row.is_no_ceiling for row in leaderboard.rows if row.n):
        yield "No row is a ceiling: nobody chooses in any of them."
    elif leaderboard.best is None and metric and not has_methods:
        yield "No method has a figure: there are only ceilings, where an oracle chooses."
    elif leaderboard.best is None:
        yield "No metric of quality is defined: nobody knows the right answers."
    else:
        yield from _best(leaderboard, leaderboard.rows[leaderboard.best])
    if leaderboard.reference is None or len(leaderboard.rows) < 2:
        return
    reference = leaderboard.rows[leaderboard.reference]
    for verdict, words in (("worse", "worse than"), ("better", "better than"), ("not shown", "")):
        names = [
            leaderboard.rows[i].title
            for i, by_metric in leaderboard.tests.items()
            if metric in by_metric and by_metric[metric].verdict == verdict
        ]
        if names and words:
            yield f"Shown to be {words} {reference.name}: {listed(names)}."
        elif names:
            yield f"Not shown to differ from {reference.name}: {listed(names)}."


def listed(names: Sequence[str]) -> str:
    """Names of rows, which may have commas themselves."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def _best(leaderboard: Leaderboard, best: Row) -> Iterator[str]:
    """The best row, what is as good, and what is above it without being better."""
    metric = leaderboard.primary
    found = best.means[metric]
    if found is None:
        return
    tied = listed([leaderboard.rows[i].name for i in leaderboard.tied])
    why = f"{leaderboard.decided_by} decides" if leaderboard.decided_by else "nothing tells them apart"
    yield f"Best {metric}: {best.name}, {with_interval(metric, found)}{f'; tied with {tied} ({why})' if tied else ''}."
    sign = 1.0 if METRICS[metric].better == "higher" else -1.0
    above = [
        f"{row.name} ({amount(metric, own)} of {row.n:,})"
        for row in leaderboard.rows
        if not (row.is_no_ceiling or row.is_ceiling)
        and (own := row.mean(metric)) is not None
        and sign * (own - found.mean) > 1e-9
    ]
    if above:
        shared = f"the shared questions ({leaderboard.shared:,})" if leaderboard.shared else "rows with more of them"
        yield (
            f"Better only over its own questions, which are others: {listed(above)}. The best is decided on"
            f" {shared}; a row with less than half as many questions as another is left out."
        )
