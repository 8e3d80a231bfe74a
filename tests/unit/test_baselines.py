"""The baselines: they keep the promises of methods, and each finds what it should and no more."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.errors import ModelReplyError, OptionError
from kgsparql.evaluation import baselines
from kgsparql.evaluation.baselines import NOT_KNOWN, TripleEmbedding, TripleIndex, predicates_of
from kgsparql.events import Event, QueryRun
from kgsparql.graphs import OxigraphGraph
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.rdf.vocabulary import LABELS
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Text
from tests.scripted import by_call, chose, reader
from tests.unit.hashed_embedder import HashedEmbedder

RADIUM = "Who discovered radium?"
Knowledge = kgsparql.KnowledgeBase


@pytest.fixture(scope="module")
def plain() -> Knowledge:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture(scope="module")
def embedded() -> Knowledge:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder=HashedEmbedder())


@pytest.fixture
def model() -> Iterator[Callable[[Any], LanguageModel]]:
    """A function that serves a script, and opens it as a model."""
    with ExitStack() as opened:

        def make(script: Any) -> LanguageModel:
            client = OpenAIClient(opened.enter_context(ModelServer(script)).url, timeout_s=5.0)
            return opened.enter_context(LanguageModel("scripted-model", client))

        yield make


def ask(knowledge: Knowledge, name: str, question: str = RADIUM, *, own: Any = None, **options: Any) -> Answer:
    return knowledge.ask(question, retriever=baselines.load(name, knowledge, own), **options)


# -- What is promised of every method


@pytest.mark.parametrize("name", ["triple_embedding", "label_neighbours"])
def test_what_is_promised_of_every_method(
    embedded: Knowledge, name: str, model: Callable[[Any], LanguageModel]
) -> None:
    nobel = embedded
    answer = ask(nobel, name)
    assert answer.status == ("partial" if answer.gaps else "answered")
    for item in answer.evidence:
        assert item.kind == "neighbours"
        assert all(cited.verified for cited in item.triples)
        found = [set(solution.values()) for solution in nobel.graph.select(item.query)]
        for cited in item.triples:
            assert any({cited.triple.subject, cited.triple.object} <= terms for terms in found)
    known = {item.marker for item in answer.evidence}
    assert answer.answers
    assert all(term.markers and known.issuperset(term.markers) for term in answer.answers)
    made = [answer_to_json(one) for one in (answer, ask(nobel, name))]
    assert len({json.dumps({**one, "usage": {**one["usage"], "seconds": 0}}, default=str) for one in made}) == 1
    radium = IRI("http://dbpedia.org/resource/Radium")
    given = ask(nobel, name, entities=(radium,)).answers
    assert given
    assert radium not in {term.term for term in given}
    for question, script, calls in ((RADIUM, reader, 1), (RADIUM, by_call(reading=chose()), 2)):
        answer = ask(nobel, name, question, model=model(script))
        bounds = baselines.load(name, nobel, {}).cost(entities=len(answer.linked))
        assert answer.usage["queries"] <= bounds.queries
        assert answer.usage["model_calls"] == answer.usage["rounds"] == calls <= bounds.calls == bounds.rounds
        assert (answer.model, answer.grounding) == ("scripted-model", "graph")
    events: list[Event] = []
    answer = ask(nobel, name, budget=Budget(max_queries=1), emit=events.append)
    assert answer.status in {"partial", "answered"}
    assert len([e for e in events if isinstance(e, QueryRun)]) == answer.usage["queries"]


def test_names_and_options() -> None:
    assert baselines.names() == ("closed_book", "triple_embedding", "label_neighbours")
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    assert baselines.load("label_neighbours", knowledge, {"labels": "3"}).labels == 3  # type: ignore[attr-defined]
    for name, options in (
        ("nearest", {}), ("triple_embedding", {"triples": "0"}), ("triple_embedding", {"index": "x"}),
        ("label_neighbours", {"nearest": "x"}), ("label_neighbours", {"lines": "1000"}), ("closed_book", {"most": "0"}),
    ):  # fmt: skip
        with pytest.raises(OptionError):
            baselines.load(name, knowledge, options)


# -- The model alone


def test_names_that_a_model_knows_are_never_the_graph_s(plain: Knowledge) -> None:
    server = ModelServer([Text({"answers": ["Marie Curie", "Pierre Curie", "marie curie"]})])
    with server, LanguageModel("scripted-model", OpenAIClient(server.url, timeout_s=5.0)) as model:
        answer = ask(plain, "closed_book", model=model)
    assert (answer.grounding, len(answer.evidence), answer.claims) == ("model", 0, ())
    assert [(a.term, a.label, a.markers) for a in answer.answers] == [
        (Literal("Marie Curie"), "Marie Curie", ()), (Literal("Pierre Curie"), "Pierre Curie", ()),
    ]  # fmt: skip
    assert answer.answers[0].score > answer.answers[1].score
    assert (answer.usage["model_calls"], answer.text) == (1, "Marie Curie; Pierre Curie")
    (request,) = server.requests
    rules, question = request.body["messages"]
    assert question["content"] == f"Question: {RADIUM}", "it is asked nothing of the graph"
    assert "radium" not in rules["content"].lower()
    assert ask(plain, "closed_book").answers == ()
    assert "model" in baselines.why_not("closed_book", plain, model=False)
    assert not baselines.why_not("closed_book", plain, model=True)


def test_a_model_that_does_not_know_gives_no_answer_and_a_reply_without_a_list_is_an_error(
    plain: Knowledge, model: Callable[[Any], LanguageModel]
) -> None:
    replies: tuple[Any, ...] = ({"answers": []}, {"answers": ["unknown"]}, {"answers": ["I don't know", " "]}, [])
    for reply in replies:
        answer = ask(plain, "closed_book", model=model([Text(json.dumps(reply))]))
        assert (answer.status, answer.answers, answer.text) == ("not_in_graph", (), NOT_KNOWN)
    for text in ("It was Marie Curie.", '{"names": 3}'):
        with pytest.raises(ModelReplyError):
            ask(plain, "closed_book", model=model([Text(text)]), require_model=True)


# -- The nearest triples


def test_nearest_embedded_is_nearest_by_cosine(embedded: Knowledge) -> None:
    embedder, told = HashedEmbedder(), list[Any]()
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none", progress=lambda *one: told.append(one))
    index = TripleIndex.made_of(knowledge, embedder)
    assert told[-1] == ("embedding triples", len(index.triples), len(index.triples))
    labels = embedded.labels({term for t in index.triples for term in (t.subject, t.predicate, t.object)})
    texts = [" ".join(labels[term] for term in (t.subject, t.predicate, t.object)) for t in index.triples]
    scores = embedder.embed(texts) @ embedder.embed([RADIUM])[0]
    best = np.argsort(-scores, kind="stable")[:20]
    found = index.nearest(RADIUM, 20)
    assert [triple for triple, _ in found] == [index.triples[i] for i in best]
    assert np.allclose([score for _, score in found], scores[best], atol=1e-6)
    assert len(index.nearest(RADIUM, 1_000_000)) == len(index.triples) > 2_000


def test_names_and_blank_nodes_are_no_triples_to_compare(graph_of: Callable[..., OxigraphGraph]) -> None:
    turtle = ':ann rdfs:label "Ann" ; :knows :bob , [ :age 3 ] ; :born "1965" . :bob rdfs:label "Bob" .'
    knowledge = Knowledge(graph_of(turtle), embedder=None)
    assert set(LABELS).isdisjoint(predicates_of(knowledge))
    assert sum(predicates_of(knowledge).values()) == 4
    index = TripleIndex.made_of(knowledge, HashedEmbedder())
    assert sorted(str(t.object) for t in index.triples) == ['"1965"', "<http://example.org/bob>"]
    knowledge = Knowledge(graph_of(':ann rdfs:label "Ann" .'), embedder=HashedEmbedder())
    answer = ask(knowledge, "triple_embedding", "Who is Ann?")
    assert (len(answer.evidence), answer.status) == (0, "not_in_graph")


def test_what_takes_long_is_left_out_and_says_how_to_have_it(
    plain: Knowledge, embedded: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not baselines.why_not("triple_embedding", embedded, model=False)
    monkeypatch.setattr(baselines, "EMBED_AT_ONCE", 100)
    other = kgsparql.open(FIXTURES / "nobel.ttl", embedder=HashedEmbedder("slow"))
    why = baselines.why_not("triple_embedding", other, model=False)
    assert why == "2,811 triples take about 1 min to embed, once; -r triple_embedding does it"
    monkeypatch.setattr(baselines, "MOST_EMBEDDED", 100)
    endpoint = Knowledge(kgsparql.graphs.open_graph("http://127.0.0.1:9/sparql"), embedder=None)
    for knowledge, said in (
        (other, "2,811 triples are too many"),
        (plain, "no embedding model"),
        (endpoint, "endpoint"),
    ):
        assert said in baselines.why_not("triple_embedding", knowledge, model=False)
        with pytest.raises(OptionError, match=said):
            baselines.load("triple_embedding", knowledge, {})
    with pytest.raises(OptionError, match="no index"):
        plain.ask(RADIUM, retriever=TripleEmbedding())


# -- The nearest labels


def test_the_nearest_labels_are_the_candidates_and_their_neighbours_the_evidence(
    plain: Knowledge, embedded: Knowledge
) -> None:
    answer = ask(plain, "label_neighbours", "Which laboratory is in Cambridge?", own={"labels": "5", "lines": "2"})
    assert 1 <= len(answer.answers) <= 5
    scores = [term.score for term in answer.answers]
    assert scores == sorted(scores, reverse=True)
    for term in answer.answers:
        assert 1 <= len(term.markers) <= 2
        assert all(answer.evidence[marker].ways[0].start == term.term for marker in term.markers)
    curie = IRI("http://dbpedia.org/resource/Marie_Curie")  # given: then there is no linker
    assert ask(embedded, "label_neighbours", "Where is the Radium Institute?", entities=(curie,)).answers
    assert embedded.session("Where is the Radium Institute?", AskOptions(entities=(curie,))).linker is None
