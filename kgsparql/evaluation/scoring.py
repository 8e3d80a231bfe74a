"""The scores of a run: every metric of every record, from the run's files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run, whole_lines
from kgsparql.evaluation.statistics import Places, Values
from kgsparql.linking.words import comma_separated
from kgsparql.rdf.terms import printable

SLICES: Mapping[str, Callable[[Question], str]] = {
    "hops": lambda question: "" if question.hops is None else str(question.hops),
    "type": lambda question: question.type,
    "direction": lambda question: question.direction,
}
"""Properties that questions are grouped by; an empty text where the dataset does not say."""

UNKNOWN = "unknown"
"""The slice of the questions of which the dataset does not say."""

ALWAYS = ("fallbacks", "truncated", "failed")
"""Metrics that are always shown: figures mean little without them."""

ORACLE = "oracle"
"""The model of a run in which an oracle chooses."""

_BATCH = 256
"""Records that are scored together."""

VARYING = ("seconds", "seconds_without_model", "paid_cost")
"""Metrics that differ when the same is run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScores:
    """Metrics of the questions that a method of a run was asked.

    :param questions: those that were asked, in the order of the run.
    :param values: for each metric an array of shape (questions,), NaN where it is not defined.
    :param chosen_by: who chose in any of the questions; ``None`` if no record says.
    """

    run: Run
    method: str
    model: str
    questions: tuple[Question, ...]
    values: Mapping[str, Values]
    errors: Mapping[str, int]
    chosen_by: frozenset[str] | None = None

    @property
    def is_no_ceiling(self) -> bool:
        """Whether the run has an oracle, but it never chose: the figures are those without a model."""
        return self.model == ORACLE and self.chosen_by is not None and ORACLE not in self.chosen_by

    def defined(self, metric: str, among: Places | None = None) -> Values:
        """Return the values of a metric where it is defined."""
        values = self.values[metric] if among is None else self.values[metric][among]
        return values[~np.isnan(values)]


def opened(paths: Sequence[Path]) -> list[Run]:
    """Open the runs in directories.

    :raises InputError: if one holds none, or is named twice.
    :raises DataError: if what describes a run lacks something, or names a file that is not in it.
    """
    seen: set[Path] = set()
    runs = []
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path}: named twice", hint="each run once")
        seen.add(path.resolve())
        run = Run.open(path)
        try:
            labels = [*run.methods, run.dataset, run.model]
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path / 'run.json'}: not what a run writes: {printable(repr(error), 100)}") from error
        if not all(isinstance(label, str) for label in labels) or not run.methods:
            raise DataError(f"{path / 'run.json'}: no methods", hint="run it again")
        for label in run.methods:
            run.answers_file(label)
        runs.append(run)
    return runs


def chosen_metrics(names: str = "", *, reproducible: bool = False, text: bool = False) -> tuple[str, ...]:
    """Read the names of metrics from ``hits@1,f1``; all of them for ``all`` or nothing.

    :param reproducible: without those that differ when the same is run again.
    :param text: with those that compare sentences, which take a model of their own.
    :raises OptionError: for a name that is none.
    """
    wanted = list(comma_separated(names))
    for name in wanted:
        if name not in METRICS and name != "all":
            raise OptionError(f"no metric {printable(name, 60)!r}", hint=f"there are: all, {', '.join(METRICS)}")
    if not wanted or "all" in wanted:
        wanted = [name for name, metric in METRICS.items() if text or metric.group != "text"]
    kept = tuple(dict.fromkeys(name for name in wanted if not (reproducible and name in VARYING)))
    if not kept:
        raise OptionError(f"{', '.join(wanted)}: differs from run to run", hint="name others, or leave --reproducible")
    return kept


def method_scores(run: Run, method: str, metrics: Sequence[str]) -> MethodScores:
    """Score a method of a run; only one record at a time is in memory."""
    places = {question.id: i for i, question in enumerate(run.questions)}
    of = {name: METRICS[name].of for name in metrics}
    values = {name: np.full(len(places), np.nan) for name in metrics}
    failures: dict[int, str | None] = {}
    choosers: dict[int, tuple[str, ...] | None] = {}
    for place, record in _placed_records(run, method, places, metrics):
        for name, function in of.items():
            value = function(run.questions[place], record)
            values[name][place] = np.nan if value is None else value
        failures[place] = (record.error or ("E_INTERNAL", ""))[0] if record.has_failed else None
        choosers[place] = record.chosen_by
    asked = np.array(sorted(failures), dtype=np.intp)
    noted = [own for own in choosers.values() if own is not None]
    config: Mapping[str, object] = next((m for m in run.config["methods"] if m["label"] == method), {})
    return MethodScores(
        run=run,
        method=method,
        model=run.model if config.get("with_model", True) else "",
        questions=tuple(run.questions[place] for place in asked),
        values={name: own[asked] for name, own in values.items()},
        errors=dict(sorted(Counter(code for code in failures.values() if code is not None).items())),
        chosen_by=frozenset().union(*noted) if noted else None,
    )


def _placed_records(
    run: Run, method: str, places: Mapping[str, int], metrics: Sequence[str]
) -> Iterator[tuple[int, Record]]:
    """Yield the records of known questions with their places; BERTScore is computed in batches, which is faster."""
    known = ((places[record.question], record) for record in each_record(run, method) if record.question in places)
    if "bertscore_f1" not in metrics:
        yield from known
        return
    from kgsparql.evaluation.metrics.text import prepare

    while batch := list(islice(known, _BATCH)):
        prepare((run.questions[place], record) for place, record in batch)
        yield from batch


def each_record(run: Run, method: str, only: Collection[str] | None = None) -> Iterator[Record]:
    """Yield the records of a method in the order they were written; of a question asked again, the last one counts.

    :raises DataError: for a line that is no record, with its number.
    """
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


def key(question: Question) -> tuple[str, str]:
    """Return what makes a question of two runs the same one."""
    return question.id, question.text
