"""What of a question an answer accounts for: names, predicates, kinds, and what is not computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.graphs import OxigraphGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.answer_type import operation_asked
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.rdf.terms import IRI
from tests.conftest import FIXTURES

FILMS = """
:directed rdfs:label "directed by" . :starred rdfs:label "starred actors" . :year rdfs:label "release year" .
:written rdfs:label "written by" . :film rdfs:label "film" .
:tide rdfs:label "The Tide" ; a :film ; :starred :mira, :jonas ; :year 1994 ; :written :odette .
:orchard rdfs:label "Glass Orchard" ; a :film ; :starred :mira ; :directed :hanna ; :year 1972 .
:mira rdfs:label "Mira Castellan" . :jonas rdfs:label "Jonas Weir" . :hanna rdfs:label "Hanna Viklund" .
:odette rdfs:label "Odette Farrow" . :other rdfs:label "Jonas Weir" .
:born rdfs:label "birth year" . :jonas :born 1961 . :other :born 1980 .
"""

Ask = Callable[[str], Answer]


@pytest.fixture
def ask(graph_of: Callable[..., OxigraphGraph]) -> Ask:
    knowledge = KnowledgeBase(graph_of(FILMS), embedder="none")
    return partial(knowledge.ask, retriever="path_ranking")


def codes(answer: Answer) -> set[str]:
    return {gap.code for gap in answer.gaps}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who directed Glass Orchard?", "Hanna Viklund"),
        ("Who starred in The Tide?", "Jonas Weir"),
        ("When was The Tide released?", "1994"),
        ("Which films did Mira Castellan star in?", "Glass Orchard"),
        ("Who wrote The Tide?", "Odette Farrow"),
    ],
)
def test_what_is_understood_is_answered(ask: Ask, question: str, first: str) -> None:
    answer = ask(question)
    assert (answer.status, answer.gaps) == ("answered", ())
    assert answer.answers[0].label == first


PUPILS = """
:teacher rdfs:label "teacher" . :part rdfs:label "part of" . :year rdfs:label "year" .
:ida rdfs:label "Ida Brandt" ; :teacher :olof . :olof rdfs:label "Olof Ekman" ; :teacher :vera .
:vera rdfs:label "Vera Holm" . :choir rdfs:label "Harbour Choir" ; :part :union ; :year 1950 .
:union rdfs:label "Singers Union" ; :part :league . :league rdfs:label "Arts League" .
:instrument rdfs:label "instrument" ; rdfs:subClassOf :tool . :tool rdfs:label "tool" .
:violin rdfs:label "violin" ; rdfs:subClassOf :instrument . rdfs:subClassOf rdfs:label "subclass of" .
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who was Olof Ekman's teacher?", "Vera Holm"),
        ("Who were the pupils of Olof Ekman?", "Ida Brandt"),
        ("Whom did Olof Ekman teach?", "Ida Brandt"),
        ("What are the parts of the Singers Union?", "Harbour Choir"),
        ("Which kinds of instrument are there?", "violin"),
        ("Which instruments are there?", "violin"),
        ("What is a kind of instrument?", "violin"),
        ("What is the type of the instrument?", "tool"),
    ],
)
def test_a_predicate_is_followed_the_way_that_is_asked(
    graph_of: Callable[..., OxigraphGraph], question: str, first: str
) -> None:
    assert KnowledgeBase(graph_of(PUPILS), embedder="none").ask(question).answers[0].label == first


def test_a_predicate_that_only_goes_the_other_way_is_no_answer(graph_of: Callable[..., OxigraphGraph]) -> None:
    answer = KnowledgeBase(graph_of(PUPILS), embedder="none").ask("Who were Ida Brandt's students?")
    assert (answer.status, [gap.text for gap in answer.gaps if gap.code == "step"]) == (
        "partial",
        ["the question asks for the other way of 'teacher'"],
    )


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


