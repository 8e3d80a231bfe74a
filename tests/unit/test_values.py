"""Numbers, dates and units as people write them, on small graphs that write theirs in several ways."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.plans.running import run
from kgsparql.reading.chunks import chunked
from kgsparql.reading.lexicon import lexicon
from tests.engines import ENGINES, engine_from_file

PREFIXES = """
@prefix e: <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
EVENTS = (
    PREFIXES
    + """
e:Concert a rdfs:Class ; rdfs:label "concert" . e:Opera a rdfs:Class ; rdfs:label "opera" .
e:visitors rdfs:label "number of visitors" . e:rating rdfs:label "rating" . e:premiere rdfs:label "premiere date" .
e:c1 a e:Concert ; rdfs:label "Spring" ; e:visitors 10000 ; e:rating 4.9 .
e:c2 a e:Concert ; rdfs:label "Summer" ; e:visitors 25 ; e:rating 5.5 .
e:c3 a e:Concert ; rdfs:label "Autumn" ; e:visitors 1500000 ; e:rating 3 .
e:o1 a e:Opera ; rdfs:label "Red Boat" ; e:premiere "1905-05-13"^^xsd:date .
e:o2 a e:Opera ; rdfs:label "Snow Song" ; e:premiere "1929"^^xsd:gYear .
e:o3 a e:Opera ; rdfs:label "Old Door" ; e:premiere "1990-05-13" .
e:o4 a e:Opera ; rdfs:label "Last Day" ; e:premiere "1898-06-05"^^xsd:date .
"""
)
PARTS = (
    PREFIXES
    + """
e:Box a rdfs:Class ; rdfs:label "box" . e:Cable a rdfs:Class ; rdfs:label "cable" .
e:widthInMm rdfs:label "width" . e:height rdfs:label "height (cm)" . e:depth rdfs:label "depth" .
e:length rdfs:label "length" . e:weight rdfs:label "weight in kilograms" . e:price rdfs:label "price" .
e:Chair a rdfs:Class ; rdfs:label "chair" . e:mass rdfs:label "weight" . e:value rdfs:label "value" .
e:unit rdfs:label "unit" . e:h1 a e:Chair ; rdfs:label "Stool" ; e:mass [ e:value 5 ; e:unit "kg" ] .
e:h2 a e:Chair ; rdfs:label "Pouf" ; e:mass [ e:value 3 ; e:unit "kg" ] .
e:b1 a e:Box ; rdfs:label "One" ; e:widthInMm 8 ; e:height 12 ; e:depth 3 ; e:weight 0.4 ; e:price 2 .
e:b2 a e:Box ; rdfs:label "Two" ; e:widthInMm 15 ; e:height 30 ; e:depth 4 ; e:weight 1.5 ; e:price 3 .
e:b3 a e:Box ; rdfs:label "Three" ; e:widthInMm 22 ; e:height 110 ; e:depth 5 ; e:weight 25 ; e:price 5 .
e:k1 a e:Cable ; rdfs:label "Long" ; e:length "2.5"^^<http://dbpedia.org/datatype/metre> .
e:k2 a e:Cable ; rdfs:label "Short" ; e:length "0.4"^^<http://dbpedia.org/datatype/metre> .
"""
)

MEETINGS = (
    PREFIXES
    + """
e:Meeting a rdfs:Class ; rdfs:label "meeting" . e:starts rdfs:label "start time" .
e:a a e:Meeting ; rdfs:label "Alpha" ; e:starts "2020-01-01T00:30:00+02:00"^^xsd:dateTime .
e:b a e:Meeting ; rdfs:label "Beta" ; e:starts "2019-12-31T23:00:00Z"^^xsd:dateTime .
e:c a e:Meeting ; rdfs:label "Gamma" ; e:starts "2020-01-01T01:00:00+02:00"^^xsd:dateTime .
e:d a e:Meeting ; rdfs:label "Delta" ; e:starts "2020-06-15T12:00:00"^^xsd:dateTime .
"""
)
COMPOSERS = (
    PREFIXES
    + """
e:Composer a rdfs:Class ; rdfs:label "composer" . e:Opera a rdfs:Class ; rdfs:label "opera" .
e:born rdfs:label "date of birth" . e:died rdfs:label "date of death" . e:premiere rdfs:label "premiere date" .
e:x a e:Composer ; rdfs:label "Ann Alder" ; e:born "1879-03-14"^^xsd:date ; e:died "1930"^^xsd:gYear .
e:y a e:Composer ; rdfs:label "Bob Birch" ; e:born "1901"^^xsd:gYear ; e:died "1980-05"^^xsd:gYearMonth .
e:z a e:Composer ; rdfs:label "Cas Cedar" ; e:born "1925-07-01" ; e:died "13 BC?" .
e:o1 a e:Opera ; rdfs:label "Red Boat" ; e:premiere "1905-05-13"^^xsd:date .
e:o2 a e:Opera ; rdfs:label "Snow Song" ; e:premiere "1929"^^xsd:gYear .
e:o3 a e:Opera ; rdfs:label "Old Door" ; e:premiere "1990-05-13" .
e:o4 a e:Opera ; rdfs:label "Last Day" ; e:premiere "1899-06-05"^^xsd:date , "1935"^^xsd:gYear .
"""
)
TURTLE = {"events": EVENTS, "parts": PARTS, "meetings": MEETINGS, "composers": COMPOSERS}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KnowledgeBase]:
    """The graphs of this file, by their names."""
    made, folder = {}, tmp_path_factory.mktemp("values")
    for name, turtle in TURTLE.items():
        file = Path(folder, f"{name}.ttl")
        file.write_text(turtle, encoding="utf-8")
        made[name] = kgsparql.open(file, embedder="none")
    return made


