"""The installed kgsparql as a process: what it said, how long it took, and the most memory it and its children had."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MARK", "Done", "Unmet", "Watch", "check", "marked", "peak_of", "run", "tree"]

MARK = "KGSPARQL_HOSTILE_ROW"
"""In the environment of all that a row starts, so that what outlives it is found."""

GUARD_KIB = 14 << 20
"""The address space of a process at most: keeps the machine alive, and is far above what any row promises."""

_LOOK_S = 0.04
_MIB = 1 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Unmet(AssertionError):  # noqa: N818 - a promise that was not kept
    """What came is not what was promised."""


def check(holds: object, what: str) -> None:
    """Say that a promise is not kept, unless it is."""
    if not holds:
        raise Unmet(what)


@dataclass(frozen=True, slots=True)
class Done:
    """A process that ended.

    :param peak_mib: the most that it and its children had in memory together, looked at every 40 ms.
    """

    exit: int
    stdout: str
    stderr: str
    seconds: float
    peak_mib: float

    @property
    def first_line(self) -> str:
        """The error, else the first line of anything."""
        lines = [*self.stderr.splitlines(), *self.stdout.splitlines()]
        return next((line for line in lines if line.startswith("error:")), lines[0] if lines else "")


class Watch(threading.Thread):
    """Looks at the memory of a process and its children until it is stopped."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._process = process
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, sum(map(_resident, tree(self._process))))
            if self._over.wait(_LOOK_S):
                return

    def stop(self) -> float:
        """The peak in MiB."""
        self._over.set()
        self.join()
        return self.peak / _MIB


def tree(process: int) -> list[int]:
    """A process and its children."""
    found = [process]
    for one in found:
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def peak_of(process: int) -> float:
    """The most memory that a running process has had, in MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def marked(mark: str) -> list[int]:
    """The processes that a row started and that still run."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for one in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            number = int(one.name)
            state = (one / "stat").read_text().rpartition(")")[2].split()[0]
            if number != os.getpid() and state != "Z" and wanted in (one / "environ").read_bytes().split(b"\0"):
                found.append(number)
    return found


def run(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    timeout_s: float = 120.0,
    interrupt_after_s: float | None = None,
) -> Done:
    """Run a command to its end; one that takes too long is killed, and the promise of its row unmet.

    :param interrupt_after_s: then Ctrl-C.
    """
    guarded = ["sh", "-c", f'ulimit -v {GUARD_KIB}; exec "$@"', "sh", *map(str, command)]
    began = time.monotonic()
    with subprocess.Popen(
        guarded, cwd=folder, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        watch = Watch(process.pid)
        timer = threading.Timer(interrupt_after_s or 0.0, process.send_signal, [signal.SIGINT])
        if interrupt_after_s is not None:
            timer.start()
        try:
            out, error = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            said = " ".join(Path(str(part)).name for part in command[:4])
            raise Unmet(f"no end after {timeout_s:.0f} s: {said[:60]}") from None
        finally:
            timer.cancel()
            peak = watch.stop()
    return Done(
        process.returncode, out.decode(errors="replace"), error.decode(errors="replace"),
        time.monotonic() - began, peak,
    )  # fmt: skip
