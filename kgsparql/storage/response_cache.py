"""Requests to endpoints and models and the replies to them (exchanges), kept in an SQLite file.

A recording keeps every exchange of a run, so that the same run can be replayed when there is nobody to ask. Within one
run a request that got a reply is not made again, so that the order in which threads ask makes no difference to a
replay. Only a request that failed is made again. All results of one request are kept, in their order.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from kgsparql.errors import CancelledError, KgsparqlError, ReplayMissError, StoreError, error_from
from kgsparql.storage.files import digest_of
from kgsparql.storage.sqlite_file import Contents, SqliteFile

Mode = Literal["use", "write", "only"]
"""``use``: reply from the cache, else ask and keep. ``write``: always ask, and keep. ``only``: never ask."""

RESPONSE_FILE = "exchanges.sqlite"  # name of the file in the cache directory, and in a snapshot

_CONTENTS = Contents(
    what="exchanges",
    version=1,
    tables="""
CREATE TABLE exchange (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, made TEXT NOT NULL, bytes INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL
);
CREATE INDEX exchange_kind ON exchange (kind, made, bytes);
""",
    again="the replies are asked for again",
    room="kgsparql cache --clear all",
)

_PRUNE = """
DELETE FROM exchange WHERE kind = ?1 AND (made < ?2 OR rowid NOT IN (
    SELECT rowid FROM (
        SELECT rowid, sum(bytes) OVER (ORDER BY made DESC, rowid DESC) AS total FROM exchange WHERE kind = ?1
    ) WHERE total <= ?3
))
"""
"""Deletes the rows of a kind that are older than a time, then its oldest rows until it has few enough bytes."""


QUERY = "query"  # the kind of exchange of queries to endpoints
COUNTS = "counts"  # of what was found out about a whole graph
_AGAIN = "kgsparql again"
"""In a request: how often it was made before. In a reply: the request was, or may have been, made again."""
_FAILED = "kgsparql failed"
_POLL_S = 0.05


class Exchanges(SqliteFile):
    """Requests and their replies in one SQLite file, which several threads and processes may use at once."""

    def __init__(self, path: Path, *, mode: Mode = "use") -> None:
        super().__init__(path, _CONTENTS)
        self.mode = mode

    def lookup(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> dict[str, Any] | None:
        """Return the reply that is kept for a request and at most so old, whatever the mode."""
        key = key_of(kind, request)
        select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
        rows = self.rows(select, (key, _earliest_time(at_most_s)))
        found = unsealed(key, rows[0][0]) if rows else None
        if rows and found is None and self.mode == "only":
            hint = "record it again, into another directory"
            raise StoreError(f"{self.path}: a reply in it is damaged", code="E_STORE_CORRUPT", hint=hint)
        return found

    def kept(self, kind: str, *, at_most_s: float) -> list[tuple[dict[str, Any], dict[str, Any], str]]:
        """List what is kept of a kind and at most so old: requests, replies, and when; the newest last."""
        select = "SELECT key, request, reply, made FROM exchange WHERE kind = ? AND made >= ? ORDER BY made, rowid"
        rows = self.rows(select, (kind, _earliest_time(at_most_s)))
        found = [(json.loads(request), unsealed(key, reply), made) for key, request, reply, made in rows]
        return [(request, reply, made) for request, reply, made in found if reply is not None]

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:
        """Keep a reply; with ``again``, the same request will be made again. It replaces an earlier one."""
        del again  # makes a difference to a recording only
        key = key_of(kind, request)
        asked, replied = _canonical_json(request), json.dumps(reply, separators=(",", ":"))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, kind, now, len(asked) + len(replied), asked, sealed(key, replied))
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row)


class ResponseCache(Exchanges):
    """Replies that are used again, so that nobody is asked, or paid, twice."""

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "") -> dict[str, Any] | None:
        """Return the reply that is kept for a request; ``None`` where the caller should ask.

        :raises ReplayMissError: if the mode is ``only`` and there is no reply; ``what`` are the words for the request.
        """
        if self.mode == "write":
            return None
        reply = self.lookup(kind, request)
        if reply is None and self.mode == "only":
            hint = "ask once with the model, with the same options; then it can be replayed"
            raise ReplayMissError(f"{what or f'this request ({kind})'} was not recorded in {self.path}", hint=hint)
        return reply

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Delete what is too old of a kind, then the oldest while there are too many bytes; return how many."""
        return self.change(_PRUNE, (kind, _earliest_time(at_most_s), most_bytes))

    def summary(self) -> dict[str, tuple[int, int, str, str]]:
        """Tell of each kind how many there are, of how many bytes as JSON, the oldest and the newest (ISO 8601)."""
        select = "SELECT kind, count(*), sum(bytes), min(made), max(made) FROM exchange GROUP BY kind ORDER BY kind"
        return {kind: (count, size, oldest, newest) for kind, count, size, oldest, newest in self.rows(select)}

    def clear(self, kind: str | None = None) -> int:
        """Delete the exchanges of a kind, or all, and shrink the file; return how many were deleted."""
        return self.change("DELETE FROM exchange WHERE ?1 IS NULL OR kind = ?1", (kind,), shrink=True)


