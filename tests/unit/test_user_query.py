"""Queries of a user: what is refused before any parser sees it; and what an answer of nothing says."""

import ast
import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator

import pyoxigraph as ox
import pytest

import kgsparql
from benchmarks.hostile import catalogue, numbers_in
from kgsparql import IRI, KgsparqlError, PrefixMap
from kgsparql.errors import (
    ForbiddenQueryError,
    InputError,
    LimitError,
    NotFoundError,
    QuerySyntaxError,
    QueryTimeoutError,
)
from kgsparql.graphs.user_query import GraphQueries, QueryResult, check, is_nothing, why_nothing
from tests.world import NOBEL, ROOT, knowledge_of

from .user_query_corpus import DATASETS, LEGITIMATE, SECOND_READINGS, forbidden


@pytest.fixture
def server() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine, and who connected to it."""
    listener = socket.create_server(("127.0.0.1", 0))
    callers: list[str] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, address = listener.accept()
                callers.append(str(address))
                caller.close()

    thread = threading.Thread(target=accept)
    thread.start()
    yield listener.getsockname()[1], callers
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def _store() -> ox.Store:
    store = ox.Store()
    begin = ox.NamedNode("http://e.org/s"), ox.NamedNode("http://e.org/p")
    for name in ("http://e.org/o", "http://e.org/c.d", "http://x:"):
        store.add(ox.Quad(*begin, ox.NamedNode(name)))
    store.add(ox.Quad(*begin, ox.Literal(True)))
    return store


def _run_unchecked(text: str) -> None:
    """Do what happens when nobody checks a query."""
    with contextlib.suppress(SyntaxError, ValueError, OSError, RuntimeError):
        list(_store().query(text))  # type: ignore[arg-type]


def test_Q08_Q10_Q11_every_forbidden_variant_is_refused() -> None:
    texts = forbidden()
    assert len(texts) >= 200
    for text in texts:
        with pytest.raises(ForbiddenQueryError) as refused:
            check(text)
        assert refused.value.code == "E_FORBIDDEN_QUERY"
        assert "is not run here" in str(refused.value)


def test_Q09_legitimate_queries_are_not_refused() -> None:
    assert len(set(LEGITIMATE)) >= 60
    shipped = [path.read_text(encoding="utf-8") for path in (ROOT / "queries").glob("*.rq")]
    assert shipped
    for text in (*LEGITIMATE, *shipped):
        assert check(text).form in {"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"}, text


def test_Q08_Q11_what_oxigraph_reads_otherwise_than_the_specification(server: tuple[int, list[str]]) -> None:
    port, callers = server
    for written in SECOND_READINGS:
        text = written.format(port=port)
        callers.clear()
        _run_unchecked(text)
        assert callers, f"this text is no threat: the engine did not call the server: {text}"
        with pytest.raises((ForbiddenQueryError, QuerySyntaxError)):
            check(text)
    for text in DATASETS:
        assert isinstance(_store().query(text), ox.QueryBoolean | ox.QuerySolutions), "this text is no threat"
        with pytest.raises(ForbiddenQueryError, match="FROM"):
            check(text)


def test_random_texts_never_reach_a_server(server: tuple[int, list[str]]) -> None:
    port, callers = server
    where = f"<http://127.0.0.1:{port}/>"
    pieces = (
        f"SERVICE|service|SERVICE:p|a:SERVICE|b:c.d.SERVICE|_:b.c.SERVICE|SILENT|{where}|s:|?v|{{|}}|(|)|[|]|.|;|,"
        "|'|\"|'''|\"\"\"|#|\n|<|<'|<#|<?o#>|<?o'&&?p>'|>|FILTER|FILTER(?o<|VALUES ?q {|(1)|IN(|OPTIONAL{|UNION"
        "|GRAPH a:b{|EXISTS{|&&|=|!|1.|'x'|@en|^^|\\u0053ERVICE|\\u0022|\\|<<|<<(|)>>|>>|a|*|/|true| |FROM|?s ?p ?o"
    ).split("|")
    begin = (
        f"PREFIX a: <http://x:> PREFIX b: <http://y/> PREFIX SERVICE: <http://z/> PREFIX s: {where} PREFIX : {where} "
    )
    middles = (
        f"SERVICE {where} {{?x ?y ?z}}", "SERVICE:{?x ?y ?z}", f"BIND({where} AS ?v) ?s ?p a:SERVICE?v{{?x ?y ?z}}",
    )  # fmt: skip
    choose = random.Random(0)  # noqa: S311 - the same texts every time
    passed = 0
    for _ in range(10_000):
        first, last = ("".join(choose.choices(pieces, k=choose.randint(0, 4))) for _ in range(2))
        text = f"{begin}SELECT * {{?s ?p ?o {first}{choose.choice(middles)}{last}}}"
        with contextlib.suppress(InputError, QuerySyntaxError):
            checked = check(text)
            passed += 1
            _run_unchecked(checked.text)
        assert not callers, text
    assert passed > 20, "nearly everything was refused, so this shows nothing"


def test_Q12_what_is_too_much_or_ends_the_process_that_parses_it_is_refused_at_once() -> None:
    for text, limit in (
        ("ASK " + "{" * 5000 + "}" * 5000, "depth"), ("ASK { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }", "depth"),
        ("ASK { <http://e.org/a> " + "|".join(["rdf:type"] * 20_000) + " ?o }", "tokens"),
        ("ASK { FILTER(" + "||".join(["true"] * 50_000) + ") }", "tokens"),
        ("ASK { ?s ?p " + "[ ?p " * 200 + "]" * 200 + " }", "depth"),
        ("ASK { ?s ?p " + "(" * 200 + ")" * 200 + " }", "depth"), ("ASK { FILTER(" + "!" * 5000 + "1) }", "depth"),
        ("ASK { FILTER(" + "- " * 200 + "1) }", "depth"), ("ASK { ?s " + "^" * 200 + "a ?o }", "depth"),
        ("ASK { ?s ?p " + "<<( ?s ?p " * 200 + "1" + " )>>" * 200 + " }", "depth"),
        ("ASK { VALUES ?s { " + "1 " * 20_000 + "} }", "tokens"), ("ASK { ?s ?p '" + "x" * 2_000_000 + "' }", "length"),
    ):  # fmt: skip
        started = time.process_time()
        with pytest.raises(LimitError) as refused:
            check(text)
        assert (refused.value.code, refused.value.detail["limit"]) == ("E_LIMIT", limit)
        assert time.process_time() - started < 5, text[:40]


def test_checking_takes_time_in_proportion_to_the_text() -> None:
    hostile = ("a.b" * 300_000, "<a" * 400_000, "'" * 900_000, "a:" + "." * 900_000, "#\n" * 450_000, "\\" * 900_000,
               '"""' + '"" ' * 300_000, "?a<" * 300_000, "1" * 900_000, "@a-" * 300_000)  # fmt: skip
    for text in hostile:
        started = time.process_time()
        with pytest.raises(KgsparqlError):
            check(text)
        assert time.process_time() - started < 10, text[:20]


