"""Numbers with units, things that are deprecated, values that nobody knows, named graphs that differ."""

import pytest

from kgsparql import KnowledgeBase
from kgsparql.schema.amounts import Amounts, amounts_of
from tests.world import ex, known

PREFIXES = """
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix schema: <http://schema.org/> .
@prefix qudt: <http://qudt.org/schema/qudt/> . @prefix unit: <http://qudt.org/vocab/unit/> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix adms: <http://www.w3.org/ns/adms#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
"""
BOATS = """
:Boat a owl:Class ; rdfs:label "boat" . :length rdfs:label "length" . :draught rdfs:label "draught" .
:weight rdfs:label "weight" . :cruise rdfs:label "cruise" . :Hull a owl:Class ; rdfs:label "hull" .
:mast rdfs:label "mast height" ; qudt:unit unit:M .
:a a :Boat ; rdfs:label "Auk" ; :length [ a qudt:QuantityValue ; qudt:numericValue 12 ; qudt:unit unit:M ] ;
  :draught [ schema:value 90 ; schema:unitText "cm" ] ; :weight "9 t" ; :mast 20 ; :cruise 14 ; :cruise_unit "km/h" .
:b a :Boat ; rdfs:label "Brant" ; :length [ a qudt:QuantityValue ; qudt:numericValue 36 ; qudt:unit unit:FT ] ;
  :draught [ schema:value 2 ; schema:unitCode "MTR" ] ; :weight "7500 kg" ; :mast 30 ; :cruise 10 ; :cruise_unit "mph" .
:c a :Boat ; rdfs:label "Coot" ; :length [ a qudt:QuantityValue ; qudt:numericValue 1500 ; qudt:unit unit:CentiM ] ;
  :draught [ schema:value 4 ; schema:unitText "ft" ] ; :weight "19000 lb" ; :mast 25 ; :cruise 9 ; :cruise_unit "mph" .
:d a :Boat ; rdfs:label "Dunlin" ; :length [ a qudt:QuantityValue ; qudt:numericValue 8 ; qudt:unit unit:M ] .
"""
LOADS = """
:Load a owl:Class ; rdfs:label "load" . :size rdfs:label "amount" .
:a a :Load ; rdfs:label "Load Ash" ; :size [ :value 40 ; :unit "crates" ] .
:b a :Load ; rdfs:label "Load Elm" ; :size [ :value 9 ; :unit "barrels" ] .
"""
KITES = """
:Kite a owl:Class ; rdfs:label "kite" . :span rdfs:label "span" .
:a a :Kite ; rdfs:label "Kite Ash" ; :span "80"^^unit:CentiM .
:b a :Kite ; rdfs:label "Kite Elm" ; :span "2"^^unit:M .
:c a :Kite ; rdfs:label "Kite Fir" ; :span "5"^^unit:FT .
"""
WORDS = """
:Word a owl:Class ; rdfs:label "word" . :part rdfs:label "kept in" . :maker rdfs:label "maker" .
:list a skos:ConceptScheme ; rdfs:label "Harbour list" .
:a a :Word ; rdfs:label "Quay" ; :part :list ; :maker :m1 ; skos:definition "Where ships lie." .
:b a :Word ; rdfs:label "Wharf" ; :part :list ; owl:deprecated true ; dcterms:isReplacedBy :a ; :maker :m1 .
:c a :Word ; rdfs:label "Staithe" ; :part :list ; adms:status <http://purl.org/adms/status/Withdrawn> ; :maker :m2 .
:d a :Word ; rdfs:label "Buoy" ; :part :list ; skos:definition "A float." ;
  :maker <http://www.wikidata.org/.well-known/genid/0a1b2c> , <http://www.wikidata.org/.well-known/genid/0a1b2d> .
:e a :Word ; rdfs:label "Quay" ; skos:definition "An old word for key." ; owl:deprecated true .
:m1 rdfs:label "Ida Moss" . :m2 rdfs:label "Ben Rusk" .
"""
POOLS = """
:a a :Pool ; rdfs:label "Alder" ; :open true . :b a :Pool ; rdfs:label "Birch" ; :open "unknown" .
:c a :Pool ; rdfs:label "Cedar" ; :open false . :Pool rdfs:label "pool" . :open rdfs:label "is open" .
"""
SHOPS = """
:Shop a owl:Class ; rdfs:label "shop" . :opens rdfs:label "opens at" . :shuts rdfs:label "closes at" .
:keeper rdfs:label "keeper" . :area rdfs:label "floor area" . :lit rdfs:label "lit" .
:a a :Shop ; rdfs:label "Ash" ; :opens "09:00:00"^^xsd:time ; :shuts "13:00:00"^^xsd:time ; :keeper [] ;
  :area [ schema:value 900 ; schema:unitText "m2" ] ; :lit true .
:b a :Shop ; rdfs:label "Elm" ; :opens "06:30:00"^^xsd:time ; :shuts "20:00:00"^^xsd:time ; :lit false ;
  :keeper <http://e.org/.well-known/genid/7f> ; :area "0.5 ha" .
"""
REPORTS = """
:Port a owl:Class ; rdfs:label "port" . :ships rdfs:label "number of ships" . :head rdfs:label "harbour master" .
:r1 rdfs:label "Port Survey 2001" ; prov:wasDerivedFrom :sheets . :sheets rdfs:label "Paper sheets" .
:r2 rdfs:label "Port Survey 2011" .
:same owl:sameAs :d .
:r1 { :d a :Port ; rdfs:label "Dale" ; :ships 40 ; :head :k . :n a :Port ; rdfs:label "Ness" ; :ships 70 . }
:r2 { :same a :Port ; rdfs:label "Dale" . :n a :Port ; rdfs:label "Ness" ; :ships 55 ; :head :k .
      :d a :Port ; :ships 60 . :k rdfs:label "Ola Berg" . }
"""


