"""``kgsparql eval DATASET`` as a user types it: what a run leaves, and what happens when it is stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgsparql.cli import app
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run as Made
from kgsparql.evaluation.runs.directory import whole_lines
from kgsparql.storage.files import writer_lock
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.deep import deep
from tests.endpoints.ports import free_port
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.model_server import ModelServer, Status
from tests.scripted import Player

PLAIN = ("--embedder", "none", "-q")
METHODS = ("entity", "mindmap", "path_ranking", "query_plan", "struct_gpt", "think_on_graph")


def copied(folder: Path) -> Path:
    """The bundled graph with its questions, as a folder."""
    folder.mkdir()
    shutil.copy(FIXTURES / "nobel.ttl", folder / "graph.ttl")
    shutil.copy(FIXTURES / "nobel_questions.jsonl", folder / "questions.jsonl")
    return folder


@pytest.fixture
def nobel(tmp_path: Path) -> Path:
    return copied(tmp_path / "nobel")


@pytest.fixture
def own_replies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own, so that no reply of another test is kept."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


def test_every_method_answers_every_question(run: Run, nobel: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "run", nobel / "questions.jsonl"
    file.write_text(file.read_text().replace("\n", "\n{oops\n", 1))
    asked = ("eval", nobel, "--no-model", "-r", "methods", "-O", "mindmap.paths_kept=2", "--limit", "6")
    done = run(*asked, "-o", out, "--embedder", "none")
    assert done.exit_code == 0, done.stderr
    assert "questions.jsonl:2" in done.stderr, "a bad line is told, and the rest runs"
    assert "no licence information" in done.stderr
    assert f"kgsparql eval compare {out}" in done.stderr
    for method in METHODS:
        assert f"{method} 6/6 · Hits@1 " in done.stderr
    made = Made.open(out)
    assert made.methods == METHODS
    assert Counter(question.hops for question in made.questions) == {1: 2, 2: 2, 3: 2}
    config = made.config
    assert len(config["graph"]["fingerprint"]) == 64
    assert config["graph"]["triples"] > 1_000
    assert config["ended"] >= config["began"]
    assert {"pyoxigraph", "kgsparql"} <= config["versions"].keys()
    for method in METHODS:
        records = made.records(method)
        assert list(records) == [question.id for question in made.questions]
        assert all(record.measured.queries > 0 and record.measured.model_calls == 0 for record in records.values())
        assert all(record.ranked or method == "query_plan" for record in records.values())
        steps = list(whole_lines(out / "events" / f"{method}.jsonl"))
        assert all(line["events"][-1]["kind"] == "finished" for line in steps)
    assert {m["label"]: m["options"].get("paths_kept") for m in config["methods"]}["mindmap"] == 2
    record = next(one for one in made.records("path_ranking").values() if one.is_sure)
    assert record.linked
    assert record.evidence[0].verified == (True,)
    assert record.score == pytest.approx(record.answers[0].score - record.answers[1].score)
    assert "1 question left out of the dataset, as" in " ".join(run("eval", "compare", out).stdout.split())


def test_wrong_use_is_said_before_anything_is_asked(run: Run, nobel: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments, says in (
        (("-r", "nobody"), "there are: all, methods, baselines"),
        (("-O", "paths_kept=2"), "of which method?"),
        (("-r", "mindmap", "-O", "entity.max_hops=2"), "not asked"),
        (("-r", "mindmap", "-O", "mindmap.nope=2"), "no option"),
        (("--oracle", "-m", "m"), "leave out one"),
        (("--resume",), "no run is there"),
        (("--columns", "question"), "question=q"),
    ):
        done = run("eval", nobel, "--no-model" if "-m" not in arguments else "-q", *arguments, "-o", tmp_path / "run")
        assert done.exit_code == 2
        assert says in done.stderr
        assert not (tmp_path / "run").exists()
    questions, other = FIXTURES / "nobel_questions.jsonl", FIXTURES / "corner_cases.trig"
    done = run("eval", questions, "-k", other, "--no-model", "-o", tmp_path / "run", *PLAIN)
    assert (done.exit_code, "100 % of the terms" in done.stderr) == (4, True)
    here = tmp_path / "file" / "run"  # before the graph is read
    done = run("eval", nobel, "--no-model", "-k", tmp_path / "missing.ttl", *PLAIN, "-o", here)
    assert (done.exit_code, done.stderr.startswith(f"error: {here}: Not a directory")) == (4, True)


def test_what_is_in_a_directory_is_left_alone(run: Run, nobel: Path, tmp_path: Path) -> None:
    asked = ("eval", nobel, "--no-model", "-r", "path_ranking", "--limit", "3", "-o", tmp_path / "run", *PLAIN)
    assert run(*asked).exit_code == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    again = run(*asked)
    assert again.exit_code == 2
    assert "--resume" in again.stderr
    other = run(*asked, "--resume", "--gold-topics")
    assert other.exit_code == 2
    assert "gold_topics: False there, True now" in other.stderr
    assert (tmp_path / "run" / "run.json").read_bytes() == before


@pytest.mark.parametrize(("how", "workers"), [deep(signal.SIGKILL, "1"), (signal.SIGINT, "4")])
def test_a_stopped_run_goes_on_and_comes_to_the_same(
    run: Run, nobel: Path, tmp_path: Path, how: signal.Signals, workers: str
) -> None:
    asked = ["eval", str(nobel), "--no-model", "-r", "mindmap,path_ranking", "--limit", "8", *PLAIN, "-o"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert run(*asked, whole).exit_code == 0
    command = [sys.executable, "-m", "kgsparql", *asked, str(stopped), "--workers", workers]
    process = subprocess.Popen(command, env={**os.environ})
    answers = stopped / "answers" / "mindmap.jsonl"
    while process.poll() is None and (not answers.exists() or answers.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    process.send_signal(how)
    assert process.wait(60) == (130 if how == signal.SIGINT else -how)
    there = len(Made.open(stopped).records("mindmap"))
    assert 3 <= there < 8
    assert run(*asked, stopped, "--resume").exit_code == 0
    assert answers.read_bytes().count(b"\n") == 8, "nothing was asked twice"
    for method in ("mindmap", "path_ranking"):
        found, wanted = (
            {i: (r.answers, r.evidence, r.linked, r.notes) for i, r in Made.open(d).records(method).items()}
            for d in (stopped, whole)
        )
        assert found == wanted


def test_a_model_is_not_paid_twice(run: Run, nobel: Path, tmp_path: Path, own_replies: None) -> None:
    asked = ("eval", nobel, "-r", "path_ranking", "--limit", "6", "-m", "m", "--prices", "1,2", *PLAIN)
    out = tmp_path / "run"
    with ModelServer(Player()) as server:
        assert run(*asked, "--base-url", server.url, "-o", out).exit_code == 0
        paid = len(server.requests)
        (out / "answers" / "path_ranking.jsonl").unlink()
        assert run(*asked, "--base-url", server.url, "-o", out, "--resume").exit_code == 0
        assert len(server.requests) == paid, "the replies are kept, too"
    records = Made.open(out).records("path_ranking").values()
    assert len(records) == 6
    assert sum(record.measured.model_calls for record in records) == paid
    assert all(r.measured.rounds == 2 and not r.ranked and r.measured.paid_cost == 0 for r in records)


def test_a_model_that_is_gone_stops_the_run_which_then_goes_on(
    run: Run, nobel: Path, tmp_path: Path, own_replies: None
) -> None:
    asked = ("eval", nobel, "-r", "mindmap", "--limit", "6", "-m", "m", "--workers", "1", *PLAIN)
    out = tmp_path / "run"
    with ModelServer([Status(401)]) as server:
        done = run(*asked, "--base-url", server.url, "-o", out)
    assert done.exit_code == 5
    assert "3 questions in a row" in done.stderr
    assert "--resume" in done.stderr
    assert len(Made.open(out).records("mindmap")) == 3
    with ModelServer(Player()) as server:
        again = run(*asked, "--base-url", server.url, "-o", out, "--resume")
    assert again.exit_code == 0, again.stderr
    records = Made.open(out).records("mindmap")
    assert len(records) == 6
    assert all(record.error is None for record in records.values())


def test_the_oracle_walks_the_gold_path(run: Run, nobel: Path, tmp_path: Path) -> None:
    asked = ("eval", nobel, "--oracle", "--gold-topics", "-r", "struct_gpt", "-o", tmp_path / "run", *PLAIN)
    assert run(*asked).exit_code == 0
    made = Made.open(tmp_path / "run")
    assert made.model == "oracle"
    records = made.records("struct_gpt")
    assert [q.id for q in made.questions if METRICS["hits@1"].of(q, records[q.id]) != 1] == []


def test_two_runs_with_the_same_replies_give_the_same_bytes(
    run: Run, nobel: Path, tmp_path: Path, own_replies: None
) -> None:
    asked = ("eval", nobel, "-r", "all", "-O", "mindmap.verbalise=model", "--limit", "2", "-m", "m", *PLAIN)
    made = [tmp_path / "first" / "R", tmp_path / "second" / "R"]
    with ModelServer(Player()) as server:
        url = server.url
        assert run(*asked, "--base-url", url, "--workers", "4", "-o", made[0]).exit_code == 0
    again = run(*asked, "--base-url", url, "--workers", "1", "-o", made[1])
    assert again.exit_code == 0, "the server is down: every reply is a kept one"
    for form in ("text", "json"):
        tables = [run("eval", "compare", out, "--reproducible", "-f", form, "-q").stdout for out in made]
        assert tables[0] == tables[1]
        assert len(tables[0]) > 500
    methods = {row["method"] for row in json.loads(run("eval", "compare", made[0], "-f", "json").stdout)}
    baselines = {"closed_book", "label_neighbours", "path_ranking+no_model"}  # triples need an embedding model
    assert methods == {*METHODS, *baselines}


def test_a_run_is_not_gone_on_with_as_another(run: Run, nobel: Path, begun: Path) -> None:
    asked = ("eval", nobel, "-r", "path_ranking", "--limit", "3", "--base-url", "http://127.0.0.1:9/v1", *PLAIN)
    for changed, named in (
        (("--seed", "5"), "seed: 0 there, 5 now"),
        (("--direction", "forward"), "direction: both there, forward now"),
        (("--no-complete",), "complete: True there, False now"),
        (("--max-queries", "7"), "budget.max_queries: 500 there, 7 now"),
        (("-O", "path_ranking.paths_kept=2"), "methods.path_ranking.options.paths_kept: 5 there, 2 now"),
        (("-m", "other"), "model: m there, other now"),
    ):
        model = () if "-m" in changed else ("-m", "m")
        done = run(*asked, *model, *changed, "--resume", "-o", begun)
        assert done.exit_code == 2, done.stderr
        assert named in done.stderr


def test_other_gold_answers_are_another_run(run: Run, nobel: Path, tmp_path: Path) -> None:
    file = nobel / "questions.jsonl"
    asked = ("eval", nobel, "--no-model", "-r", "path_ranking", "--limit", "3", *PLAIN)
    assert run(*asked, "-o", tmp_path / "run").exit_code == 0
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text()
    file.write_text(file.read_text().replace("?", "??"))
    done = run(*asked, "-o", tmp_path / "run", "--resume")
    assert done.exit_code == 2
    assert "dataset.sha256" in done.stderr


@pytest.fixture(scope="module")
def begun_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three questions with a model, whole."""
    folder = tmp_path_factory.mktemp("begun")
    dataset = copied(folder / "nobel")
    with ModelServer(Player()) as server:
        asked = ["eval", dataset, "-r", "path_ranking", "--limit", "3", "-m", "m", *PLAIN]
        done = CliRunner().invoke(app, [str(a) for a in (*asked, "--base-url", server.url, "-o", folder / "run")])
    assert done.exit_code == 0, done.stderr
    return folder / "run"


