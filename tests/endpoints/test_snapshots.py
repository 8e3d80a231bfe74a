"""Runs that are recorded and run again with nobody to ask: the same bytes, and not one socket."""

import html
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql.budget import Budget
from kgsparql.cli import app
from kgsparql.errors import BudgetExceededError, KgsparqlError, OptionError, SnapshotError, StoreError
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.snapshots import Snapshot
from kgsparql.rdf.query import Query
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.conftest import FIXTURES, ROOT
from tests.deep import deep
from tests.endpoints.faults import JSON, SELECT_JSON, FaultServer, reply, results
from tests.endpoints.ports import free_port
from tests.model_server import ModelServer, Status
from tests.scripted import Player

NOBEL = FIXTURES / "nobel.ttl"
FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"
SOME = Query("some", "SELECT ?s ?n WHERE { ?s ?p ?n }")

_FORBIDDEN = {"socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.bind", "socket.sendto"}
_is_offline = threading.Event()


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: while nobody may be asked, a socket of the internet, or asking for a name, is an error."""
    if event.startswith("socket.") and _is_offline.is_set():
        family = arguments[1] if event == "socket.__new__" else None
        if event in _FORBIDDEN or family in {socket.AF_INET, socket.AF_INET6}:
            raise RuntimeError(f"{event} {arguments}")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stdout: bytes
    stderr: bytes


@pytest.fixture(scope="module", autouse=True)
def _audited() -> None:
    sys.addaudithook(_watch)  # hooks cannot be removed: this one does nothing outside `offline`


def offline(*arguments: object, cache: Path) -> Done:
    """A command that fails where it opens a socket of the internet, or asks for a name; with a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGSPARQL_CACHE_DIR", str(cache))
        patch.delenv("OPENAI_API_KEY", raising=False)
        _is_offline.set()
        try:
            done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        finally:
            _is_offline.clear()
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return Done(1, done.stdout_bytes, f"{done.stderr}{done.exception!r}".encode())
    return Done(done.exit_code, done.stdout_bytes, done.stderr_bytes)


