"""A table that was computed: aligned for a person, as rows for other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kgsparql.answering.answer import COMPUTED_MARKER, Answer
from kgsparql.answering.answer_words import cell_text, rows_text
from kgsparql.answering.rendering.answer_parts import LISTED
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.rdf.literal_text import value_text
from kgsparql.rdf.terms import Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.plans.running import Computed

_CELL = 4_000
"""Characters of the name of a thing for programs."""


def table_of(answer: Answer) -> Computed | None:
    """The table that an answer rests on; ``None`` for another kind of answer."""
    found = answer.computed
    return found if found is not None and found.is_table and COMPUTED_MARKER in answer.cited else None


def table_line(answer: Answer) -> str:
    """The line of the answer's text that the table stands for: its first rows, one after the other."""
    found = table_of(answer)
    if found is None:
        return ""
    return f"{rows_text(found, answer.labels.__getitem__)} [{COMPUTED_MARKER}]"


def aligned_table(answer: Answer) -> list[str]:
    """The first rows of a computed table as lines of one width, with its marker; none for another kind of answer."""
    from kgsparql.answering.rendering.text_layout import aligned

    found = table_of(answer)
    if found is None:
        return []
    numeric = {i for i in range(len(found.columns)) if all(_is_number(row[i]) for row in found.rows[:LISTED])}
    lines = aligned(_first_rows(found, answer.labels), {*range(len(found.columns))} - numeric)
    return [*lines, f"  {_more(found)}[{COMPUTED_MARKER}]"]


def markdown_table(answer: Answer, escaped: Callable[[str], str]) -> list[str]:
    """The first rows of a computed table in Markdown; none for another kind of answer."""
    found = table_of(answer)
    if found is None:
        return []
    names, *rows = [[escaped(cell) for cell in row] for row in _first_rows(found, answer.labels)]
    lines = [f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *rows]]
    return [*lines, "", f"{_more(found)}\\[{COMPUTED_MARKER}\\]"]


def _first_rows(found: Computed, labels: Mapping[Term, str]) -> list[list[str]]:
    """The names of the columns, and the first rows, for a person."""
    rows = [
        [cell_text(term, i, found, labels.__getitem__) for i, term in enumerate(row)] for row in found.rows[:LISTED]
    ]
    return [[*found.columns], *rows]


def _more(found: Computed) -> str:
    """How many rows are not among the first."""
    left = len(found.rows) - LISTED
    return f"+{left:,} more: -f csv  " if left > 0 else ""


def without_rows(item: EvidenceItem, answer: Answer) -> EvidenceItem:
    """An item of evidence without the rows that are shown as a table."""
    found = table_of(answer)
    if found is None or item.marker != COMPUTED_MARKER:
        return item
    return replace(item, text=item.text.replace(f" = {rows_text(found, answer.labels.__getitem__)}", "", 1))


def table_rows(answer: Answer, *, has_iris: bool = True) -> list[list[str]]:
    """A computed table with a line of column names, values as they are; none for another kind of answer.

    A cell without a value is empty.

    :param has_iris: behind a column of things comes one with their IRIs.
    """
    found = table_of(answer)
    if found is None:
        return []
    places = range(len(found.columns)) if has_iris else ()
    things = {i for i in places if any(not isinstance(row[i], Literal | None) for row in found.rows)}
    names = [[name, f"{name}_iri"] if i in things else [name] for i, name in enumerate(found.columns)]
    rows = [[_cells(term, answer.labels, has_iri=i in things) for i, term in enumerate(row)] for row in found.rows]
    return [[cell for column in row for cell in column] for row in [names, *rows]]


def _cells(term: Term | None, labels: Mapping[Term, str], *, has_iri: bool) -> list[str]:
    """The cell of a term, and that of its IRI."""
    name = "" if term is None else printable(labels[term], _CELL)
    iri = "" if isinstance(term, Literal | None) else getattr(term, "value", str(term))
    return [name, iri] if has_iri else [name]


def cut_lines(answer: Answer) -> list[str]:
    """What a limit cut off the rows of a computed answer."""
    return [str(cut) for item in answer.evidence if item.kind == "computed" for cut in item.cuts]


def _is_number(term: Term | None) -> bool:
    return isinstance(term, Literal | None) and (term is None or value_text(term)[:1] in "+-.0123456789")
