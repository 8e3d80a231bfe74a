"""When an endpoint is asked: in turn, within its limits, not while it wants to be left alone. By a clock of our own."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kgsparql.errors import CancelledError, EndpointError, EndpointTimeoutError, OptionError, RateLimitError
from kgsparql.graphs.profiles import EndpointProfile, StatusMeaning, known_endpoints
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, MAX_WAIT_S, SparqlRequest, checked_contact, of_status
from kgsparql.graphs.protocol.senders import (
    MAX_TRIES,
    MOST_FAILURES,
    REST_S,
    RateLimitedSender,
    RateLimiter,
    kept_until_file,
)
from kgsparql.http.transport import LONGEST_S, HttpReply, retry_after_s

GOOD = HttpReply(200, {}, b'{"head":{"vars":[]},"results":{"bindings":[]}}')
PUBLIC = EndpointProfile(name="a public one", is_public=True, concurrency=1)
PRIVATE = EndpointProfile(name="a private one", concurrency=4)


@dataclass
class Clock:
    """A clock that goes only while somebody waits, or a query takes time."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, _: threading.Condition, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@dataclass
class Server:
    """Replies what it is told to, the last of it for ever, and writes down when it was asked."""

    clock: Clock
    replies: Sequence[HttpReply | Exception]
    takes_s: float = 0.0
    asked: list[float] = field(default_factory=list)

    def send(self, sent: SparqlRequest) -> HttpReply:
        self.asked.append(self.clock.now - 1000.0)
        self.clock.now += self.takes_s
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


class Asking:
    """A profile's endpoint as one process asks it; what a user is told lies in ``said``."""

    def __init__(self, server: Server, profile: EndpointProfile, limiter: RateLimiter | None = None) -> None:
        self.server, self.profile, self.said = server, profile, list[str]()
        limiter = limiter or RateLimiter("seed", server.clock, server.clock.wait)
        self.client = RateLimitedSender(server, self.said.append, limiter)

    def __call__(self, left_s: float = 500.0) -> HttpReply:
        return self.client.send(within(left_s, about(self.profile), self.server.clock))

    def refused(self, kind: type[Exception] = RateLimitError, match: str | None = None, left_s: float = 500.0) -> Any:
        with pytest.raises(kind, match=match) as caught:
            self(left_s)
        return caught.value


def about(profile: EndpointProfile, name: str = "walk") -> SparqlRequest:
    return SparqlRequest("http://e.org/sparql", name, "SELECT * { ?s ?p ?o }", 30.0, (), profile)


def within(
    left_s: float, sent: SparqlRequest, clock: Callable[[], float] = time.monotonic,
    cancel: threading.Event | None = None,
) -> SparqlRequest:  # fmt: skip
    return replace(sent, deadline=clock() + left_s, cancel=cancel)


def asked_of(profile: EndpointProfile, *replies: HttpReply | Exception, takes_s: float = 0.0) -> Asking:
    """Whoever asks an endpoint that replies so, by a clock of its own."""
    return Asking(Server(Clock(), replies, takes_s), profile)


def status(number: int, body: bytes = b"", **headers: str) -> HttpReply:
    return HttpReply(number, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def at(*seconds: float, tolerance: float = 1e-6) -> Any:
    return pytest.approx(list(seconds), abs=tolerance)


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONTACT_VARIABLE, raising=False)


def test_a_pause_is_kept_between_queries() -> None:
    ask = asked_of(EndpointProfile(pause_s=5.0), GOOD, takes_s=2.0)
    for _ in range(3):
        ask()
    assert ask.server.asked == at(0.0, 7.0, 14.0)


def test_a_query_that_would_wait_longer_than_it_may_is_told_at_once() -> None:
    ask = asked_of(PUBLIC, status(429, retry_after="30"))
    assert ask.refused(left_s=20.0).detail["retry_after_s"] == 30
    assert ask.server.clock.now == 1000.0


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_queries_at_once_than_the_profile_says(at_once: int) -> None:
    running, most, lock = 0, 0, threading.Lock()
    full = threading.Event()

    class Counting:
        def send(self, sent: SparqlRequest) -> HttpReply:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
                if running == at_once:
                    full.set()
            assert full.wait(20), "as many as may run do"
            with lock:
                running -= 1
            return GOOD

    client, sent = RateLimitedSender(Counting(), limiter=RateLimiter()), about(EndpointProfile(concurrency=at_once))
    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(lambda _: client.send(within(30, sent)), range(12))) == [GOOD] * 12
    assert most == at_once


