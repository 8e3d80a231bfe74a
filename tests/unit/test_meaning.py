"""Questions that ``benchmarks/meaning.py`` makes: their right answers, and how many are answered wrongly."""

from collections import Counter, defaultdict

import pyoxigraph as ox
import pytest

import kgsparql
from benchmarks.meaning import KINDS, OUTCOMES, PER_KIND, Question, outcome, questions
from benchmarks.meaning_words import Facts
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
FAMILIES = {
    "facts": "what,true,false,which of a class,voice,how many,list all,three ways,paraphrases".split(","),
    "roles": ["turned round", "and, swapped", "two hops"],
    "classes": ["member", "no member"],
    "words": ["and", "or", "but not", "not"],
    "values": ["compared", "dates"],
}
# Of each family: wrong and sure at most, right and sure at least. To be tightened, never loosened.
EVERY_EIGHTH = {"facts": (0, 33), "roles": (0, 26), "classes": (0, 12), "words": (0, 20), "values": (0, 8)}
ALL = {"facts": (0, 275), "roles": (0, 189), "classes": (0, 96), "words": (0, 160), "values": (0, 62)}
IN_SPARQL = [
    ("How many books were written by Ève Curie?", "?x a dbo:Book ; dbo:author dbr:Ève_Curie"),
    ("How many people were born in Chicago and died in Rome?",
     "?x a dbo:Person ; dbo:birthPlace dbr:Chicago ; dbo:deathPlace dbr:Rome"),
    ("Which Nobel laureates have no child?", "?x a nob:Laureate FILTER NOT EXISTS { ?x dbo:child ?y }"),
    ("Which Nobel laureates died in Cambridge but were not born there?",
     "?x a nob:Laureate ; dbo:deathPlace dbr:Cambridge FILTER NOT EXISTS { ?x dbo:birthPlace dbr:Cambridge }"),
]  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(NOBEL)


@pytest.fixture(scope="module")
def made(facts: Facts) -> list[Question]:
    return questions(facts)


@pytest.mark.deep
def test_a_graph_and_a_seed_give_the_same_questions(facts: Facts, made: list[Question]) -> None:
    assert questions(Facts(NOBEL)) == made
    assert questions(facts, seed=1) != made


def test_there_are_600_questions_and_30_of_each_kind_of_many_predicates(made: list[Question]) -> None:
    count = Counter(one.kind for one in made)
    assert len({one.text for one in made}) > 600
    assert {kind for kind in KINDS if count[kind] < 30} == set()
    about = Counter((one.kind, one.about) for one in made)
    assert {key for key, n in about.items() if n > PER_KIND * KINDS[key[0]][1] / 4} == set()


@pytest.mark.parametrize(("text", "pattern"), IN_SPARQL)
def test_a_right_answer_is_that_of_sparql(made: list[Question], facts: Facts, text: str, pattern: str) -> None:
    prefixes = {"dbo": "http://dbpedia.org/ontology/", "dbr": "http://dbpedia.org/resource/"}
    prefixes["nob"] = "https://kgsparql.example/nobel/"
    found = facts.store.query(f"SELECT ?x {{ {pattern} }}", prefixes=prefixes)
    assert isinstance(found, ox.QuerySolutions)
    assert next(one.gold for one in made if one.text == text) in ((terms := {row["x"] for row in found}), len(terms))


def test_names_that_are_swapped_have_another_right_answer(made: list[Question]) -> None:
    swapped = [one for one in made if one.straight is not None]
    assert {one.kind for one in swapped} == {"turned round", "and, swapped"}
    assert [one.text for one in swapped if one.gold == one.straight] == []


def test_the_verb_says_which_dates_are_compared() -> None:
    answer = kgsparql.open(NOBEL, embedder="none").ask("Who died earlier, Max Planck or Marie Curie?")  # was born later
    assert (answer.status, answer.answers[0].label) == ("answered", "Marie Curie")


@pytest.mark.parametrize(("step", "bounds"), [(8, EVERY_EIGHTH), pytest.param(1, ALL, marks=pytest.mark.deep)])
def test_no_more_is_surely_wrong_than_was(made: list[Question], step: int, bounds: dict[str, tuple[int, int]]) -> None:
    knowledge = kgsparql.open(NOBEL, embedder="none")
    found = defaultdict[str, Counter[str]](Counter)
    for one in made[::step]:
        family = next(name for name, kinds in FAMILIES.items() if one.kind in kinds)
        found[family][outcome(one, knowledge.ask(one.text))] += 1
    counts = {family: (own[OUTCOMES[2]], own[OUTCOMES[0]]) for family, own in found.items()}
    assert {f: n for f, n in counts.items() if n[0] > bounds[f][0] or n[1] < bounds[f][1]} == {}
