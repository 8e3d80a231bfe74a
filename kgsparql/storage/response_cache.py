"""Requests to endpoints and models and the replies to them (exchanges), kept in an SQLite file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from kgsparql.rdf.terms import Json
from kgsparql.resources import cache_directory
from kgsparql.storage.sqlite_file import SqliteFile

Mode = Literal["use", "write"]
"""``use``: reply from the cache, else ask and keep. ``write``: always ask, and keep."""

RESPONSE_FILE = "exchanges.sqlite"  # in the cache directory
QUERY = "query"  # the kind of exchange of queries to endpoints
COUNTS = "counts"  # of what was found out about a whole graph

_PRUNE = """
DELETE FROM exchange WHERE kind = ?1 AND (made < ?2 OR rowid NOT IN (
    SELECT rowid FROM (
        SELECT rowid, sum(bytes) OVER (ORDER BY made DESC, rowid DESC) AS total FROM exchange WHERE kind = ?1
    ) WHERE total <= ?3
))
"""
"""Deletes the rows of a kind that are older than a time, then its oldest rows until it has few enough bytes."""


class ResponseCache(SqliteFile):
    """Replies that are used again, so that nobody is asked, or paid, twice; for several threads and processes.

    :param path: the file; that of the cache directory, if ``None``.
    """

    what = "exchanges"
    tables = """
CREATE TABLE exchange (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, made TEXT NOT NULL, bytes INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL
);
CREATE INDEX exchange_kind ON exchange (kind, made, bytes);
"""
    again = "the replies are asked for again"

    def __init__(self, path: Path | None = None, *, mode: Mode = "use") -> None:
        super().__init__(path or cache_directory() / RESPONSE_FILE)
        self.mode = mode

    def get(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> Json | None:
        """Return the reply that is kept for a request and at most so old; ``None`` where the caller should ask."""
        return None if self.mode == "write" else self.lookup(kind, request, at_most_s=at_most_s)

    def lookup(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> Json | None:
        """Return the reply that is kept for a request and at most so old, whatever the mode."""
        key = _key_of(kind, request)
        select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
        rows = self.rows(select, (key, _time_ago(at_most_s)))
        with suppress(ValueError, TypeError):  # of a damaged file
            return dict(json.loads(rows[0][0])) if rows else None
        return None

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep a reply in place of an earlier one."""
        key = _key_of(kind, request)
        asked, replied = _canonical_json(request), json.dumps(reply, separators=(",", ":"))
        row = (key, kind, _time_ago(0.0), len(asked) + len(replied), asked, replied)
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row)

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Delete what is too old of a kind, then the oldest while there are too many bytes; return how many."""
        return self.change(_PRUNE, (kind, _time_ago(at_most_s), most_bytes))


def _canonical_json(request: Mapping[str, Any]) -> str:
    return json.dumps(request, sort_keys=True, separators=(",", ":"))  # in ASCII: its length is its size in bytes


def _key_of(kind: str, request: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(f"{kind}\n{_canonical_json(request)}".encode()).digest()


def _time_ago(seconds: float) -> str:
    """Return the time so many seconds ago as the table has it; for infinity a text that sorts before every time."""
    if math.isinf(seconds):
        return ""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
