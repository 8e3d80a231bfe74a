"""An answer as HTML, for notebooks: its text, as a terminal has it, and the drawing of what it rests on."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.rendering.drawing import answer_to_svg, svg_text
from kgsparql.rendering.text import text_lines


def answer_to_html(answer: Answer) -> str:
    """Write the answer and the drawing; no script, no link."""
    text = "\n".join([svg_text(answer.question), "", *map(_pre_text, text_lines(answer))])
    return f'<div class="kgsparql-answer">\n<pre>{text}</pre>\n{answer_to_svg(answer)}\n</div>'


def _pre_text(line: str) -> str:
    """Write a line with its spaces, which stand for the columns of a table."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in line), quote=False)


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
