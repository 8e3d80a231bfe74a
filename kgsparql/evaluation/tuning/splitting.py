"""Development questions, on which options are chosen, and held-out questions, on which the choice is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.made_questions.patterns import drawn

_FEWEST = 4
"""Questions that a split needs."""

_OFF = 0.1
"""Of the questions of a number of hops, the share that a part may have too many or too few; at least one question."""

_PASSES = 20

_NOTHING = 1e-9
"""Smaller gains are rounding errors."""

_Sharing: TypeAlias = Callable[[Question], Iterator[Hashable]]
_Counts: TypeAlias = "Counter[tuple[Hashable, ...]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Two parts of the questions, each in their order.

    :param shared_topics: topic entities that both parts have, of ``topics`` that there are.
    :param shared_paths: path templates that both parts have, of ``paths`` that there are.
    """

    development: tuple[Question, ...]
    held_out: tuple[Question, ...]
    shared_topics: int
    shared_paths: int
    topics: int
    paths: int

    def __str__(self) -> str:
        sizes = f"{len(self.development)} development and {len(self.held_out)} held-out questions"
        return f"{sizes}; {self.overlap}"

    @property
    def overlap(self) -> str:
        """What the parts share, in words.

        >>> questions = [Question(id=str(n), text="?", hops=1, path=("at",)) for n in range(4)]
        >>> split(questions, 0.5, seed=0).overlap
        '1 of 1 paths is in both'
        """
        parts = []
        for what, shared, there in (
            ("topic entities", self.shared_topics, self.topics),
            ("paths", self.shared_paths, self.paths),
        ):
            if there:
                verb = "is" if shared == 1 else "are"
                parts.append(f"{shared} of {there} {what} {verb} in both" if shared else f"no {what} in both")
        return ", ".join(parts) or "nothing is known of topics and paths"

    def to_json(self) -> dict[str, object]:
        """The split as a JSON object, questions by their ids."""
        return {
            "development": [question.id for question in self.development],
            "held_out": [question.id for question in self.held_out],
            "shared_topics": self.shared_topics,
            "topics": self.topics,
            "shared_paths": self.shared_paths,
            "paths": self.paths,
        }


def split(questions: Sequence[Question], share: float, *, seed: int) -> Split:
    """Two parts that have the wanted share of each number of hops, and of each type.

    Options that fit one question fit another about the same entity or along the same path. So questions that share a
    topic entity or a path template (the predicates and directions of the path, else the predicates of the golden
    triples) stay in one part, if both parts then still have their share of each number of hops, give or take a tenth or
    one question. If not, only those that share a path stay together, which matters more, as options weigh kinds of
    paths; else only those that share a topic; else none. What the parts share in the end is counted.

    Where a type is a path template, as in MetaQA, templates are kept apart rather than types spread.

    :raises InputError: for a share out of range, or fewer than four questions.

    >>> questions = [Question(id=str(n), text="?", hops=n % 2 + 1, path=(f"p{n % 8}",)) for n in range(40)]
    >>> parts = split(questions, 0.5, seed=0)
    >>> len(parts.development), parts.shared_paths, sum(question.hops == 1 for question in parts.development)
    (20, 0, 10)
    """
    checked_share(share)
    if len(questions) < _FEWEST:
        raise InputError(f"{len(questions)} questions cannot be split", hint=f"it takes {_FEWEST}, better 50 or more")
    ladder: tuple[tuple[_Sharing, ...], ...] = ((_topics, _paths), (_paths,), (_topics,), ())
    places: set[int] = set()
    groups: list[list[int]] = []
    for sharing in ladder:
        groups = _ordered(_groups(questions, sharing), questions, seed)
        places = _development(groups, questions, share)
        if not sharing or _is_even(places, questions, share):
            break
    if not places:  # so few questions of each number of hops that none reached its share
        places = set(groups[0])
    elif len(places) == len(questions):
        places -= set(groups[-1])
    development = tuple(question for i, question in enumerate(questions) if i in places)
    held_out = tuple(question for i, question in enumerate(questions) if i not in places)
    topics, paths = (_shared(development, held_out, of) for of in (_topics, _paths))
    return Split(
        development=development, held_out=held_out, shared_topics=topics[0], shared_paths=paths[0], topics=topics[1],
        paths=paths[1],
    )  # fmt: skip


