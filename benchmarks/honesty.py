"""Whether answers can be believed: of questions that cannot all be answered, how many are answered wrongly.

    python benchmarks/honesty.py                                             # fixtures/honesty.jsonl, no model
    python benchmarks/honesty.py fixtures/honesty_real.jsonl --graphs DATA   # kept apart from who develops

A line of the file holds a question, the graph that it is asked of, its right answers, and a kind: ``answerable``,
``unanswerable``, ``half_known`` (a part of what it names is not in the graph), ``ambiguous`` or ``computed`` (it asks
for a number of things, the largest, yes or no …). The outcome is

- ``right``: called an answer, and the first is a right one; of an ambiguous question, all of them, or the first beside
  what else is meant;
- ``honest``: nothing is called an answer;
- ``misleading``: what is called an answer is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.rdf.terms import normalised

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "fixtures" / "honesty.jsonl"
KINDS = ("answerable", "unanswerable", "half_known", "ambiguous", "computed")
OUTCOMES = ("right", "honest", "misleading")
LONG = 40  # characters of a right answer of which a part will do


@dataclass(frozen=True)
class Judged:
    """A question, what was answered, and the outcome."""

    question: Mapping[str, Any]
    answer: Answer
    outcome: str

    def __str__(self) -> str:
        first = "; ".join(answer.label for answer in self.answer.answers[:3])
        why = "; ".join(gap.text for gap in self.answer.gaps)
        return (
            f"{self.outcome:11}{self.question['kind']:13}{self.question['question']}\n    {first} ({why or 'no doubt'})"
        )


def judged(file: Path, graphs: Path, *, embedder: str = "auto", method: str = "auto") -> Iterator[Judged]:
    """Every question of a file with its outcome; each graph is opened once."""
    by_graph: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        by_graph[question["graph"]].append(question)
    for name, questions in by_graph.items():
        knowledge = kgsparql.open(graphs / name, embedder=embedder)
        for question in questions:
            answer = knowledge.ask(question["question"], retriever=method)
            yield Judged(question, answer, outcome(answer, question))


def outcome(answer: Answer, question: Mapping[str, Any]) -> str:
    """What an answer is to a reader who trusts what is called one."""
    if answer.status != "answered":
        return "honest"
    gold = {normalised(text) for key in ("answers", "aliases", "also_ok") for text in _texts(question.get(key, ()))}
    first, *_ = answer.answers
    names = {normalised(first.label), normalised(getattr(first.term, "value", ""))} - {""}
    is_right = not gold.isdisjoint(names) or any(
        n in text or text in n for n in names for text in gold if len(text) > LONG
    )
    if question["kind"] == "ambiguous":
        is_whole = gold <= {normalised(one.label) for one in answer.answers[: len(gold)]}
        return (
            "right"
            if is_whole or (is_right and any(link.likely_alternatives for link in answer.linked))
            else "misleading"
        )
    return "right" if is_right else "misleading"


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for one in (value.values() if isinstance(value, dict) else value) for text in _texts(one)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="?", type=Path, default=QUESTIONS)
    parser.add_argument("--graphs", type=Path, help="the folder of the graphs (default: that of the questions)")
    parser.add_argument("--embedder", default="auto", help="as for kgsparql ask")
    parser.add_argument("-r", "--retriever", default="auto")
    parser.add_argument(
        "--all", action="store_true", help="print what was not right, too, not only what was misleading"
    )
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    folder = given.graphs or given.questions.parent
    for one in judged(given.questions, folder, embedder=given.embedder, method=given.retriever):
        counts[one.question["kind"]][one.outcome] += 1
        if one.outcome == "misleading" or (given.all and one.outcome != "right"):
            print(one)
    print(f"{'kind':14}{'n':>5}" + "".join(f"{name:>16}" for name in OUTCOMES))
    for kind in [*(kind for kind in KINDS if kind in counts), "all"]:
        own = sum(counts.values(), Counter[str]()) if kind == "all" else counts[kind]
        n = own.total()
        print(f"{kind:14}{n:>5}" + "".join(f"{own[name]:>10} {own[name] / n:>5.0%}" for name in OUTCOMES))


if __name__ == "__main__":
    main()
