"""What the cache directory holds, kind by kind, and how it is removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kgsparql.errors import OptionError, StoreError, StoreLockedError
from kgsparql.graphs.protocol.rate_limiter import FOLDER as RATE_LIMITS
from kgsparql.graphs.protocol.rate_limiter import is_to_be_left_alone
from kgsparql.models.embedders import VECTORS, VectorStore
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import bytes_of, remove, remove_database, size_of, writer_lock
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

_FOLDERS = {
    "graphs": "files kept as stores",
    "labels": "label indexes",
    "adjacency": "adjacencies of graphs, for paths",
    "models": "the embedding model in a form that starts fast",
    "endpoints": "what endpoints are",
    "runs": "answers of the page, by their addresses",
    "rate-limits": "when public endpoints were asked last, and whether they want peace",
}
_EXCHANGES = {
    "model": "replies of language models",
    "query": "replies of public endpoints",
    "counts": "what was counted over whole graphs",
    "abilities": "which JSON modes each model server takes",
}
_FILES = ("vectors", "exchanges")
"""Kinds that are a file; in that of the exchanges are several kinds."""
_OURS = re.compile(r"[0-9a-f]{32}(?:\..+)?")
"""Names of stores and indexes, and of the files that belong to one; nothing else in their folders is touched."""


@dataclass(frozen=True, slots=True)
class KindSummary:
    """How much there is of one kind.

    :param what: what it is, or why it cannot be read.
    :param bytes: on the disk; of exchanges, of the requests and replies only.
    :param oldest: when the oldest was last written, ISO 8601, UTC; ``newest`` likewise; empty if unknown.
    """

    kind: str
    what: str
    count: int
    bytes: int
    oldest: str = ""
    newest: str = ""


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed of one kind.

    :param failures: an error for each store, index or file that could not be removed; it may be in use.
    """

    kind: str
    count: int
    bytes: int
    failures: tuple[StoreError, ...] = ()


class CacheContents:
    """The cache directory; other processes may use it at the same time.

    Symbolic links to folders and files of it are not followed, and are left alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     CacheContents(Path(directory, "none yet")).summary()
    []
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (cache_directory() if directory is None else directory).absolute()
        self._files = {"vectors": self.directory / VECTORS, "exchanges": self.directory / RESPONSE_FILE}

    def summary(self) -> list[KindSummary]:
        """Say how much there is of each kind; empty kinds are left out."""
        found = []
        for folder, what in _FOLDERS.items():
            entries = [entry for entry in self._entries_in(folder) if entry.suffix != ".lock"]
            whole = [entry for entry in entries if entry == _target_of(entry)]
            times = sorted(map(_modified_at, whole)) or [""]
            found.append(KindSummary(folder, what, len(whole), sum(map(size_of, entries)), times[0], times[-1]))
        for kind, file in self._files.items():
            try:
                found += self._file_summaries(kind)
            except StoreError as error:
                found.append(KindSummary(kind, printable(error.message, 400), 0, bytes_of(file)))
        return [kept for kept in found if kept.count or kept.bytes]

    def clear(self, kinds: Iterable[str]) -> list[Cleared]:
        """Remove kinds; nothing is removed if a name is none of them, nor ``all``.

        :raises OptionError: for such a name.
        """
        named, known = list(dict.fromkeys(kinds)), [*_FOLDERS, *_EXCHANGES, *_FILES, "all"]
        for kind in named:
            if kind not in known:
                raise OptionError(f"no kind {printable(kind, 40)!r} in the cache", hint=f"one of: {', '.join(known)}")
        chosen = [*_FOLDERS, *_FILES] if "all" in named else named
        return [self._cleared_folder(kind) if kind in _FOLDERS else self._cleared_file(kind) for kind in chosen]

    def _file_summaries(self, kind: str) -> list[KindSummary]:
        file = self._files[kind]
        if file.is_symlink() or not file.exists():
            return []
        if kind == "vectors":
            with closing(VectorStore(file)) as vectors:
                count, oldest, newest = vectors.summary()
            return [KindSummary(kind, "vectors of texts", count, bytes_of(file) if count else 0, oldest, newest)]
        with ResponseCache(file) as exchanges:
            return [
                KindSummary(own.kind, _EXCHANGES.get(own.kind, ""), own.count, own.bytes, own.oldest, own.newest)
                for own in exchanges.summary()
            ]

    def _cleared_folder(self, folder: str) -> Cleared:
        """Remove what nobody is writing; an endpoint that wants peace keeps its entry, for nobody else would know."""
        entries: dict[Path, list[Path]] = {}
        for entry in self._entries_in(folder):
            entries.setdefault(_target_of(entry), []).append(entry)
        count, size, failures = 0, 0, []
        for target, beside in entries.items():
            if folder == RATE_LIMITS and is_to_be_left_alone(target):
                continue
            try:
                with writer_lock(target):
                    # Looked up with the lock held: a writer may have put it in place in the meantime.
                    for entry in (one for one in {target, *beside} if one.suffix != ".lock" and os.path.lexists(one)):
                        held = size_of(entry)
                        remove(entry, target)
                        count, size = count + (entry == target), size + held
            except StoreError as error:
                failures.append(error)
        return Cleared(folder, count, size, tuple(failures))

    def _cleared_file(self, kind: str) -> Cleared:
        """Empty a file, or of exchanges one kind; a file that cannot be used is removed if all of it is meant."""
        file = self._files["vectors" if kind == "vectors" else "exchanges"]
        if file.is_symlink() or not file.exists():
            return Cleared(kind, 0, 0)
        before, count = bytes_of(file), 0
        try:
            try:
                if kind == "vectors":
                    with closing(VectorStore(file)) as vectors:
                        count = vectors.clear()
                else:
                    with ResponseCache(file) as exchanges:
                        count = exchanges.clear(kind if kind in _EXCHANGES else None)
            except StoreLockedError:
                raise
            except StoreError:
                if kind in _EXCHANGES:
                    raise
                remove_database(file)
        except StoreError as error:
            return Cleared(kind, 0, 0, (error,))
        return Cleared(kind, count, max(0, before - bytes_of(file)))

    def _entries_in(self, folder: str) -> list[Path]:
        """List the stores or indexes in a folder, their locks, and what interrupted writers left behind."""
        place = self.directory / folder
        try:
            if place.is_symlink() or not place.is_dir():
                return []
            return sorted(entry for entry in place.iterdir() if _OURS.fullmatch(entry.name))
        except OSError as error:
            hint = "may this user read it? KGSPARQL_CACHE_DIR names another directory"
            raise StoreError(f"{place}: {error.strerror}", hint=hint, path=str(place)) from error


def _target_of(entry: Path) -> Path:
    """Return the store or index that an entry belongs to."""
    return entry.with_name(entry.name.partition(".")[0])


def _modified_at(path: Path) -> str:
    """Say when a file or directory was last written, ISO 8601, UTC; empty if it is gone."""
    with suppress(OSError):
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC).isoformat(timespec="seconds")
    return ""
