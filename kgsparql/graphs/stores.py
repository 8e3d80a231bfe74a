"""Graphs held in this process: stores on disk, files read into memory, and big files kept as a store in the cache.

A load fills ``DIR.partial-*`` beside ``DIR``, which it becomes when it is complete. After a kill, Ctrl-C or a bad file
there is no ``DIR``, and the next load removes the leftovers.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast
from uuid import uuid4

import pyoxigraph as ox

from kgsparql.dataclasses import replace
from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, StoreError
from kgsparql.events import Tell, ignore
from kgsparql.graphs.adjacency import Revision
from kgsparql.graphs.files import (
    OWN_BASE,
    SMALL_BYTES,
    GraphName,
    Progress,
    RdfFile,
    ReadOptions,
    blank_nodes,
    note_on_size,
    opened,
    quads,
    rdf_files,
    standard_input,
    stored_source,
)
from kgsparql.graphs.graph import Source
from kgsparql.graphs.manifest import MANIFEST, Manifest, StoredSource, corrupt_store, read_manifest
from kgsparql.graphs.oxigraph import OxigraphGraph, sources_of_files
from kgsparql.rdf.terms import IRI, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import (
    digest_of,
    disk_full,
    is_disk_full,
    is_store,
    keep_newest,
    partial_path,
    remove,
    remove_leftovers,
    replace_directory,
    writer_lock,
)

T = TypeVar("T")
_Job: TypeAlias = tuple[RdfFile, str | None]  # a file to load, and its own named graph

_CACHE_WAIT_S, _STILL_WRITING_S = 600.0, 5.0
_READ_AS = attrgetter("source", "graph", "recipe")
_UNMERGED = 2_000_000
"""The engine writes a million triples into a file of their own, and looks a term up in all files: of ten million
triples in 20 µs, and in 7 after they were merged. That takes an eighth of the time of loading."""


def load_store(
    sources: str | Path | Sequence[str | Path], directory: str | Path, *, has_graphs: bool = False,
    progress: Progress | None = None, **reading: Any,
) -> tuple[StoredSource, ...]:  # fmt: skip
    """Load RDF files into a new store on disk, all of them or none, and return what was loaded.

    :param sources: files, directories of RDF files, or ``-`` for standard input (then with ``format``).
    :param directory: the store, which is created: an empty directory, or none.
    :param has_graphs: gives each file a named graph of its own (the ``file:`` IRI of its path), and not the default
        graph. Quad formats keep their named graphs; their default graph follows the same rule.
    :param progress: called with the phases ``reading`` and ``writing``.
    :param reading: the options of files: ``format``, ``base`` and ``skip_bad``.
    :raises GraphLoadError: for a file that is not valid RDF; there is no store then.
    :raises StoreLockedError: if another process is loading into it.
    :raises StoreError: if the directory holds something.
    :raises DiskFullError: if the device is full.
    """
    options = ReadOptions(**reading)
    target = Path(directory).absolute()
    given = [sources] if isinstance(sources, str | Path) else sources
    files = list({file.iri: file for source in given for file in rdf_files(source)}.values())
    if not files:
        raise InputError("nothing to load", hint="name an RDF file")
    with writer_lock(target), ExitStack() as spools:
        remove_leftovers(target)
        if any(target.iterdir()) if target.is_dir() else target.exists():
            what = "this directory is not empty" if target.is_dir() else "not a directory"
            hint = "choose another directory; a store is made once, of all its files"
            raise StoreError(f"{target}: {what}", hint=hint, path=str(target))
        jobs = [(_spooled_file(file, target, spools), file.iri.value if has_graphs else None) for file in files]
        loaded = read_with_base(lambda own: _fill_store(target, jobs, own, progress), options, given)
    with suppress(StoreError):  # without an adjacency, paths are searched by queries
        open_store(target).built_adjacency(progress)
    return loaded


def read_with_base(read: Callable[[ReadOptions], T], options: ReadOptions, given: Sequence[object]) -> T:
    """Read files; where they need a base and none is given, read them again with the IRI of each.

    Only then: else each graph would be another where its files lie elsewhere. Standard input is not there twice.
    """
    try:
        return read(options)
    except GraphLoadError as error:
        if error.code != "E_BASE" or options.base is not None or "-" in given:
            raise
    return read(replace(options, base=OWN_BASE))


def _spooled_file(file: RdfFile, target: Path, spools: ExitStack) -> RdfFile:
    """Copy standard input to a file first, because it is read twice."""
    if file.path is not None:
        return file
    spool = partial_path(target)
    spools.callback(spool.unlink, missing_ok=True)
    with spool.open("xb") as copy:
        shutil.copyfileobj(standard_input(), copy)
    return RdfFile(file.name, spool)


def _fill_store(
    target: Path, jobs: Sequence[_Job], options: ReadOptions, progress: Progress | None
) -> tuple[StoredSource, ...]:
    """Fill a new store beside ``target``, which it then becomes; returns what was loaded."""
    partial = partial_path(target)
    try:
        partial.mkdir(0o700)
        store = ox.Store(str(partial))
        loaded = tuple([_load_file(store, *job, options, progress) for job in jobs])
        if sum(source.triples for source in loaded) > _UNMERGED:
            store.optimize()
        store.flush()
        Manifest(loaded).write(partial)
        replace_directory(partial, target)
    except (OSError, RuntimeError) as error:
        if isinstance(error, KgsparqlError):
            raise
        if is_disk_full(error):
            raise disk_full(target) from error
        why = f"{target}: cannot be written: {printable(str(error))}"
        raise StoreError(why, hint="check the disk", path=str(target)) from error
    finally:
        until = time.monotonic() + _STILL_WRITING_S
        while partial.exists() and time.monotonic() < until:  # after an error, threads of the engine write on
            shutil.rmtree(partial, ignore_errors=True)
    return loaded


def _load_file(
    store: ox.Store, file: RdfFile, name: str | None, options: ReadOptions, progress: Progress | None
) -> StoredSource:
    """Load a file; Ctrl-C ends it where the engine asks for the next bytes."""
    graph, size_before = IRI(name) if name else None, len(store)

    def told(phase: str, done: int, total: int) -> None:
        if progress is not None:
            progress(phase, done, total)
            if done >= total:
                progress("writing", done, total)

    with opened(file, options):  # to know its format
        by_quads = options.skip_bad or file.format.supports_datasets or file.unpacked_size < SMALL_BYTES
    if by_quads:
        blank = blank_nodes(f"b{uuid4().hex}n")  # like no other node of the store
        store.bulk_extend(quads(file, options, blank, graph=graph, progress=told))
    else:
        with opened(file, options, told) as reader:
            store.bulk_load(cast("IO[bytes]", reader), file.format, base_iri=options.base_of(file), to_graph=graph)
    triples = len(store) - size_before
    name = file.name if file.name == "-" else os.path.realpath(str(file.path))
    return stored_source(file, options, source=name, graph=graph, triples=triples)


def describe_store(directory: str | Path) -> Manifest:
    """Read the manifest of a store: its sources, their hashes and graphs; none if another program made it."""
    path = Path(directory).absolute()
    if not has_store(path):
        hint = f"make one: kgsparql load FILE --store {directory}"
        raise StoreError(f"{directory}: not a store", hint=hint, path=str(path))
    return read_manifest(path)


def has_store(path: Path) -> bool:
    """Tell whether there is a store at a path; a StoreError for one of which files are missing."""
    try:
        if not is_store(path) and (path / MANIFEST).is_file():
            raise corrupt_store(path, "files of it are missing")
        return is_store(path)
    except OSError:
        return False  # an impossible name: reading it will raise the error


def open_store(
    directory: str | Path, *, name: str | None = None, sources: dict[str, Source] | None = None,
    stored: Sequence[StoredSource] | None = None,
) -> OxigraphGraph:  # fmt: skip
    """Open a store read-only; any number of processes may do so at the same time.

    :param name: the name in citations; the directory as given, if ``None``.
    :param sources: how to cite its named graphs, where that is not by name and IRI.
    :param stored: the files it was filled from, where they have other names than in its manifest.
    """
    manifest = describe_store(directory)
    path = Path(directory).absolute()
    content = _tables_hash(path)  # before it is opened: what is changed later is not seen
    try:
        store = ox.Store.read_only(str(path))
    except (OSError, RuntimeError, ValueError) as error:
        if "Corruption" in str(error) or "No such file" in str(error):
            raise corrupt_store(directory, printable(str(error), 200)) from error
        hint = "load its sources again into a new directory"
        raise StoreError(f"{directory}: cannot be opened: {error}", hint=hint, path=str(path)) from error
    return OxigraphGraph(
        store, name=str(directory) if name is None else name,
        fingerprint=manifest.fingerprint if manifest.sources else lambda: _tables_hash(path), sources=sources,
        stored=manifest.sources if stored is None else stored,
        revision=Revision(f"store {path.resolve()}", f"{manifest.fingerprint} {content}"), directory=path,
    )  # fmt: skip


def _tables_hash(store: Path) -> str:
    """Hash what changes when a program writes to a store: its tables, and the log of what is not yet in them."""
    files = [(e.name, e.stat()) for e in store.iterdir() if e.suffix in {".sst", ".log"}]
    return digest_of(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in files if stat.st_size))


def graph_in_memory(
    files: Sequence[RdfFile], options: ReadOptions, *, name: str | None, progress: Progress | None
) -> OxigraphGraph:
    """Files read into memory: a single file into the default graph, of several each into a graph of its own."""
    store, blank = ox.Store(), blank_nodes()
    several = len(files) > 1
    stored: list[StoredSource] = []
    sizes: dict[GraphName, int] = {}  # of graphs: the length of the store would count those of every other file
    for file in files:
        graph, before = file.iri if several else None, sum(sizes.values())
        store.bulk_extend(quads(file, options, blank, graph=graph, progress=progress))
        sizes |= {name: sum(1 for _ in store.quads_for_pattern(None, None, None, name)) for name in file.graphs}
        triples = sum(sizes.values()) - before
        stored.append(stored_source(file, options, source=file.name, graph=graph, triples=triples))
    own = options.base == OWN_BASE  # then where a file lies is in its triples
    placed = ([s.sha256, s.graph or (own and f.iri.value) or ""] for s, f in zip(stored, files, strict=True))
    fingerprint = digest_of([[*placed], options.recipe])
    return OxigraphGraph(
        store, name=name or ", ".join(file.name for file in files), fingerprint=fingerprint,
        sources=sources_of_files(files, stored) if several else {}, stored=stored,
        revision=Revision(f"files {fingerprint}", ox.__version__),
    )  # fmt: skip


def place_in_cache(files: Sequence[RdfFile], options: ReadOptions) -> Path:
    """Name the store of these files in the cache directory: by their SHA-256."""
    placed = [file.iri.value for file in files] if options.base == OWN_BASE else _graphs_of(files)
    key = digest_of([[file.sha256() for file in files], placed, options.recipe, ox.__version__])
    return cache_directory().absolute() / "graphs" / key[:32]


def _graphs_of(files: Sequence[RdfFile]) -> list[str | None]:
    return [file.iri.value if len(files) > 1 else None for file in files]


def graph_in_cache(
    files: Sequence[RdfFile], options: ReadOptions, target: Path, *, name: str | None = None,
    progress: Progress | None = None, notes: Tell = ignore,
) -> OxigraphGraph:  # fmt: skip
    """Open a store of these files in the cache directory, which is created the first time."""
    several, graphs = len(files) > 1, _graphs_of(files)
    name = name or ", ".join(file.name for file in files)

    def opened() -> OxigraphGraph:
        kept = describe_store(target).sources
        stored = [replace(own, source=file.name) for file, own in zip(files, kept, strict=True)]
        sources = sources_of_files(files, stored) if several else {}
        return open_store(target, name=name, sources=sources, stored=stored)

    try:
        if is_store(target):
            return opened()
    except StoreError as error:
        if error.code != "E_STORE_CORRUPT":
            raise
        with writer_lock(target, wait_s=_CACHE_WAIT_S):
            remove(target, target)
    for note in (f"{name}: big, so it is kept as a store in {target} (--no-cache turns this off)", note_on_size(files)):
        if note:
            notes(note)
    jobs = list(zip(files, graphs, strict=True))
    with writer_lock(target, wait_s=_CACHE_WAIT_S):
        remove_leftovers(target)
        if is_store(target):  # another process has created it while we waited
            return opened()
        made = [*map(_READ_AS, _fill_store(target, jobs, options, progress))]
        keep_newest(target, MANIFEST, lambda other: [*map(_READ_AS, read_manifest(other).sources)] == made)
        return opened()
