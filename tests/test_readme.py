"""What the README shows is what the commands print. ``UPDATE_README=1 pytest tests/test_readme.py`` rewrites it."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_group
from typer.testing import CliRunner

from kgsparql.cli import app
from tests.conftest import ROOT
from tests.endpoints.servers import oxigraph_serve, store_of

README = ROOT / "README.md"
BLOCK = re.compile(r"^```console\n\$ kgsparql (?P<command>[^\n]+)\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [match["command"] for match in BLOCK.finditer(README.read_text(encoding="utf-8"))]


MAKES_THE_RUN = re.compile(r"^kgsparql (?P<command>eval .*) -o RUN$", re.MULTILINE)


@pytest.fixture(scope="module")
def run_of_the_readme(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The run that the README makes first, in a directory of its own."""
    command = next(m["command"] for m in MAKES_THE_RUN.finditer(README.read_text(encoding="utf-8")))
    path = str(tmp_path_factory.mktemp("readme") / "RUN")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        printed(f"{command} -q -o {path}")
    return path


def printed(command: str) -> str:
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.stderr
    return re.sub(r" · \d+\.\d\d s$", " · 0.05 s", done.stdout, flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_shows_what_the_command_prints(
    command: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    text = README.read_text(encoding="utf-8")
    (match,) = [m for m in BLOCK.finditer(text) if m["command"] == command]
    is_compared = re.search(r"\bRUN\b", command) is not None
    asked = command.replace("RUN", request.getfixturevalue("run_of_the_readme")) if is_compared else command
    now = printed(asked).replace("\r\n", "\n")
    if os.environ.get("UPDATE_README"):
        README.write_text(text[: match.start("shown")] + now + text[match.end("shown") :], encoding="utf-8")
    else:
        assert match["shown"] == now


def test_the_table_of_methods_is_what_the_command_prints() -> None:
    text = README.read_text(encoding="utf-8")
    (match,) = re.finditer(r"<!-- methods -->\n\n(?P<table>.*?)\n<!-- end of methods -->", text, re.DOTALL)
    now = printed("retrievers -f md")
    if os.environ.get("UPDATE_README"):
        README.write_text(text[: match.start("table")] + now + text[match.end("table") :], encoding="utf-8")
    else:
        assert match["table"] == now


def test_there_is_something_to_check() -> None:
    assert len(COMMANDS) >= 4


def test_the_python_examples_run_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    printed: list[str] = []
    with oxigraph_serve(store_of(ROOT / "fixtures" / "nobel.ttl", tmp_path / "store")) as url:
        for code in examples:
            served = code.replace("https://sparql.example.org/query", url)
            exec(compile(served, "README.md", "exec"), names)  # noqa: S102 - our own README
            printed.append(capsys.readouterr().out)
    assert len(examples) >= 2
    assert "Pierre Curie" in printed[0]
    (second,) = [shown for code, shown in zip(examples, printed, strict=True) if "Snapshot(" in code]
    recorded, replayed, found = second.splitlines()
    assert recorded == replayed
    assert recorded.startswith("Pierre Curie ")
    assert "Curie" in found
    assert {path.name for path in (tmp_path / "SEEN").iterdir()} >= {"manifest.json", "exchanges.sqlite"}


def test_the_table_of_commands_is_whole() -> None:
    listed = set(re.findall(r"^\| `kgsparql (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE))
    group = get_group(app)
    assert listed == set(group.list_commands(Context(group)))


def test_every_file_that_the_readme_names_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:benchmarks|fixtures|queries|ontologies)/[\w./-]*\w", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    where = text[text.index("## Where things are") : text.index("## Development")]
    files = re.findall(r"`(\w[\w/]*(?:\.py|/))`", where)
    assert len(files) > 12
    assert [file for file in files if not any((root / file).exists() for root in (ROOT, ROOT / "kgsparql"))] == []
    wings = {path.name for path in (ROOT / "kgsparql").iterdir() if (path / "__init__.py").is_file()}
    assert wings <= {file.partition("/")[0] for file in files}
