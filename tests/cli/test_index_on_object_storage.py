"""``--index s3://…``: label and passage indexes in object storage, against a real S3 server of this machine.

The server is moto's, in a process of its own. Its packages do not go with the versions of ``constraints.txt``, so they
are installed apart: ``pip install --target DIR 'moto[server]'``, then ``KGSPARQL_MOTO=DIR pytest``.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pyoxigraph
import pytest

from kgsparql.errors import OptionError
from kgsparql.graphs import OxigraphGraph
from kgsparql.linking.graph_indexes import build_label_index
from kgsparql.storage.lance_tables import ObjectPrefix, Tables, location
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.endpoints.ports import free_port
from tests.unit.hashed_embedder import HashedEmbedder

NOBEL = FIXTURES / "nobel.ttl"
BUCKET = "kgsparql-test"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an S3 server with an empty bucket."""
    environment = {**os.environ, "PYTHONPATH": os.environ.get("KGSPARQL_MOTO", "")}
    found = subprocess.run(
        [sys.executable, "-c", "import moto.server"], env=environment, capture_output=True, check=False
    )
    if found.returncode:
        (pytest.fail if os.environ.get("KGSPARQL_ALL_ENGINES") else pytest.skip)("no moto: see the top of this file")
    port = free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            try:
                connection = HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("PUT", f"/{BUCKET}")
                connection.getresponse().read()
                connection.close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(10)


@pytest.fixture
def place(server: str, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix with nothing in it, and an empty cache."""
    for name, value in {
        "AWS_ENDPOINT_URL": server, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
        "KGSPARQL_CACHE_DIR": str(tmp_path / "cache"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are searched in tables, however few they are."""
    monkeypatch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 10)


def test_an_index_in_object_storage_answers_as_one_in_the_cache(
    run: Run, place: str, tmp_path: Path, kept: None
) -> None:
    made = run("index", "-k", NOBEL, "--index", place)
    assert made.exit_code == 0, made.stderr
    assert f"in {place}/labels/" in made.stderr
    assert not (tmp_path / "cache" / "labels").exists()
    local = run("index", "-k", NOBEL)
    assert made.stderr.split(" in s3")[0] == local.stderr.split(f" in {tmp_path}")[0]
    for words in ("Marie Curie", "Mari Curie", "physics"):
        far, near = (run("find", words, "-k", NOBEL, *at, "-f", "json") for at in (("--index", place), ()))
        assert (far.exit_code, far.stdout) == (near.exit_code, near.stdout)
    assert "labels indexed" in run("info", "-k", NOBEL, "--index", place).stdout


def test_documents_are_indexed_in_object_storage(
    run: Run, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_INDEX", place)
    made = run("index", "-k", NOBEL, "--text", FIXTURES / "texts")
    assert made.exit_code == 0, made.stderr
    assert "indexed 2 documents, 4 passages" in made.stderr
    assert "unchanged: 2 documents" in run("index", "-k", NOBEL, "--text", FIXTURES / "texts").stderr
    question = "What did Richard Feynman drop in a glass of ice water?"
    result = run("ask", question, "-k", NOBEL, "-r", "entity", "-f", "json")
    passages = [item for item in json.loads(result.stdout)["evidence"] if item["kind"] == "passage"]
    assert passages[0]["source"]["document"] == "feynman.txt"
    assert not (tmp_path / "cache" / "labels").exists()


def test_vectors_in_object_storage_are_those_of_a_directory(place: str, tmp_path: Path) -> None:
    store = pyoxigraph.Store()
    store.bulk_load(path=str(NOBEL), format=pyoxigraph.RdfFormat.TURTLE)
    graph = OxigraphGraph(store, name="nobel", fingerprint="nobel-1")
    far, near = (
        build_label_index(graph, parent, embedder=HashedEmbedder()) for parent in (location(place), tmp_path / "near")
    )
    asked = HashedEmbedder().embed(["marie curie"])
    assert far.search.nearest(asked, limit=5) == near.search.nearest(asked, limit=5) != []
    assert far.search.like("mari curie", limit=5) == near.search.like("mari curie", limit=5) != []


def test_questions_make_no_index_in_object_storage(
    run: Run, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Marie" in run("find", "Marie Curie", "-k", NOBEL, "--index", place).stdout
    monkeypatch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 10)
    result = run("find", "Marie Curie", "-k", NOBEL, "--index", place)
    assert result.exit_code == 4
    assert "there is no index of" in result.stderr
    assert "hint: run: kgsparql index -k" in result.stderr
    assert Tables(ObjectPrefix(f"{place}/labels")).names() == []


def test_what_a_writer_left_is_no_manifest(place: str) -> None:
    tables = Tables(ObjectPrefix(f"{place}/labels/1f"))
    assert tables.manifest() is None
    tables.publish({"labels": "a"})
    tables.publish({"labels": "b"})
    assert tables.manifest() == {"labels": "b", "version": 1, "files": {}}


def test_storage_that_cannot_be_used_is_an_error_with_a_hint(
    run: Run, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = run("find", "Marie Curie", "-k", NOBEL, "--index", "s3://no-such-bucket/x")
    assert absent.exit_code == 4
    assert "hint: are bucket, credentials and endpoint right" in absent.stderr
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    down = run("index", "-k", NOBEL, "--index", place)
    assert down.exit_code == 4
    assert "hint: are bucket, credentials and endpoint right" in down.stderr


def test_a_place_is_a_directory_or_object_storage(run: Run, tmp_path: Path) -> None:
    for text in ("http://bucket/x", "s3://", "file:///x", "s3://b//x", "s3://b/x?y=1"):
        with pytest.raises(OptionError, match="is no place for an index"):
            location(text)
    assert run("find", "Marie Curie", "-k", NOBEL, "--index", "s3://").exit_code == 2
    assert run("index", "-k", NOBEL, "--index", tmp_path / "here").exit_code == 0
    assert list((tmp_path / "here" / "labels").iterdir())
    (tmp_path / "file").write_text("", encoding="utf-8")
    unwritable = run("index", "-k", NOBEL, "--index", tmp_path / "file")
    assert (unwritable.exit_code, "hint: " in unwritable.stderr) == (4, True)
