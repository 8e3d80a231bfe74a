"""The second engine: rdflib answering the queries that Oxigraph answers; and a graph that counts its queries."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyoxigraph
import rdflib

from kgsparql import IRI, BlankNode, KnowledgeGraph, Literal, OxigraphGraph, Query, Solutions, Term

ENGINES = ("oxigraph", "rdflib")


class RdflibGraph(KnowledgeGraph):
    """rdflib as a :class:`KnowledgeGraph`: small data only, and an independent reading of SPARQL."""

    name = "rdflib"
    chunk_size = 1000

    def __init__(self, dataset: rdflib.Dataset, *, chunk_size: int = 1000) -> None:
        self.dataset = dataset
        self.chunk_size = chunk_size

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        if query.empty:
            return Solutions()
        with _rdflib_warnings():
            result: Any = self.dataset.query(query.text)
            names = tuple(str(variable) for variable in result.vars or ())
            rows = [{n: _term(t) for n, t in zip(names, row, strict=True) if t is not None} for row in result]
        return Solutions(names, tuple(rows))


class WatchedGraph(KnowledgeGraph):
    """A graph that passes everything on to another, which may be embedded, and is not: a test changes what it wants."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        return self.graph.select(query, timeout_s)


for _name in ("adjacency_view", "chunk_size", "fingerprint", "is_as_loaded", "is_remote", "name", "naming",
              "notes", "prefixes", "profile", "source", "sources_of", "stored", "url"):  # fmt: skip
    setattr(WatchedGraph, _name, property(attrgetter(f"graph.{_name}")))


class CountingGraph(KnowledgeGraph):
    """A graph that keeps the queries it was sent, and of which nothing else is known."""

    chunk_size = 0

    def __init__(self, graph: KnowledgeGraph, *, chunk_size: int | None = None) -> None:
        self.graph = graph
        self.name = graph.name
        self.chunk_size = chunk_size or graph.chunk_size
        self.queries: list[Query] = []

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        if not query.empty:
            self.queries.append(query)
        return self.graph.select(query, timeout_s)


def engine_from_quads(engine: str, quads: list[pyoxigraph.Quad]) -> KnowledgeGraph:
    """The same quads, blank nodes with the same names, in either engine."""
    store = pyoxigraph.Store()
    store.extend(quads)
    if engine == "oxigraph":
        return OxigraphGraph(store, name="oxigraph", fingerprint="0")
    dataset = rdflib.Dataset(default_union=True)
    for quad in quads:
        graph = dataset.default_graph if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else None
        graph = graph if graph is not None else dataset.graph(rdflib.URIRef(quad.graph_name.value))
        graph.add((_node(quad.subject), _node(quad.predicate), _node(quad.object)))
    return RdflibGraph(dataset)


def engine_from_file(engine: str, file: Path) -> KnowledgeGraph:
    """A Turtle or TriG file in either engine, read by pyoxigraph's parser."""
    return engine_from_quads(engine, list(pyoxigraph.parse(path=str(file))))


@contextmanager
def _rdflib_warnings() -> Iterator[None]:
    """rdflib warns of its own use of ``Dataset.default_context``, also while results are read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _term(node: Any) -> Term:
    if isinstance(node, rdflib.URIRef):
        return IRI(str(node))
    if isinstance(node, rdflib.BNode):
        return BlankNode(str(node))
    if node.language:
        return Literal(str(node), language=node.language)
    return Literal(str(node)) if node.datatype is None else Literal(str(node), datatype=IRI(str(node.datatype)))


def _node(term: Term) -> rdflib.term.Identifier:
    if isinstance(term, IRI):
        return rdflib.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.value)
    assert isinstance(term, Literal)
    if term.language is not None:
        return rdflib.Literal(term.value, lang=term.language)
    plain = term.datatype.value == "http://www.w3.org/2001/XMLSchema#string"
    return rdflib.Literal(term.value, datatype=None if plain else rdflib.URIRef(term.datatype.value), normalize=False)
