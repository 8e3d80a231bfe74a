"""Think-on-Graph: a beam of chains from the question's entities, widened and pruned hop by hop.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph",
ICLR 2024 (arXiv 2307.07697), section 2 and appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar
from typing import Literal as OneOf

from kgsparql.answering.answer import MAX_CHOICES, Draft, Retrieval
from kgsparql.answering.choosing import Candidate, Choice, RankerChooser, is_read
from kgsparql.answering.composing import draft_if_enough
from kgsparql.answering.link_mending import alternatives, find_links, mend_links
from kgsparql.answering.option_ranges import Within, check_ranges
from kgsparql.answering.retriever import Cost
from kgsparql.answering.session import Session
from kgsparql.errors import AuthenticationError, ModelError, RateLimitError
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import Path, Walk
from kgsparql.rdf.terms import IRI, iri
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED
from kgsparql.retrievers._think_on_graph_chains import (
    Chain,
    beam_of,
    chains_retrieval,
    cited_walks,
    ends_retrieval,
    ranked_trails,
)
from kgsparql.retrievers._think_on_graph_choosing import (
    Walked,
    candidate_lists,
    choices_among,
    chosen_offers,
    evenly_scored_chains,
    scored_chains,
    with_meeting_bonus,
)
from kgsparql.retrievers._think_on_graph_steps import (
    ChosenOffer,
    Offer,
    Thinning,
    candidates_of,
    expanded_offers,
    offers,
    path_sample,
    thinned_offers,
    with_examples,
)
from kgsparql.retrievers._walking import WalkingRetriever, note_order, run_in_parallel, terms_of

_KEPT = 20  # chains of a depth that are kept where a model chooses: all that it chose, as a rule
_MODEL_FAILED = (ModelError, AuthenticationError, RateLimitError)


@dataclass(frozen=True, slots=True)
class ThinkOnGraph(WalkingRetriever):
    """Evidence as in Think-on-Graph: at each hop the predicates, then the entities, that fit the question are kept.

    What a beam finds is a sample: the paths that the answer rests on are followed to every answer, if that is wanted.

    :param width: chains that go on at each depth, and predicates kept of each.
    :param depth: hops of the longest chain; two through a blank node count as one.
    :param thin_threshold: a predicate with so many neighbours or more is thinned before anybody chooses.
    :param thin_to: neighbours that are left then.
    :param thin: those most like the question (``embedding``), any, as in the paper (``random``), or all (``none``).
    :param prune: who chooses predicates: the ``model``, if there is one, ``embedding`` similarity, or ``bm25``.
    :param shortlist: predicates of a chain that a model chooses from: those most like the question; in one call for
        several chains, a part of it of each.
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
            " + score_entities * (depth + 1) + depth + (prune == 'model') + 1"
        ),
        rounds="(prune == 'model') * (depth + 1) + score_entities * (depth + 1) + depth + 1",
        queries="depth * (8 + width * width * neighbours_per_predicate // 500) + 60",
    )

    width: Annotated[int, Within(1, 50)] = 3
    depth: Annotated[int, Within(1, 10)] = 3
    thin_threshold: Annotated[int, Within(1, 10_000)] = 20
    thin_to: Annotated[int, Within(1, 1_000)] = 5
    thin: Thinning = "embedding"
    prune: OneOf["model", "embedding", "bm25"] = "model"
    shortlist: Annotated[int, Within(1, MAX_CHOICES)] = 30
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
        """Chains (P); those that the answer rests on are followed to all their ends."""
        was_asked = find_links(session)
        walked = Walked(beam=tuple(Chain(Path(link.term)) for link in session.links), asks_again=not was_asked)
        with session.within_budget():
            while len(walked.depths) < self.depth and walked.beam and not walked.stopped:
                self._advance(walked, session)
        if not (walked.by_model or walked.by_oracle):
            note_order(((path, [""] * (len(path.steps) + 1)) for _, path in walked.met), session)
        return self._retrieval(walked, session)

    def _advance(self, walked: Walked, session: Session) -> None:
        """Walk one depth: if the evidence so far is not enough, choose predicates, then score what they lead to."""
        offered = offers(walked.beam, session, skip=self._skipped, walked=walked.led_to)
        walked.stopped = not offered
        choices = self._choices(offered, walked, session) if offered else []
        if offered and not walked.stopped and not any(choices):
            offered, choices = self._second_choices(offered, walked, session)
        if walked.stopped:
            return
        chosen = [one for own in choices for one in chosen_offers(offered, own, self.width, session)]
        walked.by_model |= any(choice.chosen_by == "model" for own in choices for choice in own)
        chosen = expanded_offers(chosen, walked.led_to, session, limit=self.neighbours_per_predicate)
        walked.meet(chosen)
        kept, walked.beam = self._kept_and_onward(chosen, walked, session)
        if kept:
            walked.depths.append(kept)

    def _choices(self, offered: Sequence[Offer], walked: Walked, session: Session) -> list[list[Choice]]:
        """The choices of predicates, one list for each call; none if the evidence so far is judged enough before."""

        def choosing(own: Sequence[Candidate]) -> Callable[[Session], list[Choice]]:
            return lambda branch: self._choose(own, len({offered[c.number].place for c in own}) * self.width, branch)

        try:
            if walked.depths and session.can_spare_call("enough"):
                with session.within_budget():
                    self._take_judgement(
                        draft_if_enough(chains_retrieval(walked.depths, session), session), walked, session
                    )
            if walked.stopped:
                return []
            lists = self._lists(offered, session)
            if self.prune == "model" and is_read(session.choose):
                lists = [with_examples(own, offered, session) for own in lists]
            return run_in_parallel(session, list(map(choosing, lists)))
        except _MODEL_FAILED as error:
            if not walked.depths:
                raise
            _stop(walked, error, session)
            return []

    def _second_choices(
        self, offered: list[Offer], walked: Walked, session: Session
    ) -> tuple[list[Offer], list[list[Choice]]]:
        """Where a model chose nothing: at the first depth, its choices of the predicates that were not listed.

        If there are none, of those of what else the names may mean. If it chooses nothing again, the walk ends.
        """
        walked.by_model = True
        choices: list[Choice] = []
        if not walked.depths and walked.asks_again and session.can_spare_call("predicates"):
            walked.asks_again = False
            read = {c.number for own in self._lists(offered, session) for c in own}
            rest = [c for c in candidates_of(offered, session) if c.number not in read]
            others = () if rest else alternatives(session)[: self.width]
            if others:
                walked.beam = tuple(Chain(Path(other.term)) for other in others)
                offered = offers(walked.beam, session, skip=self._skipped, walked=walked.led_to)
                rest = [c for own in self._lists(offered, session) for c in own]
            with session.within_budget():
                choices = self._choose(with_examples(rest, offered, session), self.width * len(walked.beam), session)
            if others:
                mend_links(session, [others[offered[choice.candidate.number].place] for choice in choices])
            if not choices:
                session.notes.append("no predicate that the model read leads to an answer", code="nothing_chosen")
        walked.stopped = not choices
        return offered, [choices]

    def _lists(self, offered: Sequence[Offer], session: Session) -> list[list[Candidate]]:
        by_model = self.prune == "model"
        shortlist = self.shortlist if by_model else None
        return candidate_lists(offered, session, shortlist=shortlist, batch=self.batch_prune or not by_model)

    @property
    def _skipped(self) -> frozenset[IRI]:
        return UNWALKED | PICTURES_AND_PAGES | {iri(name) for name in self.skip}

    def _take_judgement(self, draft: Draft | None, walked: Walked, session: Session) -> None:
        """Stop if the evidence was judged enough; a reply that does not say so is a fallback: a no."""
        if draft is None:
            return
        is_enough = draft.sufficient is True
        walked.stopped |= is_enough
        if is_enough and draft.text:  # an oracle writes nothing
            walked.draft = draft
        walked.by_model |= bool(draft.text) or not is_enough
        if draft.sufficient is None:
            session.fall_back("enough", "the reply does not say whether the facts are enough: taken for a no")

    def _choose(self, candidates: Sequence[Candidate], at_most: int, session: Session) -> list[Choice]:
        if self.prune == "bm25":
            by_words = RankerChooser(BM25Ranker(), session.emit)
            unscored = [replace(candidate, score=None) for candidate in candidates]
            return by_words.choose(session.masked_question, unscored, "predicates", at_most)
        if self.prune == "embedding":
            return session.ranked.choose(session.masked_question, candidates, "predicates", at_most)
        return choices_among(candidates, "predicates", at_most, session)

    def _kept_and_onward(
        self, chosen: Sequence[ChosenOffer], walked: Walked, session: Session
    ) -> tuple[tuple[Chain, ...], tuple[Chain, ...]]:
        """The chains that are kept and those that are continued: thinned, scored, the best of them."""
        paths = [path for one in chosen for path in one.siblings]
        labels, _ = statement_labels(paths, session.labels, session.labels(terms_of(paths)), in_grace=False)
        if self.score_entities:
            chosen = thinned_offers(
                chosen, labels, session, how=self.thin, threshold=self.thin_threshold, to=self.thin_to
            )
        else:
            chosen = [replace(one, listed=path_sample(one.siblings, self.width, session)) for one in chosen]
        chains, told_apart = evenly_scored_chains(chosen), False
        try:
            if self.score_entities:
                chains, told_apart = scored_chains(
                    chosen, labels, self.width, session, again=not walked.depths and walked.asks_again
                )
        except _MODEL_FAILED as error:
            _stop(walked, error, session)
        walked.by_model |= told_apart
        unlisted = [] if told_apart else [path for one in chosen for path in one.unlisted]
        chains = with_meeting_bonus(chains, self.meeting_bonus)
        kept = max(self.width, _KEPT) if walked.by_model and self.score_entities else self.width
        return beam_of(chains, labels, self.width, spread=not told_apart, kept=kept, unlisted=unlisted)

    def _retrieval(self, walked: Walked, session: Session) -> Retrieval:
        """The chains, or, if more answers are wanted and found, the walks with all their ends."""
        so_far = chains_retrieval(walked.depths, session)
        enough = True if walked.draft is not None else False if walked.by_model else None
        found = replace(so_far, sufficient=enough, draft=walked.draft)
        if not session.complete or not walked.depths:
            return found
        with session.within_budget():
            walks, leading = self._walks(walked, so_far, session)
            kept = [chain for depth in walked.depths for chain in depth]
            whole = ends_retrieval(walks, kept, session)
            ends = {end for item in list(whole.evidence)[:leading] for end in item.ends}
            answers = {answer.term for answer in walked.draft.answers} if walked.draft is not None else None
            if ends == answers:
                return found
            if answers is not None and session.usage.calls_left == 0:
                session.notes.append("the budget holds no call for all that was found: the answer rests on a sample")
                return found
            return replace(whole, sufficient=enough)
        return found

    def _walks(self, walked: Walked, so_far: Retrieval, session: Session) -> tuple[list[tuple[Walk, float]], int]:
        """The walks to follow to all their ends, the best first, and how many of them lead to a draft's answers."""
        if walked.draft is not None:
            leading, others = cited_walks(walked.draft, so_far.evidence)
            walks = [*leading, *others]
            return [(walk, float(len(walks) - place)) for place, walk in enumerate(walks)], len(leading)
        if walked.by_model:  # the model chose these, and reads them all
            kept = dict.fromkeys(chain.trail for depth in walked.depths for chain in depth)
            return ranked_trails({trail: walked.met[trail] for trail in kept}, walked.by_oracle, session), 0
        return ranked_trails(walked.met, walked.by_oracle, session)[: self.width], 0


def _stop(walked: Walked, error: Exception, session: Session) -> None:
    session.notes.append(f"the walk ended after {len(walked.depths)} hops: {error}")
    walked.stopped = True
