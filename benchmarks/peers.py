"""What other methods retrieved on the ORKG questions, scored by our metrics, beside the figures their authors printed.

    python benchmarks/peers.py DATA/orkg             # DATA/orkg/peers/*.csv.gz, DATA/orkg/questions.jsonl
    python benchmarks/peers.py DATA/orkg -f json

Each row of a peer's file is a question with its golden triples, and the triples of the context it retrieved, in their
order. All rows are scored, and those of the questions that are in questions.jsonl. Beside each of our figures stands
the mean of the column that the peers' own evaluation wrote for the same rows.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
import json
import re
import sys
import warnings
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from kgsparql.errors import DataError, InputError
from kgsparql.evaluation.dataset import GoldAnswer, Problem, Question, Record, RecordedCost, RecordedEvidence
from kgsparql.evaluation.metrics import METRICS
from kgsparql.rdf.terms import Triple, parse_term, printable

TITLES = {"mindmap": "MindMap", "fidelis": "FiDeLiS", "difar": "DiFaR", "hublink": "HubLink"}

COLUMNS = {
    "triple_recall": "recall_triples",
    "triple_hit@10": "hit@10_triples",
    "triple_precision": "precision_triples",
    "triple_f1": "f1_triples",
    "seconds": "runtime",
    "tokens": "llm_tokens",
}
"""Our metrics, and what the peers' evaluation calls the same."""

NOTES = """\
What the figures are, and where they differ from the printed ones:
- hit@10 is the share of the golden triples that are at the first 10 places. A triple that is repeated takes a place
  each time, which is why MindMap's contexts come to so little, where seven of eight triples are repeats.
- One question (row 68) has the word None among its golden triples. The peers' evaluation counts it as a sixth one that
  nobody finds; here there are five. Every other figure of a single question is the same but for the digits printed.
- The open questions are 79 rows: two of the 80 were made from one."""

LARGEST = 4_000_000
"""Characters of a field that is read; the longest of the published files has 40,000."""

_TRIPLE = re.compile(
    r"\((?P<subject>[A-Z][0-9]+)(?::.*)?, (?P<predicate>[^,]+), (?P<object>[A-Z][0-9]+)(?::.*)?\)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Row:
    """What a peer did with one question.

    :param published: figures that its own evaluation wrote, by our names.
    """

    question: Question
    record: Record
    published: Mapping[str, float]


def main() -> None:
    """Score every peer, print a table for all rows and one for the open questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    found, problems = tables(options.folder)
    for problem in problems:
        print(f"peers: {problem}", file=sys.stderr)
    if options.format == "json":
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for title, rows in found.items():
        print(f"{title}\n\n{markdown(rows)}\n")
    print(NOTES)


def tables(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], list[Problem]]:
    """The rows of each table, by its title, and what of the files could not be read.

    :raises InputError: if the files are not there.
    """
    questions = folder / "questions.jsonl"
    if not questions.is_file():
        raise InputError(f"{questions}: not found", hint="name the folder of the ORKG questions")
    lines = questions.read_text(encoding="utf-8").splitlines()
    open_ids = {json.loads(line)["source_uid"] for line in lines if line.strip()}
    peers: dict[str, list[Row]] = {}
    problems: list[Problem] = []
    for method in TITLES:
        peers[method], unread = read(folder / "peers" / f"{method}.csv.gz")
        problems += unread
    return {
        "All questions": [summary(method, rows, tuple(COLUMNS)) for method, rows in peers.items()],
        "The open questions": [summary(method, rows, tuple(COLUMNS), among=open_ids) for method, rows in peers.items()],
    }, problems


def summary(
    method: str, rows: Sequence[Row], names: Sequence[str], among: Collection[str] | None = None
) -> dict[str, Any]:
    """A peer's means, and those of the columns of its own evaluation, over the rows that both have.

    :param among: ids of the questions that are wanted; all if ``None``.
    """
    wanted = [row for row in rows if among is None or row.question.id in among]
    values = {name: [METRICS[name].of(row.question, row.record) for row in wanted] for name in names}
    metrics = {name: [value for value in own if value is not None] for name, own in values.items()}
    published = {name: [row.published[name] for row in wanted if name in row.published] for name in names}
    return {
        "method": TITLES.get(method, method),
        "n": len(wanted),
        "metrics": {name: fmean(values) for name, values in metrics.items() if values},
        "published": {name: fmean(values) for name, values in published.items() if values},
    }


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a Markdown table: for each peer our figures, and in the line below those of its own evaluation."""
    names = list(rows[0]["metrics"])
    lines = [["method", "n", "scored by", *names]]
    for row in rows:
        lines.append([row["method"], str(row["n"]), "kgsparql", *_cells(names, row["metrics"])])
        lines.append(["", "", "its authors", *_cells(names, row["published"])])
    lines.insert(1, ["---"] * 3 + ["---:"] * len(names))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(names: Sequence[str], values: Mapping[str, float]) -> Iterator[str]:
    for name in names:
        value = values.get(name)
        yield "" if value is None else f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3f}"


