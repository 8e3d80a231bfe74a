"""What the commands of ``eval`` share: the dataset, its graph, and the directory of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset
    from kgsparql.knowledge_base import KnowledgeBase


_MISSING = 0.5
"""A graph that lacks more than this share of the gold terms is taken for another graph."""

_PROBLEMS = 5
"""Unreadable lines that are shown."""

DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A folder with a graph and questions; a file of JSONL, QALD, TEXT2SPARQL, LC-QuAD or CSV.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="FIELD=NAME,…", help="Columns of a CSV file: question=…,answers=…,topics=…,id=…,sparql=…"
    ),
]


def opened_dataset(dataset: str, columns: str | None, *, language: str, quiet: bool) -> Dataset:
    """The dataset; its licence, and what could not be read of it, are shown on stderr."""
    from kgsparql.evaluation.datasets import load

    loaded = load(dataset, columns=_columns(columns), language=language)
    licence = loaded.licence or "no licence information: check before you publish anything made with it"
    source = f" · {loaded.source}" if loaded.source else ""
    c.say(f"{loaded.name}: {len(loaded.questions):,} questions{source} · {licence}", quiet=quiet)
    for problem in loaded.problems[:_PROBLEMS]:
        c.say(f"  {printable(str(problem), 300)}", quiet=quiet)
    if len(loaded.problems) > _PROBLEMS:
        c.say(
            f"  … and {len(loaded.problems) - _PROBLEMS:,} more like these: kgsparql eval validate lists them",
            quiet=quiet,
        )
    return loaded


def _columns(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(field.strip() and equals and name.strip() for field, equals, name in pairs):
        raise OptionError(f"--columns {printable(text, 80)}", hint="for example --columns question=q,answers=a")
    return {field.strip(): name.strip() for field, _, name in pairs}


def graph_of(graph: GraphOptions, dataset: Dataset) -> GraphOptions:
    """The graph of ``-k``, else the one beside the questions, else the one of the environment."""
    if graph.kg or not dataset.graph:
        return graph
    return replace(graph, kg=[str(file) for file in dataset.graph])


def check_directory(output: Path, *, resume: bool, file: str = "run.json") -> None:
    """Check the directory of a run before any work.

    :param file: marks a directory as one of a run.
    """
    from kgsparql.evaluation.runs.directory import check_room, is_free

    if output.is_file():
        raise InputError(f"{output}: a file", hint="name a directory that is not there yet")
    what = Path(file).stem
    is_there = (output / file).is_file()
    if resume and not is_there:
        raise InputError(f"{output}: no {what} to go on with", hint="leave out --resume to begin one")
    if not resume and is_there:
        raise InputError(f"{output}: a {what} is there already", hint="--resume goes on with it; or name another")
    if not resume and not is_free(output):
        raise InputError(f"{output}: not an empty directory", hint="name one that is not there yet")
    check_room(output)


def checked_missing_share(dataset: Dataset, knowledge: KnowledgeBase, graph: GraphOptions) -> float:
    """The share of gold terms and topics that the graph does not mention."""
    from kgsparql.evaluation import validation

    share = validation.missing_share(dataset, knowledge)
    if share > _MISSING:
        raise DataError(
            f"{100 * share:.0f} % of the terms in the gold answers and topics are not in {knowledge.graph.name}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    if share:
        graph.say(
            f"{100 * share:.1f} % of the terms in the gold answers and topics are not in the graph: its figures are "
            "not those of the whole dataset (kgsparql eval validate says which questions)"
        )
    return share


def with_answers(dataset: Dataset, knowledge: KnowledgeBase, graph: GraphOptions) -> Dataset:
    """The dataset; where it has only SPARQL, with the answers of that. Questions without answers are left out."""
    from kgsparql.evaluation.validation import answered

    known = answered(dataset, knowledge)
    for problem in known.problems[len(dataset.problems) :]:
        graph.say(f"  left out: {printable(str(problem), 300)}")
    return known
