"""Questions on which methods differ, with what each of them found: to see whether retrieval or choice went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgsparql.evaluation.comparison import Comparison, Leaderboard
from kgsparql.evaluation.comparison_tables import escaped
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.matching import name as name_key
from kgsparql.evaluation.metrics.judging import judgement
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.scoring import each_record
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import wrapped

_MAX_LISTED = 5


def disagreements_text(comparison: Comparison, limit: int = 10, *, markdown: bool = False) -> str:
    """Write the questions on which methods differ for a terminal, or as Markdown; a right answer has a tick.

    :param limit: questions of each dataset; those come first that about half of the methods got right.
    """
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
    chosen = sorted(differ, key=lambda key: round(abs(np.mean([*values[key].values()]) - 0.5), 9))[:limit]
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
    more = f" … {len(texts) - _MAX_LISTED} more" if len(texts) > _MAX_LISTED else ""
    return ", ".join(printable(text, 120) for text in texts[:_MAX_LISTED]) + more


def _outcome_text(value: float, question: Question, record: Record) -> str:
    """Say what a method answered and, where it is not right, where it went wrong."""
    given = judgement(question, record)  # in the order in which they are scored
    right = [bool(numbers) for numbers in given.found] if given else []
    answers = zip(given.answers if given else (), right, strict=True)
    listed = _first_texts([f"{one.label or one.term}{' ✓' * is_right}" for one, is_right in answers])
    why = "" if value >= 1 else f"; {_reason(question, record, right)}"
    return f"{value:.3g}, {record.status}: {listed or 'nothing'}{why}"


def _reason(question: Question, record: Record, right: Sequence[bool]) -> str:
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
