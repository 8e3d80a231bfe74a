"""Graphs on both backends and a scripted model, made once for all tests of the contract of methods."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph
import pytest

import kgsparql
import kgsparql.knowledge_base
from kgsparql import Answer, LanguageModel, answer_to_json, open_graph
from kgsparql.events import Event, QueryRun
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.response_cache import ResponseCache
from tests import scripted
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.model_server import ModelServer
from tests.scripted import Player
from tests.world import FIXTURES

BACKENDS = ("embedded", "endpoint")
HUB_DEGREE = 30_001
SMALL = """
:ann rdfs:label "Ann Alpha" ; a :Person ; :worksAt :acme , :bolt ; :studiedAt :uni ; :born "1970-01-01"^^xsd:date ;
    :employment [ :organisation :acme ; :role "engineer" ] , [ :organisation :bolt ; :role "pilot" ] ; :knows :cat .
:ben rdfs:label "Ben Beta" ; a :Person ; :worksAt :acme ; :studiedAt :uni ; :born "1971-02-02"^^xsd:date .
:cat rdfs:label "Cat Gamma" ; a :Person ; :worksAt :bolt ; :knows :ben ; rdfs:comment "A person who knows Ben." .
:dan rdfs:label "Dan Delta" ; a :Person ; :studiedAt :uni ; :worksAt :acme .
:acme rdfs:label "Acme" ; a :Organisation ; :city :paris . :bolt rdfs:label "Bolt" ; a :Organisation ; :city :rome .
:uni rdfs:label "The University" ; :city :paris . :paris rdfs:label "Paris" . :rome rdfs:label "Rome" .
:worksAt rdfs:label "works at" . :studiedAt rdfs:label "studied at" . :born rdfs:label "date of birth" .
:employment rdfs:label "employment" . :organisation rdfs:label "organisation" . :role rdfs:label "role" .
:knows rdfs:label "knows" . :city rdfs:label "city" . :Person rdfs:label "person" .
:Organisation rdfs:label "organisation" .
"""
E = "http://example.org/"


@dataclass
class Asked:
    """An answer, and what happened on its way."""

    answer: Answer
    knowledge: kgsparql.KnowledgeBase
    requests: list[dict[str, Any]]
    events: list[Event] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """Everything that a model was shown, turn by turn."""
        return [message["content"] for body in self.requests for message in body["messages"]]

    @property
    def batches(self) -> int:
        """Queries that were sent, those counted once that ask for the same of many terms, as many at a time as may be.

        What asks for one term after the other is counted query by query.
        """
        count, before = 0, None
        for run in (event for event in self.events if isinstance(event, QueryRun)):
            is_next = before is not None and before.name == run.name
            is_full = before is not None and before.text.count("<") >= self.knowledge.graph.chunk_size / 4
            count += not (is_next and is_full)
            before = run
        return count


Ask = Callable[..., Asked]
PLAYERS = {"no model": None, "good": Player(), "never enough": Player(sufficient=False)}


@pytest.fixture(scope="session")
def nobel_graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, kgsparql.KnowledgeBase]]:
    """The bundled graph in this process, and behind a server; both go by the same name."""
    store = store_of(FIXTURES / "nobel.ttl", tmp_path_factory.mktemp("nobel") / "store")
    with oxigraph_serve(store) as url:
        sources = {"embedded": FIXTURES / "nobel.ttl", "endpoint": url}
        graphs = {backend: open_graph(source, name="nobel") for backend, source in sources.items()}
        yield {
            backend: kgsparql.knowledge_base.KnowledgeBase(graph, embedder="none") for backend, graph in graphs.items()
        }


@pytest.fixture(scope="session")
def hub_graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, kgsparql.KnowledgeBase]]:
    """``:alpha`` is in ``:hub``, as 30,000 others are, three times what is counted; ``:hub`` is part of ``:beta``."""
    data = tmp_path_factory.mktemp("hub") / "hub.nt"
    named = {"alpha": "Alpha", "hub": "The Hub", "beta": "Beta", "in": "is in", "of": "is part of"}
    with data.open("w", encoding="utf-8") as file:
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        file.writelines(f'<{E}{key}> <{label}> "{text}" .\n' for key, text in named.items())
        file.write(f"<{E}alpha> <{E}in> <{E}hub> .\n<{E}hub> <{E}of> <{E}beta> .\n")
        file.writelines(f"<{E}thing{i}> <{E}in> <{E}hub> .\n" for i in range(HUB_DEGREE - 1))
    directory = store_of(data, tmp_path_factory.mktemp("hub") / "store")
    with oxigraph_serve(directory) as url:
        store = pyoxigraph.Store()
        store.bulk_load(path=data)
        graphs = {"embedded": open_graph(store, name="hub"), "endpoint": open_graph(url, name="hub")}
        yield {
            backend: kgsparql.knowledge_base.KnowledgeBase(graph, embedder="none") for backend, graph in graphs.items()
        }


@pytest.fixture(scope="session")
def known() -> dict[tuple[str, ...], Asked]:
    """What was asked already: the same question is answered the same way."""
    return {}


@pytest.fixture
def once(known: dict[tuple[str, ...], Asked], nobel_graphs: dict[str, kgsparql.KnowledgeBase], ask: Ask) -> Ask:
    """Asks the bundled graph, on a backend and with one of :data:`PLAYERS`; each question once for all tests."""

    def run(backend: str, question: str, method: str, player: str) -> Asked:
        key = (backend, question, method, player)
        if key not in known:
            known[key] = ask(nobel_graphs[backend], question, method, PLAYERS[player])
        return known[key]

    return run


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    with ModelServer(Player()) as server:
        yield server


@pytest.fixture(scope="session")
def model(model_server: ModelServer) -> LanguageModel:
    """A model that is asked with no socket, which is faster."""
    client = OpenAIClient("http://model.test/v1", timeout_s=20.0, transport=model_server.transport)
    return LanguageModel("scripted-model", client)


@pytest.fixture(scope="session")
def slow_model(model_server: ModelServer) -> Iterator[LanguageModel]:
    """A model behind a socket, whose replies may take their time."""
    made = LanguageModel("scripted-model", OpenAIClient(model_server.url, timeout_s=20.0))
    yield made
    made.client.close()


@pytest.fixture
def ask(model_server: ModelServer, model: LanguageModel) -> Ask:
    """Asks with a method and a script; ``script=None`` is no model at all."""

    def run(
        knowledge: kgsparql.KnowledgeBase, question: str, method: str, script: Any = None, *,
        response_cache: ResponseCache | None = None, **options: Any,
    ) -> Asked:  # fmt: skip
        if not knowledge.is_empty:
            knowledge.indexes.index  # noqa: B018 - reading the labels is no part of any question here
        model_server.requests.clear()
        if script is not None:
            model_server.script = script
            options.setdefault("model", model if response_cache is None else _keeping(model, response_cache))
        events: list[Event] = []
        answer = knowledge.ask(question, retriever=method, emit=events.append, **options)
        return Asked(answer, knowledge, [request.body for request in model_server.requests], events)

    return run


def _keeping(model: LanguageModel, response_cache: ResponseCache) -> LanguageModel:
    return LanguageModel(model.name, model.client, response_cache=response_cache)


@pytest.fixture(scope="session")
def small() -> kgsparql.KnowledgeBase:
    """Four people, two organisations, blank nodes between some of them."""
    return scripted.knowledge_of(SMALL)


@pytest.fixture
def knowledge_of() -> Callable[[str], kgsparql.KnowledgeBase]:
    """A function that makes a knowledge base from Turtle text."""
    return scripted.knowledge_of


def as_bytes(answer: Answer) -> str:
    """The answer as JSON, without what may differ from one run to the next."""
    said = answer_to_json(answer)
    said["usage"] |= {"seconds": None, "cached_calls": None, "prepared": None}
    return json.dumps(said, ensure_ascii=False)


MARKERS = re.compile(r"\[([PNTQ]\d+(?:, [PNTQ]\d+)*)\]")


def check_honest(asked: Asked) -> None:
    """Nothing in an answer rests on what is not there, whatever a model said."""
    answer = asked.answer
    assert answer.status in {"answered", "partial", "not_in_graph", "no_entity"}
    evidence = answer.evidence
    assert [item.marker for item in evidence] == list(dict.fromkeys(item.marker for item in evidence))
    for item in evidence:
        assert item.text, item.marker
        assert item.score == item.score, "not a number"
        assert abs(item.score) < 1e6
        for cited in item.triples:
            assert cited.verified or _has_blank_node(cited.triple), cited.triple
            assert _holds(asked.knowledge, cited.triple), cited.triple
    known = {item.marker: _terms(item) for item in evidence}
    for term in answer.answers:
        assert term.markers, f"{term.label} rests on nothing"
        assert abs(term.score) < 1e6
        for marker in term.markers:
            assert term.term in known[marker], f"{term.label} is not in {marker}"
    for claim in answer.claims:
        assert claim.markers
        assert set(claim.markers) <= known.keys(), claim
    for step in answer.inference:
        assert step.cited.triple in {cited.triple for cited in evidence[step.marker].triples}
    if answer.grounding == "graph" and not answer.text.startswith("Ranked candidates"):
        in_text = {m for found in MARKERS.findall(answer.text) for m in found.split(", ")}
        assert in_text <= known.keys(), answer.text
        assert not answer.answers or in_text, "an answer without a citation"


def _terms(item: kgsparql.EvidenceItem) -> set[Any]:
    return {t for cited in item.triples for t in (cited.triple.subject, cited.triple.object)} | set(item.ends)


def _has_blank_node(triple: kgsparql.Triple) -> bool:
    return any(isinstance(term, kgsparql.BlankNode) for term in (triple.subject, triple.object))


def _holds(knowledge: kgsparql.KnowledgeBase, triple: kgsparql.Triple) -> bool:
    store = getattr(knowledge.graph, "store", None)
    if store is None or _has_blank_node(triple):
        return True  # it was looked up again: the answer says so
    return any(store.quads_for_pattern(triple.subject, triple.predicate, triple.object, None))
