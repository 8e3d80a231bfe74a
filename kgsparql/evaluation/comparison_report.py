"""A comparison for people and programs: tables in text, JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kgsparql.evaluation.comparison import ALWAYS, KINDS, Comparison, records
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.statistics import FEW
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import aligned, safe_cells, wrapped

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
    yield from ("", *wrapped(title), *(aligned(rows, {0}) if rows else ()))
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
    title: str, found: Comparison, rows: Sequence[Mapping[str, Any]], metrics: Iterable[str],
    intervals: Collection[str] = (),
) -> Iterator[str]:  # fmt: skip
    """Yield a table of means, if there is any; of many metrics, other intervals are in CSV and JSON."""
    shown = [one for one in metrics if one in found.means and found.whole[one].notna().any()]
    cells = [[_row_title(found, row), *(_mean_text(row, one, intervals) for one in shown)] for row in rows]
    texts = ["* best. In brackets: 95 % interval of the mean."] if intervals else []
    if shown:
        yield from _section_lines(title, [["method", *shown], *cells], *texts)


def _row_title(found: Comparison, row: Mapping[str, Any]) -> str:
    mark = " *" if row["name"] == found.best and len(found.rows) > 1 else ""
    return f"{row['name']}{mark}"


def _mean_text(row: Mapping[str, Any], metric: str, intervals: Collection[str]) -> str:
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


def _kind_table(found: Comparison, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
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


def _comparison_notes(found: Comparison, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
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


def _dataset_gaps(config: Mapping[str, Any]) -> Iterator[str]:
    """Say how questions and graph of a run are not those of the dataset."""
    if reasons := config.get("left_out"):
        yield f"{counted(len(reasons), 'question')} left out of the dataset, as {printable(reasons[0], 120)}"
    if (share := config.get("missing_share") or 0) > 0.01:
        yield f"{100 * share:.0f} % of the gold terms are not in the graph: these are not the figures of the dataset"
    if count := config.get("without_answer"):
        yield f"{counted(count, 'question')} without a right answer: who says nothing is right there"
