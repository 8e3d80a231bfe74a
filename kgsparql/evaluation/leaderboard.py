"""The rows of one dataset: which is best, which differences are significant, and what a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgsparql.errors import OptionError
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.scoring import MethodScores, key
from kgsparql.evaluation.statistics import FEW, Difference, Interval, differences, holm
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

_COMPARED = ("hits@1", "expected_hits@1", "f1", "triple_recall", "triple_f1")
"""Metrics in which methods are tested against the best, where they are defined; the first one decides which is best."""

_MAX_TESTED = 3
"""How many metrics are tested if the user names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some of the questions of a row.

    :param means: by metric; ``None`` where it is not defined for any of them.
    """

    n: int
    means: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method on one dataset.

    :param name: unique in the dataset: the method, with model or run where they are needed.
    :param run: the last parts of the run's path, as many as tell the runs apart.
    :param n: questions that were asked, of ``questions`` in the run.
    :param slices: by property of the questions, then by its values in order.
    :param is_no_ceiling: the run had an oracle, which did not choose: the figures are those without a model.
    :param is_ceiling: an oracle chose, and other rows of the dataset have none: what a method could reach at most, and
        never the best. Where every row has an oracle, no row is a ceiling.
    """

    dataset: str
    method: str
    model: str
    run: str
    name: str
    n: int
    questions: int
    means: Mapping[str, Interval | None]
    slices: Mapping[str, Mapping[str, Slice]]
    scores: MethodScores = field(repr=False, compare=False)
    is_no_ceiling: bool = False
    is_ceiling: bool = False

    @property
    def title(self) -> str:
        """The name, with † for a row that is no ceiling, and ‡ for a ceiling among methods."""
        return f"{self.name} †" if self.is_no_ceiling else f"{self.name} ‡" if self.is_ceiling else self.name

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric; ``None`` where it is not defined."""
        found = self.means.get(metric)
        return None if found is None else found.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseTest:
    """A row against the reference of its dataset in one metric.

    :param won: questions on which the row is better; on ``lost`` it is worse.
    :param p: after Holm's correction for ``comparisons`` in this metric: each row with the baseline or, where the best
        row was found on the same questions, every row with every other, since each might have been the best.
    :param verdict: ``better``, ``worse``, or ``not shown`` to differ.
    """

    difference: Difference
    won: int
    lost: int
    p: float
    comparisons: int
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The rows of one dataset, the best first.

    :param primary: the metric that decides which row is best; empty if no row has one.
    :param best: the place of the best row; ``None`` if there is none.
    :param tied: the places of rows that are equal to the best in that metric; ``decided_by`` is the metric that decided
        between them, empty if none did.
    :param shared: how many questions decided: those that every row was asked that can be the best and has at least half
        as many questions as another. 0 if there are none: then each row counts with its own questions.
    :param reference: the place of the row that the others are compared with.
    :param tested: the metrics they are compared in.
    :param tests: by the place of a row, then by metric.
    :param notes: what a reader must know about the figures.
    """

    rows: tuple[Row, ...]
    primary: str
    best: int | None
    tied: tuple[int, ...]
    decided_by: str
    shared: int
    reference: int | None
    tested: tuple[str, ...]
    tests: Mapping[int, Mapping[str, PairwiseTest]]
    notes: tuple[str, ...]

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return self.rows[0].dataset


