"""The parent's side of loading: start the child, pass on its progress and errors, leave no half-made store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kgsparql import errors
from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.graphs.files import Progress, ReadOptions
from kgsparql.graphs.manifest import StoredSource, stored_source
from kgsparql.graphs.parse_errors import disk_full, is_disk_full
from kgsparql.storage.atomic_replace import partial_path

__all__ = ["fill"]

_CHILD = "from kgsparql.graphs.loader import main; main()"


@contextmanager
def fill(
    target: Path,
    jobs: Sequence[dict[str, Any]],
    options: ReadOptions,
    *,
    old: Path | None,
    drop: frozenset[str],
    progress: Progress | None,
    lock: int,
) -> Iterator[tuple[Path, tuple[StoredSource, ...]]]:
    """Fill a new store beside ``target``; it is removed at the end unless it was moved away.

    :param jobs: name, path, source and graph of each file.
    :param old: the store whose quads are taken over, without the named graphs ``drop``.
    :param lock: the descriptor of the writer's lock, which the child shares: while it dies nobody else may start.
    :raises KgsparqlError: what the child raised.
    """
    partial = partial_path(target)
    request = {
        "directory": str(partial),
        "target": str(target),
        "old": None if old is None else str(old),
        "drop": sorted(drop),
        "jobs": list(jobs),
        "options": {
            "format": options.format, "base": options.base, "encoding": options.encoding, "skip_bad": options.skip_bad,
            "context": options.context,
        },
    }  # fmt: skip
    try:
        yield partial, _run(request, progress, lock)
    except OSError as error:
        if isinstance(error, KgsparqlError):
            raise
        if is_disk_full(error):
            raise disk_full(target) from error
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}", hint="check the disk") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run(request: dict[str, Any], progress: Progress | None, lock: int) -> tuple[StoredSource, ...]:
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)},
            pass_fds=() if os.name == "nt" else (lock,),
            start_new_session=True,  # Ctrl-C reaches the parent, which kills the child
        )  # fmt: skip
        try:
            loaded = _heard(child, request, progress)
        finally:
            child.kill()
            child.wait()
            _close(child)
        if loaded is None:
            complaints.seek(0)
            cause = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise StoreError(
                f"the loading process ended early ({cause or f'status {child.returncode}'})",
                hint="is there enough memory? the store is as it was", status=child.returncode,
            )  # fmt: skip
        return loaded


def _heard(
    child: subprocess.Popen[bytes], request: dict[str, Any], progress: Progress | None
) -> tuple[StoredSource, ...] | None:
    """What the child loaded; ``None`` if it ended without a word."""
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
    for line in child.stdout:
        message = json.loads(line)
        if "error" in message:
            raise _error(message["error"])
        if "done" in message:
            return tuple(stored_source(entry) for entry in message["done"])
        if progress is not None:
            progress(message["phase"], message["done_bytes"], message["total_bytes"])
    return None


def _error(message: dict[str, Any]) -> KgsparqlError:
    kind: type[KgsparqlError] = getattr(errors, message["class"])
    detail = message["detail"]
    return kind(message["message"], hint=message["hint"], code=message["code"], **detail)


def _close(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
