"""``kgsparql log``: what was asked and answered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kgsparql.cli import _common as c
from kgsparql.cli._options import LogOption
from kgsparql.errors import InputError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.storage.question_log import LoggedQuestion, QuestionLog


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
    *, to: c.AloneOptions,
) -> None:  # fmt: skip
    """List the questions, the newest first."""
    with _opened_log(log) as opened:
        found = opened.entries(newest=newest)
    to.write([asdict(one) for one in found], map(_question_line, found) if found else ["no questions"])


def _question_line(one: LoggedQuestion) -> str:
    answer = one.answer
    labels = [term["term"]["label"] for term in answer.get("answers", ()) if term.get("best")]
    text = str(answer.get("text") or answer["error"]["message"])
    found = "; ".join(labels[:4]) or text.strip().partition("\n")[0]
    return (
        f"{one.id:>5} {one.at[:16].replace('T', ' ')}  {answer['status']:<12}  "
        f"{printable(one.question, 80)}  → {printable(found, 100)}"
    ).rstrip()


log = c.group(
    "List the logged questions, the newest first. No log is kept unless --log FILE or KGSPARQL_LOG names one.",
    list_, default="list",
)  # fmt: skip
