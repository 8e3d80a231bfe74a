"""``cache`` and ``config``: what is kept between runs, and which settings hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from rich.filesize import decimal

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, LimitOptions, ModelOptions
from kgsparql.cli._settings import KEYS, Settings, load_settings, user_file
from kgsparql.errors import InputError, OptionError, StoreError, StoreLockedError, redacted, shown_source
from kgsparql.http.address import Address
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory

_FOLDERS = {
    "graphs": "files kept as stores",
    "labels": "label indexes",
    "adjacency": "adjacencies of graphs, for paths",
    "models": "the embedding model as kgsparql 0.2 kept it; no more needed",
    "runs": "answers of the page, by their addresses",
    "rate-limits": "pauses of endpoints as kgsparql 0.2 kept them; no more needed",
}
_EXCHANGES = {
    "model": "replies of language models",
    "query": "replies of public endpoints",
    "counts": "what was counted over whole graphs",
    "trial": "what language models were found good for",
    "abilities": "which JSON modes each model server takes",
}
_OURS = re.compile(r"[0-9a-f]{32}(?:\..+)?")
"""Names of stores and indexes, and of the files that belong to one; nothing else in their folders is touched."""


@c.command
def cache(
    clear: Annotated[
        list[str] | None, c.option("--clear KIND", "Remove graphs, labels, model, query … or all; repeatable.")
    ] = None,
    *,
    to: c.AloneOptions,
) -> None:
    """Say what is kept between runs and how big it is; remove it by kind.

    All of it is made again when it is needed; the replies of a model are paid for again.
    What another kgsparql is writing is skipped. What it is reading may be gone for it; it says so then.
    """
    directory = cache_directory().absolute()
    if clear:
        _clear_kinds(directory, clear, to)
        return
    kept = list(_kept_kinds(directory))
    size = sum(kind["bytes"] for kind in kept)
    lines = [f"{directory}: {decimal(size) if kept else 'nothing is kept'}"]
    lines += [f"  {own['kind']:<11} {own['count']:>7,}  {decimal(own['bytes']):>7}  {own['what']}" for own in kept]
    to.write({"directory": str(directory), "bytes": size, "kinds": kept}, lines)
    to.say("remove a kind: kgsparql cache --clear KIND, or all" if kept and not to.is_json else "")


def _kept_kinds(directory: Path) -> Iterator[dict[str, Any]]:
    """Say how much there is of each kind, in bytes on the disk."""
    from kgsparql.storage.files import bytes_of, size_of

    found: list[tuple[str, str, int, int]] = []
    for folder, what in _FOLDERS.items():
        entries = [entry for entry in _entries_in(directory / folder) if entry.suffix != ".lock"]
        whole = sum(entry == _target_of(entry) for entry in entries)
        found += [(folder, what, whole, sum(map(size_of, entries)))] * bool(entries)
    for kind, opened in _databases_in(directory).items():
        size = bytes_of(opened.path)
        try:
            with opened as store:
                told = store.summary() if kind == "exchanges" else {kind: (store.summary(), size)}
        except StoreError as error:
            found.append((kind, printable(error.message, 400), 0, size))
        else:
            found += [(own, _EXCHANGES.get(own, "vectors of texts"), *sizes) for own, sizes in told.items() if sizes[0]]
    yield from (dict(zip(("kind", "what", "count", "bytes"), one, strict=True)) for one in found)


def _clear_kinds(directory: Path, kinds: Sequence[str], to: c.AloneOptions) -> None:
    """Remove kinds, or nothing if a name is none; what is in use is skipped, and then an error."""
    known = [*_FOLDERS, *_EXCHANGES, "vectors", "exchanges", "all"]
    for kind in kinds:
        if kind not in known:
            raise OptionError(f"no kind {printable(kind, 40)!r} in the cache", hint=f"one of: {', '.join(known)}")
    skipped: list[StoreError] = []
    cleared: list[dict[str, Any]] = []
    for kind in [*_FOLDERS, "vectors", "exchanges"] if "all" in kinds else dict.fromkeys(kinds):
        clear = _clear_folder if kind in _FOLDERS else _clear_database
        count, size = clear(directory, kind, skipped)
        cleared.append({"kind": kind, "count": count, "bytes": size})
    lines = [f"{own['kind']}: {own['count']:,} removed, {decimal(own['bytes'])} freed" for own in cleared]
    to.write({"cleared": cleared, "failures": [own.to_json() for own in skipped]}, lines)
    for error in skipped:
        raise error


def _clear_folder(directory: Path, folder: str, skipped: list[StoreError]) -> tuple[int, int]:
    """Remove what nobody is writing."""
    from kgsparql.storage.files import remove, size_of, writer_lock

    count, size = 0, 0
    entries = _entries_in(directory / folder)
    for target in dict.fromkeys(map(_target_of, entries)):
        try:
            with writer_lock(target):
                # Looked up with the lock held: a writer may have put it in place in the meantime.
                beside = {target, *(entry for entry in entries if _target_of(entry) == target)}
                for entry in (one for one in beside if one.suffix != ".lock" and os.path.lexists(one)):
                    held = size_of(entry)
                    remove(entry, target)
                    count, size = count + (entry == target), size + held
        except StoreError as error:
            skipped.append(error)
    return count, size


def _clear_database(directory: Path, kind: str, skipped: list[StoreError]) -> tuple[int, int]:
    """Empty a file, or of exchanges one kind; a file that cannot be used is removed if all of it is meant."""
    from kgsparql.storage.files import bytes_of, remove_database

    opened = _databases_in(directory).get("vectors" if kind == "vectors" else "exchanges")
    if opened is None:
        return 0, 0
    count, before = 0, bytes_of(opened.path)
    try:
        with opened as store:
            count = store.clear(*([kind] if kind in _EXCHANGES else []))
    except StoreError as error:
        if kind in _EXCHANGES or isinstance(error, StoreLockedError):
            skipped.append(error)
            return 0, 0
        remove_database(opened.path)
    return count, max(0, before - bytes_of(opened.path))


def _databases_in(directory: Path) -> dict[str, Any]:
    """Find the files that are there of vectors and of exchanges, not yet opened; no link is followed."""
    from kgsparql.models.embedders import VECTORS, VectorStore
    from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

    both: dict[str, Any] = {
        "vectors": VectorStore(directory / VECTORS), "exchanges": ResponseCache(directory / RESPONSE_FILE),
    }  # fmt: skip
    return {kind: own for kind, own in both.items() if own.path.exists() and not own.path.is_symlink()}


def _entries_in(place: Path) -> list[Path]:
    """List the stores or indexes in a folder, their locks, and what interrupted writers left; no link is followed."""
    try:
        if place.is_symlink() or not place.is_dir():
            return []
        return sorted(entry for entry in place.iterdir() if _OURS.fullmatch(entry.name))
    except OSError as error:
        hint = "may this user read it? KGSPARQL_CACHE_DIR names another directory"
        raise StoreError(f"{place}: {error.strerror}", hint=hint, path=str(place)) from error


def _target_of(entry: Path) -> Path:
    """Return the store or index that an entry belongs to."""
    return entry.with_name(entry.name.partition(".")[0])


@c.command
def show(*, to: c.AloneOptions) -> None:
    """Show every setting, its value, and where that is from."""
    own = user_file()
    shown = list(_shown_settings(load_settings()))
    to.say(f"your own file: {own}{'' if own.exists() else ' (not made yet)'}")
    rows = [(key, printable(_value_text(value), 400), origin) for key, value, origin in shown]
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"{key:<{key_width}}  {value:<{value_width}}  {at}".rstrip() for key, value, at in rows]
    to.write([{"key": key, "value": value, "origin": origin} for key, value, origin in shown], lines)


def _shown_settings(found: Settings) -> Iterator[tuple[str, Any, str]]:
    """Show all settings, each with its value and where that is from: a variable, a file, or ``default``."""
    usual = {own.name: own.default for group in (GraphOptions, ModelOptions, LimitOptions) for own in fields(group)}
    usual |= {"lang": ["en"], "retriever": "auto", "embedder": "auto"}
    for key in (*KEYS, *(key for key in found.values if key not in KEYS)):
        _, option, variable = KEYS.get(key, ("", "", ""))
        value, origin = found.values.get(key, usual.get(option)), str(found.file) if key in found.values else "default"
        if given := os.environ.get(variable, "").strip() if variable else "":
            value, origin = given.split("\n") if key == "graph" else given, variable
        yield key, _without_secrets(value), origin


def _without_secrets(value: Any) -> Any:
    """Return a setting without credentials, also where it cannot be said where a password ends."""
    if isinstance(value, dict):
        return {name: _without_secrets(own) for name, own in value.items()}
    if isinstance(value, list):
        return [_without_secrets(one) for one in value]
    if not isinstance(value, str):
        return value
    with suppress(InputError):
        Address.parse(value)
        return redacted(value)
    return redacted(shown_source(value))


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name}={own}" for name, own in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else str(value)


config = c.group(
    "Show the settings that hold and the files they are in. What is typed comes first, then variables of the "
    "environment, then the user's own file, or the one that KGSPARQL_CONFIG names.",
    show, no_args_is_help=True,
)  # fmt: skip
