"""A comparison as JSON or CSV, for programs and spreadsheets, and as plots."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison import Comparison, Leaderboard, Row
from kgsparql.evaluation.metrics.risk_coverage import COVERAGES
from kgsparql.evaluation.statistics import Interval
from kgsparql.rdf.terms import printable

Record = dict[str, str | float | bool | None]


def records(comparison: Comparison) -> list[Record]:
    """List a record for each row, ``by`` being empty, and for each kind of its questions; ``None`` is for no figure.

    Of each metric it has the mean, the bounds of its interval (``hits@1 low``, ``hits@1 high``) and how many questions
    have one (``hits@1 n``). A row that is tested has the difference from the row that ``versus`` names, its interval,
    ``p`` (corrected) and verdict; a row with margins has what is right among the surest, and ``AUROC``.
    """
    found = []
    for board in comparison.leaderboards:
        for place, row in enumerate(board.rows):
            about: Record = {name: getattr(row, name) for name in ("dataset", "method", "model", "run", "name")}
            whole = {**about, "by": "", "slice": "", **_row_figures(row.n, row.means), "questions": row.questions}
            whole |= {
                "best": place == board.best,
                "ceiling": row.is_ceiling,
                **_row_tests(board, place),
                **_row_risk(row),
            }
            found.append(whole)
            for kind, values in row.slices.items():
                found += [{**about, "by": kind, "slice": v, **_row_figures(*part)} for v, part in values.items()]
    return [{name: round(v, 6) + 0.0 if isinstance(v, float) else v for name, v in one.items()} for one in found]


def _row_figures(n: int, means: Mapping[str, Interval | None]) -> Record:
    figures: Record = {"n": n}
    for name, one in means.items():
        mean, low, high = (one.mean, one.low, one.high) if one else (None, None, None)
        figures |= {name: mean, f"{name} low": low, f"{name} high": high, f"{name} n": one.n if one else 0}
    return figures


def _row_tests(board: Leaderboard, place: int) -> Record:
    tests = board.tests.get(place, {})
    found: Record = {"versus": board.rows[board.reference].name} if tests and board.reference is not None else {}
    for name, test in tests.items():
        one = test.difference
        found |= {f"{name} difference": one.mean, f"{name} p": test.p, f"{name} verdict": test.verdict}
        if one.has_interval:
            found |= {f"{name} difference low": one.low, f"{name} difference high": one.high}
    return found


def _row_risk(row: Row) -> Record:
    if row.risk is None:
        return {}
    right = zip(COVERAGES, row.risk.right, strict=True)
    return {**{f"right of the surest {100 * of:.0f} %": share for of, share in right}, "AUROC": row.risk.auroc}


def comparison_json(comparison: Comparison) -> str:
    """Write the :func:`records` as a JSON array, which ``pandas.read_json`` reads."""
    return json.dumps(records(comparison), ensure_ascii=False, indent=1) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """Write the :func:`records` as lines of CSV.

    RFC 4180: lines end with CR LF. A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    found = records(comparison)
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(dict.fromkeys(name for one in found for name in one)), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({k: _csv_text(v) if isinstance(v, str) else v for k, v in one.items()} for one in found)
    return stream.getvalue()


def _csv_text(text: str) -> str:
    r"""Write a text for a terminal and a spreadsheet.

    >>> _csv_text("=1+1"), _csv_text("who"), _csv_text("a\tb")
    ("'=1+1", 'who', 'a b')
    """
    shown = printable(text, 1000)
    return f"'{shown}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or shown[:1] in set("=+-@") else shown


_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "axes.titlelocation": "left", "axes.grid": True, "axes.axisbelow": True,
    "text.parse_math": False, "figure.constrained_layout.use": True, "svg.hashsalt": "kgsparql",
}  # fmt: skip

_COST_NAMES = {"model_calls": "model calls", "queries": "SPARQL queries", "seconds": "seconds", "tokens": "tokens"}

_MAX_ROWS = 10
"""Rows in a plot: the best ones, as there are so many colours that everybody can tell apart."""


def save_plots(comparison: Comparison, directory: Path) -> list[Path]:
    """Draw quality against cost, and risk and coverage, of each dataset as PNG and SVG, and return the files.

    The same figures give the same bytes: there is no date in them, and no version of what drew them.
    """
    try:
        import matplotlib as mpl
        from matplotlib import style
    except ImportError as error:
        raise OptionError("plots need matplotlib", hint="pip install 'kgsparql[eval]'") from error
    files: list[Path] = []
    with mpl.rc_context(), warnings.catch_warnings():
        style.use(["tableau-colorblind10", _STYLE])
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a box stands for it, and the tables have the name
        for number, board in enumerate(comparison.leaderboards, 1):
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", board.rows[0].dataset).strip("-").lower()[:60] or "dataset"
            name += f"-{number}" * (len(comparison.leaderboards) > 1)
            cost = next((c for c in _COST_NAMES if any(row.mean(c) for row in board.rows)), "")
            if board.primary and cost:
                files += _save_plot(
                    board, partial(_draw_quality_against_cost, cost=cost), directory / f"{name}-quality-cost"
                )
            if any(row.risk for row in board.rows):
                files += _save_plot(board, _draw_risk_coverage, directory / f"{name}-risk-coverage")
    return files


def _save_plot(board: Leaderboard, draw: Callable[[Any, Leaderboard], None], path: Path) -> list[Path]:
    from matplotlib.figure import Figure  # no pyplot: it would look for a window

    figure = Figure(figsize=(7.5, 4.6))
    axes = figure.subplots()
    axes.set_title(printable(board.rows[0].dataset, 60))
    axes.set_ylim(-0.02, 1.02)
    draw(axes, board)
    figure.legend(loc="outside right upper", fontsize=9)
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(files[0], dpi=160, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise InputError(f"cannot write {path.parent}: {error.strerror}", hint="name another directory") from error
    return files


def _draw_quality_against_cost(axes: Any, board: Leaderboard, *, cost: str) -> None:
    """Draw the mean quality of each row against its mean cost, with 95 % intervals."""
    for marker, row in zip("osD^vPX*<>", board.rows[:_MAX_ROWS], strict=False):  # colour alone does not tell them apart
        y, x = row.means[board.primary], row.means[cost]
        if y is not None and x is not None:
            bars = {"yerr": [[y.mean - y.low], [y.high - y.mean]], "xerr": [[x.mean - x.low], [x.high - x.mean]]}
            axes.errorbar(x.mean, y.mean, **bars, fmt=marker, label=printable(row.title, 40))
    axes.set_xscale("symlog", linthresh=1)  # small costs stay apart beside large ones, and a cost of 0 has a place
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"{_COST_NAMES[cost]} (mean of a question)")
    axes.set_ylabel(board.primary)


def _draw_risk_coverage(axes: Any, board: Leaderboard) -> None:
    """Draw, for each row, the share of right ones among its surest answers, from few of them to all."""
    for row in board.rows[:_MAX_ROWS]:
        if found := row.risk:
            auroc = "" if found.auroc is None else f", AUROC {found.auroc:.2f}"
            axes.plot(np.arange(1, found.n + 1) / found.n, found.curve, label=printable(row.title, 40) + auroc)
    axes.set_xlabel("coverage: share of its answers, the largest margin first")
    axes.set_ylabel("share of them that is right")
