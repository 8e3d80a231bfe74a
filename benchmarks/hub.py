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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.exploration import neighbours
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE

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
    graph = knowledge.graph
    assert isinstance(graph, OxigraphGraph), "a file, so that the benchmark finds its hub by itself"
    subjects: dict[IRI, set[Term]] = {}
    leading = set()
    for quad in graph.store:
        if quad.predicate in LABELS:
            continue
        if quad.predicate != RDF_TYPE:
            leading.add(quad.subject)
        if isinstance(quad.object, IRI):
            subjects.setdefault(quad.object, set()).add(RDF_TYPE if quad.predicate == RDF_TYPE else quad.subject)
    hubs = [term for term, own in subjects.items() if term not in leading and RDF_TYPE not in own]
    return max(hubs, key=lambda term: (len(subjects[term]), term.value))


def questions(file: Path, titles: Mapping[IRI, str]) -> list[tuple[str, IRI]]:
    """The questions that quote the title of one of these papers, with the paper."""
    asked = [json.loads(line)["question"] for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        (question, paper)
        for question in asked
        for paper, title in titles.items()
        if len(title) > 10 and title.casefold() in question.casefold()
    ]


def kept(
    knowledge: kgsparql.KnowledgeBase, hub: IRI, question: str, paper: IRI, settings: Mapping[str, Any]
) -> tuple[float, float]:
    """Whether the paper is in the beam after one hop from the hub, and the milliseconds it took."""
    began = time.perf_counter()
    found = knowledge.retrieve(question, retriever="think_on_graph", options=settings, entities=(hub,), complete=False)
    milliseconds = 1000 * (time.perf_counter() - began)
    return float(any(item.path is not None and item.path.end == paper for item in found.evidence)), milliseconds


if __name__ == "__main__":
    main()
