"""The embedders that there are; :func:`open_embedder` finds the one that an option names."""

from __future__ import annotations

from collections.abc import Callable

from kgsparql.errors import EmbeddingError, OptionError
from kgsparql.models.embedders.local_models import DEFAULT_MODEL, LocalModel, find_model, has_sentence_transformers
from kgsparql.models.embedders.onnx import OnnxEmbedder, has_onnx
from kgsparql.models.embedders.sentence_transformer import SentenceTransformerEmbedder
from kgsparql.models.embedding import INSTALL_HINT, Embedder
from kgsparql.redaction import shown_source, unreadable_url
from kgsparql.storage.recording import Recording


def open_embedder(
    spec: str = "auto", *, recording: Recording | None = None, note: Callable[[str], None] | None = None
) -> Embedder | None:
    """The embedder that ``spec`` names; nothing heavy is imported before it embeds.

    :param spec: ``auto``: the default model if it and sentence-transformers are on this machine, else ``None``.
        ``none``: ``None``. A directory with a model, or a model's name on the hub. ``URL#model`` for a server.
    :param recording: records the vectors of a server, or replays them; vectors made on this machine need none.
    :param note: called with each line that a person should read.
    :raises EmbeddingError: if what was named is not there.
    :raises OptionError: for a URL without a model.

    >>> open_embedder("none") is None
    True
    """
    if spec == "none":
        return None
    if spec == "auto":
        model = find_model(DEFAULT_MODEL) if has_sentence_transformers() else None
        return None if model is None else _local_embedder(model, note)
    if spec.startswith(("http://", "https://")):
        base_url, _, name = spec.partition("#")
        if not name:
            raise OptionError(f"{unreadable_url(spec)}: which model?", hint="write URL#model")
        from kgsparql.models.embedders.openai_server import OpenAIEmbedder

        return OpenAIEmbedder(base_url, name, recording=recording)
    if (shown := shown_source(spec)) != spec:
        raise OptionError(f"{shown}: no embedder", hint="a URL starts with http:// or https://")
    if not has_sentence_transformers():
        raise EmbeddingError("sentence-transformers is not installed", hint=INSTALL_HINT)
    return _local_embedder(find_model(spec) or LocalModel(spec, None), note)


def _local_embedder(model: LocalModel, note: Callable[[str], None] | None) -> Embedder:
    """The default model by ONNX Runtime where its packages are installed; any other by sentence-transformers."""
    is_exported = model.label == DEFAULT_MODEL and model.directory is not None and has_onnx()
    return OnnxEmbedder(model, note=note) if is_exported else SentenceTransformerEmbedder(model)
