"""Choosing a method's options on one part of the questions, and judging the choice on the other.

Every setting that is tried is a run of its own: ``RUN/trials/NUMBER`` on the development questions, and
``RUN/held_out/default`` and ``RUN/held_out/chosen`` on the held-out ones, which are asked when the choice is made.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql import retrievers
from kgsparql.answering.ask_options import ignore
from kgsparql.errors import DataError, InputError, LimitError, OptionError
from kgsparql.evaluation.comparison_tables import amount, table_lines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.plan import Plan, load_methods
from kgsparql.evaluation.runs.running import MethodProgress, resume_or_begin
from kgsparql.evaluation.scoring import MethodScores, method_scores
from kgsparql.evaluation.statistics import FEW, Difference, differences
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.made_questions.patterns import drawn
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import wrapped
from kgsparql.retrievers._loading import Preset

Setting = Mapping[str, Any]
"""A value for each option that is tuned."""

_COSTS = ("model_calls", "queries")

_MAX_VALUES, _MAX_TRIALS = 1_000, 10_000

_TOLERANCE = 0.1
"""Of the questions of a number of hops, the share that a part may have too many or too few; at least one question."""


def settings_of(method: str, texts: Mapping[str, str], *, trials: int | None = None, seed: int = 0) -> list[Setting]:
    """List the settings to try, the default one first: all of the grid, or ``trials`` that are drawn of it.

    :param texts: the values of each option, as a command line has them: ``3,5,10``, ``1..5`` or ``0.1..0.5/0.1``.
    :raises OptionError: for a method, an option or a value that does not exist.
    :raises LimitError: for too many values or settings.

    >>> settings_of("mindmap", {"paths_kept": "3,5", "max_hops": "2..3"})[1:3]
    [{'paths_kept': 3, 'max_hops': 2}, {'paths_kept': 3, 'max_hops': 3}]
    """
    if not texts:
        hint = f'for example -O "NAME=1,2,3"; which there are: kgsparql retrievers {method}'
        raise OptionError("no option to tune", hint=hint)
    values: dict[str, list[Any]] = {}
    for name, text in texts.items():
        typed = (getattr(retrievers.load(method, {name: one}), name) for one in _value_texts(name, text))
        values[name] = list(dict.fromkeys(typed))
    base = retrievers.load(method)
    default: Setting = {name: getattr(base, name) for name in values}
    size = math.prod(map(len, values.values()))
    count = min(size, trials or size)
    if count > _MAX_TRIALS:
        raise LimitError(f"{count:,} trials", hint="--trials 50 draws some of them")
    found: list[Setting] = []
    if count == size:
        found = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    drawing = random.Random(f"settings of {seed}")  # noqa: S311 - nobody is to be kept from guessing it
    while len(found) < count:
        one = {name: drawing.choice(own) for name, own in values.items()}
        found += [one] if one not in found else []
    return [default, *(setting for setting in found if setting != default)]


def _value_texts(name: str, text: str) -> list[str]:
    """Split the text of an option into the texts of its values.

    >>> _value_texts("hops", "1..3, 5"), _value_texts("weight", "0.1..0.35/0.1")
    (['1', '2', '3', '5'], ['0.1', '0.2', '0.3'])
    """
    found: list[str] = []
    for part in map(str.strip, text.split(",")):
        ends, _, step = part.partition("/")
        try:
            low, high = map(Decimal, ends.split(".."))
            by = Decimal(step or 1)
            count = int((high - low) // by) + 1
        except (InvalidOperation, DivisionByZero, ValueError, OverflowError):
            found.append(part)  # no range: the method says whether it is a value
            continue
        if not 0 < count <= _MAX_VALUES:
            raise LimitError(f"-O {printable(f'{name}={text}', 60)}: 1 to {_MAX_VALUES:,} values", hint="as in 1..9/2")
        found += [f"{low + i * by:f}" for i in range(count)]
    return found


def setting_text(setting: Setting) -> str:
    """Write a setting as ``-O`` takes it.

    >>> setting_text({"paths_kept": 5, "max_hops": None})
    'paths_kept=5 max_hops=none'
    """
    return " ".join(f"{name}={_value_text(value)}" for name, value in setting.items())


def _value_text(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else printable(str(value), 60)


# -- The two parts of the questions -------------------------------------------------------------------------------


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
    by_path: dict[Hashable, list[Question]] = {}
    for question in questions:
        by_path.setdefault(_path_template(question) or question.id, []).append(question)
    chosen = _development_ids(list(by_path.values()), share, seed)
    total, there = _strata(questions), _strata([question for question in questions if question.id in chosen])
    if any(abs(there[kind] - share * n) > max(1.0, _TOLERANCE * n) for kind, n in total.items()):
        chosen = _development_ids([[question] for question in questions], share, seed)
    if not chosen:  # so few questions of each number of hops that none reached its share
        chosen = {questions[0].id}
    elif len(chosen) == len(questions):
        chosen.discard(questions[-1].id)
    parts = (tuple(question for question in questions if (question.id in chosen) is one) for one in (True, False))
    return Split(*parts)


def _path_template(question: Question) -> tuple[str, ...]:
    return question.path or tuple(sorted({triple.predicate.value for triple in question.golden_triples}))


def _strata(questions: Sequence[Question]) -> Counter[int | str | None]:
    return Counter(kind for question in questions for kind in ("all", question.hops))


def _development_ids(groups: Sequence[Sequence[Question]], share: float, seed: int) -> set[str]:
    """Take each group, the largest first, into development if that brings all and each number of hops nearer to it."""
    in_order = drawn(groups, f"split {seed}", key=lambda group: min(question.id for question in group))
    seen, taken = _strata([]), _strata([])
    chosen: set[str] = set()
    for group in sorted(in_order, key=len, reverse=True):
        own = _strata(group)
        seen.update(own)
        without, within = (
            sum((taken[kind] + n * more - share * seen[kind]) ** 2 for kind, n in own.items()) for more in (0, 1)
        )
        if within < without:
            taken.update(own)
            chosen.update(question.id for question in group)
    return chosen


# -- The choice, and what it is worth -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting and its scores on some questions."""

    setting: Setting
    metric: str
    scores: MethodScores

    def mean(self, metric: str = "") -> float:
        """Return the mean of a metric, by default the one that is tuned for; NaN if no question has one."""
        values = self.scores.defined(metric or self.metric)
        return float(values.mean()) if len(values) else math.nan

    @property
    def goodness(self) -> float:
        """The mean of the metric, so that more is better; minus infinity where it is not defined."""
        mean = self.mean() * (-1 if METRICS[self.metric].better == "lower" else 1)
        return -math.inf if math.isnan(mean) else round(mean, 9)


