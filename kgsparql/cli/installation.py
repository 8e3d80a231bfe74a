"""``doctor``, ``cache`` and ``config``: what works here, what is kept between runs, and which settings hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, KgOption, LimitOptions, ModelOptions, named_sources
from kgsparql.cli._settings import (
    CONFIG_VARIABLE,
    OPTIONS,
    PROJECT_FILE,
    VARIABLES,
    PlainCommand,
    Settings,
    load_settings,
    settings,
    settings_files,
    user_file,
)
from kgsparql.errors import InputError, StoreLockedError
from kgsparql.http.address import Address, is_address
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted, shown_source, unreadable_url

if TYPE_CHECKING:
    from kgsparql.cli._cache_contents import CacheContents, Cleared, KindSummary
    from kgsparql.cli._checks import Check

_SHOWN_STATES = {"ok": "ok", "absent": "--", "fail": "FAIL"}


# -- doctor -------------------------------------------------------------------------------------------------------


@c.command
def doctor(
    kg: KgOption = None,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="NAME", help="A language model. Default: KGSPARQL_MODEL.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="OpenAI-compatible server. Default: OPENAI_BASE_URL."),
    ] = None,
    embedder: c.EmbedderOption = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not load the embedding model, which takes seconds.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="For each thing asked over the network.")
    ] = 10.0,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Check what kgsparql needs here: packages, embedder, cache; with -m or --base-url a model; with -k a graph.

    A line for each check: ok, -- (not there, not needed) or FAIL, and what to do. A model is asked one small question.
    Exit status: 0 if nothing fails, else that of the worst: 5 unreachable, 4 bad data or store, 3, 2, 1.
    """
    form = c.chosen_format(form, output)
    checks = _checks(
        named_sources(kg) if settings().named_sources(kg) else (),
        model=model or os.environ.get("KGSPARQL_MODEL"), base_url=base_url or os.environ.get("OPENAI_BASE_URL"),
        embedder=embedder, timeout_s=timeout, is_quick=quick, note=lambda line: c.say(redacted(line), quiet=quiet),
    )  # fmt: skip
    done: list[Check] = []
    if form == "json":
        done += checks
        c.write_json([check.to_json() for check in done], output)
    else:
        c.write_lines(_check_lines(checks, done), output)
    if worst := max(check.exit_code for check in done):
        raise typer.Exit(worst)


def _checks(
    sources: Sequence[str], *, model: str | None, base_url: str | None, embedder: str, timeout_s: float,
    is_quick: bool, note: Callable[[str], None],
) -> Iterator[Check]:  # fmt: skip
    """Make each check; errors of kgsparql's become failed checks. To load the embedder takes seconds: it comes last."""
    from kgsparql.cli import _checks as checks

    yield from checks.installation_checks()
    places = (base_url or ("https:" if model else ""), embedder, *map(checks.url_of, sources))
    yield checks.certificates_check(is_needed=any(place.lower().startswith("https:") for place in places))
    yield checks.attempted("cache", checks.cache_check)
    yield from checks.graph_checks(sources, timeout_s, note)
    yield from checks.model_checks(model, base_url, timeout_s, note)
    yield checks.attempted("embedder", lambda: checks.embedder_check(embedder, timeout_s, note, is_quick=is_quick))


def _check_lines(checks: Iterable[Check], done: list[Check]) -> Iterator[str]:
    """Write each check as text as soon as it is there; it is added to ``done``."""
    for check in checks:
        done.append(check)
        shown = check.to_json()
        line = f"{_SHOWN_STATES[check.state]:<5} {check.check:<19} {shown['found']}"
        yield f"{line}\n{'':<25} → {shown['hint']}" if check.hint else line


# -- cache --------------------------------------------------------------------------------------------------------


@c.command
def cache(
    clear: Annotated[
        list[str] | None,
        typer.Option(
            "--clear", metavar="KIND", help="Remove a kind: graphs, labels, model, query … or all; repeatable."
        ),
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
    from kgsparql.cli._cache_contents import CacheContents

    contents = CacheContents()
    form = c.chosen_format(form, output)
    if clear:
        _write_cleared(contents, list(contents.clear(clear)), form, output, quiet=quiet)
        return
    kept, size = contents.summary(), contents.bytes
    if form == "json":
        found = {"directory": str(contents.directory), "bytes": size, "kinds": [asdict(kind) for kind in kept]}
        c.write_json(found, output)
        return
    there = _size_text(size) if kept else "nothing is kept" if contents.directory.is_dir() else "not made yet"
    c.write("\n".join([f"{contents.directory}: {there}", *map(_summary_line, kept)]), output)
    c.say("remove a kind: kgsparql cache --clear KIND, or all" if kept else "", quiet=quiet)


def _summary_line(kind: KindSummary) -> str:
    days = " to ".join(dict.fromkeys(when[:10] for when in (kind.oldest, kind.newest) if when))
    trouble = f": {printable(kind.trouble, 400)}" if kind.trouble else ""
    return f"  {kind.kind:<10} {kind.count:>7,}  {_size_text(kind.bytes):>7}  {days:<24}  {kind.what}{trouble}"


def _write_cleared(
    contents: CacheContents, done: list[Cleared], form: str, output: Path | None, *, quiet: bool
) -> None:
    """Say what was freed; what is in use is an error only if nothing was removed."""
    failures = [failure for one in done for failure in one.failures]
    if form == "json":
        cleared = [{**asdict(one), "failures": [failure.to_json() for failure in one.failures]} for one in done]
        freed = sum(one.bytes for one in done)
        c.write_json({"directory": str(contents.directory), "freed_bytes": freed, "cleared": cleared}, output)
    else:
        c.write("\n".join(map(_cleared_line, done)), output)
    for one in done:
        c.say(printable(one.note, 600), quiet=quiet)
    is_worse = [failure for failure in failures if not isinstance(failure, StoreLockedError)]
    is_nothing = not any(one.count or one.bytes for one in done)
    raised = (is_worse or (failures if is_nothing else []))[:1]
    for failure in failures:
        if failure not in raised:
            c.say(f"skipped: {printable(failure.message, 400)}")
    if raised:
        raise raised[0]


def _cleared_line(one: Cleared) -> str:
    freed = f"{one.count:,} removed, {_size_text(one.bytes)} freed"
    return f"{one.kind}: {freed if one.count or one.bytes else 'nothing removed'}"


def _size_text(size: int) -> str:
    from kgsparql.storage.files import size_text

    return size_text(size)


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
    if key == "model.api_key":
        return "***"
    if isinstance(value, dict):
        return {name: _without_secrets(name, own) for name, own in value.items()}
    if isinstance(value, list):
        return [_without_secrets(key, one) for one in value]
    if not isinstance(value, str):
        return value
    if is_address(value):
        try:
            Address.parse(value)
        except InputError:  # it cannot be said where a password ends
            return unreadable_url(value)
    return redacted(value if is_address(value) else shown_source(value))


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
