"""A file of questions as text, as JSON, as YAML or as rows of a table, with errors that say where it is broken."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kgsparql.errors import DataError, InputError, LimitError
from kgsparql.rdf.terms import printable

MAX_BYTES = 2**29
"""The limit for a file of questions, unpacked: the largest known have 100 MB."""

_UNDECODED = re.compile(r"[\udc80-\udcff]")
"""What stands for a byte that is not UTF-8."""


@dataclass(frozen=True)
class QuestionFile:
    """File of questions.

    :param text: without a byte order mark. A byte that is not UTF-8 is a lone surrogate: a format that is read line by
        line loses the line, any other the whole file.
    """

    path: Path
    text: str

    @property
    def suffix(self) -> str:
        """The suffix in lower case, without that of packing: ``.jsonl`` of ``a.jsonl.gz``."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    @property
    def name(self) -> str:
        """The name of the file without suffixes; for ``questions``, that of its folder."""
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


def read_file(path: Path) -> QuestionFile:
    """Read the text of a file, unpacked if it is packed with gzip.

    :raises InputError: if it cannot be read.
    :raises DataError: if it is a packed file that is not whole.
    :raises LimitError: if it is larger than :data:`MAX_BYTES`.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_packed else path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: a packed file that is not whole: {error}", hint="fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", hint="name a file of questions") from error
    if len(data) > MAX_BYTES:
        raise LimitError(f"{path}: more than {MAX_BYTES:,} bytes", hint="divide it, or take a part of it")
    return QuestionFile(path, data.decode("utf-8-sig", "surrogateescape"))


def check_decoded(text: str) -> None:
    """Refuse a part of a file with a byte that is not UTF-8."""
    if found := _UNDECODED.search(text):
        raise InputError(f"not UTF-8 (byte {ord(found[0]) - 0xDC00:#04x}): save the file as UTF-8")


def json_value(text: str) -> Any:
    """Read a JSON value as the standard has it: no ``NaN``, no lone surrogate.

    :raises InputError: if the text is none, with the column (and the line, if it is not the first).
    """
    check_decoded(text)
    try:
        value = json.loads(text, parse_constant=_refused_constant)
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


def _refused_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no value of it")


def yaml_value(file: QuestionFile) -> Any:
    """Read YAML without aliases: a few lines of aliases of aliases stand for gigabytes."""
    import yaml

    try:
        for event in yaml.parse(file.text, yaml.SafeLoader) if "*" in file.text else ():
            if isinstance(event, yaml.AliasEvent):
                at, name = event.start_mark.line + 1, printable(event.anchor, 60)
                hint = "aliases are not read: write out what they stand for"
                raise DataError(f"{file.path}:{at}: an alias: *{name}", hint=hint)
        return yaml.safe_load(file.text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"{file.path}:{line}: not YAML: {printable(error.problem or '', 100)}"
        raise DataError(message, hint="look at that line") from error
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        raise DataError(f"{file.path}: not YAML: {printable(str(error), 200)}", hint="is it whole?") from error


def table_rows(file: QuestionFile) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield each row with the line that it begins in; the first row that is broken, as its error, is the last."""
    delimiter = "\t" if file.suffix == ".tsv" else max(",;\t", key=file.lines[0].count)
    rows, begin = csv.reader(io.StringIO(file.text, newline=""), delimiter=delimiter, strict=True), 1
    try:
        for row in rows:
            yield begin, row
            begin = rows.line_num + 1
    except csv.Error as error:
        yield begin, error


def table_error(error: csv.Error) -> str:
    """Say what is wrong with a row, in words for who wrote it."""
    if "expected after" in str(error) or "unexpected end" in str(error):
        return (
            "a quote that is never closed, or is followed by more text (one inside a cell in quotes is written twice)"
        )
    return str(error)
