"""Whether an answer can be relied on, and what it cost: triples, citations, silence, what was cut, calls, seconds.

Evidence is compared with the triples that an answer must rest on; what was linked, with the entities of the question.

Triples are equal if their terms are: IRIs by their characters, literals by value. No evidence: 0. A failed question:
0. Not defined for a question without golden triples. Of the first ten, the places are the triples in the order in
which they are read: item after item, in each from its first to its last; a triple that was there before takes a place
and is not counted again. That is as in the evaluation of HubLink on ORKG, whose published figures ``triple_hit@10``
reproduces. What a question costs counts for a failed one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import TypeAlias

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import identity
from kgsparql.evaluation.metrics.judging import Better, Metric, f1, is_silent, judgement
from kgsparql.evaluation.record import Record, RecordedCost

_NO_EMBEDDER = "ranking"  # the purpose of the fallback that every question of a run without an embedding model has
_AT = 10  # places that the metrics of the first ones count

_Triple: TypeAlias = tuple[Hashable, ...]
_Formula: TypeAlias = Callable[[frozenset[_Triple], list[_Triple]], float]
"""Of the golden triples, and of every triple of the evidence as it is read, repeats included."""


def _golden_places(golden: frozenset[_Triple], places: list[_Triple]) -> list[int]:
    """Return the places, from 1, of the first ten that have a golden triple for the first time."""
    first = {triple: place for place, triple in reversed(list(enumerate(places[:_AT], 1)))}
    return sorted(place for triple, place in first.items() if triple in golden)


def _triple_precision(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(set(places)) if places else 0.0


def _triple_recall(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(golden)


def _triple_metric(name: str, formula: _Formula) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        if not question.golden_triples:
            return None
        if record.status == "error":
            return 0.0
        golden = frozenset(tuple(identity(str(term)) for term in triple) for triple in question.golden_triples)
        places = [tuple(map(identity, triple)) for item in record.evidence for triple in item.triples]
        return formula(golden, places)

    return Metric(name, "evidence", "higher", value)


def _linking_recall(first: int) -> Metric:
    """Divide the entities of a question that are among the first candidates of some mention by its entities.

    The first candidate is the entity that was taken. 1 where the entities were given to the method. Not defined where
    the dataset names no entities.
    """

    def value(question: Question, record: Record) -> float | None:
        topics = {str(topic.iri) for topic in question.topics}
        if not topics:
            return None
        ranked = (list(dict.fromkeys(link)) for link in record.linked)
        found = {term for terms in ranked for term in terms[:first]}
        return 0.0 if record.status == "error" else len(topics & found) / len(topics)

    return Metric(f"linking_recall@{first}", "linking", "higher", value)


def _is_grounded(_question: Question, record: Record) -> float | None:
    """Tell whether every citation of the answer holds.

    1 if the answer is from the graph alone, cites something, every marker it cites is in the evidence, every triple of
    these items was looked up again and found, and the model made up no citation or choice; else 0. A triple that nobody
    could look up (a blank node of an endpoint) does not hold. A failed question: 0. Not defined where nothing was
    answered.
    """
    if record.has_failed:
        return 0.0
    if is_silent(record):
        return None
    cited = {m for _, markers in record.claims for m in markers} | {m for a in record.answers for m in a.markers}
    return float(record.grounding == "graph" and bool(cited) and cited <= _markers_found_again(record))


def _unsupported_share(_question: Question, record: Record) -> float | None:
    """Divide the claims that cite nothing that holds by all claims.

    A text that is from a model's memory is one claim without support. Not defined where nothing was claimed, and for a
    failed question.
    """
    if record.has_failed or (is_silent(record) and not record.claims):
        return None
    if not record.claims:
        return 1.0 if record.grounding == "model" else None
    there = _markers_found_again(record)
    return sum(1 for _, markers in record.claims if there.isdisjoint(markers)) / len(record.claims)


def _markers_found_again(record: Record) -> set[str]:
    """Return the markers of the items whose triples were all found again; a passage has none."""
    return {i.marker for i in record.evidence if len(i.verified) >= len(i.triples) and all(i.verified)}


def _is_misleading(question: Question, record: Record) -> float | None:
    """Count questions with something that is called an answer (`answered`), although the first one is wrong.

    Not defined while nobody knows the right answers.
    """
    found = judgement(question, record)
    is_called_answer = record.status == "answered" and not record.has_failed and not is_silent(record)
    return None if found is None else float(is_called_answer and not found.right(1))


def _cost_metric(name: str, of: Callable[[RecordedCost], float | None] | None = None) -> Metric:
    """Make a metric of what was measured: the field of this name, or what is computed from several."""
    measured = of or attrgetter(name)
    return Metric(name, "cost", "lower", lambda _, record: measured(record.measured))


def _share_metric(name: str, of: Callable[[Record], bool], better: Better = "lower") -> Metric:
    """Make a metric that counts questions."""
    return Metric(name, "grounding", better, lambda _, record: float(of(record)))


METRICS: tuple[Metric, ...] = (
    _triple_metric("triple_precision", _triple_precision),
    _triple_metric("triple_recall", _triple_recall),
    _triple_metric("triple_f1", lambda golden, own: f1(_triple_precision(golden, own), _triple_recall(golden, own))),
    _triple_metric("triple_hit@10", lambda golden, places: len(_golden_places(golden, places)) / len(golden)),
    _triple_metric("triple_precision@10", lambda golden, places: _triple_precision(golden, places[:_AT])),
    _triple_metric(
        "triple_map@10",
        lambda golden, places: (
            sum(n / place for n, place in enumerate(_golden_places(golden, places), 1)) / min(len(golden), _AT)
        ),
    ),
    _triple_metric("triple_mrr@10", lambda golden, places: next((1 / p for p in _golden_places(golden, places)), 0.0)),
    *map(_linking_recall, (1, 3, 5, 10)),
    Metric("grounded", "grounding", "higher", _is_grounded),
    Metric("unsupported_claims", "grounding", "lower", _unsupported_share),
    # no term, no name, and no model says in words that it knows; a failed question is no abstention
    _share_metric("abstained", is_silent, ""),
    # of the questions to which nothing was answered, those that have no answer
    Metric(
        "abstention_precision", "grounding", "higher",
        lambda question, record: (
            None if question.answers is None or not is_silent(record) else float(not question.answers)
        ),
    ),
    # of the questions that have no answer, those to which nothing was answered
    Metric(
        "abstention_recall", "grounding", "higher",
        lambda question, record: float(is_silent(record)) if question.answers == () else None,
    ),
    Metric("misleading", "grounding", "lower", _is_misleading),
    # a model was to help, and failed, or was not trusted
    _share_metric("without_model", lambda record: record.is_without_model),
    # a reply of a model could not be used; that there is no embedding model is how the run was made, and no fallback
    _share_metric("fallbacks", lambda record: any(purpose != _NO_EMBEDDER for purpose, _ in record.fallbacks)),
    # a limit cut something off: an item of the evidence, a list on the way, or the budget
    _share_metric("truncated", lambda record: record.is_cut_short),
    # marked as not whole: a limit, words without evidence, a doubt
    _share_metric("partial", lambda record: record.status == "partial" and not record.has_failed),
    # an error left it without an answer; where a model failed once there was evidence, the candidates are no answer
    _share_metric("failed", lambda record: record.has_failed),
    *map(_cost_metric, ("model_calls", "rounds", "prompt_tokens", "completion_tokens")),
    _cost_metric("tokens", lambda measured: measured.prompt_tokens + measured.completion_tokens),
    *map(_cost_metric, ("cost", "queries", "rows", "seconds")),
    # how likely the answer is right, as it says itself; a baseline does not say
    Metric(
        "confidence", "grounding", "",
        lambda _, record: None if record.has_failed or is_silent(record) else record.score,
    ),
)  # fmt: skip
