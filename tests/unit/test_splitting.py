"""Two parts of the questions: even in hops and types, and what is alike on one side."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question, Topic
from kgsparql.evaluation.splitting import split
from kgsparql.rdf.terms import IRI, Triple


def question(n: int, *, hops: int | None = 1, type_: str = "", path: str = "", topic: str = "") -> Question:
    return Question(
        id=f"q{n}",
        text="?",
        hops=hops,
        type=type_,
        path=tuple(path.split()),
        topics=(Topic(IRI(f"http://example.org/{topic}")),) if topic else (),
    )


questions_of_any_kind = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 2, 3]), st.sampled_from("abc"), st.sampled_from(["", "p", "p q"]), st.integers(0, 9)
    ),
    min_size=4,
    max_size=40,
).map(
    lambda rows: [
        question(n, hops=hops, type_=kind, path=path, topic=f"t{topic}" if topic else "")
        for n, (hops, kind, path, topic) in enumerate(rows)
    ]
)


@given(questions_of_any_kind, st.sampled_from([0.2, 0.5, 0.7]), st.integers(0, 3))
def test_every_question_is_in_one_part_and_hops_are_even(questions: list[Question], share: float, seed: int) -> None:
    parts = split(questions, share, seed=seed)
    assert sorted([*parts.development, *parts.held_out], key=questions.index) == questions
    assert parts.development
    assert parts.held_out
    there = Counter(one.hops for one in parts.development)
    for hops, n in Counter(one.hops for one in questions).items():
        assert abs(there[hops] - share * n) <= max(1.0, 0.1 * n) + 1e-9
    again = split(questions[::-1], share, seed=seed)
    assert {one.id for one in again.development} == {one.id for one in parts.development}


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_neither_part_is_empty_where_every_number_of_hops_is_there_once(share: float) -> None:
    parts = split([question(n, hops=n or None) for n in range(4)], share, seed=0)
    assert {len(parts.development), len(parts.held_out)} == {1, 3}


def test_paths_go_before_topics_where_both_cannot_be_had() -> None:
    questions = [question(n, path=f"p{n % 4}", topic=f"t{n // 20}") for n in range(40)]
    parts = split(questions, 0.5, seed=0)
    assert (parts.shared_topics, parts.topics) == (2, 2)
    assert (parts.shared_paths, parts.paths) == (0, 4)
    assert "2 of 2 topic entities are in both, no paths in both" in str(parts)


def test_nothing_is_apart_where_all_is_one() -> None:
    parts = split([question(n, path="p", topic="t") for n in range(10)], 0.5, seed=0)
    assert parts.overlap == "1 of 1 topic entities is in both, 1 of 1 paths is in both"
    assert len(parts.development) == 5


def test_golden_triples_stand_for_a_path() -> None:
    def with_triples(n: int) -> Question:
        predicate = IRI(f"http://example.org/p{n % 2}")
        triple = Triple(IRI(f"http://example.org/s{n}"), predicate, IRI(f"http://example.org/o{n}"))
        return Question(id=f"q{n}", text="?", golden_triples=(triple,))

    parts = split([with_triples(n) for n in range(8)], 0.5, seed=0)
    assert (parts.shared_paths, parts.paths, len(parts.development)) == (0, 2, 4)


def test_types_are_on_both_sides() -> None:
    questions = [question(n, type_="ab"[n % 2], path=f"p{n}") for n in range(20)]
    parts = split(questions, 0.5, seed=0)
    assert Counter(one.type for one in parts.development) == {"a": 5, "b": 5}


def test_another_seed_is_another_split() -> None:
    questions = [question(n) for n in range(40)]
    one, other = (split(questions, 0.5, seed=seed) for seed in (0, 1))
    assert one.development != other.development
    assert one.overlap == "nothing is known of topics and paths"


def test_a_share_or_questions_that_cannot_be_split() -> None:
    with pytest.raises(InputError, match=r"a split of 0\.95: out of range"):
        split([question(n) for n in range(40)], 0.95, seed=0)
    with pytest.raises(InputError, match="3 questions cannot be split"):
        split([question(n) for n in range(3)], 0.5, seed=0)
