"""Links that a model mends: another meaning by its letter, or a name that is looked up, and only among the names."""

from __future__ import annotations

from typing import Any

from kgsparql.events import EntitiesLinked, ModelCalled, QueryRun
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers import load
from tests import scripted
from tests.scripted import by_call, chose, numbered
from tests.world import EX, Asked, knowledge_of

NOTHING = chose()

GRAPH = """
:film rdfs:label "Brooklyn" ; a :Film ; :director :crowley ; :writer :hornby ; rdfs:comment "film of 2015" .
:borough rdfs:label "Brooklyn" ; a :Borough ; :partOf :nyc ; rdfs:comment "borough of New York City" .
:nyc rdfs:label "New York City" ; :mayor :adams ; :partOf :state . :state rdfs:label "New York" .
:nets rdfs:label "Brooklyn Nets" ; :arena :barclays . :barclays rdfs:label "Barclays Center" .
:crowley rdfs:label "John Crowley" . :hornby rdfs:label "Nick Hornby" . :adams rdfs:label "Eric Adams" .
:Film rdfs:label "film" . :Borough rdfs:label "borough" .
"""


def ask(replies: Any, question: str = "where is Brooklyn?", turtle: str = "", **asking: Any) -> Asked:
    asking = {"retriever": "path_ranking", **asking}
    return scripted.ask(knowledge_of(turtle or GRAPH, embedder=None), question, replies, **asking)


def read(asked: Asked) -> list[str]:
    """What the model read of each request."""
    return [str(body["messages"][-1]["content"]) for body in asked.bodies]


def first_read(question: str = "where is Brooklyn?", turtle: str = "") -> str:
    return read(ask([chose(1)], question, turtle))[0]


def lines(shown: str) -> list[str]:
    return shown.partition("<readings>\n")[2].removesuffix("</readings>").splitlines()


def number_of(text: str, shown: str) -> int:
    """The number of the line that has this text."""
    (line,) = [line for line in lines(shown) if text in line]
    return int(line.split(".")[0])


def calls(asked: Asked) -> list[str]:
    return [event.purpose for event in asked.events if isinstance(event, ModelCalled)]


def terms(asked: Asked) -> list[str]:
    """What was linked in the end, by the ends of the IRIs."""
    return [link.term.value.removeprefix(EX) for link in asked.answer.linked]


def test_links_are_shown_with_what_else_the_names_may_mean() -> None:
    shown = first_read()
    taken, *others = shown.partition("<names>\n")[2].partition("\n</names>")[0].splitlines()
    assert taken.startswith('"Brooklyn": Brooklyn (film of 2015; 5 triples)')
    assert [line[:3] for line in others] == ["a. ", "b. "]
    assert any(line.endswith('. "Brooklyn": Brooklyn (borough of New York City; 4 triples)') for line in others)
    assert any("Brooklyn Nets" in line for line in others)


def test_another_meaning_is_chosen_by_its_letter_and_its_readings_are_asked_about() -> None:
    asked = ask([chose(meaning="b"), chose(1)])
    second, answer = read(asked)[1], asked.answer
    assert calls(asked) == ["reading", "reading"]
    assert "<names>" not in second, "it is asked once more, not twice"
    assert [line.startswith("1. Brooklyn Nets") for line in lines(second)] == [True, False, False, False]
    assert (terms(asked), asked.labels, asked.fallbacks) == (["nets"], ["Barclays Center"], [])
    assert answer.linked[0].mention.text == "Brooklyn"
    assert IRI(EX + "film") in {other.term for other in answer.linked[0].candidates}
    told = f"Brooklyn <{EX}film> was linked first; the model took Brooklyn Nets <"
    assert any(note.startswith(told) for note in answer.notes)
    assert [e.entities[0][1] for e in asked.events if isinstance(e, EntitiesLinked)][-1] == f"<{EX}nets>"
    stays = ask([chose(meaning="b"), chose(2)])
    assert (terms(stays), stays.labels) == (["film"], ["John Crowley"]), "nothing is mended that is not chosen"
    unread = ask([chose(meaning="z"), NOTHING])
    assert (len(unread.bodies), terms(unread)) == (1, ["film"]), "a letter that is not listed is no meaning"


