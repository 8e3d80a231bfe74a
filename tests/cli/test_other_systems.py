"""What only Linux has is done without elsewhere: the same answers where a module, a call and ``/proc`` are missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT

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

NOBEL = FIXTURES / "nobel.ttl"
EVERY = "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY ?p"
COMMANDS = {
    "query": ("query", EVERY, "-k", NOBEL, "-f", "csv"),
    "query of a store": ("query", EVERY, "-k", "S", "-f", "csv"),
    "load": ("load", NOBEL, "--store", "new", "-q"),
    "ask": ("ask", "Where was Marie Curie born?", "-k", NOBEL, "--no-model", "--reproducible", "-f", "json"),
    "info": ("info", "-k", "S", "-f", "json"),
    "a query that takes too long": ("query", "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a = 1) }", "-k", "S",
                                    "--max-seconds", "1"),
}  # fmt: skip


def ran(directory: Path, *arguments: object, without: bool) -> tuple[int, str]:
    """The exit status and the output of a command, with or without what Linux has."""
    directory.mkdir(exist_ok=True)
    site = directory / "site"
    site.mkdir(exist_ok=True)
    if without:
        (site / "sitecustomize.py").write_text(WITHOUT)
    environment = {
        **os.environ, "KGSPARQL_CACHE_DIR": str(directory / "cache"), "KGSPARQL_EMBEDDER": "none",
        "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "SEEN": str(directory / "seen"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "kgsparql", *map(str, arguments)], cwd=directory, env=environment, check=False,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + re.sub(r"^.*(?=error:)", "", done.stderr, flags=re.DOTALL)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_the_same_without_what_only_linux_has(name: str, tmp_path: Path) -> None:
    found = {}
    for without in (False, True):
        directory = tmp_path / str(without)
        assert ran(directory, "load", NOBEL, "--store", "S", "-q", without=without)[0] == 0
        found[without] = ran(directory, *COMMANDS[name], without=without)
    assert found[True] == found[False]
    assert "E_INTERNAL" not in found[True][1]
    processes = (tmp_path / "True" / "seen").read_text().count("without")
    assert processes >= 4 - (name in {"ask", "info"}), "a child process had what it was to do without"
