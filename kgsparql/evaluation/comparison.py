"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

Runs are scored from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.leaderboard import Leaderboard, Row, Slice, leaderboard, named_rows
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.scoring import ALWAYS, ORACLE, SLICES, UNKNOWN, MethodScores, chosen_metrics, method_scores
from kgsparql.evaluation.statistics import Places, intervals
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

Progress = Callable[[str, int, int], None]

_MISSING_SHARE = 0.01
"""The share of gold terms that a graph may lack before a note says so."""

_MAX_REASONS = 3
"""Reasons for leaving out questions that a note lists."""

_IN_NO_NOTE = frozenset({
    "format", "began", "ended", "workers", "model", "methods", "questions", "dataset", "python", "asked_embedder",
    "left_out", "missing_share", "without_answer",
})  # fmt: skip
"""Settings that change no answer, or that the tables show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The leaderboards of all datasets.

    :param metrics: the names of the metrics, in the order of tables.
    :param named: the user chose the metrics: tables show them all.
    :param by: the properties that questions are grouped by.
    :param by_named: the user chose the properties: tables show them all.
    :param baseline: the row that the user wants the others compared with; empty for the best one.
    """

    leaderboards: tuple[Leaderboard, ...]
    metrics: tuple[str, ...]
    named: bool
    by: tuple[str, ...]
    by_named: bool
    baseline: str
    seed: int
    reproducible: bool

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all datasets."""
        return tuple(row for board in self.leaderboards for row in board.rows)


def compare(
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] | None = None,
    named: bool | None = None,
    by: Sequence[str] | None = None,
    baseline: str = "",
    seed: int = 0,
    reproducible: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Score runs and set them side by side, dataset by dataset.

    :param metrics: their names; by default every one that needs no model.
    :param named: show and test all of these metrics; by default if ``metrics`` is given.
    :param by: the properties to group questions by, of :data:`SLICES`; by default all of them.
    :param baseline: the method, or the name of the row, that others are compared with; by default the best one.
    :raises OptionError: for a baseline that is not among the rows.
    """
    names = tuple(metrics) if metrics is not None else chosen_metrics(reproducible=reproducible)
    all_names = (*names, *(name for name in ALWAYS if name not in names))
    kinds = tuple(SLICES) if by is None else tuple(by)
    named = metrics is not None if named is None else named
    scores = _all_scores(runs, all_names, progress)
    run_names = {runs[0].path: ""} if reproducible and len(runs) == 1 else _run_names(runs)
    boards: list[Leaderboard] = []
    for dataset in dict.fromkeys(one.run.dataset for one in scores):
        group = [one for one in scores if one.run.dataset == dataset]
        rows = _rows_of(group, run_names, by=kinds, names=all_names, seed=seed)
        board = leaderboard(rows, named=names if named else (), baseline=baseline, seed=seed)
        by_name = {run_names[one.run.path]: one.run for one in group}
        boards.append(replace(board, notes=(*_run_differences(by_name), *_dataset_notes(by_name), *board.notes)))
    if baseline and all(not named_rows(baseline, board.rows) for board in boards):
        there = dict.fromkeys(row.name for board in boards for row in board.rows)
        raise OptionError(
            f"--baseline {printable(baseline, 60)}: no such method", hint=f"there are: {', '.join(there)}"
        )
    return Comparison(
        leaderboards=tuple(boards), metrics=names, named=named, by=kinds,
        by_named=by is not None, baseline=baseline, seed=seed, reproducible=reproducible,
    )  # fmt: skip


def _all_scores(runs: Sequence[Run], metrics: Sequence[str], progress: Progress | None) -> list[MethodScores]:
    work = [(run, method) for run in runs for method in run.methods]
    found: list[MethodScores] = []
    for run, method in work:
        if progress:
            progress("scoring", len(found), len(work))
        found.append(method_scores(run, method, metrics))
    if progress:
        progress("scoring", len(work), len(work))
    if not any(one.questions for one in found):
        where = ", ".join(str(run.path) for run in runs)
        raise InputError(f"{where}: no question has been answered yet", hint="go on with it: --resume")
    return found


def _rows_of(
    group: Sequence[MethodScores], run_names: Mapping[Path, str], *, by: Sequence[str], names: Sequence[str], seed: int
) -> list[Row]:
    """Make the rows of a dataset; the intervals of all slices share their resamples, so they are drawn at once."""
    slice_values = _slice_values(group, by)
    parts = [list(_slices_of(one, slice_values)) for one in group]
    columns = [
        one.defined(name, among) for one, own in zip(group, parts, strict=True) for _, _, among in own for name in names
    ]
    shares = [METRICS[name].group != "cost" for own in parts for _ in own for name in names]
    drawn = iter(intervals(columns, shares=shares, seed=seed))
    has_methods = any(one.questions and one.model != ORACLE for one in group)
    rows = []
    for title, one, own in zip(_row_names(group, run_names), group, parts, strict=True):
        slices: dict[str, dict[str, Slice]] = {kind: {} for kind in ("", *by)}
        for kind, value, among in own:
            slices[kind][value] = Slice(n=len(among), means={name: next(drawn) for name in names})
        rows.append(Row(
            dataset=one.run.dataset, method=one.method, model=one.model, run=run_names[one.run.path], name=title,
            n=len(one.questions), questions=len(one.run.questions), means=slices.pop("")[""].means, slices=slices,
            is_no_ceiling=one.is_no_ceiling, scores=one,
            is_ceiling=one.model == ORACLE and not one.is_no_ceiling and has_methods,
        ))  # fmt: skip
    return rows


