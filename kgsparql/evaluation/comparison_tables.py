"""A comparison as tables, in text or Markdown: who is best, by how much, where, and at what cost."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgsparql.evaluation.comparison import Comparison
from kgsparql.evaluation.leaderboard import Leaderboard, Row
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.risk_coverage import COVERAGES, risk_coverage
from kgsparql.evaluation.scoring import ALWAYS
from kgsparql.evaluation.statistics import FEW, RESAMPLES, Interval
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import WIDTH, wrapped

_SHARES = ("grounded", "unsupported_claims", "abstained", "misleading", "wrong_yes_no", "partial", *ALWAYS)
"""Metrics that are shown as shares of the questions, in per cent."""

_WITH_INTERVALS = ("hits@1", "expected_hits@1")
"""Metrics whose intervals are in the first table; those of the others are in CSV and JSON."""

_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1", "exact")
_QUALITY_WIDE = (*_QUALITY, "hits@10", "mrr")
_EVIDENCE = ("triple_recall", "triple_f1", "triple_hit@10", "linking_recall@1", "linking_recall@5")
_COSTS = ("model_calls", "rounds", "tokens", "cost", "paid_cost", "queries", "seconds")
_OF_A_MODEL = frozenset({"rounds", "tokens", "cost", "paid_cost"})
"""Metrics that say nothing where no model was asked."""

_NARROWEST_NAMES, _WIDEST_NAMES = 20, 40
"""Widths of the column of names in text."""

_SLICE_TITLES = {"hops": "by hops", "type": "by type of question", "direction": "by direction of the path"}

_TESTS = {
    "mcnemar": "Bonett and Price, exact McNemar test, where all values are 0 or 1",
    "randomisation": "paired bootstrap, paired randomisation test",
}
_HOW_SURE = (
    (
        "The 95 % interval of a mean is Wilson's score interval where the metric is a share and every value is 0 or 1,"
        " as in hits@1: it is as wide as it must be near 0 and 1 too. Elsewhere, as in f1 and in costs, it is that of"
        f" the percentile bootstrap ({RESAMPLES:,} resamples), which is too narrow for few questions and near 0 and 1."
    ),
    (
        "The interval of a difference is of this one comparison: Bonett and Price's where every value is 0 or 1, else"
        " that of the paired bootstrap. Its p is after Holm's correction for all comparisons in the same metric: of the"
        " rows with the baseline; or, where the best was found on the same questions, of every row with every other."
        " So an interval may leave out 0 where p says that no difference is shown: then p counts."
    ),
)
"""What the figures behind a mean and a difference are."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    :param columns: the heads; the first is that of the names of rows.
    :param rows: as many cells as there are columns.
    :param left: places of columns that are aligned to the left, beside the first.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset()
    captions: tuple[str, ...] = ()


def comparison_text(comparison: Comparison) -> str:
    """Write aligned tables for a terminal or a pipe."""
    parts = ["\n".join(_text_lines(board, comparison)) for board in comparison.leaderboards]
    tables = _mean_auroc_tables(comparison)
    parts += ["\n".join((table.title, *table_lines([table.columns, *table.rows]))) for table in tables]
    return "\n\n".join(parts) + "\n"


def _text_lines(board: Leaderboard, comparison: Comparison) -> Iterator[str]:
    yield from wrapped(_heading(board))
    for sentence in summary(board):
        yield from wrapped(sentence, indent="  ")
    for table in _tables(board, comparison):
        yield ""
        yield from wrapped(table.title)
        yield from table_lines([table.columns, *table.rows], table.left)
        for caption in table.captions:
            yield from wrapped(caption, indent="  ")
    if board.notes:
        yield ""
        yield "Notes"
        for note in board.notes:
            first, *others = wrapped(printable(note, 600), indent="    ")
            yield f"  - {first[4:]}"
            yield from others


