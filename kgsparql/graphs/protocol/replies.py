"""Reads replies of an endpoint: only whole documents, with results of the form that was asked for.

A result that was cut says so. What is no valid results document is an error, and is not mended.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, NoReturn, TypeVar, cast
from xml.parsers import expat  # only looks at the markup; the results are read by pyoxigraph alone

import pyoxigraph as ox

from kgsparql.errors import EndpointReplyError, KgsparqlError, QueryError
from kgsparql.graphs.decoding import DECLARED_ENCODING, JSON_STRING, json_depths
from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.graphs.profiles import UNKNOWN
from kgsparql.graphs.protocol.request import (
    ERRORS_BESIDE,
    OUT_OF_TIME,
    URL_HINT,
    Form,
    SparqlRequest,
    contact_hint,
    excerpt,
    of_status,
    trace_in,
)
from kgsparql.http.transport import HttpReply, media_type
from kgsparql.rdf.terms import Term, Triple, printable

MAX_SOLUTIONS = 1_000_000  # of one reply
MAX_DEPTH = 100  # levels of triples inside triples that are read; some thousands would crash the process
_MAX_QUOTED_TRIPLES = 10_000
_WORKED_S = 1.0  # a result that took so long and is not whole ended with its time
_USUAL_CAP = 10_000  # of solutions; an endpoint without a profile may be one that silently gives no more
_MAX_PARSED_BYTES = 2**24  # a Python object takes some ten times as much memory
_SOLUTIONS_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000
_LIMIT = re.compile(r"\bLIMIT\s+(\d+)\s*\Z", re.IGNORECASE)
_GROUPED = re.compile(r"\bGROUP\s+BY\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\s*\(", re.IGNORECASE)
_MAX_ROWS = re.compile(r"\s*([0-9]{1,9})\s*")
_NODE_ID = re.compile(rb'("bnode"\s*,\s*"value"\s*:\s*")nodeID://')
"""Virtuoso's names of blank nodes, which are invalid. In a literal, JSON escapes the quote."""
_CHARSET = re.compile(rb"(charset\s*=\s*\"?)([A-Za-z0-9._:-]+)", re.IGNORECASE)
_OTHER_ENCODING = re.compile(
    r"iso-8859-\d+|latin-?1|windows-\d+|utf-16(?:[bl]e)?|koi8-[ru]|gb\w+|big5|shift_jis|euc-\w+", re.IGNORECASE
)
_TRUTH = re.compile(rb'(XMLSchema#boolean"\s*,\s*"value"\s*:\s*")([01])(?=")')
"""Virtuoso writes truth values as numbers."""
_Read = TypeVar("_Read")


class Bindings(dict[str, Term]):
    """A solution; to need a variable that the endpoint left unbound is an error of the reply."""

    __slots__ = ("_request",)

    def __init__(self, request: SparqlRequest, terms: Mapping[str, Term]) -> None:
        super().__init__(terms)
        self._request = request

    def __missing__(self, name: str) -> NoReturn:
        hint = "the server does not reply to what it was asked: is this the URL of the endpoint itself?"
        message = f"the reply to {self._request.what} lacks the variable ?{name}"
        raise self._request.reply_error(message, "E_FORMAT", hint)


def solutions(reply: HttpReply, request: SparqlRequest) -> Solutions:
    """Read the solutions of a SELECT, with the errors of :func:`read`."""

    def bindings_of(results: ox.QuerySolutions) -> tuple[tuple[str, ...], tuple[Solution, ...]]:
        names = tuple(variable.value for variable in results.variables)
        solutions: list[Solution] = []
        try:
            for solution in results:
                if len(solutions) >= MAX_SOLUTIONS:
                    message = f"more than {MAX_SOLUTIONS:,} solutions of {request.what}"
                    raise request.reply_error(message, "E_LIMIT", "ask for less at once", limit="solutions")
                if solutions and not len(solutions) % _SOLUTIONS_BETWEEN_LOOKS_AT_THE_CLOCK:
                    request.raise_if_over()
                terms = zip(names, solution, strict=True)
                solutions.append(Bindings(request, {name: term for name, term in terms if term is not None}))
        finally:
            del results  # as in read
        return names, tuple(solutions)

    (names, found), invalid = read_solutions(reply, request, bindings_of)
    if _GROUPED.search(request.text):
        found = tuple(solution for solution in found if solution)  # of no groups rdflib makes one without a binding
    cut = why_cut(reply, request, len(found) + invalid)
    if cut and reply.seconds >= _WORKED_S and _COUNTS.search(request.text) and not _GROUPED.search(request.text):
        raise request.timed_out(said=cut, status=reply.status)  # half a count is none
    return Solutions(names, found, cut=cut, invalid=invalid)


