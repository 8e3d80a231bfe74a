"""Path ranking: whole predicate paths ranked against the question, then every answer on the best of them.

The question names a path of predicates from an entity, in some order and in other words. Paths are few where entities
are many: tens to hundreds are enumerated and scored as wholes, and SPARQL returns everything at the end of the best.

Source: ours; the recipe and what each of its parts is worth are printed by ``benchmarks/path_weights.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from kgsparql.answering.answer import Retrieval
from kgsparql.answering.choosing import Candidate, Choice
from kgsparql.answering.grounding import evidence_labels
from kgsparql.answering.option_ranges import Within, check_ranges
from kgsparql.answering.path_scoring import Weights
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.evidence_tree import decision_tree
from kgsparql.evidence.path_expansion import ENDS, answers_at_ends, completed
from kgsparql.evidence.verbalising import arrow
from kgsparql.linking.answer_type import asks_how_many
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Term, printable
from kgsparql.retrievers._aliases import read_aliases
from kgsparql.retrievers._order import note_order
from kgsparql.retrievers._path_enumeration import SAMPLE, Enumeration, enumerated, with_ends
from kgsparql.retrievers._shared_statements import add_shared, others_named

__all__ = ["Likely", "PathRanking"]

_SHORTLIST = 50
"""Paths that are looked at in words, and at their ends: those whose predicates fit the words of the question best.

More cost time and change nothing: of 150 paths, the best one and the best five are among the first 30 on every set."""

_UNCERTAIN = 0.05
"""Less than this between the two best scores: the best path is then wrong far more often."""

_NEARLY = 0.15
"""How much lower than the best link of a mention another may score, to be looked at too."""

_EXAMPLES = 2
"""Ends of a path that a model is shown."""


@dataclass(frozen=True, slots=True)
class Likely:
    """A path from one of the entities a mention may mean."""

    link: LinkedEntity
    enumeration: Enumeration
    candidate: Candidate

    @property
    def path(self) -> PropertyPath:
        """Its predicates."""
        return self.candidate.path or PropertyPath(())


@dataclass(frozen=True, slots=True)
class PathRanking(Weights, Retriever):
    """Property paths from the question's entities, the best followed to every answer.

    :param max_hops: the longest path; none for 3, or 2 where more than 30 predicates are near the entity.
    :param link_candidates: entities that a mention may mean, among which the paths help to decide.
    :param link_weight: what the score of a link counts for beside the score of a path.
    :param frontier: ends of a path that are walked on from.
    :param first_steps: first steps that are walked on from, where there are more than 30.
    :param paths_kept: paths that are followed to every answer.
    :param prompt_paths: paths that a model chooses from.
    :param aliases: a file of other words for predicates, ``IRI<tab>words`` a line: what questions call them.
    """

    name: ClassVar[str] = "path_ranking"
    summary: ClassVar[str] = "whole predicate paths ranked against the question, the best followed to every answer"
    source: ClassVar[str] = "kgsparql"
    cost: ClassVar[Cost] = Cost(
        calls="2",
        rounds="2",
        queries="entities * link_candidates * 16 + 20",
    )

    max_hops: Annotated[int | None, Within(1, 5)] = None
    link_candidates: Annotated[int, Within(1, 20)] = 3
    link_weight: float = 2.0
    frontier: Annotated[int, Within(1, 10_000)] = 50
    first_steps: Annotated[int, Within(1, 1_000)] = 15
    paths_kept: Annotated[int, Within(1, 50)] = 5
    prompt_paths: Annotated[int, Within(1, 200)] = 20
    aliases: str | None = None

    def __post_init__(self) -> None:
        check_ranges(self)
        self._words  # noqa: B018 - a file of aliases that cannot be read is said before a graph is loaded

    @property
    def _words(self) -> Mapping[Term, str]:
        """The other words for predicates, read again when their file has changed."""
        return {} if self.aliases is None else read_aliases(self.aliases)

    def retrieve(self, session: Session) -> Retrieval:
        """Paths (P), the best first, with all their ends; the ends of the best path are the first candidates."""
        found = self.likely(session)
        chosen: list[tuple[Likely, Choice]] = []
        evidence = Evidence()
        with session.within_budget():
            chosen = self._chosen(found, session)
            _tell_certainty(found, chosen, session, self._words)
            evidence = Evidence(self._followed(chosen, session))
        if session.partial and found and not len(evidence):
            # Nothing can be shown of a path that was not followed: follow the best one, whatever the budget says.
            best = chosen or [(found[0], Choice(found[0].candidate, -_order(found[0]), "ranker"))]
            unlimited = replace(session, graph=session.graph.unlimited(), complete=False)
            with session.within_budget():
                evidence = Evidence(self._followed(best[:1], unlimited))
        if "P1" in evidence and asks_how_many(session.question):
            session.notes.append(f"P1 leads to {len(evidence['P1'].ends):,}: if these are meant, that is how many")
        return Retrieval(
            evidence=evidence,
            candidates=answers_at_ends(evidence, session),
            tree=decision_tree(evidence, evidence_labels(evidence, session)),
        )

    def _meanings(self, session: Session) -> list[LinkedEntity]:
        """What each mention may mean: what it was linked to, and what else it was nearly linked to."""
        meant: dict[IRI, LinkedEntity] = {}
        for link in session.link():
            near = [c for c in link.candidates if c.score >= link.score - _NEARLY and _is_rival(c, link)]
            for one in (link, *near[: self.link_candidates - 1]):
                meant.setdefault(one.term, one)
        return list(meant.values())

    def likely(self, session: Session) -> list[Likely]:
        """The likeliest paths from whatever the mentions may mean, scored with their ends, the best first."""
        made = [
            (link, enumerated(
                link.term, session,
                max_hops=self.max_hops, first_steps=self.first_steps, frontier=self.frontier,
                is_class=link.kind == "class",
            ))
            for link in self._meanings(session)
        ]  # fmt: skip
        for link, enumeration in made:
            add_shared(enumeration, link, session)
        kept = {link.term: enumeration.paths for link, enumeration in made}
        if sum(map(len, kept.values())) > _SHORTLIST:
            unworded = replace(self, nested=0.0, arrow=0.0, reversed=0.0)
            found = [f for link, own in made for f in self._scored(own, own.paths, link, session, weights=unworded)]
            found.sort(key=_order)
            kept = {term: [f.path for f in found[:_SHORTLIST] if f.link.term == term] for term in kept}
        found = []
        for link, own in made:
            with_ends(own, kept[link.term], session)
            paths = [path for path in kept[link.term] if path not in own.whole or own.ends[path]]
            found += self._scored(own, paths, link, session, weights=self)
        return sorted(found, key=_order)

    def _scored(
        self,
        made: Enumeration,
        paths: Sequence[PropertyPath],
        link: LinkedEntity,
        session: Session,
        *,
        weights: Weights,
    ) -> list[Likely]:
        worded = [(path, made.kinds_along(path)) for path in paths]
        others = {term: other.score for term, other in others_named(link, session).items()}
        besides = [[v for c in made.walk(path).constraints for v in c.values] for path in paths]
        bonuses = [self.link_weight * (link.score + sum(others.get(v, 0.0) for v in own)) for own in besides]
        return [
            Likely(link, made, replace(candidate, score=(candidate.score or 0.0) + bonuses[candidate.number]))
            for candidate in session.path_candidates(worded, about=link, weights=weights, words=self._words)
        ]

    def _chosen(self, found: Sequence[Likely], session: Session) -> list[tuple[Likely, Choice]]:
        """The best paths; where a model chooses, from the likeliest. Of a budget's last call the answer is made."""
        likely = _distinct(found, self.prompt_paths)
        listed = _listed(likely, session)
        spared = session.chooser is not None or session.can_spare_call("paths")
        chooser = session.choose if spared else session.ranked
        chosen: list[Choice] = []
        with session.within_budget():
            chosen = chooser.choose(session.question, listed, "paths", self.paths_kept)
        if listed and not chosen:
            session.fall_back("paths", "no path was chosen: those that fit the question best were taken")
            chosen = session.ranked.choose(session.question, listed, "paths", self.paths_kept)
        return [(likely[choice.candidate.number], choice) for choice in chosen]

    def _followed(self, chosen: Sequence[tuple[Likely, Choice]], session: Session) -> list[EvidenceItem]:
        """The chosen paths with everything they lead to, the best first."""
        walks = [found.enumeration.walk(found.path) for found, _ in chosen]
        limit = ENDS if session.complete else SAMPLE
        items = completed(walks, session, limit=limit)
        return [
            replace(item, score=choice.score)
            for item, (_, choice) in zip(items, chosen, strict=True)
            if item is not None
        ]


