"""Labels of an endpoint that has too many to read: looked up for each question, in a few queries."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import GRAPH_FAILED
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
from kgsparql.graphs.text_search import MAX_SEARCHES, label_search, wikibase_search
from kgsparql.linking.label_index.combined import LayeredLabels
from kgsparql.linking.label_index.kept import KeptLabels, SeenLabels, slice_index
from kgsparql.linking.label_index.memory import FoundLabels, memory_index
from kgsparql.linking.label_index.names import Name, Spellings, entities_named, language_tags, names_in, names_of
from kgsparql.linking.label_index.rows import Kind, LabelRow
from kgsparql.linking.label_index.search import LabelIndex, LabelSearch
from kgsparql.linking.words import words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, normalised

_FOUND_EACH = 50  # labels of one text search; a word that as many have is common: another must tell which is meant
_MAX_ENTITIES = 300  # of one text, whose kinds and degrees are looked up
_MAX_NAMES = 10  # that the search of a Wikibase is asked for: the endpoint makes a request of its own for each
_MAX_TEXTS = 2_000  # whose labels are remembered; then all are forgotten, as a process may live long
_Search: TypeAlias = tuple[str, ...]


def index_with_lookup(graph: KnowledgeGraph, kept: KeptLabels | None, embedder: Embedder | None) -> LabelIndex:
    """Make an index that looks labels up for each question, beside those kept: a slice, and earlier answers."""
    notes: list[str] = []
    seen = None if kept is None else SeenLabels(kept, notes.append)
    lookup = EndpointLabels(graph, profile=graph.profile, embedder=embedder, seen=seen)
    found = None if kept is None else slice_index(graph, kept, embedder)
    part = memory_index(()) if found is None else found
    parts: tuple[LabelSearch, ...] = (lookup,) if found is None else (lookup, found.search)
    return replace(
        part,
        search=LayeredLabels(parts, part.note),
        embedder=None if embedder is None else embedder.name,
        note="; ".join(notes),
        is_partial=True,
    )


class EndpointLabels(FoundLabels):
    """Labels that stay at the endpoint: none are here before :meth:`for_text` looks up those that a text may name.

    Every spelling that a name may have is looked up as an exact label, which any engine answers from its index. Where
    the engine has a text search, names are also searched for. Nothing is asked twice.

    :param profile: says which text search there is, and which predicate tells how well known an entity is.
    :param embedder: compares what was found with the question by meaning.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        profile: EndpointProfile = UNKNOWN,
        embedder: Embedder | None = None,
        seen: SeenLabels | None = None,
    ) -> None:
        self._memory = _Memory()
        super().__init__((), self._memory.vectors, embedder)
        self._graph = graph
        self._seen = seen
        self._profile = profile
        self._naming = graph.naming

    def with_graph(self, graph: KnowledgeGraph) -> EndpointLabels:
        """See :meth:`LabelSearch.with_graph`; nothing is remembered, so that earlier questions change no query."""
        return EndpointLabels(graph, profile=self._profile, embedder=self._embedder, seen=self._seen)

    def offline(self) -> FoundLabels:
        """See :meth:`LabelSearch.offline`: there are no labels."""
        return FoundLabels((), self._memory.vectors, self._embedder)

    def for_text(self, text: str, languages: tuple[str, ...]) -> FoundLabels:
        """Look up the labels that a text may name."""
        with self._memory.lock:
            return self._found_labels(text, languages)

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """Say which links rest on an earlier answer, and how the text search failed."""
        notes = self._seen.notes(linked) if self._seen else ()
        return (*notes, self._memory.search_failure) if self._memory.search_failure else notes

    def _found_labels(self, text: str, languages: tuple[str, ...]) -> FoundLabels:
        question = (text, languages)
        if question not in self._memory.texts:
            self._memory.make_room()
            spellings = Spellings(text, languages)
            tags = language_tags(languages)
            names = self._exact_names(spellings.exact, tags)
            common: set[str] = set()
            searched = self._names_by_search(spellings, tags, common)
            names += [name for name in searched if name not in names]
            if not names:  # by predicates of the graph's own, as in :func:`kgsparql.exploration.by_label`
                found = self._names_by_text(Query.load("by_name"), spellings.exact, tags)
                names = [name for text in spellings.exact for name in found.get(text, ())]
            names += self._seen_names(spellings.exact, names)
            rows = self._rows_of_names(names)
            name_keys = {normalised(name) for name in spellings.names}
            small = spellings.small_words if any(row.key in name_keys for row in rows) else ()
            self._memory.texts[question] = FoundLabels(rows, self._memory.vectors, self._embedder, common, small)
        return self._memory.texts[question]

    def _exact_names(self, spellings: Sequence[str], tags: Sequence[str]) -> list[Name]:
        missing = [text for text in spellings if (text, tuple(tags)) not in self._memory.exact]
        query = Query.load("search_exact").bind(predicate=self._naming.names)
        found = self._names_by_text(query, missing, tags)
        for text in missing:
            self._memory.exact[text, tuple(tags)] = found.get(text, [])
        return [name for text in spellings for name in self._memory.exact[text, tuple(tags)]]

    def _seen_names(self, spellings: Sequence[str], names: Sequence[Name]) -> list[Name]:
        """Return the exact names that earlier answers showed, of entities that the endpoint did not find."""
        if self._seen is None:
            return []
        rows = self._seen.other_rows({name.iri for name in names}, {normalised(text) for text in spellings})
        return [Name(row.iri, row.text, row.role, row.language) for row in rows]

    def _names_by_text(self, query: Query, texts: Sequence[str], tags: Sequence[str]) -> Mapping[str, list[Name]]:
        found: dict[str, list[Name]] = defaultdict(list)
        for name in entities_named(self._graph, query, texts, tags):
            found[name.text].append(name)
        return found

    def _names_by_search(self, spellings: Spellings, tags: Sequence[str], common: set[str]) -> list[Name]:
        """Ask the endpoint's text search; after a failure, which :meth:`notes` tells, it is not tried again.

        :param common: gets the words that too many labels have.
        """
        if self._profile.text_search == "none" or self._memory.search_failure:
            return []
        try:
            if self._profile.text_search == "wikibase:mwapi":
                return self._names_by_wikibase_search(spellings.names[:_MAX_NAMES], tags)
            return self._names_by_words(spellings.searches[:MAX_SEARCHES], tags, common)
        except GRAPH_FAILED as error:
            self._memory.search_failure = (
                f"the text search of {self._graph.name} failed, so labels are found only if they are \
written as in the question: {error.message}"
            )
            return []

    def _names_by_words(self, searches: Sequence[_Search], tags: Sequence[str], common: set[str]) -> list[Name]:
        missing = [search for search in searches if search not in self._memory.searched]
        if missing:
            predicates = self._naming.names
            kind = self._profile.text_search
            query = label_search(kind, missing, predicates=predicates, languages=tags, limit=_FOUND_EACH)
            names = names_in(self._graph.select(query)) if not query.empty else []
            for search in missing:
                wanted = {word for text in search for word in words(normalised(text))}
                self._memory.searched[search] = [name for name in names if wanted <= set(words(normalised(name.text)))]
        for search in searches:
            if len(search) == 1 and len(self._memory.searched[search]) >= _FOUND_EACH:
                common.update(words(normalised(search[0])))
        return [name for search in searches for name in self._memory.searched[search]]

    def _names_by_wikibase_search(self, names: Sequence[str], tags: Sequence[str]) -> list[Name]:
        missing = [name for name in names if (name,) not in self._memory.searched]
        languages = [tag for tag in tags if tag not in {"", "mul"}][:1]
        search = wikibase_search(missing, host=self._profile.search_host, languages=languages)
        found = self._graph.select(search) if missing else ()
        entities: dict[str, list[IRI]] = defaultdict(list)
        for solution in found:
            searched, entity = solution.get("words"), solution.get("entity")
            if isinstance(searched, Literal) and isinstance(entity, IRI):
                entities[searched.value].append(entity)
        named: dict[str, list[Name]] = defaultdict(list)
        for known in names_of(self._graph, [entity for some in entities.values() for entity in some], tags):
            named[known.iri].append(known)
        for name in missing:
            self._memory.searched[name,] = [row for entity in entities[name] for row in named[entity.value]]
        return [row for name in names for row in self._memory.searched[name,]]

    def _rows_of_names(self, names: Sequence[Name]) -> list[LabelRow]:
        """Make rows of the names, with the kind and the degree of their entities."""
        entities = list(dict.fromkeys(name.iri for name in names))[:_MAX_ENTITIES]
        self._learn_kinds([iri for iri in entities if iri not in self._memory.kinds])
        self._learn_degrees(_rivals_first(names, entities))
        known = set(entities)
        kinds, degrees = self._memory.kinds, self._memory.degrees
        made = (name.rows(kind=kinds[name.iri], degree=degrees.get(name.iri, 1)) for name in names if name.iri in known)
        return sorted(set(chain.from_iterable(made)))

    def _learn_kinds(self, entities: Sequence[str]) -> None:
        size = max(1, self._graph.chunk_size)
        for at in range(0, len(entities), size):
            chunk = entities[at : at + size]
            query = Query.load("search_kinds").bind(entity=list(map(IRI, chunk)), link=self._naming.links)
            found: dict[str, Kind] = {}
            for solution in self._graph.select(query):
                iri = getattr(solution["entity"], "value", "")
                if "predicate" in solution or iri not in found:
                    found[iri] = "predicate" if "predicate" in solution else "class"
            self._memory.kinds.update((iri, found.get(iri, "entity")) for iri in chunk)

    def _learn_degrees(self, entities: Sequence[str]) -> None:
        given_by = self._profile.degree_predicate
        missing = [iri for iri in entities if iri not in self._memory.degrees][: None if given_by else MAX_ARMS]
        if not missing:
            return
        if given_by is not None:
            query = Query.load("search_known").bind(predicate=[given_by], entity=list(map(IRI, missing)))
            query = query.limit(2 * len(missing))
        else:
            query = Query.union([Query.load("search_degrees").bind(entity=[IRI(iri)]) for iri in missing])
        self._memory.degrees.update(dict.fromkeys(missing, 1))
        for solution in self._graph.select(query):
            count = solution.get("triples")
            if isinstance(count, Literal) and count.value.isdecimal():
                self._memory.degrees[getattr(solution["entity"], "value", "")] = max(1, int(count.value))


@dataclass(slots=True)
class _Memory:
    """Replies of the endpoint, by what it was asked for."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    texts: dict[tuple[str, tuple[str, ...]], FoundLabels] = field(default_factory=dict)
    exact: dict[tuple[str, tuple[str, ...]], list[Name]] = field(default_factory=dict)
    searched: dict[_Search, list[Name]] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    degrees: dict[str, int] = field(default_factory=dict)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    search_failure: str = ""

    def make_room(self) -> None:
        """Forget everything if it is much."""
        if len(self.texts) >= _MAX_TEXTS:
            for kept in (self.texts, self.exact, self.searched, self.kinds, self.degrees, self.vectors):
                kept.clear()


def _rivals_first(names: Sequence[Name], entities: Sequence[str]) -> list[str]:
    """Sort the entities: first those that share a name with another one."""
    entities_with: dict[str, set[str]] = defaultdict(set)
    for name in names:
        entities_with[normalised(name.text)].add(name.iri)
    rivals = {iri for some in entities_with.values() if len(some) > 1 for iri in some}
    return sorted(entities, key=lambda iri: iri not in rivals)
