"""The clients of the TEXT2SPARQL challenge: the query of a question over HTTP, and by the challenge's own client.

That client does not go with the packages of the tests, so it is installed apart, without what evaluates queries:
``pip install --target DIR --no-deps text2sparql-client loguru requests idna certifi charset-normalizer``, then
``KGSPARQL_TEXT2SPARQL=DIR pytest``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

import kgsparql
from tests.model_server import ModelServer
from tests.scripted import reading_with
from tests.serving.conftest import NOBEL, served

DATASET = "https://kgsparql.example/nobel/"
EXPECTED = {
    "Where was Marie Curie born?": ["http://dbpedia.org/resource/Warsaw"],
    "How many Nobel laureates are there?": ["74"],
    "Who is the oldest laureate?": ["http://dbpedia.org/resource/John_William_Strutt,_3rd_Baron_Rayleigh"],
    "Was Marie Curie born in Paris?": [False],
    "Who was Batman?": [],
}
ASK = "from text2sparql_client.commands.ask import ask_command; ask_command()"


def answered(address: str, **parameters: str) -> tuple[int, dict[str, Any]]:
    reply = urllib3.request("GET", f"{address}text2sparql", fields=parameters, timeout=60)
    return reply.status, reply.json()


def results(address: str, query: str) -> list[Any]:
    reply = urllib3.request("GET", f"{address}sparql", fields={"query": query}, timeout=60)
    assert reply.status == 200, reply.data
    found = reply.json()
    return [found["boolean"]] if "boolean" in found else [
        one["value"] for row in found["results"]["bindings"] for one in row.values()
    ]  # fmt: skip


def test_the_client_of_the_challenge_gets_queries_that_answer_its_questions(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.environ.get("KGSPARQL_TEXT2SPARQL", "")}
    found = subprocess.run([sys.executable, "-c", ASK, "--help"], env=environment, capture_output=True, check=False)
    if found.returncode:
        without = pytest.fail if os.environ.get("KGSPARQL_ALL_ENGINES") else pytest.skip
        without("no text2sparql-client: see the top of this file")
    questions = tmp_path / "questions.yml"
    asked = [{"id": number, "question": {"en": text}} for number, text in enumerate(EXPECTED, 1)]
    questions.write_text(json.dumps({"dataset": {"id": DATASET, "prefix": "nobel"}, "questions": asked}))
    with served(tmp_path, "-k", NOBEL, "--dataset", DATASET, "--no-model", "-q") as address:
        command = [sys.executable, "-c", ASK, questions, f"{address}text2sparql", "-o", "answers.json", "-r", "0"]
        subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=120)
        replies = json.loads((tmp_path / "answers.json").read_text())
        assert {one["question"]: results(address, one["query"]) for one in replies} == EXPECTED
    assert [one["qname"] for one in replies] == [f"nobel:{one['id']}-en" for one in asked]


def test_a_dataset_is_named_by_its_file_or_iri_and_another_is_not_found(address: str) -> None:
    question = "Where was Marie Curie born?"
    query = kgsparql.render(kgsparql.open(NOBEL, embedder="none").ask(question), "sparql")
    for name in (str(NOBEL), NOBEL.as_uri()):
        assert answered(address, dataset=name, question=question) == (
            200,
            {"dataset": name, "question": question, "query": query},
        )
    status, reply = answered(address, dataset="https://example.org/other", question=question)
    assert (status, reply["error"]["code"]) == (404, "E_NOT_FOUND")
    assert NOBEL.as_uri() in reply["error"]["hint"]
    assert answered(address, question=question)[0] == answered(address, dataset=str(NOBEL), question=" ")[0] == 400


def test_a_page_of_another_site_cannot_ask_as_a_client_of_the_challenge(address: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    url = f"{address}text2sparql?dataset={NOBEL.as_uri()}&question=Where"
    assert urllib3.request("GET", url, headers=headers).status == 403


def test_with_a_model_the_query_is_of_what_it_chose(tmp_path: Path) -> None:
    with ModelServer(reading_with("Marie Curie —studied at→")) as server:
        model = ("-m", "any", "--base-url", server.url)
        with served(tmp_path, "-k", NOBEL, *model, "--no-prose", "-q", OPENAI_API_KEY="k") as address:
            _, reply = answered(address, dataset=str(NOBEL), question="Where was Marie Curie born?")
            assert results(address, reply["query"]) == ["http://dbpedia.org/resource/University_of_Paris"]
