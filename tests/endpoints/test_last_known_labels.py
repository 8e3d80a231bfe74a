"""An endpoint that cannot be asked, beside a graph that can: entities are found by what is kept of its names."""

from __future__ import annotations

import json
import re
import shutil
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql.errors import EndpointError
from kgsparql.graphs import EndpointGraph, FederatedGraph, open_graph
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import IRI
from kgsparql.storage.lance_tables import MANIFEST
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.endpoints.faults import FaultServer, Request, reply
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Proxy, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.kept import rewrite

pytestmark = pytest.mark.usefixtures("own_cache")

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
NAMES = f"""
<http://e.org/Q1> <{LABEL}> "Zora Hurston" ; a <http://e.org/C1> .
<http://e.org/C1> <{LABEL}> "person" .
"""
BESIDE = f"""
<http://e.org/Q2> <http://e.org/shows> <http://e.org/Q1> ; <{LABEL}> "Sugar in the Raw" .
<http://e.org/shows> <{LABEL}> "film shows" .
"""
QUESTION = "Which film shows Zora Hurston?"


class Place:
    """Where an endpoint is, or is not."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/query"
        self._stores = 0

    @contextmanager
    def up(self, data: str = NAMES) -> Iterator[str]:
        """The endpoint with some data; when it is left, it is killed."""
        self._stores += 1
        file = self.directory / "names.ttl"
        file.write_text(data, encoding="utf-8")
        with oxigraph_serve(store_of(file, self.directory / f"store-{self._stores}"), port=self.port) as url:
            yield url


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    file = tmp_path / "beside.ttl"
    file.write_text(BESIDE, encoding="utf-8")
    return file


def test_E01_names_of_an_endpoint_that_is_down_are_those_that_were_kept(
    run: Run, place: Place, beside: Path, tmp_path: Path
) -> None:
    both = ("-k", place.url, "-k", beside, "--embedder", "none")
    before = run("ask", QUESTION, *both, "--no-model")
    assert before.exit_code != 0 or "Sugar in the Raw" not in before.stdout
    assert f"{place.url}: no connection" in before.stdout + before.stderr
    with place.up():
        assert run("find", "Zora", "-k", place.url, "--embedder", "none").exit_code == 0
    asked = run("ask", QUESTION, *both, "--no-model")
    assert asked.exit_code == 5, asked.stderr
    assert "partial · " in asked.stdout
    assert "'Zora Hurston' → Zora Hurston <http://e.org/Q1>" in asked.stdout
    assert "Sugar in the Raw" in asked.stdout
    told = [line.strip() for line in asked.stdout.splitlines() if "it could not be asked" in line]
    assert len(told) == 1
    assert told[0].startswith(f"names of {place.url} are those of 20")
    assert "names that only it knows" not in asked.output
    found = run("find", "Zora", *both)
    assert (found.exit_code, "Zora Hurston" in found.stdout) == (0, True), found.stderr


def test_E01_a_single_endpoint_that_is_down_is_what_is_said_whatever_is_kept(
    run: Run, place: Place, tmp_path: Path
) -> None:
    with place.up():
        assert run("find", "Zora", "-k", place.url, "--embedder", "none").exit_code == 0
    for command in (("ask", QUESTION, "--no-model"), ("find", "Zora"), ("find", "Zora", "-k", Place(tmp_path).url)):
        done = run(*command, "-k", place.url, "--embedder", "none")
        assert done.stdout == ""
        assert done.exit_code == 5
        assert "error: http://127.0.0.1:" in done.stderr
        assert "no connection" in done.stderr
        assert "are those of" not in done.stderr


def test_of_several_indexes_that_are_kept_the_last_counts(run: Run, place: Place, beside: Path, tmp_path: Path) -> None:
    others = {
        "newer": '{"version": 99}',
        "broken": "{",
        "other": '{"version": 1}',
        "no recipe": json.dumps({"version": 1, "account": EndpointGraph(place.url).account}),
    }
    for name, text in others.items():
        manifest = tmp_path / "cache" / "labels" / name / MANIFEST
        manifest.parent.mkdir(parents=True)
        manifest.write_text(text, encoding="utf-8")
    for data in (NAMES, NAMES + f'<http://e.org/Q1> <{LABEL}> "Zora Neale" .'):
        with place.up(data):
            assert run("find", "Zora", "-k", place.url, "--embedder", "none").exit_code == 0
    found = run("find", "Zora Neale", "-k", place.url, "-k", beside, "--embedder", "none")
    assert found.exit_code == 0, found.stderr
    assert "Zora Neale" in found.stdout
    for file in (tmp_path / "cache" / "labels").glob(f"*/{MANIFEST}"):
        if file.parent.name not in others:  # a manifest that says something odd about when it was made
            rewrite(file, json.loads(file.read_text()) | {"read": "\x1b[31mred"})
    found = run("find", "Zora", "-k", place.url, "-k", beside, "--embedder", "none")
    assert (found.exit_code, "Zora Hurston" in found.stdout) == (0, True), found.stderr
    assert "\x1b" not in found.stderr
    assert "could not be asked" in found.stderr


def test_a_slice_stands_in_for_an_endpoint_that_is_down(place: Place, beside: Path) -> None:
    profile = EndpointProfile(is_public=True, has_many_labels=True)
    with place.up():
        KnowledgeBase(EndpointGraph(place.url, profile=profile), embedder="none").indexes.build_slice(
            [IRI("http://e.org/C1")], limit=5
        )
    notes: list[str] = []
    graph = FederatedGraph([EndpointGraph(place.url, profile=profile), open_graph(str(beside))])
    answer = KnowledgeBase(graph, embedder="none", note=notes.append).ask(QUESTION)
    assert [link.term.value for link in answer.linked] == ["http://e.org/Q1"]
    assert [found.label for found in answer.answers] == ["Sugar in the Raw"]
    assert f"names of {place.url} are those of 1 of <http://e.org/C1>: it could not be asked" in answer.notes
    assert (answer.status, notes) == ("partial", [])


def test_names_that_cannot_be_looked_up_do_not_keep_those_of_other_graphs_back(place: Place, beside: Path) -> None:
    profile = EndpointProfile(has_union=True, has_many_labels=True)
    refusal = sends(reply(b"no", status="400 Bad Request", type="text/plain"))

    def opened(url: str, notes: list[str]) -> KnowledgeBase:
        graph = FederatedGraph([EndpointGraph(url, profile=profile), open_graph(str(beside))])
        return KnowledgeBase(graph, embedder="none", note=notes.append)

    with place.up(), Proxy(place.url, lambda request: refusal if "VALUES ?label" in request.query else None) as proxy:
        answer = opened(proxy.url, []).ask("What does Sugar in the Raw show?")
        (note,) = [note for note in answer.notes if "names were not looked up" in note]
        assert note.startswith(proxy.url)
        assert [link.term.value for link in answer.linked] == ["http://e.org/Q2"]
        assert [found.term.value for found in answer.answers] == ["http://e.org/Q1"]
    notes: list[str] = []
    alone = FederatedGraph([EndpointGraph(url, profile=profile) for url in (place.url, Place(beside.parent).url)])
    with pytest.raises(EndpointError, match=re.escape(place.url)):
        KnowledgeBase(alone, embedder="none").find("Sugar in the Raw")
    found = opened(place.url, notes).find("Sugar in the Raw")
    assert [entity.term.value for entity in found] == ["http://e.org/Q2"]
    assert [note for note in notes if "no connection" in note and "names were not looked up" in note]


def test_a_recording_made_with_kept_names_is_replayed_without_the_cache(
    run: Run, place: Place, beside: Path, tmp_path: Path
) -> None:
    with place.up():
        assert run("find", "Zora", "-k", place.url, "--embedder", "none").exit_code == 0
    command = ("ask", QUESTION, "-k", place.url, "-k", beside, "--embedder", "none", "--no-model", "-f", "json")
    recorded = run(*command, "--record", tmp_path / "snapshot")
    assert recorded.exit_code == 5, recorded.stderr
    assert '"http://e.org/Q1"' in recorded.stdout or "<http://e.org/Q1>" in recorded.stdout
    shutil.rmtree(tmp_path / "cache")
    replayed = run(*command, "--replay", tmp_path / "snapshot")
    assert (replayed.exit_code, replayed.stdout) == (5, recorded.stdout), replayed.stderr
    assert "are those of" in replayed.stdout


def test_names_that_need_a_password_are_for_nobody_else(beside: Path) -> None:
    store = pyoxigraph.Store()
    store.load(NAMES.encode(), pyoxigraph.RdfFormat.TURTLE)
    right = b64encode(b"me:secret-word").decode()
    is_up = True

    def behave(sock: socket.socket, request: Request) -> None:
        if not is_up:
            sock.sendall(reply(b"down", status="500 Internal Server Error", type="text/plain"))
        elif request.headers.get("authorization") != f"Basic {right}":
            sock.sendall(reply(b"no", status="401 Unauthorized", type="text/plain"))
        else:
            found = store.query(request.query)
            sock.sendall(reply(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b""))

    def found(who: str, notes: list[str], **options: Any) -> list[str]:
        profile = EndpointProfile(has_union=True, **options)
        graph = EndpointGraph(server.url.replace("//", f"//{who}"), profile=profile)
        knowledge = KnowledgeBase(FederatedGraph([graph, open_graph(str(beside))]), embedder="none", note=notes.append)
        return [entity.label for entity in knowledge.find("Zora")]

    with FaultServer(behave) as server:
        mine, many = (
            server.url.replace("//", "//me:secret-word@"),
            EndpointProfile(has_union=True, has_many_labels=True),
        )
        assert KnowledgeBase(EndpointGraph(mine), embedder="none").find("Zora")
        KnowledgeBase(EndpointGraph(mine, profile=many), embedder="none").indexes.build_slice(
            [IRI("http://e.org/C1")], limit=5
        )
        for who in ("", "me:wrong-word@"):
            notes: list[str] = []
            assert found(who, notes) == []
            assert "access refused (401)" in notes[0]
        is_up = False
        for options in ({}, {"has_many_labels": True}):
            assert found("", notes := [], **options) == []
            assert found("you:secret-word@", [], **options) == []
        assert found("me:secret-word@", notes := []) == ["Zora Hurston"]
        assert [note for note in notes if "could not be asked" in note]


def test_a_slice_of_other_label_predicates_is_another(place: Place) -> None:
    by_label = EndpointProfile(has_union=True, has_many_labels=True)
    by_caption = replace(by_label, label_predicates=(IRI("http://e.org/caption"),))
    with place.up(NAMES + '<http://e.org/Q1> <http://e.org/caption> "Miss Hurston of Eatonville" .') as url:
        first, other = (
            KnowledgeBase(EndpointGraph(url, profile=profile), embedder="none") for profile in (by_label, by_caption)
        )
        built = first.indexes.build_slice([IRI("http://e.org/C1")], limit=5)
        assert built.rows == 1
        assert other.indexes.index.rows == 0, "nothing was read by those predicates"
        other.indexes.build_slice([IRI("http://e.org/C1")], limit=5)
        again = KnowledgeBase(EndpointGraph(url, profile=by_caption), embedder="none")
        assert [entity.label for entity in again.find("Eatonville")] == ["Miss Hurston of Eatonville"]
        assert again.indexes.index.directory is not None
        assert again.indexes.index.directory != built.directory
        manifest = json.loads((again.indexes.index.directory / MANIFEST).read_text())
        assert "http://e.org/caption" in manifest["recipe"]
