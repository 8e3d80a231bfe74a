"""What is computed over two graphs of any kind is what it is over one graph of their triples."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

import kgsparql
from kgsparql import KnowledgeBase, Query
from kgsparql.errors import QueryTimeoutError, UnreachableError
from kgsparql.graphs import EndpointGraph, load_store
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Proxy, late
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES

NOBEL = list(pyoxigraph.parse(path=str(FIXTURES / "nobel.ttl")))
IN_OTHER = {"birthPlace", "birthDate", "country", "foundingYear", "atomicNumber"}
DIVIDED: dict[str, Callable[[int, pyoxigraph.Quad], bool]] = {
    "predicates": lambda _, quad: quad.predicate.value.rpartition("/")[2] in IN_OTHER,
    "subjects": lambda _, quad: sum(map(ord, str(quad.subject))) % 2 == 0,
    "triples": lambda at, _: at % 3 == 0,
}
ASKED = {
    "How many Nobel laureates were born in Poland?": "4",
    "Which laureates were born before 1850?": "Gabriel Lippmann; Lord Rayleigh; Wilhelm Röntgen",
    "Who is the youngest Nobel laureate?": "Malala Yousafzai",
    "Did Marie Curie win more awards than Albert Einstein?": "yes",
    "Which laureates were born in Germany and won the Nobel Prize in Chemistry?": "Hans von Euler-Chelpin",
    "Which chemical elements are not radioactive?": "argon",
    "How many universities were founded before 1700?": "18",
    "What is the average atomic number of the chemical elements?": "91.545455",
    "Who was born earlier, Marie Curie or Albert Einstein?": "Marie Curie",
    "Which country has the most laureates?": "United States",
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Two files with the parts of the Nobel graph, by how it is divided; one triple in ten is in both."""

    def files(how: str) -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp(how)
        halves: tuple[list[pyoxigraph.Triple], ...] = ([], [])
        for at, quad in enumerate(NOBEL):
            is_other = DIVIDED[how](at, quad)
            for half in {is_other, is_other ^ (at % 10 == 0)}:
                halves[half].append(quad.triple)
        for name, triples in zip(("one.ttl", "two.ttl"), halves, strict=True):
            pyoxigraph.serialize(triples, str(folder / name), format=pyoxigraph.RdfFormat.TURTLE)
        return folder / "one.ttl", folder / "two.ttl"

    return files


@pytest.fixture(params=["file and endpoint", "store and store", "store and file"])
def opened(
    request: pytest.FixtureRequest, parts: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> Iterator[KnowledgeBase]:
    """The parts as graphs of different kinds."""
    how = {"file and endpoint": "predicates", "store and store": "subjects", "store and file": "triples"}[request.param]
    one, two = parts(how)
    if request.param == "file and endpoint":
        with oxigraph_serve(store_of(two, tmp_path / "served")) as url:
            yield kgsparql.open(one, url, embedder="none", cache=False)
        return
    stores = [tmp_path / path.stem for path in (one, two)]
    for path, store in zip((one, two), stores, strict=True):
        load_store(path, store)
    yield kgsparql.open(stores[0], stores[1] if request.param == "store and store" else two, embedder="none")


def test_what_is_computed_over_two_graphs_is_what_it_is_over_one(
    opened: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, send = list[str](), EndpointGraph._send_query

    def counted(graph: EndpointGraph, query: Query, *given: Any) -> Any:
        sent.append(query.name)
        return send(graph, query, *given)

    monkeypatch.setattr(EndpointGraph, "_send_query", counted)
    needed, cited = [], set()
    for asked, expected in ASKED.items():
        sent.clear()
        answer = opened.ask(asked)
        assert (answer.text.splitlines()[0], answer.status) == (f"{expected} [Q1]", "answered"), asked
        needed.append(len(sent))
        triples = [triple for item in answer.evidence for triple in item.triples]
        assert all(triple.verified for triple in triples)
        cited |= {source.graph for triple in triples for source in triple.sources}
    assert cited == {member.name for member in opened.graph.members}
    assert statistics.median(needed) <= 20


def test_a_query_for_all_triples_names_the_endpoint_that_is_gone_before_it_is_refused() -> None:
    gone = f"http://127.0.0.1:{free_port()}/sparql"
    with (
        kgsparql.open(FIXTURES / "nobel.ttl", gone) as both,
        pytest.raises(UnreachableError, match="Connection refused"),
    ):
        both.query("SELECT * { ?s ?p ?o }")


def test_to_gather_triples_and_to_run_the_query_over_them_take_one_time_limit_together(
    parts: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    one, two = parts("predicates")
    heavy = "SELECT (COUNT(*) AS ?n) { ?a dbo:birthPlace ?x . ?b dbo:birthDate ?y . ?c a ?z . ?d a ?w . ?e a ?v }"
    with (
        oxigraph_serve(store_of(two, tmp_path / "served")) as url,
        Proxy(url) as proxy,
        kgsparql.open(one, proxy.url, embedder="none", cache=False) as both,
    ):
        both.query("ASK { ?a dbo:birthPlace ?x ; dbo:birthDate ?y }")  # the endpoint is known now
        proxy.plan = lambda _: late(2.5)
        began = time.monotonic()
        with pytest.raises(QueryTimeoutError, match=r"stopped after 4 s"):
            both.query(heavy, timeout_s=4.0)
        assert time.monotonic() - began < 5.5
