"""What every command promises: no control characters, no traceback, an end at Ctrl-C, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.main import get_group

from kgsparql.cli import app
from kgsparql.cli._settings import removed_things
from tests.cli.conftest import Run
from tests.endpoints.faults import FaultServer
from tests.endpoints.proxy import hangs
from tests.model_server import ModelServer, Slow
from tests.world import FEYNMAN, NOBEL, ROOT

NAME = "e\x1b]0;PWNED\x07\x1b[31m\r\n\u202e"
GRAPH = r"""
@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "Evil\u001b[31m\u202eName" ; a :Kind ; :knows :b . :b rdfs:label "B\u0007b" ; a :Kind .
:Kind a rdfs:Class ; rdfs:label "ki\u001b]0;nd" . :knows rdfs:label "kno\u0007ws" .
"""
LOADED = f"-k|DIR/{NAME}.ttl"
# What a stranger may have written, for each command: in a graph, in its file's name, in what is typed from elsewhere.
ARGUMENTS = {
    "ask": f"ask|Whom does Evil[31mName know? \x1b[2J|{LOADED}|-e|http://e.org/a|--log|DIR/log",
    "find": f"find|Evil|{LOADED}", "show": f"show|http://e.org/a|{LOADED}", "index": f"index|{LOADED}",
    "paths": f"paths|http://e.org/a|http://e.org/b|{LOADED}", "plan": f"plan|How many \x1b[2J are there?|{LOADED}",
    "query": f"query|SELECT ?o {{ ?s rdfs:label ?o }}|{LOADED}", "load": f"load|DIR/{NAME}.ttl|--store|DIR/S",
    "info": "info|-k|DIR", "words": f"words|{NAME}|http://e.org/a|{LOADED}", "doctor": "doctor",
    "check": f"check|DIR/{NAME}.ttl|{LOADED}",
    "serve": f"serve|-k|DIR/{NAME}", "mcp": f"mcp|-k|DIR/{NAME}", "eval": f"eval|DIR/{NAME}",
    **{name: name for name in ("cache", "schema", "retrievers")},
}  # fmt: skip
COMMANDS = get_group(app).list_commands(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", COMMANDS)
def test_U03_no_command_shows_control_characters_or_a_traceback(command: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.ttl").write_text(GRAPH)
    done = run(*(part.replace("DIR", str(tmp_path)) for part in ARGUMENTS[command].split("|")))
    assert not {"\x1b", "\x07", "\r", "\u202e"} & {*done.output}, done.output
    assert "Traceback" not in done.output
    assert done.output.strip()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(("arguments", "shown"), [
    ("query|SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }|-k|NOBEL|-v", ""),
    (f"ask|{FEYNMAN}|-k|NOBEL|--embedder|none|-m|any|--base-url|MODEL", ""),
    ("ask|Who?|-k|ENDPOINT|--embedder|none|--no-model", ""),
    ("doctor|--embedder|none|--base-url|MODEL", "ok    kgsparql"),  # what was found is kept
])  # fmt: skip
def test_I14_ctrl_c_ends_a_command_at_once_whatever_it_waits_for(arguments: str, shown: str) -> None:
    with ExitStack() as servers:
        model = servers.enter_context(ModelServer([Slow(60)], models=Slow(60)))
        endpoint = servers.enter_context(FaultServer(hangs))
        for name, value in {"NOBEL": str(NOBEL), "MODEL": model.url, "ENDPOINT": endpoint.url}.items():
            arguments = arguments.replace(name, value)
        command, environment = [sys.executable, "-m", "kgsparql", *arguments.split("|")], dict(os.environ)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stderr is not None
            if arguments.startswith("query"):
                assert process.stderr.readline() == "· running\n"
                process.stderr.readline()
            deadline = time.monotonic() + 60
            while not arguments.startswith("query") and not (model.requests or endpoint.requests):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=30)
        assert time.monotonic() - began < 10
    assert (process.returncode, "Traceback" in said, out.startswith(shown)) == (130, False, True), said
    assert "ok    model" not in out


GONE = [(kind, name, said) for kind, rows in removed_things().items() for name, said in rows.items()]


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "said"), [(name, said) for kind, name, said in GONE if kind in kinds])


@of_kind("options", "commands")
def test_what_is_typed_and_gone_is_answered_by_what_to_do_instead(name: str, said: str, run: Run) -> None:
    words = name.split()
    if words[0] == "-f":
        words = ["ask", "q?", "-k", "g.ttl", *words]
    elif words[0].startswith("-"):
        words = ["ask", *words]
    done = run(*words)
    assert (done.exit_code, done.stderr.splitlines()) == (2, [f"error: {name} is gone: {said} [E_OPTION]"])


@of_kind("files")
def test_what_is_set_or_in_the_folder_and_gone_is_named_once_on_stderr(
    name: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("KGSPARQL_CONFIG", raising=False)
    (tmp_path / name).write_text("1")
    told = [line for line in run("schema").stderr.splitlines() if line.endswith(f" is not read any more: {said}")]
    assert len(told) == 1
    assert name in told[0]
    assert run("tools", "--nothing-like-this").exit_code == 2


KEY = "a" * 32
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes seconds to load, and is kept as a store in the cache when it is asked."""
    file = tmp_path_factory.mktemp("big") / "big.nt"
    file.write_bytes(b"".join(b"<http://e.org/%d> <http://e.org/p> <http://e.org/o> .\n" % i for i in range(1_500_000)))
    return file


