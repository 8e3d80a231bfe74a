"""What a model chooses from: readings, kinds of answers, links that it mends, and namesakes told apart."""

import re
from dataclasses import replace
from typing import Any

import pytest

from kgsparql import IRI, Answer, KnowledgeBase, PropertyPath, answer_to_json, render
from kgsparql.answering.answer import computed_type
from kgsparql.answering.readings import LISTED_READINGS
from kgsparql.errors import ModelError, ModelReplyError
from kgsparql.events import CandidatesChosen, Drafted, EntitiesLinked, Finished, ModelCalled, QueryRun
from kgsparql.plans import algebra as a
from kgsparql.rendering.answer_rdf import answer_to_trig
from kgsparql.retrievers import load
from tests import scripted
from tests.model_server import Refusal, Reply, Status, Text
from tests.scripted import ask, by_call, chose, numbered, purposes, reading_with
from tests.world import CHILDREN, EX, PASSED, Asked, graph_of, knowledge_of

ISLANDS = """
:iona rdfs:label "Iona" ; :ferry :mull , :staffa ; :owner :trust ; :founder :columba .
:mull rdfs:label "Mull" ; :owner :crown . :staffa rdfs:label "Staffa" . :trust rdfs:label "The Trust" .
:columba rdfs:label "Columba" . :crown rdfs:label "The Crown" .
"""
WHO = "who is the founder of Iona?"


def ask_who(script: Any, question: str = WHO, turtle: str = ISLANDS, **asking: Any) -> Asked:
    asking = {"retriever": "path_ranking", "trust": PASSED, **asking}
    return scripted.ask(knowledge_of(turtle), question, script, **asking)


def at(asked: Asked, part: str) -> int:
    """The number of the first reading with these words."""
    return next(number for number, line in numbered(asked.bodies[0]).items() if part in line)


@pytest.fixture(scope="module")
def first() -> Asked:
    return ask_who([chose(1)])


def test_a_chosen_reading_is_all_that_it_leads_to_and_the_draft_was_shown_before(first: Asked) -> None:
    asked = ask_who([chose(at(first, "ferry"))])
    assert (set(asked.labels), asked.answer.evidence["P1"].text) == ({"Mull", "Staffa"}, "Iona —ferry→ Mull; Staffa")
    assert asked.answer.text.endswith("Mull, Staffa [P1]")
    assert len(set(asked.texts)) == len(asked.texts), "what was found and is chosen is one piece of evidence"
    assert [one.markers[0] for one in asked.answer.claims] == ["P1"]
    told = [event for event in asked.events if isinstance(event, Drafted | Finished)]
    assert [type(event).__name__ for event in told] == ["Drafted", "Finished"]
    assert [event.answer.answers[0].label for event in told if event.answer is not None] == ["Columba", "Mull"]
    (choice,) = [e for e in asked.events if isinstance(e, CandidatesChosen) and e.purpose == "reading"]
    assert (choice.chosen_by, choice.kept) == ("scripted-model", ("Iona —ferry→ … (2: Mull; Staffa)",))


def test_numbers_that_are_not_listed_are_dropped_and_counted_and_two_that_are_give_both(first: Asked) -> None:
    asked = ask_who([chose(at(first, "founder"), 99, 0)])
    assert (asked.labels, asked.answer.status) == (["Columba"], "answered")
    assert asked.answer.fallbacks[-1].reason == "2 of what the reply chose is not on the list"
    both = ask_who([chose(at(first, "founder"), at(first, "Iona —owner→ … ("))])
    assert [(one.label, one.markers) for one in both.answer.answers] == [("Columba", ("P1",)), ("The Trust", ("P2",))]


def test_a_choice_of_a_model_that_nobody_tried_leaves_a_sure_draft_and_is_told(first: Asked) -> None:
    other = ask_who([chose(at(first, "ferry"))], trust=None).answer
    assert (other.status, other.best[0].label, other.notes[-1].code) == ("answered", "Columba", "untried")
    assert other.notes[-1].endswith("not tried out, and reads this otherwise: Iona —ferry→ Mull; Staffa")