def labels(answer: Answer) -> str:
    return ", ".join(sorted(own.label for own in answer.best))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("had 10,000 visitors", "Spring"),  # was every concert, surely
        ("had more than twenty-five visitors", "Autumn, Spring"),
        ("had at least 1.5 million visitors", "Autumn"),
        ("had fewer than half a million visitors", "Spring, Summer"),
        ("had between two dozen and 1e4 visitors", "Spring, Summer"),
        ("have a rating between 3 and five", "Autumn, Spring"),
    ],
)
def test_numbers_are_read_as_they_are_written(graphs: dict[str, KnowledgeBase], asked: str, expected: str) -> None:
    answer = graphs["events"].ask(f"Which concerts {asked}?")
    assert (answer.status, labels(answer)) == ("answered", expected), answer.text


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("on 13.05.1990", "Old Door"),
        ("on May 13, 1990", "Old Door"),
        ("in or before 1905", "Last Day, Red Boat"),
        ("from 1905 to the 1920s", "Red Boat, Snow Song"),
        ("in the 19th century", "Last Day"),
        ("after the 1920s", "Old Door"),  # was after 1920
    ],
)
def test_dates_are_read_as_they_are_written(graphs: dict[str, KnowledgeBase], asked: str, expected: str) -> None:
    answer = graphs["events"].ask(f"Which operas premiered {asked}?")
    assert (answer.status, labels(answer)) == ("answered", expected), answer.text


def test_a_date_that_may_be_two_days_is_doubted(graphs: dict[str, KnowledgeBase]) -> None:
    for asked in ("on 05/06/1898", "between 05/06/1898 and 1900"):
        answer = graphs["events"].ask(f"Which operas premiered {asked}?")
        why = "'05/06/1898' may be 1898-06-05 or 1898-05-06: write the one that you mean"
        assert (answer.status, [gap.text for gap in answer.gaps]) == ("partial", [why])
        sure = graphs["events"].ask(f"Which operas premiered {asked.replace('05/06/1898', '1898-06-05')}?")
        assert (sure.status, labels(sure)) == ("answered", "Last Day")


@pytest.mark.parametrize("question", [
    "Wer wurde am 7/11/1867 geboren?", "Qui est né le 07/11/1867 ?", "¿Quién nació el 07-11-1867?",
])  # fmt: skip
def test_where_the_day_is_always_first_a_date_is_no_doubt(nobel: KnowledgeBase, question: str) -> None:
    answer = nobel.ask(question)
    assert (answer.status, labels(answer)) == ("answered", "Marie Curie")


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Which operas premiered on 30 February 1990?", "there is no such date as '30 February 1990'"),
        ("Which operas premiered before 1990-13-45?", "there is no such date as '1990-13-45'"),
        ("Which concerts had fewer than 1e999 visitors?", "'1e999' has more digits than can be compared"),
        ("Which concerts have a rating between 10 and 5?", "'10 and 5' ends before it begins"),
        ("Which are the top 0 concerts by rating?", "'top' 0 asks for nothing: the number is 1 or more"),
    ],
)
def test_what_cannot_be_has_no_answer_and_says_why(graphs: dict[str, KnowledgeBase], question: str, why: str) -> None:
    answer = graphs["events"].ask(question)
    assert answer.status in {"not_in_graph", "no_entity"}
    assert (answer.answers, [gap.text for gap in answer.gaps]) == ((), [why])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("boxes are wider than 1 cm", "Three, Two"),
        ("boxes have a height of at least 0.3 m", "Three, Two"),
        ("boxes are at least 300mm tall", "Three, Two"),
        ("boxes have a weight between 300 g and 2 kg", "One, Two"),
        ("cables are longer than 50 centimetres", "Long"),
        ("chairs weigh more than 4000 g", "Stool"),
    ],
)
def test_units_are_converted_where_the_graph_states_one(
    graphs: dict[str, KnowledgeBase], asked: str, expected: str
) -> None:
    answer = graphs["parts"].ask(f"Which {asked}?")
    assert (answer.status, labels(answer)) == ("answered", expected), answer.text


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("are deeper than 4 cm", "the graph does not say that the values are in cm, and nothing was converted"),
        ("are taller than 3 hours", "the values are in cm, into which h is not converted"),
        ("have a height above 5 florps", "the values are in cm, into which florps is not converted"),
    ],
)
def test_units_that_cannot_be_converted_are_told(graphs: dict[str, KnowledgeBase], asked: str, why: str) -> None:
    answer = graphs["parts"].ask(f"Which boxes {asked}?")
    assert (answer.status, answer.gaps[0].text) == ("partial", why)


