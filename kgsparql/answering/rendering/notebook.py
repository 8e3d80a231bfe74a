"""Show answers in notebooks: ``%load_ext kgsparql``, or nothing at all, since :func:`kgsparql.open` does it."""

from __future__ import annotations

import sys
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.rendering.formats import render


def mime_bundle(answer: Answer, *_: object) -> dict[str, str]:
    """Return the answer as text, as HTML and as a drawing; the notebook takes what it can show."""
    return {
        kind: render(answer, form)
        for kind, form in (("text/plain", "text"), ("text/html", "html"), ("image/svg+xml", "svg"))
    }


def load_ipython_extension(shell: Any) -> None:
    """Have IPython show answers. It asks the class for a method otherwise, and an answer is a plain value."""
    shell.display_formatter.mimebundle_formatter.for_type(Answer, mime_bundle)


def register_if_running() -> None:
    """Register in the shell that runs this process, if one does: looked up, never imported."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        load_ipython_extension(shell)
