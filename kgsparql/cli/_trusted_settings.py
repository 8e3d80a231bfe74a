"""What the file of a project may not say, and paths of a file as seen from its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgsparql.errors import OptionError
from kgsparql.http.address import host_of, is_address, is_loopback
from kgsparql.redaction import KEY_VARIABLE, redacted

_PLACES = ("index", "log")
"""Settings that name what is written."""


def with_paths(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The settings with paths as seen from the folder of their file."""
    made = dict(settings)
    for key, value in settings.items():
        if key.startswith("graphs."):
            made[key] = _graph_with_paths(value, folder)
        elif key == "graph":
            made[key] = [one if f"graphs.{one}" in settings else _source(one, folder) for one in value]
        elif key in {*_PLACES, "method.preset"}:
            made[key] = _path(value, folder)
    return made


def check_project_settings(settings: Mapping[str, Any], file: Path) -> None:
    """Refuse what a stranger's file must not say.

    :raises OptionError: for a key, a server that would get the user's key, or a place outside the file's folder.
    """
    for key, text in _texts(settings):
        if key == "model.api_key" or redacted(text) != text:
            hint = f"set {KEY_VARIABLE}, or keep it in your own file: kgsparql config path"
            raise OptionError(f"{file}: {key}: keys do not belong into a project", hint=hint)
        is_server = key == "model.base_url" or (key == "embedder" and is_address(text))
        if is_server and not (is_address(text) and is_loopback(host_of(text))):
            hint = "OPENAI_BASE_URL or your own file (kgsparql config path) may name it"
            raise OptionError(f"{file}: {key}: a project may not say which server gets your key", hint=hint)
    for key, place in _places(settings):
        if "://" in place or not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(file.parent)):
            hint = "name a place beside the file, or use your own file: kgsparql config path"
            raise OptionError(f"{file}: {key}: a project may not have files written outside its folder", hint=hint)


def check_key_file(settings: Mapping[str, Any], file: Path) -> None:
    """Refuse a key in a file that others can read.

    :raises OptionError: for such a file.
    """
    if "model.api_key" in settings and os.name == "posix" and file.stat().st_mode & 0o077:
        raise OptionError(f"{file}: model.api_key: others can read this file", hint=f"chmod 600 {file}")


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of the settings, with its key."""
    if isinstance(value, Mapping):
        for name, own in value.items():
            yield from _texts(own, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, key)
    elif isinstance(value, str):
        yield key, value


def _places(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, text in _texts(settings):
        is_of_graph = key.startswith("graphs.") and key.endswith(".index") and key.count(".") == 2
        if key in _PLACES or is_of_graph:  # and not graphs.films.prefixes.index
            yield key, text


def _graph_with_paths(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = {**table, "sources": [_source(source, folder) for source in table["sources"]]}
    return {**made, "index": _path(made["index"], folder)} if "index" in made else made


def _source(source: str, folder: Path) -> str:
    """A source as seen from the folder; the name of an endpoint stays, unless a file there is called so."""
    from kgsparql.graphs.profiles.profile import could_be_alias

    return source if could_be_alias(source) and not (folder / source).exists() else _path(source, folder)


def _path(text: str, folder: Path) -> str:
    return text if "://" in text else os.path.normpath(folder / Path(text).expanduser())
