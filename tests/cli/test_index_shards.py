"""``kgsparql index --shard I/N`` in processes that know nothing of each other, and ``--merge``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kgsparql.knowledge_base import open as open_knowledge
from kgsparql.linking.label_index.shards import Shard
from kgsparql.storage.lance_tables import Tables
from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Path:
    """What is indexed in one test is not there in the next."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_shards_indexed_at_the_same_time_are_merged_and_searched(run: Run) -> None:
    command = [sys.executable, "-m", "kgsparql", "index", "-k", str(NOBEL), "--embedder", "none", "--shard"]
    running = [subprocess.Popen([*command, f"{i}/3"], stderr=subprocess.PIPE, text=True) for i in (1, 2, 3)]
    said = [child.communicate()[1] for child in running]
    assert [child.returncode for child in running] == [0, 0, 0], said
    assert all(f"labels of shard {i}/3, in " in text for i, text in enumerate(said, 1))
    merged = run("index", "-k", NOBEL, "--merge")
    assert merged.exit_code == 0, merged.stderr
    labels = sum(int(text.split("indexed ")[1].split()[0].replace(",", "")) for text in said)
    assert f"indexed {labels:,} labels, searched by spelling" in merged.stderr
    assert f"{labels:,} labels indexed" in run("info", "-k", NOBEL).stdout
    assert "Marie" in run("find", "Marie Curie", "-k", NOBEL).stdout


def test_what_cannot_be_merged_is_one_line_and_a_hint(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "g.ttl"
    shutil.copy(NOBEL, graph)
    none = run("index", "-k", graph, "--merge")
    assert (none.exit_code, len(none.stderr.splitlines())) == (4, 2)
    assert "no shard" in none.stderr
    assert "--shard 1/16" in none.stderr
    assert run("index", "-k", graph, "--shard", "1/2").exit_code == 0
    missing = run("index", "-k", graph, "--merge")
    assert missing.exit_code == 4
    assert "shard 2/2 is missing or not finished" in missing.stderr
    assert f"hint: with the options of the others, run: kgsparql index -k {graph} --shard 2/2" in missing.stderr
    with graph.open("a", encoding="utf-8") as more:
        more.write("<http://e.org/new> <http://www.w3.org/2000/01/rdf-schema#label> 'new' .\n")
    assert run("index", "-k", graph, "--shard", "2/2").exit_code == 0
    stale = run("index", "-k", graph, "--merge")
    assert stale.exit_code == 4
    assert "shard 1/2 is missing or not finished for what" in stale.stderr


def passages_of() -> list[Any]:
    """All passages that were indexed with the graph, as they are written."""
    knowledge = open_knowledge(NOBEL, embedder="none")
    tables = Tables(knowledge.indexes.directory / "passages")
    manifest = tables.manifest()
    assert manifest is not None
    written = [batch.to_pylist() for what in ("passages", "mentions") for batch in tables.batches(manifest[what])]
    return [manifest["documents"], manifest["skipped"], manifest["digest"], written]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Thirty documents, one of which cannot be read."""
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    for i in range(29):
        text = f"{i}. Marie Curie met Pierre Curie.\n\n" * (i % 3 * 40 + 1)
        (folder / ("b" if i % 2 else ".") / f"{i}.txt").write_text(text, encoding="utf-8")
    (folder / "bad.md").write_bytes("café".encode("latin-1"))
    return folder


def test_shards_of_documents_are_merged_into_the_passages_of_one_run(run: Run, texts: Path) -> None:
    options = ("index", "-k", NOBEL, "--text", texts)
    early = run(*options, "--shard", "1/3")
    assert early.exit_code == 4
    assert "there is no label index" in early.stderr
    whole = run(*options)
    wanted = passages_of()
    labels = open_knowledge(NOBEL, embedder="none").indexes.directory
    shutil.rmtree(labels / "passages")
    for number in (3, 1, 2):
        missing = run(*options, "--merge")
        assert missing.exit_code == 4
        part = run(*options, "--shard", f"{number}/3")
        assert part.exit_code == 0, part.stderr
    merged = run(*options, "--merge")
    assert merged.exit_code == 0, merged.stderr
    assert merged.stderr.splitlines()[-2:] == whole.stderr.splitlines()[-2:]
    assert passages_of() == wanted
    assert "unchanged: 29 documents" in run(*options).stderr


def test_a_shard_of_other_documents_is_refused(run: Run, texts: Path) -> None:
    options = ("index", "-k", NOBEL, "--text", texts)
    assert run("index", "-k", NOBEL).exit_code == 0
    for number in (1, 2):
        assert run(*options, "--shard", f"{number}/2").exit_code == 0
    (texts / "0.txt").write_text("Marie Curie went away.", encoding="utf-8")
    result = run(*options, "--merge")
    assert result.exit_code == 4
    assert "was made of other documents" in result.stderr
    number = 1 if Shard(1, 2).has("0.txt") else 2
    assert f"--shard {number}/2" in result.stderr
    assert run(*options, "--shard", f"{number}/2").exit_code == 0
    assert run(*options, "--merge").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shard", "0/4"), "is no shard"),
        (("--shard", "1/4", "--merge"), "two steps"),
        (("--shard", "1/4", "--class", "Person"), "--class is of no use with --shard"),
        (("--merge", "--class", "Person"), "--class is of no use with --shard or --merge"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_use(run: Run, options: tuple[str, ...], message: str) -> None:
    result = run("index", "-k", NOBEL, *options)
    assert result.exit_code == 2
    assert message in result.stderr
