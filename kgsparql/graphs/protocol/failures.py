"""Errors of an endpoint in one line: failed connections, statuses, and what the words of a server tell."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, quote_plus

from urllib3.exceptions import (
    ConnectTimeoutError,
    DecodeError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from kgsparql.errors import (
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
)
from kgsparql.graphs.profiles.profile import Meaning
from kgsparql.graphs.protocol.contact import CONTACT_VARIABLE
from kgsparql.graphs.protocol.request import Reply, SparqlRequest
from kgsparql.http.retry_after import in_words, retry_after_s
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted

SHOWN = 200
"""Characters of a server's own words that an error repeats."""
_READ = 8192
_REPEATED = 12
"""A server that repeats so many first characters of a query repeats the query."""
_HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_TIME = re.compile(
    r"cancell?ed|timed?[ -]?out|time limit|took too long|exceeded.{0,40}\btime\b|execution time.{0,40}exceed|"
    r"deadline.{0,20}(?:expired|exceeded|passed)",
    re.IGNORECASE,
)
_AGENT = re.compile(r"user.?agent", re.IGNORECASE)
_TRACE = re.compile(rb"(?<![\w$])(?<![\w$]\.)(?:[a-z][\w$]*+\.)++[A-Z][\w$]*+(?:(?<=Exception)|(?<=Error))")
"""The full name of an exception. Possessive, as bodies may be long: no backtracking."""
_TRACE_WITHIN = 2**17
_PLAIN = re.compile(r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|HTTP_REQUEST|UNKNOWN_PROTOCOL")
"""How OpenSSL says that the reply was not TLS."""
_PLAIN_HINT = "is it http:// and not https://, or another port?"
CONTACT_HINT = f"say who asks: export {CONTACT_VARIABLE}=you@example.org"


def of_transport(
    error: BaseException, request: SparqlRequest, *, is_connected: bool, has_headers: bool
) -> KgsparqlError:
    """The error of a request that got no whole reply."""
    if isinstance(error, ReadTimeoutError) and is_connected:
        return timed_out(request)
    if isinstance(error, DecodeError):
        return request.reply_error("the reply is not packed as it says", "E_FORMAT", "is there a proxy between?")
    if isinstance(error, ProtocolError) and has_headers:
        return request.partial_error("broke off")
    message, hint = _no_connection(error)
    may_pass = isinstance(error, NewConnectionError | ConnectTimeoutError)
    may_pass = may_pass and not isinstance(error, NameResolutionError | SSLError)
    detail = request.detail(unsent=may_pass, connected=is_connected)
    return EndpointError(f"{request.url}: {message}", hint=hint, **detail)


def _no_connection(error: BaseException) -> tuple[str, str]:
    hint = "is the server running, and is this its URL?"
    if isinstance(error, NameResolutionError):
        return "there is no host of this name", "check the spelling of the URL, and the network"
    if isinstance(error, ReadTimeoutError | SSLError):
        return _no_tls(error)
    if isinstance(error, NewConnectionError):
        return f"no connection: {_reason(error)}", hint
    if isinstance(error, ConnectTimeoutError):
        return "no connection in time", "check the URL and the network"
    if isinstance(error, ProtocolError):
        return f"no reply: {_reason(error)}", hint
    return f"cannot be asked: {_reason(error)}", hint


def _no_tls(error: BaseException) -> tuple[str, str]:
    if isinstance(error, ReadTimeoutError):  # the connection was accepted, but no TLS hello came
        return "no TLS connection in time: the server may not speak TLS", _PLAIN_HINT
    if _PLAIN.search(str(error)):
        return "no TLS connection: the server does not speak TLS there", _PLAIN_HINT
    return f"no TLS connection: {_reason(error)}", "check the URL; SSL_CERT_FILE names certificates to trust"


def _reason(error: BaseException) -> str:
    """The message of the innermost error."""
    seen = error
    while (inner := seen.__cause__ or seen.__context__) is not None and inner is not seen:
        seen = inner
    words = getattr(seen, "strerror", None) or getattr(seen, "verify_message", None) or str(seen)
    return printable(str(words), SHOWN)


def timed_out(request: SparqlRequest, *, said: str = "", status: int | None = None) -> EndpointTimeoutError:
    """The error of a query that took too long, by our clock or by the server's."""
    if not said and status is None:
        message = f"{request.url} did not answer {request.what} within {request.timeout_s:.3g} s"
    else:
        message = f"{request.url} stopped {request.what} because it took too long"
    detail = request.detail(timeout_s=request.timeout_s, said=said, status=status)
    return EndpointTimeoutError(message, hint="ask for less at once, or try again later", **detail)


def ran_out_of_time(words: str) -> bool:
    """Whether a server's words say that a query took too long.

    >>> ran_out_of_time("The SPARQL operation has been cancelled"), ran_out_of_time("no such graph")
    (True, False)
    """
    return _TIME.search(words) is not None


def wants_contact(words: str) -> bool:
    """Whether a server's words are about who asks.

    >>> wants_contact("Please set a user-agent."), wants_contact("no such page")
    (True, False)
    """
    return _AGENT.search(words) is not None


def trace_in(body: bytes) -> bytes:
    """The end of a body from the name of an exception on; empty without one.

    >>> trace_in(b'{"head": java.util.concurrent.TimeoutException: late')
    b'java.util.concurrent.TimeoutException: late'
    """
    tail = body[-_TRACE_WITHIN:]
    found = _TRACE.search(tail)
    return tail[found.start() :] if found else b""


def without_query(said: str, request: SparqlRequest) -> str:
    """The words of a server up to where they repeat the query, as a web page may with its own address.

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
    """The first characters of a body, without markup, control characters, secrets and contact."""
    text = body[:_READ].decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = _TAG.sub(" ", _HIDDEN.sub(" ", text))
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    return printable(redacted(" ".join(text.split()), *request.secrets, contact), SHOWN)


_STATUS_READ = 2**16
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
    status, words = reply.status, reply.body[:_STATUS_READ].decode("utf-8", "replace").lower()
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
            return _rate_limit_error(reply, request, said)
        case "refused":
            return _refusal_error(reply, request, said)
        case _:
            return _query_error(reply, request, said) or _status_error(reply, request, said)


def _rate_limit_error(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
    wait_s = retry_after_s(reply.headers)
    later = f"wait {in_words(wait_s)}" if wait_s is not None else "wait a while"
    detail = request.detail(status=reply.status, said=said, retry_after_s=wait_s)
    return EndpointRateLimitError(
        f"{request.url}: too many requests ({reply.status}){_words(said)}", hint=later, **detail
    )


def _refusal_error(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
    if wants_contact(said):
        hint = CONTACT_HINT
    elif reply.status == 401:
        hint = "put USER:PASSWORD@ before the host in the URL"
    else:
        hint = "ask its operator, or is it another URL?"
    message = f"{request.url}: access refused ({reply.status}){_words(said)}"
    return EndpointAuthenticationError(message, hint=hint, **request.detail(status=reply.status, said=said))


def _query_error(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError | None:
    """The error of a query that this endpoint cannot run, whatever the status; ``None`` if it is no such error."""
    detail = request.detail(status=reply.status, said=said)
    for words, hint in _OF_ENGINES if reply.status == 400 or reply.status >= 500 else ():
        if words.search(said):
            kind = QuerySyntaxError if "syntax error" in said.lower() else QueryError
            return kind(f"{request.url} refuses {request.what}: {said}", hint=hint, **detail)
    if reply.status == 400:
        kind = QuerySyntaxError if _SYNTAX.search(said) else QueryError
        hint = "write it in another way: this engine does not take it as it is"
        return kind(f"{request.url} refuses {request.what}: {said or '400'}", hint=hint, **detail)
    return None


def _status_error(reply: Reply, request: SparqlRequest, said: str) -> KgsparqlError:
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
