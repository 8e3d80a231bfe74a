"""``kgsparql log``: what was asked, what it cost, whether it was right; and questions for ``kgsparql eval``."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import LogOption
from kgsparql.cli._settings import PlainCommand, PlainGroup
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.storage.question_log import LoggedQuestion, QuestionLog

NumberArgument = Annotated[int, typer.Argument(metavar="ID", help="As `kgsparql log` lists it.")]

_RATING_MARKS = {None: " ", True: "+", False: "-"}


class _ListByDefault(PlainGroup):
    """A group in which ``log`` is ``log list``."""

    default = "list"


log = typer.Typer(
    cls=_ListByDefault,
    help="List the logged questions, the newest first; show, rate, export or drop them. No log is kept unless --log "
    "FILE or KGSPARQL_LOG names one.",
    pretty_exceptions_enable=False,
)


def _opened_log(path: Path | None) -> QuestionLog:
    from kgsparql.storage.question_log import QuestionLog

    if path is None:
        raise InputError("no log is kept", hint="name one with --log FILE, or set KGSPARQL_LOG, and ask")
    if not path.exists():
        raise InputError(f"{path}: no such log", hint=f"ask with --log {path}, and it is made")
    return QuestionLog(path)


@log.command("list", cls=PlainCommand)
@c.command
def list_(
    log: LogOption = None,
    newest: Annotated[int, c.option("-n --newest", "At most so many.", min=1)] = 20,
    words: Annotated[str, c.option("--words TEXT", "Only questions with this text in them.")] = "",
    rated: Annotated[bool, c.option("--rated", "Only those that somebody rated.")] = False,
    *,
    to: c.AloneOptions,
) -> None:
    """List the questions, the newest first: + was rated right, - wrong."""
    with _opened_log(log) as opened:
        found = opened.entries(newest=newest, words=words, rated=rated)
    to.write([asdict(one) for one in found], map(_question_line, found) if found else ["no questions"])
    costs = [one.cost for one in found if one.cost is not None]
    to.say(f"{len(found):,} listed, cost {sum(costs):.4g}" if costs and not to.is_json else "")


def _question_line(one: LoggedQuestion) -> str:
    labels = [term["term"]["label"] for term in one.answer.get("answers", ()) if term["is_best"]]
    answer = "; ".join(labels[:4]) or one.text.strip().partition("\n")[0]
    cost = "" if one.cost is None else f"{one.cost:.4g}"
    return (
        f"{one.id:>5} {_RATING_MARKS[one.is_right]} {one.at[:16].replace('T', ' ')}  {one.status:<12} {cost:>8}  "
        f"{printable(one.question, 80)}  → {printable(answer, 100)}"
    ).rstrip()


@log.command(cls=PlainCommand)
@c.command
def show(number: NumberArgument, log: LogOption = None, *, to: c.AloneOptions) -> None:
    """Show one question: its answer, what it rests on, what it cost, and how it was rated."""
    with _opened_log(log) as opened:
        one = opened.entry(number)
    to.write(asdict(one), _question_lines(one))


def _question_lines(one: LoggedQuestion) -> list[str]:
    lines = [f"{one.id}. {printable(one.question, 4_000)}", ""]
    lines += [printable(line, 2_000) for line in one.text.splitlines()]
    if evidence := one.answer.get("evidence"):
        lines += ["", "Evidence", *(f"  [{item['marker']}] {printable(item['text'], 400)}" for item in evidence)]
    rows = {
        "status": one.status, "asked": one.at, "graphs": ", ".join(one.graphs), "method": one.method,
        "model": one.model, "tokens": f"{one.tokens:,}" if one.tokens else "",
        "cost": "" if one.cost is None else f"{one.cost:.4g}",
        "seconds": "" if one.seconds is None else f"{one.seconds:.3g}",
        "rated": {None: "", True: "right", False: "wrong"}[one.is_right],
        "right": "" if one.right_answers is None else "; ".join(one.right_answers) or "the graph has no answer",
    }  # fmt: skip
    return [*lines, "", *(f"{name:<8} {printable(value, 600)}" for name, value in rows.items() if value)]


@log.command(cls=PlainCommand)
@c.command
def rate(
    number: NumberArgument,
    up: Annotated[bool, c.option("--up", "The answer was right.")] = False,
    down: Annotated[bool, c.option("--down", "The answer was wrong.")] = False,
    right: Annotated[
        list[str] | None, c.option("--right ANSWER", "The right answer, an IRI, a name or a value; repeatable.")
    ] = None,
    no_answer: Annotated[bool, c.option("--no-answer", "The graph has no answer.")] = False,
    log: LogOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Say whether an answer was right, and what the right answer is."""
    if (up and down) or (right and no_answer):
        raise OptionError("that contradicts itself", hint="one of --up and --down; --right or --no-answer")
    if not (up or down or right or no_answer):
        raise OptionError("nothing was said", hint='--up, --down, --right "Marie Curie" or --no-answer')
    with _opened_log(log) as opened:
        opened.rate(number, is_right=up if up or down else None, right_answers=[] if no_answer else right)
        question = opened.entry(number).question
    c.say(f"rated {number}: {printable(question, 200)}", quiet=quiet)


@log.command(cls=PlainCommand)
@c.command
def export(
    log: LogOption = None,
    form: Annotated[
        str | None, c.format_option("jsonl has all; eval those with right answers, for kgsparql eval.")
    ] = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Write the questions as JSON Lines, the oldest first; with -f eval as questions with known answers.

    A right answer is one that was given with rate --right, else the answer that was rated --up. Of a question that was
    rated several times, the newest counts.
    """
    form = c.chosen_format(form, None, ("jsonl", "eval"))
    with _opened_log(log) as opened:
        found = opened.entries(rated=form == "eval")
    if form == "jsonl":
        lines = [asdict(one) for one in reversed(found)]
    else:
        newest = {one.question.casefold(): one for one in reversed(found)}
        known = {one.id: line for one in newest.values() if (line := one.evaluation_line()) is not None}
        lines = list(known.values())
        left = len(newest) - len(known)
        c.say(f"{left:,} left out: the right answer is not known; log rate ID --right …" if left else "", quiet=quiet)
        if not lines:
            raise InputError("no question with a known answer", hint="rate some: kgsparql log rate ID --up")
    c.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), output)


@log.command(cls=PlainCommand)
@c.command
def prune(
    keep: Annotated[int | None, c.option("--keep", "So many stay; rated ones the longest.", min=0)] = None,
    before: Annotated[str | None, c.option("--before DAY", "What is older and not rated goes: 2026-10-01.")] = None,
    log: LogOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Drop old questions and give their space back to the disk."""
    if keep is None and before is None:
        raise OptionError("prune what?", hint="--keep 1000, or --before 2026-10-01")
    try:
        day = None if before is None else date.fromisoformat(before).isoformat()
    except ValueError as error:
        raise OptionError(f"--before {printable(before or '', 40)}: no day", hint="such as 2026-10-01") from error
    with _opened_log(log) as opened:
        dropped = opened.prune(keep=keep, before=day)
    c.say(f"{dropped:,} dropped", quiet=quiet)
