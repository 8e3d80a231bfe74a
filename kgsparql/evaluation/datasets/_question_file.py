"""A file of questions as text, and the questions collected from it, one after another."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ParamSpec, Self

from kgsparql.errors import DataError, InputError, KgsparqlError, LimitError
from kgsparql.evaluation.dataset import Problem, Question
from kgsparql.rdf.terms import printable

P = ParamSpec("P")

MAX_BYTES = 2**29
"""The limit for a file of questions, unpacked: the largest known have 100 MB."""

LEFT_OUT = "left out: "
"""The begin of a problem for which a question is left out."""

_GZIP = b"\x1f\x8b"
_UNDECODED = re.compile(r"[\udc80-\udcff]")
"""What stands for a byte that is not UTF-8."""


@dataclass(frozen=True)
class QuestionFile:
    """A file of questions.

    :param text: without a byte order mark. A byte that is not UTF-8 is a lone surrogate: a format that is read line by
        line loses the line (:func:`check_encoding`), any other the whole file.
    """

    path: Path
    text: str

    @property
    def suffix(self) -> str:
        """The suffix in lower case, without that of packing: ``.jsonl`` of ``a.jsonl.gz``."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    @property
    def name(self) -> str:
        """A name for the dataset if the file says none: the file's without suffixes; the folder's for ``questions``."""
        stem = self.path.name.removesuffix(".gz").rsplit(".", 1)[0]
        return self.path.absolute().parent.name if stem == "questions" else stem

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; the first is line 1. Only line feeds end one, as in JSON Lines."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    def check_encoding(self) -> None:
        """Refuse a file with a byte that is not UTF-8: for formats that are read as a whole."""
        if found := _UNDECODED.search(self.text):
            line = self.text.count("\n", 0, found.start()) + 1
            raise DataError(f"{self.path}:{line}: not UTF-8", code="E_ENCODING", hint="save the file as UTF-8")

    @cached_property
    def json(self) -> Any:
        """The whole file as a JSON value."""
        self.check_encoding()
        try:
            return json_value(self.text)
        except InputError as error:
            raise DataError(f"{self.path}: {error.message}", hint="is the file whole?") from error


@dataclass
class CollectedQuestions:
    """The questions of a file, as far as it is read.

    :param source: who published it and where, if the file or its format says so.
    """

    file: QuestionFile
    name: str = ""
    source: str = ""
    licence: str = ""
    questions: list[Question] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _first: dict[Hashable, str] = field(default_factory=dict)

    def add(self, where: str, read: Callable[P, Question], *args: P.args, **kwargs: P.kwargs) -> None:
        """Add one question, or a problem if it cannot be read.

        A question with the same id, text and answers as another counts once. An id that another question has gets a
        number.

        :param read: makes the question of the arguments, or raises a :class:`KgsparqlError`.
        """
        place = f"{self.file.path}:{where}" if where.isdigit() else f"{self.file.path}: {where}"
        try:
            question = read(*args, **kwargs)
        except KgsparqlError as error:
            self.problems.append(Problem(place, LEFT_OUT + error.message))
            return
        first = self._first.setdefault(_content(question), where)
        if first != where:
            earlier = f"line {first}" if first.isdigit() else first
            self.problems.append(Problem(place, f"{LEFT_OUT}the same as {earlier}"))
            return
        before = self._ids.get(question.id, 0)
        self._ids[question.id] = before + 1
        if before:
            new = next(name for n in range(before + 1, 10**9) if (name := f"{question.id}#{n}") not in self._ids)
            self.problems.append(Problem(place, f"read as {new}: its id is there already"))
            self._ids[new] = 1
            question = replace(question, id=new)
        self.questions.append(question)

    def add_all(self, entries: Iterable[Any], read: Callable[[Any, int], Question]) -> Self:
        """Add the question of each entry, as :meth:`add` does; ``read`` gets the entry and its number."""
        for number, entry in enumerate(entries, 1):
            self.add(f"question {number}", read, entry, number)
        return self


def _content(question: Question) -> Hashable:
    """What makes two questions the same: id, text and answers, or what finds the answers."""
    if question.answers is not None:
        return question.id, question.text, frozenset(question.answers)
    return question.id, question.text, question.sparql, question.path, question.golden_triples, question.reference


def check_encoding(text: str) -> None:
    """Refuse a part of a document with a byte that is not UTF-8."""
    if found := _UNDECODED.search(text):
        raise InputError(f"not UTF-8 (byte {ord(found[0]) - 0xDC00:#04x}): save the file as UTF-8")


def read_file(path: Path) -> QuestionFile:
    """The text of a file, unpacked if it is packed with gzip.

    :raises InputError: if it cannot be read.
    :raises DataError: if it is a packed file that is not whole.
    :raises LimitError: if it is larger than :data:`MAX_BYTES`.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        with gzip.open(path) if is_packed else path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: a packed file that is not whole: {error}", hint="fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", hint="name a file of questions") from error
    if len(data) > MAX_BYTES:
        raise LimitError(f"{path}: more than {MAX_BYTES:,} bytes", hint="divide it, or take a part of it")
    return QuestionFile(path, data.decode("utf-8-sig", "surrogateescape"))


def json_value(text: str) -> Any:
    """A JSON value as the standard has it: no ``NaN``, no lone surrogate.

    :raises InputError: if the text is none, with the column (and the line, if it is not the first).

    >>> json_value('{"hops": 2}')
    {'hops': 2}
    """
    try:
        value = json.loads(text, parse_constant=_refused)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        at = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg} ({at})") from error
    except UnicodeEncodeError as error:
        raise InputError("half a character: a surrogate without the other") from error
    except RecursionError as error:
        raise InputError("not read: lists in lists in lists") from error
    except ValueError as error:
        raise InputError(f"not JSON: {printable(str(error), 100)}") from error
    return value


def _refused(constant: str) -> Any:
    raise InputError(f"not JSON: {constant} is no value of it")
