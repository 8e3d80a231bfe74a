"""What turns texts into vectors, and whether it does."""

from __future__ import annotations

import time
from collections.abc import Callable

from kgsparql.cli.diagnosis.checks import Check, attempted
from kgsparql.models.embedding import INSTALL_HINT, Embedder, OpenAIEmbedder, open_embedder
from kgsparql.models.local_models import DEFAULT_MODEL, find_model
from kgsparql.rdf.terms import printable

__all__ = ["embedder_check"]

_TEXT = "Where was Marie Curie born?"


def embedder_check(spec: str, *, timeout_s: float, is_quick: bool, note: Callable[[str], None]) -> Check:
    """The embedder that is meant, where it comes from, and, unless ``is_quick``, one text embedded by it."""
    return attempted("embedder", lambda: _embedder(spec, timeout_s, note, is_quick=is_quick))


def _embedder(spec: str, timeout_s: float, note: Callable[[str], None], *, is_quick: bool) -> Check:
    embedder = open_embedder(spec)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return Check("embedder", "absent", "none: texts are compared by the words they share", hint)
    if isinstance(embedder, OpenAIEmbedder):
        base_url, _, model = spec.partition("#")
        embedder = OpenAIEmbedder(base_url, model, timeout_s=timeout_s)
        try:
            return _tried(embedder, embedder.name, note, is_quick=is_quick)
        finally:
            embedder.close()
    local = find_model(DEFAULT_MODEL if spec == "auto" else spec)
    if local is None:
        hint = "the first use downloads it from the hub; or name a directory that holds a model"
        return Check("embedder", "absent", f"{printable(spec, 100)} is not on this machine", hint)
    return _tried(embedder, f"{local.name} from {local.directory}", note, is_quick=is_quick)


def _tried(embedder: Embedder, source: str, note: Callable[[str], None], *, is_quick: bool) -> Check:
    if is_quick:
        return Check("embedder", "ok", f"{source}; not tried")
    note(f"trying {embedder.name} …")
    began = time.perf_counter()
    shape = embedder.embed([_TEXT]).shape
    return Check("embedder", "ok", f"{source}; a vector of {shape[1]} numbers in {time.perf_counter() - began:.1f} s")
