"""Plots of a comparison: quality against cost, quality by hops, and what is right among the surest answers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison import Comparison
from kgsparql.evaluation.comparison_tables import slice_name
from kgsparql.evaluation.leaderboard import Leaderboard
from kgsparql.evaluation.metrics.risk_coverage import risk_coverage
from kgsparql.evaluation.scoring import SLICES, VARYING
from kgsparql.rdf.terms import printable

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""The palette of Okabe and Ito, for colour-blind readers too; yellow is replaced, as it is too light for lines."""

_MARKERS = "osD^vPX*"
"""Beside the colours, so that no row is marked by its colour alone."""

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "legend.frameon": False, "axes.grid": True, "grid.color": "#e6e6e6",
    "text.parse_math": False, "figure.constrained_layout.use": True, "svg.hashsalt": "kgsparql",
}  # fmt: skip

_COST_NAMES = {"model_calls": "model calls", "queries": "SPARQL queries", "seconds": "seconds", "tokens": "tokens"}

_MAX_ROWS = 14
"""Rows in a plot: the best ones."""


def save_plots(comparison: Comparison, directory: Path) -> list[Path]:
    """Write all plots as PNG and SVG, and return the files; the same figures give the same bytes.

    :raises OptionError: if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise OptionError("plots need matplotlib", hint="pip install 'kgsparql[eval]'") from error
    boards = comparison.leaderboards
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "-", board.dataset).strip("-").lower()[:60] or "dataset" for board in boards]
    names = [name if plain.count(name) == 1 else f"{name}-{place}" for place, name in enumerate(plain, 1)]
    files: list[Path] = []
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a box stands for it, and the tables have the name
        for board, name in zip(boards, names, strict=True):
            for kind, figure in _figures_of(board, comparison) if board.primary else ():
                files += _save_figure(figure, directory / f"{name}-{kind}")
    return files


def _save_figure(figure: Any, path: Path) -> list[Path]:
    """Write a figure without a date and without the version of what drew it."""
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(files[0], dpi=160, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise InputError(f"cannot write {path.parent}: {error.strerror}", hint="name another directory") from error
    return files


def _figures_of(board: Leaderboard, comparison: Comparison) -> Iterator[tuple[str, Any]]:
    for cost in _COST_NAMES:
        is_shown = cost in comparison.metrics and not (comparison.reproducible and cost in VARYING)
        if is_shown and any((row.mean(cost) or 0) > 0 for row in board.rows):
            yield "quality-cost", _quality_against_cost(board, cost)
            break
    for kind in SLICES:
        values = list(dict.fromkeys(value for row in board.rows for value in row.slices.get(kind, ())))
        if 1 < len(values) <= 10:
            yield f"by-{kind}", _quality_by_slice(board, kind, values)
            break
    if any(risk_coverage(row.scores.values) for row in board.rows):
        yield "risk-coverage", _risk_coverage_curves(board)


def _new_axes(board: Leaderboard, title: str, width: float = 7.5) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # no pyplot: it would look for a window

    figure = Figure(figsize=(width, 4.6))
    axes = figure.subplots()
    sizes = sorted({row.n for row in board.rows if row.n})
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    axes.set_title(f"{printable(board.dataset, 40)}: {title} ({count} questions)")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel(board.primary)
    return figure, axes


def _marks_of(i: int) -> dict[str, Any]:
    return {"color": _COLOURS[i % len(_COLOURS)], "marker": _MARKERS[(i + i // len(_COLOURS)) % len(_MARKERS)]}


def _quality_against_cost(board: Leaderboard, cost: str) -> Any:
    """Draw the mean quality of each row against its mean cost, with 95 % intervals."""
    figure, axes = _new_axes(board, f"{board.primary} against {_COST_NAMES[cost]}")
    for i, row in enumerate(board.rows[:_MAX_ROWS]):
        quality, spent = row.means[board.primary], row.means[cost]
        if quality is None or spent is None:
            continue
        axes.errorbar(
            spent.mean, quality.mean, yerr=[[quality.mean - quality.low], [quality.high - quality.mean]],
            xerr=[[spent.mean - spent.low], [spent.high - spent.mean]], linestyle="none",
            label=printable(row.title, 40), **_marks_of(i),
        )  # fmt: skip
    axes.set_xscale("symlog", linthresh=1)  # small costs stay apart beside large ones, and a cost of 0 has a place
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"{_COST_NAMES[cost]} (mean of a question)")
    figure.legend(loc="outside right upper", fontsize=9)
    return figure


def _quality_by_slice(board: Leaderboard, kind: str, values: Sequence[str]) -> Any:
    """Draw the mean quality of each row for each kind of question, with 95 % intervals."""
    rows = [row for row in board.rows if row.n][:_MAX_ROWS]
    figure, axes = _new_axes(board, f"{board.primary} by {kind}", max(7.5, 1.5 + 0.2 * len(values) * (len(rows) + 2)))
    width = 0.8 / max(1, len(rows))
    for i, row in enumerate(rows):
        means = [row.slices[kind][value].means.get(board.primary) for value in values]
        points = [(place - 0.4 + width * (i + 0.5), found) for place, found in enumerate(means) if found is not None]
        axes.errorbar(
            [x for x, _ in points], [found.mean for _, found in points],
            yerr=[[found.mean - found.low for _, found in points], [found.high - found.mean for _, found in points]],
            linestyle="none", label=printable(row.title, 40), **_marks_of(i),
        )  # fmt: skip
    sizes = [max(row.slices[kind][value].n for row in rows) for value in values]
    names = [f"{slice_name(kind, value)}\nn = {n:,}" for value, n in zip(values, sizes, strict=True)]
    axes.set_xticks(range(len(values)), names)
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside right upper", fontsize=9)
    return figure


def _risk_coverage_curves(board: Leaderboard) -> Any:
    """Draw, for each row, the share of right ones among its surest answers, from few of them to all."""
    figure, axes = _new_axes(board, "right first answers among the surest")
    for i, row in enumerate(board.rows[:_MAX_ROWS]):
        found = risk_coverage(row.scores.values)
        if found is not None:
            label = printable(row.title, 40) + ("" if found.auroc is None else f", AUROC {found.auroc:.2f}")
            axes.plot(np.arange(1, found.n + 1) / found.n, found.curve, label=label, color=_marks_of(i)["color"])
    axes.set_xlabel("coverage: share of its answers, the largest margin first")
    axes.set_ylabel("share that is right")
    figure.legend(loc="outside right upper", fontsize=9)
    return figure
