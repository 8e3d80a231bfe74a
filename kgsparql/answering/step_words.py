"""The steps of a question in words, one line each, for whatever shows them."""

from __future__ import annotations

from kgsparql import events as e
from kgsparql.rdf.terms import printable


def step_words(event: e.Event) -> str:  # noqa: PLR0911 - one arm a kind
    """What happened, in one line; empty for what is shown in another way: the evidence, the answer.

    >>> step_words(e.QueryRun(name="labels", solutions=1200, seconds=0.0042))
    'labels: 1,200 solutions, 4.2 ms'
    """
    match event:
        case e.QueryRun():
            cut = "" if event.complete else ", cut by the endpoint"
            return f"{event.name}: {event.solutions:,} solutions{cut}, {event.seconds * 1000:.1f} ms"
        case e.PathsSearched():
            what = f"shortest paths from {event.start} to {event.end}" if event.end else f"paths from {event.start}"
            return f"{what}: {event.paths:,} in the adjacency, {event.seconds * 1000:.1f} ms"
        case e.ModelCalled():
            tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
            outcome = f"failed: {event.error}" if event.error else tokens
            took = "kept reply" if event.cached else f"{event.seconds:.2f} s"
            return f"{event.model} ({event.purpose}): {outcome}, {took}"
        case e.EntitiesLinked():
            found = "; ".join(f"{m!r} → {label}" for m, _, label, _, _ in event.entities) or "nothing"
            return f"linked: {printable(found, 400)}"
        case e.CandidatesChosen():
            of = len(event.kept) + event.pruned
            return f"{event.purpose}: kept {len(event.kept)} of {of} ({event.chosen_by})"
        case e.LimitReached():
            return printable(event.message, 300)
        case e.FallbackUsed():
            return f"{event.purpose}: {printable(event.reason, 300)}"
        case e.Verified():
            return f"verified: {event.found} found again, {event.removed} removed, {event.unknown} not checkable"
        case _:
            return ""
