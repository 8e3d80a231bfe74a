"""``kgsparql eval validate`` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.conftest import FIXTURES

DATASETS = FIXTURES / "datasets"


def test_a_dataset_that_reproduces_ends_well(run: Run) -> None:
    done = run("eval", "validate", FIXTURES / "nobel_questions.jsonl", "-k", FIXTURES / "nobel.ttl")
    assert done.exit_code == 0, done.stderr
    assert "40 questions" in done.stdout
    assert "     40  reproduced  path " in done.stdout
    assert "no licence information" in done.stderr


def test_what_does_not_reproduce_is_listed_with_exit_code_4(run: Run) -> None:
    done = run("eval", "validate", DATASETS / "rivers")
    assert done.exit_code == 4, done.stderr
    assert "CC0-1.0" in done.stderr
    assert "r6  different: Which rivers end in the North Sea?" in done.stdout
    assert "  missing  <https://kgsparql.example/rivers/Weser>" in done.stdout
    assert "  extra    <https://kgsparql.example/rivers/Elbe>" in done.stdout
    assert "r1" not in done.stdout


def test_refused_queries_are_named_with_why_and_what_to_write(run: Run) -> None:
    graph = DATASETS / "rivers" / "graph.ttl"
    done = run("eval", "validate", DATASETS / "text2sparql.yml", "-k", graph, "-q")
    assert (done.exit_code, done.stderr) == (4, "")
    assert "rv-2  refused: How long are all rivers together?" in done.stdout
    assert "XMLSchema#int> is not supported" in done.stdout
    less = run("eval", "validate", DATASETS / "text2sparql.yml", "-k", graph, "-q", "--limit", "1")
    assert "… 1 more" in less.stdout


def test_another_graph_is_said_to_be_one(run: Run) -> None:
    done = run("eval", "validate", DATASETS / "rivers", "-k", FIXTURES / "nobel.ttl", "-q")
    assert done.exit_code == 4
    assert "mentions none of the gold answers and topics" in done.stderr


def test_columns_and_what_is_wrong_with_them(run: Run) -> None:
    graph = ("-k", DATASETS / "rivers" / "graph.ttl")
    columns = "question=Frage,answers=Antworten,topics=Thema,path=Weg,id=Nr"
    done = run("eval", "validate", DATASETS / "table.csv", *graph, "--columns", columns)
    assert done.exit_code == 0, done.stdout
    assert "      2  reproduced  path" in done.stdout
    assert "table.csv:4: left out: the question is empty" in done.stderr
    wrong = run("eval", "validate", DATASETS / "table.csv", *graph, "--columns", "question=Q")
    assert wrong.exit_code == 2
    assert "the columns are: Nr, Frage, Antworten, Thema, Weg" in wrong.stderr


def test_every_problem_of_the_file_is_listed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    good = json.dumps({"id": "a", "question": "Is it?", "sparql": "ASK { ?s ?p ?o }"})
    file.write_text("\n".join([good, *(["{}"] * 7)]), encoding="utf-8")
    done = run("eval", "validate", file, "-k", FIXTURES / "nobel.ttl", "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "      7  problems where the file was read\n" in done.stdout
    assert [line for line in done.stdout.splitlines() if "left out" in line] == [
        f"  {file}:{n}: left out: question: Field required" for n in range(2, 9)
    ]


def test_files_that_are_no_dataset_end_with_2(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "absent", FIXTURES / "nobel.ttl", tmp_path):
        done = run("eval", "validate", path, "-k", FIXTURES / "nobel.ttl")
        assert done.exit_code == 2, done.stderr
        assert "hint:" in done.stderr


def test_what_follows_only_from_what_a_graph_lacks_is_absent(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    queries = {"a": "ASK { <http://e.org/a> ?p ?o }", "b": "ASK { ?s ?p ?o }"}
    lines = [json.dumps({"id": name, "question": "Is it?", "sparql": sparql}) for name, sparql in queries.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run("eval", "validate", file, "-k", FIXTURES / "nobel.ttl", "-q")
    assert done.exit_code == 4, done.stderr
    assert "      1  absent      sparql   " in done.stdout
    assert "      1  derived     sparql   " in done.stdout
    assert "      1  of these are about terms that are nowhere in the graph" in done.stdout
    assert "a  absent: Is it?\n  absent   <http://e.org/a>" in done.stdout
