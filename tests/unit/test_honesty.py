"""The outcomes of ``benchmarks/honesty.py``: what counts as right, honest and misleading."""

import json
from pathlib import Path

from benchmarks.honesty import judged
from tests.conftest import FIXTURES


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
