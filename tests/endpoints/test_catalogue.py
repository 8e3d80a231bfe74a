"""The rows of the catalogue of endpoint faults, between the client and a real engine; more of them in test_faults."""

import re
import ssl
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import Answer, EndpointGraph, EndpointProfile, KgsparqlError, KnowledgeBase, Query, Solutions
from kgsparql.errors import EndpointError, EndpointReplyError, EndpointTimeoutError, NotFoundError
from tests.endpoints import proxy as faults
from tests.endpoints.faults import reply, taking
from tests.endpoints.proxy import Fault, Proxy, changed, first, sends

TEXT = "SELECT ?s ?label WHERE { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?label } ORDER BY ?s ?label LIMIT 1000"
LABELS = Query("labels_of_all", TEXT)


CURIE = "http://dbpedia.org/resource/Marie_Curie"
BORN_BESIDE = "Who was born in the city in which Marie Curie was born?"


def status(line: str, body: bytes = b"no", *headers: str, kind: str = "text/plain") -> Fault:
    return sends(reply(body, status=line, type=kind, headers=headers))


def throttled(*headers: str) -> Fault:
    return status("429 Too Many Requests", b"Rate limit exceeded", *headers)


def asked(url: str, *plan: Fault | None, then: Fault | None = None, **options: Any) -> tuple[Solutions, Proxy]:
    """The solutions that come through, and the proxy, which is closed."""
    with Proxy(url, first(*plan, then=then, only=TEXT[:40])) as proxy:
        return EndpointGraph(proxy.url, **options).select(LABELS), proxy


def failing(url: str, fault: Fault, **options: Any) -> tuple[KgsparqlError, int]:
    """The error where every reply has the same fault, and how often the query was sent."""
    with Proxy(url, first(then=fault)) as proxy:
        graph = EndpointGraph(proxy.url, **options)
        with pytest.raises(KgsparqlError) as caught:
            graph.select(LABELS)
    assert caught.value.detail["url"] == proxy.url
    assert "\n" not in caught.value.message
    return caught.value, len(proxy.of(TEXT))


@pytest.fixture(scope="module")
def all_labels(nobel_url: str) -> Solutions:
    found = EndpointGraph(nobel_url).select(LABELS)
    assert len(found) > 300
    return found


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody signed, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "certificate.pem", folder / "key.pem"
    command = (
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", chain,
    )  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return chain, key


@pytest.fixture
def tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    return context


def test_E01_a_certificate_that_nobody_signed_and_a_server_that_goes_down(nobel_url: str, tls: ssl.SSLContext) -> None:
    with Proxy(nobel_url, tls=tls) as proxy, taking(less_than=10), pytest.raises(EndpointError) as caught:
        EndpointGraph(proxy.url).select(LABELS)
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert "certificate" in caught.value.message
    assert "SSL_CERT_FILE" in caught.value.hint
    assert proxy.requests == []
    with Proxy(nobel_url, first(None, faults.goes_down, only=TEXT[:40])) as proxy:
        graph = EndpointGraph(proxy.url)
        assert len(graph.select(LABELS)) > 300
        with taking(less_than=10), pytest.raises(EndpointError) as caught:
            graph.select(LABELS)
    assert caught.value.code == "E_ENDPOINT_DOWN"
    assert len(proxy.of(TEXT)) == 2


def test_E08_a_reply_that_breaks_off_is_refused_and_the_next_is_whole(nobel_url: str, all_labels: Solutions) -> None:
    """Whatever is left on a connection is not taken for the next reply."""
    page = reply(b"<html>" + b"x" * 100_000, type="text/html")
    half = changed(lambda whole: replace(faults.packed(whole), body=faults.packed(whole).body[:300]))
    for code, some in {
        "E_PARTIAL": (
            faults.cut(700), faults.wrong_length(lambda real: real + 10), faults.wrong_length(lambda real: real - 10),
            faults.chunks_cut(700), faults.chunks_cut(700, ends_in_chunk=True), faults.chunks_cut(10**9),
            faults.resets(700), half, *map(faults.unframed, (0, 1, 700, -1, -2)),
        ),
        "E_ENDPOINT_NOT_SPARQL": (sends(page),),
        "E_QUERY": (status("400 Bad Request"),),
        "E_TIMEOUT": (faults.drips(0.01), faults.hangs),
    }.items():  # fmt: skip
        for fault in some:
            with Proxy(nobel_url, first(fault, only=TEXT[:40])) as proxy:
                graph = EndpointGraph(proxy.url, timeout_s=1)
                with pytest.raises(KgsparqlError) as caught:
                    graph.select(LABELS)
                assert caught.value.code == code
                assert graph.select(LABELS) == all_labels
    assert failing(nobel_url, faults.resets(), timeout_s=5)[0].code == "E_ENDPOINT_DOWN"
    assert asked(nobel_url, faults.unframed())[0] == all_labels


