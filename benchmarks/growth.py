"""How time and memory grow with the graph: each command in a new process, on graphs made up of 10⁴ to 10⁷ triples.

    python -m benchmarks.growth [--triples 10000 100000 1000000] [--odd]

Every fifth triple begins a thing with a name of three made-up words, a class of fifty, and three links by predicates of
forty. The first question makes the label index (without vectors), which the second one uses. Fifty million triples are
a file of 5 GB, beside the store, in the directory for temporary files (``TMPDIR``). With ``--odd`` the graphs
are a hub of a million triples, 100,000 predicates, a hundred labels of a megabyte, and 150,000 triples without a label.
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


def odd_lines(kind: str) -> Iterator[str]:
    """A graph that no one expects, with the name of the seventh thing but where nothing has one."""
    things, count = {"hub": (10**6, 10**6), "predicates": (1_000, 10**5), "labels": (100, 100), "none": (150_000,) * 2}[
        kind
    ]
    for i in range(count):
        predicate, end = f"p{i}" if kind == "predicates" else "p", "hub" if kind == "hub" else f"t{i * 7 % things}"
        yield f"<{_NAMESPACE}t{i % things}> <{_NAMESPACE}{predicate}> <{_NAMESPACE}{end}> .\n"
        if kind == "labels":
            yield f'<{_NAMESPACE}t{i}> {_LABEL} "{i}{" ab" * 350_000}" .\n'
    if kind != "none":
        yield f'<{_NAMESPACE}t7> {_LABEL} "{name_of(7)}" .\n'


def name_of(thing: int) -> str:
    """The name of a thing: three words with capitals."""
    chooser = random.Random(f"name {thing}")
    return " ".join("".join(chooser.choices(_SYLLABLES, k=2)).capitalize() for _ in range(3))


def measure(triples: int | str) -> dict[str, tuple[float, float]]:
    """For each command seconds of processor time and the peak of memory in MB."""
    with tempfile.TemporaryDirectory() as place:
        file, store = Path(place, "graph.nt"), Path(place, "store")
        with file.open("w", encoding="utf-8") as out:
            out.writelines(odd_lines(triples) if isinstance(triples, str) else lines(triples))
        once = name_of(7)
        ask = ("ask", f"What is {once}?", "-k", str(store), "--no-model", "--embedder", "none")
        commands = {
            "load": ("load", str(file), "--store", str(store)),
            "info, first": ("info", "-k", str(store)),
            "info, again": ("info", "-k", str(store)),
            "show": ("show", f"<{_NAMESPACE}t7>", "-k", str(store)),
            "ask, first": ask,
            "ask, again": ask,
            "paths": ("paths", f"<{_NAMESPACE}t7>", f"<{_NAMESPACE}t8>", "-k", str(store)),
            "query, all names sorted": (
                "query",
                f"SELECT ?n {{ ?t {_LABEL} ?n }} ORDER BY ?n LIMIT 3",
                "-k",
                str(store),
            ),
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
    parser.add_argument("--odd", action="store_true")
    options = parser.parse_args()
    for graph in ("hub", "predicates", "labels", "none") if options.odd else options.triples:
        for name, (seconds, megabytes) in measure(graph).items():
            print(
                f"{graph if options.odd else format(graph, ','):>12} {name:<24} {seconds:8.2f} s {megabytes:8.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
