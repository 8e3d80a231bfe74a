"""What the answers cost."""

from __future__ import annotations

from collections.abc import Callable

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.metric import Metric
from kgsparql.evaluation.record import Record, RecordedCost

__all__ = ["COST_METRICS"]


def _measured(name: str, title: str, of: Callable[[RecordedCost], float | None], about: str) -> Metric:
    def measure(_question: Question, record: Record) -> float | None:
        value = of(record.measured)
        return None if value is None else float(value)

    measure.__doc__ = f"{about} A failed question counts with what it cost."
    return Metric(name, "cost", title, "lower", measure, measure.__doc__)


COST_METRICS = (
    _measured("model_calls", "model calls", lambda m: m.model_calls, "Calls of a model per question."),
    _measured(
        "rounds", "rounds", lambda m: m.rounds, "Calls of a model that waited for each other: the longest chain."
    ),
    _measured("prompt_tokens", "tokens in", lambda m: m.prompt_tokens, "Tokens of all prompts."),
    _measured("completion_tokens", "tokens out", lambda m: m.completion_tokens, "Tokens of all replies."),
    _measured("tokens", "tokens", lambda m: m.prompt_tokens + m.completion_tokens, "Tokens of prompts and replies."),
    _measured(
        "cost", "cost", lambda m: m.cost, "Price of all calls, those answered from the store too; none if unknown."
    ),
    _measured("paid_cost", "paid", lambda m: m.paid_cost, "Price of the calls that were made; none if unknown."),
    _measured("queries", "queries", lambda m: m.queries, "SPARQL queries that were sent."),
    _measured("rows", "rows", lambda m: m.rows, "Solutions that came back."),
    _measured("seconds", "s", lambda m: m.seconds, "Wall time in seconds."),
    _measured(
        "seconds_without_model",
        "s w/o model",
        lambda m: max(0.0, m.seconds - m.model_seconds),
        "Wall time in seconds without waiting for a model.",
    ),
)
