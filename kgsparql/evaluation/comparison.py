"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

Runs are scored from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.statistics import (
    COVERAGES,
    FEW,
    RESAMPLES,
    Difference,
    Interval,
    RiskCoverage,
    Values,
    differences,
    holm,
    intervals,
    risk_coverage,
)
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import wrapped

SLICES: Mapping[str, Callable[[Question], str]] = {
    "hops": lambda question: "" if question.hops is None else str(question.hops),
    "type": lambda question: question.type,
    "direction": lambda question: question.direction,
}
"""Properties that questions are grouped by; an empty text where the dataset does not say."""

ALWAYS = ("without_model", "fallbacks", "truncated", "failed")  # always shown: figures mean little without them
ORACLE = "oracle"  # the model of a run in which an oracle chooses
_VARYING = frozenset({"seconds", "seconds_without_model", "paid_cost"})
"""Metrics that differ when the same is run again."""

_BATCH = 256  # records that are scored together
_COMPARED = ("hits@1", "expected_hits@1", "f1", "triple_recall", "triple_f1")
"""Of these, three that are defined are tested if the user names none; the first one decides which is best."""

_UNKNOWN = "unknown"  # the slice of the questions of which the dataset does not say

_HOW_SURE = (
    "The 95 % interval of a mean is Wilson's score interval where the metric is a share and every value is 0 or 1, as"
    f" in hits@1. Elsewhere it is that of the percentile bootstrap ({RESAMPLES:,} resamples), which is too narrow for"
    " few questions and near 0 and 1. The interval of a difference is of this one comparison: Bonett and Price's where"
    " every value is 0 or 1, else that of the paired bootstrap. Its p is after Holm's correction for all comparisons in"
    " the same metric, so that an interval may leave out 0 where p says that no difference is shown: then p counts."
)
"""What is said of intervals beside the definitions of metrics."""

_IN_NO_NOTE = frozenset({
    "format", "began", "ended", "workers", "model", "methods", "questions", "python", "asked_embedder", "left_out",
    "missing_share", "without_answer",
})  # fmt: skip
"""Settings that change no answer, or that the tables show."""


