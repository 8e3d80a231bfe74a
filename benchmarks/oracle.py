"""How far each method gets with somebody who chooses rightly: the ceiling that the rest of it allows.

    python benchmarks/oracle.py DATA/metaqa DATA/pathquestion --limit 50 --methods struct_gpt,think_on_graph

A folder holds ``graph.nt.gz`` and ``questions.jsonl`` (or ``.jsonl.gz``) whose questions have ``path``: the local names
of the predicates from the topic to the answers, ``^`` for the inverse direction. The topics are given, an oracle
chooses whatever lies on that path, and the path is followed to every end.

Columns: ``contains`` (the answers that are returned hold every gold one), ``equal`` (and no other), both of the answers
that the best item of evidence leads to, and ``any`` (all candidates of all items hold every gold one). For
``path_ranking``, which ranks whole paths, nobody chooses and nobody says how many hops there are: it is printed how
often the gold path is among its first 5, 10 and 20.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.answer import Answer
from kgsparql.asking import Asking
from kgsparql.choosing import OracleChooser
from kgsparql.paths import PropertyPath, Step
from kgsparql.query import Query
from kgsparql.terms import IRI, Term

STEPS = {"struct_gpt": "max_steps", "think_on_graph": "depth"}
"""The option of each method that says how many hops it walks; a method that ranks paths is not told."""

RANKED = (5, 10, 20)
SEED = 0


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one question."""

    contains: bool
    equal: bool
    anywhere: bool
    milliseconds: float
    queries: int
    ranks: tuple[bool, ...] = ()


def main() -> None:
    """Ask the questions of each folder with each method; print one line for each number of hops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--methods", default="struct_gpt,think_on_graph", help="comma-separated")
    parser.add_argument("--limit", type=int, help="so many questions of each number of hops, drawn at random")
    parser.add_argument("--embedder", default="none", help="as for kgsparql ask; the oracle needs none")
    parser.add_argument("--misses", action="store_true", help="print what was not all there")
    options = parser.parse_args()
    print(
        f"{'set':14} {'method':15} {'hops':>4} {'n':>5} {'contains':>9} {'equal':>6} {'any':>6} {'median ms':>10} "
        f"{'queries':>8}"
    )
    for folder in options.folders:
        knowledge = kgsparql.open(folder / "graph.nt.gz", embedder=options.embedder)
        names = predicates_by_name(knowledge)
        questions = list(drawn(questions_of(folder), options.limit))
        for method in options.methods.split(","):
            by_hops: dict[int, list[Row]] = defaultdict(list)
            for question in questions:
                gold = path_of(question["path"], names)
                row = asked(knowledge, question, gold, method)
                by_hops[question["hops"]].append(row)
                if options.misses and not row.contains:
                    print(f"  {question['id']} {question['question']!r} {'/'.join(question['path'])}")
            for hops, rows in sorted(by_hops.items()):
                print_rows(folder.name, method, hops, rows)


def questions_of(folder: Path) -> list[dict[str, Any]]:
    """The questions that have a gold path."""
    for name in ("questions.jsonl", "questions.jsonl.gz"):
        if (path := folder / name).exists():
            opener = gzip.open if path.suffix == ".gz" else open
            with opener(path, "rt", encoding="utf-8") as file:
                return [question for line in file if (question := json.loads(line)).get("path")]
    raise SystemExit(f"{folder} has no questions.jsonl")


def drawn(questions: Iterable[dict[str, Any]], limit: int | None) -> Iterator[dict[str, Any]]:
    """At most so many questions of each number of hops, the same ones every time."""
    by_hops: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for question in questions:
        by_hops[question["hops"]].append(question)
    for _, some in sorted(by_hops.items()):
        if limit is not None and len(some) > limit:
            yield from random.Random(SEED).sample(some, limit)
        else:
            yield from some


def predicates_by_name(knowledge: kgsparql.KnowledgeBase) -> dict[str, IRI]:
    """The predicates of the graph by their local names."""
    found = knowledge.graph.select(Query("predicates", "SELECT DISTINCT ?predicate { ?s ?predicate ?o }"))
    return {str(s["predicate"].value).replace("#", "/").rpartition("/")[2]: s["predicate"] for s in found}  # type: ignore[union-attr]


def path_of(names: Sequence[str], predicates: Mapping[str, IRI]) -> PropertyPath:
    """The property path that these names stand for.

    >>> path_of(["^at"], {"at": IRI("http://e.org/at")})
    PropertyPath(steps=(Step(predicate=<NamedNode value=http://e.org/at>, direction='inverse'),))
    """
    return PropertyPath(
        tuple(Step(predicates[n.removeprefix("^")], "inverse" if n.startswith("^") else "forward") for n in names)
    )


def asked(knowledge: kgsparql.KnowledgeBase, question: Mapping[str, Any], gold: PropertyPath, method: str) -> Row:
    """One question, with its topics given and an oracle to choose."""
    ranks = method not in STEPS
    asking = Asking(
        retriever=method,
        options={STEPS[method]: len(gold)} if method in STEPS else {"paths_kept": max(RANKED)},
        entities=tuple(IRI(topic["iri"]) for topic in question["topic_entities"]),
        chooser=None if ranks else lambda r: OracleChooser([s.predicate for s in gold], r, r.emit, paths=[gold]),
        complete=True,
    )
    began = time.perf_counter()
    answer = knowledge.answer(question["question"], asking)
    milliseconds = (time.perf_counter() - began) * 1000
    wanted = set(question["answer_iris"] or question["answers"])
    best = max(answer.evidence, key=lambda item: item.score, default=None)
    returned = {value(end) for end in best.ends} if best is not None else set()
    anywhere = {value(end) for item in answer.evidence for end in item.ends}
    return Row(
        contains=wanted <= returned,
        equal=wanted == returned,
        anywhere=wanted <= anywhere,
        milliseconds=milliseconds,
        queries=answer.usage["queries"],
        ranks=tuple(is_among(answer, gold, most) for most in RANKED) if ranks else (),
    )


def is_among(answer: Answer, gold: PropertyPath, most: int) -> bool:
    """Whether the gold path is that of one of the first items."""
    first = sorted(answer.evidence, key=lambda item: -item.score)[:most]
    return any(way.property_path == gold for item in first for way in item.ways[:1])


def value(term: Term) -> str:
    """A term as the question files write it."""
    return str(getattr(term, "value", term))


def print_rows(folder: str, method: str, hops: int, rows: Sequence[Row]) -> None:
    """The shares, in percent, of one method for one number of hops."""
    shares = [
        statistics.mean(share) * 100 for share in zip(*((r.contains, r.equal, r.anywhere) for r in rows), strict=True)
    ]
    print(
        f"{folder:14} {method:15} {hops:>4} {len(rows):>5} {shares[0]:>9.1f} {shares[1]:>6.1f} {shares[2]:>6.1f} "
        f"{statistics.median(r.milliseconds for r in rows):>10.0f} {statistics.median(r.queries for r in rows):>8.0f}"
    )
    if rows[0].ranks:
        among = (statistics.mean(share) * 100 for share in zip(*(r.ranks for r in rows), strict=True))
        print("  gold path among the first " + ", ".join(f"{n}: {s:.1f}" for n, s in zip(RANKED, among, strict=True)))


if __name__ == "__main__":
    main()
