"""``retrievers`` and ``schema``: the methods, and the JSON that is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import Json, printable

_COST = {"calls": "model calls", "rounds": "one after another", "queries": "queries"}


@c.command
def schema(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="answer: what ask writes as JSON.")] = "answer",
    output: c.OutputOption = None,
) -> None:
    """Print the JSON Schema of an answer, and of what stands for one where there is none."""
    if what != "answer":
        hint = "there is one: kgsparql schema answer"
        raise InputError(f"no schema {printable(what, 40)!r}", hint=hint)
    from kgsparql.answering.answer_json import answer_schema

    c.write_json(answer_schema(), output)


@c.command
def retrievers(
    name: Annotated[
        str | None, typer.Argument(help="A method, to see its options; all of them without a name.")
    ] = None,
    *,
    to: c.AloneOptions,
) -> None:
    """List the methods with what each spends at most on a question, or one of them with its options."""
    from kgsparql.retrievers import find, names
    from kgsparql.retrievers._loading import description_of

    found = []
    for one in names() if name is None else [name]:
        try:
            found.append(description_of(find(one)))
        except OptionError as error:  # a method of another package that cannot be used is only reported
            if name is not None:
                raise
            c.show_error(error)
    if name is None:
        to.write(found, _methods_lines(found))
    else:
        to.write(found[0], _method_lines(found[0]))


def _methods_lines(found: list[Json]) -> Iterator[str]:
    width = max((len(one["name"]) for one in found), default=0)
    for one in found:
        yield f"{one['name']:<{width}}  {printable(one['summary'])}"
        costs = (f"{_COST[what]}: {_bound_text(bound)}" for what, bound in one["cost"].items())
        yield f"{'':<{width}}  {'; '.join(costs)}"
        yield f"{'':<{width}}  {printable(one['source'])}"


def _method_lines(one: Json) -> Iterator[str]:
    yield f"{one['name']}: {printable(one['summary'])}\n{printable(one['about'])}\nSource: {printable(one['source'])}\n"
    yield "At most, for one question"
    for what, bound in one["cost"].items():
        yield f"  {_COST[what]:<18} {_bound_text(bound)}"
    if one["asks"]:
        yield "\nWhat a model is asked, and what was changed"
        yield from (f"  - {printable(step, 500)}" for step in one["asks"])
    yield "\nOptions (-O NAME=VALUE)"
    width = max((len(option["name"]) for option in one["options"]), default=0)
    for option in one["options"]:
        about = f"{printable(option['about'])} ({option['type']}; default {option['default'] or 'nothing'})"
        yield f"  {option['name']:<{width}}  {about}"


def _bound_text(bound: Json) -> str:
    """Write a bound with the default options, and what it assumes of the question."""
    given = ", ".join(f"{name} = {value}" for name, value in bound["where"].items())
    return f"{bound['value']:,}" + (f" ({given})" if given else "")
