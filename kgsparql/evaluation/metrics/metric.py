"""What a metric is: a function of a question and what came of it, with its definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Literal as OneOf
from typing import TypeAlias

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record

Group: TypeAlias = OneOf["answer", "evidence", "linking", "grounding", "cost", "text"]
Better: TypeAlias = OneOf["higher", "lower", ""]
Score: TypeAlias = Callable[[Question, Record], "float | None"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure for one question; the figure of a method is the mean over the questions that have one.

    :param better: which way is better; empty where neither is.
    :param of: gives ``None`` where it is not defined: the question is then left out of the mean, so that a share of
        some questions (those without an answer, say) is a mean too.
    :param about: its definition: the formula, and what empty and failed answers count.
    """

    name: str
    group: Group
    title: str
    better: Better
    of: Score
    about: str

    @property
    def better_text(self) -> str:
        """Which way is better, in words."""
        return f"{self.better or 'neither way'} is better"


def defined(name: str, group: Group, title: str, better: Better, of: Score) -> Metric:
    """Make a metric of a function whose docstring is its definition."""
    return Metric(name, group, title, better, of, cleandoc(of.__doc__ or ""))


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 where both are.

    >>> f1(1.0, 0.5), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
