"""CSV and TSV with columns that are named: a question a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.datasets._document import Document, Reading
from kgsparql.evaluation.datasets._fields import an_id, hops_of, question_text, term_of
from kgsparql.terms import IRI, Literal, Term, local_name, printable

__all__ = ["FIELDS", "read"]

TITLE = "CSV or TSV, with the columns named: question, answers, topics …"

FIELDS = ("id", "question", "answers", "topics", "sparql", "hops", "type", "path", "reference")
"""What a column may be; ``question`` must be there. ``answers``, ``topics`` and ``path`` hold several, with ``|``."""

_SEPARATOR = "|"


def read(document: Document, columns: Mapping[str, str] | None) -> Reading:
    """The questions of the rows.

    Several answers in a cell stand between ``|``. One that is an IRI, with or without ``<`` and ``>``, or a literal in
    N-Triples syntax, is a term; any other text is the name of an answer. A cell without answers leaves them to the
    row's SPARQL; without that, there is no answer.

    :param columns: what is in which column: ``{"question": "q", "answers": "gold"}``; by default the header's own
        names, where they are :data:`FIELDS`.
    :raises InputError: for a column that the header lacks; the message says which there are.
    """
    delimiter = _delimiter(document)
    rows = csv.reader(io.StringIO(document.text, newline=""), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(rows, [])]
    except csv.Error as error:
        raise InputError(f"{document.path}:1: {error}", hint="the first line names the columns") from error
    places = _places(document, header, columns)
    reading = Reading(document)
    number = rows.line_num
    while True:
        line = number + 1
        try:
            row = next(rows)
        except StopIteration:
            return reading
        except csv.Error as error:
            reading.add(str(line), _refused, str(error))
            row = []
        number = max(rows.line_num, line)
        if any(cell.strip() for cell in row):
            reading.add(str(line), _question, row, header, places, line)


def _delimiter(document: Document) -> str:
    """What separates cells: a tab, a semicolon or a comma, whichever the header has most of."""
    if document.suffix == ".tsv":
        return "\t"
    head = document.lines[0]
    return max(",;\t", key=head.count)


def _places(document: Document, header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    """Which column each field is in."""
    there = printable(", ".join(name or "(none)" for name in header) or "none", 300)
    wanted = columns if columns is not None else {name: name for name in FIELDS if name in header}
    for field, name in wanted.items():
        if field not in FIELDS:
            raise InputError(f"no field {printable(field, 40)}", hint=f"a column may be: {', '.join(FIELDS)}")
        if name not in header:
            raise InputError(
                f"{document.path}: no column {printable(name, 60)} for {field}", hint=f"the columns are: {there}"
            )
    if "question" not in wanted:
        raise InputError(
            f"{document.path}: which column is the question?",
            hint=f"name it: question=COLUMN; the columns are: {there}",
        )
    return {field: header.index(name) for field, name in wanted.items()}


def _refused(message: str) -> Question:
    raise InputError(message)


def _question(row: Sequence[str], header: Sequence[str], places: Mapping[str, int], line: int) -> Question:
    if len(row) > len(header):
        raise InputError(f"{len(row)} cells in {len(header)} columns")
    cells = {field: row[at].strip() if at < len(row) else "" for field, at in places.items()}
    sparql = cells.get("sparql", "")
    return Question(
        id=an_id(cells.get("id"), line),
        text=question_text(cells["question"]),
        answers=_answers(cells, sparql),
        topics=tuple(_topic(text) for text in _parts(cells.get("topics", ""))),
        hops=hops_of(cells.get("hops")),
        type=cells.get("type", ""),
        path=tuple(_parts(cells.get("path", ""))),
        sparql=sparql,
        reference=cells.get("reference", ""),
    )


def _parts(cell: str) -> list[str]:
    return [part for part in (part.strip() for part in cell.split(_SEPARATOR)) if part]


def _answers(cells: Mapping[str, str], sparql: str) -> tuple[GoldAnswer, ...] | None:
    parts = _parts(cells.get("answers", ""))
    if not parts and sparql:
        return None
    if "answers" not in cells:
        raise InputError("no answers, and no SPARQL that finds them")
    terms = dict.fromkeys((term_of(part), part) for part in parts)
    return tuple(GoldAnswer(term, _label(term, part)) for term, part in terms)


def _label(term: Term | None, part: str) -> str:
    if isinstance(term, IRI):
        return local_name(term)
    return term.value if isinstance(term, Literal) else part


def _topic(text: str) -> Topic:
    term = term_of(text)
    if not isinstance(term, IRI):
        raise InputError(f"a topic that is no IRI: {printable(text, 60)}")
    return Topic(term)
