"""A run on disk: whole lines or none."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql import IRI, Literal, Triple
from kgsparql.errors import DataError, DiskFullError, InputError, KgsparqlError
from kgsparql.evaluation.dataset import (
    GoldAnswer,
    Question,
    Record,
    RecordedAnswer,
    RecordedCost,
    RecordedEvidence,
    Topic,
)
from kgsparql.evaluation.run_directory import Run

CONFIG = {"dataset": {"name": "d"}, "methods": [{"label": "mindmap"}], "model": ""}
QUESTION = Question(
    id="q1", text='Who "is" it? ✓', hops=2, type="who", path=("^p", "q"), sparql="ASK {}",
    answers=(GoldAnswer(IRI("http://e.org/a"), "Ann"), GoldAnswer(Literal("8"), "8"), GoldAnswer(None, "Bob")),
    topics=(Topic(IRI("http://e.org/t"), "T"),),
    golden_triples=(Triple(IRI("http://e.org/a"), IRI("http://e.org/p"), Literal("x", language="en")),),
)  # fmt: skip
RECORD = Record(
    question="q1", method="mindmap", status="answered", error=("E_MODEL", "gone"), ranked=True,
    fallbacks=(("answer", "a reason"),), claims=(("It is Ann.", ("P1",)),),
    answers=(RecordedAnswer("<http://e.org/a>", "Ann", 0.5, ("P1", "N1")),),
    evidence=(
        RecordedEvidence("P1", (("<http://e.org/a>", "<http://e.org/p>", '"x"@en'),), (None,)),
    ),
    linked=(("<http://e.org/t>", "<http://e.org/u>"),),
    measured=RecordedCost(model_calls=2, rounds=1, seconds=1.5),
)  # fmt: skip


@pytest.fixture
def begun(tmp_path: Path) -> Run:
    return Run.begin(tmp_path / "run", CONFIG, [QUESTION])


def test_what_was_written_is_read(begun: Run) -> None:
    begun.add(replace(RECORD, status="error"))
    begun.add(RECORD)  # asked twice: the last counts
    read = Run.open(begun.path)
    assert read.questions == (QUESTION,)
    assert read.records("mindmap") == {"q1": RECORD}
    file = begun.path / "answers" / "mindmap.jsonl"
    file.write_text(file.read_text().replace('"label":"Ann",', '"label":"Ann","degree":7,'))
    assert '"degree":7' in file.read_text()
    assert read.records("mindmap") == {"q1": RECORD}, "the version before had the degree of each answer"
    assert (read.dataset, read.methods, read.model) == ("d", ("mindmap",), "")


def test_the_half_line_of_a_killed_process_is_left_out(begun: Run) -> None:
    begun.add(RECORD)
    file = begun.path / "answers" / "mindmap.jsonl"
    whole = file.read_bytes()
    for half in (whole[:1], whole[:-1], b"x" * 3_000_000):
        file.write_bytes(whole + half)
        assert len(Run.open(begun.path).records("mindmap")) == 1


def test_a_line_that_is_no_json_or_no_record_is_named(begun: Run) -> None:
    file = begun.path / "answers" / "mindmap.jsonl"
    for line, said in (("{oops}", ".*Invalid JSON"), ('{"question": "q1", "what": 1}', ".*for Record")):
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


def test_a_line_that_does_not_fit_is_said_and_left_out(begun: Run) -> None:
    resource = pytest.importorskip("resource")
    begun.add(RECORD)
    longest = max(file.stat().st_size for file in begun.path.glob("*/*.jsonl"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest + 100, hard))
    try:
        with pytest.raises(DiskFullError, match="no space left"):
            begun.add(replace(RECORD, text="x" * 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert Run.open(begun.path).records("mindmap") == {"q1": RECORD}
