"""The values of options: typer has pydantic make them, whose import takes 0.1 s; texts and defaults need no making."""

from __future__ import annotations

from typing import Any

from typer import Exit
from typer.core import TyperCommand

from kgsparql.errors import KgsparqlError

_TEXTS = {str, list[str]}
_PLAIN = {str, int, float}


class PlainValue:
    """Stands in for what typer makes the values of one parameter with, where a value is a text or the default."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter, as typer makes it."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        about = param.type_descriptor
        kind, is_plain = about.annotation, about.parameter_info.parser is None
        if is_plain and kind in _TEXTS and all(isinstance(one, str) for one in _listed(value)):
            return kind(value)
        if is_plain and kind in _PLAIN and ctx.get_parameter_source(param.name).name == "DEFAULT":
            return kind(value)
        _make_with(param, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class PlainCommand(TyperCommand):
    """A command that makes plain values itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As for any command, with the settings of files in place of options that are not given."""
        from kgsparql.cli._configured import with_settings
        from kgsparql.cli._stderr import show_error

        make_plain(self.get_params(ctx))
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        try:
            words = with_settings(ctx, given, args)
        except KgsparqlError as error:
            show_error(error)
            raise Exit(error.exit_code) from error
        return super().parse_args(ctx, words)


def make_plain(parameters: Any) -> None:
    """Have these parameters make plain values themselves."""
    for parameter in parameters:
        _make_with(parameter, PlainValue())


def _make_with(parameter: Any, maker: PlainValue | None) -> None:
    """Set what makes the values of a parameter; ``None`` for typer's own.

    It is typer's private name: were it another, values would be made as typer makes them, only later.
    """
    parameter._runtime_param = maker  # noqa: SLF001


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]
