"""JSON-LD contexts that are named by IRI, from a file: nothing is ever fetched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError

__all__ = ["read_context", "with_context"]


def read_context(path: str) -> Any:
    """The context in a JSON file: the value of its ``@context``, or the whole of it.

    :raises InputError: if it is not there, or not JSON.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read the context {path}: {error}", hint="--context takes a JSON-LD context"
        ) from error
    return data.get("@context", data) if isinstance(data, dict) else data


def with_context(document: bytes, context: Any) -> bytes:
    """The document with each context that is only named by its IRI replaced by this one.

    What is not JSON is returned as it is: the parser says what is wrong with it, and where.

    >>> with_context(b'{"@context": "http://e.org/c", "name": "x"}', {"name": "http://e.org/name"})
    b'{"@context": {"name": "http://e.org/name"}, "name": "x"}'
    """
    try:
        return json.dumps(_replaced(json.loads(document), context)).encode()
    except (ValueError, RecursionError):
        return document


def _replaced(value: Any, context: Any) -> Any:
    if isinstance(value, list):
        return [_replaced(item, context) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _known(item, context) if key == "@context" else _replaced(item, context) for key, item in value.items()
    }


def _known(named: Any, context: Any) -> Any:
    if isinstance(named, list):
        return [_known(item, context) for item in named]
    return context if isinstance(named, str) else named
