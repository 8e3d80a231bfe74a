"""Processes that run queries over an embedded store, and are killed when whoever asked does not wait any longer.

The engine cannot be interrupted. A fork shares the memory of this process, so nothing is loaded again, and a query
takes 0.2 ms more than here.
"""

from __future__ import annotations

import gc
import json
import math
import os
import queue
import signal
import stat
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, cast

import pyoxigraph as ox

from kgsparql.errors import LimitError, QueryCrashError
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Json

HAS_FORKS = hasattr(os, "fork")
_POLL_S = 0.05
_ENDING = {signal.SIGINT, signal.SIGTERM}
_MEMORY_BYTES = 4 * 2**30  # what queries may take beside what the graph takes
_OPEN_FILES = "/dev/fd"

Frame: TypeAlias = tuple[Json, bytes]
"""What processes send each other: a header, and the bytes that belong to it."""


class _Enough(Exception):  # noqa: N818 - it stops a serialiser, it is no error
    """The limit of rows or bytes is reached."""


class BoundedLines:
    """A file that an engine writes a result to, and that keeps whole lines up to a limit of rows and bytes."""

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._heads = self._lines = 0

    @property
    def rows(self) -> int:
        """The number of solutions or triples that are kept."""
        return self._lines - self._heads

    def take(self, results: Any) -> bool:
        """Take an engine's solutions as TSV, triples as N-Triples, or a boolean; return whether all are kept."""
        self.content, self._lines, self._is_full = bytearray(), 0, False
        if isinstance(results, bool | ox.QueryBoolean):
            self.content, self._lines = bytearray(b"true" if results else b"false"), 1
            return True
        self._heads = int(isinstance(results, ox.QuerySolutions))
        write: Callable[..., object] = getattr(results, "serialize", partial(ox.serialize, results))
        try:
            write(self, ox.QueryResultsFormat.TSV if self._heads else ox.RdfFormat.N_TRIPLES)
        except _Enough:
            return False
        return True

    def write(self, data: bytes) -> int:
        """Keep data up to the limits; the serialiser writes once more after it was stopped, which is dropped."""
        if not self._is_full:
            self.content += data
            self._lines += data.count(b"\n")
            self._is_full = self.rows > self._most_rows or len(self.content) > self._most_bytes
            if self._is_full:
                self._drop_surplus()
                raise _Enough
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    def _drop_surplus(self) -> None:
        """Drop the lines over either limit, but never the first one, which has the names of the variables."""
        end = self.content.rfind(b"\n", 0, self._most_bytes) + 1 or self.content.find(b"\n") + 1
        lines, most = self.content.count(b"\n", 0, end), self._most_rows + self._heads
        for _ in range(lines - most):
            end = self.content.rfind(b"\n", 0, end - 1) + 1
        del self.content[end:]
        self._lines = min(lines, most)


class QueryProcesses:
    """The processes of one store: one for each query that runs at the same time, kept for the next.

    :param in_memory: it needs no files, and nobody else writes to it: then they can open nothing, and may add to it.
    :param mark: of a store that may change, what differs after a change: those forked before are of no use then.
    """

    def __init__(self, store: ox.Store, mark: Callable[[], object] = lambda: None, *, in_memory: bool = False) -> None:
        self._store, self._mark, self._in_memory = store, mark, in_memory
        self._forked_at: object = None
        self._idle: list[_QueryProcess] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def reply_to(
        self, text: str, check: Callable[[], None], most_rows: float = math.inf, most_bytes: float = math.inf,
        *, is_set: bool = False,
    ) -> Frame:  # fmt: skip
        """Run a query: return its ``rows``, whether they are ``complete``, its ``seconds``, and what it gives.

        :param check: called twenty times a second; if it raises an error, the process is killed.
        :param is_set: a triple that is in two graphs of a store in memory is there once.
        :returns: solutions as TSV, triples as N-Triples, or ``true`` or ``false``.
        :raises LimitError: if the query takes more memory than it may, or the system has no forks.
        :raises QueryCrashError: if it ended the process.
        """
        process = self._next_process()
        try:
            frame = process.reply_to({"rows": most_rows, "bytes": most_bytes, "is_set": is_set}, text, check)
        except BaseException:  # Ctrl-C too
            process.kill()
            raise
        with self._lock:
            if process.mark == self._forked_at:
                self._idle.append(process)
        if "error" in frame[0]:
            raise (SyntaxError if frame[0]["is_syntax"] else RuntimeError)(frame[0]["error"])
        return frame

    def close(self) -> None:
        """End those that wait for a query."""
        with self._lock:
            self._forked_at = object()  # those that run a query now are not kept, either
            while self._idle:
                self._idle.pop().kill()

    def _next_process(self) -> _QueryProcess:
        """Return a process that has nothing to do; a fork of this one has none of those of this one."""
        if self._owner != os.getpid():  # another thread of the parent may have held the lock
            self._owner, self._idle, self._lock = os.getpid(), [], threading.Lock()
        mark = self._mark()
        if mark != self._forked_at:
            self.close()
            self._forked_at = mark
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _QueryProcess(self._store, mark, in_memory=self._in_memory)