def in_another_process(*arguments: object, cache: Path) -> Done:
    """A command in a process of its own, which is not watched, and whose way to a server leads nowhere."""
    nobody = {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    environment = {**os.environ, **nobody, "KGSPARQL_CACHE_DIR": str(cache)}
    environment.pop("OPENAI_API_KEY", None)
    command = [sys.executable, "-m", "kgsparql", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=240, cwd=ROOT)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache directory that nothing is in yet."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_guard_of_these_tests_sees_a_socket(tmp_path: Path, cache: Path) -> None:
    own = "http://127.0.0.1:13/sparql"  # the limiter of a port that other tests wore out would not ask again
    done = offline("ask", FEYNMAN, "-k", own, "--embedder", "none", cache=cache)
    assert done.returncode != 0
    assert b"socket." in done.stderr


@pytest.mark.parametrize("method", ["mindmap", deep("think_on_graph")])
def test_a_question_is_replayed_without_a_socket_to_the_same_bytes(
    run: Run, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, method: str, nobel_url: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-a-test")
    snapshot = tmp_path / "snapshot"
    with ModelServer(Player()) as server:
        asked = ["ask", FEYNMAN, "-k", nobel_url, "-r", method, "-m", "m", "--base-url", server.url, "-f", "json"]
        asked += ["--embedder", f"{server.url}#small", "--prices", "1,2"]
        recorded = run(*asked, "--record", snapshot)
        assert recorded.exit_code in {0, 3}, recorded.stderr
        assert {request.path for request in server.requests} == {"/v1/chat/completions", "/v1/embeddings"}
    usage = json.loads(recorded.stdout)["usage"]
    assert usage["seconds"] > 0
    assert usage["model_calls"] > 0
    for is_cold in (False, True):
        if is_cold:
            shutil.rmtree(snapshot / "cache")
        replay = offline if is_cold else in_another_process
        replayed = replay(*asked, "--replay", snapshot, cache=tmp_path / f"other {is_cold}")
        assert (replayed.returncode, replayed.stdout) == (recorded.exit_code, recorded.stdout_bytes), replayed.stderr
    other = offline(*asked, "--replay", snapshot, "-O", "max_hops=1", cache=cache)
    assert other.returncode in {0, 2, 3, 5}


def test_a_question_that_was_not_recorded_is_a_clear_error(
    run: Run, tmp_path: Path, cache: Path, nobel_url: str
) -> None:
    snapshot = tmp_path / "snapshot"
    asked = ("-k", nobel_url, "--embedder", "none", "-q")
    assert run("ask", FEYNMAN, *asked, "--record", snapshot).exit_code == 0
    done = offline("ask", "Where was Marie Curie born?", *asked, "--replay", snapshot, cache=cache)
    assert done.returncode == 5
    assert done.stdout == b""
    said = done.stderr.decode()
    assert "E_REPLAY" in said
    assert f"not recorded in {snapshot}: a query that this run needs, to " in said
    assert nobel_url in said
    assert f"--record {snapshot} in place of --replay {snapshot}" in said
    (recorded,) = json.loads((snapshot / "manifest.json").read_text())["runs"]
    assert (recorded["command"], recorded["asked"]["question"], recorded["asked"]["kg"]) == (
        "ask",
        FEYNMAN,
        [nobel_url],
    )
    none = run("ask", FEYNMAN, *asked, "--replay", tmp_path / "nothing here")
    assert (none.exit_code, "no snapshot" in none.stderr) == (2, True)
    both = run("ask", FEYNMAN, *asked, "--replay", snapshot, "--record", snapshot)
    assert both.exit_code == OptionError.exit_code


@pytest.mark.parametrize("form", ["--kg={}", "-k{}", "-k {}"])
def test_U12_a_password_is_kept_in_no_manifest_however_it_was_typed(
    form: str, run: Run, tmp_path: Path, cache: Path
) -> None:
    snapshot, password = tmp_path / "snapshot", "p'a\"ssword1"
    address = f"http://127.0.0.1:{free_port()}/sparql"
    secret = address.replace("http://", f"http://me:{password}@")
    first = run("ask", FEYNMAN, *form.format(secret).split(" "), "--embedder=none", "-fjson", "--record", snapshot)
    assert first.exit_code == 5
    again = run("ask", "Who else?", "-k", secret, "--embedder", "none", "--replay", snapshot)
    manifest = json.loads((snapshot / "manifest.json").read_text())
    assert "ssword1" not in (snapshot / "manifest.json").read_text() + first.stderr + again.stderr
    assert manifest["runs"][0]["asked"]["kg"] == [address]


def test_recording_again_adds_to_a_snapshot(run: Run, tmp_path: Path, cache: Path, nobel_url: str) -> None:
    snapshot, questions = tmp_path / "snapshot", (FEYNMAN, "Where was Marie Curie born?")
    asked = ("-k", nobel_url, "--embedder", "none", "-f", "json")
    recorded = [run("ask", question, *asked, "--record", snapshot).stdout_bytes for question in questions]
    for question, bytes_ in zip(questions, recorded, strict=True):
        assert offline("ask", question, *asked, "--replay", snapshot, cache=cache).stdout == bytes_
    manifest = json.loads((snapshot / "manifest.json").read_text())
    assert [entry["asked"]["question"] for entry in manifest["runs"]] == list(questions)
    assert all(list(entry["graphs"]) == [nobel_url] and entry["versions"]["kgsparql"] for entry in manifest["runs"])


@pytest.mark.parametrize(
    "command",
    [
        ("find", "Curie", "--embedder", "none"),
        ("show", "Marie Curie"),
        ("paths", "Marie Curie", "Albert Einstein"),
        ("query", "SELECT ?s WHERE { ?s a ?c } ORDER BY ?s LIMIT 5", "-f", "json"),
        ("info", "-f", "json"),
        ("ask", "What is the wizard of Oz?", "--embedder", "none", "-f", "json"),
    ],
    ids=" ".join,
)
def test_looking_around_is_replayed(
    run: Run, tmp_path: Path, cache: Path, command: tuple[str, ...], nobel_url: str
) -> None:
    snapshot = tmp_path / "snapshot"
    recorded = run(*command, "-k", nobel_url, "--record", snapshot)
    assert recorded.stdout_bytes
    replayed = offline(*command, "-k", nobel_url, "--replay", snapshot, cache=cache)
    assert (replayed.returncode, replayed.stdout) == (recorded.exit_code, recorded.stdout_bytes), replayed.stderr


def files_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(directory.rglob("*.jsonl")) if file.parent.name != "events"}


@pytest.mark.parametrize("with_model", [True, False])
def test_a_run_of_an_evaluation_is_replayed(
    run: Run, tmp_path: Path, cache: Path, with_model: bool, nobel_url: str
) -> None:
    snapshot = tmp_path / "snapshot"
    with ModelServer(Player()) as server:
        asked = ["eval", FIXTURES / "nobel_questions.jsonl", "-k", nobel_url, "-r", "mindmap,think_on_graph"]
        asked += ["--limit", "3", "--workers", "4", "--embedder", "none"]
        asked += ["-m", "m", "--base-url", server.url] if with_model else ["--no-model"]
        recorded = run(*asked, "-o", tmp_path / "first", "--record", snapshot)
        assert recorded.exit_code == 0, recorded.stderr
    replayed = offline(*asked, "-o", tmp_path / "second", "--replay", snapshot, cache=tmp_path / "other")
    assert replayed.returncode == 0, replayed.stderr.decode()
    first, second = files_of(tmp_path / "first"), files_of(tmp_path / "second")
    assert set(first) == {"questions.jsonl", "mindmap.jsonl", "think_on_graph.jsonl"}
    assert first == second
    records = [json.loads(line) for line in first["mindmap.jsonl"].splitlines()]
    assert len(records) == 3
    assert all(record["error"] is None and record["measured"]["seconds"] > 0 for record in records)
    configs = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("first", "second")]
    clocks = dict.fromkeys(("began", "ended", "sha256"))
    assert configs[0] | clocks == configs[1] | clocks


