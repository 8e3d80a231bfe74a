"""A comparison for people and programs: tables in text or Markdown, JSON, CSV, plots, and where methods differ."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from kgsparql.errors import InputError, OptionError
from kgsparql.evaluation.comparison import ALWAYS, Comparison, Leaderboard, Row, records
from kgsparql.evaluation.dataset import Question, first_texts
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.matching import name as name_key
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.judging import judgement
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.statistics import COVERAGES, RESAMPLES, Interval
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import WIDTH, aligned, wrapped
from kgsparql.rendering.text import escaped_markdown

_SHARES = ("grounded", "unsupported_claims", "abstained", "misleading", "wrong_yes_no", "partial", *ALWAYS)
"""Metrics that are shown as shares of the questions, in per cent."""

_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1", "exact")
_EVIDENCE = ("triple_recall", "triple_f1", "triple_hit@10", "linking_recall@1", "linking_recall@5")
_COSTS = ("model_calls", "rounds", "tokens", "cost", "paid_cost", "queries", "seconds")

_TESTS = {
    "mcnemar": "Bonett and Price, exact McNemar test, where all values are 0 or 1",
    "randomisation": "paired bootstrap, paired randomisation test",
}
_INTERVALS = {"wilson": "Wilson's score interval", "bootstrap": f"bootstrap, {RESAMPLES:,} resamples"}


class _Section(NamedTuple):
    """A table with what is said below it, its first row the heads, and the columns to the left beside the first."""

    title: str
    rows: Sequence[Sequence[str]] = ()
    texts: Sequence[str] = ()
    left: frozenset[int] = frozenset()
    level: int = 3


def comparison_text(comparison: Comparison) -> str:
    """Write aligned tables for a terminal or a pipe."""
    lines: list[str] = []
    for one in _comparison_sections(comparison):
        lines += ["", *wrapped(one.title), *table_lines(one.rows, one.left)]
        lines += (line for text in one.texts for line in wrapped(printable(text, 600), indent="  "))
    return "\n".join([*lines[1:], ""])


def comparison_markdown(comparison: Comparison) -> str:
    """Write tables as GitHub shows them; what a dataset says has no markup: see :func:`.escaped_markdown`."""
    lines: list[str] = []
    for one in _comparison_sections(comparison):
        heads, *rows = [list(map(escaped_markdown, row)) for row in one.rows] or [[]]
        marks = [":---" if not i or i in one.left else "---:" for i in range(len(heads))]
        lines += ["", f"{'#' * one.level} {escaped_markdown(one.title)}", ""]
        lines += (f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows) if cells)
        lines += [*([""] if heads else []), *map(escaped_markdown, one.texts)]
    return "\n".join([*lines[1:], ""])


def table_lines(rows: Sequence[Sequence[str]], left: Iterable[int] = ()) -> list[str]:
    """Align the cells of a table with its heads in the first row; a long name goes on in the next line.

    >>> table_lines([["name", "n"], ["a", "10"]])
    ['  name   n', '  a     10']
    """
    others = sum(2 + max(map(len, column)) for column in list(zip(*rows, strict=True))[1:])
    lines: list[list[str]] = []
    for name, *cells in rows:
        first, *more = wrap(name, max(20, WIDTH - 2 - others)) or [""]
        lines += [[first, *cells], *([part, *[""] * len(cells)] for part in more)]
    return aligned(lines, {0, *left})


def amount(metric: str, value: float | None) -> str:
    """Write a figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", None)
    ('0.811', '12,346', '3.2', '–')
    """
    if value is None:
        return "–"
    if metric in _SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if METRICS[metric].group != "cost":
        return f"{value:.3f}"
    digits = 0 if value >= 100 or not value else max(1, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def _with_interval(metric: str, found: Interval | None) -> str:
    if found is None:
        return "–"
    return f"{amount(metric, found.mean)} ({amount(metric, found.low)}–{amount(metric, found.high)})"


def _signed_amount(metric: str, value: float) -> str:
    text = amount(metric, abs(value))
    return f"{'-' if value < 0 else '+'}{text}" if text.strip("0.,% ") else text


def _range_text(numbers: Iterable[int]) -> str:
    in_order = sorted(set(numbers))
    return " to ".join(f"{number:,}" for number in dict.fromkeys((in_order[0], in_order[-1])))


def _board_heading(board: Leaderboard) -> str:
    asked = _range_text(len(row.run.questions) for row in board.rows)
    models = sorted({row.model or "no model" for row in board.rows}, key=lambda name: (name == "no model", name))
    about = f"{asked} question{'s' * (asked != '1')}, {printable(', '.join(models), 200)}"
    return f"{printable(board.rows[0].run.dataset, 100)}: {about}"


def _board_summary(board: Leaderboard) -> Iterator[str]:
    """Yield sentences that say which row is best, and which are shown to be worse or better than the reference."""
    metric = board.primary
    if board.best is None:
        yield "No row is the best: no method has a figure of quality."
    else:
        yield f"Best {metric}: {board.best.name}, {_with_interval(metric, board.best.means[metric])}."
    shown = {
        "worse": "Shown to be worse than",
        "better": "Shown to be better than",
        "not shown": "Not shown to differ from",
    }
    for verdict, said in shown.items():
        rows = (row for row, own in board.tests.items() if metric in own and own[metric].verdict == verdict)
        if board.reference and (names := "; ".join(row.title for row in rows)):
            yield f"{said} {board.reference.name}: {names}."


def _comparison_sections(comparison: Comparison) -> Iterator[_Section]:
    """Yield everything that is shown: for each dataset what is best, the tables, and the notes."""
    for board in comparison.leaderboards:
        yield _Section(_board_heading(board), texts=list(_board_summary(board)), level=2)
        tables = [_quality_table(board, comparison), _difference_table(board), _slice_table(board)]
        if not comparison.named:
            tables += [_means_table("Evidence and linking", board, _EVIDENCE), _risk_table(board)]
        shares = [one for one in _SHARES if one != "without_model" or any(row.mean(one) for row in board.rows)]
        tables.append(_means_table("Reliability: share of questions", board, shares))
        costs = [name for name in (comparison.metrics if comparison.named else _COSTS) if METRICS[name].group == "cost"]
        costs = [name for name in costs if any(row.mean(name) for row in board.rows)]
        tables.append(_means_table("Cost: mean of a question", board, costs))
        yield from (table for table in tables if len(table.rows) > 1)
        if board.notes:
            yield _Section("Notes", texts=[f"- {note}" for note in board.notes])
    if not comparison.named and (means := list(_mean_aurocs(comparison.leaderboards))):
        title = f"Mean AUROC of the {len(comparison.leaderboards)} datasets"
        yield _Section(title, [["method", "AUROC"], *means], level=2)


def _mean_aurocs(boards: Sequence[Leaderboard]) -> Iterator[tuple[str, str]]:
    """Yield the mean of a method that was asked in each of several datasets: a pooled figure says which one is easy."""
    found = defaultdict(list)
    for row in (row for board in boards for row in board.rows):
        if row.risk and row.risk.auroc is not None:
            found[row.name].append(row.risk.auroc)
    return ((name, f"{mean(own):.3f}") for name, own in found.items() if len(own) == len(boards) > 1)


def _row_label(board: Leaderboard, row: Row) -> str:
    return f"{row.name} *" if row is board.best and len(board.rows) > 1 else row.title


def _defined_metrics(board: Leaderboard, metrics: Iterable[str]) -> list[str]:
    return [name for name in metrics if any(row.mean(name) is not None for row in board.rows)]


def _means_table(
    title: str, board: Leaderboard, metrics: Iterable[str], with_intervals: Iterable[str] = ()
) -> _Section:
    if not (shown := _defined_metrics(board, metrics)):
        return _Section(title)
    rows = [["method", *shown]]
    for row in board.rows:
        cells = (_with_interval(m, row.means[m]) if m in with_intervals else amount(m, row.mean(m)) for m in shown)
        rows.append([_row_label(board, row), *cells])
    return _Section(title, rows)


def _quality_table(board: Leaderboard, comparison: Comparison) -> _Section:
    wanted = comparison.metrics if comparison.named else _QUALITY
    shown = [m for m in _defined_metrics(board, wanted) if METRICS[m].group != "cost" and m not in _SHARES]
    # of many metrics, intervals of the first ones alone: those of the others are in CSV and JSON
    with_intervals = [m for m in shown if len(shown) <= 3 or m in {*_QUALITY[:2], board.primary}]
    means = (row.means[name] for row in board.rows for name in with_intervals)
    methods = {one.method for one in means if one is not None}
    kinds = "; else ".join(text for method, text in _INTERVALS.items() if method in methods)
    captions = {
        f"* best {board.primary}": board.best is not None and len(board.rows) > 1,
        "‡ an oracle chooses: a ceiling, no method": any(row.is_ceiling for row in board.rows),
        f"In brackets: 95 % interval of the mean ({kinds}).": bool(kinds),
    }
    table = _means_table("Quality", board, shown, with_intervals)
    return table._replace(texts=[text for text, is_said in captions.items() if is_said])


def _difference_table(board: Leaderboard) -> _Section:
    all_tests = [test for own in board.tests.values() for test in own.values()]
    if not all_tests or board.reference is None:
        return _Section("")
    rows = [["method", "metric", "difference", "won:lost", "verdict"]]
    for row, own in board.tests.items():
        title = row.title
        for metric, test in own.items():
            found = test.difference
            difference = _signed_amount(metric, found.mean)
            if found.has_interval:
                difference += f" [{_signed_amount(metric, found.low)}, {_signed_amount(metric, found.high)}]"
            p = "p<0.001" if test.p < 0.001 else f"p={test.p:.3f}"
            rows.append([title, metric, difference, f"{test.won}:{test.lost}", f"{test.verdict}, {p}"])
            title = ""
    kinds = "; else ".join(text for kind, text in _TESTS.items() if any(t.difference.test == kind for t in all_tests))
    count = max(test.comparisons for test in all_tests)
    corrected = f" p is corrected (Holm) for all {count}; it decides, not the interval." if count > 1 else ""
    caption = f"95 % interval and p: {kinds}.{corrected} p below 0.05 shows a difference."
    why = f"the best {board.primary}" if board.reference is board.best else "the baseline"
    title = f"Against {board.reference.name} ({why}), on"
    title += f" {_range_text(test.difference.n for test in all_tests)} questions"
    return _Section(title, rows, [caption], frozenset({1, 4}))


def _slice_table(board: Leaderboard) -> _Section:
    """Show the primary metric by the first property of which the questions have some values, but not many."""
    kind = next((kind for kind, values in board.rows[0].slices.items() if 1 < len(values) <= 8), "")
    if not kind or not board.primary:
        return _Section("")
    heads = ["method"]
    for value in board.rows[0].slices[kind]:
        sizes = [n for row in board.rows if (n := row.slices[kind][value].n)] or [0]
        name = f"{value} hop{'s' * (value != '1')}" if kind == "hops" and value.isdecimal() else printable(value, 40)
        heads.append(f"{name} (n {_range_text(sizes)})")
    rows = [heads]
    for row in board.rows:
        means = (part.means[board.primary] for part in row.slices[kind].values())
        rows.append([_row_label(board, row), *(_with_interval(board.primary, mean) for mean in means)])
    return _Section(f"{board.primary} by {kind}", rows)


def _risk_table(board: Leaderboard) -> _Section:
    """Show how many are right among the answers that a method is surest of."""
    rows = [["method", "answered", *(f"{100 * coverage:.0f} %" for coverage in COVERAGES), "AUROC"]]
    for row in board.rows:
        if row.risk:
            auroc = "–" if row.risk.auroc is None else f"{row.risk.auroc:.3f}"
            shares = (f"{100 * share:.0f} %" for share in row.risk.right)
            rows.append([_row_label(board, row), f"{row.risk.n:,}", *shares, auroc])
    caption = (
        "The surest are those of the largest confidence. AUROC: how often a right answer has a larger one than a wrong"
        " answer; 0.5 is chance."
    )
    return _Section("Risk and coverage: first answers that are right among the surest", rows, [caption])


def disagreements_text(comparison: Comparison, limit: int = 10, *, markdown: bool = False) -> str:
    """Write the questions on which methods differ, first those that about half of the methods got right."""
    lines = [f"{'## ' * markdown}Where methods differ (✓ is right)"]
    for board in comparison.leaderboards if comparison.leaderboards[0].primary else ():
        for title, *others in _board_disagreements(board, limit):
            if markdown:
                lines += ["", f"### {escaped_markdown(title)}", "", *(f"- {escaped_markdown(line)}" for line in others)]
            else:
                texts = (wrapped(line, indent="    ") for line in others)
                lines += ["", *wrapped(title), *(part for first, *more in texts for part in (first[2:], *more))]
    return "\n".join(lines) + "\n"


def _board_disagreements(board: Leaderboard, limit: int) -> Iterator[list[str]]:
    """Yield the lines of each question."""
    values: dict[tuple[str, str], dict[Row, float]] = defaultdict(dict)
    questions: dict[tuple[str, str], Question] = {}
    for row in board.rows:
        questions.update(zip(row.keys, row.questions, strict=True))
        for key, value in row.by_question(board.primary).items():
            values[key][row] = value
    differ = [key for key, own in values.items() if len(set(own.values())) > 1]
    chosen = sorted(differ, key=lambda key: round(abs(mean(values[key].values()) - 0.5), 9))[:limit]
    ids = {id_ for id_, _ in chosen}
    records = {row: {one.question: one for one in row.run.each_record(row.method, ids)} for row in board.rows}
    for key in chosen:
        question = questions[key]
        gold = first_texts([answer.label or str(answer.term) for answer in question.answers or ()])
        outcomes = (f"{row.name}: {_outcome_text(v, question, records[row][key[0]])}" for row, v in values[key].items())
        title = f"{printable(question.text, 300)} ({printable(question.id, 60)})"
        yield [title, f"right: {gold or 'there is no answer'}", *outcomes]


def _outcome_text(value: float, question: Question, record: Record) -> str:
    """Say what a method answered and, where it is not right, where it went wrong."""
    given = judgement(question, record)  # in the order in which they are scored
    right = [bool(numbers) for numbers in given.found] if given else []
    answers = zip(given.answers if given else (), right, strict=True)
    listed = first_texts([f"{one.label or one.term}{' ✓' * is_right}" for one, is_right in answers])
    why = "" if value >= 1 else f"; {_failure_reason(question, record, right)}"
    return f"{value:.3g}, {record.status}: {listed or 'nothing'}{why}"


def _failure_reason(question: Question, record: Record, right: Sequence[bool]) -> str:
    """Say where it went wrong: the call, the choice, the linking, or the retrieval."""
    if record.has_failed:
        code, message = record.error or ("E_INTERNAL", "")
        return f"failed: {printable(message, 160)} [{code}]"
    if not question.answers:
        return "there is no answer, and one was given"
    if any(right):
        return "not all that counts is right" if right[0] else f"a right answer is number {right.index(True) + 1}"
    gold = GoldAnswers(question.answers)
    names = {name_key(answer.label) for answer in question.answers if answer.term is None} - {""}
    for item in record.evidence:
        terms = [*item.ends, *(term for triple in item.triples for term in (triple[0], triple[2]))]
        # where only the name of an answer is known, the text of the evidence has to have it
        if any(map(gold.found, terms)) or any(name in name_key(item.text) for name in names):
            return f"found, not chosen: [{item.marker}] {printable(item.text, 160)}"
    topics = {str(topic.iri) for topic in question.topics}
    if topics and record.linked is not None and not topics & {link.term for link in record.linked}:
        linked = printable(", ".join(link.label or link.term for link in record.linked), 120)
        return f"not found: linked to {linked or 'nothing'}, not to what the question is about"
    return "not found: no right answer is in the evidence"


def comparison_json(comparison: Comparison) -> str:
    """Write the :func:`records` as a JSON array, which ``pandas.read_json`` reads."""
    return json.dumps(records(comparison), ensure_ascii=False, indent=1) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """Write the :func:`records` as lines of CSV.

    RFC 4180: lines end with CR LF. A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    found = records(comparison)
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(dict.fromkeys(name for one in found for name in one)), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({k: _csv_text(v) if isinstance(v, str) else v for k, v in one.items()} for one in found)
    return stream.getvalue()


