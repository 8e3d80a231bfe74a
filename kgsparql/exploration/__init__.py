"""Looking around in a graph: every function asks named queries and returns what it found and what limits left out.

May use: ``graphs`` and what is below it. Open first: ``neighbourhood.py``, then ``predicate_paths.py``.
"""

from kgsparql.exploration.adjacency_search import walk_ends, walk_ways
from kgsparql.exploration.batched_select import Found, Label, NeighbourGroup, PredicatePath
from kgsparql.exploration.counting import degrees, predicate_counts, predicates
from kgsparql.exploration.labels import by_label, descriptions, labels, texts, types
from kgsparql.exploration.neighbourhood import mediated_paths, neighbours
from kgsparql.exploration.predicate_paths import paths_of_several
from kgsparql.exploration.shortest_paths import shortest_paths

__all__ = [
    "Found", "Label", "NeighbourGroup", "PredicatePath",
    "by_label", "degrees", "descriptions", "labels", "mediated_paths", "neighbours",
    "paths_of_several", "predicate_counts", "predicates", "shortest_paths",
    "texts", "types", "walk_ends", "walk_ways",
]  # fmt: skip
