"""The score of the catalogue of hostile inputs: every row of ``hostile.csv``, tried by the tests that carry its number.

    python -m benchmarks.hostile                      # all rows; minutes
    python -m benchmarks.hostile --rows L,Q05         # an area, single rows
    python -m benchmarks.hostile -o benchmarks/HOSTILE.md

A test belongs to a row if its name has the row's number, as in ``test_L04_a_byte_order_mark``. The deep tests are run
too. A row passes if it has a test and all of them pass; what was skipped or cannot be run here counts as not passed.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.spread import Spread

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "benchmarks" / "hostile.csv"
AREAS = {
    "L": "Files and labels", "Q": "Queries", "U": "Questions, pages, people", "S": "Stores and indexes",
    "E": "Endpoints", "M": "Models",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A row of the catalogue.

    :param not_run: why no machine of ours can try it; empty if one can.
    """

    number: str
    sent: str
    promised: str
    not_run: str


@dataclass(frozen=True)
class Outcome:
    """What became of a row's tests."""

    row: Row
    tests: int
    seconds: float
    trouble: str

    @property
    def passed(self) -> bool:
        return not self.trouble


def catalogue() -> list[Row]:
    """Read the rows, in their order."""
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        return [Row(line["row"], line["sent"], line["promised"], line["not_run"]) for line in csv.DictReader(file)]


def numbers_in(test: str) -> list[str]:
    """List the numbers of rows in the name of a test.

    >>> numbers_in("test_L01_L02_where_a_file_ends"), numbers_in("test_what[S05-x]"), numbers_in("test_UTF16_names")
    (['L01', 'L02'], ['S05'], [])
    """
    return re.findall(r"(?<![A-Za-z0-9])([LQUSEM]\d\d)(?![A-Za-z0-9])", test.replace("_", " "))


def wanted(rows: Sequence[Row], chosen: str) -> list[Row]:
    """Select rows by areas (``L``) and numbers (``L05``), between commas."""
    parts = {part.strip().upper() for part in chosen.split(",")}
    unknown = parts - set(AREAS) - {row.number for row in rows}
    if unknown:
        raise SystemExit(f"no such row or area: {', '.join(sorted(unknown))}")
    return [row for row in rows if row.number in parts or row.number[0] in parts]


def run_tests(numbers: Iterable[str]) -> list[tuple[str, float, str]]:
    """Run the tests whose names have these numbers; yield name, seconds and what went wrong."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadscope", "-m", "", f"--junit-xml={report}",
            "-k", " or ".join(numbers), "tests",
        ]  # fmt: skip
        subprocess.run(command, cwd=ROOT, env={**os.environ, "KGSPARQL_DEEP": "1"}, check=False)
        found = []
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it just now
            trouble = next((part for part in case if part.tag in {"failure", "error", "skipped"}), None)
            said = "" if trouble is None else f"{trouble.tag}: {' '.join((trouble.get('message') or '').split())[:160]}"
            found.append((case.get("name") or "", float(case.get("time") or 0), said))
    return found


def outcomes(rows: Sequence[Row], tests: Sequence[tuple[str, float, str]]) -> list[Outcome]:
    """Put rows and tests together."""
    by_number: Mapping[str, list[tuple[str, float, str]]] = defaultdict(list)
    for test in tests:
        for number in numbers_in(test[0]):
            by_number[number].append(test)
    found = []
    for row in rows:
        own = by_number[row.number]
        troubles = [f"{name}: {said}" for name, _, said in own if said]
        trouble = row.not_run or (troubles[0] if troubles else "" if own else "no test has its number")
        found.append(Outcome(row, len(own), sum(seconds for _, seconds, _ in own), trouble))
    return found


def summary(found: Sequence[Outcome]) -> str:
    """Say how many passed of all."""
    passed = sum(one.passed for one in found)
    return f"{passed} of {len(found)} passed; what was skipped or cannot be run here counts as not passed."


def page(found: Sequence[Outcome]) -> str:
    """Write all of it as Markdown."""
    where = (
        f"{datetime.now(UTC).date()}, on {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )
    lines = [
        "# Hostile inputs", "",
        "Every row of [a catalogue of hostile inputs](hostile.csv), tried by the tests that carry its number.",
        f"`python -m benchmarks.hostile -o benchmarks/HOSTILE.md` wrote this page on {where}.", "",
        f"**{summary(found)}**", "",
        f"Seconds of a row: {Spread.of((f'{one.row.number} {one.row.sent}', one.seconds) for one in found)}.",
    ]  # fmt: skip
    if failed := [one for one in found if not one.passed]:
        lines += ["", "## Not passed", "", "| row | sent | why |", "|---|---|---|"]
        lines += [f"| {one.row.number} | {cell(one.row.sent)} | {cell(one.trouble)} |" for one in failed]
    for area, name in AREAS.items():
        if rows := [one for one in found if one.row.number.startswith(area)]:
            passed = sum(one.passed for one in rows)
            lines += ["", f"## {name}: {passed} of {len(rows)}", "", "| row | sent | promised | tests | s | passed |"]
            lines.append("|---|---|---|---:|---:|---|")
            lines += [
                f"| {one.row.number} | {cell(one.row.sent)} | {cell(one.row.promised)} | {one.tests} |"
                f" {one.seconds:.1f} | {'yes' if one.passed else '**no**'} |"
                for one in rows
            ]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Write a text as a cell of a table."""
    printable = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return printable.replace("|", "\\|").replace("<", "&lt;")[:240]


def main() -> int:
    """Run the tests of the rows, print the score, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(AREAS), help="areas (L,Q) or single rows (L25), between commas")
    parser.add_argument("-o", "--output", type=Path, help="write the page here")
    given = parser.parse_args()
    rows = wanted(catalogue(), given.rows)
    found = outcomes(rows, run_tests(row.number for row in rows))
    for one in found:
        print(
            f"{one.row.number} {'ok  ' if one.passed else 'FAIL'} {one.seconds:6.1f} s  {one.row.sent}  {one.trouble}"
        )
    print(f"\n{summary(found)}")
    if given.output:
        given.output.write_text(page(found), encoding="utf-8")
    return 0 if all(one.passed or one.row.not_run for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
