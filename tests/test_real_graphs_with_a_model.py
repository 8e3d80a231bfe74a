"""The whole way with a (scripted) model on real graphs, where they lie beside the checkout."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import Answer, LanguageModel
from kgsparql.models.chat_completion import plain
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.response_cache import ResponseCache
from tests.deep import DEEP
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import purpose, reader
from tests.test_real_graphs import questions


def knowing(asked: list[dict[str, Any]]) -> Callable[[dict[str, Any]], Reply]:
    """A model that names the topics of each question as they are called in the graph, and otherwise copies."""

    def script(body: dict[str, Any]) -> Reply:
        if purpose(body) != "mentions":
            return reader(body)
        shown = body["messages"][1]["content"]
        topics = next(q["topic_entities"] for q in asked if f"\n{plain(q['question'], 4000)}\n" in shown)
        return Text({"mentions": [{"mention": topic["label"], "is_type": False} for topic in topics]})

    return script


def as_bytes(answers: list[Answer]) -> str:
    """The answers as JSON, without what may differ from one run to the next."""
    said = [kgsparql.answer_to_json(answer) for answer in answers]
    for answer in said:
        answer["usage"] |= {"seconds": None, "cached_calls": None}
    return json.dumps(said)


@pytest.mark.longer
def test_mindmap_on_emckg(shared_data: Path, tmp_path: Path) -> None:
    """Two calls each, the same bytes twice, replayed with the server down."""
    asked = [q for q in questions(shared_data / "emckg") if len(q["topic_entities"]) > 1][: 20 if DEEP else 5]
    knowledge = kgsparql.open(shared_data / "emckg" / "graph.nt.gz", embedder="none")
    with ResponseCache(tmp_path / "exchanges.sqlite") as response_cache:
        with ModelServer(knowing(asked)) as server:
            model = LanguageModel("scripted-model", OpenAIClient(server.url), response_cache=response_cache)
            first = [knowledge.ask(q["question"], model=model, retriever="mindmap") for q in asked]
            model.client.close()
        second = [knowledge.ask(q["question"], model=model, retriever="mindmap") for q in asked]
    assert as_bytes(first) == as_bytes(second)
    for question, answer in zip(asked, first, strict=True):
        assert answer.usage["model_calls"] == 2
        assert answer.model
        topics = {t["iri"] for t in question["topic_entities"]}
        linked = {link.term.value for link in answer.linked}
        assert len(linked & topics) >= len(topics) - 1, question["question"]
        assert all(cited.verified for item in answer.evidence for cited in item.triples)
        assert any(item.kind == "path" for item in answer.evidence)
        assert answer.tree


@pytest.mark.longer
def test_nobel_embedded_and_behind_an_endpoint(shared_data: Path, tmp_path: Path) -> None:
    """The same questions, with a model: the same answers and evidence."""
    asked = questions(shared_data / "nobel")[::5][: 10 if DEEP else 4]
    graph = shared_data / "nobel" / "graph.nt.gz"
    plain = tmp_path / "graph.nt"
    plain.write_bytes(gzip.decompress(graph.read_bytes()))
    with oxigraph_serve(store_of(plain, tmp_path / "store")) as url, ModelServer(reader) as server:
        model = LanguageModel("scripted-model", OpenAIClient(server.url))
        found: list[list[dict[str, Any]]] = []
        for source in (str(graph), url):
            knowledge = kgsparql.open(source, embedder="none")
            answers = [
                kgsparql.answer_to_json(knowledge.ask(q["question"], model=model, retriever="mindmap")) for q in asked
            ]
            found.append(json.loads(json.dumps(answers).replace(json.dumps(source)[1:-1], "SOURCE")))
        model.client.close()
    for embedded, remote in zip(*found, strict=True):
        for part in ("question", "status", "text", "answers", "claims", "evidence", "inference", "tree", "notes"):
            assert embedded[part] == remote[part], (embedded["question"], part)
        assert [link["term"] for link in embedded["linked"]] == [link["term"] for link in remote["linked"]]
    assert sum(answer["status"] == "answered" for answer in found[0]) >= len(asked) * 0.75
