"""Asking the questions of a run: what is recorded of each, and when the run stops."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

import kgsparql
from kgsparql import AnswerTerm, AskOptions, CitedTriple, Evidence, EvidenceItem, Query, Retrieval, Session
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.errors import (
    AuthenticationError,
    BudgetExceededError,
    EndpointError,
    EndpointReplyError,
    KgsparqlError,
    ModelReplyError,
    ModelTimeoutError,
    RequestRefusedError,
)
from kgsparql.evaluation.dataset import GoldAnswer, Question, Record, is_lost
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.run_directory import Run
from kgsparql.evaluation.run_plan import UNREACHABLE, MethodProgress, Plan, run
from kgsparql.rdf.terms import IRI, Literal, Term, Triple
from tests.world import DBR

CURIE, BOHR = IRI(f"{DBR}Marie_Curie"), IRI(f"{DBR}Niels_Bohr")
SMALL = IRI(f"{DBR}Ilmington")


@dataclass(frozen=True)
class Told(Retriever):
    """A method that does what it is told for each question: raises an error, or answers with terms of one path."""

    name: ClassVar[str] = "told"
    summary: ClassVar[str] = "what a test tells it"
    source: ClassVar[str] = "a test"

    does: Mapping[str, Exception | tuple[Term, ...]] = field(default_factory=dict, repr=False)
    asked: list[str] = field(default_factory=list, repr=False, compare=False)

    def cost(self, **_: int) -> Cost:
        return Cost(calls=0, rounds=0, queries=50)

    def retrieve(self, session: Session) -> Retrieval:
        self.asked.append(session.question)
        found = self.does.get(session.question, ())
        if isinstance(found, Exception):
            raise found
        triple = Triple(CURIE, IRI("http://www.w3.org/2000/01/rdf-schema#label"), Literal("Marie Curie", language="en"))
        item = EvidenceItem("path", "a path", (CitedTriple(triple),), Query.load("labels").bind(entity=[CURIE]))
        evidence = Evidence([item])
        candidates = tuple(AnswerTerm(term, getattr(term, "value", ""), 0.5, ("P1",)) for term in found)
        return Retrieval(evidence=evidence, candidates=candidates)


@pytest.fixture
def asked(nobel: kgsparql.KnowledgeBase, tmp_path: Path) -> Callable[..., tuple[Run, Told]]:
    """A function that asks ``q0``, ``q1`` … of a method that does what it is told, and returns what is left."""

    def ask(
        *does: Exception | tuple[Term, ...], workers: int = 1, tell: Callable[[MethodProgress], None] = lambda _: None
    ) -> tuple[Run, Told]:
        told = Told({f"q{i}": what for i, what in enumerate(does)})
        questions = [Question(id=str(i), text=f"q{i}", answers=(GoldAnswer(BOHR, ""),)) for i in range(len(does))]
        asking = AskOptions(entities=(CURIE,), cancel=threading.Event())
        plan = Plan(questions=questions, methods=[told], asking=asking, workers=workers)
        path = tmp_path / "run"
        config = {"dataset": {"name": "d"}, "methods": [{"label": "told"}], "model": ""}
        return run(nobel, plan, path, config, tell=tell), told

    return ask


def gone() -> EndpointError:
    return EndpointError("gone")


def test_every_question_is_recorded_and_told(asked: Callable[..., Any]) -> None:
    seen: list[tuple[int, int, float]] = []
    made, _ = asked((BOHR,), (CURIE,), tell=lambda at: seen.append((at.done, at.total, at.hits)))
    assert {i: r.status for i, r in made.records("told").items()} == {"0": "answered", "1": "answered"}
    assert seen == [(0, 2, 0.0), (1, 2, 1.0), (2, 2, 1.0)]


def test_errors_that_do_not_follow_each_other_and_useless_replies_do_not_stop_a_run(asked: Callable[..., Any]) -> None:
    useless = [ModelReplyError("no JSON") for _ in range(5)]
    made, told = asked(gone(), gone(), (BOHR,), gone(), gone(), ZeroDivisionError("by zero"), *useless, (BOHR,))
    assert len(told.asked) == 12
    records = list(made.records("told").values())
    assert [record.is_lost for record in records[:6]] == [True, True, False, True, True, False]
    assert records[5].error == ("E_INTERNAL", "ZeroDivisionError: by zero"), "a bug in a method costs one question"
    assert METRICS["hits@1"].of(made.questions[5], records[5]) == 0
    assert all(r.status == "error" and not r.is_lost for r in records[5:11])
    assert records[11].status == "answered"


def test_after_three_in_a_row_nobody_begins_another_question(asked: Callable[..., Any], tmp_path: Path) -> None:
    does = ((BOHR,), gone(), gone(), gone(), (BOHR,), (BOHR,))
    with pytest.raises(EndpointError) as caught:
        asked(*does)
    assert f"{UNREACHABLE} questions in a row" in (caught.value.hint or "")
    assert list(Run.open(tmp_path / "run").records("told")) == ["0", "1", "2", "3"]


def test_whose_errors_mean_that_nobody_was_there() -> None:
    for error, lost in (
        (EndpointError("down"), True), (ModelTimeoutError("slow"), True), (AuthenticationError("401"), True),
        (EndpointReplyError("a page in HTML"), True), (EndpointReplyError("too many", code="E_LIMIT"), False),
        (ModelReplyError("empty", code="E_LLM_EMPTY"), False), (RequestRefusedError("400"), False),
        (BudgetExceededError("calls"), False), (KgsparqlError("a bug"), False),
    ):  # fmt: skip
        assert is_lost(error) is lost
        assert Record.failed(error, question="q", method="m", seconds=0).is_lost is lost


def test_questions_side_by_side_are_recorded_and_no_thread_is_left(asked: Callable[..., Any], tmp_path: Path) -> None:
    made, told = asked(*[(BOHR,)] * 40, workers=8)
    assert sorted(told.asked) == sorted(f"q{i}" for i in range(40))
    assert len(made.records("told")) == 40
    (tmp_path / "run").rename(tmp_path / "before")
    with pytest.raises(EndpointError):
        asked(*[gone() for _ in range(20)], workers=4)
    assert not [t for t in threading.enumerate() if t is not threading.main_thread() and "work" in t.name]
