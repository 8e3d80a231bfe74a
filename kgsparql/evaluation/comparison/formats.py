"""A comparison as text, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row, Slice
from kgsparql.evaluation.comparison.tables import HOW_SURE, Section, Table, sections
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS, SLICES, VARYING
from kgsparql.evaluation.statistics import Interval
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import WIDTH, aligned, wrapped

_WIDEST = 40
_NARROWEST = 20
"""Widths of the column of names; a longer name goes on in the next line."""


def as_text(comparison: Comparison) -> str:
    """Aligned tables for a terminal or a pipe, at most :data:`WIDTH` columns wide where names allow."""
    return "\n\n".join("\n".join(_text_lines(section)) for section in sections(comparison)) + "\n"


def _text_lines(section: Section) -> Iterator[str]:
    yield from wrapped(section.heading)
    for sentence in section.summary:
        yield from wrapped(sentence, indent="  ")
    for table in section.tables:
        yield ""
        yield from wrapped(table.title)
        yield from _table_lines(table)
        for caption in table.captions:
            yield from wrapped(caption, indent="  ")
    if section.notes:
        yield ""
        yield "Notes"
        for note in section.notes:
            first, *others = wrapped(printable(note, 600), indent="    ")
            yield f"  - {first[4:]}"
            yield from others


def _table_lines(table: Table) -> Iterator[str]:
    """The lines of a table; columns that do not fit beside the names follow below, with the names again."""
    from rich.cells import cell_len, set_cell_size

    cells = [table.columns, *table.rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    spare = WIDTH - sum(2 + width for width in widths[1:]) - 2
    names = min(widths[0], _WIDEST, max(spare, _NARROWEST))
    at = 1
    while at < len(widths):
        end = at + 1
        while end < len(widths) and 2 + names + sum(2 + width for width in widths[at : end + 1]) <= WIDTH:
            end += 1
        if at > 1:
            yield ""
        rows = list(_with_name_lines(cells, names, range(at, end)))
        rows[0][0] = set_cell_size(rows[0][0], names)
        yield from aligned(rows, {0, *(i - at + 1 for i in table.left)})
        at = end


def _with_name_lines(cells: Sequence[Sequence[str]], width: int, columns: Iterable[int]) -> Iterator[list[str]]:
    """Rows of names and some columns; the rest of a long name stands below, in rows without a name if there are."""
    rest: list[str] = []
    for row in cells:
        if row[0] or not rest:
            yield from ([f"  {line}", *("" for _ in columns)] for line in rest)
            first, *rest = _name_lines(row[0], width)
        else:
            first = f"  {rest.pop(0)}"
        yield [first, *(row[i] for i in columns)]
    yield from ([f"  {line}", *("" for _ in columns)] for line in rest)


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


def as_markdown(comparison: Comparison) -> str:
    """Tables as GitHub shows them; what a dataset says has no markup: see :func:`escaped`."""
    return "\n\n".join("\n".join(_markdown_lines(section)) for section in sections(comparison, wide=True)) + "\n"


def _markdown_lines(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.heading)}"
    if section.summary:
        yield from ("", escaped(" ".join(section.summary)))
    for table in section.tables:
        yield from ("", f"### {escaped(table.title)}", "", _pipes(map(escaped, table.columns)))
        yield _pipes(":---" if not i or i in table.left else "---:" for i in range(len(table.columns)))
        yield from (_pipes(map(escaped, row)) for row in table.rows)
        if table.captions:
            yield from ("", escaped(" ".join(table.captions)))
    if section.notes:
        yield from ("", "### Notes", "", *(f"- {escaped(note)}" for note in section.notes))


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str, limit: int = 600) -> str:
    r"""A text as Markdown text: nothing in it is emphasis, code, a link with other words, an image, an entity or a tag.

    What a site adds to Markdown stays: GitHub makes links of bare addresses, and of names after an @.

    >>> print(escaped("expected_hits@1 | <b> &lt; $x$"))
    expected\_hits@1 \| \<b\> \&lt; \$x\$
    """
    return re.sub(r"([\\`*_\[\]<>#|!&~$])", r"\\\1", printable(text, limit))


def as_json(comparison: Comparison) -> str:
    """A list of rows, each with the means of all metrics and their intervals; ``null`` where one is not defined."""
    found = [_json_row(comparison, board, i) for board in comparison.leaderboards for i in range(len(board.rows))]
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _json_row(comparison: Comparison, board: Leaderboard, place: int) -> dict[str, Any]:
    row, names = board.rows[place], _columns(comparison)
    return {
        **{name: getattr(row, name) for name in ("dataset", "method", "model", "run", "name", "n", "questions")},
        **_json_figures(row.means, names),
        **{
            f"by_{'hop' if kind == 'hops' else kind}": {
                value: {"n": part.n, **_json_figures(part.means, names)} for value, part in row.slices[kind].items()
            }
            for kind in comparison.by
        },
        "errors": dict(row.scores.errors),
        "chosen_by": None if row.scores.chosen_by is None else sorted(row.scores.chosen_by),
        "best": place == board.best,
        "ceiling": row.is_ceiling,
        "versus": _json_tests(board, place),
    }


def _json_tests(board: Leaderboard, place: int) -> dict[str, Any] | None:
    """The tests of a row against the reference; ``None`` for the reference, and for a row that is not tested."""
    if board.reference is None or place not in board.tests:
        return None
    return {
        "reference": board.rows[board.reference].name,
        "metrics": {
            name: {
                "n": found.n,
                "difference": _rounded(found.mean),
                "low": _rounded(found.low) if found.has_interval else None,
                "high": _rounded(found.high) if found.has_interval else None,
                "interval": "bonett_price" if found.test == "mcnemar" else "bootstrap",
                "won": test.won,
                "lost": test.lost,
                "test": found.test,
                "p": _rounded(found.p),
                "p_holm": _rounded(test.p),
                "comparisons": test.comparisons,
                "verdict": test.verdict,
            }
            for name, test in board.tests[place].items()
            for found in (test.difference,)
        },
    }


def _json_figures(means: Mapping[str, Interval | None], names: Sequence[str]) -> dict[str, Any]:
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
        for kind, value, part in _slices(row):
            texts = (row.dataset, row.method, row.model, row.run, row.name, kind, value)
            line: list[object] = [*map(_csv_text, texts), part.n, row.questions if not kind else ""]
            for name in names:
                one = part.means.get(name)
                line += ["", "", "", 0] if one is None else [*map(_rounded, (one.mean, one.low, one.high)), one.n]
            writer.writerow(line)
    return stream.getvalue()


def _csv_text(text: str) -> str:
    r"""A text for a terminal and a spreadsheet.

    >>> _csv_text("=1+1"), _csv_text("who"), _csv_text("a\tb")
    ("'=1+1", 'who', 'a b')
    """
    shown = printable(text, 1000)
    return f"'{shown}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or shown[:1] in set("=+-@") else shown


def _slices(row: Row) -> Iterator[tuple[str, str, Slice]]:
    yield "", "", Slice(n=row.n, means=row.means)
    for kind in SLICES:
        yield from ((kind, value, part) for value, part in row.slices.get(kind, {}).items())


def explained(names: Sequence[str]) -> str:
    """The definitions of metrics."""
    lines = []
    for name in names:
        metric = METRICS[name]
        lines.append(f"{name}  ({metric.group}; {metric.better_text})")
        for paragraph in metric.about.split("\n\n"):
            lines += wrapped(" ".join(paragraph.split()), indent="    ")
        lines.append("")
    lines.append("intervals")
    for part in HOW_SURE:
        lines += wrapped(part, indent="    ")
    return "\n".join([*lines, ""])
