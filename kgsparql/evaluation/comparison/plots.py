"""Plots of a comparison: quality against cost, quality by hops, and how costs are spread."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.leaderboard import Leaderboard
from kgsparql.evaluation.comparison.tables import slice_name
from kgsparql.evaluation.scoring import SLICES, VARYING
from kgsparql.rdf.terms import printable

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""The palette of Okabe and Ito, for colour-blind readers too; yellow is replaced, as it is too light for lines."""

_MARKERS = "osD^vPX*"
"""Beside the colours, so that no row is marked by its colour alone."""

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#666666", "axes.labelcolor": "#222222",
    "xtick.color": "#444444", "ytick.color": "#444444", "axes.axisbelow": True, "legend.frameon": False,
    "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.8, "text.parse_math": False,
    "figure.facecolor": "white", "savefig.facecolor": "white", "figure.constrained_layout.use": True,
    "svg.fonttype": "path", "svg.hashsalt": "kgsparql",
}  # fmt: skip

_COST_NAMES = {"model_calls": "model calls", "queries": "SPARQL queries", "seconds": "seconds", "tokens": "tokens"}

_MOST = 14
"""Rows in a plot: the best ones."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as two files.

    :param about: a sentence that describes it for those who do not see it.
    """

    name: str
    title: str
    about: str
    svg: str
    png: bytes


def save_plots(comparison: Comparison, directory: Path) -> list[Path]:
    """Write all plots as PNG and SVG, and return the files; the same figures give the same bytes."""
    files: dict[Path, bytes] = {}
    for plot in (plot for own in plots_of(comparison) for plot in own):
        files[directory / f"{plot.name}.png"] = plot.png
        files[directory / f"{plot.name}.svg"] = plot.svg.encode()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            file.write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {directory}: {error.strerror}", hint="name another directory") from error
    return list(files)