def read(path: Path) -> tuple[list[Row], list[Problem]]:
    """The rows of a peer's file, and those that could not be read, by their number.

    :raises InputError: if there is no such file, or it lacks a column.
    :raises DataError: if it is not CSV in UTF-8, compressed with gzip.
    """
    if not path.is_file():
        raise InputError(f"{path}: not found", hint="name the folder that has peers/*.csv.gz")
    rows, problems = [], []
    try:
        with _long_fields(), gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = {"uid", "retrieved_context", "golden_triples"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(f"{path}: no column {', '.join(sorted(missing))}")
            for number, fields in enumerate(reader, 1):
                try:
                    rows.append(_row(fields, method=path.name.partition(".")[0]))
                except InputError as error:
                    problems.append(Problem(f"{path.name}, row {number}", error.message))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise DataError(f"{path}: {printable(str(error), 200)}") from error
    return rows, problems


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let a field of CSV be as long as :data:`LARGEST`: the limit of the module is for the whole process."""
    before = csv.field_size_limit(LARGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _row(fields: Mapping[str, str | None], *, method: str) -> Row:
    context = triples(fields["retrieved_context"] or "[]")
    reference = fields.get("golden_answer") or ""
    question = Question(
        id=fields["uid"] or "",
        text=fields.get("question") or "",
        answers=(GoldAnswer(None, reference),) if reference else None,
        golden_triples=triples(fields["golden_triples"] or "[]"),
    )
    published = {name: value for name, column in COLUMNS.items() if (value := _number(fields.get(column))) is not None}
    spent = RecordedCost(
        seconds=published.get("seconds", 0.0),
        prompt_tokens=int(published.get("tokens", 0)),  # their sum is all that is published
    )
    shown = tuple((str(t.subject), str(t.predicate), str(t.object)) for t in context)
    evidence = (RecordedEvidence("P1", shown),) if shown else ()
    answer = fields.get("generated_answer") or ""
    record = Record(
        question=question.id, method=method, status="answered", text=answer, evidence=evidence, measured=spent
    )
    return Row(question, record, published)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def triples(text: str) -> tuple[Triple, ...]:
    """The triples of a Python list of texts such as ``(R872741:Label, venue, R820814:Label)``, repeats included.

    The terms are as in the graph of the set; the word ``None`` is no triple.

    :raises InputError: for anything else.

    >>> [str(t.predicate) for t in triples("['(R1:A, b, (c), Evaluation method, L2:D)', 'None']")]
    ['<https://kg.example/orkg/p/evaluation_method>']
    """
    found = []
    for item in _listed(text):
        match = _TRIPLE.fullmatch(item)
        if match is None:
            if item == "None":
                continue
            raise InputError(f"not a triple: {printable(item, 100)}")
        predicate = match["predicate"].strip().lower().replace(" ", "_")
        terms = _entity(match["subject"]), f"<https://kg.example/orkg/p/{predicate}>", _entity(match["object"])
        found.append(Triple(*map(parse_term, terms)))
    return tuple(found)


def _listed(text: str) -> list[str]:
    if len(text) > LARGEST:
        raise InputError(f"a list of {len(text):,} characters: {LARGEST:,} at most")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # a backslash in a title
            items = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(f"not a list of texts: {printable(text, 100)}") from error
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InputError(f"not a list of texts: {printable(text, 100)}")
    return items


def _entity(identifier: str) -> str:
    kind = {"L": "literal", "P": "predicate", "C": "class"}.get(identifier[0], "resource")
    return f"<http://orkg.org/orkg/{kind}/{identifier}>"


if __name__ == "__main__":
    main()
