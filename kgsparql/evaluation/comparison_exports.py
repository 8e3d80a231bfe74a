"""A comparison as JSON or CSV, for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kgsparql.evaluation.comparison import Comparison
from kgsparql.evaluation.leaderboard import Leaderboard, Slice
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.risk_coverage import risk_coverage
from kgsparql.evaluation.scoring import ALWAYS, SLICES, VARYING
from kgsparql.evaluation.statistics import Interval
from kgsparql.rdf.terms import printable


def comparison_json(comparison: Comparison) -> str:
    """Write a list of rows, each with the means of all metrics and their intervals; ``null`` where one is undefined."""
    found = [_json_row(comparison, board, i) for board in comparison.leaderboards for i in range(len(board.rows))]
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _json_row(comparison: Comparison, board: Leaderboard, place: int) -> dict[str, Any]:
    row, names = board.rows[place], _column_names(comparison)
    curve = risk_coverage(row.scores.values)
    return {
        **{name: getattr(row, name) for name in ("dataset", "method", "model", "run", "name", "n", "questions")},
        **_json_figures(row.means, names),
        **{
            f"by_{'hop' if kind == 'hops' else kind}": {
                value: {"n": part.n, **_json_figures(part.means, names)} for value, part in row.slices[kind].items()
            }
            for kind in comparison.by
        },
        "risk_coverage": None if curve is None else curve.to_json(),
        "errors": dict(row.scores.errors),
        "chosen_by": None if row.scores.chosen_by is None else sorted(row.scores.chosen_by),
        "best": place == board.best,
        "ceiling": row.is_ceiling,
        "versus": _json_tests(board, place),
    }


def _json_tests(board: Leaderboard, place: int) -> dict[str, Any] | None:
    """Return the tests of a row against the reference; ``None`` for the reference, and for a row that is not tested."""
    if board.reference is None or place not in board.tests:
        return None
    metrics = {}
    for name, test in board.tests[place].items():
        found = test.difference
        metrics[name] = {
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
    return {"reference": board.rows[board.reference].name, "metrics": metrics}


def _json_figures(means: Mapping[str, Interval | None], names: Sequence[str]) -> dict[str, Any]:
    found = {name: means.get(name) for name in names}
    return {
        "metrics": {name: None if one is None else _rounded(one.mean) for name, one in found.items()},
        "intervals": {
            name: None if one is None else [_rounded(one.low), _rounded(one.high)] for name, one in found.items()
        },
        "defined": {name: 0 if one is None else one.n for name, one in found.items()},
    }


def _column_names(comparison: Comparison) -> list[str]:
    """Name the metrics of CSV and JSON; those that a reproducible comparison leaves out stay, without figures."""
    if comparison.named:
        return [*comparison.metrics, *(name for name in ALWAYS if name not in comparison.metrics)]
    return [name for name in METRICS if name in comparison.metrics or (comparison.reproducible and name in VARYING)]


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0  # no "-0.0"


def comparison_csv(comparison: Comparison) -> str:
    """Write one line for each row and slice: every metric, its interval and how many questions it is defined for.

    RFC 4180: lines end with CR LF, and a text with a comma or a quotation mark stands in quotation marks. A text that a
    spreadsheet would take for a formula begins with an apostrophe.
    """
    names = _column_names(comparison)
    heads = ["dataset", "method", "model", "run", "name", "by", "slice", "n", "questions"]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([*heads, *(f"{name}{what}" for name in names for what in ("", " low", " high", " n"))])
    for row in comparison.rows:
        whole = [("", "", Slice(n=row.n, means=row.means))]
        for kind, value, part in whole + [(k, v, p) for k in SLICES for v, p in row.slices.get(k, {}).items()]:
            texts = (row.dataset, row.method, row.model, row.run, row.name, kind, value)
            line: list[object] = [*map(_csv_text, texts), part.n, row.questions if not kind else ""]
            for one in map(part.means.get, names):
                line += ["", "", "", 0] if one is None else [*map(_rounded, (one.mean, one.low, one.high)), one.n]
            writer.writerow(line)
    return stream.getvalue()


def _csv_text(text: str) -> str:
    r"""Write a text for a terminal and a spreadsheet.

    >>> _csv_text("=1+1"), _csv_text("who"), _csv_text("a\tb")
    ("'=1+1", 'who', 'a b')
    """
    shown = printable(text, 1000)
    return f"'{shown}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or shown[:1] in set("=+-@") else shown
