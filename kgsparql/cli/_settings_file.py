"""A file of settings, ``kgsparql.toml``: its tables and keys, and what the file of a project may not say.

Such a file names no server that gets the user's key, no key, and no place outside its own folder that is written to.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kgsparql.errors import OptionError
from kgsparql.http.address import host_of, is_address, is_loopback
from kgsparql.rdf.terms import iri, printable
from kgsparql.redaction import KEY_VARIABLE, redacted

_MAX_BYTES = 64_000
_MAX_DOTS_OF_A_LINE = 200
"""A key of many names, joined by dots, takes ``tomllib`` quadratic time and memory: 3 GB for 50,000 names."""
_WRITTEN_PLACES = ("index", "log")
"""Settings that name what is written."""


def _as_list(value: Any) -> Any:
    if not isinstance(value, str | list):
        raise ValueError("write a text, or a list of texts")  # noqa: TRY004 - pydantic names the setting
    return [value] if isinstance(value, str) else value


def _as_table(value: Any) -> Any:
    """Read ``films = "films.ttl"``, which is short for a table that has only sources."""
    return {"sources": value} if isinstance(value, str | list) else value


_Alias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
_Prefix = Annotated[str, Field(pattern=r"^([A-Za-z]([A-Za-z0-9._-]*[A-Za-z0-9_-])?)?$")]
_Namespace = Annotated[str, AfterValidator(lambda value: iri(value).value)]
_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[list[_Text], BeforeValidator(_as_list), Field(min_length=1)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]
_Amount = Annotated[float, Field(ge=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GraphTable(_Table):
    """A graph with a name: what it is read from, and what else is usual with it."""

    sources: _Texts
    languages: _Texts | None = None
    prefixes: dict[_Prefix, _Namespace] | None = None


class ModelTable(_Table):
    """The language model."""

    name: _Text | None = None
    base_url: _Text | None = None
    api_key: _Text | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    reply_tokens: Annotated[int, Field(ge=16)] | None = None
    timeout: Annotated[float, Field(ge=0.1, allow_inf_nan=False)] | None = None
    prices: Annotated[list[_Price], Field(min_length=2, max_length=2)] | None = None


class MethodTable(_Table):
    """The method and its options."""

    name: _Text | None = None
    preset: _Text | None = None
    options: dict[str, str | int | float | bool] | None = None


class LimitsTable(_Table):
    """What one question may cost."""

    max_queries: _Count | None = None
    max_seconds: _Amount | None = None
    max_calls: _Count | None = None
    max_tokens: _Count | None = None
    max_cost: _Amount | None = None


class SettingsFile(_Table):
    """All that a file may say."""

    graph: _Texts | None = None
    graphs: dict[_Alias, Annotated[GraphTable, BeforeValidator(_as_table)]] | None = None
    languages: _Texts | None = None
    embedder: _Text | None = None
    index: _Text | None = None
    log: _Text | None = None
    model: ModelTable | None = None
    method: MethodTable | None = None
    limits: LimitsTable | None = None


_TABLES: Mapping[str, type[BaseModel]] = {"model": ModelTable, "method": MethodTable, "limits": LimitsTable}


def read_settings(path: Path, *, is_trusted: bool) -> dict[str, Any]:
    """Read the settings of a file by their keys, such as ``model.name``; a graph and its table are one setting.

    :raises OptionError: for a file that cannot be read, or says what no file can say, with the line or the key; for
        what the file of a stranger must not say; and for a key in a trusted file that others can read.
    """
    data = _data_of(path)
    try:
        checked = SettingsFile.model_validate(tomllib.loads(data.decode("utf-8-sig")))
    except ValidationError as error:
        raise _named_error(path, error) from error
    except RecursionError as error:
        hint = "no setting is deeper than a list in a table"
        raise OptionError(f"{path}: brackets are nested too deeply", hint=hint) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{path}: not TOML: {printable(str(error), 200)}", hint='write name = "value"') from error
    found: dict[str, Any] = {}
    for key, value in checked.model_dump(exclude_none=True).items():
        is_table = key in _TABLES or key == "graphs"
        found |= {f"{key}.{name}": own for name, own in value.items()} if is_table else {key: value}
    found = _with_paths(found, path.parent)
    if not is_trusted:
        _check_strangers_settings(found, path)
    elif "model.api_key" in found and os.name == "posix" and path.stat().st_mode & 0o077:
        raise OptionError(f"{path}: model.api_key: others can read this file", hint=f"chmod 600 {path}")
    return found


def _data_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        hint = "may this user read it? KGSPARQL_CONFIG=none does without"
        raise OptionError(f"{path}: {error.strerror}", hint=hint) from error
    if len(data) > _MAX_BYTES:
        raise OptionError(f"{path}: larger than {_MAX_BYTES:,} bytes", hint="is it the right file?")
    if any(line.count(b".") > _MAX_DOTS_OF_A_LINE for line in data.splitlines()):
        hint = "write a long list over several lines"
        raise OptionError(f"{path}: a line with more than {_MAX_DOTS_OF_A_LINE} dots", hint=hint)
    return data


def _named_error(path: Path, error: ValidationError) -> OptionError:
    """Make an error of the first that is wrong, with its key and, for an unknown key, the one that may be meant."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"] if part != "[key]"]
    key = printable(".".join(where), 100)
    if first["type"] != "extra_forbidden":
        is_name = where[0] == "graphs" and first["type"] == "string_pattern_mismatch" and where[-1] not in _TABLES
        what = "a graph is named by letters, digits, - and _" if is_name else first["msg"].removeprefix("Value error, ")
        return OptionError(f"{path}: {key}: {printable(what, 200)}", hint='such as: [graphs] films = "films.ttl"')
    table = SettingsFile if len(where) == 1 else _TABLES.get(where[0], GraphTable)
    keys = list(table.model_fields)
    meant = get_close_matches(where[-1], keys, n=1)
    hint = f"did you mean {'.'.join([*where[:-1], meant[0]])}?" if meant else f"one of: {', '.join(keys)}"
    return OptionError(f"{path}: no setting {key}", hint=printable(hint, 300))


