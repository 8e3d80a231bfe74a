"""The child process that fills a store: it can be killed at any moment, and ends when its parent does."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyoxigraph as ox

from kgsparql.errors import DiskFullError, KgsparqlError, StoreError, StoreLockedError
from kgsparql.graphs.files import RdfFile, ReadOptions, format_of
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.parse_errors import disk_full, is_disk_full
from kgsparql.graphs.parsing import BlankNodes, opened, prefixes_of, quads
from kgsparql.rdf.terms import IRI, printable

__all__ = ["main", "recipe_of"]

_REPORT_EVERY_S = 0.1


def main() -> None:
    """Do what the first line of standard input asks; report on standard output, one JSON object a line."""
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _say(done=[asdict(source) for source in _filled(request)])
    except KgsparqlError as error:
        _say(error={"class": type(error).__name__, **error.to_json()})


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def recipe_of(options: ReadOptions) -> tuple[str, ...]:
    """The options that change what is read, as they are kept in manifests and cache keys."""
    plain = (options.format or "", options.base or "", options.encoding or "", "skip_bad" if options.skip_bad else "")
    if options.context is None:
        return plain
    return (*plain, hashlib.sha256(Path(options.context).read_bytes()).hexdigest())


def _filled(request: dict[str, Any]) -> Iterator[StoredSource]:
    directory = Path(request["directory"])
    options = ReadOptions(**request["options"])
    try:
        store = _started(directory, request["old"], set(request["drop"]))
        for job in request["jobs"]:
            yield _load(store, RdfFile(job["name"], Path(job["path"])), job, options)
        store.flush()
    except (OSError, RuntimeError) as error:
        if isinstance(error, KgsparqlError) and not isinstance(error, DiskFullError):
            raise
        raise _store_error(error, Path(request["target"])) from error


def _store_error(error: Exception, directory: Path) -> KgsparqlError:
    if isinstance(error, DiskFullError) or is_disk_full(error):
        return disk_full(directory)
    return StoreError(f"{directory}: {printable(str(error))}", hint="check the disk", path=str(directory))


def _started(directory: Path, old: str | None, drop: set[str]) -> ox.Store:
    """The store to fill: empty, a copy of the old one, or what is kept of the old one."""
    if old is None:
        return ox.Store(str(directory))
    _refuse_foreign_writer(Path(old))
    if not drop:
        _linked(Path(old), directory)
        return ox.Store(str(directory))
    kept = ox.Store.read_only(old)
    store = ox.Store(str(directory))
    graph_names = (name for name in [*kept.named_graphs()] if name.value not in drop)
    store.bulk_extend(kept.quads_for_pattern(None, None, None, ox.DefaultGraph()))
    for name in graph_names:
        store.bulk_extend(kept.quads_for_pattern(None, None, None, name))
    return store


def _refuse_foreign_writer(directory: Path) -> None:
    """Refuse when a program that knows nothing of our lock file has the store open for writing."""
    try:
        import fcntl
    except ImportError:
        return
    with (directory / "LOCK").open("r+b") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreLockedError(
                f"{directory}: another program has this store open for writing", hint="close it there", pid=None
            ) from error


def _linked(old: Path, new: Path) -> None:
    """A copy of a store: its table files never change, so they are linked where the file system can."""
    new.mkdir()
    for entry in old.iterdir():
        target = new / entry.name
        if entry.suffix == ".sst":
            try:
                os.link(entry, target)
                continue
            except OSError:
                pass  # a file system without hard links: the bytes are copied below
        target.write_bytes(entry.read_bytes())


def _load(store: ox.Store, file: RdfFile, job: dict[str, Any], options: ReadOptions) -> StoredSource:
    graph = None if job["graph"] is None else IRI(job["graph"])
    rdf_format = format_of(file, options)
    met: set[str] = set()
    size_before = len(store)
    last = 0.0

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_EVERY_S or done >= total:
            last = now
            _say(phase=phase, done_bytes=done, total_bytes=total)
            if done >= total:
                _say(phase="writing", done_bytes=done, total_bytes=total)

    if options.skip_bad or rdf_format.supports_datasets:
        names = BlankNodes(f"b{uuid4().hex}n")  # like no other node of the store
        store.bulk_extend(quads(file, options, names, graph=graph, graphs_met=met, progress=report))
    else:
        with opened(file, options, report) as reader:
            store.bulk_load(reader.file, rdf_format, base_iri=options.base, to_graph=graph)
    return StoredSource(
        source=job["source"], sha256=file.tally.sha256, graph=job["graph"],
        graphs=tuple(sorted(met - {job["graph"]})),
        triples=len(store) - size_before, skipped=file.skipped, first_skipped=file.first_skipped,
        recipe=recipe_of(options), prefixes=prefixes_of(file, options),
    )  # fmt: skip
