"""How far a run is: one line that changes on a terminal; elsewhere one for each method, and one now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kgsparql.cli._common import say

if TYPE_CHECKING:
    from kgsparql.evaluation.runs.plan import MethodProgress

__all__ = ["TallyLine", "tally_text"]

_EVERY_S = 30.0
"""How often a line is written where there is no terminal on which one could change."""


def tally_text(at: MethodProgress) -> str:
    """What is done, how good it is so far, what it has cost, and how long it will take.

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
    """Shows each :class:`MethodProgress` it is called with, on stderr."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said = time.monotonic()
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

    def __call__(self, at: MethodProgress) -> None:
        """Show it; a method that is done stays on the screen."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(tally_text(at)))
        is_due = self._live is None and time.monotonic() - self._said > _EVERY_S
        if at.done == at.total or is_due:
            self._said = time.monotonic()
            self._say(tally_text(at))

    def _say(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, highlight=False, markup=False)
        else:
            say(text, quiet=self._quiet)