def _known(*graphs: str) -> KnowledgeBase:
    return known("".join([PREFIXES, *graphs]))


def _said(graph: str, question: str) -> str:
    """Return what is answered, and ``?`` before it where it is in doubt."""
    answer = _known(graph).ask(question)
    best = "; ".join(sorted(one.shown for one in answer.best)) if answer.is_ranked else answer.text.partition(" [")[0]
    listed = "; ".join(sorted(best.partition("\n")[0].strip().split("; ")))
    return "?" * (answer.status != "answered") + listed


@pytest.mark.parametrize(("graph", "question", "said"), [
    (POOLS, "Which pools are open?", "Alder"), (POOLS, "Which pools are closed?", "Cedar"),
    (POOLS, "Is Birch open?", "?No sure answer: this graph knows 'is open', but nothing of it was found here"),
    (SHOPS, "Which shops are open at 19:00?", "Elm"),
    (SHOPS, "Which shops are closed at 19:00?", "Ash"), (SHOPS, "Is Ash open at 10 in the morning?", "yes"),
    (SHOPS, "Is Ash open at 14:00?", "no in this graph"), (SHOPS, "Which shops are open before 7 am?", "Elm"),
    (SHOPS, "Which shop opens earliest?", "Elm"), (SHOPS, "When does Ash close?", "13:00:00"),
    (SHOPS, "Who is the keeper of Ash?", "unknown"), (SHOPS, "Who is the keeper of Elm?", "unknown"),
    (SHOPS, "Which shop is the largest?", "Elm"), (SHOPS, "Which shops have a larger floor area than Ash?", "Elm"),
    (SHOPS, "What area do all the shops have together?", "5900 m²"), (SHOPS, "Which lit shops are there?", "Ash"),
    (BOATS, "Which boat is the longest?", "Coot"), (BOATS, "Which boats are longer than 11 metres?", "Auk; Coot"),
    (BOATS, "Which boats are longer than 40 feet?", "Coot"), (BOATS, "Is Auk longer than Brant?", "yes"),
    (BOATS, "What is the average length of the boats?", "11.4932 m"),
    (BOATS, "What is the total length of the boats in feet?", "150.829396 ft"),
    (BOATS, "What is the length of Brant?", "36 ft"), (BOATS, "What is the length of Brant in metres?", "10.9728 m"),
    (BOATS, "How many metres long is Brant?", "10.9728 m"), (BOATS, "Which boat has the greatest draught?", "Brant"),
    (BOATS, "Which boat is the heaviest?", "Auk"), (BOATS, "Which boats weigh more than 8 tonnes?", "Auk; Coot"),
    (BOATS, "Does Brant weigh more than a tonne?", "yes"), (BOATS, "Which boat has the highest cruise?", "Brant"),
    (BOATS, "Which boats have a mast height of more than 80 feet?", "Brant; Coot"),
    (KITES, "Which kite has the greatest span?", "Kite Elm"),
    (KITES, "How many kites have a span of more than 1 m?", "2"),
    # what cannot be converted is doubted
    (LOADS, "Which load has the largest amount?", None), (LOADS, "What is the total amount of the loads?", None),
    (BOATS, "Which boats are longer than 11 kg?", None),
    (BOATS.replace(" 8 ; qudt:unit unit:M", " 8"), "Which boat is the shortest?", None),
])  # fmt: skip
def test_numbers_in_several_units_are_compared_in_one(graph: str, question: str, said: str | None) -> None:
    found = _said(graph, question)
    assert found.startswith("?") if said is None else found == said


