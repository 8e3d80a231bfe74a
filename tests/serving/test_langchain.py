"""LangChain's own suite for retrievers, its tools, and the retriever for LlamaIndex: called as these call them."""

import asyncio
import json
import subprocess
import sys
import threading
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore

import kgsparql
from kgsparql.errors import InputError
from kgsparql.langchain import EvidenceRetriever, tools
from kgsparql.llamaindex import NodeRetriever
from tests.world import BORN, FIXTURES, ROOT

KNOWLEDGE = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


class TestEvidenceRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EvidenceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"knowledge": KNOWLEDGE}

    @property
    def retriever_query_example(self) -> str:
        return BORN


def test_a_document_has_the_triples_and_the_query_that_finds_them_again_and_an_id_of_its_own() -> None:
    (document,) = EvidenceRetriever(knowledge=KNOWLEDGE, k=1).invoke(BORN)
    assert isinstance(document, Document)
    assert document.page_content == "Marie Curie —place of birth→ Warsaw"
    known = document.metadata
    dbo, dbr = "http://dbpedia.org/ontology/", "http://dbpedia.org/resource/"
    assert known["triples"] == [[f"<{dbr}Marie_Curie>", f"<{dbo}birthPlace>", f"<{dbr}Warsaw>"]]
    assert (known["marker"], known["kind"]) == ("P1", "path")
    assert known["score"] > 0
    (cited,) = known["citations"]
    assert cited["triple"] == f"{' '.join(known['triples'][0])} ."
    assert cited["graph"] == known["graphs"][0]
    assert (known["doubt"], known["confidence"] > 0.9) == ("", True)
    (doubtful,) = EvidenceRetriever(knowledge=KNOWLEDGE, k=1).invoke("What is the mass of Marie Curie?")
    assert "'mass' is left out" in doubtful.metadata["doubt"]
    toolbox = kgsparql.tools(KNOWLEDGE)
    rows = toolbox.call_tool("query", {"sparql": known["query"]})["rows"]
    assert [row[0]["label"] for row in rows] == ["Warsaw"]
    json.dumps(known)
    retriever = EvidenceRetriever(knowledge=KNOWLEDGE, k=2)
    found = [
        document for name in ("Marie Curie", "Niels Bohr") for document in retriever.invoke(f"Where was {name} born?")
    ]
    again = retriever.invoke(BORN)
    assert len({document.id for document in found}) == 4
    assert [document.id for document in again] == [document.id for document in found[:2]]


def test_options_are_those_of_retrieve_and_a_wrong_question_is_an_error() -> None:
    options = {"entities": ("dbr:Niels_Bohr",)}
    documents = EvidenceRetriever(knowledge=KNOWLEDGE, k=1, options=options)
    nodes = NodeRetriever(KNOWLEDGE, k=1, options=options)
    for found in (documents.invoke(BORN)[0].page_content, nodes.retrieve(BORN)[0].text):
        assert "Copenhagen" in found
    for retrieve in (documents.invoke, nodes.retrieve):
        with pytest.raises(InputError):
            retrieve(" ")


def test_the_tools_are_defined_and_called_by_langchain_and_wrong_arguments_are_told_to_the_model() -> None:
    toolbox = kgsparql.tools(KNOWLEDGE)
    by_name: dict[str, Any] = {tool.name: tool for tool in tools(toolbox)}
    call = {"name": "ask", "args": {"question": BORN, "limit": 1}, "id": "1", "type": "tool_call"}
    message = by_name["ask"].invoke(call)
    assert json.loads(message.content) == message.artifact
    assert message.artifact["answers"][0]["label"] == "Warsaw"
    refused = by_name["query"].invoke({**call, "name": "query", "args": {"sparql": "DROP ALL"}})
    assert refused.status == "error"
    assert refused.content.startswith("E_FORBIDDEN_QUERY")
    call = {"name": "find", "args": {"text": "Curie", "limit": 5_000}, "id": "1", "type": "tool_call"}
    refused = by_name["find"].invoke(call)
    assert refused.status == "error"
    assert refused.content.startswith(
        "E_INPUT: limit: Input should be less than or equal to 100. find takes: max_tokens, text"
    )
    for own in toolbox.openai():
        theirs = convert_to_openai_tool(by_name[own["function"]["name"]])["function"]
        assert theirs["description"] == own["function"]["description"]
        assert [*theirs["parameters"]["properties"]] == [*own["function"]["parameters"]["properties"]]


@pytest.mark.parametrize("extra", ["langchain", "llamaindex"])
def test_without_the_framework_the_error_says_how_to_get_it(extra: str) -> None:
    framework = {"langchain": "langchain_core", "llamaindex": "llama_index"}[extra]
    code = f"import sys; sys.modules['{framework}'] = None; import kgsparql.{extra}"
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"OptionError: the package {framework}" in done.stderr.splitlines()[-1]


def test_a_node_has_what_a_document_of_langchain_has() -> None:
    nodes = NodeRetriever(KNOWLEDGE, k=2).retrieve(BORN)
    documents = EvidenceRetriever(knowledge=KNOWLEDGE, k=2).invoke(BORN)
    assert len(nodes) == 2
    for node, document in zip(nodes, documents, strict=True):
        assert isinstance(node, NodeWithScore)
        assert (node.node_id, node.text, node.metadata) == (document.id, document.page_content, document.metadata)
        assert node.score == node.metadata["score"]
    (found,) = NodeRetriever(KNOWLEDGE, k=1).retrieve(BORN)
    assert found.node.get_content(MetadataMode.LLM) == "marker: P1\n\nMarie Curie —place of birth→ Warsaw"
    assert found.node.get_content(MetadataMode.EMBED) == "Marie Curie —place of birth→ Warsaw"
    reply = RetrieverQueryEngine.from_args(NodeRetriever(KNOWLEDGE, k=1), llm=MockLLM()).query(BORN)
    assert "marker: P1" in str(reply)
    assert [node.metadata["marker"] for node in reply.source_nodes] == ["P1"]


async def test_whoever_waits_and_goes_away_stops_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[threading.Event] = []
    began = threading.Event()
    retrieve = KNOWLEDGE.retrieve

    def noted(question: str, **options: Any) -> Any:
        given.append(options["cancel"])
        began.set()
        return retrieve(question, **options)

    monkeypatch.setattr(KNOWLEDGE, "retrieve", noted)
    assert "Warsaw" in (await NodeRetriever(KNOWLEDGE, k=1).aretrieve(BORN))[0].text
    began.clear()
    waiting = asyncio.create_task(NodeRetriever(KNOWLEDGE, k=1).aretrieve(BORN))
    await asyncio.to_thread(began.wait, 60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert given[-1].is_set()
