"""Every row of the catalogue of hostile inputs, at full size, against an installed kgsparql.

    python -m benchmarks.hostile [--quick] [--rows L,Q,U,S,E,M or L25,S01] [--kills N] [-o benchmarks/HOSTILE.md]

A wheel is made of the checkout and installed in a new virtual environment; `--venv DIR` keeps it there for the next
time. Each row runs in a folder of its own, with a cache and a home of its own, and is then looked for processes and
files that it left behind. What could not be run here counts as not passed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import venv as venvs
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.hostile.rows import AREAS, ROOT, ROWS, Outcome, attempt

MODULES = ("load", "labels", "queries", "users", "stores", "indexes", "endpoints", "models")
NAMES = {
    "L": "Files and labels", "Q": "Queries", "U": "Questions, pages, people", "S": "Stores and indexes",
    "E": "Endpoints", "M": "Models",
}  # fmt: skip
PAGE = ROOT / "benchmarks" / "HOSTILE.md"


def main() -> int:
    """Run the rows, print them, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes for what takes more than some seconds")
    parser.add_argument("--rows", default=",".join(AREAS), help="areas (L,Q) or single rows (L25), with commas")
    parser.add_argument("--kills", type=int, default=1000, help="of S01; S02 has a fifth, S04 a tenth (default: 1000)")
    parser.add_argument("--flips", type=int, default=500, help="of bytes in S12 (default: 500)")
    parser.add_argument(
        "--soak", type=int, default=60, metavar="SECONDS", help="of S20 (default: 60; the row wants 86400)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time (default: 1)")
    parser.add_argument("--venv", type=Path, help="keep the environment here, and use it if it is there")
    parser.add_argument("-o", "--output", type=Path, help=f"the page, with JSON beside it, as {PAGE.name}")
    options = parser.parse_args()
    # A shell that starts this in the background has it ignore Ctrl-C, and so would every command that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for module in MODULES:
        importlib.import_module(f"benchmarks.hostile.{module}")
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        where = installed(options.venv or Path(scratch) / "venv")
        found = run_all(
            wanted(options.rows),
            where,
            Path(scratch),
            quick=options.quick,
            jobs=options.jobs,
            options={"kills": options.kills, "soak_s": options.soak, "flips": options.flips},
        )
    print(f"\n{summary(found)}")
    if options.output:
        found = with_earlier(found, options.output.with_suffix(".json"))
        options.output.write_text(page(found, quick=options.quick), encoding="utf-8")
        options.output.with_suffix(".json").write_text(as_json(found, quick=options.quick), encoding="utf-8")
    return 0 if all(one.passed for one in found) else 1


def wanted(rows: str) -> list[str]:
    """The ids of the rows that were asked for, in the catalogue's order."""
    catalogue = [f"{area}{n:02}" for area, count in AREAS.items() for n in range(1, count + 1)]
    parts = [part.strip().upper() for part in rows.split(",")]
    unknown = [part for part in parts if part not in AREAS and part not in catalogue]
    if unknown:
        raise SystemExit(f"no such row or area: {', '.join(unknown)}")
    return [one for one in catalogue if one in parts or one[0] in parts]


def installed(venv: Path) -> Path:
    """The environment, with a wheel of the checkout in it, and nothing of the checkout on its path."""
    python = venv / "bin" / "python"
    if not python.exists():
        with tempfile.TemporaryDirectory() as dist:
            build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist, str(ROOT)]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
            (wheel,) = Path(dist).glob("*.whl")
            venvs.create(venv, with_pip=True)
            constraints = ["-c", str(ROOT / "constraints.txt")]
            install = [python, "-m", "pip", "install", "--quiet", *constraints, f"{wheel}[serve,mcp]"]
            subprocess.run(install, check=True)
    said = subprocess.run(
        [python, "-I", "-c", "import kgsparql; print(kgsparql.__file__)"],
        check=True, capture_output=True, text=True, cwd=venv,
    ).stdout.strip()  # fmt: skip
    if not said.startswith(str(venv.resolve())):
        raise SystemExit(f"kgsparql is imported from {said}, not from {venv}")
    return venv.resolve()