def _slice_values(group: Sequence[MethodScores], by: Sequence[str]) -> dict[str, list[str]]:
    """List the values that the questions of a dataset have of each property; properties that none has are left out."""
    found = {}
    for kind in by:
        values = {SLICES[kind](question) for one in group for question in one.questions}
        if values - {""}:
            numbers = sorted((v for v in values if v.isdecimal()), key=int)
            found[kind] = [*numbers, *sorted(values - {"", *numbers}), *([UNKNOWN] if "" in values else [])]
    return found


def _slices_of(one: MethodScores, slice_values: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, Places]]:
    """Yield property, value and places of the questions: of all questions first (both empty), then of each value."""
    yield "", "", np.arange(len(one.questions))
    for kind, values in slice_values.items():
        of = [SLICES[kind](question) or UNKNOWN for question in one.questions]
        for value in values:
            yield kind, value, np.flatnonzero(np.array([v == value for v in of], bool))


def _run_names(runs: Sequence[Run]) -> dict[Path, str]:
    """Name runs by the last parts of their paths, as many as tell them apart."""
    parts = {run.path: run.path.resolve().parts for run in runs}
    for length in range(1, max(map(len, parts.values())) + 1):
        names = {path: "/".join(own[-length:]) for path, own in parts.items()}
        if len(set(names.values())) == len(names):
            return names
    return {path: str(path) for path in parts}


def _row_names(group: Sequence[MethodScores], run_names: Mapping[Path, str]) -> list[str]:
    """Name each row by the method, then the model, then the run, as far as they are needed."""
    models: dict[str, set[str]] = {}
    for one in group:
        models.setdefault(one.method, set()).add(one.model)
    names = [
        one.method if len(models[one.method]) == 1 else f"{one.method}, {one.model or 'no model'}" for one in group
    ]
    counts = Counter(names)
    return [
        printable(name if counts[name] == 1 else f"{name} ({run_names[one.run.path]})", 200)
        for name, one in zip(names, group, strict=True)
    ]


def _run_differences(runs: Mapping[str, Run]) -> Iterator[str]:
    """Say which settings of runs, by name, differ; their values are in ``run.json``."""
    configs = [run.config for run in runs.values()]
    names = dict.fromkeys(name for config in configs for name in config if name not in _IN_NO_NOTE)
    differ = [name for name in names if len({_compared_setting(name, config.get(name)) for config in configs}) > 1]
    options: dict[str, set[str]] = {}
    for config in configs:
        for method in config["methods"]:
            for option, value in (method.get("options") or {}).items():
                options.setdefault(f"{method['label']}.{option}", set()).add(json.dumps(value, sort_keys=True))
    differ += [option for option, values in options.items() if len(values) > 1]
    if differ:
        yield f"the runs were not run alike: they differ in {', '.join(printable(name, 80) for name in differ)}"


def _compared_setting(name: str, value: Any) -> str:
    """Write what of a setting can change an answer; the same graph may lie elsewhere."""
    is_graph = name == "graph" and isinstance(value, Mapping)
    return json.dumps(value.get("fingerprint") if is_graph else value, sort_keys=True)


def _dataset_notes(runs: Mapping[str, Run]) -> Iterator[str]:
    """Say how questions and graph of runs, by name, are not those of the dataset."""
    by_text: dict[str, list[str]] = {}
    for name, run in runs.items():
        for text in _dataset_gaps(run.config):
            by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        yield text if len(names) == len(runs) else f"{text} ({', '.join(names)})"


def _dataset_gaps(config: Mapping[str, Any]) -> Iterator[str]:
    if reasons := config.get("left_out"):
        listed = "; ".join(
            f"{printable(reason, 80)} ({count})" for reason, count in islice(reasons.items(), _MAX_REASONS)
        )
        more = " …" if len(reasons) > _MAX_REASONS else ""
        yield f"{counted(sum(reasons.values()), 'question')} left out of the dataset: {listed}{more}"
    if (share := config.get("missing_share") or 0) > _MISSING_SHARE:
        yield (
            f"{100 * share:.0f} % of the gold terms are not in the graph: the figures are not those of the dataset as"
            " published"
        )
    if count := config.get("without_answer"):
        yield f"{counted(count, 'question')} without a right answer: who says nothing is right there"
