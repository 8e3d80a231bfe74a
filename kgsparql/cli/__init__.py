"""The command line: one file for each command or small family of them.

May use: everything. Open first: ``ask.py``; what commands share is in the files with an underscore.
"""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli._plain_values import PlainCommand
from kgsparql.cli._snapshot_options import TypedGroup
from kgsparql.cli.ask import ask
from kgsparql.cli.cache import cache
from kgsparql.cli.doctor import doctor
from kgsparql.cli.eval import evaluate
from kgsparql.cli.index import index
from kgsparql.cli.load import load
from kgsparql.cli.lookups import find, info, paths, show
from kgsparql.cli.plan import plan
from kgsparql.cli.query import query
from kgsparql.cli.retrievers import retrievers
from kgsparql.cli.schema import schema

__all__ = ["app"]

app = typer.Typer(
    name="kgsparql",
    cls=TypedGroup,
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
    _: Annotated[bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)] = False,
) -> None:
    pass


for command in (ask, find, show, paths, plan, query, load, index, info, retrievers, cache, doctor, schema):
    app.command(cls=PlainCommand)(command)
app.add_typer(evaluate, name="eval")
