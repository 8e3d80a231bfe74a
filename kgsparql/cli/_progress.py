"""Progress on a terminal: a bar while bytes are read, a clock while something is written."""

from __future__ import annotations

from typing import Any

__all__ = ["Progress"]


class Progress:
    """Shows ``(phase, done, total)`` calls as a bar on stderr; silent when not ``enabled``.

    Use as a context manager, so that the terminal is whole again whatever happens.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Show how far a phase is; ``total`` ``None`` for a phase of unknown length."""
        if not self._enabled:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total)
        self._bar.update(self._tasks[phase], completed=done, total=total)