def test_a_name_that_is_not_there_is_looked_up_and_only_among_the_names() -> None:
    asked = ask([chose(search="New York City } SELECT"), chose(1)], "mayor of Brooklyn?")
    assert "New York City —mayor→" in lines(read(asked)[1])[0]
    assert lines(read(asked)[1])[-1].partition(". ")[2] in read(asked)[0], "beside readings of what was linked"
    assert (terms(asked), asked.labels) == (["nyc"], ["Eric Adams"])
    sent = [event.text for event in asked.events if isinstance(event, QueryRun)]
    assert sent
    assert not any("} SELECT" in text.replace("\n", " ")[-20:] for text in sent)
    assert len({*asked.texts}) == len(asked.texts)
    unknown = ask([chose(search="Xanadu")])
    assert "the model looked for 'Xanadu', and nothing is called so" in unknown.answer.notes
    assert (len(unknown.bodies), unknown.texts) == (1, ask(None).texts), "the draft stands, described as it was"


def test_nodes_of_one_name_that_nobody_can_tell_apart_are_one_line_and_followed_within_bounds() -> None:
    question = "what is Security of?"
    turtle = """:s1 rdfs:label "Security" ; :of :p1 . :s2 rdfs:label "Security" ; :of :p2 .
        :s3 rdfs:label "Security" ; :of :p3 ; rdfs:comment "a company" .
        :p1 rdfs:label "Paper one" . :p2 rdfs:label "Paper two" . :p3 rdfs:label "Paper three" ."""
    both = number_of("Security, 2 nodes —of→ … (2: ", first_read(question, turtle))
    asked = ask([chose(both)], question, turtle)
    assert {one.term for one in asked.answer.answers} == {IRI(EX + "p1"), IRI(EX + "p2")}
    nodes = [f':s{n} rdfs:label "Security" ; :of :p{n} . :p{n} rdfs:label "Paper {n}" .' for n in range(18)]
    told = "a name has many nodes: 5 paths from them not followed (-e IRI takes a node)"
    for count, followed in ((8, 8), (18, 13)):
        answer = ask([chose(1)], question, "\n".join(nodes[:count])).answer
        assert len(answer.answers) == followed
        assert (told in answer.notes) == (followed < count)
        assert any("not followed" in note for note in answer.notes) == (followed < count)


def test_an_entity_that_was_given_is_not_mended() -> None:
    asked = ask([chose(1)], entities=(IRI(EX + "film"),))
    assert "<names>" not in read(asked)[0]
    assert terms(asked) == ["film"]


def test_where_nothing_is_linked_a_model_names_what_to_look_up() -> None:
    for method in ("path_ranking", "think_on_graph", "struct_gpt"):
        asked = ask(
            by_call(reading=lambda body: chose(1) if numbered(body) else chose(search="New York City")),
            "who rules the Big Apple?", retriever=method,
        )  # fmt: skip
        assert calls(asked)[0] == "reading"
        assert "no name in the question was found in the graph" in read(asked)[0]
        assert lines(read(asked)[0]) == []
        assert (terms(asked), asked.labels) == (["nyc"], ["Eric Adams"])
        assert f"the model took New York City <{EX}nyc> to be meant" in asked.answer.notes
        assert not any("was taken to mean" in note for note in asked.answer.notes), "a model has chosen it"


def test_what_looks_like_words_of_the_question_is_offered_where_nothing_is_linked() -> None:
    asked = ask([chose(meaning="a"), chose(1)], "who was Broklynn?")
    assert calls(asked) == ["reading", "reading"]
    assert "Brooklyn Nets" in read(asked)[0]
    assert "Brooklyn" in asked.answer.linked[0].label
    nobody = ask([NOTHING], "where do zebras live?")
    assert (nobody.answer.status, len(nobody.bodies)) == ("no_entity", 1), "a model that knows none leaves it at that"
    assert nobody.answer.text == ask(None, "where do zebras live?").answer.text
    alone = ask([NOTHING], "who is Ada?", ':a rdfs:label "Ada" .', entities=(IRI(EX + "a"),))
    assert alone.bodies == [], "where there is nothing to choose from, nobody is asked"


def test_the_calls_stay_within_what_the_method_says() -> None:
    for first, question in ((chose(meaning="a"), "where is Brooklyn?"), (NOTHING, "Brooklyn?"), (NOTHING, "zebras?")):
        asked = ask([first, NOTHING], question)
        assert len(asked.bodies) <= load("path_ranking").cost().calls
