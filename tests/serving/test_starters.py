"""Questions to begin with: a fact, a list and a count that a graph answers rightly."""

from pathlib import Path

import pyoxigraph
import pytest

import kgsparql
from kgsparql import IRI, KnowledgeBase, Literal
from kgsparql.serving.starters import example_questions
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import NOBEL, known

E = "http://e.org/"
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
ITALY = (("it", "label", Literal("Italy")), ("it", "capital", "rome"), ("rome", "label", Literal("Rome")))


def graph_with(*triples: tuple[str, str, str | Literal]) -> KnowledgeBase:
    """A graph of triples of short names."""
    store = pyoxigraph.Store()
    for subject, predicate, object_ in triples:
        end = object_ if isinstance(object_, Literal) else IRI(E + object_)
        space = RDFS if predicate == "label" else E
        store.add(pyoxigraph.Quad(IRI(E + subject), IRI(space + predicate), end))
    return kgsparql.open(store, embedder="none")


def test_there_is_one_of_each_sort_and_it_is_answered_rightly(nobel: KnowledgeBase) -> None:
    rights: dict[str, object] = {
        "Who are the children of Albert Einstein?": {"Hans Albert Einstein"}, "Which people were born in Paris?": None,
        "How many people are there?": None,
    }  # fmt: skip
    questions = example_questions(nobel)
    assert questions == tuple(rights)
    for question, right in rights.items():
        answer = nobel.ask(question)
        assert (answer.status, answer.gaps) == ("answered", ())
        assert right is None or {one.label for one in answer.best} == right
    assert example_questions(kgsparql.open(NOBEL, embedder="none")) == questions


def test_a_thesaurus_has_one_of_each_sort() -> None:
    concepts = "".join(
        f':c{n} a skos:Concept ; skos:prefLabel "{name}" ; skos:broader :top . '
        for n, name in enumerate(("Botany", "Zoology", "Ecology"))
    )
    assert example_questions(known(concepts + ':top a skos:Concept ; skos:prefLabel "Biology" .')) == (
        "What is broader than Botany?", "Which Concepts are narrower than Biology?", "How many Concepts are there?",
    )  # fmt: skip


def test_nothing_is_asked_where_nothing_has_a_name_or_a_fact() -> None:
    without_names = graph_with(("q1", "p1", "q2"), ("q3", "p1", "q4"))
    without_facts = graph_with(("a", "label", Literal("Ann")), ("b", "label", Literal("Ben")))
    for knowledge in (without_names, without_facts, graph_with()):
        assert example_questions(knowledge) == ()


def test_names_that_are_no_plain_text_are_not_shown() -> None:
    hostile = ("<b>Ann</b>", "Ann\u202eneB", "Ann\x07", "(Ann)", "Ann: a life", "", "A" * 500, 'Ann "A" Smith')
    for name in hostile:
        named = (("n", "label", Literal(name)), ("n", "capital", "rome"))
        assert example_questions(graph_with(*ITALY, *named)) == ("What is the capital of Italy?",)


def test_what_is_answered_wrongly_is_not_shown() -> None:
    """Two cities have the name, so that the answer about one of them is not whole."""
    triples: list[tuple[str, str, str | Literal]] = []
    for name in ("one", "two"):
        triples += [(name, "label", Literal("Springfield")), (name, "mayor", f"{name}-mayor")]
        triples += [(f"{name}-mayor", "label", Literal(f"Mayor {name.title()}"))]
    knowledge = graph_with(*triples)
    assert knowledge.ask("What is the mayor of Springfield?").status == "partial"
    assert example_questions(knowledge) == ()


def test_a_large_graph_waits_for_its_label_index_and_a_very_large_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.serving.starters.INDEXED_AT_ONCE", 1_000)
    knowledge = kgsparql.open(NOBEL, embedder="none")
    assert example_questions(knowledge) == ()
    assert not knowledge.indexes.is_made
    assert knowledge.indexes.index.row_count > 0
    assert len(example_questions(knowledge)) == 3
    monkeypatch.setattr("kgsparql.serving.starters.MOST_TRIPLES", 1_000)
    assert example_questions(knowledge) == ()


def test_classes_and_properties_are_not_asked_about() -> None:
    knowledge = graph_with(*ITALY)
    store = knowledge.graph.store  # type: ignore[attr-defined]
    assert example_questions(knowledge) == ("What is the capital of Italy?",)
    for kind, is_asked in ((RDF + "Property", False), (RDFS + "Class", False), (E + "Class", True)):
        quad = pyoxigraph.Quad(IRI(E + "it"), IRI(RDF + "type"), IRI(kind))
        store.add(quad)
        found = example_questions(kgsparql.open(store, embedder="none"))
        assert ("What is the capital of Italy?" in found) == is_asked, kind
        store.remove(quad)


def test_endpoints_are_left_alone(tmp_path: Path) -> None:
    with oxigraph_serve(store_of(NOBEL, tmp_path / "store")) as url:
        assert example_questions(kgsparql.open(url, embedder="none")) == ()
