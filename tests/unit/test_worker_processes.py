"""Worker processes of a run: the same outcomes as here, none where threads must do, and none that anybody waits for."""

import multiprocessing
import os
import shutil
import signal
import threading
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import load as load_dataset
from kgsparql.evaluation.runs import running
from kgsparql.evaluation.runs.plan import Plan, load_methods
from kgsparql.evaluation.runs.running import Asking, QuestionOutcome, outcome_of
from kgsparql.knowledge_base import KnowledgeBase
from tests.conftest import FIXTURES

RIVERS = FIXTURES / "datasets" / "rivers"


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with two, whatever machine this is."""
    monkeypatch.setattr(running, "_processor_count", lambda: 2)


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return kgsparql.open(RIVERS / "graph.ttl", embedder="none")


@pytest.fixture
def plan(knowledge: KnowledgeBase) -> Plan:
    questions = (*load_dataset(RIVERS).questions, Question(id="long", text="x" * 5_000))
    methods, _ = load_methods(["path_ranking", "auto", "path_ranking+no_model", "label_neighbours"], {}, knowledge)
    asking = AskOptions(seed=3, budget=Budget(max_queries=60), cancel=threading.Event())
    return Plan(questions=questions, methods=methods, asking=asking, gold_topics=True, workers=4)


def untimed(value: Any) -> Any:
    """Records and steps without how long something took, and when."""
    if isinstance(value, dict):
        return {name: untimed(own) for name, own in value.items() if not name.endswith("seconds") and name != "at_s"}
    return [untimed(own) for own in value] if isinstance(value, list | tuple) else value


def described(outcome: QuestionOutcome) -> Any:
    error = None if outcome.error is None else (type(outcome.error), outcome.error.to_json())
    return outcome.question, untimed(outcome.record.to_json()), untimed(outcome.steps), untimed(error)


def test_processes_come_to_the_same_and_none_is_waited_for_or_left(knowledge: KnowledgeBase, plan: Plan) -> None:
    many = [replace(question, id=f"{question.id}-{i}") for question in plan.questions for i in range(8)]
    first = plan.methods[0]
    with closing(Asking(knowledge, plan)) as asking:
        for method in plan.methods[:3]:
            pool = asking.pool_for(method, plan.questions)
            assert pool is not None
            assert pool is asking.pool_for(first, plan.questions), "one for all methods"
            there = {outcome.question.id: outcome for outcome in asking.outcomes(method, plan.questions)}
            here = {question.id: outcome_of(knowledge, plan, method, question) for question in plan.questions}
            assert {key: described(own) for key, own in there.items()} == {key: described(o) for key, o in here.items()}
            assert {"answered", "partial", "error"} <= {outcome.record.status for outcome in there.values()}

        outcomes = asking.outcomes(first, many)
        found = [next(outcomes)]
        os.kill(children()[0], signal.SIGKILL)
        found += outcomes
        assert sorted(outcome.question.id for outcome in found) == sorted(question.id for question in many)
        assert {outcome.question.id.partition("-")[0] for outcome in found if outcome.error} == {"long"}

        outcomes = asking.outcomes(first, many)
        next(outcomes)
        assert children()
        outcomes.close()  # as where a run is stopped
        assert plan.asking.cancel.is_set()
        assert not children()


def test_a_worker_stops_its_question_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ended in the middle of sending an outcome was waited for without end."""
    stop, first_process = multiprocessing.get_context("spawn").Pipe(duplex=False)
    cancel, was_stopped = threading.Event(), list[bool]()
    monkeypatch.setattr(running, "_TIME_TO_STOP_S", 0.01)
    monkeypatch.setattr(os, "_exit", lambda _: was_stopped.append(cancel.is_set()))
    first_process.close()
    running._end_with(stop, cancel)
    assert was_stopped == [True]


def test_a_graph_that_is_another_by_now_is_not_asked(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "graph.ttl"
    shutil.copy(RIVERS / "graph.ttl", file)
    knowledge = kgsparql.open(file, embedder="none")
    before = [described(outcome_of(knowledge, plan, plan.methods[0], question)) for question in plan.questions]
    with file.open("a") as stream:
        stream.write("<http://e.org/new> <http://e.org/is> <http://e.org/here> .\n")
    with closing(Asking(knowledge, plan)) as asking:
        pool = asking.pool_for(plan.methods[0], plan.questions)
        found = {
            outcome.question.id: described(outcome) for outcome in asking.outcomes(plan.methods[0], plan.questions)
        }
        assert pool is not asking.pool_for(plan.methods[0], plan.questions), "it was of no use"
    assert [found[question.id] for question in plan.questions] == before


def test_what_waits_or_cannot_be_opened_again_is_asked_by_threads(plan: Plan, knowledge: KnowledgeBase) -> None:
    first = plan.methods[0]
    assert Asking(knowledge, plan).pool_for(plan.methods[3], plan.questions) is None, "a baseline"
    assert Asking(knowledge, plan).pool_for(first, plan.questions[:1]) is None, "one question"
    for other in (replace(plan, workers=1), replace(plan, oracle=lambda _: None)):
        assert Asking(knowledge, other).pool_for(first, plan.questions) is None
    for graph in (
        kgsparql.open(knowledge.graph.store, embedder="none"),  # type: ignore[attr-defined]
        kgsparql.open(RIVERS / "graph.ttl", embedder="none", cache=False),
        kgsparql.open("http://127.0.0.1:9/sparql", RIVERS / "graph.ttl", embedder="none"),
    ):
        assert Asking(graph, plan).pool_for(first, plan.questions) is None


def children() -> list[int]:
    """The workers of this process by /proc; where there is no /proc the test is skipped."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("no /proc")
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended by now
            found += map(int, (task / "children").read_text().split())
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