class _QueryProcess:
    """A fork that answers one query after another, until it is killed or its parent ends."""

    def __init__(self, store: ox.Store, mark: object, *, in_memory: bool) -> None:
        if not HAS_FORKS:
            raise LimitError("this system cannot end a query", hint="on Windows, use its Linux subsystem (WSL)")
        self.mark = mark
        (requests, self._requests), (self._replies, replies) = Pipe(duplex=False), Pipe(duplex=False)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # what other modules do at a fork would lose a Ctrl-C
            with warnings.catch_warnings():  # other threads may run: what the fork uses takes no lock that they hold
                warnings.simplefilter("ignore", DeprecationWarning)
                self._pid = os.fork()
            if self._pid == 0:
                _serve_queries(store, requests, replies, in_memory=in_memory)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        requests.close()
        replies.close()
        self.kill = weakref.finalize(self, _end_process, self._pid, (self._requests, self._replies), os.getpid())
        """End it, whatever it does; nobody else may want it."""

    def reply_to(self, limits: Json, text: str, check: Callable[[], None]) -> Frame:
        """Send a query, and wait for its result as long as ``check`` raises no error."""
        with suppress(BrokenPipeError):
            _send_frame(self._requests, limits, text.encode())
        while not self._replies.poll(_POLL_S):
            check()
        try:
            return _next_frame(self._replies)
        except (EOFError, OSError):
            raise self._crash_error() from None

    def _crash_error(self) -> Exception:
        """Make the error for a process that ended by itself: it aborts where there is no memory."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if code == -signal.SIGABRT:
            return LimitError(
                f"the query needs more memory than {_MEMORY_BYTES / 2**30:.3g} GiB", hint="ask for less", limit="memory"
            )
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return QueryCrashError(f"the query ended the process that ran it ({how})", hint="write it with less nesting")


def _end_process(pid: int, pipes: tuple[Connection, Connection], owner: int) -> None:
    if owner == os.getpid():  # a fork of the owner leaves it alone
        for pipe in pipes:
            pipe.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _serve_queries(store: ox.Store, requests: Connection, replies: Connection, *, in_memory: bool) -> NoReturn:
    """Answer queries until the parent ends; nothing of what the parent would do at its own end is done here."""
    try:
        gc.disable()  # no finalizer of the parent's objects
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which kills this process
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        _close_others({requests.fileno(), replies.fileno()})
        Query.load("repeated")  # while a file can be opened
        _limit_resources(in_memory=in_memory)
        asked: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        threading.Thread(target=_receive_queries, args=(requests, asked), daemon=True).start()
        while True:
            _send_frame(replies, *_reply_to(store, *asked.get()))
    finally:
        os._exit(1)


def _receive_queries(pipe: Connection, asked: queue.SimpleQueue[Frame]) -> None:
    """Pass on the queries as they come: the end of them is the end of the parent, also while the engine works."""
    try:
        while True:
            asked.put(_next_frame(pipe))
    finally:
        os._exit(0)


def _reply_to(store: ox.Store, limits: Json, text: bytes) -> Frame:
    lines = BoundedLines(limits["rows"], limits["bytes"])
    try:
        is_union = not (limits["is_set"] and _is_made_a_set(store))
        began = time.monotonic()
        complete = lines.take(store.query(text.decode(), use_default_graph_as_union=is_union))
        content = bytes(lines.content)
    except MemoryError:
        os.abort()  # as the engine does
    except (SyntaxError, OSError, RuntimeError, ValueError) as error:
        return {"error": str(error), "is_syntax": isinstance(error, SyntaxError)}, b""
    return {"rows": lines.rows, "complete": complete, "seconds": time.monotonic() - began}, content


def _send_frame(pipe: Connection, header: Json, body: bytes) -> None:
    pipe.send_bytes(json.dumps(header).encode() + b"\n" + body)


def _next_frame(pipe: Connection) -> Frame:
    """Wait for the next header, on a line of its own, and its bytes; an EOFError at the end, an OSError in a frame."""
    header, _, body = pipe.recv_bytes().partition(b"\n")
    return json.loads(header), body


@cache
def _is_made_a_set(store: ox.Store) -> bool:
    """Put all triples into the default graph if one is in two graphs: Oxigraph's union has it twice, and counts it so.

    The named graphs stay.
    """
    (repeated,) = cast("ox.QuerySolutions", store.query(Query.load("repeated").text))
    default = ox.DefaultGraph()
    in_default = store.quads_for_pattern(None, None, None, default)
    is_one = repeated["count"].value != "0" or any(
        quad.graph_name != default for own in in_default for quad in store.quads_for_pattern(*own.triple)
    )
    if is_one:
        store.bulk_extend(ox.Quad(*quad.triple) for quad in store if quad.graph_name != default)
    return is_one


def _close_others(own: set[int]) -> None:
    """Let go of what the parent has open, but for files, which may be the store's: of ports, and of ends of pipes."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    for number in {int(name) for name in os.listdir(_OPEN_FILES)} - own:  # noqa: PTH208 - the listing has a number, too
        with suppress(OSError):
            if number > 2 and not stat.S_ISREG(os.fstat(number).st_mode):
                os.close(number)


def _limit_resources(*, in_memory: bool) -> None:
    """Bound the memory of queries, where the system can (Linux), and for a graph in memory let nothing be opened.

    A store on disk opens files as it goes.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    if statm.exists():
        wanted = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + _MEMORY_BYTES
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
        if in_memory:
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))  # no new descriptor: no socket
