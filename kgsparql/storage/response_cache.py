"""Requests to endpoints and models and the replies to them (exchanges), kept in an SQLite file."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self

from kgsparql.errors import ReplayMissError, StoreError
from kgsparql.storage.sqlite_file import Contents, SqliteFile

Mode = Literal["use", "write", "only"]
"""``use``: reply from the cache, else ask and keep. ``write``: always ask, and keep. ``only``: never ask."""

RESPONSE_FILE = "exchanges.sqlite"
"""Name of the file in the cache directory, and in a snapshot."""

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


@dataclass(frozen=True, slots=True)
class Kind:
    """How many exchanges of one kind are kept, of how many bytes as JSON, and since when (ISO 8601, UTC)."""

    kind: str
    count: int
    bytes: int
    oldest: str
    newest: str


class Exchanges:
    """Requests and their replies in one SQLite file, which several threads and processes may use at once."""

    def __init__(self, path: Path, *, mode: Mode = "use") -> None:
        self.path = Path(path)
        self.mode = mode
        self._file = SqliteFile(self.path, _CONTENTS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def lookup(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> dict[str, Any] | None:
        """Return the reply that is kept for a request and at most so old, whatever the mode."""
        key = key_of(kind, request)
        select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
        rows = self._file.rows(select, (key, _earliest_time(at_most_s)))
        found = unsealed(key, rows[0][0]) if rows else None
        if rows and found is None and self.mode == "only":
            hint = "record it again, into another directory"
            raise StoreError(f"{self.path}: a reply in it is damaged", code="E_STORE_CORRUPT", hint=hint)
        return found

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _keep_reply(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep a reply; it replaces an earlier one to the same request."""
        key = key_of(kind, request)
        asked, replied = _canonical_json(request), json.dumps(reply, separators=(",", ":"))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, kind, now, len(asked) + len(replied), asked, sealed(key, replied))
        with self._file.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row)


class ResponseCache(Exchanges):
    """Replies that are used again, so that nobody is asked, or paid, twice.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, ResponseCache(Path(directory, "kept.sqlite")) as cache:
    ...     cache.put("model", {"question": "2 + 2"}, {"answer": 4})
    ...     cache.get("model", {"question": "2 + 2"}), cache.get("model", {"question": "2 + 3"})
    ({'answer': 4}, None)
    """

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

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep a reply; it replaces an earlier one."""
        self._keep_reply(kind, request, reply)

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Delete what is too old of a kind, then the oldest while there are too many bytes; return how many."""
        return self._file.change(_PRUNE, (kind, _earliest_time(at_most_s), most_bytes))

    def summary(self) -> list[Kind]:
        """Return how much there is of each kind, sorted by kind."""
        select = "SELECT kind, count(*), sum(bytes), min(made), max(made) FROM exchange GROUP BY kind ORDER BY kind"
        return [Kind(*row) for row in self._file.rows(select)]

    def clear(self, kind: str | None = None) -> int:
        """Delete the exchanges of a kind, or all, and shrink the file; return how many were deleted."""
        return self._file.change("DELETE FROM exchange WHERE ?1 IS NULL OR kind = ?1", (kind,), shrink=True)


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
