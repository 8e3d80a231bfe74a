"""Half-written plans: words in quotes are filled with what a graph calls so; only what comes to something is kept."""

import pytest

import kgsparql
from kgsparql.errors import NotFoundError, PlanError
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.retrievers.query_plan import quoted_in
from tests.world import known

SHIPS = """
:Ship rdfs:label "ship" . :Yard rdfs:label "shipyard" . :builtBy rdfs:label "built by" . :length rdfs:label "length" .
:launched rdfs:label "launched" . :town rdfs:label "town" . :lead rdfs:label "lead" .
:a a :Ship ; rdfs:label "Auk" ; :builtBy :y ; :length 90 ; :launched "1990-05-01"^^xsd:date .
:b a :Ship ; rdfs:label "Brant" ; :builtBy :y ; :length 120 ; :launched "2004-05-01"^^xsd:date .
:c a :Ship ; rdfs:label "Coot" ; :builtBy :z ; :length 60 .
:y a :Yard ; rdfs:label "Pell Yard" ; :town "Orl" . :z a :Yard ; rdfs:label "Marn Yard" ; :town "Dunmar" .
"""


@pytest.mark.parametrize(("line", "words", "comes_to"), [
    ('(count (where "ship" "length" > 70))', "the number of ships whose length is more than 70", "2"),
    ('(has "ships" "built by" "Pell Yard")', "ships built by Pell Yard", "Auk; Brant"),
    ("(top 'ship' 'length' 1 desc)", "the ship with the largest length", "Brant"),
    ('(group "ship" "built by" ((many)) order=many desc)',
     "for each of those that ships are built by: how many of them (many), the largest first",
     "Pell Yard | 2; Marn Yard | 1"),
    ('(has "shipyard" "built" (where "ship" "length" > 100))',
     "shipyards that the ships whose length is more than 100 are built by", "Pell Yard"),
    ('(ends "ship" ("built by" "town"))', "towns of those that ships are built by", "Dunmar; Orl"),
    ('(count (has "shipyard" "town" "Orl"))', "the number of shipyards whose town is Orl", "1"),
])  # fmt: skip
def test_words_in_quotes_are_filled(line: str, words: str, comes_to: str) -> None:
    planned = known(SHIPS).plan(line)
    first = planned.candidates[0]
    assert (first.words, first.comes_to, planned.doubts) == (words, comes_to, ())
    assert planned.chosen is first
    assert read_plan_file(written_plan(first.plan)) == first.plan, "it may be kept in a file"
    assert {one.words for one in planned.named} == set(quoted_in(line))


def test_what_comes_to_nothing_is_none_and_is_told() -> None:
    planned = known(SHIPS).plan('(where "ship" "length" > 700)')
    assert (planned.candidates, planned.chosen, planned.computed) == ((), None, None)
    assert planned.doubts == (
        "whatever fills it, it comes to nothing; the likeliest was: ships whose length is more than 700",
    )


def test_what_a_limit_ends_says_so() -> None:
    planned = known(SHIPS).plan('(count (has "ship" "built by" "Pell Yard"))', budget=kgsparql.Budget(max_queries=0))
    assert (planned.candidates, planned.doubts) == ((), ("nothing was computed within the limits",))


def test_what_cannot_be_filled_or_is_no_plan_says_why() -> None:
    with pytest.raises(NotFoundError, match="nothing in this graph is called 'zeppelin'"):
        known(SHIPS).plan('(count "zeppelin")')
    with pytest.raises(PlanError, match="1 bracket is not closed"):
        known(SHIPS).plan('(count "ship"')
    with pytest.raises(PlanError, match=r"no set is written so: \['frob', 'ship'\]"):
        known(SHIPS).plan('(frob "ship")')
    with pytest.raises(PlanError, match="the largest or smallest needs numbers or dates"):
        known(SHIPS).plan('(top "ship" "town" 1 desc)')


def test_a_path_is_walked_the_way_that_leads_on_and_what_the_likeliest_comes_to_is_told() -> None:
    for line, value, doubts in (
        ('(count (lacks "ship" "launched"))', "1", 0), ('(not (exists (has "ship" "built by")))', "false", 0),
        ('(count (where "ship" "length" > "700"))', "0", 0),
        ('(exists (where "ship" "launched" > "2010-01-01"))', "false", 0), ('(count (named "ship" "oo"))', "1", 0),
        ('(exists (where "ship" "launched" > "2000-01-01"))', "true", 0),
        ('(count (ends "Pell Yard" ^"built by"))', "2", 0),
    ):  # fmt: skip
        planned = known(SHIPS).plan(line)
        assert planned.computed is not None, line
        assert (getattr(planned.computed.value, "value", None), len(planned.doubts)) == (value, doubts), line
    table = known(SHIPS).plan('(table "ship" ((name)) order="length" desc)').computed
    assert table is not None
    assert [str(row[0]).rpartition("/")[2].strip(">") for row in table.rows] == ["b", "a", "c"]
    with pytest.raises(NotFoundError, match="nothing in this graph is called 'container ship'"):
        known(SHIPS).plan('(count "container ship")')
