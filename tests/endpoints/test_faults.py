"""Endpoints that are down, slow, or reply with something else than whole results: each a clear error, in time."""

import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import UNKNOWN, EndpointGraph, EndpointProfile, KgsparqlError, Query, Solutions, Usage
from kgsparql.errors import CancelledError, EndpointError, EndpointReplyError, EndpointTimeoutError, NotFoundError
from kgsparql.graphs.protocol import replies
from kgsparql.graphs.protocol.replies import solutions
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.http.transport import HttpReply, Transport
from tests.endpoints.faults import JSON, SELECT_JSON, FaultServer, answering, fresh_url, reply, results, taking
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Exchange, drips, hangs
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import ROOT

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")
JSON_OF = '{{"head":{{"vars":["s"]}},"results":{{"bindings":[{{"s":{}}}]}}}}'


def asked(transport: Transport, **options: Any) -> EndpointGraph:
    return EndpointGraph(fresh_url(), profile=UNKNOWN, transport=transport, **options)


def selected(transport: Transport, **options: Any) -> Solutions:
    return asked(transport, **options).select(ALL)


def failure(transport: Transport, **options: Any) -> KgsparqlError:
    graph = asked(transport, **options)
    with pytest.raises(KgsparqlError) as caught:
        graph.select(ALL)
    assert caught.value.detail["url"] == graph.url
    assert caught.value.detail["query"] == ALL.text
    assert "\n" not in caught.value.message
    return caught.value


def test_E01_an_endpoint_that_is_not_there() -> None:
    for url, says in (
        (f"http://127.0.0.1:{free_port()}/sparql", "refused"),
        (f"http://[::1]:{free_port()}/sparql", "no connection"),
        ("http://nowhere.invalid/sparql", "no host of this name"),
    ):
        with taking(less_than=10), pytest.raises(EndpointError) as caught:
            EndpointGraph(url).select(ALL)
        assert (caught.value.code, caught.value.exit_code) == ("E_ENDPOINT_DOWN", 5)
        assert caught.value.message.startswith(f"{url}: ")
        assert says in caught.value.message
        assert caught.value.hint


def test_E01_no_tls_where_tls_is_expected() -> None:
    with FaultServer(results()) as server, taking(less_than=10), pytest.raises(EndpointError) as caught:
        EndpointGraph(server.url.replace("http:", "https:")).select(ALL)
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert "TLS: not in time" in caught.value.message
    assert "http://" in caught.value.hint

    def answer_in_plain_text() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_in_plain_text)
        thread.start()
        with pytest.raises(EndpointError, match="TLS") as caught:
            EndpointGraph(f"https://127.0.0.1:{listener.getsockname()[1]}/sparql").select(ALL)
        thread.join()
    assert caught.value.code == "E_ENDPOINT_DOWN"


def test_E02_no_answer_to_the_first_look_either_and_a_question_that_is_stopped_ends_its_query() -> None:
    cancel = threading.Event()
    with FaultServer(hangs) as server:
        with taking(at_least=0.5, less_than=10), pytest.raises(EndpointTimeoutError):
            EndpointGraph(server.url, timeout_s=0.5).select(ALL)
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        with taking(less_than=10), pytest.raises(CancelledError):
            EndpointGraph(server.url, profile=EndpointProfile(has_union=True)).within(Usage(cancel=cancel)).select(ALL)
        timer.join()


def test_E03_threads_of_given_up_requests_end() -> None:
    before = threading.active_count()
    with FaultServer(drips(0.05, reply(SELECT_JSON))) as server:
        with pytest.raises(EndpointTimeoutError):
            EndpointGraph(server.url, timeout_s=0.3).select(ALL)
        deadline = time.monotonic() + 20
        while "kgsparql request" in {t.name for t in threading.enumerate()} and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "kgsparql request" not in {thread.name for thread in threading.enumerate()}
    assert threading.active_count() <= before + 1


def listed(number: int, iri: Callable[[int], str]) -> bytes:
    rows = [{"s": {"type": "uri", "value": iri(i)}} for i in range(number)]
    return json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": rows}}).encode()


