"""A comparison as tables of texts, which every format shows: who is best, by how much, where, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgsparql.evaluation.comparison import figures
from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.figures import amount, signed, with_interval
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS
from kgsparql.evaluation.statistics import FEW, RESAMPLES, Interval
from kgsparql.rdf.terms import printable

_WITH_INTERVALS = ("hits@1", "expected_hits@1")
"""Metrics whose intervals are in the first table; those of the others are in CSV and JSON."""

_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1", "exact")
_QUALITY_WIDE = (*_QUALITY, "hits@10", "mrr")
_EVIDENCE = ("triple_recall", "triple_f1", "triple_hit@10", "linking_recall@1", "linking_recall@5")
_COSTS = ("model_calls", "rounds", "tokens", "cost", "paid_cost", "queries", "seconds")
_OF_A_MODEL = frozenset({"rounds", "tokens", "cost", "paid_cost"})
"""Metrics that say nothing where no model was asked."""

HOW_SURE = (
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

_KINDS = {"hops": "by hops", "type": "by type of question", "direction": "by direction of the path"}


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


@dataclass(frozen=True, slots=True)
class Section:
    """Everything that is shown of one dataset.

    :param summary: sentences for a reader who reads nothing else.
    """

    dataset: str
    heading: str
    summary: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def sections(comparison: Comparison, *, wide: bool = False) -> Iterator[Section]:
    """What is shown, dataset by dataset."""
    for board in comparison.leaderboards:
        tables = [_quality(board, comparison, wide=wide)]
        if board.tests and board.tested:
            tables.append(_differences(board, comparison))
        tables += [_by_slice(board, kind) for kind in _kinds(board, comparison)]
        if not comparison.named:
            texts = [name for name in comparison.metrics if METRICS[name].group == "text"]
            tables.append(_means("Evidence and linking", board, _defined(board, comparison, _EVIDENCE)))
            tables.append(_means("Words of the answers", board, _defined(board, comparison, texts)))
        always = _defined(board, comparison, figures.SHARES, always=ALWAYS)
        tables.append(_means("Reliability: share of questions", board, always))
        tables.append(_means("Cost: mean of a question", board, _costs(board, comparison)))
        yield Section(
            dataset=board.dataset,
            heading=figures.heading(board),
            summary=tuple(figures.summary(board)),
            tables=tuple(table for table in tables if table.rows and len(table.columns) > 1),
            notes=board.notes,
        )


def _label(board: Leaderboard, row: Row) -> str:
    is_best = board.best is not None and board.rows[board.best] is row
    return f"{row.name} *" if is_best and len(board.rows) > 1 else row.title


def _defined(
    board: Leaderboard, comparison: Comparison, metrics: Sequence[str], always: Sequence[str] = ()
) -> list[str]:
    """Those of the metrics that are compared, or shown always, and that some row has a figure for."""
    wanted = {*comparison.metrics, *always}
    return [m for m in metrics if m in wanted and any(row.means.get(m) is not None for row in board.rows)]


def _means(title: str, board: Leaderboard, metrics: Sequence[str]) -> Table:
    heads = (name.replace("_", " ") for name in metrics)
    rows = tuple((_label(board, row), *(amount(name, row.mean(name)) for name in metrics)) for row in board.rows)
    return Table(title, ("method", *heads), rows)


def _costs(board: Leaderboard, comparison: Comparison) -> list[str]:
    """The metrics of cost; where no model was asked, without those that only a model has."""
    has_model = comparison.named or any((row.mean("model_calls") or 0) > 0 for row in board.rows)
    costs = _defined(board, comparison, comparison.metrics if comparison.named else _COSTS)
    return [name for name in costs if METRICS[name].group == "cost" and (has_model or name not in _OF_A_MODEL)]


def _quality(board: Leaderboard, comparison: Comparison, *, wide: bool) -> Table:
    wanted = comparison.metrics if comparison.named else _QUALITY_WIDE if wide else _QUALITY
    metrics = [name for name in _defined(board, comparison, wanted) if figures.is_quality(name)]
    with_intervals = metrics if comparison.named and len(metrics) <= 3 else _WITH_INTERVALS
    if not set(metrics) & set(with_intervals):
        with_intervals = [board.primary]
    has_all = len({row.questions for row in board.rows}) == 1 and all(r.n == r.questions for r in board.rows)
    rows = []
    for row in board.rows:
        asked = f"{row.n:,}" if row.n == row.questions else f"{row.n:,} of {row.questions:,}"
        cells = (
            with_interval(name, row.means[name]) if name in with_intervals else amount(name, row.mean(name))
            for name in metrics
        )
        rows.append((_label(board, row), *([] if has_all else [asked]), *cells))
    captions = [
        *([f"* best {board.primary}"] if board.best is not None and len(rows) > 1 else []),
        *(["† nobody chooses: as without a model, no ceiling"] if any(r.is_no_ceiling for r in board.rows) else []),
        *(["‡ an oracle chooses: a ceiling, no method"] if any(row.is_ceiling for row in board.rows) else []),
        *_how_sure([row.means[name] for row in board.rows for name in metrics if name in with_intervals], comparison),
    ]
    columns = ("method", *([] if has_all else ["n"]), *metrics)
    return Table("Quality", columns, tuple(rows) if metrics else (), captions=tuple(captions))


def _how_sure(intervals: Sequence[Interval | None], comparison: Comparison) -> Iterator[str]:
    methods = {found.method for found in intervals if found is not None}
    drawn = f"({RESAMPLES:,} resamples, seed {comparison.seed})"
    if methods == {"wilson"}:
        yield "In brackets: 95 % interval of the mean (Wilson's score interval)."
    elif methods == {"bootstrap"}:
        yield f"In brackets: 95 % interval of the mean, by the bootstrap {drawn}."
    elif methods:
        yield f"In brackets: 95 % interval of the mean: Wilson's where all values are 0 or 1, else bootstrap {drawn}."


def how_tested(board: Leaderboard) -> str:
    """Which test is used where, in one line."""
    used = {(name, test.difference.test) for own in board.tests.values() for name, test in own.items()}
    other = [name for name in board.tested if (name, "randomisation") in used]
    exact = [name for name in board.tested if (name, "mcnemar") in used and name not in other]
    parts = [
        *([f"{', '.join(exact)}: exact McNemar test"] if exact else []),
        *([f"{', '.join(other)}: paired randomisation test"] if other else []),
    ]
    methods = [*(["Bonett and Price's"] if exact else []), *(["paired bootstrap"] if other else [])]
    intervals = f"In brackets: 95 % interval ({'; else '.join(methods)})"
    rows = sum(1 for own in board.tests.values() if own)
    count = max((test.comparisons for own in board.tests.values() for test in own.values()), default=0)
    if count < 2:
        return f"{'; '.join(parts)}. {intervals}. Where p is 0.05 or more, no difference is shown."
    why = "" if count == rows else f" pairs of {rows + 1} rows, since the best was found on the same questions"
    return (
        f"{'; '.join(parts)}. {intervals} of this one comparison; p is corrected (Holm) for all {count}{why}. So an"
        " interval may leave out 0 where no difference is shown: p decides, which is below 0.05 for a difference."
    )


def _weakened(board: Leaderboard) -> Iterator[str]:
    """What to do where a difference would be significant if there were fewer rows."""
    lost = {
        i
        for i, own in board.tests.items()
        if any(test.verdict == "not shown" and test.difference.p < 0.05 for test in own.values())
    }
    if lost:
        yield (
            f"Alone, {figures.listed([board.rows[i].name for i in sorted(lost)])} would be shown to differ: the more"
            " rows, the weaker each verdict. Fewer rows or more questions show more; --baseline METHOD asks about one"
            " that was not taken for being the best."
        )


def _differences(board: Leaderboard, comparison: Comparison) -> Table:
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
            bounds = f" [{signed(metric, found.low)}, {signed(metric, found.high)}]" if found.has_interval else ""
            rows.append((
                "" if place else name, *([] if has_all else [f"{found.n:,}"]), metric,
                f"{signed(metric, found.mean)}{bounds}", f"{test.won}:{test.lost}",
                f"{test.verdict}, {figures.p_text(test.p)}",
            ))  # fmt: skip
    columns = ("method", *([] if has_all else ["n"]), "metric", "difference", "won:lost", "verdict")
    left = frozenset({1, 4} if has_all else {2, 5})
    shared = f"{min(sizes):,} questions" if has_all else "the questions that both were asked"
    is_best = board.reference == board.best and not comparison.baseline
    why = f"the best {board.primary}" if is_best else "the baseline"
    title = f"Against {board.rows[board.reference].name} ({why}), on {shared}"
    return Table(title, columns, tuple(rows), left, (how_tested(board), *_weakened(board)))


def _kinds(board: Leaderboard, comparison: Comparison) -> Sequence[str]:
    """The properties that tables group questions by: those the user named, else hops, or types where they are few."""
    there = [kind for kind in comparison.by if any(row.slices.get(kind) for row in board.rows)]
    if comparison.by_named or not there:
        return there
    if "hops" in there:
        return ["hops"]
    types = max((len(row.slices.get("type", ())) for row in board.rows), default=0)
    return ["type"] if 1 < types <= 8 else []


def _by_slice(board: Leaderboard, kind: str) -> Table:
    metric = board.primary
    values = list(dict.fromkeys(value for row in board.rows for value in row.slices[kind]))
    heads = []
    for value in values:
        sizes = sorted({row.slices[kind][value].n for row in board.rows if row.slices[kind][value].n})
        count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}" if sizes else "0"
        heads.append(f"{slice_name(kind, value)} (n {count})")
    means = [[row.slices[kind][value].means.get(metric) for value in values] for row in board.rows]
    rows = tuple(
        (_label(board, row), *(with_interval(metric, mean) for mean in own))
        for row, own in zip(board.rows, means, strict=True)
    )
    is_small = any(mean is not None and mean.n < FEW and mean.method == "bootstrap" for own in means for mean in own)
    captions = (f"Bootstrap intervals of fewer than {FEW} questions are rough, and too narrow.",) if is_small else ()
    return Table(f"{metric} {_KINDS[kind]}", ("method", *heads), rows if metric else (), captions=captions)


def slice_name(kind: str, value: str) -> str:
    """What a slice of the questions is called: ``2 hops``."""
    if kind == "hops" and value.isdecimal():
        return f"{value} hop" if value == "1" else f"{value} hops"
    return printable(value, 40)
