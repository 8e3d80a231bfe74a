"""Rows Q: terms that would be more than terms, SPARQL that must not run, and SPARQL that must not run for long."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from benchmarks.hostile.load import LABEL, listening
from benchmarks.hostile.processes import check
from benchmarks.hostile.rows import EX, NOBEL, Place, notes, row
from tests.model_server import ModelServer
from tests.scripted import Player
from tests.unit.user_query_corpus import DATASETS, LEGITIMATE, SECOND_READINGS, forbidden

HOSTILE = 'z" || true) } #'
DEEP = {
    "groups": "ASK " + "{" * 5000 + "}" * 5000,
    "parentheses": "ASK { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }",
    "negations": "ASK { FILTER(" + "!" * 5000 + "1) }",
    "alternatives": "ASK { <http://e.org/a> " + "|".join(["rdf:type"] * 20_000) + " ?o }",
    "conditions": "ASK { FILTER(" + "||".join(["true"] * 50_000) + ") }",
}
"""Each of these ends a process that parses it without a check."""

CHECK_EACH = """
import json, sys
from kgsparql.errors import KgsparqlError
from kgsparql.graphs.user_query import check
told = []
for text in json.load(sys.stdin):
    try:
        check(text)
        told.append(None)
    except KgsparqlError as error:
        told.append(error.code)
print(json.dumps(told))
"""
REFUSED_TERM = """
import sys
import pyoxigraph as ox
from kgsparql import Query
from kgsparql.errors import KgsparqlError
query = Query("values", "SELECT ?term { VALUES ?term { UNDEF } }")
for line in sys.stdin.buffer.read().splitlines():
    (quad,) = ox.parse(line, ox.RdfFormat.N_TRIPLES, lenient=True)
    try:
        print("SENT", query.bind(term=[quad.object]).text)
    except KgsparqlError as error:
        print(error.code)
"""


def checked(at: Place, texts: list[str]) -> list[str | None]:
    """What the check says of each text: a code, or ``None`` for what may run."""
    told: list[str | None] = json.loads(at.python(CHECK_EACH, stdin=json.dumps(texts).encode()).stdout)
    check(len(told) == len(texts), "not all were checked")
    return told


@row("Q01", f"a label {HOSTILE}", "finds nothing, closes nothing")
def closing_label(at: Place) -> None:
    file = at.write("g.nt", f'<{EX}a> {LABEL} "one" .\n<{EX}b> {LABEL} "two" .\n')
    at.refused(3, "nothing", "show", HOSTILE, "-k", file)
    answer = at.ask(HOSTILE, file, exit={2, 3})
    check(not answer["answers"], f"{answer['answers'][:1]}")


@row("Q02", "labels with ''' and \"\"\" and \\ and newlines and \\u0022", "found exactly")
def quotes(at: Place) -> None:
    labels = ["'''", '"""', "\\", "a\nb\rc\td", "\\u0022", '\\"', "x\\", "?label", HOSTILE]
    lines = [f"<{EX}{n}> {LABEL} {json.dumps(label)} ." for n, label in enumerate(labels)]
    file = at.write("g.nt", "\n".join(lines))
    found = at.select("SELECT ?s (STR(?l) AS ?v) { ?s rdfs:label ?l }", file)
    check({one["v"]["value"] for one in found} == set(labels), f"{found}")
    for n, label in enumerate(labels):
        done = at.fine("show", label, "-k", file)
        check(f"{EX}{n}" in done.stdout, f"{label!r}: {done.stdout!r}")


@row("Q03", "an IRI http://e/z> ?p ?o } UNION {…}} #", "exit 2 or 3 before anything is sent")
def hostile_iri(at: Place) -> None:
    for text in ("http://e/z> ?p ?o } UNION { ?s ?p ?o }} #", "http://e/a b", 'http://e/"', "http://e/{a}"):
        done = at.refused(2, "IRI", "ask", "Where is it?", "-k", NOBEL, "-e", text, "--no-model")
        check(done.seconds < 30, "late")
        done = at.run("show", text, "-k", NOBEL)
        check(done.exit in {2, 3} and not done.stdout, f"show {text}: exit {done.exit} {done.stdout[:100]!r}")


