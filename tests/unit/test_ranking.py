"""Rankers: by words and by meaning; and the scores of paths."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from kgsparql import IRI, LinkedEntity, Mention, PropertyPath
from kgsparql.answering.path_scoring import KindedPath, ScoredQuestion, Weights, path_features, score_paths
from kgsparql.linking.ranking import BM25Ranker, EmbeddingRanker, Ranker, ranker_for
from kgsparql.plans.label_fit import LabelFit
from kgsparql.reading.asking import Asked
from kgsparql.reading.chunks import chunked
from kgsparql.reading.lexicon import lexicon
from tests.unit.hashed_embedder import HashedEmbedder
from tests.world import EX

TEXTS = ["directed by", "release year", "has genre", "written by", "release date of the film"]


def test_bm25_prefers_rare_shared_words_and_forgives_endings() -> None:
    scores = BM25Ranker().rank("In which years were films released?", TEXTS)
    assert scores.shape == (5,)
    assert scores[1] > scores[4] > 0 == scores[0] == scores[2]


def test_bm25_gives_nothing_for_stop_words_that_all_share() -> None:
    assert BM25Ranker().rank("who is it by", TEXTS).tolist() == [0.0] * 5
    assert (ranker_for(None).name, ranker_for(HashedEmbedder("x")).name) == ("bm25", "x")
    for ranker in (BM25Ranker(), EmbeddingRanker(HashedEmbedder())):
        assert ranker.rank("q", []).shape == (0,)


def test_bm25_of_the_worked_example() -> None:
    # By hand: length 2 of the usual 2: norm = 1.2 * (0.25 + 0.75) = 1.2; idf / idf = 1; (1 * 2.2 / (1 + 1.2)) / 2.2.
    scores = BM25Ranker().rank("curie", ["Marie Curie", "Bonn"])
    assert scores.tolist() == pytest.approx([1 / 2.2, 0])


def test_bm25_knows_words_that_mean_the_same_and_the_kind_that_is_asked_for() -> None:
    texts = ["place of birth", "date of birth", "date of death", "author", "spouse", "studies at"]
    for question, best in (
        ("Where was Marie Curie born?", 0), ("When was she born?", 1), ("When did she die?", 2),
        ("Who wrote it?", 3), ("Who was married to her?", 4), ("What had she studied?", 5),
    ):  # fmt: skip
        scores = BM25Ranker().rank(question, texts)
        assert scores.argmax() == best, question
        assert sorted(scores)[-2] < scores[best]


def test_threads_that_share_a_ranker_whose_memory_is_full() -> None:
    ranker = EmbeddingRanker(HashedEmbedder(), remembered=20)
    expected = {i: EmbeddingRanker(HashedEmbedder()).rank(f"q {i}", TEXTS).tolist() for i in range(40)}
    wrong: list[object] = []

    def work(first: int) -> None:
        try:
            asked = [*range(first, 40), *range(first)] * 20
            wrong.extend(i for i in asked if ranker.rank(f"q {i}", TEXTS).tolist() != expected[i])
        except BaseException as error:  # noqa: BLE001 - what the test looks for
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_embedding_ranker_is_the_cosine_and_embeds_a_text_once(tmp_path) -> None:
    log = tmp_path / "log"
    embedder = HashedEmbedder(log=log)
    ranker = EmbeddingRanker(embedder)
    first = ranker.rank("films released", TEXTS)
    again = ranker.rank("films released", TEXTS[::-1])
    assert np.array_equal(first, again[::-1])
    assert first[4] == pytest.approx(float(embedder.embed([TEXTS[4]])[0] @ embedder.embed(["films released"])[0]))
    assert sorted(log.read_text().splitlines()[:6]) == sorted([*TEXTS, "films released"])


NAMES = ("gender", "parents", "children", "director", "language", "film", "award", "teacher", "member of", "manager")
LABELS = {IRI(EX + name.replace(" ", "_")): name for name in NAMES}
COLUMNS = ("nested", "arrow", "reversed", "coverage", "order", "kind", "sharing", "words", "runs")
NOTHING = Weights(**dict.fromkeys(COLUMNS, 0.0))


def fit(ranker: Ranker | None = None) -> LabelFit:
    return LabelFit(lambda terms, **_: LABELS, ranker or BM25Ranker(), lexicon())  # type: ignore[arg-type]


def path(*steps: str, kinds: tuple[str, ...] = ()) -> KindedPath:
    made = PropertyPath.of(*("^" * s.startswith("^") + EX + s.removeprefix("^") for s in steps))
    return (made, kinds or ("",) * (len(steps) + 1))


def about(question: str, name: str = "Anna", *more: tuple[int, int]) -> ScoredQuestion:
    start = question.index(name)
    place = start, start + len(name)
    link = LinkedEntity(IRI(EX + "it"), name, 1.0, "entity", "exact", Mention(name, *place))
    asked = Asked.of(chunked(question, None, links=[link]))
    return ScoredQuestion(asked, link.term, place, (*more, place))


def feature(name: str, question: ScoredQuestion, *paths: KindedPath) -> list[float]:
    column: list[float] = path_features(question, paths, fit())[:, COLUMNS.index(name)].round(3).tolist()
    return column


def test_a_path_with_fewer_steps_than_things_that_are_owned_fits_less() -> None:
    for question, lacking in (
        ("the gender of Anna 's parents ?", [1, 0, 0]),
        ("the place of birth of Anna ?", [0, 0, 0]),
        ("the name of the children of the parents of Anna ?", [1, 0, 0]),
        ("who directed Anna ?", [0, 0, 0]),
    ):
        paths = [path("parents"), path("parents", "gender"), path("parents", "children", "gender")]
        scores = score_paths(about(question), paths, fit(), NOTHING)
        assert scores.round(3).tolist() == [-0.3 * steps for steps in lacking]


def test_a_step_goes_the_way_that_the_role_of_the_name_allows() -> None:
    for question, turned in (
        ("Who were Anna's students?", ["teacher"]),
        ("Who is the student of Anna ?", ["teacher"]),
        ("Which students did Anna have?", ["teacher"]),
        ("Who is the teacher of Anna ?", ["^teacher"]),
        ("Who did Anna teach?", ["teacher"]),
        ("Who is the manager of the members of Anna ?", ["member_of"]),
    ):
        names = ["teacher", "^teacher", "member_of", "^member_of"]
        scores = score_paths(about(question), [path(name) for name in names], fit(), NOTHING)
        chain = 0.3 * (" of the " in question)
        assert [name for name, score in zip(names, scores, strict=True) if score + chain < 0] == turned


def test_what_only_says_a_predicate_or_kind_is_no_name_and_kind_of_asks_for_nothing() -> None:
    question = "films of the director of The Film"
    asked = about(question, "The Film", (0, 5), (13, 21))
    known = asked.without_types(["directed by", "Movie"])
    assert (known.masked, asked.masked) == ("films of the director of", "of the of")
    assert asked.without_types(["directed by"]).masked == "of the director of"
    named = replace(asked, place=(0, 5), mentions=((0, 5), *asked.mentions[2:]))
    assert named.without_types(["Movie"]) is named
    asked = about("what kind of film did Anna make?")
    assert asked.without_kind_of("person").masked == "what film did make?"
    asked = about("what kind of film is Anna?")
    assert asked.without_kind_of("movie") is asked


def test_runs_are_split_by_small_words_and_punctuation_and_every_word_counts() -> None:
    asked = about("film award, director of the language for Anna")
    assert asked.runs(asked.content) == 3
    assert feature("runs", asked, path("film", "award", "director", "language")) == [1.0]
    asked = about("director and language of Anna")
    assert feature("coverage", asked, path("director"), path("director", "language")) == [0.5, 1.0]


def test_who_asks_when_is_told_the_dates_of_the_thing_itself_first() -> None:
    paths = {
        "own date": path("award", kinds=("", "date year")),
        "another's date": path("director", "children", kinds=("", "person", "date year")),
        "person": path("director", kinds=("", "person")),
    }

    def order(question: str, *names: str) -> list[str]:
        worded = [paths[name] for name in names]
        scores = score_paths(about(question), worded, fit(), Weights())
        return [names[i] for i in np.argsort(-scores)]

    assert order("when was Anna directed?", *paths)[0] == "own date"
    assert order("in what year was Anna directed?", "person", "own date")[0] == "own date"
    # Where the thing has no date of its own, or something else is asked for, words alone tell.
    assert order("when was Anna directed?", "another's date", "person")[0] == "person"
    assert order("who directed Anna?", *paths)[0] == "person"
