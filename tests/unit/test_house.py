"""The shape of the package, and the ratchet on its size: it counts code and not layout, and fails above a ceiling."""

import ast
import importlib.util
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.world import ROOT

PACKAGE = ROOT / "kgsparql"
WINGS = sorted(file.parent for file in PACKAGE.glob("*/__init__.py"))


def test_no_public_class_name_means_two_things() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(PACKAGE)))
    assert len(homes) > 100
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_at_most_ten_modules_are_in_no_wing() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 10


def test_what_is_in_doubt_is_one_of_fourteen_sentences_chosen_in_one_file() -> None:
    made: dict[str, set[str]] = defaultdict(set)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"Gap", "_gap"}:
                made[file.relative_to(PACKAGE).as_posix()].add(ast.unparse(node.args[2]))
    assert {file: len(sentences) for file, sentences in made.items()} == {"reading/gaps.py": 14}


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_a_wing_says_what_it_is_for_what_it_may_use_and_which_file_to_open_first(wing: Path) -> None:
    text = ast.get_docstring(ast.parse((wing / "__init__.py").read_text(encoding="utf-8"))) or ""
    purpose, _, rest = text.partition("\n")
    assert len(purpose) > 20
    assert "May use" in rest
    named = re.findall(r"``([\w/]+\.py)``", rest.partition("Open first:")[2])
    assert named, "Open first: ``file.py``"
    assert [name for name in named if not (wing / name).is_file()] == []


_MODE = re.compile(r"[rwaxt+]+")


def _text_without(call: ast.Call) -> list[str]:
    """What a call that opens a text does not say: its encoding, and, where it is written, its line ends."""
    given = {keyword.arg for keyword in call.keywords}
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    modes = [a.value for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    mode = next((m for m in modes if _MODE.fullmatch(m)), "")
    if name not in {"read_text", "write_text", "TextIOWrapper"} and not (name in {"open", "fdopen"} and mode):
        return []
    is_written = name == "write_text" or set(mode) & set("wax")
    return [word for word in ("encoding", *["newline"] * bool(is_written)) if word not in given]


def test_a_text_has_the_same_encoding_and_line_ends_on_every_system() -> None:
    sample = ast.parse('p.open("w"); open(p, "r"); p.read_text(); p.write_text("", encoding="x"); p.open("wb")')
    assert [_text_without(node.value) for node in sample.body] == [  # type: ignore[attr-defined]
        ["encoding", "newline"], ["encoding"], ["encoding"], ["newline"], [],
    ]  # fmt: skip
    calls = [
        (file.relative_to(PACKAGE).as_posix(), node.lineno, missing)
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and (missing := _text_without(node))
    ]
    assert calls == []


spec = importlib.util.spec_from_file_location("size", ROOT / ".ci" / "size.py")
assert spec is not None
assert spec.loader is not None
size = importlib.util.module_from_spec(spec)
spec.loader.exec_module(size)


def test_tokens_are_those_of_code_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        '"""Say\nnothing."""\n\n# why\nx = (\n    1 +\n    2\n)\n\n\ndef f():\n    """Return."""\n', encoding="utf-8"
    )
    assert size.code_tokens(file) == 7 + 5
    one_line = tmp_path / "y.py"
    one_line.write_text("x = (1 + 2)\ndef f(): pass\n", encoding="utf-8")
    assert size.code_tokens(one_line) == 7 + 6


def test_circles_are_found_also_behind_type_checking_and_two_at_once() -> None:
    arrows = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert size.in_circles(arrows) == {"a", "b", "d", "e"}
    straight = {"a": {"b", "c"}, "b": {"c"}, "c": set[str]()}
    assert size.in_circles(straight) == set()
    assert size.longest_chain(straight) == 3
    tree = ast.parse("if TYPE_CHECKING:\n    from kgsparql.x import Y\nimport kgsparql.z")
    package = {"kgsparql.x": (Path(), ""), "kgsparql.z": (Path(), "")}
    assert set(size.imports(tree, "kgsparql.own", package)) == {"kgsparql.x", "kgsparql.z"}


def test_what_is_above_its_ceiling_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    for folder in ("kgsparql", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("x = 1\n" * 3, encoding="utf-8")
    copy = tmp_path / ".ci" / "size.py"
    copy.write_text((ROOT / ".ci" / "size.py").read_text(encoding="utf-8"), encoding="utf-8")
    for ceiling, status in ((2, 1), (3, 0)):
        (tmp_path / ".ci" / "size.toml").write_text(f"lines = {ceiling}\nfiles = 1\n", encoding="utf-8")
        done = subprocess.run([sys.executable, copy], capture_output=True, text=True, check=False)
        assert (done.returncode, "ABOVE  lines" in done.stdout) == (status, status == 1), done.stderr
    (tmp_path / ".ci" / "size.toml").write_text("lines = 9\nfiles = 1\n", encoding="utf-8")
    subprocess.run([sys.executable, copy, "--set"], check=True)
    assert (tmp_path / ".ci" / "size.toml").read_text(encoding="utf-8") == "lines = 3\nfiles = 1\n"
