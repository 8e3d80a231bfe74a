"""A graph that Oxigraph holds in this process, in memory or on disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, islice, product
from operator import attrgetter
from pathlib import Path
from typing import Any, Self, cast

import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, QueryError, QuerySyntaxError
from kgsparql.graphs.adjacency import MIN_TRIPLES, MOST_TRIPLES, Adjacency, AdjacencyView, Revision, open_adjacency
from kgsparql.graphs.files import Progress, RdfFile
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions, Source
from kgsparql.graphs.manifest import Manifest, StoredSource, corrupt_store
from kgsparql.graphs.naming import naming_of
from kgsparql.graphs.query_process import HAS_FORKS, QueryProcesses
from kgsparql.rdf.query import Lookup, Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, distinct, printable
from kgsparql.rdf.vocabulary import Naming, may_be_name

_TRIPLE, _VALUE = attrgetter("triple"), attrgetter("value")
_REMEMBERED = 4_096
_LOOKED_AT = 1_000  # triples of a term that are read to see whether a query about it would find anything
_SMALL = 200  # quads; no query over fewer takes as long as to begin a process for it
_NEWEST = 64
"""Quads that are compared to see whether any is new: a store in memory gives the newest first, in 0.2 ms."""
_MOST_COUNTING_S = 0.05
"""To count the quads at every question: 200,000 of them. More are counted less often: in 2 % of the time."""


class OxigraphGraph(KnowledgeGraph):
    """Embedded SPARQL over quads in memory or on disk. Queries see the union of all graphs.

    :param store: the quads; kgsparql never writes to it.
    :param name: as the user called it, for citations.
    :param fingerprint: a hash of the content, or a function that computes it on demand. ``None`` for quads that may
        change, where it is computed of them.
    :param sources: IRI of a named graph → how to cite it, where that is not by ``name`` and the IRI.
    :param stored: the files it was filled from.
    :param directory: where the store is on disk; ``None`` for one in memory.
    :param mark: returns what differs after a change of quads that may change; ``None`` to look at these.
    :ivar processes: run its queries, and those of users.
    :ivar reopen: opens it again, of files that may have changed.
    :ivar is_in_memory: its quads were loaded into memory here; a store made in Python may be one on disk.
    :ivar revision: of which an adjacency may be kept; ``None`` for quads that may change, or to do without one.

    >>> store = ox.Store()
    >>> store.load(b"<http://e.org/a> <http://e.org/p> 1 .", ox.RdfFormat.TURTLE)
    >>> graph = OxigraphGraph(store, name="example", fingerprint="0")
    >>> len(graph.select(Query("any", "SELECT * { ?s ?p 1 }")))
    1
    """

    is_embedded = True

    def __init__(
        self, store: ox.Store, *, name: str, fingerprint: str | Callable[[], str] | None,
        sources: Mapping[str, Source] | None = None, stored: Iterable[StoredSource] = (),
        revision: Revision | None = None, directory: Path | None = None, mark: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        self.store = store
        self.directory = directory
        self.name = name
        self._fingerprint = fingerprint
        self.is_as_loaded = isinstance(fingerprint, str)
        self.is_in_memory = directory is None and fingerprint is not None
        self._sources = dict(sources or {})
        self.stored = tuple(stored)
        self.prefixes = Manifest(self.stored).prefixes
        self.revision = revision
        self._opened: list[Adjacency] = []  # one at most; views for one question share it
        self._held: dict[frozenset[IRI], frozenset[IRI]] = {}
        self._named: dict[IRI, bool] = {}
        self._parts: dict[IRI, OxigraphGraph] = {}
        self._count, self._count_from = 0, 0.0
        self.reopen: Callable[[], KnowledgeGraph] | None = None
        self._mark_of_now = mark or (self._content_mark if fingerprint is None else lambda: None)
        self._mark = self._mark_of_now()
        self.processes = QueryProcesses(store, self._mark_of_now, in_memory=self.is_in_memory)

    def close(self) -> None:
        """End the processes of its queries; the next query starts another."""
        for one in (self, *self._parts.values()):
            one.processes.close()

    def part(self, name: IRI) -> OxigraphGraph:
        """Return what a named graph and the default graph say, as a graph of its own; made once, if nothing changes.

        What things are called is told by all graphs.
        """
        if name not in self._parts or not self.is_as_loaded:
            store = ox.Store()
            for own in (
                (None, None, name),
                (None, None, ox.DefaultGraph()),
                *((by, None, None) for by in self.naming.labels),
            ):
                store.extend(self.quads(None, *own))
            mark = f"{self.fingerprint} {name.value}"
            self._parts[name] = OxigraphGraph(store, name=self.name, fingerprint=mark, sources=self._sources)
        return self._parts[name]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content, in hexadecimal."""
        if self._fingerprint is None:
            return hashlib.sha256("\n".join(sorted(map(str, self.store))).encode()).hexdigest()
        return self._fingerprint if isinstance(self._fingerprint, str) else self._fingerprint()

    def refreshed(self) -> Self:
        """Return the same graph; where its quads changed, another one, of which nothing is remembered."""
        return self if self._mark_of_now() == self._mark else self.reopened()

    def reopened(self) -> Self:
        """Return the graph as it is now, of which nothing is remembered."""
        if self.reopen is not None:
            return cast("Self", self.reopen())
        return type(self)(
            self.store, name=self.name, fingerprint=self._fingerprint, sources=self._sources, stored=self.stored,
            revision=self.revision, directory=self.directory,
        )  # fmt: skip

    def _content_mark(self) -> tuple[Any, ...]:
        """Return what differs after a change; of many quads, one that was only removed is missed for a while."""
        began = time.perf_counter()
        if began >= self._count_from:
            self._count = len(self.store)
            took_s = time.perf_counter() - began
            self._count_from = began + 50 * took_s if took_s > _MOST_COUNTING_S else 0.0
        return (self._count, *islice(self.store, _NEWEST))

    @property
    def naming(self) -> Naming:
        """By which predicates it names its things; found once, for all questions."""
        return cast("OxigraphGraph", self.origin)._measured_naming  # noqa: SLF001 - of this class

    @cached_property
    def _measured_naming(self) -> Naming:
        return naming_of(self)

    def is_page(self, term: IRI) -> bool:
        """Tell whether all that is said of a term is that it is a page of something."""
        some = [*islice(self.quads(None, None, term), _LOOKED_AT)]
        return bool(some) and {q.predicate for q in some} <= {*self.naming.pages} and not self._has_any(term)

    def held(self, predicates: frozenset[IRI]) -> frozenset[IRI]:
        """Those of some predicates that are in a triple, remembered as long as the content stays the same."""
        if predicates not in self._held or not self.is_as_loaded:
            self._held[predicates] = frozenset(p for p in predicates if self._has_any(None, p))
        return self._held[predicates]

    def may_have_name(self, term: IRI) -> bool:
        """Whether a term has a predicate that is called like a name; true of a term with many triples."""
        if not self.is_as_loaded or len(self._named) == _REMEMBERED:
            self._named.clear()
        if term not in self._named:
            self._named[term] = any(
                quad.predicate in self.naming.labels or may_be_name(quad.predicate) or i == _LOOKED_AT
                for i, quad in enumerate(self.quads(term))
            )
        return self._named[term]

    @cached_property
    def _is_small(self) -> bool:
        return next(islice(self.store, _SMALL, None), None) is None

    def _has_any(self, *pattern: Any) -> bool:
        return next(self.quads(*pattern), None) is not None

    def quads(self, *pattern: Any) -> Iterator[ox.Quad]:
        """Yield the quads with a subject, predicate, object and graph, or with any of what is left out or ``None``."""
        try:
            subject, predicate, object_, graph = (*pattern, None, None, None, None)[:4]
            yield from self.store.quads_for_pattern(subject, predicate, object_, graph)
        except (OSError, RuntimeError, ValueError) as error:
            raise engine_error(str(self.directory or self.name), "reading triples", error) from error

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of every answer: a line for each file with skipped statements."""
        return tuple(
            f"{source.skipped:,} bad {'statement was' if source.skipped == 1 else 'statements were'} skipped in "
            f"{'standard input' if source.source == '-' else source.source}; the first: "
            f"{source.source}:{source.first_skipped}"
            for source in self.stored
            if source.skipped
        )

    @cached_property
    def may_repeat_triples(self) -> bool:
        """Whether a triple may be in several graphs, so that only distinct triples may be counted."""
        named = sum(1 for _ in islice(self.store.named_graphs(), 2))
        return named + self._has_any(None, None, None, ox.DefaultGraph()) > 1

    def named_graphs(self) -> list[IRI] | None:
        """List the named graphs that hold anything, ordered by name; ``None`` if blank nodes name some."""
        return cast("OxigraphGraph", self.origin)._listed_graphs  # noqa: SLF001 - of this class

    @cached_property
    def _listed_graphs(self) -> list[IRI] | None:
        names = list(self.store.named_graphs())
        held = [name for name in names if isinstance(name, IRI) and self._has_any(None, None, None, name)]
        return sorted(held, key=lambda name: name.value) if all(isinstance(name, IRI) for name in names) else None

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:  # noqa: ARG002 - a question has one
        """Return the solutions of a SELECT."""
        if query.empty:
            return Solutions()
        if query.lookup is not None:
            return Solutions(query.lookup.variables, tuple(islice(self._looked_up(query.lookup), query.lookup.limit)))
        if any(arm.lookup is not None for arm in query.arms):
            parts = [*map(self.select, query.arms)]
            names = dict.fromkeys(chain(*(part.variables for part in parts)))
            return Solutions(tuple(names), tuple(chain(*parts)))
        with self._solutions_of(query) as results:
            return Solutions(names_in(results), tuple(solutions_in(results)))

    def _looked_up(self, lookup: Lookup) -> Iterator[Solution]:
        """Yield what a lookup finds: in half of the time that the engine takes for the same in SPARQL."""
        (near, way, far), given = lookup.places, dict(lookup.given)
        skipped = {term for name in lookup.skipped for (term,) in given.pop((name,), ())}
        ranges = tuple(f"{getattr(tag, 'value', '')}-".lower() for (tag,) in given.pop(("range",), ()))
        names, may_repeat = [*chain(*given)], self.may_repeat_triples or not self.is_as_loaded
        for rows in product(*given.values()):
            terms = dict(zip(names, chain(*rows), strict=True))
            subject, predicate = terms.get(near), way if isinstance(way, IRI) else terms.get(way)
            is_none = isinstance(subject, Literal) or isinstance(predicate, Literal)
            found = iter(() if is_none else self.quads(subject, predicate, terms.get(far)))
            for one in dict.fromkeys(map(_TRIPLE, found)) if may_repeat else found:
                if one.predicate not in skipped and (not lookup.is_of_texts or _is_text_in(one.object, ranges)):
                    hop = {near: one.subject, far: one.object}
                    yield {**terms, **hop, way: one.predicate} if isinstance(way, str) else {**terms, **hop}

    def stream(self, query: Query) -> Iterator[Solution]:
        """Yield the solutions of a query as the engine finds them: there may be too many for the memory."""
        if not query.empty:
            with self._solutions_of(query, is_read_here=True) as results:
                yield from solutions_in(results)

    def source(self, named_graph: str | None) -> Source:
        """How to cite a named graph, or the default graph (``None``)."""
        return self._sources.get(named_graph or "", Source(self.name, named_graph))

    def sources_of(self, triple: Triple) -> tuple[Source, ...]:
        """Return the graphs that hold a triple, whose blank nodes are named as in this store; empty if none does."""
        graphs = [quad.graph_name for quad in self.quads(triple.subject, triple.predicate, triple.object)]
        names = ("" if isinstance(g, ox.DefaultGraph) else g.value if isinstance(g, IRI) else str(g) for g in graphs)
        return distinct(self.source(name or None) for name in sorted(names))

    def adjacency_view(self) -> AdjacencyView | None:
        """Return its triples as an adjacency; ``None`` where none is kept."""
        return None if self.adjacency is None else AdjacencyView(self.adjacency)

    def built_adjacency(self, progress: Progress | None = None) -> Adjacency | None:
        """Return the adjacency, made now if none is kept; ``None`` for a graph so small or large that it has none.

        :raises StoreError: if it cannot be made, or not be kept.
        """
        if self.adjacency is None and self.revision is not None and self._may_have_adjacency:
            from kgsparql.graphs.adjacency_building import build_adjacency

            built = build_adjacency(self.store, self.revision, progress)
            self._opened += [] if built is None else [built]
        return next(iter(self._opened), None)

    @cached_property
    def _may_have_adjacency(self) -> bool:
        triples = sum(source.triples for source in self.stored) or len(self.store)
        return self.revision is not None and MIN_TRIPLES <= triples <= MOST_TRIPLES

    @property
    def adjacency(self) -> Adjacency | None:
        """The adjacency that is kept."""
        if not self._opened and self.revision is not None and self._may_have_adjacency:
            kept = open_adjacency(self.revision)
            self._opened += [] if kept is None else [kept]
        return next(iter(self._opened), None)

    @contextmanager
    def _solutions_of(self, query: Query, *, is_read_here: bool = False) -> Iterator[ox.QuerySolutions]:
        """Return the results; errors of Oxigraph are raised as ours, also those while the solutions are read."""
        try:
            text = query.without_comments
            if is_read_here or query.is_quick or self._is_small or not HAS_FORKS:
                results = self.store.query(text, use_default_graph_as_union=True)
            else:
                _, content = self.processes.reply_to(text, self._check)
                results = ox.parse_query_results(content, ox.QueryResultsFormat.TSV)
            if not isinstance(results, ox.QuerySolutions):
                found = type(results).__name__
                del results  # to be freed on this thread; an error may live until another thread collects it
                raise QueryError(f"query {query.name}: the result is {found}, not QuerySolutions", query=query.text)
            yield results
        except SyntaxError as error:
            raise QuerySyntaxError(f"query {query.name}: {printable(str(error))}", query=query.text) from error
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            if isinstance(error, KgsparqlError):
                raise
            place = str(self.directory or self.name)
            raise engine_error(place, f"query {query.name}", error, query=query.text) from error


def _is_text_in(term: Term, ranges: tuple[str, ...]) -> bool:
    """Tell whether a term is a literal without a language, or in one of these; of no language in particular, in any."""
    tag = f"{term.language or ''}-".lower() if isinstance(term, Literal) else ""
    return tag == "-" or (bool(tag) and (not ranges or tag.startswith(ranges)))


def engine_error(graph: str, what: str, error: Exception, **detail: Any) -> KgsparqlError:
    """Make the error for one of the engine, which checks each block of a store that it reads."""
    text = printable(str(error))
    return corrupt_store(graph, text) if "Corruption" in text else QueryError(f"{what}: {text}", **detail)


def names_in(results: ox.QuerySolutions) -> tuple[str, ...]:
    """List the variables of results."""
    return tuple(map(_VALUE, results.variables))


def solutions_in(results: ox.QuerySolutions) -> Iterator[Solution]:
    """Yield the solutions of results."""
    names = names_in(results)
    for solution in results:
        yield {name: term for name, term in zip(names, solution, strict=True) if term is not None}


def sources_of_files(files: Iterable[RdfFile], stored: Iterable[StoredSource]) -> dict[str, Source]:
    """Say how to cite the graphs of several files: the own graph of one by its name, named graphs also by IRI."""
    sources: dict[str, Source] = {}
    for file, own in zip(files, stored, strict=True):
        for graph in own.graphs:
            names = f"{sources[graph].graph}, {file.name}" if graph in sources else file.name
            sources[graph] = Source(names, graph)
        sources[file.iri.value] = Source(file.name)
    return sources
