"""Think-on-Graph: a beam of chains from the question's entities, widened and pruned hop by hop.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph",
ICLR 2024 (arXiv 2307.07697), section 2 and appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from typing import Literal as OneOf

import numpy as np

from kgsparql.answering.answer import MAX_CHOICES, Draft, Retrieval
from kgsparql.answering.choosing import Candidate, Choice, choose, ranked_choices, wording_scores
from kgsparql.answering.composing import draft_if_enough
from kgsparql.answering.entity_linking import alternatives, find_links, mend_links
from kgsparql.answering.retriever import Cost, Within, check_ranges
from kgsparql.answering.session import Session
from kgsparql.errors import AuthenticationError, ModelError, RateLimitError
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import NeighbourGroup
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import Path, Step, Walk
from kgsparql.rdf.terms import IRI, Term, iri
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED
from kgsparql.retrievers._think_on_graph_chains import (
    Chain,
    ChosenOffer,
    Offer,
    Thinning,
    Trail,
    beam_of,
    candidates_of,
    chains_retrieval,
    cited_walks,
    ends_retrieval,
    expanded_offers,
    offers,
    path_sample,
    ranked_trails,
    thinned_offers,
    with_examples,
)
from kgsparql.retrievers._walking import WalkingRetriever, is_opaque, note_order, run_in_parallel, terms_of

_MAX_CHAINS_KEPT = 20  # chains of a depth that are kept where a model chooses: all that it chose, as a rule
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

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs."""
        is_model, scores = self.prune == "model", self.score_entities * (self.depth + 1)
        relations = self.depth if self.batch_prune else entities + (self.depth - 1) * self.width
        return Cost(
            calls=is_model * relations + scores + self.depth + is_model + 1,
            rounds=is_model * (self.depth + 1) + scores + self.depth + 1,
            queries=self.depth * (8 + self.width * self.width * self.neighbours_per_predicate // 500) + 60,
        )

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in self.skip:
            iri(name)

    def retrieve(self, session: Session) -> Retrieval:
        """Find chains (P); those that the answer rests on are followed to all their ends."""
        was_asked = find_links(session)
        walked = Walked(beam=tuple(Chain(Path(link.term)) for link in session.links), asks_again=not was_asked)
        with session.within_budget():
            while len(walked.depths) < self.depth and walked.beam and not walked.stopped:
                self._walk_one_depth(walked, session)
        if not (walked.by_model or walked.by_oracle):
            note_order(((path, [""] * (len(path.steps) + 1)) for _, path in walked.met), session)
        return self._retrieval_of(walked, session)

    def _walk_one_depth(self, walked: Walked, session: Session) -> None:
        """Walk one depth: if the evidence so far is not enough, choose predicates, then score what they lead to."""
        offered = offers(walked.beam, session, skip=self._skipped_predicates, walked=walked.led_to)
        walked.stopped = not offered
        choices = self._chosen_predicates(offered, walked, session) if offered else []
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

    def _chosen_predicates(self, offered: Sequence[Offer], walked: Walked, session: Session) -> list[list[Choice]]:
        """Choose predicates, one list for each call; none if the evidence so far is judged enough before."""

        def choosing(own: Sequence[Candidate]) -> Callable[[Session], list[Choice]]:
            return lambda branch: self._chosen_among(
                own, len({offered[c.number].place for c in own}) * self.width, branch
            )

        try:
            if walked.depths and session.can_spare_call("enough"):
                with session.within_budget():
                    self._take_judgement(
                        draft_if_enough(chains_retrieval(walked.depths, session), session), walked, session
                    )
            if walked.stopped:
                return []
            lists = self._lists_of_predicates(offered, session)
            if self.prune == "model" and session.model_reads:
                lists = [with_examples(own, offered, session) for own in lists]
            return run_in_parallel(session, list(map(choosing, lists)))
        except _MODEL_FAILED as error:
            if not walked.depths:
                raise
            _stop_walk(walked, error, session)
            return []

    def _second_choices(
        self, offered: list[Offer], walked: Walked, session: Session
    ) -> tuple[list[Offer], list[list[Choice]]]:
        """Ask a model that chose nothing at the first depth for its choices of the predicates that were not listed.

        If there are none, of those of what else the names may mean. If it chooses nothing again, the walk ends.
        """
        walked.by_model = True
        choices: list[Choice] = []
        if not walked.depths and walked.asks_again and session.can_spare_call("predicates"):
            walked.asks_again = False
            read = {c.number for own in self._lists_of_predicates(offered, session) for c in own}
            rest = [c for c in candidates_of(offered, session) if c.number not in read]
            others = () if rest else alternatives(session)[: self.width]
            if others:
                walked.beam = tuple(Chain(Path(other.term)) for other in others)
                offered = offers(walked.beam, session, skip=self._skipped_predicates, walked=walked.led_to)
                rest = [c for own in self._lists_of_predicates(offered, session) for c in own]
            with session.within_budget():
                choices = self._chosen_among(
                    with_examples(rest, offered, session), self.width * len(walked.beam), session
                )
            if others:
                mend_links(session, [others[offered[choice.candidate.number].place] for choice in choices])
            if not choices:
                session.notes.append("no predicate that the model read leads to an answer", code="nothing_chosen")
        walked.stopped = not choices
        return offered, [choices]

    def _lists_of_predicates(self, offered: Sequence[Offer], session: Session) -> list[list[Candidate]]:
        by_model = self.prune == "model"
        shortlist = self.shortlist if by_model else None
        return candidate_lists(offered, session, shortlist=shortlist, batch=self.batch_prune or not by_model)

    @property
    def _skipped_predicates(self) -> frozenset[IRI]:
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

    def _chosen_among(self, candidates: Sequence[Candidate], at_most: int, session: Session) -> list[Choice]:
        if self.prune == "bm25":
            unscored = [replace(candidate, score=None) for candidate in candidates]
            return ranked_choices(
                session.masked_question, unscored, "predicates", at_most, session, ranker=BM25Ranker()
            )
        if self.prune == "embedding":
            return ranked_choices(session.masked_question, candidates, "predicates", at_most, session)
        return choices_among(candidates, "predicates", at_most, session)

    def _kept_and_onward(
        self, chosen: Sequence[ChosenOffer], walked: Walked, session: Session
    ) -> tuple[tuple[Chain, ...], tuple[Chain, ...]]:
        """Choose the chains that are kept and those that are continued: thinned, scored, the best of them."""
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
            _stop_walk(walked, error, session)
        walked.by_model |= told_apart
        unlisted = [] if told_apart else [path for one in chosen for path in one.unlisted]
        chains = with_meeting_bonus(chains, self.meeting_bonus)
        kept = max(self.width, _MAX_CHAINS_KEPT) if walked.by_model and self.score_entities else self.width
        return beam_of(chains, labels, self.width, spread=not told_apart, kept=kept, unlisted=unlisted)

    def _retrieval_of(self, walked: Walked, session: Session) -> Retrieval:
        """Retrieve the chains, or, if more answers are wanted and found, the walks with all their ends."""
        so_far = chains_retrieval(walked.depths, session)
        enough = True if walked.draft is not None else False if walked.by_model else None
        found = replace(so_far, sufficient=enough, draft=walked.draft)
        if not session.complete or not walked.depths:
            return found
        with session.within_budget():
            walks, leading = self._walks_to_follow(walked, so_far, session)
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

    def _walks_to_follow(
        self, walked: Walked, so_far: Retrieval, session: Session
    ) -> tuple[list[tuple[Walk, float]], int]:
        """List the walks to follow to all their ends, the best first, and count those to a draft's answers."""
        if walked.draft is not None:
            leading, others = cited_walks(walked.draft, so_far.evidence)
            walks = [*leading, *others]
            return [(walk, float(len(walks) - place)) for place, walk in enumerate(walks)], len(leading)
        if walked.by_model:  # the model chose these, and reads them all
            kept = dict.fromkeys(chain.trail for depth in walked.depths for chain in depth)
            return ranked_trails({trail: walked.met[trail] for trail in kept}, walked.by_oracle, session), 0
        return ranked_trails(walked.met, walked.by_oracle, session)[: self.width], 0


def _stop_walk(walked: Walked, error: Exception, session: Session) -> None:
    session.notes.append(f"the walk ended after {len(walked.depths)} hops: {error}")
    walked.stopped = True


_MIN_CANDIDATES_OF_CHAIN = 12  # candidates of each of several chains in one list, at least
# The share of its predicate adds so much to an entity's score by a model, and so decides among equals.
_TIE_WEIGHT = 1e-3
_SHARPNESS = 10.0  # how strongly a difference between two scores of a ranker changes a share: 0.1 is a factor of e


@dataclass(slots=True)
class Walked:
    """The state of the walk.

    :param led_to: the neighbours by each step from a term, so that none is queried twice.
    :param met: the siblings of every trail that was walked.
    :param draft: the answer of the model that judged the evidence enough.
    :param asks_again: whether a model that chooses nothing is asked once more.
    :param stopped: whether the walk has ended before its full depth.
    """

    beam: tuple[Chain, ...]
    depths: list[tuple[Chain, ...]] = field(default_factory=list)
    led_to: dict[tuple[Term, Step], NeighbourGroup] = field(default_factory=dict)
    met: dict[Trail, list[Path]] = field(default_factory=dict)
    by_oracle: set[Trail] = field(default_factory=set)
    by_model: bool = False
    draft: Draft | None = None
    asks_again: bool = True
    stopped: bool = False

    def meet(self, chosen: Sequence[ChosenOffer]) -> None:
        """Remember the trails of these offers, and which an oracle chose."""
        for one in chosen:
            for path in one.siblings:
                trail = path.start, path.property_path
                self.met.setdefault(trail, []).append(path)
                if one.by_oracle:
                    self.by_oracle.add(trail)


def candidate_lists(
    offered: Sequence[Offer], session: Session, *, shortlist: int | None, batch: bool
) -> list[list[Candidate]]:
    """List the offers as candidates, in one list or in one for each chain.

    :param shortlist: candidates of each chain: those that fit the question best; ``None`` for all.
    :param batch: make one list, which then has no more than a model reads: fewer of each of several chains.
    """
    by_place: dict[int, list[Candidate]] = {}
    for candidate in candidates_of(offered, session):
        by_place.setdefault(offered[candidate.number].place, []).append(candidate)
    if shortlist is not None:
        chains = len(by_place)
        most = (
            max(1, min(max(shortlist // chains, _MIN_CANDIDATES_OF_CHAIN), shortlist, MAX_CHOICES // chains))
            if batch
            else shortlist
        )
        for place, own in by_place.items():
            by_place[place] = sorted(own, key=lambda c: -(c.score or 0.0))[:most]
    lists = list(by_place.values())
    return [[c for own in lists for c in own]] if batch else lists


def choices_among(candidates: Sequence[Candidate], purpose: str, at_most: int, session: Session) -> list[Choice]:
    """Choose, by the ranker if no call is left; a model may choose nothing."""
    if session.oracle is None and not session.can_spare_call(purpose):
        return ranked_choices(session.masked_question, candidates, purpose, at_most, session)
    with session.within_budget():
        return choose(candidates, purpose, at_most, session)
    return ranked_choices(session.masked_question, candidates, purpose, at_most, session)


def chosen_offers(
    offered: Sequence[Offer], choices: Sequence[Choice], width: int, session: Session
) -> list[ChosenOffer]:
    """Keep at most ``width`` predicates of each chain, with their shares.

    The shares of each chain sum to 1 if a model gave the scores. A ranker scores whole paths, which can be compared
    across chains, so its shares sum to 1 over all chains.
    """
    weights = _choice_weights(choices, "predicates", session)
    of_chain: dict[int, list[tuple[Choice, float]]] = {}
    for choice, value in zip(choices, weights, strict=True):
        of_chain.setdefault(offered[choice.candidate.number].place, []).append((choice, value))
    kept = [some[:width] for some in of_chain.values()]
    total = sum(value for own in kept for _, value in own)
    chosen = []
    for own in kept:
        weight = 1.0 if own[0][0].chosen_by == "model" else sum(value for _, value in own) / total
        for (choice, _), part in zip(own, _parts_of_one([value for _, value in own]), strict=True):
            offer = offered[choice.candidate.number]
            chosen.append(ChosenOffer(offer, part * weight, choice.chosen_by == "oracle" and offer.chain.by_oracle))
    return chosen


def scored_chains(
    chosen: Sequence[ChosenOffer], labels: Mapping[Term, str], width: int, session: Session, *, again: bool = False
) -> tuple[list[Chain], bool]:
    """Score the chains to everything listed, and tell whether a model took some siblings and left others.

    The score is a model's own, which read all in one list; else the share of the predicate times that among siblings.
    Nobody is asked if all fit into the beam, nor about terms that have no name.

    :param again: where a model takes none of what is listed, it is asked once more about what is not.
    :raises ModelError: if a model was asked and cannot be reached.
    """
    listed = [(i, path) for i, one in enumerate(chosen) for path in one.listed]
    named = [(i, path) for i, path in listed if not is_opaque(path.end, session)]
    candidates = [Candidate(n, path_text(path, labels), path=path.property_path) for n, (_, path) in enumerate(named)]
    if len(listed) <= width or len(candidates) < 2:
        return _chains_to(chosen, listed, dict.fromkeys(named, 1.0)), False
    choices = choices_among(candidates, "entities", len(candidates), session)
    rest = [replace(one, listed=tuple(one.unlisted)) for one in chosen]
    if not choices and again and any(one.listed for one in rest):
        return scored_chains(rest, labels, 0, session)
    by_model = not choices or any(choice.chosen_by == "model" for choice in choices)
    values = dict.fromkeys(named, 0.0)
    for choice, value in zip(choices, _choice_weights(choices, "entities", session), strict=True):
        one = chosen[named[choice.candidate.number][0]]
        values[named[choice.candidate.number]] = value + _TIE_WEIGHT * one.share if by_model else value
    return _chains_to(chosen, listed, values, shared=not by_model), by_model and len(choices) < len(candidates)


def _choice_weights(choices: Sequence[Choice], purpose: str, session: Session) -> list[float]:
    """Weigh each choice; by the ranker's scores if a model gave none."""
    weights = _choice_shares(choices)
    if not choices or choices[0].chosen_by != "model" or any(weights):
        return weights
    if len(choices) == 1:
        return [1.0]
    session.fall_back(purpose, "the model gave no scores: the ranker's are used")
    scores = wording_scores(session.ranker, session.question, [choice.candidate for choice in choices])
    return _choice_shares([Choice(c.candidate, float(s), "ranker") for c, s in zip(choices, scores, strict=True)])


def _chains_to(
    chosen: Sequence[ChosenOffer],
    listed: Sequence[tuple[int, Path]],
    values: Mapping[tuple[int, Path], float],
    *,
    shared: bool = True,
) -> list[Chain]:
    """Make a chain of each path; one whose end has no name, and so no value, gets an equal share among siblings.

    :param shared: the values are weights among siblings; else they are scores already.
    """
    chains = []
    for i, one in enumerate(chosen):
        own = [path for j, path in listed if j == i]
        known = [values[i, path] for path in own if (i, path) in values]
        total = sum(known)
        for path in own:
            score = one.share / len(own)
            if (i, path) in values and not shared:
                score = values[i, path]
            elif (i, path) in values:
                score *= values[i, path] / total * len(known) if total > 0 else 0.0
            chains.append(Chain(path, score, by_oracle=one.by_oracle))
    return chains


def evenly_scored_chains(chosen: Sequence[ChosenOffer]) -> list[Chain]:
    """Make chains to everything listed, with equal scores for siblings."""
    return [Chain(path, one.share / len(one.listed), by_oracle=one.by_oracle) for one in chosen for path in one.listed]


def with_meeting_bonus(chains: Sequence[Chain], bonus: float) -> list[Chain]:
    """Add a bonus to chains whose end is also reached from another entity of the question."""
    topics: dict[Term, set[Term]] = {}
    for chain in chains:
        topics.setdefault(chain.end, set()).add(chain.path.start)
    return [replace(c, score=c.score * (1 + bonus if len(topics[c.end]) > 1 else 1)) for c in chains]


def _choice_shares(choices: Sequence[Choice]) -> list[float]:
    """Weigh each choice beside the others of its call, not normalised: the scores of a model as they are.

    Those of a ranker, and for an oracle, which gives none, too, are sharpened, so that a small difference counts.
    """
    if choices and choices[0].chosen_by == "model":
        return [choice.score for choice in choices]
    scores = [choice.score if choice.candidate.score is None else choice.candidate.score for choice in choices]
    best = max(scores, default=0.0)
    return [float(np.exp(_SHARPNESS * (score - best))) for score in scores]


def _parts_of_one(values: Sequence[float]) -> list[float]:
    """Make values parts of 1; equal parts if all values are 0.

    >>> _parts_of_one([1, 3]), _parts_of_one([0, 0])
    ([0.25, 0.75], [0.5, 0.5])
    """
    total = sum(values)
    return [value / total for value in values] if total > 0 else [1 / len(values) for _ in values]
