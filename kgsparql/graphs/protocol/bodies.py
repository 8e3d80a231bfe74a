"""Checks of reply bodies before they are read: which format, whether complete, what is wrong."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from xml.parsers import expat  # only looks at the markup; the results are read by pyoxigraph alone

import pyoxigraph as ox

from kgsparql.errors import EndpointReplyError, KgsparqlError
from kgsparql.graphs.protocol.failures import (
    CONTACT_HINT,
    excerpt,
    ran_out_of_time,
    timed_out,
    trace_in,
    wants_contact,
    without_query,
)
from kgsparql.graphs.protocol.repair import MOST_BYTES
from kgsparql.graphs.protocol.request import Reply, SparqlRequest

MAX_DEPTH = 100
"""Levels of triples inside triples that are read; some thousands would crash the process."""
_MOST_QUOTED = 10_000
BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NO_BRACE = bytes(set(range(256)) - set(b"{}"))
_STEP = {ord("{"): 1, ord("}"): -1}
_NODE_ID_IN_JSON = re.compile(rb'("bnode"\s*,\s*"value"\s*:\s*")nodeID://')
_NODE_ID_IN_XML = re.compile(rb"(<bnode>)nodeID://")
"""Virtuoso's names of blank nodes, which are invalid. In a literal, JSON escapes the quote and XML the tag."""
_TRUTH = re.compile(rb'(XMLSchema#boolean"(?:\s*,\s*"value"\s*:\s*"|>))([01])(?=["<])')
"""Virtuoso writes truth values as numbers."""


def respelt(body: bytes) -> bytes:
    """The body with Virtuoso's own spellings replaced by those of the specifications."""
    node_id = _NODE_ID_IN_JSON if body[:1] == b"{" else _NODE_ID_IN_XML
    body = node_id.sub(rb"\1", body)
    return _TRUTH.sub(lambda found: found[1] + (b"true" if found[2] == b"1" else b"false"), body)


def format_of(body: bytes, reply: Reply, request: SparqlRequest) -> ox.QueryResultsFormat:
    """JSON or XML, by the first byte; a server's Content-Type is often missing or wrong."""
    if body[:1] == b"{":
        return ox.QueryResultsFormat.JSON
    head = body[:1024].lower()
    if body[:1] == b"<" and b"<html" not in head and b"<!doctype html" not in head:
        return ox.QueryResultsFormat.XML
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        raise request.partial_error("is empty")
    if kind in {"text/csv", "text/tab-separated-values"}:
        message = f"the results are {kind}, which does not tell terms apart or where it ends"
        raise request.reply_error(message, "E_FORMAT", "this endpoint has no results in JSON or XML")
    raise not_sparql(body, request)


def not_sparql(body: bytes, request: SparqlRequest) -> EndpointReplyError:
    """The error of a body that holds no SPARQL results, such as a web page."""
    said = without_query(excerpt(body, request), request)
    where = "is this the URL of the endpoint itself? often it ends in /sparql or /query"
    hint = CONTACT_HINT if wants_contact(said) else where
    message = f"the reply is not SPARQL results: {said or 'no text'}"
    return request.reply_error(message, "E_ENDPOINT_NOT_SPARQL", hint, said=said)


def broken(body: bytes, request: SparqlRequest) -> KgsparqlError:
    """The error of a document that ends too early, or has something else in it or after it."""
    end = excerpt(trace_in(body) or body[-400:], request)
    if ran_out_of_time(end):
        return timed_out(request, said=end)
    return request.partial_error("is not one whole document", said=end[-200:])


def unreadable(body: bytes, format_: ox.QueryResultsFormat, request: SparqlRequest, why: str) -> KgsparqlError:
    """The error of a body that cannot be read.

    :param why: the message of the parser, which repeats parts of the body.
    """
    if format_ == ox.QueryResultsFormat.JSON and not is_json(body):
        return broken(body, request)
    said = excerpt(body, request)
    if format_ == ox.QueryResultsFormat.XML and b"sparql-results#" not in body[:2048]:
        return not_sparql(body, request)
    message = f"the results of {request.what} are malformed: {excerpt(why.encode(), request)}"
    return request.reply_error(message, "E_FORMAT", "is this the URL of the endpoint itself?", said=said)


def is_json(body: bytes) -> bool:
    """Whether it is one whole JSON document; of a very large one, ``False``."""
    if len(body) > MOST_BYTES:
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def refuse_broken_xml(body: bytes, request: SparqlRequest) -> None:
    """Refuse XML that breaks off, of which pyoxigraph would read the first part, and XML that declares entities."""
    parser = expat.ParserCreate()

    def doctype(*_: object) -> None:
        raise not_sparql(body, request)

    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise broken(body, request) from error


def refuse_deep(body: bytes, format_: ox.QueryResultsFormat, request: SparqlRequest) -> None:
    """Refuse triples inside triples on too many levels."""
    if format_ == ox.QueryResultsFormat.XML:
        # Names have no escapes in XML, so each level is a tag that can be counted.
        if body.count(b"triple") > _MOST_QUOTED:
            raise _too_deep(request)
    elif body.count(b"subject") + body.count(b"\\u") > MAX_DEPTH:
        braces = _STRING.sub(b"", body).translate(None, _NO_BRACE)
        if max(accumulate(map(_STEP.__getitem__, braces)), default=0) > 2 * MAX_DEPTH:
            raise _too_deep(request)


def refuse_deep_triples(body: bytes, request: SparqlRequest, *, is_lines: bool) -> None:
    """As :func:`refuse_deep`, for triples themselves.

    :param is_lines: each is on a line of its own.
    """
    if body.count(b"<<") > MAX_DEPTH:
        deepest = max(line.count(b"<<") for line in body.split(b"\n"))
        if deepest > MAX_DEPTH if is_lines else body.count(b"<<") > _MOST_QUOTED:
            raise _too_deep(request)


def _too_deep(request: SparqlRequest) -> EndpointReplyError:
    message = f"the reply to {request.what} has too many triples inside triples"
    return request.reply_error(message, "E_LIMIT", "ask for something else", limit="depth")
