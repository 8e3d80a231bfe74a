"""The one query of an answer: it gives the answer's rows on another engine, and asks for nothing else."""

from pathlib import Path

import pyoxigraph

import kgsparql
from tests.conftest import FIXTURES
from tests.scripted import ask, reading_with

QUESTIONS = {
    "Where was Marie Curie born?": "fact",
    "Which people were born in Warsaw?": "the other way",
    "Who shared a prize with Marie Curie?": "there and back",
    "How many Nobel laureates are there?": "count",
    "Was Marie Curie born in Warsaw?": "yes or no",
    "Is Marie Curie older than Pierre Curie?": "comparison",
    "Who is the oldest laureate?": "superlative",
    "Which laureates have no spouse?": "absence",
    "List the laureates and their birth dates.": "two columns",
    "How many laureates were born in each country?": "groups",
    "How many years older is Pierre Curie than Marie Curie?": "difference",
    "What is the mass of Marie Curie?": "doubted",
}
COLUMNS = {"two columns": 2, "groups": 2}


def rows_of(store: pyoxigraph.Store, query: str) -> set[tuple[str, ...]]:
    found = store.query(query)
    if isinstance(found, pyoxigraph.QueryBoolean):
        return {(str(kgsparql.Literal(value=bool(found))),)}
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return {tuple(map(str, solution)) for solution in found}


def store_of(file: Path) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(path=file)
    return store


def test_the_query_of_an_answer_gives_its_rows_and_no_other_columns(nobel: kgsparql.KnowledgeBase) -> None:
    store = store_of(FIXTURES / "nobel.ttl")
    for question, kind in QUESTIONS.items():
        answer = nobel.ask(question)
        query = kgsparql.render(answer, "sparql")
        rows = {(str(one.term),) for one in answer.best}
        if answer.computed is not None:
            rows = {tuple(map(str, row)) for row in answer.computed.rows}
        assert rows_of(store, query) == rows, kind
        assert {len(row) for row in rows} == {COLUMNS.get(kind, 1)}, kind
        assert query.split()[0] == ("ASK" if answer.type == "boolean" else "SELECT"), kind
        assert "PREFIX" not in query, kind
        assert not any(line.startswith("#") for line in query.splitlines()), kind


def test_what_a_model_chose_among_is_what_its_query_finds(nobel: kgsparql.KnowledgeBase) -> None:
    chosen = ask(nobel, "Where was Marie Curie born?", reading_with("Marie Curie —studied at→")).answer
    found = rows_of(store_of(FIXTURES / "nobel.ttl"), kgsparql.render(chosen, "sparql"))
    assert found == {("<http://dbpedia.org/resource/University_of_Paris>",)}


def test_what_is_met_on_the_way_along_a_path_is_what_its_query_finds(nobel: kgsparql.KnowledgeBase) -> None:
    answer = nobel.ask("Which doctoral students of Max Born never got a Nobel Prize?")
    found = rows_of(store_of(FIXTURES / "nobel.ttl"), kgsparql.render(answer, "sparql"))
    assert {row[0] for row in found} <= {str(one.term) for one in answer.best}
    assert found


def test_no_answer_is_a_query_that_finds_nothing(nobel: kgsparql.KnowledgeBase) -> None:
    assert kgsparql.render(nobel.ask("Who was Batman?"), "sparql") == "SELECT * { FILTER(false) }"
