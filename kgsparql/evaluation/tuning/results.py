"""The result of a tuning: trials, the best of them, the effect of each option, and what the choice is worth."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.statistics import FEW, Difference
from kgsparql.evaluation.tuning.search_spaces import Space
from kgsparql.evaluation.tuning.splitting import Split
from kgsparql.evaluation.tuning.trials import COSTS, Search, Trial, alike, unseen, value_text
from kgsparql.retrievers._presets import Figures, Preset, Tuned

SIGNIFICANT = 0.05
"""With a smaller ``p``, a gain on the held-out questions is more than chance."""

FEWEST = 20
"""With fewer held-out questions, a real gain is seldom significant."""

_SAME = 1e-9
"""Means that differ by less are the same."""

_LEAST_SEEN = 6
"""With fewer questions, not even a gain on every one of them is significant, as 2 / 2^5 is above 0.05."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The means over the trials that have a value of an option.

    :param matched: the trials differ from those of the other values in nothing else, so that means can be compared.
    """

    value: Any
    score: float
    cost: Mapping[str, float]
    n: int
    matched: bool


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The result of a tuning.

    :param config: of its runs: dataset, graph, model and options.
    :param trials: on the development questions, in the order they were tried; the first has the default options.
    :param left_out: settings of the grid that the method does not take.
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
    left_out: int
    held_out: tuple[Trial, Trial]
    difference: Difference | None
    looks: int = 0

    @property
    def default(self) -> Trial:
        """The default options on the development questions."""
        return self.trials[0]

    @property
    def significant(self) -> bool:
        """Whether the chosen options are significantly better than the default ones on the held-out questions."""
        if self.difference is None or self.difference.p >= SIGNIFICANT:
            return False
        return (self.difference.mean > 0) == (METRICS[self.metric].better == "higher")

    @property
    def cost(self) -> str:
        """The cost that is weighed against quality: model calls, or queries if no trial asked a model."""
        return "model_calls" if any(trial.mean("model_calls") for trial in self.trials) else "queries"

    @cached_property
    def pareto(self) -> frozenset[str]:
        """The names of the trials that no other beats in the metric at no more cost, or in cost at no worse metric."""
        points = {trial.name: (trial.rank[0], -round(trial.mean(self.cost), 9)) for trial in self.trials}
        return frozenset(
            name
            for name, (score, cost) in points.items()
            if not any(s >= score and c >= cost and (s, c) != (score, cost) for s, c in points.values())
        )

    @cached_property
    def effects(self) -> dict[str, tuple[Effect, ...]]:
        """By option, the effect of each of its values."""
        return {name: _effects(name, self.space.values[name], self.trials) for name in self.space.values}

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """The options that do not change the metric, as far as the development questions show it."""
        return unseen(self.space, self.trials)

    @property
    def is_default(self) -> bool:
        """Whether the default options are chosen, because nothing that was tried is better."""
        return self.chosen is self.default

    @property
    def verdict(self) -> str:
        """What the held-out questions say of the choice, in one or two sentences."""
        n, name = len(self.split.held_out), self.metric
        if self.is_default:
            return (
                "Nothing beat the defaults: no setting that was tried has a better "
                f"{name} on the {len(self.split.development)} development questions."
            )
        difference = self.difference
        if difference is None:
            return f"{name} is not defined for any of the {n} held-out questions: nothing is known of the choice there."
        figures = (
            f"{name} {self.held_out[1].score:.3f} instead of {self.held_out[0].score:.3f} with the default options on "
            f"{difference.n} held-out questions: {difference.mean:+.3f}, 95 % interval [{difference.low:+.3f}, "
            f"{difference.high:+.3f}], p={difference.p:.3f}."
        )
        if self.significant:
            return figures
        if difference.p < SIGNIFICANT:
            return f"The chosen options are WORSE than the default ones on the held-out questions. {figures}"
        if abs(difference.mean) < _SAME or (difference.mean > 0) != (METRICS[name].better == "higher"):
            return f"There is NO gain on the held-out questions. {figures}"
        return f"The gain on the held-out questions is NOT significant: it may be chance. {figures}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the figures, a sentence or two each."""
        return (*map(self._unseen_note, self.unseen), *self._limits())

    def advice(self, preset: Path) -> str:
        """What to do with the preset, in one line."""
        file = shlex.quote(str(preset))
        if self.is_default:
            return f"nothing beat the defaults: {file} names the method and no options"
        if self.significant:
            return f"preset: kgsparql ask --preset {file}"
        if self.difference is None:
            return f"whether the chosen options are better than the defaults is not known; they are in {file}"
        if self.difference.p < SIGNIFICANT:
            return f"keep to the defaults, which are better; the chosen options are in {file}"
        return f"as far as can be told, the defaults are as good; the chosen options are in {file}"

    def _unseen_note(self, option: str) -> str:
        note = f"{self.metric} does not see {option}: no value that was tried changes it for any question."
        value, usual = self.chosen.setting[option], self.space.default[option]
        if value == usual:
            return note
        return f"{note} So {value_text(value)} is no better than the default, {value_text(usual)}; it only costs less."

    def _limits(self) -> Iterator[str]:
        n = len(self.split.held_out) if self.difference is None else self.difference.n
        if not self.is_default and n < FEW:
            yield f"Fewer than {FEW} held-out questions: the interval is rough, and tends to be too narrow."
        if not self.is_default and n < FEWEST:
            yield few_held_out(n)
        counts = [len(trial.scores.defined(self.metric)) for trial in self.trials]
        if min(counts) != max(counts):
            yield (
                f"{self.metric} is defined for {min(counts)} to {max(counts)} questions of a trial: "
                "the means are over different questions, and may differ for that alone."
            )
        if not self.is_default and self.looks:
            others = "another choice" if self.looks == 1 else f"{self.looks} other choices"
            yield (
                f"The held-out questions have judged {others} before: whoever chooses by that has fitted them too, and"
                " p is too small."
            )

    def preset(self, *, kgsparql: str) -> Preset:
        """The chosen options, with what is known of them; no options where nothing beat the defaults."""
        default, chosen = self.held_out
        compared = {} if self.difference is None else {
            name: round(getattr(self.difference, name), 6) for name in ("low", "high", "p")
        } | {"difference": round(self.difference.mean, 6)}  # fmt: skip
        return Preset(
            method=self.space.method,
            options={} if self.is_default else dict(self.chosen.setting),
            comment=" ".join((self.verdict, *self.notes)),
            kgsparql=kgsparql,
            tuned=Tuned(
                metric=self.metric,
                dataset=str(self.config["dataset"]["name"]),
                questions_sha256=str(self.config["dataset"]["questions_sha256"]),
                graph=str(self.config["graph"]["fingerprint"]),
                model=str(self.config["model"]),
                gold_topics=bool(self.config["gold_topics"]),
                search=self.search.kind,
                trials=len(self.trials),
                significant=self.significant,
                development=_figures(self.default, self.chosen),
                held_out=_figures(default, chosen, **compared),
            ),
        )


