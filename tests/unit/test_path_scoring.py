"""How well predicate paths fit a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kgsparql.answering.path_scoring import KindedPath, Weights, path_features, score_paths
from kgsparql.answering.session import ScoredQuestion
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI

EX = "http://example.org/"
NAMES = ("gender", "parents", "children", "director", "language", "film", "award")
LABELS = {IRI(EX + name): name for name in NAMES}
COLUMNS = ("nested", "arrow", "reversed", "coverage", "order", "kind", "sharing", "words", "runs")


def path(*steps: str, kinds: tuple[str, ...] = ()) -> KindedPath:
    made = PropertyPath.of(*("^" * s.startswith("^") + EX + s.removeprefix("^") for s in steps))
    return (made, kinds or ("",) * (len(steps) + 1))


def about(question: str, name: str) -> ScoredQuestion:
    start = question.index(name)
    place = start, start + len(name)
    return ScoredQuestion(question, (place,), place)


def feature(name: str, question: ScoredQuestion, *paths: KindedPath) -> list[float]:
    column: list[float] = path_features(question, paths, LABELS, BM25Ranker())[:, COLUMNS.index(name)].round(3).tolist()
    return column


def test_the_mention_is_left_out_of_what_is_asked() -> None:
    asked = about("who directed Gender of Roses in 1999?", "Gender of Roses")
    assert asked.masked == "who directed in 1999?"
    assert [asked.tokens[i].text for i in asked.content] == ["directed", "1999"]


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("the gender of Anna 's parents ?", ["parents", "gender"]),
        ("the gender of the parents of Anna ?", ["parents", "gender"]),
        ("Anna 's parents 's children ?", ["parents", "children"]),
        ("which films share an award with Anna and have which language?", ["award", "share", "films", "language"]),
    ],
)
def test_words_are_read_outwards_from_the_mention(question: str, read: list[str]) -> None:
    asked = about(question, "Anna")
    single = [(rank, text) for text, rank in asked.phrases() if " " not in text]
    assert [text for _, text in sorted(single)] == read


def test_steps_in_the_order_of_the_words_fit_better() -> None:
    asked = about("what is the gender of Anna 's parents ?", "Anna")
    right, wrong = feature("order", asked, path("parents", "gender"), path("gender", "parents"))
    assert right == pytest.approx(1.0)
    assert wrong < right


def test_more_steps_than_words_are_out_of_order_and_too_long() -> None:
    asked = about("Anna 's parents ?", "Anna")
    assert feature("order", asked, path("parents"), path("parents", "gender")) == [1.0, -1.0]
    assert feature("words", asked, path("parents"), path("parents", "gender", "award")) == [0.0, 2.0]


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("the gender of Anna 's parents ?", [1, 0, 0]),
        ("the place of birth of Anna ?", [0, 0, 0]),
        ("the name of the children of the parents of Anna ?", [1, 0, 0]),
        ("who directed Anna ?", [0, 0, 0]),
    ],
)
def test_a_path_with_fewer_steps_than_things_that_are_owned_fits_less(question: str, lacking: list[int]) -> None:
    paths = [path("parents"), path("parents", "gender"), path("parents", "children", "gender")]
    nothing = Weights(**dict.fromkeys(COLUMNS, 0.0))
    scores = score_paths(about(question, "Anna"), paths, LABELS, BM25Ranker(), nothing)
    assert scores.round(3).tolist() == [-0.3 * steps for steps in lacking]


def test_words_of_one_root_are_alike_whatever_the_ranker_says() -> None:
    asked = about("who directed it, Anna", "Anna")
    features = path_features(asked, [path("director")], LABELS, _Unlike())
    assert features[0, COLUMNS.index("order")] == pytest.approx(0.9)


class _Unlike(BM25Ranker):
    """Finds nothing alike."""

    def similarities(self, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
        return np.zeros((len(texts), len(others)))


def test_what_only_says_a_predicate_or_kind_is_no_name() -> None:
    question = "films of the director of The Film"
    place = question.index("The Film"), len(question)
    asked = ScoredQuestion(question, ((0, 5), (13, 21), place), place)
    known = asked.without_types(["directed by", "Movie"])
    assert (known.masked, asked.masked) == ("films of the director of", "of the of")
    assert asked.without_types(["directed by"]).masked == "of the director of"
    named = ScoredQuestion(question, ((0, 5), place), (0, 5))
    assert named.without_types(["Movie"]) is named


def test_kind_of_asks_for_nothing_but_where_it_asks_for_the_kind_itself() -> None:
    asked = about("what kind of film did Anna make?", "Anna")
    assert asked.without_kind_of("person").masked == "what film did make?"
    asked = about("what kind of film is Anna?", "Anna")
    assert asked.without_kind_of("movie") is asked


def test_runs_of_words_are_split_by_small_words_and_punctuation() -> None:
    asked = about("film award, director of the language for Anna", "Anna")
    assert asked.runs(asked.content) == 3
    assert feature("runs", asked, path("film", "award", "director", "language")) == [1.0]


def test_coverage_counts_every_word_of_the_question() -> None:
    asked = about("director and language of Anna", "Anna")
    assert feature("coverage", asked, path("director"), path("director", "language")) == [0.5, 1.0]


def test_the_kind_of_the_ends_or_what_the_last_step_calls_them_fits_what_is_asked_for() -> None:
    asked = about("which film has Anna ?", "Anna")
    by_kind, by_label, backwards = feature(
        "kind", asked, path("director", kinds=("", "film")), path("film"), path("^film")
    )
    assert (by_kind, by_label, backwards) == (1.0, 1.0, 0.0)


def test_a_word_that_repeats_what_the_mentioned_thing_is_asks_for_nothing() -> None:
    asked = about("who is the director of the film Anna", "Anna")
    assert [asked.tokens[i].text for i in asked.asking_words("film", BM25Ranker())] == ["director"]
    assert [asked.tokens[i].text for i in asked.asking_words("", BM25Ranker())] == ["director", "film"]


def test_an_entity_that_the_question_does_not_name_has_no_order() -> None:
    asked = ScoredQuestion("the gender of the parents?")
    same = feature("order", asked, path("parents", "gender"), path("gender", "parents"))
    assert same[0] == same[1] == pytest.approx(1.0)


def test_a_question_of_names_only_still_ranks() -> None:
    asked = about("Anna", "Anna")
    scores = score_paths(asked, [path("parents"), path("parents", "gender")], LABELS, BM25Ranker(), Weights())
    assert np.isfinite(scores).all()
    assert scores[0] > scores[1]


def test_who_asks_when_is_told_the_dates_of_the_thing_itself_first() -> None:
    paths = {
        "own date": path("award", kinds=("", "date year")),
        "another's date": path("director", "children", kinds=("", "person", "date year")),
        "person": path("director", kinds=("", "person")),
    }

    def order(question: str, *names: str) -> list[str]:
        worded = [paths[name] for name in names]
        scores = score_paths(about(question, "Anna"), worded, LABELS, BM25Ranker(), Weights())
        return [names[i] for i in np.argsort(-scores)]

    assert order("when was Anna directed?", *paths)[0] == "own date"
    assert order("in what year was Anna directed?", "person", "own date")[0] == "own date"
    # Where the thing has no date of its own, or something else is asked for, words alone tell.
    assert order("when was Anna directed?", "another's date", "person")[0] == "person"
    assert order("who directed Anna?", *paths)[0] == "person"


def test_wordings_are_not_compared_where_they_have_no_weight() -> None:
    asked = about("the gender of Anna", "Anna")
    without = path_features(asked, [path("gender")], LABELS, BM25Ranker(), worded=())
    assert without[0, :3].tolist() == [0.0, 0.0, 0.0]
    assert path_features(asked, [path("gender")], LABELS, BM25Ranker())[0, 0] > 0
    assert path_features(asked, [], LABELS, BM25Ranker()).shape == (0, 9)
    some = path_features(asked, [path("gender"), path("gender", "film")], LABELS, BM25Ranker(), worded=[1])
    assert (some[:, 0] > 0).tolist() == [False, True]


@pytest.mark.parametrize(
    ("question", "back"),
    [
        ("which films share a director with Anna ?", 1.0),
        ("films directed by the director of Anna ?", 1.0),
        ("which film has Anna ?", -1.0),
    ],
)
def test_going_straight_back_wants_a_word_for_it(question: str, back: float) -> None:
    paths = path("director", "^director"), path("director", "film")
    assert feature("sharing", about(question, "Anna"), *paths) == [back, 0.0]