def best(trials: Sequence[Trial]) -> Trial:
    """Choose a trial: the first, which has the default options, unless others have a better mean of the metric.

    Of equally good ones, that which changes the fewest options; then the one with the fewest calls, then queries.
    """

    def rank(trial: Trial) -> tuple[float, ...]:
        kept = sum(trial.setting[name] == value for name, value in trials[0].setting.items())
        return trial.goodness, kept, *(-round(trial.mean(cost), 9) for cost in _COSTS)

    return max((trial for trial in trials if trial.goodness > trials[0].goodness), key=rank, default=trials[0])


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of a tuning.

    :param trials: on the development questions, in the order they were tried; the first has the default options.
    :param held_out: default and chosen setting on the held-out questions; the same trial where they are the same.
    """

    parts: Split
    trials: Sequence[Trial]
    held_out: tuple[Trial, Trial]

    @property
    def chosen(self) -> Trial:
        """The best trial on the development questions."""
        return best(self.trials)

    @property
    def difference(self) -> Difference | None:
        """Chosen minus default on the held-out questions; ``None`` if they are the same, or cannot be compared."""
        default, chosen = (trial.scores.values[trial.metric] for trial in self.held_out)
        both = ~(np.isnan(default) | np.isnan(chosen))
        return None if default is chosen else differences([(chosen[both], default[both])])[0]

    @property
    def is_significant(self) -> bool:
        """Whether the chosen options are significantly better than the default ones on the held-out questions."""
        default, chosen = self.held_out
        return (found := self.difference) is not None and found.p < 0.05 and chosen.goodness > default.goodness

    @property
    def verdict(self) -> str:
        """What the held-out questions say of the choice, in one or two sentences."""
        (default, chosen), found = self.held_out, self.difference
        name = chosen.metric
        if chosen is default:
            return f"Nothing beat the defaults: no setting that was tried has a better {name}."
        if found is None:
            return f"{name} is not defined for any of the held-out questions: nothing is known of the choice there."
        about = "The gain on the held-out questions is NOT significant: it may be chance. "
        if self.is_significant:
            about = ""
        elif found.p < 0.05:
            about = "The chosen options are WORSE than the default ones on the held-out questions. "
        elif chosen.goodness <= default.goodness:
            about = "There is NO gain on the held-out questions. "
        return (
            f"{about}{name} {chosen.mean():.3f} instead of {default.mean():.3f} with the default options on {found.n} "
            f"held-out questions: {found.mean:+.3f}, 95 % interval [{found.low:+.3f}, {found.high:+.3f}], "
            f"p={found.p:.3f}."
        )

    def preset(self, *, kgsparql: str) -> Preset:
        """Make a preset of the chosen options, with what is known of them; without any where nothing beat the defaults.

        :param kgsparql: the version that chose them.
        """
        run, found = self.chosen.scores.run, self.difference
        names = {"difference": "mean", "low": "low", "high": "high", "p": "p"}
        compared = {} if found is None else {name: round(getattr(found, of), 6) for name, of in names.items()}
        tuned = {
            "metric": self.chosen.metric, "dataset": run.dataset, "questions_sha256": run.config["dataset"]["sha256"],
            "graph": run.config["graph"]["fingerprint"], "model": run.model, "gold_topics": run.config["gold_topics"],
            "trials": len(self.trials), "significant": self.is_significant,
            "development": _figures(self.trials[0], self.chosen), "held_out": _figures(*self.held_out) | compared,
        }  # fmt: skip
        options = {} if self.chosen is self.trials[0] else dict(self.chosen.setting)
        method = self.chosen.scores.method
        return Preset(method=method, options=options, comment=self.verdict, kgsparql=kgsparql, tuned=tuned)


def _figures(default: Trial, chosen: Trial) -> dict[str, float]:
    first, second = (0.0 if math.isnan(trial.mean()) else round(trial.mean(), 6) for trial in (default, chosen))
    return {"n": len(default.scores.questions), "default": first, "chosen": second}


def tune(
    knowledge: KnowledgeBase,
    plan: Plan,
    settings: Sequence[Setting],
    parts: Split,
    path: Path,
    *,
    method: str,
    metric: str,
    configuration: Callable[[Plan], Mapping[str, Any]],
    tell: Callable[[MethodProgress], None] = ignore,
) -> Tuning:
    """Try settings on the development questions, and see the best, beside the default one, on the held-out ones.

    :param plan: how to ask; its questions and methods are those of each trial.
    :param settings: the first is the default one, which is kept unless another has a better mean: see :func:`best`.
    :param tell: hears how far each trial is, with its setting in place of the method's name.
    :raises DataError: if the metric is not defined for any of the development questions.
    """

    def trial(setting: Setting, questions: Sequence[Question], place: str) -> Trial:
        with_model = plan.asking.model is not None
        methods, _ = load_methods([method], {method: setting}, knowledge, model=with_model, chosen=False)
        own = replace(plan, questions=questions, methods=methods)
        about = f"{place}: {setting_text(setting)}"
        run = resume_or_begin(
            knowledge, own, path / place, configuration(own), tell=lambda at: tell(replace(at, method=about))
        )
        return Trial(setting, metric, method_scores(run, methods[0].label, (metric, *_COSTS)))

    trials = [trial(one, parts.development, f"trials/{number}") for number, one in enumerate(settings, 1)]
    chosen = best(trials)
    if math.isnan(chosen.mean()):
        about = f"{metric} is not defined for any of the {len(parts.development)} development questions"
        raise DataError(about, hint="another --metric, or more questions")
    default = trial(settings[0], parts.held_out, "held_out/default")
    is_default = chosen is trials[0]
    judged = default if is_default else trial(chosen.setting, parts.held_out, "held_out/chosen")
    return Tuning(parts, trials, (default, judged))


def tuning_text(tuning: Tuning) -> str:
    """Write a tuning as tables for a terminal or a pipe."""
    chosen = tuning.chosen
    model = chosen.scores.run.model or "no model"
    tried = [
        (f"trials/{number}{' default' * (number == 1)}{' *' * (trial is chosen)}", trial)
        for number, trial in enumerate(tuning.trials, 1)
    ]
    tried.sort(key=lambda row: (-row[1].goodness, row[1] is not chosen))
    failed = sum(sum(trial.scores.errors.values()) for trial in (*tuning.trials, *tuning.held_out))
    return "\n".join([
        f"{chosen.scores.method} on {printable(chosen.scores.run.dataset, 60)} · {chosen.metric} · {model}",
        *wrapped(str(tuning.parts), indent="  "), "",
        "On the development questions (* is chosen)", *_trial_table(tried), "",
        "On the held-out questions", *_trial_table([*zip(("default", "chosen *"), tuning.held_out, strict=True)]),
        *([f"  {failed:,} questions failed and count as wrong; the runs say why."] if failed else []),
        *wrapped(tuning.verdict, indent="  "), "",
    ])  # fmt: skip


def _trial_table(rows: Sequence[tuple[str, Trial]]) -> list[str]:
    names, metric = list(rows[0][1].setting), rows[0][1].metric
    shown = [metric, *(cost for cost in _COSTS if cost != metric and any(trial.mean(cost) for _, trial in rows))]
    cells = [["run", *shown, *names]]
    for label, trial in rows:
        means = ((name, trial.mean(name)) for name in shown)
        figures = (amount(name, None if math.isnan(mean) else mean) for name, mean in means)
        cells.append([label, *figures, *(_value_text(trial.setting[name]) for name in names)])
    return table_lines(cells)
