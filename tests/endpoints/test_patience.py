"""A question waits for an endpoint, or says how long it would be; and no query is left at a server for nothing."""

import json
from dataclasses import replace

import pytest

from kgsparql import EndpointGraph, Query
from kgsparql.errors import EndpointTimeoutError
from kgsparql.graphs.profiles import EndpointProfile, known_endpoints
from kgsparql.graphs.protocol import senders
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpRequest
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints import proxy as faults
from tests.endpoints.faults import FaultServer, reply, taking
from tests.endpoints.proxy import Fault, Proxy, sends
from tests.endpoints.servers import Virtuoso
from tests.world import FIXTURES

PLAIN = ("--embedder", "none", "--no-model")
QUESTIONS = [json.loads(line)["question"] for line in (FIXTURES / "nobel_questions.jsonl").read_text().splitlines()]


def refusing(status: str, *headers: str) -> Fault:
    return sends(reply(b"upstream is busy", status=status, type="text/plain", headers=headers))


@pytest.mark.usefixtures("own_cache")
def test_many_questions_wait_out_an_outage_and_the_one_that_failed_is_asked_once_more(
    run: Run, nobel_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "_FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(senders, "REST_S", 1.5)
    busy = refusing("503 Service Unavailable")
    with Proxy(nobel_url, lambda request: busy if 20 <= request.number < 25 else None) as proxy:
        done = run("ask", "-", "-k", proxy.url, "-f", "jsonl", *PLAIN, stdin="\n".join(QUESTIONS[:6]))
    assert [json.loads(line).get("error") for line in done.stdout.splitlines()] == [None] * 6, done.stderr
    assert "then the question is asked once more" in done.stderr


@pytest.mark.usefixtures("own_cache")
def test_one_question_says_how_long_it_would_be_a_query_takes_no_longer_than_typed(run: Run, nobel_url: str) -> None:
    hour = refusing("429 Too Many Requests", "Retry-After: 3600")
    with Proxy(nobel_url, lambda _: hour) as proxy:
        done = run("ask", QUESTIONS[0], "-k", proxy.url, *PLAIN)
        assert (done.exit_code, len(proxy.requests)) == (5, 1)
        assert done.stderr.splitlines()[-1].strip() == "hint: wait 60 min"
    with Proxy(nobel_url, lambda _: faults.hangs) as proxy, taking(less_than=10):
        done = run("ask", QUESTIONS[0], "-k", proxy.url, "--endpoint-timeout", 0.5, *PLAIN)
    assert done.exit_code == 5
    assert "within 0.5 s" in done.stderr
    assert run("ask", QUESTIONS[0], "-k", FIXTURES / "nobel.ttl", "--endpoint-timeout", 5).exit_code == 2


@pytest.mark.longer
def test_virtuoso_ends_a_query_that_nobody_waits_for_and_half_a_count_is_no_count(virtuoso_server: Virtuoso) -> None:
    url = virtuoso_server.fill(FIXTURES / "nobel.ttl")
    text = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . FILTER(STR(?b) < STR(?d) && STR(?d) < STR(?f)) }"
    graph = EndpointGraph(url, timeout_s=15)  # of which Virtuoso is told 13
    with taking(less_than=16), pytest.raises(EndpointTimeoutError, match="query interrupted by result timeout"):
        graph.select(Query("witnesses", text))


@pytest.mark.parametrize(
    ("engine", "told"), [("Virtuoso", "2000"), ("Apache Jena Fuseki", "2"), ("GraphDB", "2"), ("QLever", "2s")]
)
def test_an_engine_is_told_how_long_a_query_may_take_and_one_that_hangs_is_asked_once(engine: str, told: str) -> None:
    profile = next(profile for profile in known_endpoints().engines if profile.name == engine)
    with FaultServer(faults.hangs) as server:
        graph = EndpointGraph(server.url, profile=replace(profile, has_union=True), timeout_s=2.9)
        with pytest.raises(EndpointTimeoutError, match=r"within 2\.9 s"):
            graph.select(Query("witnesses", "SELECT * { ?s ?p ?o }"))
    assert [request.form["timeout"] for request in server.requests] == [told]
    assert "timeout" not in built("http://e.org/?timeout=9", profile).url.partition("timeout=9")[2]


def built(url: str, profile: EndpointProfile) -> HttpRequest:
    sent = SparqlRequest(url, "all", "SELECT * { ?s ?p ?o }", 1.0, profile=profile)
    return senders.built_request(Address.parse(url), url, sent, "GET", 5.0)
