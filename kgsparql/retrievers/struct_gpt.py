"""StructGPT for knowledge graphs: predicates are chosen, their facts read, and the question answered or gone on with.

Source: Jiang, Zhou, Dong, Ye, Zhao, Wen, "StructGPT: A General Framework for Large Language Model to Reason over
Structured Data", EMNLP 2023 (arXiv 2305.09645), the interfaces for knowledge graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, ClassVar

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.choosing import Candidate, Choice
from kgsparql.answering.composing import judged
from kgsparql.answering.option_ranges import Within, check_ranges
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.errors import AuthenticationError, IriError, ModelError, OptionError, RateLimitError
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import answers_at_ends, completed
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Path, Walk
from kgsparql.rdf.terms import IRI, iri
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.retrievers._struct_gpt_answers import COMPLETED, answered
from kgsparql.retrievers._struct_gpt_facts import Shown, candidates_of, item_of, likeliest, shown
from kgsparql.retrievers._struct_gpt_mediators import behind, constrained
from kgsparql.retrievers._struct_gpt_moves import (
    Followed,
    Front,
    Known,
    Move,
    affordable,
    ask,
    followed,
    move_text,
    moves_of,
)
from kgsparql.retrievers._walking import SAMPLE, compose_unless_drafted, linked_classes, predicate_counts

__all__ = ["StructGPT"]


@dataclass(frozen=True, slots=True)
class StructGPT(Retriever):
    """Predicates of the entities reached so far are chosen one by one, until their facts answer the question.

    :param max_steps: predicates on the longest path.
    :param predicates_per_step: predicates that are followed at once.
    :param fact_tokens: facts of a step that are shown, in tokens.
    :param entities_per_step: entities that are gone on from.
    :param neighbours_per_predicate: neighbours of one entity by one predicate that are looked at.
    :param mediator_classes: IRIs of classes whose instances only join other terms, such as Wikidata's statements.
    """

    name: ClassVar[str] = "struct_gpt"
    summary: ClassVar[str] = "predicates chosen step by step until their facts answer the question"
    source: ClassVar[str] = "Jiang et al., EMNLP 2023, arXiv 2305.09645"
    cost: ClassVar[Cost] = Cost(
        calls="(2 + mediators) * max_steps + 1",
        rounds="(2 + mediators) * max_steps + 1",
        queries="(10 + 6 * mediators) * max_steps + 10 * predicates_per_step + 20",
    )

    max_steps: Annotated[int, Within(1, 10)] = 3
    predicates_per_step: Annotated[int, Within(1, 3)] = 1
    fact_tokens: Annotated[int, Within(50, 100_000)] = 1_024
    entities_per_step: Annotated[int, Within(1, 10_000)] = 200
    neighbours_per_predicate: Annotated[int, Within(1, 500)] = 200
    mediator_classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_ranges(self)
        _ = self._classes  # what is no IRI is an error now, not at the first question

    def retrieve(self, session: Session) -> Retrieval:
        """Paths (P) from the topics: those the answer rests on with all their ends, then others that were looked at."""
        found: list[Shown] = []
        draft: Draft | None = None
        fronts = [Front.of(link.term) for link in session.link()]
        known: Known = {}
        for number in range(1, self.max_steps + 1):
            step: list[Followed] = []
            try:
                with session.within_budget():
                    step = self._step(fronts, known, session)
                    found += shown(step, session, tokens=self.fact_tokens)
                if session.partial or not step or number == self.max_steps:
                    break
                with session.within_budget():
                    seen = _as_found(found, session, latest_first=True)
                    draft = judged(seen, session) if session.can_spare_call("enough") else None
                    if draft is not None and draft.sufficient:
                        # An oracle writes nothing: what it chose is followed to all its ends, as at the last step.
                        return answered(seen, found, draft, session) if draft.text else _exhausted(found, session)
                    fronts = self._onward(step, session)
            except (AuthenticationError, ModelError, RateLimitError) as error:
                if not found:
                    raise
                session.fall_back("steps", f"{error.message} [{error.code}]")
                break
            if session.partial or not fronts:
                break
        if draft is not None:
            session.fall_back("enough", "no step was said to be enough: the answer is made of the facts of all")
        return _exhausted(found, session)

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """As :meth:`Retriever.compose`; where calls were kept back, what is not enough is not all there is."""
        return compose_unless_drafted(retrieval, session)

    def _step(self, fronts: Sequence[Front], known: Known, session: Session) -> list[Followed]:
        """The facts of the predicates chosen at these fronts; none where there is nothing to choose."""
        entities = dict.fromkeys(entity for front in fronts for entity in front.ways)
        begins = all(not front.walk.path.steps for front in fronts)
        classes = linked_classes(session) if begins else ()
        moves = moves_of(fronts, predicate_counts(entities, session, skip=UNWALKED, classes=classes))
        chosen = self._chosen(moves, session)
        limit = self.neighbours_per_predicate
        taken = [moves[choice.candidate.number] for choice in chosen]
        asked = [(move, affordable(move, known, moves=len(taken), limit=limit)) for move in taken]
        near = ask(asked, known, session, limit=limit)
        topics = list(dict.fromkeys(front.walk.start for front in fronts))
        known |= behind(near, session, classes=self._classes, topics=topics)
        found = [
            Followed(
                walk=replace(move.front.walk, path=move.path),
                units=units,
                score=choice.candidate.score or 0.0,
                oracle=move.front.oracle + (choice.chosen_by == "oracle"),
                cuts=cuts,
            )
            for choice, (move, units, cuts) in zip(chosen, followed(asked, known, session), strict=True)
            if units
        ]
        session.note_cuts(cut for one in found for cut in one.cuts)
        with session.within_budget():
            return constrained(found, session)
        return found

    @property
    def _classes(self) -> frozenset[IRI]:
        try:
            return frozenset(iri(name) for name in self.mediator_classes)
        except IriError as error:
            raise OptionError(f"struct_gpt: mediator_classes: {error.message}", hint="write IRIs in full") from error

    def _chosen(self, moves: Sequence[Move], session: Session) -> list[Choice]:
        """Who is asked chooses; where that is nothing, what fits the question best."""
        if not moves:
            return []
        listed = _candidates(moves, session)
        if session.chooser is None and not session.can_spare_call("predicates"):
            return session.ranked.choose(session.question, listed, "predicates", self.predicates_per_step)
        chosen: list[Choice] = []
        with session.within_budget():
            chosen = session.choose.choose(session.question, listed, "predicates", self.predicates_per_step)
        if not chosen:
            session.fall_back("predicates", "no predicate was chosen: the one that fits the question best was followed")
            chosen = session.ranked.choose(session.question, listed, "predicates", 1)
        return chosen

    def _onward(self, step: Iterable[Followed], session: Session) -> list[Front]:
        """The entities that were reached, the likeliest first, as many as are gone on from; never a literal."""
        reached = [(one, own) for one in step for own in one.reached()]
        ends = list(dict.fromkeys(end for _, own in reached for end in own.ways if isinstance(end, IRI)))
        if len(ends) > self.entities_per_step:
            labels = session.labels(ends)
            order = likeliest([labels[end] for end in ends], session)
            session.note_cuts([Cut("entities gone on from", self.entities_per_step, len(ends))])
            ends = [ends[i] for i in order[: self.entities_per_step]]
        fronts = [
            Front(own.walk, {end: own.ways[end] for end in ends if end in own.ways}, one.oracle) for one, own in reached
        ]
        return [front for front in fronts if front.ways]


def _candidates(moves: Sequence[Move], session: Session) -> list[Candidate]:
    """The moves as numbered candidates, each with its whole path from its topic."""
    topics = list(dict.fromkeys(move.front.walk.start for move in moves))
    labels = session.labels([*topics, *(step.predicate for move in moves for step in move.path)])
    walks = {move.front.walk: move.front for move in moves}
    along = dict(zip(walks, _kinds([front.ways.values() for front in walks.values()], session), strict=True))
    listed: dict[int, Candidate] = {}
    for topic in topics:
        own = [(i, move) for i, move in enumerate(moves) if move.front.walk.start == topic]
        scored = session.path_candidates(
            [(move.path, [*along[move.front.walk], ""]) for _, move in own],  # nobody has looked at the ends yet
            about=topic,
            texts=[move_text(move, labels) for _, move in own],
        )
        listed |= {i: replace(candidate, number=i) for (i, _), candidate in zip(own, scored, strict=True)}
    return [listed[i] for i in range(len(moves))]


def _kinds(ways: Sequence[Iterable[Path]], session: Session) -> list[list[str]]:
    """What stands at each place of some ways of the same length, for each group of them."""
    return session.kinds([[way.terms for way in islice(own, SAMPLE)] for own in ways])


def _as_found(found: Sequence[Shown], session: Session, *, latest_first: bool = False) -> Retrieval:
    """The facts as they were found, each predicate an item.

    :param latest_first: what the last step led to comes first among the candidates.
    """
    evidence = Evidence(item_of(one, session) for one in found)
    reached = {item.marker: one.followed.reached() for item, one in zip(evidence, found, strict=True)}
    order = Evidence(reversed(list(evidence))) if latest_first else evidence
    return Retrieval(evidence=evidence, candidates=tuple(candidates_of(order, reached, session)))


def _exhausted(found: Sequence[Shown], session: Session) -> Retrieval:
    """Everything that was found: every path with all its ends, those that fit the question best first."""
    if not found:
        return Retrieval()
    items: list[EvidenceItem] = []
    with session.within_budget():
        walks = _scored(found, session)
        found = _rescored(found, walks)
        if session.complete:
            made = completed(list(walks), session)
            items = [replace(item, score=score) for item, score in zip(made, walks.values(), strict=True) if item]
    if not items:
        best = sorted(found, key=lambda one: -(one.followed.score + one.followed.oracle))
        return _as_found(best, session)
    evidence = Evidence(items)
    return Retrieval(evidence=evidence, candidates=answers_at_ends(evidence, session))


def _scored(found: Sequence[Shown], session: Session) -> dict[Walk, float]:
    """The distinct walks, those an oracle chose the most steps of first, then those that fit the question best.

    Now that it is known what is along the paths, they are compared with the question once more, as wholes.
    """
    reached = {own.walk: (own, one.followed) for one in reversed(found) for own in one.followed.reached()}
    along = _kinds([own.ways.values() for own, _ in reached.values()], session)
    scores: dict[Walk, float] = {}
    for topic in dict.fromkeys(walk.start for walk in reached):
        own = [(walk, kinds) for walk, kinds in zip(reached, along, strict=True) if walk.start == topic]
        made = session.path_candidates([(walk.path, kinds) for walk, kinds in own], about=topic)
        for (walk, _), candidate in zip(own, made, strict=True):
            scores[walk] = (candidate.score or 0.0) + reached[walk][1].oracle
    best = sorted(scores, key=lambda walk: (-scores[walk], walk.path))[:COMPLETED]
    return {walk: scores[walk] for walk in best}


def _rescored(found: Sequence[Shown], scores: Mapping[Walk, float]) -> list[Shown]:
    """The same with these scores, where they are known."""
    known = [scores.get(one.followed.walk, 0.0) - one.followed.oracle for one in found]
    return [
        replace(one, followed=replace(one.followed, score=score)) if one.followed.walk in scores else one
        for one, score in zip(found, known, strict=True)
    ]
