"""The predicates by which a graph says what things are and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE, SUBCLASS_OF


@dataclass(frozen=True, slots=True)
class GraphVocabulary:
    """What plans need to know of a graph.

    :param types: from an item to its classes.
    :param narrower: from a class to a broader one.
    :param labels: from an item to its names.
    """

    types: tuple[IRI, ...] = (RDF_TYPE,)
    narrower: tuple[IRI, ...] = (SUBCLASS_OF,)
    labels: tuple[IRI, ...] = LABELS
