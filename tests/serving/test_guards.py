"""Who may ask, from where, and how much: over real HTTP, as a browser, a script or an endless client sends it."""

import asyncio
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from starlette.types import Message
from typer.testing import CliRunner

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.cli import app
from kgsparql.serving.app import STATIC, ServedPage
from kgsparql.serving.runs import AskedRun, KeptRuns, Runs
from kgsparql.serving.sparql import BoundedQueries
from tests.serving.conftest import NOBEL, process_of, served
from tests.world import ROOT

JSON = {"content-type": "application/json"}
QUESTION = json.dumps({"question": "Who is the spouse of Marie Curie?"})
TOKEN = "token-of-this-test-0123456789"  # noqa: S105 - of nothing else
EVERYWHERE = "0.0.0.0"  # noqa: S104


def send(
    address: str, method: str, path: str, body: str | bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPResponse, bytes]:
    """Status, response and body of a request; a name such as ``sec_fetch_site`` is that of a header."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply, reply.read()
    finally:
        connection.close()


def error(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["error"]
    assert found["hint"]
    return found


def test_U06_U07_a_request_for_another_host_or_of_another_site_is_refused(address: str) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1:1", "", "localhost"):
        status, _, body = send(address, "GET", "/api/graph", host=host)
        assert (status, error(body)["message"]) == (421, "this is not a server for that name"), host
    assert send(address, "GET", "/healthz", host=f"localhost:{urlsplit(address).port}")[0] == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://[::1", "x"):
        status, _, body = send(address, "POST", "/api/ask", QUESTION, **JSON, origin=origin)
        assert (status, "another site" in error(body)["message"]) == (403, True), origin
    assert send(address, "POST", "/api/ask", QUESTION, **JSON, sec_fetch_site="cross-site")[0] == 403
    assert send(address, "POST", "/api/ask", QUESTION, **JSON, sec_fetch_site="same-origin")[0] == 202
    status, _, body = send(address, "POST", "/api/ask", QUESTION, content_type="text/plain")  # as a form there sends
    assert (status, "application/json" in error(body)["message"]) == (400, True)
    path = "/sparql?query=ASK%7B%7D"
    for site in ("cross-site", "same-site"):  # an image of a page there; it sends no Origin
        for work in (path, "/api/neighbours?node=http://e.org/a", "/api/graph", "/text2sparql?question=a&dataset=b"):
            assert send(address, "GET", work, sec_fetch_site=site, sec_fetch_mode="no-cors")[0] == 403, work
        assert send(address, "GET", "/", sec_fetch_site=site, sec_fetch_mode="navigate")[0] == 200  # a link
    for site in ("same-origin", "none"):
        assert send(address, "GET", path, sec_fetch_site=site)[0] == 200


def test_a_bad_request_is_told_what_is_wrong(address: str) -> None:
    for body, says in {
        "": "Invalid JSON", "[]": "an object", '{"question": 7}': "question: ", '{"question": " "}': "is empty",
        json.dumps({"question": "x" * 4_001}): "4,001 characters", "[" * 100_000: "Invalid JSON",
        b"\xff\xfe": "Invalid JSON", '{"question": "Who?", "method": "nonsense"}': "no method",
        '{"question": "Who?", "method": ["mindmap"]}': "method: ", '{"question": "Who?", "budget": 7}': "budget: ",
        '{"question": "Who?", "entities": [7]}': "entities.0: ",
        json.dumps({"question": "Who?", "entities": ["http://e.org/"] * 21}): "entities: ",
        '{"question": "Who?", "corrects": 7}': "corrects: ",
        '{"question": "Who?", "corrects": {"run": "a", "link": 0}}': "corrects.candidate: ",
        '{"question": "Who?", "corrects": {"run": "a", "link": true, "candidate": 0}}': "corrects.link: ",
    }.items():  # fmt: skip
        status, _, reply = send(address, "POST", "/api/ask", body, **JSON)
        assert (status, says in error(reply)["message"]) == (400, True), (body[:80], reply)


def test_a_meaning_not_offered_corrects_nothing_and_an_unknown_entity_is_an_error_of_the_run(address: str) -> None:
    run = json.loads(send(address, "POST", "/api/ask", QUESTION, **JSON)[2])
    send(address, "GET", f"/api/runs/{run['id']}/events")
    for name, link, candidate, status in ((run["id"], 0, 999, 400), (run["id"], -1, 0, 400), ("none", 0, 0, 404)):
        corrects = {"run": name, "link": link, "candidate": candidate}
        body = json.dumps({"question": run["question"], "corrects": corrects})
        got, _, reply = send(address, "POST", "/api/ask", body, **JSON)
        assert got == status
        assert error(reply)["message"]
    body = json.dumps({"question": "Who?", "entities": ["http://e.org/nothing"]})
    name = json.loads(send(address, "POST", "/api/ask", body, **JSON)[2])["id"]
    assert b'"state": "failed"' in send(address, "GET", f"/api/runs/{name}/events")[2]
    found = send(address, "GET", f"/api/runs/{name}")[2]
    assert "http://e.org/nothing" in error(found)["message"]


def test_a_question_follows_a_run(address: str) -> None:
    def asked(question: str, **more: str) -> dict[str, Any]:
        body = json.dumps({"question": question, **more})
        name = json.loads(send(address, "POST", "/api/ask", body, **JSON)[2])["id"]
        send(address, "GET", f"/api/runs/{name}/events")
        return dict(json.loads(send(address, "GET", f"/api/runs/{name}")[2]))

    first = asked("Where was Marie Curie born?")
    follows = asked("and where did she die?", after=first["id"])
    assert follows["answer"]["question"] == "Where did Marie Curie die?"
    assert follows["answer"]["answers"][0]["term"]["label"] == "Passy"
    gone = asked("Where was Niels Bohr born?", after="none")  # it was removed meanwhile
    assert gone["answer"]["answers"][0]["term"]["label"] == "Copenhagen"
    assert gone["notes"] == ["the question before was removed: this one is answered as it stands"]
    assert send(address, "GET", f"/api/runs/{gone['id']}/chips")[0] == 200
    assert not follows["notes"] or "removed" not in follows["notes"][-1]


def test_U09_a_body_is_bounded_with_and_without_a_length(address: str) -> None:
    assert send(address, "POST", "/api/ask", "x" * 262_145, **JSON)[0] == 413
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    chunks: Iterator[bytes] = (b"x" * 65_536 for _ in range(10))
    try:
        connection.request("POST", "/api/ask", chunks, JSON, encode_chunked=True)
        status = connection.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        status = 0
    finally:
        connection.close()
    assert status in {0, 413}
    assert send(address, "GET", "/healthz")[0] == 200


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(address: str) -> None:
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=20) as sock:
        sock.sendall(
            f"POST /api/ask HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n".encode()
        )
        reply = b"".join(iter(lambda: sock.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 400")
    assert b"two lengths" in reply
    assert reply.count(b"HTTP/1.1") == 1


def test_U10_the_streams_of_a_run_and_of_a_client_are_bounded(tmp_path: Path) -> None:
    go_on = threading.Event()
    knowledge = kgsparql.open(NOBEL, embedder="none")
    page = ServedPage(knowledge, AskOptions(), KeptRuns(tmp_path), BoundedQueries(knowledge))
    page.runs = Runs(lambda _: {"waited": go_on.wait(60)}, workers=1)
    runs = [page.runs.start(AskedRun("Who?", AskOptions(), {})) for _ in range(6)]

    async def status_of(run: AskedRun, statuses: list[int]) -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Message:
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        path = f"/api/runs/{run.id}/events"
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "client": ("c", 1)}
        await page.app(scope, receive, send)

    async def statuses_of(asked: list[AskedRun]) -> list[int]:
        statuses: list[int] = []
        tasks = [asyncio.create_task(status_of(run, statuses)) for run in asked]
        while len(statuses) < len(tasks):
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not any(run.watchers for run in runs), "a place is free again"
        return statuses

    try:
        for _ in range(2):
            assert Counter(asyncio.run(statuses_of(runs[:1] * 30))) == {200: 16, 503: 14}
        assert Counter(asyncio.run(statuses_of(runs * 15))) == {200: 64, 503: 26}
    finally:
        go_on.set()


def test_U08_no_path_leads_out_of_runs_and_files_of_the_page_and_every_reply_has_the_policy(address: str) -> None:
    for path in (
        "/runs/..%2f..%2fetc%2fpasswd.json", "/api/runs/..%2f..%2fx", "/static/..%2fapp.py", "/static/../app.py",
        "/runs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.exe", f"/api/runs/{'a' * 300}", "/static/CON", "/api/runs/%00",
    ):  # fmt: skip
        assert send(address, "GET", path)[0] == 404, path
    for path in ("/", "/api/graph", "/static/page.js"):
        headers = send(address, "GET", path)[1].headers
        policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
        assert not any(name.startswith("access-control-") for name in headers)


def test_U14_another_address_needs_the_token(tmp_path: Path) -> None:
    options = ("-k", NOBEL, "--no-model", "-q", "--host", EVERYWHERE)
    with served(tmp_path, *options, KGSPARQL_TOKEN=TOKEN) as printed:
        assert printed.endswith("/?token=$KGSPARQL_TOKEN")  # the user's own is in no log
        address = printed.replace(EVERYWHERE, "127.0.0.1")
        assert send(address, "GET", "/healthz")[0] == 200
        assert send(address, "GET", "/")[0] == 401
        assert send(address, "POST", "/api/ask", QUESTION, **JSON)[0] == 401
        assert send(address, "GET", "/", authorization="Bearer wrong")[0] == 401
        assert send(address, "GET", "/?token=wrong")[0] == 401
        assert send(address, "GET", "/api/graph", authorization=f"Bearer {TOKEN}")[0] == 200
        status, reply, _ = send(address, "GET", f"//evil.example/?token={TOKEN}")
        assert (status, reply.headers["location"]) == (303, "/evil.example/")
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert send(address, "GET", "/", cookie=cookie.partition(";")[0])[0] == 200
        evil = {"cookie": cookie.partition(";")[0], "origin": "https://evil.example"}
        assert send(address, "POST", "/api/ask", QUESTION, **JSON, **evil)[0] == 403


def test_what_cannot_be_served_is_said_and_what_is_vendored_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, says in (
        (["nowhere.ttl"], "nowhere.ttl"), (["-"], "stdin"), ([NOBEL, "-r", "nonsense"], "nonsense"),
        ([NOBEL, "--host", "203.0.113.7"], "cannot listen at 203.0.113.7"), ([NOBEL], "KGSPARQL_TOKEN is too short"),
    ):  # fmt: skip
        monkeypatch.setenv("KGSPARQL_TOKEN", "secret" if options == [NOBEL] else "")
        done = CliRunner().invoke(app, ["serve", "--port", "0", "--embedder", "none", "-k", *map(str, options)])
        assert (done.exit_code in {2, 4}, says in done.stderr, "hint: " in done.stderr) == (True, True, True)
    folder = STATIC / "vendor"
    recorded = json.loads((folder / "vendored.json").read_text(encoding="utf-8"))
    assert {one["file"] for one in recorded} == {
        file.name for file in folder.glob("*.[jc]s*") if file.suffix != ".json"
    }
    for one in recorded:
        assert hashlib.sha256((folder / one["file"]).read_bytes()).hexdigest() == one["sha256"]
        assert (folder / one["licence_file"]).read_text(encoding="utf-8").count("Permission is hereby granted") == 1


def test_ctrl_c_in_the_middle_of_a_request_shows_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kgsparql", "serve", "--port", "0", "--no-model", "-q", "-k", str(NOBEL)]
    with subprocess.Popen(
        [*command, "--embedder", "none"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "KGSPARQL_CACHE_DIR": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().strip()).port
        with socket.create_connection(("127.0.0.1", port or 0)) as sock:
            sock.sendall(f"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 99\r\n\r\n{{".encode())
            time.sleep(1)  # it is being read
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)  # two signals at once are one; the second does not wait for the client
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)
    assert "Traceback" not in told


def test_what_is_no_address_is_told_as_json_too(address: str) -> None:
    for method, path, status in (("GET", "/api/nothing", 404), ("PUT", "/api/ask", 405)):
        code, _, body = send(address, method, path)
        assert (code, path in error(body)["message"]) == (status, True)


QUESTIONS = [
    "Who is the spouse of Marie Curie?", "Where was Richard Feynman born?",
    "Who was the doctoral advisor of Hans Bethe?",
    "Which university did Linus Pauling attend?", "How many Nobel laureates are there?",
]  # fmt: skip


@contextmanager
def health_of(address: str) -> Iterator[list[float]]:
    """Seconds that ``/healthz`` took, asked ten times a second meanwhile."""
    took: list[float] = []
    done = threading.Event()

    def look() -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        while not done.wait(0.1):
            began = time.monotonic()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            took.append(time.monotonic() - began)
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield took
    finally:
        done.set()
        thread.join()


def test_six_tabs_ask_at_once_and_all_are_answered(chromium: Browser, address: str) -> None:
    context = chromium.new_context()
    pages = [context.new_page() for _ in range(6)]
    for page in pages:
        page.goto(address)
    with health_of(address) as took:
        for at, page in enumerate(pages):
            page.fill("#question", QUESTIONS[at % len(QUESTIONS)])
            page.keyboard.press("Enter")
        for page in pages:
            page.wait_for_selector(".run:not([aria-busy]) .evidence", timeout=90_000)
    assert [page.inner_text(".badge") for page in pages].count("failed") == 0
    assert took  # how long it takes: python -m benchmarks.page
    context.close()


@pytest.mark.deep
def test_memory_is_flat_after_400_questions(tmp_path: Path) -> None:
    with served(tmp_path, "-k", NOBEL, "--no-model", "-q") as address:
        sizes = []
        with health_of(address) as took:
            for round_ in range(7):
                ask_many(address, 100, at=round_)
                sizes.append(resident_bytes(process_of(address)))
    assert sizes[-1] - sizes[3] < 10_000_000, sizes  # what is kept of questions is full by then
    assert len(took) > 5


def ask_many(address: str, count: int, *, at: int) -> None:
    """Ask so many questions one after the other, each with its steps; the first is the one ``at`` that place."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    for number in range(count):
        asked = json.dumps({"question": QUESTIONS[(number + at) % len(QUESTIONS)]})
        connection.request("POST", "/api/ask", asked, {"content-type": "application/json"})
        name = json.load(connection.getresponse())["id"]
        connection.request("GET", f"/api/runs/{name}/events")
        assert b"event: over" in connection.getresponse().read()
    connection.close()


def resident_bytes(process: int) -> int:
    """The memory that a process has now."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
