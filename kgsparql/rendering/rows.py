"""Answers as lines, rows and frames for other programs; tables for a person."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from kgsparql.answering.answer import COMPUTED_MARKER, LISTED, Answer, cell_text, rows_text
from kgsparql.answering.answer_json import answer_to_json, term_json
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.rdf.literals import aligned, data_frame, python_value, value_text
from kgsparql.rdf.terms import IRI, Labels, Literal, Term, json_text, printable

if TYPE_CHECKING:
    import pandas as pd

    from kgsparql.plans.running import Computed


COLUMNS = [
    "status", "rank", "best", "answer", "type", "value", "datatype", "language", "score", "markers", "confidence",
    "reason",
]  # fmt: skip
"""Of a row; questions from stdin have ``id`` and ``question`` before them."""

_AT_ONCE = 1_000  # rows of a table that are written together
_NO_ROWS = '\n    "rows": []'  # in the JSON of an answer, once: a text in it has no line ends
_CELL_LENGTH = 4_000  # characters of the name of a thing for programs


def plain_answers(answer: Answer) -> list[str]:
    """List what answers, a name a line; where nobody chose, what the best reading of the question leads to."""
    if answer.gaps:
        return []
    if (found := _table_of(answer)) is None:
        return [printable(one.label, _CELL_LENGTH) for one in answer.best]
    return [" | ".join(_plain_cell(term, answer) for term in row) for row in found.rows]


def answer_rows(answer: Answer) -> list[list[str]]:
    """Return a row for each answer, with the columns :data:`COLUMNS`; one with the status alone if there is none.

    In doubt there is one for each candidate, and none is best.
    """
    best, rows = set(() if answer.gaps else answer.best), []
    reason = _reason_of(answer)
    for rank, one in enumerate(answer.answers if answer.gaps else answer.best, 1):
        term = term_json(one.term, one.label)
        rows.append([
            answer.status, str(rank), "true" if one in best else "false", printable(one.label, _CELL_LENGTH),
            term["type"], term["value"], term.get("datatype", ""), term.get("xml:lang", ""), f"{one.score:.4f}",
            " ".join(one.markers), f"{answer.confidence:.4f}", reason,
        ])  # fmt: skip
    return rows or [empty_row(answer.status, reason)]


def _reason_of(answer: Answer) -> str:
    return "; ".join(printable(gap.text, _CELL_LENGTH) for gap in answer.gaps)


def empty_row(status: str, reason: str) -> list[str]:
    """Return the row of a question without an answer."""
    return [status, *[""] * (len(COLUMNS) - 2), reason]


def separated(rows: Iterable[Sequence[str]]) -> str:
    """Write rows as CSV, with a line end after each."""
    lines = []
    for row in rows:
        written = io.StringIO()
        csv.writer(written, lineterminator="\r\n").writerow(row)  # else a lone \r has no quotes around it
        lines.append(written.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


# -- Computed tables ----------------------------------------------------------------------------------------------


def _table_of(answer: Answer) -> Computed | None:
    """Return the table that an answer rests on; ``None`` for another kind of answer."""
    found = answer.computed
    return found if found is not None and found.is_table and COMPUTED_MARKER in answer.cited else None


def table_line(answer: Answer) -> str:
    """Return the line of the answer's text that the table stands for: its first rows, one after the other."""
    found = _table_of(answer)
    return "" if found is None else f"{rows_text(found, answer.labels.__getitem__, say=answer.say)} [{COMPUTED_MARKER}]"


def aligned_table(answer: Answer) -> list[str]:
    """Return the first rows of a computed table as aligned lines, with its marker; none for other answers."""

    def is_number(term: Term | None) -> bool:
        return term is None or (isinstance(term, Literal) and value_text(term)[:1] in "+-.0123456789")

    rows, terms, more = _first_rows(answer)
    words = {i for i, column in enumerate(zip(*terms, strict=True)) if not all(map(is_number, column))}
    return [*aligned(rows, words, indent="  "), f"  {more}[{COMPUTED_MARKER}]"] if rows else []


def markdown_table(answer: Answer, escaped: Callable[[str], str]) -> list[str]:
    """Return the first rows of a computed table in Markdown, with its marker."""
    shown, _, more = _first_rows(answer)
    names, *rows = [[escaped(cell) for cell in row] for row in shown]
    lines = [f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *rows]]
    return [*lines, "", f"{more}\\[{COMPUTED_MARKER}\\]"]


def _first_rows(answer: Answer) -> tuple[list[list[str]], Sequence[Sequence[Term | None]], str]:
    """Return the names of the columns and the first rows, for a person; their terms; how many are not among them."""
    if (found := _table_of(answer)) is None:
        return [], (), ""
    terms, left = found.rows[:LISTED], len(found.rows) - LISTED
    rows = [[cell_text(term, i, found, answer.labels.__getitem__) for i, term in enumerate(row)] for row in terms]
    more = f"+{answer.say('{} more').format(f'{left:,}')}: -f csv  " if left > 0 else ""
    return [_column_heads(found, answer), *rows], terms, more


