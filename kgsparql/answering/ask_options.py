"""How to ask: everything about a question but the question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from kgsparql.answering.choosing import Chooser, RankerChooser
from kgsparql.answering.reranking import MOST_RERANKED
from kgsparql.answering.retriever import Retriever
from kgsparql.budget import Budget
from kgsparql.errors import OptionError
from kgsparql.events import Emit
from kgsparql.rdf.paths import Directions
from kgsparql.rdf.terms import IRI

if TYPE_CHECKING:
    from kgsparql.models.language_model import LanguageModel


def ignore(_: object) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """How to ask: the method and its options, the entities if they are known, the limits, who listens.

    :param retriever: a method by its name; ``auto`` computes what is asked to be computed and looks up the rest.
    :param model: who finds names, chooses and writes; without one a ranker chooses and candidates are listed.
    :param allow_model_knowledge: where the graph has no answer, show the model's own, labelled as such.
    :param complete: follow a way that was chosen to every answer on it, not only to those that were met.
    :param qualifiers: walk the statements of a Wikibase too, through which dates and the like of a claim are reached.
    :param augment: have the model say more precisely what is asked, for what is ranked and chosen: one call more.
    :param rerank: so many pieces of the evidence are chosen to come first, once more: one call more with a model.
    :param chooser: makes who chooses in the place of model and ranker: an oracle, for ceilings.
    """

    retriever: str | Retriever = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    entities: tuple[IRI | str, ...] = ()
    model: LanguageModel | None = None
    allow_model_knowledge: bool = False
    complete: bool = True
    qualifiers: bool = False
    augment: bool = False
    rerank: int | None = None
    chooser: Callable[[RankerChooser], Chooser] | None = None
    direction: Directions = "both"
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    emit: Emit = ignore
    cancel: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if self.direction not in {"both", "forward", "inverse"}:
            raise OptionError(f"no direction {self.direction!r}", hint="one of: both, forward, inverse")
        if self.rerank is not None and not 1 <= self.rerank <= MOST_RERANKED:
            raise OptionError(f"rerank={self.rerank} is out of range", hint=f"from 1 to {MOST_RERANKED}")

    def about(self, entities: Iterable[IRI | str]) -> AskOptions:
        """The same, with these entities given."""
        return replace(self, entities=tuple(entities))

    def described(self) -> dict[str, Any]:
        """What makes the same question another one, as a JSON object.

        >>> AskOptions(seed=3).described()["seed"]
        3
        """
        method = self.retriever if isinstance(self.retriever, str) else self.retriever.name
        limits = {f.name: getattr(self.budget, f.name) for f in fields(self.budget) if f.name != "prices"}
        return {
            "method": method, "options": {name: str(value) for name, value in sorted(self.options.items())},
            "entities": [str(entity) for entity in self.entities], "model": self.model.name if self.model else "",
            "allow_model_knowledge": self.allow_model_knowledge, "complete": self.complete,
            "qualifiers": self.qualifiers, "augment": self.augment, "rerank": self.rerank,
            "direction": self.direction, "seed": self.seed, "budget": limits,
        }  # fmt: skip


Asking = AskOptions
"""As Python code of users calls it that was written for earlier versions."""
