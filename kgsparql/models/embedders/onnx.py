"""The default model without torch; torch runs it where it cannot be exported."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import KgsparqlError
from kgsparql.models.embedders.local_models import LocalModel
from kgsparql.models.embedders.sentence_transformer import SentenceTransformerEmbedder
from kgsparql.models.embedding import unit_vectors

if TYPE_CHECKING:
    from kgsparql.models.embedders.onnx_model import OnnxModel


def has_onnx() -> bool:
    """Whether the packages that export and run a model are installed; none is imported."""
    return all(importlib.util.find_spec(package) for package in ("onnx", "onnxruntime", "tokenizers"))


class OnnxEmbedder:
    """A local model run by ONNX Runtime; its vectors are torch's, to 1e-3 in each number.

    :param note: called with what a person should know: that the model is exported, or that torch runs it, and why.
    """

    def __init__(self, model: LocalModel, *, note: Callable[[str], None] | None = None) -> None:
        self._portable = SentenceTransformerEmbedder(model)
        self._model = model
        self._note = note
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """As :meth:`Embedder.name`."""
        return self._portable.name

    @property
    def dimension(self) -> int:
        """As :meth:`Embedder.dimension`."""
        return self._portable.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As :meth:`Embedder.embed`."""
        with self._lock:
            exported = self._exported
        if exported is None or not texts:
            return self._portable.embed(texts)
        return unit_vectors(exported.encode(texts), len(texts), self.dimension, self.name)

    @cached_property
    def _exported(self) -> OnnxModel | None:
        """The exported model; ``None`` where torch is to be used."""
        if self._model.directory is None:
            return None
        from kgsparql.models.embedders.onnx_export import exported_model
        from kgsparql.models.embedders.onnx_model import OnnxModel

        try:
            return OnnxModel(exported_model(self._model, note=self._note), self._model.directory)
        except KgsparqlError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime makes of the file, torch can do without it
            reason = f"{type(error).__name__}: {error}"
        if self._note is not None:
            self._note(f"the embedding model is run by torch, which takes ten seconds to start: {reason}")
        return None
