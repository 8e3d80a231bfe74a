"""Endpoints that are down, slow, or reply with something else than whole results: each a clear error, in time."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsparql.errors import (
    CancelledError,
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.notes import Cut
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.protocol import replies
from kgsparql.graphs.protocol.replies import solutions
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.graphs.user_query import QueryResult, check, run_on_endpoint
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal
from kgsparql.storage.response_cache import ResponseCache
from tests.conftest import ROOT
from tests.endpoints import faults
from tests.endpoints.faults import ASK_JSON, JSON, SELECT_JSON, SELECT_XML, XML, FaultServer, reply, results
from tests.endpoints.ports import free_port
from tests.endpoints.servers import oxigraph_serve, store_of

ALL = Query("all", "SELECT ?s ?n WHERE { ?s ?p ?n }")
ANY = Query("any", "ASK { ?s ?p ?o }")
XML_OF = (
    '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="s"/></head><results><result>'
    '<binding name="s">{}</binding></result></results></sparql>'
)
JSON_OF = '{{"head":{{"vars":["s"]}},"results":{{"bindings":[{{"s":{}}}]}}}}'


def selected(behaviour: faults.Behaviour, **options: Any) -> Any:
    with FaultServer(behaviour) as server:
        return EndpointGraph(server.url, **options).select(ALL)


def failure(behaviour: faults.Behaviour, query: Query = ALL, **options: Any) -> KgsparqlError:
    with FaultServer(behaviour) as server:
        graph = EndpointGraph(server.url, **options)
        with pytest.raises(KgsparqlError) as caught:
            graph.ask(query) if query is ANY else graph.select(query)
    assert caught.value.detail["url"] == server.url
    assert caught.value.detail["query"] == query.text
    assert "\n" not in caught.value.message
    return caught.value


@contextmanager
def taking(*, at_least: float = 0.0, less_than: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert at_least <= time.monotonic() - began < less_than


# -- E01: no connection -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:{port}/sparql", "refused"),
        ("http://[::1]:{port}/sparql", "no connection"),
        ("http://nowhere.invalid/sparql", "no host of this name"),
    ],
)
def test_E01_an_endpoint_that_is_not_there(url: str, says: str) -> None:
    url = url.format(port=free_port())
    with taking(less_than=10), pytest.raises(EndpointError) as caught:
        EndpointGraph(url).select(ALL)
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert caught.value.exit_code == 5
    assert caught.value.message.startswith(f"{url}: ")
    assert says in caught.value.message
    assert caught.value.hint


def test_E01_no_tls_where_tls_is_expected() -> None:
    with FaultServer(results()) as server:
        url = server.url.replace("http:", "https:")
        with taking(less_than=10), pytest.raises(EndpointError) as caught:
            EndpointGraph(url).select(ALL)
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert "no TLS connection in time" in caught.value.message
    assert "http://" in caught.value.hint


def test_E01_a_server_that_answers_tls_with_something_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=_answer_in_plain_text, args=(listener,))
        answering.start()
        with pytest.raises(EndpointError) as caught:
            EndpointGraph(f"https://127.0.0.1:{listener.getsockname()[1]}/sparql").select(ALL)
        answering.join()
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert "TLS" in caught.value.message


def _answer_in_plain_text(listener: socket.socket) -> None:
    sock, _ = listener.accept()
    with sock:
        sock.recv(65536)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def test_E01_a_connection_that_is_closed_without_a_reply() -> None:
    error = failure(faults.close)
    assert isinstance(error, EndpointError)
    assert error.code == "E_ENDPOINT_DOWN"


# -- E02, E03: never, or too late ---------------------------------------------------------------------------------


def test_E02_no_answer_at_all() -> None:
    with taking(at_least=0.5, less_than=10):
        error = failure(faults.hang, timeout_s=0.5)
    assert isinstance(error, EndpointTimeoutError)
    assert (error.code, error.exit_code) == ("E_TIMEOUT", 5)
    assert "within 0.5 s" in error.message


def test_E02_no_answer_to_the_first_look_either() -> None:
    late = pytest.raises(EndpointTimeoutError)
    with FaultServer(faults.hang, looking=True) as server, taking(at_least=0.5, less_than=10), late:
        EndpointGraph(server.url, timeout_s=0.5).select(ALL)


@pytest.mark.parametrize("skipped", [0, 60], ids=["headers", "body"])
def test_E03_a_drip_ends_at_the_total_deadline(skipped: int) -> None:
    whole = reply(SELECT_JSON)
    skipped = min(skipped, whole.index(b"\r\n\r\n") + 4) if skipped else 0

    def behave(sock: Any, request: faults.Request) -> None:
        sock.sendall(whole[:skipped])
        faults.drip(whole[skipped:])(sock, request)

    with taking(at_least=0.6, less_than=10):
        assert isinstance(failure(behave, timeout_s=0.6), EndpointTimeoutError)


def test_E03_threads_of_given_up_requests_end() -> None:
    before = threading.active_count()
    with FaultServer(faults.drip(reply(SELECT_JSON))) as server:
        with pytest.raises(EndpointTimeoutError):
            EndpointGraph(server.url, timeout_s=0.3).select(ALL)
        deadline = time.monotonic() + 20
        while "kgsparql request" in {t.name for t in threading.enumerate()} and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "kgsparql request" not in {thread.name for thread in threading.enumerate()}
    assert threading.active_count() <= before + 1


def test_a_question_that_is_stopped_ends_its_query() -> None:
    cancel = threading.Event()
    with FaultServer(faults.hang) as server:
        graph = EndpointGraph(server.url)
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        with taking(less_than=10), pytest.raises(CancelledError):
            graph.select_within(ALL, cancel=cancel)
        timer.join()


# -- E04-E08: something else than whole results -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text/html", JSON, None])
def test_E04_a_web_page(kind: str | None) -> None:
    page = b"<!DOCTYPE html><html><head><title>x</title><style>p {}</style></head><body><p>Please log \x1b[31min</p>"
    error = failure(results(page, type=kind))
    assert isinstance(error, EndpointReplyError)
    assert error.code == "E_ENDPOINT_NOT_SPARQL"
    assert "Please log" in error.message
    assert "\x1b" not in error.message
    assert "<" not in error.message
    assert not error.retryable


def test_E05_plain_text() -> None:
    error = failure(results(b"Please set a\tuser-agent. " + b"x" * 10_000, type="text/plain"))
    assert error.code == "E_ENDPOINT_NOT_SPARQL"
    assert "Please set a user-agent." in error.message
    assert len(error.message) < 400


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (SELECT_JSON, ALL),
        (ASK_JSON, ANY),
        (SELECT_XML, ALL),
        (b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head/><boolean>true</boolean></sparql>", ANY),
    ],
    ids=["select json", "ask json", "select xml", "ask xml"],
)
def test_E06_a_body_cut_at_any_byte_is_never_accepted(body: bytes, query: Query) -> None:
    cuts = iter(range(len(body) + 1))
    kind = JSON if body[:1] == b"{" else XML

    def behave(sock: Any, _: faults.Request) -> None:
        sock.sendall(reply(body[: next(cuts)], type=kind))

    with FaultServer(behave) as server:
        graph = EndpointGraph(server.url)
        run: Callable[[Query], object] = graph.ask if query is ANY else graph.select
        for n in range(len(body)):
            with pytest.raises(EndpointReplyError) as caught:
                run(query)
            assert caught.value.code in {"E_PARTIAL", "E_ENDPOINT_NOT_SPARQL"}, n
        assert run(query)


@pytest.mark.parametrize("whole", [SELECT_JSON, SELECT_XML])
@pytest.mark.parametrize("after", [b"java.lang.OutOfMemoryError\n\tat org.example", b"{}", b"<p/>"])
def test_E07_something_after_the_results(whole: bytes, after: bytes) -> None:
    assert failure(results(whole + after)).code == "E_PARTIAL"


def test_E07_a_trace_inside_the_results_says_that_time_was_over() -> None:
    body = SELECT_JSON[:100] + b"java.util.concurrent.TimeoutException: Query timed out"
    error = failure(results(body))
    assert isinstance(error, EndpointTimeoutError)
    assert error.hint


def test_E08_a_length_that_is_not_that_of_the_body() -> None:
    def too_long(sock: Any, request: faults.Request) -> None:
        sock.sendall(reply(SELECT_JSON, length=len(SELECT_JSON) + 10))
        faults.close(sock, request)

    assert failure(too_long).code == "E_PARTIAL"
    assert failure(results(SELECT_JSON, length=len(SELECT_JSON) - 10)).code == "E_PARTIAL"


def test_E08_chunks_that_break_off() -> None:
    def behave(sock: Any, request: faults.Request) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        sock.sendall(head + f"{len(SELECT_JSON):x}\r\n".encode() + SELECT_JSON + b"\r\n")
        faults.close(sock, request)

    assert failure(behave).code == "E_PARTIAL"


def test_E09_what_the_server_says_it_cut_is_not_complete() -> None:
    assert selected(results()).complete
    assert not selected(results(status="206 Partial Content")).complete
    assert not selected(results(headers=["X-SQL-State: S1TAT"])).complete


NO_JSON = b'{"head":{},"boolean":false}'


@pytest.mark.parametrize("options", [{"status": "206 Partial Content"}, {"headers": ["X-SQL-State: S1TAT"]}])
def test_E09_what_is_not_there_in_what_was_cut_may_be_there(options: dict[str, Any]) -> None:
    assert type(failure(results(NO_JSON, **options), ANY)) is EndpointTimeoutError
    with FaultServer(results(ASK_JSON, **options)) as server:
        assert EndpointGraph(server.url).ask(ANY)
    with FaultServer(results(NO_JSON)) as server:
        assert not EndpointGraph(server.url).ask(ANY)


def test_E09_false_that_may_be_wrong_is_asked_for_again(tmp_path: Path) -> None:
    replies = [reply(NO_JSON, status="206 Partial Content"), reply(ASK_JSON)]
    profile = EndpointProfile(name="kept", keep_s=3600.0, has_union=True)
    in_turn = FaultServer(lambda sock, _: sock.sendall(replies.pop(0)))
    with in_turn as server, ResponseCache(tmp_path / "kept.sqlite") as kept:
        graph = EndpointGraph(server.url, profile=profile, response_cache=kept)
        with pytest.raises(EndpointTimeoutError):
            graph.ask(ANY)
        assert graph.ask(ANY)
        assert graph.ask(ANY)
    assert not replies


def listed(number: int, iri: Callable[[int], str]) -> bytes:
    rows = [{"s": {"type": "uri", "value": iri(i)}} for i in range(number)]
    return json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": rows}}).encode()


def test_E12_the_most_that_the_server_says_it_gives_is_not_all() -> None:
    body = listed(50, lambda i: f"http://e.org/{i}")
    most = results(body, headers=["X-SPARQL-MaxRows: 50"])
    found = selected(most)
    assert (len(found), found.complete, found.cut) == (50, False, "the endpoint stopped at 50 solutions")
    assert selected(results(body)).complete
    with FaultServer(most) as server:
        graph = EndpointGraph(server.url)
        assert graph.select(Query("all", f"{ALL.text} LIMIT 50")).complete
        assert not graph.select(Query("all", f"{ALL.text} LIMIT 1000")).complete
    for said in ("51", "many", "", "9" * 5000):
        assert selected(results(body, headers=[f"X-SPARQL-MaxRows: {said}"])).complete


def constructed(number: int, limit: str = "", **profile: Any) -> QueryResult:
    body = "".join(f"<http://e.org/a> <http://e.org/p> <http://e.org/{i}> .\n" for i in range(number))
    with FaultServer(results(body.encode(), type="application/n-triples")) as server:
        graph = EndpointGraph(server.url, profile=EndpointProfile(has_union=True, **profile))
        return run_on_endpoint(graph, check(f"CONSTRUCT {{ ?s ?p ?n }} WHERE {{ ?s ?p ?n }} {limit}"))


@pytest.mark.parametrize("number", [50, 51])
def test_E09_as_many_triples_as_there_are_solutions_at_most_may_not_be_all(number: int) -> None:
    result = constructed(number, name="known", max_solutions=50)
    assert (result.rows, result.complete, result.cut) == (number, False, Cut("triples", number))
    assert result.reason == f"the endpoint stopped at {number} triples"
    assert constructed(number, f"LIMIT {number}", name="known", max_solutions=50).complete
    assert constructed(number, name="known").complete
    for other in (49, 52):
        assert constructed(other, name="known", max_solutions=50).complete


def test_E09_triples_of_an_endpoint_that_nobody_described_may_be_cut_where_many_cut_them() -> None:
    assert constructed(10_001).reason == "the endpoint stopped at 10,001 triples"
    assert constructed(10_002).complete


# -- Secrets in the words of a reader ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "type_", "body", "code"),
    [
        (ALL.text, XML, XML_OF.format("<canary-w0rd/>"), "E_FORMAT"),
        (ALL.text, JSON, JSON_OF.format('"canary-w0rd"'), "E_FORMAT"),
        (ALL.text, JSON, JSON_OF.format('{"type":"canary-w0rd","value":""}'), "E_FORMAT"),
        (ALL.text, JSON, JSON_OF.format('"canary-w0rd"')[:-4], "E_PARTIAL"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "text/turtle", "<http://e.org/a> canary-w0rd:x 1 .", "E_PARTIAL"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples", "<http://e.org/a> <canary-w0rd> 1 .", "E_PARTIAL"),
    ],
)
@pytest.mark.parametrize("where", ["http://{}?apikey=canary-w0rd", "http://me:canary-w0rd@{}"])
def test_U12_a_reply_that_repeats_the_key_is_not_shown_with_it(
    where: str, query: str, type_: str, body: str, code: str
) -> None:
    with FaultServer(results(body.encode(), type=type_)) as server:
        graph = EndpointGraph(where.format(server.url.removeprefix("http://")))
        with pytest.raises(KgsparqlError) as caught:
            run_on_endpoint(graph, check(query))
    error = caught.value
    assert error.code == code
    assert "canary" not in "".join(traceback.format_exception(error)) + str(error.to_json())


# -- Reading is in time, too --------------------------------------------------------------------------------------


def test_a_server_that_says_very_odd_words_is_read_in_time() -> None:
    for words in (b"a." * 60_000, b"a.A" * 40_000, b"a." + b"A" * 120_000, b" a." * 40_000):
        with taking(less_than=20):
            assert failure(results(b"oops " + words, status="500 Broken", type="text/plain")).exit_code == 5


def test_E20_however_many_terms_are_bad_each_solution_is_tried_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    written = replies._results_document
    monkeypatch.setattr(
        replies, "_results_document", lambda names, rows: tried.append(len(rows)) or written(names, rows)
    )
    found = selected(results(listed(4_000, lambda i: f"http://e.org/{i}" if i % 2 else f"http://e.org/ {i}")))
    assert (len(found), found.invalid) == (2_000, 2_000)
    assert sum(tried) <= 2 * 4_000 + 2_000, "and what is left is written once"


@pytest.mark.parametrize("iri", ["http://e.org/{}", "http://e.org/ {}"])
def test_reading_ends_at_the_deadline_and_when_it_is_stopped(iri: str) -> None:
    reply_ = HttpReply(200, {}, listed(20_001, lambda i: iri.format(i) if i % 2 else "http://e.org/x"))
    sent = SparqlRequest("http://e.org/sparql", "all", ALL.text, 5.0)
    assert len(solutions(reply_, sent)) >= 10_000
    with pytest.raises(EndpointTimeoutError, match="could not be read in time"):
        solutions(reply_, replace(sent, deadline=time.monotonic() - 1))
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        solutions(reply_, replace(sent, cancel=stop))


def test_the_deadline_of_a_query_is_that_of_reading_its_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every solution is looked at as late as it would be on a slow machine."""
    seen: list[SparqlRequest] = []
    monkeypatch.setattr(replies, "_refuse_late", seen.append)
    stop = threading.Event()
    with FaultServer(results(listed(20_000, lambda i: f"http://e.org/{i}"))) as server:
        began = time.monotonic()
        EndpointGraph(server.url).select_within(ALL, timeout_s=50.0, cancel=stop)
    assert seen
    assert all(began < sent.deadline <= time.monotonic() + 50.0 and sent.cancel is stop for sent in seen)


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


