"""Every query of ``queries/`` on two engines, against the solutions kept in ``fixtures/queries/``."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.protocol.reply_checks import about_the_query
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import BlankNode, Term
from tests.engines import ENGINES, engine_from_file

ROOT = Path(__file__).parents[2]
QUERIES = sorted(file.stem for file in (ROOT / "queries").glob("*.rq"))
FINDS_NOTHING_HERE = {"named_graph_triples"}
"""What a default graph does not show, and ours show everything; servers that do not are asked in tests/endpoints."""
FIXTURES = ROOT / "fixtures" / "queries"
STORES = ("storage/", "models/embedding_cache.py", "linking/label_index/")
"""Where SQL is written."""

graph_of = cache(engine_from_file)


def cases() -> list[Any]:
    return [
        pytest.param(file.stem, case, id=f"{file.stem}: {case['name']}")
        for file in sorted(FIXTURES.glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))
    ]


def term(text: str) -> Term:
    triple = next(iter(pyoxigraph.parse(f"<a:a> <a:a> {text} .", pyoxigraph.RdfFormat.N_TRIPLES)))
    return triple.object


def bound(name: str, case: dict[str, Any]) -> Query:
    query = Query.load(name)
    for names, rows in case.get("parameters", {}).items():
        variables = names.split()
        query = query.bind_rows(variables, [[term(t) for t in ([row] if len(variables) == 1 else row)] for row in rows])
    return query.limit(case["limit"]) if "limit" in case else query


def solutions_of(graph: KnowledgeGraph, query: Query) -> list[dict[str, str]]:
    """Solutions as text; blank nodes have no name that two engines share."""
    return [
        {name: "_:" if isinstance(found, BlankNode) else str(found) for name, found in solution.items()}
        for solution in graph.select(query)
    ]


def in_order(solutions: list[dict[str, str]]) -> list[list[tuple[str, str]]]:
    return sorted(sorted(solution.items()) for solution in solutions)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "case"), cases())
def test_solutions_are_as_kept(name: str, case: dict[str, Any], engine: str) -> None:
    query, graph = bound(name, case), graph_of(engine, FIXTURES / case["graph"])
    found = solutions_of(graph, query)
    honest = graph.select(query)
    assert about_the_query(honest, query, SparqlRequest("http://e.org/", name, query.text, 1.0)) is honest
    if case.get("ordered"):
        assert found == case["solutions"]
    assert in_order(found) == in_order(case["solutions"])


def test_every_query_has_cases_and_every_case_a_query() -> None:
    assert [file.stem for file in sorted(FIXTURES.glob("*.json"))] == QUERIES


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_with_parameters_is_tried_bound_and_unbound(name: str) -> None:
    kept = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    has_parameters = re.search(r'UNDEF|NOT IN \(""\)', Query.load(name).text) is not None
    assert any("parameters" not in case for case in kept)
    assert any("parameters" in case for case in kept) == has_parameters
    assert any(case["solutions"] for case in kept) == (name not in FINDS_NOTHING_HERE)


@pytest.mark.parametrize("name", QUERIES)
def test_comments_say_what_a_query_is(name: str) -> None:
    """The comments of grlc, and that they are true: parameters are what holds UNDEF or "", variables the projection."""
    text = Query.load(name).text
    assert re.match(r"#\+ summary: \S.*\.\n#\+ parameters: \[.*\]\n#\+ variables: \[.*\]\n", text)
    said = re.search(r"#\+ parameters: \[(.*)\]", text)
    blocks = re.findall(r"VALUES\s+(\?\w+|\([^)]*\))\s*\{\s*\(?\s*UNDEF", text)
    blocks += re.findall(r'(\?\w+) NOT IN \(""\)', text)
    assert said is not None
    assert set(re.findall(r"\w+", said[1])) == {name for block in blocks for name in re.findall(r"\w+", block)}
    variables = re.search(r"#\+ variables: \[(.*)\]", text)
    assert variables is not None
    found = graph_of("oxigraph", FIXTURES / "people.ttl").select(Query.load(name))
    assert set(re.findall(r"\w+", variables[1])) == set(found.variables)


@pytest.mark.parametrize("name", [name for name in QUERIES if Query.load(name).triples])
def test_the_triples_that_a_query_says_it_shows_are_in_the_graph(name: str) -> None:
    """Those whose terms are all selected; the others a snapshot tells from what was bound."""
    patterns = [pattern for pattern in Query.load(name).triples if pattern.variables <= Query.load(name).variables]
    for case in json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8")):
        graph = graph_of("oxigraph", FIXTURES / case["graph"])
        triples = graph.select(Query("all", "SELECT * { ?s ?p ?o }"))
        held = {tuple(str(triple[place]) for place in "spo") for triple in triples}
        for solution in graph.select(bound(name, case)):
            for pattern in patterns:
                verb = solution[pattern.predicate] if isinstance(pattern.predicate, str) else pattern.predicate
                shown = tuple(map(str, (solution[pattern.subject], verb, solution[pattern.object])))
                assert shown in held or any(place.startswith("_:") for place in shown)


def test_queries_that_show_subject_predicate_and_object_say_so() -> None:
    """Else what an endpoint replied is missing in the triples of a snapshot."""
    said = {name for name in QUERIES if Query.load(name).triples}
    places = [{"subject", "predicate", "object"}, {"entity", "predicate", "object"}, {"entity", "predicate", "label"}]
    shows = {name for name in QUERIES if any(place <= Query.load(name).variables for place in places)}
    assert shows <= said


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_portable(name: str) -> None:
    code = re.sub(r"^\s*#[^\n]*$", "", Query.load(name).text, flags=re.MULTILINE)
    assert not re.search(r"\b(LATERAL|SERVICE|FROM|LOAD|INSERT|DELETE|CONSTRUCT|bif:|hint:)\b", code, re.IGNORECASE)


def test_Q21_no_query_text_outside_three_modules() -> None:
    """SPARQL in a string, an f-string or a ``%`` of any other module would go round validation."""
    shape = re.compile(
        r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b[^.]*[{*?]|\bVALUES\s*[?(][^{]*\{\s*($|[<\"(U?{])|\bWHERE\s*\{|\bFILTER\s*\(|\bUNION\s*\{|\bPREFIX\s+\w*:",
    )
    found = []
    for file in sorted((ROOT / "kgsparql").rglob("*.py")):
        module = file.relative_to(ROOT / "kgsparql").as_posix()
        if module in {"rdf/query.py", "rdf/path_queries.py", "rdf/graph_patterns.py"}:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        documentation = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            is_sql = module.startswith(STORES) and re.search(
                r"\b(FROM|INTO) (exchange|vector|sqlite_master|label|question)\b", text
            )
            if id(node) not in documentation and shape.search(text) and not is_sql:
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {text[:60]!r}")
    assert found == []
