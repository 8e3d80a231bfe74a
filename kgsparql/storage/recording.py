"""A recording: every exchange of a run, kept so that the same run can be replayed when there is nobody to ask.

Within one run a request that got a reply is not made again: the second time it gets the kept reply, so that the order
in which threads ask makes no difference to a replay. Only a request that failed is made again. All results of one
request are kept, in their order.
"""

from __future__ import annotations

import json
import math
import shlex
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from kgsparql.errors import CancelledError, KgsparqlError, ReplayMissError, error_from
from kgsparql.rdf.terms import printable
from kgsparql.storage.files import digest_of
from kgsparql.storage.response_cache import Exchanges, key_of

QUERY = "query"
"""The kind of exchange of queries to endpoints."""

_AGAIN = "kgsparql again"
"""In a request: how often it was made before. In a reply: the request was, or may have been, made again."""
_FAILED = "kgsparql failed"
_POLL_S = 0.05
_SHOWN, _SHOWN_CHARACTERS = 3, 420
"""Recorded commands in an error, and characters of each."""


class Recording(Exchanges):
    """The exchanges of a snapshot: every request of a run in its order, with the failures.

    :param mode: ``write`` to record, ``only`` to replay.
    :ivar recorded: the commands that were recorded, for the error about a request that was not.

    >>> import tempfile
    >>> from kgsparql.errors import RateLimitError
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = Path(directory, "kept.sqlite")
    ...     with Recording(file, mode="write") as recording:
    ...         recording.fail("query", {"text": "ASK {}"}, RateLimitError("too many"))
    ...         recording.put("query", {"text": "ASK {}"}, {"body": "true"})
    ...     with Recording(file, mode="only") as replay:
    ...         try:
    ...             replay.get("query", {"text": "ASK {}"})
    ...         except RateLimitError as error:
    ...             print(error.message)
    ...         replay.get("query", {"text": "ASK {}"})
    too many
    {'body': 'true'}
    """

    def __init__(self, path: Path, *, mode: Literal["write", "only"]) -> None:
        super().__init__(path, mode=mode)
        self.recorded: tuple[str, ...] = ()
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
                return _without_mark(found)
            if found is not None and found.get(_AGAIN):
                self._times[key] += 1
            if found is None and number:
                found = self.lookup(kind, _numbered_request(request, number - 1))  # it was not made as often then
        if found is None:
            raise self._miss_error(kind, request, what, asked or kind)
        if _FAILED in found:
            raise error_from(found[_FAILED])
        return _without_mark(found)

    def put(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], *, again: bool = False) -> None:
        """Keep a reply; with ``again``, the same request will be made again, and may get another reply: keep both."""
        key = key_of(kind, request)
        with self._lock:
            number = self._times[key]
            if again:
                self._times[key] += 1
            else:
                self._answered.add(key)
        self._keep_reply(kind, _numbered_request(request, number), {**reply, _AGAIN: True} if again else reply)

    def fail(self, kind: str, request: Mapping[str, Any], error: KgsparqlError) -> None:
        """Keep an error; a replay raises it again."""
        if not isinstance(error, CancelledError):
            record = json.loads(json.dumps(error.to_record(), default=str))
            self.put(kind, request, {_FAILED: record}, again=True)

    def recorded_value(self, kind: str, request: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a value that differs from run to run, such as a measured time; in a replay, return what was kept."""
        if self.mode == "write":
            self.put(kind, request, value, again=True)
            return dict(value)
        return self.get(kind, request) or {}

    @contextmanager
    def exclusive(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        within_s: float = math.inf,
        cancel: threading.Event | None = None,
    ) -> Iterator[None]:
        """Hold a request while it is made: a second thread with the same request waits, and then finds the reply."""
        key, until = key_of(kind, request), time.monotonic() + within_s
        with self._lock:
            lock = self._request_locks.setdefault(key, threading.Lock())
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

    def _miss_error(self, kind: str, request: Mapping[str, Any], what: str, asked: str) -> ReplayMissError:
        directory = self.path.parent
        here = shlex.quote(str(directory))
        shown = [f"kgsparql {printable(own, _SHOWN_CHARACTERS)} --replay {here}" for own in self.recorded[:_SHOWN]]
        more = f", and {len(self.recorded) - _SHOWN:,} more" if len(self.recorded) > _SHOWN else ""
        recorded = f"recorded there: {'; '.join(shown)}{more}" if shown else "the command must be the recorded one"
        return ReplayMissError(
            f"not recorded in {directory}: {what or 'a request that this needs'}",
            hint=f"{recorded}; or record this one too, with --record {here} in place of --replay {here}",
            path=str(directory), kind=kind, asked=asked, request=dict(request),
        )  # fmt: skip


def _numbered_request(request: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {**request, _AGAIN: number} if number else dict(request)


def _without_mark(reply: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if reply is None else {name: value for name, value in reply.items() if name != _AGAIN}
