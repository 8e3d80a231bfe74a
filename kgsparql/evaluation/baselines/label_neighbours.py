"""The nearest labels: the entities that the label index finds for the whole question, with their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.answering.option_ranges import Within
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import Line, line_terms, line_text
from kgsparql.exploration import NeighbourGroup, neighbours
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath
from kgsparql.rdf.terms import Term, as_iri
from kgsparql.rdf.vocabulary import is_mediator

Nearest = Callable[[str, int], Sequence[LinkedEntity]]
"""A function from a text and a limit to the entities whose labels are most like the text."""


@dataclass(frozen=True, slots=True)
class LabelNeighbours(Retriever):
    """The entities whose labels are most like the question are the candidates; their neighbours are the evidence.

    :param labels: entities.
    :param lines: predicates of an entity whose neighbours are shown.
    :param ends_per_line: neighbours by each of them.
    """

    name: ClassVar[str] = "label_neighbours"
    summary: ClassVar[str] = "the entities whose labels are most like the question, with their neighbours"
    source: ClassVar[str] = "a baseline: nearest neighbours in the label index"
    cost: ClassVar[Cost] = Cost(calls="1", rounds="1", queries="30 + 2 * entities")

    labels: Annotated[int, Within(1, 100)] = 10
    lines: Annotated[int, Within(1, 100)] = 5
    ends_per_line: Annotated[int, Within(1, 100)] = 10
    nearest: Nearest | None = field(default=None, repr=False, compare=False)

    def retrieve(self, session: Session) -> Retrieval:
        """Neighbour lines (N) of the entities, the nearest first; candidates are the entities that were not linked."""
        linked = {link.term for link in session.links}
        near_labels = self._nearest_entities(session, self.labels + len(linked))
        found = [entity for entity in near_labels if entity.term not in linked][: self.labels]
        items: list[EvidenceItem] = []
        with session.within_budget():
            terms, most = [entity.term for entity in found], self.ends_per_line
            groups = neighbours(session.graph, terms, direction=session.direction, limit=most).items
            items += self._items(found, groups, session)
        evidence = Evidence(items)
        return Retrieval(evidence=evidence, candidates=tuple(_candidates(found, evidence)))

    def _nearest_entities(self, session: Session, at_most: int) -> Sequence[LinkedEntity]:
        if self.nearest is not None:
            return self.nearest(session.question, at_most)
        if session.linker is None:
            return ()
        return session.linker.similar(session.question, limit=at_most, threshold=0.0)

    def _items(
        self, found: Sequence[LinkedEntity], groups: Sequence[NeighbourGroup], session: Session
    ) -> list[EvidenceItem]:
        kept: list[tuple[Line, float]] = []
        for entity in found:
            own = [line for group in groups if group.entity == entity.term if (line := _line(group)) is not None]
            if len(own) > self.lines:
                session.note_cuts([Cut("predicates shown", self.lines, len(own), str(entity.term))])
            kept += [(line, entity.score) for line in own[: self.lines]]
        labels = session.labels(line_terms(line for line, _ in kept), in_grace=True)
        return [_item(line, score, labels) for line, score in kept]


def _line(group: NeighbourGroup) -> Line | None:
    """The neighbours that are no mediators, as a line; ``None`` if there are none."""
    ways = tuple(Path(group.entity, (hop,)) for hop in group.hops if not is_mediator(hop.end))
    count = group.count - len(group.neighbours) + len(ways)
    return Line(PropertyPath((group.step,)), ways, count, group.exact) if ways else None


def _item(line: Line, score: float, labels: Mapping[Term, str]) -> EvidenceItem:
    """A line as evidence; its query finds everything on it or, if it was cut, what is shown."""
    whole = line.exact and line.count == len(line.ways)
    known = line.count if line.exact else None
    return EvidenceItem(
        kind="neighbours",
        text=line_text(line, labels, shown=len(line.ways)),
        triples=tuple(CitedTriple(hop.triple, hop.direction) for way in line.ways for hop in way.hops),
        query=path_queries.walk_triples(line.path, [as_iri(line.start)], None if whole else line.ends, limit=1_000),
        score=score,
        cuts=() if whole else (Cut("ends", len(line.ways), known, f"{line.start} {line.path}"),),
        ways=line.ways,
    )


def _candidates(found: Sequence[LinkedEntity], evidence: Evidence) -> Iterator[AnswerTerm]:
    """The entities that there is evidence of, the nearest first."""
    for entity in found:
        markers = tuple(item.marker for item in evidence if item.ways and item.ways[0].start == entity.term)
        if markers:
            yield AnswerTerm(entity.term, entity.label, entity.score, markers)
