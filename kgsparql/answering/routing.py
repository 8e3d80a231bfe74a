"""The default method: what is asked to be computed is computed, everything else is looked up along paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.linking.answer_type import is_foreign
from kgsparql.plans.cue_reading import read_cues
from kgsparql.rdf.terms import Literal, normalised

if TYPE_CHECKING:
    from kgsparql.plans.running import Computed

AUTO = "auto"
_MOST_LEFT = 0.34
"""Share of the words of a question that a plan may leave out and still be shown, as no sure answer."""


@dataclass(frozen=True, slots=True)
class Routed(Retriever):
    """One method for what must be computed, another for everything else; who answered is who gave the answer.

    :param computing: makes the method that is asked first where words of the question ask for a count, a yes or no, an
        extreme and the like.
    :param walking: asked where nothing is to be computed, or no plan accounts for what is asked.
    """

    name: ClassVar[str] = AUTO
    summary: ClassVar[str] = "computed where something is to be computed, else looked up along paths"
    source: ClassVar[str] = "kgsparql"
    cost: ClassVar[Cost] = Cost(calls="7", rounds="7", queries="1000")

    computing: Callable[[], Retriever] = field(repr=False)
    walking: Retriever = field(repr=False)

    def find_mentions(self, session: Session) -> Sequence[tuple[str, bool]] | None:
        """As the method for everything else has them found."""
        return self.walking.find_mentions(session)

    def retrieve(self, session: Session) -> Retrieval:
        """What a plan comes to that accounts for all that is asked; else paths, beside a plan that leaves little out.

        A plan is also made where a name is no label: it may be a value, as the town of an address; and where there are
        several names: a path starts from one, and what is asked for may have to do with all.
        At an endpoint nothing is computed by itself: plans are made with more queries than its limits allow.
        """
        is_asked = read_cues(session.own_words).is_any
        unfound = session.notes.causes(MISSING_NAME)
        names = {link.term for link in session.links if link.kind == "entity"}
        is_tried = (is_asked or unfound or len(names) > 1) and not is_foreign(session.own_words)
        if not is_tried or session.chooser is not None or not session.graph.is_one_local_graph:
            return self.walking.retrieve(session)
        from kgsparql.plans.type_check import terms_in  # with all of the plans

        computed = self.computing().retrieve(session)
        values = [name for name in unfound if computed.computed and _is_value(name, computed.computed)]
        is_joined = len(names) > 1 and computed.computed is not None and names <= terms_in(computed.computed.plan)
        if computed.computed is not None and not computed.gaps and (is_asked or values or is_joined):
            session.notes.drop(MISSING_NAME, values)
            return computed
        walked = self.walking.retrieve(session)
        if not is_asked or not computed.candidates or _share_left(computed, session) > _MOST_LEFT:
            return walked
        return replace(computed, evidence=Evidence([*computed.evidence, *walked.evidence]))

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """As the method that found it writes it."""
        return self.used(retrieval).compose(retrieval, session)

    def used(self, retrieval: Retrieval) -> Retriever:
        """The method that found something."""
        return self.walking if retrieval.computed is None else self.computing()


def _is_value(name: str, computed: Computed) -> bool:
    """Whether a plan that came to something compares with a text that is a name, or has it in it."""
    from kgsparql.plans.type_check import terms_in

    texts = [normalised(term.value) for term in terms_in(computed.plan) if isinstance(term, Literal)]
    return bool(computed.items) and any(f" {normalised(name)} " in f" {text} " for text in texts)


def _share_left(computed: Retrieval, session: Session) -> float:
    """How much of the question a plan leaves out."""
    left = sum(len(gap.words.split()) for gap in computed.gaps)
    return left / max(1, len(session.own_words.split()))
