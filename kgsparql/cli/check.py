"""``kgsparql check`` and ``diff``: an answer that was kept, on the graph as it is now, and beside another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import AnswerFileError, BudgetExceededError, InputError
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, Triple, printable

if TYPE_CHECKING:
    from kgsparql.answering.kept_answers import AnswerFile, KeptAnswer, Row
    from kgsparql.answering.recheck import AnswerDiff, Recheck, RecheckedItem

_EXIT_CHANGED = 3
"""Exit status where not all stands."""
_MAX_SHOWN = 20
"""Triples, and answers of an item, that are shown."""


@c.command
def check(
    graph: GraphOptions,
    file: Annotated[str, typer.Argument(metavar="ANSWER", help="What ask -f trig, json or jsonl wrote; - for stdin.")],
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    timeout: Annotated[
        float, typer.Option("--max-seconds", min=0.1, metavar="SECONDS", help="For each answer in the file.")
    ] = 60.0,
) -> None:
    """Check an answer again: look up each triple that it cites, run each query, compute each number.

    Exit status: 0 all stands, 3 something changed, 4 an answer cannot be read, 5 unreachable, 6 out of time before all
    was checked; of many answers 4 comes before 3, and 3 before 6.
    """
    from kgsparql.answering.recheck import Rechecker

    form = c.chosen_format(form, output)
    if file == "-" and "-" in graph.sources:
        raise InputError("answer and graph cannot both come from stdin", hint="put one of them in a file")
    kept = _answer_file(file)
    with (
        graph.opened(embedder="none", fresh=True) as knowledge,
        Rechecker(knowledge.graph, max_seconds=timeout) as rechecker,
    ):
        checked = [rechecker.recheck(answer) for answer in kept.answers]
        prefixes = knowledge.prefixes
    if form == "json":
        c.write_json(_outcomes_json(kept, checked), output)
    else:
        blocks = ["\n".join(_recheck_lines(one, prefixes)) for one in checked]
        c.write("\n\n".join([*blocks, *(["\n".join(_unchecked_lines(kept))] if _is_short(kept) else [])]), output)
    if kept.damaged:
        raise typer.Exit(AnswerFileError.exit_code)
    if not all(one.stands for one in checked):
        raise typer.Exit(_EXIT_CHANGED)
    if not all(one.is_whole for one in checked):
        raise typer.Exit(BudgetExceededError.exit_code)


@c.command
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="What ask -f trig, json or jsonl wrote; - for stdin.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another answer, or as many in the same order.")],
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
) -> None:
    """Say what two answers differ in: answers, values, cited triples. Exit status: 0 nothing, 3 something."""
    from kgsparql.answering.recheck import answer_diff

    form = c.chosen_format(form, output)
    if first == second == "-":
        raise InputError("both answers cannot come from stdin", hint="put one of them in a file")
    one, other = (_all_answers(_answer_file(file)) for file in (first, second))
    if len(one) != len(other):
        raise InputError(f"{len(one):,} answers and {len(other):,}", hint="compare as many, in the same order")
    found = [answer_diff(*pair) for pair in zip(one, other, strict=True)]
    if form == "json":
        made = [each.to_json() for each in found]
        c.write_json(made if len(made) > 1 else made[0], output)
    else:
        shown = ["\n".join(_diff_lines(each, answer)) for each, answer in zip(found, one, strict=True)]
        c.write("\n\n".join(shown), output)
    if not all(each.is_same for each in found):
        raise typer.Exit(_EXIT_CHANGED)


def _diff_lines(found: AnswerDiff, first: KeptAnswer) -> Iterator[str]:
    prefixes = PrefixMap.default()
    yield f"{'same' if found.is_same else 'DIFFERENT'}: {printable(first.question, 300)}"
    for name, (gone, new) in found.changes.items():
        for sign, ones in (("-", gone), ("+", new)):
            for one in ones[:_MAX_SHOWN]:
                yield f"  {name:<9} {sign} {_change_text(one, prefixes)}"
            if len(ones) > _MAX_SHOWN:
                yield f"  {name:<9} {sign} {len(ones) - _MAX_SHOWN:,} more: -f json"


def _change_text(one: Term | Triple | str, prefixes: PrefixMap) -> str:
    if isinstance(one, str):
        return printable(one, 300)
    return _triple_text(one, prefixes) if isinstance(one, Triple) else _term_text(one, prefixes)


def _answer_file(file: str) -> AnswerFile:
    from kgsparql.answering.kept_answers import MOST_BYTES, AnswerFile

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {printable(file, 200)}: {error.strerror}", hint="name a file") from error
    return AnswerFile.read(data)


def _all_answers(kept: AnswerFile) -> tuple[KeptAnswer, ...]:
    """Return all answers of a file; they are paired by their places, so that none may be missing."""
    if kept.damaged:
        raise kept.damaged[0]
    return kept.answers


def _is_short(kept: AnswerFile) -> bool:
    return bool(kept.damaged or kept.unanswered)


def _outcomes_json(kept: AnswerFile, checked: list[Recheck]) -> Any:
    """Return the outcome of a file with one answer, else of all, with what could not be checked."""
    if len(checked) == 1 and not _is_short(kept):
        return checked[0].to_json()
    return {
        "answers": [one.to_json() for one in checked],
        "damaged": len(kept.damaged),
        "damaged_lines": [{"number": one.detail["line"], "why": one.message} for one in kept.damaged],
        "unanswered": kept.unanswered,
    }


def _unchecked_lines(kept: AnswerFile) -> Iterator[str]:
    """Say what of a file is no answer that could be checked."""
    if kept.damaged:
        yield f"NOT READ: {len(kept.damaged):,} of {len(kept.damaged) + len(kept.answers) + kept.unanswered:,}"
    for one in kept.damaged[:_MAX_SHOWN]:
        yield f"  {printable(one.message, 300)}"
    if len(kept.damaged) > _MAX_SHOWN:
        yield f"  {len(kept.damaged) - _MAX_SHOWN:,} more: -f json"
    if kept.unanswered:
        yield f"no answer to check: {kept.unanswered:,} (an error, or an empty question)"


def _recheck_lines(found: Recheck, prefixes: PrefixMap) -> Iterator[str]:
    """Say the outcome to a person: the verdict first, then only what changed or could not be told."""
    answer = found.answer
    verdict = "stands" if found.stands and found.is_whole else "CHANGED" if not found.stands else "not all checked"
    when = f"  (answered {printable(answer.at, 40)})" if answer.at else ""
    yield f"{verdict}: {printable(answer.question, 300)}{when}"
    if found.is_of_other_graphs:
        own, other = (printable(", ".join(names), 300) for names in (answer.graphs, found.graphs))
        yield f"  graph     answered from {own}, checked on {other}"
    counts = [f"{found.found:,} there", f"{len(found.gone):,} gone"]
    counts += [f"{found.unnamed:,} with a blank node, which no other graph knows"] if found.unnamed else []
    counts += [f"{found.unknown:,} not told"] if found.unknown else []
    yield f"  triples   {', '.join(counts)}"
    for triple in found.gone[:_MAX_SHOWN]:
        yield f"    gone    {_triple_text(triple, prefixes)}"
    if len(found.gone) > _MAX_SHOWN:
        yield f"    +{len(found.gone) - _MAX_SHOWN:,} more: -f json"
    run = [item for item in found.items if item.verdict != "no_query"]
    same = sum(1 for item in run if item.verdict == "stands")
    yield f"  queries   {same:,} of {len(run):,} give the same"
    for item in found.items:
        if item.verdict != "stands":
            yield from _item_lines(item, prefixes)


def _item_lines(item: RecheckedItem, prefixes: PrefixMap) -> Iterator[str]:
    role = "" if item.is_cited else " (only found on the way)"
    yield f"    {printable(item.marker, 8):<4}    {printable(item.text, 160)}{role}"
    if item.why:
        word = {"no_query": "not run", "unknown": "not told", "refused": "refused", "changed": "changed"}[item.verdict]
        yield f"            {word}: {printable(item.why, 300)}"
    if item.is_computed and len(item.gone) == len(item.new) == 1:
        yield f"            was {_row_text(item.gone[0], prefixes)}, now {_row_text(item.new[0], prefixes)}"
        return
    for word, rows in (("gone", item.gone), ("new", item.new)):
        if rows:
            more = f"; +{len(rows) - _MAX_SHOWN:,} more" if len(rows) > _MAX_SHOWN else ""
            yield f"            {word}: {'; '.join(_row_text(row, prefixes) for row in rows[:_MAX_SHOWN])}{more}"


def _row_text(row: Row, prefixes: PrefixMap) -> str:
    return " | ".join("" if term is None else _term_text(term, prefixes) for term in row)


def _triple_text(triple: Triple, prefixes: PrefixMap) -> str:
    return " ".join(_term_text(term, prefixes) for term in triple)


def _term_text(term: Term, prefixes: PrefixMap) -> str:
    if isinstance(term, IRI):
        return printable(prefixes.compress(term), 200)
    return printable(term.value, 200) if isinstance(term, Literal) and _is_number(term) else printable(str(term), 200)


def _is_number(term: Literal) -> bool:
    return term.datatype.value.rpartition("#")[2] in {"integer", "decimal", "double", "boolean"}
