"""Ask any RDF graph a question; every claim comes with the triples it rests on.

>>> import kgsparql
>>> knowledge = kgsparql.open("fixtures/nobel.ttl", embedder="none")
>>> answer = knowledge.ask("Where was Marie Curie born?")
>>> answer.answers[0].label
'Warsaw'
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer, AnswerTerm, Claim, Draft, InferenceStep, ReadingChoice, Retrieval
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.answering.retriever import Retriever
    from kgsparql.answering.session import Session
    from kgsparql.budget import Budget, Usage
    from kgsparql.errors import KgsparqlError
    from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
    from kgsparql.graphs.endpoint import EndpointGraph
    from kgsparql.graphs.graph import KnowledgeGraph, Solutions, Source
    from kgsparql.graphs.notes import Cut
    from kgsparql.graphs.oxigraph import OxigraphGraph
    from kgsparql.graphs.profiles import UNKNOWN, EndpointProfile
    from kgsparql.graphs.sources import open_graph
    from kgsparql.graphs.user_query import QueryResult
    from kgsparql.knowledge_base import KnowledgeBase, open
    from kgsparql.linking.linked_entity import LinkedEntity, Mention
    from kgsparql.models.language_model import LanguageModel, open_model
    from kgsparql.rdf.paths import Hop, Path, PropertyPath
    from kgsparql.rdf.query import Query
    from kgsparql.rdf.terms import IRI, BlankNode, Literal, PrefixMap, Term, Triple
    from kgsparql.retrievers.entity import Entity
    from kgsparql.retrievers.mindmap import MindMap
    from kgsparql.retrievers.path_ranking import PathRanking
    from kgsparql.retrievers.query_plan import QueryPlan
    from kgsparql.retrievers.struct_gpt import StructGPT
    from kgsparql.retrievers.think_on_graph import ThinkOnGraph
    from kgsparql.serving.tools import Toolbox, tools

_NAMES = {
    "answering.answer": "Answer AnswerTerm ReadingChoice Claim Draft InferenceStep Retrieval",
    "answering.ask_options": "AskOptions",
    "answering.retriever": "Retriever",
    "answering.session": "Session",
    "budget": "Budget Usage",
    "errors": "KgsparqlError",
    "evidence.evidence": "CitedTriple Evidence EvidenceItem",
    "graphs.endpoint": "EndpointGraph",
    "graphs.oxigraph": "OxigraphGraph",
    "graphs.sources": "open_graph",
    "graphs.notes": "Cut",
    "graphs.profiles": "UNKNOWN EndpointProfile",
    "graphs.graph": "KnowledgeGraph Solutions Source",
    "graphs.user_query": "QueryResult",
    "knowledge_base": "KnowledgeBase open",
    "linking.linked_entity": "LinkedEntity Mention",
    "models.language_model": "LanguageModel open_model",
    "rdf.paths": "Hop Path PropertyPath",
    "rdf.query": "Query",
    "rdf.terms": "IRI BlankNode Literal PrefixMap Term Triple",
    "rendering": "render",
    "answering.answer_json": "answer_to_json",
    "rendering.answer_rdf": "answer_to_rdflib",
    "rendering.rows": "to_dataframe",
    "serving.tools": "Toolbox tools",
    "retrievers.entity": "Entity",
    "retrievers.mindmap": "MindMap",
    "retrievers.path_ranking": "PathRanking",
    "retrievers.query_plan": "QueryPlan",
    "retrievers.struct_gpt": "StructGPT",
    "retrievers.think_on_graph": "ThinkOnGraph",
}
"""Public names by their modules."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "IRI", "UNKNOWN", "Answer", "AnswerTerm", "AskOptions", "BlankNode", "Budget", "CitedTriple", "Claim", "Cut",
    "Draft", "EndpointGraph", "EndpointProfile", "Entity", "Evidence", "EvidenceItem", "Hop",
    "InferenceStep", "KgsparqlError", "KnowledgeBase", "KnowledgeGraph", "LanguageModel", "LinkedEntity", "Literal",
    "Mention", "MindMap", "OxigraphGraph", "Path", "PathRanking", "PrefixMap", "PropertyPath", "Query",
    "QueryPlan", "QueryResult", "ReadingChoice", "Retrieval", "Retriever", "Session", "Solutions", "Source",
    "StructGPT", "Term", "ThinkOnGraph", "Toolbox", "Triple", "Usage", "answer_to_json", "answer_to_rdflib", "open",
    "open_graph", "open_model", "render", "to_dataframe", "tools",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: ``import kgsparql`` itself costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if "IPython" in sys.modules:  # a notebook asks the shell how an answer is shown, and an answer is a plain value
        import_module(f"{__name__}.rendering").register_in_notebook()
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
