"""For LlamaIndex: a retriever whose nodes are evidence. Needs the extra ``llamaindex``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from kgsparql.errors import not_installed
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.serving.tools import evidence_documents

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as missing:
    raise not_installed(missing, "llamaindex") from missing


class NodeRetriever(BaseRetriever):
    """Retrieves verified evidence from a graph: a model reads the text, and the marker to cite.

    :param k: nodes for a question, the best first.
    :param options: keyword options of :meth:`KnowledgeBase.retrieve`, whose errors it raises.

    >>> import kgsparql
    >>> retriever = NodeRetriever(kgsparql.open("fixtures/nobel.ttl", embedder="none"), k=1)
    >>> retriever.retrieve("Where was Marie Curie born?")[0].text
    'Marie Curie —place of birth→ Warsaw'
    """

    def __init__(self, knowledge: KnowledgeBase, *, k: int = 10, options: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._knowledge, self._k, self._options = knowledge, k, options or {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._scored_nodes(query_bundle.query_str, threading.Event())

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        cancel = threading.Event()
        try:
            return await asyncio.to_thread(self._scored_nodes, query_bundle.query_str, cancel)
        finally:
            cancel.set()  # whoever waited may have gone away

    def _scored_nodes(self, question: str, cancel: threading.Event) -> list[NodeWithScore]:
        found = evidence_documents(self._knowledge, question, k=self._k, options=self._options, cancel=cancel)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=identifier, text=text, metadata=metadata, excluded_embed_metadata_keys=[*metadata],
                    excluded_llm_metadata_keys=[name for name in metadata if name != "marker"],
                ),
                score=metadata["score"],
            )
            for identifier, text, metadata in found
        ]  # fmt: skip