def test_known_prefixes_are_declared_when_they_are_used() -> None:
    prefixes = PrefixMap.default().merged({"mine": "http://mine.org/"})
    checked = check("SELECT * {\n  ?s rdfs:label ?o ; mine:p 'foaf:x' }", prefixes=prefixes)
    lines = checked.text.splitlines()
    assert lines[:2] == ["PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>", "PREFIX mine: <http://mine.org/>"]
    assert (checked.added, lines[2]) == (2, "SELECT * {")
    declared = "PREFIX rdfs: <http://e.org/> SELECT * { ?s rdfs:label ?o }"
    assert check(declared).text == declared
    with pytest.raises(QuerySyntaxError, match=r"line 2:4: the prefix nope: is not declared") as error:
        check("ASK {\n?s nope:p ?o }")
    assert "declare it" in error.value.hint
    assert (error.value.detail["line"], error.value.detail["column"]) == (2, 4)


def test_texts_that_are_not_queries() -> None:
    for text, message in (
        ("", "there is no query"),
        ("WHERE { ?s ?p ?o }", "does not start with WHERE"),
        ("ASK { ?s ?p ?o", "{ is never closed"),
        ("ASK { ?s ?p ?o ) }", "} is expected for {"),
        ("ASK { ?s ?p 'open }", "starts nothing"),
        ("ASK { ?s ?p '''open }", "does not end"),
        ("ASK { ?s ?p \ud800 }", "starts nothing"),
        ("ASK { ?s ?p '\\uD800' }", "no character has the code"),
        ("EXPLAIN SELECT * { ?s ?p ?o }", "EXPLAIN is not a word of SPARQL"),
    ):
        with pytest.raises(QuerySyntaxError) as error:
            check(text)
        assert message in str(error.value)
        assert error.value.exit_code == 4


