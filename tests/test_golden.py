"""The answers to the golden questions, without a model: a change is judged by those that it changes."""

from collections import Counter

import pytest

from benchmarks.golden import asked_anew, differences, id_of, lines
from kgsparql.retrievers import names

KNOWN = lines()


@pytest.mark.parametrize("graph", KNOWN)
def test_every_answer_is_what_is_written(graph: str) -> None:
    told = differences(KNOWN[graph], asked_anew(graph, KNOWN[graph]))
    if told:
        why = "if that is meant: python -m benchmarks.golden write"
        pytest.fail("\n".join([f"{len(told)} answers are not what is written; {why}", *told]), pytrace=False)


def test_every_method_is_asked_and_no_question_twice() -> None:
    every = [line for own in KNOWN.values() for line in own]
    assert [one for one, n in Counter(map(id_of, every)).items() if n > 1] == []
    count = Counter(line.get("options", {}).get("retriever") for line in every)
    assert {name for name in names() if count[name] < 30} == set()
