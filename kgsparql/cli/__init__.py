"""The command line: one file for each command or small family of them.

May use: everything. Open first: ``ask.py``; what commands share is in the files with an underscore.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException
from typer.main import get_group

from kgsparql.cli._settings import Command, Group
from kgsparql.errors import KgsparqlError, OptionError
from kgsparql.rdf.terms import printable

__all__ = ["app"]

_FUNCTIONS = {
    "ask": "ask.ask", "find": "graph.find", "show": "graph.show", "paths": "graph.paths", "plan": "query.plan",
    "query": "query.query", "check": "check.check",
    "load": "graph.load", "index": "graph.index", "info": "graph.info",
    "retrievers": "installation.retrievers", "cache": "installation.cache", "doctor": "installation.doctor",
    "schema": "installation.schema", "serve": "serve.serve", "mcp": "serve.mcp",
    "eval": "eval.evaluate",
}  # fmt: skip
"""The commands in their order, each with its module and what in it is its function, or its group."""
_MEANT = {
    "sparql": "query", "select": "query", "search": "find", "lookup": "find", "describe": "show", "question": "ask",
    "import": "load", "server": "serve", "stats": "info", "explain": "plan",
}  # fmt: skip
"""What other programs call a command."""


class _Commands(Group):
    """The commands, each imported when it is called, or listed: the options of all take 40 ms to read."""

    def list_commands(self, _: Any) -> list[str]:
        """List their names."""
        return [*_FUNCTIONS]

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command of a name; of a name that is none, say which may be meant."""
        if name in _FUNCTIONS and name not in self.commands:
            self.commands[name] = _command_of(name)
        found = super().get_command(ctx, name)
        if found is None and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = [_MEANT.get(one, one) for one in get_close_matches(name, [*_FUNCTIONS, *_MEANT], n=1)]
            hint = f"did you mean kgsparql {'ask' if ' ' in name else near[0]}?" if near or " " in name else ""
            hint = hint or f"one of {', '.join(_FUNCTIONS)}"
            raise OptionError(f"no command {printable(name, 60)!r}", hint=hint)
        return found

    def invoke(self, ctx: Any) -> Any:
        """Do as any group does; settings that a command cannot be read with are told as its own errors are."""
        from kgsparql.cli._common import show_error

        try:
            return super().invoke(ctx)
        except TyperException as wrong:  # of an option, told as other errors are
            if (told := getattr(wrong, "format_message", None)) is None:
                raise
            near = getattr(wrong, "possibilities", None) or ()
            hint = f"did you mean {' or '.join(near)}?" if near else "add -h to see what there is"
            show_error(OptionError(told().partition(" (Possible")[0], hint=hint))
            raise typer.Exit(getattr(wrong, "exit_code", 2)) from wrong
        except KgsparqlError as error:
            show_error(error)
            raise typer.Exit(error.exit_code) from error


def _command_of(name: str) -> Any:
    """Make a command of its function, or of its group, as typer does."""
    module, _, function = _FUNCTIONS[name].partition(".")
    found = getattr(import_module(f"{__name__}.{module}"), function)
    alone = typer.Typer()
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(cls=Command)(found)
    return get_group(alone).commands[name]


app = typer.Typer(
    name="kgsparql",
    cls=_Commands,
    help="Ask any RDF graph a question; every claim comes with the triples it rests on and the SPARQL that finds them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # 30 ms that --help does without

        typer.echo(f"kgsparql {version('kgsparql')}")
        raise typer.Exit


@app.callback()
def _main(
    ctx: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    from kgsparql.cli._common import say
    from kgsparql.cli._settings import load_settings, removed_notes

    for note in removed_notes():
        say(note)
    with suppress(KgsparqlError) if ctx.invoked_subcommand == "doctor" else nullcontext():  # it tells them itself
        load_settings()
