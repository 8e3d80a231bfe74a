"""The default model without torch: exported once, checked, and torch wherever that cannot be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError

from kgsparql.errors import EmbeddingError, StoreError
from kgsparql.models import onnx
from kgsparql.models.embedding import (
    DEFAULT_MODEL,
    LocalModel,
    SentenceTransformerEmbedder,
    find_model,
    has_sentence_transformers,
)
from kgsparql.models.onnx import _MOST_CELLS, _MOST_PADDING, FOLDER, _batches_of_like_length, has_onnx

pytestmark = pytest.mark.skipif(
    not has_sentence_transformers() or not has_onnx() or find_model(DEFAULT_MODEL) is None,
    reason="needs pip install 'kgsparql[embed,offline-model]'",
)

EMBED = """
import sys
import numpy as np
from kgsparql.models.embedders import open_embedder
notes = []
embedder = open_embedder("auto", note=notes.append)
texts = ["bicycle", "", "the physician who was born in Łódź " * 12, "doctor", "physician", *map(str, range(70))]
vectors = embedder.embed(texts)
alone = np.concatenate([embedder.embed([text]) for text in texts[:6]])
assert abs(vectors[:6] - alone).max() < 1e-5, "the order of texts and the batch they are in change nothing"
assert vectors[3] @ vectors[4] > vectors[3] @ vectors[0] + 0.2
print(vectors.shape, "torch" in sys.modules, [note.split(":")[0] for note in notes])
"""


def embedded(cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EMBED],
        env={**os.environ, "KGSPARQL_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_model_is_exported_once_and_anew_where_the_file_is_damaged(tmp_path: Path) -> None:
    exported = "['all-MiniLM-L6-v2 is exported once, to be run without torch from now on']"
    assert embedded(tmp_path) == f"(75, 384) False {exported}\n"
    (export,) = (tmp_path / FOLDER).iterdir()
    assert embedded(tmp_path) == "(75, 384) False []\n"
    weights = export / "weights"
    os.utime(weights, ns=(0, 0))  # as in a copy of a cache: hashed, and found to be the same
    assert embedded(tmp_path) == "(75, 384) False []\n"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])  # as a process leaves it that is killed, were it not for the renaming
    assert embedded(tmp_path) == f"(75, 384) False {exported}\n"
    assert list((tmp_path / FOLDER).iterdir()) == [export]
    assert sorted(entry.name for entry in export.iterdir()) == ["checked.json", "model.onnx", "weights"]


@pytest.mark.deep
def test_its_vectors_are_those_of_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path))
    model = find_model(DEFAULT_MODEL)
    assert model is not None
    texts = [
        *onnx._SAMPLE,
        *(f"{number} birds in {number * 7} trees of a forest" * (number % 5) for number in range(40)),
    ]
    difference = abs(onnx.OnnxEmbedder(model).embed(texts) - SentenceTransformerEmbedder(model).embed(texts)).max()
    assert difference < 1e-4
    assert list((tmp_path / FOLDER).iterdir()), "torch made both"


@pytest.mark.deep
def test_torch_runs_it_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    note = "['the embedding model is run by torch, which takes ten seconds to start']"
    assert embedded(tmp_path) == f"(75, 384) True {note}\n"


def test_two_processes_export_once_and_a_model_that_cannot_be_exported_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"hidden_size": 7, "model_type": "no such type"}')
    (model / "model.safetensors").write_bytes(b"weights")

    def export() -> None:
        onnx.exported_model(LocalModel("model", model), model, lambda _: None)

    def another_while_the_first_is_at_work(directory: Path, partial: Path) -> None:
        with pytest.raises(StoreError, match="is writing here"):
            export()
        raise EmbeddingError("the first one stopped")

    with pytest.raises(SafetensorError, match="header"):
        export()
    assert list((tmp_path / "cache" / FOLDER).iterdir()) == []
    monkeypatch.setattr(onnx, "_TIME_LIMIT_S", 0.3)
    monkeypatch.setattr(onnx, "_write_export", another_while_the_first_is_at_work)
    with pytest.raises(EmbeddingError, match="the first one stopped"):
        export()


def test_texts_of_like_length_are_a_batch_and_padding_is_bounded() -> None:
    lengths = [30, 5, 5, 6, 31, 5, 60, 8] + [250] * 20
    batches = _batches_of_like_length(lengths)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert batches[:4] == [[1, 2, 5, 3, 7], [0, 4], [6], list(range(8, 16))]  # 2 048 tokens hold eight of 250
    for batch in batches:
        assert sum(lengths[batch[-1]] - lengths[place] for place in batch) <= _MOST_PADDING
        assert len(batch) * lengths[batch[-1]] <= _MOST_CELLS
