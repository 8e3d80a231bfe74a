"""What other systems do otherwise: files that are held open, line ends of Windows, modules that only Linux has."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsparql.errors import StoreError
from kgsparql.evaluation.datasets import load
from kgsparql.graphs import load_store, open_store
from kgsparql.graphs.files import FORMATS
from kgsparql.storage import files
from kgsparql.storage.files import remove, replace_directory, replace_text
from tests.cli.conftest import Run
from tests.conftest import FIXTURES, ROOT

NOBEL = FIXTURES / "nobel.ttl"
TURTLE = '@prefix : <http://example.org/> .\n# a comment\n:a :name "Ann" ;\n   :knows :b .\n:b :name "Bob" .\n'
EVERY = "SELECT ?s ?o {\n ?s ?p ?o # a comment\n}\nORDER BY ?s ?o\n"
QUESTIONS = {
    "q.jsonl": '{"id": "1", "question": "Where?", "answers": ["Warsaw"]}\n',
    "q.csv": "id,question,answers\n1,Where?,Warsaw\n",
}


class HeldError(PermissionError):
    """As Windows raises it: an ``OSError`` of Linux has no ``winerror``."""

    winerror = 32


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that has the next renames with a part of a name in them refused, as while a scanner reads the file."""
    monkeypatch.setattr(files, "_HELD_S", 0.2)
    monkeypatch.setattr(files, "_exchange_names", lambda *_: False)
    real = os.replace

    def begin(part: str, *, times: int = 1_000_000) -> None:
        left = iter(range(times))

        def replace(one: str | Path, other: str | Path) -> None:
            if part in f"{one} {other}" and next(left, None) is not None:
                raise HeldError(13, "Access is denied", str(one))
            real(one, other)

        monkeypatch.setattr(os, "replace", replace)

    return begin


def test_a_file_that_is_open_elsewhere_is_replaced_a_moment_later_or_stays_as_it_was(
    tmp_path: Path, refuse: Callable[..., None]
) -> None:
    (tmp_path / "f").write_text("old")
    refuse("f", times=3)
    replace_text(tmp_path / "f", "new\n")
    refuse("f")
    with pytest.raises(PermissionError):
        replace_text(tmp_path / "f", "newer")
    assert (tmp_path / "f").read_bytes() == b"new\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_a_store_that_is_open_elsewhere_is_neither_replaced_nor_lost_nor_removed_by_half(
    tmp_path: Path, refuse: Callable[..., None]
) -> None:
    load_store(NOBEL, tmp_path / "S")
    load_store(NOBEL, tmp_path / "new", graph="http://example.org/g")
    for held in (f"{tmp_path / 'S'} ", str(tmp_path / "new")):
        refuse(held)
        with pytest.raises(StoreError, match="cannot be put in place"):
            replace_directory(tmp_path / "new", tmp_path / "S")
    refuse("S")
    with pytest.raises(StoreError, match="cannot be removed") as caught:
        remove(tmp_path / "S", tmp_path / "S")
    assert "open in another program" in caught.value.hint
    assert sorted(tmp_path.iterdir()) == [tmp_path / "S", tmp_path / "new"]
    assert len(open_store(tmp_path / "S").store) == 3_534


def test_what_ends_its_lines_as_on_windows_is_read_as_what_does_not(tmp_path: Path, run: Run) -> None:
    store = ox.Store()
    store.load(TURTLE.encode(), ox.RdfFormat.TURTLE)
    texts = {"g.ttl": TURTLE, "q.rq": EVERY, **QUESTIONS}
    for form in ("nt", "rdf", "jsonld"):
        texts[f"g.{form}"] = (store.dump(format=FORMATS[form], from_graph=ox.DefaultGraph()) or b"").decode() + "\n"
    for name, text in texts.items():
        mark = b"\xef\xbb\xbf" if name == "q.rq" else b""
        (tmp_path / name).write_bytes(mark + text.replace("\n", "\r\n").encode())
    for form in ("ttl", "nt", "rdf", "jsonld"):
        found = run("query", tmp_path / "q.rq", "-k", tmp_path / f"g.{form}", "-f", "csv")
        assert len(found.stdout.splitlines()) == 4, form
        assert "Ann\n" in found.stdout.replace("\r\n", "\n")
    for name in QUESTIONS:
        (question,) = load(tmp_path / name).questions
        assert (question.text, [one.label for one in question.answers or ()]) == ("Where?", ["Warsaw"])


WITHOUT = """
import os, pathlib, sys

sys.modules["resource"] = None  # importing it fails, as on Windows
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "pread"):
    vars(os).pop(name, None)
for name in ("exists", "is_dir", "iterdir", "open"):
    real = getattr(pathlib.Path, name)

    def checked(self, *given, _real=real, **named):
        if str(self).startswith("/proc"):
            if _real.__name__ in {"exists", "is_dir"}:
                return False
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return _real(self, *given, **named)

    setattr(pathlib.Path, name, checked)
print("without", file=open(os.environ["SEEN"], "a"))
"""
"""Of ``sitecustomize.py``, which Python imports first, in each process that a command starts, too."""


@pytest.mark.deep
def test_a_command_does_the_same_without_what_only_linux_has(tmp_path: Path) -> None:
    endless = ("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a = 1) }", "--max-seconds", "1")
    counted = ("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY ?p", "-f", "csv")
    found: dict[str, list[list[str]]] = {}
    for site in ("", WITHOUT):
        (tmp_path / "sitecustomize.py").write_text(site)
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "SEEN": str(tmp_path / "seen")}
        store, found[site] = f"S{len(site)}", []
        for command in (
            ("load", NOBEL, "--store", store, "-q"), ("query", *counted, "-k", store), ("query", *endless, "-k", store),
        ):  # fmt: skip
            done = subprocess.run(
                [sys.executable, "-m", "kgsparql", *map(str, command)], cwd=tmp_path, env=environment, check=False,
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            said = re.sub(r"^.*(?=error:)", "", done.stderr, flags=re.DOTALL)
            found[site].append([str(part).replace(store, "S") for part in (done.returncode, done.stdout, said)])
    assert found[WITHOUT] == found[""]
    assert (tmp_path / "seen").read_text().count("without") >= 6, "a child process had what it was to do without"