def _csv_text(text: str) -> str:
    r"""Write a text for a terminal and a spreadsheet.

    >>> _csv_text("=1+1"), _csv_text("who"), _csv_text("a\tb")
    ("'=1+1", 'who', 'a b')
    """
    shown = printable(text, 1000)
    return f"'{shown}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or shown[:1] in set("=+-@") else shown


_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "axes.titlelocation": "left", "axes.grid": True, "axes.axisbelow": True,
    "text.parse_math": False, "figure.constrained_layout.use": True, "svg.hashsalt": "kgsparql",
}  # fmt: skip

_COST_NAMES = {"model_calls": "model calls", "queries": "SPARQL queries", "seconds": "seconds", "tokens": "tokens"}

_MAX_ROWS = 10  # rows in a plot: the best ones, as there are so many colours that everybody can tell apart


def save_plots(comparison: Comparison, directory: Path) -> list[Path]:
    """Draw quality against cost, and risk and coverage, of each dataset as PNG and SVG, and return the files.

    The same figures give the same bytes: there is no date in them, and no version of what drew them.
    """
    try:
        import matplotlib as mpl
        from matplotlib import style
    except ImportError as error:
        raise OptionError("plots need matplotlib", hint="pip install 'kgsparql[eval]'") from error
    files: list[Path] = []
    with mpl.rc_context(), warnings.catch_warnings():
        style.use(["tableau-colorblind10", _STYLE])
        warnings.filterwarnings("ignore", message=r"Glyph \d+")  # a box stands for it, and the tables have the name
        for number, board in enumerate(comparison.leaderboards, 1):
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", board.rows[0].run.dataset).strip("-").lower()[:60] or "dataset"
            name += f"-{number}" * (len(comparison.leaderboards) > 1)
            for kind, draw in (("quality-cost", _draw_quality_cost), ("risk-coverage", _draw_risk_coverage)):
                files += _save_plot(board, draw, directory / f"{name}-{kind}")
    return files