@row("Q04", "a term of a lenient parser, as the object of a triple", "E_IRI when it is bound")
def lenient_term(at: Place) -> str:
    data = rb"<http://e/s> <http://e/p> <http://e/x\u003E\u0020?q\u0020?r\u0020.\u0020#> ."
    done = at.python(REFUSED_TERM, stdin=data)
    check(done.stdout.strip() == "E_IRI", done.stdout)
    return done.stdout.strip()


@row("Q05", "a language `en } DROP ALL`", "exit 2; E_INPUT for a term that has it")
def hostile_language(at: Place) -> None:
    for language in ("en } DROP ALL", "en-", "a b", "en--"):
        at.refused(2, "lang", "ask", "Where is it?", "-k", NOBEL, "--lang", language, "--no-model")
    done = at.python(REFUSED_TERM, stdin=b'<http://e/s> <http://e/p> "x"@toolongalanguage .')
    check(done.stdout.strip() == "E_INPUT", done.stdout)


@row("Q06", "a hostile datatype IRI", "E_IRI when it is bound")
def hostile_datatype(at: Place) -> str:
    data = rb'<http://e/s> <http://e/p> "x"^^<http://e/t\u003E\u0020}\u0020#> .'
    done = at.python(REFUSED_TERM, stdin=data)
    check(done.stdout.strip() == "E_IRI", done.stdout)
    return done.stdout.strip()


ROUND_TRIP = """
import random, sys
import pyoxigraph as ox
from kgsparql import Query
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.terms import Literal
graph = OxigraphGraph(ox.Store(), name="empty", fingerprint="0")
query = Query("values", "SELECT ?term { VALUES ?term { UNDEF } }")
chance, wanted, different = random.Random(7), int(sys.argv[1]), 0
special = list("\\"'\\\\\\n\\r\\t#<>{}|^`$?u\\0") + ["VALUES ?term { UNDEF }", "\\u2028", "\\ufffe", "\\U0010ffff"]
def text():
    kind = chance.random()
    pieces = []
    for _ in range(chance.randint(0, 12)):
        if kind < 0.5 or chance.random() < 0.3:
            pieces.append(chance.choice(special))
        else:
            code = chance.randrange(0x110000)
            pieces.append(chr(code) if not 0xD800 <= code < 0xE000 else "x")
    return "".join(pieces)
while different < wanted:
    texts = {text() for _ in range(500)}
    found = {solution["term"].value for solution in graph.select(query.bind(term=[Literal(t) for t in texts]))}
    if found != texts:
        print("LOST", sorted(texts ^ found)[:3])
        break
    different += len(texts)
print(different)
"""


@row("Q07", "100,000 random texts as literals of a query", "each comes back as it was")
def any_text(at: Place) -> str:
    wanted = at.smaller(100_000, 5_000, "texts")
    done = at.python(ROUND_TRIP, wanted, timeout_s=600)
    check("LOST" not in done.stdout and int(done.stdout.split()[-1]) >= wanted, ascii(done.stdout[-300:]))
    return f"{int(done.stdout.split()[-1]):,} came back"


@row("Q08", "SERVICE in every spelling and place, and what Oxigraph reads as SERVICE though it is none",
     "E_FORBIDDEN_QUERY or a syntax error, no connection")  # fmt: skip
def service(at: Place) -> str:
    texts = forbidden()
    told = checked(at, texts)
    let_through = [text for text, code in zip(texts, told, strict=True) if code != "E_FORBIDDEN_QUERY"]
    check(len(texts) >= 200 and not let_through, f"let through: {let_through[:2]}")
    with listening() as (port, callers):
        more = [text.format(port=port) for text in SECOND_READINGS]
        for text in [*more, f"SELECT * {{ service silent <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}",
                     f"SELECT * {{ S\\u0045RVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"]:  # fmt: skip
            done = at.run("query", text, "-k", NOBEL)
            check(done.exit in {2, 4} and not done.stdout, f"exit {done.exit}: {text[:80]}")
    check(not callers, f"{len(callers)} connections")
    return f"{len(texts) + len(SECOND_READINGS) + 2} refused, no connection"


