"""A model server that fails in every way it can: the answer is that without a model, and one note says what failed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kgsparql import Answer, Budget, KgsparqlError, KnowledgeBase, LanguageModel, answer_to_json
from kgsparql.cli import app
from kgsparql.http.transport import HttpReply, HttpRequest, NetworkError
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.trust import Trust
from tests.contract.test_lying_model import BORN, COUNT, FEYNMAN, METHODS
from tests.deep import DEEP
from tests.liar import LIES
from tests.model_server import Big, Html, ModelServer, Raw, Refusal, Reply, Slow, Status, Text
from tests.scripted import Player, reader
from tests.world import FIXTURES


@dataclass(frozen=True)
class Failure:
    """What a server does, or what the budget does not hold.

    :param said: what the note has of it.
    :param code: of the error, where a model is required.
    """

    reply: Any
    said: str
    code: str
    budget: dict[str, Any] = field(default_factory=dict)

    def transport(self, request: HttpRequest) -> HttpReply:
        if isinstance(self.reply, Exception):
            raise self.reply
        script = self.reply if callable(self.reply) else [self.reply]
        return ModelServer(script).transport(request)

    def model(self) -> LanguageModel:
        return LanguageModel("m", OpenAIClient("http://model.test/v1", timeout_s=2.0, transport=self.transport))


def repeated(body: dict[str, Any]) -> Reply:
    """The prompt, word for word."""
    return Text(body["messages"][0]["content"])


REFUSED = NetworkError("unreachable", "connection refused", may_pass=True, is_connected=False)
FAILURES = {
    "down": Failure(REFUSED, "cannot reach", "E_MODEL"),
    "late": Failure(NetworkError("late"), "no reply within", "E_TIMEOUT"),
    "wrong key": Failure(Status(401), "401", "E_AUTH"),
    "too many requests": Failure(Status(429, {"Retry-After": "9999"}), "429", "E_RATE"),
    "too many requests, for some time": Failure(Status(429), "429", "E_RATE"),
    "a page of HTML": Failure(Html(), "not JSON", "E_LLM_FORMAT"),
    "half a reply": Failure(Raw(b'{"choices": [{"message": {"content": "{\\"ch'), "cut off", "E_LLM_PARTIAL"),
    "nothing": Failure(Text(""), "empty", "E_LLM_EMPTY"),
    "a refusal": Failure(Refusal(), "refusal", "E_LLM_REFUSED"),
    "100,000 tokens": Failure(Big(400_000), "", "E_LIMIT"),
    "more than may be sent": Failure(Big(600_000), "longer than", "E_LIMIT"),
    "another language": Failure(Text("Die Antwort steht leider nicht in der Liste."), "", "E_LLM_FORMAT"),
    "the prompt": Failure(repeated, "", "E_LLM_FORMAT"),
    "no call left": Failure(LIES["a name"], "0 model calls", "E_BUDGET", {"max_calls": 0}),
    "no token left": Failure(LIES["a name"], "10 tokens", "E_BUDGET", {"max_tokens": 10}),
}


def shown(answer: Answer) -> dict[str, Any]:
    """What is answered: all but what it cost, who was asked, what is noted, and readings that a budget is over for."""
    said = answer_to_json(answer)
    return {name: own for name, own in said.items() if name not in {"usage", "model", "notes", "fallbacks", "choices"}}


@pytest.mark.parametrize("method", METHODS)
def test_M01_M03_M04_M08_M09_the_answer_is_the_one_without_a_model_and_one_note_says_why(
    nobel: KnowledgeBase, method: str
) -> None:
    some = [*FAILURES.items()] if DEEP or method == "auto" else [*FAILURES.items()][len(method) % 4 :: 4]
    for question in (FEYNMAN, COUNT) if DEEP else (FEYNMAN,):
        without = nobel.ask(question, retriever=method, options=METHODS[method])
        for name, failure in some:
            budget, options = Budget(**failure.budget), METHODS[method]
            found = nobel.ask(question, retriever=method, options=options, model=failure.model(), budget=budget)
            assert shown(found) == shown(without), name
            (note,) = (str(note) for note in found.notes if note.code == "model_failed")
            assert failure.said in note, name
            assert "\n" not in note, name
            assert len(note) < 400, name


def test_a_model_that_is_required_fails_as_an_error(nobel: KnowledgeBase) -> None:
    for name, failure in FAILURES.items():
        with pytest.raises(KgsparqlError) as caught:
            nobel.ask(FEYNMAN, model=failure.model(), require_model=True, budget=Budget(**failure.budget))
        assert caught.value.code == failure.code, name
        assert caught.value.exit_code == (6 if failure.budget else 5), name


@contextmanager
def bad_server(name: str) -> Iterator[str]:
    """The address of a server that fails so; ``down`` is one that is gone."""
    replies = {"hanging": Slow(60), "wrong key": Status(401), "half a reply": FAILURES["half a reply"].reply}
    with ModelServer([replies.get(name, Text(""))]) as server:
        address = server.url
        if name != "down":
            yield address
    if name == "down":
        yield address


def run(*arguments: str, stdin: str | None = None) -> Result:
    named = ("-k", str(FIXTURES / "nobel.ttl"), "--embedder", "none", "-m", "any", "--model-timeout", "0.5")
    return CliRunner().invoke(app, ["ask", *arguments, *named], input=stdin)


@pytest.mark.parametrize("name", ["down", "hanging", "wrong key", "half a reply"])
def test_on_the_command_line_it_is_a_line_and_the_exit_status_of_the_answer(name: str) -> None:
    with bad_server(name) as address:
        done = run(BORN, "--base-url", address)
        required = run(BORN, "--base-url", address, "--require-model")
    assert (done.exit_code, "Warsaw" in done.stdout) == (0, True), done.stderr
    assert len([line for line in (done.stdout + done.stderr).splitlines() if address in line]) == 1
    assert required.exit_code == 5
    assert "Warsaw" not in required.stdout


def test_of_many_questions_none_is_lost() -> None:
    script = lambda body: Status(500) if "Feynman" in json.dumps(body) else Player()(body)  # noqa: E731
    with ModelServer(script) as server:
        done = run("-", "--base-url", server.url, stdin=f"{BORN}\n{FEYNMAN}\n{COUNT}\n")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == [1, 2, 3]
    assert all(line["answers"] or line.get("value") for line in lines)
    assert ["model_failed" in {note["code"] for note in line["notes"]} for line in lines] == [False, True, False]
    assert done.exit_code == 0


@pytest.mark.parametrize("method", METHODS)
def test_queries_that_run_out_while_a_model_is_asked_leave_the_draft(nobel: KnowledgeBase, method: str) -> None:
    options = METHODS[method]
    without, readings = nobel.ask(FEYNMAN, retriever=method, options=options), set[str]()
    for more in (0, 1, 4, None):
        model = LanguageModel("m", OpenAIClient("http://model.test/v1", transport=ModelServer(reader).transport))
        model.trust = Trust(chooses=True, plans=True)
        budget = Budget() if more is None else Budget(max_queries=without.usage["queries"] + more)
        found = nobel.ask(FEYNMAN, retriever=method, options=options, model=model, budget=budget, trial=True)
        if "model_failed" in {note.code for note in found.notes}:
            assert more is not None
            assert {**shown(found), "trust": None} == shown(without), more
        else:  # it was asked as if there were no bound
            readings.add(found.text)
    assert len(readings) == 1
