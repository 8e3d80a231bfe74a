"""What it means that an endpoint gives no result: the statuses and words of servers, and failures of the network."""

from __future__ import annotations

import os
import re

from kgsparql.errors import (
    AuthenticationError,
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
    RateLimitError,
)
from kgsparql.graphs.profiles import Meaning
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, SparqlRequest
from kgsparql.http.transport import HttpReply, NetworkError, in_words, retry_after_s
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted

URL_HINT = "is this the URL of the endpoint itself? often it ends in /sparql or /query"
_SHOWN = 200
"""Characters of a server's own words that an error repeats."""
_READ_FOR_WORDS = 8192
_READ_FOR_MEANING = 2**16
_HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_OUT_OF_TIME = re.compile(
    r"cancell?ed|timed?[ -]?out|time limit|took too long|exceeded.{0,40}\btime\b|execution time.{0,40}exceed|"
    r"deadline.{0,20}(?:expired|exceeded|passed)",
    re.IGNORECASE,
)
_AGENT = re.compile(r"user.?agent", re.IGNORECASE)
_TRACE = re.compile(rb"(?<![\w$])(?<![\w$]\.)(?:[a-z][\w$]*+\.)++[A-Z][\w$]*+(?:(?<=Exception)|(?<=Error))")
"""The full name of an exception. Possessive, as bodies may be long: no backtracking."""
_TRACE_WITHIN = 2**17
_SYNTAX = re.compile(r"syntax|pars(e|ing|er)\b|expect|lexical|malformed|encountered|undeclared", re.IGNORECASE)
_ABOUT_THE_QUERY = re.compile(
    r"transitive start not given|generated SQL.{0,40}exceed|10000 lines|Virtuoso (?:37000|42S22|42001) Error",
    re.IGNORECASE,
)
"""Virtuoso fails with 500 at a query that it cannot run."""


def ran_out_of_time(words: str) -> bool:
    """Tell whether a server's words say that a query took too long."""
    return _OUT_OF_TIME.search(words) is not None


def contact_hint(said: str, otherwise: str) -> str:
    """Hint at the contact, where a server's words are about who asks."""
    return f"say who asks: export {CONTACT_VARIABLE}=you@example.org" if _AGENT.search(said) else otherwise


def trace_in(body: bytes) -> bytes:
    """Find the end of a body from the name of an exception on; empty without one.

    >>> trace_in(b'{"head": java.util.concurrent.TimeoutException: late')
    b'java.util.concurrent.TimeoutException: late'
    """
    tail = body[-_TRACE_WITHIN:]
    found = _TRACE.search(tail)
    return tail[found.start() :] if found else b""


def excerpt(body: bytes, request: SparqlRequest) -> str:
    """Quote the first characters of a body, without markup, control characters, secrets and contact."""
    text = body[:_READ_FOR_WORDS].decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = _TAG.sub(" ", _HIDDEN.sub(" ", text))
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    return printable(redacted(" ".join(text.split()), *request.secrets, contact), _SHOWN)


def meaning_of(reply: HttpReply, request: SparqlRequest) -> Meaning | None:
    """Read the meaning of a status from the endpoint's profile, else from the words in the body.

    ``None`` for results, and for errors of the query or the URL.
    """
    status, words = reply.status, reply.body[:_READ_FOR_MEANING].decode("utf-8", "replace").lower()
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


def of_status(reply: HttpReply, request: SparqlRequest) -> KgsparqlError | None:
    """Make the error of a status, with the server's words; ``None`` for a reply that should hold results."""
    status = reply.status
    if status in {200, 206}:
        return None
    said, wait_s = excerpt(reply.body, request), retry_after_s(reply.headers)
    words, wait = f": {said}" if said else "", "wait a while" if wait_s is None else f"wait {in_words(wait_s)}"
    detail = request.detail(status=status, said=said)
    match meaning_of(reply, request):
        case "out of time":
            return request.timed_out(said=said, status=status)
        case "throttled":
            message = f"{request.url}: too many requests ({status}){words}"
            return EndpointRateLimitError(message, hint=wait, **detail, retry_after_s=wait_s)
        case "refused":
            hint = "put USER:PASSWORD@ before the host in the URL" if status == 401 else "ask its operator"
            message = f"{request.url}: access refused ({status}){words}"
            return EndpointAuthenticationError(message, hint=contact_hint(said, hint), **detail)
    of_engine = _ABOUT_THE_QUERY.search(said) if status >= 500 or status == 400 else None
    if of_engine or status == 400:
        is_syntax = "syntax error" in said.lower() if of_engine else _SYNTAX.search(said)
        hint = "write it in another way: this engine does not take it as it is"
        if "transitive start" in said.lower():
            hint = "name one end of the path as an IRI, or write a fixed number of steps: p/p instead of p+"
        kind = QuerySyntaxError if is_syntax else QueryError
        return kind(f"{request.url} refuses {request.what}: {said or status}", hint=hint, **detail)
    hint = wait if wait_s is not None else "try again later"
    if 400 <= status < 500:
        hint = "ask for less at once" if status == 413 else URL_HINT
        hint = f"{URL_HINT}; one that takes no POST needs `post = false` in a profile" if status == 405 else hint
    return EndpointError(f"{request.url}: status {status}{words}", hint=hint, **detail)


def of_network(failure: NetworkError, request: SparqlRequest, max_bytes: int) -> KgsparqlError:
    """Make the error of a request that got no whole reply."""
    match failure.kind:
        case "late":
            return request.timed_out()
        case "cut":
            return request.partial_error("broke off")
        case "badly packed":
            return request.reply_error(f"the reply is {failure.message}", "E_FORMAT", failure.hint)
        case "too large":
            message = f"the reply to {request.what} is larger than {max_bytes / 2**20:g} MiB"
            return request.reply_error(message, "E_LIMIT", "ask for less at once", limit="bytes")
    detail = request.detail(unsent=failure.may_pass, connected=failure.is_connected)
    return EndpointError(f"{request.url}: {failure.message}", hint=failure.hint, **detail)


def is_about_the_query(error: KgsparqlError) -> bool:
    """Tell whether another query may succeed; not at an endpoint that is down, or wants a password."""
    if isinstance(error, EndpointReplyError | AuthenticationError | RateLimitError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)
