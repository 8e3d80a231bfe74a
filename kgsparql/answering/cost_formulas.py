"""Formulas in the names of options, such as ``2 + (verbalise == 'model')``: read, never run as Python."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from kgsparql.errors import InputError

_LONGEST = 1_000

_FUNCTIONS: dict[str, Callable[..., Any]] = {"max": max, "min": min}
_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_SIGNS: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def evaluated(formula: str, values: Mapping[str, Any]) -> int:
    """The whole number that a formula comes to.

    There are numbers, texts, ``True``, ``False``, ``None``, names, ``+ - * //``, comparisons, ``and or not``,
    ``a if b else c``, ``min`` and ``max``, and nothing else; what is true counts as 1.

    :raises InputError: for anything else, a name without a value, or a result that is no whole number.

    >>> evaluated("2 + (verbalise == 'model')", {"verbalise": "model"})
    3
    >>> evaluated("3 * depth + max(0, width - 2)", {"depth": 3, "width": 3})
    10
    >>> evaluated("__import__('os')", {})
    Traceback (most recent call last):
    ...
    kgsparql.errors.InputError: not a formula: "__import__('os')": a call of something else than max or min
    """
    try:
        return int(_number(_parsed(formula), values))
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"not a formula: {formula[:80]!r}: {error}") from error


def names_in(formula: str) -> tuple[str, ...]:
    """The names a formula needs values of, each once, in their order.

    :raises InputError: for a text that is no formula.

    >>> names_in("min(width, 3) * depth + width")
    ('width', 'depth')
    """
    try:
        tree = _parsed(formula)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a formula: {formula[:80]!r}: {error}") from error
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in _FUNCTIONS]
    return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))))


def _parsed(formula: str) -> ast.expr:
    if len(formula) > _LONGEST:
        raise ValueError(f"more than {_LONGEST:,} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # of `2if 1 else 3`: it is read as Python reads it
            return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, MemoryError) as error:
        raise ValueError(f"it cannot be read: {error}") from error


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | str() | None as value):
            return value
        case ast.Name(id=name):
            if name not in values:
                raise ValueError(f"no value for {name}")
            return values[name]
        case ast.BinOp() if function := _ARITHMETIC.get(type(node.op)):
            return function(_number(node.left, values), _number(node.right, values))
        case ast.UnaryOp() if sign := _SIGNS.get(type(node.op)):
            return sign(_value(node.operand, values))
        case ast.BoolOp():
            parts = (_value(part, values) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        case ast.Compare():
            return _compared(node, values)
        case ast.IfExp():
            return _value(node.body if _value(node.test, values) else node.orelse, values)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_number(argument, values) for argument in node.args))
        case ast.Call():
            raise ValueError(f"a call of something else than {' or '.join(_FUNCTIONS)}")
    raise ValueError(f"{type(node).__name__} is not for formulas")


def _number(node: ast.expr, values: Mapping[str, Any]) -> int:
    """A whole number: ``"a" * 9`` is none, and neither is 1.5."""
    found = _value(node, values)
    if not isinstance(found, int):
        raise ValueError(f"{found!r} is no whole number")  # noqa: TRY004 - read, not typed
    return found


def _compared(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    left = _value(node.left, values)
    for sign, other in zip(node.ops, node.comparators, strict=True):
        function = _COMPARISONS.get(type(sign))
        if function is None:
            raise ValueError(f"{type(sign).__name__} is not for formulas")
        right = _value(other, values)
        if not function(left, right):
            return False
        left = right
    return True
