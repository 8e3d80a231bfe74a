"""Development questions, on which options are chosen, and held-out questions, on which the choice is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.made_questions.patterns import drawn

_FEWEST = 4
"""Questions that a split needs."""

_TOLERANCE = 0.1
"""Of the questions of a number of hops, the share that a part may have too many or too few; at least one question."""

_TYPE_WEIGHT = 0.01
"""Of an uneven type beside an uneven number of hops: types are spread only where that costs no hops."""


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
        """Return the split as a JSON object, questions by their ids."""
        return {
            "development": [question.id for question in self.development],
            "held_out": [question.id for question in self.held_out],
            "shared_topics": self.shared_topics,
            "topics": self.topics,
            "shared_paths": self.shared_paths,
            "paths": self.paths,
        }


def split(questions: Sequence[Question], share: float, *, seed: int) -> Split:
    """Split questions into two parts that have the wanted share of each number of hops.

    Options that fit one question fit another along the same path. So questions of one path template (the predicates
    and directions of the path, else the predicates of the golden triples) stay in one part, if both parts then still
    have their share of each number of hops, give or take a tenth or one question. If not, each question is drawn by
    itself. What the parts share in the end, topic entities included, is counted and told.

    :raises InputError: for a share out of range, or fewer than four questions.

    >>> questions = [Question(id=str(n), text="?", hops=n % 2 + 1, path=(f"p{n % 8}",)) for n in range(40)]
    >>> parts = split(questions, 0.5, seed=0)
    >>> len(parts.development), parts.shared_paths, sum(question.hops == 1 for question in parts.development)
    (20, 0, 10)
    """
    checked_share(share)
    if len(questions) < _FEWEST:
        raise InputError(f"{len(questions)} questions cannot be split", hint=f"it takes {_FEWEST}, better 50 or more")
    by_path: dict[Hashable, list[Question]] = {}
    for question in questions:
        by_path.setdefault(_path_template(question) or question.id, []).append(question)
    chosen = _development_ids(list(by_path.values()), share, seed)
    if not _is_even(questions, chosen, share):
        chosen = _development_ids([[question] for question in questions], share, seed)
    if not chosen:  # so few questions of each number of hops that none reached its share
        chosen = {min(question.id for question in questions)}
    elif len(chosen) == len(questions):
        chosen.discard(max(chosen))
    development = tuple(question for question in questions if question.id in chosen)
    held_out = tuple(question for question in questions if question.id not in chosen)
    topics = [{topic.iri for question in part for topic in question.topics} for part in (development, held_out)]
    paths = [{path for question in part if (path := _path_template(question))} for part in (development, held_out)]
    return Split(
        development=development, held_out=held_out,
        shared_topics=len(topics[0] & topics[1]), topics=len(topics[0] | topics[1]),
        shared_paths=len(paths[0] & paths[1]), paths=len(paths[0] | paths[1]),
    )  # fmt: skip


def checked_share(share: float) -> float:
    """Return the share for development if it leaves enough for both parts.

    :raises InputError: if it does not.
    """
    if not 0.1 <= share <= 0.9:
        raise InputError(f"a split of {share:g}: out of range", hint="the share for development, from 0.1 to 0.9")
    return share


def _path_template(question: Question) -> tuple[str, ...]:
    return question.path or tuple(sorted({triple.predicate.value for triple in question.golden_triples}))


def _development_ids(groups: Sequence[Sequence[Question]], share: float, seed: int) -> set[str]:
    """Take each group, the largest first, into development if that brings hops and types nearer to their share."""
    in_order = drawn(groups, f"split {seed}", key=lambda group: min(question.id for question in group))
    seen: Counter[tuple[Hashable, ...]] = Counter()  # of each number of hops and type, so far
    taken: Counter[tuple[Hashable, ...]] = Counter()
    chosen: set[str] = set()
    for group in sorted(in_order, key=len, reverse=True):
        own: Counter[tuple[Hashable, ...]] = Counter()
        for question in group:
            own.update([("all",), ("hops", question.hops), ("type", question.hops, question.type)])
        seen.update(own)
        gain = sum(
            (_TYPE_WEIGHT if stratum[0] == "type" else 1.0)
            * ((taken[stratum] - share * seen[stratum]) ** 2 - (taken[stratum] + n - share * seen[stratum]) ** 2)
            for stratum, n in own.items()
        )
        if gain > 0:
            taken.update(own)
            chosen.update(question.id for question in group)
    return chosen


def _is_even(questions: Sequence[Question], chosen: set[str], share: float) -> bool:
    """Tell whether both parts have questions, and development its share of all and of each number of hops."""
    if not 0 < len(chosen) < len(questions):
        return False
    total: Counter[int | None] = Counter(question.hops for question in questions)
    there = Counter(question.hops for question in questions if question.id in chosen)
    pairs = [(len(chosen), len(questions)), *((there[hops], n) for hops, n in total.items())]
    return all(abs(own - share * n) <= max(1.0, _TOLERANCE * n) for own, n in pairs)
