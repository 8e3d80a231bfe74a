"""What the page asks for beside an answer: neighbours of a node."""

from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import AskOptions, KnowledgeBase
from kgsparql.errors import InputError, NotFoundError
from kgsparql.serving.page_facts import node_neighbours
from tests.serving.conftest import NOBEL

MARIE = "<http://dbpedia.org/resource/Marie_Curie>"


def around(knowledge: KnowledgeBase, term: str, after: int = 0) -> dict[str, Any]:
    return node_neighbours(knowledge, AskOptions(), {"term": term, "after": str(after)})


def keys(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(*(one[at]["term"] for at in ("subject", "predicate", "object")), one["direction"])
            for one in found["triples"]]  # fmt: skip


def test_a_node_is_told_of_by_its_kinds_its_description_and_its_curie(nobel: KnowledgeBase, tmp_path: Path) -> None:
    found = around(nobel, MARIE)
    assert found["node"]["label"] == "Marie Curie"
    assert found["curie"] == "dbr:Marie_Curie"
    assert found["kinds"] == ["Nobel laureate", "person", "scientist"]
    assert found["description"].startswith("Physicist and chemist born in Warsaw")
    assert found["graphs"] == [str(NOBEL)]
    (tmp_path / "graph.ttl").write_text("<http://e.org/a> a <http://e.org/RockBand> .", encoding="utf-8")
    found = around(kgsparql.open(tmp_path / "graph.ttl", embedder="none"), "<http://e.org/a>")
    assert (found["kinds"], found["description"], found["node"]["label"]) == (["rock band"], "", "a")


def test_the_pages_hold_every_triple_of_the_node_once_both_ways(nobel: KnowledgeBase) -> None:
    first = around(nobel, MARIE)
    pages = [around(nobel, MARIE, after) for after in range(0, first["count"] + 12, 12)]
    assert [len(page["triples"]) for page in pages] == [12, 12, first["count"] - 24, 0]
    seen = [key for page in pages for key in keys(page)]
    rows = nobel.query(f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER (?s = {MARIE} || ?o = {MARIE}) }}").solutions
    expected = {(str(row["s"]), str(row["p"]), str(row["o"])) for row in rows}
    assert len(seen) == len(expected) == first["count"]
    assert {key[:3] for key in seen} == expected
    assert {(way, MARIE in (s if way == "forward" else o)) for s, _, o, way in seen} == {
        ("forward", True), ("inverse", True),
    }  # fmt: skip
    assert {key[3] for key in keys(first)} == {"forward", "inverse"}
    assert not any("rdf-schema#label" in key[1] for key in keys(first)), "labels and texts come last"


def test_of_a_hub_the_pages_repeat_nothing_and_end(tmp_path: Path) -> None:
    graph = tmp_path / "hub.nt"
    lines = [f"<http://e.org/{n}> <http://e.org/of> <http://e.org/hub> ." for n in range(10_500)]
    graph.write_text("\n".join(lines), encoding="utf-8")
    hub = kgsparql.open(graph, embedder="none")
    pages = [around(hub, "<http://e.org/hub>", after) for after in range(0, 132, 12)]
    assert {page["count"] for page in pages} == {10_500}
    seen = [key for page in pages for key in keys(page)]
    assert len(seen) == len(set(seen)) == 120


def test_what_cannot_be_looked_up(nobel: KnowledgeBase) -> None:
    for term, after, error in (
        ('"a text"', "0", InputError), ("_:b0", "0", InputError), ("<http://a> . <http://b> <c> <d>", "0", InputError),
        (MARIE, "600", InputError), (MARIE, "²", InputError), ("<http://e.org/nothing>", "0", NotFoundError),
    ):  # fmt: skip
        with pytest.raises(error):
            node_neighbours(nobel, AskOptions(), {"term": term, "after": after})
