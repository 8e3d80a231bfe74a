"""What processes know of each other that ask one public endpoint: each has its own limiter, and a file is shared."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql.errors import CancelledError, EndpointError, EndpointTimeoutError, RateLimitError
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.protocol.rate_limiter import FOLDER, MOST_FAILURES, RateLimiter
from kgsparql.graphs.protocol.senders import RateLimitedSender
from kgsparql.http.transport import HttpReply
from kgsparql.storage.files import sealed_json, writer_lock
from tests.unit.test_rate_limiter import GOOD, PUBLIC, Clock, Server, about, status, within


def run(clock: Clock, directory: Path) -> RateLimiter:
    """The limiter of one process; its clock counts from another day than that of the others."""
    return RateLimiter("seed", clock, clock.wait, shared_file(directory), lambda: clock.now + 1_700_000_000)


def shared_file(directory: Path) -> Path:
    return directory / FOLDER / "server"


def ask(limiter: RateLimiter, server: Server, profile: EndpointProfile = PUBLIC, left_s: float = 500.0) -> HttpReply:
    client = RateLimitedSender(server, limiter=limiter)
    return client.send(within(left_s, about(profile), limiter.clock))


def files(directory: Path) -> list[str]:
    return [path.name for path in (directory / FOLDER).iterdir()]


def test_E11_a_run_keeps_the_wait_that_another_was_told(tmp_path: Path) -> None:
    clock = Clock()
    first, second = Server(clock, [status(429, retry_after="600")]), Server(clock, [GOOD])
    with pytest.raises(RateLimitError):
        ask(run(clock, tmp_path), first)
    with pytest.raises(RateLimitError, match="10 min: it wants to be left alone"):
        ask(run(clock, tmp_path), second)
    clock.now += 560
    ask(run(clock, tmp_path), second)
    assert second.asked == pytest.approx([600.0])
    assert len(files(tmp_path)) == 1, "no lock stays"


def test_E24_a_run_leaves_alone_what_failed_for_another(tmp_path: Path) -> None:
    clock = Clock()
    first = run(clock, tmp_path)
    server = Server(clock, [*[status(500, b"the password is geheim")] * MOST_FAILURES, GOOD])
    for _ in range(MOST_FAILURES):
        ask(first, server)
    with pytest.raises(EndpointError, match="not asked again for 60 s: too many queries of another run failed"):
        ask(run(clock, tmp_path), server)
    assert "geheim" not in (tmp_path / FOLDER / files(tmp_path)[0]).read_text()
    clock.now += 61
    assert ask(run(clock, tmp_path), server) is GOOD


def test_E24_the_stop_comes_before_the_ban_however_many_runs_there_are(tmp_path: Path) -> None:
    clock, profile = Clock(), replace(PUBLIC, errors_per_minute=30)
    server, stopped = Server(clock, [status(400, b"no")], takes_s=0.5), 0
    for _ in range(60):
        try:
            ask(run(clock, tmp_path), server, profile)
        except EndpointError:
            stopped += 1
    assert (len(server.asked), stopped) == (15, 45)


def test_E24_five_runs_that_fail_one_after_the_other_are_five_failures_in_a_row(tmp_path: Path) -> None:
    clock = Clock()
    server = Server(clock, [status(500), GOOD, *[status(500)] * 9])
    for _ in range(2 + MOST_FAILURES):
        ask(run(clock, tmp_path), server)
    with pytest.raises(EndpointError, match="not asked again"):
        ask(run(clock, tmp_path), server)


def test_the_query_time_of_a_minute_is_that_of_all_runs(tmp_path: Path) -> None:
    clock = Clock()
    server = Server(clock, [GOOD], takes_s=20.0)
    for _ in range(12):
        ask(run(clock, tmp_path), server, EndpointProfile(query_seconds=30.0, burst_seconds=60.0))
    assert server.asked[2] == pytest.approx(40.0), "what was saved up is used at once"
    for began in server.asked:
        used = sum(max(0.0, min(start + 20, began) - start) for start in server.asked)
        assert used <= 60.0 + began * 30.0 / 60.0


def test_the_pause_between_queries_and_what_was_left_behind_count_for_all(tmp_path: Path) -> None:
    clock = Clock()
    slow = replace(PUBLIC, pause_s=5.0)
    server = Server(clock, [GOOD, GOOD, CancelledError("stopped"), GOOD], takes_s=1.0)
    ask(run(clock, tmp_path), server, slow)
    ask(run(clock, tmp_path), server, slow)
    with pytest.raises(CancelledError):
        ask(run(clock, tmp_path), server, slow)
    ask(run(clock, tmp_path), server, replace(slow, timeout_s=9.0))
    assert server.asked == pytest.approx([0.0, 6.0, 12.0, 72.0], abs=0.1)


def test_one_query_at_a_time_in_all_runs(tmp_path: Path) -> None:
    running, most, order, lock = 0, 0, [], threading.Lock()

    class Counting:
        def __init__(self, name: str) -> None:
            self.name = name

        def send(self, _: object) -> HttpReply:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
                order.append(self.name)
            time.sleep(0.02)
            with lock:
                running -= 1
            return GOOD

    def work(name: str) -> None:
        client = RateLimitedSender(Counting(name), limiter=RateLimiter(file=shared_file(tmp_path)))
        for _ in range(8):
            client.send(within(60, about(PUBLIC)))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(order), most) == (24, 1)


def test_who_waits_for_another_run_goes_in_time_and_leaves_nothing(tmp_path: Path) -> None:
    several, other = about(replace(PUBLIC, concurrency=2)), RateLimiter(file=shared_file(tmp_path))
    for _ in range(2):  # one process may send several at once
        other.enter(within(1, several))
    assert files(tmp_path) == ["server.lock"]
    client = RateLimitedSender(Server(Clock(), [GOOD]), limiter=RateLimiter(file=shared_file(tmp_path)))
    other.leave(0.0)
    with pytest.raises(EndpointTimeoutError, match="had no turn"):
        client.send(within(0.3, several))
    other.leave(0.0)
    assert files(tmp_path) == ["server"]
    assert client.send(within(30, several)) is GOOD


def test_what_cannot_have_been_kept_is_nothing(tmp_path: Path) -> None:
    clock = Clock()
    for kept in (
        "", "[]", '{"ended": 7}', "\ud800", sealed_json({"what": 1}), sealed_json({"ended": 1e12}),
        sealed_json({"closed_until": 1e300}),
    ):  # fmt: skip
        with pytest.raises(RateLimitError):
            ask(run(clock, tmp_path), Server(clock, [status(429, retry_after="600")]))
        (tmp_path / FOLDER / files(tmp_path)[0]).write_bytes(kept.encode("utf-8", "surrogatepass"))
        assert ask(run(clock, tmp_path), Server(clock, [GOOD])) is GOOD, kept
        assert json.loads((tmp_path / FOLDER / files(tmp_path)[0]).read_text())["ended"] > 0


def test_E25_a_clock_that_is_set_back_closes_nothing_for_days(tmp_path: Path) -> None:
    clock = Clock()
    with pytest.raises(RateLimitError):
        ask(run(clock, tmp_path), Server(clock, [status(429, retry_after="600")]))
    clock.now -= 40 * 86_400
    assert ask(run(clock, tmp_path), Server(clock, [GOOD])) is GOOD


def test_without_a_place_for_locks_every_run_is_on_its_own_and_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    limiter, said = RateLimiter(file=shared_file(tmp_path / "file")), list[str]()
    client = RateLimitedSender(Server(Clock(), [GOOD]), said.append, limiter)
    for _ in range(3):
        assert client.send(within(30, about(PUBLIC))) is GOOD
    assert len(said) == 1
    assert "KGSPARQL_CACHE_DIR" in said[0]


def test_a_file_that_cannot_be_written_any_more_is_said_too(tmp_path: Path) -> None:
    other = RateLimiter(file=shared_file(tmp_path))
    other.enter(within(1, about(PUBLIC)))
    shared_file(tmp_path).mkdir()
    other.leave(0.0)
    assert str(shared_file(tmp_path)) in other.trouble
    with writer_lock(shared_file(tmp_path)):
        other.enter(within(1, about(PUBLIC)))  # nobody waits any more
    other.leave(0.0)