@row("Q09", "SERVICE in a literal, a prefix, a comment; 60 queries that are fine", "run")
def allowed(at: Place) -> str:
    refused = [text for text, code in zip(LEGITIMATE, checked(at, LEGITIMATE), strict=True) if code is not None]
    check(not refused, f"refused: {refused[:2]}")
    for text in ('SELECT ("SERVICE <http://e/>" AS ?v) {}', "SELECT ('x' AS ?v) {} # SERVICE <http://e/> { }",
                 "PREFIX SERVICE: <http://e/> SELECT (STR(SERVICE:p) AS ?v) {}"):  # fmt: skip
        check(len(at.values(text, NOBEL)) == 1, text)
    return f"{len(LEGITIMATE)} are let through"


@row("Q10", "INSERT, DELETE, LOAD, CLEAR, DROP, also after a semicolon", "exit 2, the store unchanged, no connection")
def updates(at: Place) -> None:
    at.fine("load", NOBEL, "--store", "S")
    before = at.count("S")
    with listening() as (port, callers):
        for text in ("INSERT DATA { <http://e/s> <http://e/p> 1 }", "DELETE WHERE { ?s ?p ?o }", "CLEAR ALL",
                     f"LOAD <http://127.0.0.1:{port}/x>", "DROP ALL", "SELECT * { ?s ?p ?o } ; DROP ALL"):  # fmt: skip
            at.refused(2, "E_FORBIDDEN_QUERY", "query", text, "-k", "S")
    check(not callers and at.count("S") == before, "something was changed or asked for")


@row("Q11", "FROM, FROM NAMED, BASE before them, FROM that hides", "exit 2")
def dataset(at: Place) -> None:
    for text in [*DATASETS, "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }"]:
        at.refused(2, "E_FORBIDDEN_QUERY", "query", text, "-k", NOBEL)


@row("Q12", "5,000 nested { ( !, a path of 20,000 alternatives, 50,000 ||", "exit 2, E_LIMIT, at once")
def nesting(at: Place) -> None:
    for text in DEEP.values():
        at.refused(2, "E_LIMIT", "query", "-", "-k", NOBEL, stdin=text, within_s=20)


PAST_THE_CHECK = """
import json, sys, time
import pyoxigraph as ox
from kgsparql.errors import QueryCrashError
from kgsparql.graphs.user_query import CheckedQuery, QueryWorker, check
store = ox.Store()
store.add(ox.Quad(*[ox.NamedNode("http://e.org/a")] * 3))
told = []
with QueryWorker(store) as worker:
    for text in json.load(sys.stdin):
        try:
            worker.run(CheckedQuery("ASK", text))
        except QueryCrashError as error:
            began = time.monotonic()
            rows = worker.run(check("SELECT * { ?s ?p ?o }")).rows
            told.append([error.code, rows, time.monotonic() - began])
print(json.dumps(told))
"""


@row("Q13", "the same past the check (a test's way in)", "E_QUERY_CRASH, and the next query works within 1 s of work")
def crash(at: Place) -> str:
    texts = [DEEP["groups"], DEEP["parentheses"].replace("(" * 5000, "(" * 6000).replace(")" * 5000, ")" * 6000),
             DEEP["conditions"]]  # fmt: skip
    told = json.loads(at.python(PAST_THE_CHECK, stdin=json.dumps(texts).encode()).stdout)
    check([code for code, _, _ in told] == ["E_QUERY_CRASH"] * 3, f"{told}")
    check(all(rows == 1 and seconds < 5 for _, rows, seconds in told), f"{told}")
    return f"E_QUERY_CRASH three times, next query after {max(s for *_, s in told):.2f} s at most"


@row("Q14", "a cross join of three patterns, --max-seconds 3", "exit 2, E_TIMEOUT soon after its time, nothing left")
def cross_join(at: Place) -> None:
    text = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    nothing = at.fine("query", "ASK { ?s ?p ?o }", "-k", NOBEL)
    done = at.refused(2, "E_TIMEOUT", "query", text, "-k", NOBEL, "--max-seconds", "3", below_mib=500)
    over = done.seconds - 3 - nothing.seconds
    check(over < 3, f"{over:.1f} s over its time, beside what a command takes")


