"""Names as tools are given them: what they may mean where they are no exact label, or are values and no names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.unclear_names import content_words
from kgsparql.errors import AmbiguousLabelError, NotFoundError
from kgsparql.evidence.term_labels import descriptions_of
from kgsparql.exploration.labels import value_uses
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.rdf.terms import IRI, printable
from kgsparql.serving import tool_results as r

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.linking.linked_entity import LinkedEntity

_NEAR = 3
"""Names like the one that was given, and uses of it as a value, that are told."""
_EXAMPLES = 3
"""Of what has a value."""


class ToolNames:
    """The names of one graph."""

    def __init__(self, knowledge: KnowledgeBase, asking: AskOptions) -> None:
        self._knowledge = knowledge
        self._asking = asking

    def resolve(self, name: str, lookups: GraphLookups) -> IRI:
        """The entity that is meant.

        :raises NotFoundError: if none is called exactly so; the hint says what is nearly, or has it as a text.
        :raises AmbiguousLabelError: if several are; the candidates say what each is.
        """
        try:
            return lookups.resolve(name)
        except AmbiguousLabelError as error:
            terms = [lookups.resolve(str(one)) for one in error.detail["candidates"]]
            error.detail["candidates"] = self._told_apart(terms, lookups)
            raise
        except NotFoundError as error:
            near = [f"{one.term} ({printable(one.label, 80)})" for one in self.like(name, limit=_NEAR)]
            meant = f"perhaps you mean {', '.join(near)}" if near else ""
            error.hint = "; ".join(filter(None, [meant, *self.values_in_words(name, lookups), error.hint]))
            raise

    def predicates(self, name: str, lookups: GraphLookups) -> list[IRI]:
        """The predicates that may be meant: of several of the name, whoever asks finds out which of them is used.

        :raises NotFoundError: as :meth:`resolve`.
        """
        try:
            return [lookups.resolve(name)]
        except AmbiguousLabelError as error:
            return [lookups.resolve(str(one)) for one in error.detail["candidates"]]
        except NotFoundError:
            return [self.resolve(name, lookups)]

    def like(self, text: str, *, limit: int) -> list[LinkedEntity]:
        """What has a word of the text in its label, the best first."""
        return [one for one in self._knowledge.find(text, limit=limit) if has_word_of(text, one.label)]

    def values(self, text: str, lookups: GraphLookups) -> list[r.ValueFound]:
        """Where a text is a value."""
        uses = value_uses(lookups.graph, text, languages=lookups.languages)
        examples = [entity for use in uses for entity in use.entities[:_EXAMPLES]]
        labels = lookups.labels([*(use.predicate for use in uses), *(use.value for use in uses), *examples])
        return [
            r.ValueFound.of(
                use.value, labels, predicate=r.LabelledTerm.of(use.predicate, labels), count=len(use.entities),
                is_exact=use.is_exact,
                examples=[r.LabelledTerm.of(entity, labels) for entity in use.entities[:_EXAMPLES]],
            )
            for use in uses
        ]  # fmt: skip

    def values_in_words(self, text: str, lookups: GraphLookups) -> list[str]:
        """The same as lines, for an error or a note."""
        return [
            f"it is no name but a text, the {use.predicate.label!r} of {use.examples[0].label}"
            f"{f' and {use.count - 1}' + ('' if use.is_exact else '+') + ' more' if use.count > 1 else ''}"
            ": plan and query find by it"
            for use in self.values(text, lookups)[:_NEAR]
            if use.examples
        ]

    def descriptions(self, groups: Sequence[Sequence[IRI]], text: str) -> dict[IRI, str]:
        """A few words for each term, which differ within a group."""
        about = descriptions_of(groups, self._knowledge.session(text, self._asking).labels) if groups else {}
        return {term: said for term, said in about.items() if isinstance(term, IRI)}

    def _told_apart(self, terms: Sequence[IRI], lookups: GraphLookups) -> list[str]:
        labels, about = lookups.labels(terms), self.descriptions([terms], "names")
        said = {term: ", ".join(filter(None, (labels[term], about.get(term, "")))) for term in terms}
        return [f"{term} ({printable(text, 120)})" for term, text in said.items()]


def has_word_of(text: str, label: str) -> bool:
    """Whether a label has a word of a text that is not as common as `at`."""
    return not set(content_words(text)).isdisjoint(content_words(label))