def test_none_is_asked_once_more_with_the_next_ten_and_then_the_draft_stands_with_a_note() -> None:
    many = ':iona rdfs:label "Iona" ; ' + " ; ".join(f':p{n} "{n}"' for n in range(24)) + " ."
    asked = ask_who([chose(), chose()], "what about Iona?", many, options={"prompt_paths": 30}, trust=None)
    one, two = (list(numbered(body).values()) for body in asked.bodies)
    assert (len(one), len(two), set(one) & set(two)) == (LISTED_READINGS, LISTED_READINGS, set())
    draft = ask_who(None, "what about Iona?", many)
    assert asked.labels == draft.labels
    assert any("the model finds none of the readings to be what was asked" in note for note in asked.answer.notes)
    later = ask_who([chose(), chose(3)], "what about Iona?", many, options={"prompt_paths": 30})
    assert f"(1: {later.labels[0]})" in two[2]


def test_what_has_to_be_computed_is_a_plan_that_the_model_writes() -> None:
    shops = '{} :Shop rdfs:label "shop" .'.format("".join(f':s{n} a :Shop ; rdfs:label "S{n}" .' for n in range(4)))
    plan = Text({"plan": "(count C1)", "left_out": "", "search": ""})
    asked = ask_who([chose(compute=True), plan], "How many shops are there?", shops, retriever="auto")
    assert purposes(asked) == ["reading", "plan"]
    assert (getattr(asked.answer.value, "value", None), asked.answer.retriever) == ("4", "query_plan")
    walked = ask_who([chose(1, compute=True)], WHO)
    assert (purposes(walked), walked.labels) == (["reading"], ["Columba"]), "path ranking is not asked to compute"


@pytest.mark.parametrize(
    "reply", [Status(500), Refusal(), Text(""), Text("Columba, of course."), Text('{"numbers": [7')], ids=str
)
def test_a_model_that_fails_leaves_the_draft_with_one_note_and_is_an_error_where_it_is_required(reply: Reply) -> None:
    def script(_: Any) -> Reply:
        return reply

    failed, without = ask_who(script).answer, ask_who(None).answer
    assert (failed.text, failed.status, failed.answers) == (without.text, without.status, without.answers)
    assert failed.confidence == without.confidence
    noted = [note for note in failed.notes if note.code == "model_failed"]
    assert len(noted) == 1
    assert noted[0].startswith("scripted-model did not help, the answer is the one without it: ")
    with pytest.raises((ModelError, ModelReplyError)):
        ask_who(script, require_model=True)


PARCELS = """
:Parcel a rdfs:Class ; rdfs:label "parcel" .
:weight_g rdfs:label "weight" .
:depth rdfs:label "depth mm" .
:a a :Parcel ; rdfs:label "first" ; :weight_g 1500 ; :depth 20 .
:b a :Parcel ; rdfs:label "second" ; :weight_g 500 ; :depth 30 .
:c a :Parcel ; rdfs:label "third" ; :weight_g 10000 ; :depth 20 .
"""


def test_the_kind_of_an_answer(nobel: KnowledgeBase) -> None:
    for question, kind in (
        (CHILDREN, "number"), ("Was Linus Pauling born in Germany?", "boolean"),
        ("Which elements have an atomic number above 100?", "entities"),
        ("When was the University of Pisa founded?", "date"), ("What is the chemical symbol of radium?", "text"),
        ("Who painted Xyzzyplugh?", None),
    ):  # fmt: skip
        answer = nobel.ask(question)
        shown = answer_to_json(answer)
        assert (answer.type, answer.unit) == (shown["type"], shown["unit"]) == (kind, "")


