"""``kgsparql mcp`` as a client of the protocol sees it: a real process, over stdio and over HTTP."""

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from starlette.testclient import TestClient

import kgsparql
from kgsparql.serving.mcp import http_app
from tests.model_server import ModelServer, Slow
from tests.serving.test_tools import CALLS
from tests.world import FIXTURES, ROOT

NOBEL = str(FIXTURES / "nobel.ttl")
BORN = {"question": "Where was Marie Curie born?"}
SLOW_QUERY = {
    "sparql": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a != ?d && ?d != ?g) }",
    "max_seconds": 60,
}
TOOLS = [*CALLS]
ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "e", "version": "1"}}


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "kgsparql", "mcp", "-k", NOBEL, "--embedder", "none", *options]


def environment(cache: Path) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "KGSPARQL_CACHE_DIR": str(cache), "PATH": os.environ["PATH"]}
    return {**own, "KGSPARQL_TRIAL": "off"}  # a trial goes on, whoever leaves


@asynccontextmanager
async def over_stdio(cache: Path, *options: str, mode: Any = "auto") -> AsyncIterator[Client]:
    program, *arguments = command(*options)
    server = StdioServerParameters(command=program, args=arguments, env=environment(cache), cwd=ROOT)
    with anyio.fail_after(120):
        async with Client(server, mode=mode) as client:
            yield client


@contextmanager
def http_server(cache: Path, *options: str, token: str = "") -> Iterator[str]:
    """The URL of a server over HTTP."""
    process = subprocess.Popen(
        command("--http", "--port", "0", *options), cwd=ROOT, env={**environment(cache), "KGSPARQL_TOKEN": token},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


async def test_results_and_errors_have_at_most_so_many_tokens_and_the_list_of_tools_2500(own_cache: Path) -> None:
    async with over_stdio(own_cache) as client:
        listed = (await client.list_tools()).tools
        sizes = [len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed]
        assert sum(sizes) <= 4 * 2_500  # four characters are a token
        for tool, most in itertools.product(listed, (200, 1_000)):
            reply = await client.call_tool(tool.name, {**CALLS[tool.name], "max_tokens": most})
            assert len(reply.content[0].text.encode()) <= 2.5 * most  # no tokenizer makes more of as many bytes
            assert reply.structured_content == json.loads(reply.content[0].text)
            jsonschema.validate(reply.structured_content, tool.output_schema or {})
            assert most > 200 or "cut at max_tokens" in reply.structured_content["more"], tool.name
        told = await client.call_tool("show", {"entity": "Nobody " * 280, "max_tokens": 200})
        assert (told.is_error, len(told.content[0].text) <= 500) == (True, True)


async def test_a_client_of_the_older_protocol_lists_the_tools_and_asks(own_cache: Path) -> None:
    async with over_stdio(own_cache, mode="legacy") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        reply = await client.call_tool("ask", BORN)
    assert reply.structured_content["answers"][0]["label"] == "Warsaw"


async def test_a_client_lists_the_tools_asks_and_is_told_what_is_wrong(own_cache: Path) -> None:
    laureates = {"entity": "Nobel laureate", "predicate": "rdf:type", "direction": "inverse"}
    async with over_stdio(own_cache) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert [*tools] == TOOLS
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
        steps: list[str | None] = []
        replies: dict[str, Any] = {}

        async def note(progress: float, total: float | None, message: str | None) -> None:
            steps.append(message)

        async def ask(question: str) -> None:
            replies[question] = await client.call_tool("ask", {"question": question}, progress_callback=note)

        async with anyio.create_task_group() as group:  # two at once
            group.start_soon(ask, BORN["question"])
            group.start_soon(ask, "Where was Niels Bohr born?")
        labels = [reply.structured_content["answers"][0]["label"] for _, reply in sorted(replies.items())]
        assert labels == ["Warsaw", "Copenhagen"]
        assert {"linked: 'Marie Curie' → Marie Curie", "linked: 'Niels Bohr' → Niels Bohr"} <= {*steps}
        assert any(re.fullmatch(r"verified: \d+ found again, 0 removed, 0 not checkable", step or "") for step in steps)
        assert all(steps)
        found = replies[BORN["question"]].structured_content
        jsonschema.validate(found, tools["ask"].output_schema or {})
        (marker,) = found["answers"][0]["markers"]
        (item,) = [one for one in found["evidence"] if one["marker"] == marker]
        assert item["triples"][0]["predicate"] == {
            "term": "<http://dbpedia.org/ontology/birthPlace>", "label": "place of birth",
        }  # fmt: skip
        assert "SELECT" in item["sparql"]

        reply = await client.call_tool("query", {"sparql": "SELECT ?o { dbr:Marie_Curie dbo:birthPlace ?o }"})
        warsaw = {"term": "<http://dbpedia.org/resource/Warsaw>", "label": "Warsaw"}
        assert reply.structured_content["rows"] == [[warsaw]]
        few = (await client.call_tool("show", laureates)).structured_content
        (around,) = few["groups"]
        assert (around["count"], len(around["neighbours"]), "raise limit" in few["more"]) == (74, 5, True)
        whole = (await client.call_tool("show", {**laureates, "limit": 100})).structured_content
        assert (len(whole["groups"][0]["neighbours"]), "more" in whole) == (74, False)

        for name, arguments, said in (
            ("query", {"sparql": "DELETE WHERE { ?s ?p ?o }"}, "E_FORBIDDEN_QUERY"),
            ("show", {"entity": "Nobody At All"}, "the tool find"),
            ("show", {"name": "Marie Curie"}, "entity: Field required"),
        ):
            wrong = await client.call_tool(name, arguments)
            assert (wrong.is_error, said in wrong.content[0].text) == (True, True)
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("drop", {})

        with anyio.move_on_after(1):  # a query that is cancelled is stopped
            await client.call_tool("query", SLOW_QUERY)
        began = time.monotonic()
        assert not (await client.call_tool("query", {"sparql": "ASK {}"})).is_error
        assert time.monotonic() - began < 15
        began = time.monotonic()
        with anyio.move_on_after(1):  # and whoever goes away ends the server
            await client.call_tool("query", SLOW_QUERY)
    assert time.monotonic() - began < 20


def test_U16_hostile_lines_are_answered_or_dropped_and_stdout_is_the_protocol_alone(own_cache: Path) -> None:
    sent = [("initialize", ABOUT), ("evil/do", {}), ("tools/call", {"name": "rm", "arguments": {}})]
    calls = [("find", {"text": "x" * 10**7}), ("ask", {"question": {"a": 1}}), ("query", {"sparql": "DROP ALL"})]
    calls += [("query", {"sparql": "ASK {}", "max_seconds": float("nan")}), ("find", {"text": "Marie Curie"})]
    sent += [("tools/call", {"name": name, "arguments": own}) for name, own in calls]
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) for i, (m, p) in enumerate(sent)]
    lines[1:1] = [
        "{{{",
        "[" * 100_000,
        '{"a":' * 20_000,
        '{"jsonrpc":"2.0","id":null,"method":"ping"}',
        '"\\ud800"',
        "\0\x1b]0;e\a",
    ]
    with subprocess.Popen(
        command(), cwd=ROOT, env=environment(own_cache), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join([*lines, ""]))
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in sent]
        process.kill()
    found = {reply["id"]: json.dumps(reply) for reply in replies}
    wanted = ["protocol", "Method not found", "no tool", "4000", "E_INPUT", "E_FORBIDDEN", "E_INPUT", "Marie Curie"]
    assert all(text in found[i] for i, text in enumerate(wanted)), found


