"""Samples of questions: the same every time, and as many of each number of hops."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from kgsparql.evaluation.dataset import Question

T = TypeVar("T")


def drawn(items: Iterable[T], seed: object, *, key: Callable[[T], Hashable] = str) -> list[T]:
    """The items in an order that depends only on the seed.

    >>> drawn("abc", 1) == drawn("cab", 1), sorted(drawn("abc", 1))
    (True, ['a', 'b', 'c'])
    """
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\0{key(item)}".encode("utf-8", "replace")).digest())


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


def equal_shares(sizes: Sequence[int], limit: int) -> list[int]:
    """How many to take of each group: equally many, but for groups that have fewer; one more of the first ones.

    >>> equal_shares([300, 300, 10], 90), equal_shares([5, 5, 5], 7)
    ([40, 40, 10], [3, 2, 2])
    """
    shares = [0] * len(sizes)
    left = max(0, limit)
    while left and (open_ := [i for i, size in enumerate(sizes) if shares[i] < size]):
        each, more = divmod(left, len(open_))
        for place, i in enumerate(open_):
            added = min(sizes[i] - shares[i], each + (place < more))
            shares[i] += added
            left -= added
    return shares
