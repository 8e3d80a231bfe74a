"""Rankers: by words and by meaning."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kgsparql.linking.ranking import BM25Ranker, EmbeddingRanker, ranker_for
from tests.unit.hashed_embedder import HashedEmbedder

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
