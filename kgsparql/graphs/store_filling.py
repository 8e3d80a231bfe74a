"""Filling a store in a child process: its progress and errors are passed on, and no half-made store is left."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from kgsparql.errors import StoreError, error_from
from kgsparql.graphs.child_process import read_frame, start_child, stop_child, write_frame
from kgsparql.graphs.files import Progress, ReadOptions
from kgsparql.graphs.manifest import Manifest, StoredSource, stored_source
from kgsparql.graphs.parse_errors import disk_full, is_disk_full
from kgsparql.storage.files import is_store, partial_path, replace_directory

_CHILD = "kgsparql.graphs.store_filling_process"


@dataclass(frozen=True, slots=True)
class Job:
    """A file to load: its name in errors, the path of its bytes, its name in the manifest, and its own named graph."""

    name: str
    path: str
    source: str
    graph: str | None


def fill(
    target: Path,
    jobs: Sequence[Job],
    options: ReadOptions,
    *,
    progress: Progress | None,
    manifest: Manifest,
    drop: frozenset[str] = frozenset(),
) -> tuple[StoredSource, ...]:
    """Fill a new store beside ``target``, which it then replaces; returns what was loaded.

    :param manifest: of the store that is there, if there is one; its quads are copied first, without the named graphs
        ``drop``.
    :raises KgsparqlError: the error that the child reported.
    """
    partial = partial_path(target)
    request = {
        "directory": str(partial),
        "target": str(target),
        "old": str(target) if is_store(target) else None,
        "drop": sorted(drop),
        "jobs": [asdict(job) for job in jobs],
        "options": {name: getattr(options, name) for name in ("format", "base", "encoding", "skip_bad", "context")},
    }
    try:
        partial.mkdir()
        loaded = _run(request, progress)
        kept = [source for source in manifest.sources if source.graph is None or source.graph not in drop]
        Manifest((*kept, *loaded)).write(partial)
        replace_directory(partial, target)
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(target) from error
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}", hint="check the disk") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return loaded


def _run(request: dict[str, Any], progress: Progress | None) -> tuple[StoredSource, ...]:
    with tempfile.TemporaryFile() as complaints:
        child = start_child(_CHILD, complaints)
        try:
            loaded = _loaded_sources(child, request, progress)
        finally:
            stop_child(child)
        if loaded is None:
            complaints.seek(0)
            cause = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise StoreError(
                f"the loading process ended early ({cause or f'status {child.returncode}'})",
                hint="is there enough memory? the store is as it was", status=child.returncode,
            )  # fmt: skip
        return loaded


def _loaded_sources(
    child: subprocess.Popen[bytes], request: dict[str, Any], progress: Progress | None
) -> tuple[StoredSource, ...] | None:
    """What the child loaded; ``None`` if it ended without a reply."""
    requests, replies = cast("BinaryIO", child.stdin), cast("BinaryIO", child.stdout)
    with suppress(BrokenPipeError):
        write_frame(requests, request)
    while (frame := read_frame(replies)) is not None:
        header, _ = frame
        if "error" in header:
            raise error_from(header["error"])
        if "done" in header:
            return tuple(stored_source(entry) for entry in header["done"])
        if progress is not None:
            progress(*header["progress"])
    return None
