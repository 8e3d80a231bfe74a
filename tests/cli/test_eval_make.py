"""``kgsparql eval make`` as a user types it; what it writes is asked like any other dataset."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from kgsparql.cli.eval.datasets import make
from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"


@pytest.fixture
def run_make() -> Run:
    """A function that runs the command alone."""
    app = typer.Typer()
    app.command()(make)

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


def test_questions_are_made_and_can_be_validated(run_make: Run, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    done = run_make("-k", NOBEL, "-n", "24", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"24 questions in {out}\n       3  1 hop  forward\n")
    assert f"kgsparql eval {out} -o RUN" in done.stderr
    assert done.stderr.count("favours methods that compare labels") == 1
    about = json.loads((out / "dataset.json").read_text(encoding="utf-8"))
    assert (out / about["graph"][0]).resolve() == NOBEL
    assert (about["licence"], about["seed"]) == ("that of the graph", 0)
    checked = run("eval", "validate", out, "-q")
    assert checked.exit_code == 0, checked.stdout
    assert "     24  reproduced  sparql" in checked.stdout


def test_the_same_seed_writes_the_same_bytes(run_make: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert run_make("-k", NOBEL, "-n", "16", "--seed", seed, "-o", tmp_path / name, "-q").exit_code == 0
    a, b, c = ((tmp_path / name / "questions.jsonl").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_what_cannot_be_done_is_said_before_anything_is_written(run_make: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("", encoding="utf-8")
    there = run_make("-k", NOBEL, "-o", tmp_path / "full")
    assert (there.exit_code, "something is there already" in there.stderr) == (2, True)
    empty = tmp_path / "empty.ttl"
    empty.write_text("", encoding="utf-8")
    nothing = run_make("-k", empty, "-o", tmp_path / "made")
    assert (nothing.exit_code, "holds no triples" in nothing.stderr) == (3, True)
    assert run_make("-o", tmp_path / "made").exit_code == 2
    (tmp_path / "file").touch()
    nowhere = run_make("-k", NOBEL, "-o", tmp_path / "file" / "made")
    assert (nowhere.exit_code, "made: Not a directory" in nowhere.stderr) == (4, True)
    assert not (tmp_path / "made").exists()


def test_fewer_questions_than_wanted_are_said_to_be_all(run_make: Run, tmp_path: Path) -> None:
    graph = FIXTURES / "datasets" / "rivers" / "graph.ttl"
    done = run_make("-k", graph, "-n", "500", "-o", tmp_path / "made")
    assert done.exit_code == 0, done.stderr
    assert re.match(r"\d+ of 500 questions in ", done.stdout)
    assert re.search(r"\d+ of 500: .*\d+ begin at an entity that 3 questions are about already", done.stderr)
    assert "Which cities are the mouth" not in done.stdout
