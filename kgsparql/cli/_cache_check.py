"""Reading all that a cache keeps, to find what is damaged, half-made or of another version."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from kgsparql.errors import StoreError
from kgsparql.graphs import adjacency, kept_counts
from kgsparql.graphs.manifest import check_tables, read_manifest
from kgsparql.graphs.stores import open_store
from kgsparql.linking.label_index.kept import KEPT, KeptLabels
from kgsparql.linking.label_index.rows import RECIPE
from kgsparql.models.embedders import onnx_export
from kgsparql.models.embedding_cache import VECTORS, VectorStore
from kgsparql.serving import kept_runs
from kgsparql.storage.array_file import read_arrays
from kgsparql.storage.integrity import read_checked_text
from kgsparql.storage.lance_tables import Tables
from kgsparql.storage.leftovers import leftovers
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache


class Trouble(NamedTuple):
    """Something that is ``damaged``, ``partial`` or ``outdated``."""

    state: str
    path: str
    why: str


def troubles(cache: Path) -> Iterator[Trouble]:
    """What is wrong in a cache; nothing is changed."""
    for _, entry in leftovers(cache):
        yield Trouble("partial", str(entry), "its writer was killed; the next command of any other kind removes it")
    for entry in sorted([*cache.glob("*/*"), cache / VECTORS, cache / RESPONSE_FILE]):
        check = _CHECKS.get(entry.name if entry.parent == cache else entry.parent.name)
        is_whole_name = len(entry.stem) == 32 and entry.suffix in {"", ".json"}
        if check and entry.exists() and (entry.parent == cache or (is_whole_name and not entry.parent.is_symlink())):
            try:
                check(entry)
            except (StoreError, OSError, ValueError, KeyError, TypeError) as error:
                is_outdated = isinstance(error, StoreError) and error.code == "E_VERSION"
                yield Trouble("outdated" if is_outdated else "damaged", str(entry), str(error))


def _check_store(path: Path) -> None:
    check_tables(path, read_manifest(path), thoroughly=True)
    for _ in open_store(path).quads():
        pass


def _check_labels(path: Path) -> None:
    KeptLabels(path / KEPT).check()
    manifest = Tables(path).manifest(thoroughly=True)
    if manifest is None and any(path.glob("*.lance")):
        raise StoreError("not whole: the next question makes it anew")
    if manifest is not None and RECIPE not in manifest["recipe"]:
        raise StoreError(f"made by the recipe {manifest['recipe']}, where this is {RECIPE}", code="E_VERSION")


def _check_arrays(path: Path) -> None:
    found = read_arrays(path, thoroughly=True)
    if found is None or found[0].get("recipe") != adjacency.RECIPE:
        raise StoreError("not what was written", code="E_STORE" if found is None else "E_VERSION")


def _check_json(path: Path) -> None:
    json.loads(read_checked_text(path))


def _check_model(path: Path) -> None:
    if not onnx_export.is_whole(path, thoroughly=True):
        raise StoreError("not what was written")


def _check_vectors(path: Path) -> None:
    with closing(VectorStore(path)) as store:
        store.check()


def _check_exchanges(path: Path) -> None:
    with ResponseCache(path) as exchanges:
        exchanges.check()


_CHECKS: dict[str, Callable[[Path], None]] = {
    "graphs": _check_store, "labels": _check_labels, adjacency.FOLDER: _check_arrays,
    kept_counts.FOLDER: _check_json, "endpoints": _check_json, kept_runs.FOLDER: _check_json,
    onnx_export.FOLDER: _check_model, VECTORS: _check_vectors, RESPONSE_FILE: _check_exchanges,
}  # fmt: skip
