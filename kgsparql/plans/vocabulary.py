"""The predicates by which a graph says what things are and what they are called."""

from __future__ import annotations

from kgsparql.dataclasses import dataclass
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE, SUBCLASS_OF


@dataclass(frozen=True, slots=True)
class GraphVocabulary:
    """What plans need to know of a graph.

    :param types: from an item to its classes.
    :param narrower: from a class to a broader one; none where all classes are flat.
    :param labels: from an item to its names.
    """

    types: tuple[IRI, ...] = (RDF_TYPE,)
    narrower: tuple[IRI, ...] = (SUBCLASS_OF,)
    labels: tuple[IRI, ...] = LABELS

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> GraphVocabulary:
        """Make the vocabulary of a graph; where it sees that no class is below another, nothing leads to such."""
        return cls(narrower=tuple(graph.held(frozenset((SUBCLASS_OF,)))), labels=graph.naming.labels)
