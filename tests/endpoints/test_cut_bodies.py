"""A result that was cut, at whatever byte, is never taken for a whole one: in every format, of every form."""

import json
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import QueryResultsFormat

from kgsparql.errors import EndpointError, EndpointReplyError, KgsparqlError
from kgsparql.graphs.protocol.replies import boolean, solutions
from kgsparql.graphs.protocol.request import SparqlRequest
from kgsparql.http.transport import HttpReply
from tests.deep import examples
from tests.endpoints.faults import JSON, XML

SENT = SparqlRequest("http://127.0.0.1/sparql", "cut", "SELECT * WHERE { ?s ?p ?o }", 30.0)
SELECT = "SELECT ?s ?o WHERE { ?s ?p ?o } LIMIT 12"
EMPTY = "SELECT ?s ?o WHERE { ?s <urn:nobody> ?o }"
Reader = Callable[[HttpReply, SparqlRequest], object]


def refused(reader: Reader, body: bytes, kind: str | None) -> KgsparqlError:
    """The error with which a body is refused."""
    with pytest.raises(KgsparqlError) as caught:
        reader(HttpReply(200, {"content-type": kind} if kind else {}, body), SENT)
    return caught.value


def every_cut(body: bytes) -> Iterator[bytes]:
    """The body without its last bytes, of which at least one means something."""
    return (body[:at] for at in range(len(body.rstrip())))


def refused_at_every_byte(reader: Reader, body: bytes, kind: str | None) -> None:
    for cut in every_cut(body):
        error = refused(reader, cut, kind)
        assert isinstance(error, EndpointReplyError | EndpointError), (len(cut), error)


def replied(url: str, query: str, accept: str) -> tuple[bytes, str]:
    """What the engine says, and what it calls that."""
    where = urlsplit(url)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=20)
    headers = {"Accept": accept, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", where.path, urlencode({"query": query}), headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    assert reply.status == 200
    return body, reply.headers["content-type"]


def test_E06_solutions_and_truth_of_the_engine_are_whole_or_refused(nobel_url: str) -> None:
    for accept in (JSON, XML):
        for query, number in ((SELECT, 12), (EMPTY, 0)):
            body, kind = replied(nobel_url, query, accept)
            assert len(solutions(HttpReply(200, {"content-type": kind}, body), SENT)) == number
            refused_at_every_byte(solutions, body, kind)
        for query, truth in (("ASK { ?s ?p ?o }", True), ("ASK { ?s <urn:nobody> ?o }", False)):
            body, kind = replied(nobel_url, query, accept)
            assert boolean(HttpReply(200, {"content-type": kind}, body), SENT) is truth
            refused_at_every_byte(boolean, body, kind)
            refused_at_every_byte(boolean, body, None)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12) | st.sampled_from(
    ['}]}}', '"', "\\", '{"head":{"vars":[]},"results":{"bindings":[]}}', "</sparql>", "<boolean>true</boolean>", "\n"]
)  # fmt: skip
iris = st.lists(st.sampled_from(["a", "b", "/", "é", "%20", "'"]), min_size=1, max_size=6).map(
    lambda parts: pyoxigraph.NamedNode(f"urn:x:{''.join(parts)}")
)
literals = st.one_of(
    texts.map(pyoxigraph.Literal),
    texts.map(lambda text: pyoxigraph.Literal(text, language="en")),
    st.integers(-5, 5).map(pyoxigraph.Literal),
)
triples = st.lists(st.tuples(iris, iris | literals), max_size=4)


AFTER = [b"", b"\n", b"java.lang.Error\n\tat x.Y(Z.java:1)", b'"}]}}', b"<!-- -->"]


def results_of(pairs: list[tuple[Any, Any]], query: str = SELECT) -> Any:
    store = pyoxigraph.Store()
    predicate = pyoxigraph.NamedNode("urn:p")
    store.extend(pyoxigraph.Quad(subject, predicate, term) for subject, term in pairs)
    return store.query(query)


@examples(20)
@given(triples, st.sampled_from([(QueryResultsFormat.JSON, JSON), (QueryResultsFormat.XML, XML)]), st.booleans())
def test_E06_solutions_with_any_terms(pairs: list[tuple[Any, Any]], form: tuple[Any, str], says: bool) -> None:
    body: bytes = results_of(pairs).serialize(format=form[0])
    kind = form[1] if says else None
    try:
        whole = solutions(HttpReply(200, {"content-type": kind} if kind else {}, body), SENT)
    except EndpointReplyError:
        assert form[1] == XML  # characters that XML cannot hold: the whole is refused too
    else:
        assert len(whole) == len(set(pairs))
        assert whole.complete
    refused_at_every_byte(solutions, body, kind)


@examples(25)
@given(triples, st.integers(0, 10**6), st.sampled_from(AFTER))
def test_E07_a_cut_with_something_after_it(pairs: list[tuple[Any, Any]], at: int, after: bytes) -> None:
    body: bytes = results_of(pairs).serialize(format=QueryResultsFormat.JSON)
    cut = body[: at % len(body)] + after
    try:
        document = json.loads(cut)
    except ValueError:
        refused(solutions, cut, JSON)
    else:  # what came after closed it, and nobody could tell
        assert set(document) >= {"head"}


def test_E20_a_cut_is_refused_where_rows_are_dropped_too() -> None:
    """Reading on past a bad term may not become reading on past the end."""
    for bad in ("http://example.org/a b", "no iri", "", "http://[", "urn:x:<>"):
        rows = [{"s": {"type": "uri", "value": bad if n == 2 else f"urn:x:{n}"}} for n in range(5)]
        body = json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": rows}}).encode()
        found = solutions(HttpReply(200, {"content-type": JSON}, body), SENT)
        assert [s["s"].value for s in found] == ["urn:x:0", "urn:x:1", "urn:x:3", "urn:x:4"]  # type: ignore[union-attr]
        assert not found.complete
        refused_at_every_byte(solutions, body, JSON)


@pytest.mark.parametrize("bad", ["http://example.org/a b", "no iri"])
def test_E20_so_it_is_in_xml(bad: str) -> None:
    rows = "".join(f"<result><binding name='s'><uri>{iri}</uri></binding></result>" for iri in ("urn:1", bad, "urn:2"))
    body = (
        f"<?xml version='1.0'?><sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='s'/></head>"
        f"<results>{rows}</results></sparql>"
    ).encode()
    try:
        found = solutions(HttpReply(200, {"content-type": XML}, body), SENT)
    except EndpointReplyError as error:
        assert error.code == "E_FORMAT"  # noqa: PT017 - a reader may refuse the whole
    else:
        assert [str(s["s"]) for s in found] == ["<urn:1>", "<urn:2>"]
        assert not found.complete
    refused_at_every_byte(solutions, body, XML)
