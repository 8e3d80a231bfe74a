"""For LangChain: a retriever whose documents are evidence, and the tools. Needs the extra ``langchain``."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

from kgsparql.errors import KgsparqlError, not_installed
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import compact_json
from kgsparql.serving.tools import TOOLS, Toolbox, evidence_documents

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import run_in_executor
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import ConfigDict, Field
except ImportError as missing:
    raise not_installed(missing, "langchain") from missing

__all__ = ["EvidenceRetriever", "tools"]


class EvidenceRetriever(BaseRetriever):
    """Retrieves verified evidence from a graph: no answer is written.

    :param k: documents for a question, the best first.
    :param options: keyword options of :meth:`KnowledgeBase.retrieve`, whose errors it raises.

    >>> import kgsparql
    >>> retriever = EvidenceRetriever(knowledge=kgsparql.open("fixtures/nobel.ttl", embedder="none"), k=1)
    >>> retriever.invoke("Where was Marie Curie born?")[0].page_content
    'Marie Curie —place of birth→ Warsaw'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    knowledge: KnowledgeBase = Field(exclude=True, repr=False)
    k: int = Field(default=10, ge=1)
    options: Mapping[str, Any] = {}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._found_documents(query, k, threading.Event())

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        cancel = threading.Event()
        try:
            return await run_in_executor(None, self._found_documents, query, k, cancel)
        finally:
            cancel.set()  # whoever waited may have gone away

    def _found_documents(self, query: str, k: int | None, cancel: threading.Event) -> list[Document]:
        k = self.k if k is None else k
        found = evidence_documents(self.knowledge, query, k=k, options=self.options, cancel=cancel)
        return [Document(id=identifier, page_content=text, metadata=metadata) for identifier, text, metadata in found]


def tools(toolbox: Toolbox | KnowledgeBase) -> list[StructuredTool]:
    """Make the tools of a graph; a result is JSON for the model, and the object itself as the artifact.

    What a model does wrong is told to it, as the content of the tool's message.

    :param toolbox: as :func:`kgsparql.tools` gives it, with options; or just what is to be asked.
    """
    box = Toolbox(toolbox) if isinstance(toolbox, KnowledgeBase) else toolbox
    return [
        StructuredTool.from_function(
            partial(_call_result, box, tool.name), name=tool.name, description=tool.description,
            args_schema=tool, response_format="content_and_artifact", handle_tool_error=True,
            handle_validation_error=lambda error, tool=tool: Toolbox.error_text(tool.wrong_arguments(error)),
            infer_schema=False,
        )
        for tool in TOOLS.values()
    ]  # fmt: skip


def _call_result(toolbox: Toolbox, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    try:
        result = toolbox.call_tool(name, arguments)
    except KgsparqlError as error:
        raise ToolException(Toolbox.error_text(error)) from error
    return compact_json(result), result
