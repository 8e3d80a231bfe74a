"""An answer as HTML, for notebooks: what it says, what it names, what it rests on, and the drawing of that."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import Literal, Term, printable
from kgsparql.rendering.drawing import answer_to_svg, svg_text
from kgsparql.rendering.text import prose_title, text_lines

_SHOWN_ROWS, _SHOWN_NAMES = 20, 10  # rows of a table, and candidates that are named before it
_CELL_LENGTH = 600


def answer_to_html(answer: Answer) -> str:
    """Write the answer, a table of what it names or computed, its evidence, and the drawing; no script, no link."""
    said = answer.text.splitlines()
    if answer.is_ranked and answer.best:  # what keeps the best of them from being the answer, and these
        more = " …" if len(answer.best) > _SHOWN_NAMES else ""
        names = "; ".join(one.shown for one in answer.best[:_SHOWN_NAMES]) + more
        said = [*(said[:1] if answer.gaps else []), names]
    computed = answer.computed
    head: tuple[str, ...] = ("Answer", "Term", "Evidence")
    rows = [[_shown_name(one.term, one.shown), str(one.term), ", ".join(one.markers)] for one in answer.answers]
    if computed is not None and computed.is_table:
        head = tuple(computed.columns)
        rows = [["" if t is None else _shown_name(t, answer.labels.get(t, "")) for t in row] for row in computed.rows]
    ranked = " (by rank: no model chose)" if answer.is_ranked and answer.answers else ""
    return "\n".join([
        '<div class="kgsparql-answer">',
        f"<p>{svg_text(answer.question)} <small>{answer.status}{ranked}</small></p>",
        *(f"<p><strong>{svg_text(line)}</strong></p>" for line in said[:_SHOWN_ROWS]),
        *(f"<p>{svg_text(line)}</p>" for line in ([prose_title(answer.model), *answer.prose] if answer.prose else ())),
        *_html_table(head, rows),
        *_html_table(("", "Evidence"), [(own.marker, own.sourced_text) for own in answer.evidence.keep(answer.cited)]),
        answer_to_svg(answer),
        "</div>",
    ])  # fmt: skip


def _shown_name(term: Term, label: str) -> str:
    return value_text(term, label) if isinstance(term, Literal) else label or str(term)


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
        "image/svg+xml": answer_to_svg(answer),
    }


def load_ipython_extension(shell: Any) -> None:
    """Have IPython show answers. It asks the class for a method otherwise, and an answer is a plain value."""
    shell.display_formatter.mimebundle_formatter.for_type(Answer, mime_bundle)


def register_if_running() -> None:
    """Register in the shell that runs this process, if one does: looked up, never imported."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        load_ipython_extension(shell)
