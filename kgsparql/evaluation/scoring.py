"""The scores of a run: every metric of every record, from the run's files alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kgsparql.errors import DataError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run, whole_lines
from kgsparql.evaluation.statistics import Places, Values
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScores:
    """Metrics of the questions that a method of a run was asked.

    :param model: empty where none was asked, and where an oracle might have chosen but never did.
    :param questions: those that were asked, in the order of the run.
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

    :param reproducible: without those that differ when the same is run again.
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
