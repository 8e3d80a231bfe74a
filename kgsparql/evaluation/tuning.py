"""Choosing a method's options on one part of the questions, and saying on the other what that is worth.

Every setting that is tried is a run of its own, in a directory named after its options, so that nothing is asked twice:
neither when a tuning goes on nor when another search comes by the same setting::

    RUN/
      tuning.json              what is tuned on which questions
      trials/OPTIONS/          a run on the development questions, for each setting
      held_out/OPTIONS/        a run on the held-out questions: the default setting, and the chosen one
      preset.toml              the chosen options
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.answering.ask_options import ignore
from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.comparison_tables import amount, table_lines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import FORMAT, replace_text, store_errors
from kgsparql.evaluation.runs.plan import Plan, check_same, load_methods, now
from kgsparql.evaluation.runs.running import MethodProgress, resume_or_begin
from kgsparql.evaluation.scoring import MethodScores, method_scores
from kgsparql.evaluation.search_spaces import Setting, Space, setting_key, setting_text, value_text
from kgsparql.evaluation.splitting import Split
from kgsparql.evaluation.statistics import FEW, Difference, differences
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import wrapped
from kgsparql.retrievers._loading import Preset
from kgsparql.storage.files import writer_lock

SEARCHES = ("grid", "random")

_COSTS = {"model_calls": "calls", "rounds": "rounds", "queries": "queries", "seconds": "s"}
"""The costs of a trial, with their heads in tables."""

_SIGNIFICANT = 0.05
"""With a smaller ``p``, a gain on the held-out questions is more than chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How settings are looked for: all of a grid, or a random sample of it."""

    kind: str = "grid"
    trials: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in SEARCHES:
            raise OptionError(f"no search {printable(self.kind, 40)!r}", hint=f"one of: {', '.join(SEARCHES)}")

    def settings(self, space: Space) -> list[Setting]:
        """List the settings to try, the default one first."""
        found = space.grid() if self.kind == "grid" else space.sample(self.trials, seed=self.seed)
        return [space.default, *(setting for setting in found if setting != space.default)]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A setting and its scores on some questions."""

    setting: Setting
    name: str
    metric: str
    scores: MethodScores

    @cached_property
    def score(self) -> float:
        """The mean of the metric; NaN if no question has one."""
        return self.mean(self.metric) if len(self.scores.defined(self.metric)) else float("nan")

    def mean(self, metric: str) -> float:
        """Return the mean of a metric, or of a cost; 0 where no question has one."""
        values = self.scores.defined(metric)
        return float(values.mean()) if len(values) else 0.0

    @property
    def failed(self) -> int:
        """Questions that ended with an error."""
        return sum(self.scores.errors.values())

    @property
    def goodness(self) -> float:
        """The mean of the metric, so that more is better; minus infinity where it is not defined."""
        sign = -1.0 if METRICS[self.metric].better == "lower" else 1.0
        return float("-inf") if np.isnan(self.score) else round(sign * self.score, 9)


