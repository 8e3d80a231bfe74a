"""Has the settings of files stand in for options that were not given: click's own defaults of a command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from kgsparql.cli._configuration import OPTIONS, configuration
from kgsparql.redaction import KEY_VARIABLE

_MEASURED = {"run", "compare", "make", "tune", "validate"}
"""Commands of ``eval``: what they measure is typed, and neither a method nor its options come from a file."""

_STOOD_IN: ContextVar[tuple[str, ...]] = ContextVar("kgsparql_stood_in", default=())


def settings_as_words() -> list[str]:
    """The options of this command that settings stand in for, as they would be typed."""
    return list(_STOOD_IN.get())


def with_settings(ctx: Any, given: Mapping[str, Any], args: list[str]) -> list[str]:
    """Set the defaults of a command from the files; its words, with options of the method before those typed.

    :param given: the options that were typed, by their parameters.
    """
    found = configuration()
    if not found.settings:
        return args
    if key := found.get("model.api_key"):
        os.environ.setdefault(KEY_VARIABLE, key)
    values = {key: found.get(key) for key in OPTIONS if found.get(key) is not None}
    values |= {key: own.value for key, own in found.of_graphs(given.get("kg")).items() if key in OPTIONS}
    values = {key: value for key, value in values.items() if not os.environ.get(OPTIONS[key][1] or "=")}
    if given.get("no_model"):
        values = {key: value for key, value in values.items() if OPTIONS[key][0] not in {"model", "base_url"}}
    options = _method_options(ctx.info_name, given, values)
    ctx.default_map = {OPTIONS[key][0]: _as_typed(key, value) for key, value in values.items()}
    typed_options = [word for option in options for word in ("-O", option)]
    sources = found.get("graph") if not (given.get("kg") or os.environ.get("KGSPARQL_KG")) else None
    _STOOD_IN.set((*_words(ctx, {"kg": sources or [], **ctx.default_map}, given), *typed_options))
    return [*typed_options, *args]


def _words(ctx: Any, values: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """The values of options that were not typed, as words; without the log, in which nothing is to be kept again."""
    for parameter in ctx.command.get_params(ctx):
        value = values.get(parameter.name)
        if value is None or given.get(parameter.name) is not None or parameter.name == "log":
            continue
        for one in value if isinstance(value, list) else [value]:
            yield from (parameter.opts[0], str(one))


def _method_options(command: str, given: Mapping[str, Any], values: dict[str, Any]) -> list[str]:
    """The options of the method, if it is the file's; the method goes from the values if another was typed."""
    options = values.pop("method.options", {})
    typed = given.get("retriever")
    is_other = given.get("preset") is not None or (typed is not None and typed != values.get("method.name"))
    if command in _MEASURED or is_other:
        values.pop("method.name", None)
        values.pop("method.preset", None)
        return []
    return [f"{name}={_word(value)}" for name, value in options.items()] if command in {"ask", "serve", "mcp"} else []


def _as_typed(key: str, value: Any) -> Any:
    return ",".join(map(str, value)) if key in {"languages", "model.prices"} else value


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
