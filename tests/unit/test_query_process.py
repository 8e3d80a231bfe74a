"""Queries of an embedded store run in processes that are killed when whoever asked does not wait any longer."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import Budget, OxigraphGraph, Query, Usage
from kgsparql.errors import BudgetExceededError, CancelledError, LimitError
from kgsparql.graphs import query_process
from kgsparql.graphs.query_process import QueryProcesses
from tests.world import ROOT, graph_of

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked at as on Linux")

MANY = "".join(f":t{i} :p :t{(i * 7 + 1) % 400} , :t{(i * 11 + 5) % 400} .\n" for i in range(400))
SLOW = Query(
    "slow", "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(STR(?a) < STR(?d) && STR(?c) < STR(?f)) }"
)
QUICK = Query("quick", "SELECT ?s { ?s ?p ?o } LIMIT 1")


def children() -> set[int]:
    """List the processes that this thread began and that still run."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="ascii")
    return {int(number) for number in listed.split() if is_running(int(number))}


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


def test_what_a_store_gets_is_found_at_once() -> None:
    store = ox.Store()
    graph = OxigraphGraph(store, name="test", fingerprint=None)
    assert len(graph.select(QUICK)) == 0
    store.add(ox.Quad(ox.NamedNode("http://e.org/a"), ox.NamedNode("http://e.org/p"), ox.Literal("b")))
    assert len(graph.select(QUICK)) == 1


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


def test_a_store_on_disk_is_asked_as_one_in_memory(tmp_path: Path) -> None:
    store = ox.Store(str(tmp_path / "store"))
    store.load((f"@prefix : <http://e.org/> .\n{MANY}").encode(), ox.RdfFormat.TURTLE)
    store.flush()
    del store
    graph = OxigraphGraph(
        ox.Store.read_only(str(tmp_path / "store")), name="test", fingerprint="0", directory=tmp_path / "store"
    )
    assert len(graph.select(Query("all", "SELECT * { ?s ?p ?o }"))) == len(graph.store)
    with pytest.raises(BudgetExceededError):
        graph.within(Usage(Budget(max_seconds=0.3))).select(SLOW)


ASKS_SLOWLY = """
import signal
signal.signal(signal.SIGTERM, signal.default_int_handler)
from tests.unit.test_query_process import MANY, SLOW, graph_of
graph = graph_of(MANY)
graph.select(SLOW.__class__("quick", "SELECT ?s { ?s ?p ?o } LIMIT 1"))
(pid,) = [one._pid for one in graph._processes._idle]
print(pid, flush=True)
graph.select(SLOW)
"""


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
