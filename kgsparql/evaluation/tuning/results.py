"""What a tuning found: trials, which of them nothing beats, what each option does, and what the choice is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kgsparql.errors import OptionError
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import Scored
from kgsparql.evaluation.statistics import Difference
from kgsparql.evaluation.tuning.search_spaces import Setting, Space, setting_key
from kgsparql.evaluation.tuning.splitting import Split
from kgsparql.presets import Figures, Preset, Tuned
from kgsparql.terms import printable

__all__ = [
    "COSTS",
    "SEARCHES",
    "SIGNIFICANT",
    "Effect",
    "Search",
    "Trial",
    "Tuning",
    "setting_text",
    "value_text",
]

SEARCHES = ("grid", "random", "one-at-a-time")

SIGNIFICANT = 0.05
"""Below it, a gain on the held-out questions is more than chance."""

_SAME = 1e-9
"""Means that differ by less are the same."""

COSTS = ("model_calls", "rounds", "queries", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How settings are looked for.

    :param kind: one of :data:`SEARCHES`.
    :param trials: settings that a random search draws.
    :param seed: of that draw.
    """

    kind: str = "grid"
    trials: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in SEARCHES:
            raise OptionError(f"no search {printable(self.kind, 40)!r}", hint=f"one of: {', '.join(SEARCHES)}")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A setting, and what came of it on some questions.

    :param setting: the options that are tuned.
    :param name: of its directory.
    :param scored: metric and cost of every question.
    """

    setting: Setting
    name: str
    metric: str
    scored: Scored

    @cached_property
    def score(self) -> float:
        """The mean of the metric over the questions that have one; NaN if none has."""
        return self.mean(self.metric) if len(self.scored.defined(self.metric)) else float("nan")

    def mean(self, metric: str) -> float:
        """The mean of a metric, or of a cost; 0 where no question has one."""
        values = self.scored.defined(metric)
        return float(values.mean()) if len(values) else 0.0

    @property
    def failed(self) -> int:
        """Questions that ended with an error."""
        return sum(self.scored.errors.values())

    @property
    def rank(self) -> tuple[float, ...]:
        """Higher is better: the metric, then fewer calls, then fewer queries."""
        sign = -1.0 if METRICS[self.metric].better == "lower" else 1.0
        score = float("-inf") if np.isnan(self.score) else sign * self.score
        return (round(score, 9), -round(self.mean("model_calls"), 9), -round(self.mean("queries"), 9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a value of an option comes to: the means over trials that have it.

    :param n: trials.
    :param matched: they differ from those of the other values in nothing else; so the means may be compared.
    """

    value: Any
    score: float
    cost: Mapping[str, float]
    n: int
    matched: bool


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a tuning found.

    :param config: of its runs: dataset, graph, model and how they were asked.
    :param trials: on the development questions, in the order they were tried; the first has the default options.
    :param left_out: settings of the grid that the method does not take.
    :param held_out: default and chosen setting on the held-out questions; the same trial where they are the same.
    :param difference: chosen minus default there; ``None`` where they are the same, or nothing can be compared.
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

    @property
    def default(self) -> Trial:
        """The default options on the development questions."""
        return self.trials[0]

    @property
    def significant(self) -> bool:
        """Whether the chosen options are better than the default ones on the held-out questions, beyond chance."""
        if self.difference is None or self.difference.p >= SIGNIFICANT:
            return False
        return (self.difference.mean > 0) == (METRICS[self.metric].better == "higher")

    @property
    def cost(self) -> str:
        """What quality is traded for: model calls, or queries where no trial asked a model."""
        return "model_calls" if any(trial.mean("model_calls") for trial in self.trials) else "queries"

    @cached_property
    def pareto(self) -> frozenset[str]:
        """The names of the trials that no other beats: in the metric at no more cost, or in cost with no less of it."""
        points = {trial.name: (trial.rank[0], -round(trial.mean(self.cost), 9)) for trial in self.trials}
        return frozenset(
            name
            for name, (score, cost) in points.items()
            if not any(s >= score and c >= cost and (s, c) != (score, cost) for s, c in points.values())
        )

    @cached_property
    def effects(self) -> dict[str, tuple[Effect, ...]]:
        """By option, what each of its values comes to."""
        return {name: _effects(name, self.space.values[name], self.trials) for name in self.space.values}

    @property
    def verdict(self) -> str:
        """What the held-out questions say of the choice, in one or two sentences."""
        n, name = len(self.split.held_out), self.metric
        if self.chosen is self.default:
            return "Nothing that was tried is better than the default options on the development questions."
        difference = self.difference
        if difference is None:
            return f"{name} is not defined for any of the {n} held-out questions: nothing is known of the choice there."
        said = (
            f"{name} {self.held_out[1].score:.3f} instead of {self.held_out[0].score:.3f} with the default options on "
            f"{difference.n} held-out questions: {difference.mean:+.3f}, 95 % interval [{difference.low:+.3f}, "
            f"{difference.high:+.3f}], p={difference.p:.3f}."
        )
        if self.significant:
            return said
        if difference.p < SIGNIFICANT:
            return f"The chosen options are WORSE than the default ones on the held-out questions. {said}"
        if abs(difference.mean) < _SAME or (difference.mean > 0) != (METRICS[name].better == "higher"):
            return f"There is NO gain on the held-out questions. {said}"
        return f"The gain on the held-out questions is NOT significant: it may be chance. {said}"

    def preset(self, *, kgsparql: str) -> Preset:
        """The chosen options, with what is known of them.

        :param kgsparql: the version that writes it.
        """
        default, chosen = self.held_out
        compared = {} if self.difference is None else {
            name: round(getattr(self.difference, name), 6) for name in ("low", "high", "p")
        } | {"difference": round(self.difference.mean, 6)}  # fmt: skip
        return Preset(
            method=self.space.method,
            options=dict(self.chosen.setting),
            comment=self.verdict,
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


def setting_text(setting: Mapping[str, Any]) -> str:
    """A setting as a person reads it.

    >>> setting_text({"paths_kept": 5, "max_hops": None, "skip": ("http://a.org/", "http://b.org/")})
    'paths_kept=5 max_hops=none skip=http://a.org/,http://b.org/'
    """
    return " ".join(f"{name}={value_text(value)}" for name, value in setting.items())


def value_text(value: Any) -> str:
    """A value as ``-O`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return printable(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value), 60)


def _figures(default: Trial, chosen: Trial, **compared: float) -> Figures:
    first, second = (0.0 if np.isnan(trial.score) else round(trial.score, 6) for trial in (default, chosen))
    return Figures(n=len(default.scored.questions), default=first, chosen=second, **compared)


def _effects(name: str, values: Sequence[Any], trials: Sequence[Trial]) -> tuple[Effect, ...]:
    """What each value of an option comes to.

    Trials are matched: of those that differ in this option alone, only groups in which every value was tried count. If
    there is no such group, as in a random search, the means are over all trials that have the value.

    :param values: those to try; the default one is told where it is among them, or in a group that counts.
    """
    able = [trial for trial in trials if not np.isnan(trial.score)]
    groups: dict[str, list[Trial]] = {}
    for trial in able:
        others = {other: value for other, value in trial.setting.items() if other != name}
        groups.setdefault(setting_key(others), []).append(trial)
    wanted = {value for value in values if any(trial.setting[name] == value for trial in able)}
    full = [group for group in groups.values() if wanted <= {trial.setting[name] for trial in group}]
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
