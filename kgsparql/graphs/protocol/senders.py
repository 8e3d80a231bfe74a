"""Senders of requests: over HTTP, within an endpoint's rate limits, or out of a cache; and when one may be asked.

A limiter says how many queries at once, how often, and not while the endpoint asks for a pause. Until when a public
service is to be left alone is kept in a small file, for the next process: people ask in loops.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from urllib.parse import urljoin

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import (
    CancelledError,
    EndpointError,
    EndpointRateLimitError,
    EndpointTimeoutError,
    KgsparqlError,
    QueryError,
    StoreError,
    UnreachableError,
    unreadable_url,
)
from kgsparql.events import Tell, ignore
from kgsparql.graphs.profiles import PUBLIC_PAUSE_S, EndpointProfile
from kgsparql.graphs.protocol.linker import found_entities
from kgsparql.graphs.protocol.replies import boolean, of_web_page, solutions, triples
from kgsparql.graphs.protocol.request import (
    ACCEPT,
    GIVE_CONTACT,
    MAX_WAIT_S,
    Sender,
    SparqlRequest,
    built_request,
    checked_contact,
    meaning_of,
    of_network,
    of_status,
)
from kgsparql.http.address import Address
from kgsparql.http.transport import (
    LONGEST_S,
    HttpReply,
    NetworkError,
    Transport,
    in_words,
    retry_after_s,
    send,
)
from kgsparql.rdf.terms import Json, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.response_cache import QUERY, ResponseCache

MOST_FAILURES = 5  # in a row; then an endpoint is not asked for `REST_S`
REST_S = 60.0
_MINUTE_S = 60.0
_COUNTED_S = 61.0  # for which a request counts as one of this minute: it came to the server after it was sent
_POLL_S = 0.05
_WORTH_KEEPING_S = 1.0  # a shorter pause is over when the next process asks


def kept_until_file(url: str) -> Path:
    """Name the file that tells until when a service is to be left alone, by the time of day."""
    return cache_directory() / "rate-limits" / hashlib.sha256(url.encode()).hexdigest()[:32]


class RateLimiter:
    """Lets queries go to one server, first come, first served; for all threads and questions of this process.

    :param is_kept: whether public services are left alone by the next process, too.
    :ivar said: what it failed with since it answered last.
    """

    def __init__(
        self, seed: str = "", clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Condition, float], object] = threading.Condition.wait, *, is_kept: bool = False,
    ) -> None:  # fmt: skip
        self.clock, self.wait, self._is_kept = clock, wait, is_kept
        self.random = Random(seed)  # noqa: S311 - so that threads do not come back together, no secret
        self._changed = threading.Condition()
        self._line: deque[object] = deque()
        self._running = 0
        self._ended = self._resting_until = -math.inf
        self._closed: dict[str, float] = {}  # by URL, as services on one server ask for pauses of their own
        self._failures = 0  # in a row
        self._errors: list[float] = []  # when the last ones were
        self._sent: list[float] = []  # when requests were, where the endpoint counts those of a minute
        self._why_resting = ""
        self.said = ""

    def closed_s(self, request: SparqlRequest) -> float:
        """Tell for how many seconds the endpoint still asks for a pause, or is left alone after failures."""
        return max(self._closed_until(request), self._resting_until) - self.clock()

    def _closed_until(self, request: SparqlRequest) -> float:
        if request.url not in self._closed:
            self._closed[request.url] = -math.inf
            if self._keeps(request):
                with suppress(OSError, ValueError):  # what cannot be believed is nothing
                    kept, now = kept_until_file(request.url).read_text(encoding="ascii"), self.clock()
                    left_s, *sent = (float(at) - time.time() for at in kept.split())
                    self._sent = sorted((*self._sent, *(now + at for at in sent if -_COUNTED_S < at <= 0)))
                    if left_s <= LONGEST_S:  # else the clock was set back since
                        self._closed[request.url] = now + left_s
        return self._closed[request.url]

    def pace(self, request: SparqlRequest) -> tuple[float, str]:
        """Tell for how many seconds there have been enough requests for a minute, and how many those are."""
        most, why = request.profile.requests_per_minute, ""
        if request.profile.requests_without_contact and not checked_contact():
            most, why = request.profile.requests_without_contact, f" of who names no contact ({GIVE_CONTACT})"
        if most is None or len(self._sent) < most:
            return -math.inf, ""
        return self._sent[-most] + _COUNTED_S - self.clock(), f"it takes {most} requests a minute{why}"

    def _keeps(self, request: SparqlRequest) -> bool:
        return self._is_kept and request.profile.is_public and not Address.parse(request.url).is_loopback

    def enter(self, request: SparqlRequest, *, is_again: bool) -> None:
        """Wait until the endpoint may be asked; :meth:`leave` must follow.

        :param is_again: the request was sent before, and so it came before those who are in line.
        :raises EndpointError: if it would have to wait for longer than it may, or too many queries failed before.
        """
        ticket, began = object(), self.clock()
        with self._changed:
            (self._line.appendleft if is_again else self._line.append)(ticket)
            try:
                while self._waits_for_turn(ticket, request, began):
                    pass
                self._running += 1
                if request.profile.requests_per_minute:
                    now = self.clock()
                    self._sent = [*(at for at in self._sent if at > now - _COUNTED_S), now]
            finally:
                self._line.remove(ticket)
                self._changed.notify_all()

    def leave(self, request: SparqlRequest, closed_s: float | None) -> None:
        """Keep what was learned from a query that is over, and let the next go.

        :param closed_s: seconds for which nobody may ask.
        """
        with self._changed:
            now = self._ended = self.clock()
            self._running -= 1
            if closed_s is not None:
                self._closed[request.url] = max(self._closed_until(request), now + closed_s)
            left_s = self.closed_s(request)
            if (left_s > _WORTH_KEEPING_S or self._sent) and self._keeps(request):
                with suppress(OSError):  # the next process is told so by the server
                    file = kept_until_file(request.url)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    kept = (str(time.time() - now + at) for at in (now + left_s, *self._sent))
                    file.write_text(" ".join(kept), encoding="utf-8", newline="")
            self._changed.notify_all()

    def succeeded(self, profile: EndpointProfile) -> None:
        """Note that the endpoint replied as it should; an error in a query counts as that, too."""
        with self._changed:
            self._failures, self.said = 0, ""
            if profile.errors_per_minute is None:
                self._resting_until = -math.inf

    def failed(self, why: str, profile: EndpointProfile, *, is_about_the_query: bool = False) -> None:
        """Count a failure. After too many in a row, or half of what leads to a ban, nobody asks for a while."""
        with self._changed:
            now, self.said = self.clock(), why
            self._errors = [*(at for at in self._errors if at > now - _MINUTE_S), now]
            self._failures = 0 if is_about_the_query else self._failures + 1
            most = profile.errors_per_minute
            if most is not None and len(self._errors) >= max(1, most // 2):
                self._why_resting = f"{len(self._errors)} queries failed within a minute, the last: {why}"
            elif self._failures >= MOST_FAILURES:
                self._why_resting = f"{self._failures} queries in a row failed, the last: {why}"
            else:
                return
            self._resting_until = now + REST_S

    def _waits_for_turn(self, ticket: object, request: SparqlRequest, began: float) -> bool:
        """Wait a little, unless the request may be sent now."""
        now = self.clock()
        if request.cancel is not None and request.cancel.is_set():
            raise CancelledError("stopped while an endpoint was waited for")
        if (resting_s := self._resting_until - now) > 0:
            wait, detail = in_words(resting_s), request.detail(retry_after_s=round(resting_s, 3))
            message = f"{request.url}: not asked again for {wait}: {self._why_resting}"
            raise EndpointError(message, hint=f"wait {wait}", **detail)
        wanted_s, why = max(
            (self._closed_until(request) - now, "it wants to be left alone"),
            (self._ended + request.profile.pause_s - now, "there is a pause between queries"),
            self.pace(request),
        )
        left_s = request.deadline - now
        if wanted_s > max(0.0, request.may_wait_s(now)):
            wait, detail = in_words(wanted_s), request.detail(retry_after_s=round(wanted_s, 3))
            message = f"{request.url}: not to be asked for another {wait}: {why}"
            raise EndpointRateLimitError(message, hint=f"wait {wait}", **detail)
        if left_s <= 0:
            message = f"{request.url}: {request.what} waited {in_words(now - began)} and had no turn"
            detail = request.detail(waited_s=round(now - began, 3))
            raise EndpointTimeoutError(message, hint="fewer questions at once", **detail)
        at_once = 1 if self._failures >= MOST_FAILURES else max(1, request.profile.concurrency)
        if self._line[0] is ticket and wanted_s <= 0 and self._running < at_once:
            return False
        self.wait(self._changed, min(left_s, _POLL_S, wanted_s if wanted_s > 0 else _POLL_S))
        return True


_limiters: dict[str, RateLimiter] = {}
_limiters_lock = threading.Lock()


def rate_limiter_of(server: str) -> RateLimiter:
    """Return the limiter of a server, the same for all its endpoints and all graphs of this process."""
    with _limiters_lock:
        return _limiters.setdefault(server, RateLimiter(seed=server, is_kept=True))


MAX_TRIES = 3
_TYPE_REFUSED = re.compile(rb"output format|not acceptable|media.?type", re.IGNORECASE)
_OTHER_MANNER = frozenset({405, 415, 501})  # statuses that say that a query is to be sent in another manner
_MANNERS = ("POST", "POSTDIRECTLY", "GET")
_MAX_URL = 8_000  # bytes of the longest URL that is sent
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DESCRIPTION_BYTES = 2**21  # and of the reply of a linker
_FIRST_PAUSE_S = 0.25
_RECONNECT_WITHIN_S = 3.0
"""A connection that took longer to fail is not tried again: the user must hear soon that nobody is there."""
_PATIENT_S = 10.0  # a query that had less time than this and timed out says nothing about its endpoint
_TOLD_FROM_S = 2.5  # a wait from this on is announced with a note
_Outcome: TypeAlias = HttpReply | UnreachableError
MOST_BYTES = 256_000_000  # of the cache, for all endpoints; beyond, the oldest replies are removed
MOST_REPLY_BYTES = 8_000_000  # a larger reply is not cached: it is read once, for an index that is itself kept
_KEPT_TO_S = 1.0  # the time at which a reply was kept is kept in whole seconds
MOST_S = 7 * 24 * 3600.0  # seconds after which nothing is used again, whatever a profile says

_HEADERS = re.compile(r"content-type|retry-after|server|link|(?:x-sql|x-sparql|fuseki)-.+")
"""The headers that are read and kept; others may tell who asked, such as their address."""


@dataclass(slots=True)
class RateLimitedSender:
    """A sender that keeps an endpoint's rate limits, and retries where nothing was sent or the server asks for it."""

    sender: Sender
    note: Tell = ignore
    limiter: RateLimiter | None = None
    _told_until: float = field(default=0.0, init=False)

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status; the last one, where it was sent again."""
        checked_contact()
        if request.sent is not None:
            request.sent()
        limiter = self.limiter or rate_limiter_of(Address.parse(request.url).server)
        began, tries = limiter.clock(), 0
        while True:
            tries += 1
            self._note_wait(request, limiter)
            limiter.enter(request, is_again=tries > 1)
            outcome, pause_s, closed_s = None, None, None
            try:
                outcome = self._one_outcome(limiter, request)
                closed_s = retry_after_s(outcome.headers) if isinstance(outcome, HttpReply) else None
                pause_s = _pause_s(outcome, request, tries, limiter, took_s=limiter.clock() - began)
                if pause_s is not None:
                    pause_s = closed_s = max(pause_s, closed_s or 0.0)
            finally:  # only now that the pause is known: else the next in line would send during it
                limiter.leave(request, closed_s)
            if pause_s is None:
                if isinstance(outcome, HttpReply):
                    return outcome
                raise outcome
            now = limiter.clock()
            if pause_s > min(request.may_wait_s(now), MAX_WAIT_S - now + began) or tries >= MAX_TRIES:
                raise _given_up_error(outcome, request, pause_s, tries)

    def _one_outcome(self, limiter: RateLimiter, request: SparqlRequest) -> _Outcome:
        """Try once; the limiter counts the outcome as a success or a failure of the endpoint."""
        within_s = min(request.timeout_s, request.deadline - limiter.clock())
        try:
            reply = self.sender.send(request)
        except UnreachableError as error:
            if not (isinstance(error, EndpointTimeoutError) and within_s < _PATIENT_S):
                limiter.failed(error.message, request.profile)
            return error
        failure = of_status(reply, request) or of_web_page(reply, request)
        is_about_the_query = isinstance(failure, QueryError)
        if failure is None or (is_about_the_query and not request.profile.is_public):
            limiter.succeeded(request.profile)
        elif request.form != "DESCRIPTION" or request.profile.is_public:  # many have none
            limiter.failed(failure.message, request.profile, is_about_the_query=is_about_the_query)
        return reply

    def _note_wait(self, request: SparqlRequest, limiter: RateLimiter) -> None:
        pause_s, paced = limiter.closed_s(request), limiter.pace(request)
        why = limiter.said or f"{request.url} wants to be left alone"
        if paced[0] > pause_s:
            pause_s, why = paced[0], f"{request.url}: {paced[1]}"
        until = time.time() + pause_s
        is_news = abs(until - self._told_until) > 1.0  # others in the same line wait for the same
        if _TOLD_FROM_S <= pause_s <= request.may_wait_s(limiter.clock()) and is_news:
            self._told_until = until
            clock = f", until {time.strftime('%H:%M', time.localtime(until))}" if pause_s >= REST_S else ""
            self.note(f"{why}: waiting {in_words(pause_s)}{clock}")


def _pause_s(
    outcome: _Outcome, request: SparqlRequest, tries: int, limiter: RateLimiter, *, took_s: float
) -> float | None:
    """Tell how long to wait before another try; ``None`` if there is to be none."""
    backoff_s = min(REST_S, _FIRST_PAUSE_S * 2 ** (tries - 1)) * limiter.random.uniform(0.75, 1.25)
    if not isinstance(outcome, HttpReply):
        may_pass = took_s < _RECONNECT_WITHIN_S and tries < MAX_TRIES
        return backoff_s if may_pass and outcome.detail.get("unsent") else None
    meaning = meaning_of(outcome, request)
    if meaning == "may pass":
        return backoff_s if tries == 1 else None
    if meaning not in {"throttled", "overloaded"}:
        return None
    asked_s = retry_after_s(outcome.headers)
    if asked_s is None:
        return PUBLIC_PAUSE_S if request.profile.is_public else backoff_s
    return asked_s


def _given_up_error(outcome: _Outcome, request: SparqlRequest, pause_s: float, tries: int) -> KgsparqlError:
    """Make the error where the endpoint asks for a longer pause than there is time."""
    failure = of_status(outcome, request) if isinstance(outcome, HttpReply) else outcome
    if not isinstance(failure, EndpointRateLimitError):
        return failure or request.timed_out()
    times = f", after {tries} tries" if tries > 1 else ""
    hint = f"wait {in_words(pause_s)}" if pause_s >= 1 else failure.hint
    detail: Json = {**failure.detail, "retry_after_s": round(pause_s, 3)}
    return EndpointRateLimitError(f"{failure.message}{times}", hint=hint, **detail)


@dataclass(slots=True)
class HttpSender:
    """A sender over HTTP; any number of threads may use it."""

    _address: Address
    max_bytes: int
    _transport: Transport | None = None
    _manner: str = field(default="", init=False)
    _accepted: dict[str, str] = field(default_factory=dict, init=False)

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        getattr(self._transport, "close", lambda: None)()

    def send(self, request: SparqlRequest) -> HttpReply:
        """Get the reply to a request, whatever its status.

        A query that is refused as it was sent is sent in another manner, or with one media type at a time where a list
        is not accepted, and so are all after it where that is taken.

        :raises EndpointError: if there is no connection, not the whole reply in time, or it leads elsewhere.
        """
        used, types = self._manner or request.profile.manner, ACCEPT[request.form]
        accept, others = self._accepted.get(types, types), list[tuple[str, str]]()
        reply = self._reply_to(request, used, accept)
        is_asked_to_wait = "retry-after" in reply.headers or meaning_of(reply, request) is not None
        if reply.status == 414 and used == "GET" and not is_asked_to_wait:
            return self._reply_to(request, "POST", accept)
        if is_asked_to_wait or not request.text:
            return reply
        if reply.status in _OTHER_MANNER and not self._manner:
            self._manner = used  # where no other is taken, none is tried again
            others = [(one, accept) for one in _MANNERS if one != used]
        elif types not in self._accepted and (
            reply.status == 406 or (reply.status == 400 and _TYPE_REFUSED.search(reply.body))
        ):
            self._accepted[types] = types
            others = [(used, one.partition(";")[0]) for one in types.split(", ")]
        for manner, one in others:
            with suppress(UnreachableError):  # the first reply stands
                if (other := self._reply_to(request, manner, one)).status == 200:
                    self._manner, self._accepted[types] = manner, one
                    return other
        return reply

    def _reply_to(self, request: SparqlRequest, manner: str, accept: str) -> HttpReply:
        if self._transport is None:
            from kgsparql.http.connections import NetworkTransport  # it imports urllib3, in 66 ms

            self._transport = NetworkTransport(self._address.origin, self._address.url)
        began = time.monotonic()
        deadline = min(request.deadline, began + request.timeout_s)
        build = partial(built_request, self._address, self._address.target, request, accept=accept)
        is_get = manner == "GET"
        http = build(manner if request.text else "GET", deadline - began)
        if is_get and request.text and len(http.url) > _MAX_URL:
            http = build("POST", deadline - began)
        http.deadline, http.cancel, http.may_repeat = deadline, request.cancel, True
        http.max_bytes = self.max_bytes if request.text else min(self.max_bytes, _DESCRIPTION_BYTES)
        try:
            reply = send(self._transport, http)
        except NetworkError as failure:
            raise of_network(failure, request, http.max_bytes) from failure
        is_redirect = reply.status in _REDIRECTS and "location" in reply.headers
        if is_redirect and request.text and not retry_after_s(reply.headers):  # of a description, its headers tell
            raise self._redirect_error(reply.headers["location"], request)
        return replace(reply, seconds=time.monotonic() - began)

    def _redirect_error(self, location: str, request: SparqlRequest) -> KgsparqlError:
        """Make the error of a redirect, which names the URL: queries and passwords go nowhere by themselves."""
        shown, hint = printable(unreadable_url(location), 200), "ask its operator, or is it another URL?"
        with suppress(ValueError):  # no URL at all, or not one of an endpoint
            shown = Address.parse(urljoin(self._address.target, location)).url
            hint = f"if that is the one you mean: -k {shlex.quote(shown)}"
        return request.reply_error(f"redirects to {shown}", "E_REDIRECT", hint, location=shown)


@dataclass(slots=True)
class CachedSender:
    """A sender that uses complete results again for as long as the endpoint's profile, or the request, says.

    Where results cannot be kept, a note says so once.

    :param since: a reply that was kept before is not used; in the seconds of ``time.monotonic``.
    """

    sender: Sender
    response_cache: ResponseCache
    note: Tell = ignore
    since: float = -math.inf
    _is_pruned: bool = field(default=False, init=False)

    def send(self, request: SparqlRequest) -> HttpReply:
        """Return a kept reply, or send the request and keep the reply where it may be used again."""
        given = dict(sorted(request.parameters.items()))
        exchange = {"endpoint": request.url, "form": request.form, "query": request.text, "parameters": given}
        exchange |= {"of": request.of} if request.of else {}
        keep_s = min(max(request.profile.keep_s, request.keep_s), MOST_S)
        if keep_s and (kept := self.lookup(QUERY, exchange, keep_s)) is not None:
            return reply_of(kept)
        reply = self.sender.send(request)
        may_keep = keep_s and len(reply.body) <= MOST_REPLY_BYTES
        if may_keep and request.form in {"SELECT", "ASK", "DESCRIPTION", "NAMES"} and _is_complete(reply, request):
            self.keep(QUERY, exchange, _entry_of(reply))
        return reply

    def lookup(self, kind: str, request: Mapping[str, Any], at_most_s: float) -> Json | None:
        """Look up what is kept and at most so old, where that may be used."""
        cache, at_most_s = self.response_cache, min(at_most_s, time.monotonic() - self.since - _KEPT_TO_S)
        if not self._is_pruned:
            self._is_pruned = True
            cache.tried(partial(cache.prune, QUERY, at_most_s=MOST_S, most_bytes=MOST_BYTES), self._note_error)
        return cache.tried(partial(cache.get, kind, request, at_most_s=at_most_s), self._note_error)

    def keep(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep a reply, or what was found out, for other processes."""
        cache = self.response_cache
        cache.tried(partial(cache.put, kind, request, reply), self._note_error)

    def _note_error(self, error: StoreError) -> None:
        self.note(f"results are not kept: {error.message} ({error.hint})")


def _is_complete(reply: HttpReply, request: SparqlRequest) -> bool:
    """Tell whether a reply holds all results, in the form that was asked for."""
    try:
        if request.form == "SELECT":
            return solutions(reply, request).complete
        if request.form == "ASK":
            boolean(reply, request)
        elif request.form == "NAMES":
            found_entities(reply, request)
        else:
            deque(triples(reply, request), maxlen=0)
    except KgsparqlError:
        return False  # whoever reads it raises the error
    return True


def _entry_of(reply: HttpReply) -> Json:
    kept_headers = {name: value for name, value in sorted(reply.headers.items()) if _HEADERS.fullmatch(name)}
    body = reply.body.decode("utf-8", "surrogateescape")
    return {"status": reply.status, "headers": kept_headers, "body": body, "seconds": round(reply.seconds, 6)}


def reply_of(kept: Mapping[str, Any]) -> HttpReply:
    """Return the reply that was kept."""
    body = str(kept["body"]).encode("utf-8", "surrogateescape")
    return HttpReply(int(kept["status"]), dict(kept["headers"]), body, float(kept["seconds"]), is_kept=True)
