"""``--preset``: a method with options that were chosen once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.retrievers._presets import Preset

__all__ = ["PresetOption", "method_with", "methods_with"]

PresetOption = Annotated[
    Path | None,
    typer.Option("--preset", metavar="FILE", help="A method and its options, as eval tune writes them; -O wins."),
]


def method_with(path: Path | None, name: str | None, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The one method that is asked, and its options.

    :param name: of the method that was named; ``None`` for none.
    :raises InputError: if the preset cannot be read.
    :raises OptionError: if it is of another method, or of options that are no more.
    """
    if path is None:
        return name or "path_ranking", dict(options)
    preset = _loaded(path)
    if name is not None and name != preset.method:
        raise _contradiction(path, preset, name)
    return preset.method, preset.with_options(options)


def methods_with(
    path: Path | None, names: str | None, options: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """The methods that a run asks, and the options of each; the preset is for its own method among them.

    :param names: as somebody typed them; ``None`` for none.
    :raises InputError: if the preset cannot be read.
    :raises OptionError: if its method is not among those that are asked, or for a name or an option that is none.
    """
    from kgsparql.evaluation.runs.methods import NO_MODEL, checked_names, options_by_method

    if path is None:
        asked = checked_names(names or "all")
        return asked, {**options_by_method(options, asked)}
    preset = _loaded(path)
    asked = checked_names(names or preset.method)
    if not {"all", "methods", preset.method, preset.method + NO_MODEL} & set(asked):
        raise _contradiction(path, preset, names or "")
    found: dict[str, dict[str, Any]] = {**options_by_method(options, asked)}
    found[preset.method] = preset.with_options(found.get(preset.method, {}))
    return asked, found


def _loaded(path: Path) -> Preset:
    from kgsparql.retrievers._presets import Preset

    return Preset.load(path)


def _contradiction(path: Path, preset: Preset, name: str) -> OptionError:
    return OptionError(
        f"-r {printable(name, 60)}: the preset {path} is of {preset.method}", hint="leave out one of the two"
    )
