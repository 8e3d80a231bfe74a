"""Random small faults in ``kgsparql/``, and which of them the tests find: the short suite, and the deep tests with it.

    python benchmarks/mutations.py                     # 40 faults, seed 1
    python benchmarks/mutations.py -n 10 --seed 7 --only kgsparql/rdf

A fault is one operator, constant or condition inside a function that is changed (``<`` to ``<=``, ``and`` to ``or``,
``3`` to ``4``, ``if x`` to ``if not x`` …). All faults of a run are written into one copy of the checkout, each of them
off until the environment names it. The tests run once with all of them off, to learn which test passes by which fault,
also in processes that tests start; then each fault is turned on for the tests that pass by it. The first test that
fails finds it. A fault that no test passes by is not found. Takes the time of the whole suite, and as much again.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ON, REACHED = "KGSPARQL_MUTANT", "KGSPARQL_MUTANTS_REACHED"
SWITCH = f'''"""Which fault is on, and who passes by one."""
import os

_ON, _DIRECTORY = int(os.environ.get("{ON}", "0")), os.environ.get("{REACHED}")
_SEEN = set()


def is_on(number):
    if _DIRECTORY:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if (number, test) not in _SEEN:
            _SEEN.add((number, test))
            with open(os.path.join(_DIRECTORY, str(os.getpid())), "a", encoding="utf-8") as file:
                file.write(f"{{number}}\\t{{test}}\\n")
    return number == _ON
'''
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*"}
SHORT, DEEP = "not deep", "deep or longer or hypothesis"
"""The suites by their markers, as ``make test`` and ``make test-deep`` choose them."""
MOST_IDS = 2_000
"""Tests that are named one by one; where more pass by a fault, the whole suite runs until one fails."""


@dataclass(frozen=True)
class Fault:
    """An expression of a source file, and what it is changed to; columns in bytes."""

    file: Path
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line}: {before} → {after}"


class Sites(ast.NodeVisitor):
    """Every expression inside a function that could be changed, with what to."""

    def __init__(self, file: Path, source: str) -> None:
        self.file, self.source, self.depth, self.found = file, source, 0, list[Fault]()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.depth += 1
        for statement in node.body:  # neither decorators nor defaults nor annotations: they are read at import
            self.visit(statement)
        self.depth -= 1

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 does not say where the parts of an f-string are."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self.add(node.test, f"not ({self.text(node.test)})")
        self.generic_visit(node)

    visit_IfExp = visit_If  # noqa: N815 - the names that ast gives
    visit_While = visit_If  # noqa: N815

    def visit_match_case(self, node: ast.match_case) -> None:
        for statement in node.body:  # a pattern holds no expressions
            self.visit(statement)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            sign = COMPARISONS[type(node.ops[0])]
            self.add(node, f"{self.text(node.left)} {sign} {self.text(node.comparators[0])}")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        sign = " or " if isinstance(node.op, ast.And) else " and "
        self.add(node, sign.join(f"({self.text(value)})" for value in node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.add(node, self.text(node.operand))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if sign := ARITHMETIC.get(type(node.op)):
            self.add(node, f"({self.text(node.left)}) {sign} ({self.text(node.right)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self.add(node, repr(node.value + 1))

    def text(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.source, node) or ast.unparse(node)

    def add(self, node: ast.expr, after: str) -> None:
        if self.depth:
            place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            self.found.append(Fault(self.file, *place, self.text(node), after))


def faults(place: Path, number: int, seed: int) -> list[Fault]:
    """So many faults, drawn from all there could be; no two in one line, so that each can be turned on alone."""
    sites: list[Fault] = []
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        visitor = Sites(path.relative_to(ROOT), source)
        visitor.visit(ast.parse(source))
        sites += visitor.found
    random.Random(seed).shuffle(sites)
    drawn: list[Fault] = []
    for site in sites:
        lines = range(site.line, site.end_line + 1)
        apart = all(o.file != site.file or not set(lines) & set(range(o.line, o.end_line + 1)) for o in drawn)
        if apart and len(drawn) < number:
            drawn.append(site)
    return drawn


def plant(checkout: Path, drawn: Sequence[Fault]) -> None:
    """Write the faults into a checkout, all off."""
    (checkout / "kgsparql" / "_mutants.py").write_text(SWITCH, encoding="utf-8")
    for file in {fault.file for fault in drawn}:
        lines = (checkout / file).read_bytes().splitlines(keepends=True)
        own = [(number, fault) for number, fault in enumerate(drawn, 1) if fault.file == file]
        for number, fault in sorted(own, key=lambda pair: -pair[1].line):
            first, last = lines[fault.line - 1], lines[fault.end_line - 1]
            changed = f"(({fault.after}) if _is_on({number}) else ({fault.before}))".encode()
            lines[fault.line - 1 : fault.end_line] = [first[: fault.column] + changed + last[fault.end_column :]]
        lines.insert(_head(checkout / file), b"from kgsparql._mutants import is_on as _is_on\n")
        (checkout / file).write_bytes(b"".join(lines))


def _head(file: Path) -> int:
    """How many lines come before the first import: the docstring, and what a module says of the future."""
    first, *body = ast.parse(file.read_text(encoding="utf-8")).body
    leading = [first, *(n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__")]
    return leading[-1].end_lineno or 0


def pytest(checkout: Path, suite: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run tests of a suite in a copy of the checkout."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-m", suite, *arguments]
    if suite == DEEP:
        environment["KGSPARQL_DEEP"] = "1"
    paths = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
    own = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "300", **environment}
    return subprocess.run(command, cwd=checkout, env=own, capture_output=True, text=True, check=False)


def passers_by(checkout: Path, suite: str, tests: Sequence[str], workers: int) -> dict[int, set[str]]:
    """The tests of a suite that pass by each fault, by the fault's number; without those that fail with none on."""
    with tempfile.TemporaryDirectory() as directory:
        parallel = ("-n", str(workers), "--dist", "loadscope")
        done = pytest(checkout, suite, *parallel, "-rfE", *tests, **{REACHED: directory})
        print(f"  {suite}: {done.stdout.strip().splitlines()[-1]}", flush=True)
        if done.returncode not in {0, 1, 5}:  # fine, some failed, none chosen
            raise SystemExit(f"the tests cannot run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        failing = set(_failed(done.stdout))
        reached: dict[int, set[str]] = {}
        for file in Path(directory).iterdir():
            for line in file.read_text(encoding="utf-8").splitlines():
                number, _, test = line.partition("\t")
                if test and test not in failing:
                    reached.setdefault(int(number), set()).add(test)
    return reached


def finder(checkout: Path, number: int, suite: str, tests: set[str]) -> str:
    """The first test that fails with a fault turned on; empty if none does."""
    named = sorted(tests)
    if not named:
        return ""
    files = {test.partition("::")[0] for test in named}
    chosen = named if len(named) <= MOST_IDS else sorted(files)
    done = pytest(checkout, suite, "-x", "--timeout=120", "-rfE", *chosen, **{ON: str(number)})
    if done.returncode in {0, 5}:
        return ""
    return next(_failed(done.stdout), f"exit status {done.returncode}")


def _failed(output: str) -> Iterator[str]:
    """The tests that failed, as pytest names them at its end."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            yield line.partition(" ")[2].partition(" - ")[0]


def results(
    checkout: Path, drawn: Sequence[Fault], tests: Sequence[str], workers: int, *, is_deep: bool
) -> Iterator[tuple[Fault, str, str]]:
    """Yield each fault with the test of the short suite that finds it, else the deep one that does."""
    short = passers_by(checkout, SHORT, tests, workers)
    deep = passers_by(checkout, DEEP, tests, workers) if is_deep else {}

    def tried(number: int) -> tuple[str, str]:
        found = finder(checkout, number, SHORT, short.get(number, set()))
        return found, "" if found else finder(checkout, number, DEEP, deep.get(number, set()))

    with ThreadPoolExecutor(workers) as pool:
        for fault, (by_short, by_deep) in zip(drawn, pool.map(tried, range(1, len(drawn) + 1)), strict=True):
            print(f"  {fault}: {by_short or by_deep or 'not found'}", flush=True)
            yield fault, by_short, by_deep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="only these tests (default: all)")
    parser.add_argument("-n", type=int, default=40, help="faults (default: 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=Path, default=Path("kgsparql"), help="a folder or file of the checkout")
    parser.add_argument("--workers", type=int, default=2, help="test runs at once (default: 2)")
    parser.add_argument("--short", action="store_true", help="leave the deep tests out")
    parser.add_argument("--list", action="store_true", help="print the faults, run nothing")
    parser.add_argument("--json", type=Path, help="write the table here, too")
    given = parser.parse_args()
    drawn = faults(ROOT / given.only, given.n, given.seed)
    if given.list:
        print("\n".join(f"{number}. {fault}" for number, fault in enumerate(drawn, 1)))
        return
    with tempfile.TemporaryDirectory() as directory:
        checkout = Path(directory) / "main"
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, checkout, ignore=ignored)
        if (ROOT.parent / "shared").is_dir():
            (checkout.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
        plant(checkout, drawn)
        rows = list(results(checkout, drawn, given.tests, given.workers, is_deep=not given.short))
    print("\n| fault | short suite | deep tests |\n|---|---|---|")
    for fault, by_short, by_deep in rows:
        mark = f"`{by_deep}`" if by_deep else "" if by_short else "not found"
        print(f"| `{fault}` | {f'`{by_short}`' if by_short else 'not found'} | {mark} |")
    found = sum(bool(by_short) for _, by_short, _ in rows), sum(bool(a or b) for _, a, b in rows)
    print(f"\n{len(rows)} faults: the short suite finds {found[0]}, with the deep tests {found[1]}")
    if given.json:
        table = [{"fault": str(f), "short": a, "deep": b} for f, a, b in rows]
        given.json.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