def checked_share(share: float) -> float:
    """The share for development, which must leave enough for both parts."""
    if not 0.1 <= share <= 0.9:
        raise InputError(f"a split of {share:g}: out of range", hint="the share for development, from 0.1 to 0.9")
    return share


def _topics(question: Question) -> Iterator[Hashable]:
    for topic in question.topics:
        yield "topic", topic.iri


def _paths(question: Question) -> Iterator[Hashable]:
    if question.path:
        yield "path", question.path
    elif question.golden_triples:
        yield "path", tuple(sorted({triple.predicate.value for triple in question.golden_triples}))


def _shared(first: Sequence[Question], second: Sequence[Question], of: _Sharing) -> tuple[int, int]:
    """How many topics (or paths) both parts have, and how many there are."""
    one, other = ({what for question in part for what in of(question)} for part in (first, second))
    return len(one & other), len(one | other)


def _groups(questions: Sequence[Question], sharing: Sequence[_Sharing]) -> list[list[int]]:
    """Groups of the places of questions that share something, directly or through others."""
    parent = list(range(len(questions)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[Hashable, int] = {}
    for i, question in enumerate(questions):
        for of in sharing:
            for what in of(question):
                parent[root(i)] = root(first.setdefault(what, i))
    found: dict[int, list[int]] = {}
    for i in range(len(questions)):
        found.setdefault(root(i), []).append(i)
    return list(found.values())


def _ordered(groups: list[list[int]], questions: Sequence[Question], seed: int) -> list[list[int]]:
    """The largest groups first, those of equal size in an order that depends on the seed."""
    in_order = drawn(groups, f"split {seed}", key=lambda group: min(questions[i].id for i in group))
    return sorted(in_order, key=len, reverse=True)


def _strata(question: Question) -> tuple[tuple[Hashable, ...], ...]:
    """What both parts should have their share of: questions, each number of hops, and each type with that number."""
    return ("all",), ("hops", question.hops), ("type", question.hops, question.type)


def _development(groups: Sequence[Sequence[int]], questions: Sequence[Question], share: float) -> set[int]:
    """The places for development: each group goes to the part that lacks more, then groups move as long as it helps."""
    counts: list[_Counts] = [Counter(stratum for i in group for stratum in _strata(questions[i])) for group in groups]
    total: _Counts = sum(counts, Counter())
    spread = Counter(stratum for count in counts for stratum in count)

    def weight(stratum: tuple[Hashable, ...]) -> float:
        """Sizes count most; a type that is in one group only, and so cannot be spread, counts nothing."""
        return 1.0 if stratum[0] != "type" else 0.5 / total[stratum] if spread[stratum] > 1 else 0.0

    weights = {stratum: weight(stratum) for stratum in total}
    there: _Counts = Counter()  # of each stratum, in development
    placed: _Counts = Counter()

    def gain(count: _Counts, sign: int, among: _Counts) -> float:
        """How much nearer to their share the strata come if this group is added (sign 1) or removed (-1)."""
        off = {stratum: there[stratum] - share * among[stratum] for stratum in count}
        return sum(weights[s] * (off[s] ** 2 - (off[s] + sign * n) ** 2) for s, n in count.items())

    inside = [False] * len(groups)
    for g, count in enumerate(counts):
        placed.update(count)
        if gain(count, 1, placed) > 0:
            inside[g] = True
            there.update(count)
    for _ in range(_PASSES):
        moved = False
        for g, count in enumerate(counts):
            sign = -1 if inside[g] else 1
            if gain(count, sign, total) > _NOTHING:
                inside[g] = not inside[g]
                there.update({stratum: sign * n for stratum, n in count.items()})
                moved = True
        if not moved:
            break
    return {i for g, group in enumerate(groups) if inside[g] for i in group}


def _is_even(places: set[int], questions: Sequence[Question], share: float) -> bool:
    """Whether development has its share of all questions and of each number of hops, and both parts have questions."""
    if not 0 < len(places) < len(questions):
        return False
    total: Counter[int | None] = Counter(question.hops for question in questions)
    there = Counter(question.hops for i, question in enumerate(questions) if i in places)
    pairs = [(len(places), len(questions)), *((there[hops], n) for hops, n in total.items())]
    return all(abs(own - share * n) <= max(1.0, _OFF * n) for own, n in pairs)
