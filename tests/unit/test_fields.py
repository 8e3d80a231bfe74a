"""Tables that are asked for by their fields: several of each thing, how many of something, several numbers of all."""

from pathlib import Path

import pytest

import kgsparql
from tests.world import known

CLUBS = """
@base <http://example.org/> .
@prefix c: <http://example.org/club#> . @prefix m: <http://example.org/member#> .
@prefix j: <http://example.org/club_member#> . @prefix b: <http://example.org/> .
c:name rdfs:label "name" . c:town rdfs:label "town" .
c:club_id rdfs:label "club id" . c:founded rdfs:label "founding year" .
m:name rdfs:label "name" . m:age rdfs:label "age" . m:member_id rdfs:label "member id" . m:rating rdfs:label "rating" .
b:club rdfs:label "club" . b:member rdfs:label "member" . b:club_member rdfs:label "club member" .
<club/club_id=1> a b:club ; c:club_id 1 ; c:name "Rooks" ; c:town "Bexley" ; c:founded 1990 .
<club/club_id=2> a b:club ; c:club_id 2 ; c:name "Knights" ; c:town "Corrin" ; c:founded 2004 .
<club/club_id=3> a b:club ; c:club_id 3 ; c:name "Pawns" ; c:town "Corrin" ; c:founded 2010 .
<member/member_id=7> a b:member ; m:member_id 7 ; m:name "Ada" ; m:age 30 ; m:rating 5 .
<member/member_id=8> a b:member ; m:member_id 8 ; m:name "Ben" ; m:age 41 ; m:rating 9 .
<member/member_id=9> a b:member ; m:member_id 9 ; m:name "Cyd" ; m:age 19 ; m:rating 7 .
<club_member/club_id=1;member_id=7> a b:club_member ; j:club_id 1 ; j:member_id 7 ;
  j:ref-club_id <club/club_id=1> ; j:ref-member_id <member/member_id=7> .
<club_member/club_id=1;member_id=8> a b:club_member ; j:club_id 1 ; j:member_id 8 ;
  j:ref-club_id <club/club_id=1> ; j:ref-member_id <member/member_id=8> .
<club_member/club_id=2;member_id=9> a b:club_member ; j:club_id 2 ; j:member_id 9 ;
  j:ref-club_id <club/club_id=2> ; j:ref-member_id <member/member_id=9> .
"""


def _rows(question: str) -> list[str] | str:
    """Return the rows of the table that is answered, in their order, or the doubt."""
    answer = known(CLUBS).ask(question)
    if answer.status != "answered":
        return answer.text.partition("\n")[0]
    return answer.text.partition(" [Q1]")[0].split("; ")


@pytest.mark.parametrize(("question", "rows"), [
    ("What are the names and towns of all clubs?", ["Knights | Corrin", "Pawns | Corrin", "Rooks | Bexley"]),
    ("Show the name, town and founding year for every club.",
     ["Knights | Corrin | 2004", "Pawns | Corrin | 2010", "Rooks | Bexley | 1990"]),
    ("What are the ids and names of the clubs founded after 2000?", ["2 | Knights", "3 | Pawns"]),
    ("List club names and number of members for each club.", ["Knights | 1", "Pawns | 0", "Rooks | 2"]),
    ("Show all towns and the number of clubs in each town.", ["Bexley | 1", "Corrin | 2"]),
    ("Show the town of all clubs and the number of members in each club.", ["Bexley | 2", "Corrin | 0", "Corrin | 1"]),
    ("What are the ids of the members?", ["7", "8", "9"]),
    ("What are the average, minimum and maximum age of all members?", ["30 | 19 | 41"]),
    ("What are the names and ages of the members, sorted descending by age?", ["Ada | 30", "Ben | 41", "Cyd | 19"]),
    ("Which towns have several clubs?", ["Corrin"]), ("Which towns do multiple clubs have?", ["Corrin"]),
    ("Which clubs have the letter n in their town?", ["Knights", "Pawns"]),
    ("List the names of the members ordered by their names.", ["Ada", "Ben", "Cyd"]),
])  # fmt: skip
def test_fields_of_things_are_a_table(question: str, rows: list[str]) -> None:
    assert sorted(_rows(question)) == rows


