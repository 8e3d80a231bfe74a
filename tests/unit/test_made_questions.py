"""Questions made of graphs: examples for a user, and sets for an evaluation."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql import IRI, FederatedGraph, KnowledgeBase, Literal, OxigraphGraph
from kgsparql.errors import InputError, NotFoundError
from kgsparql.evaluation.datasets import answered, load, write_dataset
from kgsparql.linking.english_forms import Wording, plural, singular, wording
from kgsparql.made_questions.examples import example_questions
from kgsparql.made_questions.making import MadeQuestion, Starts, make, patterns_of
from kgsparql.plans.questions import can_be_asked, question_text
from kgsparql.rdf.paths import PropertyPath, Step
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import NOBEL, graph_of

E = "http://e.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@pytest.fixture(scope="module")
def questions(nobel: KnowledgeBase) -> tuple[str, ...]:
    return example_questions(nobel)


def graph_with(*triples: tuple[str, str, str | Literal]) -> KnowledgeBase:
    """A graph of triples of short names; what has a capital is labelled with it."""
    store = pyoxigraph.Store()
    for subject, predicate, object_ in triples:
        end = object_ if isinstance(object_, Literal) else IRI(E + object_)
        store.add(pyoxigraph.Quad(IRI(E + subject), IRI(LABEL if predicate == "label" else E + predicate), end))
    return kgsparql.open(store, embedder="none")


def test_they_are_of_four_kinds_and_each_is_answered_rightly(nobel: KnowledgeBase, questions: tuple[str, ...]) -> None:
    rights: dict[str, object] = {
        "What are the fields of work of Marie Curie?": {"chemistry", "physics"},
        "How many people studied at Victoria University of Manchester?": "2",
        "Which chemical element is named after Ernest Rutherford?": {"rutherfordium"},
        "What is the category of the award of William Henry Bragg?": {"Physics"},
    }
    assert questions == tuple(rights)
    for question, right in rights.items():
        answer = nobel.ask(question)
        assert (answer.status, answer.gaps) == ("answered", ())
        assert (answer.value.value if answer.value else {one.label for one in answer.best}) == right
    again = kgsparql.open(NOBEL, embedder="none")
    assert example_questions(again) == questions


def test_as_many_as_are_wanted_and_no_two_ask_for_the_same(nobel: KnowledgeBase, questions: tuple[str, ...]) -> None:
    for count in (0, 3):
        assert len(example_questions(nobel, count=count)) == count
    many = example_questions(nobel, count=8)
    assert len(set(many)) == len(many) > 4


def test_nothing_is_asked_where_nothing_has_a_name_or_a_fact() -> None:
    without_names = graph_with(("q1", "p1", "q2"), ("q3", "p1", "q4"))
    without_facts = graph_with(("a", "label", Literal("Ann")), ("b", "label", Literal("Ben")))
    for knowledge in (without_names, without_facts, graph_with()):
        assert example_questions(knowledge) == ()


def test_names_that_are_no_plain_text_are_not_shown() -> None:
    hostile = ("<b>Ann</b>", "Ann\u202eneB", "Ann\x07", "(Ann)", "Ann: a life", "", "A" * 500, 'Ann "A" Smith')
    triples: list[tuple[str, str, str | Literal]] = [("rome", "label", Literal("Rome"))]
    for number, name in enumerate(hostile):
        triples += [(f"n{number}", "label", Literal(name)), (f"n{number}", "capital", "rome")]
    found = example_questions(graph_with(*triples, ("it", "label", Literal("Italy")), ("it", "capital", "rome")))
    assert "What is the capital of Italy?" in found
    assert not any(name in text for text in found for name in hostile if name)


def test_what_is_answered_wrongly_is_not_shown() -> None:
    """Two cities have the name, so that the answer about one of them is not whole."""
    triples: list[tuple[str, str, str | Literal]] = []
    for name in ("one", "two"):
        triples += [(name, "label", Literal("Springfield")), (name, "mayor", f"{name}-mayor")]
        triples += [(f"{name}-mayor", "label", Literal(f"Mayor {name.title()}"))]
    knowledge = graph_with(*triples)
    assert knowledge.ask("What is the mayor of Springfield?").status == "partial"
    assert not any("Springfield" in text for text in example_questions(knowledge))


def test_a_large_graph_waits_for_its_label_index_and_a_very_large_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.made_questions.examples.INDEXED_AT_ONCE", 1_000)
    knowledge = kgsparql.open(NOBEL, embedder="none")
    assert example_questions(knowledge) == ()
    assert not knowledge.indexes.is_made
    assert knowledge.indexes.index.row_count > 0
    assert knowledge.indexes.is_made
    assert len(example_questions(knowledge)) == 4
    monkeypatch.setattr("kgsparql.made_questions.examples.MOST_TRIPLES", 1_000)
    assert example_questions(knowledge) == ()


def test_classes_and_properties_are_not_asked_about() -> None:
    rdfs, rdf = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    things = (("it", "label", Literal("Italy")), ("it", "capital", "rome"), ("rome", "label", Literal("Rome")))
    knowledge = graph_with(*things)
    store = knowledge.graph.store  # type: ignore[attr-defined]
    assert example_questions(knowledge) == ("What is the capital of Italy?",)
    for kind, is_asked in ((rdf + "Property", False), (rdfs + "Class", False), (E + "Class", True)):
        quad = pyoxigraph.Quad(IRI(E + "it"), IRI(rdf + "type"), IRI(kind))
        store.add(quad)
        found = example_questions(kgsparql.open(store, embedder="none"))
        assert ("What is the capital of Italy?" in found) == is_asked, kind
        store.remove(quad)


def test_endpoints_are_left_alone_and_beside_a_file(tmp_path: Path) -> None:
    with oxigraph_serve(store_of(NOBEL, tmp_path / "store")) as url:
        assert example_questions(kgsparql.open(url, embedder="none")) == ()
        assert example_questions(kgsparql.open(NOBEL, url, embedder="none")) == ()


WAYS = ("forward", "inverse", "mixed")


def counts_of(made: list[MadeQuestion]) -> Counter[tuple[int, str]]:
    return Counter(question.cell for question in made)


@pytest.fixture(scope="module")
def made(nobel: KnowledgeBase) -> list[MadeQuestion]:
    return make(nobel, 80, seed=1)


def ask(
    path: list[str], names: dict[str, str], kinds: list[str], *, several: bool = True, many: bool = False,
    counted: bool = False,
) -> str:  # fmt: skip
    """A question about Ann along a path of short names."""
    forms = {IRI(E + short): wording(name) for short, name in names.items()}
    steps = PropertyPath.of(*(f"{'^' * p.startswith('^')}{E}{p.lstrip('^')}" for p in path))
    kinds = kinds or [""] * len(path)
    lead = steps.steps if many else ()
    return question_text(steps, "Ann", forms, kinds, several=several, leads_to_many=lead, is_counted=counted)


def test_questions_are_balanced_their_topic_is_named_and_their_answers_are_of_one_kind(
    made: list[MadeQuestion], nobel: KnowledgeBase
) -> None:
    counts = counts_of(made)
    assert {hops for hops, _ in counts} == {1, 2, 3}
    assert list(counts.values()) == [10] * 8
    assert max(Counter(question.walk.path for question in made).values()) <= 2
    assert max(Counter(question.walk.start for question in made).values()) <= 3
    for question in made:
        assert 1 <= len(question.answers) <= 20
        assert len({isinstance(term, IRI) for term in question.answers}) == 1
        assert question.topic in question.text
        assert nobel.resolve(question.topic) == question.walk.start
        assert question.walk.start not in question.answers
        assert re.fullmatch(r"[A-Z\"]\S*( \S+)+[?.]", question.text)
    assert any(isinstance(term, Literal) for question in made for term in question.answers)
    assert len({question.text for question in made}) == 80


def test_a_triple_that_two_graphs_hold_is_one_way_back() -> None:
    """Counts are added over several graphs; from Bonn two triples lead to Ann, and none to anybody else."""
    born = IRI(f"{E}born")
    ann, bob, bonn, rome = (IRI(f"{E}{name}") for name in ("ann", "bob", "bonn", "rome"))

    def of(name: str, *triples: tuple[IRI, IRI]) -> OxigraphGraph:
        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(subject, born, object_) for subject, object_ in triples)
        return OxigraphGraph(store, name=name, fingerprint=name)

    there, back = Step(born), Step(born, "inverse")
    starts = Starts((ann, bob), {there: (bonn, rome), back: (ann, bob)}, frozenset())
    both = (ann, bonn), (bob, rome)
    twice = FederatedGraph([of("one", *both), of("two", *both, (IRI(f"{E}cid"), rome))])
    found = patterns_of(twice, starts, max_hops=2, seed=1)
    assert found[2, "mixed"] == {PropertyPath((there, back)): [bob]}
    alone = patterns_of(of("alone", *both, (IRI(f"{E}cid"), rome)), starts, max_hops=2, seed=1)
    assert found == alone


def test_every_question_is_what_its_query_finds(made: list[MadeQuestion], nobel: KnowledgeBase, tmp_path: Path) -> None:
    write_dataset(tmp_path / "made", made, nobel, sources=[str(NOBEL)], seed=1)
    dataset = load(tmp_path / "made")
    assert (dataset.graph, dataset.name, dataset.licence) == ((NOBEL,), "nobel-made", "that of the graph")
    assert dataset.source == f"made by kgsparql eval make from {NOBEL}"
    assert dataset.problems == ()
    assert {q.type for q in dataset.questions if q.hops == 2} == {f"2-hop {way}" for way in WAYS}
    asked = tuple(replace(question, answers=None) for question in dataset.questions)
    found = answered(replace(dataset, questions=asked), nobel).questions
    assert [{a.label for a in q.answers or ()} for q in found] == [
        {a.label for a in q.answers or ()} for q in dataset.questions
    ]


def test_the_same_seed_gives_the_same_bytes(made: list[MadeQuestion], nobel: KnowledgeBase, tmp_path: Path) -> None:
    again = make(kgsparql.open(NOBEL, embedder="none"), 80, seed=1)
    for name, one in (("a", made), ("b", again)):
        write_dataset(tmp_path / name, one, nobel, sources=[str(NOBEL)], seed=1)
    for file in ("questions.jsonl", "dataset.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    with pytest.raises(InputError, match="something is there already"):
        write_dataset(tmp_path, made, nobel, sources=[], seed=1)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]
    few = make(nobel, 20, max_hops=1, max_answers=1)
    assert {(question.cell[0], len(question.answers)) for question in few} == {(1, 1)}
    other = make(nobel, 80, seed=2)
    assert {question.text for question in other} != {question.text for question in made}


def test_who_wants_more_gets_more_of_every_kind_where_topics_are_scarce() -> None:
    people = "".join(
        f":p{n} a :Person ; rdfs:label 'Person {n}x' ; :knows :p{(3 * n + 1) % 9} ; :age {n} ; :weight {60 + n} ; "
        f":worksAt :s{n % 4} . "
        for n in range(9)
    )
    shops = "".join(f":s{n} a :Shop ; rdfs:label 'Shop {n}y' ; :size {n} . " for n in range(4))
    knowledge = KnowledgeBase(graph_of(people + shops), embedder=None)
    few, many = make(knowledge, 20), make(knowledge, 500)
    assert 20 < len(many) <= 3 * 13
    counts = counts_of(many)
    assert all(counts[cell] >= count for cell, count in counts_of(few).items())
    assert counts[1, "forward"] == counts[3, "mixed"]


def test_graphs_that_no_question_can_be_made_of() -> None:
    for turtle, message in (
        ("", "holds no triples"),
        (":a rdfs:label 'Ann' . :b a :C .", "holds no triples that a question could be about"),
        ("<http://e.org/Q1> <http://e.org/P2> <http://e.org/Q3> .", "nothing in it has a name"),
        ("<http://e.org/Ann> <http://e.org/P2> <http://e.org/Bob> .", "leads to at most 20 answers"),
    ):
        with pytest.raises(NotFoundError, match=message):
            make(KnowledgeBase(graph_of(turtle), embedder=None), 5)


def test_names_that_two_entities_have_are_avoided() -> None:
    twins = ":a rdfs:label 'Ann' ; :knows :b . :c rdfs:label 'Ann'@en ; :knows :b . "
    german = (
        ":a rdfs:label 'Springfield'@de ; :knows :b . :b rdfs:label 'Bob'@de ; :knows :d . :d rdfs:label 'Dan'@de . "
        ":c rdfs:label 'Springfield Ost'@de ; skos:altLabel 'Springfield'@de ."
    )
    for turtle, language, topics in (
        (twins + ":b rdfs:label 'Bob' ; :owns :d . :d rdfs:label 'a house' .", "en", {"Bob", "a house"}),
        (german, "de", {"Bob", "Dan"}),
    ):
        made = make(KnowledgeBase(graph_of(turtle), languages=(language,), embedder=None), 20)
        assert {question.topic for question in made} == topics


def test_what_few_graphs_are_asked() -> None:
    ends = "http://e.org/"
    facts = f":home [ :city :x ] ; :note '{'word ' * 40}' ; :alive true ; :site 'http://a.org/b' ; :age 7"
    for turtle, questions in (
        (  # the ends of IRIs stand for labels
            f"<{ends}Ann_Lee> <{ends}birthPlace> <{ends}New_York> .",
            ["What is the birth place of Ann Lee?", "Who has New York as birth place?"],
        ),
        (  # blank nodes, long texts, yes or no and addresses are no answers
            f":a rdfs:label 'Ann' ; {facts} . :x rdfs:label 'Bonn' .",
            ["What is the age of Ann?"],
        ),
    ):
        made = make(KnowledgeBase(graph_of(turtle), embedder=None), 20)
        assert [question.text for question in made] == questions


def test_forms_of_the_names_of_predicates() -> None:
    for name, form, text in (
        ("directed_by", "passive", "directed by"), ("has genre", "noun", "genre"), ("is a list of", "of", "list"),
        ("influenced", "verb", "influenced"), ("seed", "noun", "seed"), ("belongs to", "verb", "belongs to"),
        ("ISO code", "noun", "ISO code"), ("can check disease", "verb", "can check"), ("born", "passive", "born"),
        ("sub class of", "of", "subclass"), ("award – winner", "noun", "winner"), ("has part(s)", "noun", "parts"),
        ("product or service produced or provided", "noun", "product or service"),
    ):  # fmt: skip
        found = wording(name)
        assert found is not None, name
        assert (found.form, found.text) == (form, text)


def test_sentences() -> None:
    names = {"by": "written by", "at": "worked at", "part": "part of", "place": "birth place", "kid": "child"}
    names |= {"shop": "sells", "works": "works at", "edit": "shot by"}
    for path, kinds, said, more in (
        ("place", "", "What is the birth place of Ann?", {"several": False}),
        ("kid", "", "Who are the children of Ann?", {}),
        ("^kid", "", "Who has Ann as child?", {"several": False}),
        ("by", "person", "Who wrote Ann?", {}),
        ("^by", "book", "Which books were written by Ann?", {}),
        ("edit", "person", "Who was Ann shot by?", {}),
        ("^by", "book", "How many books were written by Ann?", {"counted": True}),
        ("^at", "poet", "How many people worked at Ann?", {"counted": True}),
        ("at", "university", "Name the universities that Ann worked at.", {}),
        ("at", "", "Name everything that Ann worked at.", {}),
        ("^at", "scientist", "Who worked at Ann?", {"several": False}),
        ("part", "", "What is Ann part of?", {"several": False}),
        ("^part", "", "What are the parts of Ann?", {}),
        ("^at place", "person city", "What are the birth places of the people that worked at Ann?", {}),
        ("kid place", "", "What are the birth places of the children of Ann?", {"many": True}),
        ("at ^at", "firm person", "Who else worked at one of the firms that Ann worked at?", {"many": True}),
        ("at ^at", "firm person", "Who else worked at the firm that Ann worked at?", {}),
        ("^place ^kid", "person person", "Whose child is one of the people whose birth place is Ann?", {}),
        ("^shop ^works", "", "Who works at one of the things that sell Ann?", {}),
    ):
        assert ask(path.split(), names, kinds.split(), **more) == said


def test_a_path_that_needs_two_clauses_is_not_asked() -> None:
    names = {IRI(E + "part"): Wording("of", "part"), IRI(E + "sub"): Wording("of", "subclass")}
    twice = [PropertyPath.of(E + name, E + name) for name in ("part", "sub")]
    assert [can_be_asked(path, names) for path in twice] == [False, True]
    assert not can_be_asked(PropertyPath.of(E + "unknown"), names)


def test_plurals_and_back() -> None:
    for noun in ("city", "person", "spouse", "class", "box", "birth place", "date of birth", "bus", "taxon"):
        assert plural(noun) != noun
        assert singular(plural(noun)) == noun
        assert plural(plural(noun)) == plural(noun)
