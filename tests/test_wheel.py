"""What is shipped is whole: sdist → wheel → clean environment → a question from another directory, and each extra."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import FIXTURES, ROOT

pytestmark = pytest.mark.deep

USES = {
    "serve": """
import subprocess, sys, urllib.request
command = [sys.executable, "-m", "kgsparql", "serve", "-k", GRAPH, "--port", "0", "--no-model", "--embedder", "none"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    try:
        assert "<title>" in urllib.request.urlopen(server.stdout.readline().strip()).read().decode()
    finally:
        server.terminate()
""",
    "mcp": """
import asyncio, os, sys
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
command = ["-m", "kgsparql", "mcp", "-k", GRAPH, "--no-model"]
server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
async def names():
    async with Client(server) as client:
        return {tool.name for tool in (await client.list_tools()).tools}
assert asyncio.run(names()) == {"ask", "find", "show", "paths", "plan", "query", "info"}
""",
    "langchain": """
import kgsparql
from kgsparql.langchain import EvidenceRetriever
documents = EvidenceRetriever(knowledge=kgsparql.open(GRAPH)).invoke("Where was Marie Curie born?")
assert "Warsaw" in documents[0].page_content
""",
    "llamaindex": """
import kgsparql
from kgsparql.llamaindex import NodeRetriever
nodes = NodeRetriever(kgsparql.open(GRAPH)).retrieve("Where was Marie Curie born?")
assert "Warsaw" in nodes[0].text
""",
}
"""What somebody does first with an extra. Those that bring torch (embed, eval) are left out: gigabytes, and minutes."""


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist."""
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", directory, ROOT, cwd=directory)
    (built,) = directory.glob("*.whl")
    return built


def installed(what: str | Path, place: Path) -> Path:
    """Python of a new environment that has this and nothing else."""
    run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    python = place / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", what, cwd=place)
    return python


def test_wheel_built_from_the_sdist_answers_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    python = installed(wheel, tmp_path)
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


@pytest.mark.parametrize("extra", USES)
def test_what_an_extra_is_for_works_with_the_wheel_and_this_extra_alone(
    extra: str, wheel: Path, tmp_path: Path
) -> None:
    python = installed(f"{wheel}[{extra}]", tmp_path)
    run(python, "-c", f"GRAPH = {str(FIXTURES / 'nobel.ttl')!r}{USES[extra]}", cwd=tmp_path)
