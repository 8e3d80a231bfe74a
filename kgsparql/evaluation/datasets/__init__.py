"""Questions with known answers, read from the formats that datasets come in, and drawn from them.

Open ``formats.py`` next: a model for each format.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgsparql.errors import DataError, InputError, KgsparqlError
from kgsparql.evaluation.dataset import Dataset, Problem, Question
from kgsparql.evaluation.datasets.formats import (
    About,
    Entry,
    LcQuad1Entry,
    LcQuad2Entry,
    OwnEntry,
    QaldEntry,
    TableEntry,
    Text2SparqlEntry,
    question_of,
)
from kgsparql.evaluation.datasets.question_file import (
    QuestionFile,
    check_decoded,
    json_value,
    read_file,
    table_error,
    table_rows,
    yaml_value,
)
from kgsparql.graphs.files import has_rdf_suffix
from kgsparql.made_questions.patterns import drawn, equal_shares
from kgsparql.rdf.terms import printable

__all__ = ["FORMATS", "LEFT_OUT", "load", "sample"]

LEFT_OUT = "left out: "
"""The begin of a problem for which a question is left out."""

_QUESTIONS = (".jsonl", ".ndjson", ".json", ".yml", ".yaml", ".csv", ".tsv")
_YAML_QUESTIONS = re.compile(r"^questions\s*:", re.MULTILINE)
_LINES_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Format that is one JSON value.

    :param entries: finds the entries of a value; ``None`` in a value of another format.
    """

    title: str
    entry: type[Entry]
    entries: Callable[[Any], list[Any] | None]
    about: Callable[[Any], About]


def _with_keys(*names: str) -> Callable[[Any], list[Any] | None]:
    """Make the function that knows a list of objects by keys of any of them."""

    def entries(data: Any) -> list[Any] | None:
        is_one = isinstance(data, list) and any(isinstance(e, Mapping) and e.keys() >= set(names) for e in data)
        return data if is_one else None

    return entries


def _qald_entries(data: Any) -> list[Any] | None:
    found = data.get("questions") if isinstance(data, Mapping) else None
    if not isinstance(found, list):
        return None
    is_one = not found or any(isinstance(e, Mapping) and isinstance(e.get("question"), list) for e in found)
    return found if is_one else None


def _about_qald(data: Any) -> About:
    about = data.get("dataset")
    named = about.get("id") if isinstance(about, Mapping) else None
    own = printable(named, 100) if isinstance(named, str) else ""
    if own.lower() in {"qald-x", "qald-10"}:
        return About("qald-10", "QALD-10, https://github.com/KGQA/QALD-10", "MIT")
    return About(own, f"QALD, dataset {own}" if own else "QALD")


_LC_QUAD_1 = About("lcquad-1", "LC-QuAD 1.0, https://github.com/AskNowQA/LC-QuAD", "GPL-3.0")
_LC_QUAD_2 = About("lcquad-2", "LC-QuAD 2.0, http://lc-quad.sda.tech")

JSON_FORMATS = (
    JsonFormat("QALD JSON: questions[].question[].string", QaldEntry, _qald_entries, _about_qald),
    JsonFormat(
        "LC-QuAD 1: corrected_question and sparql_query", LcQuad1Entry,
        _with_keys("corrected_question", "sparql_query"), lambda _: _LC_QUAD_1,
    ),
    JsonFormat(
        "LC-QuAD 2: question or NNQT_question, sparql_wikidata or sparql_dbpedia18", LcQuad2Entry,
        lambda data: _with_keys("sparql_wikidata")(data) or _with_keys("sparql_dbpedia18")(data), lambda _: _LC_QUAD_2,
    ),
)  # fmt: skip


