"""Ages, and what was before what, by the dates of things."""

import pytest
import rdflib

from tests.world import PREFIXES, known

BATTLES = """
:Battle a rdfs:Class ; rdfs:label "battle" . :Person a rdfs:Class ; rdfs:label "person" .
:Term a rdfs:Class ; rdfs:label "term" . :date rdfs:label "date" . :place rdfs:label "place" .
:born rdfs:label "born" . :died rdfs:label "died" . :age rdfs:label "age" .
:mayor rdfs:label "mayor" . :town rdfs:label "town" . :from rdfs:label "from" . :until rdfs:label "until" .
:velk a :Battle ; rdfs:label "Battle of Velk" ; :date "1410-07-15"^^xsd:date ; :place :belm .
:sorn a :Battle ; rdfs:label "Battle of Sorn" ; :date "1420-03-01"^^xsd:date ; :place :belm .
:tarn a :Battle ; rdfs:label "Battle of Tarn" ; :date "1390-09-09"^^xsd:date .
:ulm a :Battle ; rdfs:label "Battle of Ulm Hill" ; :date "1420"^^xsd:gYear .
:belm rdfs:label "Belm" . :bob a :Person ; rdfs:label "Bob Hay" ; :age 34 .
:cy a :Person ; rdfs:label "Cy Dunn" ; :born "1950-02-01"^^xsd:date ; :died "2010-03-01"^^xsd:date .
:ann a :Person ; rdfs:label "Ann Lee" ; :born "1960-05-04"^^xsd:date . :zed a :Person ; rdfs:label "Zed Pratt" .
:kit a :Person ; rdfs:label "Kit Orr" ; :died "1999-12-31"^^xsd:date .
:t1 a :Term ; :town :belm ; :mayor :kit ; :from "1978-01-01"^^xsd:date ; :until "1988-12-31"^^xsd:date .
:t2 a :Term ; :town :belm ; :mayor :cy ; :from "1989-01-01"^^xsd:date ; :until "1999-12-31"^^xsd:date .
:t4 a :Term ; :town :arn ; :mayor :kit ; :from "1960-01-01"^^xsd:date ; :until "1961-12-31"^^xsd:date .
:t5 a :Term ; :town :arn ; :mayor :ann ; :from "1985-01-01"^^xsd:date ; :until "1986-12-31"^^xsd:date .
:t6 a :Term ; :town :arn ; :mayor :ann ; :from "1990-01-01"^^xsd:date ; :until "1991-12-31"^^xsd:date .
:arn rdfs:label "Arnsby" . :t3 a :Term ; :town :belm ; :mayor :ann ; :from "2000-01-01"^^xsd:date .
"""


@pytest.mark.parametrize(("question", "gold"), [
    ("How old was Ann Lee in 1995?", "35"),
    ("How old was Ann Lee on 3 May 1990?", "29"),
    ("How old was Cy Dunn when he died?", "60"),
    ("At what age did Cy Dunn die?", "60"),
    ("How old was Ann Lee when Cy Dunn died?", "49"),
    ("How old was Cy Dunn when he became mayor of Belm?", "38"),
    ("How old is Bob Hay?", "34"),
    ("Wie alt war Cy Dunn, als er starb?", "60"),
    ("Quel âge avait Ann Lee en 1995 ?", "35"),
    ("¿Qué edad tenía Ann Lee en 1995?", "35"),
    ("Was the Battle of Velk before the Battle of Sorn?", "true"),
    ("Did the Battle of Tarn happen after the Battle of Velk?", "false"),
    ("Which battles took place before the Battle of Velk?", "Battle of Tarn"),
    ("What was the last battle before the Battle of Ulm Hill?", "Battle of Velk"),
    ("List the battles at Belm in chronological order.", "Battle of Velk; Battle of Sorn"),
    ("List the mayors of Belm in order.", "Kit Orr; Cy Dunn; Ann Lee"),
    ("When Cy Dunn died, who was mayor of Belm?", "Ann Lee"),
    ("Which mayors of Belm died before 2005?", "Kit Orr"),
    ("How many mayors did Belm have before Ann Lee?", "2"),
    ("Who became mayor of Belm in the 1980s?", "Cy Dunn"),
    # what dates do not tell is no sure answer
    ("How old is Cy Dunn?", None),  # who is no more
    ("How old was Cy Dunn in 2015?", None),
    ("How old was Ann Lee in 1950?", None),
    ("How old was Zed Pratt in 1995?", None),
    ("How old was Cy Dunn when he was mayor of Belm?", None),  # for years
    ("How old was Ann Lee when she became mayor of Arnsby?", None),  # twice
    ("Was the Battle of Ulm Hill before the Battle of Sorn?", None),  # in the same year, and no day is known
    ("What was the last battle before the Battle of Sorn?", None),
    ("Who was mayor of Belm when Zed Pratt was born?", None),
    ("Which mayors of Belm served less than 11 years?", None),
    ("How old was Bob Hay in 1995?", None),  # his age is stated, and not of when
])  # fmt: skip
def test_what_is_computed_of_dates(question, gold):
    answer = known(BATTLES).ask(question)
    assert answer.sure is (gold is not None), answer.text
    said = answer.value.value if answer.value is not None else "; ".join(one.label for one in answer.best)
    assert gold in {None, said}, answer.text
    assert gold is None or all(one.verified for item in answer.evidence for one in item.triples)


def test_an_age_cites_both_dates():
    answer = known(BATTLES).ask("How old was Cy Dunn when he became mayor of Belm?")
    cited = {str(one.triple.object) for item in answer.evidence for one in item.triples}
    assert any("1950-02-01" in text for text in cited), cited
    assert any("1989-01-01" in text for text in cited), cited


def test_rdflib_counts_the_same_years():
    answer = known(BATTLES).ask("How old was Cy Dunn when he became mayor of Belm?")
    with_facts = rdflib.Graph().parse(data=PREFIXES + BATTLES, format="turtle")
    (row,) = with_facts.query(answer.evidence["Q1"].query.text)
    assert [int(value) for value in row] == [38]


MEMBERS = """
:Member a rdfs:Class ; rdfs:label "member" . :from rdfs:label "from" . :until rdfs:label "until" .
:ann rdfs:label "Ann Lee" ; a :Member {| :from "1990"^^xsd:gYear ; :until "1999"^^xsd:gYear |} .
:cy rdfs:label "Cy Dunn" ; a :Member {| :from "1995"^^xsd:gYear |} .
"""


@pytest.mark.parametrize(("question", "gold"), [
    ("Who was a member in 1997?", {"Ann Lee", "Cy Dunn"}), ("Which members are there?", {"Cy Dunn"}),
    ("Is Ann Lee a member?", {"false"}),
])  # fmt: skip
def test_what_is_of_a_class_for_a_time_is_not_of_it_after(question, gold):
    answer = known(MEMBERS).ask(question)
    said = {answer.value.value} if answer.value is not None else {one.label for one in answer.best}
    assert answer.sure, answer.text
    assert said == gold, answer.text
