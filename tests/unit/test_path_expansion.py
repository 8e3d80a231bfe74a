"""From a way that was found to every answer on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kgsparql.answering.retrieval import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.budget import Budget, Usage
from kgsparql.errors import BudgetExceededError
from kgsparql.events import Event, QueryRun
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal
from tests.engines import CountingGraph
from tests.sessions import labels_of, linked

EX = "http://example.org/"
Graph = Callable[..., OxigraphGraph]


def ex(name: str) -> IRI:
    return IRI(EX + name)


def path(*steps: str) -> PropertyPath:
    return PropertyPath.of(*("^" * s.startswith("^") + EX + s.removeprefix("^") for s in steps))


def session_of(graph: OxigraphGraph, events: list[Event] | None = None, budget: Budget | None = None) -> Session:
    usage, seen = Usage(budget or Budget()), [] if events is None else events
    return Session(
        question="what about it?", labels=labels_of(MeteredGraph(graph, usage, seen.append)), linker=None,
        ranker=BM25Ranker(), given=(ex("a"),),
    )  # fmt: skip


def again(graph: OxigraphGraph, query: Query) -> set[object]:
    return {solution["answer"] for solution in graph.select(query)}


COLLEAGUES = ":a :at :u , :v . :b :at :u . :c :at :u , :v . :d :at :v ; :field :physics . :b :field :physics , :art ."


def test_every_end_is_found_and_the_query_finds_just_these(graph_of: Graph) -> None:
    graph = graph_of(COLLEAGUES)
    (item,) = expanded_items([Walk(ex("a"), path("at", "^at"))], session_of(graph).labels)
    assert item is not None
    assert item.ends == (ex("b"), ex("c"), ex("d"))
    assert again(graph, item.query) == set(item.ends)
    assert list(dict.fromkeys(way.end for way in item.ways)) == list(item.ends)
    assert {way.start for way in item.ways} == {ex("a")}
    assert len({cited.triple for cited in item.triples}) == len(item.triples)
    assert item.text.startswith("a —at→ u ←at— b")


def test_a_constraint_holds_in_the_ends_the_triples_and_the_query(graph_of: Graph) -> None:
    graph = graph_of(COLLEAGUES)
    physics = Constraint(2, Step(ex("field")), (ex("physics"), Literal("nowhere")))
    (item,) = expanded_items([Walk(ex("a"), path("at", "^at"), (physics,))], session_of(graph).labels)
    assert item is not None
    assert item.ends == (ex("b"), ex("d"))
    assert again(graph, item.query) == set(item.ends)
    assert {c.triple.subject for c in item.triples if c.triple.predicate == ex("field")} == set(item.ends)
    assert item.text.endswith("(where field physics or nowhere)")


def test_the_start_is_an_answer_only_if_it_is_the_only_one(graph_of: Graph) -> None:
    graph = graph_of(":a :spouse :b . :b :spouse :a . :a :near :a , :c .")
    there_and_back, near = expanded_items(
        [Walk(ex("a"), path("spouse", "spouse")), Walk(ex("a"), path("near"))], session_of(graph).labels
    )
    assert there_and_back is not None
    assert near is not None
    assert (there_and_back.ends, near.ends) == ((ex("a"),), (ex("c"),))
    for item in (there_and_back, near):
        assert again(graph, item.query) == set(item.ends)


def test_the_triples_of_the_first_ends_are_cited_and_all_are_counted(graph_of: Graph) -> None:
    graph = graph_of("".join(f":a :p :o{i:03} ." for i in range(70)))
    events: list[Event] = []
    session = session_of(graph, events)
    (item,) = expanded_items([Walk(ex("a"), path("p"))], session.labels, shown=10)
    assert item is not None
    assert (len(item.ends), len(item.triples), item.cuts) == (70, 10, ())
    assert "60 more" in item.text
    assert [event.name for event in events if isinstance(event, QueryRun) and "walk" in event.name] == [
        "walk", "walk_triples",
    ]  # fmt: skip


def test_more_ends_than_the_limit_are_a_cut(graph_of: Graph) -> None:
    graph = graph_of("".join(f":a :p :o{i:03} ." for i in range(70)))
    session = session_of(graph)
    (item,) = expanded_items([Walk(ex("a"), path("p"))], session.labels, limit=20)
    assert item is not None
    assert len(item.ends) == 20
    assert item.cuts[0].limit == 20
    assert any("at most 20" in line for line in session.notes.lines())


def test_of_very_many_ends_only_the_first_are_asked_for_their_labels(graph_of: Graph) -> None:
    graph = graph_of("".join(f':a :p :o{i:04} . :o{i:04} rdfs:label "thing {9999 - i}" . ' for i in range(2_500)))
    events: list[Event] = []
    session = session_of(graph, events)
    (item,) = expanded_items([Walk(ex("a"), path("p"))], session.labels)
    assert item is not None
    answers = answers_at_ends(Evidence([item]), linked(session))
    assert len(answers) == 2_500
    assert (answers[0].label, answers[-1].label) == ("thing 9999", "o2499")
    assert sum(1 for event in events if isinstance(event, QueryRun)) <= 6


def test_several_walks_cost_two_queries_and_keep_their_places(graph_of: Graph) -> None:
    graph = graph_of(COLLEAGUES)
    events: list[Event] = []
    walks = [Walk(ex("a"), path("at")), Walk(ex("a"), path("nothing")), Walk(ex("d"), path("field"))]
    first, none, last = expanded_items(walks, session_of(graph, events).labels)
    assert none is None
    assert first is not None
    assert last is not None
    assert (first.ends, last.ends) == ((ex("u"), ex("v")), (ex("physics"),))
    asked = [event for event in events if isinstance(event, QueryRun) and event.name.startswith("walk")]
    assert len(asked) == 2


def test_a_blank_node_is_passed_but_is_no_end(graph_of: Graph) -> None:
    graph = graph_of(":a :job [ :employer :uni ; :since 1999 ] .")
    through, only = expanded_items(
        [Walk(ex("a"), path("job", "employer")), Walk(ex("a"), path("job"))], session_of(graph).labels
    )
    assert through is not None
    assert through.ends == (ex("uni"),)
    assert isinstance(through.ways[0].terms[1], BlankNode)
    assert only is None


def test_the_query_leaves_out_blank_nodes_where_the_answers_do(graph_of: Graph) -> None:
    graph = graph_of(
        ":ann :employer :acme , :bolt , [ :country :land ] ; :knows :ann , [ :knows :ann ] . :acme :country :land . "
        ":a :at :u . :b :at :u . [] :at :u ."
    )
    walks = [
        Walk(ex("ann"), path("employer")),
        Walk(ex("ann"), path("employer", "country")),
        Walk(ex("ann"), path("knows")),
        Walk(ex("a"), path("at", "^at")),
    ]
    items = expanded_items(walks, session_of(graph).labels)
    assert [item and item.ends for item in items] == [(ex("acme"), ex("bolt")), (ex("land"),), (ex("ann"),), (ex("b"),)]
    for item in items:
        assert item is not None
        assert again(graph, item.query) == set(item.ends)
    filtered = [item is not None and "isBlank" in item.query.text for item in items]
    assert filtered == [True, False, True, True], "only where there is one to leave out"


def test_no_query_names_more_ends_at_a_time_than_the_graph_takes(graph_of: Graph) -> None:
    graph = CountingGraph(graph_of("".join(f":a :p :o{i:03} ." for i in range(70))), chunk_size=20)
    events: list[Event] = []
    session = session_of(graph, events)
    (item,) = expanded_items([Walk(ex("a"), path("p"))], session.labels, shown=70)
    assert item is not None
    assert [way.end for way in item.ways] == list(item.ends)
    (sent,) = [event.text for event in events if isinstance(event, QueryRun) and "walk_triples" in event.name]
    blocks = [block.split("}")[0].count("<") for block in sent.split("VALUES ?n1 {")[1:]]
    assert blocks == [20, 20, 20, 10]


def test_a_spent_budget_is_an_error_for_the_caller_to_catch(graph_of: Graph) -> None:
    session = session_of(graph_of(COLLEAGUES), budget=Budget(max_queries=1))
    with pytest.raises(BudgetExceededError):
        expanded_items([Walk(ex("a"), path("at"))], session.labels)


def test_answers_are_the_ends_of_the_best_item_first(graph_of: Graph) -> None:
    from dataclasses import replace

    session = session_of(graph_of(COLLEAGUES))
    items = expanded_items([Walk(ex("a"), path("at")), Walk(ex("a"), path("at", "^at"))], session.labels)
    evidence = Evidence(replace(i, score=s) for i, s in zip(items, (0.2, 0.9), strict=True) if i is not None)
    answers = answers_at_ends(evidence, linked(session))
    assert [(a.label, a.markers, a.score) for a in answers] == [
        ("b", ("P2",), 0.9), ("c", ("P2",), 0.9), ("d", ("P2",), 0.9), ("u", ("P1",), 0.2), ("v", ("P1",), 0.2),
    ]  # fmt: skip


def test_what_several_entities_of_the_question_lead_to_comes_first(graph_of: Graph) -> None:
    session = session_of(graph_of(":f1 :star :a . :f2 :star :a , :b . :f3 :star :b ."))
    session.given = (ex("a"), ex("b"))
    items = expanded_items([Walk(ex(name), path("^star")) for name in "ab"], session.labels)
    answers = answers_at_ends(Evidence(item for item in items if item is not None), linked(session))
    assert [(a.label, a.markers) for a in answers] == [("f2", ("P1", "P2")), ("f1", ("P1",)), ("f3", ("P2",))]


def test_what_two_entities_lead_to_comes_first_only_along_the_best_reading_of_each(graph_of: Graph) -> None:
    graph = graph_of(":a :directed :f . :b :directed :f , :g . :a :year :y . :tag :year :z . :a :like :z .")
    session = session_of(graph)
    session.given = (ex("a"), ex("b"), ex("tag"))

    def found(*walks: tuple[str, PropertyPath, float]) -> list[str]:
        made = expanded_items([Walk(ex(start), of) for start, of, _ in walks], session.labels)
        items = [replace(item, score=score) for item, (_, _, score) in zip(made, walks, strict=True) if item]
        return [answer.label for answer in answers_at_ends(Evidence(items), linked(session))]

    both = ("b", path("directed"), 1.0), ("a", path("directed"), 0.97)
    assert found(*both) == ["f", "g"], "a film of both comes before one of the better reading alone"
    aside = ("a", path("year"), 1.0), ("tag", path("year"), 0.9), ("a", path("like"), 0.8)
    assert found(*aside) == ["y", "z"], "what a worse reading about one of them says counts for nothing"
    assert found(("a", path("year"), 1.0), ("tag", path("year"), 0.9), ("a", path("like"), 0.96)) == ["z", "y"]
