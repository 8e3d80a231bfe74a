"""``kgsparql eval``: the group; without the name of a command, what follows is a run."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from kgsparql.cli._settings import PlainCommand, make_plain
from kgsparql.cli.eval.asking import run, tune
from kgsparql.cli.eval.compare import compare
from kgsparql.cli.eval.datasets import make, validate

__all__ = ["evaluate"]


class _RunByDefault(TyperGroup):
    """A group in which ``eval DATASET`` is ``eval run DATASET``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` before what is no command and no call for help."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)


evaluate = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Measure methods on questions with known answers: `kgsparql eval DATASET -o RUN`, then `eval compare RUN`.",
    pretty_exceptions_enable=False,
)
for command in (run, compare, validate, make, tune):
    evaluate.command(cls=PlainCommand)(command)
