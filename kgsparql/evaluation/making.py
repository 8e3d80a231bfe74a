"""Questions that were made of a graph, as a folder that is read like any other dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.errors import InputError
from kgsparql.evaluation.runs.directory import check_room, store_errors
from kgsparql.made_questions.making import MadeQuestion, MadeQuestions
from kgsparql.rdf.terms import IRI
from kgsparql.storage.files import replace_text

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


def check_folder(folder: Path) -> None:
    """Check that questions can be written there, before they are made.

    :raises InputError: if something is there already.
    """
    check_room(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: something is there already", hint="name a folder that is not there yet")


def write_dataset(
    folder: Path, made: MadeQuestions, knowledge: KnowledgeBase, *, sources: Sequence[str], seed: int
) -> None:
    """Write questions as a folder that :func:`kgsparql.evaluation.datasets.load` reads.

    The graph is not copied: ``dataset.json`` names its files, from the folder on. Questions and answers are made of its
    labels, so its licence is theirs.
    """
    check_folder(folder)
    about = {
        "name": f"{_graph_name(knowledge.graph.name)}-made",
        "source": f"made by kgsparql eval make from {knowledge.graph.name}",
        "licence": "that of the graph",
        "graph": _relative_paths(folder, sources),
        "fingerprint": knowledge.graph.fingerprint,
        "seed": seed,
    }
    entries = (_question_entry(question, number) for number, question in enumerate(made.questions, 1))
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    with store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / "questions.jsonl", lines)
        replace_text(folder / "dataset.json", json.dumps(about, ensure_ascii=False, indent=1) + "\n")


def _graph_name(name: str) -> str:
    """Shorten the name of a graph to that of its file, or of its folder where the file is called ``graph``.

    >>> _graph_name("data/metaqa/graph.nt.gz"), _graph_name("https://example.org/sparql"), _graph_name("-")
    ('metaqa', 'example.org-sparql', 'graph')
    """
    if "://" in name:
        return name.split("://", 1)[1].strip("/").replace("/", "-")
    path = Path(name)
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0].strip("-")
    return (path.absolute().parent.name if stem == "graph" else stem) or "graph"


def _relative_paths(folder: Path, sources: Sequence[str]) -> list[str]:
    """Name the files of the graph from the folder on; an endpoint or standard input has none."""
    paths = [Path(source) for source in sources]
    if not all(path.exists() for path in paths):
        return []
    return [os.path.relpath(path, folder) for path in paths]


def _question_entry(question: MadeQuestion, number: int) -> dict[str, Any]:
    (hops, direction), walk = question.cell, question.walk
    return {
        "id": f"made-{number:04}",
        "question": question.text,
        "answers": list(question.answers.values()),
        "answer_iris": [term.value for term in question.answers if isinstance(term, IRI)],
        "topic_entities": [{"iri": walk.start.value, "label": question.topic}],
        "hops": hops,
        "type": f"{hops}-hop {direction}",
        "path": [f"{'^' * (step.direction == 'inverse')}{step.predicate.value}" for step in walk.path.steps],
        "sparql": question.query.text,
    }
