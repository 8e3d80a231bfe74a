"""``kgsparql eval`` as a user types it: runs, what happens when one is stopped, their comparison, and datasets."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from kgsparql.evaluation.run_directory import Run as Made
from tests.cli.conftest import Run
from tests.deep import deep
from tests.made_runs import made_run, sampled_questions, sampled_records
from tests.model_server import ModelServer, Status
from tests.scripted import Player
from tests.world import FIXTURES, NOBEL

PLAIN = ("--embedder", "none", "-q")
METHODS = ("entity", "mindmap", "path_ranking", "query_plan", "struct_gpt", "think_on_graph")


@pytest.fixture
def nobel(tmp_path: Path, empty_cache: Path) -> Path:
    """The bundled graph with its questions, as a folder; and a cache of its own, so that no reply is kept."""
    folder = tmp_path / "nobel"
    folder.mkdir()
    shutil.copy(FIXTURES / "nobel.ttl", folder / "graph.ttl")
    shutil.copy(FIXTURES / "nobel_questions.jsonl", folder / "questions.jsonl")
    return folder


def test_every_method_answers_every_question(run: Run, nobel: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "run", nobel / "questions.jsonl"
    file.write_text(file.read_text().replace("\n", "\n{oops\n", 1))
    asked = ("eval", nobel, "--no-model", "-r", "all", "-O", "mindmap.paths_kept=2", "--limit", "6")
    done = run(*asked, "-o", out, "--embedder", "none")
    assert done.exit_code == 0, done.stderr
    assert "questions.jsonl:2" in done.stderr, "a bad line is told, and the rest runs"
    assert f"kgsparql eval compare {out}" in done.stderr
    made = Made.open(out)
    assert made.methods == METHODS
    assert Counter(question.hops for question in made.questions) == {1: 2, 2: 2, 3: 2}
    config = made.config
    assert len(config["graph"]["fingerprint"]) == 64
    assert config["graph"]["triples"] > 1_000
    assert config["ended"] >= config["began"]
    assert {"pyoxigraph", "kgsparql"} <= config["versions"].keys()
    assert {m["label"]: m["options"].get("paths_kept") for m in config["methods"]}["mindmap"] == 2
    for method in METHODS:
        assert f"{method} 6/6 · Hits@1 " in done.stderr
        records = made.records(method)
        assert list(records) == [question.id for question in made.questions]
        assert all(record.measured.queries > 0 and record.measured.model_calls == 0 for record in records.values())
        assert all(record.ranked or method == "query_plan" for record in records.values())
    record = next(one for one in made.records("path_ranking").values() if one.is_sure)
    assert record.linked
    assert record.evidence[0].verified == (True,)
    assert 0.5 <= record.score <= 1.0, "its confidence"
    assert "1 question left out of the dataset, as" in " ".join(run("eval", "compare", out).stdout.split())


def test_wrong_use_is_said_before_anything_is_asked(run: Run, nobel: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "run", FIXTURES / "corner_cases.trig"
    for arguments, says in (
        (("-r", "nobody"), "there are: entity, mindmap, path_ranking"), (("-O", "paths_kept=2"), "of which method?"),
        (("-r", "mindmap", "-O", "entity.max_hops=2"), "not asked"),
        (("-r", "mindmap", "-O", "mindmap.nope=2"), "no option"),
        (("-k", other), "100 % of the terms in the gold answers and topics"),
        (("-k", tmp_path / "missing.ttl", "-o", other / "run"), "run: Not a directory"),
    ):  # fmt: skip
        done = run("eval", nobel, "-o", out, "--no-model" if "-m" not in arguments else "-q", *arguments)
        assert done.exit_code == (4 if "-k" in arguments else 2)
        assert says in done.stderr
        assert not out.exists()


@pytest.mark.parametrize(("how", "workers"), [deep(signal.SIGKILL, "1"), (signal.SIGINT, "4")])
def test_of_a_stopped_run_what_was_answered_stays(
    run: Run, nobel: Path, tmp_path: Path, how: signal.Signals, workers: str
) -> None:
    asked = ["eval", str(nobel), "--no-model", "-r", "mindmap,path_ranking", "--limit", "8", *PLAIN, "-o"]
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    command = [sys.executable, "-m", "kgsparql", *asked, ".", "--workers", workers]
    process = subprocess.Popen(command, env={**os.environ}, cwd=stopped)
    answers = stopped / "answers" / "mindmap.jsonl"
    while process.poll() is None and (not answers.exists() or answers.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    process.send_signal(how)
    assert process.wait(60) == (130 if how == signal.SIGINT else -how)
    assert 3 <= len(Made.open(stopped).records("mindmap")) < 8
    assert "mindmap" in run("eval", "compare", stopped).stdout, "what is there can be compared"


def test_replies_are_kept_so_that_a_run_is_not_paid_twice(run: Run, nobel: Path, tmp_path: Path) -> None:
    asked = ("eval", nobel, "-r", "path_ranking", "--limit", "6", *PLAIN, "-m", "m", "-o")
    with ModelServer(Player()) as server:
        url = ("--base-url", server.url)
        assert run(*asked, tmp_path / "first", *url).exit_code == 0
        paid = len(server.requests)
        assert run(*asked, tmp_path / "run", *url).exit_code == 0
        assert len(server.requests) == paid, "the replies are kept"
        assert "a run is there already" in run(*asked, tmp_path / "run", *url).stderr
    records = Made.open(tmp_path / "run").records("path_ranking").values()
    assert len(records) == 6
    assert sum(record.measured.model_calls for record in records) == paid
    assert all(0 < r.measured.rounds <= 2 for r in records)
    assert str(tmp_path).encode() not in (tmp_path / "run" / "run.json").read_bytes()


def test_two_runs_with_the_same_replies_give_the_same_bytes(run: Run, nobel: Path, tmp_path: Path) -> None:
    asked = ("eval", nobel, "-r", "all", "--limit", "2", "-m", "m", *PLAIN)
    made = [tmp_path / "first" / "R", tmp_path / "second" / "R"]
    with ModelServer(Player()) as server:
        url = server.url
        assert run(*asked, "--base-url", url, "--workers", "4", "-o", made[0]).exit_code == 0
    again = run(*asked, "--base-url", url, "--workers", "1", "-o", made[1])
    assert again.exit_code == 0, "the server is down: every reply is a kept one"
    for form in ("text", "json"):
        tables = [run("eval", "compare", out, "--metrics", "hits@1,queries", "-f", form, "-q").stdout for out in made]
        assert tables[0] == tables[1]
    methods = {row["method"] for row in json.loads(tables[0])}
    assert methods == {*METHODS}


def test_a_run_says_how_many_were_answered_without_the_model(run: Run, nobel: Path, tmp_path: Path) -> None:
    asked = ("eval", nobel, "-r", "path_ranking", "--limit", "3", "-m", "m", "--workers", "1", "--embedder", "none")
    with ModelServer(lambda _: Status(401)) as server:
        gone = run(*asked, "--base-url", server.url, "-o", tmp_path / "gone")
    with ModelServer(Player()) as server:
        there = run(*asked, "--base-url", server.url, "-o", tmp_path / "there")
    assert (gone.exit_code, there.exit_code) == (0, 0)
    assert "3 WITHOUT THE MODEL (--require-model: an error)" in gone.stderr
    assert "WITHOUT" not in there.stderr
    for name, share in (("gone", 1), ("there", 0)):
        (row,) = json.loads(run("eval", "compare", tmp_path / name, "-q", "-f", "json").stdout)
        assert row["without_model"] == share


@pytest.fixture
def made(tmp_path: Path) -> Path:
    asked = sampled_questions(30)
    methods = {name: sampled_records(asked, name, skill) for name, skill in (("mindmap", 0.9), ("entity", 0.5))}
    return made_run(tmp_path / "R", asked, methods)


def test_a_run_that_was_stopped_and_gone_on_with_has_the_same_table(run: Run, made: Path) -> None:
    file = made / "answers" / "entity.jsonl"
    whole, table = file.read_text(), run("eval", "compare", made, made).stdout
    assert table.startswith("films: 30 questions, no model\n")
    lines = whole.splitlines(keepends=True)
    file.write_text("".join(lines[:12]) + lines[12][:40])
    assert re.search(r"\n  entity +12 ", run("eval", "compare", made).stdout)
    file.write_text("".join(lines[:12] + lines[:11:-1]))  # the rest ended in another order
    assert run("eval", "compare", made).stdout == table


def test_a_file_that_is_named_json_gets_json(run: Run, made: Path, tmp_path: Path) -> None:
    done = run("eval", "compare", made, "-o", tmp_path / "table.json")
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    text = (tmp_path / "table.json").read_text()
    assert [one["method"] for one in json.loads(text)] == ["mindmap", "entity"]
    command = [sys.executable, "-m", "kgsparql", "eval", "compare", str(made), "-f", "json"]
    other = subprocess.run(command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""})
    assert other.stdout.decode() == text, "another process writes the same bytes"


def test_what_cannot_be_done_is_told(run: Run, made: Path, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        done = run("eval", "compare", *arguments)
        assert done.exit_code == 2
        assert done.stderr.startswith("error: ")
        return done.stderr

    for arguments, message in (
        ([], "no run was given"),
        ([tmp_path / "nothing"], "no run is here"),
        ([made, "-f", "xml"], "no output format 'xml'"),
    ):
        assert message in refused(*arguments)


def test_a_file_that_is_none_and_the_questions_that_cannot_be_asked(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "absent", NOBEL, tmp_path):
        done = run("eval", path, "-k", NOBEL, "-o", tmp_path / "R")
        assert (done.exit_code, "hint:" in done.stderr) == (2, True)
    file = tmp_path / "some.jsonl"
    queries = {"a": "SELECT ?o { <http://e.org/a> ?p ?o }", "b": "ASK { ?s ?p ?o }"}
    lines = [json.dumps({"id": name, "question": "Is it?", "sparql": sparql}) for name, sparql in queries.items()]
    file.write_text("\n".join([*lines, *(["{}"] * 7)]), encoding="utf-8")
    done = run("eval", file, "-k", NOBEL, "-r", "path_ranking", "--no-model", *PLAIN[:2], "-o", tmp_path / "R")
    assert done.exit_code == 0, done.stderr
    unread = [f"{file}:{n}: left out: question: Field required" for n in range(3, 10)]
    assert [line.strip() for line in done.stderr.splitlines() if "left out" in line] == unread[:5]
    assert "… and 2 more: run.json lists them" in done.stderr
    config = Made.open(tmp_path / "R").config
    absent = "a: left out: no answer is known: it finds nothing"
    assert (config["questions"], config["left_out"]) == (1, [*unread, absent])
