"""Questions from stdin, one a line, each with an id: nothing in a line keeps the others from an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from kgsparql.answering.answer import Answer
from kgsparql.cli._common import as_ours, show_error
from kgsparql.errors import CancelledError, DataError, InputError, KgsparqlError, LimitError, NotFoundError
from kgsparql.rdf.terms import printable
from kgsparql.rendering.answer_json import answer_to_json, unanswered_json
from kgsparql.rendering.rows import COLUMNS, answer_rows, empty_row, plain_answers, separated

_MAX_LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A line of stdin.

    :param id: its own, else the number of the line.
    :param question: empty for an empty line; what could be read of it, where there is an error.
    """

    id: str | int
    question: str
    error: KgsparqlError | None = None


def asked_lines(stdin: BinaryIO) -> Iterator[AskedLine]:
    """Read the lines of stdin; one that is no question carries its error.

    >>> import io
    >>> lines = io.BytesIO(b'Who?' + chr(10).encode() + b'{"id": "a7", "question": "Where?"}')
    >>> [(line.id, line.question) for line in asked_lines(lines)]
    [(1, 'Who?'), ('a7', 'Where?')]
    """
    number = 0
    while data := stdin.readline(_MAX_LINE_BYTES):
        number += 1
        if len(data) == _MAX_LINE_BYTES and not data.endswith(b"\n"):
            shown = printable(data[:400].decode("utf-8", "replace"), 80)
            yield AskedLine(number, shown, LimitError(f"line {number} is too long: at most {_MAX_LINE_BYTES:,} bytes"))
            while data and not data.endswith(b"\n"):
                data = stdin.readline(_MAX_LINE_BYTES)
            continue
        yield _asked_line(number, data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data)


def _asked_line(number: int, data: bytes) -> AskedLine:
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        message = f"line {number} is not UTF-8: byte {error.start + 1}"
        failure = DataError(message, code="E_ENCODING", hint="write it in UTF-8: iconv -t UTF-8")
        return AskedLine(number, printable(data.decode("utf-8", "replace"), 80), failure)
    return _json_line(number, text) if text.startswith(("{", "[", '"')) else AskedLine(number, text)


def _json_line(number: int, text: str) -> AskedLine:
    """Read a question with an id; all other JSON is an error of its line."""

    def wrong(why: str, name: str | int = number) -> AskedLine:
        hint = 'a line is a question, or {"id": "a7", "question": "Who …?"}'
        return AskedLine(name, printable(text, 80), InputError(f"line {number} {why}", hint=hint))

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return wrong(f"is not JSON: {error}") if text.startswith("{") else AskedLine(number, text)
    if not isinstance(found, dict):
        return wrong("has no question")
    own, question = found.get("id"), found.get("question")
    if own is not None and (not isinstance(own, str | int) or isinstance(own, bool)):
        return wrong("has an id that is no text")
    name: Any = number if own is None else own
    return AskedLine(name, question.strip()) if isinstance(question, str) else wrong("has no question", name)


@dataclass(slots=True)
class Batch:
    """Answers to the lines of stdin, a line, a row or a block for each; afterwards it knows how that went.

    :param ask: answers a question.
    :param code_of: the exit code of an answer.
    :param form: the format.
    :param rendered: an answer in this format, where it is not one of the formats made of lines and rows.
    :param debug: show where each error came from.
    """

    ask: Callable[[str], Answer]
    code_of: Callable[[Answer], int]
    form: str
    rendered: Callable[[Answer], str]
    debug: bool = False
    codes: set[int] = field(default_factory=set)
    is_empty: bool = True

    def results(self, lines: Iterable[AskedLine]) -> Iterator[str]:
        """Write a result for each line, whatever happened to the others.

        :raises CancelledError: if asking was stopped.
        """
        if self.form in {"csv", "tsv"}:
            yield separated([("id", "question", *COLUMNS)], self.form)
        for line in lines:
            self.is_empty = False
            if result := self._result_of(line):
                yield result

    def _result_of(self, line: AskedLine) -> str:
        if not line.question and line.error is None:
            return self._unanswered(line, None)
        error = line.error
        if error is None:
            try:
                answer = self.ask(line.question)
                self.codes.add(self.code_of(answer))
                return self._answered(line, answer)
            except CancelledError:
                raise
            except Exception as raised:  # noqa: BLE001 - a bug too costs one line its answer, and is shown
                error = as_ours(raised, debug=self.debug)
        self.codes.add(error.exit_code)
        return self._unanswered(line, error)

    def exit_code(self, *, all_answered: bool) -> int:
        """Return the worst of 1, 5 and 6; else 3 if none, or where all must be, not every one was answered; else 0."""
        worst = next((code for code in (1, 5, 6) if code in self.codes), 0)
        is_lacking = bool(self.codes - {0}) if all_answered and self.codes else 0 not in self.codes
        return worst or (NotFoundError.exit_code if is_lacking else 0)

    def _answered(self, line: AskedLine, answer: Answer) -> str:
        if self.form == "jsonl":
            return json.dumps({"id": line.id, **answer_to_json(answer)}, ensure_ascii=False)
        if self.form == "plain":
            return "\t".join(plain_answers(answer)) + "\n"
        if self.form in {"csv", "tsv"}:
            return self._rows(line, answer_rows(answer))
        shown = self.rendered(answer)
        return _block(line, shown) if self.form == "text" else shown

    def _unanswered(self, line: AskedLine, error: KgsparqlError | None) -> str:
        """Write what stands for the answer to a line with an error, or to an empty line."""
        if self.form == "jsonl":
            return json.dumps({"id": line.id, **unanswered_json(line.question, error)}, ensure_ascii=False)
        if error is not None:
            show_error(error, about=line.question)
        if self.form in {"csv", "tsv"}:
            return self._rows(line, [empty_row("empty" if error is None else "error")])
        if self.form == "text":
            return _block(line, "No question." if error is None else f"Error: {printable(error.message, 600)}")
        return "\n" if self.form == "plain" else ""

    def _rows(self, line: AskedLine, rows: Sequence[Sequence[str]]) -> str:
        return separated([(str(line.id), printable(line.question, 4_000), *row) for row in rows], self.form)


def _block(line: AskedLine, shown: str) -> str:
    """Write what a line of stdin got, as text under its id."""
    return f"{line.id}. {printable(line.question, 4_000)}".rstrip() + f"\n{shown}\n\n"
