"""How time and memory grow with the graph: each command in a new process, on graphs made up of 10⁴ to 10⁷ triples.

    python benchmarks/growth.py [--triples 10000 100000 1000000]

Every fifth triple begins a thing with a name of three made-up words, a class of fifty, and three links by predicates of
forty. The first question makes the label index (without vectors), which the second one uses.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)
_NAMESPACE = "http://example.org/"
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "el")]
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def lines(triples: int) -> Iterator[str]:
    """A graph as N-Triples, the same for the same size."""
    chooser = random.Random(triples)
    things = max(1, triples // 5)

    def word() -> str:
        return "".join(chooser.choices(_SYLLABLES, k=3))

    classes, predicates = ([word() for _ in range(count)] for count in (50, 40))
    for kind, names in (("class", classes), ("link", predicates)):
        for i, name in enumerate(names):
            yield f'<{_NAMESPACE}{kind}{i}> {_LABEL} "{name}" .\n'
    for i in range(things):
        thing = f"<{_NAMESPACE}t{i}>"
        yield f'{thing} {_LABEL} "{name_of(i)}" .\n'
        yield f"{thing} {_TYPE} <{_NAMESPACE}class{chooser.randrange(50)}> .\n"
        for _ in range(3):
            yield f"{thing} <{_NAMESPACE}link{chooser.randrange(40)}> <{_NAMESPACE}t{chooser.randrange(things)}> .\n"


def name_of(thing: int) -> str:
    """The name of a thing: three words with capitals."""
    chooser = random.Random(f"name {thing}")
    return " ".join("".join(chooser.choices(_SYLLABLES, k=2)).capitalize() for _ in range(3))


def measure(triples: int) -> dict[str, tuple[float, float]]:
    """For each command seconds of processor time and the peak of memory in MB."""
    with tempfile.TemporaryDirectory() as place:
        file, store = Path(place, "graph.nt"), Path(place, "store")
        with file.open("w", encoding="utf-8") as out:
            out.writelines(lines(triples))
        once = name_of(7)
        ask = ("ask", f"What is {once}?", "-k", str(store), "--no-model", "--embedder", "none")
        commands = {
            "load": ("load", str(file), "--store", str(store)),
            "info, first": ("info", "-k", str(store)),
            "info, again": ("info", "-k", str(store)),
            "show": ("show", f"<{_NAMESPACE}t7>", "-k", str(store)),
            "ask, first": ask,
            "ask, again": ask,
            "find a name mistyped": ("find", once[:-1], "-k", str(store), "--embedder", "none"),
        }
        return {name: run(arguments, Path(place, "cache")) for name, arguments in commands.items()}


def run(arguments: tuple[str, ...], cache: Path) -> tuple[float, float]:
    environment = {**os.environ, "KGSPARQL_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "kgsparql", *arguments], env=environment, stdout=output, stderr=output
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in {0, 3}:
            output.seek(0)
            raise SystemExit(f"{' '.join(arguments)}: {output.read().decode()}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    """Measure, print a line for each command and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    for triples in options.triples:
        for name, (seconds, megabytes) in measure(triples).items():
            print(f"{triples:>12,} {name:<24} {seconds:8.2f} s {megabytes:8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
