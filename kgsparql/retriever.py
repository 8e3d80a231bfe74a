"""What every method is: something that finds evidence for a question, and may write its own draft."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from kgsparql.answer import Draft, Retrieval
from kgsparql.composing import compose
from kgsparql.session import Session

__all__ = ["Cost", "Retriever"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Upper bounds for one question, as formulas in the names of the method's options."""

    calls: str
    rounds: str
    queries: str


class Retriever(ABC):
    """A method. Implementations are frozen dataclasses whose fields are the options.

    ``source`` names the paper, ``summary`` says in one line what the method does, ``cost`` bounds what it spends.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    cost: ClassVar[Cost]

    @abstractmethod
    def retrieve(self, session: Session) -> Retrieval:
        """Evidence and ranked candidates for the session's question."""

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """The draft of an answer from verified evidence; a method that has a prompt of its own overrides this."""
        return retrieval.draft or compose(retrieval, session)
