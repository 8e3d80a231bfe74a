"""ROUGE and BERTScore of what was said, where their packages are installed."""

import importlib.util
from dataclasses import replace

import pytest

from kgsparql.errors import OptionError
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.text import prepare
from kgsparql.evaluation.record import Record, RecordedAnswer
from tests.unit.scored import asking, of, path, record, scores

HAS_ROUGE = importlib.util.find_spec("rouge_score") is not None
HAS_BERTSCORE = importlib.util.find_spec("bert_score") is not None

rouge = pytest.mark.skipif(not HAS_ROUGE, reason="the package rouge-score is not installed")
bertscore = pytest.mark.skipif(not HAS_BERTSCORE, reason="the package bert-score is not installed")

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
        assert of("rouge1 rouge2 rougeL bertscore_f1", CAPITAL, made) == [0] * 4


def test_without_a_reference_no_words_are_compared() -> None:
    names = "rouge1 rouge2 rougeL bertscore_f1"
    assert of(names, asking(""), record(text="Paris")) == of(names, asking(None), record(text="Paris")) == [None] * 4


@pytest.mark.deep
@bertscore
def test_bertscore_is_higher_for_what_means_the_same(tmp_path: object) -> None:
    said = [record(text=text) for text in ("The capital is Paris. [P1]", "Paris is the capital", "Bananas are yellow")]
    prepare((CAPITAL, made) for made in said)
    same, near, far = (METRICS["bertscore_f1"].of(CAPITAL, made) for made in said)
    assert same == pytest.approx(1, abs=1e-5)
    assert near > 0.8
    assert far < 0.5
    alone = replace(said[1], text="Paris is the capital [P9]")
    assert METRICS["bertscore_f1"].of(CAPITAL, alone) == near


@pytest.mark.skipif(HAS_ROUGE, reason="the package rouge-score is installed")
def test_without_the_packages_the_way_to_them_is_said() -> None:
    with pytest.raises(OptionError, match="rouge-score") as caught:
        scores(CAPITAL, record(text="Paris"), groups={"text"})
    assert "kgsparql[eval" in caught.value.hint
