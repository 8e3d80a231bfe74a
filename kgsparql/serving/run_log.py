"""The log of questions behind a page: its runs go in, and what people say of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, KgsparqlError, NotFoundError
from kgsparql.storage.question_log import QuestionLog

_RUN = "run"
"""Member of a logged answer: the run that it is of, since another log may have another question of that number."""


class RunLog:
    """A log of questions whose entries know their run.

    :raises StoreError: if the file is there, but is no log of questions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     log = RunLog(Path(directory, "q.sqlite"))
    ...     run = {"id": "ab", **log.add({"question": "Who?", "status": "answered"}, run="ab")}
    ...     log.rate(run, is_right=False, right_answers=["Pierre Curie"])
    ...     log.rating(run), log.rating({**run, "id": "cd"})
    ({'is_right': False, 'right_answers': ['Pierre Curie']}, None)
    """

    def __init__(self, path: Path) -> None:
        self._log = QuestionLog(path)
        self._log.entries(newest=1)  # a file that is none is said before anybody asks

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def add(self, answer: Mapping[str, Any], *, run: str = "") -> dict[str, Any]:
        """Log an answer; as members of its run, its number in the log, or why it is not there: that costs no answer."""
        try:
            return {"logged": self._log.add({**answer, _RUN: run})}
        except KgsparqlError as error:
            return {"logged": None, "not_logged": f"{error.message} ({error.hint})"}

    def rating(self, run: Mapping[str, Any]) -> dict[str, Any] | None:
        """What people said of the answer of a run; ``None`` if it is not in this log."""
        if not isinstance(number := run.get("logged"), int):
            return None
        try:
            entry = self._log.entry(number)
        except NotFoundError:
            return None
        if entry.answer.get(_RUN) != run["id"]:
            return None
        right = entry.right_answers
        return {"is_right": entry.is_right, "right_answers": None if right is None else list(right)}

    def rate(self, run: Mapping[str, Any], *, is_right: bool | None, right_answers: Sequence[str] | None) -> None:
        """Say whether the answer of a run was right, or what is; what is ``None`` stays as it was.

        :raises InputError: for a run that is not in this log.
        """
        if self.rating(run) is None:
            raise InputError("this run is not in the log", hint="ask the question again")
        self._log.rate(run["logged"], is_right=is_right, right_answers=right_answers)
