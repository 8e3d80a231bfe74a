"""The exchanges of a run as it goes, kept so that the same run can go again when there is nobody to ask.

Whoever asks twice in one run is told the same the second time, without being asked again: so the order in which threads
ask makes no difference to a replay. Only what failed is asked again. What the same request came to, one time after the
other, is kept in that order.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from kgsparql import errors
from kgsparql.errors import CancelledError, KgsparqlError, ReplayMissError
from kgsparql.rdf.terms import printable
from kgsparql.storage.response_cache import Exchanges, key_of

__all__ = ["QUERY", "Recording"]

QUERY = "query"
"""The kind of exchange that a query to an endpoint is."""

_AGAIN = "kgsparql again"
"""In a request: how often it was made before. In a reply: it was, or may have been, made once more."""
_FAILED = "kgsparql failed"
_POLL_S = 0.05
_SHOWN = 420
"""Characters of the recorded commands that are named to who asks for something else; the first is in any case."""


class Recording(Exchanges):
    """The store of exchanges of a snapshot.

    :param mode: ``write`` keeps what a run asks, ``only`` tells it again.
    :ivar recorded: the commands that were recorded, for who asks for something else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = Path(directory, "kept.sqlite")
    ...     with Recording(file, mode="write") as recording:
    ...         recording.fail("query", {"text": "ASK {}"}, errors.RateLimitError("too many"))
    ...         recording.put("query", {"text": "ASK {}"}, {"body": "true"})
    ...     with Recording(file, mode="only") as replay:
    ...         try:
    ...             replay.get("query", {"text": "ASK {}"})
    ...         except errors.RateLimitError as error:
    ...             print(error.message)
    ...         replay.get("query", {"text": "ASK {}"})
    too many
    {'body': 'true'}
    """

    is_recording = True

    def __init__(self, path: Path, *, mode: Literal["write", "only"]) -> None:
        super().__init__(path, mode=mode)
        self.recorded: tuple[str, ...] = ()
        self._counting = threading.Lock()
        self._before: Counter[bytes] = Counter()
        self._final: set[bytes] = set()
        self._asking: dict[bytes, threading.Lock] = {}
        self._askers: dict[str, list[bytes]] = {}

    def asker(self, where: str, *who: str) -> int:
        """The place of somebody among all who ask there, from 0 on, in the order in which they first come.

        So what one may see is not told to another, and nothing that is kept says who they are. A replay of the same
        command has the same places, even where it has no credentials.

        :param who: what makes two askers the same, such as user and password; it is not kept.
        """
        own = hashlib.sha256(json.dumps(who).encode()).digest()
        with self._counting:
            known = self._askers.setdefault(where, [])
            if own not in known:
                known.append(own)
            return known.index(own)

    def get(self, kind: str, request: Mapping[str, Any], *, what: str = "", asked: str = "") -> dict[str, Any] | None:
        """What the request came to this time; while recording, only if it was asked before and need not be again.

        :param what: the request, as a person is told of it who replays another.
        :param asked: its name among ours, for the detail of that error.
        :raises ReplayMissError: if it is to be told again and was not recorded.
        :raises KgsparqlError: if it failed when it was recorded: the same error.
        """
        place = key_of(kind, request)
        with self._counting:
            number, is_final = self._before[place], place in self._final
            if self.mode == "write":
                return _plain(self.known(kind, _numbered(request, number))) if is_final else None
            found = self.known(kind, _numbered(request, number))
            if found is not None and found.get(_AGAIN):
                self._before[place] += 1
            if found is None and number:
                found = self.known(kind, _numbered(request, number - 1))  # it was not asked as often then
        if found is None:
            raise self._missed(kind, request, what, asked or kind)
        if _FAILED in found:
            raise _error(found[_FAILED])
        return _plain(found)

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:
        """As :meth:`Exchanges.put`; what the request came to before, in this run, stays."""
        place = key_of(kind, request)
        with self._counting:
            number = self._before[place]
            if again:
                self._before[place] += 1
            else:
                self._final.add(place)
        super().put(kind, _numbered(request, number), {**reply, _AGAIN: True} if again else reply)

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep an error, which is raised again where the request is replayed."""
        if not isinstance(error, CancelledError):
            told = {"class": type(error).__name__, **error.to_json()}
            self.put(kind, request, {_FAILED: json.loads(json.dumps(told, default=str))}, again=True)

    def settled(self, kind: str, request: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        """What is another each time, such as a time that was measured: as it was when it was recorded.

        :raises ReplayMissError: if it was not recorded.
        """
        if self.mode == "write":
            self.put(kind, request, value, again=True)
            return dict(value)
        return self.get(kind, request) or {}

    def told(self, kind: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """As :meth:`get`, with ``None`` for what was not recorded."""
        try:
            return self.get(kind, request)
        except ReplayMissError:
            return None

    def all(self, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every request of a kind, with its reply."""
        with self._file.opened() as connection:
            if connection is None:
                return
            keys = connection.execute("SELECT key FROM exchange WHERE kind = ? ORDER BY key", (kind,)).fetchall()
            for key in keys:
                row = connection.execute("SELECT request, reply FROM exchange WHERE key = ?", key).fetchone()
                if row is not None:
                    yield json.loads(row[0]), json.loads(row[1])

    @contextmanager
    def alone(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        within_s: float = math.inf,
        cancel: threading.Event | None = None,
    ) -> Iterator[None]:
        """Nobody else asks the same meanwhile: who comes second is told what the first was.

        :raises CancelledError: if ``cancel`` is set before it is our turn.
        """
        place, until = key_of(kind, request), time.monotonic() + within_s
        with self._counting:
            lock = self._asking.setdefault(place, threading.Lock())
        has_lock = False
        while self.mode == "write" and not has_lock and time.monotonic() < until:
            has_lock = lock.acquire(timeout=_POLL_S)
            if not has_lock and cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
        try:
            yield
        finally:
            if has_lock:
                lock.release()

    def _missed(self, kind: str, request: Mapping[str, Any], what: str, asked: str) -> ReplayMissError:
        place = self.path.parent
        recorded = "the command must be the one that was recorded"
        here = shlex.quote(str(place))
        if self.recorded:
            named = [f"kgsparql {command}" for command in self.recorded]
            count = max(1, sum(length <= _SHOWN for length in accumulate(map(len, named))))
            more = f", and {len(named) - count:,} more" if len(named) > count else ""
            shown = (f"{printable(own, _SHOWN)} --replay {here}" for own in named[:count])
            recorded = f"recorded there: {'; '.join(shown)}{more}"
        return ReplayMissError(
            f"not recorded in {place}: {what or 'a request that this needs'}",
            hint=f"{recorded}; or record this one too, with --record {here} in place of --replay {here}",
            path=str(place), kind=kind, asked=asked, request=dict(request),
        )  # fmt: skip


def _numbered(request: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {**request, _AGAIN: number} if number else dict(request)


def _plain(reply: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if reply is None else {name: value for name, value in reply.items() if name != _AGAIN}


def _error(kept: Mapping[str, Any]) -> KgsparqlError:
    """The error that was kept."""
    kind = getattr(errors, str(kept.get("class")), KgsparqlError)
    if not (isinstance(kind, type) and issubclass(kind, KgsparqlError)):
        kind = KgsparqlError
    error: KgsparqlError = kind(str(kept["message"]), hint=str(kept["hint"]), code=str(kept["code"]))
    error.detail = dict(kept.get("detail") or {})
    return error
