"""Exporting a model to ONNX: once for each model, by torch in a process of its own, into the cache directory.

An export is a directory. It is used only if its files are those whose SHA-256 was written beside them, after its
vectors had been compared with those of the model.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgsparql.errors import EmbeddingError, StoreError
from kgsparql.models.embedders.local_models import LocalModel
from kgsparql.models.embedders.onnx_model import GRAPH_FILE, INPUTS, OUTPUT, WEIGHTS_FILE, OnnxModel, write_optimised
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import (
    damaged,
    partial_path,
    put_in_place,
    read_sealed_json,
    replace_text,
    sealed_json,
    seals,
    writer_lock,
)

FOLDER = "models"
"""Of the cache directory."""

_VERSION = 2
"""Of how an export is made; another number makes all anew."""
_CHECKED = "checked.json"
_TOLERANCE = 1e-3
"""The largest difference between a number of a vector by ONNX and by torch."""
_TIME_LIMIT_S = 300.0
_SAMPLE = (
    "", "a", "Where was Marie Curie born?", "directed by / starring", "NASA's 1969 mission: Apollo-11!", "word " * 40,
    "Łódź, Besançon, 東京, e\N{COMBINING ACUTE ACCENT} \N{ROCKET}", "a text longer than what the model reads " * 60,
)  # fmt: skip


def exported_model(model: LocalModel, *, note: Callable[[str], None] | None = None) -> Path:
    """The directory with the export of a model; made at the first use, while other processes wait.

    :param note: called with a line for a person before something is made that takes long.
    :raises EmbeddingError: if the model cannot be exported, or its vectors then differ.
    :raises StoreError: if nothing can be written to the cache directory.
    """
    if model.directory is None:
        raise EmbeddingError(f"{model.label} is not on this machine")
    export = cache_directory() / FOLDER / _key(model, model.directory)
    if is_whole(export):
        return export
    with writer_lock(export, wait_s=_TIME_LIMIT_S):
        if not is_whole(export):  # else another process has just made it
            model.check_weights()
            if note is not None:
                note(f"{model.label} is exported once, to be run without torch from now on: this takes about 15 s")
            _export(model.directory, export)
    return export


def _key(model: LocalModel, directory: Path) -> str:
    """A name for the export of just these weights and settings, as this ONNX Runtime optimises it."""
    settings = sorted(entry for entry in directory.rglob("*.json") if entry.is_file())
    digest = hashlib.sha256(f"{_VERSION}\n{version('onnxruntime')}\n{model.name}\n".encode())
    for setting in settings:
        digest.update(setting.read_bytes())
    return digest.hexdigest()[:32]


def is_whole(export: Path) -> bool:
    """Tell whether an export is there and is what was compared; 90 MB are read in 0.2 s if their time is another."""
    try:
        sealed = read_sealed_json(export / _CHECKED)["files"]
        return len(sealed) == 2 and not damaged(export, sealed)
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _write_checked(export: Path) -> None:
    sealed = seals(export, [export / GRAPH_FILE, export / WEIGHTS_FILE])
    replace_text(export / _CHECKED, sealed_json({"files": sealed}))


def _export(directory: Path, export: Path) -> None:
    """Export a model, and write beside its files what they are."""
    partial = partial_path(export)
    try:
        partial.mkdir(parents=True)
        _run_export(directory, partial)
        _write_checked(partial)
        shutil.rmtree(export, ignore_errors=True)  # a damaged one
        put_in_place(partial, export)
    except EmbeddingError:
        raise
    except OSError as error:
        raise StoreError(f"{export}: the exported model cannot be kept: {error.strerror}", path=str(export)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run_export(directory: Path, partial: Path) -> None:
    """Have a process of its own export a model: torch takes memory that is not given back, and may crash."""
    paths = [str(Path(__file__).parents[3]), *filter(None, sys.path)]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, str(directory), str(partial)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise EmbeddingError(f"the model in {directory} was not exported within {_TIME_LIMIT_S:.0f} s") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise EmbeddingError(f"the model in {directory} cannot be exported to ONNX: {printable(lines[-1], 300)}")


def _make(directory: Path, partial: Path) -> None:
    """In a process of its own: export, and compare the vectors.

    :raises EmbeddingError: if they differ.
    """
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(
        str(directory), device="cpu", local_files_only=True, model_kwargs={"attn_implementation": "eager"}
    ).eval()

    class Vectors(torch.nn.Module):
        """From tokens to vectors: the model with its pooling."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.encoder({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]

    ids = torch.ones(2, 7, dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    texts_and_tokens = {0: "texts", 1: "tokens"}
    whole = partial / "whole"
    torch.onnx.export(
        Vectors(), (ids, mask), str(whole), input_names=list(INPUTS), output_names=[OUTPUT], opset_version=17,
        dynamic_axes={**dict.fromkeys(INPUTS, texts_and_tokens), OUTPUT: {0: "texts"}}, dynamo=False,
    )  # fmt: skip
    write_optimised(whole, partial)
    whole.unlink()
    ours = OnnxModel(partial, directory).encode(_SAMPLE)
    difference = float(np.abs(ours - encoder.encode(list(_SAMPLE), show_progress_bar=False)).max())
    if not difference <= _TOLERANCE:
        raise EmbeddingError(f"its vectors differ by {difference:.2g}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch warns of the exporter that needs no further package
    _make(Path(sys.argv[1]), Path(sys.argv[2]))
