"""A request to a SPARQL endpoint as a value, who asks, and what it means that there is no result."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlencode

from kgsparql.dataclasses import field, frozen
from kgsparql.errors import (
    CancelledError,
    EndpointAuthenticationError,
    EndpointError,
    EndpointRateLimitError,
    EndpointReplyError,
    EndpointTimeoutError,
    KgsparqlError,
    OptionError,
    QueryError,
    QuerySyntaxError,
    redacted,
    without,
)
from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile, Meaning, known_endpoints
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpReply, HttpRequest, NetworkError, in_words, message_in, retry_after_s
from kgsparql.rdf.terms import Json, printable

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "DESCRIPTION", "NAMES"]
"""The form of a query; without one, ``DESCRIPTION`` asks for the service description, ``NAMES`` a linker for names."""

_RESULTS = "application/sparql-results+json, application/sparql-results+xml;q=0.8, application/json;q=0.5"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
ACCEPT: Mapping[Form, str] = {
    "SELECT": _RESULTS, "ASK": _RESULTS, "CONSTRUCT": _TRIPLES, "DESCRIBE": _TRIPLES, "DESCRIPTION": "text/turtle",
    "NAMES": "application/json",
}  # fmt: skip
CONTACT_VARIABLE = "KGSPARQL_CONTACT"  # names who asks, for the operators of an endpoint: an e-mail address or a URL
GIVE_CONTACT = f"export {CONTACT_VARIABLE}=you@example.org"
_CONTACT = re.compile(r"(?:mailto:)?[!-'*-~]+@[!-'*-~]+\.[!-'*-~]+|https?://[!-'*-~]+", re.ASCII)
_HINTS = {
    406: "it must give results as SPARQL JSON or XML, and triples as N-Triples or Turtle",
    413: "ask for less at once: a smaller `chunk_size` in a profile of your own",
}
URL_HINT = "is this the URL of the endpoint itself? often it ends in /sparql or /query"
MAX_WAIT_S = 120.0  # the longest that a query waits for the endpoint's sake
_SHOWN = 200  # characters of a server's own words that an error repeats
_READ_FOR_WORDS = 8192
_READ_FOR_MEANING = 2**16
_HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_FRAME = re.compile(r"^\s*at [\w.$<>/&;]+\([^()\n]*\)\s*?$", re.MULTILINE)  # of a trace of Java
_TAG = re.compile(r"<[^<>]*>")
OUT_OF_TIME = re.compile(
    r"cancell?ed|timed?[ -]?out|time limit|took too long|exceeded.{0,40}\btime\b|execution time.{0,40}exceed|"
    r"deadline.{0,20}(?:expired|exceeded|passed)",
    re.IGNORECASE,
)
_ERROR_WORDS = re.compile(rb'"(?:errors?|fault|exception|message|details?|reason|msg)"', re.IGNORECASE)
ERRORS_BESIDE = ("error", "errors", "exception")  # members of a document that holds results, too
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


@frozen
class SparqlRequest:
    """A query for an endpoint, or a request for its service description. It may take several HTTP requests.

    :param name: of the query, as errors call it; empty for a user's own.
    :param timeout_s: for one try, from its name server to the last byte of the reply.
    :param secrets: what a server may echo and nobody may see.
    :param deadline: of all tries, waiting for a turn and reading the reply included, as ``time.monotonic`` tells it.
    :param sent: called before it is sent; not where the reply comes out of a cache.
    :param keep_s: how long the reply may be used again, if not as long as the profile says.
    :param of: the fingerprint of the graph, with which that ends, too.
    """

    url: str
    name: str
    text: str
    timeout_s: float
    secrets: tuple[str, ...] = field(default=(), repr=False)
    profile: EndpointProfile = field(default=UNKNOWN, repr=False)
    form: Form = "SELECT"
    parameters: Mapping[str, str] = field(default_factory=dict)
    deadline: float = field(default=math.inf, compare=False, repr=False)
    cancel: threading.Event | None = field(default=None, compare=False, repr=False)
    sent: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    keep_s: float = field(default=0.0, compare=False, repr=False)
    of: str = field(default="", compare=False, repr=False)

    def may_wait_s(self, now: float) -> float:
        """Tell how much longer it may wait for its endpoint's sake."""
        return min(MAX_WAIT_S, self.deadline - now)

    @property
    def what(self) -> str:
        """The query, as errors call it."""
        return f"query {self.name}" if self.name else "the query"

    def raise_if_over(self) -> None:
        """Raise an error at the deadline, or when the question was stopped."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while an endpoint was asked")
        if self.deadline < time.monotonic():
            message = f"{self.url}: the reply to {self.what} could not be read in time"
            raise EndpointTimeoutError(message, hint="ask for less at once", **self.detail())

    def detail(self, **more: Any) -> Json:
        """Make the ``detail`` of an error about this request; a server may have made a secret a term of our query."""
        return {"url": self.url, "query": without(self.text, *self.secrets), **more}

    def reply_error(self, message: str, code: str, hint: str, **detail: Any) -> EndpointReplyError:
        """Make the error of a reply that holds no whole result."""
        return EndpointReplyError(f"{self.url}: {message}", code=code, hint=hint, **self.detail(**detail))

    def partial_error(self, message: str, **detail: Any) -> EndpointReplyError:
        """Make the error of a reply that breaks off; the message follows the name of the query."""
        hint = "the server may have run out of time: ask for less at once"
        return self.reply_error(f"the reply to {self.what} {message}", "E_PARTIAL", hint, **detail)

    def timed_out(self, *, said: str = "", status: int | None = None) -> EndpointTimeoutError:
        """Make the error of a query that took too long: by our clock, or as the server says."""
        message = f"{self.url} stopped {self.what} because it took too long"
        if not said and status is None:
            message = f"{self.url} did not answer {self.what} within {self.timeout_s:.3g} s"
        message += f": {said}" if said else ""
        detail = self.detail(timeout_s=self.timeout_s, said=said, status=status)
        return EndpointTimeoutError(message, hint="ask for less at once, or try again later", **detail)


class Sender(Protocol):
    """Brings a request to an endpoint: over HTTP, within rate limits, or out of a cache."""

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status."""


