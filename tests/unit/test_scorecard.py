"""``python -m benchmarks.hostile``: it has every row of the catalogue, and a row does not pass by accident."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.hostile.__main__ import MODULES, page, summary, wanted, with_earlier
from benchmarks.hostile.processes import MARK, check, run
from benchmarks.hostile.rows import AREAS, ROWS, CannotRun, Outcome, Place, Row, attempt


def tried(work: Callable[[Place], str | None], folder: Path) -> Outcome:
    """What becomes of a row that does this."""
    return attempt(Row("X01", "something", "nothing", work), folder / "venv", folder, quick=False, options={})


def outcome(id_: str, *, passed: bool) -> Outcome:
    return Outcome(id_, "sent | <b>", "promised", passed, "came", 1.0, 1.0)


def test_every_row_of_the_catalogue_is_written() -> None:
    for module in MODULES:
        importlib.import_module(f"benchmarks.hostile.{module}")
    assert sorted(ROWS) == sorted(wanted("L,Q,U,S,E,M"))
    assert len(ROWS) == sum(AREAS.values()) == 145
    assert all(row.sent and row.promised for row in ROWS.values())
    assert wanted("s20, L02,L01") == ["L01", "L02", "S20"]
    with pytest.raises(SystemExit, match="X09"):
        wanted("L,X09")


def test_a_row_passes_only_if_it_ends_and_nothing_is_left(tmp_path: Path) -> None:
    left: list[subprocess.Popen[bytes]] = []

    def good(_: Place) -> str:
        return "as it should be"

    def unmet(_: Place) -> None:
        check(False, "exit 1, not 4")

    def impossible(_: Place) -> None:
        raise CannotRun("no such thing here")

    def broken(_: Place) -> None:
        raise KeyError("x")

    def leaves_a_lock(at: Place) -> None:
        at.write("S.lock", "")

    def leaves_a_temporary_file(at: Place) -> None:
        at.write("tmp/abc", "")

    def leaves_a_process(at: Place) -> None:
        left.append(subprocess.Popen(["/bin/sleep", "60"], env={MARK: at.mark}))

    found = [
        tried(work, tmp_path)
        for work in (good, unmet, impossible, broken, leaves_a_lock, leaves_a_temporary_file, leaves_a_process)
    ]
    assert [one.passed for one in found] == [True, *[False] * 6]
    assert [one.came.split(":")[0] for one in found] == [
        "as it should be", "exit 1, not 4", "cannot be run here", "the row itself broke", "files left behind",
        "temporary files left behind", "processes left behind",
    ]  # fmt: skip
    assert [process.wait(10) for process in left] == [-signal.SIGKILL], "and it is ended"
    assert list(tmp_path.iterdir()) == []


def test_a_process_is_watched_and_ends_in_time(tmp_path: Path) -> None:
    big = run(
        ["python3", "-c", "import time; x = bytearray(100 << 20); time.sleep(0.5)"],
        folder=tmp_path, environment={"PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    assert big.exit == 0
    assert 90 < big.peak_mib < 400
    with pytest.raises(AssertionError, match="no end after"):
        run(["/bin/sleep", "60"], folder=tmp_path, environment={}, timeout_s=0.5)


def test_what_could_not_be_run_is_not_passed_and_the_page_says_so(tmp_path: Path) -> None:
    found = [outcome("L01", passed=True), outcome("S19", passed=False)]
    assert summary(found).startswith("1 of 2 passed; those that could not be run here, with the reason, count as not")
    shown = page(found, quick=True)
    assert "## Not passed" in shown
    assert "| L01 | sent \\| &lt;b> | promised | came | 1 | 1.0 | yes |" in shown
    file = tmp_path / "page.json"
    rows = [
        {
            "id": "S19",
            "sent": "",
            "promised": "",
            "passed": True,
            "came": "",
            "peak_mib": 0,
            "seconds": 0,
            "cut_down": "",
        }
    ]
    file.write_text(json.dumps({"rows": rows}))
    assert [(one.id, one.passed) for one in with_earlier(found[:1], file)] == [("L01", True), ("S19", True)]
    assert [one.passed for one in with_earlier(found, file)] == [True, False]
