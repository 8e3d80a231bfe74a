"""What public endpoints reply is used again for a while: whole results, and nothing else."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kgsparql import EndpointGraph, EndpointProfile, KgsparqlError, Query, open_graph
from kgsparql.graphs.protocol import senders as recorded
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache
from tests.endpoints.faults import ASK_JSON, SELECT_JSON, FaultServer, reply, results
from tests.endpoints.proxy import Exchange
from tests.world import kept_kinds

PUBLIC = EndpointProfile(
    name="a public service", engine="some engine", is_public=True, keep_s=3600.0, has_union=True, has_named_graphs=False
)
SOME = Query("some", "SELECT ?s ?n WHERE { ?s ?p ?n }")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / RESPONSE_FILE


def asked(url: str, file: Path, profile: EndpointProfile = PUBLIC, *, query: Query = SOME, **options: Any) -> object:
    """What a query comes to in another run: solutions, or the code of an error."""
    with ResponseCache(file, **options) as response_cache:
        graph = EndpointGraph(url, profile=profile, response_cache=response_cache)
        try:
            return graph.select(query)
        except KgsparqlError as error:
            return error.code


def test_a_result_is_used_again_by_another_run(file: Path) -> None:
    with FaultServer(results(SELECT_JSON)) as server:
        first = asked(server.url, file)
        assert asked(server.url, file) == first
        assert len(server.requests) == 1
    assert asked(server.url, file) == first, "nobody is there any more"
    assert asked(server.url, file, mode="write") == "E_ENDPOINT_DOWN", "who wants it fresh asks"


def test_what_a_profile_wants_kept_is_unless_large_or_secret(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer(results(SELECT_JSON)) as server:
        for where, profile, most_bytes in (
            ("http://{}", replace(PUBLIC, keep_s=0.0), 10_000), ("http://me:secret1@{}", PUBLIC, 10_000),
            ("http://{}?apikey=secret1", PUBLIC, 10_000), ("http://{}", PUBLIC, 100),
            ("http://{}", replace(PUBLIC, is_public=False), 10_000),
        ):  # fmt: skip
            monkeypatch.setattr(recorded, "MOST_REPLY_BYTES", most_bytes)
            before, url = len(server.requests), where.format(server.url.removeprefix("http://"))
            assert asked(url, file, profile) == asked(url, file, profile)
            is_kept = not profile.is_public
            assert len(server.requests) - before == (1 if is_kept else 2), (where, profile, most_bytes)
            assert file.exists() is is_kept


BAD: dict[str, bytes] = {
    "cut": reply(SELECT_JSON[:-20]), "E09 206": reply(SELECT_JSON, status="206 Partial Content"),
    "E09 SQL state": reply(SELECT_JSON, headers=["X-SQL-State: S1TAT"]),
    "E04 a page": reply(b"<html>come back later</html>", type="text/html"),
    "E14 forbidden": reply(b"no", status="403 Forbidden", type="text/plain"), "an ASK's": reply(ASK_JSON),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_only_whole_results_are_kept(file: Path, bad: bytes) -> None:
    replies = iter([bad])

    async def behave(exchange: Exchange) -> None:
        await exchange.write(next(replies, reply(SELECT_JSON)))

    with FaultServer(behave) as server:
        first = asked(server.url, file)
        second = asked(server.url, file)
        assert second != first
        assert asked(server.url, file) == second
        assert len(server.requests) == 2


def aged(file: Path, seconds: float) -> None:
    """Make everything in the store older."""
    made = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE exchange SET made = ?", (made,))


def test_a_result_is_used_for_as_long_as_the_profile_says(file: Path) -> None:
    with FaultServer(results(SELECT_JSON)) as server:
        asked(server.url, file)
        aged(file, 3000)
        asked(server.url, file)
        assert len(server.requests) == 1
        aged(file, 4000)
        asked(server.url, file)
        assert len(server.requests) == 2
        asked(server.url, file)
        assert len(server.requests) == 2, "the new one has taken its place"


def test_what_is_old_or_too_much_makes_room(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ResponseCache(file) as kept:
        kept.put("model", {"n": 0}, {"text": "x" * 900_000})
        for n in range(20):
            kept.put("query", {"n": n}, {"text": "x" * 10_000})
        aged(file, 30 * 24 * 3600.0)
        for n in range(20, 40):
            kept.put("query", {"n": n}, {"text": "x" * 10_000})
        assert kept.prune("query", at_most_s=recorded.MOST_S, most_bytes=105_000) == 30
        assert kept_kinds(kept) == {"model": 1, "query": 10}, "another kind is none of its business"
        assert kept.lookup("query", {"n": 39}) is not None
        assert kept.lookup("query", {"n": 29}) is None
    monkeypatch.setattr(recorded, "MOST_BYTES", 0)
    with FaultServer(results(SELECT_JSON)) as server:
        asked(server.url, file)
    with ResponseCache(file) as kept:
        assert kept_kinds(kept) == {"model": 1, "query": 1}


def test_where_nothing_can_be_kept_that_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"this is no database " * 300)
    told: list[str] = []
    with FaultServer(results(SELECT_JSON)) as server, ResponseCache(tmp_path / "file") as response_cache:
        graph = EndpointGraph(server.url, profile=PUBLIC, response_cache=response_cache, note=told.append)
        assert len(graph.select(SOME)) == len(graph.select(SOME)) == 2
        assert len(server.requests) == 2
    assert len([line for line in told if "results are not kept" in line]) == 1


def test_an_opened_graph_keeps_replies_unless_told_otherwise() -> None:
    with FaultServer(results(SELECT_JSON)) as server:
        for options, count in (({}, 1), ({}, 1), ({"fresh": True}, 2), ({}, 2), ({"cache": False}, 3)):
            graph = open_graph(server.url, **options)  # type: ignore[arg-type]
            assert isinstance(graph, EndpointGraph)
            graph.probe.known = graph.probe.profile = PUBLIC
            graph.select(SOME)
            assert len(server.requests) == count, options
