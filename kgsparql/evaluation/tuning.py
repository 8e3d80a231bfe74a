"""Choosing a method's options on one part of the questions, and judging the choice on the other.

The settings that are tried are the methods of a run on the development questions, ``RUN/development``. When the choice
is made, ``RUN/held_out`` is a run with the default setting and the chosen one on the held-out questions.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from kgsparql import retrievers
from kgsparql.answering.ask_options import ignore
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import DataError, InputError, LimitError, OptionError
from kgsparql.evaluation.comparison import Comparison, PairwiseTest, Row, compare, scored
from kgsparql.evaluation.comparison_report import amount, comparison_text, table_lines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Method, Plan
from kgsparql.evaluation.runs.running import Tell, resume_or_begin
from kgsparql.evaluation.statistics import FEW
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.made_questions.patterns import drawn
from kgsparql.rendering.rows import wrapped
from kgsparql.retrievers._loading import Preset

Setting = Mapping[str, Any]
"""A value for each option that is tuned."""

_COSTS = ("model_calls", "queries")

_TOLERANCE = 0.1
"""Of the questions of a number of hops, the share that a part may have too many or too few; at least one question."""


def settings_of(method: str, texts: Mapping[str, str], *, trials: int | None = None, seed: int = 0) -> list[Setting]:
    """List the settings to try, the default one first: all of the grid, or ``trials`` that are drawn of it.

    :param texts: the values of each option, between commas.
    :raises OptionError: for a method, an option or a value that does not exist.

    >>> settings_of("mindmap", {"paths_kept": "3,5", "max_hops": "2,3"})[1:3]
    [{'paths_kept': 3, 'max_hops': 2}, {'paths_kept': 3, 'max_hops': 3}]
    """
    if not texts:
        hint = f'for example -O "NAME=1,2,3"; which there are: kgsparql retrievers {method}'
        raise OptionError("no option to tune", hint=hint)
    values: dict[str, list[Any]] = {}
    for name, text in texts.items():
        typed = (getattr(retrievers.load(method, {name: one.strip()}), name) for one in text.split(","))
        values[name] = list(dict.fromkeys(typed))
    base = retrievers.load(method)
    default: Setting = {name: getattr(base, name) for name in values}
    size = math.prod(map(len, values.values()))
    count = min(size, trials or size)
    if count > 10_000:
        raise LimitError(f"{count:,} trials", hint="--trials 50 draws some of them")
    found: list[Setting] = []
    if count == size:
        found = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    drawing = random.Random(f"settings of {seed}")  # noqa: S311 - nobody is to be kept from guessing it
    while len(found) < count:
        one = {name: drawing.choice(own) for name, own in values.items()}
        found += [one] if one not in found else []
    return [default, *(setting for setting in found if setting != default)]


@dataclass(frozen=True, slots=True)
class Split:
    """Development questions, on which options are chosen, and held-out ones, on which the choice is judged."""

    development: tuple[Question, ...]
    held_out: tuple[Question, ...]

    def __str__(self) -> str:
        text = f"{len(self.development)} development and {len(self.held_out)} held-out questions"
        ours, others = (set(map(_path_template, part)) - {()} for part in (self.development, self.held_out))
        text += f"; {len(ours & others)} of {len(ours | others)} paths are in both" if ours or others else ""
        if len(self.held_out) < FEW:
            text += f"; only a large gain can be told from chance: take {FEW} held-out questions or more"
        return text


def split(questions: Sequence[Question], share: float, *, seed: int) -> Split:
    """Split questions into two parts that have the wanted share of each number of hops.

    Options that fit one question fit another along the same path. So questions of one path template (the predicates
    and directions of the path, else the predicates of the golden triples) stay in one part, if both parts then still
    have their share of each number of hops, give or take a tenth or one question. If not, each question is drawn by
    itself.

    :raises InputError: for fewer than four questions.

    >>> questions = [Question(id=str(n), text="?", hops=n % 2 + 1, path=(f"p{n % 8}",)) for n in range(80)]
    >>> str(split(questions, 0.5, seed=0))
    '40 development and 40 held-out questions; 0 of 8 paths are in both'
    """
    if len(questions) < 4:
        raise InputError(f"{len(questions)} questions cannot be split", hint="it takes 4, better 50 or more")
    by_path: dict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        by_path[_path_template(question) or question.id].append(question)
    chosen = _development_ids(by_path.values(), share, seed)
    there = _stratum_counts(question for question in questions if question.id in chosen)
    if any(abs(there[kind] - share * n) > max(1.0, _TOLERANCE * n) for kind, n in _stratum_counts(questions).items()):
        chosen = _development_ids([[question] for question in questions], share, seed)
    if not chosen:  # so few questions of each number of hops that none reached its share
        chosen = {questions[0].id}
    elif len(chosen) == len(questions):
        chosen.discard(questions[-1].id)
    parts = (tuple(question for question in questions if (question.id in chosen) is one) for one in (True, False))
    return Split(*parts)


def _path_template(question: Question) -> tuple[str, ...]:
    return question.path or tuple(sorted({triple.predicate.value for triple in question.golden_triples}))


def _stratum_counts(questions: Iterable[Question]) -> Counter[int | str | None]:
    return Counter(kind for question in questions for kind in ("all", question.hops))


def _development_ids(groups: Iterable[Sequence[Question]], share: float, seed: int) -> set[str]:
    """Take each group, the largest first, into development if that brings all and each number of hops nearer to it."""
    in_order = drawn(groups, f"split {seed}", key=lambda group: min(question.id for question in group))
    seen, taken = _stratum_counts(()), _stratum_counts(())
    chosen: set[str] = set()
    for group in sorted(in_order, key=len, reverse=True):
        own = _stratum_counts(group)
        seen.update(own)
        without, within = (
            sum((taken[kind] + n * more - share * seen[kind]) ** 2 for kind, n in own.items()) for more in (0, 1)
        )
        if within < without:
            taken.update(own)
            chosen.update(question.id for question in group)
    return chosen


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of a tuning.

    :param trials: settings with their scores on the development questions; the first has the default options.
    :param chosen: the place of the best one.
    :param held_out: the default setting and, if it is another, the chosen one on the held-out questions.
    """

    metric: str
    parts: Split
    trials: Sequence[tuple[Setting, Row]]
    chosen: int
    held_out: Comparison

    @property
    def test(self) -> PairwiseTest | None:
        """The chosen setting against the default one; ``None`` if they are the same, or cannot be compared."""
        tests = self.held_out.leaderboards[0].tests.values()
        return next((own[self.metric] for own in tests if self.metric in own), None)

    @property
    def verdict(self) -> str:
        """What the held-out questions say of the choice, in one sentence."""
        if not self.chosen:
            return f"Nothing beat the defaults: no setting that was tried has a better {self.metric}."
        if (test := self.test) is None:
            return f"Nothing is known of the choice: {self.metric} is not defined for the held-out questions."
        found, words = test.difference, {"better": "are better", "worse": "are WORSE"}
        said = words.get(test.verdict, "are NOT shown to be better")
        bounds = f"95 % interval [{found.low:+.3f}, {found.high:+.3f}], p={found.p:.3f}"
        on = f"on {found.n} held-out questions: {self.metric} {found.mean:+.3f}, {bounds}."
        return f"The chosen options {said} than the defaults {on}"

    def preset(self, *, kgsparql: str) -> Preset:
        """Make a preset of the chosen options, with what is known of them; of none where nothing beat the defaults."""
        setting, scores = self.trials[self.chosen]
        run, test = scores.run, self.test
        tuned = {
            "metric": self.metric, "dataset": run.dataset, "graph": run.config["graph"]["fingerprint"],
            "model": run.model, "trials": len(self.trials), "held_out": len(self.parts.held_out),
            "significant": test is not None and test.verdict == "better",
        }  # fmt: skip
        options = dict(setting) if self.chosen else {}
        method = run.config["methods"][0]["method"]
        return Preset(method=method, options=options, comment=self.verdict, kgsparql=kgsparql, tuned=tuned)


