"""Processes that run queries over an embedded store, and are killed when whoever asked does not wait any longer.

The engine cannot be interrupted. A fork shares the memory of this process, so nothing is loaded again, and a query
takes 0.2 ms more than here. Where a system has no forks (Windows), queries run here, and nothing ends them.
"""

from __future__ import annotations

import gc
import os
import queue
import select
import signal
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import pyoxigraph as ox

from kgsparql.errors import LimitError, QueryCrashError
from kgsparql.graphs.child_process import Frame, read_frame, write_frame

HAS_FORKS = hasattr(os, "fork")
RESULTS = ox.QueryResultsFormat.TSV
"""Keeps each term as it is, and is read again in a third of the time that JSON takes."""
_POLL_MS = 50
_MEMORY_BYTES = 4 * 2**30  # what queries may take beside what the graph takes
_IN_USE = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
_ERRORS: dict[str, type[Exception]] = {
    one.__name__: one for one in (SyntaxError, OSError, RuntimeError, ValueError, MemoryError)
}


class QueryProcesses:
    """The processes of one store: one for each query that runs at the same time, kept for the next.

    :param directory: of a store on disk, whose files they need; they let go of all other files and sockets.
    :param mark: of a store that may change, what differs after a change: those forked before are of no use then.
    """

    def __init__(
        self, store: ox.Store, directory: Path | None = None, mark: Callable[[], object] | None = None
    ) -> None:
        self._store, self._directory, self._mark = store, directory and directory.resolve(), mark
        self._forked_at: object = None
        self._idle: list[_QueryProcess] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def solutions(self, text: str, check: Callable[[], None]) -> ox.QuerySolutions:
        """Run a SELECT.

        :param check: called twenty times a second; if it raises an error, the process is killed.
        :raises LimitError: if the query takes more memory than it may.
        :raises QueryCrashError: if it ended the process.
        """
        process = self._next()
        try:
            header, content = process.reply_to(text, check)
        except BaseException:  # Ctrl-C too
            process.kill()
            raise
        with self._lock:
            self._idle += [process] if process.mark == self._forked_at else []
        if "error" in header:
            raise _ERRORS[header["error"]](header["message"])
        return cast("ox.QuerySolutions", ox.parse_query_results(content, RESULTS))

    def close(self) -> None:
        """End those that wait for a query."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()

    def _next(self) -> _QueryProcess:
        """Return a process that has nothing to do; a fork of this one has none of those of this one."""
        mark = None if self._mark is None else self._mark()
        if mark != self._forked_at:
            self.close()
            self._forked_at = mark
        with self._lock:
            if self._owner != os.getpid():
                self._owner, self._idle = os.getpid(), []
            if self._idle:
                return self._idle.pop()
        return _QueryProcess(self._store, self._directory, mark)


class _QueryProcess:
    """A fork that answers one query after another, until it is killed or its parent ends."""

    def __init__(self, store: ox.Store, directory: Path | None, mark: object) -> None:
        self.mark = mark
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        with warnings.catch_warnings():  # other threads may run: what the fork uses takes no lock that they hold
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            _serve(store, directory, requests, replies)
        os.close(requests)
        os.close(replies)
        self.kill = weakref.finalize(self, _end, self._pid, (self._requests, self._replies), os.getpid())
        """End it, whatever it does; nobody else may want it."""

    def reply_to(self, text: str, check: Callable[[], None]) -> Frame:
        """Send a query, and wait for its result as long as ``check`` raises no error."""
        with suppress(BrokenPipeError), os.fdopen(os.dup(self._requests), "wb") as pipe:
            write_frame(pipe, {}, text.encode())
        waiting = select.poll()
        waiting.register(self._replies, select.POLLIN)
        while not waiting.poll(_POLL_MS):
            check()
        with os.fdopen(os.dup(self._replies), "rb") as pipe:
            frame = read_frame(pipe)
        if frame is None:
            raise self._crash_error()
        return frame

    def _crash_error(self) -> Exception:
        """Make the error for a process that ended by itself: it aborts where there is no memory."""
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGABRT:
            most = f"{_MEMORY_BYTES / 2**30:.3g} GiB"
            return LimitError(f"the query needs more memory than {most}", hint="ask for less at once", limit="memory")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return QueryCrashError(f"the query ended the process that ran it ({how})", hint="nothing else was harmed")


def _end(pid: int, pipes: tuple[int, int], owner: int) -> None:
    if owner == os.getpid():  # a fork of the owner leaves it alone
        for pipe in pipes:
            os.close(pipe)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _serve(store: ox.Store, directory: Path | None, requests: int, replies: int) -> NoReturn:
    """Answer queries until the parent ends; nothing of what the parent would do at its own end is done here."""
    try:
        gc.disable()  # no finalizer of the parent's objects
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which kills this process
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close_others({requests, replies}, directory)
        _limit_memory()
        texts: queue.SimpleQueue[str] = queue.SimpleQueue()
        with os.fdopen(requests, "rb") as pipe, os.fdopen(replies, "wb") as answers:
            threading.Thread(target=_receive, args=(pipe, texts), daemon=True).start()
            while True:
                write_frame(answers, *_reply_to(store, texts.get()))
    finally:
        os._exit(0)


def _receive(pipe: BinaryIO, texts: queue.SimpleQueue[str]) -> None:
    """Pass on the queries as they come: the end of them is the end of the parent, also while the engine works."""
    while (frame := read_frame(pipe)) is not None:
        texts.put(frame[1].decode())
    os._exit(0)


def _reply_to(store: ox.Store, text: str) -> Frame:
    try:
        results = store.query(text, use_default_graph_as_union=True)
        if isinstance(results, ox.QuerySolutions):
            return {}, results.serialize(format=RESULTS) or b""
    except tuple(_ERRORS.values()) as error:
        name = next(name for name, one in _ERRORS.items() if isinstance(error, one))
        return {"error": name, "message": str(error)}, b""
    return {"error": "ValueError", "message": f"the result is {type(results).__name__}, not QuerySolutions"}, b""


def _close_others(own: set[int], directory: Path | None) -> None:
    """Let go of everything that the parent has open: it may want to free a port, or to see the end of a pipe."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    for number in [int(name) for name in os.listdir(_IN_USE)]:  # noqa: PTH208 - the listing has a number of its own
        with suppress(OSError):
            is_of_store = directory is not None and Path(_IN_USE / str(number)).readlink().is_relative_to(directory)
            if number > 2 and number not in own and not is_of_store:
                os.close(number)


def _limit_memory() -> None:
    """Bound the memory of queries, where the system can (Linux), and leave no core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    if statm.exists():
        wanted = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + _MEMORY_BYTES
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
