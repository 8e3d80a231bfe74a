"""The predicates by which a graph says what things are and what they are called."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from kgsparql.dataclasses import dataclass
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import LABELS, ON_PROPERTY, RDF_TYPE, SUBCLASS_OF

_MOST_RESTRICTED = 1_000  # predicates that restrictions are on
_KNOWN_RESTRICTED: WeakKeyDictionary[KnowledgeGraph, frozenset[IRI]] = WeakKeyDictionary()


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
        narrower, restricted = tuple(graph.held(frozenset((SUBCLASS_OF,)))), frozenset[IRI]()
        if narrower and graph.is_embedded and graph.held(frozenset((ON_PROPERTY,))):
            restricted = _restricted_in(graph)
        types = (RDF_TYPE, *narrower) if restricted else (RDF_TYPE,)
        return cls(types, narrower, graph.naming.labels, restricted)


def _restricted_in(graph: KnowledgeGraph) -> frozenset[IRI]:
    """Read what restrictions are on, once for a graph; none where they are of classes that things are of."""
    kept = _KNOWN_RESTRICTED.get(graph.origin) if graph.is_as_loaded else None
    if kept is None:
        x, kind, rule, by = map(Variable, ("x", "kind", "rule", "by"))
        of_class = (g.Fact(rule, ON_PROPERTY, by), g.Fact(kind, SUBCLASS_OF, rule))
        populated = g.Select(((x, None),), (*of_class, g.Fact(x, RDF_TYPE, kind)), limit=1)
        some = g.Select(((by, None),), of_class, distinct=True, limit=_MOST_RESTRICTED)
        is_populated = bool(graph.select(g.select_query("populated", populated)))
        found = () if is_populated else graph.select(g.select_query("restricted", some))
        kept = frozenset(one["by"] for one in found if isinstance(one["by"], IRI))
        _KNOWN_RESTRICTED[graph.origin] = kept
    return kept
