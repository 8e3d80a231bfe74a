"""Commands where files are as on Windows: names found by any case, and refused; what is open is not replaced.

``like_windows.c`` is put before libc, so that all of a command finds its files so; ``SITE`` has Python write text as it
does there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs Linux, and a C compiler")

SITE = r"""
import builtins, errno, io, os, tempfile

real_open, real_rename = io.open, os.rename


def text_as_on_windows(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **more):
    if "b" not in mode:
        encoding = encoding or "cp1252"
        newline = "\r\n" if newline is None and set(mode) & set("wax") else newline
    return real_open(file, mode, buffering, encoding, errors, newline, *rest, **more)


def rename(source, to, **more):
    if os.path.lexists(to):
        raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", source)
    real_rename(source, to, **more)


io.open = builtins.open = text_as_on_windows
os.rename = rename
os.__dict__.pop("fork", None)
os.__dict__.pop("pread", None)
"""
QUESTION = "Where was Marie Curie born?"
NOBEL = (FIXTURES / "nobel.ttl").read_text(encoding="utf-8")
ONE_MORE = '<http://example.org/a> <http://example.org/b> "c" .\n'


@dataclass(frozen=True)
class Windows:
    """A directory in which files are as there."""

    directory: Path
    environment: dict[str, str]

    def run(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "kgsparql", *arguments], cwd=self.directory, env=self.environment, check=False,
            capture_output=True, input=stdin.encode(), timeout=120,
        )  # fmt: skip
        assert b"E_INTERNAL" not in done.stderr
        return done.returncode, done.stdout.decode(), done.stderr.decode("cp1252")

    def done(self, *arguments: str, stdin: str = "") -> str:
        code, out, error = self.run(*arguments, stdin=stdin)
        assert code == 0, error
        return out

    def names(self) -> list[str]:
        return sorted({entry.name for entry in self.directory.iterdir()} - {"site", "Cache"})

    @contextmanager
    def opened(self, file: Path) -> Iterator[None]:
        """While another process has a file open."""
        with (
            file.open("rb") as stream,
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=stream) as other,
        ):
            yield
            other.communicate(b"\n")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("library") / "like_windows.so"
    source = Path(__file__).with_name("like_windows.c")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def windows(tmp_path: Path, library: Path) -> Windows:
    directory = tmp_path.resolve() / "d"
    (directory / "site").mkdir(parents=True)
    (directory / "site" / "sitecustomize.py").write_text(SITE)
    (directory / "Nobel.ttl").write_text(NOBEL, encoding="utf-8")
    environment = {
        **os.environ, "LD_PRELOAD": str(library), "LIKE_WINDOWS": str(directory), "KGSPARQL_EMBEDDER": "none",
        "KGSPARQL_CACHE_DIR": str(directory / "Cache"), "PYTHONIOENCODING": "cp1252",
        "PYTHONPATH": os.pathsep.join([str(directory / "site"), str(ROOT)]),
    }  # fmt: skip
    return Windows(directory, environment)


def test_files_are_as_on_windows(windows: Windows) -> None:
    """Else nothing here would be tested."""
    code = r"""
import os
from pathlib import Path
Path("Text").write_text("a\n")
held = Path("TEXT").open("rb")
assert held.read() == b"a\r\n"
refused = (
    lambda: os.unlink("text"), lambda: os.rename("Text", "b"), lambda: os.rename("../d", "../e"),
    lambda: Path("con.ttl").touch(), lambda: Path("a:b").mkdir(), lambda: os.symlink("Text", "link"),
)
for one in refused:
    try:
        one()
    except OSError:
        continue
    raise AssertionError(one)
