"""Every query of ``queries/`` against the solutions kept in ``fixtures/queries/``, and what :class:`Query` reads."""

import ast
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql import IRI, BlankNode, KnowledgeGraph, Literal, Query, Term
from kgsparql.errors import QueryBindingError
from kgsparql.exploration import walk_ways
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import PropertyPath, Walk
from kgsparql.rdf.query import MAX_ARMS
from kgsparql.rdf.terms import validated
from tests.engines import ENGINES, engine_from_file, engine_from_quads
from tests.world import EX, ROOT, ex

QUERIES = sorted(file.stem for file in (ROOT / "queries").glob("*.rq"))
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
        assert any(case["solutions"] for case in kept), name


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
    """Also where a triple is in two graphs."""
    cases = [(case["graph"], bound(name, case)) for name in QUERIES for case in kept_cases(name)]
    looked_up = [(graph, query) for graph, query in cases if query.lookup is not None]
    assert len(looked_up) > 15
    for name, query in looked_up:
        graph = graph_of("oxigraph", FIXTURES / name)
        by_sparql = replace(query, lookup=None)
        found = in_order([{key: str(term) for key, term in one.items()} for one in graph.select(query)])
        wanted = in_order([{key: str(term) for key, term in one.items()} for one in graph.select(by_sparql)])
        # Without DISTINCT the engine repeats a triple that is in two graphs.
        assert found == [row for at, row in enumerate(wanted) if row not in wanted[:at]], (name, query.text)
        assert set(graph.select(query).variables) == set(graph.select(by_sparql).variables)


PEOPLE = Path(__file__).parents[2] / "fixtures" / "queries" / "people.ttl"


@cache
def people(engine: str) -> KnowledgeGraph:
    return engine_from_file(engine, PEOPLE)


@pytest.fixture(params=ENGINES)
def graph(request: pytest.FixtureRequest) -> KnowledgeGraph:
    return people(request.param)


def path(*steps: str) -> PropertyPath:
    return PropertyPath.of(*(s.replace("^", f"^{EX}") if s.startswith("^") else EX + s for s in steps))


def values(graph: KnowledgeGraph, query: Query, *names: str) -> set[tuple[Term, ...]]:
    return {tuple(solution[name] for name in names) for solution in graph.select(query)}


def test_union_gives_each_arm_its_own_values_and_limit(graph: KnowledgeGraph) -> None:
    arms = [
        Query.load("neighbours_forward").bind(entity=[ex("marie")], predicate=[ex("award")]).limit(2),
        Query.load("neighbours_inverse").bind(entity=[ex("physics")], predicate=[ex("category")]).limit(100),
    ]
    solutions = graph.select(Query.union(arms))
    assert len([s for s in solutions if s["entity"] == ex("marie") and "object" in s]) == 2
    assert {s["subject"] for s in solutions if s["entity"] == ex("physics")} == {ex("marie"), ex("pierre")}
    assert len(solutions) == 4


def test_union_hoists_prefixes_and_leaves_out_arms_bound_to_nothing(graph: KnowledgeGraph) -> None:
    arms = [
        Query.load("types").bind(entity=[ex("marie")]), Query.load("types").bind(entity=[]),
        Query.load("links_forward").bind(entity=[ex("pierre")], predicate=[ex("award")]),
    ]  # fmt: skip
    query = Query.union(arms)
    assert query.text.count("PREFIX rdf:") == 1
    assert values(graph, query, "entity") == {(ex("marie"),), (ex("pierre"),)}
    assert Query.union([Query.load("types").bind(entity=[])]).empty


def test_union_of_as_many_arms_as_allowed(graph: KnowledgeGraph) -> None:
    arm = Query.load("group_forward").bind_rows(("entity", "predicate"), [(ex("marie"), ex("field"))]).limit(1)
    assert len(graph.select(Query.union([arm] * MAX_ARMS))) == MAX_ARMS
    with pytest.raises(QueryBindingError):
        Query.union([arm] * (MAX_ARMS + 1))


def test_values_that_look_like_sparql_stay_values(graph: KnowledgeGraph) -> None:
    """Q01, Q02: also where the texts are cut apart and joined again."""
    hostile = Literal('z" || true) } #\nPREFIX x: <y:>\n# LIMIT 1000')
    odd = Literal('Henri "H" Becquerel\\')
    label = IRI("http://www.w3.org/2000/01/rdf-schema#label")
    one = Query.load("by_label").bind(label=[hostile, odd], predicate=[label])
    assert values(graph, one.limit(7), "entity") == {(ex("henri"),)}
    assert values(graph, Query.union([one.limit(7), one]), "entity") == {(ex("henri"),)}


def test_the_base_direction_of_a_literal_is_kept() -> None:
    """On Oxigraph, which has RDF 1.2: bound as it is, found as it is, and no other literal with it."""
    directional = Literal("abc", language="en", direction=pyoxigraph.BaseDirection.LTR)
    quads = [
        pyoxigraph.Quad(ex(name), ex("label"), text)
        for name, text in (("a", directional), ("b", Literal("abc", language="en")))
    ]
    query = Query("label", "SELECT ?s ?label { VALUES ?label { UNDEF } ?s ?p ?label }").bind(label=[directional])
    assert query.text == 'SELECT ?s ?label { VALUES ?label { "abc"@en--ltr } ?s ?p ?label }'
    assert validated(directional) == directional
    assert values(engine_from_quads("oxigraph", quads), query, "s", "label") == {(ex("a"), directional)}


