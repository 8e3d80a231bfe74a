"""ROUGE of what was said, where its package is installed."""

import importlib.util

import pytest

from kgsparql.errors import OptionError
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.record import Record, RecordedAnswer
from tests.unit.scored import asking, of, path, record, scores

HAS_ROUGE = importlib.util.find_spec("rouge_score") is not None

rouge = pytest.mark.skipif(not HAS_ROUGE, reason="the package rouge-score is not installed")

CAPITAL = asking("Paris", reference="The capital is Paris.")


@rouge
def test_rouge_by_hand() -> None:
    for said, expected in (
        ("The capital is Paris. [P1, N2]", [1, 1, 1]),
        ("Paris", [2 / 5, 0, 2 / 5]),
        ("Paris is the capital", [1, 1 / 3, 1 / 2]),
        ("capitals", [2 / 5, 0, 2 / 5]),  # stemmed
        ("Rome", [0, 0, 0]),
    ):
        assert of("rouge1 rouge2 rougeL", CAPITAL, record(text=said)) == pytest.approx(expected)
    # labels stand for sentences where there are none
    ranked = record(*path("Paris Rome"), ranked=True, text="Ranked candidates\n 1. Paris")
    assert of("rouge1", asking("Paris Rome"), ranked) == [1]
    assert of("rouge1", CAPITAL, ranked) == pytest.approx([2 / 6])
    assert of("rouge1", asking("Paris"), record(text="Paris, Texas")) == pytest.approx([2 / 3])
    assert of("rouge1", asking(None, reference="Rome"), ranked) == pytest.approx([2 / 3])
    tokyo = Question(id="1", text="?", answers=(GoldAnswer(None, "東京"),))
    assert of("rouge1 rougeL", tokyo, record(RecordedAnswer("", "東京"), text="東京")) == [None, None], "not read"
    failed = Record(question="1", method="test", status="error")
    for made in (failed, record(), record(text=" [P1]")):
        assert of("rouge1 rouge2 rougeL", CAPITAL, made) == [0] * 3


def test_without_a_reference_no_words_are_compared() -> None:
    names = "rouge1 rouge2 rougeL"
    assert of(names, asking(""), record(text="Paris")) == of(names, asking(None), record(text="Paris")) == [None] * 3


@pytest.mark.skipif(HAS_ROUGE, reason="the package rouge-score is installed")
def test_without_the_packages_the_way_to_them_is_said() -> None:
    with pytest.raises(OptionError, match="rouge-score") as caught:
        scores(CAPITAL, record(text="Paris"), groups={"text"})
    assert "kgsparql[eval" in caught.value.hint
