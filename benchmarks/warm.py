"""What a question costs in a process that has the graph open, by method: processor time outside any model.

    python -m benchmarks.warm FOLDER [--limit 50] [--methods path_ranking,mindmap]

FOLDER is a graph with questions, as `kgsparql eval run` takes it. The graph is indexed before, as `kgsparql index` does
it; no text of a path is embedded: each method begins with a cache of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import kgsparql
from benchmarks.first import some_of
from benchmarks.spread import Spread
from kgsparql.evaluation.datasets import load as load_questions
from kgsparql.models.embedders import open_embedder
from kgsparql.retrievers import names


def measure(
    folder: Path, *, limit: int = 50, methods: tuple[str, ...] = ("path_ranking",)
) -> dict[str, float | Spread]:
    """For each method processor milliseconds, and the growth of memory in MB."""
    dataset = load_questions(folder)
    questions = some_of([question.text for question in dataset.questions], limit)
    found: dict[str, float | Spread] = {}
    embedder = open_embedder("auto")
    for method in methods:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["KGSPARQL_CACHE_DIR"] = scratch
            knowledge = kgsparql.open(dataset.graph[0], embedder=embedder)
            knowledge.index_paths()
            knowledge.ask(questions[0], retriever=method)
            times = []
            before = _peak_mb()
            for question in questions[1:]:
                began = time.process_time()
                knowledge.ask(question, retriever=method)
                times.append((question, 1000 * (time.process_time() - began)))
        found[method] = Spread.of(times)
        found[f"{method}, growth of memory"] = _peak_mb() - before
    return found


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    """Measure, print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=50, help="questions")
    parser.add_argument("--methods", default=",".join(names()), help="comma-separated")
    options = parser.parse_args()
    for name, value in measure(options.folder, limit=options.limit, methods=tuple(options.methods.split(","))).items():
        print(f"{name:<40} {value if isinstance(value, Spread) else format(value, '8.0f')}")


if __name__ == "__main__":
    main()