def table_lines(rows: Sequence[Sequence[str]], left: Iterable[int] = ()) -> list[str]:
    """Align the cells of a table; a long name in the first column goes on in the next line.

    :param rows: the first has the heads.
    :param left: columns that are aligned to the left, beside the first.

    >>> table_lines([["name", "n"], ["a", "10"]])
    ['  name   n', '  a     10']
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as Grid

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    others = sum(2 + width for width in widths[1:])
    widths[0] = min(widths[0], max(_NARROWEST_NAMES, min(WIDTH - 2 - others, _WIDEST_NAMES)))
    to_left = {0, *left}
    grid = Grid(box=None, header_style="", pad_edge=False, padding=(0, 2, 0, 0))
    for i, (head, width) in enumerate(zip(rows[0], widths, strict=True)):
        grid.add_column(head, justify="left" if i in to_left else "right", width=width, overflow="fold")
    for row in rows[1:]:
        grid.add_row(*(cell.replace("[", r"\[") for cell in row))
    console = Console(width=4 + widths[0] + others, color_system=None, file=io.StringIO(), legacy_windows=False)
    with console.capture() as shown:
        console.print(Padding(grid, (0, 0, 0, 2)))
    return [line.rstrip() for line in shown.get().splitlines()]


def comparison_markdown(comparison: Comparison) -> str:
    """Write tables as GitHub shows them; what a dataset says has no markup: see :func:`escaped`."""
    parts = ["\n".join(_markdown_lines(board, comparison)) for board in comparison.leaderboards]
    parts += ["\n".join((f"## {table.title}", "", *_pipe_table(table))) for table in _mean_auroc_tables(comparison)]
    return "\n\n".join(parts) + "\n"


def _markdown_lines(board: Leaderboard, comparison: Comparison) -> Iterator[str]:
    yield f"## {escaped(_heading(board))}"
    if sentences := " ".join(summary(board)):
        yield from ("", escaped(sentences))
    for table in _tables(board, comparison, wide=True):
        yield from ("", f"### {escaped(table.title)}", "", *_pipe_table(table))
        if table.captions:
            yield from ("", escaped(" ".join(table.captions)))
    if board.notes:
        yield from ("", "### Notes", "", *(f"- {escaped(note)}" for note in board.notes))


def _pipe_table(table: Table) -> list[str]:
    marks = [":---" if not i or i in table.left else "---:" for i in range(len(table.columns))]
    rows = [list(map(escaped, row)) for row in (table.columns, *table.rows)]
    return [f"| {' | '.join(cells)} |" for cells in (rows[0], marks, *rows[1:])]


def escaped(text: str, limit: int = 600) -> str:
    r"""Write a text as Markdown in which nothing is emphasis, code, a link with other words, an image or a tag.

    What a site adds to Markdown stays: GitHub makes links of bare addresses, and of names after an @.

    >>> print(escaped("expected_hits@1 | <b> &lt; $x$"))
    expected\_hits@1 \| \<b\> \&lt; \$x\$
    """
    return re.sub(r"([\\`*_\[\]<>#|!&~$])", r"\\\1", printable(text, limit))


def amount(metric: str, value: float | None) -> str:
    """Write a figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", None)
    ('0.811', '12,346', '3.2', '–')
    """
    if value is None:
        return "–"
    if metric in {"cost", "paid_cost"}:
        return f"{value:.2f}" if value >= 1 or not value else f"{float(f'{value:.2g}'):.8f}".rstrip("0")
    if metric in _SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if _is_quality(metric):
        return f"{value:.3f}"
    size, is_time = abs(value), metric.startswith("seconds")
    digits = 0 if size >= 100 or not size else 3 if size < 0.01 else 2 if size < (10 if is_time else 0.1) else 1
    return f"{value:,.{digits}f}"


def _is_quality(metric: str) -> bool:
    return METRICS[metric].group != "cost" and metric not in _SHARES


def _with_interval(metric: str, found: Interval | None) -> str:
    if found is None:
        return "–"
    return f"{amount(metric, found.mean)} ({amount(metric, found.low)}–{amount(metric, found.high)})"


def _signed(metric: str, value: float) -> str:
    """Write a difference with its sign.

    >>> _signed("hits@1", -0.1), _signed("hits@1", 0.1), _signed("hits@1", -0.0001)
    ('-0.100', '+0.100', '0.000')
    """
    text = amount(metric, abs(value))
    return f"{'-' if value < 0 else '+'}{text}" if text.strip("0.,% ") else text


def _name_list(names: Sequence[str]) -> str:
    """Join names of rows, which may have commas themselves."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def _heading(board: Leaderboard) -> str:
    counts = sorted({row.questions for row in board.rows})
    asked = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    models = sorted({row.model for row in board.rows}, key=lambda name: (not name, name))  # no model is the last
    names = printable(", ".join(name or "none" for name in models), 200)
    model = f"models: {names}" if len(models) > 1 else f"model {names}" if models[0] else "no model"
    return f"{printable(board.dataset, 100)}: {asked} {'question' if counts == [1] else 'questions'}, {model}"


