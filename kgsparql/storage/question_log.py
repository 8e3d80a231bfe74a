"""A log of questions: what was asked, what was answered and what it cost; people may add whether that was right."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError, KgsparqlError, NotFoundError, StoreError, redacted
from kgsparql.rdf.terms import Json, json_text
from kgsparql.storage.sqlite_file import SqliteFile

MOST_ENTRIES = 10_000  # of a log; beyond it the oldest go, those that nobody rated first
_LONGEST_BYTES = 256_000  # of one compressed answer: of a longer one, these are left out
_HEAVY = ("evidence", "linked", "inference", "tree", "computed")
_SELECT = "SELECT id, at, question, rating, right_answers, answer FROM question WHERE "
_IS_RATED = "(rating IS NOT NULL OR right_answers IS NOT NULL)"
_DROP_OLDEST = f"DELETE FROM question WHERE id IN (SELECT id FROM question ORDER BY {_IS_RATED}, id LIMIT ?)"  # noqa: S608


@frozen(kw_only=True)
class LoggedQuestion:
    """A question of the log.

    :param at: when it was answered, in UTC.
    :param is_right: what a person said of the answer; ``None`` if nobody did.
    :param right_answers: IRIs, or names and values, that a person gave; empty if the graph has no answer.
    :param answer: as ``-f json`` shows it, or its error; without evidence, if it was very long.
    """

    id: int
    at: str
    question: str
    is_right: bool | None
    right_answers: tuple[str, ...] | None
    answer: Mapping[str, Any]

    def evaluation_line(self) -> Json | None:
        """Return the question with its right answers, as ``kgsparql eval`` reads it; ``None`` if these are not known.

        They are those that a person gave, else those of an answer that a person called right.
        """
        if self.right_answers is not None:
            are_iris = bool(self.right_answers) and all(map(_is_iri, self.right_answers))
            given: Json | None = {"answer_iris" if are_iris else "answers": list(self.right_answers)}
        else:
            given = self._own_answers() if self.is_right else None
        return None if given is None else {"id": f"log-{self.id}", "question": self.question, **given}

    def _own_answers(self) -> Json | None:
        """Return the best answers; ``None`` if they are more than the log has, or are only in the text."""
        best = [one["term"] for one in self.answer.get("answers", ()) if one.get("best", one.get("is_best"))]
        kinds = {term["type"] for term in best}
        if not best:
            return {"answers": []} if self.answer["status"] in {"not_in_graph", "no_entity"} else None
        if self.answer.get("more_answers") or kinds - {"uri", "literal"}:
            return None
        if kinds == {"uri"}:
            return {"answers": [term["label"] for term in best], "answer_iris": [term["value"] for term in best]}
        return {"answers": [term["value"] for term in best]}


class QuestionLog(SqliteFile):
    """A file of questions, readable by its owner only; several threads and processes write it at once.

    The oldest beyond :data:`MOST_ENTRIES` are dropped as new ones come, those that nobody rated first.

    :raises StoreError: from any method, if the file cannot be read or written, or is no log of questions.
    """

    what = "logged questions"
    tables = (
        "CREATE TABLE question (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, question TEXT NOT NULL, "
        "rating INTEGER, right_answers TEXT, answer BLOB NOT NULL);"
        "CREATE INDEX question_by_rating ON question (rating, id)"
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

    def entries(self, *, newest: int | None = None, rated: bool = False) -> list[LoggedQuestion]:
        """Return the questions, the newest first.

        :param newest: at most so many.
        :param rated: only those that a person rated, or gave the right answer of.
        """
        select = f"{_SELECT}{_IS_RATED if rated else 'TRUE'} ORDER BY id DESC LIMIT ?"
        return [_entry_of_row(row) for row in self.rows(select, (-1 if newest is None else newest,))]

    def entry(self, number: int) -> LoggedQuestion:
        """Return one question; a NotFoundError if the log has none of this number."""
        rows = self.rows(f"{_SELECT}id = ?", (number,))
        if not rows:
            raise NotFoundError(f"{self.path}: no question {number}", hint="kgsparql log lists them")
        return _entry_of_row(rows[0])

    def rate(
        self, number: int, *, is_right: bool | None = None, right_answers: Sequence[str] | None = None
    ) -> LoggedQuestion:
        """Say whether an answer was right, or what is; what is ``None`` stays as it was. Returns what is now there.

        :param right_answers: IRIs, or names and values; none says that the graph has no answer.
        :raises NotFoundError: if the log has none of this number.
        :raises InputError: for an empty right answer.
        """
        if right_answers is not None and not all(answer.strip() for answer in right_answers):
            raise InputError("a right answer is empty", hint="name an IRI, a name or a value")
        given = None if right_answers is None else json.dumps([answer.strip() for answer in right_answers])
        update = (
            "UPDATE question SET rating = coalesce(?, rating), right_answers = coalesce(?, right_answers) WHERE id = ?"
        )
        self.change(update, (None if is_right is None else int(is_right), given, number))
        return self.entry(number)


def _is_iri(text: str) -> bool:
    scheme, colon, rest = text.partition(":")
    return bool(colon) and (rest.startswith("//") or scheme == "urn") and not any(map(str.isspace, text))


def _packed_answer(answer: Mapping[str, Any]) -> bytes:
    def packed(own: Mapping[str, Any]) -> bytes:
        return zlib.compress(redacted(json_text(own)).encode("utf-8", "replace"))

    whole, listed = packed(answer), answer.get("answers", [])
    if len(whole) <= _LONGEST_BYTES:
        return whole
    light = {name: value for name, value in answer.items() if name not in _HEAVY} | {"answers": listed[:100]}
    return packed(light | {"more_answers": answer.get("more_answers", 0) + max(0, len(listed) - 100)})


def _entry_of_row(row: Sequence[Any]) -> LoggedQuestion:
    number, at, question, rating, right, kept = row
    try:
        answer = json.loads(zlib.decompress(kept))
        right_answers = None if right is None else tuple(json.loads(right))
    except (zlib.error, ValueError, TypeError) as error:
        raise StoreError(
            f"question {number} is damaged",
            code="E_STORE_CORRUPT",
            hint="the others are whole; --log names another file",
        ) from error
    return LoggedQuestion(
        id=number, at=at, question=question, is_right=None if rating is None else bool(rating),
        right_answers=right_answers, answer=answer,
    )  # fmt: skip
