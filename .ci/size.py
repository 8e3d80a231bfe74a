"""Hold the size and shape of the package under its ceilings: size.py [--set]

Reads ``.ci/size.toml``, measures, and prints every figure beside its ceiling; exit 1 if one is above. ``--set`` lowers
the ceilings to what is measured. Imports under ``TYPE_CHECKING`` count, so that values never know what shows them.
"""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
CEILINGS = ROOT / ".ci" / "size.toml"
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


def main() -> int:
    """Measure, compare, and say what is above its ceiling."""
    ceilings = tomllib.loads(CEILINGS.read_text(encoding="utf-8"))
    found = measured()
    if "--set" in sys.argv:
        lowered = {name: min(found[name], ceiling) for name, ceiling in ceilings.items()}
        CEILINGS.write_text("".join(f"{name} = {value}\n" for name, value in lowered.items()), encoding="utf-8")
        return 0
    above = [name for name, ceiling in ceilings.items() if found[name] > ceiling]
    for name, ceiling in ceilings.items():
        sys.stdout.write(f"{'ABOVE' if name in above else 'ok':5}  {name:<24} {found[name]:>9,}  of {ceiling:,}\n")
    if above:
        sys.stderr.write("error: delete something, or say in the commit why .ci/size.toml must rise\n")
    return 1 if above else 0


def measured() -> dict[str, int]:
    """Count everything that has a ceiling."""
    package = sources(ROOT / "kgsparql")
    trees = {module: ast.parse(text) for module, (_, text) in package.items()}
    arrows = {module: set(imports(tree, module, package)) for module, tree in trees.items()}
    importers = [sum(module in own for own in arrows.values()) for module in package if not is_init(package, module)]
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    others = [
        file
        for file in (ROOT / "kgsparql").rglob("*")
        if file.suffix in {".toml", ".js", ".html", ".css", ".json", ".txt"} and "vendor" not in file.parts
    ]
    return {
        "lines": sum(text.count("\n") for _, text in package.values()),
        "tokens": sum(code_tokens(path) for path, _ in package.values()),
        "files": len(package),
        "lines_of_other_files": sum(file.read_text(encoding="utf-8").count("\n") for file in others),
        "longest_file": max(text.count("\n") for _, text in package.values()),
        "functions_over_50_lines": sum((f.end_lineno or 0) - f.lineno >= 50 for f in functions),
        "one_word_private_names": sum(
            bool(re.fullmatch(r"_[a-z0-9]+", f.name)) and f.name != "_main" for f in functions
        ),
        "modules_of_one_importer": importers.count(1),
        "loose_modules": len(list((ROOT / "kgsparql").glob("*.py"))),
        "files_in_circles": len(in_circles(arrows)),
        "longest_chain": 0 if in_circles(arrows) else longest_chain(arrows),
        "lines_of_tests": sum(text.count("\n") for _, text in sources(ROOT / "tests").values()),
    }


def sources(folder: Path) -> dict[str, tuple[Path, str]]:
    """Read the modules of a folder, by their dotted names."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path, path.read_text(encoding="utf-8")
    return found


def is_init(package: Mapping[str, tuple[Path, str]], module: str) -> bool:
    """Tell whether a module is the ``__init__`` of a folder."""
    return package[module][0].name == "__init__.py"


def code_tokens(path: Path) -> int:
    """Count tokens of code, without comments, docstrings and layout: longer lines make nothing smaller."""
    count, last = 0, tokenize.NEWLINE
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_docstring = token.type == tokenize.STRING and last in _LAYOUT
            count += token.type not in _LAYOUT and not is_docstring
            last = token.type
    return count


def imports(tree: ast.Module, own: str, package: Mapping[str, tuple[Path, str]]) -> Iterator[str]:
    """Yield the modules of the package that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in package)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                target = full if full in package else node.module
                if target in package and target != own:
                    yield target


def in_circles(arrows: Mapping[str, set[str]]) -> set[str]:
    """Find the modules that import each other, directly or through others, by taking circles out one by one."""
    left = {module: set(own) for module, own in arrows.items()}
    found: set[str] = set()
    while True:
        try:
            graphlib.TopologicalSorter(left).prepare()
        except graphlib.CycleError as error:
            circle = set(error.args[1])
            found |= circle
            left = {m: own - circle for m, own in left.items() if m not in circle}
        else:
            return found


def longest_chain(arrows: Mapping[str, set[str]]) -> int:
    """Count the modules of the longest chain of imports."""

    @cache
    def length(module: str) -> int:
        return 1 + max(map(length, arrows[module]), default=0)

    return max(map(length, graphlib.TopologicalSorter(arrows).static_order()))


if __name__ == "__main__":
    sys.exit(main())
