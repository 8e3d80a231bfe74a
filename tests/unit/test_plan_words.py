"""A plan in words, which plan is chosen, and what an answer says of it."""

import gc
import weakref
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from benchmarks.golden import is_given_by_facts
from kgsparql import IRI, Answer, Budget, KnowledgeBase, LinkedEntity, Literal, Mention, PropertyPath, answer_to_json
from kgsparql.errors import NotFoundError
from kgsparql.linking.english_forms import plural, relation, singular
from kgsparql.plans import algebra as a
from kgsparql.plans.running import NO_NUMBER, run
from kgsparql.plans.writing import in_words, none_in_words
from kgsparql.reading.chunks import chunked
from kgsparql.reading.parser import read_question
from kgsparql.rendering.drawing import drawing_of
from kgsparql.retrievers._planned_question import QuestionTerm
from tests.engines import ENGINES, engine_from_file
from tests.world import FIXTURES, XSD, graph_of, known, open_nobel

_E = "http://e.org/"


def the(name: str) -> IRI:
    """A term of this name."""
    return IRI(_E + name.replace(" ", "_"))


def label(term: object) -> str:
    return str(getattr(term, "value", term)).removeprefix(_E).replace("_", " ")


def path(*names: str) -> PropertyPath:
    return PropertyPath.of(*(f"{'^' * n.startswith('^')}{the(n.lstrip('^')).value}" for n in names))


def number(value: int) -> Literal:
    return Literal(str(value), datatype=IRI(XSD + "integer"))


def some(*names: str) -> a.Items:
    return a.Items(tuple(the(name) for name in names))


MOVIES, PRODUCTS, PEOPLE = (a.Instances(the(name)) for name in ("movie", "product", "person"))
COUNTRIES, ANN = a.Instances(the("country")), some("Ann")
BY_ANN, BY_HER = a.Has(MOVIES, path("directed by"), ANN), a.Ends(ANN, path("^directed by"))
PRICE, RELEASED = a.Value(path("price")), a.Value(path("release date"), "date")
OLD = a.Where(ANN, a.Value(path("age")), ">", number(50))
MANY = a.Column("number", a.Count(a.Members()))
NOT_PAID = a.Where(PRODUCTS, a.Value(path("has been paid"), "text"), "=", Literal(value=False))


def counted(items: a.ItemSet, name: str, comparison: a.Comparison, value: int) -> a.Where:
    return a.Where(items, a.HowMany(path(name)), comparison, number(value))


# What no golden question has: these rows alone notice that the words of a plan are others.
ROWS: list[tuple[Any, str]] = [
    (a.Has(MOVIES, path("author", "nationality")), "movies whose author has a nationality"),
    (a.Lacks(MOVIES, path("sequel")), "movies without a sequel"),
    (a.Lacks(MOVIES, path("director"), ANN), "movies without Ann as director"),
    (a.Lacks(MOVIES, path("directed by"), ANN), "movies not directed by Ann"),
    (a.Where(MOVIES, a.Value(path("release year")), "<", number(1966)), "movies whose release year is before 1966"),
    (counted(COUNTRIES, "city", "=", 0), "countries with no cities"),
    (counted(COUNTRIES, "city", ">=", 1), "countries with 1 or more cities"),
    (a.Where(PRODUCTS, a.Value(path("maker"), "item"), "!=", the("Acme")), "products whose maker is not Acme"),
    (NOT_PAID, "products that have not been paid"),
    (a.Not(a.Exists(OLD)), "whether Ann is not among those whose age is more than 50"),
    (a.Exists(a.Lacks(ANN, path("worked at"))), "whether Ann is not among those that worked at something"),
    (a.ItemTable(MOVIES, (a.Column("value", RELEASED),), "value", largest_first=False, limit=10),
     "for each of the movies: release date, the 10 earliest"),
    (a.Grouped(MOVIES, path("genre"), (MANY,), ("number", ">", a.Constant(Decimal(3))), "number"),
     "for each genre of movies: how many of them, where it is more than 3, the largest first"),
    (a.Grouped(PRODUCTS, path("maker", "country"), (a.Column("value", a.SummaryOf("avg", a.Members(), PRICE)),)),
     "for each country of makers of products: their average price"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "words"), ROWS, ids=lambda one: str(one)[:60])
