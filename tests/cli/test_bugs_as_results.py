"""An error that is none of ours: a bug. What reads the output still gets a result for each question."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgsparql.cli import app
from kgsparql.knowledge_base import KnowledgeBase
from tests.conftest import FIXTURES

ASKING = ("-k", str(FIXTURES / "nobel.ttl"), "--no-model", "--embedder", "none", "-q")


@pytest.fixture(autouse=True)
def _bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking has a bug; its message names a URL with a password."""

    def fails(*_: object) -> None:
        raise KeyError("http://me:canary-word@e.org/")

    monkeypatch.setattr(KnowledgeBase, "answer", fails)


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_bug_is_an_error_in_json(debug: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["ask", "Who?", *ASKING, "-f", "json", *debug])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (found["status"], found["question"], found["error"]["code"]) == ("error", "Who?", "E_INTERNAL")
    assert ("Traceback" in done.stderr) is bool(debug)
    assert "canary" not in done.output


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_bug_costs_no_line_its_result(debug: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["ask", "-", *ASKING, "-f", "jsonl", *debug], input="Who?\nWhere?\n")
    assert done.exit_code == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["id"], line["error"]["code"]) for line in lines] == [(1, "E_INTERNAL"), (2, "E_INTERNAL")]
    assert done.stderr.count("Traceback") == 2 * len(debug)
    assert "canary" not in done.output