class Recording(Exchanges):
    """The exchanges of a snapshot: every request of a run in its order, with the failures."""

    def __init__(self, path: Path, *, mode: Literal["write", "only"]) -> None:
        super().__init__(path, mode=mode)
        self._lock = threading.Lock()
        self._times: Counter[bytes] = Counter()
        self._answered: set[bytes] = set()
        self._request_locks: dict[bytes, threading.Lock] = {}
        self._askers: dict[str, list[str]] = {}

    def asker_number(self, where: str, *who: str) -> int:
        """Return the number of an asker among all who ask an address, from 0, in the order in which they first come.

        It keeps the replies for different users apart, without their names and passwords (``who``) in the recording.
        """
        own = digest_of(who)
        with self._lock:
            digests = self._askers.setdefault(where, [])
            if own not in digests:
                digests.append(own)
            return digests.index(own)

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "", asked: str = "") -> dict[str, Any] | None:
        """Return the reply to a request: in a replay as it was this time, while recording only if it has one already.

        :param what: the words for the request in the error; ``asked`` is its name there.
        :raises ReplayMissError: if a replay makes a request that was not recorded.
        :raises KgsparqlError: the same error again, if the request failed when it was recorded.
        """
        key = key_of(kind, request)
        with self._lock:
            number = self._times[key]
            if self.mode == "write" and key not in self._answered:
                return None
            found = self.lookup(kind, _numbered_request(request, number))
            if self.mode == "write":
                return found
            if found is None and number:
                found = self.lookup(kind, _numbered_request(request, number - 1))  # it was not made as often then
            elif found is not None and _AGAIN in found:
                self._times[key] += 1
        if found is None:
            raise self._miss_error(kind, request, what, asked or kind)
        if _FAILED in found:
            raise error_from(found[_FAILED])
        return {name: value for name, value in found.items() if name != _AGAIN}

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:
        """Keep a reply; with ``again``, the same request will be made again, and may get another reply: keep both."""
        key = key_of(kind, request)
        with self._lock:
            number = self._times[key]
            if again:
                self._times[key] += 1
            else:
                self._answered.add(key)
        super().put(kind, _numbered_request(request, number), {**reply, _AGAIN: True} if again else reply)

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep an error; a replay raises it again."""
        if not isinstance(error, CancelledError):
            record = json.loads(json.dumps(error.to_record(), default=str))
            self.put(kind, request, {_FAILED: record}, again=True)

    def through(
        self, kind: str, request: Mapping[str, Any], ask: Callable[[], dict[str, Any]], *, what: str = ""
    ) -> dict[str, Any]:
        """Return the recorded reply; else ask, and record what comes of it."""
        if (kept := self.get(kind, request, what=what)) is not None:
            return kept
        try:
            reply = ask()
        except KgsparqlError as error:
            self.fail(kind, request, error)
            raise
        self.put(kind, request, reply)
        return reply

    def recorded_value(self, kind: str, request: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a value that differs from run to run, such as a measured time; in a replay, return what was kept."""
        if self.mode == "write":
            self.put(kind, request, value, again=True)
            return dict(value)
        return self.get(kind, request) or {}

    @contextmanager
    def exclusive(
        self, kind: str, request: Mapping[str, Any], *, within_s: float = math.inf,
        cancel: threading.Event | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """Hold a request while it is made: a second thread with the same request waits, and then finds the reply."""
        until, has_lock = time.monotonic() + within_s, False
        lock = self._request_locks.setdefault(key_of(kind, request), threading.Lock())
        while self.mode == "write" and not has_lock and time.monotonic() < until:
            has_lock = lock.acquire(timeout=_POLL_S)
            if not has_lock and cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
        try:
            yield
        finally:
            if has_lock:
                lock.release()

    def _miss_error(self, kind: str, request: Mapping[str, Any], what: str, asked: str) -> ReplayMissError:
        directory = self.path.parent
        here = shlex.quote(str(directory))
        return ReplayMissError(
            f"not recorded in {directory}: {what or 'a request that this needs'}",
            hint="its manifest.json says what was asked when it was recorded; or record this one too, with "
            f"--record {here} in place of --replay {here}",
            path=str(directory), kind=kind, asked=asked, request=dict(request),
        )  # fmt: skip


def _numbered_request(request: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {**request, _AGAIN: number} if number else dict(request)


_SEAL = '"kgsparql crc":'


def sealed(key: bytes, reply: str) -> str:
    """Return the JSON of a reply with a checksum as its last value."""
    comma = "," if reply != "{}" else ""
    return f"{reply[:-1]}{comma}{_SEAL}{zlib.crc32(key + reply.encode())}}}"


def unsealed(key: bytes, text: object) -> dict[str, Any] | None:
    """Return the reply that was sealed; ``None`` if it is damaged."""
    reply, mark, crc = text.rpartition(_SEAL) if isinstance(text, str) else ("", "", "")  # SQLite keeps any type
    whole = f"{reply.removesuffix(',')}}}"
    try:
        return dict(json.loads(whole)) if mark and int(crc[:-1]) == zlib.crc32(key + whole.encode()) else None
    except (ValueError, TypeError):
        return None


def _canonical_json(request: Mapping[str, Any]) -> str:
    return json.dumps(request, sort_keys=True, separators=(",", ":"))  # in ASCII: its length is its size in bytes


def key_of(kind: str, request: Mapping[str, Any]) -> bytes:
    """Return the key of a request: a hash that is the same for equal requests of a kind."""
    return hashlib.sha256(f"{kind}\n{_canonical_json(request)}".encode()).digest()


def _earliest_time(seconds: float) -> str:
    """Return the time so many seconds ago as the table has it; for infinity a text that sorts before every time."""
    if math.isinf(seconds):
        return ""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
