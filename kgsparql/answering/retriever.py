"""What every method is: something that finds evidence for a question, and may write its own draft."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.composing import compose
from kgsparql.answering.cost_formulas import evaluated, names_in
from kgsparql.answering.option_ranges import check_ranges
from kgsparql.answering.session import Session


@dataclass(frozen=True, slots=True)
class Cost:
    """Upper bounds for one question, as formulas in the names of the method's options.

    ``entities``, and any other name that is no option, is something of the question: of entities, how many were linked.

    :param calls: of a model; an empty reply is asked for once more, which is one more.
    :param rounds: of model calls that wait for each other: calls at the same time are one round.
    :param queries: of the graph, those that look citations up again and ask for labels included.

    >>> cost = Cost(calls="3 * depth", rounds="2 * depth + 1", queries="3 * depth + 4 * entities")
    >>> cost.bounds({"depth": 2}, entities=2)
    {'calls': 6, 'rounds': 5, 'queries': 14}
    >>> cost.open_names({"depth": 2})
    ('entities',)
    """

    calls: str
    rounds: str
    queries: str

    @property
    def formulas(self) -> dict[str, str]:
        """What is bounded, and its formula."""
        return {"calls": self.calls, "rounds": self.rounds, "queries": self.queries}

    def bounds(self, options: Mapping[str, Any], **given: int) -> dict[str, int]:
        """What the formulas come to.

        :param given: what else is known of the question; 1 for what is not.
        :raises InputError: for something that is no formula.
        """
        values = {**dict.fromkeys(self.open_names(options), 1), **options, **given}
        return {what: evaluated(formula, values) for what, formula in self.formulas.items()}

    def open_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The names in the formulas that are not options of the method, in the order they come up.

        :raises InputError: for something that is no formula.
        """
        found = dict.fromkeys(name for formula in self.formulas.values() for name in names_in(formula))
        return tuple(name for name in found if name not in options)


class Retriever(ABC):
    """A method. Implementations are frozen dataclasses whose fields are the options.

    ``source`` names the paper, ``summary`` says in one line what the method does, ``cost`` bounds what it spends.
    Fields that are annotated with :class:`~kgsparql.answering.option_ranges.Within` are checked.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    cost: ClassVar[Cost]

    def __post_init__(self) -> None:
        check_ranges(self)

    def find_mentions(self, session: Session) -> Sequence[tuple[str, bool]] | None:  # noqa: ARG002 - of the question
        """The names in the question, and whether each names a type, where the method has them found by a model.

        Called before the entities are linked; ``None`` leaves it to the linker to find them.
        """
        return None

    @abstractmethod
    def retrieve(self, session: Session) -> Retrieval:
        """Evidence and ranked candidates for the session's question."""

    def used(self, retrieval: Retrieval) -> Retriever:  # noqa: ARG002 - itself, whatever was found
        """The method that an answer names."""
        return self

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """The draft of an answer from verified evidence; a method that has a prompt of its own overrides this."""
        return retrieval.draft or compose(retrieval, session)
