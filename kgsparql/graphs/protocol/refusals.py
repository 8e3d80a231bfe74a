"""What an endpoint says when it gives no result: its statuses and its words, and the error of each."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, quote_plus

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
from kgsparql.http.failures import in_words, retry_after_s
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted

CONTACT_HINT = f"say who asks: export {CONTACT_VARIABLE}=you@example.org"
_SHOWN = 200
"""Characters of a server's own words that an error repeats."""
_READ_FOR_WORDS = 8192
_READ_FOR_MEANING = 2**16
_REPEATED = 12
"""A server that repeats so many first characters of a query repeats the query."""
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
_WORDS_ABOUT_THE_QUERY: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"transitive start not given", re.IGNORECASE),
        "name one end of the path as an IRI, or write a fixed number of steps: p/p instead of p+",
    ),
    (re.compile(r"generated SQL.{0,40}exceed|10000 lines", re.IGNORECASE), "ask for less at once"),
    (re.compile(r"Virtuoso (37000|42S22|42001) Error", re.IGNORECASE), "the endpoint cannot run this form of query"),
)
"""Virtuoso fails with 500 at a query that it cannot run; a hint for each."""
_HINTS = {
    404: "is this the URL of the endpoint itself? often it ends in /sparql or /query",
    405: "is this the URL of the endpoint itself? it takes no POST",
    406: "it has no results in JSON or XML",
    413: "ask for less at once",
    414: "is this the URL of the endpoint itself? it takes no POST",
    501: "is this the URL of the endpoint itself? it takes no POST",
}


def ran_out_of_time(words: str) -> bool:
    """Tell whether a server's words say that a query took too long.

    >>> ran_out_of_time("The SPARQL operation has been cancelled"), ran_out_of_time("no such graph")
    (True, False)
    """
    return _OUT_OF_TIME.search(words) is not None


def wants_contact(words: str) -> bool:
    """Tell whether a server's words are about who asks.

    >>> wants_contact("Please set a user-agent."), wants_contact("no such page")
    (True, False)
    """
    return _AGENT.search(words) is not None


def trace_in(body: bytes) -> bytes:
    """Find the end of a body from the name of an exception on; empty without one.

    >>> trace_in(b'{"head": java.util.concurrent.TimeoutException: late')
    b'java.util.concurrent.TimeoutException: late'
    """
    tail = body[-_TRACE_WITHIN:]
    found = _TRACE.search(tail)
    return tail[found.start() :] if found else b""


def without_query(said: str, request: SparqlRequest) -> str:
    """Cut the words of a server off where they repeat the query, as a web page may with its own address.

    >>> request = SparqlRequest("http://e.org/", "q", "SELECT * { ?s ?p ?o }", 1.0)
    >>> without_query("Directory listing for /?query=SELECT+%2A+%7B+%3Fs", request)
    'Directory listing for /?query=…'
    """
    text, flat = request.text, " ".join(request.text.split())
    spelled = (flat, flat.replace(" ", "+"), quote_plus(text), quote(text, safe=""), quote(text))
    heads = [text[:_REPEATED] for text in spelled if len(text) >= _REPEATED]
    places = [place for head in heads if (place := said.find(head)) >= 0]
    return f"{said[: min(places)]}…" if places else said


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
    words = f": {said}" if said else ""
    detail = request.detail(status=status, said=said)
    match meaning_of(reply, request):
        case "out of time":
            return request.timed_out(said=said, status=status)
        case "throttled":
            hint = f"wait {in_words(wait_s)}" if wait_s is not None else "wait a while"
            message = f"{request.url}: too many requests ({status}){words}"
            return EndpointRateLimitError(message, hint=hint, **detail, retry_after_s=wait_s)
        case "refused":
            hint = "ask its operator, or is it another URL?"
            if status == 401:
                hint = "put USER:PASSWORD@ before the host in the URL"
            hint = CONTACT_HINT if wants_contact(said) else hint
            message = f"{request.url}: access refused ({status}){words}"
            return EndpointAuthenticationError(message, hint=hint, **detail)
    if (error := _query_error(status, said, request)) is not None:
        return error
    hint = "try again later" if status >= 500 else "is this the URL of the endpoint itself?"
    hint = _HINTS.get(status, hint)
    if (status >= 500 or status < 400) and wait_s is not None:
        hint = f"wait {in_words(wait_s)}"
    return EndpointError(f"{request.url}: status {status}{words}", hint=hint, **detail)


def _query_error(status: int, said: str, request: SparqlRequest) -> KgsparqlError | None:
    """Make the error of a query that this endpoint cannot run; ``None`` if the status is about something else."""
    hint = "write it in another way: this engine does not take it as it is"
    is_syntax = _SYNTAX.search(said) is not None
    for words, hint_of_engine in _WORDS_ABOUT_THE_QUERY if status == 400 or status >= 500 else ():
        if words.search(said):
            hint, is_syntax = hint_of_engine, "syntax error" in said.lower()
            break
    else:
        if status != 400:
            return None
    kind = QuerySyntaxError if is_syntax else QueryError
    detail = request.detail(status=status, said=said)
    return kind(f"{request.url} refuses {request.what}: {said or status}", hint=hint, **detail)


def is_about_the_query(error: KgsparqlError) -> bool:
    """Tell whether another query may succeed; not at an endpoint that is down, or wants a password."""
    if isinstance(error, EndpointReplyError | AuthenticationError | RateLimitError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)
