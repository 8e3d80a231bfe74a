"""Replies of an endpoint made into terms: only whole documents, of the form that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, TypeVar
from xml.parsers import expat  # only looks at the markup; the results are read by pyoxigraph alone

import pyoxigraph as ox

from kgsparql.errors import EndpointReplyError, KgsparqlError, QueryError
from kgsparql.graph import Solution, Solutions
from kgsparql.graphs.sparql_failures import excerpt, of_status, ran_out_of_time, timed_out
from kgsparql.graphs.sparql_request import Form, Reply, Sent
from kgsparql.terms import Triple, printable

__all__ = ["boolean", "is_whole", "read", "solutions", "triples"]

MAX_DEPTH = 100
"""Triples inside triples that are read; from some thousands on, reading them ends the process."""
_MOST_QUOTED = 10_000
_MOST_FOR_JSON = 2**20
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NO_BRACE = bytes(set(range(256)) - set(b"{}"))
_STEP = {ord("{"): 1, ord("}"): -1}
_Read = TypeVar("_Read")


def solutions(reply: Reply, sent: Sent) -> Solutions:
    """The solutions of a SELECT.

    :raises KgsparqlError: as :func:`read`.
    """
    names, found = read(reply, sent, "SELECT", _all)
    return Solutions(names, found, is_whole(reply))


def boolean(reply: Reply, sent: Sent) -> bool:
    """The answer to an ASK.

    :raises KgsparqlError: as :func:`read`.
    """
    return read(reply, sent, "ASK", bool)


def is_whole(reply: Reply) -> bool:
    """Whether the server says nothing of a result that it cut: status 206, or Virtuoso's headers."""
    return reply.status == 200 and not any(name.lower() == "x-sql-state" for name in reply.headers)


def read(reply: Reply, sent: Sent, form: Form, reader: Callable[[Any], _Read]) -> _Read:
    """What a reader makes of the results that pyoxigraph finds in a reply, with all that may be wrong as our errors.

    :param reader: gets the ``QuerySolutions`` of a SELECT or the ``QueryBoolean`` of an ASK, and does not keep it.
    :raises QueryError: if the endpoint could not answer, or answered with another form of results.
    :raises EndpointTimeoutError: if it gave up.
    :raises EndpointReplyError: for what is no result (``E_ENDPOINT_NOT_SPARQL``), breaks off (``E_PARTIAL``), or is
        malformed (``E_FORMAT``).
    :raises EndpointError: for any other failure.
    """
    failure = of_status(reply, sent)
    if failure is not None:
        raise failure
    body = reply.body.removeprefix(_BOM).strip()
    format_ = _format(body, reply, sent)
    _refuse_deep(body, format_, sent)
    if format_ == ox.QueryResultsFormat.XML:
        _refuse_broken_xml(body, sent)
    found = None
    try:
        found = ox.parse_query_results(body, format=format_)
        if isinstance(found, ox.QueryBoolean) and format_ == ox.QueryResultsFormat.JSON and not _is_json(body):
            raise _broken(body, sent)
        _refuse_other_form(found, form, sent)
        return reader(found)
    except (SyntaxError, ValueError, OSError) as error:
        if isinstance(error, KgsparqlError):
            raise
        why = str(error)
    finally:
        found = None  # it may not be dropped by another thread, and an error keeps the variables of its frames
    raise _unreadable(body, format_, sent, why)


def _all(found: ox.QuerySolutions) -> tuple[tuple[str, ...], tuple[Solution, ...]]:
    names = tuple(variable.value for variable in found.variables)
    solutions = []
    for solution in found:
        terms = zip(names, solution, strict=True)
        solutions.append({name: term for name, term in terms if term is not None})
    return names, tuple(solutions)


def _refuse_other_form(found: object, form: Form, sent: Sent) -> None:
    is_wanted = isinstance(found, ox.QuerySolutions if form == "SELECT" else ox.QueryBoolean)
    if not is_wanted:
        has, wanted = ("true or false", "solutions") if form == "SELECT" else ("solutions", "true or false")
        raise QueryError(f"{sent.what}: the result is {has}, not {wanted}", **sent.detail())


