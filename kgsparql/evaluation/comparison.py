"""Runs side by side: the mean of each metric, and how far each method is from the best, with an interval.

Runs are scored from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.run_directory import Run
from kgsparql.linking.words import counted
from kgsparql.rdf.literals import aligned
from kgsparql.rdf.terms import Json, distinct, grouped, printable

_ALWAYS = ("without_model", "fallbacks", "truncated", "failed")  # figures mean little without them
_USUAL = """
    hits@1 expected_hits@1 f1 precision recall exact triple_recall linking_recall@1 grounded abstained misleading
    wrong_yes_no partial model_calls tokens queries seconds
""".split()
_COMPARED = 3  # metrics of which differences are shown: more are not read
_RESAMPLES = 2_000

Key = tuple[str, str]
"""A question, by its id and its text."""


@frozen
class Row:
    """A method of a run.

    :param name: tells it from the others beside it.
    :param scores: of each question that it was asked, the metrics; ``None`` where one is not defined.
    """

    name: str
    method: str
    model: str
    run: Run
    scores: Mapping[Key, Mapping[str, float | None]]

    def values(self, metric: str) -> dict[Key, float]:
        """Return the metric of each question that has one."""
        return {key: own for key, scores in self.scores.items() if (own := scores[metric]) is not None}

    def mean(self, metric: str) -> float:
        """Average a metric over all questions; not a number where none has one."""
        found = self.values(metric).values()
        return sum(found) / len(found) if found else math.nan


class Difference(NamedTuple):
    """How much more the first of two methods has, over the ``n`` questions of both, with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


