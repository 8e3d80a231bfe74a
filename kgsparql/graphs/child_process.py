"""Child processes that load or query a graph for us: started, killed, and talked to in frames.

A frame is a JSON header and the bytes that belong to it. A child ends when its parent does: while the engine works, a
thread in the child waits for the end of standard input.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from kgsparql.errors import CancelledError

_REPORT_EVERY_S = _POLL_S = 0.1
END_S = 2.0  # how long a child may take to remove what it was writing, once it is to end
_LENGTHS = struct.Struct(">IQ")

Frame: TypeAlias = tuple[dict[str, Any], bytes]
"""A header, and the bytes that belong to it."""


def write_frame(pipe: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Write a header and the bytes that belong to it."""
    text = json.dumps(header).encode()
    pipe.write(_LENGTHS.pack(len(text), len(body)) + text)
    pipe.write(body)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> Frame | None:
    """Read the next header and its bytes; ``None`` at the end, also at an end in the middle of a frame."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    length, body_length = _LENGTHS.unpack(lengths)
    text, body = pipe.read(length), pipe.read(body_length)
    return None if len(text) < length or len(body) < body_length else (json.loads(text), body)


class Child:
    """A module of this package that runs in a process of its own, and the frames that it sends until it is stopped."""

    def __init__(self, module: str) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is stopped
        paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl-C reaches the parent, which kills the child
        )
        self._frames: queue.Queue[Frame | None] = queue.Queue()
        self._reader = threading.Thread(target=self._put_frames, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def reply_to(
        self, request: dict[str, Any], content: bytes = b"", *, told: Mapping[str, Callable[..., None] | None],
        timeout_s: float = math.inf, cancel: threading.Event | None = None,
    ) -> Frame | None:  # fmt: skip
        """Send a frame and return the reply, ``None`` if it ended; what comes for who is ``told`` is passed on."""
        with suppress(OSError):  # it has ended: no frame comes
            write_frame(cast("BinaryIO", self._process.stdin), request, content)
        until = time.monotonic() + timeout_s
        while True:
            try:
                frame = self._frames.get(timeout=max(0.0, min(until - time.monotonic(), _POLL_S)))
            except queue.Empty:
                if cancel is not None and cancel.is_set():
                    raise CancelledError("stopped") from None
                if time.monotonic() >= until:
                    raise TimeoutError from None
                continue
            if frame is None:
                self._frames.put(None)  # for who waits beside, or asks again: nothing comes after the end
            named = told.keys() & frame[0].keys() if frame is not None else ()
            if frame is None or not named:
                return frame
            for name in named:
                if (tell := told[name]) is not None:
                    tell(*frame[0][name])

    def last_words(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and the end of what it wrote to standard error."""
        code = self._process.wait()
        self._complaints.seek(max(0, self._complaints.seek(0, os.SEEK_END) - 4000))
        return code, self._complaints.read().decode(errors="replace")

    def stop(self, *, end_s: float = 0.0) -> None:
        """Kill it, if need be after so many seconds in which it may end by itself, and wait for its end."""
        if end_s:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(end_s)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in filter(None, (self._process.stdin, self._process.stdout, self._complaints)):
            with suppress(BrokenPipeError):  # the child never read what is still in the buffer
                pipe.close()

    def _put_frames(self) -> None:
        while (frame := read_frame(cast("BinaryIO", self._process.stdout))) is not None:
            self._frames.put(frame)
        self._frames.put(None)


def connected_to_parent() -> tuple[Frame, queue.Queue[Frame], BinaryIO]:
    """Return, in the child, the first frame, the later ones as they arrive, and where frames are written.

    What a library prints goes to standard error instead. The process ends when its parent does.
    """
    replies, requests = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    first = read_frame(requests)
    if first is None:
        sys.exit()
    frames: queue.Queue[Frame] = queue.Queue()

    def receive() -> None:
        while (frame := read_frame(requests)) is not None:
            frames.put(frame)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(END_S)
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    return first, frames, replies


def progress_to_parent(replies: BinaryIO) -> Callable[[str, int, int], None]:
    """Return a report of progress (phase, done, total) to the parent, ten times a second and at the end of a phase."""
    last = 0.0

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_EVERY_S or done >= total:
            last = now
            write_frame(replies, {"progress": [phase, done, total]})

    return report
