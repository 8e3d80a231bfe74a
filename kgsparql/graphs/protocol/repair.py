"""Repairs complete JSON results that break the W3C format a little; solutions that cannot be repaired are left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyoxigraph as ox

MOST_BYTES = 2**24
"""Of a document that is repaired, which takes some ten times as much memory."""
_BLOCK = 100
"""Rows that are tried together; each by itself where that fails."""


def repaired(body: bytes, check: Callable[[], None] = lambda: None) -> tuple[bytes, int] | None:
    """The results of a SELECT so that pyoxigraph can read them, and how many solutions were left out.

    Tolerated are a missing head, variables that the head does not name, unbound variables that are null, any names of
    blank nodes, empty language tags, and anything beside the results. A solution with an invalid term is left out.

    :param check: called again and again; an error that it raises ends the work.
    :return: ``None`` for an incomplete document, for other results, and where no solution would be left.

    >>> good, bad = ({"s": {"type": "uri", "value": iri}} for iri in ("http://e.org/a", "http://e.org/a b"))
    >>> body, left_out = repaired(json.dumps({"results": {"bindings": [good, bad]}}).encode())
    >>> left_out, body
    (1, b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e.org/a"}}]}}')
    """
    if len(body) > MOST_BYTES:
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    results = document.get("results") if isinstance(document, dict) else None
    rows = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(rows, list):
        return None
    nodes: dict[str, str] = {}
    try:
        tidy = [_row(row, nodes) for row in rows]
    except RecursionError:
        return None
    names = _names(document.get("head"), [row for row in tidy if row is not None])
    if not _is_readable(names, []):
        return None
    kept = _readable(names, [row for row in tidy if row is not None], check)
    return None if rows and not kept else (_document(names, kept), len(rows) - len(kept))


def _names(head: Any, rows: Sequence[dict[str, Any]]) -> list[str]:
    named = head.get("vars") if isinstance(head, dict) else None
    first = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return list(dict.fromkeys([*first, *(name for row in rows for name in row)]))


def _row(row: Any, nodes: dict[str, str]) -> dict[str, Any] | None:
    if not isinstance(row, dict):
        return None
    return {name: _term(term, nodes) for name, term in row.items() if term is not None}


def _term(term: Any, nodes: dict[str, str]) -> Any:
    """A term with the usual deviations of servers repaired; whether it is valid is found out later."""
    if not isinstance(term, dict):
        return term
    value = term.get("value")
    if term.get("type") == "bnode" and isinstance(value, str):
        return {"type": "bnode", "value": nodes.setdefault(value, f"b{len(nodes)}")}
    if isinstance(value, dict):
        return {**term, "value": {name: _term(part, nodes) for name, part in value.items()}}
    if term.get("xml:lang") == "":
        return {name: part for name, part in term.items() if name != "xml:lang"}
    return term


def _readable(names: Sequence[str], rows: Sequence[dict[str, Any]], check: Callable[[], None]) -> list[dict[str, Any]]:
    """The rows that can be read; each is tried twice at most."""
    kept: list[dict[str, Any]] = []
    for at in range(0, len(rows), _BLOCK):
        if at:
            check()
        block = rows[at : at + _BLOCK]
        kept += block if _is_readable(names, block) else [row for row in block if _is_readable(names, [row])]
    return kept


def _is_readable(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> bool:
    try:
        found = ox.parse_query_results(_document(names, rows), format=ox.QueryResultsFormat.JSON)
        for _ in found if isinstance(found, ox.QuerySolutions) else ():
            pass
    except (SyntaxError, ValueError, OSError):
        return False
    return True


def _document(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> bytes:
    document = {"head": {"vars": list(names)}, "results": {"bindings": list(rows)}}
    return json.dumps(document, separators=(",", ":")).encode()
