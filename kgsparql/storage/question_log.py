"""A log of questions: what was asked, what was answered and what it cost."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kgsparql.dataclasses import frozen
from kgsparql.errors import KgsparqlError, StoreError, redacted
from kgsparql.rdf.terms import json_text
from kgsparql.storage.sqlite_file import SqliteFile

MOST_ENTRIES = 10_000  # of a log; beyond it the oldest go
_LONGEST_BYTES = 256_000  # of one compressed answer: of a longer one, these are left out
_HEAVY = ("evidence", "linked", "inference", "computed")
_SELECT = "SELECT id, at, question, answer FROM question ORDER BY id DESC LIMIT ?"
_DROP_OLDEST = "DELETE FROM question WHERE id IN (SELECT id FROM question ORDER BY id LIMIT ?)"


@frozen(kw_only=True)
class LoggedQuestion:
    """A question of the log.

    :param at: when it was answered, in UTC.
    :param answer: as ``-f json`` shows it, or its error; without evidence, if it was very long.
    """

    id: int
    at: str
    question: str
    answer: Mapping[str, Any]


class QuestionLog(SqliteFile):
    """A file of questions, readable by its owner only; several threads and processes write it at once.

    The oldest beyond :data:`MOST_ENTRIES` are dropped as new ones come.

    :raises StoreError: from any method, if the file cannot be read or written, or is no log of questions.
    """

    what = "logged questions"
    tables = (
        "CREATE TABLE question (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, question TEXT NOT NULL, "
        "answer BLOB NOT NULL)"
    )
    version = 2
    elsewhere = "--log names another file"

    def add(self, answer: Mapping[str, Any]) -> int:
        """Log an answer, or what stands for one after an error, as JSON objects; return its number in the log."""
        row = datetime.now(UTC).isoformat(timespec="seconds"), redacted(answer["question"]), _packed_answer(answer)
        with self.transaction() as connection:
            insert = "INSERT INTO question (at, question, answer) VALUES (?, ?, ?)"
            number = connection.execute(insert, row).lastrowid
            (count,) = connection.execute("SELECT count(*) FROM question").fetchone()
            connection.execute(_DROP_OLDEST, (max(0, count - MOST_ENTRIES),))
        return int(number or 0)

    def add_or_why(self, answer: Mapping[str, Any]) -> str:
        """Log an answer; return why it is not logged, which costs nobody the answer."""
        try:
            self.add(answer)
        except KgsparqlError as error:
            return f"{error.message} ({error.hint})"
        return ""

    def entries(self, *, newest: int | None = None) -> list[LoggedQuestion]:
        """Return the questions, the newest first.

        :param newest: at most so many.
        """
        return [_entry_of_row(row) for row in self.rows(_SELECT, (-1 if newest is None else newest,))]


def _packed_answer(answer: Mapping[str, Any]) -> bytes:
    def packed(own: Mapping[str, Any]) -> bytes:
        return zlib.compress(redacted(json_text(own)).encode("utf-8", "replace"))

    whole, listed = packed(answer), answer.get("answers", [])
    if len(whole) <= _LONGEST_BYTES:
        return whole
    light = {name: value for name, value in answer.items() if name not in _HEAVY} | {"answers": listed[:100]}
    return packed(light | {"more_answers": answer.get("more_answers", 0) + max(0, len(listed) - 100)})


def _entry_of_row(row: Sequence[Any]) -> LoggedQuestion:
    number, at, question, kept = row
    try:
        answer = json.loads(zlib.decompress(kept))
    except (zlib.error, ValueError, TypeError) as error:
        raise StoreError(
            f"question {number} is damaged",
            code="E_STORE_CORRUPT",
            hint="the others are whole; --log names another file",
        ) from error
    return LoggedQuestion(id=number, at=at, question=question, answer=answer)
