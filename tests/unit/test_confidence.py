"""How likely an answer is right: what it is made of, where it is shown, and what is too little."""

import json
from collections.abc import Sequence

import pytest

import kgsparql
from kgsparql.answering.answer import AnswerTerm, Gap, Support
from kgsparql.answering.answer_json import SCHEMA_VERSION, answer_to_json
from kgsparql.answering.confidence import SIGNALS, calibration, signals_of
from kgsparql.answering.kept_answers import AnswerFile
from kgsparql.errors import AnswerFileError, OptionError
from kgsparql.rdf.terms import Literal
from tests.world import BORN


def test_what_was_fitted_only_gains_from_better_signals() -> None:
    own = calibration()
    assert set(own.weights) <= set(SIGNALS)
    assert min(own.weights.values()) > 0
    for table in (own.scores, own.probabilities):
        assert list(table) == sorted(table)
        assert 0 <= table[0] < table[-1] <= 1
    middle = dict.fromkeys(SIGNALS, 0.5)
    for name in SIGNALS:
        less, more = (own.probability({**middle, name: value}) for value in (0.0, 1.0))
        assert less <= more


def said(value: object, *codes: str) -> float:
    """Whether a computed value would stay with the words of these gaps."""
    best = [AnswerTerm(Literal(value), str(value))]
    gaps = [Gap(code, "", "") for code in codes]  # type: ignore[arg-type]
    return signals_of(Support(), gaps, best, is_computed=True)["holds_anyway"]


def test_a_no_that_leaves_a_condition_out_is_still_a_no_and_a_yes_need_be_none() -> None:
    assert said(value=True) == said(value=False) == said(7)
    assert said(True, "word") < said(7, "word") < said(True) < said(False, "word")


def test_every_answer_has_a_confidence_and_one_of_too_little_is_no_sure_one(nobel: kgsparql.KnowledgeBase) -> None:
    sure, unsure, nothing = (nobel.ask(q) for q in (BORN, "Where was Marie Curie crowned?", "Who was Shroedingr?"))
    assert 1 > sure.confidence > 0.8 > unsure.confidence > 0 == nothing.confidence
    asked = nobel.ask(BORN, min_confidence=0.995)
    (gap,) = asked.gaps
    assert (asked.status, gap.code, asked.confidence) == ("partial", "confidence", sure.confidence)
    assert str(asked).startswith(f"No sure answer: it is {100 * sure.confidence:.0f} % likely to be right: ")
    assert gap.text.rpartition(": ")[2] in SIGNALS.values()
    assert nobel.retrieve(BORN).confidence == sure.confidence
    with pytest.raises(OptionError, match="confidence of 2"):
        nobel.ask(BORN, min_confidence=2)


def versions(written: dict[str, object], *numbers: int | None) -> Sequence[bytes]:
    """The same answer as other versions of the JSON have it."""
    return [json.dumps({**written, "schema_version": number}).encode() for number in numbers]


def test_answers_of_the_first_version_are_read_and_later_ones_refused(nobel: kgsparql.KnowledgeBase) -> None:
    written = dict(answer_to_json(nobel.ask(BORN)))
    now, later = versions(written, SCHEMA_VERSION, SCHEMA_VERSION + 1)
    del written["confidence"], written["details"]
    (first,) = versions(written, 1)
    assert AnswerFile.read(first).answers == AnswerFile.read(now).answers
    with pytest.raises(AnswerFileError, match=f"version {SCHEMA_VERSION + 1} of the JSON") as caught:
        AnswerFile.read(later)
    assert "upgrade" in caught.value.hint
