"""How long a question takes with a model that needs half a second for each reply, by method.

    python benchmarks/latency.py                                  # every method, 20 questions of the bundled graph
    python benchmarks/latency.py --methods mindmap --seconds 2    # one, with a slower model

The model is a scripted server on this machine: it chooses and answers at once, then waits. `never` has it say that the
evidence is not enough, which is the longest way; `at once` that the first evidence is. Columns: median and 90th
percentile of seconds, model calls and the longest chain of calls that waited for each other (median, most), what the
method says of both, queries, and seconds without a model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the scripted server is among the tests

import kgsparql  # noqa: E402
from kgsparql.models.language_model import LanguageModel  # noqa: E402
from kgsparql.models.openai_client import OpenAIClient  # noqa: E402
from kgsparql.retrievers import load, names  # noqa: E402
from tests.model_server import ModelServer, Reply, Slow  # noqa: E402
from tests.scripted import Player, one_after_another  # noqa: E402

TARGETS = {"think_on_graph": 4.2, "struct_gpt": 4.0, "mindmap": 1.8, "path_ranking": 1.4, "entity": 0.8}
"""Seconds a median question may take with half a second for each reply."""


class SlowModel:
    """A script that notes when each call came."""

    def __init__(self, player: Player, seconds: float) -> None:
        self.player = player
        self.seconds = seconds
        self.calls: list[tuple[float, float]] = []
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Reply:
        began = time.monotonic()
        with self._lock:
            self.calls.append((began, began + self.seconds))
        return Slow(self.seconds, self.player(body))


def main() -> None:
    """Ask the questions with each method, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", default=ROOT / "fixtures" / "nobel.ttl", type=Path)
    parser.add_argument("questions", nargs="?", default=ROOT / "fixtures" / "nobel_questions.jsonl", type=Path)
    parser.add_argument("--methods", default=",".join(names()), help="comma-separated")
    parser.add_argument("--limit", type=int, default=20, help="questions")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each reply")
    parser.add_argument("--embedder", default="auto")
    options = parser.parse_args()
    with options.questions.open(encoding="utf-8") as file:
        questions = [json.loads(line)["question"] for line in file]
    step = max(1, len(questions) // options.limit)
    questions = questions[::step][: options.limit]
    knowledge = kgsparql.open(options.graph, embedder=options.embedder)
    knowledge.ask(questions[0])  # imports, labels and the embedding model are not the question's
    print(f"{options.graph.name}, {len(questions)} questions, {options.seconds} s for each reply")
    print(
        f"{'method':<15} {'enough':<8} {'median':>7} {'p90':>6} {'target':>7} {'calls':>7} {'says':>5} {'chain':>7} "
        f"{'says':>5} {'queries':>8} {'no model':>9}"
    )
    for method in options.methods.split(","):
        measured(method, knowledge, questions, options.seconds)


def measured(method: str, knowledge: kgsparql.KnowledgeBase, questions: list[str], seconds: float) -> None:
    """One method: two lines of the table."""
    made = load(method)
    bounds = made.cost()._asdict()
    for question in questions:
        knowledge.ask(question, retriever=method)  # what a ranker remembers of a text is remembered by now
    alone = statistics.median(asked(knowledge, question, method)[0] for question in questions)
    for told, player in (("never", Player(sufficient=False)), ("at once", Player())):
        script = SlowModel(player, seconds)
        with ModelServer(script) as server:
            model = LanguageModel("scripted-model", OpenAIClient(server.url))
            rows = []
            for question in questions:
                script.calls.clear()
                took, usage = asked(knowledge, question, method, model=model)
                rows.append((took, len(script.calls), one_after_another(script.calls), usage["queries"]))
            model.client.close()
        times, calls, chains, queries = (sorted(column) for column in zip(*rows, strict=True))
        target = f"{TARGETS[method]:.1f}" if method in TARGETS and seconds == 0.5 else ""
        print(
            f"{method:<15} {told:<8} {statistics.median(times):>7.2f} {times[int(0.9 * (len(times) - 1))]:>6.2f} "
            f"{target:>7} {span(calls):>7} {bounds['calls']:>5} {span(chains):>7} {bounds['rounds']:>5} "
            f"{span(queries):>8} {alone:>9.3f}",
            flush=True,
        )


def asked(knowledge: kgsparql.KnowledgeBase, question: str, method: str, **more: Any) -> tuple[float, dict[str, Any]]:
    """Seconds and usage of one question."""
    began = time.perf_counter()
    answer = knowledge.ask(question, retriever=method, trial=False, **more)
    return time.perf_counter() - began, dict(answer.usage)


def span(values: list[Any]) -> str:
    """The median and the most."""
    return f"{statistics.median(values):g}-{values[-1]}"


if __name__ == "__main__":
    main()
