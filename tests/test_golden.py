"""The answers to the golden questions, without a model: a change is judged by those that it changes."""

from collections import Counter
from pathlib import Path

import pytest

import kgsparql
from benchmarks.golden import FIXTURES, WRONG, asked_anew, differences, id_of, is_given_by_facts, lines
from kgsparql import OxigraphGraph
from kgsparql.plans.running import run
from kgsparql.retrievers import names
from tests.deep import deep
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.engines import engine_from_quads

KNOWN = lines()
CLUB, MEETINGS = "golden/club.ttl", "golden/meetings.ttl"


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


@pytest.mark.parametrize(
    "graph", ["golden/coals.ttl", *(deep(f"golden/{n}.ttl") for n in ("clubs", "shops", "loans", "census"))]
)
def test_names_compared_by_meaning_make_nothing_surely_wrong(graph: str) -> None:
    """A model of meaning finds likeness where there is none: a word beside a plain question is another."""
    wrong = [line for line in asked_anew(graph, KNOWN[graph], "auto") if line["verdict"] in {WRONG, "error"}]
    assert wrong == []


def test_what_is_computed_comes_out_the_same_on_another_engine() -> None:
    """Of times with zones, which are compared as instants."""
    with kgsparql.open(FIXTURES / MEETINGS, embedder="none") as knowledge:
        assert isinstance(knowledge.graph, OxigraphGraph)
        other = engine_from_quads("rdflib", list(knowledge.graph.store))
        for line in KNOWN[MEETINGS]:
            computed = knowledge.ask(line["question"]).computed
            assert computed is not None
            again = run(computed.plan, other)
            assert again.rows == computed.rows
            assert is_given_by_facts(again)


def test_a_server_is_asked_the_same(tmp_path: Path) -> None:
    """By one graph that says something of its facts, in ways that servers write each in their own."""
    with oxigraph_serve(store_of(FIXTURES / CLUB, tmp_path / "store")) as url:
        answer = kgsparql.open(url, embedder="none").ask("Since when is Bo Rask the spouse of Ada Pell?")
    assert [one.label for one in answer.best] == ["1999"], answer.gaps
