"""``kgsparql check``: an answer that was kept, on the graph as it is now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import AnswerFileError, BudgetExceededError, InputError
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, Triple, printable
from kgsparql.resources import option_file

if TYPE_CHECKING:
    from kgsparql.answering.kept_answers import AnswerFile
    from kgsparql.answering.recheck import Recheck, RecheckedItem

_EXIT_CHANGED = 3
_MAX_SHOWN = 20  # triples, and answers of an item, that are shown
_MORE = "{}: -f json"


@c.command
def check(
    graph: GraphOptions,
    files: Annotated[
        list[str], typer.Argument(metavar="ANSWER…", help="What ask -f json or jsonl wrote; - for stdin.")
    ],
    to: c.ShownOptions,
    timeout: Annotated[float, c.option("--max-seconds SECONDS", "For each answer in the file.", min=0.1)] = 60.0,
) -> None:
    """Check an answer again: look up each triple that it cites, run each query, compute each number.

    Exit status: 0 all stands, 3 something changed, 4 an answer cannot be read, 5 unreachable, 6 out of time before all
    was checked; of many answers 4 comes before 3, and 3 before 6.
    """
    from kgsparql.answering.kept_answers import AnswerFile
    from kgsparql.answering.recheck import recheck

    if "-" in files and "-" in graph.sources:
        raise InputError("answer and graph cannot both come from stdin", hint="put one of them in a file")
    read = [*map(_answer_file, files)]
    kept = AnswerFile(
        tuple(answer for own in read for answer in own.answers),
        tuple(error for own in read for error in own.damaged),
        sum(own.unanswered for own in read),
    )
    with graph.opened(embedder="none", fresh=True) as knowledge:
        checked = [recheck(answer, knowledge.graph, max_seconds=timeout) for answer in kept.answers]
    blocks = ["\n".join(_recheck_lines(one, knowledge.prefixes)) for one in checked]
    unchecked = "\n".join(_unchecked_lines(kept))
    to.write(_outcomes_json(kept, checked), ["\n\n".join(filter(None, [*blocks, unchecked]))])
    if kept.damaged:
        raise typer.Exit(AnswerFileError.exit_code)
    if not all(one.stands for one in checked):
        raise typer.Exit(_EXIT_CHANGED)
    if not all(one.is_whole for one in checked):
        raise typer.Exit(BudgetExceededError.exit_code)


def _answer_file(file: str) -> AnswerFile:
    from kgsparql.answering.kept_answers import MOST_BYTES, AnswerFile

    try:
        if file == "-":
            return AnswerFile.read(sys.stdin.buffer.read(MOST_BYTES + 1))
        return AnswerFile.read(option_file(file, at_most=MOST_BYTES))
    except OSError as error:
        raise InputError(f"cannot read {printable(file, 200)}: {error.strerror}", hint="name a file") from error


def _outcomes_json(kept: AnswerFile, checked: list[Recheck]) -> Any:
    """Return the outcome of a file with one answer, else of all, with what could not be checked."""
    if len(checked) == 1 and not (kept.damaged or kept.unanswered):
        return checked[0].to_json()
    return {
        "answers": [one.to_json() for one in checked],
        "damaged": len(kept.damaged),
        "damaged_lines": [{"number": one.detail["line"], "why": one.message} for one in kept.damaged],
        "unanswered": kept.unanswered,
    }


def _unchecked_lines(kept: AnswerFile) -> Iterator[str]:
    if kept.damaged:
        yield f"NOT READ: {len(kept.damaged):,} of {len(kept.damaged) + len(kept.answers) + kept.unanswered:,}"
        messages = [f"  {printable(one.message, 300)}" for one in kept.damaged]
        yield from c.most_lines(messages, _MAX_SHOWN, f"  {_MORE}")
    if kept.unanswered:
        yield f"no answer to check: {kept.unanswered:,} (an error, or an empty question)"


def _recheck_lines(found: Recheck, prefixes: PrefixMap) -> Iterator[str]:
    """Say the outcome to a person: the verdict first, then only what changed or could not be told."""
    verdict = "CHANGED" if not found.stands else "stands" if found.is_whole else "not all checked"
    yield f"{verdict}: {printable(found.answer.question, 300)}"
    counts = [f"{found.found:,} there", f"{len(found.gone):,} gone"]
    counts += [f"{found.unnamed:,} with a blank node, which no other graph knows"] if found.unnamed else []
    counts += [f"{found.unknown:,} not told"] if found.unknown else []
    yield f"  triples   {', '.join(counts)}"
    gone = [f"    gone    {_term_text(triple, prefixes)}" for triple in found.gone]
    yield from c.most_lines(gone, _MAX_SHOWN, f"    +{_MORE}")
    verdicts = [item.verdict for item in found.items if item.verdict != "no_query"]
    yield f"  queries   {verdicts.count('stands'):,} of {len(verdicts):,} give the same"
    for item in found.items:
        if item.verdict != "stands":
            yield from _item_lines(item, prefixes)


def _item_lines(item: RecheckedItem, prefixes: PrefixMap) -> Iterator[str]:
    kept = item.kept
    role = "" if kept.is_cited else " (only found on the way)"
    yield f"    {printable(kept.marker, 8):<4}    {printable(kept.text, 160)}{role}"
    if item.why:
        word = {"no_query": "not run", "unknown": "not told"}.get(item.verdict, item.verdict)
        yield f"            {word}: {printable(item.why, 300)}"
    gone, new = (
        [" | ".join("" if term is None else _term_text(term, prefixes) for term in row) for row in rows]
        for rows in (item.gone, item.new)
    )
    if kept.is_computed and len(gone) == len(new) == 1:
        yield f"            was {gone[0]}, now {new[0]}"
        return
    for word, rows in (("gone", gone), ("new", new)):
        if rows:
            yield f"            {word}: {'; '.join(c.most_lines(rows, _MAX_SHOWN, '+{}'))}"


def _term_text(part: Term | Triple, prefixes: PrefixMap) -> str:
    """Write a triple or a term as short as it can be read."""
    if isinstance(part, Triple):
        return " ".join(_term_text(term, prefixes) for term in part)
    if isinstance(part, IRI):
        return printable(prefixes.compress(part), 200)
    kinds = {"integer", "decimal", "double", "boolean"}
    is_value = isinstance(part, Literal) and part.datatype.value.rpartition("#")[2] in kinds
    return printable(part.value if is_value and isinstance(part, Literal) else str(part), 200)
