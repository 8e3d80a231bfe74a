"""``kgsparql doctor`` before real servers, stores and files, well and ill."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql.cli._checks import certificates_check
from kgsparql.models.embedding import has_sentence_transformers
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache
from tests.cli.conftest import Run
from tests.cli.lock_holder import lock_held
from tests.conftest import FIXTURES, ROOT
from tests.endpoints.ports import free_port
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.model_server import Html, ModelServer, Slow, Status, Text

NOBEL = FIXTURES / "nobel.ttl"
FOUR = '{"answer": 4}'
Found = dict[str, dict[str, str]]
Doctor = Callable[..., tuple[int, Found]]


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "KGSPARQL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def doctor(run: Run) -> Doctor:
    """A function that gives the exit code, and the checks by name, of a run that embeds nothing."""

    def examine(*arguments: object) -> tuple[int, Found]:
        done = run("doctor", "--embedder", "none", "--timeout", "3", *arguments, "-f", "json")
        assert done.stdout, done.stderr
        return done.exit_code, {check["check"]: check for check in json.loads(done.stdout)}

    return examine


def states(found: Found) -> dict[str, str]:
    return {name: check["state"] for name, check in found.items()}


# -- The installation ---------------------------------------------------------------------------------------------


def test_a_bare_run_says_what_is_here_and_how_to_add_the_rest(run: Run) -> None:
    done = run("doctor", "--quick")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    shown = {line[6:25].strip(): line for line in lines if line[:2] in {"ok", "--"}}
    assert list(shown)[:3] == ["python", "kgsparql", "packages"]
    assert sys.version.split()[0] in shown["python"]
    assert importlib.metadata.version("kgsparql") in shown["kgsparql"]
    assert "openai " in shown["packages"]
    assert shown["model server"].startswith("-- ")
    assert "OPENAI_API_KEY is not set" in shown["model server"]
    assert "→" in lines[lines.index(shown["model server"]) + 1]
    assert "--base-url" in done.stdout
    assert "FAIL" not in done.stdout
    assert done.stderr == ""
    checks = json.loads(run("doctor", "--quick", "-f", "json").stdout)
    assert {tuple(check) for check in checks} == {("check", "state", "found", "hint")}
    assert {check["state"] for check in checks} <= {"ok", "absent", "fail"}


def test_a_missing_package_fails_and_a_missing_extra_does_not(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in {"lancedb", "torch", "sentence-transformers"}:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr("kgsparql.cli._checks.version", version)
    code, found = doctor()
    assert code == 1
    assert (found["packages"]["state"], found["packages"]["hint"]) == ("fail", "pip install lancedb")
    assert found["embed extra"]["state"] == "absent"
    assert "kgsparql[embed]" in found["embed extra"]["hint"]


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="certificates are not in files there")
def test_certificates_that_are_missing_fail_only_where_they_are_needed(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if ssl.get_default_verify_paths().cafile:
        assert certificates_check(is_needed=True).state == "ok"
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    plain, needed = certificates_check(is_needed=False), certificates_check(is_needed=True)
    assert (plain.state, plain.exit_code) == ("absent", 0)
    assert (needed.state, needed.exit_code) == ("fail", 5)
    assert "SSL_CERT_FILE" in needed.hint
    assert str(tmp_path / "none.pem") in needed.found
    assert doctor()[0] == 0
    _, found = doctor("-k", f"https://127.0.0.1:{free_port()}/sparql")
    assert states(found)["certificates"] == "fail"


def test_the_cache_is_looked_at_and_not_made(doctor: Doctor, tmp_path: Path) -> None:
    _, found = doctor()
    assert found["cache"]["state"] == "ok"
    assert "not made yet" in found["cache"]["found"]
    assert not (tmp_path / "cache").exists()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / RESPONSE_FILE).write_bytes(b"x" * 5_000)
    code, found = doctor()
    assert code == 4
    assert found["cache"]["state"] == "fail"
    assert "--clear exchanges" in found["cache"]["hint"]


def test_a_cache_that_cannot_be_made_fails(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    code, found = doctor()
    assert code == 4
    assert "KGSPARQL_CACHE_DIR" in found["cache"]["hint"]


# -- The embedder -------------------------------------------------------------------------------------------------


def test_an_embedder_on_a_server(doctor: Doctor) -> None:
    with ModelServer() as server:
        code, found = doctor("--embedder", f"{server.url}#words")
        assert [request.path for request in server.requests] == ["/v1/embeddings"]
    assert (code, found["embedder"]["state"]) == (0, "ok")
    assert "words@127.0.0.1" in found["embedder"]["found"]
    assert "16 numbers" in found["embedder"]["found"]
    code, found = doctor("--embedder", f"http://127.0.0.1:{free_port()}/v1#words")
    assert (code, found["embedder"]["state"]) == (5, "fail")


def test_an_embedder_that_would_be_downloaded_is_not(doctor: Doctor) -> None:
    if not has_sentence_transformers():
        pytest.skip("sentence-transformers is not installed")
    code, found = doctor("--embedder", "nobody/has-this-model")
    assert (code, found["embedder"]["state"]) == (0, "absent")
    assert "downloads" in found["embedder"]["hint"]


# -- The model server ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"schema": False, "json_mode": False}, "takes text; replied in"),
        ({"refuses": ("temperature", "seed")}, "takes json_schema, refuses temperature and seed; replied in"),
        ({"refuses": ("max_tokens",)}, "takes json_schema, refuses max_tokens; replied in"),
        ({"schema": False, "system": False}, "takes json_object, refuses system messages; replied in"),
    ],
)
def test_the_rung_of_the_ladder_is_found_by_asking(doctor: Doctor, options: dict[str, Any], says: str) -> None:
    with ModelServer([FOUR], **options) as server:
        code, found = doctor("--base-url", server.url)
        assert [request.path for request in server.answered] == ["/v1/models", "/v1/chat/completions"]
    assert (code, found["model server"]["state"], found["model"]["state"]) == (0, "ok", "ok")
    assert "it has scripted-model" in found["model server"]["found"]
    assert found["model"]["found"].startswith(f"scripted-model: {says}")


def test_it_really_asks_each_time_and_keeps_nothing(doctor: Doctor, tmp_path: Path) -> None:
    with ModelServer([FOUR], schema=False) as server:
        for _ in range(2):
            assert doctor("-m", "scripted-model", "--base-url", server.url)[0] == 0
        assert len([request for request in server.answered if request.body]) == 2
    assert not (tmp_path / "cache").exists()


def test_what_is_remembered_of_a_server_that_can_do_more_now_is_said(doctor: Doctor, tmp_path: Path) -> None:
    with ModelServer([FOUR]) as server:
        with ResponseCache(tmp_path / "cache" / RESPONSE_FILE) as kept:
            known = {"rung": "text", "without": [], "limit": "max_tokens", "system": True}
            kept.put("abilities", {"server": server.url, "model": "scripted-model"}, known)
        _, found = doctor("--base-url", server.url)
    assert "takes json_schema" in found["model"]["found"]
    assert "kgsparql cache --clear abilities" in found["model"]["hint"]


def test_a_schema_that_is_taken_and_not_heeded_is_said(doctor: Doctor) -> None:
    with ModelServer([f"Sure! Here it is: {FOUR}"]) as server:
        code, found = doctor("--base-url", server.url)
    assert code == 0
    assert "does not hold the model to it" in found["model"]["found"]


def test_a_model_that_cannot_reply_in_json_fails(doctor: Doctor) -> None:
    with ModelServer(["I would rather talk about the weather."]) as server:
        code, found = doctor("--base-url", server.url)
    assert (code, found["model"]["state"]) == (5, "fail")
    assert "weather" in found["model"]["found"]
    assert "kgsparql doctor" not in found["model"]["hint"]


def test_of_several_models_none_is_taken_and_a_misspelled_one_is_corrected(doctor: Doctor) -> None:
    names = [f"model-{number}" for number in range(9)]
    script = [Status(404, message="no such model")]
    with ModelServer(script, models=names) as server:
        code, found = doctor("--base-url", server.url)
        assert (code, states(found)["model"]) == (0, "absent")
        assert "model-4 … (9)" in found["model server"]["found"]
        assert "-m" in found["model"]["hint"]
        code, found = doctor("--base-url", server.url, "-m", "modle-7")
    assert (code, states(found)["model"]) == (5, "fail")
    assert "not in the server's list" in found["model"]["found"]
    assert "model-7" in found["model"]["hint"]


def test_a_model_that_is_not_listed_may_work(doctor: Doctor) -> None:
    with ModelServer([FOUR], models=["llama:latest"]) as server:
        code, found = doctor("--base-url", server.url, "-m", "llama")
    assert (code, states(found)["model"]) == (0, "ok")
    assert "llama: not in the server's list; takes json_schema" in found["model"]["found"]
    with ModelServer([FOUR], models=Status(404)) as server:  # it lists no models, and is asked all the same
        code, found = doctor("--base-url", server.url, "-m", "any")
    assert (code, states(found)["model server"], states(found)["model"]) == (0, "absent", "ok")


def test_M01_a_server_that_is_down_is_one_line_and_exit_5(doctor: Doctor) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    began = time.monotonic()
    code, found = doctor("--base-url", url, "-m", "any")
    assert time.monotonic() - began < 10
    assert (code, found["model server"]["state"]) == (5, "fail")
    assert url in found["model server"]["found"]
    assert found["model server"]["hint"] == "is the server running, and is --base-url right?"
    assert "model" not in found


@pytest.mark.parametrize(
    ("options", "says", "hint"),
    [
        ({"models": Html()}, "is not JSON", "/v1"),
        ({"models": Status(500)}, "500", "later"),
        ({"models": Slow(20)}, "no reply within 1 s", "--timeout"),
        ({"key": "right-key"}, "401", "OPENAI_API_KEY"),
    ],
)
def test_a_server_that_is_ill_fails_in_time(doctor: Doctor, options: dict[str, Any], says: str, hint: str) -> None:
    with ModelServer([FOUR], **options) as server:
        began = time.monotonic()
        code, found = doctor("--base-url", server.url, "-m", "scripted-model", "--timeout", "1")
        assert time.monotonic() - began < 15
    assert (code, found["model server"]["state"]) == (5, "fail")
    assert says in found["model server"]["found"]
    assert hint in found["model server"]["hint"]


def test_a_model_that_is_slow_fails_in_time(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Slow(20)]) as server:  # named by the environment
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("KGSPARQL_MODEL", "scripted-model")
        code, found = doctor("--timeout", "1")
    assert (code, states(found)["model server"], states(found)["model"]) == (5, "ok", "fail")
    assert "--timeout" in found["model"]["hint"]


def test_U12_the_key_is_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key-123")
    with ModelServer([Text(f"canary-key-123 {FOUR}")], models=["canary-key-123", "b"]) as server:
        for arguments in (
            ("--base-url", server.url),
            ("--base-url", server.url, "-m", "b"),
            ("--base-url", server.url, "-m", "canary-key-123", "-f", "json"),
            ("--base-url", "http://me:canary-word@127.0.0.1/v1", "--debug"),
            ("-k", f"http://me:canary-word@127.0.0.1:{free_port()}/sparql"),
            ("--embedder", "http://me:canary-word@127.0.0.1/v1#m"),
        ):
            done = run("doctor", "--embedder", "none", *arguments)
            assert "canary" not in done.stdout + done.stderr
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer canary-key-123"}
    assert "OPENAI_API_KEY is set" in run("doctor", "--embedder", "none").stdout


def test_a_package_that_cannot_be_imported_is_a_check_that_fails(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    code, found = doctor("--base-url", "http://127.0.0.1:9/v1", "-k", NOBEL)
    assert (code, states(found)["model server"], states(found)["file"]) == (1, "fail", "ok")
    assert "openai" in found["model server"]["hint"]


# -- The graph ----------------------------------------------------------------------------------------------------


def test_files_are_looked_at_and_not_read(run: Run, doctor: Doctor, tmp_path: Path) -> None:
    bad = tmp_path / "bad.nt"
    bad.write_text("this is no triple")
    odd = tmp_path / "odd.docx"
    odd.write_text("")
    code, found = doctor("-k", NOBEL)
    assert (code, found["file"]["state"]) == (0, "ok")
    assert "Turtle" in found["file"]["found"]
    assert "kgsparql info" in found["file"]["hint"]
    assert doctor("-k", bad)[0] == 0
    code, found = doctor("-k", odd)
    assert (code, found["file"]["state"]) == (4, "fail")
    assert "E_FORMAT" in found["file"]["found"]
    code, found = doctor("-k", tmp_path / "none.ttl")
    assert (code, found["file"]["state"]) == (2, "fail")
    done = run("doctor", "--embedder", "none", "-k", NOBEL, "-k", tmp_path / "none.ttl", "-k", FIXTURES)
    assert done.exit_code == 2
    assert [line[:4] for line in done.stdout.splitlines() if line[6:11] == "file "] == ["ok  ", "FAIL", "ok  "]


def test_a_store_says_its_triples_sources_writer_and_index(run: Run, doctor: Doctor, tmp_path: Path) -> None:
    store = tmp_path / "S"
    assert run("load", NOBEL, "--store", store).exit_code == 0
    triples = len(set(pyoxigraph.parse(path=str(NOBEL))))
    code, found = doctor("-k", store)
    assert (code, states(found)["store"], states(found)["label index"]) == (0, "ok", "absent")
    assert f"{triples:,} triples from {NOBEL}" in found["store"]["found"]
    assert found["store writer"]["found"] == "nobody is loading into it"
    assert not (tmp_path / "S.lock").exists()
    assert run("index", "-k", store, "--embedder", "none").exit_code == 0
    code, found = doctor("-k", store)
    assert (code, states(found)["label index"]) == (0, "ok")


def test_a_store_that_is_being_written_is_said_and_can_be_read(run: Run, doctor: Doctor, tmp_path: Path) -> None:
    store = tmp_path / "S"
    run("load", NOBEL, "--store", store)
    with lock_held(store) as holder:
        code, found = doctor("-k", store)
    assert (code, states(found)["store"], states(found)["store writer"]) == (0, "ok", "absent")
    assert f"process {holder.pid}" in found["store writer"]["found"]


def test_a_damaged_store_fails_with_4_and_an_empty_one_with_3(run: Run, doctor: Doctor, tmp_path: Path) -> None:
    store = tmp_path / "S"
    run("load", NOBEL, "--store", store)
    (store / "CURRENT").unlink()
    code, found = doctor("-k", store)
    assert (code, found["store"]["state"]) == (4, "fail")
    assert "E_STORE_CORRUPT" in found["store"]["found"]
    empty = tmp_path / "empty.nt"
    empty.write_text("")
    code, found = doctor("-k", store_of(empty, tmp_path / "E"))
    assert (code, found["store"]["state"]) == (3, "fail")
    code, found = doctor("-k", store_of(NOBEL, tmp_path / "other"))
    assert (code, "loaded by another program" in found["store"]["found"]) == (0, True)


def test_an_endpoint_is_asked(doctor: Doctor, tmp_path: Path) -> None:
    with oxigraph_serve(store_of(FIXTURES / "queries" / "people.trig", tmp_path / "S")) as url:
        code, found = doctor("-k", url)
        assert (code, states(found)["endpoint"], states(found)["named graphs"]) == (0, "ok", "ok")
        assert url in found["endpoint"]["found"]
        code, found = doctor("-k", url.removesuffix("query"))
        assert (code, states(found)["endpoint"]) == (5, "fail")
        code, found = doctor("-k", url, "-k", NOBEL)
        assert (code, states(found)["endpoint"], states(found)["file"]) == (0, "ok", "ok")


def test_E01_an_endpoint_that_is_down_is_one_line_and_exit_5(doctor: Doctor, tmp_path: Path) -> None:
    code, found = doctor("-k", f"http://127.0.0.1:{free_port()}/sparql", "--base-url", "nonsense")
    assert code == 5
    assert "E_ENDPOINT_DOWN" in found["endpoint"]["found"]
    assert found["model server"]["state"] == "fail"
    assert "nonsense is not the URL" in found["model server"]["found"]
    order = list(found)
    assert order.index("endpoint") < order.index("embedder")  # to load it takes seconds


# -- Ends ---------------------------------------------------------------------------------------------------------


def test_I14_ctrl_c_while_a_server_hangs_keeps_what_was_found() -> None:
    with ModelServer([FOUR], models=Slow(30)) as server:
        command = [sys.executable, "-m", "kgsparql", "doctor", "--embedder", "none", "--base-url", server.url]
        process = subprocess.Popen(
            command, cwd=ROOT, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        deadline = time.monotonic() + 30
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.requests
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=20)
        assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert shown.startswith(b"ok    python")
    assert b"model server" not in shown
