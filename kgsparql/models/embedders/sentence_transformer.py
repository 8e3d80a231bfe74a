"""Any sentence-transformers model, run by torch, which takes seconds to import."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError
from kgsparql.models.embedders.local_models import LocalModel, find_model
from kgsparql.models.embedding import INSTALL_HINT, unit_vectors
from kgsparql.rdf.terms import printable

_HUB_TIMEOUT_S = 5.0


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
        self._model.check_weights()
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
