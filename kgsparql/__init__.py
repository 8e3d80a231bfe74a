"""Ask any RDF graph a question; every claim comes with the triples it rests on.

>>> import kgsparql
>>> knowledge = kgsparql.open("fixtures/nobel.ttl", embedder="none")
>>> answer = knowledge.ask("Where was Marie Curie born?")
>>> answer.answers[0].label
'Warsaw'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsparql.answer import Answer, AnswerTerm, Claim, Draft, InferenceStep, Retrieval
    from kgsparql.asking import Asking
    from kgsparql.budget import Budget, Prices, Usage
    from kgsparql.errors import KgsparqlError
    from kgsparql.evidence import CitedTriple, Cut, Evidence, EvidenceItem, Source
    from kgsparql.graph import KnowledgeGraph, Solutions
    from kgsparql.graphs import EndpointGraph, FederatedGraph, OxigraphGraph, open_graph
    from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
    from kgsparql.knowledge_base import KnowledgeBase, open
    from kgsparql.language_model import LanguageModel
    from kgsparql.linking import LinkedEntity, Mention
    from kgsparql.model_opening import open_model
    from kgsparql.paths import Hop, Path, PropertyPath
    from kgsparql.query import Query
    from kgsparql.retriever import Retriever
    from kgsparql.session import Session
    from kgsparql.snapshots import Snapshot
    from kgsparql.terms import IRI, BlankNode, Literal, PrefixMap, Term, Triple

_MODULES = {
    "answer": ("Answer", "AnswerTerm", "Claim", "Draft", "InferenceStep", "Retrieval"),
    "asking": ("Asking",),
    "budget": ("Budget", "Prices", "Usage"),
    "errors": ("KgsparqlError",),
    "evidence": ("CitedTriple", "Cut", "Evidence", "EvidenceItem", "Source"),
    "graph": ("KnowledgeGraph", "Solutions"),
    "graphs": ("EndpointGraph", "FederatedGraph", "OxigraphGraph", "open_graph"),
    "graphs.profiles": ("UNKNOWN", "EndpointProfile"),
    "knowledge_base": ("KnowledgeBase", "open"),
    "language_model": ("LanguageModel",),
    "linking": ("LinkedEntity", "Mention"),
    "model_opening": ("open_model",),
    "paths": ("Hop", "Path", "PropertyPath"),
    "query": ("Query",),
    "retriever": ("Retriever",),
    "session": ("Session",),
    "snapshots": ("Snapshot",),
    "terms": ("IRI", "BlankNode", "Literal", "PrefixMap", "Term", "Triple"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "IRI",
    "UNKNOWN",
    "Answer",
    "AnswerTerm",
    "Asking",
    "BlankNode",
    "Budget",
    "CitedTriple",
    "Claim",
    "Cut",
    "Draft",
    "EndpointGraph",
    "EndpointProfile",
    "Evidence",
    "EvidenceItem",
    "FederatedGraph",
    "Hop",
    "InferenceStep",
    "KgsparqlError",
    "KnowledgeBase",
    "KnowledgeGraph",
    "LanguageModel",
    "LinkedEntity",
    "Literal",
    "Mention",
    "OxigraphGraph",
    "Path",
    "PrefixMap",
    "Prices",
    "PropertyPath",
    "Query",
    "Retrieval",
    "Retriever",
    "Session",
    "Snapshot",
    "Solutions",
    "Source",
    "Term",
    "Triple",
    "Usage",
    "open",
    "open_graph",
    "open_model",
]


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: ``import kgsparql`` itself costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
