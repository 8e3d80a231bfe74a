"""An answer as HTML for a notebook: what it says, what it names, what it rests on, and the drawing of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kgsparql.answering.drawing.drawing import drawing_of
from kgsparql.answering.drawing.svg import drawing_to_svg, svg_text
from kgsparql.rdf.literal_text import value_text
from kgsparql.rdf.terms import Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer

_ROWS = 20
"""Rows of a table; the answer itself has them all."""

_NAMED = 10
"""Candidates that are named before the table."""

_LONGEST = 600


def answer_to_html(answer: Answer) -> str:
    """The answer, a table of what it names or computed, its evidence, and the drawing; no script, no link."""
    return "\n".join(['<div class="kgsparql-answer">', *_parts(answer), "</div>"])


def _parts(answer: Answer) -> Iterator[str]:
    ranked = " (ranked candidates: no model chose among them)" if answer.is_ranked and answer.answers else ""
    yield f"<p>{svg_text(answer.question)} <small>{answer.status}{ranked}</small></p>"
    yield from (f"<p><strong>{svg_text(line)}</strong></p>" for line in _lines(answer)[:_ROWS])
    yield from _answers(answer)
    cited = answer.evidence.keep(answer.cited)
    yield from _table(("", "Evidence"), [(item.marker, item.sourced_text) for item in cited])
    yield drawing_to_svg(drawing_of(answer), title=answer.question)


def _lines(answer: Answer) -> list[str]:
    """What the answer says; of ranked candidates, which the table lists, what keeps the best from being the answer."""
    lines = answer.text.splitlines()
    if not answer.is_ranked or not answer.best:
        return lines
    more = " …" if len(answer.best) > _NAMED else ""
    return [*(lines[:1] if answer.gaps else []), "; ".join(one.shown for one in answer.best[:_NAMED]) + more]


def _answers(answer: Answer) -> Iterator[str]:
    """A table of the answers; of what was computed, where that has rows."""
    computed = answer.computed
    if computed is not None and computed.is_table:
        rows = [["" if term is None else _name(term, answer) for term in row] for row in computed.rows]
        yield from _table(computed.columns, rows)
    elif answer.answers:
        yield from _table(
            ("Answer", "Term", "Evidence"),
            [(_name(one.term, answer, one.shown), str(one.term), ", ".join(one.markers)) for one in answer.answers],
        )


def _name(term: Term, answer: Answer, shown: str = "") -> str:
    return value_text(term) if isinstance(term, Literal) else shown or answer.labels.get(term) or str(term)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield "<table>"
    yield _row(head, "th")
    yield from (_row(row, "td") for row in rows[:_ROWS])
    yield "</table>"
    if len(rows) > _ROWS:
        yield f"<p>+{len(rows) - _ROWS:,} more</p>"


def _row(cells: Sequence[str], kind: str) -> str:
    return f"<tr>{''.join(f'<{kind}>{svg_text(printable(cell, _LONGEST))}</{kind}>' for cell in cells)}</tr>"
