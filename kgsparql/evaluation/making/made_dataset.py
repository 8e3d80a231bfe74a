"""Questions that were made, as a folder that is read like any other dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.making.making import MadeQuestions
from kgsparql.evaluation.runs.directory import check_room, replace_text, store_errors
from kgsparql.rdf.terms import IRI

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


def check_folder(folder: Path) -> None:
    """Say that questions cannot be written there, before they are made."""
    check_room(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: something is there already", hint="name a folder that is not there yet")


def write_dataset(
    folder: Path, made: MadeQuestions, knowledge: KnowledgeBase, *, sources: Sequence[str], seed: int, model: str = ""
) -> None:
    """Write questions as a folder that :func:`kgsparql.evaluation.datasets.load` reads.

    The graph is not copied: ``dataset.json`` names its files, from the folder on. Questions and answers are made of its
    labels, so its licence is theirs.

    :param model: what rephrased the questions, if anything did.
    """
    check_folder(folder)
    about = {
        "name": f"{_stem(knowledge.graph.name)}-made",
        "source": f"made by kgsparql eval make from {knowledge.graph.name}",
        "licence": "that of the graph",
        "graph": _references(folder, sources),
        "fingerprint": knowledge.graph.fingerprint,
        "seed": seed,
        "rephrased_by": model,
    }
    lines = "".join(json.dumps(_line(question), ensure_ascii=False) + "\n" for question in made.questions)
    with store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / "questions.jsonl", lines)
        replace_text(folder / "dataset.json", json.dumps(about, ensure_ascii=False, indent=1) + "\n")


def _stem(name: str) -> str:
    """What to call a graph: its file without suffixes; its folder for ``graph``.

    >>> _stem("data/metaqa/graph.nt.gz"), _stem("https://example.org/sparql"), _stem("-")
    ('metaqa', 'example.org-sparql', 'graph')
    """
    if "://" in name:
        return name.split("://", 1)[1].strip("/").replace("/", "-")
    path = Path(name)
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0].strip("-")
    return (path.absolute().parent.name if stem == "graph" else stem) or "graph"


def _references(folder: Path, sources: Sequence[str]) -> list[str]:
    """The files of the graph, from the folder on; an endpoint or standard input has none."""
    paths = [Path(source) for source in sources]
    if not all(path.exists() for path in paths):
        return []
    return [os.path.relpath(path, folder) for path in paths]


def _line(question: Question) -> dict[str, Any]:
    answers = question.answers or ()
    return {
        "id": question.id,
        "question": question.text,
        "answers": [answer.label for answer in answers],
        "answer_iris": [answer.term.value for answer in answers if isinstance(answer.term, IRI)],
        "topic_entities": [{"iri": topic.iri.value, "label": topic.label} for topic in question.topics],
        "hops": question.hops,
        "type": question.type,
        "path": list(question.path),
        "sparql": question.sparql,
    }
