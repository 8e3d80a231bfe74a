"""Questions with known answers, read from the formats that datasets come in: one file for each format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgsparql.errors import DataError, InputError
from kgsparql.evaluation.dataset import Dataset
from kgsparql.evaluation.datasets import csv_tables, json_lines, lcquad, qald, text2sparql
from kgsparql.evaluation.datasets._fields import gold_terms
from kgsparql.evaluation.datasets._question_file import (
    LEFT_OUT,
    CollectedQuestions,
    QuestionFile,
    json_value,
    read_file,
)
from kgsparql.evaluation.datasets.sampling import sample
from kgsparql.rdf.terms import printable

__all__ = ["FORMATS", "LEFT_OUT", "gold_terms", "load", "sample"]

FORMATS = (
    "a folder with graph.ttl (or .nt.gz …) and questions.jsonl",
    json_lines.TITLE, qald.TITLE, text2sparql.TITLE, lcquad.TITLE_1, lcquad.TITLE_2, csv_tables.TITLE,
)  # fmt: skip
"""What can be read, for people."""

_ABOUT = "dataset.json"
_QUESTIONS = (".jsonl", ".ndjson", ".json", ".yml", ".yaml", ".csv", ".tsv")


def load(path: str | Path, *, columns: Mapping[str, str] | None = None, language: str = "en") -> Dataset:
    """The questions of a file, or of a folder with a graph and questions about it.

    The format is recognised by the content. A question that cannot be used becomes a problem, and one that is there
    twice counts once. In a folder, the graph is every RDF file called ``graph.*``, and the questions are in
    ``questions.jsonl`` or ``questions.*``; an optional ``dataset.json`` has ``name``, ``source``, ``licence`` and, if
    there is no ``graph.*``, ``graph`` (one path or several, from the folder on). The licence is empty if neither
    ``dataset.json`` nor the file says it.

    :param columns: of CSV and TSV: which column holds what, as
        :func:`kgsparql.evaluation.datasets.csv_tables.read` says.
    :param language: of questions that are asked in several.
    :raises InputError: if there is nothing, no format is recognised, or a column is missing.
    :raises DataError: if the file is malformed, or none of its questions can be used.

    >>> dataset = load("fixtures/nobel_questions.jsonl")
    >>> dataset.name, len(dataset.questions), dataset.questions[0].answers[0].label
    ('nobel_questions', 40, 'Warsaw')
    """
    place = Path(path)
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(str(path), 200)}: {error}", hint="name a file or a folder") from error
    if is_folder:
        return _folder(place, columns, language)
    if not is_file:
        raise InputError(f"{place}: no such file or folder", hint=f"name {'; or '.join(FORMATS)}")
    return _dataset(_questions_of(place, columns, language))


def _folder(folder: Path, columns: Mapping[str, str] | None, language: str) -> Dataset:
    names = [f"questions{suffix}{packed}" for suffix in _QUESTIONS for packed in ("", ".gz")]
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        there = printable(", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing", 300)
        raise InputError(f"{folder}: no questions.jsonl in this folder", hint=f"there is: {there}")
    about = _about(folder)
    return _dataset(_questions_of(file, columns, language), about, _graph(folder, about))


def _about(folder: Path) -> Mapping[str, Any]:
    path = folder / _ABOUT
    if not path.is_file():
        return {}
    try:
        file = read_file(path)
        file.check_encoding()
        data = json_value(file.text)
    except InputError as error:
        raise DataError(f"{path}: {error.message}", hint="name, source and licence of the questions") from error
    if not isinstance(data, Mapping):
        raise DataError(f"{path}: no JSON object", hint="name, source and licence of the questions")
    return data


def _graph(folder: Path, about: Mapping[str, Any]) -> tuple[Path, ...]:
    """The files of the graph: ``graph.*``, else those that ``dataset.json`` names."""
    from kgsparql.graphs.files import has_rdf_suffix

    found = [entry for entry in sorted(folder.glob("graph.*")) if entry.is_file() and has_rdf_suffix(entry)]
    if found:
        return tuple(found)
    named = about.get("graph") or []
    named = [named] if isinstance(named, str) else named
    if not isinstance(named, list) or not all(isinstance(name, str) and name for name in named):
        raise DataError(f"{folder / _ABOUT}: graph is no path", hint="one path or a list of them, from the folder on")
    return tuple(Path(os.path.normpath(folder / name)) for name in named)


def _questions_of(path: Path, columns: Mapping[str, str] | None, language: str) -> CollectedQuestions:
    file = read_file(path)
    if columns is not None or file.suffix in {".csv", ".tsv"}:
        return csv_tables.read(file, columns)
    if json_lines.is_ours(file):
        return json_lines.read(file)
    file.check_encoding()  # the others are readable only as a whole
    if text2sparql.looks_like_it(file):
        return text2sparql.read(file, language)
    why = ""
    if file.text.lstrip().startswith(("{", "[")):
        try:
            return _read_json(file, language)
        except DataError as error:
            why = f" ({error.message.removeprefix(f'{path}: ')})"
        except LookupError:
            pass
    raise InputError(f"{path}: not a file of questions that kgsparql knows{why}", hint=f"known: {'; '.join(FORMATS)}")


def _read_json(file: QuestionFile, language: str) -> CollectedQuestions:
    """The questions of one JSON value; a :class:`LookupError` if it is of no format that is known."""
    data = file.json
    if qald.is_qald(data):
        return qald.read(file, language)
    for is_it, read in ((lcquad.is_first, lcquad.read_first), (lcquad.is_second, lcquad.read_second)):
        if is_it(data):
            return read(file)
    if isinstance(data, list) and any(map(json_lines.is_entry, data)):
        return json_lines.read_list(file)
    raise LookupError("no known format")


def _dataset(
    found: CollectedQuestions, about: Mapping[str, Any] | None = None, graph: tuple[Path, ...] = ()
) -> Dataset:
    path = found.file.path
    if not found.questions:
        if not found.problems:
            raise DataError(f"{path}: no questions in it", hint="is it the right file?")
        first = str(found.problems[0]).removeprefix(str(path)).replace(LEFT_OUT, "", 1)
        raise DataError(
            f"{path}: none of {len(found.problems):,} questions can be used; the first{first}",
            hint="is it the right file, or the right --lang?",
        )
    texts = {key: str(value) for key, value in (about or {}).items() if isinstance(value, str | int)}
    return Dataset(
        name=printable(texts.get("name") or found.name or found.file.name, 60),
        source=printable(texts.get("source") or found.source, 300),
        licence=printable(texts.get("licence") or texts.get("license") or found.licence, 100),
        questions=tuple(found.questions),
        graph=graph,
        problems=tuple(found.problems),
    )