def checked_contact() -> str:
    """Read the e-mail address or URL in :data:`CONTACT_VARIABLE`; empty without one."""
    contact = os.environ.get(CONTACT_VARIABLE, "").strip()
    if contact and not _CONTACT.fullmatch(contact):
        message = f"{CONTACT_VARIABLE}: {printable(contact, 60)!r} is neither an e-mail address nor a URL"
        raise OptionError(message, hint=f"{GIVE_CONTACT} (or the URL of a page about you)")
    return contact


@cache
def user_agent(contact: str) -> str:
    """Write the ``User-Agent`` of requests: kgsparql, its version, who asks, and its page."""
    from importlib.metadata import metadata  # a fiftieth of a question of a file, which needs none

    package = metadata("kgsparql")
    pages = (entry.partition(",")[2].strip() for entry in package.get_all("Project-URL") or ())
    comment = "; ".join(part for part in (contact, next(pages, "")) if part)
    return f"kgsparql/{package['Version']}" + (f" ({comment})" if comment else "")


def built_request(
    address: Address, url: str, request: SparqlRequest, manner: str, left_s: float = math.inf, *, accept: str = ""
) -> HttpRequest:
    """Build the HTTP request by SPARQLWrapper, whose public ``query`` sends without our deadline, cancel and bounds."""
    from SPARQLWrapper import SPARQLWrapper  # 110 ms with what it imports

    wrapper = SPARQLWrapper(url, agent=user_agent(checked_contact()))
    wrapper.setOnlyConneg(True)
    for name, value in (("Accept", accept or ACCEPT[request.form]), *address.headers):
        wrapper.addCustomHttpHeader(name, value)
    if address.user:
        wrapper.setCredentials(address.user, address.password)
    limit = {} if re.search(r"[?&]timeout=", url) else request.profile.time_limit(left_s)
    for name, value in {**request.parameters, **limit}.items():
        wrapper.addParameter(name, value)
    # Instead of setQuery, which guesses the form, and may take a query for an update.
    wrapper.queryString, wrapper.queryType = request.text, request.form
    wrapper.setMethod("GET" if manner == "GET" else "POST")
    wrapper.setRequestMethod("postdirectly" if manner == "POSTDIRECTLY" else "urlencoded")
    built = wrapper._createRequest()  # noqa: SLF001
    full_url, headers = str(built.full_url), dict(built.header_items())
    if request.form == "NAMES":
        full_url = f"{url}{'&?'['?' not in url]}{urlencode(request.parameters)}"
    elif request.form == "DESCRIPTION":
        full_url = url
    elif manner == "POST":
        headers["Content-type"] += "; charset=utf-8"
    else:  # in SPARQLWrapper's, a second question mark may be
        full_url = "&?"["?" not in url].join(filter(None, (url, full_url[len(url) + 1 :])))
    return HttpRequest(wrapper.method, full_url, headers, cast("bytes | None", built.data))


