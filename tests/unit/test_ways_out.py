"""What a person is told who named something that is not there, and what to do about it."""

from __future__ import annotations

import pytest

import kgsparql
from kgsparql.errors import NotFoundError, OptionError
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers import load
from tests.scripted import knowledge_of


def test_a_given_entity_that_is_not_in_the_graph_is_an_error_and_all_that_is_may_be_given() -> None:
    knowledge = knowledge_of(":a a :Thing ; :knows :b .")
    for retriever in ("mindmap", "path_ranking"):
        with pytest.raises(NotFoundError) as caught:
            knowledge.ask("Who?", entities=("http://example.org/a", IRI("http://nope/x")), retriever=retriever)
        assert (caught.value.code, caught.value.exit_code) == ("E_NOT_FOUND", 3)
        assert caught.value.message == "<http://nope/x> is not in the graph"
        assert "kgsparql find" in caught.value.hint
    for name in ("a", "b", "Thing", "knows"):
        answer = knowledge.ask("Who?", entities=(IRI(f"http://example.org/{name}"),))
        assert [link.term.value for link in answer.linked] == [f"http://example.org/{name}"]


def test_where_no_entity_is_found_there_is_a_way_out(nobel: kgsparql.KnowledgeBase) -> None:
    answer = nobel.ask("Why zebras?")
    assert answer.status == "no_entity"
    assert [note for note in answer.notes if "kgsparql find" in note and "-e IRI" in note]
    (looked_for,) = [note for note in answer.notes if note.startswith("looked for 'zebras'; the nearest names are: ")]
    assert len(looked_for.partition("are: ")[2].split("; ")) == 3
    found = nobel.ask("Who worked with Marie Curie?")
    assert not any("kgsparql find" in note for note in found.notes)


@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        ("Which people were born after 1950?", False),
        ("How many people were born after 1950?", False),
        ("Which cities are there?", False),
        ("How many people died before 1950 in Gotham?", True),
    ],
)
def test_words_that_were_read_are_no_names_that_were_looked_for(
    nobel: kgsparql.KnowledgeBase, question: str, is_told: bool
) -> None:
    answer, planned = nobel.ask(question), nobel.plan(question)
    assert (answer.status == "answered") is not is_told
    assert any(note.code == "missing_name" for note in answer.notes) is is_told
    assert any(note.startswith("looked for") for note in planned.notes) is is_told


def test_read_words_of_another_graph_are_none_either() -> None:
    cars = ":a a :Car ; :price 5 . :b a :Car ; :price 9 . :Car rdfs:label 'car' . :price rdfs:label 'price' ."
    answer = knowledge_of(cars).ask("How many cars have a price above 6?")
    assert (answer.status, answer.values, answer.notes) == ("answered", (1,), ())


def test_an_option_says_what_it_should_be() -> None:
    for option, value, said in (
        ("max_hops", "foo", "mindmap: max_hops='foo' is not a whole number"),
        ("two_hop_when_single", "maybe", "mindmap: two_hop_when_single='maybe' is not yes or no"),
    ):
        with pytest.raises(OptionError) as caught:
            load("mindmap", {option: value})
        assert caught.value.message == said
