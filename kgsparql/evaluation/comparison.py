"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

One frame has a row for each question of each method; all tables, CSV and JSON are made of it by pandas. Runs are scored
from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError, OptionError, not_installed
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.run_directory import Run
from kgsparql.evaluation.statistics import FEW, difference, holm, interval
from kgsparql.linking.words import counted, grouped
from kgsparql.rdf.literals import aligned
from kgsparql.rdf.terms import Json, printable
from kgsparql.rendering.rows import safe_cells, wrapped

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("hops", "type", "direction")
"""Properties that questions are grouped by."""
ALWAYS = ("without_model", "fallbacks", "truncated", "failed")  # always shown: figures mean little without them
_COMPARED = ("hits@1", "expected_hits@1", "f1", "triple_recall", "triple_f1")
"""Of these, three that are defined are tested if the user names none; the first one decides which is best."""


@frozen(kw_only=True)
class Comparison:
    """The figures of one dataset. Its rows are methods of runs, by a ``name`` that is unique here.

    :param rows: the run and the method of each name, the best first.
    :param scores: a line for each question of each row: its ``key``, its kinds, and the metrics.
    :param means: a line for each row, ``by`` being empty, and for each kind of its questions: of each metric the mean,
        the bounds of its interval (``hits@1 low``, ``hits@1 high``) and how many questions have one (``hits@1 n``).
    :param tests: a line for each metric of each row that was tested against the ``best``. ``p`` is after Holm's
        correction for ``comparisons``: every row with every other, since each might have been the best.
    :param primary: the metric that decides which row is ``best``; empty if no row has one.
    :param metrics: those to show; the user named them if ``is_named``.
    """

    dataset: str
    rows: Mapping[str, tuple[Run, str]]
    scores: pd.DataFrame
    means: pd.DataFrame
    tests: pd.DataFrame
    primary: str
    best: str
    metrics: tuple[str, ...]
    is_named: bool

    @property
    def whole(self) -> pd.DataFrame:
        """The means over all questions of a row."""
        return self.means[self.means["by"] == ""]


