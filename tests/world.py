"""The world of the tests: small graphs, a model that replies so, and names that everybody uses.

A test file needs little else::

    found = ask("Where was Ann born?", ':ann rdfs:label "Ann" ; :born :rome . :rome rdfs:label "Rome" .')
    assert found.labels == ["Rome"]

Models of some wit are in ``scripted``; endpoints without a socket (``Fake``, ``answering``) and with one
(``FaultServer``) in ``endpoints/faults``.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph

import kgsparql
from kgsparql import IRI, Answer, Budget, KnowledgeBase, KnowledgeGraph, OxigraphGraph, PropertyPath, Session, Usage
from kgsparql.answering.entity_linking import link_entities
from kgsparql.events import Event, QueryRun
from kgsparql.evidence.notes import Notes
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.trust import Trust
from kgsparql.storage.files import sealed_json
from kgsparql.storage.response_cache import ResponseCache
from tests.model_server import ModelServer

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
NOBEL = FIXTURES / "nobel.ttl"

EX = "http://example.org/"
DBR = "http://dbpedia.org/resource/"
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = IRI("http://www.w3.org/2000/01/rdf-schema#label")
PASSED = Trust(chooses=True, plans=True)
PREFIXES = f"""
@prefix : <{EX}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <{XSD}> .
"""

# Questions of the bundled graph.
BORN = "Where was Marie Curie born?"
CHILDREN = "How many children did Marie Curie have?"
FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"
PHYSICS = "Who received the Nobel Prize in Physics in 1903?"

# -- Terms and graphs ----------------------------------------------------------------------------------------------


def ex(name: str) -> IRI:
    """Name an example."""
    return IRI(EX + name)


def examples(*names: str) -> tuple[IRI, ...]:
    """Name several."""
    return tuple(map(ex, names))


def texts(found: kgsparql.Retrieval | Answer, kind: str = "") -> list[str]:
    """The texts of the evidence, of all or of one kind."""
    return [item.text for item in found.evidence if item.kind == kind or not kind]


def path_of(*steps: str) -> PropertyPath:
    """Make a path of short names of examples, ``^`` before those walked against their direction."""
    return PropertyPath.of(*("^" * step.startswith("^") + EX + step.removeprefix("^") for step in steps))


def graph_of(turtle: str, *, name: str = "test") -> OxigraphGraph:
    """Make a graph in memory from Turtle or TriG text, the usual prefixes declared."""
    store = pyoxigraph.Store()
    data = (PREFIXES + turtle).encode()
    store.load(data, pyoxigraph.RdfFormat.TRIG)
    return OxigraphGraph(store, name=name, fingerprint=hashlib.sha256(data).hexdigest())


@cache
def open_nobel() -> KnowledgeBase:
    """Open the bundled graph, once for all tests of a process."""
    return kgsparql.open(NOBEL, embedder="none")


@cache
def nobel_questions() -> list[dict[str, Any]]:
    """Read the questions of the bundled graph, with their answers."""
    lines = (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def knowledge_of(turtle: str = "", embedder: Any = "none") -> KnowledgeBase:
    """Make a knowledge base over Turtle text, the usual prefixes declared; of no text, it is the bundled graph's."""
    return KnowledgeBase(graph_of(turtle), embedder=embedder) if turtle else open_nobel()


@cache
def known(turtle: str = "") -> KnowledgeBase:
    """Make the knowledge base of a text once for all tests of a process; no test may change it."""
    return knowledge_of(turtle)


# -- Steps of an answer, without a knowledge base ------------------------------------------------------------------


def metered(graph: KnowledgeGraph | str, *, budget: Budget | None = None, emit: Any = None) -> MeteredGraph:
    """Meter a graph, or that of a Turtle text."""
    made = graph_of(graph) if isinstance(graph, str) else graph
    return MeteredGraph(made, Usage(budget or Budget()), emit or (lambda _: None))


def labels_of(graph: MeteredGraph) -> TermLabels:
    """Return the labels of a graph, of which nothing is known yet."""
    return TermLabels(graph, Notes(graph))


def session_of(
    graph: KnowledgeGraph | str, entities: tuple[IRI, ...] = (), question: str = "what about it?", *,
    budget: Budget | None = None, emit: Callable[[Event], None] | None = None, **more: Any,
) -> Session:  # fmt: skip
    """Begin a question about these entities, nothing linked yet."""
    labels = labels_of(metered(graph, budget=budget, emit=emit))
    return Session(question=question, labels=labels, given=entities, **{"linker": None, "ranker": BM25Ranker(), **more})


def linked(session: Session) -> Session:
    """Return the same session, after the first step of a question."""
    link_entities(session)
    return session


# -- Answers -------------------------------------------------------------------------------------------------------

Body = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """An answer, what the model was sent, and what happened."""

    answer: Answer
    bodies: list[Body]
    events: list[Event]
    knowledge: KnowledgeBase

    @property
    def labels(self) -> list[str]:
        return [term.label for term in self.answer.answers]

    @property
    def texts(self) -> list[str]:
        return [item.text for item in self.answer.evidence]

    @property
    def prompts(self) -> list[str]:
        """Everything that a model was shown, turn by turn."""
        return [message["content"] for body in self.bodies for message in body["messages"]]

    @property
    def fallbacks(self) -> list[str]:
        """For what something simpler was used, but for the ranking of words, which is what these tests ask for."""
        return [used.purpose for used in self.answer.fallbacks if used.purpose != "ranking"]

    def queries(self, *names: str) -> list[QueryRun]:
        """Return the queries that were sent by one of these names, or together with it; all where none is named."""
        runs = [event for event in self.events if isinstance(event, QueryRun)]
        return [run for run in runs if not names or set(run.name.split("+")) & set(names)]


def told(answer: Answer) -> tuple[bool, list[str]]:
    """Whether an answer is sure, and its labels in order."""
    return answer.sure, sorted(one.label for one in answer.best)


def scripted_model(script: Any, kept: ResponseCache | None = None) -> tuple[LanguageModel, ModelServer]:
    """Make a model that replies by a script, asked with no socket; and its server, which knows what it was sent."""
    server = ModelServer(script)
    client = OpenAIClient("http://model.test/v1", timeout_s=5.0, transport=server.transport)
    return LanguageModel("scripted-model", client, response_cache=kept), server


def ask(
    question: str, graph: KnowledgeBase | str = "", script: Any = None, kept: ResponseCache | None = None, **asking: Any
) -> Asked:
    """Ask a knowledge base, or that of a Turtle text (by default the bundled graph), with a model that replies so.

    :param script: what :class:`ModelServer` takes; ``None`` is no model.
    :param kept: where its replies are kept; ``trust``, what its trial found, without which it was not tried out.
    """
    model, server = scripted_model(script, kept)
    model.trust = asking.pop("trust", None)
    asking |= {"trial": True} if model.trust else {}
    events: list[Event] = []
    knowledge = known(graph) if isinstance(graph, str) else graph
    answer = knowledge.ask(question, model=None if script is None else model, emit=events.append, **asking)
    return Asked(answer, [request.body for request in server.answered], events, knowledge)


def rewrite(file: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object with the digest that is right for what it then says, as by hand."""
    file.write_text(sealed_json(data))


def kept_kinds(cache: ResponseCache) -> dict[str, int]:
    """How many exchanges of each kind are kept."""
    return dict(cache.rows("SELECT kind, count(*) FROM exchange GROUP BY kind ORDER BY kind"))
