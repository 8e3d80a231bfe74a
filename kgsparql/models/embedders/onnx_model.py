"""A sentence-transformers model exported to ONNX, run by ONNX Runtime: it starts in 0.3 s, torch in nine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INPUTS = ("ids", "mask")
OUTPUT = "vectors"
GRAPH_FILE = "model.onnx"
WEIGHTS_FILE = "weights"
"""Beside the graph, not in it: they are mapped into memory, and of the model's words only those of a text are read."""

_MOST_THREADS = 4
"""More gain nothing with a model this small, and an answer is not worth all processors of a server."""
_MOST_TEXTS = 64
_MOST_CELLS = 2_048
"""Tokens of a batch with its padding: what eight long passages have; 64 of them would take 600 MB, in each thread."""
_MOST_PADDING = 24
"""Tokens of padding in a batch: more take as long as one more batch, whose weights are read anew."""
_USUAL_TOKENS = 256


class OnnxModel:
    """Encodes texts by an exported model; several threads may use it.

    :param export: what :func:`write_optimised` has written; inputs are :data:`INPUTS`, ``(n_texts, n_tokens)``.
    :param directory: the model it was exported from, for the tokenizer.
    :raises Exception: what the libraries raise for a file that is not one.
    """

    def __init__(self, export: Path, directory: Path) -> None:
        from tokenizers import Tokenizer

        options = _options()
        options.intra_op_num_threads = 1  # each batch has a thread of its own: less is waited for
        self._session = _session(export / GRAPH_FILE, options)
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_most_tokens(directory))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape ``(n_texts, dimension)``, in the order of the texts; there must be one at least."""
        # One by one: the tokenizer's own threads make every later fork of the process print a warning.
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        batches = _batches([len(own) for own in tokens])
        with ThreadPoolExecutor(min(_threads(), len(batches))) as pool:
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
        (vectors,) = self._session.run([OUTPUT], dict(zip(INPUTS, (ids, mask), strict=True)))
        return np.asarray(vectors, dtype=np.float32)


def _threads() -> int:
    wanted = os.environ.get("OMP_NUM_THREADS", "")  # as torch and NumPy have it
    return max(1, int(wanted)) if wanted.isdecimal() else min(_MOST_THREADS, os.cpu_count() or 1)


def write_optimised(file: Path, export: Path) -> None:
    """Write a model as ONNX Runtime makes it anew at each start, its weights in a file of their own: 0.1 s of a start.

    :param file: the model, in one file.
    :param export: an empty directory.
    :raises Exception: what ONNX Runtime raises.
    """
    from onnxruntime import GraphOptimizationLevel

    options = _options()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond, only for this processor
    options.optimized_model_filepath = str(export / GRAPH_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    _session(file, options)


def _options() -> Any:
    from onnxruntime import SessionOptions

    options = SessionOptions()
    options.log_severity_level = 3
    return options


def _session(file: Path, options: Any) -> Any:
    from onnxruntime import InferenceSession

    return InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """The places of texts in batches of texts of like length: a batch costs what its longest text costs, for each."""
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


def _most_tokens(directory: Path) -> int:
    """The number of tokens after which a text is cut."""
    file = directory / "sentence_bert_config.json"
    kept = json.loads(file.read_text(encoding="utf-8")).get("max_seq_length") if file.is_file() else None
    return kept if isinstance(kept, int) else _USUAL_TOKENS
