"""``kgsparql index --text``: documents about a graph's entities, from the command line to the answer."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.world import FIXTURES, NOBEL

TEXTS = FIXTURES / "texts"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Path:
    """What is indexed in one test is not there in the next."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def index(run: Run, directory: Path, *more: object) -> list[str]:
    result = run("index", "-k", NOBEL, "--embedder", "none", "--text", directory, *more)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    return result.stderr.splitlines()


def test_documents_are_indexed_found_and_cleared(run: Run, empty_cache: Path) -> None:
    said = index(run, TEXTS)
    assert said[-1].startswith("indexed 2 documents, 4 passages that mention entities ")
    assert said[-2].startswith("indexed 8")
    assert index(run, TEXTS)[-1].startswith("unchanged: 2 documents, 4 passages")
    assert ", 4 passages of 2 documents" in run("info", "-k", NOBEL).stdout
    question = "What did Richard Feynman drop in a glass of ice water?"
    result = run("ask", question, "-k", NOBEL, "-r", "entity", "--embedder", "none", "-f", "json")
    assert result.exit_code == 3, "without a model, nobody reads the passage"
    passages = [item for item in json.loads(result.stdout)["evidence"] if item["kind"] == "passage"]
    assert passages[0]["source"]["document"] == "feynman.txt"
    assert "a glass of ice water" in passages[0]["text"]
    assert run("cache", "--clear", "labels").exit_code == 0
    assert list(empty_cache.rglob("*.lance")) == []


def test_each_file_that_is_left_out_is_named_with_the_reason_and_of_very_many_the_first(
    run: Run, tmp_path: Path
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "good.txt").write_text("Marie Curie.", encoding="utf-8")
    (texts / "latin.md").write_bytes("café".encode("latin-1"))
    (texts / "broken.txt").write_bytes(b"\0")
    (texts / "table.xlsx").write_bytes(b"")
    said = index(run, texts)
    assert [line.split(":")[0] for line in said if line.startswith("left out")] == [
        "left out table.xlsx",
        "left out broken.txt",
        "left out latin.md",
    ]
    assert any("not UTF-8 (byte 3)" in line for line in said)
    assert said[-1] == "indexed 1 document, 1 passage that mention entities 1 time"
    for i in range(25):
        (texts / f"{i:02}.docx").write_bytes(b"")
    (texts / "good.txt").write_text("Nobody.", encoding="utf-8")
    said = index(run, texts)
    assert sum(line.startswith("left out") for line in said) == 21
    assert "left out 8 more files" in said
    assert said[-1] == "no label of the graph is in these documents: they will not be found"


def test_a_directory_without_documents_is_an_error_before_anything_is_built(
    run: Run, tmp_path: Path, empty_cache: Path
) -> None:
    for name, data, message in (
        ("nothing", None, "no such directory"), ("empty", {}, "an empty directory"),
        ("unreadable", {"a.txt": b"\xff\xe9"}, "no document can be read: a.txt: not UTF-8"),
        ("others", {"a.docx": b""}, "no document can be read"),
    ):  # fmt: skip
        if data is not None:
            (tmp_path / name).mkdir()
            for file, content in data.items():
                (tmp_path / name / file).write_bytes(content)
        result = run("index", "-k", NOBEL, "--embedder", "none", "--text", tmp_path / name)
        assert (result.exit_code, message in result.stderr, "hint:" in result.stderr) == (2, True, True), name
        assert empty_cache.exists() == (name in {"unreadable", "others"})
    result = run("index", "-k", NOBEL, "--text", TEXTS, "--passage-tokens", 5)
    assert (result.exit_code, "passages of 5 tokens" in result.stderr) == (2, True)


def test_a_graph_that_changed_says_that_its_documents_must_be_indexed_again(run: Run, tmp_path: Path) -> None:
    graph, texts = tmp_path / "g.ttl", tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("Ann Alpha was here.", encoding="utf-8")
    triple = '<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "Ann Alpha" .\n'
    graph.write_text(triple, encoding="utf-8")
    assert run("index", "-k", graph, "--embedder", "none", "--text", texts).exit_code == 0
    graph.write_text(f"{triple}<http://e.org/a> <http://e.org/p> 1 .\n", encoding="utf-8")
    result = run("ask", "Where was Ann Alpha?", "-k", graph, "-r", "entity", "--embedder", "none")
    assert "documents were indexed with an earlier state of this graph" in result.stdout
    assert "here" not in result.stdout.split("Notes")[0]
