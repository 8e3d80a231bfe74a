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
        raise _contradiction(path, preset, name)
    return preset.method, preset.with_options(options)


def methods_with(
    path: Path | None, names: str | None, options: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """The names of several methods, and the options of each; a preset is for its own method among them."""
    from kgsparql.evaluation.runs.plan import NO_MODEL, checked_names, options_by_method
    from kgsparql.retrievers._presets import Preset

    preset = None if path is None else Preset.load(path)
    methods = checked_names(names or (preset.method if preset else "all"))
    if preset and not {"all", "methods", preset.method, preset.method + NO_MODEL} & set(methods):
        raise _contradiction(path, preset, names)
    found: dict[str, dict[str, Any]] = {**options_by_method(options, methods)}
    if preset is not None:
        found[preset.method] = preset.with_options(found.get(preset.method, {}))
    return methods, found


def _contradiction(path: Path | None, preset: Preset, names: str | None) -> OptionError:
    about = f"-r {printable(names or '', 60)}: the preset {path} is of {preset.method}"
    return OptionError(about, hint="leave out one of the two")
