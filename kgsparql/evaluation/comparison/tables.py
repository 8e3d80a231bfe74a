"""A comparison as tables of texts, which every format shows: who is best, by how much, where, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.figures import SHARES, amount, is_quality, p_text, signed, with_interval
from kgsparql.evaluation.comparison.leaderboard import Leaderboard, Row
from kgsparql.evaluation.comparison.summary import heading, listed, summary
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import ALWAYS
from kgsparql.evaluation.statistics import FEW, RESAMPLES, Difference, Interval
from kgsparql.rdf.terms import printable

__all__ = ["HOW_SURE", "Section", "Table", "amount", "how_tested", "p_text", "sections"]

_WITH_INTERVALS = ("hits@1", "expected_hits@1")
"""Metrics whose intervals are in the first table; those of the others are in CSV and JSON."""

_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1")

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
    :param captions: lines below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset()
    captions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """What there is to say of one dataset.

    :param summary: sentences for a reader who reads nothing else.
    """

    dataset: str
    heading: str
    summary: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def sections(comparison: Comparison, *, wide: bool = False) -> Iterator[Section]:
    """What there is to say, dataset by dataset.

    :param wide: there is room for more metrics.
    """
    for leaderboard in comparison.leaderboards:
        tables = [_quality(leaderboard, comparison, wide=wide)]
        if leaderboard.tests and leaderboard.tested:
            tables.append(_pairwise_tests(leaderboard, comparison))
        tables += [_sliced(leaderboard, kind) for kind in _kinds(leaderboard, comparison)]
        if not comparison.named:
            shown = [name for name in _EVIDENCE if name in comparison.metrics and _is_defined(leaderboard, name)]
            tables.append(_plain("Evidence and linking", leaderboard, shown))
            words = [name for name in comparison.metrics if METRICS[name].group == "text"]
            tables.append(
                _plain("Words of the answers", leaderboard, [n for n in words if _is_defined(leaderboard, n)])
            )
        tables += [_reliability(leaderboard, comparison), _costs(leaderboard, comparison)]
        yield Section(
            dataset=leaderboard.dataset,
            heading=heading(leaderboard),
            summary=tuple(summary(leaderboard)),
            tables=tuple(table for table in tables if table.rows and len(table.columns) > 1),
            notes=leaderboard.notes,
        )


def _label(leaderboard: Leaderboard, row: Row) -> str:
    is_best = leaderboard.best is not None and leaderboard.rows[leaderboard.best] is row
    return f"{row.name} *" if is_best and len(leaderboard.rows) > 1 else row.title


def _asked(row: Row) -> str:
    return f"{row.n:,}" if row.n == row.questions else f"{row.n:,} of {row.questions:,}"


def _is_defined(leaderboard: Leaderboard, metric: str) -> bool:
    return any(row.means.get(metric) is not None for row in leaderboard.rows)


def _quality(leaderboard: Leaderboard, comparison: Comparison, *, wide: bool) -> Table:
    wanted = comparison.metrics if comparison.named else _QUALITY_WIDE if wide else _QUALITY
    metrics = [
        name for name in wanted if name in comparison.metrics and is_quality(name) and _is_defined(leaderboard, name)
    ]
    with_intervals = metrics if comparison.named and len(metrics) <= 3 else _WITH_INTERVALS
    if not set(metrics) & set(with_intervals):
        with_intervals = [leaderboard.primary]
    has_all = len({row.questions for row in leaderboard.rows}) == 1 and all(
        r.n == r.questions for r in leaderboard.rows
    )
    rows = tuple(
        (
            _label(leaderboard, row),
            *([] if has_all else [_asked(row)]),
            *(
                with_interval(name, row.means[name]) if name in with_intervals else amount(name, row.mean(name))
                for name in metrics
            ),
        )
        for row in leaderboard.rows
    )
    shown = [row.means[name] for row in leaderboard.rows for name in metrics if name in with_intervals]
    captions = [*_how_sure(shown, comparison)]
    if any(row.is_ceiling for row in leaderboard.rows):
        captions.insert(0, "‡ an oracle chooses: a ceiling, no method")
    if any(row.is_no_ceiling for row in leaderboard.rows):
        captions.insert(0, "† nobody chooses: as without a model, no ceiling")
    if leaderboard.best is not None and len(rows) > 1:
        captions.insert(0, f"* best {leaderboard.primary}")
    return Table(
        "Quality", ("method", *([] if has_all else ["n"]), *metrics), rows if metrics else (), captions=tuple(captions)
    )


def _how_sure(shown: Sequence[Interval | None], comparison: Comparison) -> Iterator[str]:
    """Which intervals are in a table."""
    methods = {found.method for found in shown if found is not None}
    drawn = f"({RESAMPLES:,} resamples, seed {comparison.seed})"
    if methods == {"wilson"}:
        yield "In brackets: 95 % interval of the mean (Wilson's score interval)."
    elif methods == {"bootstrap"}:
        yield f"In brackets: 95 % interval of the mean, by the bootstrap {drawn}."
    elif methods:
        yield f"In brackets: 95 % interval of the mean: Wilson's where all values are 0 or 1, else bootstrap {drawn}."


def _reliability(leaderboard: Leaderboard, comparison: Comparison) -> Table:
    metrics = [
        name
        for name in SHARES
        if _is_defined(leaderboard, name) and (name in ALWAYS or name in comparison.metrics or not comparison.named)
    ]
    return _plain("Reliability: share of questions", leaderboard, metrics)


def _costs(leaderboard: Leaderboard, comparison: Comparison) -> Table:
    """What it cost; where no model was asked, without what only a model costs."""
    has_model = any((row.mean("model_calls") or 0) > 0 for row in leaderboard.rows)
    metrics = [
        name
        for name in (comparison.metrics if comparison.named else _COSTS)
        if METRICS[name].group == "cost"
        and name in comparison.metrics
        and _is_defined(leaderboard, name)
        and (comparison.named or has_model or name not in _OF_A_MODEL)
    ]
    return _plain("Cost: mean of a question", leaderboard, metrics)


def _plain(title: str, leaderboard: Leaderboard, metrics: Sequence[str]) -> Table:
    """A table of means."""
    heads = (name.replace("_", " ") for name in metrics)
    rows = tuple(
        (_label(leaderboard, row), *(amount(name, row.mean(name)) for name in metrics)) for row in leaderboard.rows
    )
    return Table(title, ("method", *heads), rows)


def how_tested(leaderboard: Leaderboard) -> str:
    """Which test is used where, in one line."""
    tests = {
        name: {by_metric[name].difference.test for by_metric in leaderboard.tests.values() if name in by_metric}
        for name in leaderboard.tested
    }
    exact = [name for name, used in tests.items() if used == {"mcnemar"}]
    other = [name for name, used in tests.items() if "randomisation" in used]
    parts = [
        *([f"{', '.join(exact)}: exact McNemar test"] if exact else []),
        *([f"{', '.join(other)}: paired randomisation test"] if other else []),
    ]
    methods = [*(["Bonett and Price's"] if exact else []), *(["paired bootstrap"] if other else [])]
    intervals = f"In brackets: 95 % interval ({'; else '.join(methods)})"
    rows = sum(1 for by_metric in leaderboard.tests.values() if by_metric)
    count = max((v.comparisons for by_metric in leaderboard.tests.values() for v in by_metric.values()), default=0)
    if count < 2:
        return f"{'; '.join(parts)}. {intervals}. Where p is 0.05 or more, no difference is shown."
    why = "" if count == rows else f" pairs of {rows + 1} rows, since the best was found on the same questions"
    return (
        f"{'; '.join(parts)}. {intervals} of this one comparison; p is corrected (Holm) for all {count}{why}. So an"
        " interval may leave out 0 where no difference is shown: p decides, which is below 0.05 for a difference."
    )


def _weakened(leaderboard: Leaderboard) -> Iterator[str]:
    """What to do where a difference would be shown if there were fewer rows."""
    lost = {
        i
        for i, by_metric in leaderboard.tests.items()
        for test in by_metric.values()
        if test.verdict == "not shown" and test.difference.p < 0.05
    }
    if lost:
        names = listed([leaderboard.rows[i].name for i in sorted(lost)])
        yield (
            f"Alone, {names} would be shown to differ: the more rows, the weaker each verdict. Fewer rows or more"
            " questions show more; --baseline METHOD asks about one that was not taken for being the best."
        )


def _bounds(metric: str, found: Difference) -> str:
    """The interval of a difference in brackets; none where there is none."""
    if not found.has_interval:
        return ""
    return f" [{signed(metric, found.low)}, {signed(metric, found.high)}]"


def _pairwise_tests(leaderboard: Leaderboard, comparison: Comparison) -> Table:
    assert leaderboard.reference is not None  # noqa: S101 - there are no tests without it
    reference = leaderboard.rows[leaderboard.reference]
    sizes = {test.difference.n for by_metric in leaderboard.tests.values() for test in by_metric.values()}
    has_all = len(sizes) == 1 and all(leaderboard.tests.values())
    rows: list[tuple[str, ...]] = []
    for i, by_metric in leaderboard.tests.items():
        name = leaderboard.rows[i].title
        if not by_metric:
            rows.append((name, "0", "–", "–", "–", "none shared"))
        for place, (metric, test) in enumerate(by_metric.items()):
            found = test.difference
            rows.append((
                "" if place else name, *([] if has_all else [f"{found.n:,}"]), metric,
                f"{signed(metric, found.mean)}{_bounds(metric, found)}", f"{test.won}:{test.lost}",
                f"{test.verdict}, {p_text(test.p)}",
            ))  # fmt: skip
    columns = ("method", *([] if has_all else ["n"]), "metric", "difference", "won:lost", "verdict")
    left = frozenset({1, 4} if has_all else {2, 5})
    shared = f"{min(sizes):,} questions" if has_all else "the questions that both were asked"
    is_best = leaderboard.reference == leaderboard.best and not comparison.baseline
    why = f"the best {leaderboard.primary}" if is_best else "the baseline"
    title = f"Against {reference.name} ({why}), on {shared}"
    return Table(title, columns, tuple(rows), left, (how_tested(leaderboard), *_weakened(leaderboard)))


def _kinds(leaderboard: Leaderboard, comparison: Comparison) -> Sequence[str]:
    """What the questions of a dataset are told apart by in tables: as asked, else hops, or types where they are few."""
    there = [kind for kind in comparison.by if any(row.slices.get(kind) for row in leaderboard.rows)]
    if comparison.by_named or not there:
        return there
    if "hops" in there:
        return ["hops"]
    types = max((len(row.slices.get("type", ())) for row in leaderboard.rows), default=0)
    return ["type"] if 1 < types <= 8 else []


def _sliced(leaderboard: Leaderboard, kind: str) -> Table:
    metric = leaderboard.primary
    values = list(dict.fromkeys(value for row in leaderboard.rows for value in row.slices[kind]))
    heads = []
    for value in values:
        sizes = sorted({row.slices[kind][value].n for row in leaderboard.rows if row.slices[kind][value].n})
        count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}" if sizes else "0"
        heads.append(f"{_slice_name(kind, value)} (n {count})")
    rows = tuple(
        (
            _label(leaderboard, row),
            *(with_interval(metric, row.slices[kind][value].means.get(metric)) for value in values),
        )
        for row in leaderboard.rows
    )
    parts = [row.slices[kind][value].means.get(metric) for row in leaderboard.rows for value in values]
    small = any(found is not None and found.few and found.method == "bootstrap" for found in parts)
    captions = (f"Bootstrap intervals of fewer than {FEW} questions are rough, and too narrow.",) if small else ()
    return Table(f"{metric} {_KINDS[kind]}", ("method", *heads), rows if metric else (), captions=captions)


def _slice_name(kind: str, value: str) -> str:
    if kind == "hops" and value.isdecimal():
        return f"{value} hop" if value == "1" else f"{value} hops"
    return printable(value, 40)
