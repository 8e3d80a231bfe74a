"""Files and directories of a cache: their size and age, and their removal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from kgsparql.errors import StoreError
from kgsparql.storage.atomic_replace import partial_path, put_in_place


def size_text(size: int) -> str:
    """A number of bytes for people.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    amount, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 999.5 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"


def link_trouble(path: Path) -> str:
    """The message about a symbolic link, which is not followed; empty for anything else."""
    return f"{path} is a symbolic link, and is left alone" if path.is_symlink() else ""


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a directory; 0 for what another process has just removed."""
    files = [path] if path.is_symlink() or not path.is_dir() else []
    for place, _, names in os.walk(path) if not files else ():
        files += [Path(place, name) for name in names]
    total = 0
    for file in files:
        with suppress(OSError):
            total += file.lstat().st_size
    return total


def _database_files(file: Path) -> list[Path]:
    """An SQLite file, and the files that SQLite keeps beside it."""
    return [file.with_name(file.name + end) for end in ("", "-wal", "-shm", "-journal")]


def bytes_of(file: Path) -> int:
    """Bytes of an SQLite file and of the files that SQLite keeps beside it."""
    return sum(map(size_of, _database_files(file)))


def remove_database(file: Path) -> None:
    """Remove an SQLite file and the files that SQLite keeps beside it; a StoreError if one cannot be removed."""
    for one in _database_files(file):
        with _errors_translated(one):
            one.unlink(missing_ok=True)


def modified_at(path: Path) -> str:
    """When a file or directory was last written, ISO 8601, UTC; empty if it is gone."""
    try:
        seconds = path.lstat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def remove(entry: Path, target: Path) -> None:
    """Remove a store or index ``target``, or an entry beside it; the caller holds its lock.

    The directory is renamed first, so that nobody opens half of it. After a kill it has the name of a stopped writer's
    leftovers, and is removed with these.
    """
    with _errors_translated(entry):
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink(missing_ok=True)
            return
        doomed = partial_path(target) if entry == target else entry
        if doomed != entry:
            put_in_place(entry, doomed)
        shutil.rmtree(doomed)


@contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "may this user write there? is it open in another program?"
        raise StoreError(f"{path}: cannot be removed: {error.strerror}", hint=hint, path=str(path)) from error
