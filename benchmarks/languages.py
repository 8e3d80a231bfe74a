"""Questions in other languages beside the same in English: how many are answered rightly, and surely wrong.

    python -m benchmarks.languages                                     # the 40 bundled questions, all languages
    python -m benchmarks.languages GRAPH QUESTIONS.jsonl de=FILE.tsv   # others; a file has the columns id, question
    python -m benchmarks.languages --no-embedder --missed

An answer is right if it is just what the question's answers are, whole; it is sure if it is called an answer.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.rdf.terms import normalised

FIXTURES = Path(__file__).parents[1] / "fixtures"


def is_right(answer: Answer, question: Mapping[str, Any]) -> bool:
    """Tell whether an answer is just the things, or values, that are wanted."""
    wanted = {*question["answer_iris"]} or {*map(normalised, question["answers"])}
    if question["answer_iris"]:
        return {getattr(one.term, "value", "") for one in answer.best} == wanted
    texts = [normalised(answer.text.splitlines()[0].split(" [")[0])] if answer.text else []
    found = {normalised(name) for one in answer.best for name in (one.label, getattr(one.term, "value", ""))}
    return (bool(answer.best) and wanted <= found and len(answer.best) == len(wanted)) or texts == [*wanted]


def asked(knowledge: kgsparql.KnowledgeBase, own: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> Iterator[
    tuple[str, bool, bool]
]:  # fmt: skip
    """Ask each question that there is a text of; yield it, whether the answer is right, and whether it is sure."""
    for question in own:
        if question["id"] in texts:
            answer = knowledge.ask(texts[question["id"]])
            yield texts[question["id"]], is_right(answer, question), answer.status == "answered"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", default=str(FIXTURES / "nobel.ttl"))
    parser.add_argument("questions", nargs="?", type=Path, default=FIXTURES / "nobel_questions.jsonl")
    parser.add_argument("translations", nargs="*", help="LANGUAGE=FILE")
    parser.add_argument("--no-embedder", action="store_true")
    parser.add_argument("--missed", action="store_true", help="print what is not right, or right and not sure")
    chosen = parser.parse_args()
    own = [json.loads(line) for line in chosen.questions.read_text(encoding="utf-8").splitlines()]
    files = dict(pair.split("=", 1) for pair in chosen.translations)
    files = files or {file.stem: str(file) for file in sorted((FIXTURES / "translations").glob("*.tsv"))}
    texts = {"en": {question["id"]: question["question"] for question in own}}
    for tag, file in files.items():
        with Path(file).open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            texts[tag] = {row["id"]: row["question"] for row in rows}
    print("| language | questions | right | right and sure | wrong and sure |\n|---|---|---|---|---|")
    with kgsparql.open(chosen.graph, embedder="none" if chosen.no_embedder else "auto") as knowledge:
        for tag, said in texts.items():
            rows_of = list(asked(knowledge, own, said))
            right, sure = sum(ok for _, ok, _ in rows_of), sum(ok and is_sure for _, ok, is_sure in rows_of)
            wrong = sum(is_sure and not ok for _, ok, is_sure in rows_of)
            print(f"| {tag} | {len(rows_of)} | {right} | {sure} | {wrong} |", flush=True)
            for text, ok, is_sure in rows_of if chosen.missed else ():
                if not (ok and is_sure):
                    print(f"  {'right' if ok else 'WRONG' if is_sure else 'other'}: {text}")


if __name__ == "__main__":
    main()
