"""Whether the embedding model gives the same answers by ONNX Runtime and by sentence-transformers.

    python benchmarks/same_ranking.py FOLDER [FOLDER …] [--limit 20]

FOLDER is a graph with questions, as `kgsparql eval run` takes it. Path ranking answers each question with both. The
answers are the same if they are in the same order, but for those whose scores are within 0.001 of each other.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import kgsparql
from kgsparql.answering.answer import AnswerTerm
from kgsparql.evaluation.datasets import load
from kgsparql.models.embedders import open_embedder
from kgsparql.models.embedding import DEFAULT_MODEL, SentenceTransformerEmbedder, find_model
from kgsparql.rdf.terms import Term

TIE = 0.001


def main() -> None:
    """Compare, print a line for each graph and one for each question that differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=int, default=20, help="questions of each")
    options = parser.parse_args()
    for folder in options.folders:
        asked, differing = measure(folder, limit=options.limit)
        print(f"{folder.name:<20} {asked - len(differing)} of {asked} the same", flush=True)
        for question in differing:
            print(f"    {question}")


def measure(folder: Path, *, limit: int) -> tuple[int, list[str]]:
    """The number of questions asked, and those whose answers differ by more than ties."""
    dataset = load(folder)
    questions = [q.text for q in dataset.questions[:: max(1, len(dataset.questions) // limit)]][:limit]
    by_torch = SentenceTransformerEmbedder(find_model(DEFAULT_MODEL))
    first, second = (
        [list(knowledge.ask(question, retriever="path_ranking").answers) for question in questions]
        for knowledge in (kgsparql.open(dataset.graph[0], embedder=own) for own in (open_embedder("auto"), by_torch))
    )
    return len(questions), [q for q, one, other in zip(questions, first, second, strict=True) if differs(one, other)]


def differs(one: list[AnswerTerm], other: list[AnswerTerm]) -> bool:
    """Whether two rankings differ by more than ties, here or in what is at the end of one of them only."""
    places = [{answer.term: place for place, answer in enumerate(own)} for own in (one, other)]
    scores: dict[Term, float] = {answer.term: answer.score for answer in (*other, *one)}
    last = [len(one), len(other)]
    for left, right in combinations(scores, 2):
        before = [own.get(left, end) - own.get(right, end) for own, end in zip(places, last, strict=True)]
        if before[0] * before[1] < 0 and abs(scores[left] - scores[right]) > TIE:
            return True
    missing = scores.keys() - places[0].keys() | scores.keys() - places[1].keys()
    least = min(scores.values(), default=0.0)
    return any(scores[term] - least > TIE for term in missing)


if __name__ == "__main__":
    main()
