"""Links that a model mends in path ranking, and choices of nothing, which are respected."""

from __future__ import annotations

from typing import Any

from kgsparql.budget import Budget
from kgsparql.events import EntitiesLinked, ModelCalled, QueryRun
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers import load
from tests import scripted
from tests.model_server import Text
from tests.scripted import Asked, knowledge_of
from tests.unit.test_path_ranking import wrote

EX = "http://example.org/"
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


def search(name: str) -> Text:
    return Text({"choices": [], "search": name})


def ask(replies: list[Text], question: str = "where is Brooklyn?", turtle: str = "", **asking: Any) -> Asked:
    asking = {"retriever": "path_ranking", **asking}
    return scripted.ask(knowledge_of(turtle or GRAPH, embedder=None), question, replies, **asking)


def read(asked: Asked) -> list[str]:
    """What the model read of each request."""
    return [str(body["messages"][-1]["content"]) for body in asked.bodies]


def first_read(question: str = "where is Brooklyn?", turtle: str = "") -> str:
    return read(ask([picks(1), wrote("x [P1]")], question, turtle))[0]


def number_of(text: str, shown: str) -> int:
    """The number of the line that has this text."""
    (line,) = [line for line in shown.splitlines() if text in line and line[0].isdigit()]
    return int(line.split(".")[0])


def lines(shown: str) -> list[str]:
    return shown.partition("<candidates>\n")[2].removesuffix("\n</candidates>").splitlines()


def calls(asked: Asked) -> list[str]:
    return [event.purpose for event in asked.events if isinstance(event, ModelCalled)]


def terms(asked: Asked) -> list[str]:
    """What was linked in the end, by the ends of the IRIs."""
    return [link.term.value.removeprefix(EX) for link in asked.answer.linked]


def test_links_are_shown_with_what_else_the_names_may_mean() -> None:
    shown = first_read()
    taken, *others = shown.partition("<links>\n")[2].partition("\n</links>")[0].splitlines()
    assert taken.startswith('"Brooklyn": Brooklyn (film of 2015; 5 triples)')
    assert any(line.endswith('. "Brooklyn": Brooklyn (borough of New York City; 4 triples)') for line in others)
    assert any("Brooklyn Nets" in line for line in others)
    assert int(others[0].split(".")[0]) == len(lines(shown)) + 1, "their numbers follow those of the paths"


def test_another_meaning_is_chosen_by_its_number() -> None:
    nets = number_of("Brooklyn Nets", first_read())
    asked = ask([picks(nets), picks(1), wrote("Barclays [P1].", 1)])
    second, answer = read(asked)[1], asked.answer
    assert calls(asked) == ["paths", "paths", "answer"]
    assert "<links>" not in second, "it is asked once more, not twice"
    assert all(line.split(". ")[1].startswith("Brooklyn Nets") for line in lines(second))
    assert (terms(asked), asked.labels, asked.fallbacks) == (["nets"], ["Barclays Center"], [])
    assert answer.linked[0].mention.text == "Brooklyn"
    assert IRI(EX + "film") in {other.term for other in answer.linked[0].candidates}
    told = f"Brooklyn <{EX}film> was linked first; the model took Brooklyn Nets <"
    assert any(note.startswith(told) for note in answer.notes)
    assert [e.entities[0][1] for e in asked.events if isinstance(e, EntitiesLinked)][-1] == f"<{EX}nets>"


def test_two_meanings_that_are_both_chosen_are_both_linked() -> None:
    shown = first_read()
    both = [number_of("Brooklyn Nets", shown), number_of("(borough of New York City", shown)]
    second = read(ask([picks(*both), picks(1), wrote("x [P1]")]))[1]
    of_each = [number_of("Brooklyn Nets —arena→", second), number_of("(1: New York City)", second)]
    assert set(terms(ask([picks(*both), picks(*of_each), wrote("x [P1, P2]", 1)]))) == {"nets", "borough"}


def test_a_name_that_is_not_there_is_looked_up_and_only_among_the_names() -> None:
    replies = [search("New York City } SELECT"), picks(1), wrote("Adams [P1].", 1)]
    asked = ask(replies, "mayor of Brooklyn?")
    assert "New York City" in read(asked)[1]
    assert "mayor" in read(asked)[1]
    assert (terms(asked), asked.answer.status) == (["nyc"], "answered")
    sent = [event.text for event in asked.events if isinstance(event, QueryRun)]
    assert sent
    assert not any("SELECT }" in text or "} SELECT" in text.replace("\n", " ")[-20:] for text in sent)
    notes = ask([search("Xanadu"), NOTHING]).answer.notes
    assert "the model looked for 'Xanadu', and nothing is called so" in notes


def test_a_choice_of_nothing_is_asked_once_more_and_then_respected() -> None:
    alone = ask([NOTHING], "who is the heir of Ada?", ':a rdfs:label "Ada" ; :born "1815" .')
    assert (len(alone.bodies), alone.answer.status) == (1, "not_in_graph"), "where there is something more to read"
    asked = ask([NOTHING, NOTHING])
    assert calls(asked) == ["paths", "paths"]
    assert len(set(read(asked))) == 2
    assert (asked.answer.status, asked.texts, asked.labels, asked.fallbacks) == ("not_in_graph", [], [], [])
    assert "no path that the model read leads to an answer" in asked.answer.notes
    last = ask([NOTHING], budget=Budget(max_calls=2))
    assert (len(last.bodies), last.texts) == (1, [])
    assert any("kept for the answer" in fallback.reason for fallback in last.answer.fallbacks)