def test_what_a_model_chose_is_of_the_kind_it_leads_to(nobel: KnowledgeBase) -> None:
    script, asking = reading_with("date of birth"), {"retriever": "path_ranking", "trust": PASSED}
    chosen = ask(nobel, "Who is Richard Feynman?", script, **asking).answer
    assert (chosen.status, chosen.type) == ("partial", "date")
    two = ask(nobel, CHILDREN, chose(), retriever="query_plan").answer
    assert (two.type, two.unit) == ("number", ""), "the draft"


def test_the_least_year_is_a_date_though_it_is_written_as_a_number(nobel: KnowledgeBase) -> None:
    born = a.Value(PropertyPath.of("http://dbpedia.org/ontology/birthDate"), "year")
    laureates = a.Instances(IRI("https://kgsparql.example/nobel/Laureate"))
    found = nobel.run(a.SummaryOf("min", laureates, born))
    assert str(found.value).startswith('"1842"')
    assert computed_type(found) == "date"
    assert computed_type(nobel.run(laureates)) is None


def test_the_unit_of_a_number_is_that_of_what_was_summed_up(nobel: KnowledgeBase) -> None:
    parcels = knowledge_of(PARCELS)
    for question, value, unit, shown in (
        ("What is the total weight of all parcels?", "12000", "g", "12,000 g"),
        ("What is the average weight of the parcels?", "4000", "g", "4000 g"),
        ("What is the average depth of the parcels?", "23.333333333333333333", "mm", "23.333333 mm"),
        ("How many parcels have a weight above 600?", "2", "", "2"),
    ):
        answer = parcels.ask(question)
        assert answer.value is not None
        assert (answer.type, answer.value.value, answer.unit) == ("number", value, unit)  # type: ignore[union-attr]
        assert answer_to_json(answer)["unit"] == unit
        assert answer.text.startswith(f"{shown} [Q1]\n")
        assert answer_to_trig(answer).count(f'schema:unitText "{unit}"') == (2 if unit else 0)
    answer = nobel.ask("What percentage of the elements are radioactive?")
    assert (answer.type, answer.unit) == ("number", "%")
    assert answer.text.startswith("90.909091 % [Q1]\n")
    average = parcels.ask("What is the average weight of the parcels with a depth above 500?", retriever="query_plan")
    assert (average.value, average.status, average.type) == (None, "not_in_graph", None)
    assert average.text.startswith("Nothing in this graph [Q1]\n")
    assert replace(nobel.ask(CHILDREN), answers=(), claims=(), status="not_in_graph").type is None


TURTLE = """
@prefix schema: <http://schema.org/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
:City rdfs:label "city" . :Town rdfs:label "town"@en , "Kleinstadt"@de . :Film rdfs:label "film"@en .
:s1 rdfs:label "Springfield"@en ; a :City ; :twinOf :a1 ;
  schema:description "capital of Illinois. It has many parks."@en , "Hauptstadt von Illinois"@de .
:s2 rdfs:label "Springfield"@en ; a :Town , :City ; :twinOf :a2 .
:s3 rdfs:label "Springfield"@en ; wdt:P31 :Film .
:Q4 rdfs:label "Springfield"@en .
:s5 rdfs:label "Paris"@en ; rdfs:comment "a city" . :s6 rdfs:label "Paris"@en ; rdfs:comment "A city" .
:a1 rdfs:label "Ashikaga" . :a2 rdfs:label "Killarney" .
:marge rdfs:label "Marge Lee"@en ; :livedIn :s1 , :s2 , :s3 , :Q4 . :livedIn rdfs:label "lived in" .
:ann rdfs:label "Ann Lee"@en ; :livedIn :s5 , :s6 , :a1 .
:twinOf rdfs:label "twin city" .
"""


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return knowledge_of(TURTLE)


def told(answer: Answer) -> dict[str, str]:
    """The descriptions of the answers, by the ends of their IRIs."""
    return {term.term.value[-2:]: term.description for term in answer.answers if isinstance(term.term, IRI)}


