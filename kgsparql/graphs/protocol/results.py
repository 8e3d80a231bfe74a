"""Replies of an endpoint made into terms: only whole documents, of the form that was asked for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar
from xml.parsers import expat  # only looks at the markup; the results are read by pyoxigraph alone

import pyoxigraph as ox

from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, KgsparqlError, QueryError
from kgsparql.graph import Solution, Solutions
from kgsparql.graphs.profiles import UNKNOWN
from kgsparql.graphs.protocol.failures import (
    CONTACT_HINT,
    excerpt,
    ran_out_of_time,
    timed_out,
    trace_in,
    wants_contact,
    without_query,
)
from kgsparql.graphs.protocol.repair import MOST_BYTES, repaired
from kgsparql.graphs.protocol.request import Form, Reply, Sent
from kgsparql.graphs.protocol.statuses import of_status
from kgsparql.terms import Triple, printable

__all__ = ["boolean", "mended", "read", "solutions", "triples", "why_cut"]

MAX_DEPTH = 100
"""Triples inside triples that are read; from some thousands on, reading them ends the process."""
_MOST_QUOTED = 10_000
_USUAL_CAP = 10_000
"""Of solutions; an endpoint that nobody described may be one that gives no more, without a word."""
MAX_SOLUTIONS = 1_000_000
"""Of one reply; nobody can read more."""
_LOOK_EVERY = 10_000
"""Solutions, at the clock."""
_LIMIT = re.compile(r"\bLIMIT\s+(\d+)\s*\Z", re.IGNORECASE)
_MOST_HEADER = "x-sparql-maxrows"
_MOST = re.compile(r"\s*([0-9]{1,9})\s*")
"""Virtuoso says how many solutions it gives at most, when it gives so many."""
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NO_BRACE = bytes(set(range(256)) - set(b"{}"))
_STEP = {ord("{"): 1, ord("}"): -1}
_NODE_ID = re.compile(rb'("bnode"\s*,\s*"value"\s*:\s*"|<bnode>)nodeID://')
"""Virtuoso calls blank nodes so, which is no name of one. A quote or a tag inside a literal would be escaped."""
_TRUTH = re.compile(rb'(XMLSchema#boolean"(?:\s*,\s*"value"\s*:\s*"|>))([01])(?=["<])')
"""Virtuoso writes truth values as numbers."""
_GROUPED = re.compile(r"\bGROUP\s+BY\b", re.IGNORECASE)
_Read = TypeVar("_Read")


def _respelt(body: bytes) -> bytes:
    """Results in which Virtuoso's own spellings are those of the specifications."""
    body = _NODE_ID.sub(rb"\1", body)
    return _TRUTH.sub(lambda found: found[1] + (b"true" if found[2] == b"1" else b"false"), body)


def solutions(reply: Reply, sent: Sent) -> Solutions:
    """The solutions of a SELECT.

    :raises KgsparqlError: as :func:`read`.
    """
    try:
        names, found = read(reply, sent, "SELECT", partial(_all, sent=sent))
        invalid = 0
    except EndpointReplyError as error:
        mended_reply, invalid = mended(reply, error, sent)
        names, found = read(mended_reply, sent, "SELECT", partial(_all, sent=sent))
    if _GROUPED.search(sent.text):
        found = tuple(solution for solution in found if solution)  # of no groups rdflib makes one without a binding
    return Solutions(names, found, cut=why_cut(reply, sent, len(found) + invalid), invalid=invalid)


def mended(reply: Reply, error: EndpointReplyError, sent: Sent) -> tuple[Reply, int]:
    """A reply to a SELECT that could not be read, without the solutions that cannot be, and how many these are.

    :raises EndpointReplyError: the same, if that is not what is wrong with it.
    :raises EndpointTimeoutError: if it takes too long.
    """
    if error.code != "E_FORMAT":
        raise error
    found = repaired(reply.body.removeprefix(_BOM).strip(), partial(_refuse_late, sent))
    if found is None:
        raise error
    return replace(reply, body=found[0]), found[1]


