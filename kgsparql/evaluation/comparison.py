"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

Runs are scored from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.risk_coverage import RiskCoverage, risk_coverage
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run, whole_lines
from kgsparql.evaluation.statistics import FEW, Difference, Interval, Places, Values, differences, holm, intervals
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

SLICES: Mapping[str, Callable[[Question], str]] = {
    "hops": lambda question: "" if question.hops is None else str(question.hops),
    "type": lambda question: question.type,
    "direction": lambda question: question.direction,
}
"""Properties that questions are grouped by; an empty text where the dataset does not say."""

ALWAYS = ("fallbacks", "truncated", "failed")
"""Metrics that are always shown: figures mean little without them."""

ORACLE = "oracle"
"""The model of a run in which an oracle chooses."""

_VARYING = frozenset({"seconds", "seconds_without_model", "paid_cost"})
"""Metrics that differ when the same is run again."""

_BATCH = 256
"""Records that are scored together: BERTScore is several times as fast in batches."""

_COMPARED = ("hits@1", "expected_hits@1", "f1", "triple_recall", "triple_f1")
"""Of these, three that are defined are tested if the user names none; the first one decides which is best."""

_UNKNOWN = "unknown"
"""The slice of the questions of which the dataset does not say."""

_IN_NO_NOTE = frozenset({
    "format", "began", "ended", "workers", "model", "methods", "questions", "python", "asked_embedder", "left_out",
    "missing_share", "without_answer",
})  # fmt: skip
"""Settings that change no answer, or that the tables show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScores:
    """Metrics of the questions that a method of a run was asked, in the order of the run.

    :param model: empty where none was asked, and where an oracle might have chosen but never did.
    :param values: for each metric an array of shape (questions,), NaN where it is not defined.
    """

    run: Run
    method: str
    model: str
    questions: tuple[Question, ...]
    values: Mapping[str, Values]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """What makes a question of two runs the same one: its id and its text."""
        return [(question.id, question.text) for question in self.questions]

    def by_question(self, metric: str) -> dict[tuple[str, str], float]:
        """Return the values of a metric where it is defined, by :attr:`keys`."""
        return {key: float(v) for key, v in zip(self.keys, self.values[metric], strict=True) if not np.isnan(v)}

    def defined(self, metric: str, among: Places | None = None) -> Values:
        """Return the values of a metric where it is defined."""
        values = self.values[metric] if among is None else self.values[metric][among]
        return values[~np.isnan(values)]


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


def method_scores(run: Run, method: str, metrics: Sequence[str]) -> MethodScores:
    """Score a method of a run; only some records at a time are in memory."""
    places = {question.id: i for i, question in enumerate(run.questions)}
    values = {name: np.full(len(places), np.nan) for name in metrics}
    may_be_chosen: dict[int, bool] = {}  # by place: whether an oracle may have chosen
    known = ((places[record.question], record) for record in each_record(run, method) if record.question in places)
    while batch := list(islice(known, _BATCH)):
        if "bertscore_f1" in metrics:
            from kgsparql.evaluation.metrics.text import prepare

            prepare((run.questions[place], record) for place, record in batch)
        for place, record in batch:
            for name in metrics:
                value = METRICS[name].of(run.questions[place], record)
                values[name][place] = np.nan if value is None else value
            may_be_chosen[place] = record.chosen_by is None or ORACLE in record.chosen_by
    asked = np.array(sorted(may_be_chosen), dtype=np.intp)
    config: Mapping[str, object] = next((m for m in run.config["methods"] if m["label"] == method), {})
    model = run.model if config.get("with_model", True) else ""
    if model == ORACLE and may_be_chosen and not any(may_be_chosen.values()):
        model = ""
    return MethodScores(
        run=run, method=method, model=model, questions=tuple(run.questions[place] for place in asked),
        values={name: own[asked] for name, own in values.items()},
    )  # fmt: skip


def each_record(run: Run, method: str, only: Collection[str] | None = None) -> Iterator[Record]:
    """Yield the records of a method in the order they were written; of a question asked again, the last one counts."""
    file = run.answers_file(method)
    for number, line in enumerate(whole_lines(file), 1):
        try:
            wanted = only is None or line["question"] in only
            record = Record.from_json(line) if wanted else None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = printable(str(error), 200)
            raise DataError(f"{file}:{number}: not a record: {what}", hint="remove that line, then --resume") from error
        if record is not None:
            yield record


class Slice(NamedTuple):
    """Some of the ``n`` questions of a row."""

    n: int
    means: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method on one dataset.

    :param name: unique in the dataset: the method, with model or run where they are needed.
    :param n: questions that were asked, of ``questions`` in the run.
    :param slices: by property of the questions, then by its values in order.
    :param is_ceiling: an oracle chose, and in other rows none: it is what a method could reach, and never the best.
    """

    dataset: str
    method: str
    model: str
    run: str
    name: str
    n: int
    questions: int
    means: Mapping[str, Interval | None]
    slices: Mapping[str, Mapping[str, Slice]]
    risk: RiskCoverage | None = field(compare=False)
    is_ceiling: bool
    scores: MethodScores = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """The name, with ‡ for a ceiling among methods."""
        return f"{self.name} ‡" if self.is_ceiling else self.name

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
    :param best: the place of the best row on the questions that all were asked.
    :param reference: the place of the row that the others are compared with.
    :param tests: by the place of a row, then by metric.
    """

    rows: tuple[Row, ...]
    primary: str
    best: int | None
    reference: int | None
    tests: Mapping[int, Mapping[str, PairwiseTest]]
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


def compare(
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = (),
    baseline: str = "",
    reproducible: bool = False,
) -> Comparison:
    """Score runs and set them side by side, dataset by dataset.

    :param metrics: those to show and test; by default every one that needs no model, and three are tested.
    :param baseline: the method, or the name of the row, that others are compared with; by default the best one.
    :param reproducible: without metrics that differ when the same is run again.
    :raises OptionError: for a metric or a baseline that is not there.
    """
    shown = chosen_metrics(metrics, reproducible=reproducible)
    names = tuple(dict.fromkeys((*shown, *ALWAYS)))
    scores = [method_scores(run, method, names) for run in runs for method in run.methods]
    if not any(one.questions for one in scores):
        where = ", ".join(str(run.path) for run in runs)
        raise InputError(f"{where}: no question has been answered yet", hint="go on with it: --resume")
    short = [run.path.resolve().name for run in runs]
    run_names = {
        run.path: name if short.count(name) == 1 else str(run.path) for run, name in zip(runs, short, strict=True)
    }
    groups = [[one for one in scores if one.run.dataset == name] for name in dict.fromkeys(r.dataset for r in runs)]
    all_rows = [_rows_of(group, run_names, names) for group in groups]
    if baseline and not any(_named_rows(baseline, rows) for rows in all_rows):
        there = ", ".join(dict.fromkeys(row.name for rows in all_rows for row in rows))
        raise OptionError(f"--baseline {printable(baseline, 60)}: no such method", hint=f"there are: {there}")
    boards = tuple(_dataset_leaderboard(rows, shown if metrics else (), baseline) for rows in all_rows)
    return Comparison(leaderboards=boards, metrics=shown, named=bool(metrics))


def _rows_of(group: Sequence[MethodScores], run_names: Mapping[Path, str], names: Sequence[str]) -> list[Row]:
    """Make the rows of a dataset; the intervals of all slices share their resamples, so they are drawn at once."""
    parts = []
    for i, one in enumerate(group):
        parts.append((i, "", "", np.arange(len(one.questions))))
        for kind, of in SLICES.items():
            values = np.array([of(question) or _UNKNOWN for question in one.questions])
            parts += [(i, kind, value, np.flatnonzero(values == value)) for value in _slice_values(kind, group)]
    columns = [group[i].defined(name, among) for i, _, _, among in parts for name in names]
    drawn = iter(intervals(columns, shares=[METRICS[name].group != "cost" for name in names] * len(parts)))
    slices: list[dict[str, dict[str, Slice]]] = [{kind: {} for kind in ("", *SLICES)} for _ in group]
    for i, kind, value, among in parts:
        slices[i][kind][value] = Slice(len(among), {name: next(drawn) for name in names})
    has_methods = any(one.questions and one.model != ORACLE for one in group)
    return [
        Row(
            dataset=one.run.dataset, method=one.method, model=one.model, run=run_names[one.run.path], name=name,
            n=len(one.questions), questions=len(one.run.questions), means=own.pop("")[""].means, slices=own,
            risk=risk_coverage(one.values), scores=one, is_ceiling=one.model == ORACLE and has_methods,
        )
        for name, one, own in zip(_row_names(group, run_names), group, slices, strict=True)
    ]  # fmt: skip


def _slice_values(kind: str, group: Sequence[MethodScores]) -> list[str]:
    """List the values of a property: numbers first, unknown ones last; none where nothing is known."""
    values = {SLICES[kind](question) or _UNKNOWN for one in group for question in one.questions}
    in_order = sorted(values, key=lambda v: (v == _UNKNOWN, not v.isdecimal(), int(v) if v.isdecimal() else 0, v))
    return in_order if values - {_UNKNOWN} else []


def _row_names(group: Sequence[MethodScores], run_names: Mapping[Path, str]) -> list[str]:
    """Name each row by the method, then the model, then the run, as far as they are needed."""
    models: dict[str, set[str]] = {}
    for one in group:
        models.setdefault(one.method, set()).add(one.model)
    names = [f"{o.method}, {o.model or 'no model'}" if len(models[o.method]) > 1 else o.method for o in group]
    runs = (
        f" ({run_names[one.run.path]})" if names.count(name) > 1 else "" for name, one in zip(names, group, strict=True)
    )
    return [printable(name + run, 200) for name, run in zip(names, runs, strict=True)]


def _dataset_leaderboard(rows: Sequence[Row], named: Sequence[str], baseline: str) -> Leaderboard:
    """Order the rows of a dataset, find the best one, and test the others against it or the baseline."""
    candidates = [name for name in (named or _COMPARED) if name in METRICS and METRICS[name].better]
    metrics = [name for name in candidates if any(row.mean(name) is not None for row in rows)]
    tested = metrics if named else metrics[:3]
    if metrics:
        rows = sorted(rows, key=lambda row: _badness_key(metrics[0], row.mean(metrics[0])))
    best = _best_row(rows, metrics)
    named_rows = _named_rows(baseline, rows)
    reference = named_rows[0] if named_rows else best
    tests = {} if reference is None else _pairwise_tests(rows, reference, tested, is_named=bool(named_rows))
    return Leaderboard(
        rows=tuple(rows), primary=metrics[0] if metrics else "", best=best, reference=reference, tests=tests,
        notes=tuple(_comparison_notes(rows, tested)),
    )  # fmt: skip


def _badness_key(metric: str, mean: float | None) -> float:
    """Return a sort key that puts the best mean first, and none last."""
    return np.inf if mean is None else -mean if METRICS[metric].better == "higher" else mean


def _named_rows(name: str, rows: Sequence[Row]) -> list[int]:
    """Find the places of the row of this name, and of the rows of this method."""
    return [i for of in ("name", "method") for i, row in enumerate(rows) if getattr(row, of) == name]


def _best_row(rows: Sequence[Row], metrics: Sequence[str]) -> int | None:
    """Find the row with the best mean over the questions that all were asked; the next metrics decide between equals.

    A row with less than half as many questions as another is left out: it may have had the easy ones. So are ceilings.
    """
    methods = [i for i, row in enumerate(rows) if not row.is_ceiling]
    most = max((rows[i].n for i in methods), default=0)
    able = [i for i in methods if 2 * rows[i].n >= most]
    if not metrics or not able:
        return None
    common = set.intersection(*(set(rows[i].scores.keys) for i in able))

    def rank(i: int) -> list[float]:
        scores, found = rows[i].scores, list[float]()
        for name in [*metrics, *(name for name in ("model_calls", "queries") if name in scores.values)]:
            values = [value for key, value in scores.by_question(name).items() if not common or key in common]
            found.append(
                round(_badness_key(name, sum(values) / len(values) if values else None), 9)
            )  # 0.1 + 0.2 is 0.3
        return found

    best = min(able, key=rank)
    return None if rows[best].mean(metrics[0]) is None else best


def _pairwise_tests(
    rows: Sequence[Row], reference: int, metrics: Sequence[str], *, is_named: bool
) -> dict[int, dict[str, PairwiseTest]]:
    """Test every other row against the reference, which is named or found, on the questions that both were asked."""
    found: dict[int, dict[str, PairwiseTest]] = {i: {} for i in range(len(rows)) if i != reference}
    for name in metrics:
        other, pairs = rows[reference].scores.by_question(name), []
        for i in found:
            own = rows[i].scores.by_question(name)
            both = np.array([(value, other[key]) for key, value in own.items() if key in other]).reshape(-1, 2)
            pairs.append((both[:, 0], both[:, 1]))
        tests = {i: one for i, one in zip(found, differences(pairs), strict=True) if one is not None}
        count = len(tests) if is_named else len(tests) * (len(tests) + 1) // 2
        is_higher_better = METRICS[name].better == "higher"
        for i, p in zip(tests, holm([one.p for one in tests.values()], comparisons=count), strict=True):
            one = tests[i]
            won, lost = (one.wins, one.losses)[:: 1 if is_higher_better else -1]
            verdict = "not shown" if p >= 0.05 else "better" if (one.mean > 0) == is_higher_better else "worse"
            found[i][name] = PairwiseTest(one, won, lost, p, count, verdict)
    return found


def _comparison_notes(rows: Sequence[Row], tested: Sequence[str]) -> Iterator[str]:
    """Say what is missing, and what cannot be compared as it stands."""
    configs = {row.scores.run.path: row.scores.run.config for row in rows}
    yield from _run_differences(list(configs.values()))
    yield from dict.fromkeys(note for config in configs.values() for note in _dataset_gaps(config))
    if partly := [f"{row.name} {row.n or 'none'} of {row.questions}" for row in rows if row.n < row.questions]:
        yield f"not every question was asked (each figure is of those that were): {'; '.join(partly)}"
    if failed := [f"{row.name} {share:.0%}" for row in rows if (share := row.mean("failed"))]:
        yield f"questions that failed count as wrong: {'; '.join(failed)}"
    asked = [frozenset(row.scores.keys) for row in rows if row.n]
    if len(set(asked)) > 1:
        common = len(frozenset.intersection(*asked))
        yield (
            f"the rows were not asked the same questions: {common} were asked of all; each mean is over a row's own, "
            "each difference over those that both rows were asked"
        )
    for name in tested:
        if left := max(row.n - found.n for row in rows if (found := row.means[name]) is not None):
            yield f"{name} is not defined for every question (up to {left} are left out of its mean)"
    if 0 < min((row.n for row in rows if row.n), default=0) < FEW:
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
