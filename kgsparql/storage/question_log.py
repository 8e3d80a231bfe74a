"""A log of questions: what was asked, what was answered and what it cost; people may add whether that was right."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, NotFoundError, StoreError
from kgsparql.redaction import redacted
from kgsparql.storage.sqlite_file import Contents, SqliteFile

MOST_ENTRIES = 10_000
"""Of a log; beyond it the oldest go, those that nobody rated first."""

_LONGEST_BYTES = 256_000
"""Of one compressed answer: of a longer one, the evidence is left out."""

_HEAVY = ("evidence", "linked", "inference", "tree", "computed")

_CONTENTS = Contents(
    what="logged questions",
    tables=(
        "CREATE TABLE question (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, question TEXT NOT NULL, "
        "status TEXT NOT NULL, text TEXT NOT NULL, graphs TEXT NOT NULL, method TEXT NOT NULL, model TEXT NOT NULL, "
        "tokens INTEGER, cost REAL, seconds REAL, rating INTEGER, right_answers TEXT, answer BLOB NOT NULL);"
        "CREATE INDEX question_by_rating ON question (rating, id)"
    ),
    version=1,
    again="",
    room="drop old questions: kgsparql log prune",
    elsewhere="--log names another file",
)

_COLUMNS = "id, at, question, status, text, graphs, method, model, tokens, cost, seconds, rating, right_answers, answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedQuestion:
    """A question of the log.

    :param at: when it was answered, in UTC.
    :param text: the answer in words; of a question that failed, the message.
    :param cost: ``None`` where no prices are known.
    :param is_right: what a person said of the answer; ``None`` if nobody did.
    :param right_answers: IRIs, or names and values, that a person gave; empty if the graph has no answer.
    :param answer: as ``-f json`` shows it; without evidence, if it was very long.
    """

    id: int
    at: str
    question: str
    status: str
    text: str
    graphs: tuple[str, ...]
    method: str
    model: str
    tokens: int | None
    cost: float | None
    seconds: float | None
    is_right: bool | None
    right_answers: tuple[str, ...] | None
    answer: Mapping[str, Any]

    def evaluation_line(self) -> dict[str, Any] | None:
        """Return the question with its right answers, as ``kgsparql eval`` reads it; ``None`` if these are not known.

        They are those that a person gave, else those of an answer that a person called right.
        """
        if self.right_answers is not None:
            are_iris = bool(self.right_answers) and all(map(_is_iri, self.right_answers))
            given: dict[str, Any] | None = {"answer_iris" if are_iris else "answers": list(self.right_answers)}
        else:
            given = self._own_answers() if self.is_right else None
        return None if given is None else {"id": f"log-{self.id}", "question": self.question, **given}

    def _own_answers(self) -> dict[str, Any] | None:
        """Return the best answers; ``None`` if they are more than the log has, or are only in the text."""
        best = [one["term"] for one in self.answer.get("answers", ()) if one["is_best"]]
        if not best:
            return {"answers": []} if self.status in {"not_in_graph", "no_entity"} else None
        if self.answer.get("more_answers") or any(term["type"] not in {"uri", "literal"} for term in best):
            return None
        if all(term["type"] == "uri" for term in best):
            return {"answers": [term["label"] for term in best], "answer_iris": [term["value"] for term in best]}
        return {"answers": [term["value"] for term in best]}


class QuestionLog:
    """A file of questions, readable by its owner only; several threads and processes write it at once.

    :param most_entries: the oldest beyond these are dropped as new ones come, those that nobody rated first.
    :raises StoreError: from any method, if the file cannot be read or written, or is no log of questions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory, QuestionLog(Path(directory, "q.sqlite")) as log:
    ...     number = log.add({"question": "Who?", "status": "answered", "text": "Marie Curie", "usage": {"cost": 0.1}})
    ...     log.rate(number, is_right=False, right_answers=["Pierre Curie"])
    ...     [(one.question, one.cost, one.evaluation_line()["answers"]) for one in log.entries()]
    [('Who?', 0.1, ['Pierre Curie'])]
    """

    def __init__(self, path: str | Path, *, most_entries: int = MOST_ENTRIES) -> None:
        self.path = Path(path)
        self.most_entries = most_entries
        self._file = SqliteFile(self.path, _CONTENTS)

    def __enter__(self) -> QuestionLog:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, answer: Mapping[str, Any]) -> int:
        """Log an answer, or what stands for one after an error; its number in the log.

        :param answer: the JSON object of an answer: of :func:`kgsparql.answer_to_json`.
        """
        usage, error = answer.get("usage") or {}, answer.get("error") or {}
        row = (
            datetime.now(UTC).isoformat(timespec="seconds"), redacted(answer["question"]), answer["status"],
            redacted(answer.get("text") or error.get("message", "")), json.dumps(list(answer.get("graphs", ()))),
            answer.get("retriever", ""), answer.get("model", ""), usage.get("tokens"), usage.get("cost"),
            usage.get("seconds"), _packed_answer(answer),
        )  # fmt: skip
        with self._file.transaction() as connection:
            number = connection.execute(
                "INSERT INTO question (at, question, status, text, graphs, method, model, tokens, cost, seconds, "
                "answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
            self._drop_beyond(connection, self.most_entries)
        return int(number or 0)

    def entries(self, *, newest: int | None = None, words: str = "", rated: bool = False) -> list[LoggedQuestion]:
        """Return the questions, the newest first.

        :param newest: at most so many.
        :param words: only questions in which this text is, whatever its case.
        :param rated: only those that a person rated, or gave the right answer of.
        """
        limit = -1 if newest is None else newest
        is_rated = "(rating IS NOT NULL OR right_answers IS NOT NULL)" if rated else "TRUE"
        where = f"{is_rated} AND (? = '' OR instr(lower(question), lower(?)))"
        select = f"SELECT {_COLUMNS} FROM question WHERE {where} ORDER BY id DESC LIMIT ?"  # noqa: S608 - no values
        return [_entry_of_row(row) for row in self._file.rows(select, (words, words, limit))]

    def entry(self, number: int) -> LoggedQuestion:
        """One question.

        :raises NotFoundError: if the log has none of this number.
        """
        select = f"SELECT {_COLUMNS} FROM question WHERE id = ?"  # noqa: S608 - no values
        rows = self._file.rows(select, (number,))
        if not rows:
            raise self._missing_question(number)
        return _entry_of_row(rows[0])

    def rate(self, number: int, *, is_right: bool | None = None, right_answers: Sequence[str] | None = None) -> None:
        """Say whether an answer was right, or what is; what is ``None`` stays as it was.

        :param right_answers: IRIs, or names and values; none says that the graph has no answer.
        :raises NotFoundError: if the log has none of this number.
        :raises InputError: for an empty right answer.
        """
        if right_answers is not None and not all(answer.strip() for answer in right_answers):
            raise InputError("a right answer is empty", hint="name an IRI, a name or a value")
        given = None if right_answers is None else json.dumps([answer.strip() for answer in right_answers])
        rating = None if is_right is None else int(is_right)
        if not self.path.exists():
            raise self._missing_question(number)
        with self._file.transaction() as connection:
            changed = connection.execute(
                "UPDATE question SET rating = coalesce(?, rating), right_answers = coalesce(?, right_answers) "
                "WHERE id = ?",
                (rating, given, number),
            ).rowcount
        if not changed:
            raise self._missing_question(number)

    def prune(self, *, keep: int | None = None, before: str | None = None) -> int:
        """Drop old questions, and give their space back; how many were dropped.

        :param keep: as many of the newest stay; of those beyond it, those that nobody rated go first.
        :param before: a day such as ``2026-10-01``: what was asked earlier, and what nobody rated, goes.
        """
        if not self.path.exists():
            return 0
        dropped = 0
        with self._file.transaction() as connection:
            if before is not None:
                unrated = "DELETE FROM question WHERE at < ? AND rating IS NULL AND right_answers IS NULL"
                dropped += connection.execute(unrated, (before,)).rowcount
            if keep is not None:
                dropped += self._drop_beyond(connection, keep)
        self._file.delete("DELETE FROM question WHERE 0", shrink=True)
        return dropped

    @staticmethod
    def _drop_beyond(connection: sqlite3.Connection, most: int) -> int:
        (count,) = connection.execute("SELECT count(*) FROM question").fetchone()
        if count <= most:
            return 0
        oldest = (
            "DELETE FROM question WHERE id IN (SELECT id FROM question "
            "ORDER BY rating IS NOT NULL OR right_answers IS NOT NULL, id LIMIT ?)"
        )
        return connection.execute(oldest, (count - most,)).rowcount

    def _missing_question(self, number: int) -> NotFoundError:
        return NotFoundError(f"{self.path}: no question {number}", hint="kgsparql log lists them")


def _is_iri(text: str) -> bool:
    scheme, colon, rest = text.partition(":")
    return bool(colon) and (rest.startswith("//") or scheme == "urn") and not any(map(str.isspace, text))


def _packed_answer(answer: Mapping[str, Any]) -> bytes:
    def packed(own: Mapping[str, Any]) -> bytes:
        return zlib.compress(redacted(json.dumps(own, ensure_ascii=False)).encode("utf-8", "replace"))

    whole, listed = packed(answer), answer.get("answers", [])
    if len(whole) <= _LONGEST_BYTES:
        return whole
    light = {name: value for name, value in answer.items() if name not in _HEAVY} | {"answers": listed[:100]}
    return packed(light | {"more_answers": answer.get("more_answers", 0) + max(0, len(listed) - 100)})


def _entry_of_row(row: Sequence[Any]) -> LoggedQuestion:
    own = dict(zip(_COLUMNS.split(", "), row, strict=True))
    rating, right = own.pop("rating"), own["right_answers"]
    try:
        own["graphs"] = tuple(json.loads(own["graphs"]))
        own["right_answers"] = None if right is None else tuple(json.loads(right))
        own["answer"] = json.loads(zlib.decompress(own["answer"]))
    except (zlib.error, ValueError, TypeError) as error:
        hint = "kgsparql log prune removes old questions; the others are whole"
        raise StoreError(f"question {own['id']} is damaged", code="E_STORE_CORRUPT", hint=hint) from error
    return LoggedQuestion(**own, is_right=None if rating is None else bool(rating))