def summary(board: Leaderboard) -> Iterator[str]:
    """Yield sentences that say which row is best, and which are shown to be worse or better than the reference."""
    metric = board.primary
    has_methods = any(row.mean(metric) is not None for row in board.rows if not row.is_ceiling) if metric else False
    if board.best is not None:
        yield from _best_sentences(board, board.rows[board.best])
    elif metric and all(row.is_no_ceiling for row in board.rows if row.n):
        yield "No row is a ceiling: nobody chooses in any of them."
    elif metric and not has_methods:
        yield "No method has a figure: there are only ceilings, where an oracle chooses."
    else:
        yield "No metric of quality is defined: nobody knows the right answers."
    if board.reference is None or len(board.rows) < 2:
        return
    tests = {i: own[metric] for i, own in board.tests.items() if metric in own}
    words = {"worse": "Shown to be worse than", "better": "Shown to be better than"}
    for verdict, said in {**words, "not shown": "Not shown to differ from"}.items():
        if names := [board.rows[i].title for i, test in tests.items() if test.verdict == verdict]:
            yield f"{said} {board.rows[board.reference].name}: {_name_list(names)}."


def _best_sentences(board: Leaderboard, best: Row) -> Iterator[str]:
    metric = board.primary
    found = best.means[metric]
    assert found is not None  # noqa: S101 - a row without the metric is not the best
    tied = _name_list([board.rows[i].name for i in board.tied])
    why = f"{board.decided_by} decides" if board.decided_by else "nothing tells them apart"
    yield f"Best {metric}: {best.name}, {_with_interval(metric, found)}{f'; tied with {tied} ({why})' if tied else ''}."


def _tables(board: Leaderboard, comparison: Comparison, *, wide: bool = False) -> list[Table]:
    """Make everything that is shown of one dataset."""
    tables = [_quality_table(board, comparison, wide=wide)]
    if board.tests and board.tested:
        tables.append(_difference_table(board, comparison))
    tables += [_slice_table(board, kind) for kind in _slice_kinds(board, comparison)]
    if not comparison.named:
        texts = [name for name in comparison.metrics if METRICS[name].group == "text"]
        tables.append(_means_table("Evidence and linking", board, _defined(board, comparison, _EVIDENCE)))
        tables.append(_means_table("Words of the answers", board, _defined(board, comparison, texts)))
        tables.append(_risk_table(board))
    always = _defined(board, comparison, _SHARES, always=ALWAYS)
    tables.append(_means_table("Reliability: share of questions", board, always))
    tables.append(_means_table("Cost: mean of a question", board, _costs_shown(board, comparison)))
    return [table for table in tables if table.rows and len(table.columns) > 1]


def _row_label(board: Leaderboard, row: Row) -> str:
    is_best = board.best is not None and board.rows[board.best] is row
    return f"{row.name} *" if is_best and len(board.rows) > 1 else row.title


def _defined(
    board: Leaderboard, comparison: Comparison, metrics: Sequence[str], always: Sequence[str] = ()
) -> list[str]:
    """Select those of the metrics that are compared, or shown always, and that some row has a figure for."""
    wanted = {*comparison.metrics, *always}
    return [m for m in metrics if m in wanted and any(row.means.get(m) is not None for row in board.rows)]


def _means_table(title: str, board: Leaderboard, metrics: Sequence[str]) -> Table:
    heads = (name.replace("_", " ") for name in metrics)
    rows = tuple((_row_label(board, row), *(amount(name, row.mean(name)) for name in metrics)) for row in board.rows)
    return Table(title, ("method", *heads), rows)


