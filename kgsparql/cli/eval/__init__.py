"""``kgsparql eval``: the group; without the name of a command, what follows is a run."""

from __future__ import annotations

import typer

from kgsparql.cli._settings import PlainCommand, PlainGroup
from kgsparql.cli.eval.datasets import make, validate
from kgsparql.cli.eval.runs import compare, run, tune


class _RunByDefault(PlainGroup):
    """A group in which ``eval DATASET`` is ``eval run DATASET``."""

    default = "run"


evaluate = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Measure methods on questions with known answers: `kgsparql eval DATASET -o RUN`, then `eval compare RUN`.",
    pretty_exceptions_enable=False,
)
for command in (run, compare, validate, make, tune):
    evaluate.command(cls=PlainCommand)(command)
