"""Plots of a comparison: quality against cost, quality by hops, and how costs are spread."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.leaderboard import Leaderboard
from kgsparql.evaluation.scoring import VARYING
from kgsparql.rdf.terms import printable

__all__ = ["Plot", "drawn", "save_plots"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Of Okabe and Ito, which people who are colour-blind tell apart; yellow, too light for lines, is replaced."""

_MARKERS = "osD^vPX*"
"""With the colours, so that no row is told by its colour alone."""

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
"""Rows in a plot; of more, the best."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as two files.

    :param about: what it shows, in a sentence, for those who do not see it.
    """

    name: str
    title: str
    about: str
    svg: str
    png: bytes


def save_plots(comparison: Comparison, directory: Path) -> list[Path]:
    """Draw all plots and write each as PNG and SVG; the same figures give the same bytes.

    :raises OptionError: if matplotlib is not installed.
    :raises InputError: if the directory cannot be written.
    """
    plots = [plot for own in drawn(comparison) for plot in own]
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for plot in plots:
            for ending, data in (("png", plot.png), ("svg", plot.svg.encode())):
                written.append(directory / f"{plot.name}.{ending}")
                written[-1].write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {directory}: {error.strerror}", hint="name another directory") from error
    return written


def drawn(comparison: Comparison) -> list[list[Plot]]:
    """The plots of each dataset.

    :raises OptionError: if matplotlib is not installed.
    """
    with _style():
        return [list(_of_dataset(leaderboard, comparison)) for leaderboard in comparison.leaderboards]


@contextmanager
def _style() -> Iterator[None]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise OptionError("plots need matplotlib", hint="pip install 'kgsparql[eval]'") from error
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a box stands for it, and the tables have the name
        yield


def _of_dataset(leaderboard: Leaderboard, comparison: Comparison) -> Iterator[Plot]:
    if not leaderboard.primary:
        return
    name = _file_name(leaderboard, comparison)
    costs = [
        cost
        for cost in ("model_calls", "queries", "seconds", "tokens")
        if cost in comparison.metrics
        and not (comparison.reproducible and cost in VARYING)
        and any((row.mean(cost) or 0) > 0 for row in leaderboard.rows)
    ]
    dataset, metric = printable(leaderboard.dataset, 60), leaderboard.primary
    if costs:
        about = f"{metric} of each method on {dataset} with its 95 % interval against its mean {_COST_NAMES[costs[0]]}."
        yield _finished(
            f"{name}-quality-cost", "Quality against cost", about, _quality_against_cost(leaderboard, costs[0])
        )
    for kind, words in (("hops", "hops"), ("type", "type"), ("direction", "direction")):
        values = list(dict.fromkeys(value for row in leaderboard.rows for value in row.slices.get(kind, ())))
        if 1 < len(values) <= 10:
            about = f"{metric} of each method on {dataset} with its 95 % interval, by {words}."
            yield _finished(f"{name}-by-{words}", f"Quality by {words}", about, _by_slice(leaderboard, kind, values))
            break
    if costs:
        about = f"How {', '.join(_COST_NAMES[cost] for cost in costs)} of a question are spread, method by method."
        yield _finished(f"{name}-costs", "How costs are spread", about, _costs(leaderboard, costs))


def _file_name(leaderboard: Leaderboard, comparison: Comparison) -> str:
    """The dataset's name as a part of a file's, with a number where two would be one."""
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "-", one.dataset).strip("-").lower()[:60] for one in comparison.leaderboards]
    names = [name or "dataset" for name in plain]
    place = comparison.leaderboards.index(leaderboard)
    own = names[place]
    return own if names.count(own) == 1 else f"{own}-{place + 1}"


def _finished(name: str, title: str, about: str, figure: Any) -> Plot:
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


def _label(name: str) -> str:
    return printable(name, 40)


def _heading(leaderboard: Leaderboard, text: str) -> str:
    sizes = sorted({row.n for row in leaderboard.rows if row.n})
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"{_label(leaderboard.dataset)}: {text} ({count} questions)"


def _quality_against_cost(leaderboard: Leaderboard, cost: str) -> Any:
    figure, axes = _figure(7.5, 4.6)
    points, bars = [], []
    for i, row in enumerate(leaderboard.rows[:_MOST]):
        quality, spent = row.means[leaderboard.primary], row.means[cost]
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
    axes.set_ylabel(leaderboard.primary)
    axes.set_title(_heading(leaderboard, f"{leaderboard.primary} against {_COST_NAMES[cost]}"))
    _name_points(figure, axes, points, bars)
    return figure


