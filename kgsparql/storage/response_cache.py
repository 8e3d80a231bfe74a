"""What was asked of endpoints and models and what they replied, kept in SQLite: a cache, or a recording."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from kgsparql.errors import KgsparqlError, ReplayMissError
from kgsparql.storage.exchange_table import EXCHANGE_TABLE, PRUNE
from kgsparql.storage.sqlite_file import SqliteFile, waiting

__all__ = ["EXCHANGES", "Exchanges", "Kind", "Mode", "key_of"]

Mode = Literal["use", "write", "only"]
"""``use``: answer from the store, and add to it. ``write``: always ask, and keep the reply. ``only``: never ask."""

EXCHANGES = "exchanges.sqlite"
"""The file that exchanges are kept in, in the cache directory and in a snapshot."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How much there is of one kind of exchange.

    :param bytes: of requests and replies together, as JSON.
    :param oldest: when the oldest was kept, ISO 8601, UTC; ``newest`` likewise.
    """

    kind: str
    count: int
    bytes: int
    oldest: str
    newest: str


class Exchanges:
    """Requests and their replies in one file, which several threads and processes may use at once.

    Nothing is opened or made before it is needed: only :meth:`put` makes the file.

    :raises StoreError: from any method, if the file is there and is not such a store, or cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, Exchanges(Path(directory, "kept.sqlite")) as kept:
    ...     kept.put("model", {"question": "2 + 2"}, {"answer": 4})
    ...     kept.get("model", {"question": "2 + 2"}), kept.get("model", {"question": "2 + 3"})
    ({'answer': 4}, None)
    """

    is_recording = False
    """Whether it keeps everything that a run asks, in order, failures too."""

    def __init__(self, path: Path, *, mode: Mode = "use") -> None:
        self.path = Path(path)
        self.mode = mode
        self._file = SqliteFile(self.path, EXCHANGE_TABLE)

    def __enter__(self) -> Exchanges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "") -> dict[str, Any] | None:
        """The reply that is kept for a request, as the mode allows; ``None``: ask.

        :param what: the request, as an error calls it.
        :raises ReplayMissError: if nobody may be asked, and it is not there.
        """
        if self.mode == "write":
            return None
        reply = self.known(kind, request)
        if reply is None and self.mode == "only":
            raise ReplayMissError(
                f"{what or f'this request ({kind})'} was not recorded in {self.path}",
                hint="ask once with the model, with the same options; then it can be replayed",
                path=str(self.path), kind=kind,
            )  # fmt: skip
        return reply

    def known(self, kind: str, request: Mapping[str, Any], *, at_most_s: float = math.inf) -> dict[str, Any] | None:
        """The reply that is kept for a request, whatever the mode; ``None`` if there is none.

        :param at_most_s: how old it may be.
        """
        with self._file.opened() as connection:
            if connection is None:
                return None
            key = (key_of(kind, request), _ago(at_most_s))
            select = "SELECT reply FROM exchange WHERE key = ? AND made >= ?"
            row = waiting(lambda: connection.execute(select, key).fetchone())
            return None if row is None else dict(json.loads(row[0]))

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:  # noqa: ARG002
        """Keep a reply, in the place of an earlier one.

        :param again: who asks next is to ask again, and may be told something else; a recording keeps all of that.
        :raises DiskFullError: if there is no space left for it.
        :raises StoreLockedError: if somebody else is writing for long.
        """
        asked, replied = _json(request), json.dumps(reply, separators=(",", ":"))
        row = (key_of(kind, request), kind, _now(), len(asked) + len(replied), asked, replied)
        with self._file.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO exchange VALUES (?, ?, ?, ?, ?, ?)", row)

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep that there was no reply; only a recording does that."""

    @contextmanager
    def alone(
        self,
        kind: str,  # noqa: ARG002
        request: Mapping[str, Any],  # noqa: ARG002
        *,
        within_s: float = math.inf,  # noqa: ARG002
        cancel: threading.Event | None = None,  # noqa: ARG002
    ) -> Iterator[None]:
        """Nobody else asks the same meanwhile, where that matters: in a recording."""
        yield

    def prune(self, kind: str, *, at_most_s: float, most_bytes: int) -> int:
        """Remove the exchanges of a kind that are older, and the oldest of more than so many bytes; how many."""
        with self._file.opened() as connection:
            if connection is None:
                return 0
            return waiting(lambda: connection.execute(PRUNE, (kind, _ago(at_most_s), most_bytes)).rowcount)

    def summary(self) -> list[Kind]:
        """What there is, kind by kind, in the order of their names."""
        with self._file.opened() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                "SELECT kind, count(*), sum(bytes), min(made), max(made) FROM exchange GROUP BY kind ORDER BY kind"
            )
            return [Kind(*row) for row in rows]

    def clear(self, kind: str | None = None) -> int:
        """Remove the exchanges of a kind, or all of them; how many there were. The file becomes smaller."""
        with self._file.opened() as connection:
            if connection is None:
                return 0
            delete = "DELETE FROM exchange WHERE ?1 IS NULL OR kind = ?1"
            removed = waiting(lambda: connection.execute(delete, (kind,)).rowcount)
            waiting(lambda: connection.execute("VACUUM"))
            waiting(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            return removed

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


def _json(request: Mapping[str, Any]) -> str:
    """One text for equal requests, in ASCII, so that its characters are its bytes."""
    return json.dumps(request, sort_keys=True, separators=(",", ":"))


def key_of(kind: str, request: Mapping[str, Any]) -> bytes:
    """One key for equal requests of a kind."""
    return hashlib.sha256(f"{kind}\n{_json(request)}".encode()).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ago(seconds: float) -> str:
    """The time so many seconds ago, as :func:`_now` writes it; the beginning of time, if there was none then."""
    if math.isinf(seconds):
        return ""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
