"""A comparison as text, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row, Slice
from kgsparql.evaluation.comparison.tables import HOW_SURE, Section, Table, sections
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS, SLICES, VARYING
from kgsparql.evaluation.statistics import Interval
from kgsparql.rdf.terms import printable

__all__ = ["as_csv", "as_json", "as_markdown", "as_text", "escaped", "explained", "wrapped"]

WIDTH = 100
"""Columns of a terminal that a table keeps to."""

_FORMULA = frozenset("=+-@")
"""With these a cell begins that a spreadsheet works out."""

_WIDEST = 40
_NARROWEST = 20
"""Widths of the column of names; a longer one goes on in the next line."""


def as_text(comparison: Comparison) -> str:
    """Aligned tables for a terminal or a pipe, at most :data:`WIDTH` columns wide where names allow."""
    return "\n\n".join("\n".join(_text(section)) for section in sections(comparison)) + "\n"


def _text(section: Section) -> Iterator[str]:
    yield from wrapped(section.heading)
    yield from (f"  {line}" for sentence in section.summary for line in wrapped(sentence, WIDTH - 2))
    for table in section.tables:
        yield ""
        yield from wrapped(table.title)
        yield from _aligned(table)
        yield from (f"  {line}" for caption in table.captions for line in wrapped(caption, WIDTH - 2))
    if section.notes:
        yield ""
        yield "Notes"
        for note in section.notes:
            first, *others = wrapped(printable(note, 600), WIDTH - 4)
            yield f"  - {first}"
            yield from (f"    {line}" for line in others)


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """The lines of a text that are no wider."""
    from textwrap import wrap

    return wrap(text, width, break_on_hyphens=False) or [""]


def _aligned(table: Table) -> Iterator[str]:
    """The lines of a table; columns that do not fit beside the names follow below, with the names again."""
    from rich.cells import cell_len

    cells = [table.columns, *table.rows]
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(table.columns))]
    spare = WIDTH - sum(2 + width for width in widths[1:]) - 2
    name = min(widths[0], _WIDEST, max(spare, _NARROWEST))
    at = 1
    while at < len(widths):
        end, used = at, 2 + name
        while end < len(widths) and (end == at or used + 2 + widths[end] <= WIDTH):
            used += 2 + widths[end]
            end += 1
        if at > 1:
            yield ""
        more: list[str] = []
        for row in cells:
            if row[0] or not more:
                yield from (f"    {line}" for line in more)
                first, *more = _name_lines(row[0], name)
            else:  # a row without a name has room for the rest of the one above
                first = f"  {more.pop(0)}"
            shown = "".join(
                "  " + (_left if i in table.left else _right)(row[i], widths[i], cell_len(row[i]))
                for i in range(at, end)
            )
            yield f"  {_left(first, name, cell_len(first))}{shown}".rstrip()
        yield from (f"    {line}" for line in more)
        at = end


def _name_lines(name: str, width: int) -> list[str]:
    """A name that is too long as several lines, broken where its parts begin.

    >>> _name_lines("path_ranking+no_model (run-2)", 20)
    ['path_ranking', '+no_model (run-2)']
    """
    if len(name) <= width:
        return [name]
    room, lines = width - 2, [""]  # of all lines but the first, which begin with two spaces
    for part in re.findall(r"[ +]?[^ +]+", name):
        for piece in (part[at : at + room] for at in range(0, len(part), room)):
            if len(lines[-1]) + len(piece) <= room:
                lines[-1] += piece
            else:
                lines.append(piece.strip())
    return lines


def _left(text: str, width: int, length: int) -> str:
    return text + " " * (width - length)


def _right(text: str, width: int, length: int) -> str:
    return " " * (width - length) + text


def as_markdown(comparison: Comparison) -> str:
    """Tables as GitHub shows them; what a dataset says has no markup: see :func:`escaped`."""
    return "\n\n".join("\n".join(_markdown(section)) for section in sections(comparison, wide=True)) + "\n"


def _markdown(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.heading)}"
    if section.summary:
        yield ""
        yield escaped(" ".join(section.summary))
    for table in section.tables:
        yield ""
        yield f"### {escaped(table.title)}"
        yield ""
        yield _pipes(map(escaped, table.columns))
        yield _pipes(":---" if not i or i in table.left else "---:" for i in range(len(table.columns)))
        yield from (_pipes(map(escaped, row)) for row in table.rows)
        if table.captions:
            yield ""
            yield escaped(" ".join(table.captions))
    if section.notes:
        yield ""
        yield "### Notes"
        yield ""
        yield from (f"- {escaped(note)}" for note in section.notes)


def _pipes(cells: Iterator[str] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str, limit: int = 600) -> str:
    r"""A text as Markdown text: nothing in it is emphasis, code, a link with other words, an image, an entity or a tag.

    What a site makes of plain text beside Markdown stays as the site does it: GitHub makes links of bare addresses
    (which say where they lead) and of names after an @.

    >>> print(escaped("expected_hits@1 | <b> &lt; $x$"))
    expected\_hits@1 \| \<b\> \&lt; \$x\$
    """
    shown = printable(text, limit)
    for char in "\\`*_[]<>#|!&~$":
        shown = shown.replace(char, "\\" + char)
    return shown


def as_json(comparison: Comparison) -> str:
    """A list of rows, each with the means of all metrics and their intervals; ``null`` where one is not defined."""
    found = [
        _json_row(comparison, leaderboard, i)
        for leaderboard in comparison.leaderboards
        for i in range(len(leaderboard.rows))
    ]
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _json_row(comparison: Comparison, leaderboard: Leaderboard, place: int) -> dict[str, Any]:
    row = leaderboard.rows[place]
    names = _columns(comparison)
    return {
        "dataset": row.dataset,
        "method": row.method,
        "model": row.model,
        "run": row.run,
        "name": row.name,
        "n": row.n,
        "questions": row.questions,
        **_figures(row.means, names),
        **{
            f"by_{'hop' if kind == 'hops' else kind}": {
                value: {"n": part.n, **_figures(part.means, names)} for value, part in row.slices[kind].items()
            }
            for kind in comparison.by
        },
        "errors": dict(row.errors),
        "chosen_by": None if row.chosen_by is None else sorted(row.chosen_by),
        "best": place == leaderboard.best,
        "ceiling": row.is_ceiling,
        "versus": _json_versus(leaderboard, place),
    }


def _json_versus(leaderboard: Leaderboard, place: int) -> dict[str, Any] | None:
    """How the row does against the reference; ``None`` for the reference, and for a row that is not tested."""
    if leaderboard.reference is None or place not in leaderboard.tests:
        return None
    return {
        "reference": leaderboard.rows[leaderboard.reference].name,
        "metrics": {
            name: {
                "n": test.difference.n,
                "difference": _rounded(test.difference.mean),
                "low": _rounded(test.difference.low) if test.difference.has_interval else None,
                "high": _rounded(test.difference.high) if test.difference.has_interval else None,
                "interval": "bonett_price" if test.difference.test == "mcnemar" else "bootstrap",
                "won": test.won,
                "lost": test.lost,
                "test": test.difference.test,
                "p": _rounded(test.difference.p),
                "p_holm": _rounded(test.p),
                "comparisons": test.comparisons,
                "verdict": test.verdict,
            }
            for name, test in leaderboard.tests[place].items()
        },
    }


def _figures(means: Mapping[str, Interval | None], names: Sequence[str]) -> dict[str, Any]:
    found = {name: means.get(name) for name in names}
    return {
        "metrics": {name: None if one is None else _rounded(one.mean) for name, one in found.items()},
        "intervals": {
            name: None if one is None else [_rounded(one.low), _rounded(one.high)] for name, one in found.items()
        },
        "defined": {name: 0 if one is None else one.n for name, one in found.items()},
    }


def _columns(comparison: Comparison) -> list[str]:
    """The names of metrics; those that a reproducible comparison leaves out stay, without figures."""
    if comparison.named:
        return [*comparison.metrics, *(name for name in ALWAYS if name not in comparison.metrics)]
    return [name for name in METRICS if name in comparison.metrics or (comparison.reproducible and name in VARYING)]


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0  # no "-0.0"


def as_csv(comparison: Comparison) -> str:
    """One line for each row and slice, with every metric, its interval and how many questions it is defined for.

    RFC 4180: lines end with CR LF, and a text with a comma or a quotation mark stands in quotation marks. A text that a
    spreadsheet would take for a formula begins with an apostrophe.
    """
    names = _columns(comparison)
    heads = ["dataset", "method", "model", "run", "name", "by", "slice", "n", "questions"]
    for name in names:
        heads += [name, f"{name} low", f"{name} high", f"{name} n"]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(heads)
    for row in comparison.rows:
        for kind, value, part in _parts(row):
            texts = (row.dataset, row.method, row.model, row.run, row.name, kind, value)
            line: list[object] = [*map(_csv_text, texts), part.n, row.questions if not kind else ""]
            for name in names:
                one = part.means.get(name)
                bounds = ["", "", "", 0] if one is None else [*map(_rounded, (one.mean, one.low, one.high)), one.n]
                line += bounds
            writer.writerow(line)
    return stream.getvalue()


def _csv_text(text: str) -> str:
    r"""A text for a terminal and a spreadsheet.

    >>> _csv_text("=1+1"), _csv_text("who"), _csv_text("a\tb")
    ("'=1+1", 'who', 'a b')
    """
    shown = printable(text, 1000)
    return f"'{shown}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or shown[:1] in _FORMULA else shown


def _parts(row: Row) -> Iterator[tuple[str, str, Slice]]:
    yield "", "", Slice(n=row.n, means=row.means)
    for kind in SLICES:
        yield from ((kind, value, part) for value, part in row.slices.get(kind, {}).items())


def explained(names: Sequence[str]) -> str:
    """The definitions of metrics."""
    lines = []
    for name in names:
        metric = METRICS[name]
        better = {"higher": "higher is better", "lower": "lower is better", "": "neither way is better"}[metric.better]
        lines.append(f"{name}  ({metric.group}; {better})")
        paragraphs = [" ".join(part.split()) for part in metric.about.split("\n\n")]
        lines += [f"    {line}" for part in paragraphs for line in wrapped(part, WIDTH - 4)]
        lines.append("")
    lines += ["intervals", *(f"    {line}" for part in HOW_SURE for line in wrapped(part, WIDTH - 4)), ""]
    return "\n".join(lines)
