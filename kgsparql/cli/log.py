"""``kgsparql log``: what was asked, whether it was right; and questions for ``kgsparql eval``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import LogOption
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import json_text, printable

if TYPE_CHECKING:
    from kgsparql.storage.question_log import LoggedQuestion, QuestionLog

_RATING_MARKS = {None: " ", True: "+", False: "-"}


def _opened_log(path: Path | None) -> QuestionLog:
    from kgsparql.storage.question_log import QuestionLog

    if path is None:
        raise InputError("no log is kept", hint="name one with --log FILE, or set KGSPARQL_LOG, and ask")
    if not path.exists():
        raise InputError(f"{path}: no such log", hint=f"ask with --log {path}, and it is made")
    return QuestionLog(path)


@c.command
def list_(
    log: LogOption = None, newest: Annotated[int, c.option("-n --newest", "At most so many.", min=1)] = 20,
    rated: Annotated[bool, c.option("--rated", "Only those that somebody rated.")] = False, *, to: c.AloneOptions,
) -> None:  # fmt: skip
    """List the questions, the newest first: + was rated right, - wrong."""
    with _opened_log(log) as opened:
        found = opened.entries(newest=newest, rated=rated)
    to.write([asdict(one) for one in found], map(_question_line, found) if found else ["no questions"])


def _question_line(one: LoggedQuestion) -> str:
    answer = one.answer
    labels = [term["term"]["label"] for term in answer.get("answers", ()) if term.get("best", term.get("is_best"))]
    text = str(answer.get("text") or answer["error"]["message"])
    found = "; ".join(labels[:4]) or text.strip().partition("\n")[0]
    return (
        f"{one.id:>5} {_RATING_MARKS[one.is_right]} {one.at[:16].replace('T', ' ')}  {answer['status']:<12}  "
        f"{printable(one.question, 80)}  → {printable(found, 100)}"
    ).rstrip()


@c.command
def rate(
    number: Annotated[int, typer.Argument(metavar="ID", help="As `kgsparql log` lists it.")],
    up: Annotated[bool, c.option("--up", "The answer was right.")] = False,
    down: Annotated[bool, c.option("--down", "The answer was wrong.")] = False,
    right: Annotated[
        list[str] | None, c.option("--right ANSWER", "The right answer, an IRI, a name or a value; repeatable.")
    ] = None,
    no_answer: Annotated[bool, c.option("--no-answer", "The graph has no answer.")] = False,
    log: LogOption = None,
    *,
    told: c.MessageOptions,
) -> None:
    """Say whether an answer was right, and what the right answer is."""
    if (up and down) or (right and no_answer):
        raise OptionError("that contradicts itself", hint="one of --up and --down; --right or --no-answer")
    if not (up or down or right or no_answer):
        raise OptionError("nothing was said", hint='--up, --down, --right "Marie Curie" or --no-answer')
    with _opened_log(log) as opened:
        rated = opened.rate(number, is_right=up if up or down else None, right_answers=[] if no_answer else right)
    told.say(f"rated {number}: {printable(rated.question, 200)}")


@c.command
def export(log: LogOption = None, output: c.OutputOption = None, *, told: c.MessageOptions) -> None:
    """Write the questions whose right answers are known as JSON Lines, the oldest first, for `kgsparql eval`.

    A right answer is one that was given with rate --right, else the answer that was rated --up. Of a question that was
    rated several times, the newest counts.
    """
    with _opened_log(log) as opened:
        newest = {one.question.casefold(): one for one in reversed(opened.entries(rated=True))}
    known = {one.id: line for one in newest.values() if (line := one.evaluation_line()) is not None}
    left = len(newest) - len(known)
    told.say(f"{left:,} left out: the right answer is not known; log rate ID --right …" if left else "")
    if not known:
        raise InputError("no question with a known answer", hint="rate some: kgsparql log rate ID --up")
    c.write("".join(json_text(line) + "\n" for line in known.values()), output)


log = c.group(
    "List the logged questions, the newest first; rate or export them. No log is kept unless --log FILE or "
    "KGSPARQL_LOG names one.",
    list_, rate, export, default="list",
)  # fmt: skip
