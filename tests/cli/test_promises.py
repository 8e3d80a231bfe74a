"""What every command promises, whatever it is given: no control characters, no traceback, an end at Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.main import get_group

from kgsparql.cli import app
from kgsparql.cli._removed import removed_things
from tests.cli.conftest import Run
from tests.endpoints.faults import FaultServer, hang
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
    "info": "info|-k|DIR", "words": f"words|{NAME}|http://e.org/a|{LOADED}", "doctor": f"doctor|{LOADED}",
    "check": f"check|DIR/{NAME}.ttl|{LOADED}",
    "serve": f"serve|-k|DIR/{NAME}", "mcp": f"mcp|-k|DIR/{NAME}", "eval": f"eval|DIR/{NAME}",
    "log": "log|--log|DIR/log",
    **{name: name for name in ("cache", "schema", "tools", "config", "retrievers")},
}  # fmt: skip
COMMANDS = get_group(app).list_commands(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", COMMANDS)
def test_U03_no_command_shows_control_characters_or_a_traceback(command: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.ttl").write_text(GRAPH)
    if command == "log":
        run("ask", f"What is \x1b[31m\u202ered {NAME}?", "-k", NOBEL, "-q", "--log", tmp_path / "log")
    done = run(*(part.replace("DIR", str(tmp_path)) for part in ARGUMENTS[command].split("|")))
    assert not {"\x1b", "\x07", "\r", "\u202e"} & {*done.output}, done.output
    assert "Traceback" not in done.output
    assert done.output.strip()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("query|SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }|-k|NOBEL|-v", ""),
        (f"ask|{FEYNMAN}|-k|NOBEL|--embedder|none|-m|any|--base-url|MODEL", ""),
        ("ask|Who?|-k|ENDPOINT|--embedder|none|--no-model", ""),
        ("doctor|--embedder|none|--base-url|MODEL", "ok    kgsparql"),  # what was found is kept
    ],
)
def test_I14_ctrl_c_ends_a_command_at_once_whatever_it_waits_for(arguments: str, shown: str) -> None:
    with ExitStack() as servers:
        model = servers.enter_context(ModelServer([Slow(60)], models=Slow(60)))
        endpoint = servers.enter_context(FaultServer(hang, looking=True))
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


@of_kind("variables", "files")
def test_what_is_set_or_in_the_folder_and_gone_is_named_once_on_stderr(
    name: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("KGSPARQL_CONFIG", raising=False)
    (tmp_path / name).write_text("1")
    monkeypatch.setenv(name.replace(".", "_"), "1")
    told = [line for line in run("tools").stderr.splitlines() if line.endswith(f" is not read any more: {said}")]
    assert len(told) == 1
    assert name in told[0]
    assert run("tools", "--nothing-like-this").exit_code == 2
