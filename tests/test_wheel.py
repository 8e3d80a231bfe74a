"""What is shipped is whole: sdist → wheel → clean environment → a question asked from another directory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.deep
def test_wheel_built_from_the_sdist_answers_in_a_clean_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)

    where = run(python, "-c", "import kgsparql; print(kgsparql.__file__)", cwd=tmp_path)
    assert str(tmp_path) in where, "the checkout was imported, not the wheel"
    text = run(python, "-c", "from kgsparql import Query; print(Query.load('labels').text)", cwd=tmp_path)
    assert "VALUES ?entity { UNDEF }" in text

    asked = run(
        tmp_path / "venv" / "bin" / "kgsparql", "ask", "Where was Marie Curie born?",
        "-k", FIXTURES / "nobel.ttl", "--no-model", "-f", "json", cwd=tmp_path,
    )  # fmt: skip
    answer = json.loads(asked)
    assert answer["status"] == "answered"
    assert all(triple["verified"] for item in answer["evidence"] for triple in item["triples"])