@row("Q15", "p* with both ends free", "cut, or stopped at its deadline, with a hint")
def free_path(at: Place) -> None:
    file = at.folder / "ring.nt"
    file.write_text("".join(f"<{EX}n{n}> <{EX}p> <{EX}n{(n + 1) % 3_000}> .\n" for n in range(3_000)))
    text = f"SELECT (COUNT(*) AS ?n) {{ ?a <{EX}p>* ?b . ?b <{EX}p>* ?c }}"
    at.refused(2, "E_TIMEOUT", "query", text, "-k", file, "--max-seconds", "3", below_mib=500)
    at.fine("query", "SELECT * { dbo:Writer rdfs:subClassOf* ?b }", "-k", NOBEL)


@row("Q16", "a hub of 300,000 edges, asked two hops away", "within its limits, the hub is named as cut")
def hub(at: Place) -> str:
    edges = at.smaller(300_000, 30_000, "edges")
    file = at.folder / "hub.nt"
    with file.open("w") as out:
        out.write(f'<{EX}hub> {LABEL} "The Hub" .\n<{EX}n7> {LABEL} "Alpha" .\n<{EX}in> {LABEL} "is in" .\n')
        for n in range(edges):
            out.write(f"<{EX}n{n}> <{EX}in> <{EX}hub> .\n")
    at.fine("load", file, "--store", "S", timeout_s=300)
    answer = at.ask("What else is in the same hub as Alpha?", "S", exit={0, 3, 6}, timeout_s=300)
    check(answer["usage"]["queries"] <= 500, f"{answer['usage']}")
    said = notes(answer)
    check("hub" in said.lower(), f"the hub is not named: {said[:300]}")
    check(at.done[-1].peak_mib < 1024, f"{at.done[-1].peak_mib:.0f} MiB")
    return f"{answer['usage']['queries']} queries, exit {at.done[-1].exit}: {said[:120]}"


MANY_VALUES = """
import sys
import kgsparql
from kgsparql import Query
from kgsparql.exploration import labels
from kgsparql.rdf.terms import IRI
knowledge = kgsparql.open(sys.argv[1], embedder="none")
count = int(sys.argv[2])
terms = [IRI(f"http://e.org/absent{n}") for n in range(count)]
terms += [IRI("http://dbpedia.org/resource/Marie_Curie"), IRI("http://dbpedia.org/resource/Pierre_Curie")]
query = Query.load("neighbours_forward")
def found(some):
    return {tuple(s.values()) for s in knowledge.graph.select(query.bind(entity=some))}
whole, parts = found(terms), set()
for at in range(0, len(terms), 1000):
    parts |= found(terms[at:at + 1000])
named = [label for label in labels(knowledge.graph, terms).values() if not label.derived]
print(len(whole), whole == parts, len(named))
"""


@row("Q17", "100,000 terms in VALUES", "asked in chunks, the union equals the result of one query")
def many_values(at: Place) -> str:
    count = at.smaller(100_000, 10_000, "terms")
    said = at.python(MANY_VALUES, NOBEL, count, timeout_s=300).stdout.split()
    check(int(said[0]) > 10 and said[1:] == ["True", "2"], f"{said}")
    return f"{said[0]} solutions either way"


@row("Q18", "REGEX with (a{1000}){1000}, ((a{100}){100}){100}, ((", "exit 2, or 4 for what is no expression, at once")
def expressions(at: Place) -> None:
    for pattern, exit_, code in (
        ("(a{1000}){1000}", 2, "E_LIMIT"), ("((a{100}){100}){100}", 2, "E_LIMIT"), ("[a-z]{99999}", 2, "E_LIMIT"),
        ("((", 4, "E_SYNTAX"),
    ):  # fmt: skip
        text = f"SELECT * {{ ?s ?p ?o FILTER(REGEX(STR(?o), '{pattern}')) }}"
        at.refused(exit_, code, "query", text, "-k", NOBEL, "--max-seconds", "10", within_s=20, hint=exit_ == 2)
    evil = "SELECT * { ?s ?p ?o FILTER(REGEX(CONCAT(STR(?o), 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa!'), '(a+)+$')) }"
    at.fine("query", evil, "-k", NOBEL, "--max-seconds", "10")


