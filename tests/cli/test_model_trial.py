"""How ``ask`` tries a model out, as a user types it."""

import json
from pathlib import Path

import pytest

from kgsparql.cli import _options
from tests.cli.conftest import Run
from tests.model_server import ModelServer, Status, Text
from tests.tried import strong
from tests.world import BORN, NOBEL

TRIED = "it chooses from lists and writes plans (10 of 10 lists, 1 of 1 plans right)"


@pytest.fixture(autouse=True)
def trial_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_TRIAL", "on")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path))


def test_the_answer_comes_first_then_the_trial_which_is_kept_until_it_is_cleared(run: Run) -> None:
    with ModelServer(lambda body: Text({"answer": 4}) if "two plus two" in str(body) else strong(body)) as server:
        named = ("-m", "m", "--base-url", server.url)
        done = run("ask", BORN, "-k", NOBEL, *named)
        assert done.exit_code == 0
        assert done.stdout.startswith("Warsaw")
        (found,) = done.stderr.splitlines()
        assert done.stdout.count("only questions that kgsparql brings along are sent") == 1
        assert found.startswith("m was tried out, with ")
        assert found.endswith(TRIED)
        calls = len(server.requests)
        again = run("ask", BORN, "-k", NOBEL, *named, "-f", "json")
        assert (again.stderr, json.loads(again.stdout)["trust"]["chooses"]) == ("", True)
        assert len(server.requests) > calls
        assert TRIED in run("doctor", *named).stdout
        assert "trial: 1 removed" in run("cache", "--clear", "trial").stdout
        assert "not tried out yet" in run("doctor", *named).stdout


def test_many_questions_wait_for_the_trial(run: Run) -> None:
    with ModelServer(strong) as server:
        done = run("ask", "-", "-k", NOBEL, "-m", "m", "--base-url", server.url, stdin=f"{BORN}\n{BORN}\n")
    assert [json.loads(line)["model"] for line in done.stdout.splitlines()] == ["m", "m"]
    assert "it chooses from lists and writes plans (10 of 10 lists, 1 of 1 plans right)" in done.stderr


def test_a_trial_that_fails_or_is_stopped_is_told_and_not_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda _: Status(504)) as server:
        done = run("ask", BORN, "-k", NOBEL, "-m", "m", "--base-url", server.url)
    assert (done.exit_code, done.stdout[:6]) == (0, "Warsaw")
    assert "m could not be tried out, and is not asked" in done.stderr

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with ModelServer(lambda _: Status(504)) as server, monkeypatch.context() as stopped:
        stopped.setattr(_options, "wait_for_trial", interrupt)
        named = ("-k", NOBEL, "-m", "m", "--base-url", server.url)
        one, many = run("ask", BORN, *named), run("ask", "-", *named, stdin=BORN)
    assert (one.exit_code, many.exit_code) == (0, 130)
    assert "interrupted: nothing is kept of the trial" in one.stderr
    assert "what language models were found good for" not in run("cache").stdout