def test_after_the_next_paths_the_best_of_the_first_may_be_taken_or_a_link_mended() -> None:
    options = {"prompt_paths": 2, "paths_kept": 1}
    first, second = map(lines, read(ask([NOTHING, NOTHING], options=options)))
    assert second[-1].partition(". ")[2] == first[0].partition(". ")[2]
    again = ask([NOTHING, picks(len(second)), wrote("x [P1]", 1)], options=options)
    assert (len(again.texts), again.answer.status) == (1, "answered")
    mended = ask([NOTHING, search("New York City"), wrote("Adams [P1].", 1)], "mayor of Brooklyn?", options=options)
    assert calls(mended) == ["paths", "paths", "answer"], "it is asked no third time"
    assert "<links>" in read(mended)[1]
    assert "nyc" in terms(mended)
    assert mended.labels == ["Eric Adams"]


def test_the_paths_of_a_right_link_are_listed_beside_those_of_a_name_that_was_looked_up() -> None:
    asked = ask([search("Barclays Center"), NOTHING], "where are Brooklyn Nets and the stadium?")
    starts = [line.partition(". ")[2].split(" —")[0].split(" ←")[0] for line in lines(read(asked)[1])]
    assert {"Barclays Center", "Brooklyn Nets"} <= set(starts)


def test_nodes_of_one_name_that_nobody_can_tell_apart_are_one_line_and_followed_within_bounds() -> None:
    question = "what is Security of?"
    turtle = """:s1 rdfs:label "Security" ; :of :p1 . :s2 rdfs:label "Security" ; :of :p2 .
        :s3 rdfs:label "Security" ; :of :p3 ; rdfs:comment "a company" .
        :p1 rdfs:label "Paper one" . :p2 rdfs:label "Paper two" . :p3 rdfs:label "Paper three" ."""
    both = number_of("Security, 2 nodes —of→ … (2: ", first_read(question, turtle))
    asked = ask([picks(both), wrote("x [P1]", 1)], question, turtle)
    assert {end for item in asked.answer.evidence for end in item.ends} == {IRI(EX + "p1"), IRI(EX + "p2")}
    nodes = [f':s{n} rdfs:label "Security" ; :of :p{n} . :p{n} rdfs:label "Paper {n}" .' for n in range(18)]
    told = "a name has many nodes: 5 paths from them not followed (-e IRI takes a node)"
    for count, followed in ((8, 8), (18, 13)):
        answer = ask([picks(1), wrote("x [P1]", 1)], question, "\n".join(nodes[:count])).answer
        assert len({end for item in answer.evidence for end in item.ends}) == followed
        assert (told in answer.notes) == (followed < count)
        assert any("not followed" in note for note in answer.notes) == (followed < count)


def test_an_entity_that_was_given_is_not_mended() -> None:
    asked = ask([picks(1), wrote("x [P1]")], entities=(IRI(EX + "film"),))
    assert "<links>" not in read(asked)[0]
    assert terms(asked) == ["film"]


def test_where_nothing_is_linked_a_model_names_what_to_look_up() -> None:
    for method in ("path_ranking", "think_on_graph", "struct_gpt"):
        replies = [search("New York City"), picks(1, 2), wrote("Adams [P1].", 1), wrote("Adams [P1].", 1)]
        asked = ask(replies, "who rules the Big Apple?", retriever=method)
        assert calls(asked)[0] == "links"
        assert "no name in the question was found in the graph" in read(asked)[0]
        assert "<candidates>" not in read(asked)[0]
        assert (terms(asked), asked.answer.status) == (["nyc"], "answered")
        assert len(asked.bodies) <= 3
        assert f"the model took New York City <{EX}nyc> to be meant" in asked.answer.notes
        assert not any("was taken to mean" in note for note in asked.answer.notes), "a model has chosen it"
    replies = [search("New York City"), picks(1), wrote("Adams [P1].", 1)]
    asked = ask(replies, "who is the mayor of the Big Apple?", f"{GRAPH} :mayor rdfs:label 'mayor' .")
    assert (calls(asked)[0], terms(asked)) == ("links", ["nyc"]), "a predicate alone is nothing to start from"


def test_what_looks_like_words_of_the_question_is_offered_where_nothing_is_linked() -> None:
    asked = ask([picks(1), picks(1), wrote("Barclays [P1].", 1)], "who was Broklynn?")
    assert calls(asked) == ["links", "paths", "answer"]
    assert "Brooklyn Nets" in read(asked)[0]
    assert "Brooklyn" in asked.answer.linked[0].label
    assert "<links>" not in read(asked)[1], "its links were chosen already"
    nobody = ask([NOTHING], "where do zebras live?")
    assert (nobody.answer.status, len(nobody.bodies)) == ("no_entity", 1), "a model that knows none leaves it at that"
    assert ask([NOTHING], "where do zebras live?", budget=Budget(max_calls=1)).bodies == []


def test_the_calls_stay_within_what_the_method_says() -> None:
    for replies, question in (
        ([search("New York City"), picks(1)], "where is Brooklyn?"),
        ([search("New York City"), NOTHING], "where is Brooklyn?"),
        ([search("New York City"), picks(1)], "zebras?"),
    ):
        asked = ask([*replies, wrote("x [P1]", 1)], question)
        assert len(asked.bodies) <= load("path_ranking").cost().calls
