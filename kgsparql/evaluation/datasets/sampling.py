"""Samples of questions: the same every time, and as many of each number of hops."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.evaluation.dataset import Question
from kgsparql.made_questions.patterns import drawn, equal_shares


def sample(questions: Sequence[Question], limit: int | None, seed: int = 0) -> tuple[Question, ...]:
    """At most ``limit`` questions, in their order; each number of hops gets an equal share, as far as there are any.

    Questions without a number of hops are a group of their own. The sample of a group depends only on the seed and the
    ids: a larger limit keeps what a smaller one took.

    >>> many = [Question(id=str(n), text="?", hops=n % 3) for n in range(300)]
    >>> from collections import Counter
    >>> sorted(Counter(question.hops for question in sample(many, 90)).items())
    [(0, 30), (1, 30), (2, 30)]
    """
    if limit is None or limit >= len(questions):
        return tuple(questions)
    groups: dict[int | None, list[Question]] = {}
    for question in drawn(questions, seed, key=lambda question: question.id):
        groups.setdefault(question.hops, []).append(question)
    ordered = sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or 0))
    shares = equal_shares([len(group) for _, group in ordered], limit)
    taken = {q.id for (_, group), share in zip(ordered, shares, strict=True) for q in group[:share]}
    return tuple(question for question in questions if question.id in taken)
