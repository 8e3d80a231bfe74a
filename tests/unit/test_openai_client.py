"""The client of model servers: what it passes on, what it tries again, when it gives up, and what it never says."""

import gc
import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from kgsparql import KgsparqlError
from kgsparql.errors import (
    AuthenticationError,
    CancelledError,
    InputError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    RateLimitError,
    RequestRefusedError,
)
from kgsparql.models.openai_client import OpenAIClient

from tests.model_server import (  # isort: skip
    Big, Cut, Drip, Echo, EmptyBody, Endless, HangUp, Html, ModelServer, Raw, Reply, Reset, Script, Slow, Status, Text,
)  # fmt: skip

URL = "http://127.0.0.1:9/v1"
CHAT = "/v1/chat/completions"
CANARY = "sk-canary-0123456789abcdef"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Where is Bonn?"}], "temperature": 0}


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    yield
    until = time.monotonic() + 10
    while any(thread.name == "kgsparql request" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)


def chat(script: Script, *, timeout_s: float = 5.0) -> tuple[Any, ModelServer]:
    """What a call over HTTP comes to, the reply or the error, and the server."""
    with ModelServer(script) as server:
        return _outcome(server, timeout_s=timeout_s), server


def told(*script: Reply | str, key: str | None = None, **options: Any) -> tuple[Any, ModelServer]:
    """What a call with no socket comes to, and the server."""
    server = ModelServer(list(script))
    return _outcome(server, api_key=key, **options), server


def _outcome(server: ModelServer, **options: Any) -> Any:
    with server.client(**options) as asking:
        try:
            return asking.chat(BODY)
        except KgsparqlError as error:
            return error


def content(reply: Any) -> Any:
    return reply["choices"][0]["message"]["content"]


@contextmanager
def within(seconds: float = 10.0) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_a_request_is_sent_as_it_is() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    body = BODY | {"seed": 0, "max_completion_tokens": 5, "response_format": form, "an_option_of_some_server": [1]}
    with ModelServer(models=["one", "two/3"]) as server, OpenAIClient(server.url, api_key=CANARY) as asking:
        assert content(asking.chat(body)) == "scripted"
        assert asking.models() == ["one", "two/3"]
    asked, _ = server.requests
    assert (asked.body, asked.path, asked.headers["authorization"]) == (body, CHAT, f"Bearer {CANARY}")


