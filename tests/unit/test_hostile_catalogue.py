"""The catalogue of hostile inputs, and when a row has passed; what ``benchmarks/honesty.py`` counts as honest."""

import ast
import json
from pathlib import Path

import pytest

from benchmarks.honesty import judged
from benchmarks.hostile import AREAS, Outcome, Row, catalogue, numbers_in, outcomes, page, summary, wanted
from tests.conftest import FIXTURES, ROOT


def test_every_row_of_the_catalogue_has_a_test_or_says_why_not() -> None:
    rows = catalogue()
    there = {
        number
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for number in numbers_in(node.name)
    }
    assert [row.number for row in rows if row.number not in there and not row.not_run] == []


def test_rows_are_chosen_by_area_and_number() -> None:
    rows = catalogue()
    assert [len([row for row in rows if row.number.startswith(area)]) for area in AREAS] == [45, 21, 15, 20, 25, 19]
    assert [row.number for row in wanted(rows, "s20, L02,L01")] == ["L01", "L02", "S20"]
    with pytest.raises(SystemExit, match="X09"):
        wanted(rows, "L,X09")


def test_a_row_passes_if_all_of_its_tests_do() -> None:
    rows = [
        Row("L01", "a", "b", ""),
        Row("L02", "a", "b", ""),
        Row("L03", "a", "b", ""),
        Row("S19", "a", "b", "no disk"),
    ]
    tests = [("test_L01_x", 1.0, ""), ("test_L01_L02_y", 2.0, "failure: E"), ("test_S19_z", 1.0, "")]
    found = outcomes(rows, tests)
    assert [one.trouble for one in found] == [
        "test_L01_L02_y: failure: E", "test_L01_L02_y: failure: E", "no test has its number", "no disk",
    ]  # fmt: skip
    assert outcomes(rows[:1], tests[:1]) == [Outcome(rows[0], 1, 1.0, "")]
    assert summary(found).startswith("0 of 4 passed")
    assert "| L01 | a | test_L01_L02_y: failure: E |" in page(found)


def test_outcomes_are_those_of_a_reader_who_trusts_what_is_called_an_answer(tmp_path: Path) -> None:
    asked = {
        "Where was Marie Curie born?": ["Warsaw"],
        "Where was Albert Einstein born?": ["Bern"],
        "Which drug treats hypertension?": [],
    }
    lines = [{"graph": "nobel.ttl", "question": q, "kind": "answerable", "answers": a} for q, a in asked.items()]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = [one.outcome for one in judged(file, FIXTURES, embedder="none")]
    assert found == ["right", "misleading", "honest"]