def _column_heads(found: Computed, answer: Answer) -> list[str]:
    """Name the columns for a person, in the language of the question."""
    heads = [answer.say(name) for name in found.columns]
    for column in getattr(found.plan, "columns", ()) if answer.language != "en" else ():
        path = getattr(column.measure, "path", None)
        if path is not None and column.name in found.columns and "(" not in column.name:
            heads[found.columns.index(column.name)] = answer.labels.get(path.last, column.name)
    return heads


def without_rows(item: EvidenceItem, answer: Answer) -> EvidenceItem:
    """Return an item of evidence without the rows that are shown as a table."""
    line = table_line(answer).removesuffix(f" [{COMPUTED_MARKER}]")
    return (
        replace(item, text=item.text.replace(f" = {line}", "", 1)) if item.marker == COMPUTED_MARKER and line else item
    )


def _plain_cell(term: Term | None, answer: Answer) -> str:
    return "" if term is None else printable(answer.labels[term], _CELL_LENGTH)


def _columns_of(found: Computed, first: Computed | None = None) -> Iterator[tuple[str, Sequence[Term | None], bool]]:
    """Yield each column's name and terms, and whether these are IRIs: behind a column of labels of things.

    :param first: whose rows say which columns are of things.
    """
    for i, name in enumerate(found.columns):
        terms = [row[i] for row in found.rows]
        yield name, terms, False
        if not all(isinstance(row[i], Literal | None) for row in (first or found).rows):
            yield f"{name}_iri", terms, True


def table_pieces(
    answer: Answer, form: str, rows: Iterator[tuple[Term | None, ...]], name: Callable[[Iterable[Term]], Labels]
) -> Iterator[str]:
    """Write a computed table as CSV, or its answer as JSON, however many rows it has, a thousand at once.

    :param name: finds what things are called.
    """
    found = cast("Computed", answer.computed)
    rest = ""
    if form == "csv":
        yield separated(table_rows(answer)[:1])
    else:
        whole = answer_to_json(replace(answer, computed=replace(found, rows=(), is_cut=False)))
        start, rest = json_text(whole, indent=2).split(_NO_ROWS)
        yield f"{start}{_NO_ROWS[:-1]}"
    before = ""
    while some := tuple(islice(rows, _AT_ONCE)):
        labels = {**answer.labels, **name({term for row in some for term in row if isinstance(term, IRI)})}
        own = replace(answer, labels=labels, computed=replace(found, rows=some))
        made = cast("Any", answer_to_json(own)["computed"])["rows"] if rest else ()
        yield before + ",\n".join(map(json_text, made)) if rest else separated(table_rows(own, found)[1:])
        before = ","
    yield f"]{rest}" if rest else ""


def table_rows(answer: Answer, first: Computed | None = None) -> list[list[str]]:
    """Return a computed table with a line of column names, values as they are; none for another kind of answer.

    Its status stands before each row, its confidence and what is in doubt behind it, as of other answers.

    :param first: whose rows say which columns are of things.
    """
    if (found := _table_of(answer)) is None:
        return []
    columns, n = [], len(found.rows)
    for name, terms, is_iri in _columns_of(found, first):
        iris = ("" if isinstance(term, Literal | None) else getattr(term, "value", str(term)) for term in terms)
        columns.append([name, *(iris if is_iri else (_plain_cell(term, answer) for term in terms))])
    sure = ["confidence", *[f"{answer.confidence:.4f}"] * n]
    columns = [["status", *[answer.status] * n], *columns, sure, ["reason", *[_reason_of(answer)] * n]]
    return [list(row) for row in zip(*columns, strict=True)]


def to_dataframe(answer: Answer) -> pd.DataFrame:
    """Make a table of the answers, the best first; of a computed table, that.

    ``status`` is that of the whole answer, so that a doubt stays with what it is about; ``answer`` the IRI, or the
    value of a literal as Python has it; ``label`` what a person calls it.

    :raises OptionError: if pandas is not installed.
    """
    if (found := _table_of(answer)) is not None:
        columns: dict[str, list[Any]] = {}
        for name, terms, is_iri in _columns_of(found):
            are_values = is_iri or all(isinstance(term, Literal | None) for term in terms)
            columns[name] = [python_value(t) if are_values or t is None else answer.labels[t] for t in terms]
        return data_frame(columns)
    best = frozenset(() if answer.gaps else answer.best)
    rows = [
        (
            answer.status, python_value(one.term), one.label, one.description, one.score, one in best, one.markers,
            answer.confidence,
        )
        for one in answer.answers
    ]  # fmt: skip
    names = ("status", "answer", "label", "description", "score", "best", "markers", "confidence")
    return data_frame({name: [row[i] for row in rows] for i, name in enumerate(names)})
