"""Canaries in every place for a key or a password: none is in what is printed, kept or shown when all goes wrong.

Model and endpoints repeat what they were sent, as careless servers do. Every output and every byte of every file is
searched, in every spelling; what holds replies may be read by its owner only.
"""

import html
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from typer.testing import CliRunner

from kgsparql.cli import app
from tests.endpoints.faults import JSON, FaultServer, reply
from tests.endpoints.proxy import Exchange, Fault, Seen
from tests.model_server import Echo, ModelServer, Raw
from tests.world import FIXTURES, ROOT

PASSWORD, PARAMETER = "cAnary-Pa55/w&rd-7f3a", "cAnaryParam-91bd04e7"
PROXY, KEY, TOKEN = "cAnaryProxy-5c20aa19", "sk-cAnaryKey-e81f66b2", "cAnaryToken-3d47c85f"
SETTING, CLOUD = "cAnarySetting-b6609d13", "cAnaryCloud-2ee8f1a4"
BEARER, HEADER = "cAnaryBearer-77c01d5e", "cAnaryHeader-0b84fd62"
QUESTION = "Who is the spouse of Marie Curie?"
SELECT = "SELECT ?s ?n { ?s ?p ?n } LIMIT 2"
HOLDS_REPLIES = re.compile(r"exchanges\.sqlite.*|responses\.sqlite.*|labels\.sqlite.*|log\.db.*|manifest\.json|"
                           r"triples\.nq|[0-9a-f]{32}\.json")  # fmt: skip

Run = Callable[..., str]


