"""Groups of things by a value or over a node that joins two, what is missing in them, and both of two years."""

import pytest

from tests.world import known, told

SAILORS = {"Ada": "Cork", "Ben": "Cork", "Cleo": "Oban", "Dov": "Riga"}
HARBOURS = {"North Quay": (2014, 2015), "South Quay": (2014,), "West Pier": (2016, 2016, 2016), "Old Mole": ()}
BOATS = {"Tern": 2, "Gull": 4, "Skua": 4, "Heron": 6}
ROWS = "@prefix v: <http://e.org/v/> . @prefix w: <http://e.org/w/> ." + "".join(
    f':sailor{n} a :sailor ; v:name "{name}" ; v:hometown "{town}" .' for n, (name, town) in enumerate(SAILORS.items())
)
for own, (harbour, years) in enumerate(HARBOURS.items()):
    ROWS += f':harbour{own} a :harbour ; v:name "{harbour}" ; v:colour "red" .'
    for n, year in enumerate(years):
        ROWS += f':race{own}-{n} a :regatta ; v:title "Cup {own}{n}" ; v:year {year} ; v:harbour_id :harbour{own} .'
for own, (boat, engines) in enumerate(BOATS.items()):
    ROWS += f':boat{own} a :boat_data ; v:name "{boat}" ; v:engines {engines} ; w:colour "blue" .'
ROWS += "".join(f":captain{n} a :licensed_captain ; v:sailor_id :sailor{n} ; v:rank {n} ." for n in range(2))
for n, (one, other) in enumerate([(0, 0), (1, 0), (2, 1)]):
    ROWS += f":mooring{n} a :mooring ; v:ref_boat :boat{one} ; v:ref_harbour :harbour{other} ."
ROWS += (
    ':sailor rdfs:label "sailor" . :harbour rdfs:label "harbour" . :regatta rdfs:label "regatta" .'
    ':boat_data rdfs:label "boat data" . :mooring rdfs:label "mooring" .'
    ':licensed_captain rdfs:label "licensed captain" .'
)


@pytest.mark.parametrize(("question", "answers"), [
    # a value is found by how many things have it
    ("Which year had the most regattas?", ["2016"]),
    ("What is the most common hometown of sailors?", ["Cork"]),
    ("Which hometown is the most common?", ["Cork"]),
    ("Which hometowns have at least two sailors?", ["Cork"]),
    ("Which hometowns are shared by two or more sailors?", ["Cork"]),
    ("Which hometowns have fewer than two sailors?", ["Oban", "Riga"]),
    # what a node joins is counted and missed
    ("Which harbour has the most boats?", ["North Quay"]),
    ("Which harbours have more than one boat?", ["North Quay"]),
    ("Which harbours have no boats?", ["Old Mole", "West Pier"]),
    ("Which harbours have between one and two regattas?", ["North Quay", "South Quay"]),
    ("Which boats have 4 engines?", ["Gull", "Skua"]),
    ("How many boats have more than 4 engines?", ["1"]),
    # both and not are of what is asked for
    ("Which sailors are licensed captains?", ["Ada", "Ben"]),
    ("Which sailors are not licensed captains?", ["Cleo", "Dov"]),
    ("Which harbours had regattas in both 2014 and 2015?", ["North Quay"]),
    ("Which harbours had regattas in 2014 or 2015?", ["North Quay", "South Quay"]),
    ("Which harbours had regattas in 2014 but not in 2015?", ["South Quay"]),
    ("Which harbours are not used for any regatta?", ["Old Mole"]),
])  # fmt: skip
def test_groups_are_found_by_what_is_of_them(question: str, answers: list[str]) -> None:
    answer = known(ROWS).ask(question)
    assert told(answer) == (True, answers), (answer.text, answer.gaps)


@pytest.mark.parametrize("question", ["Which sailors are boats?", "What is the most common colour?"])
def test_a_role_and_a_value_are_not_guessed(question: str) -> None:
    answer = known(ROWS).ask(question)
    assert not (answer.sure and answer.best), answer.text


def test_both_ends_of_how_many_are_said() -> None:
    text = known(ROWS).ask("Which harbours have between one and two regattas?").text
    assert ("1 or more" in text, "2 or fewer" in text) == (True, True), text
