"""Think-on-Graph: a beam of chains from the question's entities, widened and pruned hop by hop.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph",
ICLR 2024 (arXiv 2307.07697), section 2 and appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from typing import Literal as OneOf

from kgsparql.answer import Draft, Retrieval
from kgsparql.choosing import LISTED, Candidate, Choice, ModelChooser, RankerChooser
from kgsparql.composing import judged
from kgsparql.decision_tree import decision_tree
from kgsparql.errors import AuthenticationError, ModelError, OptionError, RateLimitError
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.grounding import evidence_labels
from kgsparql.paths import Path, Step, Walk
from kgsparql.ranking import BM25Ranker
from kgsparql.retriever import Cost, Retriever
from kgsparql.retrievers._beam import Beam, Chain, Trail, beam_of, normalised, shares
from kgsparql.retrievers._think_on_graph_evidence import all_ends, chains_only, cited_walks, is_enough, ranked_trails
from kgsparql.retrievers._think_on_graph_steps import (
    Offer,
    Pair,
    Thinning,
    candidates_of,
    offers,
    pairs_of,
    sampled,
    says_nothing,
    thinned,
)
from kgsparql.session import Session
from kgsparql.side_by_side import side_by_side
from kgsparql.terms import IRI, Term, iri
from kgsparql.verbalising import path_text
from kgsparql.vocabulary import UNWALKED

__all__ = ["ThinkOnGraph"]

_RANGES = {
    "width": (1, 50),
    "depth": (1, 10),
    "thin_threshold": (1, 10_000),
    "thin_to": (1, 1_000),
    "shortlist": (1, LISTED),
    "neighbours_per_predicate": (1, 10_000),
}
"""The least and the most that an option may be."""

_MODEL_FAILED = (ModelError, AuthenticationError, RateLimitError)


@dataclass(slots=True)
class _Walked:
    """What has been walked so far.

    :param depths: the chains kept at each depth.
    :param expanded: what steps from terms have led to: never asked twice.
    :param met: siblings of every trail that was walked.
    :param by_oracle: trails an oracle chose every step of.
    :param by_model: whether a model chose anything.
    :param verdicts: what somebody thought of the evidence, while it was not enough.
    :param draft: the answer of whoever thought it enough.
    """

    beam: tuple[Chain, ...]
    depths: list[tuple[Chain, ...]] = field(default_factory=list)
    expanded: dict[tuple[Term, Step], NeighbourGroup] = field(default_factory=dict)
    met: dict[Trail, list[Path]] = field(default_factory=dict)
    by_oracle: set[Trail] = field(default_factory=set)
    by_model: bool = False
    verdicts: int = 0
    draft: Draft | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class ThinkOnGraph(Retriever):
    """Evidence as in Think-on-Graph: at each hop the predicates, then the entities that fit the question are kept.

    What is found is a sample: the paths the answer rests on are followed to every answer, unless that is not wanted.

    :param width: chains that go on at each depth, and predicates kept of each.
    :param depth: the longest chain.
    :param thin_threshold: a predicate with so many neighbours or more is thinned before anybody chooses.
    :param thin_to: neighbours that are left then.
    :param thin: those most like the question (``embedding``), any, as in the paper (``random``), or all (``none``).
    :param prune: who chooses predicates: the ``model``, if there is one, ``embedding`` similarity, or ``bm25``.
    :param shortlist: predicates of a chain that a model chooses from: those most like the question.
    :param batch_prune: one call for the predicates of all chains; else one call for each, at the same time.
    :param score_entities: have the entities scored, too; without, a seeded sample is kept (ToG-R).
    :param neighbours_per_predicate: neighbours of one entity that are fetched by one predicate.
    :param meeting_bonus: what an entity that two entities of the question lead to counts for, added to its score of 1.
    :param skip: IRIs of predicates that are not walked, besides those that only name, describe or identify.
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
        queries="depth * 12 + 30",
    )

    width: int = 3
    depth: int = 3
    thin_threshold: int = 20
    thin_to: int = 5
    thin: Thinning = "embedding"
    prune: OneOf["model", "embedding", "bm25"] = "model"
    shortlist: int = 30
    batch_prune: bool = True
    score_entities: bool = True
    neighbours_per_predicate: int = 200
    meeting_bonus: float = 0.0
    skip: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise OptionError(f"think_on_graph: {name}={value} is out of range", hint=f"from {least:,} to {most:,}")
        if not 0.0 <= self.meeting_bonus <= 10.0:
            raise OptionError(
                f"think_on_graph: meeting_bonus={self.meeting_bonus} is out of range", hint="from 0 to 10"
            )
        for name in self.skip:
            iri(name)

    def retrieve(self, session: Session) -> Retrieval:
        """Chains (P), the ways of those that count followed to all their ends; what is there is never thrown away."""
        walked = _Walked(beam=tuple(Chain(Path(link.term)) for link in session.link()))
        with session.within_budget():
            while len(walked.depths) < self.depth and walked.beam and not walked.stopped:
                self._go_on(walked, session)
        return self._found(walked, session)

    def _go_on(self, walked: _Walked, session: Session) -> None:
        """One depth: predicates, and meanwhile whether there is enough already; then what they lead to."""
        skip = UNWALKED | {iri(name) for name in self.skip}
        made = offers(walked.beam, session, skip=skip, walked=walked.expanded)
        walked.stopped = not made
        if made:
            pairs = self._chosen_predicates(made, walked, session)
            if not walked.stopped:
                self._widen(pairs, walked, session)

    def _chosen_predicates(self, made: Sequence[Offer], walked: _Walked, session: Session) -> list[Pair]:
        """The predicates that are walked; none, and ``walked.stopped``, if the evidence is enough without them."""
        shortlisted = self._shortlisted(made, candidates_of(made, session))
        lists = [shortlisted]
        if not self.batch_prune:
            places = dict.fromkeys(made[c.number].place for c in shortlisted)
            lists = [[c for c in shortlisted if made[c.number].place == place] for place in places]
        heard: list[Draft | None] = []
        so_far = chains_only(walked.depths, session) if walked.depths else None

        def enough(branch: Session) -> list[Choice]:
            if so_far is not None and not _is_last_call(branch):
                with branch.within_budget():
                    heard.append(judged(so_far, branch))
            return []

        def choosing(own: Sequence[Candidate]) -> Callable[[Session], list[Choice]]:
            def choose(branch: Session) -> list[Choice]:
                # One after the other, what was heard first decides; at the same time, nobody waits for it.
                if branch is session and heard and is_enough(heard[0]):
                    return []
                return self._predicates_by(own, len({made[c.number].place for c in own}) * self.width, branch)

            return choose

        try:
            _, *chosen = side_by_side(session, [enough, *map(choosing, lists)])
        except _MODEL_FAILED as error:
            if not walked.depths:
                raise
            session.notes.append(f"the walk ended at depth {len(walked.depths)}: {error.message}")
            walked.stopped = True
            return []
        if self._is_over(heard, walked, session):
            return []
        return [pair for own in chosen for pair in self._pairs(made, own, session)]

    def _is_over(self, heard: Sequence[Draft | None], walked: _Walked, session: Session) -> bool:
        """Whether the evidence was found enough; counted, where nobody can tell what was found."""
        (draft,) = heard or (None,)
        if draft is not None:
            walked.by_model = True
            walked.verdicts += 1
            if is_enough(draft):
                walked.draft, walked.stopped = draft, True
            elif draft.sufficient is None:
                session.fall_back("enough", "the reply does not say whether the facts are enough: taken for a no")
            elif draft.sufficient:
                session.fall_back("enough", "the reply rests on none of the facts: taken for a no")
        return walked.stopped

    def _shortlisted(self, made: Sequence[Offer], candidates: Sequence[Candidate]) -> list[Candidate]:
        """Of each chain the predicates most like the question, in their order; a list that can still be read."""
        if self.prune != "model":
            return list(candidates)
        chains = len({offer.place for offer in made})
        most = min(self.shortlist, max(1, LISTED // chains)) if self.batch_prune else self.shortlist
        by_place: dict[int, list[Candidate]] = {}
        for candidate in sorted(candidates, key=lambda c: -(c.score or 0.0)):
            by_place.setdefault(made[candidate.number].place, []).append(candidate)
        kept = {c.number for own in by_place.values() for c in own[:most]}
        return [c for c in candidates if c.number in kept]

    def _predicates_by(self, candidates: Sequence[Candidate], at_most: int, session: Session) -> list[Choice]:
        """What whoever prunes chooses; the ranker, where that is nobody or nothing."""
        if self.prune == "bm25":
            words = [replace(c, score=None) for c in candidates]
            return RankerChooser(BM25Ranker(), session.emit).choose(
                session.masked_question, words, "predicates", at_most
            )
        if self.prune == "embedding":
            return session.ranked.choose(session.masked_question, candidates, "predicates", at_most)
        return _choose(candidates, "predicates", at_most, session)

    def _pairs(self, made: Sequence[Offer], choices: Sequence[Choice], session: Session) -> list[Pair]:
        """At most ``width`` predicates of each chain, with their shares."""
        worth = _worth(choices, "predicates", session)
        of_place: dict[int, list[tuple[Choice, float]]] = {}
        for choice, value in zip(choices, worth, strict=True):
            of_place.setdefault(made[choice.candidate.number].place, []).append((choice, value))
        total = sum(worth)
        pairs = []
        for own in (some[: self.width] for some in of_place.values()):
            parts = normalised([value for _, value in own])
            # The scores of a ranker are of whole paths, so they can be compared from one chain to the next.
            weight = 1.0 if own[0][0].chosen_by == "model" else sum(value for _, value in own) / total
            pairs += [
                Pair(
                    made[choice.candidate.number], part * weight, choice.chosen_by == "model",
                    choice.chosen_by == "oracle" and made[choice.candidate.number].chain.by_oracle,
                )
                for (choice, _), part in zip(own, parts, strict=True)
            ]  # fmt: skip
        return pairs

    def _widen(self, chosen: Sequence[Pair], walked: _Walked, session: Session) -> None:
        """From the chosen predicates to the next beam: neighbours, those that fit, the best of them."""
        steps: dict[IRI, list[Step]] = {}
        for pair in chosen:
            end, step = pair.offer.path.end, pair.offer.step
            if isinstance(end, IRI) and (end, step) not in walked.expanded:
                steps.setdefault(end, []).append(step)
        found = neighbours(
            session.graph, steps, direction=session.direction, steps=steps, limit=self.neighbours_per_predicate
        )
        session.note_cuts(found.cuts)
        walked.expanded |= {(group.entity, group.step): group for group in found.items}
        pairs = pairs_of(chosen, walked.expanded)
        walked.by_model = walked.by_model or any(pair.by_model for pair in pairs)
        for pair in pairs:
            for path in pair.siblings:
                trail = path.start, path.property_path
                walked.met.setdefault(trail, []).append(path)
                if pair.by_oracle:
                    walked.by_oracle.add(trail)
        beam = self._beam(pairs, walked, session)
        walked.beam, walked.stopped = beam.onward, walked.stopped or not beam.onward
        if beam.kept:
            walked.depths.append(beam.kept)

    def _beam(self, pairs: Sequence[Pair], walked: _Walked, session: Session) -> Beam:
        terms = dict.fromkeys(t for pair in pairs for path in pair.siblings for t in _terms(path))
        labels = session.labels(terms)
        if self.score_entities:
            listed = thinned(pairs, labels, session, how=self.thin, threshold=self.thin_threshold, to=self.thin_to)
            chains, told_apart = self._scored(listed, labels, walked, session)
        else:
            listed = [replace(pair, listed=sampled(pair.siblings, self.width, session)) for pair in pairs]
            chains, told_apart = [_chain(p, path, 1 / len(p.listed)) for p in listed for path in p.listed], False
        waiting: dict[Trail, list[Path]] = {}
        for pair in listed:
            if not told_apart:
                shown = set(pair.listed)
                for path in pair.siblings:
                    if path not in shown:
                        waiting.setdefault((path.start, path.property_path), []).append(path)
        return beam_of(self._meeting(chains), labels, self.width, spread=not told_apart, waiting=waiting)

    def _meeting(self, chains: Sequence[Chain]) -> list[Chain]:
        """The chains, those that meet one from another entity of the question with their bonus."""
        if not self.meeting_bonus:
            return list(chains)
        topics: dict[Term, set[Term]] = {}
        for chain in chains:
            topics.setdefault(chain.end, set()).add(chain.path.start)
        return [
            replace(chain, score=chain.score * (1 + self.meeting_bonus)) if len(topics[chain.end]) > 1 else chain
            for chain in chains
        ]

    def _scored(
        self, pairs: Sequence[Pair], labels: Mapping[Term, str], walked: _Walked, session: Session
    ) -> tuple[list[Chain], bool]:
        """The chains to all that is listed, scored; and whether somebody told siblings apart."""
        listed = [(i, path) for i, pair in enumerate(pairs) for path in pair.listed]
        judgeable = [(i, path) for i, path in listed if not says_nothing(path.end, labels[path.end])]
        candidates = [
            Candidate(n, path_text(path, labels), path=path.property_path) for n, (_, path) in enumerate(judgeable)
        ]
        choices: Sequence[Choice] = []
        if len(listed) > self.width and len(candidates) > 1:
            try:
                choices = _choose(candidates, "entities", len(candidates), session)
            except _MODEL_FAILED as error:
                session.notes.append(f"the walk ended at depth {len(walked.depths) + 1}: {error.message}")
                walked.stopped = True
        by_model = any(choice.chosen_by == "model" for choice in choices)
        if not choices:
            choices = [Choice(candidate, 1.0, "ranker") for candidate in candidates]
        worth = [0.0] * len(candidates)
        for choice, value in zip(choices, _worth(choices, "entities", session), strict=True):
            worth[choice.candidate.number] = value
        told_apart = by_model and len(choices) < len(candidates)
        return _shared(pairs, listed, judgeable, worth), told_apart

    def _found(self, walked: _Walked, session: Session) -> Retrieval:
        """The evidence that an answer is written from, or was."""
        kept = [chain for depth in walked.depths for chain in depth]
        so_far = chains_only(walked.depths, session)
        sufficient = True if walked.draft is not None else False if walked.verdicts else None
        as_it_is = replace(so_far, sufficient=sufficient, draft=walked.draft)
        if not session.complete or not kept:
            return as_it_is
        walks: list[tuple[Walk, float]] = []
        leading = 0
        with session.within_budget():
            if walked.draft is not None:
                first, others = cited_walks(walked.draft, so_far.evidence)
                walks = [(walk, float(len(first) + len(others) - n)) for n, walk in enumerate([*first, *others])]
                leading = len(first)
            elif walked.by_model:
                trails = dict.fromkeys(chain.trail for depth in reversed(walked.depths) for chain in depth)
                walks = [
                    (Walk(t[0], t[1]), float(len(trails) - n)) for n, t in enumerate(trails) if isinstance(t[0], IRI)
                ]
            else:
                walks = ranked_trails(walked.met, walked.by_oracle, session)[: self.width]
            evidence, answers = all_ends(walks, kept, session)
            if walked.draft is not None:
                ends = {end for item in list(evidence)[:leading] for end in item.ends}
                if ends == {answer.term for answer in walked.draft.answers} or session.usage.calls_left == 0:
                    return as_it_is
            tree = decision_tree(evidence, evidence_labels(evidence, session))
            return Retrieval(evidence=evidence, candidates=answers, sufficient=sufficient, tree=tree)
        return as_it_is


def _choose(candidates: Sequence[Candidate], purpose: str, at_most: int, session: Session) -> list[Choice]:
    """What whoever chooses chooses; the ranker in the place of a model that chose nothing, or has no call left."""
    if _is_last_call(session):
        session.partial = True
        session.fall_back(purpose, "the last model call of the budget is kept for the answer")
        return session.ranked.choose(session.masked_question, candidates, purpose, at_most)
    with session.within_budget():
        chosen = session.choose.choose(session.question, candidates, purpose, at_most)
        if chosen or not candidates:
            return chosen
        session.fall_back(purpose, "the model chose nothing")
    return session.ranked.choose(session.masked_question, candidates, purpose, at_most)


def _is_last_call(session: Session) -> bool:
    """Whether choosing would take the call that the answer needs."""
    left = session.usage.calls_left
    return isinstance(session.choose, ModelChooser) and left is not None and left <= 1


def _worth(choices: Sequence[Choice], purpose: str, session: Session) -> list[float]:
    """What each choice is worth; what the ranker says, where a model's scores say nothing."""
    worth = shares(choices)
    if choices and choices[0].chosen_by == "model" and (len(set(worth)) == 1 < len(worth) or max(worth) <= 0):
        session.fall_back(purpose, "the model gave no scores, or the same to all: the ranker's are used")
        return shares([replace(choice, chosen_by="ranker") for choice in choices])
    return worth


def _chain(pair: Pair, path: Path, part: float, *, by_model: bool = False) -> Chain:
    return Chain(path, pair.share * part, by_model=pair.by_model or by_model, by_oracle=pair.by_oracle)


def _shared(
    pairs: Sequence[Pair],
    listed: Sequence[tuple[int, Path]],
    judgeable: Sequence[tuple[int, Path]],
    worth: Sequence[float],
) -> list[Chain]:
    """A chain for each path: its part among its siblings; what says nothing has the part of one of so many."""
    values = dict(zip(judgeable, worth, strict=True))
    chains = []
    for i, pair in enumerate(pairs):
        own = [path for j, path in listed if j == i]
        known = [path for path in own if (i, path) in values]
        weight = len(known) / len(own) if own else 0.0
        parts = [value * weight for value in _parts([values[i, path] for path in known])]
        by_path = dict(zip(known, parts, strict=True))
        chains += [_chain(pair, path, by_path.get(path, 1 / len(own))) for path in own]
    return chains


def _parts(values: Sequence[float]) -> list[float]:
    total = sum(values)
    return [value / total for value in values] if total > 0 else [0.0] * len(values)


def _terms(path: Path) -> list[Term]:
    return [term for triple in path.triples for term in (triple.subject, triple.predicate, triple.object)]