def _is_rival(candidate: LinkedEntity, link: LinkedEntity) -> bool:
    """Whether a candidate may be meant by all of the words: `Dreams` is not what `Bread, Love and Dreams` means."""
    own, whole = candidate.mention, link.mention
    return candidate.kind == link.kind and own.start <= whole.start and own.end >= whole.end


def _tell_certainty(
    found: Sequence[Likely], chosen: Sequence[tuple[Likely, Choice]], session: Session, words: Mapping[Term, str]
) -> None:
    """Say so where the order of paths says nothing, or two from what one mention may mean fit nearly as well."""
    worded = ((one.path, one.enumeration.kinds_along(one.path)) for one in found)
    by_ranker = all(choice.chosen_by == "ranker" for _, choice in chosen)
    if by_ranker and note_order(worded, session, words=words):
        return
    own = [one for one in found if one.link.mention == found[0].link.mention]
    if len(own) > 1 and _order(own[1]) - _order(own[0]) < _UNCERTAIN:
        session.notes.append("uncertain: another way of reading the question fits nearly as well as that of P1")


def _order(found: Likely) -> float:
    return -(found.candidate.score or 0.0)


def _distinct(found: Sequence[Likely], at_most: int) -> list[Likely]:
    """The first paths, but for those that lead to the very same several ends as one before."""
    kept: list[Likely] = []
    seen: set[frozenset[Term]] = set()
    for one in found:
        ends = frozenset(one.enumeration.ends[one.path])
        if one.path not in one.enumeration.whole or len(ends) < 2 or ends not in seen:
            seen |= {ends} if one.path in one.enumeration.whole else set()
            kept.append(one)
        if len(kept) == at_most:
            break
    return kept


def _listed(found: Sequence[Likely], session: Session) -> list[Candidate]:
    """The paths as a numbered list: from where, by which predicates, to how many ends, and some of these."""
    examples = [one.enumeration.ends[one.path][:_EXAMPLES] for one in found]
    predicates = [step.predicate for one in found for step in one.path]
    labels = session.labels([*predicates, *(end for own in examples for end in own), *(f.link.term for f in found)])
    listed = []
    for i, (one, own) in enumerate(zip(found, examples, strict=True)):
        parts = [labels[one.link.term]]
        for step, kind in zip(one.path, one.enumeration.kinds_along(one.path)[1:], strict=True):
            parts += [arrow(step, labels), kind or "…"]
        count = f"{len(one.enumeration.ends[one.path])}{'' if one.path in one.enumeration.whole else '+'}"
        told = f"{count}: {'; '.join(printable(labels[end], 60) for end in own)}"
        listed.append(replace(one.candidate, number=i, text=f"{' '.join(parts)} ({told})"))
    return listed
