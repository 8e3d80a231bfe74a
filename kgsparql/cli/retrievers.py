"""``kgsparql retrievers``: the methods, what each costs, and what can be set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.retrievers._loading import CostBound, MethodDescription


_FORMATS = ("text", "md", "json")
_COST = {"calls": "model calls", "rounds": "one after another", "queries": "queries"}


@c.command
def retrievers(
    name: Annotated[
        str | None, typer.Argument(help="A method, to see its options; all of them without a name.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="FORMAT", help=f"Output: {', '.join(_FORMATS)}.")
    ] = None,
    output: c.OutputOption = None,
    debug: c.DebugOption = False,
) -> None:
    """List the methods with what each spends at most on a question, or one of them with its options."""
    form = c.chosen_format(form, output, _FORMATS)
    found = _descriptions(name)
    if form == "json":
        values = [one.to_json() for one in found]
        c.write_json(values if name is None else values[0], output)
    elif name is None:
        c.write(methods_table(found) if form == "md" else "\n".join(_methods_lines(found)), output)
    else:
        c.write("\n".join(_method_table(found[0]) if form == "md" else _method_lines(found[0])), output)


def _descriptions(name: str | None) -> list[MethodDescription]:
    """The descriptions of all methods or one; a method of another package that cannot be used is only reported."""
    from kgsparql.retrievers import find, names
    from kgsparql.retrievers._loading import description_of

    if name is not None:
        return [description_of(find(name))]
    found = []
    for one in names():
        try:
            found.append(description_of(find(one)))
        except OptionError as error:
            c.show_error(error)
    return found


def _methods_lines(found: list[MethodDescription]) -> Iterator[str]:
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        yield f"{one.name:<{width}}  {printable(one.summary)}"
        costs = (f"{_COST[what]}: {_bound_text(bound)}" for what, bound in one.cost.items())
        yield f"{'':<{width}}  {'; '.join(costs)}"
        yield f"{'':<{width}}  {printable(one.source)}"


def _method_lines(one: MethodDescription) -> Iterator[str]:
    yield f"{one.name}: {printable(one.summary)}"
    yield printable(one.about)
    yield f"Source: {printable(one.source)}"
    yield ""
    yield "At most, for one question"
    for what, bound in one.cost.items():
        yield f"  {_COST[what]:<18} {_bound_text(bound)}  = {bound.formula}"
    yield ""
    yield "Options (-O NAME=VALUE)"
    width = max((len(option.name) for option in one.options), default=0)
    for option in one.options:
        default = "must be given" if option.default is None else f"default {option.default or 'nothing'}"
        yield f"  {option.name:<{width}}  {printable(option.about)} ({option.type}; {default})"


def methods_table(found: list[MethodDescription]) -> str:
    """The methods as a Markdown table."""
    rows = [
        f"| `{one.name}` | {_cell(one.summary)} | {' | '.join(_bound_text(bound) for bound in one.cost.values())} "
        f"| {_cell(one.source)} |"
        for one in found
    ]
    return "\n".join(["| method | evidence | calls | rounds | queries | source |", "|---|---|---|---|---|---|", *rows])


def _method_table(one: MethodDescription) -> Iterator[str]:
    yield f"## {one.name}"
    yield ""
    yield f"{_cell(one.about)} Source: {_cell(one.source)}"
    yield ""
    yield "| at most | | formula |"
    yield "|---|---|---|"
    for what, bound in one.cost.items():
        yield f"| {_COST[what]} | {_bound_text(bound)} | `{bound.formula}` |"
    yield ""
    yield "| option | type | default | |"
    yield "|---|---|---|---|"
    for option in one.options:
        default = "" if option.default is None else f"`{option.default}`" if option.default else "nothing"
        yield f"| `{option.name}` | {_cell(option.type)} | {default} | {_cell(option.about)} |"


def _bound_text(bound: CostBound) -> str:
    """A bound with the default options, and what it assumes of the question."""
    given = ", ".join(f"{name} = {value}" for name, value in bound.where.items())
    return f"{bound.value:,}" + (f" ({given})" if given else "")


def _cell(text: str) -> str:
    return printable(text, 500).replace("|", "\\|")
