"""What is read of a reply: whole results, results that were cut, or an error that says why there are none."""

import json
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import QueryResultsFormat

from kgsparql import IRI, BlankNode, KgsparqlError, Literal
from kgsparql.errors import (
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    EndpointReplyError,
    EndpointTimeoutError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, known_endpoints
from kgsparql.graphs.protocol import replies
from kgsparql.graphs.protocol.replies import boolean, solutions, why_cut
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, SparqlRequest
from kgsparql.http.transport import HttpReply
from tests.deep import examples
from tests.endpoints.faults import ASK_JSON, JSON, SELECT_JSON, SELECT_XML, XML, http

ALL = "SELECT ?s ?n WHERE { ?s ?p ?n }"
HEAD = '{"head":{"vars":["s"]},"results":{"bindings":['
XML_OF = (
    '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="s"/></head><results><result>'
    '<binding name="s">{}</binding></result></results></sparql>'
)
PLAIN, KNOWN = "text/plain", EndpointProfile(name="known")


def sent(text: str = ALL, profile: EndpointProfile = UNKNOWN) -> SparqlRequest:
    return SparqlRequest("http://e.org/sparql", "all", text, 30.0, profile=profile)


def read(reply: HttpReply, **about: Any) -> Any:
    return solutions(reply, sent(**about))


def rows(*terms: str) -> bytes:
    found = ",".join(f'{{"s":{term}}}' for term in terms)
    return f"{HEAD}{found}]}}}}".encode()


def iris(number: int) -> bytes:
    return rows(*(f'{{"type":"uri","value":"http://e.org/{i}"}}' for i in range(number)))


def literal(value: bytes, more: bytes = b"") -> bytes:
    return rows("@").replace(b"@", b'{"type":"literal","value":"' + value + b'"' + more + b"}")


def service(alias: str) -> EndpointProfile:
    found = known_endpoints().named(alias)
    assert found is not None
    return found


PAGE = b"<!DOCTYPE html><html><head><title>x</title><style>p {}</style></head><body><p>Please log \x1b[31min</p>"
SAID = b"<html><body>no such <b>thing</b></body></html>"
TRACE = b"java.lang.OutOfMemoryError: heap\n\tat a.b.C.eval(C.java:160)\n\tat d.E.<init>(E.java)"
LATE_TRACE = b"SPARQL-QUERY: queryStr=%b\njava.util.concurrent.TimeoutException\n%b" % (
    b"x" * 5000,
    b"\tat a.b.C\n" * 99,
)
RDF = b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'
LONG = json.dumps("0" * 2**16)
LATE = b'{"exception":"Operation timed out."}'
WEB, NOT_SPARQL, BROKEN, MALFORMED = "Please log", "E_ENDPOINT_NOT_SPARQL", "E_PARTIAL", "operator must mend it"
Row = tuple[HttpReply, type[KgsparqlError], str]

NO_RESULTS: list[Row] = [
    *((http(PAGE, type=kind), EndpointReplyError, WEB) for kind in ("text/html", JSON, None)),  # E04, E05
    (http(b"Please set a\tuser-agent. " + b"x" * 10_000, type=PLAIN), EndpointReplyError, "Please set a user-agent."),
    *(
        (http(whole + after), EndpointReplyError, BROKEN)  # E07
        for whole in (SELECT_JSON, SELECT_XML)
        for after in (b"java.lang.OutOfMemoryError\n\tat org.example", b"{}", b"<p/>")
    ),
    (http(b""), EndpointReplyError, "is empty"),
    (http(ASK_JSON), QueryError, "true or false, not solutions"),
    (http(b'{"query":"SELECT *","status":"OK","res":[["<http://e.org/a>"]]}'), EndpointReplyError, NOT_SPARQL),  # E19
    (http(b"s,n\r\nhttp://e.org/a,1\r\n", type="text/csv"), EndpointReplyError, "does not tell terms apart"),
    (http(b"?s\t?n\n", type="text/tab-separated-values"), EndpointReplyError, "does not tell terms apart"),
    (http(RDF, type="application/xml"), EndpointReplyError, NOT_SPARQL),
    (http(b'<!DOCTYPE x [<!ENTITY a "b">]><sparql/>', type=XML), EndpointReplyError, NOT_SPARQL),
    *((http(literal(text)), EndpointReplyError, MALFORMED) for text in (b"a\tb", rb"O\'Hara", rb"C:\data", b"a\xfcb")),
    *(
        (http(literal(*parts)), EndpointReplyError, MALFORMED)  # of one solution nothing is left
        for parts in ((rb"a\ud83d",), (b"a", b',"xml:lang":"en_US"'), (b"a", b',"xml:lang":null'))
    ),
    *(
        (http(XML_OF.format(text).encode(), type=XML), EndpointReplyError, MALFORMED)
        for text in ('<literal xml:lang="en_US">a</literal>', "<literal>b & c</literal>", "<uri>no iri</uri>")
    ),
    (http(b'{"error": {"message": "heap space"}}'), EndpointError, "heap space"),  # with 200
    (http(b'{"exception": "Operation timed out", "status": "ERROR"}'), EndpointTimeoutError, "Operation timed out"),
    (http(b'{"errors": [{"message": "parse error: token"}], "status": 400}'), QuerySyntaxError, "parse error: token"),
    (http(b'{"message": "No entry", "statusCode": 401}'), EndpointAuthenticationError, "No entry"),
    (http(iris(0)[:-1] + b',"error":"heap space"}'), EndpointError, "heap space"),
    (http(iris(1)[:-1] + f',"x":{LONG},"exception":"heap space"}}'.encode()), EndpointReplyError, "heap space"),
    (http(b'{"status": "down", "until": "noon"}'), EndpointReplyError, "noon"),
    *(
        (http(SAID, status=status, **({} if status == 405 else {"retry_after": "300"})), kind, says)  # E14, E15
        for status, kind, says in (
            (400, QueryError, "no such thing"), (401, EndpointAuthenticationError, "USER:PASSWORD"),
            (403, EndpointAuthenticationError, "no such thing"), (404, EndpointError, "often it ends in /sparql"),
            (405, EndpointError, "often it ends"), (406, EndpointError, "SPARQL JSON or XML"),
            (414, EndpointError, "414"), (429, EndpointRateLimitError, "wait 5 min"), (500, EndpointError, "500"),
            (503, EndpointError, "503"), (504, EndpointTimeoutError, "too long"),
        )
    ),
    (http(b"", status=405, retry_after="12"), EndpointRateLimitError, "wait 12 s"),
    (http(b"Requests must have a User-Agent", status=403), EndpointAuthenticationError, CONTACT_VARIABLE),
    (http(LATE, status=429), EndpointTimeoutError, ""),
    (http(b'{"code":"TimeLimitExceededException"}', status=500), EndpointError, "try again later"),
    (http(b"error at 1:9: expected one of DESCRIBE, [_]", status=400, type=PLAIN), QuerySyntaxError, "expected one of"),
    (http(b"nothing to be done", status=400, type=PLAIN), QueryError, "refuses query all: nothing to be done"),
    *(
        (http(body, status=500, type=PLAIN), kind, says)
        for body, kind, says in (
            (TRACE, EndpointError, ": java.lang.OutOfMemoryError: heap"),
            (b"<pre>" + TRACE.replace(b"<init>", b"&lt;init&gt;") + b"</pre>", EndpointError, "OutOfMemoryError: heap"),
            (b"Virtuoso 37000 Error TN...: transitive start not given", QueryError, "p/p instead of p+"),
            (b"Virtuoso 37000 Error SP031: generated SQL exceeded 10000 lines", QueryError, "in another way"),
            (b"Virtuoso 37000 Error SP030: SPARQL compiler, line 1: syntax error at '}'", QuerySyntaxError, ""),
            (b"Virtuoso S1T00 Error SR171: Transaction timed out", EndpointTimeoutError, ""),
            (b"Virtuoso 42000 Error The estimated execution time 2 (sec) exceeds the limit", EndpointTimeoutError, ""),
            (LATE_TRACE, EndpointTimeoutError, ""),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "kind", "says"), NO_RESULTS)
def test_E04_E05_E07_E13_E14_E15_E19_what_is_no_result(reply: HttpReply, kind: type[KgsparqlError], says: str) -> None:
    with pytest.raises(KgsparqlError) as caught:
        read(reply)
    error = caught.value
    assert type(error) is kind
    assert says in f"{error.code} {error.message} {error.hint}"
    assert not set(error.message) & set("\x1b\n")
    assert "<" not in error.message or "html" not in str(reply.body)
    assert len(error.message) < 450
    assert error.exit_code == (4 if isinstance(error, QueryError) else 5)
    assert (error.detail["url"], error.detail["query"]) == ("http://e.org/sparql", ALL)


@pytest.mark.parametrize(("alias", "status", "body", "kind"), [
    ("dblp", 429, b"Operation timed out.", EndpointTimeoutError),
    ("dblp", 429, b"more than the time limit allows", EndpointRateLimitError),
    ("dbpedia", 405, b"", EndpointRateLimitError),
    ("dbpedia", 400, b"Virtuoso 42000 Error The estimated execution time 2041 (sec)", EndpointTimeoutError),
    ("wikidata", 500, b"java.util.concurrent.TimeoutException", EndpointTimeoutError),
])  # fmt: skip
def test_E12_E13_E15_a_status_means_what_the_profile_of_the_service_says(
    alias: str, status: int, body: bytes, kind: type[KgsparqlError]
) -> None:
    with pytest.raises(kind):
        read(http(body, status=status), profile=service(alias))


def known(most: int | None = None) -> EndpointProfile:
    return EndpointProfile(name="known", max_solutions=most)


@pytest.mark.parametrize(("reply", "limit", "profile", "cut"), [
    (http(iris(10_000)), "", UNKNOWN, "the endpoint stopped at 10,000 solutions"),  # E09
    (http(iris(9_999)), "", UNKNOWN, ""),
    (http(iris(10_000)), " LIMIT 10000", UNKNOWN, ""),
    (http(iris(10_000)), " LIMIT 10001", UNKNOWN, "the endpoint stopped at 10,000 solutions"),
    (http(iris(10_000)), "", known(), ""),
    (http(iris(50)), "", known(50), "the endpoint stopped at 50 solutions"),
    (http(iris(49)), "", known(50), ""),
    (http(iris(50), x_sparql_maxrows="50"), "", UNKNOWN, "the endpoint stopped at 50 solutions"),  # E12
    (http(iris(50), x_sparql_maxrows="50"), " LIMIT 50", UNKNOWN, ""),
    *((http(iris(50), x_sparql_maxrows=said), "", UNKNOWN, "") for said in ("51", "many", "", "9" * 5000)),
    (http(x_sql_state="S1TAT"), "", UNKNOWN, "the endpoint stopped early (S1TAT)"),
    (http(x_sql_message="incomplete"), "", UNKNOWN, "the endpoint stopped early (incomplete)"),
    (http(status=206), "", UNKNOWN, "the endpoint sent a part of the result (206)"),
    (HttpReply(200, {}, iris(0), 0.3), "", EndpointProfile(silent_timeout_s=0.25),
     "the endpoint found nothing in 0.25 s, and may have run out of time"),
    (HttpReply(200, {}, iris(1), 0.3), "", EndpointProfile(silent_timeout_s=0.25), ""),
    (HttpReply(200, {}, iris(0), 0.3), "", EndpointProfile(silent_timeout_s=5.0), ""),
])  # fmt: skip
def test_E09_E12_a_result_may_have_been_cut(reply: HttpReply, limit: str, profile: EndpointProfile, cut: str) -> None:
    found = read(reply, text=ALL + limit, profile=profile)
    assert (found.cut, found.complete) == (cut, not cut)


def test_E09_of_triples_virtuoso_gives_one_more_than_of_solutions() -> None:
    for number, is_cut in ((49, False), (50, True), (51, True), (52, False)):
        assert bool(why_cut(http(), sent(profile=known(50)), number, "triples")) is is_cut
        assert not why_cut(http(), sent(f"{ALL} LIMIT {number}", known(50)), number, "triples")


def test_E09_what_is_not_there_in_what_was_cut_may_be_there_and_half_a_count_is_none() -> None:
    no = b'{"head":{},"boolean":false}'
    for about in ({"status": 206}, {"x_sql_state": "S1TAT"}):
        with pytest.raises(EndpointTimeoutError):
            boolean(http(no, **about), sent())
        assert boolean(http(ASK_JSON, **about), sent())
    assert not boolean(http(no), sent())
    with pytest.raises(EndpointTimeoutError):
        read(HttpReply(206, {}, iris(1), 2.0), text="SELECT (COUNT(*) AS ?s) { ?a ?b ?c }")


E_A = IRI("http://e.org/a")
ONE, TERM = (
    '{"type":"uri","value":"http://e.org/a"}',
    '"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/a"}}]}',
)
UMLAUT = literal("Brüggen".encode()).decode()
UMLAUT_XML = XML_OF.format("<literal>Brüggen</literal>")
DECLARED = f'<?xml version="1.0" encoding="ISO-8859-1"?>{UMLAUT_XML}'


@pytest.mark.parametrize(("reply", "terms", "invalid"), [
    *((http(body, type=kind), [E_A], 0) for kind in (JSON, XML, None, "text/plain; charset=utf-8")
      for body in (rows(ONE), b"\xef\xbb\xbf \n" + rows(ONE) + b"\r\n", XML_OF.format("<uri>http://e.org/a</uri>").encode())),
    # E20: what stands around the solutions costs nothing
    *((http(f"{{{around}}}".encode()), [E_A], 0) for around in (
        TERM, f'"head":{{}},{TERM}', f'"head":{{"vars":[]}},{TERM}', f'"head":{{"vars":["s"]}},{TERM},"ms":5')),
    (http(rows('{"type":"typed-literal","value":"1","datatype":"http://e.org/t"}')),
     [Literal("1", datatype=IRI("http://e.org/t"))], 0),
    (http(rows('{"type":"literal","datatype":"http://www.w3.org/2001/XMLSchema#boolean","value":"1"}')),
     [Literal("true", datatype=IRI("http://www.w3.org/2001/XMLSchema#boolean"))], 0),
    (http(rows('{"type":"bnode","value":"nodeID://b1"}')), [BlankNode("b1")], 0),
    (http(literal(b"\\u00e9", b',"xml:lang":"fr"')), [Literal("é", language="fr")], 0),
    # A term that is none costs its solution.
    *((http(rows(ONE, term, ONE)), [E_A, E_A], 1) for term in (
        '{"type":"literal","value":"x","datatype":"no iri"}', '{"type":"uri"}', '{"type":"uri","value":7}',
        '{"type":"what","value":"x"}', '"x"', "[]", "null", '{"type":"uri","value":"http://e.org/ oh no"}',
        '{"type":"literal","value":"a","xml:lang":"en_US"}', r'{"type":"literal","value":"\ud83d"}')),
    *((http(body, type=kind), [Literal("Brüggen")], 0) for body, kind in (
        (UMLAUT.encode(), f"{JSON};charset=ISO-8859-1"), (DECLARED.encode(), XML),
        # What is no UTF-8 is what it declares to be, in the document or beside it.
        (DECLARED.encode("latin-1"), XML), (UMLAUT_XML.encode("windows-1252"), f"{XML}; charset=Windows-1252"),
        (UMLAUT.encode("latin-1"), f'{JSON};charset="iso-8859-1"'),
        (UMLAUT_XML.encode("utf-16"), f"{XML};charset=UTF-16"))),
])  # fmt: skip
def test_E19_E20_json_and_xml_are_read_as_they_are_called(reply: HttpReply, terms: list[object], invalid: int) -> None:
    found = read(reply)
    assert [solution["s"] for solution in found] == terms
    assert (found.invalid, found.complete) == (invalid, not invalid)
    assert found.missing == ("1 solution with invalid terms left out" if invalid else "")


@pytest.mark.parametrize("named", ["", "utf-8", "unicode_escape", "zip", "no-such-encoding", "gb0"])
def test_what_is_neither_utf_8_nor_what_it_declares_to_be_is_malformed(named: str) -> None:
    with pytest.raises(EndpointReplyError, match="is not valid UTF-8"):
        read(http(UMLAUT_XML.encode("latin-1"), type=f"{XML};charset={named}"))


def test_the_names_of_variables_stay_where_nothing_was_found_and_one_that_was_left_out_is_an_error() -> None:
    assert (read(http(iris(0))).variables, len(read(http(iris(0))))) == (("s",), 0)
    with pytest.raises(EndpointReplyError, match=r"lacks the variable \?entity") as caught:  # Virtuoso now and then
        read(http(iris(1)))[0]["entity"]
    assert caught.value.code == "E_FORMAT"


def test_more_solutions_than_anybody_reads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MAX_SOLUTIONS", 100)
    with pytest.raises(EndpointReplyError, match="100 solutions") as caught:
        read(http(iris(101)))
    assert caught.value.code == "E_LIMIT"


SENT = SparqlRequest("http://127.0.0.1/sparql", "cut", "SELECT * WHERE { ?s ?p ?o }", 30.0)
SELECT = "SELECT ?s ?o WHERE { ?s ?p ?o } LIMIT 12"
EMPTY = "SELECT ?s ?o WHERE { ?s <urn:nobody> ?o }"
Reader = Callable[[HttpReply, SparqlRequest], object]


def refused(reader: Reader, body: bytes, kind: str | None) -> KgsparqlError:
    """The error with which a body is refused."""
    with pytest.raises(KgsparqlError) as caught:
        reader(HttpReply(200, {"content-type": kind} if kind else {}, body), SENT)
    return caught.value


def refused_at_every_byte(reader: Reader, body: bytes, kind: str | None) -> None:
    for at in range(len(body.rstrip())):
        error = refused(reader, body[:at], kind)
        assert isinstance(error, EndpointReplyError | EndpointError), (at, error)


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
names = st.lists(st.sampled_from(["a", "b", "/", "é", "%20", "'"]), min_size=1, max_size=6).map(
    lambda parts: pyoxigraph.NamedNode(f"urn:x:{''.join(parts)}")
)
literals = st.one_of(
    texts.map(pyoxigraph.Literal),
    texts.map(lambda text: pyoxigraph.Literal(text, language="en")),
    st.integers(-5, 5).map(pyoxigraph.Literal),
)
triples = st.lists(st.tuples(names, names | literals), max_size=4)


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