def spellings(secret: str) -> Iterator[bytes]:
    """How a secret may be written: plain, in a URL, in HTML, and in base64 wherever in a text it begins."""
    yield from {one.encode() for one in (secret, quote(secret, safe=""), quote(secret), html.escape(secret))}
    for before in range(3):
        encoded = b64encode(b"\0" * before + secret.encode())
        yield encoded[[0, 2, 3][before] : len(encoded) // 4 * 4 - 4]


SPELLINGS = [
    (secret, one)
    for secret in (PASSWORD, PARAMETER, PROXY, KEY, TOKEN, SETTING, CLOUD, BEARER, HEADER)
    for one in spellings(secret)
]  # fmt: skip


def leaks(data: bytes) -> list[str]:
    return sorted({secret for secret, one in SPELLINGS if one in data})


def contents(file: Path) -> bytes:
    """The bytes of a file; of a question log also its answers, which are compressed in it."""
    data = file.read_bytes()
    if not data.startswith(b"SQLite format 3"):
        return data
    with closing(sqlite3.connect(file)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'question'").fetchone():
            for (answer,) in connection.execute("SELECT answer FROM question"):
                data += zlib.decompress(answer)
    return data


def check_files(place: Path) -> set[str]:
    """The names of the files that hold replies, after every file was searched and every mode looked at."""
    found = set()
    for file in filter(Path.is_file, place.rglob("*")):
        assert not leaks(contents(file)), f"{leaks(contents(file))} in {file}"
        if HOLDS_REPLIES.fullmatch(file.name):
            found.add(file.name)
            assert file.stat().st_mode & 0o077 == 0, f"others may read {file}"
    return found


def with_secrets(url: str) -> str:
    return url.replace("http://", f"http://me:{quote(PASSWORD, safe='')}@") + f"?apikey={PARAMETER}"


def make_profile(place: Path, url: str) -> None:
    """Have a profile ``ours`` for an endpoint, with a token and a key in a header."""
    lines = f'[ours]\nurls = ["{url}"]\ntoken_env = "GRAPH_TOKEN"\nheaders = {{ X-Api-Key = "${{GRAPH_KEY}}" }}\n'
    (place / "profiles.toml").write_text(lines, encoding="utf-8")


def told_back(request: Seen) -> str:
    """Everything that identifies the asker, as it came, decoded and written for HTML."""
    sent = request.headers.get("authorization", "") or request.headers.get("proxy-authorization", "")
    plain = b64decode(sent.partition(" ")[2]).decode() if sent.startswith("Basic ") else ""
    sent += request.headers.get("x-api-key", "")
    return f"{request.line} {sent} {plain} {quote(plain, safe='')} {html.escape(plain)}"


def echoing(status: str, kind: str) -> Fault:
    async def behave(exchange: Exchange) -> None:
        said = told_back(request := exchange.request)
        if kind == JSON:
            value = {"type": "literal", "value": said}
            names = re.findall(r"\?(\w+)", request.query.partition("{")[0]) or ["s"]
            said = json.dumps({"head": {"vars": names}, "results": {"bindings": [dict.fromkeys(names, value)]}})
        await exchange.write(reply(said.encode(), status=status, type=kind, headers=["Retry-After: 500"]))

    return behave


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, its cache in it; secrets in the environment; files are made as most users do."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "HOME": str(tmp_path), "KGSPARQL_CACHE_DIR": str(tmp_path / "cache"), "KGSPARQL_EMBEDDER": "none",
        "OPENAI_API_KEY": KEY, "KGSPARQL_TOKEN": TOKEN, "AWS_SECRET_ACCESS_KEY": CLOUD,
        "GRAPH_TOKEN": BEARER, "GRAPH_KEY": HEADER, "KGSPARQL_ENDPOINTS": str(tmp_path / "profiles.toml"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    make_profile(tmp_path, "http://e.example/none")
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


@pytest.fixture
def run(place: Path) -> Run:
    """A function that runs a command, and returns all that it printed, in which there is no secret."""

    def invoke(*arguments: object) -> str:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert not leaks(done.output.encode()), f"{leaks(done.output.encode())} by {arguments}: {done.output}"
        assert "a bug in kgsparql" not in done.output, done.output
        assert "Usage:" not in done.output, done.output
        return done.output

    return invoke


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    for secret in (PASSWORD, KEY):
        for before in ("", "m", "me", "me:"):
            assert leaks(b64encode(f"{before}{secret}".encode())) == [secret]
        assert leaks(quote(secret, safe="").encode()) == leaks(html.escape(secret).encode()) == [secret]
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        connection.execute("CREATE TABLE question (answer)")
        connection.execute("INSERT INTO question VALUES (?)", (zlib.compress(KEY.encode()),))
        connection.commit()
    with pytest.raises(AssertionError, match=r"a\.sqlite"):
        check_files(tmp_path)


def test_no_secret_is_shown_or_kept_where_all_goes_well(run: Run, place: Path, nobel_url: str) -> None:
    source = ("-k", with_secrets(nobel_url), "--debug")
    make_profile(place, nobel_url)
    run("info", *source, "-f", "json")
    for command in (
        ("info", "-f", "json"), ("query", SELECT), ("doctor",), ("ask", QUESTION, "--log", "log.db", "-vv"),
    ):  # fmt: skip
        run(*command, "-k", "ours", "--debug")
    run("query", SELECT, *source, "-f", "csv")
    run("doctor", *source)
    with ModelServer(['{"answer": 4}'], models=[KEY, "m"]) as server:  # a model that is called as the key is
        run("doctor", "--base-url", server.url, "-m", KEY)
        run("doctor", "--base-url", with_secrets(server.url), "--embedder", f"{with_secrets(server.url)}#m")
    run("index", "--embedder", "none", *source)
    with ModelServer([Echo()] * 40) as server:
        model = ("-m", "m", "--base-url", server.url)
        kept = ("--log", "log.db")
        run("ask", QUESTION, *source, *model, *kept, "-f", "json", "-o", "answer.json", "-vv")
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    answered = run("ask", QUESTION, *source, "--no-model", *kept, "-f", "json", "-vv")
    assert "Pierre Curie" in answered
    for form in ("text", "trig", "md", "csv"):
        run("ask", QUESTION, *source, "--no-model", "-f", form, "-o", f"answer.{form}")
    run("check", "answer.json", *source)
    run("cache")
    assert "log.db" in check_files(place)


@pytest.mark.parametrize(
    ("status", "kind"),
    [("401 Unauthorized", "text/html"), ("500 Internal Server Error", "application/json"), ("200 OK", "text/plain"),
     ("200 OK", JSON)],
)  # fmt: skip
def test_U12_no_secret_is_shown_or_kept_where_servers_repeat_it(run: Run, place: Path, status: str, kind: str) -> None:
    code = int(status[:3])
    with FaultServer(echoing(status, kind)) as endpoint, ModelServer([Echo(code)] * 40) as server:
        source = ("-k", with_secrets(endpoint.url), "--debug")
        model = ("-m", "m", "--base-url", server.url)
        limits = ("--max-seconds", "3", "--log", "log.db")
        asked = ("ask", QUESTION, *source, *model, *limits, "-f", "json", "-vv")
        run(*asked)
        run("ask", QUESTION, "-k", FIXTURES / "nobel.ttl", "-r", "mindmap", *model, *limits, "--debug", "-vv")
        run("query", SELECT, *source, "--timeout", "3", "-v")
        run("info", *source)
        run("doctor", *model[:4])
        assert any("authorization" in request.headers for request in [*endpoint.requests, *endpoint.probes])
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    for command in (("ask", QUESTION, "--no-model", *limits, "-f", "json", "-vv"), ("info",)):
        with FaultServer(echoing(status, kind)) as endpoint:
            make_profile(place, endpoint.url)
            run(*command, "-k", "ours", "--debug")
            came = [*endpoint.requests, *endpoint.probes]
            sent = {(request.headers["authorization"], request.headers["x-api-key"]) for request in came}
            assert sent == {(f"Bearer {BEARER}", HEADER)}
    check_files(place)


def test_no_secret_of_a_proxy_is_shown(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(echoing("407 Proxy Authentication Required", "text/plain")) as proxy:
        for address in (f"http://me:{PROXY}@127.0.0.1:{proxy.port}", f"socks9://me:{PROXY}@e.org", f"me:{PROXY}@e.org"):
            for name in ("http_proxy", "HTTP_PROXY"):
                monkeypatch.setenv(name, address)
            run("query", SELECT, "-k", with_secrets("http://e.example/sparql"), "--debug", "--timeout", "3")
            run("doctor", "--debug")
        assert any("proxy-authorization" in request.headers for request in [*proxy.requests, *proxy.probes])
    check_files(place)


@pytest.mark.parametrize(
    "typed",
    ["me:{}@e.org:99999/sparql", "https:/me:{}@e.org/sparql", "https//me:{}@e.org/sparql", "htps:///me:{}@e.org/x",
     "https://me:{}@e.org:x/", "me:{}@x://e.org"],
)  # fmt: skip
def test_no_secret_of_a_mistyped_url_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    for secret in (PASSWORD, PASSWORD.replace("&", "/")):
        given = typed.format(secret)
        for command in (("query", "ASK {}"), ("info",), ("doctor",)):
            assert secret not in run(*command, "-k", given, "--debug", "-f", "json")
        assert secret not in run("load", given, "--store", "store", "--debug")
        run("doctor", "-m", "m", "--base-url", given, "--debug")
        for command in (("doctor",), ("ask", "Who?", "--no-model", "-k", FIXTURES / "nobel.ttl")):
            assert secret not in run(*command, "--embedder", f"{given}#m", "--debug")
        monkeypatch.setenv("KGSPARQL_KG", given)
        assert secret not in run("info", "--debug")
        monkeypatch.delenv("KGSPARQL_KG")


def test_no_secret_in_settings_is_shown(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CONFIG", "kgsparql.toml")
    for line in (
        'api_key = "{}"', 'kg = ["https://me:{}@e.org/sparql"]', 'x = "{}', "{}",
        'embedder = "https://me:{}@e.org/v1#m"', '[model]\nkey = "{}"', '[graphs]\na = "https://me:{}@e.org/sparql"',
    ):  # fmt: skip
        (place / "kgsparql.toml").write_text(line.format(SETTING) + "\n", encoding="utf-8")
        for arguments in (("doctor", "--debug"), ("info", "--debug")):
            run(*arguments)


@contextmanager
def process(place: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """The address of a server of ours; afterwards no secret is in what it printed or in the names of processes."""
    command = [sys.executable, "-m", "kgsparql", *arguments, "--port", "0", "--debug"]
    told = place / "told.txt"
    with told.open("wb") as errors:
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )  # fmt: skip
    assert running.stdout is not None
    try:
        line = running.stdout.readline().strip()
        assert line.startswith("http://"), told.read_text()
        yield line
        for other in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert not leaks(other.read_bytes()), other.read_bytes()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
    finally:
        running.send_signal(signal.SIGINT)
        rest = running.communicate(timeout=30)[0]
    assert not leaks(f"{line}{rest}".encode())


def asked(address: str, method: str, path: str, body: Any = None, session: str = "") -> tuple[str, bytes]:
    """The session that the reply names and its body; in the whole reply there is no secret."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream, */*"}
    headers |= {"Mcp-Session-Id": session} if session else {}
    with closing(connection):
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {**headers, **({"Content-Type": "application/json"} if sent else {})})
        got = connection.getresponse()
        assert got.status not in {401, 404}
        read = got.read()
        assert not leaks(str(got.headers).encode() + read), read
        return got.headers.get("mcp-session-id", ""), read


@pytest.mark.parametrize("goes_well", [True, False])
def test_no_secret_is_on_the_page(place: Path, nobel_url: str, goes_well: bool) -> None:
    failing = echoing("500 Internal Server Error", "text/plain")
    with FaultServer(failing) as endpoint, ModelServer([Echo(401)] * 40) as server:
        make_profile(place, url := nobel_url if goes_well else endpoint.url)
        source = with_secrets(url)
        model = ("-m", "m", "--base-url", server.url, "--max-seconds", "20", "--log", "log.db")
        with process(place, "serve", *model, KGSPARQL_KG=source) as address:
            for use_model in (True, False):
                question = {"question": QUESTION, "use_model": use_model}
                run_id = json.loads(asked(address, "POST", "/api/ask", question)[1])["id"]
                events = asked(address, "GET", f"/api/runs/{run_id}/events")[1]
                assert b"finished" in events or b"failed" in events
                asked(address, "GET", f"/api/runs/{run_id}")
            for path in ("/", "/api/graph", f"/runs/{run_id}", "/sparql?query=ASK%7B%7D"):
                asked(address, "GET", path)
            for suffix in ("json", "md", "trig", "rq") if goes_well else ():
                asked(address, "GET", f"/runs/{run_id}.{suffix}")
    kept = check_files(place)
    assert "log.db" in kept
    assert (f"{run_id}.json" in kept) is goes_well


@pytest.mark.parametrize("goes_well", [True, False])
def test_no_secret_is_in_the_tools(place: Path, nobel_url: str, goes_well: bool) -> None:
    failing = echoing("500 Internal Server Error", "text/plain")
    with FaultServer(failing) as endpoint, ModelServer([Raw(KEY.encode(), status=401)] * 40) as server:
        make_profile(place, url := nobel_url if goes_well else endpoint.url)
        source = with_secrets(url)
        model = ("-m", "m", "--base-url", server.url, "--max-seconds", "3")
        with process(place, "mcp", "--http", *model, KGSPARQL_KG=source) as address:
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "e", "version": "1"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
            session, _ = asked(address, "POST", "/mcp", call)
            asked(address, "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
            for name, arguments in {"ask": {"question": QUESTION}, "query": {"sparql": SELECT}, "info": {}}.items():
                call |= {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
                assert b'"result"' in asked(address, "POST", "/mcp", call, session)[1]
    check_files(place)
