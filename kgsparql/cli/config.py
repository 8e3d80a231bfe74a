"""``kgsparql config``: which settings hold, and where each comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._configuration import (
    CONFIG_VARIABLE,
    OPTIONS,
    PROJECT_FILE,
    VARIABLES,
    Configuration,
    configuration_files,
    load_configuration,
    user_file,
)
from kgsparql.cli._plain_values import PlainCommand
from kgsparql.errors import InputError
from kgsparql.http.address import Address, is_address
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted, shown_source, unreadable_url

config = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Show the settings that hold and the files they are in. What is typed comes first, then variables of the "
    f"environment, then {PROJECT_FILE} in this folder or above it, then the user's own file.",
)


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting as a person sees it.

    :param value: ``None`` where nothing is set; keys are left out.
    :param origin: a variable, a file, or ``default``.
    """

    key: str
    value: Any
    origin: str


@config.command(cls=PlainCommand)
@c.command
def show(
    kg: Annotated[
        list[str] | None,
        typer.Option("-k", "--kg", metavar="SOURCE", help="Show what holds for this graph; repeatable, as in ask."),
    ] = None,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Show every setting, its value, and where that is from; with -k, what holds for that graph."""
    form = c.chosen_format(form, output)
    found = load_configuration()
    shown = list(_shown(found, kg))
    for note in found.notes:
        c.say(note, quiet=quiet)
    if form == "json":
        c.write_json([asdict(one) for one in shown], output)
        return
    rows = [(one.key, printable(_text(one), 60), _short(one.origin)) for one in shown]
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    c.write("\n".join(f"{key:<{key_width}}  {value:<{value_width}}  {at}".rstrip() for key, value, at in rows), output)


@config.command(cls=PlainCommand)
@c.command
def path(form: c.TextOrJsonOption = None, output: c.OutputOption = None, debug: c.DebugOption = False) -> None:
    """Show the files of settings, the one that counts most first, and where the user's own would be."""
    form = c.chosen_format(form, output)
    notes: list[str] = []
    read = [file for file, _ in configuration_files(notes)][::-1]
    own = user_file()
    if form == "json":
        c.write_json({"read": [str(file) for file in read], "user_file": str(own), "notes": notes}, output)
        return
    lines = [str(file) for file in read]
    if own not in read:
        is_off = os.environ.get(CONFIG_VARIABLE, "").strip() == "none"
        lines.append(f"{own} ({f'not read: {CONFIG_VARIABLE}=none' if is_off else 'not made yet'})")
    c.write("\n".join(lines), output)
    for note in notes:
        c.say(note)


def _shown(found: Configuration, kg: Sequence[str] | None) -> Iterator[ShownSetting]:
    """All settings: graphs first, then in the order of the options.

    :param kg: the graphs that are named, which leave out the others; else what holds for the default graph is shown.
    """
    usual = _defaults()
    of_graphs = found.of_graphs(kg)
    graphs = [] if kg else [key for key in found.settings if key.startswith("graphs.")]
    for key in ("graph", *graphs, "prefixes", *OPTIONS, "model.api_key"):
        setting = of_graphs.get(key) or found.settings.get(key)
        if key == "graph" and kg:
            yield ShownSetting(key, _redacted(key, found.sources(kg)), "-k")
        elif (variable := VARIABLES.get(key)) and (value := os.environ.get(variable, "").strip()):
            yield ShownSetting(key, _redacted(key, value.split("\n") if key == "graph" else value), variable)
        elif setting is not None:
            yield ShownSetting(key, _redacted(key, setting.value), str(setting.file))
        else:
            yield ShownSetting(key, usual.get(key), "default")


def _defaults() -> dict[str, Any]:
    """What holds where nothing is set: the defaults of the options of ``ask``."""
    from kgsparql.cli._graph_options import GraphOptions
    from kgsparql.cli._model_options import LimitOptions, ModelOptions
    from kgsparql.cli.ask import AnswerOptions

    groups = (GraphOptions, ModelOptions, LimitOptions, AnswerOptions)
    by_option = {own.name: own.default for group in groups for own in fields(group)}
    found = {key: by_option[option] for key, (option, _) in OPTIONS.items()}
    return found | {"languages": [found["languages"]], "method.name": "auto"}


def _redacted(key: str, value: Any) -> Any:
    if key == "model.api_key":
        return "***"
    if isinstance(value, dict):
        return {name: _redacted(name, own) for name, own in value.items()}
    if isinstance(value, list):
        return [_redacted(key, one) for one in value]
    if not isinstance(value, str):
        return value
    if is_address(value):
        try:
            Address.parse(value)
        except InputError:  # it cannot be said where a password ends
            return unreadable_url(value)
    return redacted(value if is_address(value) else shown_source(value))


def _text(one: ShownSetting) -> str:
    value = one.value
    if value is None:
        return "-"
    if isinstance(value, dict) and "sources" in value:
        more = "".join(f"; {name} {_joined(own)}" for name, own in value.items() if name != "sources")
        return _joined([_short(source) for source in value["sources"]]) + more
    return _joined(value)


def _joined(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name}={own}" for name, own in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(place: str) -> str:
    """A path as seen from here, if that is shorter."""
    return min(place, os.path.relpath(place), key=len) if Path(place).is_absolute() else place