def _costs_shown(board: Leaderboard, comparison: Comparison) -> list[str]:
    """Select the metrics of cost; where no model was asked, without those that only a model has."""
    has_model = comparison.named or any((row.mean("model_calls") or 0) > 0 for row in board.rows)
    costs = _defined(board, comparison, comparison.metrics if comparison.named else _COSTS)
    return [name for name in costs if METRICS[name].group == "cost" and (has_model or name not in _OF_A_MODEL)]


def _risk_table(board: Leaderboard) -> Table:
    """Show how many are right among the answers that a method is surest of."""
    found = [(row, risk_coverage(row.scores.values)) for row in board.rows]
    rows = tuple(
        (
            _row_label(board, row), f"{curve.n:,}", *(f"{100 * share:.0f} %" for share in curve.right),
            "–" if curve.auroc is None else f"{curve.auroc:.3f}",
        )
        for row, curve in found
        if curve is not None
    )  # fmt: skip
    caption = (
        "The margin is the score of the first answer above that of the next path. AUROC: how often a right answer has"
        " a larger margin than a wrong one; 0.5 is chance."
    )
    columns = ("method", "answered", *(f"{100 * coverage:.0f} %" for coverage in COVERAGES), "AUROC")
    return Table("Risk and coverage: first answers that are right among the surest", columns, rows, captions=(caption,))


