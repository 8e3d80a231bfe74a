"""How large a regular expression is when its counted repetitions are written out, without compiling it."""

from __future__ import annotations

import re

__all__ = ["UnbalancedError", "size"]

_PART = re.compile(r"\\.|\{(\d+)(,?)(\d*)\}|.", re.DOTALL)


class UnbalancedError(ValueError):
    """Parentheses without partners; the message says which."""


def size(pattern: str) -> int:
    """The number of single characters to match, with every repetition written out as often as it may happen.

    :raises UnbalancedError: for parentheses that do not pair.

    >>> size("ab+c?"), size("(a{1000}){1000}"), size(r"[(]{3}")
    (3, 1000000, 3)
    """
    groups: list[tuple[int, int]] = [(0, 0)]  # size so far, size of the last part, for each open group
    in_class = 0
    for part in _PART.finditer(pattern):
        text = part[0]
        total, last = groups[-1]
        if in_class:
            in_class = _class_depth(in_class, text, part.start())
        elif text == "[":
            in_class = part.end() + 1  # a bracket that comes first in a class is an ordinary character
            groups[-1] = (total + 1, 1)
        elif text == "(":
            groups.append((0, 0))
        elif text == ")":
            if len(groups) == 1:
                raise UnbalancedError("a ) without its (")
            groups.pop()
            outer, _ = groups[-1]
            groups[-1] = (outer + total, total)
        elif part[1] is not None:
            times = max(int(part[1][:9]), int((part[3] or "0")[:9]), 1)
            groups[-1] = (total - last + last * times, last * times)
        elif text not in {"*", "+", "?", "|", "^", "$"}:
            groups[-1] = (total + 1, 1)
    if len(groups) > 1:
        raise UnbalancedError("a ( without its )")
    return groups[0][0]


def _class_depth(first: int, text: str, position: int) -> int:
    """0 once a character class is closed, else where its first ordinary character may be."""
    if text == "^" and position + 1 == first:
        return first + 1
    return 0 if text == "]" and position + 1 > first else first
