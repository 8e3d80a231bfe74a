"""--force"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql.cli import _common as c
from kgsparql.events import Drafted
from tests.cli.conftest import Run, told_by
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import reader
from tests.tried import strong
from tests.world import BORN, FEYNMAN, FIXTURES, NOBEL

PLAIN = ("-k", NOBEL, "--embedder", "none", "-r", "mindmap")
pytestmark = pytest.mark.usefixtures("empty_cache")


def test_an_answer_and_what_it_took(run: Run) -> None:
    with ModelServer(reader) as server:
        done = run("ask", FEYNMAN, *PLAIN, "-m", "any", "--base-url", server.url)
    assert (done.exit_code, done.stderr, "2 model calls" in done.stdout) == (0, "", True)


def test_no_model_is_paid_for_an_answer_that_has_nowhere_to_go(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with ModelServer(reader) as server:
        for place, says in (
            ("nowhere/a.txt", "No such file"), (".", "Is a directory"), ("file/a.txt", "Not a directory"),
        ):  # fmt: skip
            done = run("ask", FEYNMAN, *PLAIN, "-m", "any", "--base-url", server.url, "-o", tmp_path / place)
            assert done.exit_code == 2
            assert done.stderr.startswith(f"error: cannot write {tmp_path / place}: {says}")
        assert server.requests == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_U15_the_only_model_of_a_server_needs_no_name_and_a_limit_stops_before_the_call(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(reader, models=["one"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run("ask", FEYNMAN, *PLAIN, "-f", "json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["model"] == "one"
    with ModelServer(reader, models=["one", "two"]) as server:
        done = run("ask", FEYNMAN, *PLAIN, "--base-url", server.url)
    assert done.exit_code == 2
    assert "-m" in done.stderr
    assert "one, two" in done.stderr
    with ModelServer(reader) as server:
        done = run("ask", FEYNMAN, *PLAIN, "-m", "any", "--base-url", server.url, "--max-tokens", "10")
        assert server.requests == []
    assert (done.exit_code, "budget reached: 10 tokens" in done.stdout) == (0, True)


def test_a_model_that_is_required_must_be_named_and_settings_require_none_of_who_wants_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("ask", FEYNMAN, *PLAIN, "--require-model")
    assert (done.exit_code, "--require-model without a model" in done.stderr) == (2, True)
    (own := tmp_path / "own.toml").write_text('[model]\nname = "x"\nrequired = true')
    monkeypatch.setenv("KGSPARQL_CONFIG", str(own))
    assert run("ask", FEYNMAN, *PLAIN, "--no-model").exit_code == 0


def test_without_a_model_nothing_more_is_said_and_bad_options_are_said_before_a_graph_is_read(run: Run) -> None:
    done = run("ask", FEYNMAN, *PLAIN)
    assert (done.exit_code, done.stderr) == (0, ""), done.stdout
    assert run("ask", FEYNMAN, *PLAIN, "--no-model").stderr == ""
    assert run("ask", FEYNMAN, *PLAIN, "--no-model", "-m", "x").exit_code == 2
    no_key = run("ask", FEYNMAN, *PLAIN, "-m", "x")
    assert no_key.exit_code == 2
    assert "OPENAI_API_KEY" in no_key.stderr
    for arguments, says in (
        (("--max-cost", "0.01"), "--max-cost is gone: --max-tokens"),
        (("--max-seconds", "nan"), "--max-seconds"),
        (("--model-timeout", "nan", "-m", "x"), "--model-timeout"),
        (("--temperature", "1", "-m", "x"), "--temperature is gone"),
        (("--base-url", "localhost:11434", "-m", "x"), "http"),
    ):
        done = run("ask", "Who?", "-k", "nowhere.ttl", *arguments)
        assert (done.exit_code, says in done.stderr, "nowhere.ttl" in done.stderr) == (2, True, False), arguments


def test_the_same_bytes_twice_with_the_server_down(run: Run) -> None:
    with ModelServer(reader) as server:
        arguments = ("ask", FEYNMAN, *PLAIN, "-m", "any", "--base-url", server.url, "-f", "json")
        first = run(*arguments)
    second = run(*arguments)
    assert (first.exit_code, second.exit_code, told_by(second)) == (0, 0, told_by(first)), second.stderr
    assert run(*arguments, "--fresh", "--require-model").exit_code == 5


def test_with_one_call_the_linker_finds_the_names_and_steps_are_told_as_far_as_is_wanted(run: Run) -> None:
    with ModelServer(reader) as server:
        arguments = ("ask", FEYNMAN, *PLAIN, "-m", "any", "--base-url", server.url)
        one = run(*arguments, "--max-calls", 1)
        once, twice = run(*arguments, "-v").stderr, run(*arguments, "-vv").stderr
        chart = run(*arguments, "-f", "mermaid")
    assert "1 model call ·" in one.stdout, one.stderr
    assert "the linker found the names" in one.stdout
    assert "· any (mentions): " in once
    assert "· any (answer): " in once
    assert "You find the names" not in once
    assert all(said in twice for said in ("You find the names", "kept reply", "  reply\n    {"))
    assert chart.stdout.startswith("flowchart LR\n")


def test_a_bar_is_off_the_terminal_before_a_draft_or_an_answer_is_shown_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with kgsparql.open(FIXTURES / "nobel.ttl", embedder="none") as knowledge:
        drafted = Drafted(status="answered", answer=knowledge.ask("Where was Marie Curie born?"))
    for show in (lambda: c.say_step(drafted, 0, drafts=True), lambda: c.write("Warsaw", None)):
        with c.Progress(quiet=False) as shown:
            shown("reading labels", 1, None)
            assert shown._bar is not None
            show()
            assert shown._bar is None
    assert "Warsaw" in capsys.readouterr().out


TRIED = "it chooses from lists and writes plans (10 of 10 lists, 1 of 1 plans right)"


@pytest.mark.usefixtures("trial_is_on")
def test_a_trial_comes_before_the_model_is_asked_and_is_kept(run: Run) -> None:
    def replies(body: Any) -> Reply:
        if "two plus two" in str(body):
            return Text({"answer": 4})
        return Text({"numbers": [1]}) if "Curie" in str(body) else strong(body)

    with ModelServer(replies) as server:
        named = ("-m", "m", "--base-url", server.url)
        done = run("ask", BORN, "-k", NOBEL, *named)
        assert (done.exit_code, done.stdout.startswith("Warsaw")) == (0, True)
        assert TRIED in " ".join(done.stdout.split())
        calls = len(server.requests)
        again = run("ask", BORN, "-k", NOBEL, *named, "-f", "json")
        assert (again.stderr, json.loads(again.stdout)["trust"]["chooses"]) == ("", True)
        assert len(server.requests) == calls, "the replies are kept, too"
        assert TRIED in run("doctor", *named).stdout
