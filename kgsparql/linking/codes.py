"""Codes in a question: a number with leading zeros, or letters, digits and signs together, which are one name."""

from __future__ import annotations

import re

_PART = r"(?:[^\s,;?!\"“”„«»()]|(?<=\d)[,\u00a0\u202f](?=\d))*"
_RUN = re.compile(rf"{_PART}\d{_PART}")
_NO_CODE = re.compile(
    r"[+-]?[$€£]?\d+([.,\u00a0\u202f]\d{3})*([.,]\d+)?%?|\d+[a-zäöü%°]+(-\w+)*|\d+/\d+|[1-9]\d*[-–]\w+|\d{1,2}:\d\d(:\d\d)?|https?:.*"
    r"|(\d{4}-\d\d(-\d\d)?|\d{1,2}(?P<sign>[./-])\d{1,2}(?P=sign)\d{4})(T[\d:.Z+-]+)?"
)
"""Numbers, with a unit or an ending, dates, ranges, times of day and addresses."""
_ZEROS = re.compile(r"0\d")
_LETTERS = re.compile(r"[^\W\d_]+[\W_]*\d")


def codes_in(question: str) -> list[tuple[int, int]]:
    """Find where codes begin and end.

    >>> text = "Is AX-2210/7 or R.1.3 dearer than 012, 1,200 or the 5-star one of 1999-05-01 by Ann's B12.?"
    >>> [text[slice(*place)] for place in codes_in(text)]
    ['AX-2210/7', 'R.1.3', '012', 'B12']
    """
    found = []
    for run in _RUN.finditer(question):
        text = re.sub(r"(['’]s|[.:'’/-])+\Z", "", run[0]).lstrip("'’")
        start = run.start() + run[0].index(text)
        if is_code(text):
            found.append((start, start + len(text)))
    return found


def is_code(text: str) -> bool:
    """Tell whether a text has digits and is no number, date or time, but a code.

    >>> [is_code(text) for text in ("012", "978-3-16-148410-0", "0.5", "12", "10:30", "1914-18")]
    [True, True, False, False, False, False]
    """
    is_code_of_signs = any(map(str.isdigit, text)) and _NO_CODE.fullmatch(text) is None
    return is_code_of_signs or (text.isdecimal() and _ZEROS.match(text) is not None)


def is_never_number(text: str) -> bool:
    """Tell whether no digits of a code are a number, whether or not a graph has it.

    >>> [is_never_number(text) for text in ("012", "AX-2210/7", "978-3-16-148410-0")]
    [True, True, False]
    """
    return _ZEROS.match(text) is not None or _LETTERS.match(text) is not None