def best(trials: Sequence[tuple[Setting, Row]], metric: str) -> int:
    """Choose a trial: the first, which has the default options, unless others have a better mean of the metric.

    Of equally good ones, that which changes the fewest options; then the one with the fewest calls, then queries.
    """
    sign = -1 if METRICS[metric].better == "lower" else 1

    def rank(place: int) -> tuple[float, ...]:
        setting, scores = trials[place]
        kept = sum(setting[name] == value for name, value in trials[0][0].items())
        return sign * _mean_score(scores, metric), kept, *(-_mean_score(scores, cost) for cost in _COSTS)

    defined = [place for place, (_, scores) in enumerate(trials) if len(scores.defined(metric))]
    if not defined:
        about = f"{metric} is not defined for any of the {len(trials[0][1].questions)} development questions"
        raise DataError(about, hint="another --metric, or more questions")
    found = max(defined, key=rank)
    return found if 0 not in defined or rank(found)[0] > rank(0)[0] else 0


def _mean_score(scores: Row, metric: str) -> float:
    values = scores.defined(metric)
    return round(float(values.mean()), 9) if len(values) else math.nan


def tune(
    knowledge: KnowledgeBase, plan: Plan, settings: Sequence[Setting], parts: Split, path: Path, *, method: str,
    metric: str, configuration: Callable[[Plan], Mapping[str, Any]], tell: Tell = ignore,
) -> Tuning:  # fmt: skip
    """Try settings on the development questions, and see the best, beside the default one, on the held-out ones.

    :param plan: how to ask; its questions and methods are those of the two runs.
    :param settings: the first is the default one.
    :raises DataError: if the metric is not defined for any of the development questions.
    """

    def run(questions: Sequence[Question], named: Mapping[str, Setting], folder: str) -> Run:
        methods = [Method(label=label, retriever=retrievers.load(method, setting)) for label, setting in named.items()]
        own = replace(plan, questions=questions, methods=methods)
        return resume_or_begin(knowledge, own, path / folder, configuration(own), tell=tell)

    labels = ["default", *(_setting_label(number, setting) for number, setting in enumerate(settings[1:], 1))]
    tried = run(parts.development, dict(zip(labels, settings, strict=True)), "development")
    costs = (metric, *_COSTS)
    trials = [(one, scored(tried, label, costs)) for label, one in zip(labels, settings, strict=True)]
    chosen = best(trials, metric)
    named = {"default": settings[0], **({"chosen": settings[chosen]} if chosen else {})}
    judged = run(parts.held_out, named, "held_out")
    compared = compare([judged], metrics=list(dict.fromkeys(costs)), baseline="default")
    return Tuning(metric, parts, trials, chosen, compared)


def _setting_label(number: int, setting: Setting) -> str:
    """Name a setting, as a method of a run can be named.

    >>> _setting_label(1, {"paths_kept": 5, "max_hops": None})
    '1-paths_kept-5-max_hops-None'
    """
    text = "-".join(f"{name}-{value}" for name, value in setting.items())
    return re.sub(r"[^\w.+-]+", "-", f"{number}-{text}", flags=re.ASCII)[:80]


def tuning_text(tuning: Tuning) -> str:
    """Write a tuning as tables for a terminal or a pipe."""
    rows = [["setting", *dict.fromkeys((tuning.metric, *_COSTS))]]
    for place, (_, scores) in enumerate(tuning.trials):
        cells = (amount(m, None if math.isnan(mean := _mean_score(scores, m)) else mean) for m in rows[0][1:])
        rows.append([f"{scores.method}{' *' * (place == tuning.chosen)}", *cells])
    lines = [*wrapped(str(tuning.parts)), "", "On the development questions (* is chosen)", *table_lines(rows), ""]
    return "\n".join(
        [*lines, "On the held-out questions", comparison_text(tuning.held_out), *wrapped(tuning.verdict), ""]
    )
