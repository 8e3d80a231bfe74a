"""What a comparison comes to, in a few sentences: which row is best, what is as good, who is shown to be worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgsparql.evaluation.comparison.figures import amount, with_interval
from kgsparql.evaluation.comparison.standing import Row, Standing
from kgsparql.evaluation.metrics import METRICS
from kgsparql.rdf.terms import printable

__all__ = ["heading", "listed", "summary"]


def heading(standing: Standing) -> str:
    """The dataset, how many questions, and whose answers."""
    counts = sorted({row.questions for row in standing.rows})
    asked = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    models = sorted({row.model for row in standing.rows}, key=lambda name: (not name, name))  # no model is the last
    names = printable(", ".join(name or "none" for name in models), 200)
    model = f"models: {names}" if len(models) > 1 else f"model {names}" if models[0] else "no model"
    return f"{printable(standing.dataset, 100)}: {asked} {'question' if counts == [1] else 'questions'}, {model}"


def summary(standing: Standing) -> Iterator[str]:
    """The best row, and who is shown to be worse than it."""
    metric = standing.primary
    has_methods = any(row.mean(metric) is not None for row in standing.rows if not row.is_ceiling) if metric else False
    if standing.best is None and metric and all(row.is_no_ceiling for row in standing.rows if row.n):
        yield "No row is a ceiling: nobody chooses in any of them."
    elif standing.best is None and metric and not has_methods:
        yield "No method has a figure: there are only ceilings, where an oracle chooses."
    elif standing.best is None:
        yield "No metric of quality is defined: nobody knows the right answers."
    else:
        yield from _best(standing, standing.rows[standing.best])
    if standing.reference is None or len(standing.rows) < 2:
        return
    reference = standing.rows[standing.reference]
    for verdict, words in (("worse", "worse than"), ("better", "better than"), ("not shown", "")):
        names = [
            standing.rows[i].title
            for i, by_metric in standing.versus.items()
            if metric in by_metric and by_metric[metric].verdict == verdict
        ]
        if names and words:
            yield f"Shown to be {words} {reference.name}: {listed(names)}."
        elif names:
            yield f"Not shown to differ from {reference.name}: {listed(names)}."


def listed(names: Sequence[str]) -> str:
    """Names of rows, which may have commas themselves."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def _best(standing: Standing, best: Row) -> Iterator[str]:
    """The best row, what is as good, and what is above it without being better."""
    metric = standing.primary
    found = best.means[metric]
    if found is None:
        return
    tied = listed([standing.rows[i].name for i in standing.tied])
    why = f"{standing.decided_by} decides" if standing.decided_by else "nothing tells them apart"
    yield f"Best {metric}: {best.name}, {with_interval(metric, found)}{f'; tied with {tied} ({why})' if tied else ''}."
    sign = 1.0 if METRICS[metric].better == "higher" else -1.0
    above = [
        f"{row.name} ({amount(metric, own)} of {row.n:,})"
        for row in standing.rows
        if not (row.is_no_ceiling or row.is_ceiling)
        and (own := row.mean(metric)) is not None
        and sign * (own - found.mean) > 1e-9
    ]
    if above:
        shared = f"the shared questions ({standing.shared:,})" if standing.shared else "rows with more of them"
        yield (
            f"Better only over its own questions, which are others: {listed(above)}. The best is decided on"
            f" {shared}; a row with less than half as many questions as another is left out."
        )
