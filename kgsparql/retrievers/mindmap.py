"""MindMap: shortest paths that chain the question's entities, and what lies around them.

Source: Wen, Wang, Sun, "MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language Models",
ACL 2024 (arXiv 2308.09729), section 3.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from kgsparql.answer import AnswerTerm, Retrieval
from kgsparql.choosing import Candidate
from kgsparql.composing import group_text, path_text
from kgsparql.evidence import CitedTriple, Cut, Evidence, EvidenceItem
from kgsparql.exploration import NeighbourGroup, neighbours, shortest_paths
from kgsparql.paths import Hop, Path, PropertyPath
from kgsparql.query import Query
from kgsparql.retriever import Cost, Retriever
from kgsparql.retrievers._tree import decision_tree
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Term, Triple

__all__ = ["MindMap", "chained_paths", "chains"]

_FRONTIER = 200
"""Neighbours of a single entity that are walked on from."""


@dataclass(frozen=True, slots=True)
class MindMap(Retriever):
    """Evidence as in MindMap's evidence graph.

    :param paths_kept: paths shown, over all chains.
    :param lines_per_entity: neighbour lines for each linked entity.
    :param neighbour_lines: neighbour lines in all.
    :param neighbours_per_line: neighbours that one line holds.
    :param paths_per_pair: shortest paths kept between two entities that follow each other.
    :param max_hops: the longest shortest path.
    :param hub_limit: terms with more edges are not walked through.
    :param two_hop_when_single: where there is no pair to connect, go two hops out and keep what fits the question.
    """

    name: ClassVar[str] = "mindmap"
    summary: ClassVar[str] = "shortest paths between the question's entities, and their neighbours"
    source: ClassVar[str] = "Wen et al., ACL 2024, arXiv 2308.09729"
    cost: ClassVar[Cost] = Cost(
        calls="0", rounds="0", queries="(entities - 1) * (3 + 2 * max(0, max_hops - 4) + 1) + entities + 10"
    )

    paths_kept: int = 5
    lines_per_entity: int = 5
    neighbour_lines: int = 20
    neighbours_per_line: int = 50
    paths_per_pair: int = 5
    max_hops: int = 5
    hub_limit: int = 10_000
    two_hop_when_single: bool = True

    def retrieve(self, session: Session) -> Retrieval:
        """Paths first (P), then neighbour lines (N); candidates from both."""
        entities = [link.term for link in session.link()]
        items: list[EvidenceItem] = []
        with session.within_budget():
            paths = list(self._path_items(entities, session))
            if not paths and self.two_hop_when_single:
                paths = list(self._two_hop_items(entities, session))
            items.extend(paths)
        with session.within_budget():
            items.extend(self._neighbour_items(entities, session))
        evidence = Evidence(items)
        session.note_cuts(cut for item in evidence for cut in item.cuts)
        labels = session.labels(_terms(evidence))
        return Retrieval(
            evidence=evidence,
            candidates=tuple(_candidates(evidence, set(entities), session)),
            tree=decision_tree(evidence, labels),
        )

    def _path_items(self, entities: Sequence[IRI], session: Session) -> Iterator[EvidenceItem]:
        found, cuts = chains(entities, session, self)
        kept = _round_robin([chained_paths(chain) for chain in found], self.paths_kept)
        labels = session.labels(
            term for path in kept for t in path.triples for term in (t.subject, t.predicate, t.object)
        )
        texts = [path_text(path, labels) for path in kept]
        scored = sorted(zip(kept, texts, session.rank(texts), strict=True), key=lambda entry: -entry[2])
        for path, text, score in scored:
            ends = None if isinstance(path.end, BlankNode) else [path.end]
            query = Query.walk_triples(path.property_path, [_iri(path.start)], ends, limit=self.paths_kept)
            cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in path.hops)
            yield EvidenceItem("path", text, cited, query, path=path, score=float(score), cuts=cuts)

    def _two_hop_items(self, entities: Sequence[IRI], session: Session) -> Iterator[EvidenceItem]:
        near = neighbours(session.graph, entities, direction=session.direction, limit=_FRONTIER)
        first: dict[Term, list[Hop]] = {}
        for group in near.items:
            for hop in _hops(group):
                first.setdefault(hop.end, []).append(hop)
        frontier = [term for term in first if isinstance(term, IRI) and term not in set(entities)][:_FRONTIER]
        far = neighbours(session.graph, frontier, direction=session.direction, limit=self.neighbours_per_line)
        lines = [(hop, group) for group in far.items for hop in first[group.entity] if _leads_on(hop, group)]
        yield from self._best_lines(lines, self.paths_kept, "two-hop paths", session)

    def _neighbour_items(self, entities: Sequence[IRI], session: Session) -> Iterator[EvidenceItem]:
        found = neighbours(session.graph, entities, direction=session.direction, limit=self.neighbours_per_line)
        quota = max(1, min(self.lines_per_entity, self.neighbour_lines // max(1, len(entities))))
        for entity in entities:
            groups = [(None, group) for group in found.items if group.entity == entity]
            yield from self._best_lines(groups, quota, "neighbour lines", session)

    def _best_lines(
        self, lines: Sequence[tuple[Hop | None, NeighbourGroup]], at_most: int, purpose: str, session: Session
    ) -> Iterator[EvidenceItem]:
        """The lines that fit the question best; of lines that say the same in another direction, one."""
        labels = session.labels(term for hop, group in lines for term in _line_terms(hop, group))
        candidates = [
            Candidate(i, f"{_line_text(hop, group, labels, shown=3)}") for i, (hop, group) in enumerate(lines)
        ]
        seen: set[tuple[Term, frozenset[Term]]] = set()
        chosen = session.choose.choose(session.masked_question, candidates, purpose, 3 * at_most)
        for choice in chosen:
            hop, group = lines[choice.candidate.number]
            key = group.entity, frozenset(group.neighbours)
            if hop is not None and key in seen:
                continue
            seen.add(key)
            yield self._line_item(hop, group, choice.score, _line_text(hop, group, labels))
            if len(seen) == at_most:
                return

    def _line_item(self, hop: Hop | None, group: NeighbourGroup, score: float, text: str) -> EvidenceItem:
        second = _hops(group)
        if hop is None:
            path, start, through = PropertyPath((group.step,)), group.entity, None
        else:
            path, start, through = PropertyPath((hop.step, group.step)), _iri(hop.start), {1: [group.entity]}
            second = [after for after in second if after.end != hop.start]
        query = Query.walk_triples(path, [start], limit=self.neighbours_per_line, through=through)
        cited = [CitedTriple(h.triple, h.direction) for h in ([hop] if hop else []) + second]
        count = group.count - (1 if hop is not None and len(second) < len(group.neighbours) else 0)
        cuts = (
            (Cut("neighbours", len(second), group.count if group.exact else None, text),) if count > len(second) else ()
        )
        walked = Path(start, (hop, second[0])) if hop is not None else None
        return EvidenceItem("path" if hop else "neighbours", text, tuple(cited), query, walked, score, cuts)


def chains(
    entities: Sequence[IRI], session: Session, options: MindMap
) -> tuple[list[list[tuple[Path, ...]]], tuple[Cut, ...]]:
    """Chains of segments, each the shortest paths from one entity to the next that can be reached.

    A path that passes through an entity still to come takes its place: that entity is not looked for again.
    """
    if not entities:
        return [], ()
    found: list[list[tuple[Path, ...]]] = []
    cuts: list[Cut] = []
    start, *remaining = entities
    segments: list[tuple[Path, ...]] = []
    while remaining:
        end = remaining.pop(0)
        shortest = shortest_paths(
            session.graph, start, end,
            max_hops=options.max_hops, direction=session.direction, hub_limit=options.hub_limit,
        )  # fmt: skip
        cuts.extend(shortest.cuts)
        paths = shortest.items[: options.paths_per_pair]
        through = next((p for p in shortest.items if any(term in remaining for term in p.terms[1:-1])), None)
        if through is not None:
            paths = (through,)
            remaining = [term for term in remaining if term not in through.terms]
        if paths:
            segments.append(tuple(paths))
        elif segments:
            found.append(segments)
            segments = []
        start = end
    return ([*found, segments] if segments else found), tuple(dict.fromkeys(cuts))


def chained_paths(segments: Sequence[Sequence[Path]]) -> Iterator[Path]:
    """Whole paths through all segments, those made of better-placed parts first; made only as they are asked for."""
    queue = [(0, (0,) * len(segments))]
    seen = {queue[0][1]}
    while queue:
        total, places = heapq.heappop(queue)
        whole = segments[0][places[0]]
        for segment, place in zip(segments[1:], places[1:], strict=True):
            whole = whole.then(segment[place])
        yield whole
        for i, place in enumerate(places):
            following = (*places[:i], place + 1, *places[i + 1 :])
            if place + 1 < len(segments[i]) and following not in seen:
                seen.add(following)
                heapq.heappush(queue, (total + 1, following))


def _round_robin(sources: Sequence[Iterator[Path]], at_most: int) -> list[Path]:
    """One from each in turn, so that every start is covered before any has two."""
    taken: list[Path] = []
    for turn in zip_longest(*sources):
        for path in turn:
            if path is not None and len(taken) < at_most:
                taken.append(path)
        if len(taken) >= at_most:
            break
    return taken


def _hops(group: NeighbourGroup) -> list[Hop]:
    forward = group.step.direction == "forward"
    entity, predicate = group.entity, group.step.predicate
    return [
        Hop(Triple(entity, predicate, end), "forward") if forward else Hop(Triple(end, predicate, entity), "inverse")  # type: ignore[arg-type]
        for end in group.neighbours
    ]


def _leads_on(hop: Hop, group: NeighbourGroup) -> bool:
    return any(end != hop.start for end in group.neighbours)


def _line_terms(hop: Hop | None, group: NeighbourGroup) -> Iterator[Term]:
    yield group.entity
    yield group.step.predicate
    yield from group.neighbours
    if hop is not None:
        yield from (hop.start, hop.triple.predicate)


def _line_text(hop: Hop | None, group: NeighbourGroup, labels: dict[Term, str], *, shown: int | None = None) -> str:
    ends = [end for end in group.neighbours if hop is None or end != hop.start]
    back = len(group.neighbours) - len(ends)
    lead = Path(hop.start, (hop,)) if hop else Path(group.entity)
    return group_text(lead, group.step, ends[:shown], labels, count=None if shown else group.count - back)


def _candidates(evidence: Evidence, linked: set[Term], session: Session) -> Iterator[AnswerTerm]:
    """Terms of the evidence that the question did not name, by the summed scores of their items."""
    scores: dict[Term, float] = {}
    markers: dict[Term, list[str]] = {}
    for item in evidence:
        for term in dict.fromkeys(_item_terms(item)):
            if term not in linked and not isinstance(term, BlankNode):
                scores[term] = scores.get(term, 0.0) + max(item.score, 0.0)
                markers.setdefault(term, []).append(item.marker)
    labels = session.labels(scores)
    for term in sorted(scores, key=lambda t: (-scores[t], labels[t], str(t))):
        yield AnswerTerm(term, labels[term], scores[term], tuple(markers[term]))


def _item_terms(item: EvidenceItem) -> Iterator[Term]:
    for cited in item.triples:
        yield cited.triple.object if cited.direction == "forward" else cited.triple.subject


def _terms(evidence: Iterable[EvidenceItem]) -> Iterator[Term]:
    for item in evidence:
        for cited in item.triples:
            yield from (cited.triple.subject, cited.triple.predicate, cited.triple.object)


def _iri(term: Term) -> IRI:
    if not isinstance(term, IRI):
        raise TypeError(f"a walk starts at an IRI, not at {term}")
    return term
