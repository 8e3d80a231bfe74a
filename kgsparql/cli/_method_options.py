"""The options ``-r``, ``-O`` and ``--preset``: which methods are used, and with which options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.retrievers._presets import Preset


PresetOption = Annotated[
    Path | None,
    typer.Option("--preset", metavar="FILE", help="A method and its options, as eval tune writes them; -O wins."),
]


MethodOption = Annotated[
    list[str] | None, typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable.")
]


def options_of(option: list[str] | None) -> dict[str, str]:
    """Names and values of options from texts such as ``name=value``."""
    options = {}
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"-O {printable(text, 60)}", hint="write -O name=value")
        options[name.replace("-", "_")] = value
    return options


def method_with(path: Path | None, name: str | None, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the options of one method.

    :raises OptionError: if it is of another method, or has options that do not exist any more.
    """
    if path is None:
        return name or "auto", dict(options)
    from kgsparql.retrievers._presets import Preset

    preset = Preset.load(path)
    if name is not None and name != preset.method:
        raise contradiction(path, preset, name)
    return preset.method, preset.with_options(options)


def contradiction(path: Path | None, preset: Preset, names: str | None) -> OptionError:
    """Make the error for a preset of another method than those that are named."""
    about = f"-r {printable(names or '', 60)}: the preset {path} is of {preset.method}"
    return OptionError(about, hint="leave out one of the two")
