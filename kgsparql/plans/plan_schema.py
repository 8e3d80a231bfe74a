"""The JSON Schema of a plan in a file, for programs that write one."""

from __future__ import annotations

from typing import Any, get_args

from kgsparql.plans.algebra import Arithmetic, Comparison, Kind, Summary

_SET, _PATH, _MEASURE, _NUMBER, _CONDITION = (
    {"$ref": f"#/$defs/{name}"} for name in ("set", "path", "measure", "number", "condition")
)
_TEXT = {"type": "string"}
_COMPARISON = {"enum": list(get_args(Comparison))}
_SUMMARY, _ARITHMETIC = ({"enum": list(get_args(words))} for words in (Summary, Arithmetic))


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a plan in a file: names for terms, and arrays over the names.

    >>> sorted(plan_schema()["$defs"])
    ['condition', 'measure', 'name', 'number', 'path', 'set', 'table']
    """
    plans = [{"$ref": f"#/$defs/{kind}"} for kind in ("set", "number", "condition", "table")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `kgsparql plan --plan FILE` computes; `kgsparql plan QUESTION -f json` writes such an object",
        "type": "object",
        "required": ["names", "plan"],
        "properties": {
            "names": {"type": "object", "additionalProperties": {"$ref": "#/$defs/name"}},
            "plan": {"anyOf": plans},
        },
        "$defs": {
            "name": {
                "description": "A term in N-Triples syntax; of a predicate, the kind of what it leads to, and a unit.",
                "type": "object",
                "required": ["term"],
                "properties": {"term": _TEXT, "kind": {"enum": list(get_args(Kind))}, "unit": _TEXT},
            },
            "path": {"description": "R5> to what a predicate leads to, R5< back.", **_any_of(_TEXT, _several(_TEXT))},
            "set": _sets(),
            "measure": _by_word(
                [{"type": "number"}, _PATH],
                _form("n", _PATH, _SET, least=2),
                _form({"enum": ["year", *get_args(Summary)]}, _PATH),
                _form(_ARITHMETIC, _MEASURE, _MEASURE),
            ),
            "number": _by_word(
                [{"type": "number"}],
                _form("count", _SET),
                _form(_SUMMARY, _SET, _MEASURE),
                _form(_ARITHMETIC, _NUMBER, _NUMBER),
            ),
            "condition": _by_word(
                [],
                _form("exists", _SET),
                _form("compare", _NUMBER, _COMPARISON, _NUMBER),
                _form("same", _SET, _SET),
                _form("not", _CONDITION),
                _form({"enum": ["all", "any"]}, _CONDITION, more=_CONDITION),
            ),
            "table": _tables(),
        },
    }


def _any_of(*forms: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(forms)}


def _by_word(plain: list[dict[str, Any]], *forms: dict[str, Any]) -> dict[str, Any]:
    """One of some plain values, or the array that its first word says: no other is tried, or nested plans take long."""
    first = [form["prefixItems"][0] for form in forms]
    said = [{"if": {"prefixItems": [word]}, "then": form} for word, form in zip(first, forms, strict=True)]
    words = [one for word in first for one in word.get("enum", [word.get("const")])]
    return _any_of(*plain, {"type": "array", "minItems": 1, "prefixItems": [{"enum": words}], "allOf": said})


def _several(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": 1}


def _form(*parts: dict[str, Any] | str, least: int | None = None, more: Any = False) -> dict[str, Any]:
    """An array of these parts; a string stands for itself.

    :param least: of the parts, how many must be there; all if ``None``.
    :param more: what may follow them.
    """
    own = [{"const": part} if isinstance(part, str) else part for part in parts]
    return {"type": "array", "prefixItems": own, "items": more, "minItems": len(own) if least is None else least}


def _sets() -> dict[str, Any]:
    compared = _any_of({"type": "number"}, _TEXT, _MEASURE)
    return {"description": "A name that begins with C is all items of a class, another the item itself."} | _by_word(
        [_TEXT],
        _form("items", _TEXT, more=_TEXT),
        _form("ends", _SET, _PATH),
        _form("where", _SET, _MEASURE, _COMPARISON, compared),
        _form("named", _SET, _TEXT),
        _form({"enum": ["has", "lacks"]}, _SET, _PATH, _SET, least=3),
        _form({"enum": ["and", "or"]}, _SET, more=_SET),
        _form("minus", _SET, _SET),
        _form("top", _SET, _MEASURE, {"type": "integer"}, {"enum": ["desc", "asc"]}),
    )


def _tables() -> dict[str, Any]:
    order = {"order": _TEXT, "largest_first": {"type": "boolean"}, "limit": {"type": "integer"}}
    having = {"having": _form(_TEXT, _COMPARISON, {"type": "number"})}
    rows = {"type": "object", "additionalProperties": False, "properties": order}
    groups = {**rows, "properties": order | having}
    column = _form(_TEXT, _MEASURE, "optional", least=2)
    count_or_summary = _any_of(_form(_TEXT), _form(_TEXT, _SUMMARY, _MEASURE))
    return _by_word(
        [],
        _form("table", _SET, {"type": "array", "items": column}, rows, least=3),
        _form("group", _SET, _PATH, {"type": "array", "items": count_or_summary}, groups, least=4),
    )
