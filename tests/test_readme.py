"""What README and the pages of ``docs/`` show is what the commands print, and their links lead somewhere.

``UPDATE_README=1 pytest tests/test_readme.py`` rewrites what is shown.
"""

import json
import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer import Context
from typer.main import get_group
from typer.testing import CliRunner

from kgsparql.cli import app
from tests.deep import deep
from tests.world import ROOT

README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = {page.name: page for page in (README, *sorted(DOCS.glob("*.md")))}
TEXTS = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}
FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE = {name: FENCED.sub("", text) for name, text in TEXTS.items()}
IS_SHOWN = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ([^\n]+)\n", re.MULTILINE)
COMMANDS = get_group(app)
OF_ANOTHER_PROGRAM = {"--extra-index-url"}


def printed(command: str) -> str:
    """What a console shows of a command; if it ends by another status than 0, ``; echo $?`` has to show that."""
    command, echo, _ = command.partition("; echo $?")
    if command.startswith("kgsparql "):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        shown, status, error = done.stdout, done.exit_code, done.stderr
    else:
        other = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)  # noqa: S607
        shown, status, error = other.stdout, other.returncode, other.stderr
    assert echo or status == 0, f"{command}: {error}"
    shown = re.sub(r" · \d+\.\d\d s$", " · 0.05 s", shown.replace("\r\n", "\n"), flags=re.MULTILINE)
    shown = re.sub(r"\(answered \d{4}-[^)]+\)", "(answered 2026-11-25T09:21:21+00:00)", shown)
    return f"{shown}{status}\n" if echo else shown


def check(name: str, now: str) -> None:
    if os.environ.get("UPDATE_README"):
        PAGES[name].write_text(now, encoding="utf-8")
    else:
        assert TEXTS[name] == now


SHOWN = [name for name, text in TEXTS.items() if IS_SHOWN.search(text)]


@pytest.mark.parametrize("name", [deep(name) if name == "evaluation.md" else name for name in SHOWN])
def test_a_page_shows_what_its_commands_print(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They run in one directory, one after the other."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    of_block = (
        "".join(f"$ {command}\n{printed(command)}" for command in COMMAND.findall(block[0]))
        for block in IS_SHOWN.finditer(TEXTS[name])
    )
    check(name, IS_SHOWN.sub(lambda _: next(of_block), PAGES[name].read_text(encoding="utf-8")))


def test_the_table_of_methods_is_what_the_command_prints() -> None:
    lines = ["| method | evidence | calls | rounds | queries | source |", "|---|---|---|---|---|---|"]
    for one in json.loads(printed("kgsparql retrievers -f json")):
        given = (", ".join(f"{name} = {own}" for name, own in cost["where"].items()) for cost in one["cost"].values())
        costs = [
            f"{c['value']:,}" + f" ({own})" * bool(own) for c, own in zip(one["cost"].values(), given, strict=True)
        ]
        lines.append(f"| `{one['name']}` | {one['summary']} | {' | '.join(costs)} | {one['source']} |")
    now = "\n".join([*lines, ""])
    text = README.read_text(encoding="utf-8")
    table = re.compile(r"(?<=<!-- methods -->\n\n).*?(?=\n<!-- end of methods -->)", re.DOTALL)
    assert table.search(text)
    check(README.name, table.sub(lambda _: now, text))


EXAMPLES = {
    name: [block["text"] for block in FENCED.finditer(text) if block["language"] == "python"]
    for name, text in TEXTS.items()
}


