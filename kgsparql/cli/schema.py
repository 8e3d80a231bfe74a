"""``kgsparql schema``: what the JSON of an answer and of a plan holds, for programs that read and write it."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError
from kgsparql.rdf.terms import printable


@c.command
def schema(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="answer: what ask writes as JSON; plan: what plan reads.")
    ] = "answer",
    output: c.OutputOption = None,
) -> None:
    """Print the JSON Schema of an answer, and of what stands for one where there is none; or of a query plan."""
    if what == "answer":
        from kgsparql.rendering.answer_json import answer_schema

        c.write_json(answer_schema(), output)
    elif what == "plan":
        from kgsparql.plans.plan_schema import plan_schema

        c.write_json(plan_schema(), output)
    else:
        hint = "there are two: kgsparql schema answer, and kgsparql schema plan"
        raise InputError(f"no schema {printable(what, 40)!r}", hint=hint)
