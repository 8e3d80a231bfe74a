"""Answers for other programs: one a line, or one a row of CSV or TSV; a computed table with its own columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from kgsparql.answering.answer import Answer, AnswerTerm
from kgsparql.answering.rendering.computed_tables import table_rows
from kgsparql.rdf.terms import printable

COLUMNS = ("status", "rank", "is_best", "answer", "type", "value", "datatype", "language", "score", "markers")
"""Of a row; questions from stdin have ``id`` and ``question`` before them."""


def as_lines(answer: Answer, form: str) -> str:
    """The answer as ``plain`` lines, or as ``csv`` or ``tsv`` with a line of column names."""
    if form == "plain":
        return "\n".join(plain_answers(answer))
    return separated(table_rows(answer) or [COLUMNS, *answer_rows(answer)], form)


def plain_answers(answer: Answer) -> list[str]:
    """What answers, by its name, each on one line; where nobody chose, what the best reading of the question leads to.

    A number, or a yes or no, is its value; of a table, each row is a line. Nothing where that does not account for the
    question.
    """
    if answer.gaps:
        return []
    rows = table_rows(answer, has_iris=False)[1:]
    return [" | ".join(row) for row in rows] or [printable(one.label, 4_000) for one in answer.best]


def answer_rows(answer: Answer) -> list[list[str]]:
    """A row for each answer, with the columns :data:`COLUMNS`; one with the status alone if there is none."""
    best = set(answer.best)
    rows = [_row(answer.status, rank, one, is_best=one in best) for rank, one in enumerate(answer.answers, 1)]
    return rows or [empty_row(answer.status)]


def empty_row(status: str) -> list[str]:
    """The row of a question without an answer."""
    return [status, *[""] * (len(COLUMNS) - 1)]


def separated(rows: Iterable[Sequence[str]], form: str) -> str:
    """Rows as ``csv`` or ``tsv``, with a line end after each."""
    dialect = "excel" if form == "csv" else "excel-tab"
    lines = []
    for row in rows:
        written = io.StringIO()
        csv.writer(written, dialect, lineterminator="\r\n").writerow(row)  # else a lone \r has no quotes around it
        lines.append(written.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def _row(status: str, rank: int, one: AnswerTerm, *, is_best: bool) -> list[str]:
    from kgsparql.answering.answer_json import term_json

    term = term_json(one.term, one.label)
    return [
        status, str(rank), "true" if is_best else "false", printable(one.label, 4_000), term["type"], term["value"],
        term.get("datatype", ""), term.get("xml:lang", ""), f"{one.score:.4f}", " ".join(one.markers),
    ]  # fmt: skip
