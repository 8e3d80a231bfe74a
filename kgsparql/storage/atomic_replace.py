"""Replacing files and the directories of stores atomically, and cleaning up after a process that was killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kgsparql.errors import StoreError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def is_store(path: Path) -> bool:
    """Whether a directory is a store of Oxigraph."""
    return (path / "CURRENT").is_file() and any(path.glob("MANIFEST-*"))


def partial_path(target: Path) -> Path:
    """The path at which the next state of a store or file is made: beside it, so that a rename puts it in place."""
    return target.with_name(f"{target.name}.partial-{uuid4().hex[:12]}")


def replace_text(file: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a file in one step: who reads it sees the old text or the new one, whole.

    :param mode: who may read it; ``0o600`` is its owner.
    """
    with replaced(file) as partial:
        partial.touch(mode)
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A path to write to; the file there replaces ``file`` at the end, and is removed after an error."""
    partial = partial_path(file)
    try:
        yield partial
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def restore_store(target: Path) -> None:
    """Restore a store whose load was killed between two renames. The caller holds the writer's lock."""
    previous = previous_stores(target)
    if previous and not target.exists():
        previous[0].rename(target)


def remove_leftovers(target: Path) -> None:
    """As :func:`restore_store`; then remove what else a killed writer left beside a store, or in a label index."""
    restore_store(target)
    of_lance = target.glob("*.lance/**/.tmp*")  # where it was making an index of a column
    for leftover in [*previous_stores(target), *_beside(target, "partial"), *of_lance]:
        if leftover.is_file():
            leftover.unlink(missing_ok=True)
        else:
            shutil.rmtree(leftover, ignore_errors=True)
    for spool in _beside(target, "stdin"):
        spool.unlink(missing_ok=True)


def previous_stores(target: Path) -> list[Path]:
    """Earlier states of a store, left where a load was killed between two renames."""
    return _beside(target, "previous")


def _beside(target: Path, kind: str) -> list[Path]:
    """Entries beside a store that are named after it. No glob, because the name may hold any character."""
    if not target.parent.is_dir():
        return []
    return sorted(entry for entry in target.parent.iterdir() if entry.name.startswith(f"{target.name}.{kind}-"))


def replace_store(partial: Path, target: Path) -> None:
    """Rename ``partial`` to ``target``: in one step where the system can exchange two names, else in two.

    :raises StoreError: if the directory cannot be renamed.
    """
    try:
        if not is_store(target):
            if target.is_dir():
                target.rmdir()  # empty, as the caller has checked
            partial.rename(target)
        elif not _exchange_names(partial, target):
            previous = target.with_name(f"{target.name}.previous-{uuid4().hex[:12]}")
            target.rename(previous)
            partial.rename(target)
            shutil.rmtree(previous, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            f"{target}: the new store cannot be put in place: {error.strerror}",
            hint="close the programs that use the store", path=str(target),
        ) from error  # fmt: skip


def _exchange_names(one: Path, other: Path) -> bool:
    """Exchange two names atomically; ``False`` where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
