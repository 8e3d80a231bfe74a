"""The option ``--log``: questions and their answers go to a file; a file that fails never costs an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli._stderr import say
from kgsparql.errors import CancelledError, KgsparqlError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer

LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        envvar="KGSPARQL_LOG",
        show_envvar=False,
        help="Keep question, answer and cost in this file, for kgsparql log. Default: KGSPARQL_LOG, else no log.",
    ),
]


@contextmanager
def logged(path: Path | None, question: str) -> Iterator[Callable[[Answer], Answer]]:
    """A function that logs an answer and gives it back; an error of ours that leaves the block is logged too.

    :param path: of the log; ``None`` logs nothing.
    """

    def add(answer: Answer) -> Answer:
        if path is not None:
            from kgsparql.rendering.answer_json import answer_to_json

            _add(path, answer_to_json(answer))
        return answer

    try:
        yield add
    except KgsparqlError as error:
        if path is not None and not isinstance(error, CancelledError):
            from kgsparql.rendering.answer_json import unanswered_json

            _add(path, unanswered_json(question, error))
        raise


def _add(path: Path, answer: Mapping[str, Any]) -> None:
    from kgsparql.storage.question_log import QuestionLog

    try:
        with QuestionLog(path) as log:
            log.add(answer)
    except KgsparqlError as error:  # the answer is there, and may have been paid for
        say(f"not logged: {printable(error.message, 400)} ({printable(error.hint, 200)})")