def chosen_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of metrics; all for ``all`` or nothing.

    :raises OptionError: for a name that is none.
    """
    for name in names:
        if name not in METRICS and name != "all":
            raise OptionError(f"no metric {printable(name, 60)!r}", hint=f"there are: all, {', '.join(METRICS)}")
    return tuple(dict.fromkeys(METRICS if not names or "all" in names else names))


def compare(runs: Iterable[Run], *, metrics: Sequence[str] = ()) -> list[Comparison]:
    """Score runs and set them side by side, dataset by dataset.

    :param metrics: those to show and test; by default all, and three are tested.
    :raises OptionError: for a metric that is not there.
    """
    shown = chosen_metrics(metrics)
    groups = grouped((run.dataset, run) for run in runs).values()
    scored = [scored_rows(group, tuple(dict.fromkeys((*shown, *ALWAYS)))) for group in groups]
    return [_compared_runs(*own, shown, tuple(metrics)) for own in scored]


def scored_rows(runs: Sequence[Run], metrics: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score each question of each method of runs of one dataset.

    :returns: a line for each row (``at`` is its run and method), and the scores, as :class:`Comparison` has them.
    :raises InputError: if no question was answered.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise not_installed(error, "eval") from error
    paths = [run.path.resolve().name for run in runs]
    rows: list[Json] = []
    scores: list[Json] = []
    for run in runs:
        name = run.path.resolve().name
        questions = {question.id: question for question in run.questions}
        for method in run.methods:
            pairs = [(questions[id_], record) for id_, record in run.records(method).items()]
            own = (about for about in run.config["methods"] if about["label"] == method)
            model = run.model if all(about.get("with_model", True) for about in own) else ""
            for question, record in pairs:
                kinds = {"hops": question.hops or "", "type": question.type, "direction": question.direction}
                values = {metric: METRICS[metric].of(question, record) for metric in metrics}
                said = {kind: printable(value, 60) for kind, value in kinds.items()}
                scores.append({"row": len(rows), "key": (question.id, question.text), **said, **values})
            rows.append({
                "dataset": printable(run.dataset, 100), "method": method, "model": printable(model, 100),
                "run": printable(name if paths.count(name) == 1 else str(run.path), 200), "name": "",
                "n": len(pairs), "questions": len(questions), "at": (run, method),
            })  # fmt: skip
    if not scores:
        where = ", ".join(str(run.path) for run in runs)
        raise InputError(f"{where}: no question has been answered yet", hint="go on with it: --resume")
    table, frame = pd.DataFrame(rows), pd.DataFrame(scores)
    frame[list(metrics)] = frame[list(metrics)].astype(float)
    table["name"] = _row_names(rows)
    frame["name"] = frame["row"].map(table["name"])
    return table, frame


def _row_names(rows: Sequence[Json]) -> list[str]:
    """Name each row by the method, then the model, then the run, as far as they are needed."""
    models = {row["method"]: {own["model"] for own in rows if own["method"] == row["method"]} for row in rows}
    names = [
        f"{r['method']}, {r['model'] or 'no model'}" if len(models[r["method"]]) > 1 else r["method"] for r in rows
    ]
    return [name + f" ({row['run']})" * (names.count(name) > 1) for name, row in zip(names, rows, strict=True)]


def _compared_runs(
    rows: pd.DataFrame, scores: pd.DataFrame, shown: tuple[str, ...], metrics: tuple[str, ...]
) -> Comparison:
    """Order the rows of a dataset, find the best one, and test the others against it."""
    import pandas as pd

    candidates = [name for name in metrics or _COMPARED if METRICS[name].better and scores[name].notna().any()]
    primary = candidates[0] if candidates else ""
    means = _metric_means(rows, scores)
    if primary:
        of_row = means[means["by"] == ""].set_index("name")[primary]
        means["order"] = means["name"].map(of_row * (-1 if METRICS[primary].better == "higher" else 1))
        means = means.sort_values("order", kind="stable", na_position="last").drop(columns="order")
    names = list(dict.fromkeys(means["name"]))
    best = _best_row(names, scores, candidates)
    means["best"] = (means["by"] == "") & (means["name"] == best)
    tests = list(_difference_tests(names, scores, best, candidates if metrics else candidates[:3])) if best else []
    places = dict(zip(rows["name"], rows["at"], strict=True))
    return Comparison(
        dataset=rows["dataset"].iloc[0], rows={name: places[name] for name in names}, scores=scores, means=means,
        tests=pd.DataFrame(tests), primary=primary, best=best, metrics=shown,
        is_named=bool(metrics),
    )  # fmt: skip


def _metric_means(rows: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Average each metric over all questions of a row, and over those of each kind, with 95 % intervals."""
    import pandas as pd

    parts = [(name, "", "", scores[scores["name"] == name]) for name in rows["name"]]
    for kind in KINDS:
        if scores[kind].nunique() > 1:
            groups = scores.groupby([kind, "name"], sort=True)
            parts += [(name, kind, value or "unknown", own) for (value, name), own in groups]
    lines = []
    for name, kind, value, own in parts:
        line = {"name": name, "by": kind, "slice": value, "n": len(own)}
        for metric in filter(METRICS.__contains__, scores):
            found = interval(own[metric].dropna().to_numpy(), is_share=METRICS[metric].group != "cost")
            line |= dict(zip((metric, *(f"{metric} {part}" for part in ("low", "high", "n"))), found, strict=True))
        lines.append(line)
    return rows.drop(columns=["n", "at"]).merge(pd.DataFrame(lines), on="name", sort=False)


