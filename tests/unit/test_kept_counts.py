"""What is counted over a whole graph, and how long it is kept."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql import OxigraphGraph, Query, Solutions, open_graph
from kgsparql.exploration import counting
from kgsparql.exploration.counting import COUNTS, counted
from kgsparql.resources import cache_directory
from kgsparql.schema.vocabulary import GraphVocabulary
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache
from tests.world import kept_kinds

TWO = '<http://e.org/a> a <http://e.org/C> ; <http://e.org/p> "x" . <http://e.org/b> a <http://e.org/C> .'
CLASSES = Query.load("info_classes")


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setattr(counting, "_KEPT_S", 0.0)


def graph(tmp_path: Path, text: str = TWO) -> OxigraphGraph:
    file = tmp_path / "data.ttl"
    file.write_text(text, encoding="utf-8")
    opened = open_graph(file)
    assert isinstance(opened, OxigraphGraph)
    return opened


def number_kept() -> int:
    with ResponseCache(cache_directory() / RESPONSE_FILE) as cache:
        return kept_kinds(cache).get(COUNTS, 0)


def numbers(found: Solutions) -> list[str]:
    return [s["count"].value for s in found]  # type: ignore[union-attr]


def refused(_: Query) -> Solutions:
    raise AssertionError("it is counted again")


def test_what_was_counted_is_not_counted_again_but_other_content_and_other_queries_are(tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    assert [str(s["term"]) for s in first] == ["<http://e.org/C>"]
    assert numbers(first) == ["2"]
    again = counted(graph(tmp_path), CLASSES, refused)
    assert (again.variables, list(again)) == (first.variables, list(first))
    assert numbers(counted(graph(tmp_path, TWO + " <http://e.org/c> a <http://e.org/C> ."), CLASSES)) == ["3"]
    GraphVocabulary.of(graph(tmp_path))  # its classes, and what its predicates lead to
    assert number_kept() == 4


@pytest.mark.parametrize("damage", ["substr(reply, 1, 9)", "'{}'"])
def test_what_was_damaged_is_counted_again(damage: str, tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    with closing(sqlite3.connect(cache_directory() / RESPONSE_FILE)) as connection, connection:
        connection.execute(f"UPDATE exchange SET reply = {damage}")  # noqa: S608 - ours
    assert list(counted(graph(tmp_path), CLASSES)) == list(first)
    assert list(counted(graph(tmp_path), CLASSES, refused)) == list(first)  # and kept whole again


def test_a_graph_that_its_owner_may_change_is_counted_each_time() -> None:
    store = pyoxigraph.Store()
    store.load(TWO.encode(), pyoxigraph.RdfFormat.TURTLE)
    knowledge = kgsparql.open(store, embedder="none")
    before = knowledge.info()["classes"][0]["count"]
    store.load(b"<http://e.org/c> a <http://e.org/C> .", pyoxigraph.RdfFormat.TURTLE)
    assert (before, knowledge.info()["classes"][0]["count"]) == (2, 3)
    assert number_kept() == 0


def test_where_nothing_can_be_kept_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(blocked))
    assert kgsparql.open(tmp_path / "data.ttl", embedder="none").info()["classes"][0]["count"] == 2


@pytest.mark.parametrize("named", ["", "<http://e.org/g2>", "_:g"])
def test_info_of_a_graph_in_this_process_is_that_of_its_queries(tmp_path: Path, named: str) -> None:
    """It is put together from fewer queries than an endpoint needs; what is in two graphs counts once."""
    file = tmp_path / "data.nq"
    triples = ["<http://e.org/a> a <http://e.org/C>", '<http://e.org/a> <http://e.org/p> "x"', "<http://e.org/b> a _:c"]
    lines = [f"{triple} {graph} ." for triple in triples for graph in {"", "<http://e.org/g1>", named}]
    file.write_text("\n".join(lines).replace(" a ", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "))
    opened = open_graph(file)
    found = kgsparql.KnowledgeBase(opened, embedder="none").info()
    (triples_found,) = opened.select(Query.load("info_triples_distinct"))
    assert str(found["triples"]) == triples_found["count"].value == "3"  # type: ignore[union-attr]
    commonest = opened.select(Query.load("info_predicates_distinct"))
    assert [(p["term"], str(p["count"])) for p in found["predicates"]] == [
        (str(s["term"]), s["count"].value)  # type: ignore[union-attr]
        for s in commonest
    ]
    graphs = opened.select(Query.load("info_graphs"))
    assert found["named_graphs"] == [str(s["graph"]) for s in graphs]
    assert [kind["term"] for kind in found["classes"]] == ["<http://e.org/C>"]
