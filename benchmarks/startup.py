"""What a command costs in a new process, in seconds of processor time: nothing known yet, the graph known, all known.

    python benchmarks/startup.py [GRAPH_FILE --questions FILE] [--rounds 3]

`again` asks a question whose vectors are kept; `new question` one whose texts are new, of a graph whose labels are
embedded; `new graph` also has the labels to embed; `first use` also compiles the package.
Beside them 150 texts as vectors, by NumPy and by sentence-transformers, each with its import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOBEL = ROOT / "fixtures" / "nobel.ttl"
NOBEL_QUESTIONS = ROOT / "fixtures" / "nobel_questions.jsonl"

TEXTS = (
    "texts = [f'{word} of place {i}' for i in range(50) for word in ('birth', 'award received', 'doctoral student')]\n"
)
BY_NUMPY = f"{TEXTS}from kgsparql.models.embedders import open_embedder\nopen_embedder('auto').embed(texts)"
BY_TORCH = f"""{TEXTS}from kgsparql.models.embedding import DEFAULT_MODEL, find_model
from kgsparql.models.embedding import SentenceTransformerEmbedder
SentenceTransformerEmbedder(find_model(DEFAULT_MODEL)).embed(texts)"""


def processor_s(arguments: list[str], cache: Path) -> float:
    """Seconds of processor time of a process and its children."""
    environment = {**os.environ, "KGSPARQL_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what was compiled is kept, as for a user
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
    if run.returncode not in {0, 3}:  # 3: an answer that is not sure
        run.check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def new_graph(cache: Path) -> None:
    """Forget all but the exported model."""
    for entry in cache.iterdir():
        if entry.name != "models":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def measure(graph: Path = NOBEL, questions: Path = NOBEL_QUESTIONS, *, rounds: int = 3) -> dict[str, float]:
    """Medians by name, in seconds of processor time; needs the default embedding model."""
    asked = _questions(questions)

    def command(*arguments: str) -> list[str]:
        return ["-m", "kgsparql", *arguments]

    def ask(question: str, *more: str) -> list[str]:
        return command("ask", question, "-k", str(graph), "--no-model", "-q", *more)

    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch)
        processor_s(command("retrievers"), cache)  # compiles
        first_use = processor_s(ask(next(asked)), cache)
        for _ in range(rounds):
            question = next(asked)
            new_graph(cache)
            runs = {
                "python": ["-c", "pass"],
                "--help": command("--help"),
                "retrievers": command("retrievers"),
                "ask, new graph": ask(next(asked)),
                "ask, new question": ask(question),
                "ask, again": ask(question),
                "ask, no embedder": ask(question, "--embedder", "none"),
                "150 texts, NumPy": ["-c", BY_NUMPY],
                "150 texts, sentence-transformers": ["-c", BY_TORCH],
            }
            for name, arguments in runs.items():
                found.setdefault(name, []).append(processor_s(arguments, cache))
    medians = {name: statistics.median(times) for name, times in found.items()}
    return {**medians, "ask, first use": first_use}


def _questions(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        return iter([json.loads(line)["question"] for line in lines])


def main() -> None:
    """Measure, print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", default=NOBEL, type=Path)
    parser.add_argument("--questions", default=NOBEL_QUESTIONS, type=Path, help="JSON Lines with `question`")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name, seconds in measure(options.graph, options.questions, rounds=options.rounds).items():
        print(f"{name:<36} {seconds:6.2f} s")


if __name__ == "__main__":
    main()
