"""``kgsparql eval make`` and ``eval validate`` as a user types them."""

import json
import re
from pathlib import Path

from tests.cli.conftest import Run
from tests.world import FIXTURES, NOBEL

DATASETS = FIXTURES / "datasets"
RIVERS = DATASETS / "rivers" / "graph.ttl"


def test_questions_are_made_and_can_be_validated(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    done = run("eval", "make", "-k", NOBEL, "-n", "24", "-o", out)
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
    run("eval", "make", "-k", NOBEL, "-n", "24", "--seed", 6, "-o", tmp_path / "other", "-q")
    assert (tmp_path / "other" / "questions.jsonl").read_bytes() != (out / "questions.jsonl").read_bytes()


def test_fewer_questions_than_wanted_are_said_to_be_all(run: Run, tmp_path: Path) -> None:
    done = run("eval", "make", "-k", RIVERS, "-n", "500", "-o", tmp_path / "made")
    assert done.exit_code == 0, done.stderr
    assert re.match(r"\d+ of 500 questions in ", done.stdout)
    assert "no more: 3 questions of a topic, 1 to 20 answers, each in other words" in done.stderr
    assert "Which cities are the mouth" not in done.stdout


def test_what_cannot_be_made_is_said_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    (tmp_path / "empty.ttl").touch()
    for arguments, status, said in (
        (("-k", NOBEL, "-o", tmp_path / "full"), 2, "something is there already"),
        (("-k", tmp_path / "empty.ttl", "-o", tmp_path / "made"), 3, "holds no triples"),
        (("-o", tmp_path / "made"), 2, "no graph was given"),
        (("-k", NOBEL, "-o", tmp_path / "empty.ttl" / "made"), 4, "made: Not a directory"),
    ):
        done = run("eval", "make", *arguments)
        assert (done.exit_code, said in done.stderr) == (status, True), done.stderr
    assert not (tmp_path / "made").exists()


def test_what_does_not_reproduce_is_listed_with_exit_code_4(run: Run) -> None:
    done = run("eval", "validate", DATASETS / "rivers")
    assert done.exit_code == 4, done.stderr
    assert "CC0-1.0" in done.stderr
    assert "r6  different: Which rivers end in the North Sea?" in done.stdout
    assert "  missing  <https://kgsparql.example/rivers/Weser>" in done.stdout
    assert "  extra    <https://kgsparql.example/rivers/Elbe>" in done.stdout
    assert "r1" not in done.stdout
    done = run("eval", "validate", DATASETS / "rivers", "-k", NOBEL, "-q")
    assert (done.exit_code, "mentions none of the gold answers and topics" in done.stderr) == (4, True)
    done = run("eval", "validate", DATASETS / "text2sparql.yml", "-k", RIVERS, "-q")
    assert (done.exit_code, done.stderr) == (4, "")
    assert "2  refused: How long are all rivers together?" in done.stdout
    assert "XMLSchema#int> is not supported" in done.stdout


def test_problems_of_a_file_and_what_is_absent(run: Run, tmp_path: Path) -> None:
    done = run("eval", "validate", DATASETS / "table.csv", "-k", RIVERS)
    assert done.exit_code == 0, done.stdout
    assert "      2  reproduced  path" in done.stdout
    assert "table.csv:4: left out: the question is empty" in done.stderr
    for path in (tmp_path / "absent", NOBEL, tmp_path):
        done = run("eval", "validate", path, "-k", NOBEL)
        assert (done.exit_code, "hint:" in done.stderr) == (2, True)
    file = tmp_path / "some.jsonl"
    queries = {"a": "ASK { <http://e.org/a> ?p ?o }", "b": "ASK { ?s ?p ?o }"}
    lines = [json.dumps({"id": name, "question": "Is it?", "sparql": sparql}) for name, sparql in queries.items()]
    file.write_text("\n".join([*lines, *(["{}"] * 7)]), encoding="utf-8")
    done = run("eval", "validate", file, "-k", NOBEL, "-q")
    assert (done.exit_code, done.stderr) == (4, "")
    assert "      7  problems where the file was read\n" in done.stdout
    assert [line for line in done.stdout.splitlines() if "left out" in line] == [
        f"  {file}:{n}: left out: question: Field required" for n in range(3, 10)
    ]
    assert "      1  absent      sparql   " in done.stdout
    assert "      1  derived     sparql   " in done.stdout
    assert "      1  of these are about terms that are nowhere in the graph" in done.stdout
    assert "a  absent: Is it?\n  why      the graph does not mention <http://e.org/a>" in done.stdout