def _scale(axes: Any, cost: str, values: Sequence[float]) -> bool:
    """A scale on which small costs can be told apart beside large ones; whether it is a plain one.

    Where some are nothing, the logarithmic scale is a plain one up to the least of the others.
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
    """Write each name beside its point: where it lies on no other name and, as far as that can be, on no bar."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    figure.canvas.draw()
    frame = axes.get_window_extent()
    taken: list[Any] = []
    lines = [bar.get_window_extent().padded(1) for bar in bars]
    places = {point[2]: axes.transData.transform(point[:2]) for point in points}
    for x, y, name, colour in sorted(points, key=lambda point: (-point[1], point[0])):
        text = axes.annotate(
            _label(name), (x, y), xytext=(0, 0), textcoords="offset points", color=_darker(colour), fontsize=9,
            va="center", path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
        found: tuple[float, int, int, float] | None = None
        others = [
            Bbox.from_extents(at[0] - 8, at[1] - 8, at[0] + 8, at[1] + 8) for n, at in places.items() if n != name
        ]
        for place, (side, offset) in enumerate(_offsets()):
            text.set_ha("left" if side > 0 else "right")
            text.set_position((9 * side, offset))
            box = text.get_window_extent().padded(1)
            is_inside = frame.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            trouble = 100.0 * (not is_inside) + 10 * sum(box.overlaps(other) for other in taken)
            trouble += 6 * sum(box.overlaps(other) for other in others) + 2 * sum(box.overlaps(line) for line in lines)
            trouble += 0.1 * abs(offset) + (side < 0)
            if found is None or (trouble, place) < found[:2]:
                found = trouble, place, side, offset
        if found is not None:
            text.set_ha("left" if found[2] > 0 else "right")
            text.set_position((9 * found[2], found[3]))
            taken.append(text.get_window_extent().padded(1))


def _offsets() -> Iterator[tuple[int, float]]:
    """Places to the right and left of a point, and above and below it, the nearest first."""
    for distance in range(0, 120, 6):
        for side in (1, -1):
            yield side, float(distance)
            yield side, -float(distance)


def _darker(colour: str) -> str:
    """A colour as a text that can be read on white.

    >>> _darker("#56B4E9")
    '#3c7da3'
    """
    return "#" + "".join(f"{int(int(colour[i : i + 2], 16) * 0.7):02x}" for i in (1, 3, 5))


def _by_slice(leaderboard: Leaderboard, kind: str, values: Sequence[str]) -> Any:
    rows = [row for row in leaderboard.rows if row.n][:_MOST]
    figure, axes = _figure(max(7.5, 1.5 + 0.2 * len(values) * (len(rows) + 2)), 4.6)
    width = 0.8 / max(1, len(rows))
    for i, row in enumerate(rows):
        drawn_at, means, below, above = [], [], [], []
        for place, value in enumerate(values):
            found = row.slices[kind][value].means.get(leaderboard.primary)
            if found is not None:
                drawn_at.append(place - 0.4 + width * (i + 0.5))
                means.append(found.mean)
                below.append(found.mean - found.low)
                above.append(found.high - found.mean)
        axes.errorbar(
            drawn_at, means, yerr=[below, above], linestyle="none", markersize=6, elinewidth=1.2,
            label=_label(row.title), **_marks(i),
        )  # fmt: skip
    for place in range(1, len(values)):
        axes.axvline(place - 0.5, color="#cccccc", linewidth=0.8)
    sizes = [max(row.slices[kind][value].n for row in rows) for value in values]
    names = [f"{_slice_name(kind, value)}\nn = {n:,}" for value, n in zip(values, sizes, strict=True)]
    axes.set_xticks(range(len(values)), names)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel(leaderboard.primary)
    axes.set_title(_heading(leaderboard, f"{leaderboard.primary} by {kind}"))
    figure.legend(loc="outside right upper", fontsize=9)
    return figure


def _slice_name(kind: str, value: str) -> str:
    if kind == "hops" and value.isdecimal():
        return f"{value} hop{'' if value == '1' else 's'}"
    return _label(value)


def _costs(leaderboard: Leaderboard, costs: Sequence[str]) -> Any:
    """Boxes from the first to the third quartile, whiskers from the 5th to the 95th percentile, the mean as a dot."""
    pairs = [(row, one) for row, one in zip(leaderboard.rows, leaderboard.scores, strict=True) if row.n][:_MOST]
    figure, grid = _figure(
        3.2 * len(costs) + 1.6, 1.6 + 0.36 * len(pairs), columns=len(costs), sharey=True, squeeze=False
    )
    for axes, cost in zip(grid[0], costs, strict=True):
        columns = [one.defined(cost) for _, one in pairs]
        boxes: list[Mapping[str, Any]] = []
        for values in columns:
            low, first, middle, third, high = np.percentile(values, (5, 25, 50, 75, 95)) if len(values) else [0.0] * 5
            mean = float(values.mean()) if len(values) else 0.0
            boxes.append({"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high, "mean": mean})
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
        is_plain = _scale(axes, cost, [value for box in boxes for value in (box["med"], box["whishi"])])
        if is_plain:
            axes.set_xlim(left=-0.03 * (axes.get_xlim()[1] or 1))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(_COST_NAMES[cost])
    grid[0][0].set_yticks(range(len(pairs)), [_label(row.title) for row, _ in pairs])
    grid[0][0].invert_yaxis()
    figure.suptitle(
        _heading(leaderboard, "cost of a question")
        + "\nbox: the middle half; whiskers: 5th to 95th percentile; line: median; dot: mean",
        x=0.01, ha="left", fontsize=10,
    )  # fmt: skip
    return figure
