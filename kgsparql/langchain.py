"""For LangChain: a retriever whose documents are evidence, and the tools. Needs the extra ``langchain``."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kgsparql.errors import KgsparqlError, OptionError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import printable
from kgsparql.serving.tools import TOOLS, Toolbox, error_text, to_json

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import run_in_executor
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import ConfigDict, Field
except ImportError as missing:
    raise OptionError(
        f"the package {missing.name} is not installed", hint="pip install 'kgsparql[langchain]'"
    ) from missing

if TYPE_CHECKING:
    from kgsparql.evidence.evidence import EvidenceItem

__all__ = ["EvidenceRetriever", "tools"]


class EvidenceRetriever(BaseRetriever):
    """Retrieves verified evidence from a graph: no answer is written.

    The metadata of a document: ``marker``, ``kind``, ``score``, ``query`` (the SPARQL that finds it again), ``triples``
    (subject, predicate and object as N-Triples writes them), ``graphs`` and, of a passage, ``source``.

    :param k: documents for a question, the best first.
    :param options: keyword options of :meth:`KnowledgeBase.retrieve`.
    :raises KgsparqlError: when it is invoked, as :meth:`KnowledgeBase.retrieve` does.

    >>> import kgsparql
    >>> retriever = EvidenceRetriever(knowledge=kgsparql.open("fixtures/nobel.ttl", embedder="none"), k=1)
    >>> retriever.invoke("Where was Marie Curie born?")[0].page_content
    'Marie Curie —place of birth→ Warsaw'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge: KnowledgeBase = Field(exclude=True, repr=False)
    k: int = Field(default=10, ge=1)
    options: Mapping[str, Any] = {}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._documents(query, k, threading.Event())

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        cancel = threading.Event()
        try:
            return await run_in_executor(None, self._documents, query, k, cancel)
        finally:
            cancel.set()  # whoever waited may have gone away

    def _documents(self, query: str, k: int | None, cancel: threading.Event) -> list[Document]:
        found = self.knowledge.retrieve(query, **{"cancel": cancel, **self.options})
        return [document_of(item) for item in list(found.evidence)[: self.k if k is None else k]]


def document_of(item: EvidenceItem) -> Document:
    """A piece of evidence as a document."""
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
    return Document(id=item.marker, page_content=printable(item.text, 10_000), metadata=metadata)


def tools(toolbox: Toolbox) -> list[StructuredTool]:
    """The tools of a graph; a result is JSON for the model, and the object itself as the artifact.

    >>> import kgsparql
    >>> toolbox = kgsparql.tools(kgsparql.open("fixtures/nobel.ttl", embedder="none"))
    >>> find = tools(toolbox)[1]
    >>> find.name, find.invoke({"text": "Warsaw", "limit": 1})[:44]
    ('find', '{"found": [{"term": "<http://dbpedia.org/res')
    """
    return [
        StructuredTool.from_function(
            partial(_called, toolbox, tool.name), name=tool.name, description=tool.description,
            args_schema=tool.parameters, response_format="content_and_artifact", handle_tool_error=True,
            infer_schema=False,
        )
        for tool in TOOLS
    ]  # fmt: skip


def _called(toolbox: Toolbox, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    try:
        result = to_json(toolbox.call(name, arguments))
    except KgsparqlError as error:
        raise ToolException(error_text(error)) from error
    return json.dumps(result, ensure_ascii=False), result
