"""A row of the catalogue: what is sent, what is promised, the function that tries it, and a place to do so."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.hostile.processes import MARK, Done, Unmet, Watch, check, marked, run

__all__ = ["AREAS", "ROWS", "CannotRun", "Outcome", "Place", "Row", "attempt", "notes", "row"]

AREAS = {"L": 45, "Q": 21, "U": 15, "S": 20, "E": 25, "M": 19}
"""How many rows the catalogue has in each area."""

ROOT = Path(__file__).parents[2]
NOBEL = ROOT / "fixtures" / "nobel.ttl"
EX = "http://e.org/"


class CannotRun(Exception):  # noqa: N818 - not an error of the program
    """This machine lacks something that the row needs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    :param came: in words, for people: exit status and first line of the last command, or what the row says.
    :param cut_down: what was done in a smaller size than the catalogue has it; empty if nothing.
    """

    id: str
    sent: str
    promised: str
    passed: bool
    came: str
    peak_mib: float
    seconds: float
    cut_down: str = ""


@dataclass(slots=True)
class Place:
    """Where a row runs: a folder, a cache and a home of its own, and the installed kgsparql.

    :param quick: whether to do it in a smaller size.
    :ivar done: what the row ran, in order.
    """

    folder: Path
    venv: Path
    quick: bool
    mark: str
    options: Mapping[str, int] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    cut_down: str = ""

    # -- Files ------------------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes | str) -> Path:
        """A file in the folder of the row."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def smaller(self, full: int, quick: int, what: str) -> int:
        """A size, which the row says if it is not the full one."""
        if self.quick:
            self.cut_down = f"{quick:,} instead of {full:,} {what}"
        return quick if self.quick else full

    def number(self, option: str, full: int, quick: int, what: str) -> int:
        """A size that may be given on the command line."""
        given = self.options.get(option)
        if given is None or given == full:
            return self.smaller(full, quick, what)
        self.cut_down = f"{given:,} instead of {full:,} {what}"
        return given

    # -- Processes --------------------------------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's but PATH."""
        return {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "200", "HOME": str(self.folder / "home"),
            "KGSPARQL_CACHE_DIR": str(self.folder / "cache"), "TMPDIR": str(self.folder / "tmp"),
            "KGSPARQL_EMBEDDER": "none", "HF_HUB_OFFLINE": "1", MARK: self.mark,
        }  # fmt: skip

    @property
    def kgsparql(self) -> Path:
        return self.venv / "bin" / "kgsparql"

    def run(
        self, *arguments: object, stdin: bytes | str = b"", timeout_s: float = 120.0,
        env: Mapping[str, str] | None = None, interrupt_after_s: float | None = None, prefix: Sequence[str] = (),
    ) -> Done:  # fmt: skip
        """Run ``kgsparql`` with these arguments; without ``--debug`` it never shows a traceback.

        :param prefix: a program that runs it.
        """
        done = run(
            [*prefix, self.kgsparql, *map(str, arguments)], folder=self.folder,
            environment={**self.environment, **(env or {})}, timeout_s=timeout_s,
            stdin=stdin.encode() if isinstance(stdin, str) else stdin, interrupt_after_s=interrupt_after_s,
        )  # fmt: skip
        self.done.append(done)
        shows_traceback = "Traceback (most recent" in done.stderr + done.stdout
        check("--debug" in arguments or not shows_traceback, f"a traceback: {done.stderr[-300:]}")
        return done

    def python(self, code: str, *arguments: object, env: Mapping[str, str] | None = None, **options: Any) -> Done:
        """Run Python code in the environment in which kgsparql is installed."""
        done = run(
            [self.venv / "bin" / "python", "-I", "-c", code, *map(str, arguments)], folder=self.folder,
            environment={**self.environment, **(env or {})}, **options,
        )  # fmt: skip
        self.done.append(done)
        check(done.exit == 0, f"exit {done.exit}: {done.stderr.strip()[-400:]}")
        return done

    @contextmanager
    def started(self, *arguments: object, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        """``kgsparql`` while the ``with`` lasts, then Ctrl-C."""
        with subprocess.Popen(
            [self.kgsparql, *map(str, arguments)], cwd=self.folder, env={**self.environment, **(env or {})},
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            began, watch = time.monotonic(), Watch(process.pid)
            try:
                yield process
            finally:
                peak = watch.stop()
                self.done.append(Done(0, "", "", time.monotonic() - began, peak))
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise Unmet("it did not end 15 s after Ctrl-C") from None

    # -- What kgsparql says ---------------------------------------------------------------------------------------

    def fine(self, *arguments: object, exit: int = 0, **options: Any) -> Done:  # noqa: A002
        """Run it, and it ends as it should."""
        done = self.run(*arguments, **options)
        check(done.exit == exit, f"exit {done.exit}, not {exit}: {done.first_line[:300]}")
        return done

    def refused(
        self, exit: int, says: str | Sequence[str], *arguments: object, within_s: float = 60.0,  # noqa: A002
        below_mib: float = 1024.0, hint: bool = True, **options: Any,
    ) -> Done:  # fmt: skip
        """Run it, and it is refused: the exit status, one line with these words, a hint, nothing on stdout."""
        done = self.run(*arguments, **options)
        said = [says] if isinstance(says, str) else says
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        check(done.exit == exit, f"exit {done.exit}, not {exit}: {done.first_line[:300]}")
        check(len(errors) == 1, f"{len(errors)} lines of error: {done.stderr[:300]!r}")
        for words in said:
            check(words in done.stderr, f"it does not say {words!r}: {done.stderr[:300]!r}")
        check("hint: " in done.stderr or not hint, f"no hint: {done.stderr[:300]!r}")
        check(not done.stdout.strip(), f"something on stdout: {done.stdout[:100]!r}")
        check(done.seconds <= within_s, f"{done.seconds:.1f} s, more than {within_s:.0f}")
        check(done.peak_mib <= below_mib, f"{done.peak_mib:.0f} MiB, more than {below_mib:.0f}")
        return done

    def select(self, text: str, *sources: object, options: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The solutions of a SELECT, as SPARQL's JSON has them."""
        asked = [part for source in sources for part in ("-k", source)]
        done = self.fine("query", text, *asked, "-f", "json", "-q", *options)
        found: list[dict[str, Any]] = json.loads(done.stdout)["results"]["bindings"]
        return found

    def values(self, text: str, *sources: object, options: Sequence[object] = ()) -> list[str]:
        """The values of ``?v``, sorted."""
        return sorted(one["v"]["value"] for one in self.select(text, *sources, options=options))

    def count(self, *sources: object, options: Sequence[object] = ()) -> int:
        """How many triples there are."""
        return int(self.values("SELECT (COUNT(*) AS ?v) { ?s ?p ?o }", *sources, options=options)[0])

    def ask(self, question: str, *sources: object, exit: int | set[int] = 0, more: Sequence[object] = (),  # noqa: A002
            model: bool = False, **options: Any) -> dict[str, Any]:  # fmt: skip
        """The answer as an object."""
        asked = [part for source in sources for part in ("-k", source)]
        without = () if model else ("--no-model",)
        done = self.run("ask", question, *asked, "-f", "json", *without, *more, **options)
        wanted = {exit} if isinstance(exit, int) else exit
        check(done.exit in wanted, f"exit {done.exit}, not {sorted(wanted)}: {done.first_line[:300]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def notes(answer: Mapping[str, Any]) -> str:
    """The notes of an answer as one text."""
    return " · ".join(note["text"] if isinstance(note, dict) else note for note in answer["notes"])


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the catalogue.

    :param note: where the design decides otherwise than the catalogue.
    """

    id: str
    sent: str
    promised: str
    attempt: Callable[[Place], str | None]
    leaves: bool = False


ROWS: dict[str, Row] = {}


def row(
    id: str,  # noqa: A002
    sent: str,
    promised: str,
    *,
    leaves: bool = False,
) -> Callable[[Callable[[Place], str | None]], Callable[[Place], str | None]]:
    """Put a function down as a row.

    :param leaves: whether it is not looked for files that were left over: the row makes some.
    """

    def put_down(function: Callable[[Place], str | None]) -> Callable[[Place], str | None]:
        assert id not in ROWS, id
        ROWS[id] = Row(id, sent, promised, function, leaves)
        return function

    return put_down


def attempt(tried: Row, venv: Path, scratch: Path, *, quick: bool, options: Mapping[str, int]) -> Outcome:
    """Try a row in a new place, and look for what it left behind."""
    folder = scratch / tried.id
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    place = Place(folder, venv, quick, f"{tried.id}-{uuid.uuid4().hex}", options)
    began, said = time.monotonic(), ""
    try:
        said = tried.attempt(place) or _last(place)
        _nothing_left(place, tried)
        passed, came = True, said
    except CannotRun as why:
        passed, came = False, f"cannot be run here: {why}"
    except Unmet as why:
        passed, came = False, f"{why}" + (f"; else {said}" if said else "")
    except Exception as error:  # noqa: BLE001 - a row that breaks is one that did not pass, and says why
        passed, came = False, f"the row itself broke: {type(error).__name__}: {error}"
    finally:
        for process in marked(place.mark):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
    peak = max((done.peak_mib for done in place.done), default=0.0)
    return Outcome(
        tried.id, tried.sent, tried.promised, passed, " ".join(came.replace(f"{folder}/", "").split())[:400],
        round(peak, 1),        round(time.monotonic() - began, 2), place.cut_down,
    )  # fmt: skip


def _last(place: Place) -> str:
    if not place.done:
        return "as promised"
    last = place.done[-1]
    first = last.first_line if last.exit else ""
    if last.stdout.startswith("{"):  # an answer as JSON
        with suppress(ValueError, KeyError):
            said = json.loads(last.stdout)
            first = f"{said['status']}" + (f", {said['error']['code']}" if said.get("error") else "")
    return f"exit {last.exit}" + (f": {first.removeprefix('error: ')}" if first else "")


def _nothing_left(place: Place, tried: Row) -> None:
    deadline = time.monotonic() + 3
    while (left := marked(place.mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    check(not left, f"processes left behind: {[_command(one) for one in left]}")
    if tried.leaves:
        return
    temporary = [one.name for one in (place.folder / "tmp").iterdir()]
    check(not temporary, f"temporary files left behind: {temporary[:5]}")
    marks = (".partial", ".previous-", ".tmp", ".lock")
    odd = [str(one.relative_to(place.folder)) for one in place.folder.rglob("*")
           if any(mark in one.name for mark in marks)]  # fmt: skip
    check(not odd, f"files left behind: {odd[:5]}")


def _command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    return str(process)