def test_a_quote_written_as_an_escape_does_not_end_its_string() -> None:
    checked = check("SELECT ('a\\u0027b\\u0022c\\u005Cn' AS ?x) {}")
    assert [solution["x"] for solution in _store().query(checked.text)] == [ox.Literal("a'b\"c\\n")]  # type: ignore[union-attr]


TEXT = "a text matches only with its language or datatype: better start from the IRI"
ALL = "the graph mentions all that it names, but nothing matches the whole query"


@pytest.mark.parametrize(("query", "why"), [
    ("SELECT * { ?s rdfs:label ?n ; dbo:award/<http://e.org/nope> ?o }", "the graph does not mention e:nope"),
    ("PREFIX f: <http://e.org/> ASK { ?s a f:Robot, f:\\~ }", "the graph does not mention e:Robot and <http://e.org/~>"),
    ('ASK { ?s rdfs:label "Marie Curie"@la }', TEXT),
    ("SELECT (COUNT(*) AS ?n) { ?c a dbo:City ; dbo:birthDate ?d FILTER(xsd:integer(?d) > 1) }",
     f"{ALL}: try it without FILTER"),
    ("SELECT * { ?s dbo:birthDate 1 GRAPH <http://e.org/g> { ?s ?p ?o } }", ALL),
    ("SELECT * { ?s ?s ?s }", ""),
])  # fmt: skip
def test_why_a_query_finds_nothing_is_what_the_graph_lacks(query: str, why: str) -> None:
    with kgsparql.open(NOBEL, embedder="none", prefixes={"e": "http://e.org/"}) as knowledge:
        assert is_nothing(knowledge.query(query))
        said = knowledge.why_nothing(query)
    assert said == why


def test_what_cannot_be_found_out_is_said() -> None:
    def late(*_: object, **__: object) -> QueryResult:
        raise QueryTimeoutError("the query was stopped after 5 s", timeout_s=5.0)

    said = why_nothing(check("SELECT * { ?s a dbo:City }"), late, PrefixMap.default())
    assert said == "why there is nothing could not be found out: the query was stopped after 5 s"


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("<http://e.org/Caf%C3%A9> ?p ?o", "<http://e.org/Café>"), ("?s ?p <http://e.org/Caf%c3%a9>", "<http://e.org/Café>"),
     ("<http://e.org/a%2fb> :knows ?o", "<http://e.org/a%2Fb>"), ("<http://e.org/Cafe> ?p ?o", "")],
)  # fmt: skip
def test_a_query_with_an_iri_that_is_encoded_otherwise_names_the_one_that_is_there(pattern: str, meant: str) -> None:
    knowledge = knowledge_of("<http://e.org/Café> :knows <http://e.org/Café> . <http://e.org/a%2Fb> :knows 1 .")
    why = GraphQueries(knowledge.graph).why_nothing(f"PREFIX : <http://example.org/> SELECT * {{ {pattern} }}")
    assert why.startswith("the graph does not mention <http://e.org/")
    assert why.endswith(f"; did you mean {meant}?") if meant else "did you mean" not in why


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
    assert "looked for 'zebras'; nothing is like that" in answer.notes
    found = nobel.ask("Who worked with Marie Curie?")
    assert not any("kgsparql find" in note for note in found.notes)


@pytest.mark.parametrize(("question", "is_told"), [
    ("Which people were born after 1950?", False),
    ("How many people were born after 1950?", False),
    ("Which cities are there?", False),
    ("How many people died before 1950 in Gotham?", True),
])  # fmt: skip
def test_words_that_were_read_are_no_missing_names(nobel: kgsparql.KnowledgeBase, question: str, is_told: bool) -> None:
    answer, planned = nobel.ask(question), nobel.plan(question)
    assert (answer.status == "answered") is not is_told
    assert any(note.code == "missing_name" for note in answer.notes) is is_told
    assert any(note.startswith("looked for") for note in planned.notes) is is_told


def test_read_words_of_another_graph_are_none_either() -> None:
    cars = ":a a :Car ; :price 5 . :b a :Car ; :price 9 . :Car rdfs:label 'car' . :price rdfs:label 'price' ."
    answer = knowledge_of(cars).ask("How many cars have a price above 6?")
    assert (answer.status, answer.values, answer.notes) == ("answered", (1,), ())


def test_every_row_of_the_catalogue_has_a_test_or_says_why_not() -> None:
    rows = catalogue()
    there = {
        number
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for number in numbers_in(node.name)
    }
    assert [row.number for row in rows if row.number not in there and not row.not_run] == []