class Slice(NamedTuple):
    """Some of the ``n`` questions of a row."""

    n: int
    means: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """Scores of a method of a run, question by question; in a comparison with a name, means and slices.

    :param model: empty where none was asked, and where an oracle might have chosen but never did.
    :param questions: that the method was asked.
    :param values: for each metric an array of shape (questions,), NaN where it is not defined.
    :param name: unique in the dataset: the method, with model or run where they are needed.
    :param slices: by property of the questions, then by its values in order.
    :param is_ceiling: an oracle chose, and in other rows none: it is what a method could reach, and never the best.
    """

    run: Run
    method: str
    model: str
    questions: tuple[Question, ...]
    values: Mapping[str, Values]
    name: str = ""
    run_name: str = ""
    means: Mapping[str, Interval | None] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, Slice]] = field(default_factory=dict)
    is_ceiling: bool = False

    @property
    def n(self) -> int:
        """How many questions were asked."""
        return len(self.questions)

    @property
    def title(self) -> str:
        """The name, with ‡ for a ceiling among methods."""
        return f"{self.name} ‡" if self.is_ceiling else self.name

    @property
    def risk(self) -> RiskCoverage | None:
        """Whether its own score tells its right answers from its wrong ones."""
        return risk_coverage(self.values)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """What makes a question of two runs the same one: its id and its text."""
        return [(question.id, question.text) for question in self.questions]

    def by_question(self, metric: str) -> dict[tuple[str, str], float]:
        """Return the values of a metric where it is defined, by :attr:`keys`."""
        return {key: float(v) for key, v in zip(self.keys, self.values[metric], strict=True) if not np.isnan(v)}

    def defined(self, metric: str) -> Values:
        """Return the values of a metric where it is defined."""
        return _defined_values(self.values[metric])

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric; ``None`` where it is not defined."""
        found = self.means.get(metric)
        return None if found is None else found.mean


class PairwiseTest(NamedTuple):
    """A row against the reference of its dataset in one metric.

    :param won: questions on which the row is better; on ``lost`` it is worse.
    :param p: after Holm's correction for ``comparisons``: each row with the baseline or, where the best row was found
        on the same questions, every row with every other, since each might have been the best.
    :param verdict: ``better``, ``worse``, or ``not shown`` to differ.
    """

    difference: Difference
    won: int
    lost: int
    p: float
    comparisons: int
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The rows of one dataset, the best first.

    :param primary: the metric that decides which row is best; empty if no row has one.
    :param best: the best row on the questions that all were asked.
    :param reference: the row that the others are compared with.
    :param tests: by row, then by metric.
    """

    rows: tuple[Row, ...]
    primary: str
    best: Row | None
    reference: Row | None
    tests: Mapping[Row, Mapping[str, PairwiseTest]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The leaderboards of all datasets; where the user named the metrics, tables show them all."""

    leaderboards: tuple[Leaderboard, ...]
    metrics: tuple[str, ...]
    named: bool

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all datasets."""
        return tuple(row for board in self.leaderboards for row in board.rows)


def chosen_metrics(names: Sequence[str] = (), *, reproducible: bool = False) -> tuple[str, ...]:
    """Check the names of metrics; all that need no model of their own for ``all`` or nothing.

    :raises OptionError: for a name that is none.
    """
    for name in names:
        if name not in METRICS and name != "all":
            raise OptionError(f"no metric {printable(name, 60)!r}", hint=f"there are: all, {', '.join(METRICS)}")
    if not names or "all" in names:
        names = [name for name, metric in METRICS.items() if metric.group != "text" or name in names]
    return tuple(dict.fromkeys(name for name in names if not (reproducible and name in _VARYING)))


def metric_definitions(names: Sequence[str]) -> str:
    """Write the definitions of metrics, and what their intervals are."""
    lines = []
    for name in names:
        metric = METRICS[name]
        lines.append(f"{name}  ({metric.group}; {metric.better or 'neither way'} is better)")
        for paragraph in metric.about.split("\n\n"):
            lines += wrapped(" ".join(paragraph.split()), indent="    ")
        lines.append("")
    return "\n".join([*lines, "intervals", *wrapped(_HOW_SURE, indent="    "), ""])


def scored(run: Run, method: str, metrics: Sequence[str]) -> Row:
    """Score a method of a run; only some records at a time are in memory."""
    places = {question.id: i for i, question in enumerate(run.questions)}
    values = {name: np.full(len(places), np.nan) for name in metrics}
    may_be_chosen: dict[int, bool] = {}  # by place: whether an oracle may have chosen
    known = ((places[record.question], record) for record in run.each_record(method) if record.question in places)
    while batch := list(islice(known, _BATCH)):
        for name in metrics:
            METRICS[name].prepare((run.questions[place], record) for place, record in batch)
        for place, record in batch:
            for name in metrics:
                value = METRICS[name].of(run.questions[place], record)
                values[name][place] = np.nan if value is None else value
            may_be_chosen[place] = record.chosen_by is None or ORACLE in record.chosen_by
    asked = sorted(may_be_chosen)
    with_model = all(own.get("with_model", True) for own in run.config["methods"] if own["label"] == method)
    is_model_asked = with_model and (run.model != ORACLE or not asked or any(may_be_chosen.values()))
    return Row(
        run=run, method=method, model=run.model if is_model_asked else "",
        questions=tuple(run.questions[place] for place in asked),
        values={name: own[np.array(asked, dtype=np.intp)] for name, own in values.items()},
    )  # fmt: skip


def _defined_values(values: Values) -> Values:
    return values[~np.isnan(values)]


def compare(
    runs: Sequence[Run], *, metrics: Sequence[str] = (), baseline: str = "", reproducible: bool = False
) -> Comparison:
    """Score runs and set them side by side, dataset by dataset.

    :param metrics: those to show and test; by default every one that needs no model, and three are tested.
    :param baseline: the method, or the name of the row, that others are compared with; by default the best one.
    :param reproducible: without metrics that differ when the same is run again.
    :raises OptionError: for a metric or a baseline that is not there, or a baseline that may be one of several rows.
    """
    shown = chosen_metrics(metrics, reproducible=reproducible)
    names = tuple(dict.fromkeys((*shown, *ALWAYS)))
    groups: dict[str, list[Row]] = defaultdict(list)
    for run in runs:
        groups[run.dataset] += [scored(run, method, names) for method in run.methods]
    if not any(row.n for group in groups.values() for row in group):
        where = ", ".join(str(run.path) for run in runs)
        raise InputError(f"{where}: no question has been answered yet", hint="go on with it: --resume")
    short = [run.path.resolve().name for run in runs]
    run_names = {r.path: name if short.count(name) == 1 else str(r.path) for r, name in zip(runs, short, strict=True)}
    datasets = [_with_means(group, run_names, names) for group in groups.values()]
    if baseline and all(_baseline_row(baseline, rows) is None for rows in datasets):
        there = ", ".join(dict.fromkeys(row.name for rows in datasets for row in rows))
        raise OptionError(f"--baseline {printable(baseline, 60)}: no such method", hint=f"there are: {there}")
    boards = tuple(_dataset_leaderboard(rows, shown if metrics else (), baseline) for rows in datasets)
    return Comparison(leaderboards=boards, metrics=shown, named=bool(metrics))


def _with_means(group: Sequence[Row], run_names: Mapping[Path, str], names: Sequence[str]) -> list[Row]:
    """Complete the rows of a dataset; the intervals of all slices share their resamples, so they are drawn at once."""
    parts = [(i, "", "", np.arange(row.n)) for i, row in enumerate(group)]
    for kind, of in SLICES.items():
        columns = [np.array([of(question) or _UNKNOWN for question in row.questions]) for row in group]
        there = {str(value) for column in columns for value in column}
        # numbers first, unknown ones last; none where nothing is known
        in_order = sorted(there, key=lambda v: (v == _UNKNOWN, not v.isdecimal(), len(v) * v.isdecimal(), v))
        for value in in_order if there - {_UNKNOWN} else ():
            parts += [(i, kind, value, np.flatnonzero(column == value)) for i, column in enumerate(columns)]
    columns = [_defined_values(group[i].values[name][among]) for i, _, _, among in parts for name in names]
    drawn = iter(intervals(columns, shares=[METRICS[name].group != "cost" for name in names] * len(parts)))
    slices: list[dict[str, dict[str, Slice]]] = [{kind: {} for kind in ("", *SLICES)} for _ in group]
    for i, kind, value, among in parts:
        slices[i][kind][value] = Slice(len(among), {name: next(drawn) for name in names})
    has_methods = any(row.n and row.model != ORACLE for row in group)
    return [
        replace(
            row, name=name, run_name=run_names[row.run.path], means=own.pop("")[""].means, slices=own,
            is_ceiling=row.model == ORACLE and has_methods,
        )
        for row, name, own in zip(group, _row_names(group, run_names), slices, strict=True)
    ]  # fmt: skip


def _row_names(group: Sequence[Row], run_names: Mapping[Path, str]) -> list[str]:
    """Name each row by the method, then the model, then the run, as far as they are needed."""
    models: dict[str, set[str]] = defaultdict(set)
    for row in group:
        models[row.method].add(row.model)
    names = [f"{r.method}, {r.model or 'no model'}" if len(models[r.method]) > 1 else r.method for r in group]
    runs = [f" ({run_names[row.run.path]})" * (names.count(name) > 1) for row, name in zip(group, names, strict=True)]
    return [printable(name + run, 200) for name, run in zip(names, runs, strict=True)]


def _dataset_leaderboard(rows: Sequence[Row], named: Sequence[str], baseline: str) -> Leaderboard:
    """Order the rows of a dataset, find the best one, and test the others against it or the baseline."""
    candidates = [name for name in named or _COMPARED if METRICS[name].better]
    metrics = [name for name in candidates if any(row.mean(name) is not None for row in rows)]
    tested = metrics if named else metrics[:3]
    primary = metrics[0] if metrics else ""
    rows = sorted(rows, key=lambda row: _badness_key(primary, row.mean(primary)))
    best, chosen = _best_row(rows, metrics), _baseline_row(baseline, rows)
    reference = chosen or best
    return Leaderboard(
        rows=tuple(rows), primary=primary, best=best, reference=reference,
        tests=_pairwise_tests(rows, reference, tested, is_named=chosen is not None) if reference else {},
        notes=tuple(_comparison_notes(rows, tested)),
    )  # fmt: skip


def _badness_key(metric: str, mean: float | None) -> float:
    """Return a sort key that puts the best mean first, and none last."""
    return np.inf if mean is None else -mean if METRICS[metric].better == "higher" else mean


def _baseline_row(baseline: str, rows: Sequence[Row]) -> Row | None:
    """Find the row of this name, else the one row of this method."""
    found = [row for row in rows if row.name == baseline] or [row for row in rows if row.method == baseline]
    if len(found) > 1:
        names = ", ".join(repr(row.name) for row in found)
        raise OptionError(f"--baseline {printable(baseline, 60)} may be any of {names}", hint="name one of these rows")
    return found[0] if found else None


def _best_row(rows: Sequence[Row], metrics: Sequence[str]) -> Row | None:
    """Find the row with the best mean over the questions that all were asked; the next metrics decide between equals.

    A row with less than half as many questions as another is left out: it may have had the easy ones. So are ceilings.
    """
    methods = [row for row in rows if not row.is_ceiling]
    able = [row for row in methods if 2 * row.n >= max(other.n for other in methods)]
    if not metrics or not able:
        return None
    common = set.intersection(*(set(row.keys) for row in able))
    deciding = [*metrics, *(name for name in ("model_calls", "queries") if name in rows[0].values)]

    def rank(row: Row) -> list[float]:
        badness = []
        for name in deciding:
            values = [value for key, value in row.by_question(name).items() if not common or key in common]
            mean = sum(values) / len(values) if values else None
            badness.append(round(_badness_key(name, mean), 9))  # 0.1 + 0.2 is 0.3
        return badness

    best = min(able, key=rank)
    return None if best.mean(metrics[0]) is None else best


def _pairwise_tests(
    rows: Sequence[Row], reference: Row, metrics: Sequence[str], *, is_named: bool
) -> dict[Row, dict[str, PairwiseTest]]:
    """Test every other row against the reference, which is named or found, on the questions that both were asked."""
    found: dict[Row, dict[str, PairwiseTest]] = {row: {} for row in rows if row is not reference}
    for name in metrics:
        other, pairs = reference.by_question(name), []
        for row in found:
            own = row.by_question(name)
            both = np.array([(value, other[key]) for key, value in own.items() if key in other]).reshape(-1, 2)
            pairs.append((both[:, 0], both[:, 1]))
        tests = {row: one for row, one in zip(found, differences(pairs), strict=True) if one is not None}
        count = len(tests) if is_named else len(tests) * (len(tests) + 1) // 2
        is_higher_better = METRICS[name].better == "higher"
        for (row, one), p in zip(tests.items(), holm([t.p for t in tests.values()], comparisons=count), strict=True):
            won, lost = (one.wins, one.losses)[:: 1 if is_higher_better else -1]
            verdict = "not shown" if p >= 0.05 else "better" if (one.mean > 0) == is_higher_better else "worse"
            found[row][name] = PairwiseTest(one, won, lost, p, count, verdict)
    return found


def _comparison_notes(rows: Sequence[Row], tested: Sequence[str]) -> Iterator[str]:
    """Say what is missing, and what cannot be compared as it stands."""
    configs = list({row.run.path: row.run.config for row in rows}.values())
    yield from _run_differences(configs)
    yield from dict.fromkeys(note for config in configs for note in _dataset_gaps(config))
    sizes = [(row, len(row.run.questions)) for row in rows]
    if partly := [f"{row.name} {row.n or 'none'} of {size}" for row, size in sizes if row.n < size]:
        yield f"not every question was asked (each figure is of those that were): {'; '.join(partly)}"
    if failed := [f"{row.name} {share:.0%}" for row in rows if (share := row.mean("failed"))]:
        yield f"questions that failed count as wrong: {'; '.join(failed)}"
    if without := [f"{row.name} {share:.0%}" for row in rows if (share := row.mean("without_model"))]:
        yield f"answered without the model that was to help (it failed, or was not trusted): {'; '.join(without)}"
    asked = {frozenset(row.keys) for row in rows if row.n}
    if len(asked) > 1:
        common = len(frozenset.intersection(*asked))
        yield (
            f"the rows were not asked the same questions: {common} were asked of all; each mean is over a row's own, "
            "each difference over those that both rows were asked"
        )
    for name in tested:
        if left := max(row.n - found.n for row in rows if (found := row.means[name]) is not None):
            yield f"{name} is not defined for every question (up to {left} are left out of its mean)"
    if any(0 < row.n < FEW for row in rows):
        yield f"fewer than {FEW} questions: Wilson's intervals are wide; bootstrap intervals are rough, and too narrow"


def _run_differences(configs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say which settings of runs differ; their values are in ``run.json``. The same graph may lie elsewhere."""
    values: dict[str, set[str]] = {}
    for config in configs:
        options = {f"{m['label']}.{name}": one for m in config["methods"] for name, one in m["options"].items()}
        settings = {**config, "graph": config["graph"]["fingerprint"], **options}
        for name in settings.keys() - _IN_NO_NOTE:
            values.setdefault(name, set()).add(json.dumps(settings[name], sort_keys=True))
    if differ := sorted(printable(name, 80) for name, there in values.items() if len(there) > 1):
        yield f"the runs were not run alike: they differ in {', '.join(differ)}"


def _dataset_gaps(config: Mapping[str, Any]) -> Iterator[str]:
    """Say how questions and graph of a run are not those of the dataset."""
    if reasons := config.get("left_out"):
        yield f"{counted(len(reasons), 'question')} left out of the dataset, as {printable(reasons[0], 120)}"
    if (share := config.get("missing_share") or 0) > 0.01:
        yield f"{100 * share:.0f} % of the gold terms are not in the graph: these are not the figures of the dataset"
    if count := config.get("without_answer"):
        yield f"{counted(count, 'question')} without a right answer: who says nothing is right there"


Figures = dict[str, str | float | bool | None]


def records(comparison: Comparison) -> list[Figures]:
    """List a record for each row, ``by`` being empty, and for each kind of its questions; ``None`` is for no figure.

    Of each metric it has the mean, the bounds of its interval (``hits@1 low``, ``hits@1 high``) and how many questions
    have one (``hits@1 n``). A row that is tested has the difference from the row that ``versus`` names, its interval,
    ``p`` (corrected) and verdict; a row with confidences has what is right among the surest, and ``AUROC``.
    """
    found: list[Figures] = []
    for board in comparison.leaderboards:
        for row in board.rows:
            about: Figures = {
                "dataset": row.run.dataset, "method": row.method, "model": row.model, "run": row.run_name,
                "name": row.name,
            }  # fmt: skip
            found.append({
                **about, "by": "", "slice": "", **_mean_figures(row.n, row.means), "questions": len(row.run.questions),
                "best": row is board.best, "ceiling": row.is_ceiling, **_test_figures(board, row),
                **_risk_figures(row),
            })  # fmt: skip
            for kind, values in row.slices.items():
                found += [{**about, "by": kind, "slice": v, **_mean_figures(*part)} for v, part in values.items()]
    return [{name: round(v, 6) + 0.0 if isinstance(v, float) else v for name, v in one.items()} for one in found]


def _mean_figures(n: int, means: Mapping[str, Interval | None]) -> Figures:
    figures: Figures = {"n": n}
    for name, one in means.items():
        mean, low, high = (one.mean, one.low, one.high) if one else (None, None, None)
        figures |= {name: mean, f"{name} low": low, f"{name} high": high, f"{name} n": one.n if one else 0}
    return figures


def _test_figures(board: Leaderboard, row: Row) -> Figures:
    tests = board.tests.get(row, {})
    found: Figures = {"versus": board.reference.name} if tests and board.reference else {}
    for name, test in tests.items():
        one = test.difference
        found |= {f"{name} difference": one.mean, f"{name} p": test.p, f"{name} verdict": test.verdict}
        if one.has_interval:
            found |= {f"{name} difference low": one.low, f"{name} difference high": one.high}
    return found


def _risk_figures(row: Row) -> Figures:
    if row.risk is None:
        return {}
    right = {f"right of the surest {100 * of:.0f} %": s for of, s in zip(COVERAGES, row.risk.right, strict=True)}
    return {**right, "AUROC": row.risk.auroc}