def plots_of(comparison: Comparison) -> list[list[Plot]]:
    """The plots of each dataset.

    :raises OptionError: if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise OptionError("plots need matplotlib", hint="pip install 'kgsparql[eval]'") from error
    boards = comparison.leaderboards
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "-", board.dataset).strip("-").lower()[:60] or "dataset" for board in boards]
    names = [name if plain.count(name) == 1 else f"{name}-{place}" for place, name in enumerate(plain, 1)]
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a box stands for it, and the tables have the name
        return [
            list(_of_dataset(board, comparison, name)) if board.primary else []
            for board, name in zip(boards, names, strict=True)
        ]


def _of_dataset(board: Leaderboard, comparison: Comparison, name: str) -> Iterator[Plot]:
    costs = [
        cost
        for cost in ("model_calls", "queries", "seconds", "tokens")
        if cost in comparison.metrics
        and not (comparison.reproducible and cost in VARYING)
        and any((row.mean(cost) or 0) > 0 for row in board.rows)
    ]
    dataset, metric = printable(board.dataset, 60), board.primary
    if costs:
        about = f"{metric} of each method on {dataset} with its 95 % interval against its mean {_COST_NAMES[costs[0]]}."
        yield _plot(f"{name}-quality-cost", "Quality against cost", about, _quality_against_cost(board, costs[0]))
    for kind in SLICES:
        values = list(dict.fromkeys(value for row in board.rows for value in row.slices.get(kind, ())))
        if 1 < len(values) <= 10:
            about = f"{metric} of each method on {dataset} with its 95 % interval, by {kind}."
            yield _plot(f"{name}-by-{kind}", f"Quality by {kind}", about, _by_slice(board, kind, values))
            break
    if costs:
        about = f"How {', '.join(_COST_NAMES[cost] for cost in costs)} of a question are spread, method by method."
        yield _plot(f"{name}-costs", "How costs are spread", about, _costs(board, costs))


def _plot(name: str, title: str, about: str, figure: Any) -> Plot:
    """A figure as files without a date and without the version of what drew it."""
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    return Plot(name, title, about, svg.getvalue().decode(), png.getvalue())


def _figure(width: float, height: float, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)  # no window, whatever the machine has
    return figure, figure.subplots(1, columns, **options)


def _marks(i: int) -> dict[str, Any]:
    return {"color": _COLOURS[i % len(_COLOURS)], "marker": _MARKERS[(i + i // len(_COLOURS)) % len(_MARKERS)]}


def _heading(board: Leaderboard, text: str) -> str:
    sizes = sorted({row.n for row in board.rows if row.n})
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"{printable(board.dataset, 40)}: {text} ({count} questions)"


def _quality_against_cost(board: Leaderboard, cost: str) -> Any:
    figure, axes = _figure(7.5, 4.6)
    points, bars = [], []
    for i, row in enumerate(board.rows[:_MOST]):
        quality, spent = row.means[board.primary], row.means[cost]
        if quality is None or spent is None:
            continue
        marks = _marks(i)
        bars += axes.errorbar(
            spent.mean, quality.mean, yerr=[[quality.mean - quality.low], [quality.high - quality.mean]],
            xerr=[[spent.mean - spent.low], [spent.high - spent.mean]], markersize=7, elinewidth=1.2, capsize=0,
            linestyle="none", **marks,
        )[2]  # fmt: skip
        points.append((spent.mean, quality.mean, row.title, marks["color"]))
    axes.set_ylim(-0.02, 1.02)
    axes.margins(x=0.12)
    _scale(axes, cost, [x for x, *_ in points])
    axes.set_xlabel(f"{_COST_NAMES[cost]} (mean of a question)")
    axes.set_ylabel(board.primary)
    axes.set_title(_heading(board, f"{board.primary} against {_COST_NAMES[cost]}"))
    _name_points(figure, axes, points, bars)
    return figure


def _scale(axes: Any, cost: str, values: Sequence[float]) -> bool:
    """Set a scale that shows small costs beside large ones; return whether it is linear.

    If some costs are 0, the logarithmic scale is linear up to the least of the others.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    largest, some = max(values, default=0.0), [value for value in values if value > 0]
    is_plain = not some or largest <= 50 * min(some)
    if is_plain:
        axes.locator_params(axis="x", nbins=6, integer=cost != "seconds")
    else:
        powers = range(math.floor(math.log10(min(some))), math.ceil(math.log10(largest)) + 1)
        ticks = [10.0**power for power in powers]
        axes.set_xscale("log") if len(some) == len(values) else axes.set_xscale("symlog", linthresh=ticks[0])
        axes.xaxis.set_major_locator(FixedLocator(ticks if len(some) == len(values) else [0.0, *ticks]))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}" if cost == "seconds" else "{x:,.0f}")
    return is_plain


