"""Settings that were tried: which one to choose, and which options do not change the metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kgsparql.errors import OptionError
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import MethodScores
from kgsparql.evaluation.tuning.search_spaces import Setting, Space, setting_key
from kgsparql.rdf.terms import printable

SEARCHES = ("grid", "random", "one-at-a-time")

COSTS = ("model_calls", "rounds", "queries", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How settings are looked for."""

    kind: str = "grid"
    trials: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in SEARCHES:
            raise OptionError(f"no search {printable(self.kind, 40)!r}", hint=f"one of: {', '.join(SEARCHES)}")


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
        """The mean of a metric, or of a cost; 0 where no question has one."""
        values = self.scores.defined(metric)
        return float(values.mean()) if len(values) else 0.0

    @property
    def failed(self) -> int:
        """Questions that ended with an error."""
        return sum(self.scores.errors.values())

    @property
    def rank(self) -> tuple[float, ...]:
        """A sort key, higher is better: by the metric, then fewer calls, then fewer queries."""
        sign = -1.0 if METRICS[self.metric].better == "lower" else 1.0
        score = float("-inf") if np.isnan(self.score) else sign * self.score
        return (round(score, 9), -round(self.mean("model_calls"), 9), -round(self.mean("queries"), 9))


def best(trials: Sequence[Trial], *, apart_from: Collection[str] = ()) -> Trial:
    """The trial to choose: the first, unless others have a better mean of the metric.

    Of equally good ones, that which keeps most of the options ``apart_from`` as the first has them; then the one with
    the fewest calls, then queries, then the first. So no option is changed that does not improve the metric.

    :param trials: the first has the default options, or those so far.
    :param apart_from: options that do not change the metric.
    """
    first = trials[0]
    better = [trial for trial in trials if trial.rank[0] > first.rank[0]]

    def rank(trial: Trial) -> tuple[float, ...]:
        kept = sum(trial.setting[name] == first.setting[name] for name in apart_from)
        return (trial.rank[0], kept, *trial.rank[1:])

    return max(better, key=rank) if better else first


def unseen(space: Space, trials: Sequence[Trial]) -> tuple[str, ...]:
    """The options that do not change the metric of any question, in trials that differ in nothing else.

    Without two such trials, as in a random search, nothing is known of an option, and it is not among these.
    """
    return tuple(name for name in space.values if _is_unseen(name, trials))


def alike(name: str, trials: Sequence[Trial]) -> list[list[Trial]]:
    """Groups of trials that differ in nothing but one option."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        others = {other: value for other, value in trial.setting.items() if other != name}
        groups.setdefault(setting_key(others), []).append(trial)
    return list(groups.values())


def _is_unseen(name: str, trials: Sequence[Trial]) -> bool:
    pairs = [(group[0], other) for group in alike(name, trials) for other in group[1:]]
    return bool(pairs) and all(
        np.array_equal(one.scores.values[one.metric], other.scores.values[one.metric], equal_nan=True)
        for one, other in pairs
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