def triples(reply: Reply, sent: Sent) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or a DESCRIBE, as they come.

    :raises KgsparqlError: as :func:`read`.
    """
    failure = of_status(reply, sent)
    if failure is not None:
        raise failure
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = reply.body.removeprefix(_BOM)
    if kind in {"text/html", "application/xhtml+xml"} or b"<html" in body[:1024].lower():
        raise _not_sparql(body, sent)
    is_lines = kind in {"application/n-triples", "text/plain"}
    if body.count(b"<<") > MAX_DEPTH:
        deepest = max(line.count(b"<<") for line in body.split(b"\n"))
        if deepest > MAX_DEPTH if is_lines else body.count(b"<<") > _MOST_QUOTED:
            raise _too_deep(sent)
    format_ = ox.RdfFormat.N_TRIPLES if is_lines else ox.RdfFormat.from_media_type(kind) or ox.RdfFormat.TURTLE
    try:
        for quad in ox.parse(body, format_):
            yield quad.triple
    except (SyntaxError, ValueError, OSError) as error:
        end = excerpt(body[-400:], sent)
        if ran_out_of_time(end):
            raise timed_out(sent, said=end) from error
        raise EndpointReplyError(
            f"{sent.url}: the reply to {sent.what} is not whole, or not RDF: {printable(str(error), 200)}",
            code="E_PARTIAL", hint="the server may have run out of time: ask for less at once", **sent.detail(),
        ) from error  # fmt: skip


def _format(body: bytes, reply: Reply, sent: Sent) -> ox.QueryResultsFormat:
    """JSON or XML, as the first byte says; a server's Content-Type is often missing or wrong."""
    if body[:1] == b"{":
        return ox.QueryResultsFormat.JSON
    head = body[:1024].lower()
    if body[:1] == b"<" and b"<html" not in head and b"<!doctype html" not in head:
        return ox.QueryResultsFormat.XML
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        raise EndpointReplyError(
            f"{sent.url}: the reply to {sent.what} is empty", code="E_PARTIAL",
            hint="the server may have run out of time: ask for less at once", **sent.detail(),
        )  # fmt: skip
    if kind in {"text/csv", "text/tab-separated-values"}:
        raise EndpointReplyError(
            f"{sent.url}: the results are {kind}, which does not tell terms apart or where it ends",
            code="E_FORMAT", hint="this endpoint has no results in JSON or XML", **sent.detail(),
        )  # fmt: skip
    raise _not_sparql(body, sent)


def _not_sparql(body: bytes, sent: Sent) -> EndpointReplyError:
    said = excerpt(body, sent)
    return EndpointReplyError(
        f"{sent.url}: the reply is not SPARQL results: {said or 'no text'}",
        hint="is this the URL of the endpoint itself? often it ends in /sparql or /query", **sent.detail(said=said),
    )  # fmt: skip


def _broken(body: bytes, sent: Sent) -> KgsparqlError:
    """A document that ends too early, or has something else in it or after it."""
    end = excerpt(body[-400:], sent)
    if ran_out_of_time(end):
        return timed_out(sent, said=end)
    return EndpointReplyError(
        f"{sent.url}: the reply to {sent.what} is not one whole document", code="E_PARTIAL",
        hint="the server may have run out of time: ask for less at once", **sent.detail(said=end[-200:]),
    )  # fmt: skip


def _unreadable(body: bytes, format_: ox.QueryResultsFormat, sent: Sent, why: str) -> KgsparqlError:
    if format_ == ox.QueryResultsFormat.JSON and not _is_json(body):
        return _broken(body, sent)
    said = excerpt(body, sent)
    if format_ == ox.QueryResultsFormat.XML and b"sparql-results#" not in body[:2048]:
        return _not_sparql(body, sent)
    return EndpointReplyError(
        f"{sent.url}: the results of {sent.what} are malformed: {printable(why, 200)}", code="E_FORMAT",
        hint="is this the URL of the endpoint itself?", **sent.detail(said=said),
    )  # fmt: skip


def _is_json(body: bytes) -> bool:
    """Whether it is one whole JSON document; a big one that cannot be read is taken for one that breaks off."""
    if len(body) > _MOST_FOR_JSON:
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_broken_xml(body: bytes, sent: Sent) -> None:
    """Refuse XML that breaks off, which pyoxigraph reads as far as it goes, and XML that declares entities."""
    parser = expat.ParserCreate()

    def doctype(*_: object) -> None:
        raise _not_sparql(body, sent)

    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise _broken(body, sent) from error


def _refuse_deep(body: bytes, format_: ox.QueryResultsFormat, sent: Sent) -> None:
    """Refuse triples inside triples without end."""
    if format_ == ox.QueryResultsFormat.XML:
        # Names have no escapes in XML, so each level is a tag that can be counted.
        if body.count(b"triple") > _MOST_QUOTED:
            raise _too_deep(sent)
    elif body.count(b"subject") + body.count(b"\\u") > MAX_DEPTH:
        braces = _STRING.sub(b"", body).translate(None, _NO_BRACE)
        if max(accumulate(map(_STEP.__getitem__, braces)), default=0) > 2 * MAX_DEPTH:
            raise _too_deep(sent)


def _too_deep(sent: Sent) -> EndpointReplyError:
    return EndpointReplyError(
        f"{sent.url}: the reply to {sent.what} has too many triples inside triples", code="E_LIMIT",
        hint="ask for something else", **sent.detail(limit="depth"),
    )  # fmt: skip
