"""Answers in a file: TriG, JSON or JSON Lines. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgsparql.answering.kept_answer import HOW_TO_KEEP, KeptAnswer
from kgsparql.answering.kept_answer_json import answer_of_object
from kgsparql.answering.kept_answer_trig import answers_of_trig
from kgsparql.errors import AnswerFileError, LimitError

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer

MOST_BYTES = 64 * 2**20
"""Of a file of answers: a thousand long ones."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line of JSON Lines, or an object of a list, that cannot be read as an answer.

    :param number: of the line, or of the object in its list; the first is 1.
    """

    number: int
    error: AnswerFileError

    def to_json(self) -> dict[str, Any]:
        """Its number, and why it cannot be read."""
        return {"number": self.number, "why": self.error.message}


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """What is in a file of answers.

    :param damaged: what could not be read, in the order of the file.
    :param unanswered: how many lines say that there was no answer: an error, or an empty question.
    """

    answers: tuple[KeptAnswer, ...]
    damaged: tuple[Damaged, ...] = ()
    unanswered: int = 0

    @classmethod
    def read(cls, data: bytes) -> AnswerFile:
        """The answers in TriG, a JSON object, a list of them, or a JSON object a line.

        :raises AnswerFileError: for what holds no answer, or half a file: of several damaged lines, of the first.
        :raises LimitError: for more than :data:`MOST_BYTES`.

        >>> AnswerFile.read(b'{"question": "x"}')
        Traceback (most recent call last):
        ...
        kgsparql.errors.AnswerFileError: line 1: this is no answer of kgsparql: it has no 'evidence'
        """
        if len(data) > MOST_BYTES:
            raise LimitError(f"more than {MOST_BYTES >> 20} MiB of answers", hint="check fewer at once", limit="bytes")
        is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}
        found = cls._of_objects(data) if is_json else cls(tuple(answers_of_trig(data)))
        if found.damaged and not found.answers:
            raise found.damaged[0].error
        if not found.answers:
            raise AnswerFileError("there is no answer in it", hint=HOW_TO_KEEP)
        return found

    @classmethod
    def _of_objects(cls, data: bytes) -> AnswerFile:
        answers: list[KeptAnswer] = []
        damaged: list[Damaged] = []
        unanswered = 0
        for what, number, found in _objects(data):
            try:
                if isinstance(found, AnswerFileError):
                    raise found
                if isinstance(found, dict) and found.get("status") in {"empty", "error"}:
                    unanswered += 1
                else:
                    answers.append(answer_of_object(found))
            except AnswerFileError as error:
                message = f"{what} {number}: {error.message}"
                damaged.append(Damaged(number, AnswerFileError(message, hint=HOW_TO_KEEP, line=number)))
        return cls(tuple(answers), tuple(damaged), unanswered)


def kept_answer(answer: Answer | Mapping[str, Any] | str | bytes) -> KeptAnswer:
    """One answer, as an object of Python, the JSON object of it, or as text: TriG or JSON.

    :raises AnswerFileError: for what is not just one answer.
    """
    if not isinstance(answer, str | bytes):
        return answer_of_object(answer if isinstance(answer, Mapping) else answer.to_json())
    found = AnswerFile.read(answer.encode() if isinstance(answer, str) else answer)
    if found.damaged:
        raise found.damaged[0].error
    if len(found.answers) != 1:
        raise AnswerFileError(f"{len(found.answers):,} answers where one is expected", hint="give them one by one")
    return found.answers[0]


def _objects(data: bytes) -> Iterator[tuple[str, int, Any]]:
    """What is in JSON or JSON Lines: that it is a line or an object, its number, and the object, or what is wrong."""
    whole = _parsed(data)
    if isinstance(whole, list):
        yield from (("object", number, one) for number, one in enumerate(whole, 1))
    elif not isinstance(whole, AnswerFileError):
        yield "line", 1, whole
    else:
        lines = enumerate(data.split(b"\n"), 1)  # a text in JSON may hold what ends a line elsewhere, such as U+2028
        yield from (("line", number, _parsed(line)) for number, line in lines if line.strip())


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return AnswerFileError(f"not UTF-8 at byte {error.start:,}", hint=HOW_TO_KEEP)
    except (ValueError, RecursionError):
        return AnswerFileError("not JSON, or cut off", hint=HOW_TO_KEEP)
