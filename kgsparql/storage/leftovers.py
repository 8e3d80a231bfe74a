"""What a writer that was killed leaves: half-made files and directories, and its lock file, which nobody holds."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from kgsparql.errors import StoreError
from kgsparql.storage.atomic_replace import remove_leftovers
from kgsparql.storage.disk_usage import remove
from kgsparql.storage.file_lock import is_abandoned, lock_path, writer_lock

_OURS = re.compile(r"([0-9a-f]{32}.*?)\.(lock|(partial|previous)-[^.]*)")
_OLD_S = 3_600
"""A small file is written without a lock, in milliseconds: one that is half-made for so long is nobody's."""


def sweep(targets: Iterable[Path]) -> None:
    """Remove what killed writers left beside these, and nothing that somebody is writing."""
    for target in targets:
        with suppress(StoreError), writer_lock(target):
            remove_leftovers(target)


def keep_newest(manifests: Iterable[Path]) -> None:
    """Remove the stores or indexes of these manifests, all but the newest: their files have changed since."""
    with suppress(OSError):  # one that another process removes
        for file in sorted(manifests, key=lambda file: file.stat().st_mtime_ns, reverse=True)[1:]:
            with suppress(StoreError), writer_lock(file.parent):
                remove(file.parent, file.parent)


def leftovers(cache: Path) -> Iterator[tuple[Path, Path]]:
    """What killed writers left in the folders of a cache: each target, and an entry beside it."""
    for entry in sorted(cache.glob("*/*.*")):
        match = None if entry.parent.is_symlink() else _OURS.fullmatch(entry.name)
        if match:
            target = entry.with_name(match[1])
            is_old = not lock_path(target).exists() and time.time() - entry.lstat().st_mtime > _OLD_S
            if is_old or is_abandoned(target):
                yield target, entry