def asked(knowledge: KnowledgeBase, question: str, **options: object) -> tuple[Answer, list[str]]:
    names: list[str] = []
    answer = knowledge.ask(question, emit=lambda event: names.append(getattr(event, "name", "")), **options)
    return answer, [name for name in names if "class_labels" in name]


def test_answers_of_the_same_label_are_told_apart_by_one_query(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "Where has Marge Lee lived?", retriever="path_ranking")
    expected = {"s1": "capital of Illinois", "s2": "town", "s3": "film", "Q4": "Q4"}
    assert {name: text for name, text in told(answer).items() if text} == expected
    assert set(told(answer)) > set(expected)
    assert len(queries) == 1
    shown = render(answer, "text")
    assert {"Springfield (capital of Illinois)", "Springfield (town)"} <= set(shown.partition("  [P1]")[0].split("; "))
    assert r"Springfield (town) \[P1" in render(answer, "md")
    listed = {own["term"]["value"]: own.get("description") for own in answer_to_json(answer)["answers"]}
    assert listed["http://example.org/s3"] == "film"
    assert listed["http://example.org/a1"] is None
    german = KnowledgeBase(graph_of(TURTLE), embedder="none", languages=("de", "en"))
    found = told(german.ask("Where has Marge Lee lived?"))
    assert (found["s1"], found["s2"]) == ("Hauptstadt von Illinois", "Kleinstadt"), "in the reader's language"


def test_evidence_says_from_which_of_several_namesakes_it_starts(knowledge: KnowledgeBase) -> None:
    answer, _ = asked(knowledge, "Which twin city has Springfield?")
    texts = [item.text for item in answer.evidence]
    assert "Springfield (capital of Illinois) —twin city→ Ashikaga" in texts
    assert "Springfield (town) —twin city→ Killarney" in texts
    assert len(set(texts)) == len(texts)
    given: dict[str, object] = {"entities": ("http://example.org/s1",), "options": {"max_hops": 1}}
    answer, queries = asked(knowledge, "Which twin city has it?", **given)
    assert "Ashikaga" in {term.label for term in answer.answers}
    assert queries == [], "no label is there twice"


def test_what_is_linked_is_told_from_what_else_may_be_meant(knowledge: KnowledgeBase) -> None:
    answer, queries = asked(knowledge, "What is the twin city of Springfield?")
    (link,) = answer.linked
    assert (link.term.value[-2:], link.description) == ("s1", "capital of Illinois")
    assert {c.description for c in link.candidates[:3]} == {"town", "film", "Q4"}
    assert len(queries) == 2, "one for the list of paths, one for the answer"
    (note,) = [note for note in answer.notes if "things are called" in note]
    assert "<http://example.org/s1> (capital of Illinois) is linked; to take another, add -e " in note
    assert "-e http://example.org/s2 (town)" in note
    shown = render(answer, "text", verbose=1)
    assert "Springfield (capital of Illinois) <http://example.org/s1> (exact 1.00; or " in shown


