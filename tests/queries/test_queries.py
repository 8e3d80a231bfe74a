"""Every query of ``queries/`` on two engines, against the solutions kept in ``fixtures/queries/``."""

import ast
import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pyoxigraph
import pytest

from kgsparql import IRI, BlankNode, KnowledgeGraph, Literal, Query, Term
from kgsparql.rdf.graph_patterns import Fact, Select, Values, Variable, select_query
from tests.engines import ENGINES, engine_from_file
from tests.world import ROOT

QUERIES = sorted(file.stem for file in (ROOT / "queries").glob("*.rq"))
FINDS_NOTHING_HERE = {"named_graph_triples"}
"""What a default graph does not show, and ours show everything; servers that do not are asked in tests/endpoints."""
FIXTURES = ROOT / "fixtures" / "queries"
STORES = ("storage/", "models/embedders.py", "linking/label_index/")
"""Where SQL is written."""

graph_of = cache(engine_from_file)


def kept_cases(name: str) -> list[dict[str, Any]]:
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


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


def is_as_kept(found: list[dict[str, str]], case: dict[str, Any]) -> bool:
    return in_order(found) == in_order(case["solutions"]) and (not case.get("ordered") or found == case["solutions"])


@pytest.mark.parametrize("name", QUERIES)
def test_two_engines_find_the_solutions_that_are_kept(name: str) -> None:
    for case in kept_cases(name):
        query = bound(name, case)
        for engine in ENGINES:
            graph = graph_of(engine, FIXTURES / case["graph"])
            assert is_as_kept(solutions_of(graph, query), case), (engine, case["name"], solutions_of(graph, query))


def test_every_query_has_cases_bound_and_unbound_and_every_case_a_query() -> None:
    assert [file.stem for file in sorted(FIXTURES.glob("*.json"))] == QUERIES
    for name in QUERIES:
        kept = kept_cases(name)
        has_parameters = re.search(r'UNDEF|NOT IN \(""\)', Query.load(name).text) is not None
        assert any("parameters" not in case for case in kept), name
        assert any("parameters" in case for case in kept) == has_parameters, name
        assert any(case["solutions"] for case in kept) == (name not in FINDS_NOTHING_HERE), name


def test_the_comments_of_a_query_say_what_it_is_and_it_is_portable() -> None:
    """The comments of grlc, and that they are true: parameters are what holds UNDEF or "", variables the projection."""
    for name in QUERIES:
        text = Query.load(name).text
        said = re.match(r"#\+ summary: \S.*\.\n#\+ parameters: \[(.*)\]\n#\+ variables: \[(.*)\]\n", text)
        assert said is not None, name
        parameters, variables = (set(re.findall(r"\w+", part)) for part in said.groups())
        blocks = re.findall(r"VALUES\s+(\?\w+|\([^)]*\))\s*\{\s*\(?\s*UNDEF", text)
        blocks += re.findall(r'(\?\w+) NOT IN \(""\)', text)
        assert parameters == {found for block in blocks for found in re.findall(r"\w+", block)}, name
        assert variables == set(graph_of("oxigraph", FIXTURES / "people.ttl").select(Query.load(name)).variables), name
        code = re.sub(r"^\s*#[^\n]*$", "", text, flags=re.MULTILINE)
        vendor = re.search(r"\b(LATERAL|SERVICE|FROM|LOAD|INSERT|DELETE|CONSTRUCT|bif:|hint:)\b", code, re.IGNORECASE)
        assert vendor is None, name


def test_Q21_no_query_text_outside_three_modules() -> None:
    """SPARQL in a string, an f-string or a ``%`` of any other module would go round validation."""
    shape = re.compile(
        r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b[^.]*[{*?]|\bVALUES\s*[?(][^{]*\{\s*($|[<\"(U?{])|\bWHERE\s*\{|\bFILTER\s*\(|\bUNION\s*\{|\bPREFIX\s+\w*:"
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


def test_what_is_looked_up_without_sparql_is_what_the_query_finds() -> None:
    """Also where a triple is in two graphs, a subject would be a literal, and a solution names its arm."""
    n, x, p, end = map(Variable, ("n", "x", "p", "end"))
    some = (IRI("http://example.org/marie"), Literal("Paris"))
    told = [
        select_query("told", Select(((n, Literal("0")), *((v, None) for v in (x, p, end))), (Values(x, some), fact)))
        for fact in (Fact(x, p, end), Fact(end, p, x))
    ]
    cases = [(case["graph"], bound(name, case)) for name in QUERIES for case in kept_cases(name)]
    cases += [(graph, query) for graph in {graph for graph, _ in cases} for query in told]
    looked_up = [(graph, query) for graph, query in cases if query.lookup is not None]
    assert len(looked_up) > 20
    for name, query in looked_up:
        graph = graph_of("oxigraph", FIXTURES / name)
        by_sparql = replace(query, lookup=None)
        found = in_order([{key: str(term) for key, term in one.items()} for one in graph.select(query)])
        wanted = in_order([{key: str(term) for key, term in one.items()} for one in graph.select(by_sparql)])
        # Without DISTINCT the engine repeats a triple that is in two graphs.
        assert found == [row for at, row in enumerate(wanted) if row not in wanted[:at]], (name, query.text)
        assert set(graph.select(query).variables) == set(graph.select(by_sparql).variables)