@pytest.mark.parametrize("is_query", [False, True])
def test_local_graphs_are_not_recorded_but_known_by_their_hash(
    run: Run, tmp_path: Path, cache: Path, is_query: bool, nobel_url: str
) -> None:
    """Also beside an endpoint, and where the model fails: it fails again."""
    graph, snapshot = tmp_path / "graph.ttl", tmp_path / "snapshot"
    shutil.copy(NOBEL, graph)
    with ModelServer(lambda _: Status(500, message="out of order")) as server:
        asked = ["query", "SELECT ?s WHERE { ?s a ?c } ORDER BY ?s LIMIT 5", "-k", graph, "-f", "json"]
        if not is_query:
            asked = ["ask", FEYNMAN, "-k", graph, "-k", nobel_url, "-r", "mindmap", "-m", "m", "--base-url", server.url]
            asked += ["--embedder", "none", "-f", "json"]
        recorded = run(*asked, "--record", snapshot)
    assert recorded.exit_code == 0, recorded.stderr
    assert is_query or "out of order" in recorded.stdout
    replayed = offline(*asked, "--replay", snapshot, cache=cache)
    assert (replayed.returncode, replayed.stdout) == (recorded.exit_code, recorded.stdout_bytes), replayed.stderr
    (run_there,) = json.loads((snapshot / "manifest.json").read_text())["runs"]
    hashes = {name: bool(own) for name, own in run_there["graphs"].items()}
    assert hashes == {str(graph): True} | ({} if is_query else {nobel_url: False})
    with graph.open("a") as file:
        file.write("<http://e.org/new> a <http://e.org/Thing> .\n")
    changed = offline(*asked, "--replay", snapshot, cache=cache)
    assert changed.returncode == SnapshotError.exit_code
    assert b"is not as it was recorded" in changed.stderr


def test_U12_no_secret_is_in_any_file_of_a_snapshot(
    run: Run, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, nobel_url: str
) -> None:
    password, key, contact, api_key = "canary-pass-1", "canary-key-2", "canary-contact-3@example.org", "canary-sk-4"
    monkeypatch.setenv("OPENAI_API_KEY", api_key)
    monkeypatch.setenv("KGSPARQL_CONTACT", contact)
    snapshot = tmp_path / "snapshot"

    def echoes(_: Any) -> Status:
        return Status(401, message=f"no such key: {api_key}")

    def refuses(sock: Any, request: Any) -> None:
        said = f"{password} {key} {request.headers}".encode()
        sock.sendall(reply(said, status="500 Internal Server Error", type="text/plain"))

    with ModelServer(echoes) as server:
        with FaultServer(refuses, looking=True) as broken:
            for address in (nobel_url, broken.url):
                named = address.replace("http://", f"http://me:{password}@") + f"?apikey={key}"
                asked = ("-k", named, "-m", "m", "--base-url", server.url, "--embedder", f"{server.url}#small")
                run("ask", FEYNMAN, *asked, "-r", "mindmap", "--record", snapshot)
        assert broken.requests
        assert server.requests
    files = [file for file in snapshot.rglob("*") if file.is_file()]
    assert {"manifest.json", "exchanges.sqlite"} <= {file.name for file in files}
    for file in files:
        for secret in (password, key, contact, api_key, b64encode(f"me:{password}".encode()).decode()):
            assert secret.encode() not in file.read_bytes(), f"{secret} in {file.name}"


