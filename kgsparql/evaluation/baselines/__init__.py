"""What every method must beat: the model alone, the nearest triples, the nearest labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kgsparql.answering.retriever import Retriever
from kgsparql.errors import OptionError
from kgsparql.evaluation.baselines._triples import TripleVectors, TripleWords, size
from kgsparql.evaluation.baselines.closed_book import ClosedBook
from kgsparql.evaluation.baselines.label_neighbours import LabelNeighbours
from kgsparql.evaluation.baselines.triple_embedding import TripleEmbedding
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.embedding import INSTALL_HINT
from kgsparql.rdf.terms import printable
from kgsparql.retrievers import with_options

__all__ = ["UNLINKED", "load", "names", "why_not"]

MOST_BY_WORDS = 50_000
"""Triples that are compared by their words where there is no embedder: they are held in memory."""

MOST_BY_MEANING = 5_000_000
"""Triples that are embedded: beyond, comparing them takes longer than any method does."""

EMBED_AT_ONCE = 10_000
"""Triples that are embedded even if nobody named the baseline."""

TRIPLES_PER_SECOND = 300
"""Triples that the default model embeds in a second on two cores, for estimates."""

UNLINKED = frozenset({"closed_book", "label_neighbours"})
"""Baselines that do not look for the entities of a question."""

_CLASSES: dict[str, type[Retriever]] = {
    "closed_book": ClosedBook,
    "triple_embedding": TripleEmbedding,
    "label_neighbours": LabelNeighbours,
}


def names() -> tuple[str, ...]:
    """The baselines there are.

    >>> names()
    ('closed_book', 'triple_embedding', 'label_neighbours')
    """
    return tuple(_CLASSES)


def why_not(name: str, knowledge: KnowledgeBase, *, model: bool) -> str:
    """Why a baseline that nobody named is left out, and how to have it all the same; empty if it is not left out.

    :param model: there is a language model.
    """
    if name == "closed_book" and not model:
        return "it asks the model alone, and there is none (-m names one)"
    return _too_much(knowledge) or _takes_long(knowledge) if name == "triple_embedding" else ""


def _too_much(knowledge: KnowledgeBase) -> str:
    """Why the triples of a graph cannot be compared; empty if they can."""
    if knowledge.graph.is_remote:
        return "the triples of an endpoint are not all read (load its data into a store)"
    triples = size(knowledge)
    if knowledge.indexes.embedder is None and triples > MOST_BY_WORDS:
        return f"{triples:,} triples are too many to compare by their words ({INSTALL_HINT} adds an embedding model)"
    return f"{triples:,} triples are too many to embed" if triples > MOST_BY_MEANING else ""


def _takes_long(knowledge: KnowledgeBase) -> str:
    """How long embedding the triples of a graph takes, if it takes long and is not done yet."""
    embedder = knowledge.indexes.embedder
    if embedder is None or (triples := size(knowledge)) <= EMBED_AT_ONCE:
        return ""
    if TripleVectors.opened(knowledge, embedder) is not None:
        return ""
    minutes = max(1, round(triples / TRIPLES_PER_SECOND / 60))
    return f"{triples:,} triples take about {minutes} min to embed, once; -r triple_embedding does it"


def load(name: str, knowledge: KnowledgeBase, options: Mapping[str, Any] | None = None) -> Retriever:
    """A baseline, with the index of the graph that it needs.

    :raises OptionError: for a name or options that do not exist, and where it cannot be asked of this graph.
    """
    if name not in _CLASSES:
        raise OptionError(f"no baseline {printable(name, 60)!r}", hint=f"there are: {', '.join(names())}")
    made = with_options(_CLASSES[name], options)
    if isinstance(made, TripleEmbedding):
        if why := _too_much(knowledge):
            raise OptionError(f"triple_embedding: {why}")
        embedder = knowledge.indexes.embedder
        index = TripleWords.built(knowledge) if embedder is None else TripleVectors.built(knowledge, embedder)
        return replace(made, index=index)
    if isinstance(made, LabelNeighbours):
        linker = knowledge.indexes.linker
        return replace(made, nearest=lambda text, limit: linker.similar(text, limit=limit, threshold=0.0))
    return made
