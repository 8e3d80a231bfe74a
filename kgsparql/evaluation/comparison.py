"""Runs side by side: every metric with its interval, by kind of question, and which differences are real.

One frame has a row for each question of each method; all tables, CSV and JSON are made of it by pandas. Runs are scored
from their records and questions alone: nothing is asked again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError, OptionError, not_installed
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.statistics import difference, holm, interval
from kgsparql.rdf.terms import Json, printable

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


def chosen_metrics(names: Sequence[str] = ()) -> tuple[str, ...]:
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
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.dataset].append(run)
    scored = [scored_rows(group, tuple(dict.fromkeys((*shown, *ALWAYS)))) for group in groups.values()]
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
            with_model = all(own.get("with_model", True) for own in run.config["methods"] if own["label"] == method)
            model = run.model if with_model else ""
            for question, record in pairs:
                kinds = {"hops": question.hops or "", "type": question.type, "direction": question.direction}
                values = {metric: METRICS[metric].of(question, record) for metric in metrics}
                said = {kind: printable(str(value), 60) for kind, value in kinds.items()}
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


def _row_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
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
    means = _metric_means(rows, scores, tuple(dict.fromkeys((*shown, *ALWAYS))))
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


def _metric_means(rows: pd.DataFrame, scores: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
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
        for metric in metrics:
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
