"""What a graph is read as, as a person sees it: kinds and relations, their names, ends, numbers and examples."""

import re

from kgsparql import KnowledgeBase
from tests.world import graph_of, open_nobel

CHOIR = """
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . :Mentor rdfs:label "mentor" .
:Choir rdfs:label "choir" . :Singer rdfs:label "singer" ; rdfs:subClassOf :Member . :Member rdfs:label "member" .
:sings rdfs:label "sings in" ; owl:inverseOf :hasSinger . :hasSinger rdfs:label "has singer" .
:leads rdfs:label "leads" ; rdfs:subPropertyOf :belongs . :belongs rdfs:label "belongs to" .
:seat a owl:TransitiveProperty ; rdfs:label "seat" . :range_hz rdfs:label "range" .
:alto a :Choir ; rdfs:label "Altona Choir" ; :seat :altona ; :hasSinger :ida . :altona rdfs:label "Altona" .
:brass a :Choir ; rdfs:label "Brass and Voice" ; :founded [ rdf:value 1951 ] . :founded rdfs:label "founded" .
:ida a :Singer ; foaf:name "Ida Holm" ; :sings :alto ; :leads :brass ; :range_hz 440.5 ; foaf:mbox <mailto:ida@e.org> .
:ole a :Singer ; foaf:name "Ole Berg" ; :sings :alto, :brass ; :belongs :brass ; :range_hz 220.0 .
:eva a :Singer ; foaf:name "Eva Lund" ; :sings :brass ; :range_hz 392.0 .
[] a :Mentor ; :from :eva ; :to :ida . [] a :Mentor ; :from :ole ; :to :ida .
"""
PUMPS = """
@prefix v: <http://e.org/c/> .
""" + "".join(f'<http://e.org/pump/{n}> v:name "pump {n}" ; v:depth_m {n}.5 ; v:well "W-{n:03}" .' for n in range(1, 9))
PREFIXES = {"": "http://example.org/", "v": "http://e.org/c/"}
VALVES = (
    """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Valve a owl:Class ; rdfs:label "valve" . :partOf a owl:ObjectProperty ; rdfs:label "part of" .
"""
    + "".join(f':V{n} a owl:Class ; rdfs:label "valve {n}" ; rdfs:subClassOf :Valve .' for n in "abcd")
    + """
:Body a owl:Class ; rdfs:label "body" .
:Va rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :partOf ; owl:someValuesFrom :Body ] .
"""
)


def lines(turtle: str) -> list[str]:
    """Describe a graph, a line for each kind and relation."""
    return str(KnowledgeBase(graph_of(turtle), embedder=None, prefixes=PREFIXES).schema()).splitlines()


def test_kinds_have_their_number_what_names_them_and_examples() -> None:
    assert [line for line in lines(CHOIR) if line.startswith("kind")] == [
        "kind      :Member ! member (3), by foaf:name: Eva Lund; Ida Holm; Ole Berg",
        "kind      :Singer ! singer (3), by foaf:name: Eva Lund; Ida Holm; Ole Berg",
        "kind      :Choir ! choir (2), by rdfs:label: Altona Choir; Brass and Voice",
    ]


def test_relations_say_from_what_to_what_and_how_they_are_stated() -> None:
    assert [line.removeprefix("relation  ") for line in lines(CHOIR) if line.startswith("relation")] == [
        ":hasSinger ! has singer (5): choir → singer; inverse of :sings; Altona Choir — has singer → Ida Holm",
        ":sings ! sings in (5): singer → choir; inverse of :hasSinger; Eva Lund — sings in → Brass and Voice",
        ":range_hz ! range (3): singer → number in hz; Eva Lund — range → 392",
        (":Mentor ! mentor (2): singer → singer; node of class :Mentor by :from and :to; Eva Lund — mentor → Ida Holm"),
        ":belongs ! belongs to (2): singer → choir; also :leads; Ida Holm — belongs to → Brass and Voice",
        ":founded ! founded (1): choir → number; node with the value by rdf:value; Brass and Voice — founded → 1951",
        ":leads ! leads (1): singer → choir; Ida Holm — leads → Brass and Voice",
        ":seat ! seat (1): choir → thing; any number of steps (+); Altona Choir — seat → Altona",
        (
            "rdfs:subClassOf ! subclass of (also: parent, broader, counts as, branch of) (1): thing → thing; "
            "any number of steps (+); singer — subclass of → member"
        ),
        (
            "foaf:mbox ! mbox (also: email, e-mail, mail address, email address) (1): singer → thing; "
            "Ida Holm — mbox → ida@e.org"
        ),
    ]


