"""Lines of text and tables for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Collection, Sequence

WIDTH = 100
"""Columns of a terminal that a text keeps to."""


def wrapped(text: str, width: int = WIDTH, *, indent: str = "") -> list[str]:
    """The lines of a text, no wider than ``width`` with their indent."""
    from textwrap import wrap

    return [indent + line for line in wrap(text, width - len(indent), break_on_hyphens=False) or [""]]


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """The lines of a table, its columns two spaces apart, without spaces at the end.

    :param left: columns that are aligned to the left; all others are aligned to the right.

    >>> aligned([["name", "n"], ["a", "10"]], left={0})
    ['  name   n', '  a     10']
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
        cells = [text + gap if i in left else gap + text for i, (text, gap) in enumerate(zip(row, gaps, strict=True))]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
