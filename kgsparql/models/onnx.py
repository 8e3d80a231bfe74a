"""The default model without torch: exported to ONNX once, then run by ONNX Runtime, which starts in 0.3 s, not nine.

An export is made by torch in a process of its own, into the cache directory. It is used only if its files are those
whose SHA-256 was written beside them, after its vectors had been compared with those of the model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError, KgsparqlError, StoreError
from kgsparql.models.embedding import LocalModel, SentenceTransformerEmbedder, unit_vectors
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

FOLDER = "models"  # the directory of the exports, in the cache directory
_INPUTS = ("ids", "mask")
_OUTPUT = "vectors"
_GRAPH_FILE = "model.onnx"
_WEIGHTS_FILE = "weights"  # beside the graph: mapped into memory, only the words of a text are read
_CHECKED = "checked.json"
_VERSION = 2  # of how an export is made: another number makes all anew
_TOLERANCE = 1e-3  # between a number of a vector by ONNX and by torch
_TIME_LIMIT_S = 300.0
_SAMPLE = (
    "", "a", "Where was Marie Curie born?", "directed by / starring", "NASA's 1969 mission: Apollo-11!", "word " * 40,
    "Łódź, Besançon, 東京, e\N{COMBINING ACUTE ACCENT} \N{ROCKET}", "a text longer than what the model reads " * 60,
)  # fmt: skip

_MOST_THREADS = 4  # more gain nothing with a model this small, and an answer is not worth all processors of a server
_MOST_TEXTS = 64  # of a batch
_MOST_CELLS = 2_048  # tokens of a batch with its padding: 64 long passages would take 600 MB in each thread
_MOST_PADDING = 24  # tokens in a batch: more take as long as one more batch, whose weights are read anew
_USUAL_TOKENS = 256


def has_onnx() -> bool:
    """Tell whether the packages that export and run a model are installed; none is imported."""
    return all(importlib.util.find_spec(package) for package in ("onnx", "onnxruntime", "tokenizers"))


class OnnxEmbedder(SentenceTransformerEmbedder):
    """Embedder by ONNX Runtime; its vectors are torch's, to 1e-3 in each number. Torch runs what cannot be exported.

    :param note: called with what a person should know: that the model is exported, or that torch runs it, and why.
    """

    def __init__(self, model: LocalModel, *, note: Callable[[str], None] | None = None) -> None:
        super().__init__(model)
        self._note = note or (lambda _: None)
        self._opening = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See :meth:`Embedder.embed`."""
        with self._opening:
            exported = self._exported_model
        if exported is None or not texts:
            return super().embed(texts)
        return unit_vectors(exported.encode(texts), len(texts), self.dimension, self.name)

    @cached_property
    def _exported_model(self) -> _OnnxModel | None:
        if self._model.directory is None:
            return None
        try:
            return _OnnxModel(exported_model(self._model, self._model.directory, self._note), self._model.directory)
        except KgsparqlError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime makes of the file, torch can do without it
            reason = f"{type(error).__name__}: {error}"
        self._note(f"the embedding model is run by torch, which takes ten seconds to start: {reason}")
        return None


