"""What of a question an answer accounts for: names, predicates, kinds, and what is not computed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.rdf.terms import IRI
from kgsparql.reading.asking import Asked
from kgsparql.reading.chunks import chunked
from tests.conftest import FIXTURES, graph_from

FILMS = """
:directed rdfs:label "directed by" . :starred rdfs:label "starred actors" . :year rdfs:label "release year" .
:written rdfs:label "written by" . :film rdfs:label "film" .
:tide rdfs:label "The Tide" ; a :film ; :starred :mira, :jonas ; :year 1994 ; :written :odette .
:orchard rdfs:label "Glass Orchard" ; a :film ; :starred :mira ; :directed :hanna ; :year 1972 .
:mira rdfs:label "Mira Castellan" . :jonas rdfs:label "Jonas Weir" . :hanna rdfs:label "Hanna Viklund" .
:odette rdfs:label "Odette Farrow" . :other rdfs:label "Jonas Weir" .
:born rdfs:label "birth year" . :jonas :born 1961 . :other :born 1980 .
"""


@cache
def knowledge_of(turtle: str) -> KnowledgeBase:
    return KnowledgeBase(graph_from(turtle), embedder="none")


def ask(question: str, turtle: str = FILMS) -> Answer:
    """Ask about films by looking up, about another graph as by default."""
    return knowledge_of(turtle).ask(question, retriever="path_ranking" if turtle is FILMS else "auto")


def codes(answer: Answer) -> set[str]:
    return {gap.code for gap in answer.gaps}


def gap_texts(answer: Answer) -> list[str]:
    return [gap.text for gap in answer.gaps]


def test_what_is_understood_is_answered() -> None:
    for question, first in (
        ("Who directed Glass Orchard?", "Hanna Viklund"),
        ("Who starred in The Tide?", "Jonas Weir"),
        ("When was The Tide released?", "1994"),
        ("Which films did Mira Castellan star in?", "Glass Orchard"),
        ("Who wrote The Tide?", "Odette Farrow"),
    ):
        answer = ask(question)
        assert (answer.status, answer.gaps, answer.answers[0].label) == ("answered", (), first)


PUPILS = """
:teacher rdfs:label "teacher" . :part rdfs:label "part of" . :year rdfs:label "year" .
:ida rdfs:label "Ida Brandt" ; :teacher :olof . :olof rdfs:label "Olof Ekman" ; :teacher :vera .
:vera rdfs:label "Vera Holm" . :choir rdfs:label "Harbour Choir" ; :part :union ; :year 1950 .
:union rdfs:label "Singers Union" ; :part :league . :league rdfs:label "Arts League" .
:instrument rdfs:label "instrument" ; rdfs:subClassOf :tool . :tool rdfs:label "tool" .
:violin rdfs:label "violin" ; rdfs:subClassOf :instrument . rdfs:subClassOf rdfs:label "subclass of" .
"""


def test_a_predicate_is_followed_the_way_that_is_asked() -> None:
    for question, first in (
        ("Who was Olof Ekman's teacher?", "Vera Holm"),
        ("Who were the pupils of Olof Ekman?", "Ida Brandt"),
        ("Whom did Olof Ekman teach?", "Ida Brandt"),
        ("What are the parts of the Singers Union?", "Harbour Choir"),
        ("Which kinds of instrument are there?", "violin"),
        ("Which instruments are there?", "violin"),
        ("What is a kind of instrument?", "violin"),
        ("What is the type of the instrument?", "tool"),
    ):
        assert ask(question, PUPILS).answers[0].label == first, question
    other_way = ask("Who were Ida Brandt's students?", PUPILS)
    assert other_way.status == "partial"
    assert "the question asks for the other way of 'teacher'" in gap_texts(other_way)


STAFF = """
:member rdfs:label "member of" . :manager rdfs:label "has manager" . :spouse rdfs:label "spouse" .
:land rdfs:label "nationality" . :data rdfs:label "Data Services" . :elena rdfs:label "Elena Herzog" ; :member :data .
:ann rdfs:label "Ann Gerber" ; :member :data ; :manager :elena . :bob rdfs:label "Bob Roth" ; :member :data ;
:manager :elena ; :spouse :eve . :eve rdfs:label "Eve Roth" ; :land :chile . :chile rdfs:label "Chile" .
"""


def test_a_predicate_that_leads_both_ways_is_no_answer_where_none_is_asked() -> None:
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl")
    asked = knowledge.ask("Who did a PhD under Paul Langevin?")  # to a model, much like whom he did it under
    assert (asked.status, [gap.text for gap in asked.gaps]) == ("partial", ["P2 fits the question as well as P1"])
    assert knowledge.ask("Who was Paul Langevin's doctoral advisor?").status == "answered"


def test_two_steps_to_one_kind_are_no_answer_where_only_the_kind_is_said() -> None:
    turtle = """
        :takes rdfs:label "rangeIncludes" . :has rdfs:label "domainIncludes" . :property rdfs:label "Property" .
        :person rdfs:label "Person" . :actor a :property ; rdfs:label "actor" ; :takes :person .
        :name a :property ; rdfs:label "givenName" ; :has :person ."""
    answer = ask("What are the properties of Person?", turtle)
    assert (answer.status, gap_texts(answer)) == ("partial", ["P2 fits the question as well as P1"])


def test_what_two_labels_have_of_a_mention_may_mean_both() -> None:
    """To a model, `Ekman die` is like Olof Ekman; what is in the label of it is only Ekman."""
    link = LinkedEntity(IRI("e:o"), "Olof Ekman", 0.83, "entity", "vector", Mention("Ekman die", 10, 19))
    other = LinkedEntity(IRI("e:l"), "Lena Ekman", 0.81, "entity", "vector", Mention("Ekman", 10, 15))
    assert replace(link, candidates=(other,)).likely_alternatives == (other,)


PARTS_OF_NAMES = """
:marie rdfs:label "Marie Curie, née Skłodowska" ; :born 1867 ; :field :physics .
:pierre rdfs:label "Pierre Curie" ; :born 1859 ; :field :physics ; :employer :paris .
:aage rdfs:label "Aage Niels Bohr" ; :born 1922 . :niels rdfs:label "Niels Henrik David Bohr" ; :born 1885 .
:institute rdfs:label "Niels Bohr Institute" ; :founded 1921 .
:born rdfs:label "born" . :authors rdfs:label "authors" . :element rdfs:label "element" .
:paper rdfs:label "Optical Resonance" ; :authors :list . :list rdfs:label "authors list" ; :element :marie .
"""


def test_more_of_a_name_is_meant_rather_and_less_of_one_is_a_doubt() -> None:
    for question, first, doubt in (
        ("When was Marie Curie born?", "1867", None),
        ("When was Curie born?", "1859", "'Curie' may be"),
        ("When was Niels Bohr born?", "1922", "'Niels Bohr' may be"),
        ("Who are the authors of Optical Resonance?", "authors list", "a list of what is asked for"),
    ):
        answer = ask(question, PARTS_OF_NAMES)
        assert answer.answers[0].label == first
        assert answer.gaps == () if doubt is None else doubt in answer.gaps[0].text


MADE = """
:Film a rdfs:Class ; rdfs:label "Film" . :by rdfs:label "directed by" . :written rdfs:label "written by" .
:starred rdfs:label "starred actors" . :tags rdfs:label "has tags" . :noir rdfs:label "noir brothers" .
:made a :Film ; rdfs:label "Made" ; :by :jon ; :written :jon ; :starred :ann . :jon rdfs:label "Jon Weir" .
:reef a :Film ; rdfs:label "Reef" ; :by :una ; :written :jon ; :starred :ann ; :tags :noir .
:ann rdfs:label "Ann Lee" . :una rdfs:label "Una Holt" .
"""


def test_what_looks_like_an_answer_is_a_doubt() -> None:
    for question, doubt in (
        ("Which director made the most films?", "'made' was taken for Made"),
        ("Who starred in films directed by the noir brothers?", "'starred actors' is only beside what was found"),
    ):
        assert doubt in " ".join(gap_texts(ask(question, MADE))), question
    both = ask("Which films did Jon Weir both write and direct?", MADE)  # all that he directed, he wrote, too
    assert (both.status, [one.label for one in both.best]) == ("answered", ["Made"])


HOUSE = """
:holds rdfs:label "is location of" . :room rdfs:label "Room 306" ; :holds :a, :b .
:a rdfs:label "Humidity Sensor 306" . :b rdfs:label "Door Contact 306" .
"""
FLOOR = ':part rdfs:label "has part" . :floor rdfs:label "Floor 3" ; :part :room .'
GENRES = """
:Film a rdfs:Class ; rdfs:label "Film" . :genre rdfs:label "genre" .
:reef a :Film ; rdfs:label "Reef" ; :genre :spy . :spy rdfs:label "Spy film" .
"""


def test_where_something_is_is_not_what_is_in_it() -> None:
    where = ask("Where is Room 306?", HOUSE + FLOOR)
    assert (where.status, [one.label for one in where.best]) == ("answered", ["Floor 3"])
    assert {one.label for one in ask("What is in Room 306?", HOUSE).best} == {"Humidity Sensor 306", "Door Contact 306"}
    # One of six points in a room was about humidity, and all were surely the humidity.
    assert ask("What is the humidity in Room 306?", HOUSE).status == "partial"


def test_what_holds_only_the_other_way_round_is_no_sure_yes() -> None:
    """Planning binds roles and doubted it; the older reading, which binds none, made it sure."""
    assert ask("Is Spy film a genre of Reef?", GENRES).status == "answered"
    assert ask("Is Reef a genre of Spy film?", GENRES).text.startswith("no in this graph")


def test_a_name_is_rather_what_is_written_just_so(shared_data: Path) -> None:
    knowledge = kgsparql.open(shared_data / "schemaorg" / "graph.nt.gz", embedder="none")
    answer = knowledge.ask("How many properties does Event have?")  # of the class, and not of `event`
    assert ([one.label for one in answer.best], answer.status) == (["43"], "partial")  # or of which it is the range


SONGS = """
:track rdfs:label "track" . :length rdfs:label "length" . :artist rdfs:label "artist" . :song rdfs:label "Song" .
:band rdfs:label "Sirens (band)" . :album rdfs:label "Sirens (album)" ; :artist :band ; :track :a, :b .
:a a :song ; rdfs:label "Tidal" ; :length 200 . :b a :song ; rdfs:label "Ebb" ; :length 300 .
:other rdfs:label "Shoals" ; :artist :band ; :track :c . :c a :song ; rdfs:label "Reef" ; :length 900 .
"""


def test_what_was_computed_of_one_of_two_of_a_name_is_no_answer() -> None:
    answer = ask("Which is the longest song by Sirens?", SONGS)
    assert (answer.status, codes(answer)) == ("partial", {"ambiguous"})
    assert all(name in answer.gaps[0].text for name in ("Sirens (album)", "Sirens (band)"))
    assert ask("Which is the longest song by Sirens (album)?", SONGS).status == "answered"


def test_a_chain_is_walked_as_it_is_asked_and_what_of_it_was_not_found_is_said() -> None:
    for question, first in (
        ("Who is the manager of the members of Data Services?", "Elena Herzog"),
        ("What is the nationality of Bob Roth's spouse?", "Chile"),
        ("What is the name of Bob Roth's spouse?", "Eve Roth"),
    ):
        answer = ask(question, STAFF)
        assert (answer.status, answer.answers[0].label) == ("answered", first)
    part = ask("What is the hobby of Bob Roth's spouse?", STAFF)
    assert (part.status, part.answers[0].label, [gap.words for gap in part.gaps]) == ("partial", "Eve Roth", ["hobby"])
    longer = ask("Who is the spouse of the spouse of Bob Roth's spouse?", STAFF)
    assert longer.status == "partial"
    assert "the question goes 3 steps, to 'spouse', and what was found goes 1" in gap_texts(longer)


EXPERTS = """
:member rdfs:label "member of" . :expert rdfs:label "area of expertise" . :Person a rdfs:Class ; rdfs:label "person" .
:sales rdfs:label "Marketing" . :data rdfs:label "Data Services" . :net rdfs:label "Network" .
:kevin a :Person ; rdfs:label "Kevin Faust" ; :member :sales ; :expert :net .
:nadia a :Person ; rdfs:label "Nadia Schubert" ; :member :data ; :expert :net .
:yanka a :Person ; rdfs:label "Yanka Adam" ; :member :sales .
"""


def test_what_is_asked_for_has_to_do_with_all_names() -> None:
    for question in (
        "Which person is a member of Marketing and has area of expertise Network?",
        "Which members of Marketing have area of expertise Network?",
    ):
        answer = ask(question, EXPERTS)
        assert (answer.status, answer.retriever) == ("answered", "query_plan")
        assert [one.label for one in answer.answers] == ["Kevin Faust"]


LAUREATES = """
:laureates rdfs:label "Nobel laureates" . :affiliated rdfs:label "affiliated with" . :award rdfs:label "award" .
:leeds rdfs:label "Leeds Institute" ; :laureates :ida, :olof . :ida rdfs:label "Ida Brandt" ; :award :prize .
:olof rdfs:label "Olof Ekman" . :prize rdfs:label "Harbour Prize" .
"""


def test_a_predicate_that_leads_to_the_same_is_not_missed() -> None:
    for more, doubts in (("", {"affiliated"}), (":ida :affiliated :leeds . :olof :affiliated :leeds .", set())):
        graph = f"{LAUREATES} :vera :affiliated :other . {more}"
        answer = ask("Which Nobel laureates were affiliated with the Leeds Institute?", graph)
        assert {one.label for one in answer.answers[:2]} == {"Ida Brandt", "Olof Ekman"}
        assert {gap.words for gap in answer.gaps if gap.code == "predicate"} == doubts


def test_of_two_questions_the_one_that_was_not_answered_is_said() -> None:
    answer = ask("Who wrote The Tide and when was it released?")
    assert answer.status == "partial"
    assert answer.text.startswith("No sure answer: only a part of this is answered, and not 'when was it released'")


def test_a_predicate_that_the_entity_does_not_have_is_no_answer() -> None:
    answer = ask("Who directed The Tide?")
    assert (answer.status, codes(answer)) == ("partial", {"predicate"})
    assert answer.text.splitlines()[0] == (
        "No sure answer: this graph knows 'directed by', but nothing of it was found here"
    )
    assert answer_to_json(answer)["not_understood"][0]["words"] == "directed"


def test_what_is_not_accounted_for_is_said() -> None:
    for question, code in (
        ("Did Mira Castellan star in The Tide?", "operation"),
        ("Which actors starred in The Tide and not in Glass Orchard?", "operation"),
        ("Which films starred Mira Castellan and Tom Hanks?", "name"),
        ("Who directed Glass Orchard in 1983?", "word"),
        ("When was Glass Orchard directed?", "kind"),
        ("Which films did Vera Castellan star in?", "part_of_name"),
        ("When was Jonas Weir born?", "ambiguous"),
        ("Who was the first actor starring in The Tide?", "operation"),
    ):
        answer = ask(question)
        assert (answer.status, code in codes(answer)) == ("partial", True), question
        assert answer.text.startswith("No sure answer: ")
    given = knowledge_of(FILMS).ask("When was Jonas Weir born?", entities=["http://example.org/other"])
    assert "ambiguous" not in codes(given), "an entity that was given is not doubted"


OWN_NAMES = """
:name rdfs:label "name" . :family rdfs:label "family name" .
:ida rdfs:label "Ida Brandt" ; :name "Ida Brandt" . :olof rdfs:label "Olof Ekman" ; :family "Ekman" .
"""


def test_what_something_is_called_is_only_an_answer_where_that_is_asked() -> None:
    for question, doubts in (
        ("Who is the wife of Ida Brandt?", True),
        ("Who belongs to the family of Olof Ekman?", True),
        ("What is the name of Ida Brandt?", False),
        ("What is the family name of Olof Ekman?", False),
    ):
        text = "what was found is only the name of what is asked about"
        assert (text in gap_texts(ask(question, OWN_NAMES))) == doubts, question


def test_operations() -> None:
    for question, text in (
        ("How many films are there?", "how many there are"), ("Who won more than two prizes?", "for a comparison"),
        ("Who was hired before 2015?", "for a comparison"), ("What is the total budget?", "for the total"),
        ("Which employees don't have a manager?", "for what is not so"), ("Is Ann a chemist?", "for yes or no"),
        ("Who is the youngest?", "for the youngest"), ("Who wrote Nothing but the Truth?", None), ("Who is Isa?", None),
        ("Is Ann or Bob older?", "for a comparison"), ("Why is Ann famous?", "for a reason"),
        ("What is the second prize of Ann?", "for the second"), ("What are the films of Ann?", None),
    ):  # fmt: skip
        asked = [text for _, text in Asked.of(chunked(question, None)).operations()]
        assert asked[:1] == ([] if text is None else [text]), question


def test_of_very_many_meanings_three_are_told() -> None:
    people = " ".join(f':p{i} rdfs:label "Ann Weir" ; :born {1900 + i} .' for i in range(7))
    answer = ask("What is the birth year of Ann Weir?", f':born rdfs:label "birth year" . {people}')
    (gap,) = (gap for gap in answer.gaps if gap.code == "ambiguous")
    assert gap.text.count(" or ") == gap.text.count("(-e http") == 3
    assert gap.text.endswith(" or 4 others")


CLUBS = """
:coach rdfs:label "coach" . :president rdfs:label "president" . :budget rdfs:label "budget" .
:email rdfs:label "email" .
:from rdfs:label "valid from" . :until rdfs:label "valid until" . :opened rdfs:label "opening date" .
:alden rdfs:label "Rovers Alden" ; :coach :ana ; :president :bo ; :budget 5200000 ; :email "post@alden.test" .
:ana rdfs:label "Ana Torv" . :bo rdfs:label "Bo Lind" . :pass rdfs:label "Licence 77" ; :from "2011-01-01" ;
:until "2021-12-31" . :hall rdfs:label "Mill Hall" ; :opened "1901-03-04" .
"""


def test_a_word_beside_the_name_of_a_fact_changes_what_is_asked() -> None:
    for question, words in {
        "Who is the assistant coach of Rovers Alden?": "assistant",
        "Who is the former president of Rovers Alden?": "former",
        "What is the budget deficit of Rovers Alden?": "deficit",
        "Who hired the coach of Rovers Alden?": "hired",
        "Qui est l'ancien président de Rovers Alden ?": "ancien",
        "Wer hat den Präsident von Rovers Alden entlassen?": "entlassen",
    }.items():
        assert [gap.words for gap in ask(question, CLUBS).gaps] == [words], question
    for question, value in {
        "Who is the current coach of Rovers Alden?": "Ana Torv",
        "What is the total budget of Rovers Alden?": "5200000",
        "What is the email address of Rovers Alden?": "post@alden.test",
    }.items():
        answer = ask(question, CLUBS)
        assert (answer.status, answer.answers[0].label) == ("answered", value), question


def test_since_when_and_until_when_are_different_questions_and_no_place_or_person_is_a_time() -> None:
    for question, first in {
        "Since when is Licence 77 valid?": "2011-01-01",
        "Until when is Licence 77 valid?": "2021-12-31",
        "Until when was Mill Hall open?": "until",
    }.items():
        answer = ask(question, CLUBS)
        assert (answer.gaps[0].words if answer.gaps else answer.answers[0].label) == first, question
    for question in (
        "Since when is Ana Torv coach of Rovers Alden?",
        "When did Ana Torv become coach of Rovers Alden?",
    ):
        assert ask(question, CLUBS).status == "partial"


ITEMS_AS_CLASSES = """
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
wdt:P31 rdfs:label "instance of" . :boat rdfs:label "boat" . :ship rdfs:label "ship" ; wdt:P279 :boat .
wdt:P279 rdfs:label "subclass of" .
:ann rdfs:label "Ann Lee" ; wdt:P31 :boat . :bob rdfs:label "Bob Roy" ; wdt:P31 :boat .
:eve rdfs:label "Eve" ; wdt:P31 :ship .
"""


def test_a_thing_that_stands_for_a_class_is_not_counted_as_one_but_what_is_said_to_be_one_is() -> None:
    for question, labels in (
        ("How many boats are there?", ["2"]),
        ("List all boats.", ["Ann Lee", "Bob Roy"]),
    ):
        answer = ask(question, ITEMS_AS_CLASSES)
        assert (answer.status, [term.label for term in answer.best]) == ("answered", labels), question


def test_a_first_place_that_nearly_all_share_is_no_sure_answer() -> None:
    shops = "".join(f':s{i} a :Shop ; rdfs:label "Shop {chr(65 + i)}" ; :sells :thing{i} . ' for i in range(12))
    named = ':Shop a rdfs:Class ; rdfs:label "shop" . :sells rdfs:label "sells" .'
    answer = ask("Which shop sells the most things?", f"{named} {shops} {THINGS}")
    assert (answer.status, len(answer.best)) == ("partial", 12)
    assert gap_texts(answer)[0] == "12 share the first place, and nothing tells which is meant"
    richer = ask("Which shop sells the most things?", f"{named} {shops} {THINGS} :s3 :sells :thing1 .")
    assert (richer.status, [term.label for term in richer.best]) == ("answered", ["Shop D"])


THINGS = ':Thing a rdfs:Class ; rdfs:label "thing" . ' + "".join(
    f':thing{i} a :Thing ; rdfs:label "Thing {chr(75 + i)}" . ' for i in range(12)
)


METALS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
skos:broader rdfs:label "broader" . :metal skos:prefLabel "Metal"@en .
:gold skos:prefLabel "Gold"@en ; skos:altLabel "Aurum"@en, "Yellow Metal"@en ; skos:broader :metal .
:tin skos:prefLabel "Tin"@en ; skos:broader :metal ; :knownFor :can .
:knownFor rdfs:label "known for" . :can skos:prefLabel "Can"@en .
:gold :knownFor :coin . :coin skos:prefLabel "Coin"@en .
"""


