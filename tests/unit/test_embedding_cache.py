"""Vectors kept on disk: the same as made, made once, and done without where that fails."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kgsparql
from kgsparql.models.embedders import VECTORS, CachedEmbedder, VectorStore
from tests.model_server import ModelServer
from tests.unit.hashed_embedder import HashedEmbedder
from tests.world import FIXTURES


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


def test_a_file_of_something_else_is_said_once_and_left_alone(path: Path) -> None:
    content = b"SQLite format 3\0" + b"\xff" * 4_000
    path.parent.mkdir()
    path.write_bytes(content)
    told: list[str] = []
    inner = Counting()
    with closing(CachedEmbedder(inner, path, note=told.append)) as cached:
        cached.embed(["one"])
        cached.embed(["one", "two"])
    assert inner.texts == ["one", "one", "two"]
    assert len(told) == 1
    assert "vectors of texts are not kept" in told[0]
    assert str(path) in told[0]
    assert path.read_bytes() == content
    with closing(CachedEmbedder(Counting(), path / VECTORS, note=told.append)) as cached:  # below a file
        assert cached.embed(["a b"]).shape == (1, 64)
    assert len(told) == 2


def test_a_damaged_vector_is_made_again(path: Path) -> None:
    with closing(CachedEmbedder(Counting(), path)) as cached:
        right = cached.embed(["a b", "c d", "e f", "g h"])
    with closing(sqlite3.connect(path)) as connection, connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM vector ORDER BY id")]
        for key, bad in zip(keys, [b"short", np.full(64, np.nan, "<f4").tobytes(), np.ones(64, "<f4").tobytes()],
                            strict=False):  # fmt: skip
            connection.execute("UPDATE vector SET numbers = ? WHERE key = ?", (bad, key))
    inner = Counting()
    with closing(CachedEmbedder(inner, path)) as cached:
        assert np.array_equal(cached.embed(["a b", "c d", "e f", "g h"]), right)
    assert sorted(inner.texts) == ["a b", "c d", "e f"]


def test_the_oldest_make_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.models.embedders.MOST_VECTORS", 100)
    with VectorStore(path) as store:
        for i in range(40):
            store.put({f"{i}-{j}".encode(): np.eye(1, 384, j, dtype=np.float32)[0] for j in range(20)})
        kept = store.get([f"{i}-0".encode() for i in range(40)])
        assert b"39-0" in kept
        assert b"0-0" not in kept
        count = store.summary()
    assert count == 100
    assert path.stat().st_size < 400_000


def test_a_knowledge_base_keeps_what_its_own_embedder_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    question, entities = "Where was Marie Curie born?", ("Marie Curie",)
    asked, labels, mine = [], [], Counting()
    with ModelServer() as server:
        for _ in range(2):
            server.requests.clear()
            with kgsparql.open(FIXTURES / "nobel.ttl", embedder=f"{server.url}#small") as knowledge:
                labels.append([a.label for a in knowledge.ask(question, entities=entities).answers])
            asked.append(sum(len(r.body["input"]) for r in server.requests if r.path == "/v1/embeddings"))
    assert (asked[0] > 10, asked[1], labels[0] == labels[1] != []) == (True, 0, True)
    counts = []
    for _ in range(2):
        kgsparql.open(FIXTURES / "nobel.ttl", embedder=mine).ask(question, entities=entities)
        counts.append(len(mine.texts))
    assert counts[1] == 2 * counts[0], "what goes by a name of its own is not kept"