class _OnnxModel:
    """Exported model that encodes texts; several threads may use it.

    :param export: as :func:`exported_model` returns it.
    :param directory: of the model it was exported from, for the tokenizer.
    :raises Exception: what the libraries raise for a file that is not one.
    """

    def __init__(self, export: Path, directory: Path) -> None:
        from tokenizers import Tokenizer

        options = _session_options()
        options.intra_op_num_threads = 1  # each batch has a thread of its own: less is waited for
        self._session = _session_of(export / _GRAPH_FILE, options)
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        settings = directory / "sentence_bert_config.json"
        most = json.loads(settings.read_text(encoding="utf-8")).get("max_seq_length") if settings.is_file() else None
        self._tokenizer.enable_truncation(most if isinstance(most, int) else _USUAL_TOKENS)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Make vectors of shape ``(n_texts, dimension)``, in the order of the texts; there must be one at least."""
        # One by one: the tokenizer's own threads make every later fork of the process print a warning.
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        batches = _batches_of_like_length([len(own) for own in tokens])
        wanted = os.environ.get("OMP_NUM_THREADS", "")  # as torch and NumPy have it
        threads = max(1, int(wanted)) if wanted.isdecimal() else min(_MOST_THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(min(threads, len(batches))) as pool:
            found = np.concatenate(list(pool.map(self._encode_batch, [[tokens[i] for i in own] for own in batches])))
        vectors = np.empty_like(found)
        vectors[np.concatenate(batches)] = found
        return vectors

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, numbers in enumerate(tokens):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        (vectors,) = self._session.run([_OUTPUT], dict(zip(_INPUTS, (ids, mask), strict=True)))
        return np.asarray(vectors, dtype=np.float32)


def _batches_of_like_length(lengths: Sequence[int]) -> list[list[int]]:
    """Put the places of texts in batches of like length: a batch costs what its longest text costs, for each."""
    batches: list[list[int]] = [[]]
    padding = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        size, length = len(batches[-1]), lengths[place]
        padding += size * (length - lengths[batches[-1][-1]]) if size else 0
        if padding > _MOST_PADDING or size == _MOST_TEXTS or (size and (size + 1) * length > _MOST_CELLS):
            batches.append([])
            padding = 0
        batches[-1].append(place)
    return batches


def _session_options() -> Any:
    from onnxruntime import SessionOptions

    options = SessionOptions()
    options.log_severity_level = 3
    return options


def _session_of(file: Path, options: Any) -> Any:
    from onnxruntime import InferenceSession

    return InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


# --- Exporting


def exported_model(model: LocalModel, directory: Path, note: Callable[[str], None]) -> Path:
    """Return the directory with the export of a model; made at the first use, while other processes wait."""
    # The export of just these weights and settings, as this ONNX Runtime optimises it.
    digest = hashlib.sha256(f"{_VERSION}\n{version('onnxruntime')}\n{model.name}\n".encode())
    for setting in sorted(entry for entry in directory.rglob("*.json") if entry.is_file()):
        digest.update(setting.read_bytes())
    export = cache_directory() / FOLDER / digest.hexdigest()[:32]
    if _is_whole(export):
        return export
    with writer_lock(export, wait_s=_TIME_LIMIT_S):
        if not _is_whole(export):  # else another process has just made it
            model.check_weights()
            note(f"{model.label} is exported once, to be run without torch from now on: this takes about 15 s")
            _export_model(directory, export)
    return export


def _is_whole(export: Path) -> bool:
    """Tell whether an export is there and is what was compared: its 90 MB are read only if their time has changed."""
    try:
        sealed = read_sealed_json(export / _CHECKED)["files"]
        return len(sealed) == 2 and not damaged(export, sealed)
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _export_model(directory: Path, export: Path) -> None:
    """Export a model, and write beside its files what they are."""
    partial = partial_path(export)
    try:
        partial.mkdir(parents=True)
        _run_export(directory, partial)
        sealed = seals(partial, [partial / _GRAPH_FILE, partial / _WEIGHTS_FILE])
        replace_text(partial / _CHECKED, sealed_json({"files": sealed}))
        shutil.rmtree(export, ignore_errors=True)  # a damaged one
        put_in_place(partial, export)
    except OSError as error:
        if isinstance(error, KgsparqlError):
            raise
        raise StoreError(f"{export}: the exported model cannot be kept: {error.strerror}", path=str(export)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run_export(directory: Path, partial: Path) -> None:
    """Have a process of its own export a model: torch takes memory that is not given back, and may crash."""
    paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
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


def _main(directory: Path, partial: Path) -> None:
    """Export a model, in a process of its own, and compare the vectors."""
    import torch
    from onnxruntime import GraphOptimizationLevel
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
        Vectors(), (ids, mask), str(whole), input_names=list(_INPUTS), output_names=[_OUTPUT], opset_version=17,
        dynamic_axes={**dict.fromkeys(_INPUTS, texts_and_tokens), _OUTPUT: {0: "texts"}}, dynamo=False,
    )  # fmt: skip
    # Written as ONNX Runtime would optimise it at each start, the weights in a file of their own: saves 0.1 s.
    options = _session_options()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond, only for this processor
    options.optimized_model_filepath = str(partial / _GRAPH_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", _WEIGHTS_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    _session_of(whole, options)
    whole.unlink()
    ours = _OnnxModel(partial, directory).encode(_SAMPLE)
    difference = float(np.abs(ours - encoder.encode(list(_SAMPLE), show_progress_bar=False)).max())
    if not difference <= _TOLERANCE:
        raise EmbeddingError(f"its vectors differ by {difference:.2g}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch warns of the exporter that needs no further package
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