def leaderboard(rows: Sequence[Row], *, named: Sequence[str], baseline: str, seed: int) -> Leaderboard:
    """Order the rows of a dataset, find the best one, and test the others against it or the baseline.

    :param named: the metrics that the user asked for: all are tested.
    """
    candidates = [name for name in (named or _COMPARED) if name in METRICS and METRICS[name].better]
    defined = [name for name in candidates if any(row.mean(name) is not None for row in rows)]
    tested = tuple(defined if named else defined[:_MAX_TESTED])
    if defined:
        rows = sorted(rows, key=lambda row: _sort_key(row, defined[0]))
    best, tied, decided_by, shared = _best_row(rows, defined)
    reference, is_named = _reference_row(baseline, rows, best)
    tests = {} if reference is None else _pairwise_tests(rows, reference, tested, seed, is_named=is_named)
    return Leaderboard(
        rows=tuple(rows), primary=defined[0] if defined else "", best=best, tied=tied, decided_by=decided_by,
        shared=shared, reference=reference, tested=tested, tests=tests, notes=tuple(_row_notes(rows, tested, baseline)),
    )  # fmt: skip


def _sort_key(row: Row, metric: str) -> float:
    """Return a sort key that puts the best row first, and rows without the metric last."""
    mean = row.mean(metric)
    return np.inf if mean is None else -mean if METRICS[metric].better == "higher" else mean


def _best_row(rows: Sequence[Row], metrics: Sequence[str]) -> tuple[int | None, tuple[int, ...], str, int]:
    """Find the ``best``, ``tied``, ``decided_by`` and ``shared`` of :class:`Leaderboard`.

    The best row has the best mean of the first metric over the questions that all were asked; the next metrics decide
    between equals. A row with less than half as many questions as another is left out: it may have had the easy ones.
    So are ceilings among methods, and rows that are no ceiling.
    """
    methods = [i for i, row in enumerate(rows) if not row.is_no_ceiling and not row.is_ceiling]
    most = max((rows[i].n for i in methods), default=0)
    able = [i for i in methods if 2 * rows[i].n >= most]
    if not metrics or not able:
        return None, (), "", 0
    common = set.intersection(*({key(q) for q in rows[i].scores.questions} for i in able))
    names = [*metrics, *(name for name in ("model_calls", "queries") if name in rows[0].scores.values)]

    def rank(i: int) -> list[float]:
        scores, found = rows[i].scores, list[float]()
        among = np.flatnonzero([not common or key(question) in common for question in scores.questions])
        for name in names:
            values = scores.defined(name, among)
            sign = 1.0 if METRICS[name].better == "higher" else -1.0
            found.append(round(sign * float(values.mean()), 9) if len(values) else -np.inf)  # 0.1 + 0.2 is 0.3
        return found

    ranks = {i: rank(i) for i in able}
    best, *others = sorted(able, key=lambda i: ranks[i], reverse=True)  # equals stay in the order of the rows
    if rows[best].mean(metrics[0]) is None:
        return None, (), "", 0
    tied = tuple(i for i in others if ranks[i][0] == ranks[best][0])
    apart = (name for name, a, b in zip(names, ranks[best], ranks[others[0]], strict=True) if a != b) if tied else ()
    return best, tied, next(iter(apart), ""), len(common)


def _reference_row(baseline: str, rows: Sequence[Row], best: int | None) -> tuple[int | None, bool]:
    """Find the row that others are compared with, and whether it is the baseline."""
    found = named_rows(baseline, rows) if baseline else []
    if len(found) > 1:
        which = "; ".join(rows[i].name for i in found)
        raise OptionError(f"--baseline {printable(baseline, 60)} may be {which}", hint="name one of these")
    return (found[0], True) if found else (best, False)


def named_rows(name: str, rows: Sequence[Row]) -> list[int]:
    """Find the places of the row of this name, else of the rows of this method."""
    own = [i for i, row in enumerate(rows) if row.name == name]
    return own or [i for i, row in enumerate(rows) if row.method == name]