BLANK_START = """
import sys
import kgsparql
from kgsparql.errors import KgsparqlError
from kgsparql.exploration import neighbours
from kgsparql import Query
from kgsparql.rdf.terms import BlankNode
knowledge = kgsparql.open(sys.argv[1], embedder="none")
node = next(s["o"] for s in knowledge.graph.select(Query("q", "SELECT ?o { ?s ?p ?o FILTER isBlank(?o) }")))
for tried in (lambda: Query.load("neighbours_forward").bind(entity=[node]), lambda: neighbours(knowledge.graph, [node]),
              lambda: knowledge.ask("What is it?", entities=[node])):
    try:
        print("SENT", tried())
    except KgsparqlError as error:
        print(error.code)
"""


@row("Q19", "a blank node of a result as the start of a question", "an error; never sent as _:x; exit 2 as text")
def blank_start(at: Place) -> str:
    file = at.write("g.ttl", f'<{EX}a> {LABEL} "Alpha" ; <{EX}p> [ <{EX}q> "x" ] .')
    done = at.python(BLANK_START, file)
    check("SENT" not in done.stdout and len(done.stdout.split()) == 3, done.stdout)
    for start in ("_:b0", "_:x"):
        done = at.run("show", start, "-k", file)
        check(done.exit in {2, 3} and not done.stdout, f"exit {done.exit}: {done.stdout[:100]}")
        at.refused(2, "", "ask", "What is it?", "-k", file, "-e", start, "--no-model")
    return "errors of the kinds " + ", ".join(sorted(set(at.done[0].stdout.split())))


@row("Q20", "a question about an entity that is not in the graph, with a model", "exit 3, and no model call")
def absent(at: Place) -> None:
    with ModelServer(Player()) as server:
        model = ["-m", "scripted-model", "--base-url", server.url]
        at.refused(3, "not in the graph", "ask", "Where is it?", "-k", NOBEL, "-e", f"{EX}nowhere", *model)
        check(not server.answered, f"{len(server.answered)} model calls")
        answer = at.ask("Where do zebras live?", NOBEL, exit=3, model=True, more=model)
    check(not answer["answers"] and not answer["evidence"], f"{answer['answers'][:1]}")
    check(all("answer" not in str(r.body.get("response_format")) for r in server.answered), "an answer was written")


QUERY_TEXT = re.compile(
    r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b[^.]*[{*?]|\bVALUES\s*[?(][^{]*\{\s*($|[<\"(U?{])|\bWHERE\s*\{|\bFILTER\s*\("
    r"|\bUNION\s*\{|\bPREFIX\s+\w*:",
)


@row("Q21", "the installed modules, searched for query text in strings", "only the three that make queries have any")
def no_query_text(at: Place) -> str:
    (package,) = at.venv.glob("lib/python*/site-packages/kgsparql")
    found, modules = [], 0
    for file in sorted(package.rglob("*.py")):
        module = file.relative_to(package).as_posix()
        modules += 1
        if module not in {"rdf/query.py", "rdf/path_queries.py", "rdf/graph_patterns.py"}:
            found += [f"{module}: {text[:60]}" for text in _strings(file) if _is_query(text)]
    check(modules > 200 and not found, f"{found[:3]}")
    return f"{modules} modules, none has any"


def _strings(file: Path) -> list[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    described = {id(n.body[0].value) for n in ast.walk(tree)
                 if isinstance(n, documented) and n.body and isinstance(n.body[0], ast.Expr)}  # fmt: skip
    return [n.value for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in described]  # fmt: skip


def _is_query(text: str) -> bool:
    is_sql = re.search(r"\b(FROM|INTO) (exchange|vector|sqlite_master|label|question)\b", text)
    return QUERY_TEXT.search(text) is not None and is_sql is None
