"""Files and directories that are whole or not there: replaced in one step, sealed, locked by a writer, removed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from kgsparql.errors import DiskFullError, StoreError, StoreLockedError
from kgsparql.rdf.terms import Json

_DIGEST = "sha256"


# Replacing


def partial_path(target: Path) -> Path:
    """Name the path at which the next state of a store or file is made: beside it, so that a rename is enough."""
    return target.with_name(f"{target.name}.partial-{uuid4().hex[:12]}")


@contextmanager
def replaced_file(file: Path, *, mode: int = 0o666, sync: bool) -> Iterator[BinaryIO]:
    """Write a file in one step, so that who reads it sees the old one or the new one; ``sync`` waits for the disk."""
    partial = partial_path(file)
    try:
        partial.touch(mode)
        with partial.open("rb+") as stream:
            yield stream
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def replace_text(file: Path, text: str, *, mode: int = 0o666, sync: bool = False) -> None:
    """Write the text of a file in one step."""
    with replaced_file(file, mode=mode, sync=sync) as stream:
        stream.write(text.encode("utf-8", "replace"))


def is_store(path: Path) -> bool:
    """Tell whether a directory is a store of Oxigraph."""
    return (path / "CURRENT").is_file() and any(path.glob("MANIFEST-*"))


def replace_directory(partial: Path, target: Path) -> None:
    """Rename ``partial`` to ``target``; what was there is restored by the next who looks, after a kill between."""
    try:
        previous = target.with_name(f"{target.name}.previous-{uuid4().hex[:12]}")
        if target.exists():
            target.rename(previous)
        partial.rename(target)
        shutil.rmtree(previous, ignore_errors=True)
    except OSError as error:
        with suppress(OSError):
            restore_previous(target)
        raise StoreError(
            f"{target}: what was made anew cannot be put in place: {error.strerror}",
            hint="close the programs that use it",
            path=str(target),
        ) from error


def previous_states(target: Path) -> list[Path]:
    """List earlier states of a store, left where a load was killed between two renames."""
    return _entries_beside(target, "previous")


def restore_previous(target: Path) -> None:
    """Restore a store whose load was killed between two renames. The caller holds the writer's lock."""
    previous = previous_states(target)
    if previous and not target.exists():
        previous[0].rename(target)


# Seals: a digest finds damage. It is no defence against who may write the files: they could write another digest.


def digest_of(data: object) -> str:
    """Hash some bytes, those of a file (a ``Path``), or any other value as JSON; in hexadecimal."""
    if isinstance(data, Path):
        with data.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    return hashlib.sha256(data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode()).hexdigest()


def sealed_json(data: Json, *, indent: int | None = 1) -> str:
    """Write a JSON object with its digest as text."""
    return f"{json.dumps({**data, _DIGEST: digest_of(data)}, indent=indent)}\n"


def read_sealed_json(file: Path, **version: int) -> Json:
    """Read a file of :func:`sealed_json`.

    :param version: the field of its version, and the version that is known.
    :raises ValueError: if it is not what was written.
    :raises StoreError: if it is of another version (``E_VERSION``), which may have another digest.
    """
    data = json.loads(file.read_text(encoding="utf-8"))
    for name, known in version.items() if isinstance(data, dict) else ():
        if data.get(name) != known:
            raise StoreError(
                f"{file}: of {name} {data.get(name)}, where this kgsparql knows {known}",
                code="E_VERSION",
                hint="use the kgsparql that wrote it, or make it again",
            )
    if not isinstance(data, dict) or data.pop(_DIGEST, None) != digest_of(data):
        raise ValueError("damaged: it is not what was written")
    return data


def sizes_of(directory: Path, files: Iterable[Path]) -> dict[str, int]:
    """Return the sizes of files that stay as they are, by their paths in a directory."""
    return {file.relative_to(directory).as_posix(): file.stat().st_size for file in files}


def are_whole(directory: Path, sizes: Mapping[str, int]) -> bool:
    """Tell whether files are there, and as long as they were."""
    with suppress(OSError):
        return sizes_of(directory, map(directory.joinpath, sizes)) == sizes
    return False


# Locks


