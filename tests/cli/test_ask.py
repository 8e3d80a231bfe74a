"""``kgsparql ask`` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest

from kgsparql.cli._common import write_lines
from kgsparql.errors import InputError, KgsparqlError, QueryTimeoutError, UnreachableError
from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"


def test_every_query_shown_finds_its_item_again(run: Run) -> None:
    store = pyoxigraph.Store()
    store.load(path=str(NOBEL))
    asked = ("ask", FEYNMAN, "-k", NOBEL, "--no-model", "-f", "json", "-r", "mindmap")
    for item in json.loads(run(*asked).stdout)["evidence"]:
        solutions = list(store.query(item["query"]))
        found = {str(term) for solution in solutions for term in solution}  # type: ignore[union-attr]
        cited = {t[role] for t in item["triples"] for role in ("subject", "object")}
        if "?answer" in item["query"]:
            assert found, item["marker"]
            assert found <= cited, f"{item['marker']}: nothing was cut here, so every answer is cited"
        else:
            assert cited <= found, item["marker"]


def test_the_query_of_a_path_finds_just_the_answers_on_it(run: Run) -> None:
    store = pyoxigraph.Store()
    store.load(path=str(NOBEL))
    answer = json.loads(run("ask", FEYNMAN, "-k", NOBEL, "--no-model", "-f", "json").stdout)
    first = answer["evidence"][0]
    printed = {a["term"] for a in answer["answers"] if first["marker"] in a["markers"]}
    assert {str(solution["answer"]) for solution in store.query(first["query"])} == printed  # type: ignore[union-attr]
    assert "<http://dbpedia.org/resource/Richard_Feynman>" not in printed


@pytest.mark.parametrize("form", ["text", "md", "jsonl", "trig"])
def test_other_formats_say_the_same(run: Run, form: str) -> None:
    done = run("ask", "Where was Marie Curie born?", "-k", NOBEL, "-f", form, "-q")
    assert done.exit_code == 0, done.stderr
    assert "Warsaw" in done.stdout
    if form == "trig":
        quads = list(pyoxigraph.parse(done.stdout.encode(), format=pyoxigraph.RdfFormat.TRIG))
        graphs = {q.graph_name.value for q in quads if isinstance(q.graph_name, pyoxigraph.NamedNode)}
        assert {name.partition("#")[2] for name in graphs} <= {"evidence", "retrieved"}


def test_given_entities_are_not_linked(run: Run) -> None:
    done = run("ask", "When was she born?", "-k", NOBEL, "-e", "dbr:Marie_Curie", "-f", "json")
    assert [(link["matched"], link["score"]) for link in json.loads(done.stdout)["linked"]] == [("given", 1.0)]


def test_questions_from_stdin_one_json_line_each_whatever_happens_to_the_others(run: Run) -> None:
    done = run("ask", "-", "-k", NOBEL, stdin="Where was Marie Curie born?\n\n???\nWhere was Niels Bohr born?\n")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["status"] for line in lines] == ["answered", "error", "answered"]
    assert lines[1]["error"]["code"] == "E_INPUT"
    assert done.exit_code == 0


def test_json_for_many_questions_is_one_object_a_line(run: Run) -> None:
    questions = "Where was Marie Curie born?\nWhere was Niels Bohr born?\n"
    done = run("ask", "-", "-k", NOBEL, "-f", "json", stdin=questions)
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == questions.splitlines()


@pytest.mark.parametrize("form", ["trig", "text", "md"])
def test_a_question_that_fails_leaves_no_json_among_the_other_answers(run: Run, form: str) -> None:
    done = run("ask", "-", "-k", NOBEL, "-f", form, "-q", stdin="Where was Marie Curie born?\n???\n")
    assert "Warsaw" in done.stdout
    assert "E_INPUT" not in done.stdout
    assert done.stderr.startswith("error: '???': ")
    assert "[E_INPUT]" in done.stderr
    if form == "trig":
        assert list(pyoxigraph.parse(done.stdout.encode(), format=pyoxigraph.RdfFormat.TRIG))


def test_only_what_goes_wrong_with_the_file_is_said_of_the_file(tmp_path: Path) -> None:
    def results(error: KgsparqlError) -> Iterator[str]:
        yield "first"
        raise error

    for error in (UnreachableError("the model server is gone"), QueryTimeoutError("stopped")):
        with pytest.raises(type(error)) as caught:
            write_lines(results(error), tmp_path / "out.txt")
        assert caught.value is error
        assert (tmp_path / "out.txt").read_text() == "first\n"
    with pytest.raises(InputError, match="cannot write"):
        write_lines(["first"], tmp_path / "nowhere" / "out.txt")


def test_a_spent_budget_gives_a_partial_answer(run: Run) -> None:
    done = run("ask", FEYNMAN, "-k", NOBEL, "--max-queries", "1", "-f", "json")
    assert done.exit_code == 6
    answer = json.loads(done.stdout)
    assert answer["status"] == "partial"
    assert any("budget reached: 1 quer" in note for note in answer["notes"])


def test_nothing_of_the_question_in_the_graph(run: Run) -> None:
    done = run("ask", "Who painted Xyzzyplugh?", "-k", NOBEL, "-f", "json")
    assert done.exit_code == 3
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["answers"], answer["evidence"]) == ("no_entity", [], [])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((" ", "-k", NOBEL), 2, "empty"),
        (("?!…", "-k", NOBEL), 2, "empty"),
        (("🎈", "-k", NOBEL), 2, "empty"),
        (("x" * 100_000, "-k", NOBEL), 2, "100,000 characters"),
        (("Who?",), 2, "no graph was given"),
        (("-", "-k", "-"), 2, "stdin"),
        (("Who?", "-k", NOBEL, "-r", "nope"), 2, "mindmap"),
        (("Who?", "-k", NOBEL, "-O", "nope=1"), 2, "paths_kept"),
        (("Who?", "-k", NOBEL, "-O", "paths_kept=many"), 2, "not a whole number"),
        (("Who?", "-k", NOBEL, "-f", "pdf"), 2, "json"),
        (("Who?", "-k", NOBEL, "--direction", "up"), 2, "forward"),
        (("Who?", "-k", NOBEL, "--lang", "en } DROP ALL"), 2, "language"),
        (("Who?", "-k", NOBEL, "-e", "nope:x"), 2, "unknown prefix"),
        (("Who?", "-k", NOBEL, "-e", "<http://e.org/a b>"), 2, "not a valid IRI"),
        (("Who?", "-k", "nowhere.ttl"), 2, "nowhere.ttl"),
        (("Who?", "-k", "http://localhost:9/sparql"), 5, "localhost:9"),
    ],
)
def test_bad_input_is_one_line_with_a_way_out(run: Run, arguments: tuple[object, ...], code: int, says: str) -> None:
    """Rows U01, U02, Q03, Q05 among others."""
    done = run("ask", *arguments)
    assert done.exit_code == code
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_U03_no_control_characters_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "evil.ttl"
    label = r"Evil\u001b[31m\u202eName"
    named = "<http://www.w3.org/2000/01/rdf-schema#label>"
    graph.write_text(
        f'<http://e.org/a> {named} "{label}" ; <http://e.org/knows> <http://e.org/b> . '
        f'<http://e.org/b> {named} "B\\u0007b" .'
    )
    for form in ("text", "md"):
        done = run("ask", "Whom does Evil[31mName know? \x1b[2J", "-k", graph, "-e", "http://e.org/a", "-f", form)
        assert done.exit_code == 0, done.stderr
        assert not any(char in done.stdout + done.stderr for char in "\x1b\u202e\x07")
