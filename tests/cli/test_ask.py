"""``kgsparql ask`` as a user types it."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from pydantic import TypeAdapter

from kgsparql.answering.answer_json import AnsweredObject, UnansweredObject
from kgsparql.answering.confidence import SIGNALS
from kgsparql.cli._common import write_lines
from kgsparql.errors import InputError, QueryTimeoutError, UnreachableError
from kgsparql.knowledge_base import KnowledgeBase
from tests.cli.conftest import Run
from tests.world import BORN, FEYNMAN, FIXTURES, NOBEL, XSD


def test_U01_U02_what_is_wrong_is_said_with_help(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nobel.ttl").write_bytes(NOBEL.read_bytes())
    (tmp_path / "empty.ttl").touch()
    (tmp_path / "binary.ttl").write_bytes(b"\x00\x01\x02")
    for words, code, said, hint in (
        (("info", "-k", "nobel.tll"), 2, "nobel.tll: no such file", "did you mean nobel.ttl?"),
        (("info", "-k", "binary.ttl"), 4, "binary.ttl:1:1", "E_PARSE"),
        (("find", "Rome", "-k", "empty.ttl"), 3, "empty.ttl holds no triples", "is it the right file?"),
        (("paths", "dbr:Warsaw", "dbr:Nowhere", "-k", "nobel.ttl"), 3, "/Nowhere> is not", "kgsparql find"),
        (("ask", "-", "-k", "nobel.ttl", "-q"), 3, "no question came from stdin", "one a line"),
    ):
        done = run(*words, stdin="")
        assert (done.exit_code, said in done.output, hint in done.output) == (code, True, True), done.output
    """Rows U01, U02, Q03, Q05 among others."""
    for arguments, says in (
        (("?!…", "-k", NOBEL), "empty"),
        (("Who?",), "no graph was given"),
        (("Who?", "-k", NOBEL, "-O", "paths_kept=many"), "not a whole number"),
        (("Who?", "-k", NOBEL, "--lang", "en } DROP ALL"), "language"),
        (("Who?", "-k", NOBEL, "-e", "<http://e.org/a b>"), "not a valid IRI"),
        (("Who?", "-k", NOBEL, "--no-model", "--guarantee", "85"), "no guarantee of 85 in 100"),
    ):
        done = run("ask", *arguments)
        assert (done.exit_code, done.stdout, says in done.stderr) == (2, "", True), arguments
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr


IN_DOUBT = "Which laureates died before 1970 in hospital?"


def test_a_doubt_lists_readings_and_the_number_of_one_makes_it_the_answer(run: Run) -> None:
    asked = ("ask", IN_DOUBT, "-k", NOBEL, "--no-model", "-q")
    done = run(*asked)
    assert (done.exit_code, "--reading 1" in done.stdout) == (3, True)
    choices = json.loads(run(*asked, "-f", "json").stdout)["choices"]
    assert [f"{at:>4}  {one['reading']}" for at, one in enumerate(choices, 1)] == done.stdout.splitlines()[1:6:2]
    chosen = run(*asked, "--reading", "2", "-f", "json")
    assert chosen.exit_code == 0
    found = json.loads(chosen.stdout)
    assert (found["sure"], len(found["answers"]), found["choices"]) == (True, choices[1]["count"], [])
    wrong = run(*asked, "--reading", "7")
    assert (wrong.exit_code, "no reading 7 of this question: there are 3" in wrong.stderr) == (2, True)


def test_who_asks_one_question_after_another_types_the_number_of_a_reading(run: Run) -> None:
    done = run("ask", "-i", "-k", NOBEL, "--no-model", "-q", "-f", "jsonl", stdin=f"{IN_DOUBT}\n3\n7\n")
    doubted, chosen, other = map(json.loads, done.stdout.splitlines())
    assert chosen["question"] == IN_DOUBT
    assert [one["term"]["label"] for one in chosen["answers"][:3]] == doubted["choices"][2]["first"]
    assert other["question"] == "7"  # no reading has it: it is a question


def test_trig_says_when(run: Run) -> None:
    asked = ("ask", BORN, "-k", NOBEL, "-f", "trig", "-q", "-vv")
    done = run(*asked)
    assert (done.exit_code, done.stderr) == (0, ""), "quiet whatever else is asked for"
    quads = list(pyoxigraph.parse(done.stdout.encode(), format=pyoxigraph.RdfFormat.TRIG))
    graphs = {q.graph_name.value for q in quads if isinstance(q.graph_name, pyoxigraph.NamedNode)}
    assert {name.partition("#")[2] for name in graphs} <= {"evidence", "retrieved"}
    assert "prov:endedAtTime" in done.stdout
    again = run(*asked).stdout.splitlines()
    assert {line.strip() for line in done.stdout.splitlines() if "endedAtTime" not in line} >= {
        line.strip() for line in again if "endedAtTime" not in line
    }, "all else is the same"


def test_questions_from_stdin_one_json_line_each_whatever_happens_to_the_others(run: Run) -> None:
    questions = f"{BORN}\n\n???\nWhere was Niels Bohr born?\n"
    done = run("ask", "-", "-k", NOBEL, "-f", "json", stdin=questions)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["id"], line["status"]) for line in lines] == [
        (1, "answered"), (2, "empty"), (3, "error"), (4, "answered"),
    ]  # fmt: skip
    assert lines[1] == {"id": 2, "schema_version": 4, "question": "", "status": "empty", "answers": [], "error": None}
    assert lines[2]["error"]["code"] == "E_INPUT"
    assert done.exit_code == 0


def test_a_bad_line_is_an_error_of_its_own_and_the_rest_runs(run: Run) -> None:
    bad = {
        b"\xff\xfe?": (2, "E_ENCODING"), b"x" * 2_000_000: (3, "E_LIMIT"), b'{"question": ': (4, "E_INPUT"),
        b'{"id": ["a"], "question": "Who?"}': (5, "E_INPUT"), b'{"id": "a", "question": 7}': ("a", "E_INPUT"),
        b"[" * 100_000: (7, "E_LIMIT"),
    }  # fmt: skip
    done = run("ask", "-", "-k", NOBEL, "-q", stdin=b"\n".join([BORN.encode(), *bad, BORN.encode(), b""]))
    first, *wrong, last = map(json.loads, done.stdout.splitlines())
    assert [(one["id"], one["error"]["code"]) for one in wrong] == [*bad.values()]
    assert all((one["status"], one["answers"], len(one["question"]) <= 300) == ("error", [], True) for one in wrong)
    assert (first["id"], last["id"], last["question"]) == (1, 8, BORN)
    assert first["answers"] == last["answers"] != []
    assert (done.exit_code, done.stderr) == (0, "")
    for lines, options, code in (
        ("\n\n", (), 3), ("Who painted Xyzzyplugh?\n", (), 3),
        (f"???\n{BORN}\n", (), 0), (f"{BORN}\n", ("--max-queries", "1"), 6),
    ):  # fmt: skip
        assert run("ask", "-", "-k", NOBEL, "-q", *options, stdin=lines).exit_code == code, (lines, options)


def test_ids_are_kept_in_every_format(run: Run) -> None:
    lines = "\n".join(['{"id": "b7", "question": "Where was Niels Bohr born?"}', "", "???", BORN])
    asked = ("ask", "-", "-k", NOBEL, "-q")
    assert run(*asked, "-f", "plain", stdin=lines).stdout == "Copenhagen\n\n\nWarsaw\n"
    rows = list(csv.DictReader(io.StringIO(run(*asked, "-f", "csv", stdin=lines).stdout)))
    assert [(row["id"], row["status"], row["answer"]) for row in rows if row["rank"] in {"", "1"}] == [
        ("b7", "answered", "Copenhagen"), ("2", "empty", ""), ("3", "error", ""), ("4", "answered", "Warsaw"),
    ]  # fmt: skip
    assert rows[0]["question"] == "Where was Niels Bohr born?"
    shown = run(*asked, "-f", "text", stdin=lines).stdout
    assert [line for line in shown.splitlines() if re.match(r"(?:[0-9]+|b7)\.", line)] == [
        "b7. Where was Niels Bohr born?", "2.", "3. ???", f"4. {BORN}",
    ]  # fmt: skip
    assert "\n2.\nNo question.\n" in shown
    assert "\n3. ???\nError: " in shown
    trig = run(*asked, "-f", "trig", stdin=lines)
    assert list(pyoxigraph.parse(trig.stdout.encode(), format=pyoxigraph.RdfFormat.TRIG))
    assert trig.stderr.startswith("error: '???': ")
    assert "[E_INPUT]" in trig.stderr


def test_plain_lines_and_rows_are_the_sure_answers_and_nothing_else(run: Run) -> None:
    asked = ("ask", "Who were the women Albert Einstein was married to?", "-k", NOBEL, "-q")
    assert run(*asked, "-f", "plain").stdout == "Elsa Einstein\nMileva Marić\n"
    rows = list(csv.DictReader(io.StringIO(run(*asked, "-f", "csv").stdout)))
    assert [row["answer"] for row in rows if row["best"] == "true"] == ["Elsa Einstein", "Mileva Marić"]
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, len(rows) + 1)]
    assert 0.8 < float(rows[0].pop("confidence")) < 1
    assert {**rows[0], "score": ""} == {
        "status": "answered", "rank": "1", "best": "true", "answer": "Elsa Einstein", "type": "uri",
        "datatype": "", "language": "", "value": "http://dbpedia.org/resource/Elsa_Einstein", "score": "",
        "markers": "P1", "reason": "",
    }  # fmt: skip
    born = run("ask", "When was Niels Bohr born?", "-k", NOBEL, "-q", "-f", "csv").stdout.splitlines()
    assert born[0].split(",")[:4] == ["status", "rank", "best", "answer"]
    assert born[1].split(",")[3:7] == ["1885-10-07", "literal", "1885-10-07", f"{XSD}date"]
    none = run("ask", "Who painted Xyzzyplugh?", "-k", NOBEL, "-q", "-f", "plain")
    assert (none.stdout, none.exit_code) == ("", 3)
    asked = ("ask", "Is Ève Curie a child of Marie Curie?", "-k", NOBEL, "--no-model", "-r", "path_ranking")
    plain, rows = (run(*asked, "-f", form) for form in ("plain", "csv"))
    assert (plain.stdout, plain.exit_code, rows.exit_code) == ("", 3, 3)
    assert plain.stderr.startswith("No sure answer: what 'yes or no' asks for is not computed")
    assert rows.stderr == plain.stderr
    (first, *_) = csv.DictReader(io.StringIO(rows.stdout))
    assert (first["status"], first["rank"], first["best"]) == ("partial", "1", "false")
    assert first["reason"].startswith("what 'yes or no' asks for")
    assert run(*asked, "-f", "plain", "-q").stderr == ""


def test_a_bad_line_is_a_row(run: Run) -> None:
    done = run("ask", "-", "-k", NOBEL, "-q", "-f", "csv", "--no-model", stdin=f'{BORN}\n{{"id": "x"}}\n')
    assert done.exit_code == 0
    last = [*csv.DictReader(io.StringIO(done.stdout))][-1]
    assert (last["id"], last["status"], last["reason"]) == ("x", "error", "line 2 has no question")


def test_what_is_written_as_json_is_as_the_schema_says(run: Run) -> None:
    is_one = TypeAdapter(AnsweredObject | UnansweredObject)
    questions = f"{BORN}\n\n???\nWho painted Xyzzyplugh?\n"
    graphs = ("-k", NOBEL, "-k", FIXTURES / "wikidata_statements.ttl", "-q")
    lines = [json.loads(line) for line in run("ask", "-", *graphs, stdin=questions).stdout.splitlines()]
    asked = ("-r", "mindmap", "-f", "json", "--max-queries", "3")
    lines += [json.loads(run("ask", FEYNMAN, *graphs, *more).stdout) for more in (asked, asked[:-2])]
    lines.append(json.loads(run("ask", "Who?", "-k", "nowhere.ttl", "-f", "json").stdout))
    assert len(lines) == 7
    for line in lines:  # a member that the types do not have would be missing
        assert is_one.validate_python(line, strict=True) == line
    printed = json.loads(run("schema", "answer").stdout)
    assert {kind["$ref"].rpartition("/")[2] for kind in printed["anyOf"]} == {"AnsweredObject", "UnansweredObject"}
    assert set(printed["$defs"]["AnsweredObject"]["required"]) == set(lines[0]) - {"id"}
    assert run("schema", "nothing").exit_code == 2


def test_only_what_goes_wrong_with_the_file_is_said_of_the_file(tmp_path: Path) -> None:
    def results(error: BaseException) -> Iterator[str]:
        yield "first"
        raise error

    for error in (UnreachableError("the model server is gone"), QueryTimeoutError("stopped"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught:
            write_lines(results(error), tmp_path / "out.txt")
        assert caught.value is error
        assert (tmp_path / "out.txt").read_text() == "first\n"
    with pytest.raises(InputError, match="cannot write"):
        write_lines(["first"], tmp_path / "nowhere" / "out.txt")


def test_a_spent_budget_gives_a_partial_answer_and_errors_are_json_where_json_is_read(run: Run) -> None:
    done = run("ask", FEYNMAN, "-k", NOBEL, "--max-queries", "1", "-f", "json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["status"]) == (6, "partial")
    assert any("budget reached: 1 quer" in note["text"] for note in answer["notes"])
    done = run("ask", "Who painted Xyzzyplugh?", "-k", NOBEL, "-f", "json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["status"], answer["answers"], answer["evidence"]) == (3, "no_entity", [], [])
    done = run("ask", "Who?", "-k", "nowhere.ttl", "-f", "jsonl")
    said = json.loads(done.stdout)
    assert (said["status"], said["question"], said["error"]["code"]) == ("error", "Who?", "E_INPUT")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: nowhere.ttl")
    assert json.loads(run("find", "x", "-k", "nowhere.ttl", "-f", "json").stdout)["error"]["code"] == "E_INPUT"
    assert "kgsparql info -k GRAPH shows some" in run("ask", "-k", NOBEL).stderr


def test_a_drawing_is_written_to_pipe_and_file_and_of_many_facts_has_the_winner(run: Run, tmp_path: Path) -> None:
    asked = ("ask", "Where was Marie Curie born?", "-k", str(NOBEL), "--embedder", "none")
    assert run(*asked, "-f", "mermaid").stdout.startswith("flowchart LR\n")
    file = tmp_path / "answer.mmd"
    assert run(*asked, "-o", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8").startswith("flowchart LR")
    question = "Which university did the most laureates study at?"
    drawn = run("ask", question, "-k", str(NOBEL), "--embedder", "none", "-f", "mermaid").stdout
    assert '"University of Cambridge' in drawn
    nothing = run("ask", "Who painted Xyzzyplugh?", "-k", str(NOBEL), "--embedder", "none", "-f", "mermaid")
    assert "nothing to draw" in nothing.stdout
    gone = run(*asked, "-f", "svg")
    assert (gone.exit_code, gone.stderr.startswith("error: -f svg is gone: -f mermaid draws")) == (2, True)


def test_a_bug_is_an_error_in_json_and_costs_no_line_its_result(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("http://me:canary-word@e.org/")

    monkeypatch.setattr(KnowledgeBase, "answer", fails)
    for debug in ((), ("--debug",)):
        one = run("ask", "Who?", "-k", NOBEL, "--no-model", "-q", "-f", "json", *debug)
        many = run("ask", "-", "-k", NOBEL, "--no-model", "-q", *debug, stdin="Who?\nWhere?\n")
        found = [json.loads(line) for done in (one, many) for line in done.stdout.splitlines()]
        assert [(line["error"]["code"], line.get("id")) for line in found] == [
            ("E_INTERNAL", None), ("E_INTERNAL", 1), ("E_INTERNAL", 2),
        ]  # fmt: skip
        for done, bugs in ((one, 1), (many, 2)):
            assert (done.exit_code, done.stderr.count("Traceback")) == (1, bugs * len(debug))
            assert "canary" not in done.output


def test_the_command_takes_the_least_confidence(run: Run) -> None:
    asked = ("ask", "-", "-k", NOBEL, "-q", "--embedder", "none", "--min-confidence", "0.995")
    done = run(*asked, stdin=f"{BORN}\n")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert [gap["code"] for gap in found["gaps"]] == ["confidence"]
    assert set(found["details"]["signals"]) == set(SIGNALS)
    assert run(*asked[:-1], "1.5", stdin=BORN).exit_code == 2
