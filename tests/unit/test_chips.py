"""Parts of plans that can be others, and what the items of a set have."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import kgsparql
from kgsparql import IRI, EndpointProfile, KnowledgeBase, OxigraphGraph, PropertyPath, Query, Solutions
from kgsparql.exploration import types
from kgsparql.graphs.graph import Solution
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import Chip, Option, chips, options, part_words
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.running import run
from kgsparql.plans.set_profile import Profiler, SetProfile
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.writing import in_words
from kgsparql.schema.vocabulary import GraphVocabulary
from tests.world import FIXTURES, graph_of

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


TABLES = {  # columns, a group that is counted, the best of each, one number of each
    "nobel.ttl": [
        "For each laureate, the birth place and the university",
        "How many laureates per country?",
        "Who is the youngest laureate of each country?",
    ],
    "honesty/company.ttl": [
        "List the employees with their salaries",
        "What is the average salary of the employees of each department?",
    ],
}


def tried_options(knowledge: KnowledgeBase, plan: a.Plan, chip: Chip) -> list[tuple[Option, Sequence[Solution], str]]:
    """What is offered at a chip, with the rows that each comes to and the words for it: none empty, none unwritable."""
    found, _ = options(plan, chip, knowledge.graph)
    assert plan in [one.plan for one in found] or part_words(chip.kind, chip.part_of(plan), str) == "+", chip
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    tried = []
    for one in found:
        assert in_words(one.plan, label), one
        assert read_plan_file(json.loads(json.dumps(written_plan(one.plan)))) == one.plan, one
        tried.append(
            (one, knowledge.graph.select(compiled(one.plan)).solutions, part_words(chip.kind, one.part, label))
        )
    assert all(rows and words for _, rows, words in tried), chip
    return tried


@pytest.mark.parametrize("half", [0, 1])
def test_no_option_of_ten_questions_leads_to_nothing(nobel: KnowledgeBase, half: int) -> None:
    for question in QUESTIONS[half::2]:
        planned = nobel.plan(question)
        plan = (planned.chosen or planned.candidates[0]).plan
        assert part_words(chips(plan)[-1].kind, chips(plan)[-1].part_of(plan), str) == "+" or isinstance(
            plan, a.Compares
        )
        for chip in chips(plan):
            for one, rows, _ in tried_options(nobel, plan, chip):
                assert not isinstance(one.plan, a.Count) or rows[0]["value"].value == str(one.count), one
                assert not isinstance(one.plan, a.Exists) or rows[0]["value"].value == "true", (question, one)
                is_plain = isinstance(one.plan, a.ItemSet) and not isinstance(one.plan, a.Top)
                assert not is_plain or one.count == len({row["answer"] for row in rows}), (question, one)


def offered(knowledge: KnowledgeBase, question: str, kind: str) -> dict[str, int | None]:
    plan = knowledge.plan(question).candidates[0].plan
    chip = next(one for one in chips(plan) if one.kind == kind)
    found, _ = options(plan, chip, knowledge.graph)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    return {part_words(chip.kind, one.part, label): one.count for one in found}


@pytest.mark.parametrize(("question", "kind", "first"), [
    ("Which Nobel laureates were born in Warsaw?", "item", {"Paris": 5, "New York City": 4}),
    ("How many laureates were born after 1900?", "class", {"person": 50, "Nobel laureate": 46}),
    ("How many laureates were born after 1900?", "operator", {"any": 74, "is not": 72, "is not before": 48}),
    ("How many laureates were born after 1900?", "value", {"1842": 73, "1856": 69}),
    ("Which Nobel laureates were born in Warsaw?", "condition", {"that studied at something": 1}),
    ("Which laureates have more than one award?", "operator", {"is at least": 74, "any": 74}),
])  # fmt: skip
def test_what_is_offered_is_counted_and_the_most_frequent_is_first(
    nobel: KnowledgeBase, question: str, kind: str, first: dict[str, int]
) -> None:
    assert list(offered(nobel, question, kind).items())[: len(first)] == list(first.items())


def test_what_stands_in_two_branches_is_one_part() -> None:
    city, lake = (a.Instances(IRI(f"http://e.org/{name}")) for name in ("City", "Lake"))
    assert chips(a.Compares(a.Count(city), ">", a.Count(city)))[0] == Chip(
        "class", (("left", "items"), ("right", "items"))
    )
    assert [one.kind for one in chips(a.Compares(a.Count(city), ">", a.Count(lake)))] == ["class", "operator", "class"]


def filled(plan: a.Plan, rows: Iterable[Solution]) -> set[str]:
    """The columns of a table in which something stands; a number of nothing is nothing."""
    return {
        column.name
        for i, column in enumerate(getattr(plan, "columns", ()))
        for row in rows
        if (value := row.get(f"column{i}")) and not (isinstance(column.measure, a.HowMany) and str(value) == '"0"')
    }


def changed(knowledge: KnowledgeBase, plan: a.Plan, at: int, words: str) -> Any:
    """A plan in which a chip was changed to what is called so."""
    chip = chips(plan)[at]
    found, _ = options(plan, chip, knowledge.graph)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    said = {part_words(chip.kind, one.part, label): one.plan for one in found}
    assert words in said, said
    return said[words]


def told(knowledge: KnowledgeBase, plan: a.Plan) -> str:
    return in_words(plan, knowledge.labels(terms_in(plan)).__getitem__)


@pytest.mark.parametrize("graph", TABLES)
def test_no_option_of_tables_leads_to_an_empty_column(graph: str) -> None:
    with kgsparql.open(FIXTURES / graph, embedder="none") as knowledge:
        for question in TABLES[graph]:
            plan = knowledge.plan(question).candidates[0].plan
            for chip in chips(plan):
                for one, rows, _ in tried_options(knowledge, plan, chip):
                    assert one.count, (question, one)
                    has_columns = bool(getattr(one.plan, "columns", ()))
                    assert has_columns == bool(filled(one.plan, rows)), (question, one)


def test_a_table_keeps_its_columns_and_an_extreme_is_turned(nobel: KnowledgeBase) -> None:
    plan = read_plan_file(json.loads((FIXTURES / "plans" / "laureates_by_country.json").read_text()))
    assert isinstance(plan, a.Grouped)
    assert [one.kind for one in chips(plan)] == ["class", "predicate", "condition"]
    place = changed(nobel, plan, 1, "place of birth")
    assert told(nobel, place).startswith("for each place of birth of Nobel laureates: ")
    assert place.columns == plan.columns
    best = nobel.plan("Who is the youngest laureate of each country?").candidates[0].plan
    oldest = changed(nobel, best, 3, "earliest")
    assert told(nobel, oldest).endswith("the one with the earliest date of birth among the Nobel laureates")


E = "http://e.org/"
MANY = 60
"""Parts, each of which fits each product: whole paths between them join 60 times 60 times 60."""


def dense() -> str:
    lines = [f":part{i} a :Part ; :fits {', '.join(f':product{j}' for j in range(MANY))} ." for i in range(MANY)]
    lines += [f":product{i} a :Product ; :madeBy [ :by :maker{i % 7} ] ." for i in range(MANY)]
    lines += [f":maker{i} a :Maker ; :founded {1900 + i} ." for i in range(7)]
    return "\n".join(lines)


def path(*names: str) -> PropertyPath:
    return PropertyPath.of(*(E + name for name in names))


def used(profile: SetProfile) -> set[str]:
    return {f"{use.step.direction} {use.step.predicate.value.removeprefix(E)}" for use in profile.uses}


class Watched(OxigraphGraph):
    """Keeps what it is asked."""

    asked: list[Query]

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.asked.append(query)
        return super().select(query)


def watched(graph: OxigraphGraph) -> Watched:
    found = Watched(graph.store, name=graph.name, fingerprint=graph.fingerprint)
    found.asked = []
    return found


def test_a_long_path_is_looked_at_step_by_step() -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    profiler = Profiler(graph)
    parts = a.Instances(IRI(E + "Part"))
    back = PropertyPath((*path("fits").steps, *(s.reversed for s in path("fits").steps), *path("fits").steps))
    profile = profiler(a.Ends(parts, back))
    assert used(profile) == {"inverse fits", "forward madeBy"}
    assert profile.classes == (IRI(E + "Product"),)
    fits = [query.text.count("/fits>") for query in graph.asked]
    assert max(fits) == 1  # no query walks two steps


def test_behind_nodes_without_a_name_the_path_goes_on() -> None:
    profiler = Profiler(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    products = a.Instances(IRI(E + "Product"))
    assert used(profiler(a.Ends(products, path("madeBy")))) == {"inverse madeBy", "forward by"}
    makers = profiler(a.Ends(products, path("madeBy", "by")))
    assert used(makers) == {"inverse by", "forward founded"}


def test_what_is_common_to_all_questions_is_looked_at_once() -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    common = Profiler(graph)
    product = a.Ends(a.Instances(IRI(E + "Part")), path("fits"))
    first = Profiler(graph, common=common)(product)
    before = len(graph.asked)
    assert Profiler(graph, common=common)(product) == first
    assert len(graph.asked) == before
    own = Profiler(graph, common=common)
    own(a.Items((IRI(E + "part1"),)))
    assert len(graph.asked) > before
    assert set(common.known.profiles) == {product}  # what one question names is kept for none other


def test_the_ends_of_several_predicates_are_read_together() -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    together, alone = Profiler(graph), Profiler(graph)
    predicates = [IRI(E + name) for name in ("fits", "by", "founded")]
    together.look_at_ends(predicates)
    assert [query.name.split("+")[0] for query in graph.asked] == ["ends", "classes", "broader"]
    known = [together.at_ends(one) for one in predicates]
    assert len(graph.asked) == 3
    assert known == [alone.at_ends(one) for one in predicates]
    assert [one.lead_to_texts for one in known] == [False, False, True]


def test_a_wikibase_is_not_asked_for_types_that_say_nothing() -> None:
    class Wikibase(Watched):
        profile = EndpointProfile(external_ids=True)

    own = graph_of(f"@prefix : <{E}> .\n{dense()}")
    graph = Wikibase(own.store, name=own.name, fingerprint=own.fingerprint)
    graph.asked = []
    profile = Profiler(graph)(a.Items((IRI(E + "maker1"),)))
    assert used(profile) == used(Profiler(own)(a.Items((IRI(E + "maker1"),))))
    assert "classes" not in {query.name for query in graph.asked}


def test_classes_below_are_asked_for_only_where_the_graph_has_some() -> None:
    """Oxigraph puts no union in order with other patterns: one question about 17,000 films took 11 s for it."""
    flat = f"@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :a a :City . :b a :Town ."
    for text, unions, found in ((flat, 0, ["a"]), (f"{flat} :Town rdfs:subClassOf :City .", 1, ["a", "b"])):
        graph = graph_of(text)
        cities, vocabulary = a.Instances(IRI(E + "City")), GraphVocabulary.of(graph)
        asked = compiled(cities, vocabulary=vocabulary).text
        assert asked.count("UNION") == unions
        assert "subClassOf>)*" not in asked  # `p/p*` for `p+` took 70 s in an ontology of 3,500 classes
        computed = run(cities, graph, vocabulary=vocabulary)
        assert sorted(str(item) for item in computed.items) == [f"<{E}{name}>" for name in found]
        shown = {fact.subject for fact in computed.facts if fact.object == IRI(E + "City")}
        assert IRI(E + "b") not in shown  # it is a town, and what the graph does not say is no evidence


def test_a_graph_without_types_is_not_asked_for_any() -> None:
    graph = watched(graph_of(f"@prefix : <{E}> . :a :near :b ."))
    assert Profiler(graph).classes_of([IRI(E + "a")]) == {}
    assert types(graph, [IRI(E + "a")]) == {IRI(E + "a"): ()}
    assert graph.asked == []
