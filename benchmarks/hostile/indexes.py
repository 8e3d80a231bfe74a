"""Rows S on indexes: stopped, killed, stale, of another model, half gone, built twice, read while they are replaced."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.hostile.load import LABEL
from benchmarks.hostile.processes import check
from benchmarks.hostile.rows import EX, NOBEL, Place, row
from benchmarks.hostile.stores import killed, labelled, usual_s
from tests.model_server import Altered, ModelServer, Reply, Slow


class Embeddings:
    """A server of embeddings that takes a while, and remembers what it was asked for."""

    def __init__(self, delay_s: float) -> None:
        self.texts: list[str] = []
        self.server = ModelServer(embeddings=self._reply)
        self._delay_s = delay_s

    def _reply(self, body: dict[str, Any]) -> Reply:
        self.texts += body["input"]
        return Slow(self._delay_s, Altered(lambda _: None))

    def __enter__(self) -> Embeddings:
        self.server.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.__exit__(*error)

    @property
    def embedder(self) -> str:
        return f"{self.server.url}#m"


@row(
    "S03",
    "Ctrl-C in an index that is being built",
    "exit 130 within 2 s of work; the next goes on, a batch at most embedded again",
)
def stopped_index(at: Place) -> str:
    count = at.smaller(6_000, 3_000, "labels")
    file = at.write("many.nt", labelled(count))
    with Embeddings(0.2) as served:
        at.fine("info", "-k", file)
        with at.started("index", "-k", file, "--embedder", served.embedder) as process:
            deadline = time.monotonic() + 60
            while len(served.texts) < count // 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            exit_ = process.wait(20)
            took = time.monotonic() - began
            told = process.stderr.read() if process.stderr else ""
        check(exit_ == 130 and "Traceback" not in told, f"exit {exit_}: {told[-300:]}")
        check(took < 5, f"{took:.1f} s")
        before = len(served.texts)
        check(before < count, "it was done before it was stopped")
        at.fine("index", "-k", file, "--embedder", served.embedder, timeout_s=300)
        twice = len(served.texts) - len(set(served.texts))
    check(twice <= 2048, f"{twice} texts were embedded twice")
    return f"exit 130 after {took:.1f} s; {before:,} of {count:,} embedded, then {twice} of them again"


CONTENTS = """
import hashlib, sys
from pathlib import Path
import lancedb
for folder in map(Path, sys.argv[1:]):
    digest = hashlib.sha256()
    for place in sorted(folder.glob("*/*.lance"), key=lambda p: p.name.split("_")[0]):
        table = lancedb.connect(str(place.parent)).open_table(place.stem)
        rows = sorted(repr(sorted(row.items())) for row in table.to_arrow().to_pylist())
        digest.update(f"{place.name.split('_')[0]} {len(rows)}".encode() + "".join(rows).encode())
    print(digest.hexdigest())