def test_two_steps_to_one_kind_are_no_answer_where_only_the_kind_is_said(
    graph_of: Callable[..., OxigraphGraph],
) -> None:
    knowledge = KnowledgeBase(
        graph_of("""
            :takes rdfs:label "rangeIncludes" . :has rdfs:label "domainIncludes" . :property rdfs:label "Property" .
            :person rdfs:label "Person" . :actor a :property ; rdfs:label "actor" ; :takes :person .
            :name a :property ; rdfs:label "givenName" ; :has :person .
        """)
    )
    answer = knowledge.ask("What are the properties of Person?")
    assert (answer.status, [gap.text for gap in answer.gaps]) == ("partial", ["P2 fits the question as well as P1"])


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


@pytest.mark.parametrize(
    ("question", "first", "doubt"),
    [
        ("When was Marie Curie born?", "1867", None),
        ("When was Curie born?", "1859", "'Curie' may be"),
        ("When was Niels Bohr born?", "1922", "'Niels Bohr' may be"),
        ("Who are the authors of Optical Resonance?", "authors list", "a list of what is asked for"),
    ],
)
def test_more_of_a_name_is_meant_rather_and_less_of_one_is_a_doubt(
    graph_of: Callable[..., OxigraphGraph], question: str, first: str, doubt: str | None
) -> None:
    answer = KnowledgeBase(graph_of(PARTS_OF_NAMES), embedder="none").ask(question)
    assert answer.answers[0].label == first
    assert [gap.text for gap in answer.gaps] == [] if doubt is None else doubt in answer.gaps[0].text


MADE = """
:Film a rdfs:Class ; rdfs:label "Film" . :by rdfs:label "directed by" . :written rdfs:label "written by" .
:starred rdfs:label "starred actors" . :tags rdfs:label "has tags" . :noir rdfs:label "noir brothers" .
:made a :Film ; rdfs:label "Made" ; :by :jon ; :written :jon ; :starred :ann . :jon rdfs:label "Jon Weir" .
:reef a :Film ; rdfs:label "Reef" ; :by :una ; :written :jon ; :starred :ann ; :tags :noir .
:ann rdfs:label "Ann Lee" . :una rdfs:label "Una Holt" .
"""


@pytest.mark.parametrize(
    ("question", "doubt"),
    [
        ("Which director made the most films?", "'made' was taken for Made"),
        ("Which films did Jon Weir both write and direct?", "this asks for 'both write and direct'"),
        ("Who starred in films directed by the noir brothers?", "'starred actors' is only beside what was found"),
    ],
)
def test_what_looks_like_an_answer_is_a_doubt(
    graph_of: Callable[..., OxigraphGraph], question: str, doubt: str
) -> None:
    answer = KnowledgeBase(graph_of(MADE), embedder="none").ask(question)
    assert doubt in " ".join(gap.text for gap in answer.gaps), (answer.text, answer.gaps)


def test_a_name_is_rather_what_is_written_just_so(shared_data: Path) -> None:
    knowledge = kgsparql.open(shared_data / "schemaorg" / "graph.nt.gz", embedder="none")
    answer = knowledge.ask("How many properties does Event have?")
    assert [gap.text for gap in answer.gaps] == ["'Event' may be another than https://schema.org/event"]


SONGS = """
:track rdfs:label "track" . :length rdfs:label "length" . :artist rdfs:label "artist" . :song rdfs:label "Song" .
:band rdfs:label "Sirens (band)" . :album rdfs:label "Sirens (album)" ; :artist :band ; :track :a, :b .
:a a :song ; rdfs:label "Tidal" ; :length 200 . :b a :song ; rdfs:label "Ebb" ; :length 300 .
:other rdfs:label "Shoals" ; :artist :band ; :track :c . :c a :song ; rdfs:label "Reef" ; :length 900 .
"""


