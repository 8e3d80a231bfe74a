"""Clients that open connections and do not end their requests, on real sockets."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from kgsparql.serving import guards as connections
from kgsparql.serving.guards import PunctualConnection
from tests.conftest import ROOT
from tests.serving.conftest import NOBEL, served
from tests.serving.test_guards import send

ANY_ADDRESS = "0.0.0.0"  # noqa: S104

UNFINISHED = (
    b"",
    b"GET / HTTP/1.1\r\nX: ",
    b"POST /api/ask HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
)


Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def _app(_: object, receive: Receive, send: Send) -> None:
    """Reads the body, works for a while, and replies."""
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("sent", UNFINISHED)
def test_a_request_that_is_not_whole_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.2)
    config = Config(_app, lifespan="off", log_level="critical")  # type: ignore[arg-type]
    failures: list[dict[str, Any]] = []

    async def replies() -> bytes:
        loop, state = asyncio.get_running_loop(), ServerState()
        loop.set_exception_handler(lambda _, failure: failures.append(failure))
        server = await loop.create_server(lambda: PunctualConnection(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: e\r\n\r\n")
        got = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)  # its reply may take longer than a request
        writer.write(sent)
        try:
            with suppress(ConnectionResetError):
                got += await asyncio.wait_for(reader.read(), 20)
        finally:
            writer.close()
            server.close()
        return got

    assert asyncio.run(replies()).count(b"HTTP/1.1 200 OK") == 1
    assert failures == []


def test_whoever_sends_a_whole_request_has_a_place(tmp_path: Path) -> None:
    with served(tmp_path, "-q", "--host", ANY_ADDRESS) as printed, ExitStack() as stack:
        port, token = urlsplit(printed).port, printed.partition("?token=")[2]
        assert len(token) >= 32, "one is made where there is none"
        address = f"http://127.0.0.1:{port}/"
        for number in range(300):  # without the token
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port or 0)))
            sock.sendall(UNFINISHED[number % len(UNFINISHED)].replace(b"Host: e", f"Host: 127.0.0.1:{port}".encode()))
        assert send(address, "GET", "/healthz")[0] == 200
        assert send(address, "GET", "/")[0] == 401
        assert send(address, "GET", "/", authorization=f"Bearer {token}")[0] == 200


def test_ctrl_c_in_the_middle_of_a_request_shows_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kgsparql", "serve", "--port", "0", "--no-model", "-q", "-k", str(NOBEL)]
    with subprocess.Popen(
        [*command, "--embedder", "none"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "KGSPARQL_CACHE_DIR": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().strip()).port
        with socket.create_connection(("127.0.0.1", port or 0)) as sock:
            sock.sendall(UNFINISHED[2].replace(b"Host: e", f"Host: 127.0.0.1:{port}".encode()))
            time.sleep(1)  # it is being read
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)  # two signals at once are one; the second does not wait for the client
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)
    assert "Traceback" not in told
