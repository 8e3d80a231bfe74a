"""Whether Think-on-Graph finds the one paper that a question quotes, starting from a hub that hundreds lead to.

    python benchmarks/hub.py FOLDER                     # graph.nt.gz and questions.jsonl of the ORKG set
    python benchmarks/hub.py FOLDER --embedder none     # words instead of meaning

The hub is the IRI with the most subjects that leads nowhere itself, classes and literals aside. For each question that
quotes the title of one of its papers, and for a question made up about every other paper (the set has too few of its
own), the walk of one hop starts at the hub alone: kept is the share whose paper is in the beam. Beside thinning by
embedding stands that of the published implementation, at random. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from pathlib import Path

import kgsparql
from kgsparql.exploration import neighbours
from kgsparql.query import Query
from kgsparql.terms import IRI

MADE_UP = "In which venue has '{title}' been published?"
"""In the words of the set's own questions."""


def main() -> None:
    """Ask about every paper, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--width", type=int, default=3)
    options = parser.parse_args()
    knowledge = kgsparql.open(options.folder / "graph.nt.gz", embedder=options.embedder)
    hub = hub_of(knowledge)
    groups = neighbours(knowledge.graph, [hub], direction="inverse", limit=1_000).items
    papers = list(dict.fromkeys(term for group in groups for term in group.neighbours if isinstance(term, IRI)))
    titles = {paper: label for paper, label in knowledge.labels(papers).items() if isinstance(paper, IRI)}
    asked = questions(options.folder / "questions.jsonl", titles)
    own = len(asked)
    about = {paper for _, paper in asked}
    asked += [(MADE_UP.format(title=title), paper) for paper, title in titles.items() if paper not in about]
    print(f"hub {knowledge.labels([hub])[hub]!r} ({hub.value}): {len(papers)} papers")
    print(f"{own} questions of the set quote one of their titles; {len(asked) - own} more are made up: {MADE_UP}")
    print(f"\n{'thinning':<10} {'to':>3} {'own':>6} {'made up':>8} {'all':>6} {'median ms':>10}")
    for thin, to in (("embedding", 5), ("random", 5), ("embedding", 10), ("random", 10)):
        settings = {"thin": thin, "thin_to": to, "depth": 1, "width": options.width}
        rows = [kept(knowledge, hub, question, paper, settings) for question, paper in asked]
        shares = [100 * statistics.mean([row[0] for row in some] or [0.0]) for some in (rows[:own], rows[own:], rows)]
        milliseconds = statistics.median(row[1] for row in rows)
        print(f"{thin:<10} {to:>3} {shares[0]:>5.1f}% {shares[1]:>7.1f}% {shares[2]:>5.1f}% {milliseconds:>10.0f}")


def hub_of(knowledge: kgsparql.KnowledgeBase) -> IRI:
    """The IRI with the most subjects that is no class and leads nowhere."""
    counts: Counter[IRI] = Counter()
    leading = set()
    for triple in knowledge.graph.select(Query.load("any_triple") if False else TRIPLES):
        subject, predicate, object_ = triple["subject"], triple["predicate"], triple["object"]
        named = predicate.value.endswith(("#label", "#type"))
        if not named:
            leading.add(subject)
            if isinstance(object_, IRI):
                counts[object_] += 1
    return max((term for term in counts if term not in leading), key=lambda term: (counts[term], term.value))


if __name__ == "__main__":
    main()