def contact_hint(said: str, otherwise: str) -> str:
    """Hint at the contact, where a server's words are about who asks."""
    return f"say who asks: {GIVE_CONTACT}" if _AGENT.search(said) else otherwise


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
    return printable(redacted(" ".join(_FRAME.sub("", message_in(text)).split()), *request.secrets, contact), _SHOWN)


def status_of(reply: HttpReply) -> int:
    """Return the status of a reply; of an error in JSON that came with 200, the one that it names, else 500.

    >>> status_of(HttpReply(200, body=b'{"error": {"message": "heap space", "code": 507}}'))
    507
    """
    is_small = len(reply.body) <= _READ_FOR_MEANING and reply.body.lstrip()[:1] == b"{"
    if reply.status != 200 or not is_small or not _ERROR_WORDS.search(reply.body):
        return reply.status
    try:
        value = json.loads(reply.body)
    except (ValueError, RecursionError):
        return reply.status
    if value.keys() & {"head", "results", "boolean", "@graph", "@context", "@id"}:  # an error beside them ends all
        value = {name: value.get(name) for name in ERRORS_BESIDE}
    if message_in(text := json.dumps(value)) == text:
        return reply.status
    inner = value.get("error")
    members = {**value, **(inner if isinstance(inner, dict) else {})}
    named = [str(members.get(name)) for name in ("status", "code", "statusCode")]
    return next((int(one) for one in named if re.fullmatch(r"[45]\d\d", one)), 500)


def meaning_of(reply: HttpReply, request: SparqlRequest) -> Meaning | None:
    """Read the meaning of a status from the endpoint's profile, else from the words in the body.

    ``None`` for results, and for errors of the query or the URL.
    """
    status, words = status_of(reply), reply.body[:_READ_FOR_MEANING].decode("utf-8", "replace").lower()
    profile = request.profile
    engine = known_endpoints().engine_of(request.url, reply) if status >= 400 and profile.engine else None
    if engine is not None and engine.name != profile.engine:
        profile = profile.on(engine)
    for meaning in profile.statuses:
        if meaning.status == status and meaning.says.lower() in words:
            return meaning.means
    # A server may repeat the whole query before it says what was wrong with it.
    said = f"{excerpt(reply.body, request)} {excerpt(trace_in(reply.body), request)}"
    # A 429 may mean too much time, too: where the engine is known, its profile says by which words to tell.
    is_late = (status >= 500 or (status == 429 and not profile.engine)) and OUT_OF_TIME.search(said)
    if is_late or status in {408, 504}:
        return "out of time"
    if status == 429 or (status == 405 and "retry-after" in reply.headers):
        return "throttled"
    if status in {401, 403}:
        return "refused"
    return "overloaded" if status in {502, 503} else None


def of_status(reply: HttpReply, request: SparqlRequest) -> KgsparqlError | None:
    """Make the error of a status, with the server's words; ``None`` for a reply that should hold results."""
    status = status_of(reply)
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
            what = "the credentials that were given are refused" if request.secrets else "access refused"
            hint = contact_hint(said, _access_hint(status, reply.headers.get("www-authenticate", ""), request))
            return EndpointAuthenticationError(f"{request.url}: {what} ({status}){words}", hint=hint, **detail)
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
        hint = _HINTS.get(status, URL_HINT)
    return EndpointError(f"{request.url}: status {reply.status}{words}", hint=hint, **detail)


def _access_hint(status: int, challenge: str, request: SparqlRequest) -> str:
    """Say which credentials are wanted, and how they are given, by what the server's challenge names."""
    profile = 'token_env = "VARIABLE" or headers in a profile of your own (docs/endpoints.md)'
    if status == 403:
        return "ask its operator" + ("" if request.secrets else f"; a key is given by {profile}")
    ways = {"basic": "put USER:PASSWORD@ before the host in the URL", "bearer": f"give a token by {profile}"}
    known = [way for scheme, way in ways.items() if scheme in challenge.lower()]
    hint = ", or ".join(known or ways.values())
    if challenge and not known:
        hint = f"it asks for {excerpt(challenge.encode(), request)}, which kgsparql does not know; else {hint}"
    return f"are they expired, or of another account? {hint}" if request.secrets else hint


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
