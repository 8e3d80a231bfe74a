"""The steps of a question on the terminal, as ``-v`` and ``-vv`` want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kgsparql.cli._common import say
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.events import Event, ModelCalled, QueryRun

__all__ = ["steps"]

_LONGEST = 20_000
"""Characters of a line of a prompt or a reply."""


def steps(verbose: int) -> Callable[[Event], None]:
    """Who listens to the events: nobody, or the terminal.

    :param verbose: how often ``-v`` was said; from twice on queries, prompts and replies are shown too.
    """

    def show(event: Event) -> None:
        for line in _lines(event, verbose):
            say(line)

    return show if verbose else _nobody


def _nobody(event: Event) -> None:
    """Nobody listens."""


def _lines(event: Event, verbose: int) -> Iterator[str]:
    from kgsparql import events as e

    match event:
        case e.QueryRun() if verbose >= 2:
            yield from _of_query(event)
        case e.ModelCalled():
            yield from _of_call(event, verbose)
        case e.EntitiesLinked():
            found = "; ".join(f"{m!r} → {label}" for m, _, label, _, _ in event.entities) or "nothing"
            yield f"· linked: {printable(found, 400)}"
        case e.CandidatesChosen():
            of = len(event.kept) + event.pruned
            yield f"· {event.purpose}: kept {len(event.kept)} of {of} ({event.chosen_by})"
        case e.LimitReached():
            yield f"· {printable(event.message, 300)}"
        case e.FallbackUsed():
            yield f"· {event.purpose}: {printable(event.reason, 300)}"
        case e.Verified():
            yield f"· verified: {event.found} found again, {event.removed} removed, {event.unknown} not checkable"


def _of_query(event: QueryRun) -> Iterator[str]:
    cut = "" if event.complete else ", cut by the endpoint"
    yield f"· {event.name}: {event.solutions:,} solutions{cut}, {event.seconds * 1000:.1f} ms"
    yield _indented(event.text, 400)


def _of_call(event: ModelCalled, verbose: int) -> Iterator[str]:
    spent = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
    kept = ", kept reply" if event.cached else f", {event.seconds:.2f} s"
    yield f"· {event.model} ({event.purpose}): {f'failed: {event.error}' if event.error else spent}{kept}"
    if verbose >= 2:
        for heading, text in (("prompt", event.prompt), ("reply", event.reply)):
            yield f"  {heading}"
            yield _indented(text, _LONGEST)


def _indented(text: str, limit: int) -> str:
    """A query, a prompt or a reply, each line of it safe on a terminal and of at most so many characters."""
    return "\n".join(f"    {printable(line, limit)}" for line in text.splitlines() if not line.startswith("#+"))
