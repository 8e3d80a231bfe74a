"""A file of settings, ``kgsparql.toml``: its tables and keys, and the errors that say which of them is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import iri, printable

_LONGEST = 64_000
"""Bytes of a file."""
_MOST_DOTS = 200
"""Of a line: the time and memory that ``tomllib`` takes for a key of many names, joined by dots, are quadratic."""

_Alias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
_Text = Annotated[str, Field(min_length=1)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _listed(value: Any) -> Any:
    if not isinstance(value, str | list):
        raise ValueError("write a text, or a list of texts")  # noqa: TRY004 - pydantic names the setting
    return [value] if isinstance(value, str) else value


_Prefix = Annotated[str, Field(pattern=r"^([A-Za-z]([A-Za-z0-9._-]*[A-Za-z0-9_-])?)?$")]
_Namespace = Annotated[str, AfterValidator(lambda value: iri(value).value)]
_Texts = Annotated[list[_Text], BeforeValidator(_listed), Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GraphTable(_Table):
    """A graph with a name: what it is read from, and what else is usual with it."""

    sources: _Texts
    languages: _Texts | None = None
    index: _Text | None = None
    prefixes: dict[_Prefix, _Namespace] | None = None


def _graph(value: Any) -> Any:
    """``films = "films.ttl"`` is short for a table that has only sources."""
    return {"sources": value} if isinstance(value, str | list) else value


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

    max_queries: Annotated[int, Field(ge=0)] | None = None
    max_seconds: Annotated[float, Field(ge=0)] | None = None
    max_calls: Annotated[int, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    max_cost: Annotated[float, Field(ge=0)] | None = None


class ConfigurationFile(_Table):
    """All that a file may say."""

    graph: _Texts | None = None
    graphs: dict[_Alias, Annotated[GraphTable, BeforeValidator(_graph)]] | None = None
    languages: _Texts | None = None
    embedder: _Text | None = None
    index: _Text | None = None
    log: _Text | None = None
    model: ModelTable | None = None
    method: MethodTable | None = None
    limits: LimitsTable | None = None


_TABLES: Mapping[str, type[BaseModel]] = {"model": ModelTable, "method": MethodTable, "limits": LimitsTable}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a file by their keys, such as ``model.name``; a graph and its table are one setting.

    :raises OptionError: for a file that cannot be read, or says what no file can say, with the line or the key.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise OptionError(f"{path}: larger than {_LONGEST:,} bytes", hint="is it the right file?")
        if any(line.count(b".") > _MOST_DOTS for line in data.splitlines()):
            hint = "write a long list over several lines"
            raise OptionError(f"{path}: a line with more than {_MOST_DOTS} dots", hint=hint)
        found = tomllib.loads(data.decode("utf-8-sig"))
        checked = ConfigurationFile.model_validate(found)
    except OSError as error:
        hint = "may this user read it? KGSPARQL_CONFIG=none does without"
        raise OptionError(f"{path}: {error.strerror}", hint=hint) from error
    except ValidationError as error:
        raise _named(path, error) from error
    except RecursionError as error:
        hint = "no setting is deeper than a list in a table"
        raise OptionError(f"{path}: brackets are nested too deeply", hint=hint) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{path}: not TOML: {printable(str(error), 200)}", hint='write name = "value"') from error
    return dict(_flat(checked.model_dump(exclude_none=True)))


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if key in _TABLES or key == "graphs":
            yield from ((f"{key}.{name}", own) for name, own in value.items())
        else:
            yield key, value


def _named(path: Path, error: ValidationError) -> OptionError:
    """The first error of a file, with its key and, for a key that there is not, the key that may be meant."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"] if part != "[key]"]
    key = printable(".".join(where), 100)
    if first["type"] != "extra_forbidden":
        is_name = where[0] == "graphs" and first["type"] == "string_pattern_mismatch" and where[-1] not in _TABLES
        what = "a graph is named by letters, digits, - and _" if is_name else first["msg"].removeprefix("Value error, ")
        return OptionError(f"{path}: {key}: {printable(what, 200)}", hint='such as: [graphs] films = "films.ttl"')
    table = ConfigurationFile if len(where) == 1 else _TABLES.get(where[0], GraphTable)
    keys = list(table.model_fields)
    meant = get_close_matches(where[-1], keys, n=1)
    hint = f"did you mean {'.'.join([*where[:-1], meant[0]])}?" if meant else f"one of: {', '.join(keys)}"
    return OptionError(f"{path}: no setting {key}", hint=printable(hint, 300))
