"""Think-on-Graph: on small graphs without a model, then with a scripted one; each known mistake of others is a test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import kgsparql
from kgsparql.answer import Answer, Retrieval
from kgsparql.budget import Budget, Usage
from kgsparql.choosing import OracleChooser, RankerChooser
from kgsparql.embedding import Embedder
from kgsparql.errors import AuthenticationError, IriError, ModelError, OptionError
from kgsparql.events import Event, FallbackUsed, ModelCalled, QueryRun
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.language_model import LanguageModel
from kgsparql.openai_client import OpenAIClient
from kgsparql.paths import PropertyPath
from kgsparql.ranking import BM25Ranker, EmbeddingRanker
from kgsparql.retrievers import load
from kgsparql.retrievers.think_on_graph import ThinkOnGraph
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Literal
from tests.conftest import FIXTURES
from tests.model_server import Length, ModelServer, NullContent, Refusal, Reply, Status, Text
from tests.scripted import facts_of

EX = "http://example.org/"
FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"
Graph = Callable[..., OxigraphGraph]
Body = dict[str, Any]


def ex(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(EX + name) for name in names)


def session_of(graph: OxigraphGraph, entities: Sequence[str], question: str, **more: Any) -> Session:
    usage, events = Usage(more.pop("budget", Budget())), more.pop("events", [])
    ranker = more.pop("ranker", BM25Ranker())
    if "gold" in more:
        gold = more.pop("gold")
        more["chooser"] = OracleChooser((), RankerChooser(ranker, events.append), events.append, gold)
    return Session(
        question=question, graph=MeteredGraph(graph, usage, events.append), linker=None, ranker=ranker,
        usage=usage, emit=events.append, given=ex(*entities), **more,
    )  # fmt: skip


def retrieve(
    graph: OxigraphGraph, entities: Sequence[str], question: str = "what about it?", *, options: Any = None, **more: Any
) -> Retrieval:
    return load("think_on_graph", options).retrieve(session_of(graph, entities, question, **more))


def texts(found: Retrieval | Answer) -> list[str]:
    return [item.text for item in found.evidence]


def named(found: Retrieval) -> list[str]:
    return [candidate.label for candidate in found.candidates]


def listed(body: Body) -> list[str]:
    """The candidates of a request, in their order."""
    inside = re.search(r"<candidates>\n(.*?)\n?</candidates>", body["messages"][1]["content"], re.DOTALL)
    assert inside is not None
    return [line.split(". ", 1)[1] for line in inside[1].split("\n") if line]


def purpose(body: Body) -> str:
    return str(body["response_format"]["json_schema"]["name"])


def picked(body: Body, **scores: float) -> Text:
    """A choice of the candidates that end in these words, ``_`` for a space, with these scores."""
    wanted = {words.replace("_", " "): score for words, score in scores.items()}
    choices = [
        {"n": n, "score": score}
        for n, text in enumerate(listed(body), 1)
        for words, score in wanted.items()
        if re.search(rf"{re.escape(words)}(?:[→—]* \([\d,]+\+?\))?$", text)
    ]
    return Text({"choices": choices})


def wrote(answer: str, *, entities: Sequence[int] = (), sufficient: bool | None = True) -> Text:
    said = {"answer": answer, "entities": list(entities), "claims": []}
    return Text(said if sufficient is None else {**said, "sufficient": sufficient})


NOT_ENOUGH = wrote("", sufficient=False)
Script = Callable[[Body], Reply]


def script(**replies: Reply | Script) -> Script:
    """Replies by purpose; by default the first three candidates are chosen, and no evidence is enough."""

    def reply(body: Body) -> Reply:
        found = replies.get(purpose(body), {"enough": NOT_ENOUGH, "answer": wrote("So it is [P1].")}.get(purpose(body)))
        if found is None:
            return Text({"choices": [{"n": n, "score": 0.9 - n / 10} for n in range(1, min(3, len(listed(body))) + 1)]})
        return found if isinstance(found, Reply) else found(body)

    return reply


Ask = Callable[..., tuple[Answer, ModelServer, list[Event]]]


@pytest.fixture(scope="module")
def nobel() -> kgsparql.KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture
def ask(nobel: kgsparql.KnowledgeBase) -> Iterator[Ask]:
    """Asks a question with a scripted model: of the bundled graph, or of another."""
    opened: list[tuple[ModelServer, LanguageModel]] = []

    def run(replies: Any, question: str = FEYNMAN, *, graph: OxigraphGraph | None = None, **more: Any) -> Any:
        server = ModelServer(replies).__enter__()
        model = LanguageModel("scripted-model", OpenAIClient(server.url, timeout_s=5.0))
        opened.append((server, model))
        events: list[Event] = []
        knowledge = nobel if graph is None else kgsparql.KnowledgeBase(graph, embedder="none")
        if "entities" in more:
            more["entities"] = tuple(e if isinstance(e, IRI) else IRI(EX + e) for e in more["entities"])
        found = knowledge.ask(question, retriever="think_on_graph", model=model, emit=events.append, **more)
        return found, server, events

    yield run
    for server, model in opened:
        model.client.close()
        server.__exit__(None, None, None)


def purposes(server: ModelServer) -> list[str]:
    return [purpose(request.body) for request in server.requests]


def fallbacks(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(e.purpose, e.reason) for e in events if isinstance(e, FallbackUsed) and e.purpose != "ranking"]


def test_try(ask: Ask) -> None:
    def predicates(body: Body) -> Reply:
        return picked(body, worked_at=0.9, field_of_work=0.2)
    answer, server, events = ask(script(predicates=predicates))
    print(purposes(server)); print(answer.text); print(texts(answer)); print(fallbacks(events), answer.notes, answer.status)
    
    assert 0