# -- E10-E17: statuses and redirects ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        ("400 Bad Request", QueryError, "no such thing"),
        ("401 Unauthorized", EndpointAuthenticationError, "USER:PASSWORD"),
        ("403 Forbidden", EndpointAuthenticationError, "no such thing"),
        ("404 Not Found", EndpointError, "often it ends in /sparql"),
        ("405 Method Not Allowed", EndpointError, "takes no POST"),
        ("406 Not Acceptable", EndpointError, "JSON or XML"),
        ("414 URI Too Long", EndpointError, "414"),
        ("429 Too Many Requests", EndpointRateLimitError, "wait 5 min"),
        ("500 Internal Server Error", EndpointError, "500"),
        ("503 Service Unavailable", EndpointError, "503"),
        ("504 Gateway Timeout", EndpointTimeoutError, "too long"),
    ],
)
def test_E14_each_status_is_an_error_with_the_words_of_the_server(
    status: str, kind: type[KgsparqlError], says: str
) -> None:
    said = b"<html><body>no such <b>thing</b></body></html>"
    headers = [] if status.startswith("405") else ["Retry-After: 300"]  # with which it would be another "too many"
    error = failure(results(said, status=status, type="text/html", headers=headers))
    assert type(error) is kind
    assert says in f"{error.message} {error.hint}"
    assert error.detail["status"] == int(status[:3])
    assert error.detail["said"] == "no such thing"
    assert error.exit_code == (4 if kind is QueryError else 5)


