"""``kgsparql models``, and how ``ask`` tries a model out, as a user types it."""

import json
from pathlib import Path

import pytest

from kgsparql.cli import _options
from kgsparql.retrievers import _trial
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Slow, Status, Text
from tests.tried import strong, weak

NOBEL, RIVERS = FIXTURES / "nobel.ttl", FIXTURES / "datasets/rivers/graph.ttl"
BORN = "Where was Marie Curie born?"
TRIED = "it judges paths one by one, beside the ranking (0 of 2 lists, 10 of 10 paths right)"


@pytest.fixture(autouse=True)
def trial_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_TRIAL", "on")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path))


def test_the_answer_comes_first_then_the_trial_which_is_kept_and_listed(run: Run) -> None:
    assert "no model was tried out here" in run("models").stdout
    with ModelServer(lambda body: Text({"answer": 4}) if "two plus two" in str(body) else weak(body)) as server:
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
        assert (again.stderr, json.loads(again.stdout)["trust"]["judges"]) == ("", True)
        assert len(server.requests) == calls, "a sure answer is not judged"
        assert TRIED in run("doctor", *named).stdout
    assert f"m at {server.url}" in run("models").stdout
    assert json.loads(run("models", "-f", "json").stdout)[0]["use"] == TRIED


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
    assert "no model was tried out here" in run("models").stdout


def test_a_server_that_hangs_costs_one_question_its_timeout_and_not_the_next(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_trial, "_COSTLY_S", 0.2)
    with ModelServer(lambda _: Slow(30.0)) as server:
        named = ("-k", NOBEL, "-m", "m", "--base-url", server.url, "--model-timeout", 0.5)
        run("ask", BORN, *named)
        asked = len(server.requests)
        again, other = run("ask", BORN, *named), run("ask", BORN, *named, "-f", "csv")
        assert len(server.requests) == asked
        assert run("ask", BORN, *named, "--require-model").exit_code == 5
        assert len(server.requests) == asked + 1
        server.script = strong
        assert "it chooses from lists" in run("models", "trial", "m", "--base-url", server.url).stdout
        assert json.loads(run("ask", BORN, *named, "-f", "json").stdout)["model"] == "m"
    told = "tried again after 10 minutes, or by kgsparql models trial m"
    assert ((again.stdout + again.stderr).count(told), other.stderr.count(told)) == (1, 1)
    assert "once in 30 days" not in again.stdout + again.stderr + other.stderr


def test_a_model_is_tried_anew_and_compared_with_the_ranking_on_a_graph(run: Run) -> None:
    with ModelServer(strong) as server:
        done = run("models", "trial", "m", "--base-url", server.url)
        assert (
            "it chooses from lists and writes plans (10 of 10 lists, 10 of 10 paths, 4 of 4 plans right)" in done.stdout
        )
        done = run("models", "trial", "m", "--base-url", server.url, "-k", NOBEL, "-n", 5)
        assert done.exit_code == 0, done.stderr
        lines = done.stdout.splitlines()
        assert "it judges paths one by one" in lines[0], "from lists of this graph it chose nothing"
        assert lines[1].startswith("the ranking alone puts the right path first in ")
        assert lines[2] == "the model, choosing from a list: 0"
        assert lines[3].startswith("the ranking with the model's judgements: ")
        assert any("Curie" in str(request.body) or "Nobel" in str(request.body) for request in server.requests)
        known = run("models").stdout.splitlines()
        assert len(known) == 2
        assert ": it chooses from lists and writes plans" in known[0]
        assert f": on {NOBEL} it judges paths one by one" in known[1]
        named = ("-m", "m", "--base-url", server.url, "-f", "json")
        here, elsewhere = (
            json.loads(run("ask", question, "-k", graph, *named).stdout)["trust"]
            for question, graph in ((BORN, NOBEL), ("What is the length of the Danube?", RIVERS))
        )
    assert (here["judges"], here["chooses"], here["graph"]) == (True, False, str(NOBEL))
    assert (elsewhere["chooses"], elsewhere["graph"]) == (True, "")
