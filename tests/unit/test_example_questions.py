"""Example questions: made of the graph, of several kinds, in plain words, and answered rightly when they are asked."""

from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.made_questions.examples import as_asked, example_questions, how_many
from kgsparql.rdf.terms import IRI, Literal
from tests.conftest import FIXTURES
from tests.endpoints.servers import oxigraph_serve, store_of

NOBEL = FIXTURES / "nobel.ttl"
E = "http://e.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@pytest.fixture(scope="module")
def questions(nobel: KnowledgeBase) -> tuple[str, ...]:
    return example_questions(nobel)


def graph_of(*triples: tuple[str, str, str | Literal]) -> KnowledgeBase:
    """A graph of triples of short names; what has a capital is labelled with it."""
    store = pyoxigraph.Store()
    for subject, predicate, object_ in triples:
        end = object_ if isinstance(object_, Literal) else IRI(E + object_)
        store.add(pyoxigraph.Quad(IRI(E + subject), IRI(LABEL if predicate == "label" else E + predicate), end))
    return kgsparql.open(store, embedder="none")


def test_they_are_of_four_kinds_and_each_is_answered_rightly(nobel: KnowledgeBase, questions: tuple[str, ...]) -> None:
    rights: dict[str, object] = {
        "What are the fields of work of Marie Curie?": {"chemistry", "physics"},
        "What is the category of the award of William Henry Bragg?": {"Physics"},
        "How many people studied at Victoria University of Manchester?": "2",
        "Which chemical element is named after Ernest Rutherford?": {"rutherfordium"},
    }
    assert questions == tuple(rights)
    for question, right in rights.items():
        answer = nobel.ask(question)
        assert (answer.status, answer.gaps) == ("answered", ())
        assert (answer.value.value if answer.value else {one.label for one in answer.best}) == right
    again = kgsparql.open(NOBEL, embedder="none")
    assert example_questions(again) == questions
    assert example_questions(again, seed=1) != questions


def test_as_many_as_are_wanted_and_no_two_ask_for_the_same(nobel: KnowledgeBase, questions: tuple[str, ...]) -> None:
    for count in (0, 3):
        assert len(example_questions(nobel, count=count)) == count
    many = example_questions(nobel, count=8)
    assert len(set(many)) == len(many) > 4
    assert example_questions(nobel, max_seconds=0) == questions[:1], "when the time is over, what was found is taken"


def test_nothing_is_asked_where_nothing_has_a_name_or_a_fact() -> None:
    without_names = graph_of(("q1", "p1", "q2"), ("q3", "p1", "q4"))
    without_facts = graph_of(("a", "label", Literal("Ann")), ("b", "label", Literal("Ben")))
    for knowledge in (without_names, without_facts, graph_of()):
        assert example_questions(knowledge) == ()


def test_names_that_are_no_plain_text_are_not_shown() -> None:
    hostile = ("<b>Ann</b>", "Ann\u202eneB", "Ann\x07", "(Ann)", "Ann: a life", "", "A" * 500, 'Ann "A" Smith')
    triples: list[tuple[str, str, str | Literal]] = [("rome", "label", Literal("Rome"))]
    for number, name in enumerate(hostile):
        triples += [(f"n{number}", "label", Literal(name)), (f"n{number}", "capital", "rome")]
    found = example_questions(graph_of(*triples, ("it", "label", Literal("Italy")), ("it", "capital", "rome")))
    assert "What is the capital of Italy?" in found
    assert not any(name in text for text in found for name in hostile if name)


def test_what_is_answered_wrongly_is_not_shown() -> None:
    """Two cities have the name, so that the answer about one of them is not whole."""
    triples: list[tuple[str, str, str | Literal]] = []
    for name in ("one", "two"):
        triples += [(name, "label", Literal("Springfield")), (name, "mayor", f"{name}-mayor")]
        triples += [(f"{name}-mayor", "label", Literal(f"Mayor {name.title()}"))]
    knowledge = graph_of(*triples)
    assert knowledge.ask("What is the mayor of Springfield?").status == "partial"
    assert not any("Springfield" in text for text in example_questions(knowledge))


def test_a_large_graph_waits_for_its_label_index_and_a_very_large_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.made_questions.examples.INDEXED_AT_ONCE", 1_000)
    knowledge = kgsparql.open(NOBEL, embedder="none")
    assert example_questions(knowledge) == ()
    assert not knowledge.indexes.is_made
    assert knowledge.indexes.index.rows > 0
    assert knowledge.indexes.is_made
    assert len(example_questions(knowledge)) == 4
    monkeypatch.setattr("kgsparql.made_questions.examples.MOST_TRIPLES", 1_000)
    assert example_questions(knowledge) == ()


def test_classes_and_properties_are_not_asked_about() -> None:
    rdfs, rdf = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    things = (("it", "label", Literal("Italy")), ("it", "capital", "rome"), ("rome", "label", Literal("Rome")))
    knowledge = graph_of(*things)
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


def test_persons_are_asked_for_by_who() -> None:
    for made, said in (
        ("Who was Jaws directed by?", "Who directed Jaws?"),
        ("Who were Up and Soul written by?", "Who wrote Up and Soul?"),
        ("Who was Jaws shot by?", "Who was Jaws shot by?"),
        ("Which people were born in Rome?", "Who was born in Rome?"),
        ("Which people work at Bell Labs?", "Which people work at Bell Labs?"),
        ("Which film has Ann as editor?", "Which film has Ann as editor?"),
        ("Which?", "Which?"),
        ("", ""),
    ):
        assert as_asked(made) == said
    assert how_many("Which poets were born in Rome?") == "How many people were born in Rome?"