def test_a_query_that_is_not_sparql_is_that_and_not_a_failure_of_the_server() -> None:
    body = b"error at 1:9: expected one of DESCRIBE, [_]"
    error = failure(results(body, status="400 Bad Request", type="text/plain"))
    assert isinstance(error, QuerySyntaxError)
    assert "expected one of" in error.message


def test_E15_a_query_that_is_refused_says_by_whom_and_what_to_do() -> None:
    error = failure(results(b"nothing to be done", status="400 Bad Request", type="text/plain"))
    assert error.message == f"{error.detail['url']} refuses query all: nothing to be done"
    assert error.hint


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
def test_E17_a_redirect_to_another_server_is_not_followed(status: str) -> None:
    with FaultServer(results()) as target:
        error = failure(results(b"", status=status, headers=[f"Location: {target.url}"]))
        assert target.connections == 0
    assert error.code == "E_REDIRECT"
    assert f"-k {target.url}" in error.hint


@pytest.mark.parametrize(
    ("location", "offered"),
    [
        ("https://127.0.0.1/sparql", "-k https://127.0.0.1/sparql"),
        ("//169.254.169.254/", "-k http://169.254.169.254/"),
        ("http://[::ffff:10.0.0.1]/", "-k 'http://[::ffff:10.0.0.1]/'"),
        ("http://e.org/;touch$(id)", "-k 'http://e.org/;touch$(id)'"),
        ("file:///etc/passwd", ""), ("javascript:alert(1)", ""), ("http:///", ""), ("http://[", ""), ("//[/", ""),
        ("http://e.org/;touch pwned", ""),
    ],
)  # fmt: skip
def test_E17_nor_one_to_another_scheme_or_to_none(location: str, offered: str) -> None:
    """What the server says becomes part of a command line: quoted, and only if it is the URL of an endpoint."""
    error = failure(results(b"", status="302 Found", headers=[f"Location: {location}"]))
    assert error.code == "E_REDIRECT"
    assert error.hint.endswith(offered) if offered else "-k" not in error.hint