def test_E08_what_comes_after_a_reply_is_not_the_reply_to_the_next_query(nobel_url: str, all_labels: Solutions) -> None:
    forged = reply(b'{"head":{"vars":["s","label"]},"results":{"bindings":[]}}')
    with Proxy(nobel_url, first(*[faults.followed_by(forged)] * 5, only=TEXT[:40])) as proxy:
        graph = EndpointGraph(proxy.url)
        for _ in range(10):
            assert graph.select(LABELS) == all_labels


def told_of_cuts(url: str, plan: faults.Plan | None, **profile: Any) -> tuple[Answer, list[str]]:
    """An answer over a proxy, and its notes that name the proxy."""
    with Proxy(url, plan) as proxy:
        graph = EndpointGraph(proxy.url, profile=EndpointProfile(has_union=True, **profile))
        known = KnowledgeBase(graph, embedder="none")
        answer = known.ask("Where was Marie Curie born?", entities=[CURIE], retriever="struct_gpt")
    return answer, [note for note in answer.notes if proxy.url in note]


def test_E09_an_answer_says_that_the_endpoint_cut_results_and_why(nobel_url: str) -> None:
    assert told_of_cuts(nobel_url, None)[1] == []
    said = "RC...: Returning incomplete results, query interrupted"
    for cut, reason in (
        (lambda r: replace(r, status=206, reason="Partial Content"), "206"),
        (lambda r: r.with_headers(X_SQL_State="S1TAT"), "S1TAT"),
        (lambda r: r.with_headers(X_SQL_Message=said), "incomplete results"),
    ):
        answer, (identifiers, results) = told_of_cuts(nobel_url, first(then=changed(cut)))
        assert "cut what it says identifies things" in identifiers
        assert re.search(r" cut \d+ results: ", results)
        assert reason in identifiers
        assert reason in results
        assert len(answer.evidence)


def test_E17_a_certificate_that_is_named_is_trusted_and_nothing_goes_from_https_to_http(
    nobel_url: str, tls: ssl.SSLContext, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with Proxy(nobel_url) as target, Proxy(nobel_url, tls=tls) as proxy:
        graph = EndpointGraph(proxy.url)
        assert len(graph.select(LABELS)) > 300
        proxy.plan = first(then=status("301 Moved Permanently", b"", f"Location: {target.url}"))
        with pytest.raises(EndpointReplyError) as caught:
            graph.select(LABELS)
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):  # another port is another server
            moved = status("307 Temporary Redirect", b"", f"Location: http://{host}:{target.port}/sparql")
            error, times = failing(nobel_url, moved)
            assert (error.code, times) == ("E_REDIRECT", 1)
    assert caught.value.code == "E_REDIRECT"
    assert target.connections == 0


def test_E22_whatever_an_endpoint_says_in_the_middle_of_a_question_what_was_found_stands(nobel_url: str) -> None:
    def answered(plan: faults.Plan | None) -> tuple[Answer, Proxy]:
        with Proxy(nobel_url, plan) as proxy:
            known = kgsparql.open(proxy.url, embedder="none")
            return known.ask(BORN_BESIDE, entities=[CURIE], retriever="think_on_graph"), proxy

    needed = len(answered(None)[1].requests)
    for line in ("401 Unauthorized", "403 Forbidden", "429 Too Many Requests", "503 Unavailable"):
        refusal = status(line, b"no", "Retry-After: 3000")
        for last in (needed - 6, needed - 1):  # the last two look up again what was found
            answer, proxy = answered(lambda request, last=last, no=refusal: no if request.number >= last else None)  # type: ignore[misc]
            assert answer.status == "partial"
            assert len(answer.evidence)
            assert isinstance(answer.error, EndpointError)
            assert any(proxy.url in note and line[:3] in note for note in answer.notes)


def test_E23_an_entity_of_the_other_half_of_a_split_service(nobel_url: str) -> None:
    main = EndpointProfile(name="Wikidata", elsewhere=("wikidata-scholarly: scholarly articles",), has_union=True)
    known = KnowledgeBase(EndpointGraph(nobel_url, profile=main), embedder="none")
    with pytest.raises(NotFoundError) as caught:
        known.ask("Who wrote it?", entities=["http://www.wikidata.org/entity/Q21090025"])
    assert "wikidata-scholarly" in caught.value.hint
    assert "scholarly articles" in caught.value.hint


def test_E25_deadlines_and_waits_follow_no_clock_that_jumps(nobel_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, jump = time.time, 86_400.0
    monkeypatch.setattr(time, "time", lambda: real() + (jump if time.monotonic() > jumps_at else 0.0))
    jumps_at = time.monotonic() + 0.2
    with taking(at_least=0.8, less_than=10):
        error, _ = failing(nobel_url, faults.hangs, timeout_s=0.9)
    assert isinstance(error, EndpointTimeoutError)
    jumps_at, jump = time.monotonic() + 0.2, -86_400.0
    with taking(at_least=0.9, less_than=10):
        found, proxy = asked(nobel_url, throttled("Retry-After: 1"))
    assert len(found) > 300
    assert len(proxy.of(TEXT)) == 2
