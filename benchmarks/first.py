"""What a user meets first: a graph that nothing is known of, then the same in new processes, then in one process.

    python -m benchmarks.first FOLDER [--questions 40]

FOLDER is a graph with questions, as `kgsparql eval run` takes it; of more questions than are asked, others are left out
evenly. Nothing is indexed by hand, no model is asked, and names are compared by their letters. `first` is the first
question ever, in elapsed seconds, beside reading the file into the engine (`load`); `cold` the first questions in new
processes, in seconds of processor time of a process and its children; `warm` all of them in one process, but for the
first, in milliseconds of its processor time.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph

import kgsparql
from benchmarks.spread import Spread
from benchmarks.startup import processor_s
from kgsparql.evaluation.datasets import load as load_questions

COLD = 5
HEAVY = ("lancedb", "pandas", "pyarrow", "torch")


def measure(folder: Path, *, questions: int = 40) -> dict[str, float | Spread]:
    """Figures by name: seconds of `first` and `load`, of `cold` questions, and milliseconds of `warm` ones."""
    dataset = load_questions(folder)
    asked = some_of([question.text for question in dataset.questions], questions)
    (graph,) = dataset.graph
    found: dict[str, float | Spread] = {}
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        with gzip.open(graph) as data:
            pyoxigraph.Store(str(Path(scratch, "engine"))).bulk_load(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
        found["load_s"] = time.perf_counter() - began
        cache = Path(scratch, "cache")
        os.environ["KGSPARQL_CACHE_DIR"] = str(cache)
        arguments = ["-k", str(graph), "--no-model", "-q", "--embedder", "none"]
        began = time.perf_counter()
        processor_s(["-m", "kgsparql", "ask", asked[0], *arguments], cache)
        found["first_s"] = time.perf_counter() - began
        found["cold_s"] = Spread.of(
            (question, processor_s(["-m", "kgsparql", "ask", question, *arguments], cache)) for question in asked[:COLD]
        )
        found["heavy"] = imported(["ask", asked[0], *arguments], HEAVY)
        with kgsparql.open(graph, embedder="none") as knowledge:
            times = []
            for question in asked:
                began = time.process_time()
                knowledge.ask(question)
                times.append((question, 1000 * (time.process_time() - began)))
    return found | {"warm_ms": Spread.of(times[1:])}


def some_of(questions: Sequence[str], most: int) -> list[str]:
    """Take so many evenly, the last ones too: of a set that is hardly larger, the slow ones were never asked."""
    kept = min(most, len(questions))
    return [questions[at * len(questions) // kept] for at in range(kept)]


def imported(arguments: list[str], packages: tuple[str, ...]) -> int:
    """How many of some packages a command imports."""
    command = [sys.executable, "-X", "importtime", "-m", "kgsparql", *arguments]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    return len(names.intersection(packages))


def main() -> None:
    """Measure, print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    for name, figure in measure(options.folder, questions=options.questions).items():
        print(f"{name:<16} {figure if isinstance(figure, Spread) else format(figure, '9.2f')}")


if __name__ == "__main__":
    main()