def about_text2sparql(data: Mapping[str, Any]) -> About:
    """Read what a file of TEXT2SPARQL says of itself.

    :raises InputError: for an id or a prefix that is no text.
    """
    about = data.get("dataset")
    texts = about if isinstance(about, Mapping) else {}
    for key in ("id", "prefix"):
        if not isinstance(texts.get(key, ""), str | int):
            raise InputError(f"dataset.{key} is no text")
    source, prefix = printable(str(texts.get("id", "")), 200), printable(str(texts.get("prefix", "")), 60)
    if source == "https://text2sparql.aksw.org/2025/corporate/":
        known = "CK25, https://github.com/eccenca/ck25-dataset (TEXT2SPARQL challenge 2025)"
        return About(prefix, known, "CC BY 4.0", prefix)
    return About(prefix, source, "", prefix)


def is_own_entry(data: Any) -> bool:
    """Tell whether a JSON value is a question of kgsparql's own format."""
    own = OwnEntry.model_fields.keys() - {"id", "question", "hops", "type", "reference", "rows"}
    return isinstance(data, Mapping) and isinstance(data.get("question"), str) and not own.isdisjoint(data)


FORMATS = (
    "a folder with graph.ttl (or .nt.gz …) and questions.jsonl",
    "JSON Lines: a question a line, with answers and answer_iris",
    "TEXT2SPARQL YAML: questions[].question.en and query.sparql",
    *(known.title for known in JSON_FORMATS),
    "CSV or TSV, with the columns named: question, answers, topics …",
)
"""What can be read, for people."""


