"""What the processes of one user share about a public endpoint: whose turn it is, and when it may be asked again."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kgsparql.errors import StoreError, StoreLockedError
from kgsparql.http.retry_after import LONGEST_S
from kgsparql.resources import cache_directory
from kgsparql.storage.files import replace_text, writer_lock

FOLDER = "manners"
"""In the cache directory: a small file for each server, and the locks of the processes that ask it now."""
_AHEAD_S = 5.0
"""A file that seems to be this far from the future, or less, is believed; else the clock was set back since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateState:
    """What all processes know of a server; times are those of the wall clock, in seconds.

    :param at: when it was written; 0 if nothing is known.
    :param ended: when the last query was over.
    :param closed_until: the server asks for a pause; ``resting_until``: too many queries failed.
    :param left_behind: until when it may work on each of the queries that nobody waits for any more.
    :param errors: when the last queries failed; ``failures``: how many in a row.
    :param saved_s: seconds of query time that were left at ``counted``; ``None`` for no limit.
    """

    at: float = 0.0
    ended: float = 0.0
    closed_until: float = 0.0
    resting_until: float = 0.0
    left_behind: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    failures: int = 0
    saved_s: float | None = None
    counted: float = 0.0

    def then(self, later: RateState) -> RateState:
        """The state after a turn that began with this one and ended with the later one."""
        return replace(
            later, ended=max(self.ended, later.ended), closed_until=max(self.closed_until, later.closed_until),
            resting_until=max(self.resting_until, later.resting_until),
        )  # fmt: skip


def is_to_be_left_alone(file: Path) -> bool:
    """Whether the server of a state file must not be asked now."""
    known = _state_in(file, time.time())
    return max(known.closed_until, known.resting_until) > time.time()


class SharedRateState:
    """Takes turns with other processes at a server. A lock is held while a query runs; it ends with its process.

    A process that waits for a turn holds a second lock, so that one with many queries lets others in. Where no file can
    be written, processes do not wait for each other, and ``trouble`` says why. For one thread at a time.

    :param directory: the cache directory, if ``None``.
    :param clock: the time of day, in seconds.
    """

    def __init__(self, server: str, *, directory: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.trouble = ""
        name = hashlib.sha256(server.encode()).hexdigest()[:32]
        self._file = (cache_directory() if directory is None else directory).absolute() / FOLDER / name
        self._first: ExitStack | None = None
        self._turns: list[ExitStack] = []

    def enter(self, at_once: int) -> RateState | None:
        """Take a turn, if there is one, and return the shared state; :meth:`leave` must follow. ``None`` for no turn.

        :param at_once: queries of all processes that may run at once.
        """
        if self.trouble:
            return RateState()
        try:
            if self._first is None:
                self._first = self._locked("next")
            turn = next(filter(None, map(self._turn, range(at_once))), None)
        except StoreLockedError:
            return None
        except StoreError as error:
            self._give_up(error.message)
            return RateState()
        if turn is None:
            return None
        self._turns.append(turn)
        self.step_back()
        return self._state()

    def leave(self, known: RateState | None = None) -> None:
        """Give the turn back, and write what was learned in it."""
        if not self._turns:
            return
        try:
            if known is not None:
                replace_text(self._file, json.dumps(asdict(self._state().then(known))))
        except OSError as error:
            self._give_up(f"{self._file}: {error.strerror}")
        finally:
            self._turns.pop().close()

    def step_back(self) -> None:
        """Stop waiting for a turn."""
        if self._first is not None:
            self._first.close()
            self._first = None

    def _turn(self, number: int) -> ExitStack | None:
        try:
            return self._locked(str(number))
        except StoreLockedError:
            return None

    def _locked(self, part: str) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(writer_lock(self._file.with_name(f"{self._file.name}.{part}")))
        return stack

    def _give_up(self, why: str) -> None:
        self.trouble = why
        self.step_back()

    def _state(self) -> RateState:
        return _state_in(self._file, self.clock())


def _state_in(file: Path, now: float) -> RateState:
    try:
        return _checked_state(json.loads(file.read_text(encoding="utf-8")), now)
    except (OSError, ValueError, TypeError, AttributeError):
        return RateState()  # it is written again


def _checked_state(kept: dict[str, Any], now: float) -> RateState:
    """The state in a file; a ValueError if a time is further away than any server may ask for."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    known = RateState(**values)
    ends = [known.ended, known.closed_until, known.resting_until, *known.left_behind]
    times = [known.at, *ends, *known.errors, known.counted]
    if not all(
        isinstance(at, float | int) and math.isfinite(at) for at in (*times, known.failures, known.saved_s or 0)
    ):
        raise ValueError("not a time")
    if known.at > now + _AHEAD_S or max(times) > now + LONGEST_S + _AHEAD_S:
        raise ValueError("from the future")
    return known
