"""Evidence as documents, for the retrievers of frameworks that take such."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.knowledge_base import KnowledgeBase

_MOST_CHARACTERS = 10_000


def evidence_for(
    knowledge: KnowledgeBase, question: str, *, k: int, options: Mapping[str, Any], cancel: threading.Event
) -> list[EvidenceItem]:
    """At most ``k`` pieces of evidence, the best first; options and errors are those of ``knowledge.retrieve``."""
    found = knowledge.retrieve(question, **{"cancel": cancel, **options})
    return list(found.evidence)[:k]


def identifier_of(item: EvidenceItem) -> str:
    """The same for the same piece of evidence, whatever question it was found for: a marker is one question's."""
    return hashlib.sha256(f"{item.text}\n{item.query.shown}".encode()).hexdigest()


def text_of(item: EvidenceItem) -> str:
    """What a piece of evidence says, made safe to show."""
    return printable(item.text, _MOST_CHARACTERS)


def metadata_of(item: EvidenceItem) -> dict[str, Any]:
    """What else is known of a piece of evidence, as JSON.

    ``marker``, ``kind``, ``score``, ``query`` (the SPARQL that finds it again), ``triples`` (subject, predicate and
    object as N-Triples writes them), ``graphs`` and, of a passage, ``source``.
    """
    metadata: dict[str, Any] = {
        "marker": item.marker,
        "kind": item.kind,
        "score": item.score,
        "query": item.query.shown,
        "triples": [[str(term) for term in cited.triple] for cited in item.triples],
        "graphs": list(item.graphs),
    }
    if item.excerpt is not None:
        metadata["source"] = str(item.excerpt)
    return metadata


def not_installed(missing: ImportError, extra: str) -> OptionError:
    """The error of a module whose framework is missing."""
    return OptionError(f"the package {missing.name} is not installed", hint=f"pip install 'kgsparql[{extra}]'")
