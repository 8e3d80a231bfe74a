"""Lookups in a graph by a person: entities by name, what is around them, and paths between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from kgsparql.errors import AmbiguousLabelError, InputError, NotFoundError, PrefixError
from kgsparql.exploration import Found, NeighbourGroup, by_label, labels, neighbours, shortest_paths
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.rdf.paths import Directions, Path
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, iri, other_spellings, printable


class GraphLookups:
    """Lookups in a graph, with the languages and prefixes of the user.

    :param prefixes: more prefixes, before those of the files and those that kgsparql knows.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, languages: tuple[str, ...], prefixes: Mapping[str, str] | None
    ) -> None:
        self.graph = graph
        self.languages: Final = languages
        self.prefixes: Final = PrefixMap.default().merged({**graph.prefixes, **(prefixes or {})})

    def resolve(self, name: str) -> IRI:
        """Find the entity a person means: an IRI, a CURIE, or an exact label; raises as :func:`entity_named`."""
        return entity_named(name, self.graph, prefixes=self.prefixes, languages=self.languages)

    def show(self, entity: IRI | str, *, direction: Directions = "both", limit: int = 10) -> Found[NeighbourGroup]:
        """Show what is around an entity, at most ``limit`` neighbours by each predicate and direction.

        :raises NotFoundError: if the graph does not mention it.
        """
        term = self.resolve(entity) if isinstance(entity, str) else entity
        found = neighbours(self.graph, [term], direction=direction, limit=limit, skip=frozenset())
        if not found.items and not found.cuts:
            raise _unmentioned_error(self.graph, term)
        return found

    def paths(
        self, start: IRI | str, end: IRI | str, *, max_hops: int = 5, direction: Directions = "both"
    ) -> Found[Path]:
        """Find the shortest paths between two entities."""
        ends = [self.resolve(e) if isinstance(e, str) else e for e in (start, end)]
        return shortest_paths(self.graph, *ends, max_hops=max_hops, direction=direction)

    def labels(self, terms: Iterable[Term]) -> dict[Term, str]:
        """Find a label for each term, its local name where the graph has none."""
        return {t: label.text for t, label in labels(self.graph, list(terms), languages=self.languages).items()}


def entity_named(name: str, graph: KnowledgeGraph, *, prefixes: PrefixMap, languages: tuple[str, ...]) -> IRI:
    """Find the entity of a graph that a person means: an IRI, a CURIE, or an exact label.

    :raises InputError: for the name of a blank node.
    :raises NotFoundError: if no entity has this label.
    :raises AmbiguousLabelError: if several have it.
    :raises PrefixError: if it is neither a label nor a CURIE with a known prefix.
    """
    text = name.strip()
    if text.startswith("_:"):
        raise InputError(
            f"{printable(text, 40)}: a blank node has no name outside its graph", hint="name an IRI beside it"
        )
    if re.match(r"<.*>$|[A-Za-z][\w+.-]*://|urn:", text):
        return iri(text)
    unknown = None
    if re.fullmatch(r"[\w.-]*:\S+", text):
        try:
            return prefixes.expand(text)
        except PrefixError as error:
            unknown = error
    found = by_label(graph, text, languages=languages)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousLabelError(
            f"{len(found)} entities are labelled {printable(text, 80)!r}",
            hint="name one by its IRI:",
            candidates=[prefixes.compress(term) for term in found],
        )
    if unknown is not None:
        raise unknown
    raise NotFoundError(
        f"nothing is labelled {printable(text, 80)!r}", hint=f"search for it: kgsparql find {printable(text, 80)!r}"
    )


def check_mentioned(graph: KnowledgeGraph, entity: IRI) -> None:
    """Refuse an entity that no triple has, as subject, predicate or object: every method would find nothing.

    :raises NotFoundError: if no triple has it.
    """
    if not _is_mentioned(graph, entity):
        raise _unmentioned_error(graph, entity)


def _is_mentioned(graph: KnowledgeGraph, entity: IRI) -> bool:
    return not counts_nothing(graph.select(Query.load("mentioned").bind(entity=[entity])), "places")


def _unmentioned_error(graph: KnowledgeGraph, entity: IRI) -> NotFoundError:
    """Make the error, which names the IRI that differs by its percent-encoding alone, if the graph has one."""
    others = "".join(f"; another service has more: -k {other}" for other in graph.profile.elsewhere)
    hint = f"check the IRI, or search: kgsparql find TEXT{others}"
    if near := next((one for one in other_spellings(entity) if _is_mentioned(graph, one)), None):
        hint = f"did you mean {near}?"
    return NotFoundError(f"{entity} is not in the graph", hint=hint)


def counts_nothing(found: Solutions, name: str) -> bool:
    """Tell whether what was counted is nothing; of a result that was cut that cannot be told."""
    counts = [count.value for s in found if isinstance(count := s.get(name), Literal)]
    return found.complete and counts == ["0"]


def holds_nothing(graph: KnowledgeGraph) -> bool:
    """Tell whether a graph has no triple at all, or a server gives nothing back: a count is never no row."""
    found = graph.select(Query.load("any"))
    return counts_nothing(found, "count") or (found.complete and len(found) == 0)


def empty_graph_error(graph: KnowledgeGraph) -> NotFoundError:
    """Make the error for a graph in which nothing can be found."""
    message, hint = f"{graph.name} holds no triples", "is it the right file?"
    if graph.is_remote:
        message = f"{graph.name} gives nothing back: even whether there is any triple it answers with no"
        hint = "is it the right endpoint? it may want credentials, or show only named graphs"
    return NotFoundError(message, code="E_EMPTY_GRAPH", hint=hint)
