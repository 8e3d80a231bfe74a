"""Codes are text, found whole, and their zeros count; years and numbers that are written as text stay numbers."""

import pytest

from tests.world import known

FLEET = """
:Tram a rdfs:Class ; rdfs:label "tram"@en . :Driver a rdfs:Class ; rdfs:label "driver"@en .
:fleetNo rdfs:label "fleet number" . :badge rdfs:label "badge number" . :built rdfs:label "year built" .
:seats rdfs:label "seats" . :length rdfs:label "length" . :drives rdfs:label "drives" . :depot rdfs:label "depot" .
:t1 a :Tram ; rdfs:label "Gull" ; :fleetNo "T.4/017" ; :built "1961" ; :seats "40" ; :length "12.5" ; :depot "Ost 7" .
:t2 a :Tram ; rdfs:label "Rook" ; :fleetNo "T.4/18" ; :built "1988" ; :seats "52" ; :length "9" ; :depot "Ost 7" .
:t3 a :Tram ; rdfs:label "Wren" ; :fleetNo "KL-300" ; :built "2004" ; :seats "36" ; :length "20" ; :depot "West" .
:d1 a :Driver ; rdfs:label "Pia Sund" ; :badge "0071" ; :drives :t1 , :t3 .
:d2 a :Driver ; rdfs:label "Leo Vang" ; :badge "71" ; :drives :t2 .
:d3 a :Driver ; rdfs:label "Ada Roe" ; :badge "510" .
"""


@pytest.mark.parametrize(("question", "answers"), [
    ("What is KL-300?", ["Wren"]),
    ("What is T.4/017?", ["Gull"]),
    ("Was ist T.4/017?", ["Gull"]),
    ("Which tram has the fleet number T.4/017?", ["Gull"]),
    ("What is the length of KL-300?", ["20"]),
    ("Who drives T.4/18?", ["Leo Vang"]),
    ("Who has the badge number 0071?", ["Pia Sund"]),
    ("Who has the badge number 71?", ["Leo Vang"]),
    ("Who is driver 0071?", ["Pia Sund"]),
    ("How many drivers have the badge number 71?", ["1"]),
    ("Is the badge number of Pia Sund 71?", ["false"]),
    ("Is the badge number of Pia Sund 0071?", ["true"]),
    ("Is the fleet number of Gull KL-300?", ["false"]),
    ("Which tram has 36 seats?", ["Wren"]),
    ("Which trams are longer than 10?", ["Gull", "Wren"]),
    ("Which tram was built in 1988?", ["Rook"]),
    ("Which trams were built before 1990?", ["Gull", "Rook"]),
    ("What is the total number of seats of the trams?", ["128"]),
    ("Which tram has the most seats?", ["Rook"]),
    ("Which tram has the fleet number T.4/019?", None),  # a code that nothing has is no number and no other code
    ("Who has the badge number 00510?", None),
    ("What is KL-301?", None),
])  # fmt: skip
def test_codes_are_names_and_numbers_stay_numbers(question: str, answers: list[str] | None) -> None:
    answer = known(FLEET).ask(question)
    assert answer.sure is (answers is not None), (answer.text, answer.gaps)
    assert answers in (None, sorted(one.label for one in answer.best)), answer.text
