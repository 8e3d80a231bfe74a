"""The command line: one file for each command or small family of them.

May use: everything. Open first: ``ask.py``; what commands share is in the files with an underscore.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_group

from kgsparql.cli._plain_values import PlainCommand
from kgsparql.cli._snapshot_options import TypedGroup

__all__ = ["app"]

_FUNCTIONS = {
    "ask": "ask.ask", "find": "lookups.find", "show": "lookups.show", "paths": "lookups.paths", "plan": "plan.plan",
    "query": "query.query", "check": "check.check", "diff": "check.diff",
    "load": "load.load", "index": "index.index", "info": "lookups.info",
    "retrievers": "retrievers.retrievers", "cache": "cache.cache", "doctor": "doctor.doctor",
    "schema": "schema.schema", "serve": "serve.serve", "mcp": "mcp.mcp", "tools": "tools.tools",
    "eval": "eval.evaluate", "log": "log.log", "config": "config.config",
}  # fmt: skip
"""The commands in their order, each with its module and what in it is its function, or its group."""


class _Commands(TypedGroup):
    """The commands, each imported when it is called, or listed: the options of all take 40 ms to read."""

    def list_commands(self, _: Any) -> list[str]:
        """Their names."""
        return [*_FUNCTIONS]

    def get_command(self, _: Any, name: str) -> Any:
        """The command of a name; for a name that is none, all are read: typer suggests one of those it has."""
        for wanted in [name] if name in _FUNCTIONS else _FUNCTIONS:
            if wanted not in self.commands:
                self.commands[wanted] = _command(wanted)
        return self.commands.get(name)


def _command(name: str) -> Any:
    """A command as typer makes it of its function, or of its group."""
    module, _, function = _FUNCTIONS[name].partition(".")
    found = getattr(import_module(f"{__name__}.{module}"), function)
    alone = typer.Typer()
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(cls=PlainCommand)(found)
    return get_group(alone).commands[name]


app = typer.Typer(
    name="kgsparql",
    cls=_Commands,
    help="Ask any RDF graph a question; every claim comes with the triples it rests on and the SPARQL that finds them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # 30 ms that --help does without

        typer.echo(f"kgsparql {version('kgsparql')}")
        raise typer.Exit


@app.callback()
def _main(
    ctx: typer.Context,
    _: Annotated[bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)] = False,
) -> None:
    from kgsparql.cli._common import say, with_errors_as_lines
    from kgsparql.cli._configuration import load_configuration
    from kgsparql.resources import cache_directory
    from kgsparql.storage.leftovers import leftovers, sweep

    def load() -> None:
        if ctx.invoked_subcommand != "cache":  # which shows what is there
            sweep({target for target, _ in leftovers(cache_directory())})
        for note in load_configuration().notes:
            say(note)

    if ctx.invoked_subcommand != "config":  # which shows where a file is that cannot be read
        with_errors_as_lines(load)()
