"""Worker processes of a run: the same outcomes as here, none where threads must do, and none that anybody waits for."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
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
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Plan, load_methods
from kgsparql.evaluation.runs.running import (
    Asking,
    MethodProgress,
    QuestionOutcome,
    _worker_outcome,
    outcome_of,
    run,
)
from kgsparql.knowledge_base import KnowledgeBase
from tests.conftest import FIXTURES

READY_S = 60.0


@pytest.fixture(autouse=True)
def _three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with three, whatever machine this is."""
    monkeypatch.setattr(running, "_processor_count", lambda: 3)


@pytest.fixture(scope="module")
def questions() -> tuple[Question, ...]:
    return load_dataset(str(FIXTURES / "nobel_questions.jsonl")).questions[:12]


@pytest.fixture
def knowledge() -> KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture
def plan(questions: tuple[Question, ...], knowledge: KnowledgeBase) -> Plan:
    names = "path_ranking,query_plan,auto,label_neighbours,path_ranking+no_model".split(",")
    methods, _ = load_methods(names, {}, knowledge)
    return Plan(questions=questions, methods=methods, asking=AskOptions(seed=3), workers=4)


def untimed(value: Any) -> Any:
    """Records and steps without how long something took, and when."""
    if isinstance(value, dict):
        return {name: untimed(own) for name, own in value.items() if not name.endswith("seconds") and name != "at_s"}
    return [untimed(own) for own in value] if isinstance(value, list | tuple) else value


def described(outcome: QuestionOutcome) -> Any:
    error = None if outcome.error is None else (type(outcome.error), outcome.error.to_json())
    return outcome.question, untimed(outcome.record.to_json()), untimed(outcome.steps), untimed(error)


def test_an_outcome_is_the_same_in_any_process_and_limits_hold_there(knowledge: KnowledgeBase, plan: Plan) -> None:
    lost = Question(id="lost", text="x" * 5_000)
    narrow = replace(plan, asking=AskOptions(budget=Budget(max_queries=2)), gold_topics=True)
    for own, methods in ((plan, plan.methods[:3]), (narrow, plan.methods[:1])):
        with closing(Asking(knowledge, own)) as workers:
            pool = workers.pool_for(plan.methods[0], plan.questions)
            assert pool is not None
            for method in methods:
                for question in (*plan.questions[:4], lost):
                    here = outcome_of(knowledge, own, method, question)
                    there = pool.submit(_worker_outcome, method, question).result(READY_S)
                    assert described(there) == described(here)
                    assert (here.error is None) is (question is not lost)
                    assert own is plan or question is lost or here.record.status == "partial"


def asked(knowledge: KnowledgeBase, plan: Plan, path: Path, tell: Callable[..., None] = lambda _: None) -> Run:
    labels = [{"label": method.label} for method in plan.methods]
    there = Run.begin(path, {"dataset": {"name": "d"}, "methods": labels, "model": ""}, plan.questions)
    run(knowledge, plan, there, tell=tell)
    return there


def test_one_worker_and_four_record_the_same(knowledge: KnowledgeBase, plan: Plan, tmp_path: Path) -> None:
    one = asked(knowledge, replace(plan, workers=1), tmp_path / "one")
    four = asked(knowledge, plan, tmp_path / "four")
    for method in plan.methods:
        first, second = ({i: untimed(r.to_json()) for i, r in d.records(method.label).items()} for d in (one, four))
        assert first == second
        assert len(first) == len(plan.questions)


def test_where_a_process_is_killed_the_rest_is_asked_here(knowledge: KnowledgeBase, plan: Plan, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(at: MethodProgress) -> None:
        if at.done == 1:
            killed.append(children_of(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    made = asked(knowledge, replace(repeated(plan), methods=plan.methods[:1]), tmp_path / "run", kill)
    records = made.records("path_ranking").values()
    assert (len(killed), len(records)) == (1, 96)
    assert all(record.error is None for record in records)


def repeated(plan: Plan) -> Plan:
    return replace(plan, questions=[replace(q, id=f"{q.id}-{i}") for q in plan.questions for i in range(8)])


def test_a_graph_that_is_another_by_now_is_not_asked(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "graph.ttl"
    shutil.copy(FIXTURES / "nobel.ttl", file)
    knowledge = kgsparql.open(file, embedder="none")
    with file.open("a") as stream:
        stream.write("<http://e.org/new> <http://e.org/is> <http://e.org/here> .\n")
    with closing(Asking(knowledge, plan)) as workers:
        pool = workers.pool_for(plan.methods[0], plan.questions)
        assert pool is not None
        with pytest.raises(BrokenExecutor):
            pool.submit(_worker_outcome, plan.methods[0], plan.questions[0]).result(READY_S)


def test_what_waits_or_cannot_be_opened_again_is_asked_by_threads(plan: Plan, knowledge: KnowledgeBase) -> None:
    workers = Asking(knowledge, plan)
    assert workers.pool_for(plan.methods[3], plan.questions) is None, "a baseline"
    assert workers.pool_for(plan.methods[0], plan.questions[:1]) is None, "one question"
    for other in (replace(plan, workers=1), replace(plan, oracle=lambda _: None)):
        assert Asking(knowledge, other).pool_for(plan.methods[0], plan.questions) is None
    for graph in (
        kgsparql.open(knowledge.graph.store, embedder="none"),  # type: ignore[attr-defined]
        kgsparql.open(FIXTURES / "nobel.ttl", embedder="none", cache=False),
        kgsparql.open("http://127.0.0.1:9/sparql", FIXTURES / "nobel.ttl", embedder="none"),
    ):
        assert Asking(graph, plan).pool_for(plan.methods[0], plan.questions) is None


def test_no_process_is_left_after_a_run(knowledge: KnowledgeBase, plan: Plan, tmp_path: Path) -> None:
    pids: list[int] = []

    def stop(_: object) -> None:
        pids.extend(children_of(os.getpid()))
        if pids:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(knowledge, repeated(plan), tmp_path / "run", stop)
    assert pids
    assert not set(pids) & set(children_of(os.getpid()))


def children_of(pid: int) -> list[int]:
    """Its workers by /proc; where there is no /proc the test is skipped."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("no /proc")
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended by now
            found += map(int, (task / "children").read_text().split())
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