@contextmanager
def writer_lock(directory: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a directory: a file beside it that names its owner, and that the system drops with its process.

    :param wait_s: how long to wait for another process that holds it.
    :raises StoreLockedError: if another process holds it longer; ``detail["pid"]`` is that process.
    :raises StoreError: if no lock can be made there.
    """
    import filelock  # takes 70 ms

    whole = directory.resolve()  # the same lock for every path to the directory
    path = whole.with_name(f"{whole.name}.lock")
    lock = filelock.FileLock(path, timeout=wait_s, thread_local=False, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except filelock.Timeout as error:
        pid = _owner_of_lock(path)
        why, hint = f"{directory}: process {pid or 'unknown'} is writing here", "wait for it to end, or stop it"
        raise StoreLockedError(why, hint=hint, path=str(directory), pid=int(pid) if pid else None) from error
    except OSError as error:
        hint = "choose a directory you may write to, on a file system with locks"
        raise StoreError(f"{path}: cannot lock: {error.strerror or error}", hint=hint) from error
    try:
        with suppress(OSError):  # a full disk: the lock is held all the same
            path.write_bytes(b"%d\n" % os.getpid())
        yield
    finally:
        with suppress(OSError):  # while it is held: a process that waits for the old file will notice
            path.unlink()
        lock.release()


def _owner_of_lock(path: Path) -> str:
    """Return the process that a lock file names; empty for a file of another program that is called so, or for none."""
    with suppress(OSError):
        text = path.read_bytes()[:33].decode("ascii", "replace").strip()
        return text if text.isdigit() else ""
    return ""


# What a killed writer leaves


def remove_leftovers(target: Path) -> None:
    """Restore what was there before; then remove what else a killed writer left beside a store, or in an index."""
    restore_previous(target)
    of_lance = target.glob("*.lance/**/.tmp*")  # where it was making an index of a column
    for leftover in [*previous_states(target), *_entries_beside(target, "partial"), *of_lance]:
        if leftover.is_file():
            leftover.unlink(missing_ok=True)
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def _entries_beside(target: Path, kind: str) -> list[Path]:
    """List entries beside a store that are named after it. No glob, because the name may hold any character."""
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    return sorted(entry for entry in beside if entry.name.startswith(f"{target.name}.{kind}-"))


def keep_newest(directory: Path, manifest: str, is_older: Callable[[Path], bool]) -> None:
    """Remove the stores or indexes beside one that are older states of it, all but the newest of them."""
    older = []
    for file in directory.parent.glob(f"*/{manifest}"):
        with suppress(OSError, ValueError, StoreError):
            older += [file] if file.parent != directory and is_older(file.parent) else []
    with suppress(OSError):  # one that another process removes
        for file in sorted(older, key=lambda file: file.stat().st_mtime_ns, reverse=True)[1:]:
            with suppress(StoreError), writer_lock(file.parent):
                remove(file.parent, file.parent)


def is_disk_full(error: Exception) -> bool:
    """Tell whether Python or Oxigraph (which has no errno) says that a device is full."""
    return isinstance(error, OSError) and (error.errno == errno.ENOSPC or "No space left" in str(error))


def disk_full(name: object) -> DiskFullError:
    """Make the error for a device without space; what was there is unchanged then."""
    return DiskFullError(
        f"{name}: no space left on the device",
        hint="free some space (a store needs about as much as its sources unpacked), then try again",
        path=str(name),
    )


# Size and removal


def size_of(path: Path) -> int:
    """Count the bytes of a file, or of all files in a directory; 0 for what another process has just removed."""
    is_tree = path.is_dir() and not path.is_symlink()
    total = 0
    for file in (Path(place, name) for place, _, names in os.walk(path) for name in names) if is_tree else (path,):
        with suppress(OSError):
            total += file.lstat().st_size
    return total


def remove(entry: Path, target: Path) -> None:
    """Remove a store or index ``target``, or an entry beside it; the caller holds its lock.

    The directory is renamed first, so that nobody opens half of it. After a kill it has the name of a stopped writer's
    leftovers, and is removed with these.

    :raises StoreError: if it cannot be removed.
    """
    try:
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink(missing_ok=True)
            return
        doomed = entry.rename(partial_path(target)) if entry == target else entry
        shutil.rmtree(doomed)
    except OSError as error:
        raise StoreError(
            f"{entry}: cannot be removed: {error.strerror}",
            hint="may this user write there? is it open in another program?",
            path=str(entry),
        ) from error
