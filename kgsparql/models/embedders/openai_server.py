"""An embedding model behind an OpenAI-compatible server."""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError, KgsparqlError, UnreachableError
from kgsparql.models.embedding import HINT, unit_vectors
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.recording import Recording

KIND = "embedding"
"""The kind of exchange that keeps a vector of a server."""


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible ``/embeddings``; ``OPENAI_API_KEY`` is its key, if the server wants one.

    :param timeout_s: for one request of at most ``batch_size`` texts, over all its tries.
    :raises InputError: for a base URL that cannot be one.
    """

    batch_size = 128

    def __init__(
        self, base_url: str, model: str, *, timeout_s: float = 60.0, recording: Recording | None = None
    ) -> None:
        self._recording = recording
        self._lock = threading.Lock()
        self._client = OpenAIClient(base_url, timeout_s=timeout_s)
        self._model = model
        self._dimension: int | None = None

    @property
    def name(self) -> str:
        """As :meth:`Embedder.name`."""
        return f"{self._model}@{self._client.base_url.split('://', 1)[1]}"

    @property
    def dimension(self) -> int:
        """As :meth:`Embedder.dimension`."""
        if self._dimension is None:
            self.embed(["a"])
        return self._dimension or 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As :meth:`Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        if self._recording is None:
            return self._vectors_of_server(texts)
        with self._lock:  # threads that embed the same text get the same vector
            return self._recorded_vectors(texts, self._recording)

    def _recorded_vectors(self, texts: Sequence[str], recording: Recording) -> NDArray[np.float32]:
        """The vectors of texts, each recorded by itself: batches depend on what is kept already."""
        place = {"server": self._client.base_url, "model": self._model}
        requests = {text: {**place, "input": text} for text in dict.fromkeys(texts)}
        found: dict[str, NDArray[np.float32]] = {}
        for text, request in requests.items():
            reply = recording.get(KIND, request, what=f"a vector of {self.name}")
            if reply is not None:
                found[text] = np.frombuffer(b64decode(str(reply["float32"])), dtype="<f4").astype(np.float32)
        missing = [text for text in requests if text not in found]
        if missing:
            try:
                vectors = self._vectors_of_server(missing)
            except KgsparqlError as error:
                recording.fail(KIND, requests[missing[0]], error)
                raise
            for text, vector in zip(missing, vectors, strict=True):
                recording.put(KIND, requests[text], {"float32": b64encode(vector.astype("<f4").tobytes()).decode()})
                found[text] = vector
        stacked = np.stack([found[text] for text in texts])
        self._dimension = stacked.shape[1]
        return stacked

    def _vectors_of_server(self, texts: Sequence[str]) -> NDArray[np.float32]:
        starts = range(0, len(texts), self.batch_size)
        return np.concatenate([self._vectors_of_batch(texts[at : at + self.batch_size]) for at in starts])

    def close(self) -> None:
        """Close the connection; the next text opens another."""
        self._client.close()

    def _vectors_of_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # A server may refuse an empty input, so a space stands for it.
        request = {"model": self._model, "input": [text or " " for text in texts]}
        try:
            reply = self._client.embeddings(request)
        except UnreachableError as error:
            raise EmbeddingError(
                f"{self.name}: no embeddings: {error.message}", hint=error.hint, cause=error.code, **error.detail
            ) from error
        vectors = unit_vectors(_vectors_in_order(reply, len(texts), self.name), len(texts), self._dimension, self.name)
        self._dimension = vectors.shape[1]
        return vectors


def _vectors_in_order(reply: Mapping[str, Any], count: int, name: str) -> NDArray[np.float32]:
    """The vectors of a reply in the order of their numbers, not of the list."""
    try:
        data = sorted(reply["data"], key=lambda item: item["index"])
        numbers = [item["index"] for item in data]
        with np.errstate(over="ignore"):  # to infinity, which is refused
            vectors = np.array([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise EmbeddingError(f"{name}: the reply is no list of numbered vectors of one length", hint=HINT) from error
    if numbers != list(range(count)):
        raise EmbeddingError(f"{name}: {len(numbers)} vectors for {count} texts, or numbered wrongly", hint=HINT)
    return vectors
