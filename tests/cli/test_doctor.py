"""``kgsparql doctor`` before real servers, stores and files, well and ill."""

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kgsparql.models.embedding import has_sentence_transformers
from tests.cli.conftest import Run
from tests.endpoints.ports import free_port
from tests.model_server import Html, ModelServer, Slow, Status

FOUR = '{"answer": 4}'

pytestmark = pytest.mark.usefixtures("empty_cache")


def doctor(run: Run, *arguments: object) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and the checks by name, of a run that embeds nothing."""
    done = run("doctor", "--embedder", "none", "--timeout", "3", *arguments, "-f", "json")
    assert done.stdout, done.stderr
    return done.exit_code, {check["check"]: check for check in json.loads(done.stdout)}


def test_a_bare_run_says_what_is_here_and_what_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("doctor", "--embedder", "none")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    shown = {line[6:25].strip(): line for line in lines if line[:2] in {"ok", "--"}}
    assert list(shown)[:2] == ["kgsparql", "packages"]
    assert sys.version.split()[0] in shown["kgsparql"]
    assert importlib.metadata.version("kgsparql") in shown["kgsparql"]
    assert "openai " in shown["packages"]
    assert shown["model"].startswith("-- ")
    assert "OPENAI_API_KEY is not set" in shown["model"]
    assert "→" in lines[lines.index(shown["model"]) + 1]
    assert "--base-url" in done.stdout
    assert "FAIL" not in done.stdout
    assert done.stderr == ""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    checks = json.loads(run("doctor", "--embedder", "none", "-f", "json").stdout)
    assert [check["found"] for check in checks if check["check"] == "model"] == ["none is named; OPENAI_API_KEY is set"]
    assert {tuple(check) for check in checks} == {("check", "state", "found", "hint")}
    assert {check["state"] for check in checks} <= {"ok", "absent", "fail"}
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in {"lancedb", "torch", "sentence-transformers"}:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr("kgsparql.cli.installation.version", version)
    code, found = doctor(run)
    assert code == 1
    assert (found["packages"]["state"], found["packages"]["hint"]) == ("fail", "pip install lancedb")
    assert found["embed extra"]["state"] == "absent"
    assert "kgsparql[embed]" in found["embed extra"]["hint"]


def test_a_package_that_is_not_imported_is_a_check_that_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    code, found = doctor(run, "--base-url", "http://127.0.0.1:9/v1")
    assert (code, found["model"]["state"]) == (1, "fail")
    assert "openai" in found["model"]["hint"]


def test_an_embedder_that_would_be_downloaded_is_not(run: Run) -> None:
    if not has_sentence_transformers():
        pytest.skip("sentence-transformers is not installed")
    code, found = doctor(run, "--embedder", "nobody/has-this-model")
    assert (code, found["embedder"]["state"]) == (5, "fail")
    assert "hf download" in found["embedder"]["hint"]


def test_the_rung_of_the_ladder_is_found_by_asking_each_time_and_not_kept(run: Run, tmp_path: Path) -> None:
    with ModelServer([FOUR], schema=False, refuses=("temperature", "seed")) as server:
        for _ in range(2):
            code, found = doctor(run, "--base-url", server.url)
        assert [request.path for request in server.answered] == ["/v1/models", "/v1/chat/completions"] * 2
    assert (code, found["model"]["state"]) == (0, "ok")
    says = f"scripted-model at {server.url}: takes json_object, refuses temperature, seed; replied in"
    assert found["model"]["found"].startswith(says)
    assert not (tmp_path / "cache").exists()


def test_of_several_models_none_is_taken_and_one_that_is_not_listed_is_tried(run: Run) -> None:
    with ModelServer([FOUR], models=["one", "two"]) as server:
        code, found = doctor(run, "--base-url", server.url)
        assert (code, found["model"]["state"]) == (2, "fail")
        assert "name one with -m; it has: one, two" in found["model"]["hint"]
        code, found = doctor(run, "--base-url", server.url, "-m", "llama")
    assert (code, found["model"]["state"]) == (0, "ok")
    assert "takes json_schema" in found["model"]["found"]


def test_E01_M01_what_is_down_is_one_line_and_exit_5(run: Run) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    code, found = doctor(run, "--base-url", url, "-m", "any")
    assert (code, found["model"]["state"], url in found["model"]["found"]) == (5, "fail", True)
    assert found["model"]["hint"] == "is the server running, and is --base-url right?"
    code, found = doctor(run, "--base-url", "nonsense")
    assert code == 2
    assert "nonsense is not the URL" in found["model"]["found"]
    assert list(found)[-1] == "embedder"  # to load it takes seconds


def test_a_server_that_is_ill_fails_in_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ill: list[tuple[dict[str, Any], str, str]] = [
        ({"script": [Html()]}, "is not JSON", "/v1"), ({"script": [Status(500)] * 3}, "500", "later"),
        ({"key": "right-key"}, "401", "OPENAI_API_KEY"), ({"script": [Slow(20)]}, "no reply within 1 s", "--timeout"),
        ({"script": ["I would rather talk about the weather."]}, "weather", "another model"),
    ]  # fmt: skip
    for options, says, hint in ill:
        with ModelServer(options.pop("script", [FOUR]), **options) as server:  # named by the environment
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("KGSPARQL_MODEL", "scripted-model")
            began = time.monotonic()
            code, found = doctor(run, "--timeout", "1")
            assert time.monotonic() - began < 15
        assert (code, found["model"]["state"], says in found["model"]["found"]) == (5, "fail", True), says
        assert hint in found["model"]["hint"]
        assert "kgsparql doctor" not in found["model"]["hint"]
