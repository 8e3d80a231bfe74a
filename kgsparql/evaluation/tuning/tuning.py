"""Choosing a method's options on one part of the questions, and saying on the other what that is worth.

Every setting that is tried is a run of its own, in a directory named after its options, so that what was asked once is
not asked again: neither when a tuning goes on nor when another search comes by the same setting::

    RUN/
      tuning.json              what is tuned on which questions, and the result
      trials/OPTIONS/          a run on the development questions, for each setting
      held_out/OPTIONS/        a run on the held-out questions: the default setting, and the chosen one
      preset.toml              the chosen options
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.answering.ask_options import ignore
from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.configuration import check_same, now
from kgsparql.evaluation.runs.directory import FORMAT, replace_text, store_errors
from kgsparql.evaluation.runs.plan import MethodProgress, Plan, load_methods
from kgsparql.evaluation.runs.running import resume_or_begin
from kgsparql.evaluation.scoring import method_scores
from kgsparql.evaluation.statistics import Difference, differences
from kgsparql.evaluation.tuning.results import Tuning
from kgsparql.evaluation.tuning.search_spaces import Setting, Space, one_at_a_time, setting_key, settings_of
from kgsparql.evaluation.tuning.splitting import Split
from kgsparql.evaluation.tuning.trials import COSTS, Search, Trial, best, setting_text, unseen
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import printable
from kgsparql.storage.file_lock import writer_lock


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
            _clear_half_begun(path)
            plan = replace(self.plan, questions=questions, methods=(method,))
            run = resume_or_begin(
                self.knowledge, plan, path, self.configuration(plan),
                tell=lambda tally: self.tell(replace(tally, method=about)),
            )  # fmt: skip
            found = method_scores(run, method.label, (self.metric, *COSTS))
            self._known[str(path)] = Trial(setting=setting, name=name, metric=self.metric, scores=found)
        return self._known[str(path)]


def checked_metric(name: str) -> str:
    """The name of a metric that can be made better.

    :raises OptionError: for another name.
    """
    if name not in METRICS or not METRICS[name].better:
        there = ", ".join(one for one, metric in METRICS.items() if metric.better)
        raise OptionError(f"no metric {printable(name, 60)!r} to tune for", hint=f"one of: {there}")
    return name


def tune(bench: Bench, split: Split, search: Search, *, seed: int = 0) -> Tuning:
    """Try settings on the development questions, and see the best, beside the default one, on the held-out ones.

    The default setting is the first, and is kept unless another has a better mean of the metric: see :func:`best`. The
    held-out questions are asked only when that is settled.

    :raises InputError: if the directory holds the tuning of something else.
    :raises DataError: if the metric is not defined for any of the questions.
    """
    with writer_lock(bench.path.resolve()):  # the same lock by whatever name the directory is called
        return _tuned(bench, split, search, seed)


def _tuned(bench: Bench, split: Split, search: Search, seed: int) -> Tuning:
    space = bench.space
    settings, left_out = settings_of(space, search.kind, search.trials, seed=search.seed)
    begun = _begun(bench, split, search)
    of = "" if search.kind == "one-at-a-time" else f" of {1 + len(settings)}"
    trials: dict[str, Trial] = {}

    def trial_of(setting: Setting) -> Trial:
        text = setting_text(setting) if setting != space.default else f"default ({setting_text(setting)})"
        trial = bench.trial(setting, split.development, "trials", f"trial {len(trials) + 1}{of}: {text}")
        return trials.setdefault(trial.name, trial)

    def best_of(some: Sequence[Setting]) -> Setting:
        return best(list(map(trial_of, some))).setting

    trial_of(space.default)
    if search.kind == "one-at-a-time":
        one_at_a_time(space, best_of)
    for setting in settings:
        trial_of(setting)
    made = tuple(trials.values())
    default, chosen = made[0], best(made, apart_from=unseen(space, made))
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
    found = Tuning(
        config=begun["of"], space=space, search=search, metric=bench.metric, split=split,
        trials=made, chosen=chosen, left_out=left_out, held_out=(held_out[0], held_out[1]),
        difference=_difference(*held_out, seed=seed), looks=len(judged - {default.name, chosen.name}),
    )  # fmt: skip
    _write(bench.path, {**begun, "ended": now()})
    return found


def _begun(bench: Bench, split: Split, search: Search) -> dict[str, Any]:
    """Write what is tuned, or see that it is what was tuned before; values, search and metric may be others."""
    questions = sorted((*split.development, *split.held_out), key=lambda question: question.id)
    config = bench.configuration(replace(bench.plan, questions=questions, methods=()))
    same = {name: value for name, value in config.items() if name not in {"methods", "ended", "began", "workers"}}
    same |= {"method": bench.space.method, "split": split.to_json()}
    file = bench.path / "tuning.json"
    if file.is_file():
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
            check_same(there["of"], same, bench.path)
            began = there["began"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise DataError(f"{file}: not what a tuning writes: {printable(str(error), 200)}") from error
    else:
        began = now()
    begun = {
        "format": FORMAT, "of": same, "metric": bench.metric, "search": search.kind, "began": began, "ended": None,
        "values": {name: list(values) for name, values in bench.space.values.items()},
    }  # fmt: skip
    _write(bench.path, begun)
    return begun


def _write(path: Path, data: Mapping[str, Any]) -> None:
    with store_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        replace_text(path / "tuning.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def _clear_half_begun(path: Path) -> None:
    """Remove what a process left that was killed before its run was there: nothing has been asked then."""
    if path.is_dir() and not (path / "run.json").is_file():
        with store_errors(path):
            shutil.rmtree(path)


def _difference(default: Trial, chosen: Trial, *, seed: int) -> Difference | None:
    if default.name == chosen.name:
        return None
    first, second = (trial.scores.values[trial.metric] for trial in (chosen, default))
    both = ~(np.isnan(first) | np.isnan(second))
    return differences([(first[both], second[both])], seed=seed)[0]
