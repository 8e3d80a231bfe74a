"""``ask --log`` and ``kgsparql log``, from a question to an evaluation of it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.world import NOBEL, PHYSICS


def asked(run: Run, path: Path, question: str = PHYSICS) -> None:
    assert run("ask", question, "-k", NOBEL, "-q", "--log", path).exit_code in {0, 3}


def test_no_log_is_kept_unless_one_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("ask", PHYSICS, "-k", NOBEL, "-q").exit_code == 0
    assert list(tmp_path.iterdir()) == []
    assert "no log is kept" in run("log").stderr


def test_from_a_question_to_an_evaluation(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, questions = tmp_path / "q.sqlite", tmp_path / "questions.jsonl"
    asked(run, path)
    asked(run, path, "What colour is Xyzzy?")
    monkeypatch.setenv("KGSPARQL_LOG", str(path))
    listed = run("log").stdout.splitlines()
    assert "Xyzzy" in listed[0]
    assert PHYSICS in listed[1]
    assert "Marie Curie" in listed[1]
    assert run("log", "export", "-f", "eval").exit_code == 2
    assert run("log", "rate", "1", "--up").exit_code == 0
    shown = run("log", "show", "1").stdout
    assert "[P1]" in shown
    assert "rated    right" in shown
    exported = run("log", "export", "-f", "eval", "-o", questions)
    assert exported.exit_code == 0, exported.stderr
    measured = run("eval", questions, "-k", NOBEL, "-r", "path_ranking", "-q", "-o", tmp_path / "run")
    assert measured.exit_code == 0, measured.stderr
    lines = [json.loads(line) for line in run("log", "export").stdout.splitlines()]
    assert [(line["id"], line["is_right"]) for line in lines] == [(1, True), (2, None)]
    assert [one["id"] for one in json.loads(run("log", "--rated", "-f", "json").stdout)] == [1]


def test_lines_of_stdin_and_errors_are_logged_too_and_hostile_text_is_shown_as_text(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "q.sqlite"
    run("ask", "-", "-k", NOBEL, "-q", "--log", path, stdin=f"{PHYSICS}\n{'x' * 5000}\n")
    assert PHYSICS in run("log", "show", "1", "--log", path).stdout
    found = json.loads(run("log", "--log", path, "-f", "json").stdout)
    assert [one["answer"]["status"] for one in found] == ["error", "answered"]
    assert "at most 4,000" in run("log", "show", "2", "--log", path).stdout
    for words in (
        ("rate", "1"), ("rate", "1", "--up", "--down"), ("rate", "1", "--right", "x", "--no-answer"),
        ("rate", "1", "--right", ""),
    ):  # fmt: skip
        done = run("log", *words, "--log", tmp_path / "q.sqlite")
        assert (done.exit_code, "hint" in done.stderr) == (2, True), words


def test_a_log_that_cannot_be_written_costs_no_answer_but_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "not_a_log.ttl").write_text("<a:b> <a:c> <a:d> .")
    for place in ("file/q.sqlite", "not_a_log.ttl"):
        done = run("ask", PHYSICS, "-k", NOBEL, "-f", "plain", "-q", "--log", tmp_path / place)
        assert (done.exit_code, "Marie Curie" in done.stdout, "not logged" in done.stderr) == (0, True, True)
    assert (tmp_path / "not_a_log.ttl").read_text() == "<a:b> <a:c> <a:d> ."