def test_a_plan_is_said_as_a_person_would(plan: Any, words: str) -> None:
    assert in_words(plan, label) == words


NOTHING: list[tuple[a.ItemSet, str]] = [
    (BY_ANN, "there are no movies directed by Ann"),
    (BY_HER, "there are none directed by Ann"),
    (OLD, "Ann is not among those whose age is more than 50"),
    (a.Top(MOVIES, PRICE), "nothing is the movie with the largest price"),
]


def test_what_has_no_items_is_said_not_to_be() -> None:
    assert [none_in_words(items, label) for items, _ in NOTHING] == [words for _, words in NOTHING]


COLLEAGUES = a.Has(PEOPLE, path("worked at", "^worked at"), ANN)
BACK: list[tuple[Any, str]] = [
    (a.Ends(ANN, path("author", "^author")), "others whose author is one of the authors of Ann"),
    (a.Ends(ANN, path("member of", "^member of")), "other members of those that Ann is a member of"),
    (COLLEAGUES, "people that worked at one of those that Ann worked at (not counting themselves)"),
    (a.Has(PEOPLE, path("member of", "^member of")), "people that are members of those with another member"),
    (a.Top(PEOPLE, a.HowMany(path("author", "^author"))),
     "the person with the most others whose author is one of their authors"),
]  # fmt: skip


def test_a_step_back_never_leads_to_the_same_thing() -> None:
    assert [in_words(plan, label) for plan, _ in BACK] == [words for _, words in BACK]


def test_what_is_nested_elsewhere_does_not_read_alike() -> None:
    """What is said of a set, of what it leads to, and of the best of it, each before or after."""

    def old(items: a.ItemSet) -> a.Where:
        return a.Where(items, a.Value(path("age")), ">", number(50))

    child, best = path("child"), a.Value(path("price"))
    plans: list[Any] = [
        a.Ends(old(PEOPLE), child), old(a.Ends(PEOPLE, child)), a.Has(PEOPLE, child, old(PEOPLE)),
        old(a.Has(PEOPLE, child, PEOPLE)), old(a.Ends(PEOPLE, path("^child"))), a.Ends(old(PEOPLE), path("^child")),
        a.Top(old(PEOPLE), best), old(a.Top(PEOPLE, best)), a.Top(a.Ends(PEOPLE, child), best),
        a.Ends(a.Top(PEOPLE, best), child), a.Minus(old(PEOPLE), a.Ends(PEOPLE, child)),
        a.Where(PEOPLE, a.HowMany(child, old(PEOPLE)), ">", number(1)),
        old(a.Where(PEOPLE, a.HowMany(child, PEOPLE), ">", number(1))),
        a.Both((a.Either((a.Has(PEOPLE, child), old(PEOPLE))), a.Named(PEOPLE, "x"))),
        a.Either((a.Has(PEOPLE, child), a.Both((old(PEOPLE), a.Named(PEOPLE, "x"))))),
    ]  # fmt: skip
    said = [in_words(plan, label) for plan in plans]
    assert len(set(said)) == len(plans), said
    assert not [text for text in said if "^" in text or " / " in text]


LAUREATE = IRI("https://kgsparql.example/nobel/Laureate")
CAMBRIDGE = IRI("http://dbpedia.org/resource/University_of_Cambridge")


