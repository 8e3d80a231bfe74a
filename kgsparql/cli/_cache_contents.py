"""What the cache directory holds, kind by kind, and how it is removed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kgsparql.errors import OptionError, StoreError, StoreLockedError
from kgsparql.graphs.protocol.rate_limiter import FOLDER as RATE_LIMITS
from kgsparql.graphs.protocol.rate_limiter import is_to_be_left_alone
from kgsparql.models.embedders import VECTORS, VectorStore
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import bytes_of, link_trouble, modified_at, remove, remove_database, size_of, writer_lock
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

_FOLDERS = {
    "graphs": "files kept as stores",
    "labels": "label indexes",
    "adjacency": "adjacencies of graphs, for paths",
    "models": "the embedding model in a form that starts fast",
    "endpoints": "what endpoints are",
    "runs": "answers of the page, by their addresses",
    RATE_LIMITS: "when public endpoints were asked last, and whether they want peace",
}
_EXCHANGES = {
    "model": "replies of language models",
    "query": "replies of public endpoints",
    "counts": "what was counted over whole graphs",
    "abilities": "which JSON modes each model server takes",
    "exchanges": "exchanges",
}
"""Kinds of one file; the last stands for every kind, and for a file that cannot be read."""
_WHOLE_FILE, _VECTORS, _ALL = "exchanges", "vectors", "all"

_AT_ONCE = 8
"""Indexes that are removed at once: nearly all of the time is waiting for the disk, file by file."""

_OURS = re.compile(r"[0-9a-f]{32}(?:\..+)?")
"""Names of stores and indexes, and of the files that belong to one; nothing else in their folders is touched."""


@dataclass(frozen=True, slots=True)
class KindSummary:
    """How much there is of one kind.

    :param bytes: on the disk; of exchanges, of the requests and replies only.
    :param oldest: when the oldest was made or last written, ISO 8601, UTC; ``newest`` likewise; empty if unknown.
    :param trouble: why it cannot be used or is not looked at; empty for none.
    """

    kind: str
    what: str
    count: int
    bytes: int
    oldest: str = ""
    newest: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed of one kind.

    :param failures: an error for each store, index or file that could not be removed; it may be in use.
    """

    kind: str
    count: int
    bytes: int
    failures: tuple[StoreError, ...] = ()
    note: str = ""