def read_solutions(reply: HttpReply, request: SparqlRequest, reader: Callable[[Any], _Read]) -> tuple[_Read, int]:
    """Read a SELECT, as :func:`read`; solutions in JSON with an invalid term are left out, and counted."""
    try:
        return read(reply, request, "SELECT", reader), 0
    except EndpointReplyError as error:
        body, invalid = _without_invalid_rows(reply, error, request)
        return read(replace(reply, body=body), request, "SELECT", reader), invalid


def boolean(reply: HttpReply, request: SparqlRequest) -> bool:
    """Read the answer to an ASK, with the errors of :func:`read`."""
    is_true = read(reply, request, "ASK", bool)
    why = "" if is_true else why_cut(reply, request, 0)
    if why:
        raise request.timed_out(said=why, status=reply.status)
    return is_true


def triples(reply: HttpReply, request: SparqlRequest) -> Iterator[Triple]:
    """Read the triples of a CONSTRUCT or a DESCRIBE, one by one, with the errors of :func:`read`."""
    if (failure := of_status(reply, request)) is not None:
        raise failure
    kind, body = media_type(reply.headers), _utf8_body(reply, request)
    if kind in {"text/html", "application/xhtml+xml"} or b"<html" in body[:1024].lower():
        raise _no_results_error(body, request)
    is_lines = kind in {"application/n-triples", "text/plain"}
    if (quoted := body.count(b"<<")) > MAX_DEPTH:
        deepest = max(line.count(b"<<") for line in body.split(b"\n"))
        if deepest > MAX_DEPTH if is_lines else quoted > _MAX_QUOTED_TRIPLES:
            raise _depth_error(request)
    format_ = ox.RdfFormat.N_TRIPLES if is_lines else ox.RdfFormat.from_media_type(kind) or ox.RdfFormat.TURTLE
    try:
        base = request.url if request.form == "DESCRIPTION" else None  # a service calls itself <>
        for quad in ox.parse(body, format_, base_iri=base):
            yield quad.triple
    except (SyntaxError, ValueError, OSError):  # what it says repeats what was parsed, secrets too
        raise _broken_error(body, request) from None


def why_cut(
    reply: HttpReply, request: SparqlRequest, number: int, of: Literal["solutions", "triples"] = "solutions"
) -> str:
    """Say in a clause why an endpoint may have more than this result; empty if nothing tells.

    :param number: of solutions or triples, those that could not be read included. Of triples Virtuoso gives one more
        than of solutions, and does not say how many at most.
    """
    said = reply.headers.get("x-sql-message", reply.headers.get("x-sql-state"))
    if said is not None:
        return f"the endpoint stopped early ({printable(excerpt(said.encode(), request), 80)})"
    if reply.status != 200:
        return f"the endpoint sent a part of the result ({reply.status})"
    profile, limit = request.profile, _LIMIT.search(request.text)
    own = _MAX_ROWS.fullmatch(reply.headers.get("x-sparql-maxrows", ""))  # Virtuoso says it when it gives so many
    most = profile.max_solutions or (_USUAL_CAP if profile.name == UNKNOWN.name else None)
    is_most = number >= int(own[1]) if own else most is not None and number in {most, most + (of == "triples")}
    if number and is_most and not (limit and int(limit[1]) == number):
        return f"the endpoint stopped at {number:,} {of}"
    if not number and profile.silent_timeout_s is not None and reply.seconds >= profile.silent_timeout_s:
        return f"the endpoint found nothing in {profile.silent_timeout_s:g} s, and may have run out of time"
    return ""


