"""The command line, run in this process."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from kgsparql.cli import app

Run = Callable[..., Result]


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
