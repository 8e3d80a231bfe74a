"""The labels of several graphs: each has an index of its own, and one that fails does not keep the others back."""

from __future__ import annotations

from collections.abc import Callable

from kgsparql.errors import GRAPH_FAILED, EndpointAuthenticationError, EndpointError, KgsparqlError, LimitError
from kgsparql.graphs.federated import FederatedGraph
from kgsparql.graphs.protocols import OpenedGraph
from kgsparql.linking.labels.building import LabelIndex
from kgsparql.linking.labels.joining import federated_index

__all__ = ["UNFOUND", "MemberIndexes"]

UNFOUND = "names that only it knows are not found"
"""What is said of a graph that failed, after how."""


class MemberIndexes:
    """The indexes of several graphs, which are kept: only what failed is tried again.

    :param last_known: what is kept of the labels of a graph that cannot be asked.
    :param note: called by :meth:`tell` with each line a person should read.
    :ivar missing: what the reader of an answer is told of each graph that failed when all were wanted last.
    """

    def __init__(self, last_known: Callable[[OpenedGraph], LabelIndex | None], note: Callable[[str], None]) -> None:
        self._last_known = last_known
        self._note = note
        self.missing: dict[str, str] = {}
        self._made: dict[str, LabelIndex] = {}
        self._unreadable: dict[str, LimitError] = {}
        self._told: set[str] = set()

    @property
    def is_final(self) -> bool:
        """Whether there is nothing to be had by trying again."""
        return self.missing.keys() <= self._unreadable.keys()

    def joined(self, graph: FederatedGraph, index_of: Callable[[OpenedGraph], LabelIndex]) -> LabelIndex:
        """The indexes as one.

        :param graph: one that has just failed is not asked.
        :raises KgsparqlError: what was wrong with the first, if all fail.
        """
        found: dict[str, LabelIndex] = {}
        failed: list[tuple[OpenedGraph, KgsparqlError]] = []
        for member in graph.members:
            try:
                found[member.name] = self._index(member, graph.errors.get(member.name), index_of)
            except (*GRAPH_FAILED, LimitError) as error:
                failed.append((member, error))
        if not found:
            raise failed[0][1]
        self.missing = {}
        for member, why in failed:
            is_refused = isinstance(why, EndpointAuthenticationError | LimitError)
            kept = None if is_refused else self._last_known(member)
            if kept is not None:
                found[member.name] = kept
            self.missing[member.name] = _said(member, why) if kept is None else kept.note
        return federated_index({member.name: found[member.name] for member in graph.members if member.name in found})

    def tell(self) -> None:
        """Tell what is missing, each once: for who does not read it in an answer."""
        for line in self.missing.values():
            if line not in self._told:
                self._told.add(line)
                self._note(line)

    def _index(
        self, member: OpenedGraph, error: KgsparqlError | None, index_of: Callable[[OpenedGraph], LabelIndex]
    ) -> LabelIndex:
        name = member.name
        if name in self._unreadable:
            raise self._unreadable[name]
        if name not in self._made:
            if isinstance(error, EndpointError):
                raise error  # asking again would only take its time to say less
            try:
                self._made[name] = index_of(member)
            except LimitError as limit:
                self._unreadable[name] = limit
                raise
        return self._made[name]


def _said(member: OpenedGraph, why: KgsparqlError) -> str:
    return f"{why.message_about(member.name)}; {UNFOUND}"
