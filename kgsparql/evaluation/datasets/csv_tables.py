"""CSV and TSV with columns that are named: a question a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kgsparql.errors import DataError, InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.datasets._fields import an_id, hops_of, term_of, text_to_ask
from kgsparql.evaluation.datasets._question_file import CollectedQuestions, QuestionFile, check_encoding
from kgsparql.evidence.term_labels import name_by_itself
from kgsparql.rdf.terms import IRI, printable

TITLE = "CSV or TSV, with the columns named: question, answers, topics …"

FIELDS = ("id", "question", "answers", "topics", "sparql", "hops", "type", "path", "reference")
"""What a column may be; ``question`` must be there. ``answers``, ``topics`` and ``path`` hold several, with ``|``."""


def read(file: QuestionFile, columns: Mapping[str, str] | None) -> CollectedQuestions:
    """The questions of the rows.

    ``|`` separates answers in a cell. An IRI, with or without ``<`` and ``>``, or a literal in N-Triples syntax is a
    term; any other text is the name of an answer. A row without answers must have SPARQL, or a path and topics: else it
    is a problem, since answers may have been forgotten. (JSON Lines and QALD can say that there is no answer.)

    A malformed row, such as one with a quote that is never closed, is a problem of its first line, and the next line is
    read as a row again.

    :param columns: what is in which column: ``{"question": "q", "answers": "gold"}``; by default the header's own
        names, where they are :data:`FIELDS`.
    :raises InputError: for a column that the header lacks; the message says which there are.
    :raises DataError: if the header is not UTF-8.
    """
    rows = _rows(file)
    _, head = next(rows, (1, []))
    if isinstance(head, csv.Error):
        raise InputError(f"{file.path}:1: {_error_text(head)}", hint="the first line names the columns") from head
    try:
        check_encoding("".join(head))
    except InputError as error:
        hint = "save the file as UTF-8"
        raise DataError(f"{file.path}:1: not UTF-8", code="E_ENCODING", hint=hint) from error
    header = [name.strip() for name in head]
    places = _places(file, header, columns)
    found = CollectedQuestions(file)
    for line, row in rows:
        if isinstance(row, csv.Error) or any(cell.strip() for cell in row):
            found.add(str(line), _question, row, header, places, line)
    return found


def _rows(file: QuestionFile) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Each row, or its error, with the line that it begins in."""
    lines = list(io.StringIO(file.text, newline=""))
    delimiter = _delimiter(file)
    at = 0
    while at < len(lines):
        rows = csv.reader(islice(lines, at, None), delimiter=delimiter, strict=True)
        begin = at
        while True:
            start = begin + rows.line_num
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield start + 1, error
                at = start + 1  # what a quote that is never closed swallowed is read again
                break
            yield start + 1, row


def _error_text(error: csv.Error) -> str:
    if "expected after" in str(error) or "unexpected end" in str(error):
        return (
            "a quote that is never closed, or is followed by more text (one inside a cell in quotes is written twice)"
        )
    if "field limit" in str(error):
        return f"a cell of more than {csv.field_size_limit():,} characters: is there a quote that is never closed?"
    return str(error)


def _delimiter(file: QuestionFile) -> str:
    """What separates cells: a tab, a semicolon or a comma, whichever is most frequent in the header."""
    if file.suffix == ".tsv":
        return "\t"
    head = file.lines[0]
    return max(",;\t", key=head.count)


def _places(file: QuestionFile, header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    there = printable(", ".join(name or "(none)" for name in header) or "none", 300)
    wanted = columns if columns is not None else {name: name for name in FIELDS if name in header}
    for field, name in wanted.items():
        if field not in FIELDS:
            raise InputError(f"no field {printable(field, 40)}", hint=f"a column may be: {', '.join(FIELDS)}")
        if name not in header:
            raise InputError(
                f"{file.path}: no column {printable(name, 60)} for {field}", hint=f"the columns are: {there}"
            )
    if "question" not in wanted:
        raise InputError(
            f"{file.path}: which column is the question?",
            hint=f"name it: question=COLUMN; the columns are: {there}",
        )
    return {field: header.index(name) for field, name in wanted.items()}


def _question(row: list[str] | csv.Error, header: Sequence[str], places: Mapping[str, int], line: int) -> Question:
    if isinstance(row, csv.Error):
        raise InputError(_error_text(row))
    check_encoding("".join(row))
    if len(row) > len(header):
        raise InputError(f"{len(row)} cells in {len(header)} columns")
    cells = {field: row[at].strip() if at < len(row) else "" for field, at in places.items()}
    sparql = cells.get("sparql", "")
    return Question(
        id=an_id(cells.get("id"), line), text=text_to_ask(cells["question"]), answers=_answers(cells, sparql),
        topics=tuple(_topic(text) for text in _parts(cells.get("topics", ""))), hops=hops_of(cells.get("hops")),
        type=cells.get("type", ""), path=tuple(_parts(cells.get("path", ""))), sparql=sparql,
        reference=cells.get("reference", ""),
    )  # fmt: skip


def _parts(cell: str) -> list[str]:
    return [part for part in (part.strip() for part in cell.split("|")) if part]


def _answers(cells: Mapping[str, str], sparql: str) -> tuple[GoldAnswer, ...] | None:
    parts = _parts(cells.get("answers", ""))
    if not parts:
        if sparql or (cells.get("path") and cells.get("topics")):
            return None
        raise InputError("no answers, and no SPARQL that finds them")
    terms = dict.fromkeys((term_of(part), part) for part in parts)
    return tuple(GoldAnswer(term, part if term is None else name_by_itself(term, part)) for term, part in terms)


def _topic(text: str) -> Topic:
    term = term_of(text)
    if not isinstance(term, IRI):
        raise InputError(f"a topic that is no IRI: {printable(text, 60)}")
    return Topic(term)