def best(trials: Sequence[Trial]) -> Trial:
    """Choose a trial: the first, which has the default options, unless others have a better mean of the metric.

    Of equally good ones, that which changes the fewest options; then the one with the fewest calls, then queries, then
    the first. So no option is changed that does not improve the metric.
    """
    default = trials[0]

    def rank(trial: Trial) -> tuple[float, ...]:
        kept = sum(trial.setting[name] == value for name, value in default.setting.items())
        return trial.goodness, kept, -round(trial.mean("model_calls"), 9), -round(trial.mean("queries"), 9)

    better = [trial for trial in trials if trial.goodness > default.goodness]
    return max(better, key=rank) if better else default


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The result of a tuning.

    :param config: of its runs: dataset, graph, model and options.
    :param trials: on the development questions, in the order they were tried; the first has the default options.
    :param held_out: default and chosen setting on the held-out questions; the same trial where they are the same.
    :param difference: chosen minus default there; ``None`` if they are the same, or cannot be compared.
    :param looks: other settings that were tried on the same held-out questions before.
    """

    config: Mapping[str, Any]
    space: Space
    search: Search
    metric: str
    split: Split
    trials: tuple[Trial, ...]
    chosen: Trial
    held_out: tuple[Trial, Trial]
    difference: Difference | None
    looks: int = 0

    @property
    def default(self) -> Trial:
        """The default options on the development questions."""
        return self.trials[0]

    @property
    def is_default(self) -> bool:
        """Whether the default options are chosen, because nothing that was tried is better."""
        return self.chosen is self.default

    @property
    def is_significant(self) -> bool:
        """Whether the chosen options are significantly better than the default ones on the held-out questions."""
        found = self.difference
        return found is not None and found.p < _SIGNIFICANT and self._is_gain(found)

    def _is_gain(self, difference: Difference) -> bool:
        is_higher_better = METRICS[self.metric].better == "higher"
        return abs(difference.mean) > 1e-9 and (difference.mean > 0) == is_higher_better

    @property
    def verdict(self) -> str:
        """What the held-out questions say of the choice, in one or two sentences."""
        n, name, difference = len(self.split.held_out), self.metric, self.difference
        if self.is_default:
            return (
                "Nothing beat the defaults: no setting that was tried has a better "
                f"{name} on the {len(self.split.development)} development questions."
            )
        if difference is None:
            return f"{name} is not defined for any of the {n} held-out questions: nothing is known of the choice there."
        figures = (
            f"{name} {self.held_out[1].score:.3f} instead of {self.held_out[0].score:.3f} with the default options on "
            f"{difference.n} held-out questions: {difference.mean:+.3f}, 95 % interval [{difference.low:+.3f}, "
            f"{difference.high:+.3f}], p={difference.p:.3f}."
        )
        if self.is_significant:
            return figures
        if difference.p < _SIGNIFICANT:
            return f"The chosen options are WORSE than the default ones on the held-out questions. {figures}"
        if not self._is_gain(difference):
            return f"There is NO gain on the held-out questions. {figures}"
        return f"The gain on the held-out questions is NOT significant: it may be chance. {figures}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the figures, a sentence each."""
        return tuple(self._limits())

    def _limits(self) -> Iterator[str]:
        n = len(self.split.held_out) if self.difference is None else self.difference.n
        if not self.is_default and n < FEW:
            yield few_held_out(n)
        counts = [len(trial.scores.defined(self.metric)) for trial in self.trials]
        if min(counts) != max(counts):
            of_each = f"{min(counts)} to {max(counts)} questions of a trial"
            yield f"{self.metric} is defined for {of_each}: means may differ for that alone."
        if not self.is_default and self.looks:
            yield f"Other choices ({self.looks}) were judged on the held-out questions before: p is too small."

    def advice(self, preset: Path) -> str:
        """Say what to do with the preset, in one line."""
        file = shlex.quote(str(preset))
        if self.is_default:
            return f"nothing beat the defaults: {file} names the method and no options"
        if self.is_significant:
            return f"preset: kgsparql ask --preset {file}"
        return f"the chosen options are not shown to be better than the defaults; they are in {file}"

    def preset(self, *, kgsparql: str) -> Preset:
        """Make a preset of the chosen options, with what is known of them; without any where nothing beat the defaults.

        :param kgsparql: the version that chose them.
        """
        found = self.difference
        names = ("low", "high", "p")
        compared = {} if found is None else {name: round(getattr(found, name), 6) for name in names}
        if found is not None:
            compared["difference"] = round(found.mean, 6)
        return Preset(
            method=self.space.method,
            options={} if self.is_default else dict(self.chosen.setting),
            comment=" ".join((self.verdict, *self.notes)),
            kgsparql=kgsparql,
            tuned={
                "metric": self.metric,
                "dataset": str(self.config["dataset"]["name"]),
                "questions_sha256": str(self.config["dataset"]["questions_sha256"]),
                "graph": str(self.config["graph"]["fingerprint"]),
                "model": str(self.config["model"]),
                "gold_topics": bool(self.config["gold_topics"]),
                "search": self.search.kind,
                "trials": len(self.trials),
                "significant": self.is_significant,
                "development": _preset_figures(self.default, self.chosen),
                "held_out": _preset_figures(*self.held_out, **compared),
            },
        )


def few_held_out(n: int) -> str:
    """Warn of few held-out questions, in a sentence; empty where they are enough."""
    return (
        f"With {n} held-out questions only a large gain can be told from chance: take {FEW} or more." if n < FEW else ""
    )


