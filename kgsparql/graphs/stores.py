"""Graphs held in this process: stores on disk, files read into memory, and big files kept as a store in the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgsparql.errors import StoreError
from kgsparql.graphs.adjacency import Revision
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.graph import Source
from kgsparql.graphs.loading import Job, fill
from kgsparql.graphs.manifest import MANIFEST, Manifest, StoredSource, check_tables, corrupt_store, read_manifest
from kgsparql.graphs.oxigraph import OxigraphGraph, sources_of_files
from kgsparql.graphs.parsing import BlankNodes, prefixes_of, quads
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import (
    is_abandoned,
    is_store,
    keep_newest,
    previous_states,
    remove,
    remove_leftovers,
    restore_previous,
    sweep,
    writer_lock,
)

_CACHE_WAIT_S = 600.0
_IN_FILE = re.compile(r".*?(?=:\d+:\d+: )", re.DOTALL)


def describe_store(directory: str | Path) -> Manifest:
    """Read the manifest of a store: its sources with their hashes, graphs and triples; none if another program made it.

    :raises StoreError: if there is no store, or its manifest cannot be read.
    """
    path = Path(directory).absolute()
    if not has_store(path):
        raise StoreError(
            f"{directory}: not a store", hint=f"make one: kgsparql load FILE --store {directory}", path=str(path)
        )
    return read_manifest(path)


def has_store(path: Path) -> bool:
    """Tell whether there is a store at a path. A store whose load was killed between two renames is restored.

    :raises StoreError: for a store that lacks files (``E_STORE_CORRUPT``).
    """
    if is_abandoned(path):
        sweep([path])
    try:
        if is_store(path):
            return True
        if (path / MANIFEST).is_file():
            raise corrupt_store(path, "files of it are missing")
        if not path.name or path.exists() or not previous_states(path.absolute()):
            return False
    except OSError:
        return False  # an impossible name: reading it will raise the error
    with writer_lock(path.absolute()):
        restore_previous(path.absolute())
    return is_store(path)


def open_store(
    directory: str | Path,
    *,
    name: str | None = None,
    sources: dict[str, Source] | None = None,
    stored: Sequence[StoredSource] | None = None,
) -> OxigraphGraph:
    """Open a store read-only; any number of processes may do so at the same time.

    :param name: the name in citations; the directory as given, if ``None``.
    :param sources: how to cite its named graphs, where that is not by name and IRI.
    :param stored: the files it was filled from, where they have other names than in its manifest.
    :raises StoreError: if there is no store, or it cannot be read.
    """
    manifest = describe_store(directory)
    path = Path(directory).absolute()
    check_tables(path, manifest)
    content = _tables_hash(path)  # before it is opened: what is changed later is not seen
    try:
        store = ox.Store.read_only(str(path))
    except (OSError, RuntimeError, ValueError) as error:
        if "Corruption" in str(error) or "No such file" in str(error):
            raise corrupt_store(directory, printable(str(error), 200)) from error
        raise StoreError(
            f"{directory}: cannot be opened: {error}", hint="load its sources again into a new directory",
            path=str(path),
        ) from error  # fmt: skip

    return OxigraphGraph(
        store,
        name=str(directory) if name is None else name,
        fingerprint=manifest.fingerprint if manifest.sources else lambda: _tables_hash(path),
        sources=sources,
        stored=manifest.sources if stored is None else stored,
        revision=Revision(f"store {path.resolve()}", f"{manifest.fingerprint} {content}"),
        directory=path,
    )


def _tables_hash(store: Path) -> str:
    """Hash what changes when a program writes to a store: its tables, and the log of what is not yet in them."""
    files = [(e.name, e.stat()) for e in store.iterdir() if e.suffix in {".sst", ".log"}]
    written = sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in files if stat.st_size)
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def graph_in_memory(
    files: Sequence[RdfFile], options: ReadOptions, *, name: str | None, progress: Progress | None
) -> OxigraphGraph:
    """Files read into memory: a single file into the default graph, of several each into a graph of its own."""
    store, blank_nodes = ox.Store(), BlankNodes()
    several = len(files) > 1
    stored: list[StoredSource] = []
    sizes: Counter[object] = Counter()
    for file in files:
        graph = file.iri if several else None
        met: set[str] = set()
        changed: set[object] = set()
        found = quads(file, options, blank_nodes, graph=graph, graphs_met=met, progress=progress)
        store.bulk_extend(_with_graphs_noted(found, changed))
        before = sizes.total()
        sizes.update({name: _graph_size(store, name) - sizes[name] for name in changed})
        source = StoredSource(
            source=file.name, sha256=file.tally.sha256, graph=None if graph is None else graph.value,
            graphs=tuple(sorted(met)), triples=sizes.total() - before, skipped=file.skipped,
            first_skipped=file.first_skipped, recipe=options.recipe, prefixes=prefixes_of(file, options),
        )  # fmt: skip
        stored.append(source)
    content = [[source.sha256, source.graph or ""] for source in stored]
    fingerprint = hashlib.sha256(json.dumps([content, options.recipe]).encode()).hexdigest()
    return OxigraphGraph(
        store,
        name=name or ", ".join(file.name for file in files),
        fingerprint=fingerprint,
        sources=sources_of_files(files, {source.source: source.graphs for source in stored}) if several else {},
        stored=stored,
        revision=Revision(f"files {fingerprint}", ox.__version__),
    )


def _with_graphs_noted(found: Iterator[ox.Quad], graphs: set[object]) -> Iterator[ox.Quad]:
    """Yield the quads; the graphs they are in are added to the set."""
    for quad in found:
        graphs.add(quad.graph_name)
        yield quad


def _graph_size(store: ox.Store, graph: Any) -> int:
    """Count the triples of a graph; the length of the store would count those of every other file."""
    return sum(1 for _ in store.quads_for_pattern(None, None, None, graph))


def graph_in_cache(
    files: Sequence[RdfFile],
    options: ReadOptions,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    notes: Callable[[str], None] | None = None,
) -> OxigraphGraph:
    """Open a store of these files in the cache directory: created the first time, found by their SHA-256 afterwards."""
    several = len(files) > 1
    graphs = [file.iri.value if several else None for file in files]
    key = json.dumps([[file.sha256() for file in files], graphs, options.recipe, ox.__version__])
    target = cache_directory().absolute() / "graphs" / hashlib.sha256(key.encode()).hexdigest()[:32]
    name = name or ", ".join(file.name for file in files)

    def opened() -> OxigraphGraph:
        found = zip(files, describe_store(target).sources, strict=True)
        stored = [
            replace(
                old, source=file.name, first_skipped=_IN_FILE.sub(file.name.replace("\\", r"\\"), old.first_skipped, 1)
            )
            for file, old in found
        ]
        met = {source.source: source.graphs for source in stored}
        return open_store(target, name=name, sources=sources_of_files(files, met) if several else {}, stored=stored)

    try:
        if is_store(target):
            return opened()
    except StoreError as error:
        if error.code != "E_STORE_CORRUPT":
            raise
        with writer_lock(target, wait_s=_CACHE_WAIT_S):
            remove(target, target)
    if not is_store(target):
        if notes is not None:
            notes(f"{name}: big, so it is kept as a store in {target} (--no-cache turns this off)")
        named = zip(files, graphs, strict=True)
        jobs = [Job(file.name, str(file.path), os.path.realpath(str(file.path)), graph) for file, graph in named]
        with writer_lock(target, wait_s=_CACHE_WAIT_S):
            remove_leftovers(target)
            if not is_store(target):  # another process may have created it while we waited
                _remove_older(target, fill(target, jobs, options, progress=progress, manifest=Manifest()))
    return opened()


def _remove_older(target: Path, made: Sequence[StoredSource]) -> None:
    """Keep the newest two stores of files that change."""
    older, read_as = [], attrgetter("source", "graph", "recipe")
    for file in target.parent.glob(f"*/{MANIFEST}"):
        with suppress(StoreError):
            sources = read_manifest(file.parent).sources
            if file.parent != target and [*map(read_as, sources)] == [*map(read_as, made)]:
                older.append(file)
    keep_newest(older)
