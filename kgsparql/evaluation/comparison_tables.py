"""A comparison as tables, in text or Markdown, and the questions on which methods differ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean
from textwrap import wrap
from typing import NamedTuple

from kgsparql.evaluation.comparison import ALWAYS, Comparison, Leaderboard, Row, each_record
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.matching import name as name_key
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.metrics.judging import judgement
from kgsparql.evaluation.metrics.risk_coverage import COVERAGES
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.statistics import RESAMPLES, Interval
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import WIDTH, aligned, wrapped

_SHARES = ("grounded", "unsupported_claims", "abstained", "misleading", "wrong_yes_no", "partial", *ALWAYS)
"""Metrics that are shown as shares of the questions, in per cent."""

_WITH_INTERVALS = ("hits@1", "expected_hits@1")
"""Metrics whose intervals are in the first table; those of the others are in CSV and JSON."""

_QUALITY = ("hits@1", "expected_hits@1", "precision", "recall", "f1", "exact")
_EVIDENCE = ("triple_recall", "triple_f1", "triple_hit@10", "linking_recall@1", "linking_recall@5")
_COSTS = ("model_calls", "rounds", "tokens", "cost", "paid_cost", "queries", "seconds")

_TESTS = {
    "mcnemar": "Bonett and Price, exact McNemar test, where all values are 0 or 1",
    "randomisation": "paired bootstrap, paired randomisation test",
}
_INTERVALS = {"wilson": "Wilson's score interval", "bootstrap": f"bootstrap, {RESAMPLES:,} resamples"}
_HOW_SURE = (
    "The 95 % interval of a mean is Wilson's score interval where the metric is a share and every value is 0 or 1, as"
    f" in hits@1. Elsewhere it is that of the percentile bootstrap ({RESAMPLES:,} resamples), which is too narrow for"
    " few questions and near 0 and 1. The interval of a difference is of this one comparison: Bonett and Price's where"
    " every value is 0 or 1, else that of the paired bootstrap. Its p is after Holm's correction for all comparisons in"
    " the same metric, so that an interval may leave out 0 where p says that no difference is shown: then p counts."
)


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
    """Write tables as GitHub shows them; what a dataset says has no markup: see :func:`escaped`."""
    lines: list[str] = []
    for one in _comparison_sections(comparison):
        heads, *rows = [list(map(escaped, row)) for row in one.rows] or [[]]
        marks = [":---" if not i or i in one.left else "---:" for i in range(len(heads))]
        lines += ["", f"{'#' * one.level} {escaped(one.title)}", ""]
        lines += (f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows) if cells)
        lines += [*([""] if heads else []), *map(escaped, one.texts)]
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


def escaped(text: str) -> str:
    r"""Write a text as Markdown in which nothing is emphasis, code, a link with other words, an image or a tag.

    >>> print(escaped("expected_hits@1 | <b> &lt; $x$"))
    expected\_hits@1 \| \<b\> \&lt; \$x\$
    """
    return re.sub(r"([\\`*_\[\]<>#|!&~$])", r"\\\1", printable(text, 600))


def amount(metric: str, value: float | None) -> str:
    """Write a figure in as many digits as mean something.

    >>> amount("hits@1", 0.8111), amount("tokens", 12345.6), amount("queries", 3.25), amount("hits@1", None)
    ('0.811', '12,346', '3.2', '–')
    """
    if value is None:
        return "–"
    if metric in _SHARES:
        return f"{100 * value:.0f} %" if not 0 < value < 0.01 else "<1 %"
    if _is_quality(metric):
        return f"{value:.3f}"
    digits = 0 if value >= 100 or not value else max(1, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def _is_quality(metric: str) -> bool:
    return METRICS[metric].group != "cost" and metric not in _SHARES


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
    asked = _range_text(row.questions for row in board.rows)
    models = sorted({row.model or "no model" for row in board.rows}, key=lambda name: (name == "no model", name))
    about = f"{asked} question{'s' * (asked != '1')}, {printable(', '.join(models), 200)}"
    return f"{printable(board.rows[0].dataset, 100)}: {about}"


def _board_summary(board: Leaderboard) -> Iterator[str]:
    """Yield sentences that say which row is best, and which are shown to be worse or better than the reference."""
    metric = board.primary
    if board.best is None:
        yield "No row is the best: no method has a figure of quality."
    else:
        best = board.rows[board.best]
        yield f"Best {metric}: {best.name}, {_with_interval(metric, best.means[metric])}."
    for verdict, said in (
        ("worse", "Shown to be worse than"),
        ("better", "Shown to be better than"),
        ("not shown", "Not shown to differ from"),
    ):
        rows = (board.rows[i] for i, own in board.tests.items() if metric in own and own[metric].verdict == verdict)
        if names := "; ".join(row.title for row in rows):
            yield f"{said} {board.rows[board.reference or 0].name}: {names}."


def _comparison_sections(comparison: Comparison) -> Iterator[_Section]:
    """Yield everything that is shown: for each dataset what is best and the tables, then what is over all of them."""
    for board in comparison.leaderboards:
        yield _Section(_board_heading(board), texts=list(_board_summary(board)), level=2)
        tables = [_quality_table(board, comparison)]
        tables += [_difference_table(board)] if any(board.tests.values()) else []
        few = [kind for kind, values in board.rows[0].slices.items() if 1 < len(values) <= 8]
        tables += [_slice_table(board, kind) for kind in few[:1]]
        if not comparison.named:
            tables.append(_means_table("Evidence and linking", board, _defined_metrics(board, _EVIDENCE)))
            tables.append(_risk_table(board))
        tables.append(_means_table("Reliability: share of questions", board, _defined_metrics(board, _SHARES)))
        costs = [name for name in (comparison.metrics if comparison.named else _COSTS) if METRICS[name].group == "cost"]
        costs = [name for name in costs if any(row.mean(name) for row in board.rows)]
        tables.append(_means_table("Cost: mean of a question", board, costs))
        yield from (table for table in tables if len(table.rows) > 1)
        if board.notes:
            yield _Section("Notes", texts=[f"- {note}" for note in board.notes])
    boards = comparison.leaderboards
    by_row: dict[str, list[float]] = {}
    for row in comparison.rows:
        if row.risk and row.risk.auroc is not None:
            by_row.setdefault(row.name, []).append(row.risk.auroc)
    # One pooled figure would also measure which dataset is easy.
    means = [[name, f"{sum(own) / len(own):.3f}"] for name, own in by_row.items() if len(own) == len(boards) > 1]
    if means and not comparison.named:
        yield _Section(f"Mean AUROC of the {len(boards)} datasets", [["method", "AUROC"], *means], level=2)


def _row_label(board: Leaderboard, row: Row) -> str:
    is_best = board.best is not None and board.rows[board.best] is row and len(board.rows) > 1
    return f"{row.name} *" if is_best else row.title


def _defined_metrics(board: Leaderboard, metrics: Sequence[str]) -> list[str]:
    return [name for name in metrics if any(row.mean(name) is not None for row in board.rows)]


def _means_table(
    title: str, board: Leaderboard, metrics: Sequence[str], with_intervals: Iterable[str] = ()
) -> _Section:
    rows = [["method", *metrics]]
    for row in board.rows:
        cells = (_with_interval(m, row.means[m]) if m in with_intervals else amount(m, row.mean(m)) for m in metrics)
        rows.append([_row_label(board, row), *cells])
    return _Section(title, rows if metrics else [])


def _quality_table(board: Leaderboard, comparison: Comparison) -> _Section:
    wanted = comparison.metrics if comparison.named else _QUALITY
    metrics = [name for name in _defined_metrics(board, wanted) if _is_quality(name)]
    with_intervals = metrics if len(metrics) <= 3 else {*_WITH_INTERVALS, board.primary}.intersection(metrics)
    table = _means_table("Quality", board, metrics, with_intervals)
    methods = {one.method for row in board.rows for name in with_intervals if (one := row.means[name]) is not None}
    kinds = "; else ".join(text for method, text in _INTERVALS.items() if method in methods)
    captions = {
        f"* best {board.primary}": board.best is not None and len(board.rows) > 1,
        "‡ an oracle chooses: a ceiling, no method": any(row.is_ceiling for row in board.rows),
        f"In brackets: 95 % interval of the mean ({kinds}).": bool(kinds),
    }
    return table._replace(texts=[text for text, is_said in captions.items() if is_said])


def _difference_table(board: Leaderboard) -> _Section:
    rows = [["method", "metric", "difference", "won:lost", "verdict"]]
    for i, own in board.tests.items():
        for metric, test in own.items():
            found = test.difference
            bounds = (
                f" [{_signed_amount(metric, found.low)}, {_signed_amount(metric, found.high)}]"
                if found.has_interval
                else ""
            )
            p = "p<0.001" if test.p < 0.001 else f"p={test.p:.3f}"
            cells = [f"{_signed_amount(metric, found.mean)}{bounds}", f"{test.won}:{test.lost}", f"{test.verdict}, {p}"]
            rows.append([board.rows[i].title * (metric == next(iter(own))), metric, *cells])
    all_tests = [test for own in board.tests.values() for test in own.values()]
    kinds = "; else ".join(text for kind, text in _TESTS.items() if any(t.difference.test == kind for t in all_tests))
    count = max(test.comparisons for test in all_tests)
    corrected = f" p is corrected (Holm) for all {count}; it decides, not the interval." if count > 1 else ""
    caption = f"95 % interval and p: {kinds}.{corrected} p below 0.05 shows a difference."
    reference = board.rows[board.reference or 0].name
    why = f"the best {board.primary}" if board.reference == board.best else "the baseline"
    title = f"Against {reference} ({why}), on {_range_text(t.difference.n for t in all_tests)} questions"
    return _Section(title, rows, [caption], frozenset({1, 4}))


def _slice_table(board: Leaderboard, kind: str) -> _Section:
    heads = ["method"]
    for value in board.rows[0].slices[kind]:
        sizes = [n for row in board.rows if (n := row.slices[kind][value].n)] or [0]
        name = f"{value} hop{'s' * (value != '1')}" if kind == "hops" and value.isdecimal() else printable(value, 40)
        heads.append(f"{name} (n {_range_text(sizes)})")
    rows = [heads]
    for row in board.rows if board.primary else ():
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
        "The margin is the score of the first answer above that of the next path. AUROC: how often a right answer has"
        " a larger margin than a wrong one; 0.5 is chance."
    )
    return _Section("Risk and coverage: first answers that are right among the surest", rows, [caption])


def metric_definitions(names: Sequence[str]) -> str:
    """Write the definitions of metrics, and what their intervals are."""
    lines = []
    for name in names:
        lines.append(f"{name}  ({METRICS[name].group}; {METRICS[name].better_text})")
        for paragraph in METRICS[name].about.split("\n\n"):
            lines += wrapped(" ".join(paragraph.split()), indent="    ")
        lines.append("")
    return "\n".join([*lines, "intervals", *wrapped(_HOW_SURE, indent="    "), ""])


def disagreements_text(comparison: Comparison, limit: int = 10, *, markdown: bool = False) -> str:
    """Write the questions on which methods differ, first those that about half of the methods got right."""
    lines = [f"{'## ' * markdown}Where methods differ (✓ is right)"]
    for board in comparison.leaderboards if comparison.leaderboards[0].primary else ():
        for title, *others in _board_disagreements(board, limit):
            if markdown:
                lines += ["", f"### {escaped(title)}", "", *(f"- {escaped(line)}" for line in others)]
            else:
                texts = (wrapped(line, indent="    ") for line in others)
                lines += ["", *wrapped(title), *(part for first, *more in texts for part in (first[2:], *more))]
    return "\n".join(lines) + "\n"


def _board_disagreements(board: Leaderboard, limit: int) -> Iterator[list[str]]:
    """Yield the lines of each question."""
    values: dict[tuple[str, str], dict[int, float]] = {}  # by question, then by row
    questions: dict[tuple[str, str], Question] = {}
    for i, row in enumerate(board.rows):
        questions |= dict(zip(row.scores.keys, row.scores.questions, strict=True))
        for key, value in row.scores.by_question(board.primary).items():
            values.setdefault(key, {})[i] = value
    differ = [key for key, own in values.items() if len(set(own.values())) > 1]
    chosen = sorted(differ, key=lambda key: round(abs(mean(values[key].values()) - 0.5), 9))[:limit]
    ids = {key[0] for key in chosen}
    records = [{one.question: one for one in each_record(row.scores.run, row.method, ids)} for row in board.rows]
    for key in chosen:
        question = questions[key]
        gold = _first_texts([answer.label or str(answer.term) for answer in question.answers or ()])
        lines = [f"{printable(question.text, 300)} ({printable(question.id, 60)})"]
        lines.append(f"right: {gold or 'there is no answer'}")
        for i, value in values[key].items():
            lines.append(f"{board.rows[i].name}: {_outcome_text(value, question, records[i][key[0]])}")
        yield lines


def _first_texts(texts: Sequence[str]) -> str:
    more = f" … {len(texts) - 5} more" if len(texts) > 5 else ""
    return ", ".join(printable(text, 120) for text in texts[:5]) + more


def _outcome_text(value: float, question: Question, record: Record) -> str:
    """Say what a method answered and, where it is not right, where it went wrong."""
    given = judgement(question, record)  # in the order in which they are scored
    right = [bool(numbers) for numbers in given.found] if given else []
    answers = zip(given.answers if given else (), right, strict=True)
    listed = _first_texts([f"{one.label or one.term}{' ✓' * is_right}" for one, is_right in answers])
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
