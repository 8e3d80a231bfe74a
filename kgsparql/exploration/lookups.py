"""Lookups in a graph by a person: entities by name, what is around them, and paths between them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Final

from kgsparql.errors import AmbiguousLabelError, InputError, NotFoundError, PrefixError, QueryError, UnreachableError
from kgsparql.exploration import Found, NeighbourGroup, by_label, labels, neighbours, shortest_paths
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.rdf.paths import Directions, Path
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, iri, local_name, normalised, printable

_CLASSES = 500
"""The commonest classes, among which a class without a label is looked for."""
_CLASSES_S = 30.0
"""Seconds for an endpoint to count them."""


class GraphLookups:
    """Lookups in a graph, with the languages and prefixes of the user.

    :param prefixes: more prefixes, before those of the files and those that kgsparql knows.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, languages: tuple[str, ...] = ("en",), prefixes: Mapping[str, str] | None = None
    ) -> None:
        self.graph: Final = graph
        self.languages: Final = languages
        self.prefixes: Final = PrefixMap.default().merged({**graph.prefixes, **dict(prefixes or {})})

    def resolve(self, name: str) -> IRI:
        """Find the entity a person means: an IRI, a CURIE, or an exact label; raises as :func:`entity_named`."""
        return entity_named(name, self.graph, prefixes=self.prefixes, languages=self.languages)

    def resolve_class(self, name: str) -> IRI:
        """Find the class a person means: as :meth:`resolve`, and what :meth:`info` calls it where it has no label.

        :raises NotFoundError: if there is no such class among the commonest.
        :raises AmbiguousLabelError: if several are called so.
        :raises PrefixError: as :meth:`resolve`.
        """
        try:
            return self.resolve(name)
        except AmbiguousLabelError:
            raise
        except NotFoundError as error:
            found = self._classes_called(name, error)
        if len(found) > 1:
            raise AmbiguousLabelError(
                f"{len(found)} classes are called {printable(name, 80)!r}", hint="name one by its IRI:",
                candidates=[self.prefixes.compress(term) for term in found],
            )  # fmt: skip
        return found[0]

    def _classes_called(self, name: str, unknown: NotFoundError) -> list[IRI]:
        """Find those of the commonest classes whose IRIs end in a name; at least one."""
        query, graph = Query.load("info_classes").limit(_CLASSES), self.graph
        hint = f"name it by its IRI; kgsparql info -k {shlex.quote(graph.name)} lists the commonest classes"
        try:
            by_count = graph.select_within(query, _CLASSES_S)
        except (QueryError, UnreachableError) as error:
            about = f"{unknown.message}, and its classes cannot be listed: {error.message}"
            raise NotFoundError(about, hint="name it by its IRI") from error
        classes = [term for solution in by_count if isinstance(term := solution["term"], IRI)]
        found = [term for term in classes if _without_spaces(local_name(term)) == _without_spaces(name)]
        if not found:
            raise NotFoundError(f"no class is called {printable(name, 80)!r}", hint=hint) from unknown
        return found

    def show(self, entity: IRI | str, *, direction: Directions = "both", limit: int = 10) -> Found[NeighbourGroup]:
        """Show what is around an entity, at most ``limit`` neighbours by each predicate and direction.

        :raises NotFoundError: if the graph does not mention it.
        """
        term = self.resolve(entity) if isinstance(entity, str) else entity
        found = neighbours(self.graph, [term], direction=direction, limit=limit, skip=frozenset())
        if not found.items and not found.cuts:
            raise NotFoundError(f"{term} is not in the graph", hint="check the IRI, or search: kgsparql find TEXT")
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


def _without_spaces(name: str) -> str:
    """Return a name without spaces, to be compared with the end of an IRI, where words are written as one."""
    return normalised(name).replace(" ", "")


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
    unknown: PrefixError | None = None
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
    found = graph.select(Query.load("mentioned").bind(entity=[entity]))
    if counts_nothing(found, "places"):
        others = "".join(f"; another service has more: -k {other}" for other in graph.profile.elsewhere)
        hint = f"check the IRI, or search: kgsparql find TEXT{others}"
        raise NotFoundError(f"{entity} is not in the graph", hint=hint)


def counts_nothing(found: Solutions, name: str) -> bool:
    """Tell whether what was counted is nothing; of a result that was cut that cannot be told."""
    counts = [count.value for s in found if isinstance(count := s.get(name), Literal)]
    return found.complete and counts == ["0"]
