"""The default model without torch: written as ONNX once, then run by ONNX Runtime, which starts in 0.3 s, not nine.

An export is made into the cache directory. It is used only if its files are those whose SHA-256 was written beside
them, after its vectors had been compared with those that torch makes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import EmbeddingError, KgsparqlError, StoreError
from kgsparql.models.embedding import DEFAULT_MODEL, LocalModel, SentenceTransformerEmbedder, unit_vectors
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
_VERSION = 3  # of how an export is made: another number makes all anew
_TOLERANCE = 1e-3  # between a number of a vector by ONNX and by torch
_TIME_LIMIT_S = 300.0
_OPSET, _IR_VERSION = 17, 8  # of ONNX
# Texts and the first two numbers of their vectors, as torch makes them.
_SAMPLE = {
    "": (-0.11879999935626984, 0.04830000177025795),
    "a": (-0.036400001496076584, 0.034699998795986176),
    "Where was Marie Curie born?": (-0.02800000086426735, 0.029899999499320984),
    "directed by / starring": (-0.08160000294446945, -0.0203000009059906),
    "NASA's 1969 mission: Apollo-11!": (-0.06880000233650208, 0.043800000101327896),
    "word " * 40: (0.02969999983906746, -0.04430000111460686),
    "Łódź, Besançon, 東京, e\N{COMBINING ACUTE ACCENT} \N{ROCKET}": (0.07639999687671661, 0.06939999759197235),
    "a text longer than what the model reads " * 60: (0.0430000014603138, -0.03180000185966492),
}

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
        self._session = _session_of(str(export / _GRAPH_FILE), options)
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


def _session_of(model: str | bytes, options: Any) -> Any:
    from onnxruntime import InferenceSession

    return InferenceSession(model, options, providers=["CPUExecutionProvider"])


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
            note(f"{model.label} is exported once, to be run without torch from now on: this takes about 2 s")
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
        _write_export(directory, partial)
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


def _write_export(directory: Path, partial: Path) -> None:
    """Write the files of an export, and compare its vectors with those that are known."""
    from onnxruntime import GraphOptimizationLevel

    # Written as ONNX Runtime would optimise it at each start, the weights in a file of their own: saves 0.1 s.
    options = _session_options()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond, only for this processor
    options.optimized_model_filepath = str(partial / _GRAPH_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", _WEIGHTS_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    _session_of(_Bert(directory).model(), options)
    vectors = _OnnxModel(partial, directory).encode(list(_SAMPLE))
    difference = float(np.abs(vectors[:, :2] - np.array(list(_SAMPLE.values()))).max())
    if not difference <= _TOLERANCE:
        raise EmbeddingError(f"its vectors differ by {difference:.2g} from those of {DEFAULT_MODEL}")


class _Bert:
    """ONNX graph of a BERT whose vectors are the means of its tokens: what torch would trace, without its ten seconds.

    Source: Devlin et al. (NAACL 2019); Reimers and Gurevych (EMNLP 2019) for the mean.
    """

    def __init__(self, directory: Path) -> None:
        from safetensors.numpy import load_file

        self._config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self._weights = load_file(directory / "model.safetensors")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        """Make the model, from tokens to vectors."""
        from onnx import TensorProto, helper

        size = self._config["hidden_size"]
        seen = self._add_node("Cast", _INPUTS[1], to=TensorProto.FLOAT)
        unseen = self._add_node("Sub", self._add_value(1.0), self._add_node("Unsqueeze", seen, self._add_value([1, 2])))
        hidden = self._embedding_nodes()
        for number in range(self._config["num_hidden_layers"]):
            hidden = self._layer_nodes(
                f"encoder.layer.{number}", hidden, self._add_node("Mul", unseen, self._add_value(-1e9))
            )
        each = self._add_node("Unsqueeze", seen, self._add_value([2]))
        total = self._add_node("ReduceSum", self._add_node("Mul", hidden, each), self._add_value([1]), keepdims=0)
        count = self._add_node("ReduceSum", each, self._add_value([1]), keepdims=0)
        mean = self._add_node("Div", total, self._add_node("Max", count, self._add_value(1e-9)))
        self._nodes.append(helper.make_node("LpNormalization", [mean], [_OUTPUT], axis=-1, p=2))
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in _INPUTS]
        outputs = [helper.make_tensor_value_info(_OUTPUT, TensorProto.FLOAT, ["texts", size])]
        graph = helper.make_graph(self._nodes, "bert", inputs, outputs, self._constants)
        opset = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION).SerializeToString()

    def _embedding_nodes(self) -> str:
        tables = {
            kind: self._weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "token_type", "position")
        }
        words = self._add_node("Gather", self._add_value(tables["word"]), _INPUTS[0])
        length = self._add_node("Gather", self._add_node("Shape", _INPUTS[0]), self._add_value([1]))
        places = self._add_node("Slice", self._add_value(tables["position"]), self._add_value([0]), length)
        typed = self._add_node("Add", words, self._add_value(tables["token_type"][0]))
        return self._norm_of("embeddings", self._add_node("Add", typed, places))

    def _layer_nodes(self, name: str, hidden: str, bias: str) -> str:
        heads = self._config["num_attention_heads"]
        shape = self._add_value([0, 0, heads, self._config["hidden_size"] // heads])

        def headed(what: str, order: Sequence[int]) -> str:
            own = self._linear_of(f"{name}.attention.self.{what}", hidden)
            return self._add_node("Transpose", self._add_node("Reshape", own, shape), perm=order)

        fit = self._add_node("MatMul", headed("query", (0, 2, 1, 3)), headed("key", (0, 2, 3, 1)))
        scaled = self._add_node("Mul", fit, self._add_value((self._config["hidden_size"] / heads) ** -0.5))
        share = self._add_node("Softmax", self._add_node("Add", scaled, bias), axis=-1)
        mixed = self._add_node(
            "Transpose", self._add_node("MatMul", share, headed("value", (0, 2, 1, 3))), perm=(0, 2, 1, 3)
        )
        joined = self._add_node("Reshape", mixed, self._add_value([0, 0, self._config["hidden_size"]]))
        attended = self._sum_of(f"{name}.attention.output", joined, hidden)
        wide = self._linear_of(f"{name}.intermediate.dense", attended)
        error = self._add_node("Erf", self._add_node("Div", wide, self._add_value(2**0.5)))  # GELU, whole
        active = self._add_node(
            "Mul", self._add_node("Mul", wide, self._add_node("Add", error, self._add_value(1.0))), self._add_value(0.5)
        )
        return self._sum_of(f"{name}.output", active, attended)

    def _sum_of(self, name: str, values: str, to: str) -> str:
        return self._norm_of(name, self._add_node("Add", self._linear_of(f"{name}.dense", values), to))

    def _linear_of(self, name: str, values: str) -> str:
        product = self._add_node("MatMul", values, self._add_value(self._weights[f"{name}.weight"].T))
        return self._add_node("Add", product, self._add_value(self._weights[f"{name}.bias"]))

    def _norm_of(self, name: str, values: str) -> str:
        scale, bias = (self._add_value(self._weights[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias"))
        return self._add_node("LayerNormalization", values, scale, bias, epsilon=self._config["layer_norm_eps"])

    def _add_node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, [name := f"node {len(self._nodes)}"], **attributes))
        return name

    def _add_value(self, value: Any) -> str:
        """Add a constant: weights, or a few numbers."""
        from onnx import numpy_helper

        numbers = np.asarray(value, np.float32 if isinstance(value, float) else None)
        name = f"value {len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(numbers), name))
        return name