def test_U12_a_reply_that_repeats_the_key_is_not_shown_with_it() -> None:
    construct = "CONSTRUCT WHERE { ?s ?p ?o }"
    for query, kind, body, code in (
        (ALL.text, JSON, JSON_OF.format('"canary-w0rd"'), "E_FORMAT"),
        (ALL.text, JSON, JSON_OF.format('{"type":"canary-w0rd","value":""}'), "E_FORMAT"),
        (ALL.text, JSON, JSON_OF.format('"canary-w0rd"')[:-4], "E_PARTIAL"),
        (construct, "text/turtle", "<http://e.org/a> canary-w0rd:x 1 .", "E_PARTIAL"),
        (construct, "application/n-triples", "<http://e.org/a> <canary-w0rd> 1 .", "E_PARTIAL"),
    ):
        for url in (f"{fresh_url()}?apikey=canary-w0rd", fresh_url().replace("//", "//me:canary-w0rd@")):
            graph = EndpointGraph(url, profile=UNKNOWN, transport=answering(body.encode(), type=kind))
            with pytest.raises(KgsparqlError) as caught:
                GraphQueries(graph).run_checked(check(query))
            assert caught.value.code == code
            assert "canary" not in "".join(traceback.format_exception(caught.value)) + str(caught.value.to_json())


def test_a_server_that_says_very_odd_words_is_read_in_time() -> None:
    for words in (b"a." * 60_000, b"a.A" * 40_000, b"a." + b"A" * 120_000, b" a." * 40_000):
        with taking(less_than=20):
            assert failure(answering(b"oops " + words, status=500, type="text/plain")).exit_code == 5


def test_E20_however_many_terms_are_bad_each_solution_is_tried_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    written = replies._results_document
    monkeypatch.setattr(
        replies, "_results_document", lambda names, rows: tried.append(len(rows)) or written(names, rows)
    )
    found = selected(answering(listed(4_000, lambda i: f"http://e.org/{i}" if i % 2 else f"http://e.org/ {i}")))
    assert (len(found), found.invalid) == (2_000, 2_000)
    assert sum(tried) <= 2 * 4_000 + 2_000, "and what is left is written once"


def test_reading_ends_at_the_deadline_and_when_it_is_stopped() -> None:
    sent, stop = SparqlRequest("http://e.org/sparql", "all", ALL.text, 5.0), threading.Event()
    stop.set()
    for iri in ("http://e.org/{}", "http://e.org/ {}"):
        body = listed(20_001, lambda i, iri=iri: iri.format(i) if i % 2 else "http://e.org/x")  # type: ignore[misc]
        reply_ = HttpReply(200, {}, body)
        assert len(solutions(reply_, sent)) >= 10_000
        with pytest.raises(EndpointTimeoutError, match="could not be read in time"):
            solutions(reply_, replace(sent, deadline=time.monotonic() - 1))
        with pytest.raises(CancelledError):
            solutions(reply_, replace(sent, cancel=stop))


def test_the_real_server_that_is_out_of_time_says_200(tmp_path: Any) -> None:
    triples = "".join(f'<http://e.org/{i}> <http://e.org/p> "{i}" .\n' for i in range(400))
    (tmp_path / "data.nt").write_text(triples)
    heavy = Query(
        "heavy", "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(STRLEN(CONCAT(?c, ?f, ?i)) > 12) }"
    )
    store, late = store_of(tmp_path / "data.nt", tmp_path / "store"), pytest.raises(EndpointTimeoutError)
    with oxigraph_serve(store, "--timeout-s", "1") as url, taking(less_than=8), late as caught:
        EndpointGraph(url, timeout_s=20).select(heavy)
    assert caught.value.detail["timeout_s"] == 20


