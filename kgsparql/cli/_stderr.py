"""What a person sees on stderr: lines, errors, progress, the steps of a question, how far a run of eval is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from kgsparql.errors import CancelledError, KgsparqlError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.runs.plan import MethodProgress
    from kgsparql.events import Event


_LONGEST = 20_000
"""Characters of a line of a prompt or a reply."""

_EVERY_S = 30.0
"""How often :class:`TallyLine` writes a line where there is no terminal."""


def say(message: str, *, quiet: bool = False) -> None:
    """Write a line to stderr, unless it is empty."""
    if message and not quiet:
        typer.echo(message, err=True)


def show_error(error: KgsparqlError, *, about: str = "") -> None:
    """Write an error as a line with its code, a line with its hint, and a line for each candidate."""
    which = f"{printable(about, 80)!r}: " if about else ""
    message = printable(error.message, 6_000)
    if len(message) > 600:  # what is wrong is said at its end, after a name that may be long
        message = f"{message[:300]}…{message[-299:]}"
    typer.echo(f"error: {which}{message} [{error.code}]", err=True)
    if error.hint:
        typer.echo(f"  hint: {printable(error.hint, 600)}", err=True)
    for candidate in error.detail.get("candidates", ()):
        typer.echo(f"  {candidate}", err=True)


class Progress:
    """Shows ``(phase, done, total)`` calls as a bar on a terminal; elsewhere, and if ``quiet``, nothing.

    Use it as a context manager: at the end it leaves the terminal as it was.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._enabled = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the bar off the terminal; a further call shows another."""
        if self._bar is not None:
            self._bar.stop()
            self._bar, self._tasks = None, {}

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Show how far a phase is; ``total`` is ``None`` where the end is not known."""
        if not self._enabled:
            return
        if self._bar is None:
            from rich import progress as rich
            from rich.console import Console

            columns = (
                rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn(),
                rich.TaskProgressColumn(), rich.TimeElapsedColumn(),
            )  # fmt: skip
            self._bar = rich.Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total)
        self._bar.update(self._tasks[phase], completed=done, total=total)


def steps(verbose: int) -> Callable[[Event], None]:
    """A listener that shows events as lines.

    :param verbose: the number of ``-v``: 0 shows nothing; 2 also queries, prompts and replies.
    """

    def show(event: Event) -> None:
        for line in _step_lines(event, verbose) if verbose else ():
            say(line)

    return show


def _step_lines(event: Event, verbose: int) -> Iterator[str]:
    from kgsparql import events as e
    from kgsparql.answering.step_words import step_words

    is_detail = isinstance(event, e.QueryRun | e.PathsSearched)
    words = step_words(event) if verbose >= 2 or not is_detail else ""
    if words:
        yield f"· {words}"
    if verbose < 2:
        return
    if isinstance(event, e.QueryRun):
        yield _indented(event.text, 400)
    if isinstance(event, e.ModelCalled):
        for heading, text in (("prompt", event.prompt), ("reply", event.reply)):
            yield f"  {heading}"
            yield _indented(text, _LONGEST)


def _indented(text: str, limit: int) -> str:
    """A query, a prompt or a reply, each line safe on a terminal and cut at ``limit`` characters."""
    return "\n".join(f"    {printable(line, limit)}" for line in text.splitlines() if not line.startswith("#+"))


def tally_text(at: MethodProgress) -> str:
    """One line: how many questions are done, how good the answers are, their cost, and the time left.

    >>> from kgsparql.evaluation.runs.plan import MethodProgress
    >>> tally_text(MethodProgress("mindmap", 30, 90, hits=24, cost=0.0123, seconds_left=75))
    'mindmap 30/90 · Hits@1 80.0 % · cost 0.0123 · 1:15 left'
    """
    parts = [f"{at.method} {at.done:,}/{at.total:,}"]
    if at.done:
        parts.append(f"Hits@1 {100 * at.hits / at.done:.1f} %")
    if at.failed:
        parts.append(f"{at.failed:,} failed")
    if at.cost is not None:
        parts.append(f"cost {at.cost:.4g}")
    if at.seconds_left is not None and at.done < at.total:
        minutes, seconds = divmod(round(at.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return " · ".join(parts)


class TallyLine:
    """Shows how far a method is: a line that changes on a terminal; elsewhere a line at its end and now and then.

    Of a run that is stopped it says how to go on with it.
    """

    def __init__(self, directory: Path, *, quiet: bool) -> None:
        self._directory = directory
        self._quiet = quiet
        self._last_line_at = time.monotonic()
        self._live: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)

    def __enter__(self) -> TallyLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if isinstance(error, KeyboardInterrupt | CancelledError):
            say(f"stopped; the same command with --resume goes on: {self._directory}", quiet=self._quiet)

    def __call__(self, at: MethodProgress) -> None:
        """Show it; the line of a method that is done stays on the screen."""
        text = tally_text(at)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(text))
        is_due = self._live is None and time.monotonic() - self._last_line_at > _EVERY_S
        if at.done != at.total and not is_due:
            return
        self._last_line_at = time.monotonic()
        if self._live is not None:
            self._live.console.print(text, highlight=False, markup=False)
        else:
            say(text, quiet=self._quiet)
