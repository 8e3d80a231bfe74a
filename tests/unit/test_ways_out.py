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


def test_an_option_says_what_it_should_be() -> None:
    for option, value, said in (
        ("max_hops", "foo", "mindmap: max_hops='foo' is not a whole number"),
        ("two_hop_when_single", "maybe", "mindmap: two_hop_when_single='maybe' is not yes or no"),
    ):
        with pytest.raises(OptionError) as caught:
            load("mindmap", {option: value})
        assert caught.value.message == said