def test_who_waits_for_a_turn_stops_in_time_and_when_told() -> None:
    go, inside = threading.Event(), threading.Event()

    class Held:
        def send(self, sent: SparqlRequest) -> HttpReply:
            inside.set()
            go.wait(30)
            return GOOD

    client, sent = RateLimitedSender(Held(), limiter=RateLimiter()), about(PUBLIC)
    first = threading.Thread(target=lambda: client.send(within(60, sent)))
    first.start()
    assert inside.wait(10)
    with pytest.raises(EndpointTimeoutError, match="had no turn") as caught:
        client.send(within(0.2, sent))
    assert float(caught.value.detail["waited_s"]) >= 0.2
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(CancelledError):
        client.send(within(60, sent, cancel=stop))
    go.set()
    first.join(10)
    assert client.send(within(60, sent)) is GOOD, "those who went left no gap in the line"


def test_E10_one_wait_as_long_as_the_server_wants_by_its_own_clock_then_success() -> None:
    ask = asked_of(PUBLIC, status(429, retry_after="7"), GOOD)
    assert ask() is GOOD
    assert ask.server.asked == at(0.0, 7.0)
    assert ask.said == ["http://e.org/sparql: too many requests (429): waiting 7 s"]
    day = "Wed, 21 Oct 2015 07:28:"
    ask = asked_of(PUBLIC, status(429, retry_after=f"{day}40 GMT", date=f"{day}10 GMT"), GOOD)
    ask()
    assert ask.server.asked == at(0.0, 30.0)


def test_E11_an_endpoint_that_is_never_ready_is_asked_three_times_within_two_minutes() -> None:
    ask = asked_of(PUBLIC, status(429, b"slow down", retry_after="10"))
    error = ask.refused(match="slow down, after 3 tries")
    assert (error.code, error.hint) == ("E_RATE", "wait 10 s")
    assert ask.server.asked == at(0.0, 10.0, 20.0)
    assert len(ask.server.asked) == MAX_TRIES
    ask = asked_of(PUBLIC, status(429, retry_after="70"))
    ask.refused()
    assert ask.server.asked == at(0.0, 70.0)
    assert ask.server.clock.now - 1000 <= MAX_WAIT_S


def known(alias: str) -> EndpointProfile:
    """The profile of a service that is shipped, without the waits of a public one."""
    profile = known_endpoints().named(alias)
    assert profile is not None
    return replace(profile, is_public=False, pause_s=0.0)


def down() -> EndpointError:
    return EndpointError("no connection", **about(PRIVATE).detail(unsent=True))


def test_E01_E12_E16_only_what_may_be_is_tried_again() -> None:
    for reply, profile, tries in (
        (status(503), PRIVATE, 3), (status(405, retry_after="1"), PRIVATE, 3), (down(), PRIVATE, 3),
        (status(404), known("dbpedia"), 2), (status(404, server="Virtuoso/08.03"), PRIVATE, 1),
        (status(405), known("dbpedia"), 3),
        (status(400, b"The estimated execution time 9 (sec) is too much"), known("dbpedia"), 1),
        (status(429, b'{"exception":"Operation timed out."}'), known("dblp"), 1), (status(405), PRIVATE, 1),
        (status(401), PRIVATE, 1), (status(403, b"User-Agent"), PRIVATE, 1), (status(500), PRIVATE, 1),
        (status(503, b"Query timed out"), PRIVATE, 1), (status(504), PRIVATE, 1),
        (status(429, b'{"exception":"Operation timed out."}'), PRIVATE, 1),
        (EndpointError("closed", **about(PRIVATE).detail()), PRIVATE, 1), (about(PRIVATE).timed_out(), PRIVATE, 1),
        (status(418), EndpointProfile(statuses=(StatusMeaning(status=418, means="overloaded"),)), 3),
        (status(503), EndpointProfile(statuses=(StatusMeaning(status=503, means="out of time"),)), 1),
    ):  # fmt: skip
        ask = asked_of(profile, reply)
        if isinstance(reply, HttpReply) and tries < MAX_TRIES:
            assert ask() is reply
            assert of_status(reply, about(profile)) is not None
        else:
            with pytest.raises((EndpointError, RateLimitError)):
                ask()
        assert len(ask.server.asked) == tries
    assert asked_of(PRIVATE, status(503), status(503), GOOD)() is GOOD
    slowly = asked_of(PRIVATE, down(), takes_s=3.5)  # E01
    slowly.refused(EndpointError)
    assert len(slowly.server.asked) == 1


def test_E24_five_failures_in_a_row_end_the_asking_for_a_minute() -> None:
    ask = asked_of(PRIVATE, *[status(500, b"disk full")] * MOST_FAILURES, GOOD)
    server = ask.server
    for _ in range(MOST_FAILURES):
        ask()
    ask.refused(EndpointError, r"not asked again for 60 s: 5 queries in a row failed, .*disk full")
    server.clock.now += REST_S / 2
    ask.refused(EndpointError, "for 30 s")
    assert len(server.asked) == MOST_FAILURES
    server.clock.now += REST_S / 2
    assert ask() is GOOD
    server.replies = [status(500)]
    for _ in range(MOST_FAILURES):
        ask()
    assert len(server.asked) == 2 * MOST_FAILURES + 1, "a success makes it as good as new"
    ask.refused(EndpointError, "not asked again")
    server.clock.now += REST_S
    ask()
    ask.refused(EndpointError, "not asked again")  # after the rest, one failure is enough


