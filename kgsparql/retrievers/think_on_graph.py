"""Think-on-Graph: a beam of chains from the question's entities, widened and pruned hop by hop.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph",
ICLR 2024 (arXiv 2307.07697), section 2 and appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from typing import Literal as OneOf

from kgsparql.answering.answer import LISTED, Draft, Retrieval
from kgsparql.answering.choosing import Candidate, Choice, RankerChooser
from kgsparql.answering.composing import judged
from kgsparql.answering.option_ranges import Within, check_ranges
from kgsparql.answering.parallel_steps import side_by_side
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.errors import AuthenticationError, ModelError, RateLimitError
from kgsparql.evidence.wikibase_statements import worded
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import Path, Step, Walk
from kgsparql.rdf.terms import IRI, Term, iri
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED
from kgsparql.retrievers._beam import Beam, Chain, Trail, beam_of
from kgsparql.retrievers._think_on_graph_choosing import chosen_pairs, chosen_with, meeting, scored, unscored
from kgsparql.retrievers._think_on_graph_evidence import all_ends, chains_only, cited_walks, is_enough, ranked_trails
from kgsparql.retrievers._think_on_graph_steps import (
    Offer,
    Pair,
    Thinning,
    candidates_of,
    expanded,
    offers,
    sampled,
    thinned,
)
from kgsparql.retrievers._walking import compose_unless_drafted, note_order

__all__ = ["ThinkOnGraph"]

_MODEL_FAILED = (ModelError, AuthenticationError, RateLimitError)


@dataclass(slots=True)
class _Walked:
    """What has been walked so far.

    :param depths: the chains kept at each depth.
    :param led_to: what steps from terms have led to: never asked twice.
    :param met: the siblings of every trail that was walked.
    :param by_oracle: the trails that an oracle chose every step of.
    :param by_model: whether a model chose anything.
    :param draft: the answer of whoever thought the evidence enough.
    """

    beam: tuple[Chain, ...]
    depths: list[tuple[Chain, ...]] = field(default_factory=list)
    led_to: dict[tuple[Term, Step], NeighbourGroup] = field(default_factory=dict)
    met: dict[Trail, list[Path]] = field(default_factory=dict)
    by_oracle: set[Trail] = field(default_factory=set)
    by_model: bool = False
    draft: Draft | None = None
    stopped: bool = False

    def meet(self, pairs: Sequence[Pair]) -> None:
        """Remember the trails of these pairs, and who chose them."""
        for pair in pairs:
            for path in pair.siblings:
                trail = path.start, path.property_path
                self.met.setdefault(trail, []).append(path)
                if pair.by_oracle:
                    self.by_oracle.add(trail)


@dataclass(frozen=True, slots=True)
class ThinkOnGraph(Retriever):
    """Evidence as in Think-on-Graph: at each hop the predicates, then the entities, that fit the question are kept.

    What a beam finds is a sample: the paths that the answer rests on are followed to every answer, if that is wanted.

    :param width: chains that go on at each depth, and predicates kept of each.
    :param depth: hops of the longest chain; two through a blank node count as one.
    :param thin_threshold: a predicate with so many neighbours or more is thinned before anybody chooses.
    :param thin_to: neighbours that are left then.
    :param thin: those most like the question (``embedding``), any, as in the paper (``random``), or all (``none``).
    :param prune: who chooses predicates: the ``model``, if there is one, ``embedding`` similarity, or ``bm25``.
    :param shortlist: predicates of a chain that a model chooses from: those most like the question.
    :param batch_prune: one call for the predicates of all chains; else one call for each, at the same time.
    :param score_entities: have the entities scored, too; without, a seeded sample is kept (ToG-R).
    :param neighbours_per_predicate: neighbours of an entity that are fetched by one predicate.
    :param meeting_bonus: share added to the score of an entity that several entities of the question lead to.
    :param skip: IRIs of predicates that are not walked, besides names, classes, images and pages.
    """

    name: ClassVar[str] = "think_on_graph"
    summary: ClassVar[str] = "a beam of chains from the question's entities, pruned and judged hop by hop"
    source: ClassVar[str] = "Sun et al., ICLR 2024, arXiv 2307.07697"
    cost: ClassVar[Cost] = Cost(
        calls=(
            "(prune == 'model') * (depth if batch_prune else entities + (depth - 1) * width)"
            " + score_entities * depth + depth"
        ),
        rounds="depth + score_entities * depth + (prune == 'model')",
        queries="depth * (8 + width * width * neighbours_per_predicate // 500) + 60",
    )

    width: Annotated[int, Within(1, 50)] = 3
    depth: Annotated[int, Within(1, 10)] = 3
    thin_threshold: Annotated[int, Within(1, 10_000)] = 20
    thin_to: Annotated[int, Within(1, 1_000)] = 5
    thin: Thinning = "embedding"
    prune: OneOf["model", "embedding", "bm25"] = "model"
    shortlist: Annotated[int, Within(1, LISTED)] = 30
    batch_prune: bool = True
    score_entities: bool = True
    neighbours_per_predicate: Annotated[int, Within(1, 10_000)] = 200
    meeting_bonus: Annotated[float, Within(0, 10)] = 0.0
    skip: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in self.skip:
            iri(name)

    def retrieve(self, session: Session) -> Retrieval:
        """Chains (P); those the answer rests on are followed to all their ends. What was found is never thrown away."""
        walked = _Walked(beam=tuple(Chain(Path(link.term)) for link in session.link()))
        with session.within_budget():
            while len(walked.depths) < self.depth and walked.beam and not walked.stopped:
                self._go_on(walked, session)
        if not (walked.by_model or walked.by_oracle):
            note_order(((path, [""] * (len(path) + 1)) for _, path in walked.met), session)
        return self._found(walked, session)

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """As :meth:`Retriever.compose`; where calls were kept back, what is not enough is not all there is."""
        return compose_unless_drafted(retrieval, session)

    def _go_on(self, walked: _Walked, session: Session) -> None:
        """One depth: predicates, and meanwhile whether there is enough already; then what they lead to."""
        skip = UNWALKED | PICTURES_AND_PAGES | {iri(name) for name in self.skip}
        made = offers(walked.beam, session, skip=skip, walked=walked.led_to)
        walked.stopped = not made
        choices = self._chosen(made, walked, session) if made else []
        if walked.stopped:
            return
        pairs = [pair for own in choices for pair in chosen_pairs(made, own, self.width, session)]
        walked.by_model |= any(choice.chosen_by == "model" for own in choices for choice in own)
        pairs = self._expanded(pairs, walked, session)
        beam = self._beam(pairs, walked, session)
        walked.beam = beam.onward
        if beam.kept:
            walked.depths.append(beam.kept)

    def _chosen(self, made: Sequence[Offer], walked: _Walked, session: Session) -> list[list[Choice]]:
        """The predicates that are walked, for each call that was made; at the same time the evidence is judged.

        Where the budget may end, one is done after the other, and the evidence that is enough needs no predicates.
        """
        heard: list[Draft | None] = []
        so_far = chains_only(walked.depths, session) if walked.depths else None

        def enough(branch: Session) -> list[Choice]:
            if so_far is not None and branch.can_spare_call("enough"):
                with branch.within_budget():
                    heard.append(judged(so_far, branch))
            return []

        def choosing(own: Sequence[Candidate]) -> Callable[[Session], list[Choice]]:
            def choose(branch: Session) -> list[Choice]:
                if branch is session and any(map(is_enough, heard)):  # one after the other: nobody else has it
                    return []
                return self._choose(own, len({made[c.number].place for c in own}) * self.width, branch)

            return choose

        lists = self._lists(made, candidates_of(made, session))
        try:
            _, *chosen = self._at_once([enough, *map(choosing, lists)], session)
        except _MODEL_FAILED as error:
            if not walked.depths:
                raise
            _end(walked, error, session)
            return []
        self._hear(heard, walked, session)
        return chosen

    @staticmethod
    def _at_once(steps: Sequence[Callable[[Session], list[Choice]]], session: Session) -> list[list[Choice]]:
        """The steps side by side; one after the other where that could take the call that the answer needs."""
        left = session.usage.calls_left
        if left is not None and left <= len(steps):
            return [step(session) for step in steps]
        return side_by_side(session, steps)

    def _hear(self, heard: Sequence[Draft | None], walked: _Walked, session: Session) -> None:
        """Stop where the evidence is enough; count what nobody can understand, which is taken for a no."""
        for draft in heard:
            walked.stopped |= is_enough(draft)
            if is_enough(draft) and draft is not None and draft.text:  # an oracle writes nothing
                walked.draft = draft
            walked.by_model |= draft is not None and (walked.draft is not None or not is_enough(draft))
            if draft is not None and draft.sufficient is None:
                session.fall_back("enough", "the reply does not say whether the facts are enough: taken for a no")

    def _lists(self, made: Sequence[Offer], candidates: Sequence[Candidate]) -> list[list[Candidate]]:
        """What is chosen from, in one list or one for each chain; for a model not more than it can read."""
        by_place: dict[int, list[Candidate]] = {}
        for candidate in candidates:
            by_place.setdefault(made[candidate.number].place, []).append(candidate)
        if self.prune == "model":
            most = min(self.shortlist, max(1, LISTED // len(by_place))) if self.batch_prune else self.shortlist
            for place, own in by_place.items():
                best = sorted(own, key=lambda c: -(c.score or 0.0))[:most]
                by_place[place] = sorted(best, key=lambda c: c.number)
        lists = list(by_place.values())
        return [[c for own in lists for c in own]] if self.batch_prune or self.prune != "model" else lists

    def _choose(self, candidates: Sequence[Candidate], at_most: int, session: Session) -> list[Choice]:
        """What whoever prunes predicates chooses."""
        if self.prune == "bm25":
            by_words = RankerChooser(BM25Ranker(), session.emit)
            unscored = [replace(candidate, score=None) for candidate in candidates]
            return by_words.choose(session.masked_question, unscored, "predicates", at_most)
        if self.prune == "embedding":
            return session.ranked.choose(session.masked_question, candidates, "predicates", at_most)
        return chosen_with(candidates, "predicates", at_most, session)

    def _expanded(self, chosen: Sequence[Pair], walked: _Walked, session: Session) -> list[Pair]:
        """The chosen predicates and what they lead to: one query, and one or two more where there are blank nodes."""
        steps: dict[IRI, list[Step]] = {}
        for pair in chosen:
            end, step = pair.offer.path.end, pair.offer.step
            if isinstance(end, IRI) and (end, step) not in walked.led_to:
                steps.setdefault(end, []).append(step)
        if steps:
            limit = self.neighbours_per_predicate
            found = neighbours(session.graph, steps, direction=session.direction, steps=steps, limit=limit)
            session.note_cuts(found.cuts)
            walked.led_to |= {(group.entity, group.step): group for group in found.items}
        pairs = expanded(chosen, walked.led_to)
        walked.meet(pairs)
        return pairs

    def _beam(self, pairs: Sequence[Pair], walked: _Walked, session: Session) -> Beam:
        """The next beam: the neighbours thinned, scored, and the best of them kept."""
        triples = (triple for pair in pairs for path in pair.siblings for triple in path.triples)
        named = session.labels(term for x in triples for term in (x.subject, x.predicate, x.object))
        labels, _ = worded([path for pair in pairs for path in pair.siblings], session, named, in_grace=False)
        if self.score_entities:
            pairs = thinned(pairs, labels, session, how=self.thin, threshold=self.thin_threshold, to=self.thin_to)
            try:
                found = scored(pairs, labels, self.width, session)
            except _MODEL_FAILED as error:
                _end(walked, error, session)
                found = unscored(pairs)
        else:
            pairs = [replace(pair, listed=sampled(pair.siblings, self.width, session)) for pair in pairs]
            found = unscored(pairs)
        walked.by_model |= found.told_apart
        waiting: dict[Trail, list[Path]] = {}
        for pair in () if found.told_apart else pairs:
            listed = set(pair.listed)
            for path in pair.siblings:
                if path not in listed:
                    waiting.setdefault((path.start, path.property_path), []).append(path)
        chains = meeting(found.chains, self.meeting_bonus)
        return beam_of(chains, labels, self.width, spread=not found.told_apart, waiting=waiting)

    def _found(self, walked: _Walked, session: Session) -> Retrieval:
        """What an answer is written from, or was."""
        so_far = chains_only(walked.depths, session)
        enough = True if walked.draft is not None else False if walked.by_model else None
        found = replace(so_far, sufficient=enough, draft=walked.draft)
        if not session.complete or not walked.depths:
            return found
        with session.within_budget():
            walks, leading = self._walks(walked, so_far, session)
            kept = [chain for depth in walked.depths for chain in depth]
            whole = all_ends(walks, kept, session)
            ends = {end for item in list(whole.evidence)[:leading] for end in item.ends}
            answers = {answer.term for answer in walked.draft.answers} if walked.draft is not None else None
            if ends == answers:
                return found
            if answers is not None and session.usage.calls_left == 0:
                session.notes.append("the budget holds no call for all that was found: the answer rests on a sample")
                return found
            return replace(whole, sufficient=enough)
        return found

    def _walks(self, walked: _Walked, so_far: Retrieval, session: Session) -> tuple[list[tuple[Walk, float]], int]:
        """The walks to be followed to the end, the best first; and how many of them lead to a draft's answers."""
        if walked.draft is not None:
            leading, others = cited_walks(walked.draft, so_far.evidence)
            walks = [*leading, *others]
            return [(walk, float(len(walks) - place)) for place, walk in enumerate(walks)], len(leading)
        if walked.by_model:  # it chose these, and reads them all
            kept = dict.fromkeys(chain.trail for depth in walked.depths for chain in depth)
            return ranked_trails({trail: walked.met[trail] for trail in kept}, walked.by_oracle, session), 0
        return ranked_trails(walked.met, walked.by_oracle, session)[: self.width], 0


def _end(walked: _Walked, error: Exception, session: Session) -> None:
    """A model that fails ends the walk; what was found until then stands."""
    session.notes.append(f"the walk ended after {len(walked.depths)} hops: {error}")
    walked.stopped = True
