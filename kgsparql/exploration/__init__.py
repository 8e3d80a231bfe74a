"""Looking around in a graph: every function asks named queries and returns what it found and what limits left out."""

from kgsparql.exploration.counting import predicate_counts, predicates
from kgsparql.exploration.found import Found, Label, NeighbourGroup, PredicateCount, Text
from kgsparql.exploration.labels import by_label, labels, texts, types
from kgsparql.exploration.mediators import mediated_paths, statement_values
from kgsparql.exploration.neighbourhood import neighbourhood, neighbours
from kgsparql.exploration.predicate_paths import PredicatePath, predicate_paths
from kgsparql.exploration.shortest_paths import shortest_paths
from kgsparql.exploration.walks import follow, walk_ends, walk_ways, walks

__all__ = [
    "Found",
    "Label",
    "NeighbourGroup",
    "PredicateCount",
    "PredicatePath",
    "Text",
    "by_label",
    "follow",
    "labels",
    "mediated_paths",
    "neighbourhood",
    "neighbours",
    "predicate_counts",
    "predicate_paths",
    "predicates",
    "shortest_paths",
    "statement_values",
    "texts",
    "types",
    "walk_ends",
    "walk_ways",
    "walks",
]
