"""Replacing files and the directories of stores atomically, and cleaning up after a process that was killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from kgsparql.errors import StoreError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_HELD = {5, 32}
"""What Windows says of a file that a program has open: access denied, sharing violation."""
_HELD_S = 1.0


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
    partial = partial_path(file)
    try:
        partial.touch(mode)
        partial.write_bytes(text.encode("utf-8", "replace"))
        put_in_place(partial, file)
    finally:
        with suppress(PermissionError):  # of Windows, where it is open: it is a leftover then
            partial.unlink(missing_ok=True)


def put_in_place(partial: Path, target: Path) -> None:
    """Rename a file or directory; a file there is replaced.

    Windows refuses it while a program has one of the two open: a search index or a virus scanner, for a moment.

    :raises OSError: if it stays refused; both are as they were.
    """
    until = time.monotonic() + _HELD_S
    while True:
        try:
            partial.replace(target)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _HELD or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def restore_store(target: Path) -> None:
    """Restore a store whose load was killed between two renames. The caller holds the writer's lock."""
    previous = previous_stores(target)
    if previous and not target.exists():
        put_in_place(previous[0], target)


def remove_leftovers(target: Path) -> None:
    """As :func:`restore_store`; then remove what else a killed writer left beside a store, or in a label index."""
    restore_store(target)
    of_lance = target.glob("*.lance/**/.tmp*")  # where it was making an index of a column
    for leftover in [*previous_stores(target), *_beside(target, "partial"), *of_lance]:
        if leftover.is_file():
            with suppress(PermissionError):  # of Windows, where it is open: the next command removes it
                leftover.unlink(missing_ok=True)
        else:
            shutil.rmtree(leftover, ignore_errors=True)


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
            put_in_place(partial, target)
        elif not _exchange_names(partial, target):
            previous = target.with_name(f"{target.name}.previous-{uuid4().hex[:12]}")
            put_in_place(target, previous)
            put_in_place(partial, target)
            shutil.rmtree(previous, ignore_errors=True)
    except OSError as error:
        with suppress(OSError):
            restore_store(target)
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
