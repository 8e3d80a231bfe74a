"""Answers shown: as text, Markdown, rows, JSON, RDF and drawings; functions of a value that knows none of them.

May use: ``answering`` and what is below it; only ``cli``, ``serving``, ``evaluation`` and the frameworks use it.
Open first: ``text.py``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer


def render(answer: Answer, form: str = "text", *, verbose: int = 0, told_graphs: bool = False, at: str = "") -> str:
    """Write the answer in one of the formats of ``kgsparql ask``.

    :param told_graphs: name the graph of each item in text, even if all are from one.
    :param at: when it was given, for TriG; left out where it is empty.
    """
    match form:  # each imports what it needs
        case "json" | "jsonl":
            from kgsparql.answering.answer_json import answer_to_json
            from kgsparql.rdf.terms import json_text

            return json_text(answer_to_json(answer), indent=2 if form == "json" else None)
        case "plain" | "csv":
            from kgsparql.rendering.rows import COLUMNS, answer_rows, plain_answers, separated, table_rows

            is_plain, rows = form == "plain", table_rows(answer) or [COLUMNS, *answer_rows(answer)]
            return "\n".join(plain_answers(answer)) if is_plain else separated(rows)
        case "sparql":
            from kgsparql.rendering.answer_rdf import answer_query

            return answer_query(answer).shown
        case "trig":
            from kgsparql.rendering.answer_rdf import answer_to_trig

            return answer_to_trig(answer, at=at)
        case "mermaid":
            return answer.tree.mermaid() if answer.tree else 'flowchart LR\n  nothing["nothing to draw"]'
        case "md":
            from kgsparql.rendering.text import markdown_lines

            return "\n".join(markdown_lines(answer))
        case _:
            from kgsparql.rendering.text import text_lines

            return "\n".join(text_lines(answer, verbose=verbose, told_graphs=told_graphs))


def register_in_notebook() -> None:
    """Have the shell of IPython that runs this process, if one does, show answers; it is looked up, never imported.

    IPython asks the class for a method otherwise, and an answer is a plain value.
    """
    from kgsparql.answering.answer import Answer

    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        shell.display_formatter.mimebundle_formatter.for_type(Answer, mime_bundle)


def mime_bundle(answer: Answer, *_: object) -> dict[str, str]:
    """Return the answer as text, and as Markdown with a drawing; the notebook takes what it can show."""
    drawn = f"{render(answer, 'md')}\n\n```mermaid\n{render(answer, 'mermaid')}\n```"
    return {"text/plain": render(answer), "text/markdown": drawn}