def with_credentials(url: str, credentials: str) -> str:
    return url.replace("http://", f"http://{credentials}@")


def graph_in(snapshot: Snapshot, url: str, **options: Any) -> EndpointGraph:
    return EndpointGraph(url, recording=snapshot.recording, **options)


def outcome(graph: EndpointGraph, query: Query = SOME) -> object:
    """The solutions of a query, or everything an error says."""
    try:
        return graph.select(query, timeout_s=5.0)
    except KgsparqlError as error:
        return type(error), error.to_json()


WORDS = "pa$$ wo/rd&1"
ENCODED = b64encode(f"me:{WORDS}".encode()).decode()
SAID = f"me@contact.example? Authorization: Basic {ENCODED}; {WORDS} {quote(WORDS, safe='')} {html.escape(WORDS)}"


@pytest.mark.parametrize(
    ("status", "type_", "body"),
    [
        ("429 Too Many Requests", "text/plain", SAID),
        ("401 Unauthorized", "text/plain", SAID),
        ("500 Internal Server Error", "application/json", json.dumps({"error": SAID})),
        ("200 OK", "text/plain", SAID),
        ("200 OK", JSON, SAID),
        ("200 OK", JSON, json.dumps({"error": SAID})),
    ],
)
def test_U12_what_a_server_repeats_of_who_asks_is_neither_shown_nor_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, type_: str, body: str
) -> None:
    monkeypatch.setenv("KGSPARQL_CONTACT", "me@contact.example")
    secrets = (WORDS, ENCODED, quote(WORDS, safe=""), html.escape(WORDS), "me@contact.example")
    answer = results(body.encode(), status=status, type=type_, headers=["Retry-After: 500"])
    with FaultServer(answer) as other, FaultServer(answer) as server:
        live = outcome(EndpointGraph(with_credentials(other.url, f"me:{quote(WORDS, safe='')}")))
        url = with_credentials(server.url, f"me:{quote(WORDS, safe='')}")
        with Snapshot(tmp_path, "write") as snapshot:
            snapshot.about_graph(graph_in(snapshot, url))
            recorded = outcome(graph_in(snapshot, url))
    with Snapshot(tmp_path, "only") as snapshot:
        assert outcome(graph_in(snapshot, url)) == recorded
    for told in (live, recorded):
        assert "***" in str(told), "the server's words are shown"
        assert not [secret for secret in secrets if secret in str(told)]
    for file in tmp_path.rglob("*"):
        held = file.read_bytes() if file.is_file() else b""
        assert not [secret for secret in secrets if secret.encode() in held], file


def another_each_time() -> Any:
    """The same result, but for a number that counts the replies."""
    numbers = iter(range(1, 100))

    def behave(sock: Any, request: Any) -> None:
        results(SELECT_JSON.replace(b'"value":"1"', b'"value":"%d"' % next(numbers)))(sock, request)

    return behave


def test_each_user_of_an_endpoint_is_told_what_was_told_to_them(tmp_path: Path) -> None:
    def asked(snapshot: Snapshot, urls: list[str]) -> list[str]:
        graphs = [graph_in(snapshot, url) for url in urls]
        snapshot.about_graph(graphs[0])
        return [str(graph.select(SOME)[0]["n"].value) for graph in graphs]  # type: ignore[union-attr]

    with FaultServer(another_each_time()) as server:
        urls = [with_credentials(server.url, "alice:pw-of-alice"), with_credentials(server.url, "bobby:pw-of-bobby")]
        urls += [f"{server.url}?key=key-of-carol", f"{server.url}?key=key-of-diana", server.url]
        with Snapshot(tmp_path, "write") as snapshot:
            recorded = asked(snapshot, [*urls, urls[0]])
    assert recorded == ["1", "2", "3", "4", "5", "1"]
    with Snapshot(tmp_path, "only") as snapshot:
        assert asked(snapshot, [*urls, urls[0]]) == recorded
    with Snapshot(tmp_path, "only") as snapshot:
        assert asked(snapshot, [server.url]) == ["1"], "who has the snapshot needs no credentials"
    for name in ("alice", "bobby", "carol", "diana"):
        assert name.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_password_that_is_a_word_of_the_graph_changes_no_term(tmp_path: Path) -> None:
    body = SELECT_JSON.replace(b"http://e.org/a", b"http://e.org/dbpedia/a")
    with FaultServer(results(body)) as server:
        url = with_credentials(server.url, "dbpedia:dbpedia")
        with Snapshot(tmp_path, "write") as snapshot:
            snapshot.about_graph(graph_in(snapshot, url))
            recorded = graph_in(snapshot, url).select(SOME)
    assert recorded[0]["s"] == ox.NamedNode("http://e.org/dbpedia/a")
    with Snapshot(tmp_path, "only") as snapshot:
        assert graph_in(snapshot, url).select(SOME) == recorded