def test_E17_a_redirect_is_not_followed_and_its_url_is_named() -> None:
    """What the server says becomes part of a command line: quoted, and only if it is the URL of an endpoint."""
    for location, offered in (
        ("https://127.0.0.1/sparql", "-k https://127.0.0.1/sparql"),
        ("//169.254.169.254/", "-k http://169.254.169.254/"), ("/sparql/", "/sparql/"),
        ("http://[::ffff:10.0.0.1]/", "-k 'http://[::ffff:10.0.0.1]/'"),
        ("http://e.org/;touch$(id)", "-k 'http://e.org/;touch$(id)'"),
        ("file:///etc/passwd", ""), ("javascript:alert(1)", ""), ("http://[", ""), ("//[/", ""),
        ("http://e.org/;touch pwned", ""), ("ftp://a/", ""),
    ):  # fmt: skip
        error = failure(answering(b"", status=302, location=location))
        assert error.code == "E_REDIRECT"
        assert error.hint.endswith(offered) if offered else "-k" not in error.hint


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process so")
def test_E18_a_gzip_bomb_costs_no_memory() -> None:
    bomb = gzip.compress(SELECT_JSON + b" " * 200_000_000)
    assert len(bomb) < 250_000
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from kgsparql.errors import EndpointReplyError\n"
        "from kgsparql import EndpointGraph\n"
        "from kgsparql.rdf.query import Query\n"
        "graph = EndpointGraph(sys.argv[1])\n"
        "graph.select(Query('small', 'SELECT * { ?s ?p 1 }'))\n"
        "def peak():  # in KiB; that of getrusage is inherited from who started us\n"
        "    return int(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "before = peak()\n"
        "try:\n"
        "    graph.select(Query('all', 'SELECT * { ?s ?p ?o }'))\n"
        "except EndpointReplyError as error:\n"
        "    print(error.code, peak() - before)\n"
    )

    async def behave(exchange: Exchange) -> None:
        is_small = "?s ?p 1" in exchange.request.query
        body, headers = (SELECT_JSON, []) if is_small else (bomb, ["Content-Encoding: gzip"])
        await exchange.write(reply(body, headers=headers))

    with FaultServer(behave) as server:
        done = subprocess.run(
            [sys.executable, "-c", script, server.url], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
        )
    code, more_kib = done.stdout.split()
    assert code == "E_LIMIT"
    assert 0 < int(more_kib) < 100 * 1024


def test_E18_a_reply_that_is_packed_is_unpacked_and_one_over_the_limit_refused() -> None:
    packed = ["Content-Encoding: gzip"]
    with FaultServer(results(gzip.compress(SELECT_JSON), headers=packed)) as server:
        assert len(EndpointGraph(server.url).select(ALL)) == 2
    with FaultServer(results(SELECT_JSON, headers=packed)) as server, pytest.raises(EndpointReplyError) as caught:
        EndpointGraph(server.url).select(ALL)
    assert caught.value.code == "E_FORMAT"
    assert failure(answering(), max_bytes=100).code == "E_LIMIT"
    assert len(selected(answering(), max_bytes=len(SELECT_JSON))) == 2


def test_triples_inside_triples_without_end_do_not_end_the_process() -> None:
    leaf = b'{"type":"uri","value":"http://e.org/a"}'
    deep = b'{"value":{"subject":' + leaf + b',"predicate":' + leaf + b',"object":'
    head = b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":'
    assert selected(answering(head + deep * 3 + leaf + b'},"type":"triple"}' * 3 + b"}]}}"))
    for body in (head + deep * 20_000, head + deep * 20_000 + leaf + b'},"type":"triple"}' * 20_000 + b"}]}}"):
        assert failure(answering(body)).code == "E_LIMIT"


def test_a_server_that_gives_nothing_back_is_told_from_a_graph_without_the_names() -> None:
    fake = answering(b'{"head":{"vars":["s"]},"results":{"bindings":[]}}')
    with pytest.raises(NotFoundError, match="gives nothing back: even whether there is any triple") as caught:
        kgsparql.open(fake.url, embedder="none", transport=fake).ask("Where was Marie Curie born?")
    assert (caught.value.code, caught.value.message.split()[0]) == ("E_EMPTY_GRAPH", fake.url)
