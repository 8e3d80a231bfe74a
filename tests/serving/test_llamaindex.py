"""The retriever for LlamaIndex, called as LlamaIndex calls it."""

import asyncio
import threading
from typing import Any

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore

import kgsparql
from kgsparql.errors import InputError
from kgsparql.langchain import EvidenceRetriever as LangChainRetriever
from kgsparql.llamaindex import NodeRetriever
from tests.conftest import FIXTURES

KNOWLEDGE = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
BORN = "Where was Marie Curie born?"


def test_a_node_has_what_a_document_of_langchain_has() -> None:
    nodes = NodeRetriever(KNOWLEDGE, k=2).retrieve(BORN)
    documents = LangChainRetriever(knowledge=KNOWLEDGE, k=2).invoke(BORN)
    assert len(nodes) == 2
    for node, document in zip(nodes, documents, strict=True):
        assert isinstance(node, NodeWithScore)
        assert (node.node_id, node.text, node.metadata) == (document.id, document.page_content, document.metadata)
        assert node.score == node.metadata["score"]


def test_a_model_reads_the_text_and_the_marker_alone() -> None:
    (found,) = NodeRetriever(KNOWLEDGE, k=1).retrieve(BORN)
    assert found.node.get_content(MetadataMode.LLM) == "marker: P1\n\nMarie Curie —place of birth→ Warsaw"
    assert found.node.get_content(MetadataMode.EMBED) == "Marie Curie —place of birth→ Warsaw"
    reply = RetrieverQueryEngine.from_args(NodeRetriever(KNOWLEDGE, k=1), llm=MockLLM()).query(BORN)
    assert "marker: P1" in str(reply)
    assert [node.metadata["marker"] for node in reply.source_nodes] == ["P1"]


def test_options_are_those_of_retrieve_and_a_wrong_question_is_an_error() -> None:
    meant = NodeRetriever(KNOWLEDGE, k=1, options={"entities": ("dbr:Niels_Bohr",)})
    assert "Copenhagen" in meant.retrieve(BORN)[0].text
    with pytest.raises(InputError):
        meant.retrieve(" ")


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