def read(reply: HttpReply, request: SparqlRequest, form: Form, reader: Callable[[Any], _Read]) -> _Read:
    """Return what a reader makes of the results in a reply; whatever is wrong is our own error.

    :param reader: is given the ``QuerySolutions`` of a SELECT or the ``QueryBoolean`` of an ASK, and must not keep it.
    :raises EndpointReplyError: for what is no result (``E_ENDPOINT_NOT_SPARQL``), breaks off (``E_PARTIAL``), or is
        malformed (``E_FORMAT``); a QueryError, EndpointTimeoutError or EndpointError as the status says.
    """
    if (failure := of_status(reply, request)) is not None:
        raise failure
    body = _respelt_body(reply, request)
    format_ = _format_of(body, reply, request)
    is_json = format_ == ox.QueryResultsFormat.JSON
    _refuse_deep(body, request, is_json=is_json)
    if not is_json:
        _refuse_broken_xml(body, request)
    found = None
    try:
        found = ox.parse_query_results(body, format=format_)
        if isinstance(found, ox.QueryBoolean) and is_json:
            _refuse_broken_json(body, request)  # of which pyoxigraph reads the first member
        if not isinstance(found, ox.QuerySolutions if form == "SELECT" else ox.QueryBoolean):
            has, wanted = ("true or false", "solutions") if form == "SELECT" else ("solutions", "true or false")
            raise QueryError(f"{request.what}: the result is {has}, not {wanted}", **request.detail())
        return reader(found)
    except (SyntaxError, ValueError, OSError) as error:
        if isinstance(error, KgsparqlError):
            raise
        why = excerpt(str(error).encode(), request)  # it repeats parts of the body
    finally:
        found = None  # it may not be dropped by another thread, and an error keeps the variables of its frames
    if is_json:
        _refuse_broken_json(body, request)
    if is_json and not (b'"results"' in body or b'"boolean"' in body):
        raise _no_results_error(body, request)
    raise _malformed_error(why, request, said=excerpt(body, request))


def of_web_page(reply: HttpReply, request: SparqlRequest) -> EndpointReplyError | None:
    """Make the error of a web page in place of results, such as one to log in; ``None`` for another reply."""
    is_page = (
        media_type(reply.headers) in {"text/html", "application/xhtml+xml"} and b"<html" in reply.body[:1024].lower()
    )
    return _no_results_error(reply.body, request) if is_page else None


def _format_of(body: bytes, reply: HttpReply, request: SparqlRequest) -> ox.QueryResultsFormat:
    """Tell JSON and XML apart by the first byte; a server's Content-Type is often missing or wrong."""
    if body[:1] == b"{":
        return ox.QueryResultsFormat.JSON
    if body[:1] == b"<" and b"sparql-results#" in body[:2048]:
        return ox.QueryResultsFormat.XML
    if not body:
        raise request.partial_error("is empty")
    kind = media_type(reply.headers)
    if kind in {"text/csv", "text/tab-separated-values"}:
        message = f"the results are {kind}, which does not tell terms apart or where it ends"
        raise request.reply_error(message, "E_FORMAT", "this endpoint has no results in JSON or XML")
    raise _no_results_error(body, request)


def _refuse_broken_json(body: bytes, request: SparqlRequest) -> None:
    """Refuse what is not one whole document of JSON; of a very large one that cannot be read, that is taken for it."""
    try:
        if len(body) > _MAX_PARSED_BYTES:
            raise _broken_error(body, request)
        json.loads(body)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Invalid"):  # an escape or a control character in a string
            raise _malformed_error(f"{error.msg} at character {error.pos:,}", request) from None
        raise _broken_error(body, request) from None
    except (ValueError, RecursionError):
        raise _broken_error(body, request) from None


def _respelt_body(reply: HttpReply, request: SparqlRequest) -> bytes:
    """Return the body with Virtuoso's own spellings in JSON replaced by those of the specifications."""
    body = _utf8_body(reply, request)
    if body[:1] != b"{":
        return body
    return _TRUTH.sub(lambda found: found[1] + (b"true" if found[2] == b"1" else b"false"), _NODE_ID.sub(rb"\1", body))


def _utf8_body(reply: HttpReply, request: SparqlRequest) -> bytes:
    """Return the body as UTF-8, without a byte order mark, which it must be if it does not say what else it is."""
    body = reply.body
    declared = DECLARED_ENCODING.match(body) or _CHARSET.search(reply.headers.get("content-type", "").encode())
    named = declared[2].decode() if declared else ""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if _OTHER_ENCODING.fullmatch(named):
            with suppress(UnicodeDecodeError, LookupError):
                return _utf8_body(replace(reply, body=body.decode(named).encode()), request)
        if error.end >= len(body):
            raise _broken_error(body, request) from None
        raise _malformed_error(f"byte {error.start:,} is not valid UTF-8", request) from None
    return DECLARED_ENCODING.sub(rb"\1UTF-8", body.removeprefix(BOM_UTF8).strip(), count=1)


