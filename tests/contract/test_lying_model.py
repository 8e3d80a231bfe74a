"""What a model that lies in every field makes of an answer: nothing of it is told, by any method, at any door."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from kgsparql import AskOptions, KnowledgeBase, LanguageModel, answer_to_json, open_model
from kgsparql.answering.answer import COMPUTED_MARKER, Answer
from kgsparql.cli import app
from kgsparql.retrievers._trial import Trial, bundled
from kgsparql.serving.app import ServedPage
from kgsparql.serving.runs import KeptRuns
from kgsparql.serving.sparql import BoundedQueries
from tests.deep import DEEP
from tests.liar import INVENTED, LIES, PLANS, Liar, told_lies, told_parts, unquoted
from tests.model_server import ModelServer
from tests.scripted import ask, by_call, chose, numbered
from tests.tried import strong
from tests.world import BORN, FEYNMAN, FIXTURES, Body, knowledge_of, nobel_questions

COUNT = "How many Nobel laureates are there?"
QUESTIONS = (BORN, FEYNMAN, "On what date did Richard Feynman die?", COUNT)
METHODS: dict[str, dict[str, Any]] = {
    "auto": {}, "path_ranking": {}, "query_plan": {}, "mindmap": {}, "think_on_graph": {},
    "struct_gpt": {}, "entity": {},
}  # fmt: skip


def check_is_of_the_graph(answer: Answer, knowledge: KnowledgeBase) -> None:
    """Each answer is in the evidence that it cites, with all others there, and a query gives it again."""
    best = {one.term for one in answer.best}
    assert best or answer.computed is not None or answer.status != "answered"
    if answer.computed is not None:
        assert knowledge.run(answer.computed.plan).rows == answer.computed.rows
    for own in answer.best:
        cited = own.markers[:1] if answer.is_ranked else own.markers
        for item in (answer.evidence[marker] for marker in cited if marker != COMPUTED_MARKER):
            if own.term in item.ends:
                assert best.issuperset(item.ends), item.text
                assert any(own.term in row.values() for row in knowledge.graph.select(item.query)), item.text
            else:
                assert own.term in {term for cited in item.triples for term in cited.triple}, item.text


@pytest.mark.parametrize("method", METHODS)
def test_M12_M13_no_lie_is_told_and_what_is_answered_is_what_a_query_gives(nobel: KnowledgeBase, method: str) -> None:
    for i, (name, liar) in enumerate(LIES.items()):
        for question in QUESTIONS if DEEP else (QUESTIONS[i % 4],):
            asked = ask(nobel, question, liar, retriever=method, options=METHODS[method])
            assert asked.bodies, "the model was asked"
            assert told_lies(told_parts(answer_to_json(asked.answer)), liar) == [], (name, question)
            check_is_of_the_graph(asked.answer, nobel)


def sworn(lie: Liar) -> LanguageModel:
    """A model that was honest in its trial, and lies from then on."""
    honest = {item["question"] for some in ("items", "plans") for item in bundled()[some]}
    server = ModelServer(lambda body: strong(body) if any(own in str(body) for own in honest) else lie(body))
    model = LanguageModel("liar", server.client())
    found = Trial(model).run()
    assert (found.chooses, found.plans) == (True, True)
    return model


def test_M20_no_lie_is_told_of_a_model_that_passed_its_trial_and_a_wrong_choice_is_doubted(
    nobel: KnowledgeBase,
) -> None:
    right = {question: shown_of(nobel.ask(question)) for question in QUESTIONS}
    for i, (name, liar) in enumerate(LIES.items()):
        model = sworn(replace(liar, plan="(* (count C1) 365)"))
        for j, method in enumerate(METHODS):
            if not DEEP and (i + j) % 3:
                continue
            for question in QUESTIONS if DEEP else (QUESTIONS[(i + j) % 4],):
                answer = nobel.ask(question, model=model, retriever=method, trial=True)
                assert answer.trust is not None, "it passed"
                assert told_lies(told_parts(answer_to_json(answer)), liar) == [], (name, method, question)
                check_is_of_the_graph(answer, nobel)
                if question != FEYNMAN:  # in this graph nothing is a scientist: where they worked is no other reading
                    assert answer.status != "answered" or shown_of(answer) == right[question], (name, method, question)


def shown_of(answer: Answer) -> set[object]:
    return {own.term for own in answer.best} or {answer.value}


REFUSED = {"plan": "", "left_out": "", "search": ""}
POOR: dict[str, Any] = {
    "the last line": LIES["the last number of the list"], "every line": LIES["every number of the list"],
    "the second line": lambda body: chose(2), "no line and no plan": by_call(reading=chose(compute=True), plan=REFUSED),
    "a whole class": by_call(reading=chose(compute=True), plan={**REFUSED, "plan": "(count C1)"}),
    "one step": by_call(reading=chose(compute=True), plan={**REFUSED, "plan": "(ends E1 R1)"}),
}  # fmt: skip


@pytest.mark.parametrize("said", POOR)
def test_no_poor_model_that_nobody_tried_makes_an_answer_worse(nobel: KnowledgeBase, said: str) -> None:
    with ModelServer(POOR[said]) as server:
        model = open_model("any", base_url=server.url, api_key="none")
        for item in nobel_questions()[:: 1 if DEEP else 3]:
            before, after = (nobel.ask(item["question"], model=own, trial=False) for own in (None, model))
            right = [{one.label for one in own.best} == {*item["answers"]} for own in (before, after)]
            assert right[1] >= right[0], item["question"]
            assert right[1] or after.sure <= before.sure, item["question"]
        assert (bool(server.answered), after.trust) == (True, None)


def test_M21_a_plan_that_brings_its_own_numbers_and_names_is_no_plan(nobel: KnowledgeBase) -> None:
    for name, plan in PLANS.items():
        liar = Liar(plan=plan, invented=("Falk", "424242", "424,242"))
        for method in ("query_plan", "auto"):
            answer = ask(nobel, COUNT, liar, retriever=method).answer
            assert told_lies(told_parts(answer_to_json(answer)), liar) == [], (name, method)
            check_is_of_the_graph(answer, nobel)


def test_a_passage_is_quoted_as_it_is() -> None:
    knowledge = knowledge_of(":ann rdfs:label 'Ann' ; rdfs:comment 'Ann dropped it in a glass of ice water.' .")
    for said in (INVENTED, "a glass of Zoe Falk", "It was murdered [T1].", "a glass of ice water"):
        lie = Liar(said, picks=passages_in, marker="T1", invented=("Falk", "murdered"))
        answer = ask(knowledge, "What did Ann drop in a glass of ice water?", lie, retriever="entity").answer
        assert any(item.kind == "passage" for item in answer.evidence)
        assert told_lies(told_parts(answer_to_json(answer)), lie) == []
    assert "“a glass of ice water” [T1] (words of the graph" in answer.text


def passages_in(body: Body) -> list[int]:
    """The numbers of what is a text."""
    return [number for number, line in numbered(body).items() if "(comment)" in line]


@pytest.mark.parametrize("form", ["text", "json", "csv", "trig"])
def test_on_the_command_line(form: str) -> None:
    """Over a socket."""
    with ModelServer(LIES["a name"]) as server:
        named = ("-k", str(FIXTURES / "nobel.ttl"), "--embedder", "none", "-m", "any", "--base-url", server.url)
        done = CliRunner().invoke(app, ["ask", BORN, *named, "-f", form])
        assert server.answered
    assert done.exit_code in {0, 3}, done.stderr
    told = told_parts(json.loads(done.stdout)) if form == "json" else unquoted(done.stdout)
    assert told_lies(told, LIES["a name"]) == []


@pytest.fixture(params=[False, True], ids=["untried", "trusted"])
def liar(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LanguageModel:
    if not request.param:
        return LanguageModel("liar", ModelServer(LIES["a name"]).client())
    monkeypatch.setenv("KGSPARQL_TRIAL", "on")
    return sworn(LIES["a name"])


def test_on_the_page(nobel: KnowledgeBase, tmp_path: Path, liar: LanguageModel) -> None:
    page = ServedPage(nobel, AskOptions(model=liar), KeptRuns(tmp_path), BoundedQueries(nobel))
    with TestClient(page.app) as client:
        run = client.post("/api/ask", json={"question": BORN}).json()["id"]
        client.get(f"/api/runs/{run}/events")
        found = client.get(f"/api/runs/{run}").json()
        assert found["state"] == "finished"
        files = [unquoted(client.get(f"/runs/{run}.{end}").text) for end in ("md", "trig")]
    told = [told_parts(found["answer"]), json.dumps(found["drawing"]), *files]
    assert told_lies("".join(told), LIES["a name"]) == []