held.close()
os.unlink("text")
print(os.listdir("."))
"""
    (windows.directory / "Empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=windows.directory / "Empty", env=windows.environment, check=True,
        capture_output=True,
    )  # fmt: skip
    assert done.stdout == b"[]\n"


def test_a_file_and_a_store_are_found_by_any_case_and_nothing_is_left_beside_them(windows: Windows) -> None:
    answer = windows.done("ask", QUESTION, "-k", "NOBEL.TTL", "--no-model", "-f", "csv")
    assert "Warsaw" in answer
    windows.done("load", "nobel.ttl", "--store", "Store", "-q")
    assert "unchanged" in windows.run("load", "NOBEL.ttl", "--store", "STORE")[2]
    assert windows.done("ask", QUESTION, "-k", "store", "--no-model", "-f", "csv") == answer
    windows.done("load", "-", "--store", "Piped", "--input-format", "ttl", "-q", stdin=NOBEL)
    assert windows.done("query", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "-k", "piped", "-f", "csv") == "n\r\n3534\r\n"
    assert windows.names() == ["Nobel.ttl", "Piped", "Store"]


def test_what_is_piped_is_utf_8(windows: Windows) -> None:
    query = 'SELECT ?name { VALUES ?name { "Irène \N{SUPERSCRIPT TWO} Łódź" } }'
    expected = "name\r\nIrène \N{SUPERSCRIPT TWO} Łódź\r\n"
    assert windows.done("query", "-", "-k", "Nobel.ttl", "-f", "csv", stdin=query) == expected
    asked = windows.done(
        "ask", "-", "-k", "Nobel.ttl", "--no-model", "-f", "jsonl", stdin="Where was Ève Curie born?\n"
    )
    assert json.loads(asked)["question"] == "Where was Ève Curie born?"


def test_a_changed_file_is_no_other_file_because_its_name_is_typed_in_another_case(windows: Windows) -> None:
    windows.done("load", "Nobel.ttl", "--store", "S", "-q")
    (windows.directory / "Nobel.ttl").write_text(NOBEL + ONE_MORE, encoding="utf-8")
    code, _, error = windows.run("load", "nobel.TTL", "--store", "S")
    assert code == 4
    assert "E_STORE_CHANGED" in error


@pytest.mark.parametrize(("source", "output"), [("Nobel.ttl", "NOBEL.TTL"), ("S", "s/x.csv"), ("s", "S/x.csv")])
def test_what_is_read_is_not_overwritten_by_its_name_in_another_case(
    source: str, output: str, windows: Windows
) -> None:
    windows.done("load", "Nobel.ttl", "--store", "S", "-q")
    code, _, error = windows.run("ask", QUESTION, "-k", source, "--no-model", "-o", output)
    assert code == 2
    assert "would overwrite what is read" in error
    assert (windows.directory / "Nobel.ttl").read_text(encoding="utf-8") == NOBEL


REFUSED = {
    "-o": ("ask", QUESTION, "-k", "Nobel.ttl", "--no-model", "-o", "aux.csv"),
    "-o of a stream": ("ask", QUESTION, "-k", "Nobel.ttl", "--no-model", "-o", "a:b.csv"),
    "-k": ("ask", QUESTION, "-k", "what?.ttl", "--no-model"),
    "--store": ("load", "Nobel.ttl", "--store", "con"),
    "--record": ("ask", QUESTION, "-k", "Nobel.ttl", "--no-model", "--record", "nul"),
}


@pytest.mark.parametrize("option", REFUSED)
def test_a_name_that_windows_refuses_is_an_error_with_a_hint(option: str, windows: Windows) -> None:
    code, _, error = windows.run(*REFUSED[option])
    assert code in {2, 4}
    assert re.search(r"error: .*\n  hint: ", error)
    assert windows.names() == ["Nobel.ttl"]


def test_an_answer_is_not_lost_because_its_file_is_open_in_another_program(windows: Windows) -> None:
    file = windows.directory / "answers.csv"
    file.write_text("old")
    ask = ("ask", QUESTION, "-k", "Nobel.ttl", "--no-model", "-f", "csv")
    expected = windows.done(*ask)
    for stdin in ("", f"{QUESTION}\n"):
        with windows.opened(file):
            code, _, error = windows.run(*ask[:1], "-" if stdin else QUESTION, *ask[2:], "-o", file.name, stdin=stdin)
        assert code == 2
        kept = re.search(r"the result is in (\S+) \[E_INPUT\]\n  hint: close the program", error)
        assert kept
        assert "Warsaw" in Path(kept[1]).read_text(encoding="utf-8")
        assert file.read_text() == "old"
    assert windows.done(*ask, "-o", file.name) == ""
    assert file.read_bytes() == expected.encode()


def test_a_store_that_is_open_is_not_replaced_and_not_lost(windows: Windows) -> None:
    windows.done("load", "Nobel.ttl", "--store", "S", "-q")
    (windows.directory / "more.ttl").write_text(ONE_MORE)
    table = next((windows.directory / "S").glob("*.sst"))
    with windows.opened(table):
        code, _, error = windows.run("load", "more.ttl", "--store", "S")
    assert code == 4
    assert "close the programs that use the store" in error
    assert windows.names() == ["Nobel.ttl", "S", "more.ttl"]
    count = ("query", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "-k", "S", "-f", "csv")
    assert windows.done(*count) == "n\r\n3534\r\n"
    windows.done("load", "more.ttl", "--store", "S", "-q")
    assert windows.done(*count) == "n\r\n3535\r\n"


def test_a_snapshot_and_a_run_are_the_same_bytes_as_elsewhere(windows: Windows, tmp_path: Path) -> None:
    questions = (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()[:3]
    (windows.directory / "Questions.jsonl").write_text("\n".join([*questions, ""]), encoding="utf-8")
    elsewhere = Windows(tmp_path / "elsewhere", {**windows.environment, "LD_PRELOAD": "", "PYTHONPATH": str(ROOT)})
    shutil.copytree(windows.directory, elsewhere.directory)
    texts = []
    for place in (windows, elsewhere):
        place.done("ask", QUESTION, "-k", "Nobel.ttl", "--no-model", "--record", "Snap", "-o", "a.trig")
        place.done(
            "eval", "run", "Questions.jsonl", "-k", "Nobel.ttl", "-o", "Run", "-r", "path_ranking", "--no-model", "-q"
        )
        place.done("eval", "compare", "Run", "-o", "compared.csv")
        place.done("load", "Nobel.ttl", "--store", "S", "-q")
        files = [
            *place.directory.glob("S*/*.json"),
            *place.directory.glob("Run/**/*.json*"),
            *place.directory.glob("*.*"),
        ]
        texts.append({f.relative_to(place.directory): f.read_bytes() for f in files})
        assert not list(place.directory.rglob("*.lock"))
    assert texts[0].keys() == texts[1].keys()
    assert len(texts[0]) == 10
    assert {file for file, data in texts[0].items() if data.count(b"\r\n") != texts[1][file].count(b"\r\n")} == set()
    replay = ("ask", QUESTION, "-k", "nobel.ttl", "--no-model", "--replay", "SNAP")
    assert "Warsaw" in windows.done(*replay)


def test_an_index_of_the_cache_that_is_open_is_not_removed_by_half(windows: Windows) -> None:
    windows.done("index", "-k", "Nobel.ttl", "-q")
    (manifest,) = (windows.directory / "Cache" / "labels").glob("*/kgsparql-index.json")
    before = sorted(map(str, manifest.parent.rglob("*")))
    with windows.opened(next(file for file in manifest.parent.rglob("*.lance/**/*") if file.is_file())):
        code, _, error = windows.run("cache", "--clear", "labels")
        assert code == 4
        assert "is it open in another program?" in error
        assert sorted(map(str, manifest.parent.rglob("*"))) == before
    assert windows.run("cache", "--check")[0] == 0
    windows.done("cache", "--clear", "labels")
    assert not manifest.exists()
