"""Think-on-Graph: on small graphs without a model, then with a scripted one; each known mistake of others is a test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kgsparql
from kgsparql.answering.answer import Answer, Retrieval
from kgsparql.answering.choosing import OracleChooser, RankerChooser
from kgsparql.answering.session import Session
from kgsparql.budget import Budget, Usage
from kgsparql.errors import OptionError
from kgsparql.events import Event, FallbackUsed, ModelCalled, QueryRun
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker, EmbeddingRanker
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, BlankNode, Literal
from kgsparql.retrievers import load
from kgsparql.retrievers._walking import is_opaque
from kgsparql.retrievers.think_on_graph import ThinkOnGraph
from tests.conftest import FIXTURES
from tests.model_server import Length, ModelServer, NullContent, Refusal, Reply, Status, Text
from tests.scripted import facts_of
from tests.sessions import labels_of, linked
from tests.unit.hashed_embedder import HashedEmbedder

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
    session = Session(
        question=question, labels=labels_of(MeteredGraph(graph, usage, events.append)), linker=None, ranker=ranker,
        given=ex(*entities), **more,
    )  # fmt: skip
    return linked(session)


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
        if re.search(rf"{re.escape(words)}(?:[→—]* \([\d,]+\+?(?:: .*)?\))?$", text)
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
        found = knowledge.ask(question, model=model, emit=events.append, **{"retriever": "think_on_graph", **more})
        return found, server, events

    yield run
    for server, model in opened:
        model.client.close()
        server.__exit__(None, None, None)


def purposes(server: ModelServer) -> list[str]:
    return [purpose(request.body) for request in server.requests]


def fallbacks(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(e.purpose, e.reason) for e in events if isinstance(e, FallbackUsed) and e.purpose != "ranking"]


WORK = """
:ann :works_at :uni, :lab . :ben :works_at :uni . :cas :works_at :uni . :dan :works_at :lab .
:uni :city :bonn . :lab :city :kiel . :ann :born "1990" . :ann :knows :eva .
"""


def test_the_way_that_was_asked_for_comes_first_with_all_its_ends(nobel: kgsparql.KnowledgeBase) -> None:
    found = nobel.ask("In which country was Ernest Rutherford born?", retriever="think_on_graph")
    assert texts(found)[0] == "Ernest Rutherford —place of birth→ Brightwater —country→ New Zealand"
    assert found.answers[0].label == "New Zealand"
    assert found.status == "answered"


def test_a_walk_is_a_sample_and_its_path_is_followed_to_every_answer(graph_of: Graph) -> None:
    """One colleague was met, all are found; the query of the evidence finds just these."""
    graph = graph_of(WORK)
    works = EX + "works_at"
    gold = [PropertyPath.of(works, "^" + works)]
    found = retrieve(graph, ["ann"], gold=gold, options={"width": 1})
    item = next(iter(found.evidence))
    assert sorted(named(found)[:3]) == ["ben", "cas", "dan"]
    assert {end.value for end in item.ends if isinstance(end, IRI)} == {EX + name for name in ("ben", "cas", "dan")}
    assert {solution["answer"] for solution in graph.store.query(item.query.text)} == set(item.ends)  # type: ignore[union-attr]


def test_without_completion_the_evidence_is_exactly_the_kept_chains(graph_of: Graph) -> None:
    found = retrieve(graph_of(WORK), ["ann"], "who works at the city?", complete=False, options={"depth": 2})
    assert all(item.path is not None and len(item.triples) == len(item.path) for item in found.evidence)
    assert not any(item.ends for item in found.evidence)
    assert 1 <= len(found.evidence) <= 6
    for item in found.evidence:
        assert len(list(graph_of(WORK).store.query(item.query.text))) == 1, "the query finds just this chain again"  # type: ignore[arg-type]


def test_what_a_sibling_cannot_do_another_does(graph_of: Graph) -> None:
    """Three films are kept of twelve, only the last has a language."""
    films = "".join(f":actor :played_in :film{i:02} . :film{i:02} :year {2000 + i} . " for i in range(12))
    graph = graph_of(films + ":film11 :language :welsh .")
    gold = [PropertyPath.of(EX + "played_in", EX + "language")]
    assert named(retrieve(graph, ["actor"], gold=gold))[0] == "welsh"


def test_two_hops_through_a_blank_node_are_one_step(graph_of: Graph) -> None:
    graph = graph_of(":ann :employment [ :employer :uni ; :since 1999 ] . :uni :city :bonn .")
    found = retrieve(graph, ["ann"], "in which city is the employer?", options={"depth": 2})
    assert "ann —employment→ [] —employer→ uni —city→ bonn" in texts(found)
    assert not any(isinstance(candidate.term, BlankNode) for candidate in found.candidates)
    assert "ann —employment→ [] —since→ 1999" in texts(retrieve(graph, ["ann"], "since when?", options={"depth": 1}))


def test_an_entity_that_two_topics_lead_to_is_worth_more(graph_of: Graph) -> None:
    graph = graph_of(":a :p :x1, :x2, :both . :b :p :both, :y1, :y2 .")
    plain = retrieve(graph, "ab", complete=False, options={"depth": 1, "width": 2})
    bonus = retrieve(graph, "ab", complete=False, options={"depth": 1, "width": 2, "meeting_bonus": 1.0})
    assert [item.text for item in bonus.evidence] == ["a —p→ both", "b —p→ both"]
    assert [item.score for item in bonus.evidence] == [2 * item.score for item in plain.evidence][:2]


def test_what_has_no_name_has_the_share_of_its_predicate(graph_of: Graph, ask: Ask) -> None:
    graph = graph_of(":a :p :Q1, :Q2, :named, :called .")
    entities = lambda body: picked(body, named=0.6, called=0.2)  # noqa: E731
    found, server, _ = ask(
        script(entities=entities), "what about it?", graph=graph, entities=["a"], complete=False,
        options={"depth": 1, "width": 4},
    )  # fmt: skip
    assert [purpose(request.body) for request in server.requests] == ["predicates", "answer"], "all have their place"
    found, server, _ = ask(
        script(entities=entities), "what about it?", graph=graph, entities=["a"], complete=False,
        options={"depth": 1, "width": 3},
    )  # fmt: skip
    assert listed(server.requests[1].body) == ["a —p→ called", "a —p→ named"]
    scores = {item.text.split()[-1]: item.score for item in found.evidence}
    assert scores == {"named": pytest.approx(0.601), "called": pytest.approx(0.201), "Q1": 0.25, "Q2": 0.25}


@pytest.mark.parametrize("names", [("IBM", "SAP", "AMD", "DEC"), ("北京", "上海", "東京", "大阪")])
@pytest.mark.parametrize("labelled", [True, False])
def test_short_names_are_chosen_from_too(graph_of: Graph, ask: Ask, names: tuple[str, ...], labelled: bool) -> None:
    facts = " ".join(f":a :p :{name} ." + (f' :{name} rdfs:label "{name}" .' if labelled else "") for name in names)
    _, server, _ = ask(script(), "what about it?", graph=graph_of(facts), entities=["a"], options={"depth": 1})
    assert set(listed(server.requests[1].body)) == {f"a —p→ {name}" for name in names}


def test_what_says_nothing_is_an_identifier_without_a_label(graph_of: Graph) -> None:
    opaque, readable = ("Q42", "m.07sbkfb"), ("IBM", "1984_Olympics", "paper7", "第44届")
    graph = graph_of(" ".join(f":a :p <{EX}{name}> ." for name in (*opaque, *readable)) + ' :Q7 rdfs:label "Q7" .')
    session = session_of(graph, ["a"], "?")
    session.labels(ex(*opaque, *readable, "Q7"))
    assert [is_opaque(IRI(EX + name), session) for name in (*opaque, *readable, "Q7")] == [True] * 2 + [False] * 5


def test_the_instances_of_a_class_are_a_step_away_and_no_other_types(graph_of: Graph) -> None:
    rivers = " ".join(f':r{i} a :River ; rdfs:label "Stream {i}" ; :flows :sea .' for i in range(5))
    turtle = f""":River a rdfs:Class ; rdfs:label "river" . {rivers} :sea a :Water ; rdfs:label "Sea" .
        :Water rdfs:label "water" . :flows rdfs:label "flows into" ."""
    knowledge = kgsparql.KnowledgeBase(graph_of(turtle), embedder="none")
    found = knowledge.ask("List every river", retriever="think_on_graph")
    assert [link.kind for link in found.linked] == ["class"]
    assert {f"Stream {i}" for i in range(5)} <= {answer.label for answer in found.answers}
    types = [c for item in found.evidence for c in item.triples if str(c.triple.predicate).endswith("#type>")]
    assert {(str(c.triple.object), c.direction) for c in types} == {(f"<{EX}River>", "inverse")}
    forward = knowledge.ask("List every river", retriever="think_on_graph", direction="forward")
    assert (forward.status, len(forward.evidence)) == ("not_in_graph", 0)


def test_noise_is_not_walked(graph_of: Graph) -> None:
    graph = graph_of(
        """:a <http://xmlns.com/foaf/0.1/depiction> :picture ; <http://www.w3.org/2002/07/owl#sameAs> :b ;
        :viaf "12" ; :p :c ; :q :d . :viaf rdfs:label "VIAF ID" ."""
    )
    assert set(texts(retrieve(graph, ["a"], options={"depth": 1}))) == {"a —p→ c", "a —q→ d"}
    assert "a —VIAF ID→ 12" in texts(retrieve(graph, ["a"], "what is its VIAF ID?", options={"depth": 1}))
    assert texts(retrieve(graph, ["a"], options={"depth": 1, "skip": f"{EX}q"})) == ["a —p→ c"]


def test_ToG_R_asks_nobody_about_entities_and_its_sample_depends_on_the_seed(graph_of: Graph, ask: Ask) -> None:
    graph = graph_of("".join(f":hub :p :n{i:02} . " for i in range(40)))
    options = {"score_entities": False, "depth": 1}
    _, server, _ = ask(script(), "what about it?", graph=graph, entities=["hub"], options=options)
    assert purposes(server) == ["predicates", "answer"]
    samples = {tuple(texts(retrieve(graph, ["hub"], options=options, complete=False, seed=seed))) for seed in range(5)}
    assert len(samples) > 1
    assert {len(sample) for sample in samples} == {3}


@pytest.mark.parametrize(
    "options",
    [{"depth": 11}, {"meeting_bonus": -1.0}, {"thin": "all"}],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        load("think_on_graph", {name: str(value) for name, value in options.items()})


def options_of(**changed: Any) -> dict[str, Any]:
    method = ThinkOnGraph(**changed)
    return {name: getattr(method, name) for name in ThinkOnGraph.__dataclass_fields__}


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("prune", ["model", "embedding"])
@pytest.mark.parametrize("score_entities", [True, False])
def test_no_option_costs_more_calls_than_it_says(ask: Ask, batch: bool, prune: str, score_entities: bool) -> None:
    options = {"batch_prune": batch, "prune": prune, "score_entities": score_entities}
    _, server, _ = ask(script(), options=options)
    assert len(server.requests) <= ThinkOnGraph(**options).cost().calls
    assert purposes(server).count("enough") == 2
    assert ("predicates" in purposes(server)) == (prune == "model")
    assert ("entities" in purposes(server)) == score_entities
    if not batch and prune == "model":
        assert 3 < purposes(server).count("predicates") <= 1 + 3 + 3


def test_the_evidence_is_judged_before_more_predicates_are_listed(ask: Ask) -> None:
    predicates = lambda body: picked(body, worked_at=0.9)  # noqa: E731
    _, server, _ = ask(script(predicates=predicates), options={"depth": 2})
    assert purposes(server) == ["predicates", "enough", "predicates", "entities", "answer"]


def numbers(body: Body, *labels: str) -> list[int]:
    return [n for n, text in enumerate(listed(body), 1) if any(text.startswith(f"{label} [") for label in labels)]


def test_enough_stops_the_walk_and_its_answer_stands_if_it_is_all_there_is(ask: Ask) -> None:
    def enough(body: Body) -> Reply:
        return wrote("She was born in Warsaw [P1].", entities=numbers(body, "Warsaw"))

    predicates = lambda body: picked(body, place_of_birth=0.9)  # noqa: E731
    answer, server, _ = ask(script(predicates=predicates, enough=enough), "Where was Marie Curie born?")
    assert Counter(purposes(server)) == {"predicates": 1, "enough": 1}, "nobody had to write it again"
    assert answer.text == "She was born in Warsaw [P1]."
    assert [a.label for a in answer.answers] == ["Warsaw"]
    assert texts(answer)[0] == "Marie Curie —place of birth→ Warsaw"
    assert answer.status == "answered"


def test_enough_for_some_is_written_again_over_all(ask: Ask) -> None:
    def enough(body: Body) -> Reply:
        if not any("Linus Pauling" in text for text in listed(body)):
            return NOT_ENOUGH
        return wrote("Linus Pauling did [P1].", entities=numbers(body, "Linus Pauling"))

    def whole(body: Body) -> Reply:
        return wrote("They all did [P1].", entities=[1])

    predicates = lambda body: picked(body, worked_at=0.9)  # noqa: E731
    replies = script(predicates=predicates, enough=enough, answer=whole)
    answer, server, _ = ask(replies)
    assert purposes(server)[-1] == "answer"
    assert len(server.requests) <= 9
    assert listed(server.requests[-1].body)[0] == "all 7 at the end of P1 [P1]"
    assert {a.label for a in answer.answers} == {
        "Hans Bethe", "J. Robert Oppenheimer", "Linus Pauling", "Max Delbrück", "Murray Gell-Mann", "Ray Wu",
        "Roscoe G. Dickinson",
    }  # fmt: skip


def test_a_predicate_on_the_way_is_answered_with_what_it_leads_to(ask: Ask) -> None:
    """The answer is in the middle of a chain: its walk ends there."""

    def enough(body: Body) -> Reply:
        marker = next((m for m, text in facts_of(body) if "→ California" in text and "←worked at—" in text), None)
        if marker is None:
            return NOT_ENOUGH
        return wrote(f"At Caltech [{marker}].", entities=numbers(body, "California Institute of Technology"))

    predicates = lambda body: picked(body, worked_at=0.9)  # noqa: E731
    answer, _, _ = ask(script(predicates=predicates, enough=enough), "Where did Richard Feynman work?")
    assert "Richard Feynman —worked at→ California Institute of Technology; Cornell University" in texts(answer)


@pytest.mark.parametrize(("calls", "expected"), [(0, []), (1, ["answer"]), (2, ["predicates", "answer"])])
def test_U15_the_last_call_is_for_the_answer(ask: Ask, calls: int, expected: list[str]) -> None:
    answer, server, events = ask(script(), budget=Budget(max_calls=calls))
    assert purposes(server) == expected
    assert answer.status == ("answered" if expected else "partial")
    assert len(answer.evidence) > 0
    assert any("kept for the answer" in reason for _, reason in fallbacks(events))


@pytest.mark.parametrize("calls", [1, 4, 7])
def test_a_budget_that_is_too_small_is_not_a_graph_that_lacks_the_answer(ask: Ask, calls: int) -> None:
    never = script(answer=NOT_ENOUGH)
    answer, server, _ = ask(never, budget=Budget(max_calls=calls))
    assert answer.status == "partial"
    assert any("--max-calls" in note for note in answer.notes)
    assert (purposes(server)[-1], len(server.requests)) == ("answer", calls)
    answer, _, _ = ask(never, budget=Budget(max_calls=20))
    assert (answer.status, answer.notes) == ("not_in_graph", ())


def test_with_few_calls_left_the_evidence_is_judged_first_and_stops_the_rest(ask: Ask) -> None:
    enough = lambda body: wrote("Caltech [P1].", entities=[1])  # noqa: E731
    _, server, _ = ask(script(enough=enough), budget=Budget(max_calls=4))
    assert purposes(server)[:3] == ["predicates", "entities", "enough"]
    assert purposes(server).count("predicates") == 1, "there is no choice of more"


BAD_REPLIES: dict[str, Reply] = {
    "empty": Text(""), "null": NullContent(), "refusal": Refusal(), "cut": Length('{"choices": [{"n": 1'),
    "prose": Text("I cannot help with that."),
    "off the list": Text('{"choices": [{"n": 99, "score": 1}, {"n": 0, "score": 1}, {"n": -1, "score": 1}]}'),
    "SPARQL": Text("SELECT * WHERE { ?s ?p ?o }"), "half JSON": Text('{"choices": ['), "all": Text("all"),
}  # fmt: skip


@pytest.mark.parametrize("at", [2, 5])
def test_M09_a_model_that_fails_on_the_way_ends_the_walk_and_the_facts_are_shown(ask: Ask, at: int) -> None:
    asked = []

    def failing(body: Body) -> Reply:
        asked.append(body)
        return Status(500) if len(asked) >= at else script()(body)

    answer, _, _ = ask(failing)
    assert (answer.status, answer.error is not None) == ("partial", True)
    assert len(answer.evidence) > 0
    assert any("the walk ended" in note for note in answer.notes)


@pytest.mark.parametrize(
    "reply",
    ["{2. (Score: 0.8)}", "| 2 | 0.8 |", "<think>1? no</think>\n2. (0.8)"],
)  # fmt: skip
def test_mistake_01_scores_are_read_however_they_are_written(ask: Ask, graph_of: Graph, reply: str) -> None:
    graph = graph_of(':ann rdfs:label "Ann" ; :born :bonn ; :works :uni, :lab . :works rdfs:label "works (at)" .')
    answer, _, events = ask(
        script(predicates=Text(reply)), "what about it?", graph=graph, entities=["ann"], options={"depth": 1}
    )
    assert texts(answer) == ["Ann —works (at)→ lab; uni"]
    assert fallbacks(events) == []


def test_mistake_02_the_entity_that_was_chosen_is_the_one_that_is_expanded(ask: Ask, graph_of: Graph) -> None:
    """D2: two entities of the same name."""
    graph = graph_of(
        """:a :p :first, :second, :third . :first rdfs:label "Paris" ; :q :wrong .
        :second rdfs:label "Paris" ; :q :right .
        :third rdfs:label "Rome" ; :q :worse ."""
    )
    entities = Text({"choices": [{"n": 2, "score": 0.9}, {"n": 1, "score": 0.1}]})
    answer, server, _ = ask(
        script(entities=entities), "what about it?", graph=graph, entities=["a"], complete=False,
        options={"width": 1, "depth": 2},
    )  # fmt: skip
    assert listed(server.requests[1].body) == ["a —p→ Paris", "a —p→ Paris", "a —p→ Rome"]
    assert texts(answer)[0] == "a —p→ Paris —q→ right"
    assert not any("wrong" in text for text in texts(answer))
    assert answer.evidence["P1"].triples[0].triple.object == IRI(EX + "second")


def test_mistake_03_a_predicate_in_both_directions_is_two_choices(ask: Ask, graph_of: Graph) -> None:
    graph = graph_of(":ann :advised :ben . :cas :advised :ann .")
    shown: list[str] = []

    def inverse(body: Body) -> Reply:
        shown.extend(listed(body))
        return Text({"choices": [{"n": 1 + listed(body).index("ann ←advised— (1: cas)"), "score": 1}]})

    answer, _, _ = ask(
        script(predicates=inverse), "who advised ann?", graph=graph, entities=["ann"], options={"depth": 1}
    )
    assert shown == ["ann —advised→ (1: ben)", "ann ←advised— (1: cas)"]
    assert texts(answer) == ["ann ←advised— cas"]


def test_mistake_06_evidence_is_answered_with_when_no_depth_is_left(ask: Ask) -> None:
    answer, server, _ = ask(script())
    assert purposes(server)[-1] == "answer"
    assert [marker for marker, _ in facts_of(server.requests[-1].body)] == [item.marker for item in answer.evidence]
    assert answer.evidence.triples
    assert "closed book" not in {e.purpose for e in ask(script())[2] if isinstance(e, ModelCalled)}


def test_mistake_08_literals_are_answers_and_are_not_walked_from(ask: Ask, graph_of: Graph) -> None:
    graph = graph_of(WORK)
    found = retrieve(graph, ["ann"], "when was she born?")
    assert found.candidates[0].term == Literal("1990")
    born = lambda body: picked(body, born=0.9)  # noqa: E731
    answer, _, _ = ask(
        script(predicates=born, answer=wrote("In 1990 [P1].", entities=[1])), "when was she born?", graph=graph,
        entities=["ann"],
    )  # fmt: skip
    assert [a.term for a in answer.answers] == [Literal("1990")]


def test_mistake_09_scores_need_not_sum_to_one_and_are_no_reason_to_take_all_for_alike(
    ask: Ask, graph_of: Graph
) -> None:
    graph = graph_of(":a :p :x ; :q :y ; :r :z ; :s :v .")
    odd = Text({"choices": [{"n": 1, "score": 0.3333}, {"n": 2, "score": 0.33341}, {"n": 2, "score": 0.1}]})
    answer, _, events = ask(
        script(predicates=odd), "what about it?", graph=graph, entities=["a"], complete=False, options={"depth": 1}
    )
    scores = {item.text: item.score for item in answer.evidence}
    assert scores["a —p→ x"] == pytest.approx(0.3333 / 0.66671)
    assert sum(scores.values()) == pytest.approx(1)
    assert [reason[:5] for _, reason in fallbacks(events)] == ["1 of "], "what was there twice is counted"


def test_mistake_09_no_score_for_any_is_the_ranker_s_turn_and_counted(ask: Ask, graph_of: Graph) -> None:
    graph = graph_of(":a :p :x ; :city :y ; :r :z .")
    same = Text({"choices": [{"n": n, "score": 0} for n in (1, 2, 3)]})
    answer, _, events = ask(
        script(predicates=same), "in which city?", graph=graph, entities=["a"], complete=False, options={"depth": 1}
    )
    assert [p for p, _ in fallbacks(events)] == ["predicates"]
    assert texts(answer)[0] == "a —city→ y"


def test_the_same_score_for_several_says_that_they_are_as_good(ask: Ask, graph_of: Graph) -> None:
    graph = graph_of(":a :p :x ; :city :y ; :r :z .")
    same = lambda body: picked(body, p=0.9, r=0.9)  # noqa: E731
    answer, _, events = ask(
        script(predicates=same), "in which city?", graph=graph, entities=["a"], complete=False, options={"depth": 1}
    )
    assert sorted(texts(answer)) == ["a —p→ x", "a —r→ z"]
    assert fallbacks(events) == []


NOTHING = Text({"choices": []})


def test_a_choice_of_no_predicate_is_respected(ask: Ask, graph_of: Graph) -> None:
    answer, server, events = ask(script(predicates=NOTHING), "who?", graph=graph_of(WORK), entities=["ann"])
    assert purposes(server) == ["predicates"], "there is nothing more to read"
    assert (answer.status, len(answer.evidence), answer.answers) == ("not_in_graph", 0, ())
    assert "no predicate that the model read leads to an answer" in answer.notes
    assert fallbacks(events) == []


def test_a_model_that_chose_no_predicate_reads_the_next_ones_once(ask: Ask, graph_of: Graph) -> None:
    many = graph_of(":a " + " ; ".join(f":p{i} :n{i}" for i in range(40)) + " .")
    _, server, events = ask(script(predicates=NOTHING), "what?", graph=many, entities=["a"])
    first, second = (listed(request.body) for request in server.requests)
    assert (len(first), len(second)) == (30, 10)
    assert not set(first) & set(second)
    assert fallbacks(events) == []


@pytest.mark.parametrize("method", ["think_on_graph", "struct_gpt"])
def test_a_model_that_was_asked_for_a_link_and_chose_nothing_is_not_asked_again(
    ask: Ask, graph_of: Graph, method: str
) -> None:
    graph = graph_of(':a rdfs:label "Alpha" ; ' + " ; ".join(f":p{i} :n{i}" for i in range(40)) + " .")
    replies = script(links=Text({"choices": [], "search": "Alpha"}), predicates=NOTHING)
    answer, server, _ = ask(replies, "Where do zebras live?", graph=graph, retriever=method)
    assert (answer.status, purposes(server)) == ("not_in_graph", ["links", "predicates"])


def test_a_model_that_chose_no_predicate_reads_those_of_what_else_is_meant(ask: Ask, graph_of: Graph) -> None:
    graph = graph_of(""":film rdfs:label "Dune" ; :director :lynch ; :year "1984" ; :genre :sf . :lynch rdfs:label "L" .
    :book rdfs:label "Dune" ; :author :herbert . :herbert rdfs:label "Frank Herbert" .""")

    def predicates(body: Body) -> Reply:
        return picked(body, author=0.9) if any("author" in line for line in listed(body)) else NOTHING

    enough = wrote("Frank Herbert [P1].", entities=[1])
    answer, server, events = ask(script(predicates=predicates, enough=enough), "who wrote Dune?", graph=graph)
    assert purposes(server)[:2] == ["predicates", "predicates"]
    assert texts(answer) == ["Dune —author→ Frank Herbert"]
    assert [link.term for link in answer.linked] == [IRI(EX + "book")]
    assert fallbacks(events) == []


def test_after_the_first_hop_a_choice_of_nothing_ends_the_walk(ask: Ask, graph_of: Graph) -> None:
    def predicates(body: Body) -> Reply:
        return NOTHING if any("→ uni" in line for line in listed(body)) else picked(body, works_at=0.9)

    answer, server, events = ask(
        script(predicates=predicates), "where does ann work?", graph=graph_of(WORK), entities=["ann"]
    )
    assert purposes(server).count("predicates") == 2
    assert texts(answer) == ["ann —works at→ lab; uni"]
    assert fallbacks(events) == []


def test_the_facts_that_are_judged_come_as_the_model_scored_them(ask: Ask, graph_of: Graph) -> None:
    """A predicate with one neighbour does not come before what the model scored higher among many."""
    graph = graph_of(":a :p :paris, :rome, :london, :berlin, :madrid, :lisbon ; :q :vienna . :rome :r :tiber .")
    entities = lambda body: picked(body, rome=0.9, berlin=0.8, vienna=0.3)  # noqa: E731
    predicates = lambda body: picked(body, p=0.5, q=0.5)  # noqa: E731
    _, server, _ = ask(
        script(predicates=predicates, entities=entities), "what?", graph=graph, entities=["a"], complete=False
    )
    body = next(request.body for request in server.requests if purpose(request.body) == "enough")
    facts = re.findall(r"^P\d (.*)$", str(body["messages"][1]["content"]), re.MULTILINE)
    assert facts == ["a —p→ rome", "a —p→ berlin", "a —q→ vienna"]


def test_mistake_10_a_beam_does_not_bounce_and_siblings_are_found(graph_of: Graph) -> None:
    """The way back is there, but not to the term just left; the same predicate leads to others."""
    graph = graph_of(":ann :works_at :uni . :ben :works_at :uni .")
    found = retrieve(graph, ["ann"], "who works at the same?", complete=False)
    assert texts(found) == ["ann —works at→ uni ←works at— ben"]


def test_mistake_11_a_predicate_is_shown_with_a_count_and_examples_not_its_triples(ask: Ask, graph_of: Graph) -> None:
    many = "".join(f":a :p :object{i} . " for i in range(500))
    _, server, _ = ask(script(), "what about it?", graph=graph_of(many), entities=["a"], options={"depth": 1})
    assert listed(server.requests[0].body) == ["a —p→ (500: object0; object1)"]
    assert len(listed(server.requests[1].body)) == 5, "thinned"


def test_mistake_13_the_predicates_of_a_hub_are_a_row_each(graph_of: Graph) -> None:
    events: list[Event] = []
    edges = "".join(f":hub :p{i % 3} :n{i} . " for i in range(3_000))
    retrieve(graph_of(edges), ["hub"], options={"depth": 1}, events=events)
    counted = [e.solutions for e in events if isinstance(e, QueryRun) and e.name.startswith("counts")]
    assert set(counted) == {3}


def test_mistake_14_no_text_is_embedded_twice(graph_of: Graph) -> None:
    class Counting(HashedEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.seen: Counter[str] = Counter()

        def embed(self, texts: Sequence[str]) -> Any:
            self.seen.update(texts)
            return super().embed(texts)

    embedder = Counting()
    ranker = EmbeddingRanker(embedder)
    for _ in range(2):
        retrieve(graph_of(WORK), ["ann"], "who works at the same place?", ranker=ranker)
    assert embedder.seen
    assert max(embedder.seen.values()) == 1


def test_mistake_15_a_hub_is_thinned_to_what_the_question_is_about(graph_of: Graph) -> None:
    """D6: a topic with in-degree 157, out-degree 0, and questions that quote a title."""
    words = "model graph query store index beam label answer path rule test cost order engine".split()
    titles = [f"{words[i % 14].title()} {words[(i * 5 + 3) % 13]} study {i}" for i in range(157)]
    papers = "".join(f':paper{i} :field :hub ; rdfs:label "{title}" . ' for i, title in enumerate(titles))
    graph = graph_of(papers)
    kept = {}
    for thin in ("embedding", "random"):
        options = {"depth": 1, "thin": thin}
        found = [
            retrieve(graph, ["hub"], f"In which year did '{title}' appear?", options=options, complete=False)
            for title in titles[:60]
        ]
        kept[thin] = sum(
            any(item.text.endswith(f" {title}") for item in own.evidence)
            for title, own in zip(titles, found, strict=False)
        )
    assert kept["embedding"] >= 57
    assert kept["random"] <= 12


@pytest.mark.parametrize("gold", [5, 150])
def test_mistake_15_a_name_that_shares_no_word_with_the_question_is_found_by_its_meaning(
    graph_of: Graph, gold: int
) -> None:
    """A ranker that knows what words cannot tell, as an embedder does."""

    class Knowing(BM25Ranker):
        name = "knowing"

        def rank(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
            return np.array([1.0 if text.endswith(f"name {gold:03}") else 0.1 for text in texts])

    class ByMeaning:
        name, rank, similarities = "by meaning", Knowing().rank, Knowing().similarities
        by_meaning = True

    facts = "".join(f':hub :p :e{i:03} . :e{i:03} rdfs:label "name {i:03}" . ' for i in range(157))
    options = {"depth": 1, "thin_to": 5}
    found = retrieve(graph_of(facts), ["hub"], ranker=ByMeaning(), options=options, complete=False)
    assert f"hub —p→ name {gold:03}" in texts(found)


def test_names_that_are_not_compared_by_meaning_are_told(graph_of: Graph) -> None:
    facts = "".join(f':hub :p{k} :e{k}_{i} . :e{k}_{i} rdfs:label "n {k} {i}" . ' for k in range(4) for i in range(150))
    session = session_of(graph_of(facts), ["hub"], "what about it?", ranker=EmbeddingRanker(HashedEmbedder()))
    load("think_on_graph", {"depth": 1, "width": 4}).retrieve(session)
    assert "names compared by meaning: at most 500 of 600 taken" in session.notes.lines()
    session = session_of(graph_of(facts), ["hub"], "what about it?")
    load("think_on_graph", {"depth": 1, "width": 4}).retrieve(session)
    assert not any("compared by meaning" in line for line in session.notes.lines()), "all are compared by the word"


def test_mistake_16_yes_is_no_answer_and_neither_is_nothing(ask: Ask) -> None:
    predicates = lambda body: picked(body, worked_at=0.9)  # noqa: E731

    def yes(body: Body) -> Reply:
        marker = next(m for m, text in facts_of(body) if "Linus Pauling" in text)
        return Text(f"{{Yes}}. The answer is {{Linus Pauling}} [{marker}].")

    answer, _, _ = ask(script(predicates=predicates, answer=yes))
    assert {a.label for a in answer.answers} <= {"Linus Pauling"}
    assert "Linus Pauling" in answer.text
    answer, _, _ = ask(script(answer=Text({"sufficient": True, "answer": "", "entities": []})))
    assert answer.status != "answered"
    assert "So it is" not in answer.text


WITHOUT_WORDS = ':ann :p1 :ben ; :p2 :cas . :p1 rdfs:label "{}" . :p2 rdfs:label "works for" .'


@pytest.mark.parametrize(("name", "is_told"), [("knows", True), ("telephone", False)])
def test_paths_without_a_word_of_the_question_are_said_to_be(graph_of: Graph, name: str, is_told: bool) -> None:
    session = session_of(graph_of(WITHOUT_WORDS.format(name)), ["ann"], "what is the telephone?")
    load("think_on_graph").retrieve(session)
    assert any("no path has a word of the question" in note for note in session.notes.texts) == is_told
