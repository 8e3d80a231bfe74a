"""Links that a model mends in path ranking, and choices of nothing, which are respected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.events import EntitiesLinked, Event, ModelCalled
from kgsparql.graphs import OxigraphGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers import load
from tests.model_server import ModelServer, Text

EX = "http://example.org/"
Graph = Callable[..., OxigraphGraph]
NOTHING = Text({"choices": [], "search": ""})

GRAPH = """
:film rdfs:label "Brooklyn" ; a :Film ; :director :crowley ; :writer :hornby ; rdfs:comment "film of 2015" .
:borough rdfs:label "Brooklyn" ; a :Borough ; :partOf :nyc ; rdfs:comment "borough of New York City" .
:nyc rdfs:label "New York City" ; :mayor :adams ; :partOf :state . :state rdfs:label "New York" .
:nets rdfs:label "Brooklyn Nets" ; :arena :barclays . :barclays rdfs:label "Barclays Center" .
:crowley rdfs:label "John Crowley" . :hornby rdfs:label "Nick Hornby" . :adams rdfs:label "Eric Adams" .
:Film rdfs:label "film" . :Borough rdfs:label "borough" .
"""


def picks(*numbers: int) -> Text:
    return Text({"choices": [{"n": n, "score": 0.9} for n in numbers], "search": ""})


def wrote(answer: str, *entities: int) -> Text:
    return Text({"sufficient": True, "answer": answer, "entities": list(entities), "claims": []})


def asked(
    graph: OxigraphGraph, replies: Sequence[Text], question: str, method: str = "path_ranking", **options: object
) -> tuple[Answer, list[str], list[Event]]:
    """The answer, what the model read of each request, and the events."""
    events: list[Event] = []
    with ModelServer(list(replies)) as server:
        model = LanguageModel("scripted", OpenAIClient(server.url, timeout_s=10.0))
        asking = AskOptions(retriever=method, model=model, emit=events.append, **options)  # type: ignore[arg-type]
        try:
            answer = KnowledgeBase(graph, embedder=None).answer(question, asking)
        finally:
            model.client.close()
    return answer, [request.body["messages"][-1]["content"] for request in server.requests], events


def number_of(text: str, shown: str) -> int:
    """The number of the line that has this text."""
    (line,) = [line for line in shown.splitlines() if text in line and line[0].isdigit()]
    return int(line.split(".")[0])


def calls(events: Sequence[Event]) -> list[str]:
    return [event.purpose for event in events if isinstance(event, ModelCalled)]


QUESTION = "where is Brooklyn?"


def test_links_are_shown_with_what_else_the_names_may_mean(graph_of: Graph) -> None:
    _, (shown, *_), _ = asked(graph_of(GRAPH), [picks(1), wrote("x [P1]")], QUESTION)
    links = shown.partition("<links>\n")[2].partition("\n</links>")[0].splitlines()
    taken, *others = links
    assert taken.startswith('"Brooklyn": Brooklyn (film of 2015; 5 triples)')
    assert any(line.endswith('. "Brooklyn": Brooklyn (borough of New York City; 4 triples)') for line in others)
    assert any("Brooklyn Nets" in line for line in others)
    paths = shown.partition("<candidates>\n")[2].splitlines()
    first = int(others[0].split(".")[0])
    assert first == len(paths), "their numbers follow those of the paths"


def test_another_meaning_is_chosen_by_its_number(graph_of: Graph) -> None:
    graph = graph_of(GRAPH)
    _, (shown, *_), _ = asked(graph, [picks(1), wrote("x [P1]")], QUESTION)
    nets = number_of("Brooklyn Nets", shown)
    answer, said, events = asked(graph, [picks(nets), picks(1), wrote("Barclays [P1].", 1)], QUESTION)
    assert calls(events) == ["paths", "paths", "answer"]
    assert "<links>" not in said[1], "it is asked once more, not twice"
    assert all(line.split(". ")[1].startswith("Brooklyn Nets") for line in said[1].splitlines() if line[:1].isdigit())
    assert [link.term for link in answer.linked] == [IRI(EX + "nets")]
    assert answer.linked[0].mention.text == "Brooklyn"
    assert IRI(EX + "film") in {other.term for other in answer.linked[0].candidates}
    assert [a.label for a in answer.answers] == ["Barclays Center"]
    assert any(
        note.startswith(f"Brooklyn <{EX}film> was linked first; the model took Brooklyn Nets <")
        for note in answer.notes
    )
    assert [e.entities[0][1] for e in events if isinstance(e, EntitiesLinked)][-1] == f"<{EX}nets>"
    assert {f.purpose for f in answer.fallbacks} == {"ranking"}, "there is no embedding model"


def test_two_meanings_that_are_both_chosen_are_both_linked(graph_of: Graph) -> None:
    graph = graph_of(GRAPH)
    _, (shown, *_), _ = asked(graph, [picks(1), wrote("x [P1]")], QUESTION)
    both = [number_of("Brooklyn Nets", shown), number_of("(borough of New York City", shown)]
    _, (_, second, *_), _ = asked(graph, [picks(*both), picks(1), wrote("x [P1]")], QUESTION)
    of_each = [number_of("Brooklyn Nets —arena→", second), number_of("(1: New York City)", second)]
    answer, _, _ = asked(graph, [picks(*both), picks(*of_each), wrote("x [P1, P2]", 1)], QUESTION)
    assert {link.term for link in answer.linked} == {IRI(EX + "nets"), IRI(EX + "borough")}


def test_a_name_that_is_not_there_is_looked_up_and_only_among_the_names(graph_of: Graph) -> None:
    search = Text({"choices": [], "search": "New York City } SELECT"})
    answer, said, events = asked(graph_of(GRAPH), [search, picks(1), wrote("Adams [P1].", 1)], "mayor of Brooklyn?")
    assert "New York City" in said[1]
    assert "mayor" in said[1]
    assert [link.term for link in answer.linked] == [IRI(EX + "nyc")]
    queries = [e.text for e in events if e.kind == "query_run"]  # type: ignore[attr-defined]
    assert queries
    assert not any("SELECT }" in text or "} SELECT" in text.replace("\n", " ")[-20:] for text in queries)
    assert answer.status == "answered"


def test_a_name_that_nothing_has_is_said_to_have_been_looked_for(graph_of: Graph) -> None:
    search = Text({"choices": [], "search": "Xanadu"})
    answer, _, _ = asked(graph_of(GRAPH), [search, NOTHING], QUESTION)
    assert "the model looked for 'Xanadu', and nothing is called so" in answer.notes


def test_a_choice_of_nothing_is_asked_once_more_and_then_respected(graph_of: Graph) -> None:
    alone, said, _ = asked(graph_of(':a rdfs:label "Ada" ; :born "1815" .'), [NOTHING], "who is the heir of Ada?")
    assert (len(said), alone.status) == (1, "not_in_graph"), "where there is something more to read"
    answer, said, events = asked(graph_of(GRAPH), [NOTHING, NOTHING], QUESTION)
    assert calls(events) == ["paths", "paths"]
    assert said[1] != said[0]
    assert answer.status == "not_in_graph"
    assert len(answer.evidence) == 0
    assert answer.answers == ()
    assert {f.purpose for f in answer.fallbacks} == {"ranking"}, "there is no embedding model"
    assert "no path that the model read leads to an answer" in answer.notes


def test_after_the_next_paths_a_model_may_still_take_the_best_of_the_first(graph_of: Graph) -> None:
    options = {"prompt_paths": 2, "paths_kept": 1}
    first, second = (lines(text) for text in asked(graph_of(GRAPH), [NOTHING, NOTHING], QUESTION, options=options)[1])
    assert second[-1].partition(". ")[2] == first[0].partition(". ")[2]
    again = picks(len(second))
    answer, _, _ = asked(graph_of(GRAPH), [NOTHING, again, wrote("x [P1]", 1)], QUESTION, options=options)
    assert (len(answer.evidence), answer.status) == (1, "answered")


def test_a_link_may_still_be_mended_after_the_next_paths(graph_of: Graph) -> None:
    options = {"prompt_paths": 2, "paths_kept": 1}
    search = Text({"choices": [], "search": "New York City"})
    replies = [NOTHING, search, wrote("Adams [P1].", 1)]
    answer, said, events = asked(graph_of(GRAPH), replies, "mayor of Brooklyn?", options=options)
    assert calls(events) == ["paths", "paths", "answer"], "it is asked no third time"
    assert "<links>" in said[1]
    assert IRI(EX + "nyc") in {link.term for link in answer.linked}
    assert [a.label for a in answer.answers] == ["Eric Adams"]


def test_the_paths_of_a_right_link_are_listed_beside_those_of_a_name_that_was_looked_up(graph_of: Graph) -> None:
    search = Text({"choices": [], "search": "Barclays Center"})
    _, said, _ = asked(graph_of(GRAPH), [search, NOTHING], "where are Brooklyn Nets and the stadium?")
    starts = [line.partition(". ")[2].split(" —")[0].split(" ←")[0] for line in lines(said[1])]
    assert {"Barclays Center", "Brooklyn Nets"} <= set(starts)


def test_nodes_of_one_name_that_nobody_can_tell_apart_are_one_line(graph_of: Graph) -> None:
    graph = graph_of("""
        :s1 rdfs:label "Security" ; :of :p1 . :s2 rdfs:label "Security" ; :of :p2 .
        :s3 rdfs:label "Security" ; :of :p3 ; rdfs:comment "a company" .
        :p1 rdfs:label "Paper one" . :p2 rdfs:label "Paper two" . :p3 rdfs:label "Paper three" .
        """)
    question = "what is Security of?"
    _, (shown, *_), _ = asked(graph, [NOTHING], question)
    both = number_of("Security, 2 nodes —of→ … (2: ", shown)
    answer, _, _ = asked(graph, [picks(both), wrote("x [P1]", 1)], question)
    assert {end for item in answer.evidence for end in item.ends} == {IRI(EX + "p1"), IRI(EX + "p2")}


def test_a_path_is_followed_from_the_further_nodes_of_a_name_within_bounds(graph_of: Graph) -> None:
    nodes = [f':s{n} rdfs:label "Security" ; :of :p{n} . :p{n} rdfs:label "Paper {n}" .' for n in range(18)]
    question = "what is Security of?"
    few, _, _ = asked(graph_of("\n".join(nodes[:8])), [picks(1), wrote("x [P1]", 1)], question)
    assert len({end for item in few.evidence for end in item.ends}) == 8
    assert not any("not followed" in note for note in few.notes)
    many, _, _ = asked(graph_of("\n".join(nodes)), [picks(1), wrote("x [P1]", 1)], question)
    assert len({end for item in many.evidence for end in item.ends}) == 13
    assert "a name has many nodes: 5 paths from them not followed (-e IRI takes a node)" in many.notes


def lines(shown: str) -> list[str]:
    return shown.partition("<candidates>\n")[2].removesuffix("\n</candidates>").splitlines()


def test_an_entity_that_was_given_is_not_mended(graph_of: Graph) -> None:
    answer, said, _ = asked(graph_of(GRAPH), [picks(1), wrote("x [P1]")], QUESTION, entities=(IRI(EX + "film"),))
    assert "<links>" not in said[0]
    assert [link.term for link in answer.linked] == [IRI(EX + "film")]


def test_the_last_call_of_a_budget_is_kept_for_the_answer(graph_of: Graph) -> None:
    answer, said, _ = asked(graph_of(GRAPH), [NOTHING], QUESTION, budget=Budget(max_calls=2))
    assert len(said) == 1
    assert len(answer.evidence) == 0
    assert any("kept for the answer" in fallback.reason for fallback in answer.fallbacks)


@pytest.mark.parametrize("method", ["path_ranking", "think_on_graph", "struct_gpt"])
def test_where_nothing_is_linked_a_model_names_what_to_look_up(graph_of: Graph, method: str) -> None:
    search = Text({"choices": [], "search": "New York City"})
    answer, said, events = asked(
        graph_of(GRAPH), [search, picks(1, 2), wrote("Adams [P1].", 1), wrote("Adams [P1].", 1)],
        "who rules the Big Apple?", method,
    )  # fmt: skip
    assert calls(events)[0] == "links"
    assert "no name in the question was found in the graph" in said[0]
    assert "<candidates>" not in said[0]
    assert [link.term for link in answer.linked] == [IRI(EX + "nyc")]
    assert answer.status == "answered"
    assert len(said) <= 3
    assert f"the model took New York City <{EX}nyc> to be meant" in answer.notes
    assert not any("was taken to mean" in note for note in answer.notes), "a model has chosen it"


def test_what_looks_like_words_of_the_question_is_offered_where_nothing_is_linked(graph_of: Graph) -> None:
    answer, said, events = asked(graph_of(GRAPH), [picks(1), picks(1), wrote("Barclays [P1].", 1)], "who was Broklynn?")
    assert calls(events) == ["links", "paths", "answer"]
    assert "Brooklyn Nets" in said[0]
    assert "Brooklyn" in answer.linked[0].label
    assert "<links>" not in said[1], "its links were chosen already"


def test_a_model_that_knows_no_name_either_leaves_it_at_that(graph_of: Graph) -> None:
    answer, said, _ = asked(graph_of(GRAPH), [NOTHING], "where do zebras live?")
    assert (answer.status, len(said)) == ("no_entity", 1)
    assert asked(graph_of(GRAPH), [], "where do zebras live?", budget=Budget(max_calls=1))[1] == []


def test_the_calls_stay_within_what_the_method_says(graph_of: Graph) -> None:
    most = load("path_ranking").cost().calls
    search = Text({"choices": [], "search": "New York City"})
    for replies, question in (
        ([search, picks(1)], QUESTION),
        ([search, NOTHING], QUESTION),
        ([search, picks(1)], "zebras?"),
    ):
        _, said, _ = asked(graph_of(GRAPH), [*replies, wrote("x [P1]", 1)], question)
        assert len(said) <= most


def test_a_predicate_alone_is_nothing_to_start_from(graph_of: Graph) -> None:
    graph = graph_of(f"{GRAPH} :mayor rdfs:label 'mayor' .")
    search = Text({"choices": [], "search": "New York City"})
    replies = [search, picks(1), wrote("Adams [P1].", 1)]
    answer, _, events = asked(graph, replies, "who is the mayor of the Big Apple?")
    assert calls(events)[0] == "links"
    assert [link.term for link in answer.linked] == [IRI(EX + "nyc")]
