"""What went wrong at an endpoint, said in one line: connections that fail, and replies that are no results."""

from __future__ import annotations

import re

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
    AuthenticationError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    QuerySyntaxError,
    RateLimitError,
)
from kgsparql.graphs.sparql_request import Reply, Sent
from kgsparql.redaction import redacted
from kgsparql.terms import printable

__all__ = ["excerpt", "of_status", "of_transport", "ran_out_of_time", "timed_out"]

SHOWN = 200
"""Characters of a server's own words that an error repeats."""
_READ = 8192
_HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_SYNTAX = re.compile(r"syntax|pars(e|ing|er)\b|expect|lexical|malformed|encountered|undeclared", re.IGNORECASE)
_TIME = re.compile(r"cancell?ed|timed?[ -]?out|time limit|took too long|exceeded.{0,40}\btime\b", re.IGNORECASE)


def of_transport(error: BaseException, sent: Sent, *, is_connected: bool, has_headers: bool) -> KgsparqlError:
    """The error of a request that never became a whole reply."""
    if isinstance(error, ReadTimeoutError) and is_connected:
        return timed_out(sent)
    if isinstance(error, DecodeError):
        message, hint = "the reply is not packed as it says", "is there a proxy between?"
        return EndpointReplyError(f"{sent.url}: {message}", code="E_FORMAT", hint=hint, **sent.detail())
    if isinstance(error, ProtocolError) and has_headers:
        return EndpointReplyError(
            f"{sent.url}: the reply to {sent.what} broke off", code="E_PARTIAL",
            hint="the server may have run out of time: ask for less at once", **sent.detail(),
        )  # fmt: skip
    message, hint = _no_connection(error)
    return EndpointError(f"{sent.url}: {message}", hint=hint, **sent.detail())


def _no_connection(error: BaseException) -> tuple[str, str]:
    hint = "is the server running, and is this its URL?"
    if isinstance(error, NameResolutionError):
        return "there is no host of this name", "check the spelling of the URL, and the network"
    if isinstance(error, SSLError):
        return f"no TLS connection: {_reason(error)}", "check the URL; SSL_CERT_FILE names certificates to trust"
    if isinstance(error, NewConnectionError):
        return f"no connection: {_reason(error)}", hint
    if isinstance(error, ConnectTimeoutError | ReadTimeoutError):
        return "no connection in time", "check the URL and the network"
    if isinstance(error, ProtocolError):
        return f"no reply: {_reason(error)}", hint
    return f"cannot be asked: {_reason(error)}", hint


def _reason(error: BaseException) -> str:
    """The words of the innermost error, without the objects around them."""
    seen = error
    while (inner := seen.__cause__ or seen.__context__) is not None and inner is not seen:
        seen = inner
    words = getattr(seen, "strerror", None) or getattr(seen, "verify_message", None) or str(seen)
    return printable(str(words), SHOWN)


def of_status(reply: Reply, sent: Sent) -> KgsparqlError | None:
    """The error that a status says, with the server's words; ``None`` for a reply that should hold results."""
    status = reply.status
    if status in {200, 206}:
        return None
    said = excerpt(reply.body, sent)
    words = f": {said}" if said else ""
    detail = sent.detail(status=status, said=said)
    if status == 400:
        kind = QuerySyntaxError if _SYNTAX.search(said) else QueryError
        return kind(f"{sent.what}: {said or 'refused by the endpoint (400)'}", **detail)
    if status in {401, 403}:
        hint = (
            "put USER:PASSWORD@ before the host in the URL"
            if status == 401
            else "ask its operator, or is it another URL?"
        )
        return AuthenticationError(f"{sent.url}: access refused ({status}){words}", hint=hint, **detail)
    if status == 429:
        wait = reply.headers.get("retry-after", "")
        later = f"wait {printable(wait, 40)} s" if wait.isdecimal() else "wait a while"
        return RateLimitError(f"{sent.url}: too many requests (429){words}", hint=later, **detail)
    if status in {408, 504} or (status >= 500 and ran_out_of_time(said)):
        return timed_out(sent, said=said, status=status)
    hints = {
        404: "is this the URL of the endpoint itself? often it ends in /sparql or /query",
        405: "is this the URL of the endpoint itself? it takes no POST",
        406: "it has no results in JSON or XML",
        413: "ask for less at once",
        414: "is this the URL of the endpoint itself? it takes no POST",
        501: "is this the URL of the endpoint itself? it takes no POST",
    }
    hint = hints.get(status, "try again later" if status >= 500 else "is this the URL of the endpoint itself?")
    return EndpointError(f"{sent.url}: status {status}{words}", hint=hint, **detail)


def timed_out(sent: Sent, *, said: str = "", status: int | None = None) -> EndpointTimeoutError:
    """A query that was not done in time, by our clock or by the server's."""
    if not said and status is None:
        message = f"{sent.url} did not answer {sent.what} within {sent.timeout_s:.3g} s"
    else:
        message = f"{sent.url} stopped {sent.what} because it took too long"
    detail = sent.detail(timeout_s=sent.timeout_s, said=said, status=status)
    return EndpointTimeoutError(message, hint="ask for less at once, or try again later", **detail)


def ran_out_of_time(words: str) -> bool:
    """Whether a server's words say that a query took too long.

    >>> ran_out_of_time("The SPARQL operation has been cancelled"), ran_out_of_time("no such graph")
    (True, False)
    """
    return _TIME.search(words) is not None


def excerpt(body: bytes, sent: Sent) -> str:
    """What a person can read of a body: its first characters, without markup, control characters and our password."""
    text = body[:_READ].decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = _TAG.sub(" ", _HIDDEN.sub(" ", text))
    return printable(redacted(" ".join(text.split()), *sent.secrets), SHOWN)
