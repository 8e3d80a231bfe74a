"""A draft of StructGPT, and the paths it rests on followed to every end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import answers_at_ends, completed
from kgsparql.rdf.paths import Walk
from kgsparql.retrievers._struct_gpt_facts import Shown

__all__ = ["COMPLETED", "answered"]

COMPLETED = 20
"""Walks that are followed to every end."""

_OTHERS = 5
"""Items that are shown beside those an answer rests on."""


def answered(seen: Retrieval, found: Sequence[Shown], draft: Draft, session: Session) -> Retrieval:
    """What the draft rests on, followed to every end; where that finds more, the answer is to be written anew."""
    seen = replace(seen, draft=draft, sufficient=True)
    cited = {marker for claim in draft.claims for marker in claim.markers}
    cited |= {marker for answer in draft.answers for marker in answer.markers}
    used = [(item, one) for item, one in zip(seen.evidence, found, strict=True) if item.marker in cited]
    others = [item for item in seen.evidence if item.marker not in cited][:_OTHERS]
    walks = _walks_to([one for _, one in used], draft)
    made: list[EvidenceItem | None] = []
    with session.within_budget():
        made = completed(list(walks), session) if session.complete else []
    if not any(made):
        return seen
    read = {way.end for _, one in used for way in one.ways}
    if all(item is None or read.issuperset(item.ends) for item in made):
        whole = {walk: item for walk, item in zip(walks, made, strict=True) if item is not None}
        evidence = Evidence([*_whole(used, whole, first=len(seen.evidence) + 1), *others])
        left = (replace(c, markers=tuple(m for m in c.markers if m in evidence)) for c in seen.candidates)
        return replace(seen, evidence=evidence, candidates=tuple(c for c in left if c.markers))
    if session.usage.calls_left == 0:
        session.notes.append("the budget holds no call for all that was found: the answer rests on a sample")
        return seen
    items = [replace(item, score=1.0 + walks[w]) for w, item in zip(walks, made, strict=True) if item is not None]
    evidence = Evidence([*items, *(replace(item, marker="") for item in others)])
    return Retrieval(evidence=evidence, candidates=answers_at_ends(evidence, session), sufficient=True)


def _walks_to(used: Sequence[Shown], draft: Draft) -> dict[Walk, float]:
    """The walks of the facts that were cited, with their scores; behind mediators those that lead to an answer."""
    answers = {answer.term for answer in draft.answers}
    walks: dict[Walk, float] = {}
    for one in used:
        reached = one.followed.reached()
        leading = [own for own in reached if answers.intersection(own.ways)]
        walks |= {own.walk: one.followed.score for own in leading or reached}
    return dict(list(walks.items())[:COMPLETED])


def _whole(
    used: Iterable[tuple[EvidenceItem, Shown]], whole: Mapping[Walk, EvidenceItem], *, first: int
) -> Iterator[EvidenceItem]:
    """The items that a model has read, each with the query that gives just its ends.

    What was read of a mediator leads on by several predicates. The item has the ends of the first of those that lead to
    an answer; those of the others are at items of their own, after all that were read.

    :param first: the number of the first of these.
    """
    more: dict[Walk, EvidenceItem] = {}
    given: set[Walk] = set()
    for item, one in used:
        own = [(reached.walk, whole[reached.walk]) for reached in one.followed.reached() if reached.walk in whole]
        for walk, made in own[:1]:
            given.add(walk)
            yield replace(item, query=made.query, ends=made.ends)
        if not own:
            yield item
        more |= {walk: replace(made, score=item.score) for walk, made in own[1:]}
    others = [made for walk, made in more.items() if walk not in given]
    yield from (replace(made, marker=f"P{number}") for number, made in enumerate(others, first))
