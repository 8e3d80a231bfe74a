"""What a page says of its graph before anything is asked: how large it is, and questions that it can answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.errors import KgsparqlError
from kgsparql.graphs.manifest import MANIFEST
from kgsparql.made_questions.examples import example_questions
from kgsparql.rdf.terms import printable
from kgsparql.rendering.answer_json import error_json
from kgsparql.resources import cache_directory
from kgsparql.retrievers import names

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.graphs.graph import KnowledgeGraph
    from kgsparql.knowledge_base import KnowledgeBase


def graph_facts(knowledge: KnowledgeBase | None, asking: AskOptions) -> dict[str, Any]:
    """The graph, and what may be asked of it, as JSON; its index of labels is made here, before the first question.

    :param asking: how questions are asked, unless the page says otherwise.
    """
    facts: dict[str, Any] = {
        "name": "", "as_of": None, "triples": None, "classes": [], "examples": [], "error": None,
        "methods": list(names()), "method": asking.retriever, "model": asking.model.name if asking.model else "",
    }  # fmt: skip
    if knowledge is None:
        return facts
    facts |= {"name": printable(knowledge.graph.name, 200), "as_of": as_of(knowledge.graph)}
    try:
        found = knowledge.info(shown=12)
        facts |= {"triples": found["triples"], "classes": found["classes"]}
        _ = knowledge.indexes.linker
        facts["examples"] = list(example_questions(knowledge))
    except KgsparqlError as error:  # told on the page: questions may still be answered
        facts["error"] = error_json(error)
    return facts


def as_of(graph: KnowledgeGraph) -> str | None:
    """When the newest file of a graph was changed, or its store was loaded, in UTC; ``None`` if nobody knows."""
    files: list[Path] = []
    for member in graph.members:
        if not member.stored:
            return None
        store = member.directory
        if store is None or store.is_relative_to(cache_directory().absolute()):
            files += [Path(one.source) for one in member.stored]
        else:
            files.append(store / MANIFEST)
    try:
        changed = max(file.stat().st_mtime for file in files)
    except OSError:  # a file that has been moved away, or was no file
        return None
    return datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
