"""What all that plans a phrase needs: the words of one question, and the graph as it is looked at for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kgsparql.linking.words import root
from kgsparql.plans.connecting import Connector
from kgsparql.plans.denotation import Denotation, Match
from kgsparql.plans.label_fit import NEAR
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import Chunk, Clauses, NounPhrase, Predication, Restriction, positions_of, relations
from kgsparql.reading.lexicon import Lexicon

_CLASSES = 3


class PhrasePlanner(ABC):
    """Plans the phrases of one question."""

    def __init__(self, connector: Connector, chunked: Chunked, lexicon: Lexicon, question: Clauses) -> None:
        self.connector, self.chunked, self.lexicon, self.question = connector, chunked, lexicon, question
        self.view, self.fit, self.texts = connector.view, connector.fit, chunked.texts

    @abstractmethod
    def denotations(self, phrase: NounPhrase) -> list[Denotation]:
        """Find the sets that a phrase may denote with all that is said of it, the likeliest first."""

    @abstractmethod
    def with_argument(
        self, given: Denotation, said: Predication, argument: Denotation, phrase: NounPhrase
    ) -> list[Denotation]:
        """Keep of a set what something is true of, where the other argument is one that a phrase may denote."""

    def said_in(self, said: Restriction) -> list[int]:
        """The positions of the words of what is said that say something."""
        found = {position for one in relations([said]) for position in positions_of(one)}
        return [position for position in sorted(found) if self.texts[position] not in self.lexicon.function_words]

    def positions_of_verb(self, said: Predication) -> tuple[int, ...]:
        """The positions of the words of a verb that say something."""
        return tuple(position for position in said.verb if self.texts[position] not in self.lexicon.fillers)

    def positions(self, chunks: Sequence[Chunk]) -> tuple[int, ...]:
        """The positions of the words of chunks that say something: no small words, no numbers."""
        return tuple(
            position
            for chunk in chunks
            if chunk.number is None or chunk.entities
            for position in chunk.span
            if self.texts[position] not in self.lexicon.function_words or (chunk.is_strong and len(chunk.span) == 1)
        )

    def word_set(self, given: Denotation) -> Denotation | None:
        """Everything that a predicate leads to that the words of a phrase name: a noun that is no class."""
        texts = self.connector.at(given.head)
        found = []
        for predicate in self.view.predicates_called(texts):
            own = self.fit.phrase(texts, predicate)
            if own and min(own) >= NEAR and (items := self.view.leads_to(predicate)) is not None:
                found.append((sum(own), str(predicate), predicate, items))
        if not found:
            return None
        _, _, predicate, items = max(found, key=lambda one: (one[0], one[1]))
        return Denotation(items, 0.3, how=(Match(" ".join(texts), PropertyPath((Step(predicate),))),))

    def are_one_label(self, positions: Sequence[int]) -> bool:
        """Whether some predicate has all of these words in its label: `place of birth`."""
        roots = {root(self.texts[position]) for position in positions}
        called = self.view.predicates_called(self.connector.at(positions))
        return len(roots) == len(positions) and any(roots <= self.fit.roots(self.fit.text(one)) for one in called)

    def classes_named(self, positions: Sequence[int]) -> list[IRI]:
        """The classes that words name."""
        return self.view.classes_called(self.connector.at(positions))[:_CLASSES]
