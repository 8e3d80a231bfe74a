"""Stores opened read-only, what they say about themselves, and the cache of files that are big."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

from kgsparql.errors import StoreError
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.filling import fill
from kgsparql.graphs.loader import recipe_of
from kgsparql.graphs.manifest import MANIFEST, Manifest, StoredSource, read_manifest
from kgsparql.graphs.oxigraph import OxigraphGraph, sources_of_files
from kgsparql.graphs.protocols import Source
from kgsparql.resources import cache_directory
from kgsparql.storage.atomic_replace import clean, is_store, previous_stores, put_in_place
from kgsparql.storage.file_lock import writer_lock

__all__ = ["cached_store", "describe_store", "has_store", "open_store"]

_CACHE_WAIT_S = 600.0


def describe_store(directory: str | Path) -> Manifest:
    """The sources of a store, with their hashes, graphs and triples; none if another program made it.

    :raises StoreError: if there is no store, or its manifest cannot be read.
    """
    path = Path(directory).absolute()
    if not has_store(path):
        raise StoreError(
            f"{directory}: not a store", hint=f"make one: kgsparql load FILE --store {directory}", path=str(path)
        )
    return read_manifest(path)


def has_store(path: Path) -> bool:
    """Whether there is a store at a path; one whose load was killed between two renames is brought back.

    :raises StoreError: for a store that lacks files (``E_STORE_CORRUPT``).
    """
    try:
        if is_store(path):
            return True
        if (path / MANIFEST).is_file():
            raise StoreError(
                f"{path}: the store is damaged: files of it are missing", code="E_STORE_CORRUPT",
                hint=f"load its sources again: kgsparql load FILE --store NEW; {path / MANIFEST} names them",
                path=str(path),
            )  # fmt: skip
        if not path.name or path.exists() or not previous_stores(path.absolute()):
            return False
    except OSError:
        return False  # a name that cannot be: reading it will say so
    with writer_lock(path.absolute()):
        clean(path.absolute(), only_recover=True)
    return is_store(path)


def open_store(
    directory: str | Path,
    *,
    name: str | None = None,
    sources: dict[str, Source] | None = None,
    stored: Sequence[StoredSource] | None = None,
) -> OxigraphGraph:
    """Open a store read-only; any number of processes may at the same time.

    :param name: what citations say; the directory as given, if ``None``.
    :param sources: how its named graphs are cited, where that is not by name and IRI.
    :param stored: the files it was filled from, where those of its manifest had other names.
    :raises StoreError: if there is no store, or it cannot be read.
    """
    manifest = describe_store(directory)
    path = Path(directory).absolute()
    try:
        store = ox.Store.read_only(str(path))
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(
            f"{directory}: cannot be opened: {error}", hint="load its sources again into a new directory",
            path=str(path),
        ) from error  # fmt: skip
    fingerprint: str | Callable[[], str] = manifest.fingerprint if manifest.sources else lambda: _files_hash(path)
    shown = str(directory) if name is None else name
    files = manifest.sources if stored is None else stored
    return OxigraphGraph(store, name=shown, fingerprint=fingerprint, sources=sources, stored=files)


def _files_hash(path: Path) -> str:
    """A hash that changes when another program writes to a store: of the names, sizes and times of its tables."""
    entries = sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in path.iterdir() if e.suffix == ".sst")
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def cached_store(
    files: Sequence[RdfFile],
    options: ReadOptions,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OxigraphGraph:
    """A store of these files in the cache directory: made the first time, found by their SHA-256 afterwards."""
    several = len(files) > 1
    graphs = [file.iri.value if several else None for file in files]
    key = json.dumps([[file.sha256() for file in files], graphs, recipe_of(options), ox.__version__])
    target = cache_directory().absolute() / "graphs" / hashlib.sha256(key.encode()).hexdigest()[:32]
    name = name or ", ".join(file.name for file in files)
    if not is_store(target):
        if notes is not None:
            notes(f"{name}: big, so it is kept as a store in {target} (--no-cache turns this off)")
        jobs = [
            {"name": file.name, "path": str(file.path), "source": str(file.path), "graph": graph}
            for file, graph in zip(files, graphs, strict=True)
        ]
        with writer_lock(target, wait_s=_CACHE_WAIT_S) as lock:
            clean(target)
            if not is_store(target):  # another process may have made it while we waited
                with fill(target, jobs, options, old=None, drop=frozenset(), progress=progress, lock=lock) as filled:
                    Manifest(filled[1]).write(filled[0])
                    put_in_place(filled[0], target)
    found = zip(files, describe_store(target).sources, strict=True)
    stored = [
        replace(old, source=file.name, first_skipped=old.first_skipped.replace(old.source, file.name, 1))
        for file, old in found
    ]
    graphs_met = {source.source: source.graphs for source in stored}
    return open_store(target, name=name, sources=sources_of_files(files, graphs_met) if several else {}, stored=stored)
