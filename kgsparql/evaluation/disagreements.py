"""Questions on which methods differ, with what each of them found: to see whether retrieval or choice went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kgsparql.evaluation.comparison import Comparison
from kgsparql.evaluation.comparison_tables import escaped
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.leaderboard import Leaderboard
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.matching import name as name_key
from kgsparql.evaluation.metrics.judging import judgement
from kgsparql.evaluation.record import Record, RecordedEvidence
from kgsparql.evaluation.scoring import each_record, key
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import wrapped

_MAX_ANSWERS = 5
_MAX_EVIDENCE = 3
_MAX_GOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one method for a question.

    :param value: of the metric in which methods differ.
    :param why: what went wrong, in a sentence; empty where nothing did.
    :param answers: the first ones, each with whether it is right; ``more`` were given.
    :param evidence: markers and texts of the first items, each with whether a right answer is in it.
    """

    name: str
    value: float
    status: str
    why: str
    answers: tuple[tuple[str, bool], ...]
    more: int
    evidence: tuple[tuple[str, str, bool], ...]
    cost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A question on which methods differ."""

    dataset: str
    metric: str
    question: Question
    outcomes: tuple[Outcome, ...]


def disagreements(comparison: Comparison, limit: int = 10) -> list[Disagreement]:
    """Find the questions of each dataset on which methods differ most; first those that about half of them got right.

    :raises DataError: for a line that is no record.
    """
    return [one for board in comparison.leaderboards if board.primary for one in _dataset_disagreements(board, limit)]


def _dataset_disagreements(board: Leaderboard, limit: int) -> Iterator[Disagreement]:
    values: dict[tuple[str, str], dict[int, float]] = {}
    questions: dict[tuple[str, str], Question] = {}
    for i, row in enumerate(board.rows):
        for question, value in zip(row.scores.questions, row.scores.values[board.primary], strict=True):
            if not np.isnan(value):
                values.setdefault(key(question), {})[i] = float(value)
                questions.setdefault(key(question), question)
    spread = {k: max(own.values()) - min(own.values()) for k, own in values.items()}
    chosen = sorted((k for k in values if spread[k] > 0), key=lambda k: (-spread[k], _unevenness(values[k])))[:limit]
    wanted = {i: {k[0] for k in chosen if i in values[k]} for i in range(len(board.rows))}
    records = {
        i: {record.question: record for record in each_record(row.scores.run, row.method, wanted[i])}
        for i, row in enumerate(board.rows)
        if wanted[i]
    }
    for k in chosen:
        outcomes = (
            _outcome_of(board.rows[i].name, value, questions[k], records[i][k[0]]) for i, value in values[k].items()
        )
        yield Disagreement(dataset=board.dataset, metric=board.primary, question=questions[k], outcomes=tuple(outcomes))


def _unevenness(values: Mapping[int, float]) -> float:
    """Measure how far the mean is from 0.5: a question that half of the methods get right tells most about them."""
    return round(abs(sum(values.values()) / len(values) - 0.5), 9)


def _outcome_of(name: str, value: float, question: Question, record: Record) -> Outcome:
    gold = GoldAnswers(question.answers or ())
    names = {name_key(answer.label) for answer in question.answers or () if answer.term is None} - {""}
    given = judgement(question, record)  # in the order in which they are scored
    answers = () if given is None else given.answers
    right = [] if given is None else [bool(numbers) for numbers in given.found]
    has_gold = [_has_answer(item, gold, names) for item in record.evidence]
    calls = f"{record.measured.model_calls} model calls, " if record.measured.model_calls else ""
    return Outcome(
        name=name,
        value=value,
        status="error" if record.has_failed else record.status,
        why="" if value >= 1 else _reason(question, record, right, has_gold),
        answers=tuple(
            (printable(answer.label or answer.term, 80), is_right)
            for answer, is_right in islice(zip(answers, right, strict=True), _MAX_ANSWERS)
        ),
        more=max(0, len(answers) - _MAX_ANSWERS),
        evidence=tuple(
            (item.marker, printable(item.text, 160), is_there)
            for item, is_there in islice(
                zip(record.evidence, has_gold, strict=True), 1 if value >= 1 else _MAX_EVIDENCE
            )
        ),
        cost=f"{calls}{record.measured.queries} queries",
    )


def _has_answer(item: RecordedEvidence, gold: GoldAnswers, names: Collection[str]) -> bool:
    """Tell whether a right answer is in a piece of evidence; where only its name is known, whether the text has it."""
    terms = dict.fromkeys([*item.ends, *(term for triple in item.triples for term in (triple[0], triple[2]))])
    text = name_key(item.text) if names else ""
    return any(gold.found(term) for term in terms) or any(name in text for name in names)


def _reason(question: Question, record: Record, right: Sequence[bool], has_gold: Sequence[bool]) -> str:
    """Say where it went wrong: the call, the linking, the retrieval, or the choice."""
    if record.has_failed:
        code, message = record.error or ("E_INTERNAL", "")
        return f"failed: {printable(message, 160)} [{code}]"
    if not question.answers:
        return "there is no answer, and one was given" if record.answers else ""
    if any(right):
        place = right.index(True) + 1
        return f"a right answer is number {place} of {len(right)}" if place > 1 else "not all that counts is right"
    if any(has_gold):
        markers = [item.marker for item, is_there in zip(record.evidence, has_gold, strict=True) if is_there]
        return f"found, not chosen: a right answer is in the evidence ({', '.join(markers[:_MAX_EVIDENCE])})"
    topics = {str(topic.iri) for topic in question.topics}
    linked = [link.label or link.term for link in record.linked or ()]
    if topics and record.linked is not None and not topics & {link.term for link in record.linked}:
        taken = f"linked to {printable(', '.join(linked), 120)}" if linked else "nothing was linked"
        return f"not found: {taken}, not to what the question is about"
    return "not found: no right answer is in the evidence"


def _question_lines(question: Question) -> list[str]:
    """List the right answers and topics of a question."""
    answers = question.answers or ()
    gold = [printable(answer.label or str(answer.term), 80) for answer in answers[:_MAX_GOLD]]
    more = f" … {len(answers) - _MAX_GOLD} more" if len(answers) > _MAX_GOLD else ""
    topics = [printable(f"{topic.label} <{topic.iri.value}>".strip(), 120) for topic in question.topics[:_MAX_GOLD]]
    path = [printable(name, 80) for name in question.path]
    return [
        f"right: {', '.join(gold) + more if gold else 'there is no answer'}",
        *([f"about: {', '.join(topics)}"] if topics else []),
        *([f"path: {'/'.join(path)}"] if path else []),
    ]


def _outcome_lines(outcome: Outcome) -> list[str]:
    """List the answers and the evidence of a method; what is right has a tick."""
    given = ", ".join(f"{label} ✓" if is_right else label for label, is_right in outcome.answers)
    more = f" … {outcome.more} more" if outcome.more else ""
    return [
        *([outcome.why] if outcome.why else []),
        *([f"given: {given}{more}"] if given else [] if outcome.status == "error" else ["given: nothing"]),
        *(f"{marker}{' ✓' if has_gold else ''}: {text}" for marker, text, has_gold in outcome.evidence),
    ]


def _outcome_title(outcome: Outcome) -> str:
    is_right = {1.0: "right", 0.0: "wrong"}.get(outcome.value, f"{outcome.value:.2f}")
    return f"{outcome.name}: {is_right}, {outcome.status}, {outcome.cost}"


def _question_title(one: Disagreement) -> str:
    hops = "" if one.question.hops is None else f", {one.question.hops} hop{'' if one.question.hops == 1 else 's'}"
    return f"{printable(one.question.text, 300)} ({printable(one.dataset, 60)} {printable(one.question.id, 60)}{hops})"


_NO_DISAGREEMENT = "Methods do not differ on any question."


def _lines_below(one: Disagreement) -> Iterator[tuple[int, str]]:
    """Yield what stands below the title of a question, each line with its depth."""
    yield from ((1, line) for line in _question_lines(one.question))
    for outcome in one.outcomes:
        yield 1, _outcome_title(outcome)
        yield from ((3, line) for line in _outcome_lines(outcome))


def disagreements_text(found: Sequence[Disagreement]) -> str:
    """Write the questions for a terminal; a right answer has a tick."""
    if not found:
        return f"{_NO_DISAGREEMENT}\n"
    lines = [f"Where methods differ in {found[0].metric} ({len(found)} shown; ✓ is right)"]
    for one in found:
        lines += ["", *wrapped(_question_title(one))]
        for depth, line in _lines_below(one):
            lines += _hanging_lines(line, "  " * depth)
    return "\n".join(lines) + "\n"


def _hanging_lines(text: str, indent: str) -> list[str]:
    """Wrap a text; all lines but the first are indented two spaces more."""
    first, *others = wrapped(text, indent=f"  {indent}")
    return [first[2:], *others]


def disagreements_markdown(found: Sequence[Disagreement]) -> str:
    """Write the questions as Markdown."""
    lines = ["## Where methods differ", *([] if found else ["", _NO_DISAGREEMENT])]
    for one in found:
        lines += ["", f"### {escaped(_question_title(one))}", ""]
        lines += [f"{'  ' * (depth // 2)}- {escaped(line)}" for depth, line in _lines_below(one)]
    return "\n".join(lines) + "\n"
