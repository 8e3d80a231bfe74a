"""What an endpoint means by a status, as its body and its profile tell; and the errors of failures."""

from __future__ import annotations

import re

from kgsparql.errors import (
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.profiles.profile import Meaning
from kgsparql.graphs.protocol.failures import CONTACT_HINT, excerpt, ran_out_of_time, timed_out, trace_in, wants_contact
from kgsparql.graphs.protocol.request import Reply, SparqlRequest
from kgsparql.http.retry_after import in_words, retry_after_s
from kgsparql.rdf.terms import printable

__all__ = ["meaning_of", "of_status"]

_READ = 2**16
_SYNTAX = re.compile(r"syntax|pars(e|ing|er)\b|expect|lexical|malformed|encountered|undeclared", re.IGNORECASE)
_NO_ENDPOINT = "is this the URL of the endpoint itself? it takes no POST"
_OF_ENGINES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"transitive start not given", re.IGNORECASE),
        "name one end of the path as an IRI, or write a fixed number of steps: p/p instead of p+",
    ),
    (re.compile(r"generated SQL.{0,40}exceed|10000 lines", re.IGNORECASE), "ask for less at once"),
    (re.compile(r"Virtuoso (37000|42S22|42001) Error", re.IGNORECASE), "the endpoint cannot run this form of query"),
)
"""Words in a failure that are about the query, and a hint for each."""


def meaning_of(reply: Reply, request: SparqlRequest) -> Meaning | None:
    """The meaning of a status, by the endpoint's profile, else by the words in the body.

    ``None`` for results, and for errors of the query or the URL.
    """
    status, words = reply.status, reply.body[:_READ].decode("utf-8", "replace").lower()
    for meaning in request.profile.statuses:
        if meaning.status == status and meaning.says.lower() in words:
            return meaning.means
    # A server may repeat the whole query before it says what was wrong with it.
    said = f"{excerpt(reply.body, request)} {excerpt(trace_in(reply.body), request)}"
    # A 429 may mean too much time, too: where the engine is known, its profile says by which words to tell.
    is_late = (status >= 500 or (status == 429 and not request.profile.engine)) and ran_out_of_time(said)
    if is_late or status in {408, 504}:
        return "out of time"
    if status == 429 or (status == 405 and "retry-after" in reply.headers):
        return "throttled"
    if status in {401, 403}:
        return "refused"
    return "overloaded" if status in {502, 503} else None


def of_status(reply: Reply, request: SparqlRequest) -> KgsparqlError | None:
    """The error of a status, with the server's words; ``None`` for a reply that should hold results."""
    if reply.status in {200, 206}:
        return None
    said = excerpt(reply.body, request)
    match meaning_of(reply, request):
        case "out of time":
            return timed_out(request, said=said, status=reply.status)
        case "throttled":
            return _throttled(reply, request, said)
        case "refused":
            return _refused(reply, request, said)
        case _:
            return _about_the_query(reply, request, said) or _failed(reply, request, said)


def _throttled(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
    wait_s = retry_after_s(reply.headers)
    later = f"wait {in_words(wait_s)}" if wait_s is not None else "wait a while"
    detail = request.detail(status=reply.status, said=said, retry_after_s=wait_s)
    return EndpointRateLimitError(
        f"{request.url}: too many requests ({reply.status}){_words(said)}", hint=later, **detail
    )


def _refused(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
    if wants_contact(said):
        hint = CONTACT_HINT
    elif reply.status == 401:
        hint = "put USER:PASSWORD@ before the host in the URL"
    else:
        hint = "ask its operator, or is it another URL?"
    message = f"{request.url}: access refused ({reply.status}){_words(said)}"
    return EndpointAuthenticationError(message, hint=hint, **request.detail(status=reply.status, said=said))


def _about_the_query(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError | None:
    """The error of a query that this endpoint cannot run, whatever the status; ``None`` if it is no such error."""
    detail = request.detail(status=reply.status, said=said)
    for words, hint in _OF_ENGINES if reply.status == 400 or reply.status >= 500 else ():
        if words.search(said):
            kind = QuerySyntaxError if "syntax error" in said.lower() else QueryError
            return kind(f"{request.what}: {said}", hint=hint, **detail)
    if reply.status == 400:
        kind = QuerySyntaxError if _SYNTAX.search(said) else QueryError
        return kind(f"{request.what}: {said or 'refused by the endpoint (400)'}", **detail)
    return None


def _failed(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
    status, wait_s = reply.status, retry_after_s(reply.headers)
    hints = {
        404: "is this the URL of the endpoint itself? often it ends in /sparql or /query",
        405: _NO_ENDPOINT,
        406: "it has no results in JSON or XML",
        413: "ask for less at once",
        414: _NO_ENDPOINT,
        501: _NO_ENDPOINT,
    }
    hint = hints.get(status, "try again later" if status >= 500 else "is this the URL of the endpoint itself?")
    if (status >= 500 or status < 400) and wait_s is not None:
        hint = f"wait {in_words(wait_s)}"
    message = f"{request.url}: status {status}{_words(said)}"
    return EndpointError(message, hint=hint, **request.detail(status=status, said=said))


def _words(said: str) -> str:
    return f": {printable(said, 200)}" if said else ""