def boolean(reply: Reply, sent: Sent) -> bool:
    """The answer to an ASK.

    :raises EndpointTimeoutError: if it is false of what was not all looked at.
    :raises KgsparqlError: as :func:`read`.
    """
    is_true = read(reply, sent, "ASK", bool)
    why = "" if is_true else why_cut(reply, sent, 0)
    if why:
        raise timed_out(sent, said=why, status=reply.status)
    return is_true


def why_cut(reply: Reply, sent: Sent, number: int) -> str:
    """Why an endpoint has more than a result, in a clause; empty if nothing says so.

    A status or a header, Virtuoso's above all; a number of solutions that is just what the endpoint gives at most; and
    none at all after so long that the endpoint may have run out of time.

    :param number: of solutions, or triples, those that could not be read too.
    """
    said = {name.lower(): value for name, value in reply.headers.items() if name.lower().startswith("x-sql-")}
    if said:
        words = printable(excerpt((said.get("x-sql-message") or said.get("x-sql-state", "")).encode(), sent), 80)
        return f"the endpoint stopped early ({words})" if words else "the endpoint stopped early"
    if reply.status != 200:
        return f"the endpoint sent a part of the result ({reply.status})"
    profile, limit, own = sent.profile, _LIMIT.search(sent.text), _MOST.fullmatch(reply.headers.get(_MOST_HEADER, ""))
    most = profile.max_solutions or (_USUAL_CAP if profile.name == UNKNOWN.name else None)
    is_most = number >= int(own[1]) if own else number == most
    if number and is_most and not (limit and int(limit[1]) == number):
        return f"the endpoint stopped at {number:,} solutions"
    if not number and profile.silent_timeout_s is not None and reply.seconds >= profile.silent_timeout_s:
        return f"the endpoint found nothing in {profile.silent_timeout_s:g} s, and may have run out of time"
    return ""


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
    body = _respelt(reply.body.removeprefix(_BOM).strip())
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


def _all(found: ox.QuerySolutions, *, sent: Sent) -> tuple[tuple[str, ...], tuple[Solution, ...]]:
    names = tuple(variable.value for variable in found.variables)
    solutions: list[Solution] = []
    try:
        for solution in found:
            if len(solutions) >= MAX_SOLUTIONS:
                raise EndpointReplyError(
                    f"{sent.url}: more than {MAX_SOLUTIONS:,} solutions of {sent.what}", code="E_LIMIT",
                    hint="ask for less at once", **sent.detail(limit="solutions"),
                )  # fmt: skip
            if solutions and not len(solutions) % _LOOK_EVERY:
                _refuse_late(sent)
            terms = zip(names, solution, strict=True)
            solutions.append({name: term for name, term in terms if term is not None})
    finally:
        del found  # as in read
    return names, tuple(solutions)


def _refuse_late(sent: Sent) -> None:
    """End reading when nobody waits for it any more."""
    if sent.cancel is not None and sent.cancel.is_set():
        raise CancelledError("stopped while the reply of an endpoint was read")
    if time.monotonic() > sent.deadline:
        raise EndpointTimeoutError(
            f"{sent.url}: the reply to {sent.what} could not be read in time",
            hint="ask for less at once", **sent.detail(),
        )  # fmt: skip


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
        end = excerpt(trace_in(body) or body[-400:], sent)
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
    said = without_query(excerpt(body, sent), sent)
    where = "is this the URL of the endpoint itself? often it ends in /sparql or /query"
    return EndpointReplyError(
        f"{sent.url}: the reply is not SPARQL results: {said or 'no text'}",
        hint=CONTACT_HINT if wants_contact(said) else where, **sent.detail(said=said),
    )  # fmt: skip


def _broken(body: bytes, sent: Sent) -> KgsparqlError:
    """A document that ends too early, or has something else in it or after it."""
    end = excerpt(trace_in(body) or body[-400:], sent)
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
    if len(body) > MOST_BYTES:
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
