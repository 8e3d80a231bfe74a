"""The log of questions: who can read it, several writers, its bounds, and what an evaluation gets of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgsparql.errors import InputError, NotFoundError
from kgsparql.evaluation.datasets import load
from kgsparql.storage.question_log import QuestionLog
from tests.world import ROOT

CURIE = {"type": "uri", "value": "http://e.org/curie", "label": "Marie Curie"}


def answered(question: str = "Who?", **others: object) -> dict[str, object]:
    return {
        "question": question, "status": "answered", "text": "Marie Curie", "graphs": ["g"], "retriever": "mindmap",
        "model": "m", "usage": {"tokens": 12, "cost": 0.25, "seconds": 1.5},
        "answers": [{"term": CURIE, "is_best": True}], "more_answers": 0, **others,
    }  # fmt: skip


def test_what_was_logged_comes_back_without_keys_and_without_the_evidence_of_a_huge_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    huge = [{"marker": "P1", "text": os.urandom(600_000).hex()}]
    with QuestionLog(tmp_path / "q.sqlite") as log:
        one = log.entry(log.add(answered()))
        assert (one.question, one.is_right, one.answer) == ("Who?", None, answered())
        light = log.entry(log.add(answered(evidence=huge))).answer
        assert ("evidence" in light, light["answers"]) == (False, answered()["answers"])
        one = log.entry(log.add(answered("is sk-very-secret a key?", text="http://me:pw@e.org/ says sk-very-secret")))
    assert not any(secret in str(one) for secret in ("sk-very-secret", "me:pw"))


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "q.sqlite"
    before = os.umask(0)
    try:
        log = QuestionLog(path)
        log.add(answered())
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        log.close()
    finally:
        os.umask(before)


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "q.sqlite"
    program = (
        "import sys; from kgsparql.storage.question_log import QuestionLog\n"
        "with QuestionLog(sys.argv[1]) as log:\n"
        "    for at in range(40): log.add({'question': f'{sys.argv[2]} {at}?', 'status': 'answered'})"
    )
    command = [sys.executable, "-c", program, str(path)]
    running = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in range(4)]
    assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    with QuestionLog(path) as log:
        assert len({one.question for one in log.entries()}) == 160


def test_it_does_not_grow_without_end_and_rated_questions_stay_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsparql.storage.question_log.MOST_ENTRIES", 3)
    with QuestionLog(tmp_path / "q.sqlite") as log:
        first = log.add(answered("first"))
        log.rate(first, is_right=True)
        for number in range(5):
            log.add(answered(f"{number}"))
        assert [one.question for one in log.entries()] == ["4", "3", "first"]


RIGHT: list[tuple[dict[str, object], bool | None, list[str] | None, dict[str, object] | None]] = [
    ({}, None, None, None),
    ({}, False, None, None),
    ({}, True, None, {"answers": ["Marie Curie"], "answer_iris": ["http://e.org/curie"]}),
    ({"more_answers": 7}, True, None, None),
    ({"answers": []}, True, None, None),
    ({"answers": [], "status": "not_in_graph"}, True, None, {"answers": []}),
    ({}, False, ["Pierre Curie", "Becquerel"], {"answers": ["Pierre Curie", "Becquerel"]}),
    ({}, None, ["http://e.org/p"], {"answer_iris": ["http://e.org/p"]}),
    ({}, False, [], {"answers": []}),
]


def test_the_right_answers_of_an_evaluation(tmp_path: Path) -> None:
    for place, (answer, rating, right, expected) in enumerate(RIGHT):
        with QuestionLog(tmp_path / f"{place}.sqlite") as log:
            number = log.add(answered(**answer))
            log.rate(number, is_right=rating, right_answers=right)
            line = log.entry(number).evaluation_line()
        assert line == (None if expected is None else {"id": "log-1", "question": "Who?", **expected})
        if line is not None and expected is not None:
            file = tmp_path / "questions.jsonl"
            file.write_text(json.dumps(line), encoding="utf-8")
            (question,) = load(file).questions
            found = [one.label or str(one.term) for one in question.answers or ()]
            assert found == expected.get("answers", ["<http://e.org/p>"])


def test_what_cannot_be_rated(tmp_path: Path) -> None:
    with QuestionLog(tmp_path / "q.sqlite") as log:
        with pytest.raises(NotFoundError):
            log.rate(1, is_right=True)
        assert not (tmp_path / "q.sqlite").exists()
        log.add(answered())
        with pytest.raises(NotFoundError):
            log.rate(2, is_right=True)
        with pytest.raises(InputError):
            log.rate(1, right_answers=[" "])
