"""``kgsparql eval make`` as a user types it; what it writes is asked like any other dataset."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from kgsparql.cli.eval.make import make
from kgsparql.evaluation.datasets import load
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Text

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
    assert (about["licence"], about["seed"], about["rephrased_by"]) == ("that of the graph", 0, "")
    checked = run("eval", "validate", out, "-q")
    assert checked.exit_code == 0, checked.stdout
    assert "     24  reproduced  sparql" in checked.stdout


def test_the_same_seed_writes_the_same_bytes(run_make: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert run_make("-k", NOBEL, "-n", "16", "--seed", seed, "-o", tmp_path / name, "-q").exit_code == 0
    a, b, c = ((tmp_path / name / "questions.jsonl").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_a_model_rephrases_with_a_call_for_each_question(run_make: Run, tmp_path: Path) -> None:
    def script(body: dict[str, object]) -> Text:
        shown = str(body["messages"][1]["content"])  # type: ignore[index]
        name = shown.split("<name>\n")[1].split("\n", maxsplit=1)[0]
        return Text({"question": f"{name}: {len(shown)}?" if "country" in shown else "What?"})

    with ModelServer(script) as server:
        model = ("-m", "m", "--base-url", server.url)
        done = run_make("-k", NOBEL, "-n", "16", "-o", tmp_path / "made", *model)
        calls = len(server.requests)
    assert done.exit_code == 0, done.stderr
    assert calls == 16
    dataset = load(tmp_path / "made")
    changed = [question for question in dataset.questions if question.text.startswith(question.topics[0].label)]
    assert 0 < len(changed) < 16
    assert f"{len(changed)} rephrased by m with 16 calls" in done.stderr
    assert f"{16 - len(changed)} as they were" in done.stderr
    assert "compare labels" not in done.stderr


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
    assert not (tmp_path / "made").exists()


def test_no_model_is_paid_for_questions_that_have_nowhere_to_go(run_make: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with ModelServer([Text("Where was she born?")]) as server:
        done = run_make("-k", NOBEL, "-n", "8", "-m", "any", "--base-url", server.url, "-o", tmp_path / "file" / "made")
        assert server.requests == []
    assert done.exit_code == 4
    assert done.stderr.startswith(f"error: {tmp_path / 'file' / 'made'}: Not a directory")


def test_fewer_questions_than_wanted_are_said_to_be_all(run_make: Run, tmp_path: Path) -> None:
    graph = FIXTURES / "datasets" / "rivers" / "graph.ttl"
    done = run_make("-k", graph, "-n", "500", "-o", tmp_path / "made")
    assert done.exit_code == 0, done.stderr
    assert re.match(r"\d+ of 500 questions in ", done.stdout)
    assert re.search(r"\d+ of 500: .*\d+ begin at an entity that 3 questions are about already", done.stderr)
    assert "Which cities are the mouth" not in done.stdout