"""


@row(
    "S04",
    "kill -9 in an index that is being built, at random instants",
    "what is finished later equals one that was built at once",
)
def killed_index(at: Place) -> str:
    rounds = max(3, at.number("kills", 1000, 15, "kills of S01, a tenth of them here") // 10)
    count, chance = 3_000, random.Random(4)
    file = at.write("many.nt", labelled(count))
    half, whole = ({"KGSPARQL_CACHE_DIR": str(at.folder / name)} for name in ("half", "whole"))
    with Embeddings(0.05) as served:
        command = ("index", "-k", file, "--embedder", served.embedder)
        takes = usual_s(lambda: at.fine(*command, env=whole, timeout_s=300))
        hit = 0
        for n in range(1, rounds + 1):
            hit += killed(at, chance.uniform(0.2, 1.0) * takes, *command, "-q", env=half) == -signal.SIGKILL
            if n % 10 == 0 or n == rounds:
                at.fine(*command, env=half, timeout_s=300)
                one, other = at.python(
                    CONTENTS, at.folder / "half" / "labels", at.folder / "whole" / "labels"
                ).stdout.split()
                check(one == other, f"after {n} kills it is another index")
                names = sorted(p.name for p in (at.folder / "half" / "labels").iterdir())
                check(len(names) == 1, f"beside it: {names}")
                shutil.rmtree(at.folder / "half")
    check(hit > rounds / 3, f"only {hit} were alive")
    return f"{rounds} kills, {hit} of a process that was at work: the same tables as of a clean build"


@row(
    "S09",
    "a graph that changed after it was indexed",
    "the new names are found, the old ones are not; never silently the old index",
)
def stale_index(at: Place) -> None:
    name = "g.nt"
    for label, other in (("Alphaville", "Betatown"), ("Betatown", "Alphaville")):
        file = at.write(name, f'<{EX}a> {LABEL} "{label}" .\n<{EX}a> <{EX}p> <{EX}b> .\n')
        if label == "Alphaville":
            at.fine("index", "-k", file)
        check(f"{EX}a" in at.fine("find", label, "-k", file).stdout, label)
        check(f"{EX}a" not in at.run("find", other, "-k", file).stdout, f"{other} is still found")
        answer = at.ask(f"What is the p of {label}?", file, exit={0, 3})
        check(answer["linked"] and answer["linked"][0]["term"]["value"] == f"{EX}a", f"{answer['linked']}")


@row(
    "S10",
    "an index of another embedding model, and of another dimension",
    "its own vectors are made, or E_MODEL_MISMATCH; never vectors of the other",
)
def other_model(at: Place) -> str:
    count = 2_000
    file = at.write("many.nt", labelled(count) + f"<{EX}7> <{EX}p> <{EX}8> .\n")
    told = []
    with ModelServer() as one, ModelServer(vector=lambda text: [float(len(text)), 1.0, 2.0]) as two:
        at.fine("index", "-k", file, "--embedder", f"{one.url}#one", timeout_s=300)
        for other in (f"{one.url}#another", f"{two.url}#one"):
            done = at.run(
                "ask", "What is the p of thing 7 of 433?", "-k", file, "--no-model", "--embedder", other, "-f", "json"
            )
            check(done.exit in {0, 3} or "E_MODEL_MISMATCH" in done.stdout, f"exit {done.exit}: {done.first_line}")
            told.append(f"exit {done.exit}")
    return ", ".join(told)


@row("S13", "a folder of an index without its manifest, and half of one", "made again; the question is answered")
def half_an_index(at: Place) -> None:
    question = "Who is the spouse of Marie Curie?"
    at.fine("index", "-k", NOBEL)
    right = at.fine("ask", question, "-k", NOBEL, "--no-model", "-f", "plain", "-q").stdout
    labels = at.folder / "cache" / "labels"
    for damage in ("manifests", "about", "half", "data"):
        for table in labels.glob("*/labels_*.lance"):
            if damage == "manifests":
                shutil.rmtree(table / "_versions")
            elif damage == "data":
                shutil.rmtree(table / "data")
        for about in labels.glob("*/*.json"):
            if damage == "about":
                about.unlink()
            elif damage == "half":
                about.write_text(about.read_text()[:40])
        done = at.run("ask", question, "-k", NOBEL, "--no-model", "-f", "plain", "-q")
        check(done.exit == 0 and done.stdout == right, f"{damage}: exit {done.exit}: {done.first_line}")
        at.fine("index", "-k", NOBEL)


@row(
    "S14",
    "two processes build one index at once",
    "one wins, the other waits or is told E_STORE_LOCKED; nothing is there twice",
)
def two_builders(at: Place) -> str:
    file = at.write("many.nt", labelled(3_000))
    with Embeddings(0.1) as served:
        command = [at.kgsparql, "index", "-k", file, "--embedder", served.embedder]
        both = [subprocess.Popen(command, cwd=at.folder, env=at.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
        told = [(process.communicate(timeout=120)[1], process.returncode) for process in both]
        check(any(exit_ == 0 for _, exit_ in told), f"{told}")
        check(all(exit_ == 0 or (exit_ == 4 and "E_STORE_LOCKED" in text) for text, exit_ in told), f"{told}")
        at.fine("index", "-k", file, "--embedder", served.embedder)
        check(len(served.texts) <= 2 * 3_001, f"{len(served.texts)} texts embedded")
    for name in ("thing 5 of 595", "thing 7 of 433"):
        found = at.fine("find", name, "-k", file, "-f", "json").stdout
        check(found.count(f"<{EX}{name.split()[1]}>") == 1, f"{name}: {found[:200]}")
    tables = [p.name.split("_")[0] for p in (at.folder / "cache" / "labels").glob("*/*.lance")]
    check(len(tables) == len(set(tables)), f"{tables}")
    return "exit " + " and ".join(str(exit_) for _, exit_ in told)


@row(
    "S15",
    "an index is optimised while rows are added",
    "no row lost, no error that a user sees (kgsparql builds under a lock and never does both at once)",
)
def conflict(at: Place) -> str:
    """What a user can do: an index that is built, questions meanwhile, another build after it; tables stay whole."""
    file = at.write("many.nt", labelled(2_000) + f"<{EX}7> <{EX}p> <{EX}8> .\n")
    with Embeddings(0.1) as served:
        command = [at.kgsparql, "index", "-k", file, "--embedder", served.embedder]
        with subprocess.Popen(command, cwd=at.folder, env=at.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as building:  # fmt: skip
            asked = 0
            while building.poll() is None or asked < 3:
                answer = at.ask("What is the p of thing 7 of 433?", file, exit={0, 3})
                check(answer["linked"][0]["term"]["value"] == f"{EX}7", f"{answer['linked']}")
                asked += 1
        check(building.returncode == 0, f"exit {building.returncode}")
        at.fine("index", "-k", file, "--embedder", served.embedder)
    found = at.fine("find", "thing 1999 of 81", "-k", file, "-f", "json").stdout
    check(found.count(f"<{EX}1999>") == 1, found[:200])
    return f"{asked} questions while it was built, each answered"


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


VERSIONS = """
import sys
from pathlib import Path
from typer.testing import CliRunner
from kgsparql.cli import app
file, count, cache = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
text, sizes = file.read_text(), []
for n in range(count):
    file.write_text(f'{text}<http://e.org/v> <http://www.w3.org/2000/01/rdf-schema#label> "version {n}" .\\n')
    done = CliRunner().invoke(app, ["index", "-k", str(file), "-q"])
    if done.exit_code:
        sys.exit(done.output)
    if n in {0, count - 1}:
        sizes.append(sum(one.stat().st_size for one in cache.rglob("*") if one.is_file()))
