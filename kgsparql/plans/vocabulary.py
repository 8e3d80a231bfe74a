"""The predicates by which a graph says what things are and what they are called."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from kgsparql.dataclasses import dataclass
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import LABELS, ON_PROPERTY, RDF_TYPE, SUBCLASS_OF

_MOST_READ = 1_000  # predicates that restrictions are on, and classes that things are of
_OF_OWL = "http://www.w3.org/"
_ONTOLOGIES: WeakKeyDictionary[KnowledgeGraph, tuple[tuple[IRI, ...], frozenset[IRI]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class GraphVocabulary:
    """What plans need to know of a graph.

    :param types: from an item to its classes.
    :param narrower: from a class to a broader one; none where all classes are flat.
    :param labels: from an item to its names.
    :param restricted: predicates of which a class says by OWL restrictions what they lead to, where no thing is of such
        a class: of an ontology, whose classes are the things that are asked about.
    """

    types: tuple[IRI, ...] = (RDF_TYPE,)
    narrower: tuple[IRI, ...] = (SUBCLASS_OF,)
    labels: tuple[IRI, ...] = LABELS
    restricted: frozenset[IRI] = frozenset()

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> GraphVocabulary:
        """Make the vocabulary of a graph; where it sees that no class is below another, nothing leads to such."""
        narrower, labels = tuple(graph.held(frozenset((SUBCLASS_OF,)))), graph.naming.labels
        if not (narrower and graph.is_embedded and graph.held(frozenset((ON_PROPERTY,)))):
            return cls(narrower=narrower, labels=labels)
        kept = _ONTOLOGIES.get(graph.origin) if graph.is_as_loaded else None
        types, restricted = _ONTOLOGIES[graph.origin] = kept or _ontology_in(graph)
        return cls(types, narrower, labels, restricted)


def _ontology_in(graph: KnowledgeGraph) -> tuple[tuple[IRI, ...], frozenset[IRI]]:
    """Read from what an item leads to its classes, and what restrictions are on; nothing if things are of such classes.

    Of an ontology without any things, an item's classes are those above it alone: to look for things, too, takes an
    engine ten times as long.
    """
    x, kind, rule, by = map(Variable, ("x", "kind", "rule", "by"))
    of_class = (g.Fact(rule, ON_PROPERTY, by), g.Fact(kind, SUBCLASS_OF, rule))
    populated = g.Select(((x, None),), (*of_class, g.Fact(x, RDF_TYPE, kind)), limit=1)
    if graph.select(g.select_query("populated", populated)):
        return (RDF_TYPE,), frozenset()
    predicates = g.Select(((by, None),), of_class, distinct=True, limit=_MOST_READ)
    kinds = g.Select(((kind, None),), (g.Fact(x, RDF_TYPE, kind),), distinct=True, limit=_MOST_READ)
    found = graph.select(g.select_query("restricted", predicates))
    restricted = frozenset(one["by"] for one in found if isinstance(one["by"], IRI))
    named = [one["kind"] for one in graph.select(g.select_query("kinds", kinds)) if isinstance(one["kind"], IRI)]
    has_things = any(not one.value.startswith(_OF_OWL) for one in named)
    return ((RDF_TYPE,) if has_things or not restricted else ()) + ((SUBCLASS_OF,) if restricted else ()), restricted
