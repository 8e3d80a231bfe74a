"""Has the settings of files stand in for options that were not given: click's own defaults of a command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kgsparql.cli._configuration import OPTIONS, configuration
from kgsparql.redaction import KEY_VARIABLE

_MEASURED = {"run", "compare", "make", "tune", "validate"}
"""Commands of ``eval``: what they measure is typed, and neither a method nor its options come from a file."""


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
    values |= found.of_graphs(given.get("kg"))
    values = {key: value for key, value in values.items() if not os.environ.get(OPTIONS[key][1] or "=")}
    if given.get("no_model"):
        values = {key: value for key, value in values.items() if OPTIONS[key][0] not in {"model", "base_url"}}
    options = _method_options(ctx.info_name, given, values)
    ctx.default_map = {OPTIONS[key][0]: _as_typed(key, value) for key, value in values.items()}
    return [*(word for option in options for word in ("-O", option)), *args]


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