def test_E17_a_redirect_within_the_server_is_followed_and_a_loop_ends() -> None:
    def behave(sock: Any, request: faults.Request) -> None:
        if request.line.startswith("POST /sparql "):
            sock.sendall(reply(b"", status="308 Permanent Redirect", headers=["Location: /sparql/"]))
        else:
            sock.sendall(reply(SELECT_JSON))

    with FaultServer(behave) as server:
        assert len(EndpointGraph(server.url).select(ALL)) == 2
        assert [request.query for request in server.asked] == [ALL.text] * 2

    def loop(sock: Any, _: faults.Request) -> None:
        sock.sendall(reply(b"", status="302 Found", headers=["Location: /sparql"]))

    assert failure(loop).code == "E_REDIRECT"


# -- E18, E19, E20: size and form ---------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process so")
def test_E18_a_gzip_bomb_costs_no_memory() -> None:
    bomb = gzip.compress(SELECT_JSON + b" " * 200_000_000)
    assert len(bomb) < 250_000
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from kgsparql.errors import EndpointReplyError\n"
        "from kgsparql.graphs import EndpointGraph\n"
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

    def behave(sock: Any, request: faults.Request) -> None:
        is_small = "?s ?p 1" in request.query
        body, headers = (SELECT_JSON, []) if is_small else (bomb, ["Content-Encoding: gzip"])
        sock.sendall(reply(body, headers=headers))

    with FaultServer(behave) as server:
        done = subprocess.run(
            [sys.executable, "-c", script, server.url], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
        )
    code, more_kib = done.stdout.split()
    assert code == "E_LIMIT"
    assert 0 < int(more_kib) < 100 * 1024