def _save_plot(board: Leaderboard, draw: Callable[[Any, Leaderboard], bool], path: Path) -> list[Path]:
    """Write the files of a plot, if there is anything to draw."""
    from matplotlib.figure import Figure  # no pyplot: it would look for a window

    figure = Figure(figsize=(7.5, 4.6))
    axes = figure.subplots()
    axes.set_title(printable(board.rows[0].run.dataset, 60))
    axes.set_ylim(-0.02, 1.02)
    if not draw(axes, board):
        return []
    figure.legend(loc="outside right upper", fontsize=9)
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(files[0], dpi=160, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise InputError(f"cannot write {path.parent}: {error.strerror}", hint="name another directory") from error
    return files


def _draw_quality_cost(axes: Any, board: Leaderboard) -> bool:
    """Draw the mean quality of each row against its mean cost, with 95 % intervals."""
    cost = next((name for name in _COST_NAMES if any(row.mean(name) for row in board.rows)), None)
    if not board.primary or cost is None:
        return False
    for marker, row in zip("osD^vPX*<>", board.rows[:_MAX_ROWS], strict=False):  # colour alone does not tell them apart
        y, x = row.means[board.primary], row.means[cost]
        if y is not None and x is not None:
            bars = {"yerr": [[y.mean - y.low], [y.high - y.mean]], "xerr": [[x.mean - x.low], [x.high - x.mean]]}
            axes.errorbar(x.mean, y.mean, **bars, fmt=marker, label=printable(row.title, 40))
    axes.set_xscale("symlog", linthresh=1)  # small costs stay apart beside large ones, and a cost of 0 has a place
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"{_COST_NAMES[cost]} (mean of a question)")
    axes.set_ylabel(board.primary)
    return True


def _draw_risk_coverage(axes: Any, board: Leaderboard) -> bool:
    """Draw, for each row, the share of right ones among its surest answers, from few of them to all."""
    for row in board.rows[:_MAX_ROWS]:
        if found := row.risk:
            auroc = "" if found.auroc is None else f", AUROC {found.auroc:.2f}"
            axes.plot(np.arange(1, found.n + 1) / found.n, found.curve, label=printable(row.title, 40) + auroc)
    axes.set_xlabel("coverage: share of its answers, the most confident first")
    axes.set_ylabel("share of them that is right")
    return any(row.risk for row in board.rows)
