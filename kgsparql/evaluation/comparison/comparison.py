"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

Runs are scored here from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row, Slice, leaderboard, named_rows
from kgsparql.evaluation.comparison.run_differences import dataset_notes, run_differences
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.scoring import ALWAYS, ORACLE, SLICES, UNKNOWN, MethodScores, chosen_metrics, method_scores
from kgsparql.evaluation.statistics import Places, intervals
from kgsparql.rdf.terms import printable

__all__ = ["Comparison", "compare"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All rows of all datasets.

    :param metrics: the names of what was scored, in the order of tables.
    :param named: somebody chose them, and tables show them all.
    :param by: what questions are told apart by.
    :param by_named: somebody chose that, and tables show it all.
    :param baseline: the reference was named too.
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
        return tuple(row for one in self.leaderboards for row in one.rows)


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
    :param named: tables show all of these metrics, and they are all tested; by default if they are given.
    :param by: what questions are told apart by, of :data:`SLICES`; by default all of it.
    :param baseline: the method, or the name of the row, that others are compared with; by default the best one.
    :raises InputError: if no question has been answered at all.
    :raises OptionError: for a baseline that is not among the rows.
    :raises DataError: for files that are not as a run leaves them.
    """
    names = tuple(metrics) if metrics is not None else chosen_metrics(reproducible=reproducible)
    all_names = (*names, *(name for name in ALWAYS if name not in names))
    kinds = tuple(SLICES) if by is None else tuple(by)
    work = [(run, method) for run in runs for method in run.methods]
    found = []
    for i, (run, method) in enumerate(work):
        if progress is not None:
            progress("scoring", i, len(work))
        found.append(method_scores(run, method, all_names))
    if progress is not None:
        progress("scoring", len(work), len(work))
    if not any(one.questions for one in found):
        where = ", ".join(str(run.path) for run in runs)
        raise InputError(f"{where}: no question has been answered yet", hint="go on with it: --resume")
    datasets = list(dict.fromkeys(one.run.dataset for one in found))
    groups = [[one for one in found if one.run.dataset == dataset] for dataset in datasets]
    ordered = [one for group in groups for one in group]
    run_names = {runs[0].path: ""} if reproducible and len(runs) == 1 else _run_names(runs)
    rows = _rows(ordered, run_names, groups, by=kinds, names=all_names, seed=seed)
    named = metrics is not None if named is None else named
    leaderboards, at = [], 0
    for group in groups:
        own = rows[at : at + len(group)]
        alike = tuple(run_differences({run_names[one.run.path]: one.run for one in group}))
        one = leaderboard(group, own, named=names if named else (), baseline=baseline, seed=seed)
        about = tuple(dataset_notes({run_names[one.run.path]: one.run for one in group}))
        leaderboards.append(replace(one, notes=(*alike, *about, *one.notes)))
        at += len(group)
    if baseline and all(not named_rows(baseline, one.rows) for one in leaderboards):
        there = dict.fromkeys(row.name for row in rows)
        raise OptionError(
            f"--baseline {printable(baseline, 60)}: no such method", hint=f"there are: {', '.join(there)}"
        )
    return Comparison(
        leaderboards=tuple(leaderboards), metrics=names, named=named, by=kinds,
        by_named=by is not None, baseline=baseline, seed=seed, reproducible=reproducible,
    )  # fmt: skip


def _rows(
    found: Sequence[MethodScores], runs: Mapping[Path, str], groups: Sequence[Sequence[MethodScores]], *,
    by: Sequence[str], names: Sequence[str], seed: int,
) -> list[Row]:  # fmt: skip
    """The rows, with the intervals of all slices drawn at once."""
    known = {id(one): _slice_values(group, by) for group in groups for one in group}
    titles = [title for group in groups for title in _names(group, runs)]
    mixed = {id(one) for group in groups if any(o.questions and o.model != ORACLE for o in group) for one in group}
    parts: list[tuple[int, str, str, Places]] = []
    for i, one in enumerate(found):
        parts.append((i, "", "", np.arange(len(one.questions))))
        for kind, values in known[id(one)].items():
            of = [SLICES[kind](question) or UNKNOWN for question in one.questions]
            parts += [(i, kind, value, np.flatnonzero(np.array([v == value for v in of], bool))) for value in values]
    columns = [found[i].defined(name, among) for i, _, _, among in parts for name in names]
    shares = [METRICS[name].group != "cost" for _ in parts for name in names]
    drawn = iter(intervals(columns, shares=shares, seed=seed))
    means: list[dict[str, dict[str, Slice]]] = [{} for _ in found]
    for i, kind, value, among in parts:
        own = Slice(n=len(among), means={name: next(drawn) for name in names})
        means[i].setdefault(kind, {})[value] = own
    return [
        Row(
            dataset=one.run.dataset, method=one.method, model=one.model, run=runs[one.run.path], name=titles[i],
            n=len(one.questions), questions=len(one.run.questions), means=means[i][""][""].means, errors=one.errors,
            slices={kind: means[i].get(kind, {}) for kind in by},
            chosen_by=one.chosen_by, is_no_ceiling=one.is_no_ceiling,
            is_ceiling=one.model == ORACLE and not one.is_no_ceiling and id(one) in mixed,
        )
        for i, one in enumerate(found)
    ]  # fmt: skip


def _slice_values(group: Sequence[MethodScores], by: Sequence[str]) -> dict[str, list[str]]:
    """The values that the questions of a dataset have, in their order; none of a kind that no question has."""
    found = {}
    for kind in by:
        values = {SLICES[kind](question) for one in group for question in one.questions}
        if values - {""}:
            numbers = sorted((v for v in values if v.isdecimal()), key=int)
            found[kind] = [*numbers, *sorted(values - {"", *numbers}), *([UNKNOWN] if "" in values else [])]
    return found


def _run_names(runs: Sequence[Run]) -> dict[Path, str]:
    """The last parts of the runs' paths, as many as tell them apart."""
    parts = {run.path: run.path.resolve().parts for run in runs}
    for length in range(1, max(map(len, parts.values())) + 1):
        names = {path: "/".join(own[-length:]) for path, own in parts.items()}
        if len(set(names.values())) == len(names):
            return names
    return {path: str(path) for path in parts}


def _names(group: Sequence[MethodScores], runs: Mapping[Path, str]) -> list[str]:
    """A name for each row: the method, then the model, then the run, as far as they are needed."""
    by_method: dict[str, set[str]] = {}
    for one in group:
        by_method.setdefault(one.method, set()).add(one.model)
    names = [
        one.method if len(by_method[one.method]) == 1 else f"{one.method}, {one.model or 'no model'}" for one in group
    ]
    counts = Counter(names)
    told = (n if counts[n] == 1 else f"{n} ({runs[one.run.path]})" for n, one in zip(names, group, strict=True))
    return [printable(name, 200) for name in told]