def _mean_auroc_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield a table of the mean AUROC over datasets: one pooled figure would also measure which dataset is easy."""
    by_row: dict[str, list[float]] = {}
    for board in comparison.leaderboards:
        for row in board.rows:
            curve = risk_coverage(row.scores.values)
            if curve is not None and curve.auroc is not None:
                by_row.setdefault(row.name, []).append(curve.auroc)
    rows = [
        (name, f"{sum(found) / len(found):.3f}")
        for name, found in by_row.items()
        if len(found) == len(comparison.leaderboards) > 1
    ]
    if rows and not comparison.named:
        title = f"Risk and coverage: mean AUROC of the {len(comparison.leaderboards)} datasets"
        yield Table(title, ("method", "AUROC"), tuple(rows))


def _quality_table(board: Leaderboard, comparison: Comparison, *, wide: bool) -> Table:
    wanted = comparison.metrics if comparison.named else _QUALITY_WIDE if wide else _QUALITY
    metrics = [name for name in _defined(board, comparison, wanted) if _is_quality(name)]
    with_intervals = metrics if comparison.named and len(metrics) <= 3 else _WITH_INTERVALS
    if not set(metrics) & set(with_intervals):
        with_intervals = [board.primary]
    has_all = len({row.questions for row in board.rows}) == 1 and all(r.n == r.questions for r in board.rows)
    rows = []
    for row in board.rows:
        asked = f"{row.n:,}" if row.n == row.questions else f"{row.n:,} of {row.questions:,}"
        cells = (
            _with_interval(name, row.means[name]) if name in with_intervals else amount(name, row.mean(name))
            for name in metrics
        )
        rows.append((_row_label(board, row), *([] if has_all else [asked]), *cells))
    captions = [
        *([f"* best {board.primary}"] if board.best is not None and len(rows) > 1 else []),
        *(["† nobody chooses: as without a model, no ceiling"] if any(r.is_no_ceiling for r in board.rows) else []),
        *(["‡ an oracle chooses: a ceiling, no method"] if any(row.is_ceiling for row in board.rows) else []),
        *_interval_caption(
            [r.means[name] for r in board.rows for name in metrics if name in with_intervals], comparison
        ),
    ]
    columns = ("method", *([] if has_all else ["n"]), *metrics)
    return Table("Quality", columns, tuple(rows) if metrics else (), captions=tuple(captions))


def _interval_caption(found: Sequence[Interval | None], comparison: Comparison) -> Iterator[str]:
    names = {
        "wilson": "Wilson's score interval",
        "bootstrap": f"bootstrap, {RESAMPLES:,} resamples, seed {comparison.seed}",
    }
    methods = {one.method for one in found if one is not None}
    if methods:
        yield f"In brackets: 95 % interval of the mean ({'; else '.join(names[m] for m in names if m in methods)})."


def _difference_table(board: Leaderboard, comparison: Comparison) -> Table:
    assert board.reference is not None  # noqa: S101 - there are no tests without it
    sizes = {test.difference.n for own in board.tests.values() for test in own.values()}
    has_all = len(sizes) == 1 and all(board.tests.values())
    rows: list[tuple[str, ...]] = []
    for i, own in board.tests.items():
        name = board.rows[i].title
        if not own:
            rows.append((name, "0", "–", "–", "–", "none shared"))
        for place, (metric, test) in enumerate(own.items()):
            found = test.difference
            bounds = f" [{_signed(metric, found.low)}, {_signed(metric, found.high)}]" if found.has_interval else ""
            p = "p<0.001" if test.p < 0.001 else f"p={test.p:.3f}"
            rows.append((
                "" if place else name, *([] if has_all else [f"{found.n:,}"]), metric,
                f"{_signed(metric, found.mean)}{bounds}", f"{test.won}:{test.lost}", f"{test.verdict}, {p}",
            ))  # fmt: skip
    columns = ("method", *([] if has_all else ["n"]), "metric", "difference", "won:lost", "verdict")
    left = frozenset({1, 4} if has_all else {2, 5})
    shared = f"{min(sizes):,} questions" if has_all else "the questions that both were asked"
    is_best = board.reference == board.best and not comparison.baseline
    why = f"the best {board.primary}" if is_best else "the baseline"
    title = f"Against {board.rows[board.reference].name} ({why}), on {shared}"
    return Table(title, columns, tuple(rows), left, (_test_caption(board),))


def _test_caption(board: Leaderboard) -> str:
    """Say which tests are used."""
    tests = [test for own in board.tests.values() for test in own.values()]
    used = {test.difference.test for test in tests}
    names = [name for kind, name in _TESTS.items() if kind in used]
    count = max((test.comparisons for test in tests), default=0)
    corrected = f" p is corrected (Holm) for all {count}; it decides, not the interval." if count > 1 else ""
    return f"95 % interval and p: {'; else '.join(names)}.{corrected} p below 0.05 shows a difference."


def _slice_kinds(board: Leaderboard, comparison: Comparison) -> Sequence[str]:
    """Choose what tables group questions by: what the user named, else hops, or types where they are few."""
    there = [kind for kind in comparison.by if any(row.slices.get(kind) for row in board.rows)]
    if comparison.by_named or not there:
        return there
    if "hops" in there:
        return ["hops"]
    types = max((len(row.slices.get("type", ())) for row in board.rows), default=0)
    return ["type"] if 1 < types <= 8 else []


def _slice_table(board: Leaderboard, kind: str) -> Table:
    metric = board.primary
    values = list(dict.fromkeys(value for row in board.rows for value in row.slices[kind]))
    heads = []
    for value in values:
        sizes = sorted({row.slices[kind][value].n for row in board.rows if row.slices[kind][value].n})
        count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}" if sizes else "0"
        heads.append(f"{slice_name(kind, value)} (n {count})")
    means = [[row.slices[kind][value].means.get(metric) for value in values] for row in board.rows]
    rows = tuple(
        (_row_label(board, row), *(_with_interval(metric, mean) for mean in own))
        for row, own in zip(board.rows, means, strict=True)
    )
    is_small = any(mean is not None and mean.n < FEW and mean.method == "bootstrap" for own in means for mean in own)
    captions = (f"Bootstrap intervals of fewer than {FEW} questions are rough, and too narrow.",) if is_small else ()
    return Table(f"{metric} {_SLICE_TITLES[kind]}", ("method", *heads), rows if metric else (), captions=captions)


def slice_name(kind: str, value: str) -> str:
    """Name a slice of the questions: ``2 hops``."""
    if kind == "hops" and value.isdecimal():
        return f"{value} hop" if value == "1" else f"{value} hops"
    return printable(value, 40)


def metric_definitions(names: Sequence[str]) -> str:
    """Write the definitions of metrics, and what their intervals are."""
    lines = []
    for name in names:
        metric = METRICS[name]
        lines.append(f"{name}  ({metric.group}; {metric.better_text})")
        for paragraph in metric.about.split("\n\n"):
            lines += wrapped(" ".join(paragraph.split()), indent="    ")
        lines.append("")
    lines.append("intervals")
    for part in _HOW_SURE:
        lines += wrapped(part, indent="    ")
    return "\n".join([*lines, ""])