def test_the_unit_of_each_number_is_read_of_the_graph() -> None:
    found, valued = amounts_of(_known(BOATS, KITES).graph)
    of = {one.value.rpartition("/")[2]: own for one, own in found.items()}
    assert {name: own.sign for name, own in of.items()} == {
        "length": "m", "draught": "m", "weight": "kg", "mast": "m", "cruise": "mph", "span": "m",
    }  # fmt: skip
    assert of["mast"] == Amounts("m", {}, is_mixed=False)
    assert of["weight"].is_text
    assert not of["span"].beside
    assert {one.value.rpartition("/")[2] for one in valued} == {"length", "draught"}


@pytest.mark.parametrize(("question", "said"), [
    ("How many words are kept in the Harbour list?", "2"), ("Which words are kept in the Harbour list?", "Buoy; Quay"),
    ("Which words are deprecated?", "Quay; Staithe; Wharf"), ("Which words are not deprecated?", "Buoy; Quay"),
    ("What was Wharf replaced with?", "Quay"), ("Is Wharf deprecated?", "yes"),
    ("Is Buoy deprecated?", "no in this graph"), ("What is the definition of Quay?", "Where ships lie."),
    ("Who is the maker of Wharf?", "Ida Moss"), ("Who is the maker of Buoy?", "unknown; unknown"),
    ("How many makers does Buoy have?", "?"),
])  # fmt: skip
def test_what_is_deprecated_or_unknown_is_told(question: str, said: str) -> None:
    found = _said(WORDS, question)
    assert found[:1] == said if said == "?" else found == said


def test_what_is_left_out_is_counted() -> None:
    text = _known(WORDS).ask("How many words are kept in the Harbour list?").text
    assert text == "2 [Q1]\n(counted: words kept in Harbour list; 2 deprecated left out)"


@pytest.mark.parametrize(("question", "said"), [
    ("What is the number of ships of Ness?",
     "55 (Port Survey 2011); 70 (Port Survey 2001 [was derived from Paper sheets])"),
    ("What is the number of ships of Ness according to the Port Survey 2011?", "55"),
    ("According to the 2001 port survey, which port has the largest number of ships?", "Ness"),
    ("Which port has the largest number of ships in the Port Survey 2011?", "Dale"),
    ("Which ports have a number of ships above 60?",
     "?No sure answer: 55 (Port Survey 2011) fits the question as well as 70 (Port Survey 2001"),
    ("Which ports have a number of ships above 30?", "Dale; Ness"), ("How many ports are there?", "2"),
    ("What was the Port Survey 2001 derived from?", "Paper sheets"),
])  # fmt: skip
def test_named_graphs_are_told_apart(question: str, said: str) -> None:
    assert _said(REPORTS, question) == said


def test_an_answer_of_one_named_graph_says_so() -> None:
    question = "What is the number of ships of Ness according to the Port Survey 2011?"
    answer = _known(REPORTS).ask(question)
    assert answer.question == question
    assert any("only what Port Survey 2011 says was asked" in note for note in answer.notes)
    assert _known(REPORTS).graph.part(ex("r2")) is not None
    assert {cited.triple.object.value for item in answer.evidence[:1] for cited in item.triples} == {"55"}
