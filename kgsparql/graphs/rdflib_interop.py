"""rdflib terms and graphs, in and out: the only place where they are met."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyoxigraph

from kgsparql.errors import GraphLoadError, InputError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable

if TYPE_CHECKING:
    import rdflib
    from typing_extensions import TypeIs


def to_rdflib(term: Term) -> Any:
    """Turn a term into the same term of rdflib; an InputError for a triple term, which rdflib does not have."""
    import rdflib

    if isinstance(term, IRI):
        return rdflib.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.value)
    if isinstance(term, Literal):
        is_plain = term.language is not None or term.datatype.value == "http://www.w3.org/2001/XMLSchema#string"
        datatype = None if is_plain else rdflib.URIRef(term.datatype.value)
        return rdflib.Literal(term.value, lang=term.language, datatype=datatype, normalize=False)
    raise InputError("rdflib has no triple terms")


def quads_from_rdflib(graph: rdflib.Graph) -> list[pyoxigraph.Quad]:
    """Read the quads of an rdflib ``Graph`` or ``Dataset``; a GraphLoadError for a statement that is not RDF."""
    import rdflib
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    default, found = pyoxigraph.DefaultGraph(), list[pyoxigraph.Quad]()
    try:
        for part in graph.graphs() if isinstance(graph, rdflib.Dataset) else [graph]:
            name: Any = default
            if isinstance(graph, rdflib.Dataset) and part.identifier != DATASET_DEFAULT_GRAPH_ID:
                name = (BlankNode if isinstance(part.identifier, rdflib.BNode) else IRI)(str(part.identifier))
            text = part.serialize(format="nt", encoding="utf-8")
            read = pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES)
            found += (pyoxigraph.Quad(one.subject, one.predicate, one.object, name) for one in read)
    except Exception as error:  # rdflib raises nothing more special
        hint = "mend or remove that statement"
        raise GraphLoadError(f"rdflib graph: {printable(error, 300)}", hint=hint) from error
    return found


def is_of_rdflib(source: object) -> TypeIs[rdflib.Graph]:
    """Tell whether an object is a graph of rdflib; to import that takes 0.3 s, and whoever has one has imported it."""
    module = sys.modules.get("rdflib")
    return module is not None and isinstance(source, module.Graph)


class RdflibCopy:
    """A store in memory with a copy of the quads of an rdflib graph.

    >>> import rdflib
    >>> graph = rdflib.Graph()
    >>> copy = RdflibCopy(graph)
    >>> _ = graph.add((rdflib.RDF.type, rdflib.RDF.type, rdflib.RDF.Property))
    >>> len(copy.store())
    1
    """

    def __init__(self, graph: rdflib.Graph) -> None:
        from rdflib.store import TripleAddedEvent

        self._graph = graph
        self._copied, self._mark = pyoxigraph.Store(), (0, 0)
        self._added = added = [0]

        def count(_: object) -> None:
            added[0] += 1

        dispatcher: Any = graph.store.dispatcher
        dispatcher.subscribe(TripleAddedEvent, count)

    def store(self) -> pyoxigraph.Store:
        """Return the store, with what the graph has now: another copy after a change."""
        mark = len(self._graph), self._added[0]  # rdflib says what is added, but not what is removed
        if mark != self._mark:
            copied = pyoxigraph.Store()
            copied.bulk_extend(quads_from_rdflib(self._graph))
            self._copied, self._mark = copied, mark
        return self._copied


def prefixes_from_rdflib(graph: rdflib.Graph) -> dict[str, str]:
    """Return the prefixes that were bound in an rdflib graph, without those that rdflib binds in every graph."""
    import rdflib

    usual = set(rdflib.Graph().namespaces())
    return {prefix: str(namespace) for prefix, namespace in graph.namespaces() if (prefix, namespace) not in usual}


def triples_to_rdflib(triples: Iterable[Triple]) -> rdflib.Graph:
    """Make an rdflib graph of triples."""
    import rdflib

    graph = rdflib.Graph()
    for triple in triples:
        graph.add(_rdflib_triple(triple))
    return graph


def _rdflib_triple(found: Triple | pyoxigraph.Quad) -> tuple[Any, Any, Any]:
    return to_rdflib(found.subject), to_rdflib(found.predicate), to_rdflib(found.object)


def quads_to_rdflib(quads: Iterable[pyoxigraph.Quad], *, prefixes: Mapping[str, str]) -> rdflib.Dataset:
    """Make an rdflib dataset of quads, with prefixes bound."""
    import rdflib

    dataset = rdflib.Dataset()
    for prefix, namespace in prefixes.items():
        dataset.bind(prefix, namespace)
    for quad in quads:
        name = quad.graph_name
        graph = dataset.default_graph if isinstance(name, pyoxigraph.DefaultGraph) else dataset.graph(to_rdflib(name))
        graph.add(_rdflib_triple(quad))
    return dataset