def test_what_was_computed_of_one_of_two_of_a_name_is_no_answer(graph_of: Callable[..., OxigraphGraph]) -> None:
    knowledge = KnowledgeBase(graph_of(SONGS), embedder="none")
    answer = knowledge.ask("Which is the longest song by Sirens?")
    assert (answer.status, codes(answer)) == ("partial", {"ambiguous"})
    assert "Sirens (album)" in answer.gaps[0].text
    assert "Sirens (band)" in answer.gaps[0].text
    assert knowledge.ask("Which is the longest song by Sirens (album)?").status == "answered"


def test_the_second_step_goes_the_way_that_is_asked(graph_of: Callable[..., OxigraphGraph]) -> None:
    answer = KnowledgeBase(graph_of(STAFF), embedder="none").ask("Who is the manager of the members of Data Services?")
    assert (answer.status, [own.label for own in answer.answers[:1]]) == ("answered", ["Elena Herzog"])


def test_the_end_of_a_chain_that_was_not_found_is_said(graph_of: Callable[..., OxigraphGraph]) -> None:
    knowledge = KnowledgeBase(graph_of(STAFF), embedder="none")
    whole = knowledge.ask("What is the nationality of Bob Roth's spouse?")
    assert (whole.status, whole.answers[0].label) == ("answered", "Chile")
    part = knowledge.ask("What is the nation of Bob Roth's spouse?")
    assert (part.status, part.answers[0].label, [gap.words for gap in part.gaps]) == ("partial", "Eve Roth", ["nation"])
    assert knowledge.ask("What is the name of Bob Roth's spouse?").status == "answered"
    longer = knowledge.ask("Who is the spouse of the spouse of Bob Roth's spouse?")
    text = "the question goes 3 steps, to 'spouse', and what was found goes 1"
    assert (longer.status, text in [gap.text for gap in longer.gaps]) == ("partial", True)


EXPERTS = """
:member rdfs:label "member of" . :expert rdfs:label "area of expertise" . :Person a rdfs:Class ; rdfs:label "person" .
:sales rdfs:label "Marketing" . :data rdfs:label "Data Services" . :net rdfs:label "Network" .
:kevin a :Person ; rdfs:label "Kevin Faust" ; :member :sales ; :expert :net .
:nadia a :Person ; rdfs:label "Nadia Schubert" ; :member :data ; :expert :net .
:yanka a :Person ; rdfs:label "Yanka Adam" ; :member :sales .
"""


@pytest.mark.parametrize(
    "question",
    [
        "Which person is a member of Marketing and has area of expertise Network?",
        "Which members of Marketing have area of expertise Network?",
    ],
)
def test_what_is_asked_for_has_to_do_with_all_names(graph_of: Callable[..., OxigraphGraph], question: str) -> None:
    answer = KnowledgeBase(graph_of(EXPERTS), embedder="none").ask(question)
    assert (answer.status, answer.retriever) == ("answered", "query_plan")
    assert [one.label for one in answer.answers] == ["Kevin Faust"]


LAUREATES = """
:laureates rdfs:label "Nobel laureates" . :affiliated rdfs:label "affiliated with" . :award rdfs:label "award" .
:leeds rdfs:label "Leeds Institute" ; :laureates :ida, :olof . :ida rdfs:label "Ida Brandt" ; :award :prize .
:olof rdfs:label "Olof Ekman" . :prize rdfs:label "Harbour Prize" .
"""
AFFILIATED = ":ida :affiliated :leeds . :olof :affiliated :leeds ."


@pytest.mark.parametrize(("more", "doubts"), [("", {"affiliated"}), (AFFILIATED, set())])
def test_a_predicate_that_leads_to_the_same_is_not_missed(
    graph_of: Callable[..., OxigraphGraph], more: str, doubts: set[str]
) -> None:
    answer = KnowledgeBase(graph_of(f"{LAUREATES} :vera :affiliated :other . {more}"), embedder="none").ask(
        "Which Nobel laureates were affiliated with the Leeds Institute?"
    )
    assert {one.label for one in answer.answers[:2]} == {"Ida Brandt", "Olof Ekman"}
    assert {gap.words for gap in answer.gaps if gap.code == "predicate"} == doubts


