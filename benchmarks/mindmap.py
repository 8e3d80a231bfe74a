"""How often MindMap without a model is right, by the number of hops.

    python benchmarks/mindmap.py                                   # the bundled graph, with and without embeddings
    python benchmarks/mindmap.py GRAPH QUESTIONS.jsonl --limit 50  # any graph with questions in the fixtures' format

Columns: hits@1 (the first candidate is gold), hits@5, evidence (a gold answer is in some item), and hits@1 if
candidates were ordered by the sum of their items' scores, as the method's description says, instead of the best.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.terms import IRI

FIXTURES = Path(__file__).parents[1] / "fixtures"


def main() -> None:
    """Ask every question, print one table per embedder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", default=FIXTURES / "nobel.ttl", type=Path)
    parser.add_argument("questions", nargs="?", default=FIXTURES / "nobel_questions.jsonl", type=Path)
    parser.add_argument("--limit", type=int, help="the first so many questions of each number of hops")
    parser.add_argument("--gold-topics", action="store_true", help="give the entities instead of linking them")
    parser.add_argument("--embedders", default="auto,none", help="comma-separated")
    options = parser.parse_args()
    opener = gzip.open if options.questions.suffix == ".gz" else open
    with opener(options.questions, "rt", encoding="utf-8") as file:
        questions = [json.loads(line) for line in file]
    for embedder in options.embedders.split(","):
        knowledge = kgsparql.open(options.graph, embedder=embedder)
        print(f"\n{options.graph.name}, embedder {embedder}")
        print(
            f"{'hops':>4} {'n':>5} {'hits@1':>7} {'hits@5':>7} {'evidence':>9} {'hits@1 by sum':>14} {'median ms':>10}"
        )
        by_hops = defaultdict(list)
        for question in questions:
            by_hops[question.get("hops") or 0].append(question)
        for hops, some in sorted(by_hops.items()):
            rows = [asked(knowledge, q, gold_topics=options.gold_topics) for q in some[: options.limit]]
            means = [statistics.mean(row[i] for row in rows) * 100 for i in range(4)]
            milliseconds = statistics.median(row[4] for row in rows)
            print(
                f"{hops:>4} {len(rows):>5} {means[0]:>7.0f} {means[1]:>7.0f} {means[2]:>9.0f} {means[3]:>14.0f} "
                f"{milliseconds:>10.0f}"
            )


def asked(knowledge: kgsparql.KnowledgeBase, question: dict[str, Any], *, gold_topics: bool) -> tuple[float, ...]:
    """One question: hits@1, hits@5, whether evidence holds a gold answer, hits@1 by sum, milliseconds."""
    gold = set(question["answer_iris"]) or set(question["answers"])
    topics = tuple(IRI(entity["iri"]) for entity in question["topic_entities"]) if gold_topics else ()
    began = time.perf_counter()
    answer = knowledge.ask(question["question"], retriever="mindmap", entities=topics)
    milliseconds = (time.perf_counter() - began) * 1000
    ranked = [value(candidate.term) for candidate in answer.answers]
    evident = {value(t) for triple in answer.evidence.triples for t in (triple.subject, triple.object)}
    sums = {value(c.term): sum(answer.evidence[m].score for m in c.markers) for c in answer.answers}
    by_sum = sorted(sums, key=lambda term: -sums[term])
    return (
        float(bool(gold & set(ranked[:1]))),
        float(bool(gold & set(ranked[:5]))),
        float(bool(gold & evident)),
        float(bool(gold & set(by_sum[:1]))),
        milliseconds,
    )


def value(term: kgsparql.Term) -> str:
    """A term as the question files write it."""
    return str(getattr(term, "value", term))


if __name__ == "__main__":
    main()
