"""``cache`` and ``config``: what is kept between runs, and which settings hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, LimitOptions, ModelOptions
from kgsparql.cli._settings import (
    CONFIG_VARIABLE,
    OPTIONS,
    PROJECT_FILE,
    VARIABLES,
    PlainCommand,
    Settings,
    load_settings,
    settings_files,
    user_file,
)
from kgsparql.errors import InputError, StoreLockedError
from kgsparql.http.address import Address, is_address
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted, shown_source, unreadable_url

if TYPE_CHECKING:
    from kgsparql.cli._cache_contents import Cleared


# -- cache --------------------------------------------------------------------------------------------------------


@c.command
def cache(
    clear: Annotated[
        list[str] | None,
        typer.Option("--clear", metavar="KIND", help="Remove graphs, labels, model, query … or all; repeatable."),
    ] = None,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Say what is kept between runs, how big and how old it is; remove it by kind.

    All of it is made again when it is needed; the replies of a model are paid for again.
    What another kgsparql is writing is skipped. What it is reading may be gone for it; it says so then.
    """
    from rich.filesize import decimal

    from kgsparql.cli._cache_contents import CacheContents

    contents, form = CacheContents(), c.chosen_format(form, output)
    if clear:
        _write_cleared(contents.clear(clear), form, output)
        return
    kept = contents.summary()
    size = sum(kind.bytes for kind in kept)
    if form == "json":
        found = {"directory": str(contents.directory), "bytes": size, "kinds": [asdict(kind) for kind in kept]}
        c.write_json(found, output)
        return
    lines = [f"{contents.directory}: {decimal(size) if kept else 'nothing is kept'}"]
    for kind in kept:
        days = " to ".join(dict.fromkeys(when[:10] for when in (kind.oldest, kind.newest) if when))
        lines.append(f"  {kind.kind:<11} {kind.count:>7,}  {decimal(kind.bytes):>7}  {days:<24}  {kind.what}")
    c.write("\n".join(lines), output)
    c.say("remove a kind: kgsparql cache --clear KIND, or all" if kept else "", quiet=quiet)


def _write_cleared(done: list[Cleared], form: str, output: Path | None) -> None:
    """Say what was freed; what is in use is an error only if nothing was removed."""
    from rich.filesize import decimal

    if form == "json":
        cleared = [{**asdict(one), "failures": [own.to_json() for own in one.failures]} for one in done]
        c.write_json({"cleared": cleared}, output)
    else:
        c.write("\n".join(f"{own.kind}: {own.count:,} removed, {decimal(own.bytes)} freed" for own in done), output)
    is_nothing = not any(one.count or one.bytes for one in done)
    for failure in (failure for one in done for failure in one.failures):
        if is_nothing or not isinstance(failure, StoreLockedError):
            raise failure
        c.say(f"skipped: {printable(failure.message, 400)}")


# -- config -------------------------------------------------------------------------------------------------------

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
    found = load_settings()
    shown = list(_shown_settings(found, kg))
    for note in found.notes:
        c.say(note, quiet=quiet)
    if form == "json":
        c.write_json([asdict(one) for one in shown], output)
        return
    rows = [(one.key, printable(_value_text(one.value), 60), _shorter_path(one.origin)) for one in shown]
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    c.write("\n".join(f"{key:<{key_width}}  {value:<{value_width}}  {at}".rstrip() for key, value, at in rows), output)


@config.command(cls=PlainCommand)
@c.command
def path(form: c.TextOrJsonOption = None, output: c.OutputOption = None, debug: c.DebugOption = False) -> None:
    """Show the files of settings, the one that counts most first, and where the user's own would be."""
    form = c.chosen_format(form, output)
    notes: list[str] = []
    read = [file for file, _ in settings_files(notes)][::-1]
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


def _shown_settings(found: Settings, kg: Sequence[str] | None) -> Iterator[ShownSetting]:
    """Show all settings: graphs first, then in the order of the options.

    :param kg: the graphs that are named, which leave out the others; else what holds for the default graph is shown.
    """
    usual = _default_values()
    of_graphs = found.of_graphs(kg)
    graphs = [] if kg else [key for key in found.values if key.startswith("graphs.")]
    for key in ("graph", *graphs, "prefixes", *OPTIONS, "model.api_key"):
        setting = of_graphs.get(key) or found.values.get(key)
        if key == "graph" and kg:
            yield ShownSetting(key, _without_secrets(key, found.sources(kg)), "-k")
        elif (variable := VARIABLES.get(key)) and (value := os.environ.get(variable, "").strip()):
            yield ShownSetting(key, _without_secrets(key, value.split("\n") if key == "graph" else value), variable)
        elif setting is not None:
            yield ShownSetting(key, _without_secrets(key, setting.value), str(setting.file))
        else:
            yield ShownSetting(key, usual.get(key), "default")


def _default_values() -> dict[str, Any]:
    """Return what holds where nothing is set: the defaults of the options of ``ask``."""
    from kgsparql.cli.ask import AnswerOptions

    groups = (GraphOptions, ModelOptions, LimitOptions, AnswerOptions)
    by_option = {own.name: own.default for group in groups for own in fields(group)}
    found = {key: by_option[option] for key, (option, _) in OPTIONS.items()}
    return found | {"languages": [found["languages"]], "method.name": "auto"}


def _without_secrets(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_secrets(name, own) for name, own in value.items()}
    if isinstance(value, list):
        return [_without_secrets(key, one) for one in value]
    if key == "model.api_key" or not isinstance(value, str):
        return value if key != "model.api_key" else "***"
    if not is_address(value):
        return redacted(shown_source(value))
    with suppress(InputError):
        Address.parse(value)
        return redacted(value)
    return unreadable_url(value)  # it cannot be said where a password ends


def _value_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict) and "sources" in value:
        more = "".join(f"; {name} {_value_text(own)}" for name, own in value.items() if name != "sources")
        return _value_text([_shorter_path(source) for source in value["sources"]]) + more
    if isinstance(value, dict):
        value = [f"{name}={own}" for name, own in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shorter_path(place: str) -> str:
    """Return a path as seen from here, if that is shorter."""
    return min(place, os.path.relpath(place), key=len) if Path(place).is_absolute() else place
