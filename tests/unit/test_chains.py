"""The parts of a chain joined: no path passes a term twice, and what cannot be joined stands by itself."""

from __future__ import annotations

from itertools import islice, pairwise

import kgsparql
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.paths import Hop, Path
from kgsparql.rdf.terms import IRI, Triple
from kgsparql.retrievers.mindmap import chained_paths
from tests.conftest import FIXTURES

NS = "http://e.org/"


def path(*terms: str) -> Path:
    """A path of forward hops through these terms."""
    made = [IRI(NS + name) for name in terms]
    hops = (Hop(Triple(near, IRI(NS + "p"), far)) for near, far in pairwise(made))
    return Path(made[0], tuple(hops))


def names(found: Path) -> str:
    return "".join(term.value.removeprefix(NS) for term in found.terms)


def test_a_joined_path_never_passes_a_term_twice() -> None:
    segments = [(path("a", "x", "b"), path("a", "y", "b")), (path("b", "x", "c"), path("b", "z", "c"))]
    assert [names(found) for found in chained_paths(segments)] == ["axbzc", "aybxc", "aybzc"]
    alone = [(path("a", "x", "b"), path("a", "y", "b"))]
    assert [names(found) for found in chained_paths(alone)] == ["axb", "ayb"]


def test_parts_that_cannot_be_joined_stand_by_themselves() -> None:
    segments = [(path("a", "x", "b"), path("a", "x", "y", "b")), (path("b", "x", "c"),)]
    assert [names(found) for found in chained_paths(segments)] == ["axb", "bxc", "axyb"]


def test_very_many_ways_to_join_do_not_keep_anybody_waiting() -> None:
    several = [tuple(path(f"n{i}", "x", f"v{j}", f"n{i + 1}") for j in range(5)) for i in range(30)]
    first = list(islice(chained_paths(several), 2))
    assert first == [several[0][0], several[1][0]]


def test_the_query_of_every_path_finds_it() -> None:
    """What is shown on two and more hops between several entities is found by the query beside it."""
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    names = ("Richard Feynman", "Linus Pauling", "Max Delbrück")
    answer = knowledge.ask("What joins them?", retriever="mindmap", entities=names)
    shown = [item for item in answer.evidence if item.path is not None]
    assert shown
    graph: KnowledgeGraph = knowledge.graph
    for item in shown:
        assert len(graph.select(item.query)) >= 1, item.text
