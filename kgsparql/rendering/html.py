"""An answer as HTML, for notebooks: what it says, what it names, what it rests on, and the drawing of that."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import Literal, Term, printable
from kgsparql.rendering.drawing import drawing_of
from kgsparql.rendering.svg import drawing_to_svg, svg_text
from kgsparql.rendering.text import text_lines

_SHOWN_ROWS = 20
"""Rows of a table; the answer itself has them all."""

_SHOWN_NAMES = 10
"""Candidates that are named before the table."""

_CELL_LENGTH = 600


def answer_to_html(answer: Answer) -> str:
    """Write the answer, a table of what it names or computed, its evidence, and the drawing; no script, no link."""
    ranked = " (ranked candidates: no model chose among them)" if answer.is_ranked and answer.answers else ""
    cited = [(item.marker, item.sourced_text) for item in answer.evidence.keep(answer.cited)]
    parts = [
        '<div class="kgsparql-answer">',
        f"<p>{svg_text(answer.question)} <small>{answer.status}{ranked}</small></p>",
        *(f"<p><strong>{svg_text(line)}</strong></p>" for line in _said_lines(answer)[:_SHOWN_ROWS]),
        *_html_table(*_answer_rows(answer)),
        *_html_table(("", "Evidence"), cited),
        drawing_to_svg(drawing_of(answer), title=answer.question),
        "</div>",
    ]
    return "\n".join(parts)


def _said_lines(answer: Answer) -> list[str]:
    """Return what the answer says; of ranked candidates, what keeps the best from being the answer."""
    lines = answer.text.splitlines()
    if not answer.is_ranked or not answer.best:
        return lines
    more = " …" if len(answer.best) > _SHOWN_NAMES else ""
    return [*(lines[:1] if answer.gaps else []), "; ".join(one.shown for one in answer.best[:_SHOWN_NAMES]) + more]


def _answer_rows(answer: Answer) -> tuple[Sequence[str], list[list[str]]]:
    """Return the head and rows of the answers; of what was computed, where that has rows."""
    computed = answer.computed
    if computed is not None and computed.is_table:
        rows = [["" if term is None else _shown_name(term, answer) for term in row] for row in computed.rows]
        return computed.columns, rows
    return ("Answer", "Term", "Evidence"), [
        [_shown_name(one.term, answer, one.shown), str(one.term), ", ".join(one.markers)] for one in answer.answers
    ]


def _shown_name(term: Term, answer: Answer, shown: str = "") -> str:
    return value_text(term) if isinstance(term, Literal) else shown or answer.labels.get(term) or str(term)


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield "<table>"
    for cells, kind in [(head, "th"), *((row, "td") for row in rows[:_SHOWN_ROWS])]:
        shown = (svg_text(printable(cell, _CELL_LENGTH)) for cell in cells)
        yield f"<tr>{''.join(f'<{kind}>{cell}</{kind}>' for cell in shown)}</tr>"
    yield "</table>"
    if len(rows) > _SHOWN_ROWS:
        yield f"<p>+{len(rows) - _SHOWN_ROWS:,} more</p>"


def mime_bundle(answer: Answer, *_: object) -> dict[str, str]:
    """Return the answer as text, as HTML and as a drawing; the notebook takes what it can show."""
    return {
        "text/plain": "\n".join(text_lines(answer)),
        "text/html": answer_to_html(answer),
        "image/svg+xml": drawing_to_svg(drawing_of(answer), title=answer.question),
    }


def load_ipython_extension(shell: Any) -> None:
    """Have IPython show answers. It asks the class for a method otherwise, and an answer is a plain value."""
    shell.display_formatter.mimebundle_formatter.for_type(Answer, mime_bundle)


def register_if_running() -> None:
    """Register in the shell that runs this process, if one does: looked up, never imported."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        load_ipython_extension(shell)
