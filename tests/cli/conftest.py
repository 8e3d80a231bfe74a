"""The command line, run in this process."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kgsparql.cli import app

Run = Callable[..., Result]


def told_by(done: Result) -> dict[str, Any]:
    """The JSON of an answer, without what differs between runs."""
    answer: dict[str, Any] = json.loads(done.stdout)
    for name in ("seconds", "cached_calls", "prepared"):
        del answer["usage"][name]
    return answer


@pytest.fixture
def run() -> Run:
    """A function that runs ``kgsparql`` with arguments and returns its result."""

    def invoke(*arguments: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)

    return invoke


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an embedder, whose model takes seconds to load, unless ``--embedder`` says otherwise."""
    monkeypatch.setenv("KGSPARQL_EMBEDDER", "none")


@pytest.fixture
def default_embedder(no_embedder: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the embedder that a user has who chooses none."""
    monkeypatch.delenv("KGSPARQL_EMBEDDER")