def _with_paths(found: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the settings with paths as seen from the folder of their file."""
    made = dict(found)
    for key, value in found.items():
        if key.startswith("graphs."):
            made[key] = {**value, "sources": [_source_in(folder, source) for source in value["sources"]]}
        elif key == "graph":
            made[key] = [one if f"graphs.{one}" in found else _source_in(folder, one) for one in value]
        elif key in {*_WRITTEN_PLACES, "method.preset"}:
            made[key] = _path_in(folder, value)
    return made


def _source_in(folder: Path, source: str) -> str:
    """Return a source as seen from the folder; the name of an endpoint stays, unless a file there is called so."""
    from kgsparql.graphs.profiles import could_be_alias

    return source if could_be_alias(source) and not (folder / source).exists() else _path_in(folder, source)


def _path_in(folder: Path, text: str) -> str:
    return text if "://" in text else os.path.normpath(folder / Path(text).expanduser())


def _check_strangers_settings(found: Mapping[str, Any], file: Path) -> None:
    """Refuse what a stranger's file must not say.

    :raises OptionError: for a key, a server that would get the user's key, or a place outside the file's folder.
    """
    for key, text in _texts_with_keys(found):
        if key == "model.api_key" or redacted(text) != text:
            hint = f"set {KEY_VARIABLE}, or keep it in your own file: kgsparql config path"
            raise OptionError(f"{file}: {key}: keys do not belong into a project", hint=hint)
        is_server = key == "model.base_url" or (key == "embedder" and is_address(text))
        if is_server and not (is_address(text) and is_loopback(host_of(text))):
            hint = "OPENAI_BASE_URL or your own file (kgsparql config path) may name it"
            raise OptionError(f"{file}: {key}: a project may not say which server gets your key", hint=hint)
        folder = os.path.realpath(file.parent)
        if key in _WRITTEN_PLACES and ("://" in text or not Path(os.path.realpath(text)).is_relative_to(folder)):
            hint = "name a place beside the file, or use your own file: kgsparql config path"
            raise OptionError(f"{file}: {key}: a project may not have files written outside its folder", hint=hint)


def _texts_with_keys(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, own in value.items():
            yield from _texts_with_keys(own, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for one in value:
            yield from _texts_with_keys(one, key)
    elif isinstance(value, str):
        yield key, value