def test_E18_a_reply_that_is_packed_is_unpacked() -> None:
    assert len(selected(results(gzip.compress(SELECT_JSON), headers=["Content-Encoding: gzip"]))) == 2
    error = failure(results(SELECT_JSON, headers=["Content-Encoding: gzip"]))
    assert error.code == "E_FORMAT"


def test_E18_a_reply_over_the_limit() -> None:
    assert failure(results(), max_bytes=100).code == "E_LIMIT"
    assert len(selected(results(), max_bytes=len(SELECT_JSON))) == 2


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (SELECT_JSON, JSON),
        (SELECT_JSON, None),
        (SELECT_JSON, "text/plain; charset=utf-8"),
        (SELECT_JSON, XML),
        (b"\xef\xbb\xbf \n" + SELECT_JSON + b"\r\n", JSON),
        (SELECT_XML, XML),
        (SELECT_XML, JSON),
        (SELECT_XML, None),
    ],
)
def test_E19_json_and_xml_whatever_the_server_calls_it(body: bytes, kind: str | None) -> None:
    found = selected(results(body, type=kind))
    assert found.variables == ("s", "n")
    assert found[0]["s"] == IRI("http://e.org/a")


def test_E19_terms_are_those_of_the_reply() -> None:
    first, second = selected(results())
    assert first["n"] == Literal("1", datatype=IRI("http://www.w3.org/2001/XMLSchema#integer"))
    assert isinstance(second["s"], BlankNode)
    assert second["n"] == Literal("é", language="fr")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"query":"SELECT *","status":"OK","res":[["<http://e.org/a>"]]}', "application/qlever-results+json"),
        (b"s,n\r\nhttp://e.org/a,1\r\n", "text/csv"),
        (b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "application/xml"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><sparql/>', XML),
        (SELECT_JSON.replace(b"http://e.org/a", b"http://e.org/a b").replace(b'"bnode"', b'"node"'), JSON),
    ],
)
def test_E19_other_forms_are_refused(body: bytes, kind: str) -> None:
    error = failure(results(body, type=kind))
    assert isinstance(error, EndpointReplyError)
    assert error.code in {"E_FORMAT", "E_ENDPOINT_NOT_SPARQL"}


def test_E20_typed_literals_of_old_servers_and_a_reply_without_rows() -> None:
    assert selected(results(SELECT_JSON.replace(b'"literal"', b'"typed-literal"')))
    empty = selected(results(b'{"head":{"vars":["s"]},"results":{"bindings":[]}}'))
    assert (empty.variables, len(empty)) == (("s",), 0)


def test_triples_inside_triples_without_end_do_not_end_the_process() -> None:
    leaf = b'{"type":"uri","value":"http://e.org/a"}'
    deep = b'{"value":{"subject":' + leaf + b',"predicate":' + leaf + b',"object":'
    head = b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":'
    assert selected(results(head + deep * 3 + leaf + b'},"type":"triple"}' * 3 + b"}]}}"))
    for body in (head + deep * 20_000, head + deep * 20_000 + leaf + b'},"type":"triple"}' * 20_000 + b"}]}}"):
        assert failure(results(body)).code == "E_LIMIT"
