"""What is counted over a whole graph is kept as long as its content is the same, and counted again where in doubt."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql.graphs import kept_counts, open_graph
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.kept_counts import FOLDER, counted
from kgsparql.graphs.oxigraph import OxigraphGraph
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


def test_what_was_damaged_is_counted_again(tmp_path: Path) -> None:
    first = counted(graph(tmp_path), CLASSES)
    for at in (3, -5, None):
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


def test_where_nothing_can_be_kept_it_is_counted_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(blocked))
    notes: list[str] = []
    found = kgsparql.open(tmp_path / "data.ttl", embedder="none", note=notes.append).info()
    assert found["classes"][0]["count"] == 2
    assert sum("counted anew each time" in note for note in notes) == 1


def test_a_full_disk_leaves_the_slow_way_and_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, write = graph(tmp_path), Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    notes: list[str] = []
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", half)
        assert [s["count"].value for s in counted(opened, CLASSES, note=notes.append)] == ["2"]  # type: ignore[union-attr]
    assert "No space left" in notes[0]
    assert files() == []
    assert len(counted(opened, CLASSES)) == 1
    assert len(files()) == 1


def test_two_processes_at_once_both_count(tmp_path: Path) -> None:
    graph(tmp_path)
    code = (
        "import sys; from kgsparql.graphs import kept_counts, open_graph; from kgsparql.rdf.query import Query;"
        "kept_counts._KEPT_S = 0; opened = open_graph(sys.argv[1]); sys.stdin.read();"
        "print(kept_counts.counted(opened, Query.load('info_classes'))[0]['count'].value)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data.ttl")]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == ["2", "2"]
    assert len(files()) == 1
    assert [s["count"].value for s in counted(graph(tmp_path), CLASSES, refused)] == ["2"]  # type: ignore[union-attr]


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
