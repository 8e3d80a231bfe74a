"""``kgsparql ask`` with the options around any method: a question said more precisely, evidence chosen once more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kgsparql.answering.question_rewriting import RULES
from tests.cli.conftest import Run
from tests.conftest import FIXTURES
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import Body, by_call, reader

PLAIN = ("-k", FIXTURES / "nobel.ttl", "--embedder", "none")
QUESTION = "Who was Marie Curie hitched to?"
PRECISE = "Which person was the spouse of Marie Curie?"


@pytest.fixture(autouse=True)
def cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


def script(body: Body) -> Reply:
    if body["messages"][0]["content"] == RULES:
        return Text({"question": PRECISE})
    return by_call(answer=reader, choices={"choices": [{"n": 2, "score": 1.0}]})(body)


def test_both_are_a_call_more_and_the_answer_says_what_was_searched_for(run: Run) -> None:
    with ModelServer(script) as server:
        asked = ("ask", QUESTION, *PLAIN, "-r", "entity", "-m", "any", "--base-url", server.url, "-f", "json")
        plain = json.loads(run(*asked).stdout)
        augmented = json.loads(run(*asked, "--augment").stdout)
        done = run(*asked, "--augment", "--rerank", "2")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [one["usage"]["model_calls"] for one in (plain, augmented, answer)] == [1, 2, 3]
    assert {"code": "rewritten", "text": f"searched as: {PRECISE}"} in answer["notes"]
    assert answer["question"] == QUESTION
    first, second, *others = [item["marker"] for item in augmented["evidence"]]
    assert [item["marker"] for item in answer["evidence"]] == [second, first, *others]


def test_without_a_model_they_say_that_there_is_none(run: Run) -> None:
    done = run("ask", QUESTION, *PLAIN, "--no-model", "--augment", "--rerank", "3")
    assert done.exit_code == 3, "with words alone, nothing says what hitched is"
    assert done.stdout.count("there is no model") == 2


def test_a_number_out_of_range_is_said_before_a_graph_is_loaded(run: Run) -> None:
    done = run("ask", QUESTION, "-k", "no-such-file.ttl", "--no-model", "--rerank", "0")
    assert done.exit_code == 2
    assert "rerank" in done.stderr
    assert "no-such-file" not in done.stderr


def test_the_help_says_what_they_cost(run: Run) -> None:
    told = " ".join(run("ask", "--help").stdout.replace("│", " ").split())
    assert told.count("a call more. Experimental") == 2


TWO_OF_A_NAME = """
:born rdfs:label "born" . :Person rdfs:label "person" .
:a1 a :Person ; rdfs:label "Ada Novak" ; rdfs:comment "painter" ; :born "1901" .
:a2 a :Person ; rdfs:label "Ada Novak" ; rdfs:comment "engineer" ; :born "1950" .
"""


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(
    ("typed", "status", "answer"), [(b"9\n2\n", 0, "1950\n"), (b"\n", 0, "1901\n"), (b"0\n", 3, ""), (b"\x04", 130, "")]
)
def test_a_person_at_a_terminal_says_which_is_meant(tmp_path: Path, typed: bytes, status: int, answer: str) -> None:
    file = tmp_path / "two.ttl"
    prefixes = "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    file.write_text(prefixes + TWO_OF_A_NAME)
    command = [sys.executable, "-m", "kgsparql", "ask", "When was Ada Novak born?", "-k", str(file), "-i"]
    here, there = os.openpty()
    process = subprocess.Popen(
        [*command, "--no-model", "--embedder", "none", "-f", "plain"],
        stdin=there, stderr=there, stdout=subprocess.PIPE,
        env={**os.environ, "KGSPARQL_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    os.close(there)
    seen = b""
    while b"Which is meant" not in seen:
        seen += os.read(here, 4096)
    os.write(here, typed)
    with suppress(OSError):  # what the end of a terminal without a process raises
        while more := os.read(here, 4096):
            seen += more
    told, _ = process.communicate(timeout=20)
    os.close(here)
    assert (told.decode(), process.returncode) == (answer, status), seen.decode()
    assert b"1. Ada Novak (painter)" in seen
    assert (b"none of these is meant by 'Ada Novak'" in seen) == (status == 3)


def test_nobody_can_be_asked_where_stdin_is_no_terminal(run: Run) -> None:
    done = run("ask", "When was Ada Novak born?", "-k", FIXTURES / "nobel.ttl", "-i")
    assert done.exit_code == 2
    assert "stdin is no terminal" in done.stderr