def _preset_figures(default: Trial, chosen: Trial, **compared: float) -> dict[str, float]:
    first, second = (0.0 if np.isnan(trial.score) else round(trial.score, 6) for trial in (default, chosen))
    return dict(n=len(default.scores.questions), default=first, chosen=second, **compared)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where settings are tried: everything that all trials share.

    :param plan: how to ask; its questions and methods are those of each trial.
    :param tell: hears how far each trial is, with its setting in place of the method's name.
    """

    knowledge: KnowledgeBase
    plan: Plan
    path: Path
    space: Space
    metric: str
    configuration: Callable[[Plan], Mapping[str, Any]]
    tell: Callable[[MethodProgress], None] = ignore
    _known: dict[str, Trial] = field(default_factory=dict)

    def trial(self, setting: Setting, questions: Sequence[Question], folder: str, about: str) -> Trial:
        """Ask the questions with a setting, as far as they are not asked yet."""
        named = {self.space.method: setting}
        with_model = self.plan.asking.model is not None
        (method,), _ = load_methods([self.space.method], named, self.knowledge, model=with_model, chosen=False)
        name = hashlib.sha256(setting_key(method.options).encode()).hexdigest()[:12]
        path = self.path / folder / name
        if str(path) not in self._known:
            if path.is_dir() and not (path / "run.json").is_file():  # killed before its run was there: nothing asked
                with store_errors(path):
                    shutil.rmtree(path)
            plan = replace(self.plan, questions=questions, methods=(method,))
            run = resume_or_begin(
                self.knowledge, plan, path, self.configuration(plan),
                tell=lambda tally: self.tell(replace(tally, method=about)),
            )  # fmt: skip
            found = method_scores(run, method.label, (self.metric, *_COSTS))
            self._known[str(path)] = Trial(setting=setting, name=name, metric=self.metric, scores=found)
        return self._known[str(path)]


def checked_metric(name: str) -> str:
    """Return the name of a metric that can be made better.

    :raises OptionError: for another name.
    """
    if name not in METRICS or not METRICS[name].better:
        there = ", ".join(one for one, metric in METRICS.items() if metric.better)
        raise OptionError(f"no metric {printable(name, 60)!r} to tune for", hint=f"one of: {there}")
    return name


def tune(bench: Bench, split: Split, search: Search, *, seed: int = 0) -> Tuning:
    """Try settings on the development questions, and see the best, beside the default one, on the held-out ones.

    The default setting is kept unless another has a better mean of the metric: see :func:`best`. The held-out
    questions are asked only when that is settled.

    :raises InputError: if the directory holds the tuning of something else.
    :raises DataError: if the metric is not defined for any of the questions.
    """
    with writer_lock(bench.path.resolve()):  # the same lock by whatever name the directory is called
        space = bench.space
        settings = search.settings(space)
        config = _begin_or_resume(bench, split)
        trials: dict[str, Trial] = {}
        for number, setting in enumerate(settings, 1):
            text = setting_text(setting) if setting != space.default else f"default ({setting_text(setting)})"
            about = f"trial {number} of {len(settings)}: {text}"
            trial = bench.trial(setting, split.development, "trials", about)
            trials.setdefault(trial.name, trial)
        made = tuple(trials.values())
        default, chosen = made[0], best(made)
        if np.isnan(chosen.score):
            raise DataError(
                f"{bench.metric} is not defined for any of the {len(split.development)} development questions",
                hint="another --metric, or more questions",
            )
        judged = {file.parent.name for file in bench.path.glob("held_out/*/run.json")}
        held_out = [
            bench.trial(trial.setting, split.held_out, "held_out", f"held out: {what}")
            for trial, what in ((default, "default"), (chosen, setting_text(chosen.setting)))
        ]
        return Tuning(
            config=config, space=space, search=search, metric=bench.metric, split=split,
            trials=made, chosen=chosen, held_out=(held_out[0], held_out[1]),
            difference=_held_out_difference(*held_out, seed=seed), looks=len(judged - {default.name, chosen.name}),
        )  # fmt: skip


def _begin_or_resume(bench: Bench, split: Split) -> Mapping[str, Any]:
    """Write what is tuned, or see that it is what was tuned before; values, search and metric may be others."""
    questions = sorted((*split.development, *split.held_out), key=lambda question: question.id)
    config = bench.configuration(replace(bench.plan, questions=questions, methods=()))
    same = {name: value for name, value in config.items() if name not in {"methods", "ended", "began", "workers"}}
    same |= {"method": bench.space.method, "split": split.to_json()}
    file = bench.path / "tuning.json"
    if file.is_file():
        try:
            check_same(json.loads(file.read_text(encoding="utf-8"))["of"], same, bench.path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise DataError(f"{file}: not what a tuning writes: {printable(str(error), 200)}") from error
        return same
    with store_errors(bench.path):
        bench.path.mkdir(parents=True, exist_ok=True)
        begun = {"format": FORMAT, "began": now(), "of": same}
        replace_text(file, json.dumps(begun, ensure_ascii=False, indent=1) + "\n")
    return same


def _held_out_difference(default: Trial, chosen: Trial, *, seed: int) -> Difference | None:
    if default.name == chosen.name:
        return None
    first, second = (trial.scores.values[trial.metric] for trial in (chosen, default))
    both = ~(np.isnan(first) | np.isnan(second))
    return differences([(first[both], second[both])], seed=seed)[0]


def tuning_json(tuning: Tuning, *, reproducible: bool = False) -> str:
    """Write a tuning as one JSON object."""
    costs = [cost for cost in _COSTS if not (reproducible and cost == "seconds")]
    found: dict[str, Any] = {
        "dataset": tuning.config["dataset"]["name"],
        "method": tuning.space.method,
        "model": tuning.config["model"],
        "metric": tuning.metric,
        "search": tuning.search.kind,
        "split": tuning.split.to_json(),
        "trials": [
            {**_trial_json(trial, costs), "default": trial is tuning.default, "chosen": trial is tuning.chosen}
            for trial in tuning.trials
        ],
        "held_out": {
            "n": len(tuning.split.held_out),
            "default": _trial_json(tuning.held_out[0], costs),
            "chosen": _trial_json(tuning.held_out[1], costs),
            "difference": None if tuning.difference is None else asdict(tuning.difference),
            "significant": tuning.is_significant,
            "verdict": tuning.verdict,
            "notes": list(tuning.notes),
        },
    }
    return json.dumps(found, ensure_ascii=False, indent=2)


def _trial_json(trial: Trial, costs: Sequence[str]) -> dict[str, Any]:
    return {
        "options": dict(trial.setting),
        "n": len(trial.scores.questions),
        trial.metric: None if np.isnan(trial.score) else round(trial.score, 6),
        **{cost: round(trial.mean(cost), 6) for cost in costs if cost != trial.metric},
        "failed": trial.failed,
        "run": trial.name,
    }


def tuning_text(tuning: Tuning, *, reproducible: bool = False) -> str:
    """Write a tuning as tables for a terminal or a pipe."""
    return "\n".join(_text_lines(tuning, reproducible=reproducible)) + "\n"


def _text_lines(tuning: Tuning, *, reproducible: bool) -> Iterator[str]:
    config, split = tuning.config, tuning.split
    has_model = any(trial.mean("model_calls") for trial in tuning.trials)
    costs = ["model_calls", "rounds", "queries", "seconds"] if has_model else ["queries", "seconds"]
    costs = [cost for cost in costs if cost != tuning.metric and not (reproducible and cost == "seconds")]
    model = printable(str(config["model"]), 60) or "no model"
    yield f"{tuning.space.method} on {printable(str(config['dataset']['name']), 60)} · {tuning.metric} · {model}"
    yield from wrapped(str(split), indent="  ")
    yield ""
    yield f"Trials on the {len(split.development)} development questions, the best first"
    yield from _trial_table(tuning, costs)
    yield ""
    yield f"On the {len(split.held_out)} held-out questions"
    default, chosen = tuning.held_out
    held_out = {"default, chosen": default} if tuning.is_default else {"default": default, "chosen": chosen}
    rows = [[what, *_figures(trial, costs), setting_text(trial.setting)] for what, trial in held_out.items()]
    heads = ["", tuning.metric, *(_COSTS[cost] for cost in costs), "options"]
    yield from table_lines([heads, *rows], {len(heads) - 1})
    if failed := sum(trial.failed for trial in (*tuning.trials, *held_out.values())):
        yield from wrapped(f"{failed:,} questions failed and count as wrong; the runs say why.", indent="  ")
    for sentences in (tuning.verdict, *tuning.notes):
        yield from wrapped(sentences, indent="  ")


def _trial_table(tuning: Tuning, costs: Sequence[str]) -> list[str]:
    names = list(tuning.space.values)
    rows = [["", tuning.metric, *(_COSTS[cost] for cost in costs), *names, "run"]]
    for trial in sorted(tuning.trials, key=lambda trial: (-trial.goodness, trial is not tuning.chosen)):
        what = ["default"] if trial is tuning.default else []
        what += ["chosen"] if trial is tuning.chosen else []
        values = [value_text(trial.setting[name]) for name in names]
        rows.append([", ".join(what), *_figures(trial, costs), *values, trial.name])
    return table_lines(rows, {len(rows[0]) - 1})


def _figures(trial: Trial, costs: Sequence[str]) -> list[str]:
    score = None if np.isnan(trial.score) else trial.score
    return [amount(trial.metric, score), *(amount(cost, trial.mean(cost)) for cost in costs)]
