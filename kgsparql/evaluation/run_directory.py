"""A run on disk: what was asked and how, one line for each answer as it came.

::

    RUN/
      run.json                 configuration, versions, graph
      questions.jsonl          the questions with their gold answers, so that a run can be scored alone
      answers/METHOD.jsonl     a :class:`Record` a line, in the order they ended
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from kgsparql.dataclasses import asdict, dataclass
from kgsparql.errors import DataError, DiskFullError, InputError, StoreError
from kgsparql.evaluation.dataset import Question, Record, json_form
from kgsparql.rdf.terms import Json, compact_json, printable
from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json

FORMAT = 3
_T = TypeVar("_T")

_METHOD_LABEL = re.compile(r"\w[\w.+-]*", re.ASCII)  # the label of a method is the name of its files
_ANEW = "run it again into another directory"


@dataclass(frozen=True)
class Run:
    """Run in its directory; it may be unfinished. One process at a time writes it.

    :param config: the content of ``run.json``.
    """

    path: Path
    config: Json

    @classmethod
    def open(cls, path: Path) -> Run:
        """Open the run in a directory.

        :raises InputError: if there is none.
        :raises DataError: if its files are not as a run leaves them, or were written by another version.
        """
        file = path / "run.json"
        if not file.is_file():
            raise InputError(f"{path}: no run is here", hint="make one: kgsparql eval DATASET -o RUN")
        try:
            return cls(path, read_sealed_json(file, format=FORMAT))
        except StoreError:
            raise
        except (OSError, ValueError) as error:
            raise DataError(f"{file}: not what a run writes: {printable(error, 200)}", hint=_ANEW) from error

    @classmethod
    def begin(cls, path: Path, config: Json, questions: Sequence[Question]) -> Run:
        """Write the configuration and the questions of a new run.

        :raises InputError: if there is something else in the directory.
        """
        check_new(path)
        run = cls(path, config)
        with store_errors(path):
            (path / "answers").mkdir(parents=True, exist_ok=True)
            replace_text(path / "questions.jsonl", "".join(_json_line(one.to_json()) for one in questions))
            run.write_config(config)  # the last: a run is there when this is
        return run

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return str(self.config["dataset"]["name"])

    @property
    def methods(self) -> tuple[str, ...]:
        """The labels of the methods, in their order."""
        return tuple(method["label"] for method in self.config["methods"])

    @property
    def model(self) -> str:
        """The name of the model; empty for none."""
        return str(self.config["model"] or "")

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in their order."""
        file = self.path / "questions.jsonl"
        found = tuple(whole_lines(file, json_form(Question)))
        wanted = self.config.get("questions", len(found))
        if len(found) != wanted:
            raise DataError(f"{file}: {len(found):,} whole lines of {wanted}", hint=_ANEW)
        return found

    def answers_file(self, method: str) -> Path:
        """Name the file with the records of a method.

        :raises DataError: for a label that is none: in a foreign run it might lead out of the directory.
        """
        if not _METHOD_LABEL.fullmatch(method):
            raise DataError(f"{self.path / 'run.json'}: {printable(method, 60)!r} is no label of a method")
        return self.path / "answers" / f"{method}.jsonl"

    def records(self, method: str) -> dict[str, Record]:
        """Read the records of a method by the ids of the questions, in the order of the questions; the last counts."""
        found = {record.question: record for record in whole_lines(self.answers_file(method), json_form(Record))}
        return {question.id: found[question.id] for question in self.questions if question.id in found}

    def write_config(self, config: Json) -> None:
        """Write ``run.json``, in one step."""
        with store_errors(self.path):
            replace_text(self.path / "run.json", sealed_json({"format": FORMAT, **config}))

    def add(self, record: Record) -> None:
        """Write the record of a question."""
        with store_errors(self.path), self.answers_file(record.method).open("ab") as stream:
            stream.write(_json_line(asdict(record)).encode("utf-8", "replace"))


def check_new(path: Path) -> None:
    """Check that a run may begin in a directory, before anything is asked: it holds nothing, or can be made.

    :raises InputError: if there is a run, or something else.
    :raises StoreError: if what would hold it is a file, or may not be written.
    """
    if (path / "run.json").is_file():
        raise InputError(f"{path}: a run is there already", hint="name another")
    if path.exists():
        if not path.is_dir() or any(path.iterdir()):
            raise InputError(f"{path}: something is there already", hint="name a folder that is not there yet")
        return
    above = next(place for place in path.absolute().parents if place.exists())
    with store_errors(path):
        if not above.is_dir() or not os.access(above, os.W_OK):
            code = errno.EACCES if above.is_dir() else errno.ENOTDIR
            raise OSError(code, os.strerror(code))


def _json_line(data: Json) -> str:
    return compact_json(data, default=str) + "\n"


def whole_lines(file: Path, form: TypeAdapter[_T]) -> Iterator[_T]:
    """Yield what is made of each JSON object of a file of lines, but for the half line that is still being written.

    :raises DataError: for a line that is none, or of which nothing can be made, with its number.
    """
    if not file.is_file():
        return
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            try:
                item = form.validate_json(line)
            except (TypeError, ValueError) as error:
                why = printable(error, 200)
                raise DataError(f"{file}:{number}: {why}", hint="remove that line") from error
            yield item


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise our own errors for a full disk, or a directory that cannot be written.

    :raises DiskFullError: what was written before stays.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise DiskFullError(f"{path}: no space left", hint="free some, then run it again") from error
        raise StoreError(f"{path}: {error.strerror}", hint="name another directory with -o") from error
