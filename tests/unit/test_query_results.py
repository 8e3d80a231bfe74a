"""Queries in processes of their own: rows Q12 to Q14 and Q18 of the catalogue, limits, ends, and bytes of results."""

import csv
import io
import json
import math
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import IRI, BlankNode, Budget, Cut, Literal, OxigraphGraph, PrefixMap, Query, Triple, Usage, open_graph
from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    LimitError,
    OptionError,
    QueryCrashError,
    QueryError,
    QuerySyntaxError,
    QueryTimeoutError,
)
from kgsparql.graphs import query_process
from kgsparql.graphs.query_process import QueryProcesses
from kgsparql.graphs.stores import load_store
from kgsparql.graphs.user_query import FORMATS, CheckedQuery, Form, GraphQueries, QueryResult, check, serialise
from tests.world import ROOT, graph_of

from .user_query_corpus import LEGITIMATE

EX = "http://e.org/"


COUNT = check("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
TURTLE = '@prefix ex: <http://e.org/> . ex:a ex:p ex:b ; ex:name "Ada"@en , "1"^^ex:t , 5 . ex:b ex:p [ ex:p 1.5 ] .\n'


@contextmanager
def queries_of(target: Any, *, notes: Any = None) -> Iterator[GraphQueries]:
    """Open the queries of a store or of files."""
    note = notes or (lambda _: None)
    is_store = isinstance(target, ox.Store)
    opened = OxigraphGraph(target, name="test", fingerprint="0") if is_store else open_graph(target, notes=note)
    with closing(opened):
        yield GraphQueries(opened, note=note)


def run(target: Any, query: CheckedQuery, **limits: Any) -> QueryResult:
    with queries_of(target) as queries:
        return queries.run_checked(query, **limits)


def _ex(name: str) -> IRI:
    return IRI(EX + name)


@pytest.fixture(scope="module")
def store() -> ox.Store:
    """600 triples in a named graph, one in the default graph, one with a blank node."""
    store = ox.Store()
    store.extend(ox.Quad(_ex(f"n{i}"), _ex("next"), _ex(f"n{i * 7 % 600}"), _ex("graph")) for i in range(600))
    store.add(ox.Quad(_ex("a"), _ex("label"), Literal("Ada", language="en")))
    store.add(ox.Quad(BlankNode("kept"), _ex("label"), Literal("blank")))
    return store


@pytest.fixture(scope="module")
def worker(store: ox.Store) -> Iterator[GraphQueries]:
    with queries_of(store) as worker:
        yield worker


def test_every_form_over_the_union_of_all_graphs(worker: GraphQueries) -> None:
    assert list(worker.run_checked(COUNT).solutions) == [{"n": Literal(602)}]
    assert worker.run_checked(check(f"ASK {{ <{EX}n1> <{EX}next> <{EX}n7> . <{EX}a> <{EX}label> ?l }}")).boolean
    assert not worker.run_checked(check(f"ASK {{ <{EX}n1> <{EX}next> <{EX}n8> }}")).boolean
    made = worker.run_checked(
        check(f"CONSTRUCT {{ ?o <{EX}before> ?s }} WHERE {{ ?s <{EX}next> ?o FILTER(?s = <{EX}n1>) }}")
    )
    assert made.triples == (Triple(_ex("n7"), _ex("before"), _ex("n1")),)
    described = worker.run_checked(check(f"DESCRIBE <{EX}a>"))
    assert described.triples == (Triple(_ex("a"), _ex("label"), Literal("Ada", language="en")),)
    named = worker.run_checked(check(f"SELECT ?s {{ ?s <{EX}label> 'blank' }}")).solutions
    assert [solution["s"] for solution in named] == [BlankNode("kept")], "blank nodes keep the names of the store"


def test_results_are_cut_at_the_limit_and_say_so(worker: GraphQueries) -> None:
    query, made = (
        check(f"{form} {{ ?s <{EX}next> ?o }} {order}")
        for form, order in (("SELECT ?s ?o", "ORDER BY ?s"), ("CONSTRUCT WHERE", ""))
    )
    whole = worker.run_checked(query)
    assert whole.complete
    assert whole.rows == len(whole.solutions) == 600
    for rows in (0, 1, 5, 599, 600, 601):
        result, triples = worker.run_checked(query, max_rows=rows), worker.run_checked(made, max_rows=rows)
        assert result.rows == triples.rows == len(triples.triples) == min(rows, 600)
        assert list(result.solutions) == list(whole.solutions)[:rows]
        assert result.complete is result.solutions.complete is triples.complete is (rows >= 600)
        assert result.cut == (None if rows >= 600 else Cut("solutions", rows))
        assert triples.cut == (None if rows >= 600 else Cut("triples", rows))
    for text in (query, made):
        cut = worker.run_checked(text, max_bytes=5_000)
        assert (cut.complete, cut.content[-1:], len(cut.content) <= 5_000) == (False, b"\n", True)
        assert cut.rows == len(cut.triples) + len(cut.solutions) > 50


def test_the_engine_runs_what_the_check_lets_through(worker: GraphQueries) -> None:
    for text in LEGITIMATE:
        assert worker.run_checked(check(text), timeout_s=10).complete, text


def test_Q13_a_query_that_ends_its_process_is_an_error_and_the_next_one_works(store: ox.Store) -> None:
    with queries_of(store) as worker:
        for deep in (
            "{" * 5000 + "}" * 5000,
            "{ FILTER(" + "(" * 6000 + "1" + ")" * 6000 + ") }",
            "{ FILTER(" + "||".join(["true"] * 50_000) + ") }",
        ):
            with pytest.raises(QueryCrashError, match="SIG") as crash:
                worker.run_checked(CheckedQuery("ASK", f"ASK {deep}"))
            assert crash.value.code == "E_QUERY_CRASH"
            assert worker.run_checked(COUNT).solutions[0]["n"] == Literal(602)


def test_Q12_what_the_limits_allow_does_not_end_the_process(worker: GraphQueries) -> None:
    for text in (
        "ASK " + "{" * 99 + "}" * 99, "ASK { FILTER(" + "(" * 98 + "1" + ")" * 98 + ") }",
        "ASK { ?s ?p " + "[ ?p " * 99 + "1" + "]" * 99 + " }", "ASK { FILTER(" + "!" * 99 + "true) }",
        "ASK { FILTER(" + "||".join(["false"] * 501) + ") }", "ASK { FILTER(0 = " + "+".join(["1"] * 1900) + ") }",
        "ASK { <http://e.org/a> " + "|".join(["a"] * 501) + " ?o }",
        "ASK { <http://e.org/a> " + "/".join(["a"] * 101) + " ?o }",
        "ASK { " + " ".join(f"BIND(1 AS ?x{i})" for i in range(650)) + "}", "ASK { " + "MINUS { ?s ?p 1 } " * 550 + "}",
        "ASK { " + "{} " * 1900 + "}", "ASK { {} " + "UNION { ?s ?p ?o } " * 200 + "}",
        "DESCRIBE " + "<http://e.org/a> " * 500, "ASK { VALUES ?s { " + "1 " * 10_000 + "} }",
        "SELECT " + " ".join(f"(1 AS ?x{i})" for i in range(700)) + " {}",
    ):  # fmt: skip
        assert worker.run_checked(check(text), timeout_s=20).seconds < 20, text[:40]


def test_Q15_a_path_of_any_length_with_free_ends_has_a_limit(store: ox.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_process, "_MEMORY_BYTES", 200 * 2**20)
    with queries_of(store) as worker:
        cut = worker.run_checked(check(f"SELECT * {{ ?a <{EX}next>* ?b }}"), max_rows=100)
        assert (cut.rows, cut.complete) == (100, False)
        with pytest.raises((QueryTimeoutError, LimitError)):
            worker.run_checked(
                check(f"SELECT (COUNT(*) AS ?n) {{ ?a <{EX}next>* ?b . ?c <{EX}next>* ?d . ?e <{EX}next>* ?f }}"),
                timeout_s=0.5,
            )
        assert worker.run_checked(COUNT).rows == 1


def test_Q14_a_query_is_stopped_at_its_deadline_and_its_memory_is_back(store: ox.Store) -> None:
    with queries_of(store) as worker:
        started = time.monotonic()
        with pytest.raises(QueryTimeoutError, match=r"stopped after 0\.7 s") as late:
            worker.run_checked(check("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a"), timeout_s=0.7)
        assert 0.7 <= time.monotonic() - started < 10
        assert late.value.code == "E_TIMEOUT"
        assert worker.run_checked(COUNT).solutions[0]["n"] == Literal(602)


def test_Q18_a_hostile_regular_expression_ends_by_the_deadline(worker: GraphQueries) -> None:
    for pattern in ("^(a+)+$", "(x{999}){9}", "(a{1000}){1000}", "(("):
        text = f"SELECT * {{ BIND('{'a' * 5000}b' AS ?x) FILTER REGEX(?x, '{pattern}') }}"
        assert worker.run_checked(CheckedQuery("SELECT", text), timeout_s=10).rows == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux says which descriptors are open")
def test_the_worker_of_a_graph_in_memory_cannot_connect(worker: GraphQueries) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"<http://127.0.0.1:{listener.getsockname()[1]}/>"
        with pytest.raises(QueryError):
            worker.run_checked(CheckedQuery("SELECT", f"SELECT * {{ SERVICE {address} {{ ?s ?p ?o }} }}"), timeout_s=5)
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_runs_its_queries_in_a_worker_of_its_own(worker: GraphQueries) -> None:
    expected = worker.run_checked(check("ASK { ?s ?p ?o }"))

    def ask() -> None:
        result = worker.run_checked(check("ASK { ?s ?p ?o }"))
        worker.graph.close()
        sys.exit(0 if result.boolean == expected.boolean else 1)

    with worker.graph.processes._lock:  # type: ignore[attr-defined] # as if another thread of the parent ran a query
        child = multiprocessing.get_context("fork").Process(target=ask)
        child.start()
    child.join(60)
    assert child.exitcode == 0
    assert worker.run_checked(check("ASK { ?s ?p ?o }")).boolean == expected.boolean, (
        "that of the parent is still there"
    )


def test_a_triple_in_several_graphs_counts_once_or_a_store_says_that_it_may_not(tmp_path: Path) -> None:
    triple, two = f"<{EX}a> <{EX}p> 10 . ", f"<{EX}a> <{EX}p> 10 . <{EX}b> <{EX}p> 1"
    files = {"1.ttl": triple, "2.ttl": f"{two} .", "t.trig": f"{triple} <{EX}g> {{ {two} }}"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for names in (("1.ttl", "2.ttl"), ("t.trig",)):
        with queries_of([tmp_path / name for name in names]) as worker:
            found = worker.run_checked(check("SELECT (SUM(?o) AS ?sum) (COUNT(*) AS ?n) { ?s ?p ?o }")).solutions[0]
            in_graphs = worker.run_checked(check(f"SELECT ?g {{ GRAPH ?g {{ <{EX}a> ?p ?o }} }}"))
        assert found == {"sum": Literal(11), "n": Literal(2)}
        assert len(in_graphs) == len(names), "the named graphs are no more"
    notes = list[str]()
    load_store(tmp_path / "t.trig", tmp_path / "store")
    with queries_of(tmp_path / "store", notes=notes.append) as worker:
        worker.run_checked(check("SELECT DISTINCT ?o { ?s ?p ?o }"))
        assert notes == []
        worker.run_checked(COUNT)
    assert "counts once for each" in notes[0]


def test_errors_of_the_engine_are_query_errors_syntax_errors_say_the_line_as_written(worker: GraphQueries) -> None:
    with pytest.raises(QuerySyntaxError, match=r"^line 3:1\d: ") as error:
        worker.run_checked(check("SELECT * {\n  ?s rdfs:label ?o .\n  ?s foaf:name }\n"))
    assert error.value.detail["line"] == 3
    assert len(error.value.message) < 240
    with pytest.raises(QueryError, match="not supported") as other:
        worker.run_checked(check(f"ASK {{ FILTER(<{EX}f>(1)) }}"))
    assert not isinstance(other.value, QuerySyntaxError | QueryCrashError)


def test_all_formats_of_all_forms(worker: GraphQueries) -> None:
    texts: dict[Form, str] = {
        "SELECT": "SELECT ?s { ?s ?p ?o } LIMIT 2", "ASK": "ASK { ?s ?p ?o }", "DESCRIBE": f"DESCRIBE <{EX}a>",
        "CONSTRUCT": "CONSTRUCT WHERE { ?s ?p ?o } LIMIT 2",
    }  # fmt: skip
    everything = {name for names in FORMATS.values() for name in names}
    for form, names in FORMATS.items():
        result = worker.run_checked(check(texts[form]))
        for name in everything - set(names):
            with pytest.raises(OptionError) as error:
                serialise(result, name)
            assert all(possible in error.value.hint for possible in names)
        for name in names:
            assert serialise(result, name)
    quoted, odd = f'<{EX}a> <{EX}p> <<( <{EX}a> <{EX}p> "1" )>> .', f"<{EX}a> <{EX}p(1)> <{EX}a> ."
    for line, name in ((quoted, "jsonld"), (odd, "rdf"), (f'<{EX}a> <{EX}p> "\\u0001" .', "rdf")):
        with pytest.raises(OptionError, match=f"that {name} cannot hold"):
            serialise(QueryResult("CONSTRUCT", line.encode(), 1), name)
    for value in ("true", "false"):
        result = QueryResult("ASK", value.encode(), 1)
        assert json.loads(serialise(result, "json"))["boolean"] is (value == "true")
        assert f"<boolean>{value}</boolean>".encode() in serialise(result, "xml")
        assert serialise(result, "table").decode() == f"{value}\n"


def _select(*rows: str, variables: str = "?x\t?y") -> QueryResult:
    return QueryResult("SELECT", "\n".join((variables, *rows, "")).encode(), len(rows))


ROWS = _select(f'<{EX}a>\t"Ada, \\"L\\"\\nB"@en', '_:b\t5', f'\t"1"^^<{EX}t>')  # fmt: skip


def test_W3C_formats_hold_the_same_solutions() -> None:
    document = json.loads(serialise(ROWS, "json"))
    assert document["head"]["vars"] == ["x", "y"]
    first, second, third = document["results"]["bindings"]
    assert first["y"] == {"type": "literal", "value": 'Ada, "L"\nB', "xml:lang": "en"}
    assert second["x"]["type"] == "bnode"
    assert set(third) == {"y"}
    lines = list(csv.reader(io.StringIO(serialise(ROWS, "csv").decode(), newline="")))
    assert lines[:2] == [["x", "y"], [EX + "a", 'Ada, "L"\nB']]
    assert serialise(ROWS, "tsv") == ROWS.content
    results = ET.fromstring(serialise(ROWS, "xml"))  # noqa: S314 - written two lines above
    assert len(results.findall(".//{*}result")) == 3
    for name, known in (("json", ox.QueryResultsFormat.JSON), ("xml", ox.QueryResultsFormat.XML)):
        back = ox.parse_query_results(serialise(ROWS, name), format=known)
        assert [list(solution) for solution in back] == [  # type: ignore[union-attr]
            [solution.get("x"), solution.get("y")] for solution in ROWS.solutions
        ]


def test_other_threads_go_on_while_a_large_result_is_written_as_xml() -> None:
    rows = b"".join(b'<http://e.org/%d>\t"some text of a row"\n' % n for n in range(60_000))
    large, shares = QueryResult("SELECT", b"?s\t?l\n" + rows, 60_000), []
    for _ in range(3):  # others may keep this machine busy meanwhile
        writing, longest_s = threading.Thread(target=serialise, args=(large, "xml")), 0.0
        began = last = time.perf_counter()
        writing.start()
        while writing.is_alive():
            time.sleep(0.001)
            longest_s, last = max(longest_s, time.perf_counter() - last), time.perf_counter()
        shares.append(longest_s / (last - began))
    assert min(shares) < 0.25, shares


def test_graphs_are_sets_and_turtle_declares_what_it_uses() -> None:
    line = f'<{EX}a> <http://www.w3.org/2000/01/rdf-schema#label> "A\\u0000\\u001B" .\n'.encode()
    result = QueryResult("CONSTRUCT", line * 3, 3)
    assert serialise(result, "nt").count(b"\n") == 1
    turtle = serialise(result, "ttl").decode()
    assert "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ." in turtle
    assert "rdfs:label" in turtle
    assert "foaf" not in turtle
    assert list(ox.parse(turtle, ox.RdfFormat.TURTLE)) == list(ox.parse(line, ox.RdfFormat.N_TRIPLES))


def test_rdflib_reads_the_turtle_of_an_iri_that_ends_in_a_dot() -> None:
    line = b"<http://dbpedia.org/resource/Nash_Jr.> <http://e.org/p> <http://dbpedia.org/resource/Nash> .\n"
    assert len(rdflib.Graph().parse(data=serialise(QueryResult("CONSTRUCT", line, 1), "ttl"), format="turtle")) == 1


def test_the_table_is_aligned_shortens_iris_and_says_what_was_cut() -> None:
    cut = QueryResult("SELECT", ROWS.content, 3, complete=False)
    assert serialise(cut, "table", prefixes=PrefixMap({"ex": EX})).decode().splitlines() == [
        "?x    ?y", "────  ───────────────", 'ex:a  "Ada, "L" B"@en', "_:b   5", '      "1"^^ex:t',
        "… solutions: at most 3 taken, there are more",
    ]  # fmt: skip
    lines = serialise(_select('"東京"\t1', '"cafe\u0301"\t2', '"plain"\t3'), "table").decode().splitlines()
    assert lines[2:] == ['"東京"   1', '"cafe\u0301"   2', '"plain"  3'], "wide and combining characters"
    long = _select('"' + "x" * 5000 + '"\t1')
    assert all(len(line) < 120 for line in serialise(long, "table").decode().splitlines())
    assert len(serialise(long, "csv")) > 5000, "a long value is shortened in the table only"


def test_the_table_has_no_control_characters() -> None:
    hostile = "\x1b[31mred\x07\x9b2J\u202eevil\u2066\x00\r\n\x08\ttab\ufeff"
    unusual = ox.Store()
    unusual.add(ox.Quad(_ex("\u200bx"), _ex("p"), Literal(hostile)))
    unusual.add(ox.Quad(_ex("y"), _ex("p"), Literal(hostile, datatype=_ex("\u200bt"))))
    table = serialise(run(unusual, check("SELECT * { ?s ?p ?o }")), "table").decode()
    assert "red" in table
    assert not [char for char in table if not (char == "\n" or char.isprintable())]


on_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked at as on Linux")
MANY = "".join(f":t{i} :p :t{(i * 7 + 1) % 400} , :t{(i * 11 + 5) % 400} .\n" for i in range(400))
SLOW = Query(
    "slow", "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(STR(?a) < STR(?d) && STR(?c) < STR(?f)) }"
)
QUICK = Query("quick", "SELECT ?s { ?s ?p ?o } LIMIT 1")


def children() -> set[int]:
    """List the processes that this thread began and that still run."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="ascii")
    return {int(number) for number in listed.split() if is_running(int(number))}


@on_linux
def test_a_query_ends_with_its_questions_time_and_the_next_one_runs() -> None:
    graph = graph_of(MANY)
    before, began = children(), time.monotonic()
    with pytest.raises(BudgetExceededError, match=r"budget reached: 0\.3 seconds"):
        graph.within(Usage(Budget(max_seconds=0.3))).select(SLOW)
    assert time.monotonic() - began < 2.3
    assert children() <= before
    assert len(graph.select(QUICK)) == 1
    graph.close()


@pytest.mark.parametrize(("name", "error"), [("cancel", CancelledError), ("stop", BudgetExceededError)])
def test_a_query_is_ended_from_another_thread(name: str, error: type[Exception]) -> None:
    usage = Usage()
    graph = graph_of(MANY)
    threading.Timer(0.2, getattr(usage, name).set).start()
    began = time.monotonic()
    with pytest.raises(error):
        graph.within(usage).select(SLOW)
    assert time.monotonic() - began < 2.2


def test_slow_queries_hold_up_no_other() -> None:
    graph = graph_of(MANY)
    usage = Usage()
    with ThreadPoolExecutor(5) as pool:
        slow = [pool.submit(graph.within(usage).select, SLOW) for _ in range(4)]
        assert len(pool.submit(graph.select, QUICK).result(timeout=20)) == 1
        usage.cancel.set()
        assert {type(one.exception()) for one in slow} == {CancelledError}


def test_a_query_that_takes_too_much_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_process, "_MEMORY_BYTES", 200_000_000)
    large = Query("large", "SELECT ?a ?b ?c ?d ?e { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f } ORDER BY ?f")
    with pytest.raises(LimitError, match="needs more memory than"):
        graph_of(MANY).within(Usage(Budget(max_seconds=60))).select(large)


_TERMS = st.one_of(
    st.builds(ox.Literal, st.text()),
    st.builds(lambda text: ox.Literal(text, language="de-AT"), st.text()),
    st.builds(lambda text: ox.Literal(text, datatype=ox.NamedNode("http://e.org/d#t")), st.text()),
    st.builds(ox.Literal, st.one_of(st.integers(), st.floats(), st.booleans())),
    st.builds(lambda n: ox.BlankNode(f"b{n}"), st.integers(0, 9)),
)


@given(st.lists(_TERMS, max_size=6))
def test_terms_come_back_as_they_are(objects: list[ox.Literal | ox.BlankNode]) -> None:
    store, by = ox.Store(), ox.NamedNode("http://e.org/p")
    store.extend(ox.Quad(ox.NamedNode(f"http://e.org/{i}"), by, one) for i, one in enumerate(objects))
    text = "SELECT ?s ?o ?none { ?s ?p ?o } ORDER BY ?s"
    here, processes = [tuple(row) for row in store.query(text)], QueryProcesses(store)
    _, content = processes.reply_to(text, lambda: None, math.inf, math.inf)
    there = [tuple(row) for row in ox.parse_query_results(content, ox.QueryResultsFormat.TSV)]
    processes.close()
    assert there == here


ASKS_SLOWLY = """
import signal
signal.signal(signal.SIGTERM, signal.default_int_handler)
from tests.unit.test_query_results import MANY, SLOW, graph_of
graph = graph_of(MANY)
graph.select(SLOW.__class__("quick", "SELECT ?s { ?s ?p ?o } LIMIT 1"))
(pid,) = [one._pid for one in graph.processes._idle]
print(pid, flush=True)
graph.select(SLOW)
"""


@on_linux
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_a_query_and_its_process(sent: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ASKS_SLOWLY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as asking:
        assert asking.stdout is not None
        pid = int(asking.stdout.readline())
        time.sleep(0.2)
        asking.send_signal(sent)
        asking.wait(timeout=4)
        assert asking.returncode != 0
    waited_for(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text(encoding="utf-8")


def waited_for(holds: Callable[[], bool], seconds: float = 4.0) -> None:
    """Wait until something is so, which is an error after so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