def few_held_out(n: int) -> str:
    """The note on few held-out questions."""
    if n < _LEAST_SEEN:
        return f"With {n} held-out questions no gain can be told from chance: take {FEWEST} or more."
    return f"With {n} held-out questions only a large gain can be told from chance: take {FEWEST} or more."


def _figures(default: Trial, chosen: Trial, **compared: float) -> Figures:
    first, second = (0.0 if np.isnan(trial.score) else round(trial.score, 6) for trial in (default, chosen))
    return Figures(n=len(default.scores.questions), default=first, chosen=second, **compared)


def _effects(name: str, values: Sequence[Any], trials: Sequence[Trial]) -> tuple[Effect, ...]:
    """The effect of each value of an option.

    Of trials that differ in this option alone, only groups in which every value was tried count. If there is no such
    group, as in a random search, the means are over all trials that have the value.

    :param values: those to try; the default one is shown if it is among them, or in a group that counts.
    """
    able = [trial for trial in trials if not np.isnan(trial.score)]
    wanted = {value for value in values if any(trial.setting[name] == value for trial in able)}
    full = [group for group in alike(name, able) if wanted <= {trial.setting[name] for trial in group}]
    among = [trial for group in full for trial in group] or able
    found = []
    tried = dict.fromkeys(trial.setting[name] for trial in trials)
    for value in [*(value for value in tried if value not in values), *(value for value in values if value in tried)]:
        own = [trial for trial in among if trial.setting[name] == value]
        matched = bool(full) and len(own) == len(full)
        if own and (matched or not full):
            cost = {one: float(np.mean([trial.mean(one) for trial in own])) for one in COSTS}
            score = float(np.mean([trial.score for trial in own]))
            found.append(Effect(value=value, score=score, cost=cost, n=len(own), matched=matched))
    return tuple(found)
