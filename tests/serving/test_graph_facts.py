"""What the page says of a graph before anything is asked."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql.cli import app
from kgsparql.serving.page_facts import as_of
from tests.serving.conftest import NOBEL

CHANGED = 1_700_000_000  # 2023-11-14T22:13:20Z


def test_the_newest_of_several_files_counts(tmp_path: Path) -> None:
    for name, at in (("a.ttl", CHANGED), ("b.ttl", CHANGED - 9)):
        (tmp_path / name).write_text("<http://e.org/a> <http://e.org/p> 1 .", encoding="utf-8")
        os.utime(tmp_path / name, (at, at))
    knowledge = kgsparql.open(tmp_path, embedder="none")
    assert as_of(knowledge.graph) == "2023-11-14T22:13:20+00:00"
    (tmp_path / "a.ttl").unlink()
    assert as_of(knowledge.graph) is None
    store = tmp_path / "store"  # is as old as its loading
    assert CliRunner().invoke(app, ["load", str(NOBEL), "--store", str(store)]).exit_code == 0
    os.utime(store / "kgsparql.json", (CHANGED, CHANGED))
    assert as_of(kgsparql.open(store, embedder="none").graph) == "2023-11-14T22:13:20+00:00"


def test_nobody_knows_how_old_an_endpoint_is(tmp_path: Path) -> None:
    endpoint = "http://127.0.0.1:9/sparql"
    assert as_of(kgsparql.open(endpoint, embedder="none").graph) is None
    assert as_of(kgsparql.open(NOBEL, endpoint, embedder="none").graph) is None


def test_a_big_file_that_is_kept_as_a_store_is_as_old_as_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 10)
    graph = tmp_path / "graph.ttl"
    shutil.copy(NOBEL, graph)
    os.utime(graph, (CHANGED, CHANGED))
    knowledge = kgsparql.open(graph, embedder="none")
    assert list((tmp_path / "cache" / "graphs").iterdir())
    assert as_of(knowledge.graph) == "2023-11-14T22:13:20+00:00"
