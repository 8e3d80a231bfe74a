"""Rankers: by words and by meaning."""

from __future__ import annotations

import numpy as np
import pytest

from kgsparql.ranking import BM25Ranker, EmbeddingRanker, ranker_for
from tests.unit.hashed_embedder import HashedEmbedder

TEXTS = ["directed by", "release year", "has genre", "written by", "release date of the film"]


def test_bm25_prefers_rare_shared_words_and_forgives_endings() -> None:
    scores = BM25Ranker().rank("In which years were films released?", TEXTS)
    assert scores.shape == (5,)
    assert scores[1] > scores[4] > 0 == scores[0] == scores[2]


def test_bm25_gives_nothing_for_stop_words_that_all_share() -> None:
    assert BM25Ranker().rank("who is it by", TEXTS).tolist() == [0.0] * 5


def test_bm25_of_the_worked_example() -> None:
    # By hand: idf = ln(1 + 1.5/1.5) = 0.6931; length 2 of mean 1.5: norm = 1.2 * (0.25 + 0.75 * 2 / 1.5) = 1.5.
    scores = BM25Ranker().rank("curie", ["Marie Curie", "Bonn"])
    assert scores[0] == pytest.approx(0.6931 * 2.2 / (1 + 1.5), abs=1e-4)


def test_embedding_ranker_is_the_cosine_and_embeds_a_text_once(tmp_path) -> None:
    log = tmp_path / "log"
    embedder = HashedEmbedder(log=log)
    ranker = EmbeddingRanker(embedder)
    first = ranker.rank("films released", TEXTS)
    again = ranker.rank("films released", TEXTS[::-1])
    assert np.array_equal(first, again[::-1])
    assert first[4] == pytest.approx(float(embedder.embed([TEXTS[4]])[0] @ embedder.embed(["films released"])[0]))
    assert sorted(log.read_text().splitlines()[:6]) == sorted([*TEXTS, "films released"])


def test_no_texts_no_scores() -> None:
    assert BM25Ranker().rank("q", []).shape == EmbeddingRanker(HashedEmbedder()).rank("q", []).shape == (0,)


def test_the_ranker_that_fits_what_is_installed() -> None:
    assert ranker_for(None).name == "bm25"
    assert ranker_for(HashedEmbedder("x")).name == "x"
