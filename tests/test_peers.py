"""What other methods retrieved, scored by our metrics: their published figures come out."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from kgsparql.errors import DataError, InputError

peers = pytest.importorskip("benchmarks.peers", reason="the benchmarks are not beside these tests")

PUBLISHED = {"MindMap": (0.133, 0.030), "FiDeLiS": (0.261, 0.261), "DiFaR": (0.525, 0.304), "HubLink": (0.811, 0.598)}
"""Triple recall and hit@10 over the 169 questions."""


def test_the_published_figures_are_reproduced(shared_data: Path) -> None:
    tables, problems = peers.tables(shared_data / "orkg")
    assert problems == []
    rows = {row["method"]: row for row in tables["All questions"]}
    assert {name: row["n"] for name, row in rows.items()} == dict.fromkeys(PUBLISHED, 169)
    for method, (recall, hit) in PUBLISHED.items():
        metrics = rows[method]["metrics"]
        assert metrics["triple_recall"] == pytest.approx(recall, abs=0.0015), method
        assert metrics["triple_hit@10"] == pytest.approx(hit, abs=0.0015), method
    for title, rows in tables.items():
        for row in rows:
            for name, value in row["published"].items():
                assert row["metrics"][name] == pytest.approx(value, abs=0.005), (title, row["method"], name)
    assert {row["n"] for row in tables["The open questions"]} == {79}


def write(folder: Path, rows: list[dict[str, str]]) -> Path:
    (folder / "peers").mkdir()
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    for method in peers.TITLES:
        (folder / "peers" / f"{method}.csv.gz").write_bytes(gzip.compress(text.getvalue().encode()))
    questions = [json.dumps({"source_uid": uid}) for uid in ("1", "5")]
    (folder / "questions.jsonl").write_text("\n".join(questions), encoding="utf-8")
    return folder


def row(uid: str, context: str, golden: str = "['(R1:A, venue, R2:B, C)']") -> dict[str, str]:
    return {"uid": uid, "retrieved_context": context, "golden_triples": golden, "recall_triples": "0.5", "llm_cost": ""}


def test_rows_that_cannot_be_read_are_told_by_their_number_and_the_rest_is_scored(tmp_path: Path) -> None:
    hit, miss = "['(R1:A, venue, R2:B, C)', '(R1:A, venue, R2:B, C)']", "['(R1:A, venue, L3)', 'None']"
    rows = [
        row("1", hit), row("2", "["), row("3", "['x']"), row("4", "__import__('os')"), row("5", miss),
        row("6", "'(R1:A, venue, R2:B)'"), row("7", "[1]"), row("8", "(" * 20_000), row("9", hit, "['None']"),
    ]  # fmt: skip
    tables, problems = peers.tables(write(tmp_path, rows))
    assert [str(problem).split(":")[0] for problem in problems[:6]] == [
        f"mindmap.csv.gz, row {number}" for number in (2, 3, 4, 6, 7, 8)
    ]
    every, opened = (table[0] for table in tables.values())
    assert (every["n"], every["metrics"]["triple_recall"], every["metrics"]["triple_precision"]) == (3, 0.5, 0.5)
    assert (opened["n"], opened["published"]["triple_recall"]) == (2, 0.5)
    assert "| 0.500 |" in peers.markdown([every])
    before = csv.field_size_limit()
    long = "[" + ", ".join(["'(R1:A, venue, R2:B)'"] * 10_000) + "]"
    assert len(long) > before
    (tmp_path / "long").mkdir()
    tables, problems = peers.tables(write(tmp_path / "long", [row("1", long)]))
    assert problems == []
    assert tables["All questions"][0]["n"] == 1
    assert csv.field_size_limit() == before


def test_files_that_are_not_there_or_not_what_they_should_be_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"questions\.jsonl"):
        peers.tables(tmp_path)
    folder = write(tmp_path, [row("1", "[]")])
    file = folder / "peers" / "difar.csv.gz"
    file.write_bytes(gzip.compress(b"uid,answer\n1,x\n"))
    with pytest.raises(InputError, match="no column golden_triples, retrieved_context"):
        peers.tables(folder)
    file.write_bytes(b"uid\n1\n")
    with pytest.raises(DataError, match=r"difar\.csv\.gz"):
        peers.tables(folder)
    file.unlink()
    with pytest.raises(InputError, match="not found"):
        peers.tables(folder)
