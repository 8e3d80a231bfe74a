"""The child process that fills a store; it may be killed at any moment. ``stores.py`` is the parent's side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast
from uuid import uuid4

import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, StoreError, StoreLockedError
from kgsparql.graphs.child_process import connected_to_parent, progress_to_parent, write_frame
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, format_of
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.parsing import blank_nodes, opened, quads, stored_source
from kgsparql.rdf.terms import IRI, printable
from kgsparql.storage.files import disk_full, is_disk_full

_UNMERGED = 2_000_000
"""The engine writes a million triples into a file of their own, and looks a term up in all files: of ten million
triples in 20 µs, and in 7 after they were merged. That takes an eighth of the time of loading; two files, 11 µs, do
without."""


def main() -> None:
    """Fill a store as the first frame asks; report progress, then what was loaded or the error."""
    (request, _), _, replies = connected_to_parent()
    if not Path(request["directory"]).is_dir():
        return  # the parent was killed, and the next load has removed what it left
    report = progress_to_parent(replies)
    try:
        write_frame(replies, {"done": [asdict(source) for source in _fill_store(request, report)]})
    except KgsparqlError as error:
        write_frame(replies, {"error": error.to_record()})


def _fill_store(request: dict[str, Any], report: Progress) -> Iterator[StoredSource]:
    options = ReadOptions(**request["options"])
    try:
        store = _store_to_fill(Path(request["directory"]), request["old"], set(request["drop"]))
        triples = 0
        for job in request["jobs"]:
            loaded = _load_file(store, job, options, report)
            triples += loaded.triples
            yield loaded
        if triples > _UNMERGED:
            store.optimize()
        store.flush()
    except (OSError, RuntimeError) as error:
        target = request["target"]
        if is_disk_full(error):
            raise disk_full(target) from error
        raise StoreError(f"{target}: {printable(str(error))}", hint="check the disk", path=target) from error


def _store_to_fill(directory: Path, old: str | None, drop: set[str]) -> ox.Store:
    """Open the store to fill: empty, a copy of the old one, or what is kept of the old one."""
    if old is None:
        return ox.Store(str(directory))
    _refuse_foreign_writer(Path(old))
    if not drop:
        _link_store(Path(old), directory)
        return ox.Store(str(directory))
    kept = ox.Store.read_only(old)
    store = ox.Store(str(directory))
    for name in [ox.DefaultGraph(), *(name for name in kept.named_graphs() if name.value not in drop)]:
        store.bulk_extend(kept.quads_for_pattern(None, None, None, name))
    return store


def _refuse_foreign_writer(directory: Path) -> None:
    """Raise an error if a program that ignores our lock file has the store open for writing."""
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


def _link_store(old: Path, new: Path) -> None:
    """Copy a store; its table files never change, so they are linked where the file system can."""
    for entry in old.iterdir():
        target = new / entry.name
        if entry.suffix == ".sst":
            try:
                target.hardlink_to(entry)
                continue
            except OSError:
                pass  # a file system without hard links: the bytes are copied below
        target.write_bytes(entry.read_bytes())


def _load_file(store: ox.Store, job: dict[str, Any], options: ReadOptions, report: Progress) -> StoredSource:
    file = RdfFile(job["name"], Path(job["path"]))
    graph = None if job["graph"] is None else IRI(job["graph"])
    rdf_format, size_before = format_of(file, options), len(store)

    def progress(phase: str, done: int, total: int) -> None:
        report(phase, done, total)
        if done >= total:
            report("writing", done, total)

    if options.skip_bad or rdf_format.supports_datasets or file.is_small:
        blank = blank_nodes(f"b{uuid4().hex}n")  # like no other node of the store
        store.bulk_extend(quads(file, options, blank, graph=graph, progress=progress))
    else:
        with opened(file, options, progress) as reader:
            store.bulk_load(cast("IO[bytes]", reader), rdf_format, base_iri=options.base_of(file), to_graph=graph)
    return stored_source(file, options, source=job["source"], graph=graph, triples=len(store) - size_before)


if __name__ == "__main__":
    main()
