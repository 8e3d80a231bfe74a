"""Whether questions of time are answered: 565, worded by one who had read no code, over three graphs of dated facts.

    python -m benchmarks.dated                          # all three shapes: a line for each kind, and the sums
    python -m benchmarks.dated --shape nodes --failed   # with each question that is not right and sure

The shapes say the same: statements as Wikidata has them, nodes for relations, RDF 1.2 reifiers. Gold is worked out
from a table by plain Python (``benchmarks/time_suite.py``). An answer is right if it is the gold, or one of the others
that a careful reader may give; where the graph does not say when, any sure answer is wrong.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import kgsparql
from benchmarks.time_suite import Asked, Gold, questions, turtle
from kgsparql.answering.answer import Answer
from kgsparql.rdf.terms import Literal

OUTCOMES = ("right and sure", "right, doubted", "wrong and sure", "other")
SHAPES = ("statements", "nodes", "reifiers")
_DAYS_OF_YEAR = 365.25


def told(answer: Answer) -> set[str]:
    """Return what an answer says, as texts: labels, a number, yes or no, dates."""
    if answer.computed is not None and answer.computed.value is not None:
        value = answer.computed.value
        return {{"true": "yes", "false": "no"}.get(value.value, value.value)}
    return {one.term.value if isinstance(one.term, Literal) else one.label for one in answer.best}


def is_right(answer: Answer, gold: Gold) -> bool:
    """Tell whether an answer says just what a gold does; of a duration in years, to a tenth."""
    said = told(answer)
    match gold.sort:
        case "undated":
            return not answer.sure
        case "years":
            wanted = {round(float(value), 1) for value in gold.values}
            return {_years_of(text) for text in said} == wanted
        case "number":
            return {text.replace(",", "") for text in said} == {*gold.values}
        case "date":
            return {text.partition("T")[0] for text in said} == {*gold.values} or said == {*gold.values}
        case _:
            return said == {*gold.values}


def _years_of(text: str) -> float | None:
    """Read a duration, which is in years, or in days."""
    found = re.match(r"-?P?([0-9.]+) ?(D|d|y|Y)?", text.replace(",", ""))
    if found is None:
        return None
    number = float(found[1])
    return round(number / _DAYS_OF_YEAR if (found[2] or "y").lower() == "d" else number, 1)


def outcome(answer: Answer, asked: Asked) -> str:
    """Tell how an answer is judged."""
    golds = (asked.gold, *asked.also)
    if any(gold.sort == "undated" for gold in golds) and not answer.sure:
        return "right and sure"
    is_one = any(is_right(answer, gold) for gold in golds if gold.sort != "undated")
    if answer.sure:
        return "right and sure" if is_one else "wrong and sure"
    return "right, doubted" if is_one else "other"


def outcomes(shapes: tuple[str, ...]) -> Iterator[tuple[Asked, Answer, str]]:
    """Ask each question of its shape, with no model and no embedder."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes:
            path = Path(folder, f"{shape}.ttl")
            path.write_text(turtle(shape), encoding="utf-8")
            with kgsparql.open(path, embedder="none", note=lambda _: None) as graph:
                for one in questions():
                    if one.shape == shape:
                        answer = graph.ask(one.text)
                        yield one, answer, outcome(answer, one)


def main() -> None:
    """Print how many questions of each kind are right and sure, by shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--failed", action="store_true", help="print each question that is not right and sure")
    options = parser.parse_args()
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, answer, how in outcomes((options.shape,) if options.shape else SHAPES):
        language = "English" if one.language == "en" else "other languages"
        for row in ((one.shape, language), ("all", language), ("", one.kind)):
            counts[row][how] += 1
        if options.failed and how != OUTCOMES[0]:
            gold = f"{one.gold.sort} {'; '.join(one.gold.values)}"
            text = " | ".join(answer.text.splitlines()[:4])
            print(f"[{how}] {one.shape} {one.kind} · {one.text}\n    gold {gold}\n    {text[:200]}")
    print(f"{'':28}{''.join(f'{name:>16}' for name in OUTCOMES)}")
    for (shape, kind), found in counts.items():
        print(f"{shape or '·'} {kind:{26 - len(shape)}}{''.join(f'{found[name]:16}' for name in OUTCOMES)}")


if __name__ == "__main__":
    main()