def test_signs_of_numbers_and_dates_are_those_of_the_language() -> None:
    german = replace(lexicon(), decimal_sign=",", grouping_sign=".", date_orders={".": "day", "/": "day"})
    found = chunked("5,5 and 10.000 and 1.234,5 on 05.06.1990 or 05/13/1990", None, german).chunks
    assert [str(one.number or (one.date and one.date.value)) for one in found] == [
        "5.5", "10000.0", "1234.5", "1990-06-05", "None",
    ]  # fmt: skip
    assert not chunked("10,5", None).chunks, "no English number"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("start before 2020-01-01T00:00:00Z", "Alpha, Beta, Gamma"),
        ("start at 2020-01-01T00:00+01:00", "Beta, Gamma"),
        ("start before Beta starts", "Alpha"),
        ("start after Gamma", "Delta"),
        ("start in 2020", "Alpha, Delta, Gamma"),  # as it is written where they are
        ("start first", "Alpha"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_times_with_zones_are_compared_as_instants(
    graphs: dict[str, KnowledgeBase], tmp_path: Path, engine: str, asked: str, expected: str
) -> None:
    answer = graphs["meetings"].ask(f"Which meetings {asked}?")
    assert (answer.status, labels(answer)) == ("answered", expected), answer.text
    assert answer.computed is not None
    file = tmp_path / "meetings.ttl"
    file.write_text(MEETINGS, encoding="utf-8")
    again = run(answer.computed.plan, engine_from_file(engine, file))
    assert (again.rows, again.is_confirmed) == (answer.computed.rows, True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which operas premiered before Ann Alder died?", "Last Day, Red Boat, Snow Song"),
        ("Which operas premiered after Bob Birch was born and before Snow Song?", "Red Boat"),
        ("Which composers were born before Bob Birch?", "Ann Alder"),
        ("Who was born after Ann Alder was born?", "Bob Birch, Cas Cedar"),
        ("List the operas of 1905", "Red Boat"),  # was all operas, surely, as with "Which 1929 operas are there?"
        ("Which operas premiered between 1900 and 1930?", "Red Boat, Snow Song"),  # Last Day was before and after
    ],
)
def test_years_and_dates_are_compared_with_each_other(
    graphs: dict[str, KnowledgeBase], question: str, expected: str
) -> None:
    answer = graphs["composers"].ask(question)
    assert (answer.status, labels(answer)) == ("answered", expected), answer.text


@pytest.mark.parametrize(
    ("question", "value", "why"),
    [
        (
            "Was Bob Birch born on 3 May 1901?",
            "false",
            "1 of the values of date of birth are less precise than what is asked",
        ),
        (
            "Which composers died before 1950?",
            "Ann Alder",
            "1 of the values of date of death (year) cannot be read as a date",
        ),
        ("Was Bob Birch's date of birth in the 1900s?", "true", "'1900s' may be the years until 1909 or until 1999"),
    ],
)
def test_dates_that_say_too_little_or_are_none_are_told(
    graphs: dict[str, KnowledgeBase], question: str, value: str, why: str
) -> None:
    answer = graphs["composers"].ask(question)
    assert (answer.status, answer.value.value if answer.value else labels(answer)) == ("partial", value)
    assert answer.gaps[0].text.startswith(why)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Is the rating of Spring above 4.5?", "true"),
        ("Is Spring's rating higher than 4?", "true"),  # was surely no: it has one rating
        ("Is the rating of Spring between 2 and 4?", "false"),
        ("Was the premiere date of Red Boat before 1905?", "false"),
    ],
)
def test_a_value_that_is_named_is_compared(graphs: dict[str, KnowledgeBase], question: str, value: str) -> None:
    answer = graphs["events"].ask(question)
    assert (answer.status, answer.value and answer.value.value) == ("answered", value)
