"""What runs the other way than an adjective says, numbers that others have, and verbs that only join two kinds."""

import pytest

from kgsparql import IRI, PropertyPath
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import read_plan_file, written_plan
from tests.world import known, told

HORSES = {
    "Bella": (4, 420, "Spain"), "Comet": (12, 510, "Spain"), "Dusty": (9, 480, "Malta"), "Ember": (23, 390, "Malta"),
}  # fmt: skip
STABLES = """
@prefix : <http://e.org/> .
:age rdfs:label "age" . :weight rdfs:label "weight" . :origin rdfs:label "origin" . :year rdfs:label "year" .
:Oak a :Stable ; rdfs:label "Oak Yard" ; :room 9 . :Elm a :Stable ; rdfs:label "Elm Yard" ; :room 3 .
:Ash a :Stable ; rdfs:label "Ash Yard" ; :room 5 . :room rdfs:label "room" .
:s1 a :HorseInStable ; :in-horse :Bella ; :in-stable :Oak . :s2 a :HorseInStable ; :in-horse :Comet ; :in-stable :Oak .
:s3 a :HorseInStable ; :in-horse :Ember ; :in-stable :Elm . :HorseInStable rdfs:label "horse in stable" .
:in-horse rdfs:label "ref horse" . :in-stable rdfs:label "ref stable" . :at-stable rdfs:label "ref stable id" .
:Dash a :Race ; rdfs:label "Dash Cup" ; :year 2019 ; :at-stable :Oak . :Race rdfs:label "race" .
:Trot a :Race ; rdfs:label "Trot Cup" ; :year 2021 ; :at-stable :Elm . :Horse rdfs:label "horse" .
:d1 a :Doping ; :of-horse :Dusty ; :of-race :Trot . :Doping rdfs:label "doping" . :Stable rdfs:label "stable" .
:of-horse rdfs:label "ref horse" . :of-race rdfs:label "ref race" . :rider_of rdfs:label "rider of" .
:Ann a :Trainer ; rdfs:label "Ann" ; :rider_of :Bella . :Trainer rdfs:label "trainer" .
""" + "\n".join(
    f':{name} a :Horse ; rdfs:label "{name}" ; :age {age} ; :weight {weight} ; :origin "{origin}" .'
    for name, (age, weight, origin) in HORSES.items()
)


@pytest.mark.parametrize(("question", "answers"), [
    # what runs the other way is turned
    ("Which horse is the youngest?", ["Bella"]),
    ("Who is older, Comet or Dusty?", ["Comet"]),
    ("Which horses are older than 10 years?", ["Comet", "Ember"]),
    ("What is the oldest age of the horses?", ["23"]),
    ("Is Bella older than Comet?", ["false"]),
    ("How much older is Comet than Bella?", ["8"]),
    ("What is the oldest horse by age?", ["Ember"]),
    # a number may be that of others
    ("Which horses are older than average?", ["Ember"]),
    ("Which horses have a weight below the average?", ["Bella", "Ember"]),
    ("Which horses whose weight is above the average weight of all horses are from Spain?", ["Comet"]),
    ("Which horses are heavier than the average horse?", ["Comet", "Dusty"]),
    ("Which horses weigh more than the one with the lowest age?", ["Comet", "Dusty"]),
    ("Which horses are heavier than the youngest horse?", ["Comet", "Dusty"]),
    ("Which horses whose age is between 5 and 10 are there?", ["Dusty"]),
    ("Is Bella heavier than average?", ["false"]),
    # a verb that only joins is said by the only relation
    ("Which stables keep a horse?", ["Elm Yard", "Oak Yard"]),
    ("Which stables do not keep any horse?", ["Ash Yard"]),
    ("Which stable keeps the most horses?", ["Oak Yard"]),
    ("Which races were held in Elm Yard?", ["Trot Cup"]),
    ("Which races took place in the stable with the lowest room?", ["Trot Cup"]),
    ("How many races took place in 2019?", ["1"]),
    # what is not said is doubted
    ("Which horses are older than 1990?", None),  # an age is no year
    ("Which horses from Malta are older than average?", None),  # of which horses?
    ("Which horses are older than the average room of the stables?", None),
    ("Which stables refused a horse?", None),
    ("Which races hired a horse?", None),  # a doping says more
    ("Which trainers own a horse?", None),  # who rides it need not
])  # fmt: skip
def test_numbers_and_verbs_are_read_by_what_they_are_of(question: str, answers: list[str] | None) -> None:
    is_sure, found = told(known(STABLES).ask(question))
    assert found == answers if is_sure else answers is None


def test_a_plan_with_the_number_of_others_is_read_as_it_was_written() -> None:
    horses, weight = a.Instances(IRI("http://e.org/Horse")), a.Value(PropertyPath.of("http://e.org/weight"))
    plan = a.Where(horses, weight, ">", a.SummaryOf("avg", horses, weight))
    assert read_plan_file(written_plan(plan)) == plan