@pytest.mark.parametrize("name", [name for name, codes in EXAMPLES.items() if codes])
def test_the_python_examples_of_a_page_run_and_show_what_they_say(
    name: str, nobel_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They run one after the other, with the same names."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = []
    for code in EXAMPLES[name]:
        exec(compile(code.replace("https://sparql.example.org/query", nobel_url), name, "exec"), names)  # noqa: S102
        said.append(capsys.readouterr().out)
    assert "Pierre Curie" in said[0] or name not in {README.name, "python.md"}
    if name == "python.md":
        asked, found = said[-1].splitlines()
        assert asked.startswith("Pierre Curie ")
        assert "Curie" in found


def test_the_table_of_commands_is_whole_and_there_is_something_to_check() -> None:
    assert sum(len(COMMAND.findall(text)) for text in TEXTS.values()) >= 12
    assert len(PAGES) >= 10
    listed = set(re.findall(r"^\| `kgsparql (\w+)", TEXTS["commands.md"], re.MULTILINE))
    assert listed == set(_inner(COMMANDS))
    linked = set(re.findall(r"\]\((docs/[\w.-]+)", PROSE[README.name]))
    assert {f"docs/{path.name}" for path in DOCS.iterdir() if path.is_file()} - linked == set()
    assert len(TEXTS[README.name].splitlines()) <= 200
    begins = re.compile(r"# \S.*\n\n[A-Z].*(?:\n.+)?\.\n\n")
    assert [name for name, text in TEXTS.items() if not begins.match(text)] in ([], [README.name])


def _options(command: Any) -> set[str]:
    return {"--help", *(name for one in command.params for name in (*one.opts, *one.secondary_opts))}


@cache
def _inner(command: Any) -> dict[str, Any]:
    """The commands of a group, by name."""
    group = Context(command)
    return {name: command.get_command(group, name) for name in getattr(command, "list_commands", lambda _: ())(group)}


def _all_commands(command: Any) -> list[Any]:
    return [command, *(each for one in _inner(command).values() for each in _all_commands(one))]


def _wrong_in(call: str) -> list[str]:
    """What there is not of the commands and options of ``kgsparql …``."""
    command: Any = COMMANDS
    wrong = []
    for word in shlex.split(call, comments=True)[1:]:
        inner = _inner(command)
        if word in inner:
            command = inner[word]
            continue
        command = inner.get(getattr(command, "default", ""), command)  # `eval DATASET` is `eval run DATASET`
        if word.startswith("-") and word != "-":
            wrong += [] if word in _options(command) else [f"{command.name} {word}"]
        elif _inner(command) and word != "COMMAND":
            wrong.append(word)
    return wrong


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_and_option_that_a_page_names_is_there(name: str) -> None:
    shell = [block["text"] for block in FENCED.finditer(TEXTS[name]) if block["language"] in {"sh", "console"}]
    calls = re.findall(r"(?:^|&& |\| |^\$ )(kgsparql [^|<>&\n;]+)", "\n".join(shell), re.MULTILINE)
    spans = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", PROSE[name]) if "python" not in span]
    calls += [span for span in spans if span.startswith("kgsparql ")]
    assert [f"{call}: {wrong}" for call in calls if (wrong := _wrong_in(call))] == []
    known = {option for command in _all_commands(COMMANDS) for option in _options(command)} | OF_ANOTHER_PROGRAM
    assert {option for span in spans for option in re.findall(r"(?<!\S)--[a-z][-a-z]*", span)} - known == set()


def _anchors(page: Path) -> set[str]:
    """Those that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", PROSE[name]):
        target = urlsplit(link)
        if not target.scheme:
            file = PAGES[name].parent / target.path if target.path else PAGES[name]
            if not file.exists() or (target.fragment and target.fragment not in _anchors(file)):
                dead.append(link)
    assert dead == []


def test_every_file_that_a_page_names_and_every_page_that_the_code_names_is_there() -> None:
    named = {
        name
        for text in TEXTS.values()
        for name in re.findall(r"\b(?:benchmarks|fixtures|queries|ontologies)/[\w./-]*\w", text)
    }
    assert len(named) > 12
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    files = re.findall(r"`(\w[\w/]*(?:\.py|/))`", TEXTS["development.md"])
    assert len(files) > 12
    assert [file for file in files if not any((root / file).exists() for root in (ROOT, ROOT / "kgsparql"))] == []
    wings = {path.name for path in (ROOT / "kgsparql").iterdir() if (path / "__init__.py").is_file()}
    assert wings <= {file.partition("/")[0] for file in files}
    named = {
        page
        for file in (ROOT / "kgsparql").rglob("*.py")
        for page in re.findall(r"docs/[\w-]+\.\w+(?:#[\w-]+)?", file.read_text(encoding="utf-8"))
    }
    assert named
    for page in named:
        file, _, anchor = page.partition("#")
        assert (ROOT / file).is_file(), page
        assert not anchor or anchor in _anchors(ROOT / file), page