def test_what_a_thing_is_called_besides_is_asked_of_its_other_names() -> None:
    for question, labels in (
        ("What is Gold also known as?", ["Aurum", "Yellow Metal"]),
        ("What is another name for Gold?", ["Aurum", "Yellow Metal"]),
        ("How many synonyms does Gold have?", ["2"]),
        ("Is Gold also called Aurum?", ["true"]),
        ("Is Aurum a synonym of Gold?", ["true"]),
        ("Is Gold also called Coin?", ["false"]),
    ):
        answer = ask(question, METALS)
        assert (answer.status, [term.label for term in answer.best]) == ("answered", labels), question


def test_what_is_no_question_of_other_names_is_not_answered_with_them() -> None:
    for question in ("What is Gold known for?", "Is Aurum also called Coin?", "What is not another name for Gold?"):
        answer = ask(question, METALS)
        assert not {"Aurum", "Yellow Metal", "true"} & {term.label for term in answer.best}, question


def test_what_a_thesaurus_has_below_a_concept_is_counted_and_not_the_concept() -> None:
    answer = ask("How many metals are there?", METALS)
    assert (answer.status, [term.label for term in answer.best]) == ("answered", ["2"])


FOODS = """
:Food a rdfs:Class ; rdfs:label "food" . rdfs:subClassOf rdfs:label "subclass of" .
:Cheese a rdfs:Class ; rdfs:label "cheese" ; rdfs:subClassOf :Food .
:Brie a rdfs:Class ; rdfs:label "Brie" ; rdfs:subClassOf :Cheese .
:Gouda a rdfs:Class ; rdfs:label "Gouda" ; rdfs:subClassOf :Cheese .
:HotSoup a rdfs:Class ; rdfs:label "hot soup" ; rdfs:subClassOf :Food ; :seeAlso :Brie .
"""


def test_of_a_class_without_instances_the_kinds_are_listed_and_counted_and_doubted_where_there_are_more_below() -> None:
    for question, status, labels in (
        ("How many cheeses are there?", "answered", ["2"]),
        ("List all cheeses.", "answered", ["Brie", "Gouda"]),
        ("How many foods are there?", "partial", ["2"]),
    ):
        answer = ask(question, FOODS)
        assert (answer.status, [term.label for term in answer.best]) == (status, labels), question
    assert gap_texts(ask("Which soups are hot?", FOODS))[0] == "'soups are hot' was taken for hot soup: is that meant?"
