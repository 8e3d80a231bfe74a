"""Rating answers on the page: what goes into the log of questions, and into an evaluation set."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner

import kgsparql
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.cli import app
from kgsparql.errors import InputError
from kgsparql.serving.runs import RunLog
from tests.serving.conftest import NOBEL, SPOUSE, asked, served
from tests.serving.test_guards import JSON, error, send
from tests.serving.test_page import in_both_schemes

Ask = Callable[[str], None]

BORN = "Where was Marie Curie born?"
RIGHT = json.dumps({"is_right": True})


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "questions.sqlite"


@pytest.fixture(scope="module")
def logging_address(serving_cache: Path, log: Path) -> Iterator[str]:
    with served(serving_cache, "-k", NOBEL, "--no-model", "-q", "--log", log) as found:
        yield found


def evaluation_set(log: Path) -> dict[str, Any]:
    """Question → its line of the evaluation set."""
    done = CliRunner().invoke(app, ["log", "export", "-f", "eval", "--log", str(log)])
    assert done.exit_code == 0, done.stderr
    return {line["question"]: line for line in map(json.loads, done.stdout.splitlines())}


def test_what_is_rated_on_the_page_is_in_the_evaluation_set_and_shown_again(
    page: Page, logging_address: str, log: Path, ask: Ask
) -> None:
    page.goto(logging_address)
    ask(SPOUSE)
    page.click("text=✓ Right")
    page.wait_for_selector("text=Rated right.")
    ask(BORN)
    born = page.url
    page.click("text=✗ Wrong")
    page.wait_for_selector("text=Rated wrong.")
    page.fill(".feedback textarea", "Warsaw\n http://dbpedia.org/resource/Warsaw \n\n<b>bold</b>")
    page.click("text=Save")
    page.wait_for_selector("text=Rated wrong. The right answer: Warsaw; http://dbpedia.org/resource/Warsaw; <b>bold")
    assert log.stat().st_mode & 0o077 == 0
    known = evaluation_set(log)
    assert known[SPOUSE]["answer_iris"] == ["http://dbpedia.org/resource/Pierre_Curie"]
    assert known[BORN]["answers"] == ["Warsaw", "http://dbpedia.org/resource/Warsaw", "<b>bold</b>"]

    page.goto(logging_address)
    page.goto(born)
    page.wait_for_selector("text=Rated wrong.")
    assert page.get_attribute("text=✗ Wrong", "aria-pressed") == "true"
    assert page.get_attribute("text=✓ Right", "aria-pressed") == "false"
    page.click("text=The right answer is …")
    page.click("text=The graph has no answer")
    page.wait_for_selector("text=Rated wrong. The graph has no answer.")
    assert evaluation_set(log)[BORN]["answers"] == []
    assert in_both_schemes(page) == []


def test_without_a_log_nothing_can_be_rated(page: Page, address: str, answered: None) -> None:
    assert page.locator(".feedback").count() == 0
    status, _, body = send(address, "POST", f"/api/runs/{page.url.rpartition('/')[2]}/rating", RIGHT, **JSON)
    assert status == 400
    assert error(body)["hint"] == "whoever started this page can have it keep one"


def test_a_run_of_another_log_is_not_rated(tmp_path: Path) -> None:
    answer = answer_to_json(kgsparql.open(NOBEL, embedder="none").ask(SPOUSE))
    with RunLog(tmp_path / "own.sqlite") as own, RunLog(tmp_path / "other.sqlite") as other:
        run, same_number = ({"id": name, **log.add_run(answer, run=name)} for name, log in (("a", own), ("b", other)))
        assert run["logged"] == same_number["logged"]
        assert own.rating(run) == {"is_right": None, "right_answers": None}
        assert other.rating(run) is None
        with pytest.raises(InputError, match="not in the log"):
            other.rate_run(run, is_right=True, right_answers=None)


def test_a_bad_rating_is_told_what_is_wrong_and_who_may_rate_is_who_may_ask(logging_address: str) -> None:
    name = asked(logging_address, SPOUSE)
    for rating, says in {
        "": "Invalid JSON", "[]": "cannot be read", '{"is_right": 1}': "is_right: ", "{}": "nothing was said",
        '{"is_right": null}': "nothing was said", '{"right_answers": "Paris"}': "right_answers",
        '{"right_answers": [" "]}': "right_answers", '{"right_answers": [7]}': "right_answers",
        '{"right_answers": ["\\ud800"]}': "Invalid JSON", '{"right_answers": ["a\\u0000"]}': "right_answers",
        json.dumps({"right_answers": ["x" * 2_001]}): "right_answers",
        json.dumps({"right_answers": ["x"] * 101}): "right_answers",
    }.items():  # fmt: skip
        status, _, body = send(logging_address, "POST", f"/api/runs/{name}/rating", rating, **JSON)
        assert (status, says in error(body)["message"]) == (400, True), rating[:60]
    path = f"/api/runs/{name}/rating"
    assert send(logging_address, "POST", path, RIGHT, content_type="text/plain")[0] == 400
    assert send(logging_address, "POST", path, RIGHT, **JSON, origin="https://evil.example")[0] == 403
    assert send(logging_address, "POST", path, RIGHT, **JSON, sec_fetch_site="cross-site")[0] == 403
    assert send(logging_address, "POST", "/api/runs/none/rating", RIGHT, **JSON)[0] == 404
    assert send(logging_address, "POST", path, RIGHT, **JSON)[0] == 200


def test_a_question_that_fails_is_logged_too(logging_address: str, log: Path) -> None:
    name = json.loads(
        send(logging_address, "POST", "/api/ask", '{"question": "Why?", "entities": ["http://e.org/no"]}', **JSON)[2]
    )["id"]
    send(logging_address, "GET", f"/api/runs/{name}/events")
    assert json.loads(send(logging_address, "GET", f"/api/runs/{name}")[2])["rating"] is None
    listed = CliRunner().invoke(app, ["log", "--log", str(log)])
    assert any("Why?" in line and "error" in line for line in listed.stdout.splitlines())


def test_a_file_that_is_no_log_is_said_before_the_page_opens(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["serve", "--port", "0", "--log", str(other)])
    assert done.exit_code == 4
    assert "--log names another file" in done.stderr
    assert other.read_text(encoding="utf-8") == "mine"