def load(path: str | Path, *, columns: Mapping[str, str] | None = None, language: str = "en") -> Dataset:
    """Load the questions of a file, or of a folder with a graph and questions about it.

    The format is recognised by the content. A question that cannot be used becomes a problem, and one that is there
    twice counts once. In a folder, the graph is every RDF file called ``graph.*``, and the questions are in
    ``questions.jsonl`` or ``questions.*``; an optional ``dataset.json`` has ``name``, ``source``, ``licence`` and, if
    there is no ``graph.*``, ``graph`` (one path or several, from the folder on). The licence is empty if neither
    ``dataset.json`` nor the file says it.

    :param columns: of CSV and TSV, what is in which column: ``{"question": "q", "answers": "gold"}``; by default the
        header's own names.
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
        return _folder_dataset(place, columns, language)
    if not is_file:
        raise InputError(f"{place}: no such file or folder", hint=f"name {'; or '.join(FORMATS)}")
    return _read_questions(place, columns, language).to_dataset()


def _folder_dataset(folder: Path, columns: Mapping[str, str] | None, language: str) -> Dataset:
    names = [f"questions{suffix}{packed}" for suffix in _QUESTIONS for packed in ("", ".gz")]
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        there = printable(", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing", 300)
        raise InputError(f"{folder}: no questions.jsonl in this folder", hint=f"there is: {there}")
    about = _folder_description(folder / "dataset.json")
    graph = [entry for entry in sorted(folder.glob("graph.*")) if entry.is_file() and has_rdf_suffix(entry)]
    if not graph:
        named = about.get("graph") or []
        named = [named] if isinstance(named, str) else named
        if not isinstance(named, list) or not all(isinstance(name, str) and name for name in named):
            hint = "one path or a list of them, from the folder on"
            raise DataError(f"{folder / 'dataset.json'}: graph is no path", hint=hint)
        graph = [Path(os.path.normpath(folder / name)) for name in named]
    return _read_questions(file, columns, language).to_dataset(about, tuple(graph))


def _folder_description(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    hint = "name, source and licence of the questions"
    try:
        data = read_file(path).json
    except InputError as error:
        raise DataError(error.message, hint=hint) from error
    if not isinstance(data, Mapping):
        raise DataError(f"{path}: no JSON object", hint=hint)
    return data


@dataclass
class _CollectedQuestions:
    """The questions of a file, as far as it is read."""

    file: QuestionFile
    language: str
    about: About = field(default_factory=About)
    questions: list[Question] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _first: dict[Hashable, str] = field(default_factory=dict)

    def add(self, where: str, model: type[Entry], number: int, entry: Callable[[], Any]) -> None:
        """Add one question, or a problem if it cannot be read.

        A question with the same id, text and answers as another counts once. An id that another question has gets a
        number.

        :param entry: reads the entry, or raises a :class:`KgsparqlError`.
        """
        place = f"{self.file.path}:{where}" if where.isdigit() else f"{self.file.path}: {where}"
        try:
            question = question_of(model, entry(), number, about=self.about, language=self.language)
        except KgsparqlError as error:
            self.problems.append(Problem(place, LEFT_OUT + error.message))
            return
        first = self._first.setdefault(_content_key(question), where)
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

    def add_all(self, model: type[Entry], entries: Iterable[Any]) -> None:
        """Add the question of each entry."""
        for number, entry in enumerate(entries, 1):
            self.add(f"question {number}", model, number, lambda entry=entry: entry)  # type: ignore[misc]

    def to_dataset(self, said: Mapping[str, Any] | None = None, graph: tuple[Path, ...] = ()) -> Dataset:
        """Make the dataset.

        :param said: what the folder says of it.
        :raises DataError: if there is no question that can be used.
        """
        path, about = self.file.path, self.about
        if not self.questions:
            if not self.problems:
                raise DataError(f"{path}: no questions in it", hint="is it the right file?")
            first = str(self.problems[0]).removeprefix(str(path)).replace(LEFT_OUT, "", 1)
            raise DataError(
                f"{path}: none of {len(self.problems):,} questions can be used; the first{first}",
                hint="is it the right file, or the right --lang?",
            )
        texts = {key: str(value) for key, value in (said or {}).items() if isinstance(value, str | int)}
        return Dataset(
            name=printable(texts.get("name") or about.name or self.file.name, 60),
            source=printable(texts.get("source") or about.source, 300),
            licence=printable(texts.get("licence") or texts.get("license") or about.licence, 100),
            questions=tuple(self.questions),
            graph=graph,
            problems=tuple(self.problems),
        )


def _content_key(question: Question) -> Hashable:
    """Return what makes two questions the same: id, text and answers, or what finds the answers."""
    if question.answers is not None:
        return question.id, question.text, frozenset(question.answers)
    return question.id, question.text, question.sparql, question.path, question.golden_triples, question.reference


def _read_questions(path: Path, columns: Mapping[str, str] | None, language: str) -> _CollectedQuestions:
    """Read a file of any format, which is known by its content."""
    file = read_file(path)
    found = _CollectedQuestions(file, language)
    if columns is not None or file.suffix in {".csv", ".tsv"}:
        _read_table(found, columns)
    elif _is_json_lines(file):
        for number, line in enumerate(file.lines, 1):
            if line.strip():
                found.add(str(number), OwnEntry, number, lambda line=line: json_value(line))  # type: ignore[misc]
    elif file.text.lstrip().startswith(("{", "[")):
        _read_json(found)
    elif _YAML_QUESTIONS.search(file.text):
        _read_text2sparql(found)
    else:
        file.check_encoding()
        raise _unknown_format(file)
    return found


def _unknown_format(file: QuestionFile, why: str = "") -> InputError:
    hint = f"known: {'; '.join(FORMATS)}"
    return InputError(f"{file.path}: not a file of questions that kgsparql knows{why}", hint=hint)


def _is_json_lines(file: QuestionFile) -> bool:
    """Tell whether one of the first lines is a question of our format, or the file is called ``.jsonl``."""
    if file.suffix in {".jsonl", ".ndjson"}:
        return True
    if file.text.lstrip().startswith("{"):
        for line in file.lines[:_LINES_LOOKED_AT]:
            try:
                if is_own_entry(json_value(line)):
                    return True
            except InputError:
                continue
    return False


def _read_json(found: _CollectedQuestions) -> None:
    try:
        data = found.file.json
    except DataError as error:
        if error.code == "E_ENCODING":
            raise
        raise _unknown_format(found.file, f" ({error.message.removeprefix(f'{found.file.path}: ')})") from error
    for known in JSON_FORMATS:
        if (entries := known.entries(data)) is not None:
            found.about = known.about(data)
            found.add_all(known.entry, entries)
            return
    if not isinstance(data, list) or not any(map(is_own_entry, data)):
        raise _unknown_format(found.file)
    found.add_all(OwnEntry, data)


def _read_text2sparql(found: _CollectedQuestions) -> None:
    found.file.check_encoding()
    data = yaml_value(found.file)
    entries = data.get("questions") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        raise DataError(f"{found.file.path}: questions is no list", hint="each begins with - id: …")
    try:
        found.about = about_text2sparql(data)
    except InputError as error:
        raise DataError(f"{found.file.path}: {error.message}", hint="write it in quotes") from error
    found.add_all(Text2SparqlEntry, entries)


def _read_table(found: _CollectedQuestions, columns: Mapping[str, str] | None) -> None:
    """Read the rows of a CSV or TSV file, up to one that is broken, as by a quote that is never closed: a problem."""
    file = found.file
    rows = table_rows(file)
    _, head = next(rows, (1, []))
    if isinstance(head, csv.Error):
        raise InputError(f"{file.path}:1: {table_error(head)}", hint="the first line names the columns") from head
    try:
        check_decoded("".join(head))
    except InputError as error:
        hint = "save the file as UTF-8"
        raise DataError(f"{file.path}:1: not UTF-8", code="E_ENCODING", hint=hint) from error
    header = [name.strip() for name in head]
    places = _table_columns(file, header, columns)
    for line, row in rows:
        if isinstance(row, csv.Error) or any(cell.strip() for cell in row):
            found.add(str(line), TableEntry, line, lambda row=row: _table_entry(row, header, places))  # type: ignore[misc]


def _table_columns(file: QuestionFile, header: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, int]:
    fields = TableEntry.model_fields
    there = printable(", ".join(name or "(none)" for name in header) or "none", 300)
    wanted = columns if columns is not None else {name: name for name in fields if name in header}
    for name, column in wanted.items():
        if name not in fields:
            raise InputError(f"no field {printable(name, 40)}", hint=f"a column may be: {', '.join(fields)}")
        if column not in header:
            message = f"{file.path}: no column {printable(column, 60)} for {name}"
            raise InputError(message, hint=f"the columns are: {there}")
    if "question" not in wanted:
        hint = f"name it: question=COLUMN; the columns are: {there}"
        raise InputError(f"{file.path}: which column is the question?", hint=hint)
    return {name: header.index(column) for name, column in wanted.items()}


def _table_entry(row: list[str] | csv.Error, header: Sequence[str], places: Mapping[str, int]) -> dict[str, str | None]:
    if isinstance(row, csv.Error):
        raise InputError(f"{table_error(row)}; no row after it is read")
    check_decoded("".join(row))
    if len(row) > len(header):
        raise InputError(f"{len(row)} cells in {len(header)} columns")
    cells = {name: row[at].strip() if at < len(row) else "" for name, at in places.items()}
    return {name: cell for name, cell in cells.items() if cell or name == "question"}


def sample(questions: Sequence[Question], limit: int | None, seed: int = 0) -> tuple[Question, ...]:
    """Draw at most ``limit`` questions, in their order; each number of hops gets an equal share, as far as it has any.

    Questions without a number of hops are a group of their own. The sample of a group depends only on the seed and the
    ids: a larger limit keeps what a smaller one took.

    >>> many = [Question(id=str(n), text="?", hops=n % 3) for n in range(300)]
    >>> from collections import Counter
    >>> sorted(Counter(question.hops for question in sample(many, 90)).items())
    [(0, 30), (1, 30), (2, 30)]
    """
    if limit is None or limit >= len(questions):
        return tuple(questions)
    groups: dict[int | None, list[Question]] = {}
    for question in drawn(questions, seed, key=lambda question: question.id):
        groups.setdefault(question.hops, []).append(question)
    ordered = sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or 0))
    shares = equal_shares([len(group) for _, group in ordered], limit)
    taken = {q.id for (_, group), share in zip(ordered, shares, strict=True) for q in group[:share]}
    return tuple(question for question in questions if question.id in taken)