def test_E24_the_stop_comes_before_the_ban() -> None:
    ask, stopped = asked_of(EndpointProfile(is_public=True, errors_per_minute=30), status(400), takes_s=0.5), 0
    for _ in range(300):
        try:
            ask()
        except EndpointError as error:
            assert "within a minute" in error.message  # noqa: PT017 - one of many
            stopped += 1
            ask.server.clock.now += 1
    assert stopped
    for began in ask.server.asked:
        assert sum(began - 60 < other <= began for other in ask.server.asked) <= 15


@pytest.mark.usefixtures("own_cache")
def test_E11_E24_the_next_process_leaves_a_public_service_alone_as_long_as_this_one() -> None:
    told, failing = [status(429, retry_after="600")], [status(500, b"geheim")] * MOST_FAILURES
    for profile, replies in ((PRIVATE, told), (PUBLIC, failing), (PUBLIC, told)):
        server = Server(Clock(), [*replies, GOOD])
        first, after = (
            Asking(server, profile, RateLimiter("seed", server.clock, server.clock.wait, is_kept=True))
            for _ in range(2)
        )
        for reply in replies:
            first() if reply.status == 500 else first.refused()
        if profile is PRIVATE:
            assert after(9.0) is GOOD
        else:
            after.refused(match="wants to be left alone", left_s=9.0)
            assert b"geheim" not in kept_until_file(about(profile).url).read_bytes()
    for kept in ("", "nan", "inf", "-1", f"{time.time() + 40 * 86_400}", "é"):  # what cannot have been kept is nothing
        kept_until_file(about(PUBLIC).url).write_text(kept)
        server = Server(Clock(), [GOOD])
        assert (
            Asking(server, PUBLIC, RateLimiter("seed", server.clock, server.clock.wait, is_kept=True))(9.0) is GOOD
        ), kept


def test_E11_another_service_on_the_same_server_is_asked_meanwhile() -> None:
    ask = asked_of(PUBLIC, status(429, retry_after="999999999999999999999"), GOOD)
    ask.refused()
    other = replace(about(PUBLIC), url="http://e.org/other")
    assert ask.client.send(within(9.0, other, ask.server.clock)) is GOOD
    ask.refused(match="left alone", left_s=9.0)
    ask.server.clock.now += LONGEST_S
    assert ask() is GOOD


def test_E11_whatever_form_a_wait_has_the_longest_counts() -> None:
    for value, wait_s in (
        ("1.5", 2.0), ("5, 90, 7", 90.0), ("abc, 5", 5.0), ("Wed, 21 Oct 2015 07:28:40 GMT", 30.0),
        ("9" * 5000, LONGEST_S), ("," * 100_000, None), ("-5, x", None),
    ):  # fmt: skip
        assert retry_after_s({"retry-after": value, "date": "Wed, 21 Oct 2015 07:28:10 GMT"}) == wait_s


def test_a_contact_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for contact in ("me@example.org", "mailto:me@example.org", "https://example.org/me?a=1"):
        monkeypatch.setenv(CONTACT_VARIABLE, f" {contact} ")
        assert checked_contact() == contact
    for contact in ("me", "me@", "a b@example.org", "me@example.org\r\nX: y", "x@é.org", "a(b@e.org"):
        monkeypatch.setenv(CONTACT_VARIABLE, contact)
        with pytest.raises(OptionError, match=CONTACT_VARIABLE):
            checked_contact()


def test_no_more_requests_a_minute_than_are_taken_also_by_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"requests_per_minute": 4, "requests_without_contact": 2, "is_public": True, "concurrency": 1}
    server = Server(Clock(), [GOOD], takes_s=1.0)
    told = "http://e.org/sparql: it takes 2 requests a minute of who names no contact (export KGSPARQL_CONTACT=you@"
    for count, seconds in ((3, [0.0, 1.0, 61.0]), (1, [62.0])):
        limiter = RateLimiter("seed", server.clock, server.clock.wait, is_kept=True)
        ask = Asking(server, EndpointProfile(**limits), limiter)  # type: ignore[arg-type]
        for _ in range(count):
            ask()
        assert server.asked[-count:] == at(*seconds, tolerance=0.5)
    assert [line.startswith(told) for line in ask.said] == [True] * len(ask.said)
    error = ask.refused(match="it takes 2 requests a minute of who names no contact", left_s=20.0)
    assert 55 < error.detail["retry_after_s"] <= 60
    monkeypatch.setenv(CONTACT_VARIABLE, "me@example.org")
    for _ in range(3):
        ask()
    assert server.asked[-3:] == at(63.0, 64.0, 122.0, tolerance=0.5)
    assert ask.said[-1] == "http://e.org/sparql: it takes 4 requests a minute: waiting 57 s"
    assert asked_of(EndpointProfile(), GOOD)() is GOOD