def test_where_nothing_has_a_class_kinds_are_what_things_are_called() -> None:
    assert lines(PUMPS) == [
        "kind      things with v:well ! pump (8), by v:name: pump 1; pump 2; pump 3",
        "relation  v:depth_m ! depth m (8): pump → number in m; pump 1 — depth m → 1.5",
        "relation  v:well ! well (8): pump → text; pump 1 — well → W-001",
    ]


def test_of_an_ontology_the_classes_are_the_things_and_restrictions_their_facts() -> None:
    assert lines(VALVES) == [
        "kind      :Valve ! valve (4), by rdfs:label: valve a; valve b; valve c",
        (
            "relation  rdfs:subClassOf ! subclass of (also: parent, broader, counts as, branch of) (5): valve → thing; "
            "any number of steps (+); "
            "valve a — subclass of → valve"
        ),
        "relation  :partOf ! part of (1): valve → thing; restrictions of classes; valve a — part of → body",
    ]


def test_only_the_commonest_are_described_and_it_says_how_many_more_there_are() -> None:
    many = "".join(f':k{n} a :Kind{n} ; :r{n} "x" .' for n in range(250))
    schema = KnowledgeBase(graph_of(many), embedder=None).schema()
    assert (len(schema.kinds), schema.more_kinds, len(schema.relations), schema.more_relations) == (50, 200, 200, 50)
    assert str(schema).endswith("cut       200 more kinds\ncut       50 more relations")
    short = open_nobel().schema().within(1_000)
    assert len(str(short)) <= 1_000
    assert abs(len(short.kinds) - len(short.relations)) <= 1
    whole = open_nobel().schema()
    for own, all_of in ((short.kinds, whole.kinds), (short.relations, whole.relations)):
        assert own == all_of[: len(own)]
    assert short.more_kinds == len(whole.kinds) - len(short.kinds)


def test_a_question_in_the_words_of_the_overview_is_answered() -> None:
    knowledge = open_nobel()
    for relation in knowledge.schema().relations[:12]:
        subject, _, end = relation.example.split(" — ", 1)[0], relation.label, relation.example.rsplit(" → ", 1)[1]
        found = knowledge.ask(f"What is the {relation.label} of {subject}?")
        assert end in {one.label for one in found.best}, (relation, found.text)


def test_values_that_are_keys_of_rows_of_another_table_are_told() -> None:
    rows = """
    :w1 a :Ward ; :ward_cd "SA" ; :ward_id 1 . :w2 a :Ward ; :ward_cd "BD" ; :ward_id 2 .
    :v1 a :Vet ; :init "AO" ; :height 170 . :v2 a :Vet ; :init "BN" ; :height 180 .
    :p1 a :Pet ; :ward_cd "SA" ; :resp "AO" ; :in_ward_id 1 ; :height 170 ; :sex "F" .
    :p2 a :Pet ; :ward_cd "BD" ; :resp "BN" ; :in_ward_id 2 ; :height 180 ; :sex "M" .
    :p3 a :Pet ; :ward_cd "SA" ; :resp "AO" ; :in_ward_id 1 ; :height 180 ; :sex "F" .
    """
    assert keys_told(rows) == {
        "ward_cd": "key of class :Ward by :ward_cd", "resp": "key of class :Vet by :init",
        "in_ward_id": "key of class :Ward by :ward_id",
    }  # fmt: skip
    # A value that two have is no key, nor what is a key of only some; and no column is one beside a link.
    assert "resp" not in keys_told(rows + ':v3 a :Vet ; :init "AO" .')
    assert "resp" not in keys_told(rows + ':p4 a :Pet ; :resp "XX" .')
    assert "ward_cd" not in keys_told(rows + ":p1 :ward :w1 .")


def keys_told(rows: str) -> dict[str, str]:
    """Tell, by the relation, of what its values are keys."""
    found = (re.match(r"relation  :(\w+) .*(key of class \S+ by [^;]+);", line) for line in lines(rows))
    return {one[1]: one[2] for one in found if one}