def difference(row: Row, other: Row, metric: str) -> Difference | None:
    """Compare two methods on the questions that both were asked; ``None`` if there are none.

    The questions are drawn again and again, with what both made of each. Where few differ, that alone would say that
    methods are certainly equal: of a share, one question more that each method won is drawn, too.
    """
    first, second = row.values(metric), other.values(metric)
    apart = np.array([value - second[key] for key, value in first.items() if key in second])
    if not apart.size:
        return None
    drawn = apart if METRICS[metric].group == "cost" else np.append(apart, (1.0, -1.0))
    random = np.random.default_rng(0)
    means = [drawn[random.integers(drawn.size, size=drawn.size)].mean() for _ in range(_RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(float(apart.mean()), float(low), float(high), apart.size)


@frozen
class Comparison:
    """The figures of one dataset.

    :param rows: the best first, by the first of the metrics.
    """

    dataset: str
    rows: tuple[Row, ...]
    metrics: tuple[str, ...]

    @property
    def defined(self) -> list[str]:
        """The metrics that any question has."""
        return [metric for metric in self.metrics if any(row.values(metric) for row in self.rows)]

    def differences(self) -> dict[tuple[str, str], Difference]:
        """Compare each row with the best, by its name and metric, in the first metrics."""
        best, *others = self.rows
        metrics = [metric for metric in self.defined if metric not in _ALWAYS][:_COMPARED]
        found = {(row.name, metric): difference(row, best, metric) for row in others for metric in metrics}
        return {place: own for place, own in found.items() if own}


def compare(runs: Iterable[Run], *, metrics: Sequence[str] = ()) -> list[Comparison]:
    """Score runs and set them side by side, dataset by dataset.

    :param metrics: those to show, ``all`` for all there are; the first decides which row is the best.
    :raises OptionError: for a metric that is not there.
    :raises InputError: if no question was answered.
    """
    for name in metrics:
        if name not in METRICS and name != "all":
            raise OptionError(f"no metric {printable(name, 60)!r}", hint=f"there are: all, {', '.join(METRICS)}")
    shown = distinct((*(METRICS if "all" in metrics else metrics or _USUAL), *_ALWAYS))
    return [
        Comparison(printable(dataset, 100), _ordered_rows(scored_rows(own, shown), shown[0]), shown)
        for dataset, own in grouped((run.dataset, run) for run in runs).items()
    ]


def scored_rows(runs: Iterable[Run], metrics: Sequence[str]) -> list[Row]:
    """Score each question of each method of runs of one dataset.

    :raises InputError: if no question was answered.
    """
    rows = []
    for run in runs:
        questions = {question.id: question for question in run.questions}
        for method in run.methods:
            scores = {
                (id_, questions[id_].text): {metric: METRICS[metric].of(questions[id_], record) for metric in metrics}
                for id_, record in run.records(method).items()
            }
            rows.append(Row(method, method, printable(run.model, 100), run, scores))
    if not any(row.scores for row in rows):
        where = ", ".join(str(row.run.path) for row in rows)
        raise InputError(f"{where}: no question has been answered yet", hint="run it again into another directory")
    # By the method, then the model, then the run, as far as they are needed.
    models = grouped((row.method, row.model) for row in rows)
    names = [f"{r.method}, {r.model or 'no model'}" if len({*models[r.method]}) > 1 else r.method for r in rows]
    return [
        replace(row, name=f"{name} ({printable(row.run.path, 200)})" if names.count(name) > 1 else name)
        for name, row in zip(names, rows, strict=True)
    ]


def _ordered_rows(rows: Iterable[Row], metric: str) -> tuple[Row, ...]:
    def order(row: Row) -> tuple[bool, float]:
        mean = row.mean(metric)
        return math.isnan(mean), mean if METRICS[metric].better == "lower" else -mean

    return tuple(sorted(rows, key=order))


# -- As JSON and text ----------------------------------------------------------------------------------------


def comparison_lines(comparisons: Iterable[Comparison]) -> Iterator[Json]:
    """Yield an object for each row: who it is, its means, and how far it is from the best (``versus``)."""
    for found in comparisons:
        apart = found.differences()
        for row in found.rows:
            line: Json = {"dataset": found.dataset, "name": row.name, "method": row.method, "model": row.model}
            line |= {
                "run": printable(row.run.path.resolve().name, 200),
                "asked": len(row.scores),
                "of": len(row.run.questions),
            }
            for metric in found.metrics:
                line[metric] = None if math.isnan(mean := row.mean(metric)) else round(mean, 6)
                if own := apart.get((row.name, metric)):
                    parts = zip(("difference", "low", "high", "n"), own, strict=True)
                    line |= {f"{metric} {part}": round(value, 6) for part, value in parts}
                    line["versus"] = found.rows[0].name
            yield line


def comparison_text(comparisons: Iterable[Comparison]) -> str:
    """Write aligned tables for a terminal or a pipe."""
    return "\n\n".join("\n".join(_report_lines(found)) for found in comparisons)


def _report_lines(found: Comparison) -> Iterator[str]:
    """Yield all that is shown of a dataset: the means, how far they are from the best, and what is missing."""
    by_group = grouped((METRICS[metric].group, metric) for metric in found.defined)
    quality = [metric for group in ("answer", "evidence", "linking") for metric in by_group.get(group, ())]
    models = sorted({row.model or "no model" for row in found.rows})
    size = counted(max(len(row.run.questions) for row in found.rows), "question")
    yield f"{found.dataset}: {size}, {', '.join(models)}"
    asked = {"asked": [f"{len(row.scores):,}" for row in found.rows]}
    yield from _table_lines("Quality", found, asked | _mean_columns(found, quality))
    yield from _difference_table(found)
    shares, costs = (_mean_columns(found, by_group.get(group, ())) for group in ("grounding", "cost"))
    yield from _table_lines("Reliability: share of questions", found, shares)
    yield from _table_lines("Cost: mean of a question", found, costs)
    configs = {row.run.path: row.run.config for row in found.rows}.values()
    yield from dict.fromkeys(f"\n{note}" for config in configs for note in _dataset_gaps(config))


def _table_lines(title: str, found: Comparison, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a table with a line for each row, if it has columns: their heads, and what is below them."""
    if columns:
        lines = zip([row.name for row in found.rows], *columns.values(), strict=True)
        yield from ("", title, *aligned([["method", *columns], *lines], {0}, indent="  "))


def _mean_columns(found: Comparison, metrics: Iterable[str]) -> dict[str, list[str]]:
    return {metric: [amount(metric, row.mean(metric)) for row in found.rows] for metric in metrics}


def _difference_table(found: Comparison) -> Iterator[str]:
    apart = found.differences()

    def difference_text(metric: str, own: Difference | None) -> str:
        if own is None:
            return "–"
        mean, low, high = (f"{'-' if value < 0 else '+'}{amount(metric, abs(value))}" for value in own[:3])
        return f"{mean} [{low}, {high}]"

    if apart:
        yield from _table_lines(f"Difference from {found.rows[0].name}", found, {
            metric: [difference_text(metric, apart.get((row.name, metric))) for row in found.rows]
            for metric in dict.fromkeys(metric for _, metric in apart)
        })  # fmt: skip
        yield "  Over the questions that both were asked. In brackets: where 95 % of the differences"
        yield "  are if questions are drawn anew (paired bootstrap); one that holds 0 shows none."


def amount(metric: str, value: float) -> str:
    """Write a figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", math.nan)
    ('0.811', '12,346', '3.2', '–')
    """
    if math.isnan(value):
        return "–"
    group = METRICS[metric].group
    if group == "grounding":
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if group != "cost":
        return f"{value:.3f}"
    digits = 0 if value >= 100 or not value else max(1, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def _dataset_gaps(config: Json) -> Iterator[str]:
    """Say how questions and graph of a run are not those of the dataset."""
    if reasons := config.get("left_out"):
        yield f"{counted(len(reasons), 'question')} left out of the dataset, as {printable(reasons[0], 120)}"
    if (share := config.get("missing_share") or 0) > 0.01:
        yield f"{100 * share:.0f} % of the gold terms are not in the graph: these are not the figures of the dataset"
    if count := config.get("without_answer"):
        yield f"{counted(count, 'question')} without a right answer: who says nothing is right there"
