"""Plans as a line of text: ``(count (where C1 R5 > 10))``, which a model writes with fewer mistakes than JSON.

Predicates are walked as in SPARQL: ``R5`` forward, ``^R5`` back. A line becomes the same arrays that a plan has in a
file; whether they make a plan is decided there.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from kgsparql.errors import PlanError
from kgsparql.plans.arrays import MAX_DEPTH
from kgsparql.rdf.terms import printable

MOST_CHARACTERS = 4_000
_TOKEN = re.compile(r"""[()]|"[^"]*"|'[^']*'|[^\s(),"']+""")
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?\Z")
_STEP = re.compile(r"(\^?)(R\d+)([<>]?)\Z")
_SIGNS = str.maketrans({"‹": "<", "›": ">"})
"""What a prompt shows in place of signs that may close its fences."""
_COMPARISONS = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "="}
_OPTION = re.compile(r"(order|limit|having)=?(.*)\Z")
_ORDERS = {"desc": True, "asc": False}


def arrays_of(line: str) -> Any:
    """The arrays of a plan that is written in parentheses; words in quotes, numbers and names are its ends.

    :raises PlanError: for what is no such line; it says where.

    >>> arrays_of("(count (where C1 (R5 ^R6) > 10))")
    ['count', ['where', 'C1', ['R5>', 'R6<'], '>', 10]]
    >>> arrays_of("(group C1 R2 ((products) (mean avg R4)) order=mean desc limit=3)")
    ['group', 'C1', 'R2>', [['products'], ['mean', 'avg', 'R4>']], {'order': 'mean', 'largest_first': True, 'limit': 3}]
    >>> arrays_of("(count C1")
    Traceback (most recent call last):
    kgsparql.errors.PlanError: 1 bracket is not closed
    """
    if len(line) > MOST_CHARACTERS:
        raise PlanError(f"a plan of {len(line):,} characters; at most {MOST_CHARACTERS:,}")
    open_lists: list[list[Any]] = [[]]
    for part in _TOKEN.findall(line.translate(_SIGNS)):
        if part == "(":
            open_lists.append([])
            if len(open_lists) > 4 * MAX_DEPTH:
                raise PlanError(f"a plan is nested more than {MAX_DEPTH} deep")
        elif part == ")":
            if len(open_lists) == 1:
                raise PlanError("a bracket is closed that was not opened")
            inner = _with_options(open_lists.pop())
            open_lists[-1].append(inner)
        else:
            open_lists[-1].append(_end(part))
    if len(open_lists) > 1:
        raise PlanError(f"{len(open_lists) - 1} bracket{'s are' if len(open_lists) > 2 else ' is'} not closed")
    if len(open_lists[0]) != 1:
        raise PlanError(f"one plan is expected, and these are {len(open_lists[0])}: {printable(line, 80)}")
    return open_lists[0][0]


def _end(part: str) -> Any:
    if part[0] in "\"'":
        return part[1:-1]
    if _NUMBER.match(part):
        return Decimal(part) if "." in part else int(part)
    if step := _STEP.match(part):
        return step[2] + ("<" if step[1] or step[3] == "<" else ">")
    return _COMPARISONS.get(part, part)


def _with_options(written: list[Any]) -> list[Any]:
    """A table, with what is said about its rows as the object that the arrays have."""
    if not (written and written[0] in ("table", "group")):
        return written
    kept: list[Any] = []
    options: dict[str, Any] = {}
    rest = iter(written)
    for part in rest:
        option = _OPTION.match(part) if isinstance(part, str) and len(kept) > 2 else None
        if option is not None:
            name, value = option.groups()
            options[name] = _end(value) if value else next(rest, None)
            if name == "order":
                options["largest_first"] = True
        elif isinstance(part, str) and part in _ORDERS and options:
            options["largest_first"] = _ORDERS[part]
        else:
            kept.append(part)
    return [*kept, options] if options else kept