SEARCHING = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> .
:firm rdfs:label "Quaero"@en ; schema:description "company" ; :founder :ann .
:site rdfs:label "Quaero Search"@en ; skos:altLabel "Quaero"@en ; schema:description "search engine" .
:domain rdfs:label ".quaero"@en ; schema:description "top-level domain" .
:ann rdfs:label "Ann Beuys"@en . :given rdfs:label "Ann"@en ; schema:description "given name" .
:founder rdfs:label "founder" .
"""


def test_one_list_of_namesakes_and_a_count_that_fits() -> None:
    searching = knowledge_of(SEARCHING)
    answer = searching.ask("Who is the founder of Quaero?")
    (note,) = [note for note in answer.notes if "things are called" in note]
    before, _, named = note.partition("; to take another, add ")
    assert before == "2 things are called 'Quaero': <http://example.org/firm> (company) is linked"
    assert named == "-e http://example.org/site (search engine)", "and none with another sign"
    (line,) = [line for line in render(answer, "text").splitlines() if "Quaero' →" in line]
    assert line.removesuffix(")").partition("; or ")[2] == "<http://example.org/site> (search engine)"
    answer = searching.ask("Of what is Ann Beuys the founder?")
    (link,) = answer.linked
    assert "http://example.org/given" in {candidate.term.value for candidate in link.candidates}, "but not as meant"
    assert "'Ann Beuys' → Ann Beuys <http://example.org/ann> (exact 1.00)" in render(answer, "text")
    assert not [note for note in answer.notes if "things are called" in note]


def test_what_is_shown_tells_apart(knowledge: KnowledgeBase) -> None:
    found = told(knowledge.ask("Where has Ann Lee lived?"))
    assert (found["s5"], found["s6"], found["a1"]) == ("a city, s5", "A city, s6", ""), "the same does not"
    for texts, expected in (
        ((f"{'long ' * 14}and one", f"{'long ' * 14}and two"), ("long … long…, s1", "long … long…, s2")),
        (("\u200b\u200d", "a town"), ("s1", "a town")),
        (("\u200b", "\u200b\u200b"), ("s1", "s2")),
    ):
        lines = "".join(
            f':s{n} rdfs:label "Springfield"@en ; schema:description "{text}"@en . :ann :livedIn :s{n} .\n'
            for n, text in enumerate(texts, start=1)
        )
        prefix = TURTLE.partition(":City")[0]
        known = knowledge_of(f'{prefix}{lines}:ann rdfs:label "Ann Lee"@en . :livedIn rdfs:label "lived in" .')
        found = told(known.ask("Where has Ann Lee lived?"))
        assert tuple(re.sub("(long )+", "long … ", found[name]) for name in ("s1", "s2")) == expected


NOTHING = chose()

GRAPH = """
:film rdfs:label "Brooklyn" ; a :Film ; :director :crowley ; :writer :hornby ; rdfs:comment "film of 2015" .
:borough rdfs:label "Brooklyn" ; a :Borough ; :partOf :nyc ; rdfs:comment "borough of New York City" .
:nyc rdfs:label "New York City" ; :mayor :adams ; :partOf :state . :state rdfs:label "New York" .
:nets rdfs:label "Brooklyn Nets" ; :arena :barclays . :barclays rdfs:label "Barclays Center" .
:crowley rdfs:label "John Crowley" . :hornby rdfs:label "Nick Hornby" . :adams rdfs:label "Eric Adams" .
:Film rdfs:label "film" . :Borough rdfs:label "borough" .
"""


def ask_about(replies: Any, question: str = "where is Brooklyn?", turtle: str = "", **asking: Any) -> Asked:
    asking = {"retriever": "path_ranking", "trust": PASSED, **asking}
    return scripted.ask(knowledge_of(turtle or GRAPH, embedder=None), question, replies, **asking)


def read(asked: Asked) -> list[str]:
    """What the model read of each request."""
    return [str(body["messages"][-1]["content"]) for body in asked.bodies]


def first_read(question: str = "where is Brooklyn?", turtle: str = "") -> str:
    return read(ask_about([chose(1)], question, turtle))[0]


def lines(shown: str) -> list[str]:
    return shown.partition("<readings>\n")[2].removesuffix("</readings>").splitlines()


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
    asked = ask_about([chose(meaning="b"), chose(1)])
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
    stays = ask_about([chose(meaning="b"), chose(2)])
    assert (terms(stays), stays.labels) == (["film"], ["John Crowley"]), "nothing is mended that is not chosen"
    unread = ask_about([chose(meaning="z"), NOTHING])
    assert (len(unread.bodies), terms(unread)) == (1, ["film"]), "a letter that is not listed is no meaning"


def test_a_name_that_is_not_there_is_looked_up_and_only_among_the_names() -> None:
    asked = ask_about([chose(search="New York City } SELECT"), chose(1)], "mayor of Brooklyn?")
    assert "New York City —mayor→" in lines(read(asked)[1])[0]
    assert lines(read(asked)[1])[-1].partition(". ")[2] in read(asked)[0], "beside readings of what was linked"
    assert (terms(asked), asked.labels) == (["nyc"], ["Eric Adams"])
    sent = [event.text for event in asked.events if isinstance(event, QueryRun)]
    assert sent
    assert not any("} SELECT" in text.replace("\n", " ")[-20:] for text in sent)
    assert len({*asked.texts}) == len(asked.texts)
    unknown = ask_about([chose(search="Xanadu")])
    assert "the model looked for 'Xanadu', and nothing is called so" in unknown.answer.notes
    assert (len(unknown.bodies), unknown.texts) == (1, ask_about(None).texts), "the draft stands, described as it was"


def test_nodes_of_one_name_that_nobody_can_tell_apart_are_one_line_and_followed_within_bounds() -> None:
    question = "what is Security of?"
    turtle = """:s1 rdfs:label "Security" ; :of :p1 . :s2 rdfs:label "Security" ; :of :p2 .
        :s3 rdfs:label "Security" ; :of :p3 ; rdfs:comment "a company" .
        :p1 rdfs:label "Paper one" . :p2 rdfs:label "Paper two" . :p3 rdfs:label "Paper three" ."""
    (both,) = [line for line in lines(first_read(question, turtle)) if "Security, 2 nodes —of→ … (2: " in line]
    asked = ask_about([chose(int(both.split(".")[0]))], question, turtle)
    assert {one.term for one in asked.answer.answers} == {IRI(EX + "p1"), IRI(EX + "p2")}
    nodes = [f':s{n} rdfs:label "Security" ; :of :p{n} . :p{n} rdfs:label "Paper {n}" .' for n in range(18)]
    told = "a name has many nodes: 5 paths from them not followed (-e IRI takes a node)"
    for count, followed in ((8, 8), (18, 13)):
        answer = ask_about([chose(1)], question, "\n".join(nodes[:count])).answer
        assert len(answer.answers) == followed
        assert (told in answer.notes) == (followed < count)
        assert any("not followed" in note for note in answer.notes) == (followed < count)


def test_an_entity_that_was_given_is_not_mended() -> None:
    asked = ask_about([chose(1)], entities=(IRI(EX + "film"),))
    assert "<names>" not in read(asked)[0]
    assert terms(asked) == ["film"]


def test_where_nothing_is_linked_a_model_names_what_to_look_up() -> None:
    for method in ("path_ranking", "think_on_graph", "struct_gpt"):
        asked = ask_about(
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
    asked = ask_about([chose(meaning="a"), chose(1)], "who was Broklynn?")
    assert calls(asked) == ["reading", "reading"]
    assert "Brooklyn Nets" in read(asked)[0]
    assert "Brooklyn" in asked.answer.linked[0].label
    nobody = ask_about([NOTHING], "where do zebras live?")
    assert (nobody.answer.status, len(nobody.bodies)) == ("no_entity", 1), "a model that knows none leaves it at that"
    assert nobody.answer.text == ask_about(None, "where do zebras live?").answer.text
    alone = ask_about([NOTHING], "who is Ada?", ':a rdfs:label "Ada" .', entities=(IRI(EX + "a"),))
    assert alone.bodies == [], "where there is nothing to choose from, nobody is asked"


def test_the_calls_stay_within_what_the_method_says() -> None:
    for first, question in ((chose(meaning="a"), "where is Brooklyn?"), (NOTHING, "Brooklyn?"), (NOTHING, "zebras?")):
        asked = ask_about([first, NOTHING], question)
        assert len(asked.bodies) <= load("path_ranking").cost().calls
