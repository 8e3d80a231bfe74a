"""What is counted over a whole graph is kept as long as its content is the same, and counted again where in doubt."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql.graphs import kept_counts, open_graph
from kgsparql.graphs.kept_counts import FOLDER, counted
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.protocols import Solutions
from kgsparql.rdf.query import Query
from kgsparql.resources import cache_directory

TWO = '<http://e.org/a> a <http://e.org/C> ; <http://e.org/p> "x" . <http://e.org/b> a <http://e.org/C> .'
CLASSES = Query.load("info_classes")


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept_counts, "_KEPT_S", 0.0)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


def graph(tmp_path: Path, text: str = TWO) -> OxigraphGraph:
    file = tmp_path / "data.ttl"
    file.write_text(text, encoding="utf-8")
    opened = open_graph(file)
    assert isinstance(opened, OxigraphGraph)
    return opened


def files() -> list[Path]:
    return sorted((cache_directory() / FOLDER).glob("*"))


def refused(_: Query) -> Solutions:
    raise AssertionError("it is counted again")


def test_what_was_counted_is_not_counted_again(tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    assert [(str(s["term"]), s["count"].value) for s in first] == [("<http://e.org/C>", "2")]  # type: ignore[union-attr]
    again = counted(graph(tmp_path), CLASSES, refused)
    assert (again.variables, list(again)) == (first.variables, list(first))
    assert len(files()) == 1


def test_other_content_and_other_queries_are_counted(tmp_path: Path) -> None:
    counted(graph(tmp_path), CLASSES)
    more = counted(graph(tmp_path, TWO + " <http://e.org/c> a <http://e.org/C> ."), CLASSES)
    assert [s["count"].value for s in more] == ["3"]  # type: ignore[union-attr]
    counted(graph(tmp_path), Query.load("info_triples"))
    assert len(files()) == 3


@pytest.mark.parametrize("at", [3, -5, None])
def test_a_file_that_was_changed_is_counted_again(tmp_path: Path, at: int | None) -> None:
    first = counted(graph(tmp_path), CLASSES)
    (file,) = files()
    whole = bytearray(file.read_bytes())
    if at is None:
        whole = whole[: len(whole) // 2]
    else:
        whole[at] ^= 1
    file.write_bytes(whole)
    assert list(counted(graph(tmp_path), CLASSES)) == list(first)
    assert list(counted(graph(tmp_path), CLASSES, refused)) == list(first)  # and kept whole again


def test_a_graph_that_its_owner_may_change_is_counted_each_time() -> None:
    store = pyoxigraph.Store()
    store.load(TWO.encode(), pyoxigraph.RdfFormat.TURTLE)
    knowledge = kgsparql.open(store, embedder="none")
    before = knowledge.info()["classes"][0]["count"]
    store.load(b"<http://e.org/c> a <http://e.org/C> .", pyoxigraph.RdfFormat.TURTLE)
    assert (before, knowledge.info()["classes"][0]["count"]) == (2, 3)
    assert files() == []


def test_where_nothing_can_be_kept_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = graph(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(blocked))
    assert [s["count"].value for s in counted(opened, CLASSES)] == ["2"]  # type: ignore[union-attr]