@pytest.mark.parametrize(("steps", "ends"), [
    ((), {"marie"}), (("^spouse",), set()), (("field", "partOf"), {"science"}),
    (("award", "^award"), {"pierre", "henri"}), (("spouse", "award", "^award"), {"henri", "marie"}),
    (("field", "^field", "^spouse"), {"marie"}),
])  # fmt: skip
def test_walk_finds_the_ends(graph: KnowledgeGraph, steps: tuple[str, ...], ends: set[str]) -> None:
    found = values(graph, path_queries.walk(Walk(ex("marie"), path(*steps)), limit=100), "n0", "end")
    assert found == {(ex("marie"), ex(end)) for end in ends}


def test_walk_triples_has_every_way(graph: KnowledgeGraph) -> None:
    two = path("award", "^award")
    ways = graph.select(path_queries.walk_triples(Walk(ex("pierre"), two), [ex("marie")], limit=100))
    assert [(s["n0"], s["n2"]) for s in ways] == [(ex("pierre"), ex("marie"))]
    assert isinstance(ways[0]["n1"], BlankNode)
    every = values(graph, path_queries.walk_triples(Walk(ex("pierre"), two), limit=100), "n2")
    assert every == {(ex("marie"),), (ex("henri"),)}
    literal = path_queries.walk_triples(Walk(ex("marie"), path("award", "year")), [Literal(1911)], limit=100)
    assert len(graph.select(literal)) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_L13_an_end_of_a_regional_language_is_found_by_its_text_whatever_the_case_of_its_tag(engine: str) -> None:
    """An engine that keeps ``en-GB`` as it is finds no ``en-gb``, which is how all terms are written here."""
    tagged = [Literal("grey", language=tag) for tag in ("en-GB", "en")]
    held = engine_from_quads(engine, [pyoxigraph.Quad(ex("house"), ex("colour"), text) for text in tagged])
    regional = path_queries.walk_triples(Walk(ex("house"), path("colour")), tagged[:1], limit=9)
    assert 'FILTER(STR(?n1) IN ("grey"))' in regional.text
    assert "@en-" not in regional.text
    assert Literal("grey", language="en-GB") in {s["n1"] for s in held.select(regional)}
    (found,) = walk_ways(held, [Walk(ex("house"), path("colour"))], [tagged[:1]])
    assert [way.path.end for way in found.items] == tagged[:1]
    plain = path_queries.walk_triples(Walk(ex("house"), path("colour")), tagged[1:], limit=9)
    assert 'VALUES ?n1 { "grey"@en }' in plain.text


@pytest.mark.parametrize("steps", [("field", "partOf"), ("^field",), ("field", "^field")])
def test_answers_says_the_same_as_the_walk(graph: KnowledgeGraph, steps: tuple[str, ...]) -> None:
    short = values(graph, path_queries.answers(Walk(ex("marie"), path(*steps))), "answer")
    assert short == values(graph, path_queries.walk(Walk(ex("marie"), path(*steps)), limit=100), "end")


def test_answers_may_leave_out_blank_nodes() -> None:
    """In both forms of the query, where the ends are of both kinds."""
    quads = [
        pyoxigraph.Quad(ex(a), ex("p"), b)
        for a, b in (("a", ex("b")), ("a", BlankNode("x")), ("c", ex("b")), ("c", Literal(1)), ("c", BlankNode("x")))
    ]
    quads.append(pyoxigraph.Quad(BlankNode("y"), ex("p"), ex("b")))
    for engine in ENGINES:
        graph = engine_from_quads(engine, quads)
        for steps, named in ((("p",), {ex("b")}), (("p", "^p"), {ex("c")}), (("p", "^p", "p"), {Literal(1), ex("b")})):
            kept = path_queries.answers(Walk(ex("a"), path(*steps)), without_blank=True)
            assert values(graph, kept, "answer") == {(end,) for end in named}, (engine, steps)
            everything = values(graph, path_queries.answers(Walk(ex("a"), path(*steps))), "answer")
            assert any(isinstance(end, BlankNode) for (end,) in everything)


def test_Q17_values_in_chunks_equal_one_shot(graph: KnowledgeGraph) -> None:
    """100,000 terms; rdflib, which is slower by three orders, gets 2,000."""
    number, size = (100_000, 1_000) if graph.name == "oxigraph" else (2_000, 100)
    terms = [ex(f"absent{i}") for i in range(number - 2)] + [ex("marie"), ex("pierre")]
    query = Query.load("neighbours_forward")
    whole = values(graph, query.bind(entity=terms), "entity", "predicate", "object")
    parts = set[tuple[Term, ...]]()
    for i in range(0, number, size):
        parts |= values(graph, query.bind(entity=terms[i : i + size]), "entity", "predicate", "object")
    assert whole == parts
    assert len(whole) == 15
