"""``kgsparql schema``: what the JSON of an answer holds, for programs that read it."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError
from kgsparql.rdf.terms import printable


@c.command
def schema(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="answer: what ask writes as JSON.")] = "answer",
    output: c.OutputOption = None,
) -> None:
    """Print the JSON Schema of an answer, and of what stands for one where there is none."""
    from kgsparql.answering.answer_schema import answer_schema

    if what != "answer":
        raise InputError(f"no schema {printable(what, 40)!r}", hint="there is one: kgsparql schema answer")
    c.write_json(answer_schema(), output)