def ended(tmp_path: Path, how: signal.Signals, until: Callable[[], bool], *arguments: object) -> int:
    """The exit status of a command that gets a signal as soon as something is so."""
    command = [sys.executable, "-m", "kgsparql", *map(str, arguments)]
    environment = {**os.environ, "KGSPARQL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not until():
        assert process.poll() is None, "it ended before"
        time.sleep(0.01)
    process.send_signal(how)
    return process.wait(60)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_S02_of_a_load_that_was_ended_nothing_stays(how: signal.Signals, big: Path, tmp_path: Path, run: Run) -> None:
    store = tmp_path / "S"
    status = ended(tmp_path, how, lambda: any(tmp_path.glob("S.partial-*")), "load", big, "--store", store)
    assert status == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert run("info", "-k", store).exit_code == 2  # there is no store
    assert run("load", NOBEL, "--store", store).exit_code == 0
    assert [entry.name for entry in tmp_path.glob("S*")] == ["S"]


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_S02_a_query_that_was_killed_while_its_file_was_loaded_leaves_nothing_after_the_next_one(
    big: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = tmp_path / "cache" / "graphs"
    ended(tmp_path, signal.SIGKILL, lambda: any(graphs.glob("*.partial-*")), "query", "ASK {}", "-k", big)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    assert run("query", "ASK {}", "-k", big).exit_code == 0
    assert not list(graphs.glob("*.partial-*"))


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_S21_a_kill_while_a_file_that_changed_is_read_and_indexed_anew(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, labels = tmp_path / "g.nt", tmp_path / "cache" / "labels"
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    for word in ("Old", "New"):
        file.write_text("".join(f'<http://e.org/{i}> <{LABEL}> "{word} {i} thing" .\n' for i in range(60_000)))
        known, find = {*labels.glob("*")}, ("find", f"{word} 7 thing", "-k", file, "--embedder", "none")
        ended(tmp_path, signal.SIGKILL, lambda known=known: bool({*labels.glob("*")} - known), *find)  # type: ignore[misc]
        told = run(*find).stdout
        assert f"{word} 7 thing" in told
    assert "Old 7" not in told


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    (directory / "graphs").mkdir(parents=True)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(directory))
    return directory


def test_S01_what_lancedb_left_goes_with_the_next(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ("index", "-k", NOBEL, "--embedder", "none", "-q")
    assert run(*arguments).exit_code == 0
    (labels,) = (tmp_path / "cache" / "labels").glob("*/labels_*.bin")
    half_made = labels.with_name("vectors_0.lance") / "_indices" / "0123" / ".tmpqWDQjB"
    half_made.parent.mkdir(parents=True)
    half_made.write_bytes(b"half")
    assert run(*arguments).exit_code == 0
    assert not half_made.exists()