@pytest.mark.parametrize("said", ["key-4711-x", b64encode(b"me:pass").decode()])
def test_results_that_repeat_credentials_are_refused_and_not_kept(tmp_path: Path, said: str) -> None:
    body = SELECT_JSON.replace(b'"value":"1"', b'"value":"%s"' % said.encode())
    with FaultServer(results(body)) as server, Snapshot(tmp_path, "write") as snapshot:
        url = with_credentials(server.url, "me:pass") + "?apikey=key-4711-x"
        graph = graph_in(snapshot, url)
        snapshot.about_graph(graph)
        with pytest.raises(StoreError, match="repeat the password, or the key") as caught:
            graph.select(SOME)
        assert said not in str(caught.value.to_json())
        assert len(EndpointGraph(url).select(SOME)) == 2, "who does not record is told all"
    assert said.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_what_failed_fails_again_and_as_often(tmp_path: Path) -> None:
    behaviours = iter(
        [
            results(b"sorry", status="500 Internal Server Error", type="text/plain"),
            results(b"<html>busy</html>", status="403 Forbidden", type="text/html"),
            results(b"", status="429 Too Many Requests", headers=["Retry-After: 86400"]),
            results(SELECT_JSON[:40]),
        ]
    )

    def behave(sock: Any, request: Any) -> None:
        next(behaviours, lambda *_: None)(sock, request)

    with FaultServer(behave) as server:
        url = server.url
        with Snapshot(tmp_path, "write") as snapshot:
            graph = graph_in(snapshot, url)
            snapshot.about_graph(graph)
            first = [outcome(graph) for _ in range(3)]
    assert all(isinstance(one, tuple) for one in first)
    with Snapshot(tmp_path, "only") as snapshot:
        graph = graph_in(snapshot, url)
        assert [outcome(graph) for _ in range(3)] == first
        assert [outcome(graph) for _ in range(2)] == first[-1:] * 2, "asked more often than it was recorded"


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2, 0.5])
def test_a_question_whose_time_was_over_ends_at_the_same_place(
    tmp_path: Path, cache: Path, nobel_url: str, seconds: float
) -> None:
    def asked(snapshot: Snapshot) -> object:
        knowledge = kgsparql.open(nobel_url, embedder="none", snapshot=snapshot)
        try:
            made = knowledge.ask(FEYNMAN, retriever="think_on_graph", budget=Budget(max_seconds=seconds))
        except BudgetExceededError as error:
            return error.to_json()
        return kgsparql.answer_to_json(made)

    with Snapshot(tmp_path / "snapshot", "write") as snapshot:
        recorded = asked(snapshot)
    with Snapshot(tmp_path / "snapshot", "only") as snapshot:
        assert json.dumps(asked(snapshot), default=str) == json.dumps(recorded, default=str)


def test_an_index_that_was_made_before_is_part_of_the_snapshot(
    run: Run, tmp_path: Path, cache: Path, nobel_url: str
) -> None:
    snapshot = tmp_path / "snapshot"
    assert run("index", "-k", nobel_url, "--embedder", "none").exit_code == 0
    asked = ("ask", FEYNMAN, "-k", nobel_url, "--embedder", "none", "-f", "json")
    plain = json.loads(run(*asked).stdout)
    recorded = run(*asked, "--record", snapshot)
    assert json.loads(recorded.stdout)["answers"] == plain["answers"]
    shutil.rmtree(cache)
    replayed = offline(*asked, "--replay", snapshot, cache=tmp_path / "empty")
    assert replayed.stdout == recorded.stdout_bytes, replayed.stderr
    assert not (tmp_path / "empty").exists(), "nothing of it comes from, or goes to, the cache directory"


def test_a_manifest_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(SnapshotError, match="not the manifest"):
        Snapshot(tmp_path, "only")
    (tmp_path / "manifest.json").write_text('{"format": 99, "runs": []}')
    with pytest.raises(SnapshotError, match="format 99"):
        Snapshot(tmp_path, "write")