class CacheContents:
    """The cache directory; other processes may use it at the same time.

    Symbolic links in it are not followed; clearing removes at most the link.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     CacheContents(Path(directory, "none yet")).summary()
    []
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (cache_directory() if directory is None else directory).absolute()
        self._exchanges = self.directory / RESPONSE_FILE
        self._vectors = self.directory / VECTORS

    @property
    def bytes(self) -> int:
        """The size of all kinds on the disk."""
        folders = sum(size_of(entry) for folder in _FOLDERS for entry in self._entries_in(folder))
        return folders + bytes_of(self._exchanges) + bytes_of(self._vectors)

    def summary(self) -> list[KindSummary]:
        """Say how much there is of each kind; empty kinds are left out."""
        found = [self._folder_summary(folder) for folder in _FOLDERS] + self._vector_summaries()
        return [kept for kept in [*found, *self._exchange_summaries()] if kept.count or kept.bytes or kept.trouble]

    def kinds(self) -> list[str]:
        """List the names of what may be cleared."""
        found = [kept.kind for kept in self._exchange_summaries()]
        return list(dict.fromkeys([*_FOLDERS, _VECTORS, *_EXCHANGES, *found, _ALL]))

    def clear(self, kinds: Iterable[str]) -> Iterator[Cleared]:
        """Remove kinds, one after the other; nothing is removed if a name is not one of :meth:`kinds`.

        :raises OptionError: for such a name.
        """
        named = list(dict.fromkeys(kinds))
        known = self.kinds()
        for kind in named:
            if kind not in known:
                raise OptionError(f"no kind {printable(kind, 40)!r} in the cache", hint=f"one of: {', '.join(known)}")
        return map(self._cleared_kind, [*_FOLDERS, _VECTORS, _WHOLE_FILE] if _ALL in named else named)

    def _cleared_kind(self, kind: str) -> Cleared:
        def clear_vectors() -> int:
            with closing(VectorStore(self._vectors)) as store:
                return store.clear()

        def clear_exchanges() -> int:
            with ResponseCache(self._exchanges) as exchanges:
                return exchanges.clear(None if kind == _WHOLE_FILE else kind)

        if kind in _FOLDERS:
            return self._cleared_folder(kind)
        if kind == _VECTORS:
            return _cleared_database(self._vectors, kind, clear_vectors)
        return _cleared_database(self._exchanges, kind, clear_exchanges, beside="with every kind of exchange, ")

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

    def _folder_summary(self, folder: str) -> KindSummary:
        if trouble := link_trouble(self.directory / folder):
            return KindSummary(folder, _FOLDERS[folder], 0, 0, trouble=trouble)
        entries = [entry for entry in self._entries_in(folder) if entry.suffix != ".lock"]
        whole = [entry for entry in entries if entry.name == _target_name(entry)]
        times = sorted(map(modified_at, whole)) or [""]
        size = sum(map(size_of, entries))
        return KindSummary(folder, _FOLDERS[folder], len(whole), size, times[0], times[-1])

    def _vector_summaries(self) -> list[KindSummary]:
        what = "vectors of texts"
        try:
            if trouble := link_trouble(self._vectors):
                return [KindSummary(_VECTORS, what, 0, 0, trouble=trouble)]
            with closing(VectorStore(self._vectors)) as store:
                found = store.summary()
        except StoreError as error:
            return [KindSummary(_VECTORS, what, 0, bytes_of(self._vectors), trouble=error.message)]
        size = bytes_of(self._vectors)
        return [KindSummary(_VECTORS, what, found.count, size, found.oldest, found.newest)] if found.count else []

    def _exchange_summaries(self) -> list[KindSummary]:
        what = _EXCHANGES[_WHOLE_FILE]
        if trouble := link_trouble(self._exchanges):
            return [KindSummary(_WHOLE_FILE, what, 0, 0, trouble=trouble)]
        try:
            with ResponseCache(self._exchanges) as exchanges:
                found = exchanges.summary()
        except StoreError as error:
            return [KindSummary(_WHOLE_FILE, what, 0, bytes_of(self._exchanges), trouble=error.message)]
        return [KindSummary(k.kind, _EXCHANGES.get(k.kind, what), k.count, k.bytes, k.oldest, k.newest) for k in found]

    def _cleared_folder(self, folder: str) -> Cleared:
        if trouble := link_trouble(self.directory / folder):
            return Cleared(folder, 0, 0, note=trouble)
        entries: dict[Path, list[Path]] = {}
        for entry in self._entries_in(folder):
            entries.setdefault(entry.with_name(_target_name(entry)), []).append(entry)
        waiting = [target for target in entries if folder == RATE_LIMITS and is_to_be_left_alone(target)]
        for target in waiting:
            del entries[target]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            done = list(pool.map(_remove_with_entries, entries, entries.values()))
        note = f"kept of {len(waiting)}: they must not be asked yet, and nobody else would know" if waiting else ""
        failures = tuple(failure for *_, failure in done if failure is not None)
        return Cleared(folder, sum(is_gone for is_gone, *_ in done), sum(size for _, size, _ in done), failures, note)


def _remove_with_entries(target: Path, entries: Iterable[Path]) -> tuple[bool, int, StoreError | None]:
    """Remove a store or index and the entries beside it: whether it was there, the bytes freed, and what failed."""
    was_there, size = False, 0
    try:
        with writer_lock(target):
            # Looked up with the lock held: a writer may have put it in place in the meantime.
            for entry in {target, *entries}:
                if entry.suffix != ".lock" and os.path.lexists(entry):
                    held = size_of(entry)
                    remove(entry, target)
                    was_there, size = was_there or entry == target, size + held
    except StoreError as error:
        return was_there, size, error
    return was_there, size, None


def _cleared_database(path: Path, kind: str, clear: Callable[[], int], *, beside: str = "") -> Cleared:
    """Remove a kind from a file, or the whole file if it cannot be used.

    :param clear: removes the kind and returns how many there were.
    :param beside: what else is in the file, for the note; then it is removed only if it is corrupt or all is cleared.
    """
    if trouble := link_trouble(path):
        return Cleared(kind, 0, 0, note=trouble)
    before, count, note = bytes_of(path), 0, ""
    try:
        count = clear()
    except StoreLockedError as error:
        return Cleared(kind, 0, 0, (error,))
    except StoreError as error:
        if beside and kind != _WHOLE_FILE and error.code != "E_STORE_CORRUPT":
            return Cleared(kind, 0, 0, (error,))
        try:
            remove_database(path)
        except StoreError as failure:
            return Cleared(kind, 0, 0, (failure,))
        note = f"removed the file, {beside}because it could not be used: {error.message}"
    return Cleared(kind, count, max(0, before - bytes_of(path)), note=note)


def _target_name(entry: Path) -> str:
    """Return the name of the store or index that an entry belongs to."""
    return entry.name.partition(".")[0]