def test_what_is_named_is_said_with_the_words_that_name_it(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many laureates worked at University of Cambridge?")
    named = {one.term: one for one in planned.named}
    assert named[CAMBRIDGE] == QuestionTerm("University of Cambridge", CAMBRIDGE, "University of Cambridge", "entity")
    assert named[LAUREATE] == QuestionTerm("laureates", LAUREATE, "Nobel laureate", "class")
    planned = nobel.plan("How many laureates were born in Germany or France?")
    assert [(one.words, one.label) for one in planned.named][1:] == [("Germany", "Germany"), ("France", "France")]
    planned = nobel.plan("blah xyzzy?")
    assert (planned.named, planned.candidates, planned.chosen, planned.computed) == ((), (), None, None)


def test_candidates_come_the_best_first_and_the_value_is_of_the_chosen(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many Nobel laureates are there?")
    scores = [one.score for one in planned.candidates]
    assert scores == sorted(scores, reverse=True)
    assert planned.chosen is planned.candidates[0]
    assert planned.chosen.plan == a.Count(a.Instances(LAUREATE))
    assert planned.computed == nobel.run(planned.chosen.plan)
    assert planned.doubts == ()


def test_it_is_what_the_method_computes(nobel: kgsparql.KnowledgeBase) -> None:
    question = "How many laureates worked at University of Cambridge in purple?"
    planned, answered = nobel.plan(question), nobel.ask(question, retriever="query_plan")
    assert planned.chosen is not None
    assert planned.chosen.left_out == ("purple",)
    assert planned.doubts == tuple(gap.text for gap in answered.gaps) == ("'purple' is left out",)
    assert planned.computed == answered.computed


def test_an_entity_that_is_given_is_the_one_that_is_named(nobel: kgsparql.KnowledgeBase) -> None:
    planned = nobel.plan("How many laureates worked there?", entities=(CAMBRIDGE,))
    assert [one.term for one in planned.named if one.kind == "entity"] == [CAMBRIDGE]
    with pytest.raises(NotFoundError, match="is not in the graph"):
        nobel.plan("How many laureates worked there?", entities=(IRI("http://e.org/nowhere"),))


BRIDGES = FIXTURES / "golden" / "bridges.ttl"
BRIDGE = a.Instances(IRI(_E + "Bridge"))
LENGTH, LANES = a.Value(PropertyPath.of(_E + "length")), a.Value(PropertyPath.of(_E + "lanes"))
OPENED = a.Value(PropertyPath.of(_E + "opened"), "date")
HALF_THE_LANES = a.Column("half", a.Calculated("/", LANES, a.Constant(Decimal(2))))
BAD_LENGTH = "1 of the values of length cannot be read as a number, such as '2,467 m'"
BAD_DATES = "1 of the values of opening date"
PLANS: list[tuple[a.Plan, list[str]]] = [
    (a.SummaryOf("sum", BRIDGE, LENGTH), [BAD_LENGTH]),
    (a.Top(BRIDGE, OPENED), [f"{BAD_DATES} cannot be read as a date, such as '2001-13-4", f"{BAD_DATES} say nothing"]),
    (a.Count(a.Where(BRIDGE, LANES, ">", Literal(1))), []),
    (a.Top(BRIDGE, a.Calculated("/", LENGTH, LANES)),
     [BAD_LENGTH, "1 of the items have a lanes of 0 to be divided by, such as b"]),
    (a.ItemTable(BRIDGE, (HALF_THE_LANES,)), []),
    (a.Count(a.Has(BRIDGE, LENGTH.path)), []),
]  # fmt: skip


def _label(term: object) -> str:
    """The local name, as a noun."""
    name = str(getattr(term, "value", term)).removeprefix(_E)
    return {"opened": "opening date"}.get(name, name)


@pytest.mark.parametrize(("plan", "said"), PLANS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_plan_leaves_out_is_counted(engine: str, plan: a.Plan, said: list[str]) -> None:
    found = [own.in_words(_label) for own in run(plan, engine_from_file(engine, BRIDGES)).left_out]
    assert [text[: len(start)] for text, start in zip(found, said, strict=True)] == said
    assert all(text.endswith("left out") or "say nothing" in text for text in found)


def test_a_number_that_is_too_large_is_not_said_to_be_nothing() -> None:
    answer = kgsparql.open(BRIDGES, embedder="none").ask(
        "What is the total price of all bridges?", retriever="query_plan"
    )
    assert answer.status == "partial"
    assert answer.text.splitlines() == [
        f"No sure answer: this may not be all: {NO_NUMBER}", "computed: the sum of the prices of bridges",
    ]  # fmt: skip


FILMS = FIXTURES / "golden" / "films.ttl"


def test_a_predicate_that_leads_both_ways_is_no_answer_where_none_is_asked() -> None:
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl")
    asked = knowledge.ask("Who did a PhD under Paul Langevin?")  # to a model, much like whom he did it under
    assert (asked.status, [gap.code for gap in asked.gaps]) == ("partial", ["reading"])
    assert knowledge.ask("Who was Paul Langevin's doctoral advisor?").status == "answered"


def test_what_two_labels_have_of_a_mention_may_mean_both() -> None:
    """To a model, `Ekman die` is like Olof Ekman; what is in the label of it is only Ekman."""
    link = LinkedEntity(IRI("e:o"), "Olof Ekman", 0.83, "entity", "vector", Mention("Ekman die", 10, 19))
    other = LinkedEntity(IRI("e:l"), "Lena Ekman", 0.81, "entity", "vector", Mention("Ekman", 10, 15))
    assert replace(link, candidates=(other,)).likely_alternatives == (other,)


def test_a_name_is_rather_what_is_written_just_so(shared_data: Path) -> None:
    knowledge = kgsparql.open(shared_data / "schemaorg" / "graph.nt.gz", embedder="none")
    answer = knowledge.ask("How many properties does Event have?")  # of the class, and not of `event`
    assert ([one.label for one in answer.best], answer.status) == (["40"], "partial")  # 3 are deprecated; or range


def test_operations() -> None:
    for question, text in (
        ("How many films are there?", "how many there are"), ("Who won more than two prizes?", "for a comparison"),
        ("Who was hired before 2015?", "for a comparison"), ("What is the total budget?", "for the total"),
        ("Which employees don't have a manager?", "for what is not so"), ("Is Ann a chemist?", "for yes or no"),
        ("Who is the youngest?", "for the youngest"), ("Who wrote Nothing but the Truth?", None), ("Who is Isa?", None),
        ("Is Ann or Bob older?", "for a comparison"), ("Why is Ann famous?", "for a reason"),
        ("What is the second prize of Ann?", "for the second"), ("What are the films of Ann?", None),
    ):  # fmt: skip
        asked = [text for _, text in read_question(chunked(question, None)).operations()]
        assert asked[:1] == ([] if text is None else [text]), question


def test_what_is_not_accounted_for_is_said_first_and_in_json() -> None:
    answer = kgsparql.open(FILMS, embedder="none").ask("Who composed The Tide?", retriever="path_ranking")
    assert answer.text.splitlines()[0] == "No sure answer: 'composed' is left out"
    assert answer_to_json(answer)["gaps"][0]["words"] == "composed"


@cache
def products() -> KnowledgeBase:
    return kgsparql.open(FIXTURES / "golden" / "products.ttl", embedder="none")


def said(answer: Answer) -> list[str]:
    """Return the value, or the names of the items, in order."""
    return [answer.value.value] if isinstance(answer.value, kgsparql.Literal) else [one.label for one in answer.answers]


def test_an_answer_says_what_was_done_and_what_it_rests_on() -> None:
    answer = products().ask("How many suppliers are in France?", retriever="query_plan")
    assert answer.status == "answered"
    value, reading = answer.text.splitlines()
    assert value == "2 [Q1]"
    assert reading.startswith("(counted: ")
    assert "France" in reading
    assert answer.computed is not None
    assert is_given_by_facts(answer.computed)
    assert len(answer.evidence["Q1"].triples) == len(answer.computed.facts) > 0


def test_a_value_is_not_lost_where_the_budget_ends_while_doubts_are_looked_for() -> None:
    question, budget = "Which laureate was born in November 1867?", Budget(max_queries=None)
    most = open_nobel().ask(question, retriever="query_plan", budget=budget).usage["queries"]
    limits = (0, most // 2, most - 1, most)
    found = [open_nobel().ask(question, retriever="query_plan", budget=Budget(max_queries=n)) for n in limits]
    assert all(said(answer) in ([], ["Marie Curie"]) for answer in found)
    assert all(answer.status == "partial" for answer in found if not said(answer))
    assert found[-1].status == "answered"


def test_what_is_known_of_a_graph_goes_with_it() -> None:
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    assert knowledge.ask("How many Nobel laureates are there?", retriever="query_plan").computed is not None
    graph = weakref.ref(knowledge.graph)
    del knowledge
    gc.collect()
    assert graph() is None


def test_what_is_not_computed_of_laureates_is_a_doubt(shared_data: Path) -> None:
    """They were Konstantin Novoselov and the United Kingdom, for sure: by way of where laureates work, and of one."""
    knowledge = kgsparql.open(shared_data / "nobel" / "graph.nt.gz", embedder="none")
    assert knowledge.ask("Who is the youngest Nobel laureate?").status != "answered"
    most = knowledge.ask("Which country has the most Nobel laureates?")
    assert (most.sure, [one.label for one in most.best]) == (
        True,
        ["USA"],
    )  # by where they were born, and where they died


def test_the_evidence_of_the_best_has_it_and_the_next_also_where_there_are_more_facts_than_are_read() -> None:
    tracks = {57: 50, 33: 45}
    lines = [':Album a rdfs:Class ; rdfs:label "album" . :Track a rdfs:Class ; rdfs:label "track" .']
    lines.append(':album rdfs:label "album" .')
    for n in range(60):
        lines.append(f':a{n} a :Album ; rdfs:label "Songs {n}" .')
        lines += [f":t{n}_{i} a :Track ; :album :a{n} ." for i in range(tracks.get(n, 36))]
    answer = known("\n".join(["@prefix : <http://e.org/> .", *lines])).ask("Which album has the most tracks?")
    item = answer.evidence["Q1"]
    assert [one.label for one in answer.answers] == ["Songs 57"]
    assert " = Songs 57 (50); next: Songs 33 (45); of 60 (more than " in item.text
    named = {own.triple.object for own in item.triples}
    assert {IRI("http://e.org/a57"), IRI("http://e.org/a33")} <= named
    drawn = {node.label: node.role for node in drawing_of(answer).nodes}
    assert (drawn["Songs 57"], drawn["Songs 33"]) == ("answer", "other")
    tracks_of = known("\n".join(["@prefix : <http://e.org/> .", *lines])).ask("Which tracks have the album Songs 3?")
    assert {node.label for node in drawing_of(tracks_of).nodes if node.role != "answer"} == {"Songs 3"}  # no kind
    compared = answer_to_json(answer)["computed"]["compared"]  # type: ignore[index]
    assert (compared["size"], [one["item"]["label"] for one in compared["next"]]) == (60, ["Songs 33"])  # type: ignore[index]


def test_the_best_of_those_above_the_average_is_shown_with_the_next():
    lines = [':Cup a rdfs:Class ; rdfs:label "cup" . :price rdfs:label "price" .']
    lines += [f':c{n} a :Cup ; rdfs:label "Cup {n}" ; :price {n} .' for n in (1, 2, 9, 10)]
    cups, price = a.Instances(IRI("http://e.org/Cup")), a.Value(PropertyPath.of("http://e.org/price"))
    plan = a.Top(a.Where(cups, price, ">", a.SummaryOf("avg", cups, price)), price, 1, largest=False)
    done = run(plan, graph_of("\n".join(["@prefix : <http://e.org/> .", *lines])))
    assert [item.value for item in done.items] == ["http://e.org/c9"]
    assert [item for item, _ in done.compared.next] == [IRI("http://e.org/c10")]


def test_forms_of_the_names_of_predicates() -> None:
    for name, form, text in (
        ("directed_by", "passive", "directed by"), ("has genre", "noun", "genre"),
        ("seed", "noun", "seed"), ("belongs to", "verb", "belongs to"), ("ISO code", "noun", "ISO code"),
        ("can check disease", "quoted", "can check disease"), ("sub class of", "noun", "subclass"),
        ("award – winner", "quoted", "award – winner"), ("worked at", "verb", "worked at"),
    ):  # fmt: skip
        found = relation(name)
        assert (found.form, found.text) == (form, text)


def test_plurals_and_back() -> None:
    for noun in ("city", "person", "spouse", "class", "box", "birth place", "date of birth", "bus", "taxon"):
        assert singular(plural(noun)) == noun != plural(noun)
        assert plural(plural(noun)) == plural(noun)