def _name_points(figure: Any, axes: Any, points: Sequence[tuple[float, float, str, str]], bars: Sequence[Any]) -> None:
    """Write each name beside its point, where it covers the fewest other names, points and bars."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    figure.canvas.draw()
    frame = axes.get_window_extent()
    taken: list[Any] = []
    lines = [bar.get_window_extent().padded(1) for bar in bars]
    places = {point[2]: axes.transData.transform(point[:2]) for point in points}
    for x, y, name, colour in sorted(points, key=lambda point: (-point[1], point[0])):
        text = axes.annotate(
            printable(name, 40), (x, y), xytext=(0, 0), textcoords="offset points", color=_darker(colour), fontsize=9,
            va="center", path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
        others = [Bbox.from_bounds(at[0] - 8, at[1] - 8, 16, 16) for n, at in places.items() if n != name]
        trouble = {}
        for side, offset in _offsets():
            text.set(ha="left" if side > 0 else "right", position=(9 * side, offset))
            box = text.get_window_extent().padded(1)
            is_inside = frame.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            found = 100.0 * (not is_inside) + 10 * sum(box.overlaps(other) for other in taken)
            found += 6 * sum(box.overlaps(other) for other in others) + 2 * sum(box.overlaps(line) for line in lines)
            trouble[side, offset] = found + 0.1 * abs(offset) + (side < 0)
        side, offset = min(trouble, key=lambda at: trouble[at])
        text.set(ha="left" if side > 0 else "right", position=(9 * side, offset))
        taken.append(text.get_window_extent().padded(1))


def _offsets() -> Iterator[tuple[int, float]]:
    """Side (1 is right, -1 left) and height of the places of a name beside its point, the nearest first."""
    for distance in range(0, 120, 6):
        for side in (1, -1):
            yield from ((side, float(distance)), (side, -float(distance)))


def _darker(colour: str) -> str:
    """A colour in which text can be read on white."""
    return "#" + "".join(f"{int(int(colour[i : i + 2], 16) * 0.7):02x}" for i in (1, 3, 5))


def _by_slice(board: Leaderboard, kind: str, values: Sequence[str]) -> Any:
    rows = [row for row in board.rows if row.n][:_MOST]
    figure, axes = _figure(max(7.5, 1.5 + 0.2 * len(values) * (len(rows) + 2)), 4.6)
    width = 0.8 / max(1, len(rows))
    for i, row in enumerate(rows):
        means = [row.slices[kind][value].means.get(board.primary) for value in values]
        points = [(place - 0.4 + width * (i + 0.5), found) for place, found in enumerate(means) if found is not None]
        axes.errorbar(
            [x for x, _ in points], [found.mean for _, found in points],
            yerr=[[found.mean - found.low for _, found in points], [found.high - found.mean for _, found in points]],
            linestyle="none", markersize=6, elinewidth=1.2, label=printable(row.title, 40), **_marks(i),
        )  # fmt: skip
    for place in range(1, len(values)):
        axes.axvline(place - 0.5, color="#cccccc", linewidth=0.8)
    sizes = [max(row.slices[kind][value].n for row in rows) for value in values]
    names = [f"{slice_name(kind, value)}\nn = {n:,}" for value, n in zip(values, sizes, strict=True)]
    axes.set_xticks(range(len(values)), names)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel(board.primary)
    axes.set_title(_heading(board, f"{board.primary} by {kind}"))
    figure.legend(loc="outside right upper", fontsize=9)
    return figure


def _costs(board: Leaderboard, costs: Sequence[str]) -> Any:
    """Box plots: quartiles, whiskers from the 5th to the 95th percentile, the mean as a dot."""
    rows = [row for row in board.rows if row.n][:_MOST]
    figure, grid = _figure(
        3.2 * len(costs) + 1.6, 1.6 + 0.36 * len(rows), columns=len(costs), sharey=True, squeeze=False
    )
    for axes, cost in zip(grid[0], costs, strict=True):
        boxes: list[Mapping[str, Any]] = []
        for values in (row.scores.defined(cost) for row in rows):
            five = np.percentile(values, (5, 25, 50, 75, 95)) if len(values) else [0.0] * 5
            mean = float(values.mean()) if len(values) else 0.0
            boxes.append(dict(zip(("whislo", "q1", "med", "q3", "whishi", "mean"), (*five, mean), strict=True)))
        parts = axes.bxp(
            boxes, orientation="horizontal", showfliers=False, showmeans=True, patch_artist=True, widths=0.55,
            positions=range(len(boxes)), meanprops={"marker": "o", "markersize": 4, "markerfacecolor": "white"},
            medianprops={"color": "#222222", "linewidth": 1.4}, whiskerprops={"color": "#666666"},
            capprops={"color": "#666666"},
        )  # fmt: skip
        for i, (box, mean) in enumerate(zip(parts["boxes"], parts["means"], strict=True)):
            colour = _COLOURS[i % len(_COLOURS)]
            box.set(facecolor=f"{colour}55", edgecolor=colour)
            mean.set_markeredgecolor("#222222")
        axes.grid(visible=False, axis="y")
        if _scale(axes, cost, [value for box in boxes for value in (box["med"], box["whishi"])]):
            axes.set_xlim(left=-0.03 * (axes.get_xlim()[1] or 1))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(_COST_NAMES[cost])
    grid[0][0].set_yticks(range(len(rows)), [printable(row.title, 40) for row in rows])
    grid[0][0].invert_yaxis()
    figure.suptitle(
        _heading(board, "cost of a question")
        + "\nbox: the middle half; whiskers: 5th to 95th percentile; line: median; dot: mean",
        x=0.01, ha="left", fontsize=10,
    )  # fmt: skip
    return figure
