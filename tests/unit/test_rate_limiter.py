"""When an endpoint is asked: in turn, within its limits, not while it wants to be left alone. By a clock of our own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from kgsparql.errors import (
    AuthenticationError,
    CancelledError,
    EndpointError,
    EndpointReplyError,
    EndpointTimeoutError,
    OptionError,
    RateLimitError,
)
from kgsparql.graphs.profiles import PUBLIC_PAUSE_S, PUBLIC_TIMEOUT_S, EndpointProfile, StatusMeaning, known_endpoints
from kgsparql.graphs.protocol.endpoint_client import MAX_TRIES, RateLimitedSender
from kgsparql.graphs.protocol.rate_limiter import MAX_WAIT_S, MOST_FAILURES, REST_S, RateLimiter, rate_limiter_of
from kgsparql.graphs.protocol.refusals import of_status
from kgsparql.graphs.protocol.request import CONTACT_VARIABLE, SparqlRequest, checked_contact
from kgsparql.http.failures import LONGEST_S, retry_after_s
from kgsparql.http.transport import HttpReply

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


Asking = Callable[..., HttpReply]


def about(profile: EndpointProfile, timeout_s: float = 30.0) -> SparqlRequest:
    return SparqlRequest("http://e.org/sparql", "walk", "SELECT * { ?s ?p ?o }", timeout_s, (), profile)


def within(
    left_s: float,
    sent: SparqlRequest,
    clock: Callable[[], float] = time.monotonic,
    cancel: threading.Event | None = None,
) -> SparqlRequest:
    return replace(sent, deadline=clock() + left_s, cancel=cancel)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def asking(server: Server, profile: EndpointProfile, said: list[str] | None = None) -> Asking:
    limiter = RateLimiter("seed", server.clock, server.clock.wait)
    client = RateLimitedSender(server, None if said is None else said.append, limiter)

    def ask(left_s: float = 500.0, timeout_s: float = 30.0, cancel: threading.Event | None = None) -> HttpReply:
        return client.send(within(left_s, about(profile, timeout_s), server.clock, cancel))

    return ask


def status(number: int, body: bytes = b"", **headers: str) -> HttpReply:
    return HttpReply(number, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def test_a_pause_is_kept_between_queries(clock: Clock) -> None:
    server = Server(clock, [GOOD], takes_s=2.0)
    ask = asking(server, EndpointProfile(pause_s=5.0))
    for _ in range(3):
        ask()
    assert server.asked == pytest.approx([0.0, 7.0, 14.0])


def test_queries_take_no_more_of_a_minute_than_they_may(clock: Clock) -> None:
    server = Server(clock, [GOOD], takes_s=20.0)
    ask = asking(server, EndpointProfile(query_seconds=30.0, burst_seconds=60.0))
    for _ in range(12):
        ask()
    ends = [began + 20 for began in server.asked]
    assert ends[2] == pytest.approx(60.0), "what was saved up is used at once"
    for began in server.asked:
        used = sum(max(0.0, min(end, began) - start) for start, end in zip(server.asked, ends, strict=True))
        assert used <= 60.0 + began * 30.0 / 60.0


def test_a_query_that_would_wait_longer_than_it_may_is_told_at_once(clock: Clock) -> None:
    server = Server(clock, [GOOD], takes_s=60.0)
    ask = asking(server, EndpointProfile(query_seconds=10.0, burst_seconds=10.0))
    ask()
    with pytest.raises(RateLimitError, match="used up") as caught:
        ask(left_s=10.0)
    assert clock.now == 1060.0
    assert caught.value.detail["retry_after_s"] > 10
    assert len(server.asked) == 1


def test_E10_all_urls_of_a_server_have_its_limits(clock: Clock) -> None:
    public = EndpointProfile(is_public=True, concurrency=1, pause_s=0.05)
    server = Server(clock, [GOOD])
    urls = ("http://limits.example.org/a", "https://Limits.Example.org.:443/b", "https://limits.example.org?x=1")
    for url in urls:
        client = RateLimitedSender(server)
        client.send(within(30.0, SparqlRequest(url, "walk", "", 30.0, (), public)))
        limiter = rate_limiter_of("limits.example.org")
        assert client._limiter is limiter


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
    replies: list[HttpReply] = []
    threads = [threading.Thread(target=lambda: replies.append(client.send(within(30, sent)))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(replies) == 12
    assert most == at_once


def test_who_is_told_to_come_back_is_not_put_behind_who_came_later() -> None:
    """Else one query may be told so until its tries are used up, while others are answered."""
    others_wait, asked = threading.Event(), []

    class Busy:
        def send(self, sent: SparqlRequest) -> HttpReply:
            asked.append(sent.name)
            if len(asked) > 1:
                return GOOD
            assert others_wait.wait(20)
            return status(429, retry_after="0")

    limiter = RateLimiter()
    client, sent = RateLimitedSender(Busy(), limiter=limiter), about(EndpointProfile(concurrency=1))
    threads = [
        threading.Thread(target=client.send, args=(within(30, replace(sent, name=name)),)) for name in ("early", "late")
    ]
    threads[0].start()
    while not asked:
        time.sleep(0.01)
    threads[1].start()
    while not limiter._line:
        time.sleep(0.01)
    others_wait.set()
    for thread in threads:
        thread.join(30)
    assert asked == ["early", "early", "late"]


def test_who_waits_for_a_turn_stops_in_time_and_when_told() -> None:
    go, inside = threading.Event(), threading.Event()

    class Waiting:
        def send(self, sent: SparqlRequest) -> HttpReply:
            inside.set()
            go.wait(30)
            return GOOD

    client, sent = RateLimitedSender(Waiting(), limiter=RateLimiter()), about(PUBLIC)
    first = threading.Thread(target=lambda: client.send(within(60, sent)))
    first.start()
    assert inside.wait(10)
    with pytest.raises(EndpointTimeoutError, match="had no turn") as caught:
        client.send(within(0.2, sent))
    assert caught.value.detail["waited_s"] >= 0.2
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(CancelledError):
        client.send(within(60, sent, cancel=stop))
    go.set()
    first.join(10)
    assert client.send(within(60, sent)) is GOOD, "those who went left no gap in the line"


def test_E10_one_wait_as_long_as_the_server_wants_then_success(clock: Clock) -> None:
    server = Server(clock, [status(429, retry_after="7"), GOOD])
    said: list[str] = []
    assert asking(server, PUBLIC, said)() is GOOD
    assert server.asked == pytest.approx([0.0, 7.0])
    assert said == ["http://e.org/sparql wants to be left alone: waiting 7 s"]


def test_E10_a_date_is_compared_with_the_clock_of_the_server(clock: Clock) -> None:
    day = "Wed, 21 Oct 2015 07:28:"
    server = Server(clock, [status(429, retry_after=f"{day}40 GMT", date=f"{day}10 GMT"), GOOD])
    asking(server, PUBLIC)()
    assert server.asked == pytest.approx([0.0, 30.0])


def test_E11_a_wait_that_is_none_is_a_minute_on_public_endpoints_and_short_on_others() -> None:
    for value in ("-1", "abc", "", "1.5.2", "٣"):
        clock = Clock()
        server = Server(clock, [status(429, retry_after=value), GOOD])
        asking(server, PUBLIC)()
        assert server.asked == pytest.approx([0.0, PUBLIC_PAUSE_S])
        again = Server(clock, [status(429, retry_after=value)])
        with pytest.raises(RateLimitError, match="after 3 tries"):
            asking(again, PRIVATE)()
        first, second, third = again.asked
        assert 0.1 < second - first < 0.5 < 2 * (third - second) < 2


def test_E11_an_endpoint_that_is_never_ready_is_asked_three_times(clock: Clock) -> None:
    server = Server(clock, [status(429, b"slow down", retry_after="10")])
    with pytest.raises(RateLimitError, match="slow down, after 3 tries") as caught:
        asking(server, PUBLIC)()
    assert server.asked == pytest.approx([0.0, 10.0, 20.0])
    assert len(server.asked) == MAX_TRIES
    assert caught.value.code == "E_RATE"
    assert caught.value.hint == "wait 10 s"


def test_E11_whatever_form_a_wait_has_the_longest_counts() -> None:
    for value, wait_s in (
        ("1.5", 2.0),
        ("120, 120", 120.0),
        ("5, 90, 7", 90.0),
        ("abc, 5", 5.0),
        ("Wed, 21 Oct 2015 07:28:40 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:28:40 GMT, 12", 30.0),
        ("12,Wednesday, 21-Oct-15 07:28:40 GMT", 30.0),
        ("9" * 5000, LONGEST_S),
        ("," * 100_000, None),
        ("-5, x", None),
        ("1e3", None),
    ):
        assert retry_after_s({"retry-after": value, "date": "Wed, 21 Oct 2015 07:28:10 GMT"}) == wait_s


@pytest.mark.parametrize(("value", "said"), [("86400", "24 h"), ("9" * 300, "24 h"), ("3600", "60 min")])
def test_E11_a_wait_that_is_too_long_is_not_waited_for_but_said(clock: Clock, value: str, said: str) -> None:
    server = Server(clock, [status(429, retry_after=value)])
    ask = asking(server, PUBLIC)
    with pytest.raises(RateLimitError) as caught:
        ask()
    assert caught.value.hint == f"wait {said}"
    with pytest.raises(RateLimitError, match=said):
        ask()
    assert server.asked == [0.0], "nobody asks inside the time it wants to be left alone"


def test_E11_all_waits_of_a_query_together_are_two_minutes(clock: Clock) -> None:
    server = Server(clock, [status(429, retry_after="70")])
    with pytest.raises(RateLimitError):
        asking(server, PUBLIC)()
    assert server.asked == pytest.approx([0.0, 70.0])
    assert clock.now - 1000 <= MAX_WAIT_S


def test_a_wait_longer_than_the_time_left_is_said_at_once(clock: Clock) -> None:
    server = Server(clock, [status(429, retry_after="30")])
    with pytest.raises(RateLimitError) as caught:
        asking(server, PUBLIC)(left_s=20.0)
    assert caught.value.detail["retry_after_s"] == 30
    assert clock.now == 1000.0


def test_other_threads_wait_out_what_one_was_told(clock: Clock) -> None:
    limiter = RateLimiter("seed", clock, clock.wait)
    one, other = Server(clock, [status(429, retry_after="300")]), Server(clock, [GOOD])
    with pytest.raises(RateLimitError):
        RateLimitedSender(one, limiter=limiter).send(within(500, about(PUBLIC), clock))
    with pytest.raises(RateLimitError):
        RateLimitedSender(other, limiter=limiter).send(within(500, about(PUBLIC), clock))
    assert other.asked == []
    clock.now += 200
    RateLimitedSender(other, limiter=limiter).send(within(500, about(PUBLIC), clock))
    assert other.asked == pytest.approx([300.0])


def test_whoever_asks_the_same_endpoint_has_the_same_limits() -> None:
    first = rate_limiter_of("http://e.org/a")
    assert rate_limiter_of("http://e.org/a") is first
    assert rate_limiter_of("http://e.org/b") is not first
    kept = id(rate_limiter_of("http://e.org/public", keep=True))
    assert id(rate_limiter_of("http://e.org/public")) == kept


def test_E10_a_wait_that_comes_with_any_status_is_kept_by_the_next_query() -> None:
    for number in (200, 301, 400, 403, 404, 413, 500, 504):
        for profile in (PUBLIC, PRIVATE):
            clock = Clock()
            first = status(number, b"<html>no</html>", retry_after="60")
            server = Server(clock, [first, GOOD])
            said: list[str] = []
            ask = asking(server, profile, said)
            assert ask() is first
            assert said == []
            with pytest.raises(RateLimitError, match="left alone"):
                ask(left_s=30.0)
            assert ask() is GOOD
            assert server.asked == pytest.approx([0.0, 60.0])
            assert said == ["http://e.org/sparql wants to be left alone: waiting 60 s"]


def test_a_404_that_may_pass_is_not_tried_again_before_it_may_be(clock: Clock) -> None:
    profile = EndpointProfile(statuses=(StatusMeaning(status=404, means="may pass"),))
    server = Server(clock, [status(404, retry_after="60"), GOOD])
    assert asking(server, profile)() is GOOD
    assert server.asked == pytest.approx([0.0, 60.0])
    late = Server(clock, [status(404, retry_after="60")])
    with pytest.raises(EndpointError, match="404"):
        asking(late, profile)(left_s=30.0)
    assert len(late.asked) == 1


def too_large() -> EndpointReplyError:
    return EndpointReplyError("too large", code="E_LIMIT", **about(PUBLIC).detail(limit="bytes"))


def test_a_public_endpoint_may_still_work_on_what_nobody_waits_for() -> None:
    for ends, takes_s, profile, waits_s in (
        (about(PUBLIC).timed_out(), 20.0, PUBLIC, PUBLIC_TIMEOUT_S),
        (about(PUBLIC).timed_out(), 70.0, PUBLIC, 70.0),
        (about(PUBLIC).timed_out(), 20.0, replace(PUBLIC, timeout_s=25.0), 25.0),
        (too_large(), 5.0, PUBLIC, PUBLIC_TIMEOUT_S),
        (CancelledError("stopped"), 5.0, PUBLIC, PUBLIC_TIMEOUT_S),
        (EndpointReplyError("broke off", code="E_PARTIAL", **about(PUBLIC).detail()), 5.0, PUBLIC, 5.0),
        (about(PUBLIC).timed_out(status=504), 5.0, PUBLIC, 5.0),
        (about(PRIVATE).timed_out(), 5.0, replace(PRIVATE, concurrency=1), 5.0),
    ):
        clock = Clock()
        server = Server(clock, [ends, GOOD], takes_s=takes_s)
        ask = asking(server, profile)
        with pytest.raises(type(ends)):
            ask()
        assert ask() is GOOD
        assert server.asked == pytest.approx([0.0, waits_s], abs=0.06)


def known(alias: str) -> EndpointProfile:
    """The profile of a service that is shipped, without the waits of a public one."""
    profile = known_endpoints().named(alias)
    assert profile is not None
    return replace(profile, is_public=False, pause_s=0.0)


def down() -> EndpointError:
    return EndpointError("no connection", **about(PRIVATE).detail(unsent=True))


def test_E12_E16_only_what_may_be_is_tried_again() -> None:
    for reply, profile, tries in (
        (status(503), PRIVATE, 3),
        (status(502), PRIVATE, 3),
        (status(405, retry_after="1"), PRIVATE, 3),
        (down(), PRIVATE, 3),
        (status(404), known("dbpedia"), 2),
        (status(404, server="Virtuoso/08.03"), PRIVATE, 1),
        (status(405), known("dbpedia"), 3),
        (status(400, b"The estimated execution time 9 (sec) is too much"), known("dbpedia"), 1),
        (status(429, b'{"exception":"Operation timed out."}'), known("dblp"), 1),
        (status(405), PRIVATE, 1),
        (status(400, b"no"), PRIVATE, 1),
        (status(401), PRIVATE, 1),
        (status(403, b"User-Agent"), PRIVATE, 1),
        (status(500), PRIVATE, 1),
        (status(500, b"TimeoutException"), PRIVATE, 1),
        (status(503, b"Query timed out"), PRIVATE, 1),
        (status(504), PRIVATE, 1),
        (status(429, b'{"exception":"Operation timed out."}'), PRIVATE, 1),
        (EndpointError("closed", **about(PRIVATE).detail()), PRIVATE, 1),
        (about(PRIVATE).timed_out(), PRIVATE, 1),
        (status(418), EndpointProfile(statuses=(StatusMeaning(status=418, means="overloaded"),)), 3),
        (status(503), EndpointProfile(statuses=(StatusMeaning(status=503, means="out of time"),)), 1),
        (status(503), EndpointProfile(statuses=(StatusMeaning(status=503, means="out of time", says="X"),)), 3),
    ):
        clock = Clock()
        server = Server(clock, [reply])
        ask = asking(server, profile)
        if isinstance(reply, HttpReply) and tries < MAX_TRIES:
            assert ask() is reply
            assert of_status(reply, about(profile)) is not None
        else:
            with pytest.raises((EndpointError, RateLimitError)):
                ask()
        assert len(server.asked) == tries


def test_E16_an_endpoint_that_comes_back_is_asked_till_it_does(clock: Clock) -> None:
    server = Server(clock, [status(503), status(503), GOOD])
    assert asking(server, PRIVATE)() is GOOD


def test_E01_a_connection_that_fails_slowly_is_not_tried_again(clock: Clock) -> None:
    server = Server(clock, [down()], takes_s=3.5)
    with pytest.raises(EndpointError):
        asking(server, PRIVATE)()
    assert len(server.asked) == 1


def test_E24_five_failures_in_a_row_end_the_asking_for_a_minute(clock: Clock) -> None:
    server = Server(clock, [*[status(500, b"disk full")] * MOST_FAILURES, GOOD])
    ask = asking(server, PRIVATE)
    for _ in range(MOST_FAILURES):
        ask()
    with pytest.raises(EndpointError, match=r"not asked again for 60 s: 5 queries in a row failed, .*disk full"):
        ask()
    clock.now += REST_S / 2
    with pytest.raises(EndpointError, match="for 30 s"):
        ask()
    assert len(server.asked) == MOST_FAILURES
    clock.now += REST_S / 2
    assert ask() is GOOD
    server.replies = [status(500)]
    ask()
    ask()
    assert len(server.asked) == MOST_FAILURES + 3, "a success makes it as good as new"


def test_E24_after_the_rest_one_failure_is_enough(clock: Clock) -> None:
    server = Server(clock, [status(500)])
    ask = asking(server, PRIVATE)
    for _ in range(MOST_FAILURES):
        ask()
    clock.now += REST_S
    ask()
    with pytest.raises(EndpointError, match="not asked again"):
        ask()


def test_E24_the_stop_comes_before_the_ban(clock: Clock) -> None:
    profile = EndpointProfile(is_public=True, errors_per_minute=30)
    server = Server(clock, [status(400, b"no")], takes_s=0.5)
    ask = asking(server, profile)
    stopped = 0
    for _ in range(300):
        try:
            ask()
        except EndpointError as error:
            assert "within a minute" in error.message  # noqa: PT017 - one of many
            stopped += 1
            clock.now += 1
    assert stopped
    for began in server.asked:
        assert sum(began - 60 < other <= began for other in server.asked) <= 15


def test_E24_queries_that_a_private_endpoint_cannot_run_are_no_failures_of_it(clock: Clock) -> None:
    server = Server(clock, [status(400, b"no")])
    ask = asking(server, PRIVATE)
    for _ in range(50):
        ask()
    assert len(server.asked) == 50


def test_queries_that_were_given_little_time_say_nothing_about_the_endpoint(clock: Clock) -> None:
    server = Server(clock, [about(PRIVATE).timed_out()])
    ask = asking(server, PRIVATE)
    for _ in range(20):
        with pytest.raises(EndpointTimeoutError):
            ask(left_s=1.0)
    for _ in range(MOST_FAILURES):
        with pytest.raises(EndpointTimeoutError):
            ask()
    with pytest.raises(EndpointError, match="in a row"):
        ask()


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONTACT_VARIABLE, raising=False)


def test_an_endpoint_that_wants_to_know_who_asks_is_not_asked_by_nobody(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(clock, [GOOD])
    ask = asking(server, EndpointProfile(needs_contact=True))
    with pytest.raises(OptionError) as caught:
        ask()
    assert f"export {CONTACT_VARIABLE}=" in caught.value.hint
    assert server.asked == []
    monkeypatch.setenv(CONTACT_VARIABLE, "me@example.org")
    assert ask() is GOOD


@pytest.mark.parametrize("contact", ["me@example.org", "mailto:me@example.org", "https://example.org/me?a=1"])
def test_a_contact_is_an_address_or_a_page(contact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTACT_VARIABLE, f" {contact} ")
    assert checked_contact("http://e.org/", needed=True) == contact


@pytest.mark.parametrize("contact", ["me", "me@", "a b@example.org", "me@example.org\r\nX: y", "x@é.org", "a(b@e.org"])
def test_a_contact_that_is_none_is_said_to_be(contact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTACT_VARIABLE, contact)
    with pytest.raises(OptionError, match=CONTACT_VARIABLE):
        checked_contact("http://e.org/", needed=False)


def test_E12_the_429_of_a_query_out_of_time_is_that() -> None:
    error = of_status(status(429, b'{"exception":"Operation timed out."}'), about(PRIVATE))
    assert isinstance(error, EndpointTimeoutError)


def test_E12_E13_E15_a_status_means_what_the_profile_of_the_service_says() -> None:
    for alias, number, body, kind in (
        ("dblp", 429, b"Operation timed out.", EndpointTimeoutError),
        ("dblp", 429, b"more than the time limit allows", RateLimitError),
        ("dbpedia", 405, b"", RateLimitError),
        ("dbpedia", 400, b"Virtuoso 42000 Error The estimated execution time 2041 (sec)", EndpointTimeoutError),
        ("dbpedia", 500, b"Virtuoso S1T00 Error", EndpointTimeoutError),
        ("wikidata", 500, b"java.util.concurrent.TimeoutException", EndpointTimeoutError),
    ):
        assert isinstance(of_status(status(number, body), about(known(alias))), kind)
        unsaid = replace(known(alias), statuses=())
        assert (
            alias == "wikidata"
            or body.startswith(b"more")
            or not isinstance(of_status(status(number, body), about(unsaid)), kind)
        )


def test_E15_the_500_of_neptune_out_of_time_is_that() -> None:
    neptune = known_endpoints().by_name("Amazon Neptune")
    assert neptune is not None
    body = b'{"code":"TimeLimitExceededException"}'
    assert isinstance(of_status(status(500, body), about(neptune)), EndpointTimeoutError)
    assert not isinstance(of_status(status(500, body), about(PRIVATE)), EndpointTimeoutError)


def test_E13_the_405_of_an_endpoint_asked_too_often_is_that() -> None:
    error = of_status(status(405, retry_after="12"), about(PRIVATE))
    assert isinstance(error, RateLimitError)
    assert error.hint == "wait 12 s"


def test_E14_who_is_not_let_in_for_want_of_a_name_is_told_how_to_give_one() -> None:
    error = of_status(status(403, b"Requests must have a User-Agent with contact details"), about(PRIVATE))
    assert isinstance(error, AuthenticationError)
    assert CONTACT_VARIABLE in error.hint


def test_E15_a_500_is_what_its_words_say() -> None:
    for body, kind, says in (
        (b"Virtuoso 37000 Error TN...: transitive start not given", "QueryError", "p/p instead of p+"),
        (b"Virtuoso 37000 Error SP031: generated SQL exceeded 10000 lines", "QueryError", "less at once"),
        (b"Virtuoso 37000 Error SP030: SPARQL compiler, line 1: syntax error at '}'", "QuerySyntaxError", ""),
        (b"Virtuoso S1T00 Error SR171: Transaction timed out", "EndpointTimeoutError", ""),
        (b"Virtuoso 42000 Error The estimated execution time 2041 (sec) exceeds the limit", "EndpointTimeoutError", ""),
        (
            b"SPARQL-QUERY: queryStr="
            + b"x" * 5000
            + b"\njava.util.concurrent.TimeoutException\n"
            + b"\tat a.b.C\n" * 99,
            "EndpointTimeoutError",
            "",
        ),
        (b"out of memory", "EndpointError", "try again later"),
    ):
        error = of_status(status(500, body), about(PRIVATE))
        assert type(error).__name__ == kind
        assert says in error.hint
