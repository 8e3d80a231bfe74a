"""The ratchet on the size of the package: it counts code and not layout, and fails where a ceiling is passed."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

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
