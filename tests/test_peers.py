"""What other methods retrieved, scored by our metrics: their published figures come out."""

from pathlib import Path

import pytest

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
