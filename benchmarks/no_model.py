"""How often path ranking is right without a model, by data set and number of hops.

    python benchmarks/no_model.py                                  # the bundled graph and its questions
    python benchmarks/no_model.py FOLDER... --limit 100            # folders with graph.nt.gz and questions.jsonl[.gz]
    python benchmarks/no_model.py FOLDER --without order,kind      # what a part of the score is worth

Entities are linked from the question, the number of hops is not told, and the weights are the same everywhere.

hits@1: the expected one, the share of the best path's answers that are gold. any: some answer of the best path is gold.
F1: of the set of the best path's answers. best of 5: the best F1 among the five paths that are shown. first link: the
first entity that was linked is the question's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.terms import Term

FIXTURES = Path(__file__).parents[1] / "fixtures"
COLUMNS = ("hits@1", "any", "F1", "best of 5", "first link", "median ms", "queries")


def main() -> None:
    """Ask every question of every set, print a line for each set and number of hops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=100, help="questions of each number of hops, drawn with seed 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--type", help="only questions of this type, such as SELECT")
    parser.add_argument("--gold-topics", action="store_true", help="give the entities instead of linking them")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--without", default="", help="parts of the score that count nothing, comma-separated")
    parser.add_argument("--failures", action="store_true", help="print each question whose best path is wrong")
    options = parser.parse_args()
    print(f"{'set':<18}{'hops':>5}{'n':>6}" + "".join(f"{name:>12}" for name in COLUMNS))
    for graph, questions in sets_of(options.folders):
        knowledge = kgsparql.open(graph, embedder=options.embedder)
        rows: dict[int, list[tuple[float, ...]]] = defaultdict(list)
        wanted = [q for q in read(questions) if options.type in {None, q.get("type")}]
        for question in sampled(wanted, options.limit, options.seed):
            rows[question.get("hops") or 0].append(asked(knowledge, question, options))
        name = questions.parent.name if options.folders else "nobel (bundled)"
        for hops, some in sorted(rows.items()):
            means = [100 * statistics.mean(row[i] for row in some) for i in range(5)]
            told = "".join(f"{mean:>12.1f}" for mean in means)
            medians = "".join(f"{statistics.median(row[i] for row in some):>12.0f}" for i in (5, 6))
            print(f"{name:<18}{hops or '':>5}{len(some):>6}{told}{medians}", flush=True)


def sets_of(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """The graph and the questions of each folder; those that come with kgsparql without any."""
    found = [(folder / "graph.nt.gz", next(folder.glob("questions.jsonl*"))) for folder in folders]
    return found or [(FIXTURES / "nobel.ttl", FIXTURES / "nobel_questions.jsonl")]


def read(path: Path) -> list[dict[str, Any]]:
    """The questions of a file, compressed or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [question for line in lines if (question := json.loads(line)).get("answers")]


def sampled(questions: list[dict[str, Any]], limit: int, seed: int) -> list[dict[str, Any]]:
    """So many questions of each number of hops, the same for the same seed."""
    by_hops: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for question in questions:
        by_hops[question.get("hops") or 0].append(question)
    drawn = random.Random(seed)
    return [
        q for _, some in sorted(by_hops.items()) for q in (some if len(some) <= limit else drawn.sample(some, limit))
    ]


def asked(
    knowledge: kgsparql.KnowledgeBase, question: dict[str, Any], options: argparse.Namespace
) -> tuple[float, ...]:
    """One question: the columns of the table."""
    gold = set(question.get("answer_iris") or ()) or set(question["answers"])
    topics = [topic["iri"] for topic in question.get("topic_entities", ())]
    began = time.perf_counter()
    answer = knowledge.ask(
        question["question"],
        retriever="path_ranking",
        entities=tuple(topics) if options.gold_topics else (),
        options=dict.fromkeys(filter(None, options.without.split(",")), 0.0),
    )
    milliseconds = (time.perf_counter() - began) * 1000
    sets = [{text_of(end) for end in item.ends} for item in answer.evidence]
    first = sets[0] if sets else set()
    hits = len(first & gold) / len(first) if first else 0.0
    if options.failures and f1(first, gold) < 0.5:
        print(f"  {question['question']}\n    {answer.evidence['P1'].text[:200] if sets else 'nothing'}")
    linked = bool(answer.linked) and answer.linked[0].term.value in topics
    return (
        hits, bool(first & gold), f1(first, gold), max((f1(ends, gold) for ends in sets), default=0.0), linked,
        milliseconds, answer.usage["queries"],
    )  # fmt: skip


def f1(found: set[str], gold: set[str]) -> float:
    """The harmonic mean of precision and recall of a set."""
    return 2 * len(found & gold) / (len(found) + len(gold)) if found else 0.0


def text_of(term: Term) -> str:
    """An IRI or a literal's value."""
    return str(getattr(term, "value", term))


if __name__ == "__main__":
    main()
