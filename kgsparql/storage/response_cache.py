"""Requests to endpoints and models and the replies to them (exchanges), kept in an SQLite file."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from kgsparql.errors import KgsparqlError, ReplayMissError, StoreError
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
    """How many exchanges of one kind are kept, and of what size.

    :param bytes: of requests and replies together, as JSON.
    :param oldest: time at which the oldest was kept, ISO 8601, UTC; ``newest`` likewise.
    """

    kind: str
    count: int
    bytes: int
    oldest: str
    newest: str


class ResponseCache:
    """Requests and their replies in one SQLite file, which several threads and processes may use at once.

    The file is opened at the first use, and only :meth:`put` creates it.

    :raises StoreError: from any method, if the file is damaged, is of another program, or cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, ResponseCache(Path(directory, "kept.sqlite")) as cache:
    ...     cache.put("model", {"question": "2 + 2"}, {"answer": 4})
    ...     cache.get("model", {"question": "2 + 2"}), cache.get("model", {"question": "2 + 3"})
    ({'answer': 4}, None)
    """

    is_recording = False
    """Whether it keeps every request of a run in order, with the failures."""

    def __init__(self, path: Path, *, mode: Mode = "use") -> None:
        self.path = Path(path)
        self.mode = mode
        self._file = SqliteFile(self.path, _CONTENTS)

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "") -> dict[str, Any] | None:
        """The reply that is kept for a request; ``None`` where the caller should ask.

        :param what: the words for the request in an error message.
        :raises ReplayMissError: if the mode is ``only`` and there is no reply.
        """
        if self.mode == "write":
            return None
        reply = self.lookup(kind, request)
        if reply is None and self.mode == "only":
            raise ReplayMissError(
                f"{what or f'this request ({kind})'} was not recorded in {self.path}",
                hint="ask once with the model, with the same options; then it can be replayed",
                path=str(self.path), kind=kind,
            )  # fmt: skip
        return reply

    def lookup(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> dict[str, Any] | None:
        """The reply that is kept for a request, whatever the mode; ``None`` if there is none.

        :param at_most_s: the greatest age of a reply, in seconds.
        """
        select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
        key = key_of(kind, request)
        rows = self._file.rows(select, (key, _earliest(at_most_s)))
        found = unsealed(key, rows[0][0]) if rows else None
        if rows and found is None and self.mode == "only":
            why, hint = f"{self.path}: a reply in it is damaged", "record it again, into another directory"
            raise StoreError(why, code="E_STORE_CORRUPT", hint=hint, path=str(self.path))
        return found

    def check(self) -> None:
        """Read all; a StoreError if something is damaged. What a damaged reply is to is asked again when needed."""
        self._file.check("SELECT key, reply FROM exchange", unsealed)

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:  # noqa: ARG002
        """Keep a reply; it replaces an earlier one.

        :param again: for a recording: the same request will be made again and may get another reply; keep both.
        """
        key = key_of(kind, request)
        asked, replied = _json(request), json.dumps(reply, separators=(",", ":"))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, kind, now, len(asked) + len(replied), asked, _sealed(key, replied))
        with self._file.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row)

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep a failure; only a recording does."""

    @contextmanager
    def exclusive(
        self,
        kind: str,  # noqa: ARG002
        request: Mapping[str, Any],  # noqa: ARG002
        *,
        within_s: float = math.inf,  # noqa: ARG002
        cancel: threading.Event | None = None,  # noqa: ARG002
    ) -> Iterator[None]:
        """Held while the request is made; in a recording no other thread makes the same request meanwhile."""
        yield

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Delete exchanges of a kind that are too old, then the oldest while there are too many bytes; how many."""
        return self._file.delete(_PRUNE, (kind, _earliest(at_most_s), most_bytes))

    def summary(self) -> list[Kind]:
        """How much there is of each kind, sorted by kind."""
        select = "SELECT kind, count(*), sum(bytes), min(made), max(made) FROM exchange GROUP BY kind ORDER BY kind"
        return [Kind(*row) for row in self._file.rows(select)]

    def clear(self, kind: str | None = None) -> int:
        """Delete the exchanges of a kind, or all, and shrink the file; the number of deleted exchanges."""
        return self._file.delete("DELETE FROM exchange WHERE ?1 IS NULL OR kind = ?1", (kind,), shrink=True)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


_SEAL = '"kgsparql crc":'
_LAST_NUMBER = re.compile(rf".{{{len(_SEAL)}}}(?=\d+}}$)", re.DOTALL)


def _sealed(key: bytes, reply: str) -> str:
    """The JSON of a reply with a checksum as its last value, for which other versions do not look."""
    comma = "," if reply != "{}" else ""
    return f"{reply[:-1]}{comma}{_SEAL}{zlib.crc32(key + reply.encode())}}}"


def unsealed(key: bytes, text: object) -> dict[str, Any] | None:
    """The reply; ``None`` if it is damaged. One of an earlier version has no checksum, nor anything like its name."""
    if not isinstance(text, str):  # to SQLite, any column may hold a number
        return None
    reply, mark, crc = text.rpartition(_SEAL)
    last = _LAST_NUMBER.search(text)
    if not mark and last and sum(map(operator.ne, last[0], _SEAL)) == 1:
        return None
    whole = f"{reply.removesuffix(',')}}}" if mark else text
    try:
        is_whole = not mark or int(crc[:-1]) == zlib.crc32(key + whole.encode())
        return dict(json.loads(whole)) if is_whole else None
    except (ValueError, TypeError):
        return None


def _json(request: Mapping[str, Any]) -> str:
    """JSON that is the same for equal requests; in ASCII, so that its length is its size in bytes."""
    return json.dumps(request, sort_keys=True, separators=(",", ":"))


def key_of(kind: str, request: Mapping[str, Any]) -> bytes:
    """The key of a request: a hash that is the same for equal requests of a kind."""
    return hashlib.sha256(f"{kind}\n{_json(request)}".encode()).digest()


def _earliest(seconds: float) -> str:
    """The time so many seconds ago as the table has it; for infinity a text that sorts before every time."""
    if math.isinf(seconds):
        return ""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