def _pairwise_tests(
    rows: Sequence[Row], reference: int, metrics: Sequence[str], seed: int, *, is_named: bool
) -> dict[int, dict[str, PairwiseTest]]:
    """Test every other row, but those that are no ceiling, against the reference, on the questions both were asked.

    :param is_named: the reference was not found on these questions.
    """
    places = {key(question): i for i, question in enumerate(rows[reference].scores.questions)}
    others = [i for i, row in enumerate(rows) if i != reference and not row.is_no_ceiling]
    found: dict[int, dict[str, PairwiseTest]] = {i: {} for i in others}
    for name in metrics:
        pairs = {}
        for i in found:
            shared = [(j, places[key(q)]) for j, q in enumerate(rows[i].scores.questions) if key(q) in places]
            own, other = np.array(shared, dtype=np.intp).reshape(-1, 2).T
            first, second = rows[i].scores.values[name][own], rows[reference].scores.values[name][other]
            both = ~(np.isnan(first) | np.isnan(second))
            pairs[i] = first[both], second[both]
        drawn = zip(pairs, differences(list(pairs.values()), seed=seed), strict=True)
        tests = {i: difference for i, difference in drawn if difference is not None}
        count = len(tests) if is_named else len(tests) * (len(tests) + 1) // 2
        adjusted = holm([d.p for d in tests.values()], comparisons=count)
        is_higher_better = METRICS[name].better == "higher"
        for (i, difference), p in zip(tests.items(), adjusted, strict=True):
            won, lost = (difference.wins, difference.losses)[:: 1 if is_higher_better else -1]
            verdict = "not shown" if p >= 0.05 else "better" if (difference.mean > 0) == is_higher_better else "worse"
            found[i][name] = PairwiseTest(
                difference=difference, won=won, lost=lost, p=p, comparisons=count, verdict=verdict
            )
    return found


def _row_notes(rows: Sequence[Row], tested: Sequence[str], baseline: str) -> Iterator[str]:
    """Say what is missing, and what cannot be compared as it stands."""
    if baseline and not named_rows(baseline, rows):
        yield f"no {printable(baseline, 60)} here: rows are compared with the best one"
    if partly := [f"{row.name} {row.n or 'none'} of {row.questions}" for row in rows if row.n < row.questions]:
        yield f"not every question was asked (each figure is of those that were): {'; '.join(partly)}"
    if failed := [
        f"{row.name} {sum(errors.values())} of {row.n} ({', '.join(f'{c} {n}' for c, n in errors.items())})"
        for row in rows
        if (errors := row.scores.errors)
    ]:
        yield f"questions that failed count as wrong: {'; '.join(failed)}"
    if unchosen := [row.name for row in rows if row.is_no_ceiling]:
        yield f"nobody chooses in {'; '.join(unchosen)}: as without a model, no ceiling, never the best, and not tested"
    if ceilings := [row.name for row in rows if row.is_ceiling]:
        yield f"an oracle chooses in {'; '.join(ceilings)}: a ceiling, no method, and never the best"
    yield from _question_notes([row.scores for row in rows])
    for name in tested:
        counts = {row.n - found.n for row in rows if (found := row.means[name]) is not None}
        if counts - {0}:
            yield f"{name} is not defined for every question (up to {max(counts)} are left out of its mean)"
    if 0 < min((row.n for row in rows if row.n), default=0) < FEW:
        yield f"fewer than {FEW} questions: Wilson's intervals are wide; bootstrap intervals are rough, and too narrow"


def _question_notes(group: Sequence[MethodScores]) -> Iterator[str]:
    """Say whether rows were asked other questions, or the same ones with other right answers."""
    asked = [{key(question) for question in one.questions} for one in group if one.questions]
    if len(set(map(frozenset, asked))) > 1:
        common = len(set.intersection(*asked))
        yield (
            f"the rows were not asked the same questions: {common} were asked of all; each mean is over a row's own, "
            "each difference over those that both rows were asked"
        )
    golds: dict[tuple[str, str], Any] = {}
    for one in group:
        golds |= {key(question): question.answers for question in one.questions if key(question) not in golds}
    if differ := {key(q) for one in group for q in one.questions if golds[key(q)] != q.answers}:
        yield f"{counted(len(differ), 'question')} with other gold answers in one run than in another"
