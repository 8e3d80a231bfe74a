"""The default model by NumPy, without torch: half a second to start, not nine; vectors are torch's to 1e-4.

Source: Devlin et al. (NAACL 2019) for BERT; Reimers and Gurevych (EMNLP 2019) for the mean of its tokens.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby

import numpy as np

from kgsparql.models.embedding import Floats, SentenceTransformerEmbedder

_MOST_THREADS = 4  # more gain nothing with a model this small, and an answer is not worth all processors of a server
_TOKENS_AT_ONCE = 1_024  # of a batch: its widest array has 6 MB, and weights are read once for all of it
_MOST_TOKENS = 256  # of a text; this model was trained with as many

# The share of x that GELU lets through is looked up: the error function is what NumPy has not, and SciPy's takes longer
# than all else. A step of 1/4096 changes no number of a vector by more than 5e-6.
_STEPS, _BOUND, _ROWS = 4_096, 8, 16
_SHARES = np.array(
    [(1 + math.erf((step / _STEPS - _BOUND) * 2**-0.5)) / 2 for step in range(2 * _BOUND * _STEPS + 1)],
    dtype=np.float32,
)


class BertEmbedder(SentenceTransformerEmbedder):
    """Embedder by NumPy; several threads may use it."""

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._model.check_weights()
        directory = self._model.directory
        self._config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        return load_file(directory / "model.safetensors")

    def _encoded_texts(self, texts: Sequence[str]) -> Floats:
        with self._lock:
            self._weights  # noqa: B018 - loaded by one thread
        # One by one: the tokenizer's own threads make every later fork of the process print a warning.
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        ends = np.cumsum([len(tokens[place]) for place in order]) // _TOKENS_AT_ONCE
        batches = [[tokens[order[at]] for at in own] for _, own in groupby(range(len(order)), key=ends.__getitem__)]
        with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1, len(batches))) as pool:
            found = np.concatenate(list(pool.map(self._encode_batch, batches)))
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors

    def _encode_batch(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Encode texts, the shorter first; their tokens are rows of one array, so nothing is padded."""
        groups, start = [], 0
        for length, own in groupby(texts, key=len):
            shape = (len([*own]), length)
            groups.append((slice(start, start := start + shape[0] * length), shape))
        words, places, types = (
            self._weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        ids, at = (np.concatenate([*rows]) for rows in (texts, (range(len(text)) for text in texts)))
        hidden = self._normed_layer("embeddings", words[ids] + places[at] + types[0])
        for number in range(self._config["num_hidden_layers"]):
            layer = f"encoder.layer.{number}"
            mixed = self._linear_layer(
                f"{layer}.attention.output", self._attended_to(f"{layer}.attention.self", hidden, groups)
            )
            hidden = self._normed_layer(f"{layer}.attention.output", hidden + mixed)
            wide = _gelu(self._linear_layer(f"{layer}.intermediate", hidden))
            hidden = self._normed_layer(f"{layer}.output", hidden + self._linear_layer(f"{layer}.output", wide))
        return np.concatenate([hidden[rows].reshape(*shape, -1).mean(1) for rows, shape in groups])

    def _attended_to(self, name: str, hidden: Floats, groups: Sequence[tuple[slice, tuple[int, int]]]) -> Floats:
        heads = self._config["num_attention_heads"]
        projected = [self._linear_layer(name, hidden, part) for part in ("query", "key", "value")]
        mixed = np.empty_like(hidden)
        for rows, shape in groups:
            query, key, value = (one[rows].reshape(*shape, heads, -1).swapaxes(1, 2) for one in projected)
            fit = query @ key.swapaxes(2, 3) * np.float32(query.shape[-1] ** -0.5)
            share = np.exp(fit - fit.max(-1, keepdims=True))
            share /= share.sum(-1, keepdims=True)
            mixed[rows] = (share @ value).swapaxes(1, 2).reshape(-1, hidden.shape[1])
        return mixed

    def _linear_layer(self, name: str, rows: Floats, part: str = "dense") -> Floats:
        made = rows @ self._weights[f"{name}.{part}.weight"].T
        made += self._weights[f"{name}.{part}.bias"]
        return made

    def _normed_layer(self, name: str, rows: Floats) -> Floats:
        rows -= rows.mean(-1, keepdims=True)
        rows /= np.sqrt(np.square(rows).mean(-1, keepdims=True) + np.float32(self._config["layer_norm_eps"]))
        return rows * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]


def _gelu(wide: Floats) -> Floats:
    """Let through of each number the share of normally distributed ones that are below it, in place."""
    for at in range(0, len(wide), _ROWS):  # so few that they stay in the processor's cache: a third of the time
        rows = wide[at : at + _ROWS]
        rows *= _SHARES.take((rows * _STEPS + (_BOUND * _STEPS + 0.5)).astype(np.int32), mode="clip")
    return wide