async def test_a_client_that_cancels_stops_the_question(tmp_path: Path) -> None:
    with ModelServer([Slow(60)] * 5) as server:
        async with over_stdio(tmp_path, "-r", "mindmap", "-m", "any", "--base-url", server.url) as client:
            with anyio.move_on_after(60) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "ask", BORN)
                    while not server.requests:
                        await anyio.sleep(0.05)
                    scope.cancel()
            with anyio.fail_after(10):
                while not server.hang_ups:
                    await anyio.sleep(0.05)
            assert not (await client.call_tool("find", {"text": "Curie"})).is_error


async def test_over_http(own_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with http_server(own_cache) as url:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        async with Client(url) as client:
            assert len((await client.list_tools()).tools) == 7
            reply = await client.call_tool("ask", BORN)
            assert reply.structured_content["answers"][0]["label"] == "Warsaw"
        async with httpx2.AsyncClient() as browser:
            host = await browser.post(url, json={}, headers={"Host": "evil.example"})
            origin = await browser.post(url, json={}, headers={"Origin": "http://evil.example"})
        assert (host.status_code, origin.status_code) == (421, 403)
    assert "Traceback" not in capfd.readouterr().err


def test_over_http_sessions_are_bounded_and_need_the_token(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.serving.mcp.MOST_SESSIONS", 2)
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ABOUT}
    headers = {"Accept": "application/json, text/event-stream"}
    served = http_app(kgsparql.tools(kgsparql.open(NOBEL, embedder="none")), host="127.0.0.1", port=8000)
    with TestClient(served, base_url="http://127.0.0.1:8000", headers=headers) as newcomer:
        replies = [newcomer.post("/mcp", json=begin) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [200, 200, 503]
        newcomer.delete("/mcp", headers={"Mcp-Session-Id": replies[0].headers["mcp-session-id"]})
        assert newcomer.post("/mcp", json=begin).status_code == 200
    guarded = http_app(
        kgsparql.tools(kgsparql.open(NOBEL, embedder="none")), host="127.0.0.1", port=8000, token="t" * 16
    )
    assert TestClient(guarded, base_url="http://127.0.0.1:8000").post("/mcp", json=begin).status_code == 401


async def test_over_http_a_client_that_goes_away_stops_the_question(tmp_path: Path) -> None:
    with (
        ModelServer([Slow(60)] * 5) as server,
        http_server(tmp_path, "-r", "mindmap", "-m", "any", "--base-url", server.url) as url,
    ):
        async with Client(url) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "ask", BORN)
            while not server.requests:
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            while not server.hang_ups:
                await anyio.sleep(0.05)
        assert len(server.requests) == 1, "a question that goes on would have asked the model again"