print(*sizes)
"""


@row(
    "S17",
    "a file that changes 1,000 times and is indexed each time",
    "`cache` says how big it is; after `cache --clear` no more than twice what is of use",
)
def versions(at: Place) -> str:
    count = at.smaller(1000, 15, "versions")
    file = at.write("g.nt", labelled(40))
    said = at.python(VERSIONS, file, count, at.folder / "cache", timeout_s=1500).stdout.split()
    first, last = map(int, said[-2:])
    check(f"{EX}v" in at.fine("find", f"version {count - 1}", "-k", file).stdout, "the last is not found")
    told = json.loads(at.fine("cache", "-f", "json").stdout)
    check(told["bytes"] >= last * 0.9, f"{last:,} bytes are there, `cache` says {told['bytes']:,}")
    cleared = at.fine("cache", "--clear", "all", timeout_s=600)
    empty = _size(at.folder / "cache")
    at.fine("index", "-k", file)
    again = _size(at.folder / "cache")
    check(
        empty < 100_000 and again <= 2 * first,
        f"{again:,} bytes after `cache --clear all` and an index, {first:,} after the first",
    )
    grown = f"{first:,} bytes after one, {last:,} after {count}, of which each has its index"
    return f"{grown}; {again:,} after `cache --clear all` ({cleared.seconds:.0f} s) and one more"


READER = """
import sys, time
import kgsparql
knowledge = kgsparql.open(sys.argv[1], embedder="none")
def said():
    answer = knowledge.ask("What is the p of thing 7 of 433?", model=None)
    return [link.term.value for link in answer.linked], [str(a.term) for a in answer.answers][:3]
print(said(), flush=True)
for line in sys.stdin:
    print(said(), flush=True)
"""


@row(
    "S18",
    "an open reader while index, cache and store are replaced or removed under it",
    "it goes on with what it opened; the next process has the new",
)
def replaced(at: Place) -> None:
    at.fine("load", at.write("a.nt", labelled(50) + f"<{EX}7> <{EX}p> <{EX}8> .\n"), "--store", "S")
    command = [at.venv / "bin" / "python", "-I", "-c", READER, "S"]
    with subprocess.Popen(command, cwd=at.folder, env=at.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as reader:  # fmt: skip
        assert reader.stdin is not None
        assert reader.stdout is not None
        before = reader.stdout.readline()

        def again(what: str) -> None:
            reader.stdin.write("\n")
            reader.stdin.flush()
            now = reader.stdout.readline()
            check(
                now == before,
                f"after {what}: {now!r}, not {before!r}",
            )

        again("nothing")
        at.fine("index", "-k", "S")
        again("an index")
        at.fine("load", at.write("b.nt", f"<{EX}7> <{EX}p> <{EX}9> .\n"), "--store", "S")
        again("a load")
        at.fine("cache", "--clear", "all")
        again("an empty cache")
        reader.stdin.close()
        check(reader.wait(30) == 0, "it ended badly")
    check(
        len(at.values("SELECT (STR(?o) AS ?v) { <http://e.org/7> <http://e.org/p> ?o }", "S")) == 2, "not the new store"
    )