@pytest.mark.parametrize(("question", "rows"), [
    ("What are the names of the members ordered by rating?", ["Ada", "Cyd", "Ben"]),
    ("List the names of the members from the oldest to the youngest", ["Ben", "Ada", "Cyd"]),
    ("List the names and ratings of the members, from young to old", ["Cyd | 7", "Ada | 5", "Ben | 9"]),
    ("Find the name and rating of the members older than 20, and sort by their age from old to young.",
     ["Ben | 9", "Ada | 5"]),
    ("Show the names of all clubs, from high to low founding year", ["Pawns", "Knights", "Rooks"]),
    ("What are the names of the clubs in alphabetical order?", ["Knights", "Pawns", "Rooks"]),
    ("List the names and towns of the clubs in reverse alphabetical order of name",
     ["Rooks | Bexley", "Pawns | Corrin", "Knights | Corrin"]),
    ("What are the different towns, and how many clubs are there in each?", ["Corrin | 2", "Bexley | 1"]),
    ("Show club ids, club names and club towns for all clubs",
     ["1 | Rooks | Bexley", "2 | Knights | Corrin", "3 | Pawns | Corrin"]),
    ("What is the average rating of members for each age?", ["41 | 9", "19 | 7", "30 | 5"]),
    ("What is the highest rating and its member?", ["Ben | 9"]),
    ("How many different club towns are there?", ["2"]),
    ("How many different ratings do the members have?", ["3"]),
    ("List the clubs with the number of members, from most to least", ["Rooks | 2", "Knights | 1", "Pawns | 0"]),
    ("What is the lowest and highest rating of the members older than 20?", ["5 | 9"]),
])  # fmt: skip
def test_rows_are_in_the_order_of_what_is_a_column_or_none(question: str, rows: list[str]) -> None:
    assert _rows(question) == rows


@pytest.mark.parametrize("question", [
    "List the clubs in reverse alphabetical order", "List the clubs in descending order of rainfall",
    "List the towns of the clubs in order of club age", "List the clubs ordered by town and then by founding year",
    "List the ages of the members in alphabetical order of name", "List the clubs from old to young",
    "What are the towns and how many clubs are there for each founding year?",
    "List the members and their rating, in descending order of rating and then in alphabetical order",
    "What is the lowest rating of the members and their names?",
])  # fmt: skip
def test_an_order_that_no_row_can_be_in_or_a_number_of_some_is_a_doubt(question: str) -> None:
    assert str(_rows(question)).startswith("No sure answer")


def test_a_bare_year_is_when_something_was_made_and_no_other_date_is() -> None:
    cars = """
    :Car rdfs:label "car" . :year rdfs:label "year" . :sold rdfs:label "year of sale" .
    :a a :Car ; rdfs:label "Auk" ; :year 1980 ; :sold 1981 . :b a :Car ; rdfs:label "Bee" ; :year 1981 ; :sold 1983 ."""
    made = known(cars).ask("How many cars were produced in 1980?")
    assert (made.text.partition(" ")[0], made.sure) == ("1", True)
    assert not known(cars).ask("How many cars were scrapped in 1980?").sure


def test_an_adjective_may_be_a_country(tmp_path: Path) -> None:
    people = """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Singer rdfs:label "singer" . :country rdfs:label "country" .
    :a a :Singer ; rdfs:label "Ada" ; :country "France" . :b a :Singer ; rdfs:label "Ben" ; :country "USA" ."""
    (tmp_path / "people.ttl").write_text(people, encoding="utf-8")
    with kgsparql.open(tmp_path / "people.ttl", embedder="none", note=lambda text: None) as knowledge:
        answers = [knowledge.ask(f"Which singers are {country}?") for country in ("French", "American", "Polish")]
        (tmp_path / "people.ttl").write_text(people.replace('"country"', '"tour country"'), encoding="utf-8")
        knowledge.refresh()
        assert not knowledge.ask("Which singers are French?").sure, "whose tour leads there"
    assert [[one.label for one in answer.best] for answer in answers[:2]] == [["Ada"], ["Ben"]]
    assert [answer.sure for answer in answers] == [True, True, False]
