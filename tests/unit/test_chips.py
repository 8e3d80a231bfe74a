"""Parts of plans that can be others: no option leads to nothing, and each is said and written as any plan."""

import json
from collections.abc import Iterator

import pytest

import kgsparql
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import Chip, chips, options, part_words
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.wording import in_words
from kgsparql.rdf.terms import IRI
from tests.conftest import FIXTURES

QUESTIONS = [  # a lookup, two steps, counts, dates, the best, absence, yes or no, a comparison, a table, an or
    "Who is the spouse of Marie Curie?",
    "Who won the Nobel Prize in Chemistry?",
    "How many laureates were born after 1900?",
    "Which laureates have more than one award?",
    "Which country has the most laureates?",
    "List the laureates without a spouse.",
    "Was Marie Curie born in Warsaw?",
    "Did Marie Curie win more prizes than Pierre Curie?",
    "How many laureates were born in each country?",
    "Which laureates were born in Warsaw or Paris?",
]


@pytest.fixture(scope="module")
def knowledge() -> Iterator[kgsparql.KnowledgeBase]:
    with kgsparql.open(FIXTURES / "nobel.ttl", embedder="none") as opened:
        yield opened


@pytest.mark.parametrize("half", [0, 1])
def test_no_option_of_ten_questions_leads_to_nothing(knowledge: kgsparql.KnowledgeBase, half: int) -> None:
    for question in QUESTIONS[half::2]:
        planned = knowledge.plan(question)
        plan = (planned.chosen or planned.candidates[0]).plan
        for chip in chips(plan):
            found, _ = options(plan, chip, knowledge.graph)
            assert chip.kind == "condition" or plan in [one.plan for one in found], (question, chip)
            label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
            for one in found:
                assert in_words(one.plan, label), (question, one)
                assert part_words(chip.kind, one.part, label), (question, one)
                assert read_plan_file(json.loads(json.dumps(written_plan(one.plan)))) == one.plan, (question, one)
                rows = knowledge.graph.select(compiled(one.plan))
                assert len(rows), (question, one)
                assert not isinstance(one.plan, a.Count) or rows.solutions[0]["value"].value == str(one.count), one
                assert not isinstance(one.plan, a.Exists) or rows.solutions[0]["value"].value == "true", (question, one)
                is_plain = isinstance(one.plan, a.ItemSet) and not isinstance(one.plan, a.Top)
                assert not is_plain or one.count == len({row["answer"] for row in rows}), (question, one)


def offered(knowledge: kgsparql.KnowledgeBase, question: str, kind: str) -> dict[str, int | None]:
    plan = knowledge.plan(question).candidates[0].plan
    chip = next(one for one in chips(plan) if one.kind == kind)
    found, _ = options(plan, chip, knowledge.graph)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    return {part_words(chip.kind, one.part, label): one.count for one in found}


@pytest.mark.parametrize(
    ("question", "kind", "first"),
    [
        ("Which Nobel laureates were born in Warsaw?", "item", {"Paris": 5, "New York City": 4}),
        ("How many laureates were born after 1900?", "class", {"person": 50, "Nobel laureate": 46}),
        ("How many laureates were born after 1900?", "operator", {"any": 74, "is not": 72, "is not before": 48}),
        ("How many laureates were born after 1900?", "value", {"1842": 73, "1856": 69}),
        ("Who is the spouse of Marie Curie?", "direction", {"forward": 1, "walked back": 1}),
        ("Which laureates have more than one award?", "operator", {"is at least": 74, "any": 74}),
    ],
)
def test_what_is_offered_is_counted_and_the_most_frequent_is_first(
    knowledge: kgsparql.KnowledgeBase, question: str, kind: str, first: dict[str, int]
) -> None:
    assert list(offered(knowledge, question, kind).items())[: len(first)] == list(first.items())


def test_what_stands_in_two_branches_is_one_part() -> None:
    city, lake = (a.Instances(IRI(f"http://e.org/{name}")) for name in ("City", "Lake"))
    assert chips(a.Compares(a.Count(city), ">", a.Count(city)))[0] == Chip(
        "class", (("left", "items"), ("right", "items"))
    )
    assert [one.kind for one in chips(a.Compares(a.Count(city), ">", a.Count(lake)))] == ["class", "operator", "class"]