@pytest.fixture
def begun(begun_once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(begun_once, tmp_path / "begun"))


def test_two_processes_do_not_write_one_run(run: Run, nobel: Path, begun: Path) -> None:
    asked = ("eval", nobel, "-r", "path_ranking", "--limit", "3", "--base-url", "http://127.0.0.1:9/v1", "-m", "m")
    with writer_lock(begun):
        done = run(*asked, "--resume", "-o", begun, *PLAIN)
    assert done.exit_code == 4
    assert f"process {os.getpid()} is writing here" in done.stderr
    assert run(*asked, "--resume", "-o", begun, *PLAIN).exit_code == 0


def test_an_oracle_that_knows_nothing_is_refused(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = [json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text().splitlines()[:4]]
    questions.write_text("".join(json.dumps({**line, "path": []}) + "\n" for line in lines))
    asked = ("eval", questions, "-k", FIXTURES / "nobel.ttl", "--oracle", "-r", "struct_gpt", "--embedder", "none")
    done = run(*asked, "-o", tmp_path / "run")
    assert done.exit_code == 2
    assert "no question says how its answers are reached" in done.stderr


def test_an_endpoint_lost_on_the_way_stops_the_run_which_then_goes_on(
    run: Run, nobel: Path, tmp_path: Path, own_replies: None
) -> None:
    store, out = store_of(FIXTURES / "nobel.ttl", tmp_path / "store"), tmp_path / "run"
    port = free_port()
    asked = [
        "eval", str(FIXTURES / "nobel_questions.jsonl"), "--no-model", "--workers",
        "1", "-k", f"http://127.0.0.1:{port}/query", "-r", "path_ranking", "--max-seconds", "20", "--limit", "10",
        *PLAIN, "-o", str(out),
    ]  # fmt: skip
    answers = out / "answers" / "path_ranking.jsonl"
    with oxigraph_serve(store, port=port):
        command = [sys.executable, "-m", "kgsparql", *asked]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and (not answers.exists() or answers.read_bytes().count(b"\n") < 3):
            time.sleep(0.01)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 5, said
    assert "3 questions in a row: the run stops; --resume goes on with it" in said
    assert sum(r.is_lost for r in Made.open(out).records("path_ranking").values()) == 3
    with oxigraph_serve(store, port=port):
        again = run(*asked, "--resume")
    assert again.exit_code == 0, again.stderr
    records = Made.open(out).records("path_ranking")
    assert len(records) == 10
    assert all(record.error is None for record in records.values())


def test_a_run_may_be_where_one_is(nobel: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-m", "kgsparql", "eval", str(nobel), "--no-model", "-r", "path_ranking", "--limit", "3"]
    done = subprocess.run([*command, *PLAIN, "-o", "."], cwd=here, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(Made.open(here).records("path_ranking")) == 3
    assert {entry.name for entry in tmp_path.iterdir()} == {"here", "nobel"}, "its lock is gone"