def test_of_two_questions_the_one_that_was_not_answered_is_said(ask: Ask) -> None:
    answer = ask("Who wrote The Tide and when was it released?")
    assert answer.status == "partial"
    assert answer.text.startswith("No sure answer: only a part of this is answered, and not 'when was it released'")


def test_a_predicate_that_the_entity_does_not_have_is_no_answer(ask: Ask) -> None:
    answer = ask("Who directed The Tide?")
    assert (answer.status, codes(answer)) == ("partial", {"predicate"})
    assert answer.text.splitlines()[0] == (
        "No sure answer: this graph knows 'directed by', but nothing of it was found here"
    )
    assert answer_to_json(answer)["not_understood"][0]["words"] == "directed"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Did Mira Castellan star in The Tide?", "operation"),
        ("Which actors starred in The Tide and not in Glass Orchard?", "operation"),
        ("Which films starred Mira Castellan and Tom Hanks?", "name"),
        ("Who directed Glass Orchard in 1983?", "word"),
        ("When was Glass Orchard directed?", "kind"),
        ("Which films did Vera Castellan star in?", "part_of_name"),
        ("When was Jonas Weir born?", "ambiguous"),
        ("Who was the first actor starring in The Tide?", "operation"),
    ],
)
def test_what_is_not_accounted_for_is_said(ask: Ask, question: str, code: str) -> None:
    answer = ask(question)
    assert answer.status == "partial"
    assert code in codes(answer)
    assert answer.text.startswith("No sure answer: ")


OWN_NAMES = """
:name rdfs:label "name" . :family rdfs:label "family name" .
:ida rdfs:label "Ida Brandt" ; :name "Ida Brandt" . :olof rdfs:label "Olof Ekman" ; :family "Ekman" .
"""


@pytest.mark.parametrize(
    ("question", "doubts"),
    [
        ("Who is the wife of Ida Brandt?", True),
        ("Who belongs to the family of Olof Ekman?", True),
        ("What is the name of Ida Brandt?", False),
        ("What is the family name of Olof Ekman?", False),
    ],
)
def test_what_something_is_called_is_only_an_answer_where_that_is_asked(
    graph_of: Callable[..., OxigraphGraph], question: str, doubts: bool
) -> None:
    answer = KnowledgeBase(graph_of(OWN_NAMES), embedder="none").ask(question)
    text = "what was found is only the name of what is asked about"
    assert (text in {gap.text for gap in answer.gaps}) == doubts


def test_an_entity_that_was_given_is_not_doubted(ask: Ask, graph_of: Callable[..., OxigraphGraph]) -> None:
    knowledge = KnowledgeBase(graph_of(FILMS), embedder="none")
    answer = knowledge.ask("When was Jonas Weir born?", entities=["http://example.org/other"])
    assert "ambiguous" not in codes(answer)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many films are there?", "count"), ("Who won more than two prizes?", "comparison"),
        ("Who was hired before 2015?", "comparison"), ("What is the total budget?", "total"),
        ("Which employees don't have a manager?", "negation"), ("Is Ann a chemist?", "yes or no"),
        ("Who is the youngest?", "extreme"), ("Who wrote Nothing but the Truth?", None), ("Who is Isa?", None),
    ],
)  # fmt: skip
def test_operations(question: str, kind: str | None) -> None:
    operation = operation_asked(question)
    assert (operation and operation.kind) == kind


def test_of_very_many_meanings_three_are_told(graph_of: Callable[..., OxigraphGraph]) -> None:
    people = " ".join(f':p{i} rdfs:label "Ann Weir" ; :born {1900 + i} .' for i in range(7))
    answer = KnowledgeBase(graph_of(f':born rdfs:label "birth year" . {people}'), embedder="none").ask(
        "What is the birth year of Ann Weir?"
    )
    (gap,) = (gap for gap in answer.gaps if gap.code == "ambiguous")
    assert gap.text.count(" or ") == gap.text.count("(-e http") == 3
    assert gap.text.endswith(" or 4 others")
