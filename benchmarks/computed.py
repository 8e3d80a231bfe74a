"""Questions that must be computed: for each kind of question the share whose whole answer is right.

    python benchmarks/computed.py RUN…

RUN is what ``kgsparql eval run … -o RUN`` wrote; each method of it is a column. What saying "no", or 0, to everything
would get right stands beside, and of the yes/no questions those whose answer is yes and no stand apart. Calls, tokens,
queries and seconds are means of all questions of a run; of the seconds there is also what 19 of 20 are below, and the
most, with the question that took it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.spread import Spread
from kgsparql.evaluation.comparison import scored_rows
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.run_directory import Run

COSTS = ("model_calls", "tokens", "queries", "seconds")
METRICS = ("exact", "wrong_yes_no", *COSTS)

KINDS = ("lookup", "count", "number", "yes/no", "extreme", "filter", "negation", "combination", "table")
"""All but ``lookup`` must be computed."""

_SHAPES = (
    ("yes/no", re.compile(r"\bASK\b")),
    ("count", re.compile(r"^[^{]*\bSELECT\b[^{]*\bCOUNT\s*\(")),
    ("number", re.compile(r"^[^{]*\bSELECT\b[^{]*\b(SUM|AVG|MIN|MAX)\s*\(")),
    ("negation", re.compile(r"\bNOT\s+EXISTS\b|\bMINUS\b")),
    ("extreme", re.compile(r"\bORDER\s+BY\b.*\bLIMIT\b|\b(MAX|MIN)\s*\(")),
    ("filter", re.compile(r"\bFILTER\b.*[<>]|\bHAVING\b")),
)
"""What a query looks like that answers a question of a kind; the first that fits."""

_NOT_SHAPE = re.compile(r"<[^<>\s]*>|\"(?:[^\"\\]|\\.)*\"|#[^\n]*")


def question_kind(question: Question) -> str:
    """The kind of a question: the dataset's own word where it is one of ours, else by the shape of its query."""
    own = question.type.split(",")[0]
    if own in KINDS:
        return own
    shape = _NOT_SHAPE.sub(" ", question.sparql)
    n_columns = columns(shape.partition("{")[0])
    if question.rows or (n_columns > 1 and not re.search(r"\bASK\b", shape)):
        return "table"
    flat = " ".join(shape.upper().split())
    return next((kind for kind, pattern in _SHAPES if pattern.search(flat)), "lookup")


def columns(head: str) -> int:
    """How many columns the head of a query names; an expression in brackets is one."""
    depth, found = 0, 0
    for letter in head:
        if depth == 0 and letter in "?$(":
            found += 1
        depth += {"(": 1, ")": -1}.get(letter, 0)
    return found


def kinds_of(question: Question) -> Iterable[str]:
    """The lines of the table that a question counts in."""
    kind = question_kind(question)
    yield kind
    if kind == "yes/no" and question.answers:
        yield f"yes/no: {question.answers[0].label}"
    if kind != "lookup":
        yield "computed"


def always_no(question: Question) -> bool:
    """Whether "no" or 0 is right."""
    return [answer.label for answer in question.answers or ()] in (["false"], ["0"])


def share(values: list[float]) -> str:
    """A share as percent; a dash for none."""
    return f"{100 * sum(values) / len(values):.0f} %" if values else "–"


def mean(values: Iterable[float]) -> str:
    """A mean; a dash for none."""
    known = [float(value) for value in values]
    return f"{sum(known) / len(known):,.1f}" if known else "–"


def table(paths: list[Path]) -> list[list[str]]:
    """The lines: kind, questions, always no or 0, and each method."""
    runs = list(map(Run.open, paths))
    scored = [scored_rows([run], METRICS) for run in runs]
    rows = [row for own in scored for row in own if row.scores]
    asked = {question.id: question for run in runs for question in run.questions}
    lines = [["kind", "n", "always no/0", *(row.method for row in rows)]]
    for kind in (*KINDS, "yes/no: true", "yes/no: false", "computed"):
        ids = {key for key, question in asked.items() if kind in kinds_of(question)}
        if ids:
            cells = [share([v for (id_, _), v in row.values("exact").items() if id_ in ids]) for row in rows]
            lines.append([kind, str(len(ids)), share([float(always_no(asked[key])) for key in ids]), *cells])
    wrong = [share([*row.values("wrong_yes_no").values()]) for row in rows]
    costs = [[name.replace("_", " "), "", "", *(mean(row.values(name).values()) for row in rows)] for name in COSTS]
    took = [Spread.of((asked[key].text, s) for (key, _), s in row.values("seconds").items()) for row in rows]
    costs.append(["seconds: 19 of 20 below", "", "", *(f"{own.p95:,.1f}" for own in took)])
    costs.append(["seconds: slowest", "", "", *(f"{own.max:,.1f}: {own.told_slowest}" for own in took)])
    return [*lines, ["wrong yes/no", "", "", *wrong], *costs]


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="+", type=Path)
    lines = table(parser.parse_args().run)
    for number, cells in enumerate(lines):
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "---|" * len(cells))


if __name__ == "__main__":
    main()