def _refuse_broken_xml(body: bytes, request: SparqlRequest) -> None:
    """Refuse XML that breaks off, of which pyoxigraph would read the first part, and XML that declares entities."""
    parser = expat.ParserCreate()

    def refuse_doctype(*_: object) -> None:
        raise _no_results_error(body, request)

    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        if body.endswith(b"sparql>"):
            why = f"line {error.lineno:,}, column {error.offset + 1:,}: {expat.ErrorString(error.code)}"
            raise _malformed_error(why, request) from None
        raise _broken_error(body, request) from error


def _refuse_deep(body: bytes, request: SparqlRequest, *, is_json: bool) -> None:
    """Refuse triples inside triples on too many levels."""
    # Names have no escapes in XML, so each level is a tag that can be counted.
    is_deep = not is_json and body.count(b"triple") > _MAX_QUOTED_TRIPLES
    if is_json and body.count(b"subject") + body.count(b"\\u") > MAX_DEPTH:
        is_deep = max(json_depths(JSON_STRING.sub(b"", body))) > 2 * MAX_DEPTH
    if is_deep:
        raise _depth_error(request)


def _depth_error(request: SparqlRequest) -> EndpointReplyError:
    message = f"the reply to {request.what} has too many triples inside triples"
    return request.reply_error(message, "E_LIMIT", "ask for something else", limit="depth")


def _no_results_error(body: bytes, request: SparqlRequest) -> EndpointReplyError:
    said = excerpt(body, request)
    message = f"the reply is not SPARQL results: {said or 'no text'}"
    return request.reply_error(message, "E_ENDPOINT_NOT_SPARQL", contact_hint(said, URL_HINT), said=said)


def _malformed_error(why: str, request: SparqlRequest, **detail: Any) -> EndpointReplyError:
    hint = "no other query helps: its operator must mend it, unless another URL is the endpoint itself"
    return request.reply_error(f"the results of {request.what} are malformed: {why}", "E_FORMAT", hint, **detail)


def _broken_error(body: bytes, request: SparqlRequest) -> KgsparqlError:
    """Make the error of a document that ends too early, or has something else in it or after it."""
    end = excerpt(trace_in(body) or body[-400:], request)
    if OUT_OF_TIME.search(end):
        return request.timed_out(said=end)
    return request.partial_error("is not one whole document", said=end[-200:])


def _without_invalid_rows(reply: HttpReply, error: EndpointReplyError, request: SparqlRequest) -> tuple[bytes, int]:
    """Write results in JSON again without the solutions that cannot be read, and without what stands beside them.

    :raises EndpointReplyError: the same error, if it is no whole JSON, or no solution would be left.
    """
    if error.code != "E_FORMAT":
        raise error
    try:
        document = json.loads(_respelt_body(reply, request))
        rows = [row for row in document["results"]["bindings"] if isinstance(row, dict)]
        declared = (document.get("head") or {}).get("vars") or ()  # some servers name none, or not all
        names = list(dict.fromkeys([*declared, *(name for row in rows for name in row)]))
        number, beside = len(document["results"]["bindings"]), [document.get(name) for name in ERRORS_BESIDE]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise error from None
    if any(beside):  # what came before it is not all
        raise _no_results_error(json.dumps(beside).encode(), request)
    whole = rows if _is_readable(names, rows, request) else [row for row in rows if _is_readable(names, [row], request)]
    if not _is_readable(names, [], request) or (number and not whole):
        raise error
    return _results_document(names, whole), number - len(whole)


def _is_readable(names: Sequence[Any], rows: Sequence[Any], request: SparqlRequest) -> bool:
    request.raise_if_over()
    with suppress(SyntaxError, ValueError, OSError):
        found = ox.parse_query_results(_results_document(names, rows), format=ox.QueryResultsFormat.JSON)
        return all(True for _ in cast("ox.QuerySolutions", found))
    return False


def _results_document(names: Sequence[Any], rows: Sequence[Any]) -> bytes:
    document = {"head": {"vars": list(names)}, "results": {"bindings": list(rows)}}
    return json.dumps(document, separators=(",", ":")).encode()
