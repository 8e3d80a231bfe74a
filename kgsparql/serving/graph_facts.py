"""What a page says of its graph before anything is asked: how large it is, and questions that it can answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.answering.answer_json import error_json
from kgsparql.errors import KgsparqlError, NotFoundError
from kgsparql.evaluation.making.making import make
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.manifest import MANIFEST
from kgsparql.graphs.protocols import members_of
from kgsparql.linking.english_forms import plural
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory
from kgsparql.retrievers import names

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.graphs.protocols import KnowledgeGraph
    from kgsparql.knowledge_base import KnowledgeBase

_MOST_TRIPLES = 3_000_000
_LONGEST = 110
_OF_VOCABULARIES = "<http://www.w3.org/"
"""How the classes of OWL, RDFS and SKOS begin: nobody asks how many restrictions there are."""


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
        if (found["triples"] or 0) <= _MOST_TRIPLES:
            facts["examples"] = example_questions(knowledge, found["classes"])
    except KgsparqlError as error:  # told on the page: questions may still be answered
        facts["error"] = error_json(error)
    return facts


def as_of(graph: KnowledgeGraph) -> str | None:
    """When the newest file of a graph was changed, or its store was loaded, in UTC; ``None`` if nobody knows."""
    files: list[Path] = []
    for member in members_of(graph):
        if not isinstance(member, OxigraphGraph) or not member.stored:
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


def example_questions(knowledge: KnowledgeBase, classes: list[dict[str, Any]], *, count: int = 4) -> list[str]:
    """At most ``count`` questions: paths of one and two hops, and one that counts instances of a common class.

    None of an endpoint: it would be asked many queries only to show what might be asked.
    """
    if knowledge.graph.is_remote:
        return []
    try:
        made = make(knowledge, 4 * count, max_hops=2, seed=7).questions
    except NotFoundError:  # a graph without names or paths: the page is as good without examples
        return []
    short = sorted((question.text for question in made if len(question.text) <= _LONGEST), key=len)
    few = short if len(short) < count else [short[at * len(short) // (count - 1)] for at in range(count - 1)]
    named = [str(one["label"]) for one in classes if one["label"] and not one["term"].startswith(_OF_VOCABULARIES)]
    counting = [f"How many {plural(printable(label, 60))} are there?" for label in named[:1]]
    return [*few, *counting][:count]
