"""Reads replies of an endpoint: only whole documents, with results of the form that was asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

import pyoxigraph as ox

from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, KgsparqlError, QueryError
from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.graphs.profiles.profile import UNKNOWN
from kgsparql.graphs.protocol.bodies import (
    BOM,
    broken,
    format_of,
    is_json,
    not_sparql,
    refuse_broken_xml,
    refuse_deep,
    refuse_deep_triples,
    respelt,
    unreadable,
)
from kgsparql.graphs.protocol.failures import excerpt, of_status, ran_out_of_time, timed_out, trace_in
from kgsparql.graphs.protocol.repair import repaired
from kgsparql.graphs.protocol.reply_checks import Bindings, about_the_query
from kgsparql.graphs.protocol.request import Form, Reply, SparqlRequest
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Triple, printable

_USUAL_CAP = 10_000
"""Of solutions; an endpoint without a profile may be one that silently gives no more."""
MAX_SOLUTIONS = 1_000_000
"""Of one reply."""
_LOOK_EVERY = 10_000
"""Solutions after which the clock is read again."""
_LIMIT = re.compile(r"\bLIMIT\s+(\d+)\s*\Z", re.IGNORECASE)
_MOST_HEADER = "x-sparql-maxrows"
_MOST = re.compile(r"\s*([0-9]{1,9})\s*")
"""Virtuoso states the most solutions that it gives, when it gives so many."""
_GROUPED = re.compile(r"\bGROUP\s+BY\b", re.IGNORECASE)
_Read = TypeVar("_Read")


def solutions_of(query: Query, reply: Reply, request: SparqlRequest) -> Solutions:
    """The solutions of a query of ours, as :func:`solutions`, that are about what it asks.

    :raises EndpointReplyError: if a count in them is no number.
    """
    return about_the_query(solutions(reply, request), query, request)


def solutions(reply: Reply, request: SparqlRequest) -> Solutions:
    """The solutions of a SELECT, with the errors of :func:`read`."""
    try:
        names, found = read(reply, request, "SELECT", partial(_all, request=request))
        invalid = 0
    except EndpointReplyError as error:
        whole_reply, invalid = repaired_reply(reply, error, request)
        names, found = read(whole_reply, request, "SELECT", partial(_all, request=request))
    if _GROUPED.search(request.text):
        found = tuple(solution for solution in found if solution)  # of no groups rdflib makes one without a binding
    return Solutions(names, found, cut=why_cut(reply, request, len(found) + invalid), invalid=invalid)


def repaired_reply(reply: Reply, error: EndpointReplyError, request: SparqlRequest) -> tuple[Reply, int]:
    """A reply to a SELECT that could not be read, repaired; and how many of its solutions were left out for that.

    :raises EndpointReplyError: the same error, if the reply cannot be repaired.
    """
    if error.code != "E_FORMAT":
        raise error
    found = repaired(reply.body.removeprefix(BOM).strip(), partial(_refuse_late, request))
    if found is None:
        raise error
    return replace(reply, body=found[0]), found[1]


def boolean(reply: Reply, request: SparqlRequest) -> bool:
    """The answer to an ASK, with the errors of :func:`read`.

    :raises EndpointTimeoutError: if it is false, but the endpoint stopped early.
    """
    is_true = read(reply, request, "ASK", bool)
    why = "" if is_true else why_cut(reply, request, 0)
    if why:
        raise timed_out(request, said=why, status=reply.status)
    return is_true


def why_cut(
    reply: Reply, request: SparqlRequest, number: int, of: Literal["solutions", "triples"] = "solutions"
) -> str:
    """Why an endpoint may have more than this result, in a clause; empty if nothing tells.

    What tells: a status; a header, mostly Virtuoso's; exactly as many solutions as the endpoint gives at most; and no
    solution after so long that the endpoint may have run out of time.

    :param number: of solutions or triples, those that could not be read included. Of triples Virtuoso gives one more
        than of solutions, and does not say how many at most.
    """
    said = {name.lower(): value for name, value in reply.headers.items() if name.lower().startswith("x-sql-")}
    if said:
        words = printable(excerpt((said.get("x-sql-message") or said.get("x-sql-state", "")).encode(), request), 80)
        return f"the endpoint stopped early ({words})" if words else "the endpoint stopped early"
    if reply.status != 200:
        return f"the endpoint sent a part of the result ({reply.status})"
    profile, limit = request.profile, _LIMIT.search(request.text)
    own = _MOST.fullmatch(reply.headers.get(_MOST_HEADER, ""))
    most = profile.max_solutions or (_USUAL_CAP if profile.name == UNKNOWN.name else None)
    is_most = number >= int(own[1]) if own else most is not None and number in {most, most + (of == "triples")}
    if number and is_most and not (limit and int(limit[1]) == number):
        return f"the endpoint stopped at {number:,} {of}"
    if not number and profile.silent_timeout_s is not None and reply.seconds >= profile.silent_timeout_s:
        return f"the endpoint found nothing in {profile.silent_timeout_s:g} s, and may have run out of time"
    return ""


def read(reply: Reply, request: SparqlRequest, form: Form, reader: Callable[[Any], _Read]) -> _Read:
    """What a reader returns for the results that pyoxigraph parses from a reply; whatever is wrong is our own error.

    :param reader: is given the ``QuerySolutions`` of a SELECT or the ``QueryBoolean`` of an ASK, and must not keep it.
    :raises QueryError: if the endpoint could not answer, or answered with another form of results.
    :raises EndpointTimeoutError: if it ran out of time.
    :raises EndpointReplyError: for what is no result (``E_ENDPOINT_NOT_SPARQL``), breaks off (``E_PARTIAL``), or is
        malformed (``E_FORMAT``).
    :raises EndpointError: for any other failure.
    """
    failure = of_status(reply, request)
    if failure is not None:
        raise failure
    body = respelt(reply.body.removeprefix(BOM).strip())
    format_ = format_of(body, reply, request)
    refuse_deep(body, format_, request)
    if format_ == ox.QueryResultsFormat.XML:
        refuse_broken_xml(body, request)
    found = None
    try:
        found = ox.parse_query_results(body, format=format_)
        if isinstance(found, ox.QueryBoolean) and format_ == ox.QueryResultsFormat.JSON and not is_json(body):
            raise broken(body, request)
        _refuse_other_form(found, form, request)
        return reader(found)
    except (SyntaxError, ValueError, OSError) as error:
        if isinstance(error, KgsparqlError):
            raise
        why = str(error)
    finally:
        found = None  # it may not be dropped by another thread, and an error keeps the variables of its frames
    raise unreadable(body, format_, request, why)


def _all(found: ox.QuerySolutions, *, request: SparqlRequest) -> tuple[tuple[str, ...], tuple[Solution, ...]]:
    names = tuple(variable.value for variable in found.variables)
    solutions: list[Solution] = []
    try:
        for solution in found:
            if len(solutions) >= MAX_SOLUTIONS:
                message = f"more than {MAX_SOLUTIONS:,} solutions of {request.what}"
                raise request.reply_error(message, "E_LIMIT", "ask for less at once", limit="solutions")
            if solutions and not len(solutions) % _LOOK_EVERY:
                _refuse_late(request)
            terms = zip(names, solution, strict=True)
            solutions.append(Bindings(request, {name: term for name, term in terms if term is not None}))
    finally:
        del found  # as in read
    return names, tuple(solutions)


def _refuse_late(request: SparqlRequest) -> None:
    """Stop reading at the deadline, or when the question was stopped."""
    if request.cancel is not None and request.cancel.is_set():
        raise CancelledError("stopped while the reply of an endpoint was read")
    if time.monotonic() > request.deadline:
        raise EndpointTimeoutError(
            f"{request.url}: the reply to {request.what} could not be read in time",
            hint="ask for less at once", **request.detail(),
        )  # fmt: skip


def _refuse_other_form(found: object, form: Form, request: SparqlRequest) -> None:
    is_wanted = isinstance(found, ox.QuerySolutions if form == "SELECT" else ox.QueryBoolean)
    if not is_wanted:
        has, wanted = ("true or false", "solutions") if form == "SELECT" else ("solutions", "true or false")
        raise QueryError(f"{request.what}: the result is {has}, not {wanted}", **request.detail())


def triples(reply: Reply, request: SparqlRequest) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or a DESCRIBE, one by one, with the errors of :func:`read`."""
    failure = of_status(reply, request)
    if failure is not None:
        raise failure
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = reply.body.removeprefix(BOM)
    if kind in {"text/html", "application/xhtml+xml"} or b"<html" in body[:1024].lower():
        raise not_sparql(body, request)
    is_lines = kind in {"application/n-triples", "text/plain"}
    refuse_deep_triples(body, request, is_lines=is_lines)
    format_ = ox.RdfFormat.N_TRIPLES if is_lines else ox.RdfFormat.from_media_type(kind) or ox.RdfFormat.TURTLE
    try:
        for quad in ox.parse(body, format_):
            yield quad.triple
    except (SyntaxError, ValueError, OSError) as error:
        end = excerpt(trace_in(body) or body[-400:], request)
        if ran_out_of_time(end):
            raise timed_out(request, said=end) from None
        why = excerpt(str(error).encode(), request)
        # The parser's own error repeats what was parsed, secrets too.
        raise request.partial_error(f"is not whole, or not RDF: {why}") from None