def _best_row(names: Sequence[str], scores: pd.DataFrame, metrics: Sequence[str]) -> str:
    """Find the row with the best mean over the questions that all were asked; the next metrics decide between equals.

    A row with less than half as many questions as another is left out: it may have had the easy ones.
    """
    if not metrics:
        return ""
    counts = scores["name"].value_counts().reindex(names, fill_value=0)
    names = list(counts[2 * counts >= counts.max()].index)
    able = scores[scores["name"].isin(names)]
    common = able.groupby("key")["name"].transform("nunique") == able["name"].nunique()
    deciding = [*metrics, *(one for one in ("model_calls", "queries") if one in able and one not in metrics)]
    means = (able[common] if common.any() else able).groupby("name")[deciding].mean().reindex(names)
    ordered = means.round(9).sort_values(  # 0.1 + 0.2 is 0.3
        deciding, ascending=[METRICS[one].better != "higher" for one in deciding], kind="stable", na_position="last"
    )
    return "" if ordered[metrics[0]].isna().iloc[0] else str(ordered.index[0])


def _difference_tests(names: Sequence[str], scores: pd.DataFrame, best: str, metrics: Sequence[str]) -> Iterator[Json]:
    """Test every other row against the best one, on the questions that both were asked."""
    for metric in metrics:
        wide = scores.pivot_table(index="key", columns="name", values=metric, sort=False)
        others = [name for name in names if name != best and {name, best} <= {*wide}]
        pairs = [(name, wide[[name, best]].dropna().to_numpy().T) for name in others]
        found = [(name, difference(*pair)) for name, pair in pairs if pair.size]
        count = len(found) * (len(found) + 1) // 2
        is_higher_better = METRICS[metric].better == "higher"
        for (name, one), p in zip(found, holm([one.p for _, one in found], comparisons=count), strict=True):
            won, lost = (one.wins, one.losses)[:: 1 if is_higher_better else -1]
            verdict = "not shown" if p >= 0.05 else "better" if (one.mean > 0) == is_higher_better else "worse"
            yield {
                **one._asdict(), "name": name, "metric": metric, "difference": one.mean, "p": p, "won": won,
                "lost": lost, "verdict": verdict, "comparisons": count,
            }  # fmt: skip


