"""The shape of the package: one home for a class name, few loose modules, and wings that say what they are for."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import ROOT

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


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_a_wing_says_what_it_is_for_what_it_may_use_and_which_file_to_open_first(wing: Path) -> None:
    text = ast.get_docstring(ast.parse((wing / "__init__.py").read_text(encoding="utf-8"))) or ""
    purpose, _, rest = text.partition("\n")
    assert len(purpose) > 20
    assert "May use" in rest
    named = re.findall(r"``([\w/]+\.py)``", rest.partition("Open first:")[2])
    assert named, "Open first: ``file.py``"
    assert [name for name in named if not (wing / name).is_file()] == []