def test_server_and_key_are_of_the_environment_and_no_key_of_anybody_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("a")[1].requests[0].headers["authorization"] == "Bearer none"
    with ModelServer(key=CANARY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        monkeypatch.setenv("OPENAI_API_KEY", CANARY + "\n")
        with OpenAIClient() as asking:
            assert asking.base_url == server.url
            assert content(asking.chat(BODY)) == "scripted"


def test_what_is_not_unicode_is_made_so() -> None:
    reply, _ = told(Raw(b'{"choices": [], "x\\ud800": ["\\udfff", "\\ud83d\\ude00"]}'))
    assert reply == {"choices": [], "x?": ["?", "😀"]}


def test_one_connection_serves_one_call_after_the_other_and_is_opened_again_whoever_closed_it() -> None:
    with ModelServer([Text("a"), Status(500), Text("b")]) as server, OpenAIClient(server.url) as asking:
        assert [content(asking.chat(BODY)) for _ in range(2)] == ["a", "b"]
        assert server.connections == 1
        server.drop_connections()
        time.sleep(0.05)
        assert content(asking.chat(BODY)) == "b"
        asking.close()
        asking.chat(BODY)
        assert server.connections == 3
    with ModelServer() as server:
        OpenAIClient(server.url).chat(BODY)  # nobody closes it
        gc.collect()  # an open socket would be a warning, and so an error
        assert _soon(lambda: server.open_connections == 0)


def test_M09_what_may_pass_is_tried_again_twice() -> None:
    for fault in (Status(429, {"Retry-After": "0"}), Status(500), Status(502), Status(503)):
        reply, server = told(fault, Text("fine"))
        assert content(reply) == "fine"
        first, second = server.requests
        assert first.body == second.body
    for fault in (Status(500), Status(503), Html(502)):
        error, server = told(fault)
        assert (type(error), error.code, error.exit_code) == (ModelError, "E_MODEL", 5)
        assert URL in error.message
        assert "after 3 tries" in error.message
        assert len(server.requests) == 3

    for asked in (None, "0", "-1", "abc", "nan", "inf", "", "Mon, 01 Jan 2001 00:00:00 GMT", "Mon, 99 Foo 2001"):
        error, server = told(Status(429, {} if asked is None else {"Retry-After": asked}))
        assert (type(error), error.code) == (RateLimitError, "E_RATE")
        assert "after 3 tries" in error.message
        assert len(server.requests) == 3


def test_M09_what_will_not_pass_is_not_tried_again() -> None:
    for fault, kind, code in (
        (Status(400), RequestRefusedError, "E_MODEL"), (Status(401), AuthenticationError, "E_AUTH"),
        (Status(403), AuthenticationError, "E_AUTH"), (Status(404), ModelError, "E_MODEL"),
        (Status(405), ModelError, "E_MODEL"), (Status(418), ModelError, "E_MODEL"),
        (Status(422), RequestRefusedError, "E_MODEL"), (Status(504), ModelError, "E_MODEL"),
        (Html(), ModelReplyError, "E_LLM_FORMAT"),
    ):  # fmt: skip
        error, server = told(fault, Text("fine"))
        assert (type(error), error.code, error.exit_code) == (kind, code, 5)
        assert error.hint
        assert len(server.requests) == 1


def test_M09_a_wait_that_is_asked_for_is_kept() -> None:
    began = time.monotonic()
    reply, server = chat([Status(429, {"Retry-After": "1"}), Text("fine")])
    assert content(reply) == "fine"
    assert 1.0 <= time.monotonic() - began < 10
    assert len(server.requests) == 2


def test_M09_a_wait_beyond_the_deadline_or_a_quota_that_is_used_up_is_an_error_at_once() -> None:
    waits_s = 2 * 86_400
    with within():
        for asked in (str(waits_s), format_datetime(datetime.now(UTC) + timedelta(seconds=waits_s), usegmt=True)):
            error, server = told(Status(429, {"Retry-After": asked}), timeout_s=60)
            assert (type(error), error.code) == (RateLimitError, "E_RATE")
            assert error.detail["wait_s"] == pytest.approx(waits_s, abs=60)
            assert f"wait {error.detail['wait_s']:,.0f} s" in error.hint
            assert len(server.requests) == 1
    body = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
    error, server = told(Status(429, body=body), Text("fine"))
    assert isinstance(error, RateLimitError)
    assert "quota" in error.hint
    assert "You exceeded your current quota" in error.message
    assert len(server.requests) == 1


def test_M09_M18_a_refused_request_has_the_servers_own_words() -> None:
    error, _ = told(Status(400, message="Unsupported parameter: 'temperature'" + " and so on" * 500))
    assert (error.detail["status"], len(error.detail["body"]), error.retryable) == (400, 2_000, False)
    assert "'temperature'" in error.detail["body"]
    assert "'temperature'" in error.message
    assert len(error.message) < 300
    error, _ = told(Status(404, message="The model `m` does not exist"))
    assert "The model `m` does not exist" in error.message
    assert "kgsparql doctor" in error.hint


BROKEN = [
    (EmptyBody(), "E_LLM_EMPTY", "is empty"),
    (Html(), "E_LLM_FORMAT", "not JSON: Sign in Welcome"),
    (Raw(b"[1, 2]"), "E_LLM_FORMAT", "not an object: [1, 2]"),
    (Raw(b"upstream \x1b[31merror\x07\n" * 100, "text/plain"), "E_LLM_FORMAT", "not JSON: upstream [31merror"),
    (Raw(b"\xff\xfe\x00garbage"), "E_LLM_FORMAT", "not JSON"),
    (Raw(b'{"a":' * 50_000 + b"1" + b"}" * 50_000), "E_LLM_FORMAT", "not JSON"),
    (Raw(b'{"choices": ['), "E_LLM_PARTIAL", "cut off after 13 bytes"),
]
BROKEN_OFF = [
    (Raw(b'{"choices": [', length=None), "E_LLM_PARTIAL", "cut off after 13 bytes"),
    (Raw(b'{"choices": []}', length=1_000, headers={"Connection": "close"}), "E_LLM_PARTIAL", "cut off"),
    (Cut(25), "E_LLM_PARTIAL", "cut off"), (Reset(25), "E_LLM_PARTIAL", "cut off"),
    (Reset(), "E_LLM_PARTIAL", "did not begin"), (HangUp(), "E_LLM_PARTIAL", "did not begin"),
]  # fmt: skip


@pytest.mark.parametrize("on_sockets", [False, True])
def test_M02_M08_a_body_that_is_not_a_whole_reply(on_sockets: bool) -> None:
    for reply, code, says in BROKEN_OFF if on_sockets else BROKEN:
        error, server = chat([reply, Text("fine")]) if on_sockets else told(reply, Text("fine"))
        assert (type(error), error.code) == (ModelReplyError, code)
        assert says in error.message
        assert (server.url if on_sockets else URL) in error.message
        assert len(error.message) < 300
        assert all(char.isprintable() for char in error.message)
        assert len(server.requests) == 1  # it may have been paid for: never again silently


def test_an_error_that_comes_as_success_and_a_redirect_are_errors() -> None:
    elsewhere = "http://127.0.0.1:10/v1/chat/completions"
    for reply, says in (
        (Raw(b'{"error": {"message": "no such model", "code": 404}}'), "no such model"),
        (Raw(b'{"error": "no such model"}'), "no such model"),
        (Raw(b'{"detail": "Model not loaded"}'), "Model not loaded"),
        (Raw(b'{"choices": [], "object": "error", "message": "queue is full"}'), "queue is full"),
        *((Status(status, {"Location": elsewhere}), elsewhere[:22]) for status in (301, 302, 303, 307, 308)),
    ):
        error, server = told(reply)
        assert type(error) is ModelError
        assert says in error.message
        assert len(server.requests) == 1


def test_loading_the_package_takes_nothing_of_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine imports it in seconds: the server was blamed for what it was never sent."""

    load = OpenAIClient._new_client
    monkeypatch.setattr(OpenAIClient, "_new_client", lambda asking: time.sleep(1) or load(asking))
    reply, server = chat([Text("Bonn")], timeout_s=0.8)
    assert content(reply) == "Bonn"
    assert len(server.requests) == 1


def test_a_proxy_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"socks5://me:{CANARY}@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    error, server = chat([Text("Bonn")])
    assert isinstance(error, InputError)
    assert "ALL_PROXY" in error.message
    assert "NO_PROXY" in error.hint
    assert CANARY not in "".join(traceback.format_exception(error))
    assert not server.requests


def test_M07_a_reply_of_1_MB_or_one_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    error, server = told(Big(1_000_000))
    assert (type(error), error.code) == (ModelReplyError, "E_LIMIT")
    assert "512 KiB" in error.message
    assert len(server.requests) == 1
    with ModelServer([Endless()]) as server, OpenAIClient(server.url, timeout_s=30) as asking:
        with pytest.raises(ModelError) as caught:
            asking.chat(BODY)
        assert caught.value.code == "E_LIMIT"
        assert _hung_up(server)


@pytest.mark.parametrize("script", [[Slow(30)], [Drip(Status(500))], [Status(429, {"Retry-After": "0"}), Drip()]])
def test_M09_one_deadline_for_all_of_a_call(script: list[Reply]) -> None:
    began = time.monotonic()
    error, server = chat(script, timeout_s=0.8)
    assert 0.7 < time.monotonic() - began < 10
    assert (type(error), error.code, error.exit_code) == (ModelTimeoutError, "E_TIMEOUT", 5)
    assert isinstance(error, TimeoutError)
    assert server.url in error.message
    assert "0.8 s" in error.message
    assert len(server.requests) == len(script)  # never again after the deadline


def test_a_call_has_a_deadline_of_its_own_and_the_client_goes_on() -> None:
    script = [Slow(30), Text("next")]
    with within(), ModelServer(script) as server, OpenAIClient(server.url, timeout_s=60) as asking:
        for given in ({"timeout_s": 0.3}, {"timeout_s": 0}, {"began": time.monotonic() - 61}):
            with pytest.raises(ModelTimeoutError, match="within 60 s" if "began" in given else None):
                asking.chat(BODY, **given)
        assert _hung_up(server)
        assert len(server.requests) == 1
        assert content(asking.chat(BODY, timeout_s=5)) == "next"


@pytest.mark.parametrize("script", [[Drip()], [Status(429, {"Retry-After": "30"})]])
def test_a_call_can_be_stopped_at_any_time(script: list[Reply]) -> None:
    with ModelServer(script) as server, OpenAIClient(server.url) as asking:
        asking.models()  # so that the call goes through a connection that was opened before
        set_already, cancel = threading.Event(), threading.Event()
        set_already.set()
        with pytest.raises(CancelledError):
            asking.chat(BODY, cancel=set_already)
        assert [request.path for request in server.requests] == ["/v1/models"], "nothing is sent"
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(CancelledError) as caught:
            asking.chat(BODY, timeout_s=60, cancel=cancel)
        assert 0.2 < time.monotonic() - began < 10
        assert caught.value.exit_code == 130
        timer.join()
        if not isinstance(script[0], Status):
            assert _hung_up(server)


ECHOES: list[Reply] = [
    *(Echo(status) for status in (400, 401, 403, 404, 418, 422, 429, 500)),
    *(Raw(f"<b>Bearer {CANARY}</b>".encode(), "text/html", status=status) for status in (200, 400, 401, 429, 500)),
    Raw(json.dumps({"error": {"message": CANARY}}).replace("-", "\\u002d").encode(), status=400),
    Raw(json.dumps({"error": {"message": CANARY}}).replace("-", "\\u002d").encode()),
    Raw(json.dumps([CANARY]).replace("-", "\\u002d").encode()),
    Raw(CANARY.replace("-", "-\u200b").encode()),
    Raw(b"x" * (16 * 1024 - 10) + CANARY.encode(), status=400),
    Raw((CANARY * 700).encode(), status=400),
    Raw(f'{{"choices": ["{CANARY}"'.encode()),
    Status(302, {"Location": f"http://127.0.0.1:9/{CANARY}?key={CANARY}"}),
]


def test_U12_the_key_is_in_no_error(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    for number, reply in enumerate(ECHOES):
        error, server = told(reply, key=CANARY if number % 2 else None)
        assert isinstance(error, KgsparqlError)
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        everything = [str(error), repr(error), json.dumps(error.to_json(), default=repr), caplog.text]
        everything += traceback.format_exception(error)
        everything += [repr(vars(error)), repr(error.args)]
        assert error.__cause__ is error.__context__ is None
        for part in (CANARY, CANARY[-12:], CANARY[:12]):
            assert not any(part in text for text in everything)


def test_U12_the_key_is_in_no_reply() -> None:
    for reply in (Echo(200), Raw(json.dumps({"choices": [{CANARY: [CANARY]}]}).replace("-", "\\u002d").encode())):
        said = json.dumps(told(reply, key=CANARY)[0])
        assert CANARY not in said
        assert "***" in said


def test_U12_a_request_that_cannot_be_sent_does_not_say_the_key() -> None:
    with ModelServer() as server, OpenAIClient(server.url, api_key=CANARY) as asking:
        with pytest.raises(ModelError) as caught:
            asking.chat({"model": "m", "messages": [{"role": "user", "content": "\ud800"}]})
        assert server.requests == []
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(InputError) as refused:
        OpenAIClient("http://127.0.0.1:9/v1", api_key=f"{CANARY}é")
    assert CANARY not in "".join(traceback.format_exception(refused.value))


def test_U13_what_is_not_the_url_of_a_server_is_refused() -> None:
    for given in (
        "localhost:11434/v1", "ftp://host/v1", "file:///etc/passwd", "http://", "http:///v1", "http://host:99999/v1",
        "http://host:x/v1", "http://[::1/v1", "http://host/v1?key=1", "http://host/v1#m", "http://ho st/v1",
        "http://host/v1\nX: y", "javascript:alert(1)", "   ", f"http://me:{CANARY}@host/v1", "http://me@host/v1",
        f"https://k:{CANARY}'@h/v1", f"https://k:/{CANARY}@h/v1", f"https://h/v1?key='{CANARY}", f"k:{CANARY}@h/v1",
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            OpenAIClient(given)
        assert caught.value.exit_code == 2
        assert caught.value.hint
        assert CANARY not in caught.value.message
        assert "\n" not in caught.value.message


def _soon(is_so: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    until = time.monotonic() + within_s
    while not is_so() and time.monotonic() < until:
        time.sleep(0.01)
    return is_so()


def _hung_up(server: ModelServer) -> bool:
    """Whether the server notices, before long, that nobody waits for its reply."""
    return _soon(lambda: bool(server.hang_ups))
