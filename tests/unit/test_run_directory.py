"""A run on disk, whole lines or none, and the worker processes that answer its questions."""

import json
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
from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.errors import DataError, DiskFullError, InputError, KgsparqlError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic, json_form, triple_of
from kgsparql.evaluation.datasets import load as load_dataset
from kgsparql.evaluation.record import Record, RecordedAnswer, RecordedCost, RecordedEvidence, RecordedLink
from kgsparql.evaluation.runs import running
from kgsparql.evaluation.runs.directory import Run, whole_lines
from kgsparql.evaluation.runs.plan import Plan, load_methods
from kgsparql.evaluation.runs.running import Asking, QuestionOutcome, outcome_of
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI, Literal
from tests.conftest import FIXTURES

CONFIG = {"dataset": {"name": "d"}, "methods": [{"label": "mindmap"}], "model": ""}
QUESTION = Question(
    id="q1", text='Who "is" it? ✓', hops=2, type="who", path=("^p", "q"), sparql="ASK {}", reference="Ann.",
    answers=(GoldAnswer(IRI("http://e.org/a"), "Ann"), GoldAnswer(Literal("8"), "8"), GoldAnswer(None, "Bob")),
    topics=(Topic(IRI("http://e.org/t"), "T"),),
    golden_triples=(triple_of("<http://e.org/a>", "<http://e.org/p>", '"x"@en'),),
)  # fmt: skip
RECORD = Record(
    question="q1", method="mindmap", status="answered", error=("E_MODEL", "gone"), ranked=True, notes=("a note",),
    chosen_by=("oracle",), fallbacks=(("answer", "a reason"),), claims=(("It is Ann.", ("P1",)),),
    answers=(RecordedAnswer("<http://e.org/a>", "Ann", 0.5, ("P1", "N1"), 7),),
    evidence=(
        RecordedEvidence(
            "P1", "path", "text", 0.5, (("<http://e.org/a>", "<http://e.org/p>", '"x"@en'),), (None,),
            ("<http://e.org/a>",), ("cut",), "SELECT", is_cited=True,
        ),
    ),
    linked=(RecordedLink("<http://e.org/t>", "T", "t", "exact", 1.0, ("<http://e.org/u>",)),),
    measured=RecordedCost(model_calls=2, rounds=1, cost=0.25, seconds=1.5),
)  # fmt: skip


@pytest.fixture
def begun(tmp_path: Path) -> Run:
    return Run.begin(tmp_path / "run", CONFIG, [QUESTION])


def test_what_was_written_is_read(begun: Run) -> None:
    begun.add(replace(RECORD, status="error"), [{"kind": "finished"}])
    begun.add(RECORD, [{"kind": "finished"}])  # asked twice: the last counts
    read = Run.open(begun.path)
    assert read.questions == (QUESTION,)
    assert read.records("mindmap") == {"q1": RECORD}
    assert (read.dataset, read.methods, read.model) == ("d", ("mindmap",), "")
    assert list(whole_lines(begun.path / "events" / "mindmap.jsonl", dict)) == 2 * [
        {"question": "q1", "events": [{"kind": "finished"}]}
    ]


def test_a_record_says_who_chose_and_whether_the_method_links() -> None:
    names = "model_calls rounds prompt_tokens completion_tokens cost paid_cost queries rows seconds"
    answer = Answer("Who?", "not_in_graph", "", usage=dict.fromkeys(names.split(), 0))
    made = Record.of(answer, question="q", method="m", degrees={}, chosen_by=["words", "model", "words"], links=False)
    assert (made.chosen_by, made.linked, made.has_failed) == (("model", "words"), None, False)
    assert json_form(Record).validate_python(json.loads(json.dumps(made.to_json()))) == made
    made = Record.of(answer, question="q", method="m", degrees={})
    assert (made.chosen_by, made.linked) == ((), ())


def test_the_half_line_of_a_killed_process_is_left_out_and_then_cut_off(begun: Run) -> None:
    begun.add(RECORD, [])
    file = begun.path / "answers" / "mindmap.jsonl"
    whole = file.read_bytes()
    for half in (whole[:1], whole[:-1], b"x" * 3_000_000):
        file.write_bytes(whole + half)
        assert len(Run.open(begun.path).records("mindmap")) == 1
        begun.mend()
        assert file.read_bytes() == whole
    file.write_bytes(b"x" * 3_000_000)
    begun.mend()
    assert file.read_bytes() == b""


def test_a_line_that_is_no_json_or_no_record_is_named(begun: Run) -> None:
    file = begun.path / "answers" / "mindmap.jsonl"
    for line, said in (("{oops}", "not JSON"), ('{"question": "q1", "what": 1}', ".*for Record")):
        file.write_text(f"{line}\n")
        with pytest.raises(DataError, match=rf"mindmap\.jsonl:1: {said}"):
            Run.open(begun.path).records("mindmap")


def test_a_directory_with_something_in_it_is_left_alone_and_is_no_run(begun: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KgsparqlError):
        Run.begin(tmp_path / "file", CONFIG, [])
    with pytest.raises(InputError, match="no run is here"):
        Run.open(tmp_path)
    for text in ("", "[]", "{", '{"format": 99}', '{"form": 1}'):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(DataError, match=r"run\.json"):
            Run.open(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    for path, said in ((begun.path, "a run is there already"), (other, "something is there already")):
        with pytest.raises(InputError, match=said):
            Run.begin(path, CONFIG, [QUESTION])
    assert [file.name for file in other.iterdir()] == ["thesis.tex"]


def test_a_line_that_does_not_fit_is_taken_back_and_said(begun: Run) -> None:
    resource = pytest.importorskip("resource")
    begun.add(RECORD, [])
    before = {file: file.read_bytes() for file in begun.path.glob("*/*.jsonl")}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(map(len, before.values())) + 100, hard))
    try:
        with pytest.raises(DiskFullError, match="no space left") as caught:
            begun.add(replace(RECORD, text="x" * 10_000), [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "--resume" in (caught.value.hint or "")
    kept = {file: file.read_bytes() for file in before}
    assert kept[begun.path / "answers" / "mindmap.jsonl"] == before[begun.path / "answers" / "mindmap.jsonl"]
    assert all(data.endswith(b"\n") for data in kept.values())


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
    methods, _ = load_methods(["path_ranking", "auto", "path_ranking+no_model", "closed_book"], {})
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