def records(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Put all figures into one frame: a line for each row, ``by`` being empty, and for each kind of its questions.

    A row that is tested has the difference from the row that ``versus`` names, its interval, ``p`` and verdict.
    """
    import pandas as pd

    lines: list[Json] = []
    for found in comparisons:
        extra: dict[str, Json] = {name: {} for name in found.rows}
        for test in found.tests.to_dict("records"):
            figures = {"difference low": test["low"], "difference high": test["high"]}
            figures |= {part: test[part] for part in ("difference", "p", "verdict")}
            own = {f"{test['metric']} {part}": value for part, value in figures.items()}
            extra[test["name"]] |= {"versus": found.best, **own}
        lines += (line if line["by"] else {**line, **extra[line["name"]]} for line in found.means.to_dict("records"))
    return pd.DataFrame(lines).round(6)


_SHARES = ("grounded", "unsupported_claims", "abstained", "misleading", "wrong_yes_no", "partial", *ALWAYS)
"""Metrics that are shown as shares of the questions, in per cent."""
_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1", "exact")
_EVIDENCE = ("triple_recall", "triple_f1", "triple_hit@10", "linking_recall@1", "linking_recall@5")
_COSTS = ("model_calls", "rounds", "tokens", "cost", "queries", "seconds")


def comparison_json(comparisons: Sequence[Comparison]) -> str:
    """Write the :func:`records` as a JSON array, which ``pandas.read_json`` reads."""
    return f"{records(comparisons).to_json(orient='records', indent=1, force_ascii=False)}\n"


def comparison_csv(comparisons: Sequence[Comparison]) -> str:
    """Write the :func:`records` as CSV, in which no cell is a formula."""
    return safe_cells(records(comparisons).to_csv(index=False))


def comparison_text(comparisons: Sequence[Comparison]) -> str:
    """Write aligned tables for a terminal or a pipe."""
    return "\n".join([*list(_report_lines(comparisons))[1:], ""])


def _section_lines(title: str, rows: Sequence[Sequence[str]] = (), *texts: str) -> Iterator[str]:
    """Yield the lines of a table, its first row the heads, with what is said below it."""
    yield from ("", *wrapped(title), *(aligned(rows, {0}, indent="  ") if rows else ()))
    yield from (line for text in texts for line in wrapped(printable(text, 600), indent="  "))


def _report_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield everything that is shown: for each dataset what is best, the tables, and the notes."""
    for found in comparisons:
        rows = found.whole.to_dict("records")
        chosen = found.metrics if found.is_named else (*_QUALITY, *_COSTS)
        models = sorted({row["model"] or "no model" for row in rows}, key=lambda name: (name == "no model", name))
        best = f"Best {found.primary}: {found.best}." if found.best else "No row is the best: none has a figure."
        size = counted(max(row["questions"] for row in rows), "question")
        yield from _section_lines(f"{found.dataset}: {size}, {', '.join(models)}", (), best)
        quality = [one for one in chosen if METRICS[one].group != "cost" and one not in _SHARES]
        yield from _means_table("Quality", found, rows, quality, intervals={found.primary, *quality[:2]})
        yield from _difference_table(found)
        yield from _kind_table(found, rows)
        if not found.is_named:
            yield from _means_table("Evidence and linking", found, rows, _EVIDENCE)
        shares = [one for one in _SHARES if one != "without_model" or any(row[one] > 0 for row in rows)]
        yield from _means_table("Reliability: share of questions", found, rows, shares)
        costs = [one for one in chosen if METRICS[one].group == "cost" and any(row.get(one, 0) > 0 for row in rows)]
        yield from _means_table("Cost: mean of a question", found, rows, costs)
        if told := list(_comparison_notes(found, rows)):
            yield from _section_lines("Notes", (), *(f"- {one}" for one in told))


def _means_table(
    title: str, found: Comparison, rows: Sequence[Json], metrics: Iterable[str],
    intervals: Collection[str] = (),
) -> Iterator[str]:  # fmt: skip
    """Yield a table of means, if there is any; of many metrics, other intervals are in CSV and JSON."""
    shown = [one for one in metrics if one in found.means and found.whole[one].notna().any()]
    cells = [[_row_title(found, row), *(_mean_text(row, one, intervals) for one in shown)] for row in rows]
    texts = ["* best. In brackets: 95 % interval of the mean."] if intervals else []
    if shown:
        yield from _section_lines(title, [["method", *shown], *cells], *texts)


def _row_title(found: Comparison, row: Json) -> str:
    mark = " *" if row["name"] == found.best and len(found.rows) > 1 else ""
    return f"{row['name']}{mark}"


def _mean_text(row: Json, metric: str, intervals: Collection[str]) -> str:
    """Write a mean, with its interval if it is one of those."""
    text = amount(metric, row[metric])
    if metric not in intervals or text == "–":
        return text
    return f"{text} ({amount(metric, row[f'{metric} low'])}–{amount(metric, row[f'{metric} high'])})"


def amount(metric: str, value: float) -> str:
    """Write a figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", math.nan)
    ('0.811', '12,346', '3.2', '–')
    """
    if math.isnan(value):
        return "–"
    if metric in _SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if METRICS[metric].group != "cost":
        return f"{value:.3f}"
    digits = 0 if value >= 100 or not value else max(1, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def _difference_table(found: Comparison) -> Iterator[str]:
    rows = [["method", "metric", "difference", "won:lost", "verdict"]]
    tests = found.tests.to_dict("records")
    for test in sorted(tests, key=lambda test: list(found.rows).index(test["name"])):
        values = (test[part] for part in ("difference", "low", "high"))
        difference, low, high = (f"{'-' if own < 0 else '+'}{amount(test['metric'], abs(own))}" for own in values)
        interval = "" if math.isnan(test["low"]) else f" [{low}, {high}]"
        p = "p<0.001" if test["p"] < 0.001 else f"p={test['p']:.3f}"
        outcome = f"{test['won']}:{test['lost']}", f"{test['verdict']}, {p}"
        rows.append([test["name"], test["metric"], difference + interval, *outcome])
    if tests:
        about = "where all values are 0 or 1: Bonett and Price, exact McNemar test; else Student's, randomisation test"
        count = max(test["comparisons"] for test in tests)
        yield from _section_lines(
            f"Against {found.best} (the best {found.primary}), on up to {max(t['n'] for t in tests):,} questions", rows,
            f"95 % interval and p, {about}. p is corrected (Holm) for all {count}; below 0.05 it shows a difference.",
        )  # fmt: skip


def _kind_table(found: Comparison, rows: Sequence[Json]) -> Iterator[str]:
    """Show the primary metric by the first property of which the questions have some values, but not many."""
    means = found.means
    for kind in KINDS if found.primary else ():
        own = means[means["by"] == kind]
        values = list(dict.fromkeys(own["slice"]))
        if 1 < len(values) <= 8:
            cells = {
                (line["name"], line["slice"]): _mean_text(line, found.primary, {found.primary})
                for line in own.to_dict("records")
            }
            heads = [f"{value} (n {max(own.loc[own['slice'] == value, 'n'])})" for value in values]
            table = [["method", *heads]]
            table += [[_row_title(found, row), *(cells.get((row["name"], one), "–") for one in values)] for row in rows]
            yield from _section_lines(f"{found.primary} by {kind}", table)
            return


def _comparison_notes(found: Comparison, rows: Sequence[Json]) -> Iterator[str]:
    """Say what is missing, and what cannot be compared as it stands."""
    configs = list({run.path: run.config for run, _ in found.rows.values()}.values())
    yield from dict.fromkeys(note for config in configs for note in _dataset_gaps(config))
    if partly := [
        f"{row['name']} {row['n'] or 'none'} of {row['questions']}" for row in rows if row["n"] < row["questions"]
    ]:
        yield f"not every question was asked (each figure is of those that were): {'; '.join(partly)}"
    for metric, about in (
        ("failed", "questions that failed count as wrong"),
        ("without_model", "answered without the model that was to help (it failed, or was not trusted)"),
    ):
        if told := [f"{row['name']} {row[metric]:.0%}" for row in rows if row[metric] > 0]:
            yield f"{about}: {'; '.join(told)}"
    asked = found.scores.groupby("key")["name"].nunique()
    common = int((asked == found.scores["name"].nunique()).sum())
    if common < len(asked):
        yield (
            f"the rows were not asked the same questions: {common} were asked of all; each mean is over a row's own, "
            "each difference over those that both rows were asked"
        )
    for metric in dict.fromkeys([found.primary, *found.tests.get("metric", ())]) if found.primary else ():
        if left := max(row["n"] - row[f"{metric} n"] for row in rows if row[f"{metric} n"]):
            yield f"{metric} is not defined for every question (up to {left} are left out of its mean)"
    if any(0 < row["n"] < FEW for row in rows):
        yield f"fewer than {FEW} questions: Wilson's intervals are wide, the others are rough"


def _dataset_gaps(config: Json) -> Iterator[str]:
    """Say how questions and graph of a run are not those of the dataset."""
    if reasons := config.get("left_out"):
        yield f"{counted(len(reasons), 'question')} left out of the dataset, as {printable(reasons[0], 120)}"
    if (share := config.get("missing_share") or 0) > 0.01:
        yield f"{100 * share:.0f} % of the gold terms are not in the graph: these are not the figures of the dataset"
    if count := config.get("without_answer"):
        yield f"{counted(count, 'question')} without a right answer: who says nothing is right there"