def run_all(
    ids: Sequence[str], venv: Path, scratch: Path, *, quick: bool, jobs: int, options: Mapping[str, int]
) -> list[Outcome]:
    """Try each row, print a line of each as it is done; the outcomes are in the order of the catalogue."""

    def tried(one: str) -> Outcome:
        if one in ROWS:
            outcome = attempt(ROWS[one], venv, scratch, quick=quick, options=options)
        else:
            outcome = Outcome(one, "", "", False, "not written", 0.0, 0.0)
        mark = "ok  " if outcome.passed else "FAIL"
        cut = f" ({outcome.cut_down})" if outcome.cut_down else ""
        print(
            f"{one} {mark} {outcome.seconds:6.1f} s {outcome.peak_mib:6.0f} MiB  {outcome.sent} → {outcome.came}{cut}",
            flush=True,
        )
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        slow_first = sorted(ids, key=lambda one: one[0] != "S")
        done = {outcome.id: outcome for outcome in pool.map(tried, slow_first)}
    return [done[one] for one in ids]


def with_earlier(found: Sequence[Outcome], file: Path) -> list[Outcome]:
    """These outcomes, and those that a file has of rows that were not run now."""
    earlier = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    known = {one["id"]: Outcome(**one) for one in earlier} | {one.id: one for one in found}
    return [known[one] for one in wanted(",".join(AREAS)) if one in known]


def summary(found: Sequence[Outcome]) -> str:
    """How many passed of all."""
    passed = sum(one.passed for one in found)
    return (
        f"{passed} of {len(found)} passed; those that could not be run here, with the reason, count as not passed."
        + (f" The catalogue has {sum(AREAS.values())}." if len(found) != sum(AREAS.values()) else "")
    )


def as_json(found: Sequence[Outcome], *, quick: bool) -> str:
    """All of it, for programs."""
    about = {"machine": machine(), "date": today(), "quick": quick, "passed": sum(one.passed for one in found)}
    return json.dumps({**about, "rows": [asdict(one) for one in found]}, indent=1, ensure_ascii=False) + "\n"


def page(found: Sequence[Outcome], *, quick: bool) -> str:
    """All of it, for people."""
    lines = [
        "# Hostile inputs", "",
        "Every row of a catalogue of hostile inputs, run against kgsparql as it is installed: a wheel in a virtual",
        f"environment of its own. `python -m benchmarks.hostile{' --quick' if quick else ''} -o benchmarks/HOSTILE.md`",
        f"wrote this page on {today()}, on {machine()}.", "", f"**{summary(found)}**", "",
        "A row passes only if exit status, words or contents, and bounds were all as promised, and neither a process",
        "nor a file was left behind. Memory is the most that the process and its children had together. A row that was",
        "tried in a smaller size than the catalogue has it says so.", "",
        "| area | passed | of |", "|---|---|---|",
    ]  # fmt: skip
    by_area = {area: [one for one in found if one.id[0] == area] for area in AREAS}
    lines += [f"| {NAMES[a]} | {sum(o.passed for o in rows)} | {len(rows)} |" for a, rows in by_area.items() if rows]
    failed = [one for one in found if not one.passed]
    if failed:
        lines += ["", "## Not passed", "", "| row | sent | what came |", "|---|---|---|"]
        lines += [f"| {one.id} | {_cell(one.sent)} | {_cell(one.came)} |" for one in failed]
    for area, rows in by_area.items():
        if rows:
            lines += ["", f"## {NAMES[area]}", "", "| row | sent | promised | came | MiB | s | passed |"]
            lines += ["|---|---|---|---|---|---|---|", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(one: Outcome) -> str:
    cut = f" ({one.cut_down})" if one.cut_down else ""
    cells = (one.id, _cell(one.sent) + cut, _cell(one.promised), _cell(one.came))
    return f"| {' | '.join(cells)} | {one.peak_mib:.0f} | {one.seconds:.1f} | {'yes' if one.passed else '**no**'} |"


def _cell(text: str) -> str:
    printable = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return printable.replace("|", "\\|").replace("<", "&lt;")[:240]


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    if shutil.which("sh") is None:
        raise SystemExit("this needs a Unix shell")
    sys.exit(main())
