"""What the answers cost."""

from __future__ import annotations

from collections.abc import Callable

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.metric import Metric
from kgsparql.evaluation.record import Record, RecordedCost


def _cost_metric(name: str, title: str, of: Callable[[RecordedCost], float | None], about: str) -> Metric:
    def value(_question: Question, record: Record) -> float | None:
        found = of(record.measured)
        return None if found is None else float(found)

    return Metric(name, "cost", title, "lower", value, f"{about} A failed question counts with what it cost.")


METRICS = (
    _cost_metric("model_calls", "model calls", lambda m: m.model_calls, "Calls of a model per question."),
    _cost_metric(
        "rounds", "rounds", lambda m: m.rounds, "Calls of a model that waited for each other: the longest chain."
    ),
    _cost_metric("prompt_tokens", "tokens in", lambda m: m.prompt_tokens, "Tokens of all prompts."),
    _cost_metric("completion_tokens", "tokens out", lambda m: m.completion_tokens, "Tokens of all replies."),
    _cost_metric("tokens", "tokens", lambda m: m.prompt_tokens + m.completion_tokens, "Tokens of prompts and replies."),
    _cost_metric(
        "cost", "cost", lambda m: m.cost, "Price of all calls, those answered from the store too; none if unknown."
    ),
    _cost_metric("paid_cost", "paid", lambda m: m.paid_cost, "Price of the calls that were made; none if unknown."),
    _cost_metric("queries", "queries", lambda m: m.queries, "SPARQL queries that were sent."),
    _cost_metric("rows", "rows", lambda m: m.rows, "Solutions that came back."),
    _cost_metric("seconds", "s", lambda m: m.seconds, "Wall time in seconds."),
    _cost_metric(
        "seconds_without_model", "s w/o model", lambda m: max(0.0, m.seconds - m.model_seconds),
        "Wall time in seconds without waiting for a model.",
    ),
)  # fmt: skip
