"""What a person sees on stderr: lines, errors, progress, and the steps of a question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from kgsparql.errors import KgsparqlError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.events import Event


_LONGEST = 20_000
"""Characters of a line of a prompt or a reply."""


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
    from kgsparql.rendering.text import step_words

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
