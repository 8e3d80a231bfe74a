"""What the reader of an answer is told beside it: notes, limits, failures, and what was done in the second-best way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from kgsparql.answer import Fallback
from kgsparql.errors import BudgetExceededError, EndpointError
from kgsparql.events import Emit, FallbackUsed, LimitReached
from kgsparql.evidence import Cut
from kgsparql.exploration import Side
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.linking import THRESHOLD, LinkedEntity
from kgsparql.terms import IRI, Term, Triple, printable
from kgsparql.words import counted

__all__ = ["Telling", "link_notes", "missing_notes"]

_CUTS_TOLD = 8
_REASONS_TOLD = 3


@dataclass(slots=True, kw_only=True)
class Telling:
    """What came up while a graph was asked one question, and who is told of it as it comes up.

    :param notes: lines for the reader of the answer, in the order they came up.
    :param partial: a limit of the budget, or a graph that could not be asked any more, ended some step early.
    :param lost: what was wrong with that graph.
    :param descriptions: what tells things apart that are shown under the same label.
    :param statements: what was asked of statements of a Wikibase; ``None`` for what they do not say.
    """

    graph: MeteredGraph
    emit: Emit
    notes: list[str] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    partial: bool = False
    lost: EndpointError | None = None
    descriptions: dict[Term, str] = field(default_factory=dict)
    statements: dict[tuple[IRI, Side], Triple | None] = field(default_factory=dict)
    _cuts: dict[Cut, None] = field(default_factory=dict)
    _labels: dict[Term, str] = field(default_factory=dict)

    def fall_back(self, purpose: str, reason: str) -> None:
        """Count and tell something that was done in the second-best way."""
        self.fallbacks.append(Fallback(purpose, reason))
        self.emit(FallbackUsed(purpose=purpose, reason=reason))

    def note_cuts(self, cuts: Iterable[Cut]) -> None:
        """Tell the reader what a limit left out; each once."""
        for cut in cuts:
            if cut not in self._cuts:
                self._cuts[cut] = None
                self.emit(LimitReached(what=cut.what, message=cut.said(self._labels)))

    @property
    def told(self) -> tuple[str, ...]:
        """Everything the reader should know: the notes, then what limits left out; of very many cuts the first."""
        messages = [cut.said(self._labels) for cut in self._cuts]
        more = len(messages) - _CUTS_TOLD
        rest = [f"{more:,} more limits were reached (-v shows them)"] if more > 0 else []
        return (*dict.fromkeys(self.notes), *self.graph.failures, *self._cut_short(), *messages[:_CUTS_TOLD], *rest)

    def _cut_short(self) -> list[str]:
        """What the endpoint cut, in a line."""
        cut = self.graph.cut_short
        reasons = sorted(set(cut))
        more = "; …" if len(reasons) > _REASONS_TOLD else ""
        said = f"{'; '.join(reasons[:_REASONS_TOLD])}{more}"
        return [f"{self.graph.name} cut {counted(len(cut), 'result')}: {said}"] if cut else []

    def lose(self, error: EndpointError) -> None:
        """Go on without the graph, and tell the reader once."""
        if self.lost is None:
            self.lost = error
            self.notes.append(f"{error.message}: some steps were left out")
            self.emit(LimitReached(what="endpoint", message=error.message))
        self.partial = True

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """A step that may end early: when the budget is spent, or an endpoint gone, what was found so far stands."""
        try:
            yield
        except EndpointError as error:
            self.lose(error)
        except BudgetExceededError as error:
            if not self.partial:
                way_out = f" ({error.hint})" if error.hint else ""
                self.notes.append(f"{error.message}: some steps were left out{way_out}")
                self.emit(LimitReached(what=str(error.detail.get("limit", "budget")), message=error.message))
            self.partial = True


def link_notes(links: Iterable[LinkedEntity]) -> Iterator[str]:
    """What the reader should know of links: names that several things have, and what else may be meant."""
    for link in links:
        if link.matched != "given" and link.score < THRESHOLD:
            rivals = [printable(c.label, 60) for c in link.candidates[:3]]
            among = f", the best connected of those and {'; '.join(rivals)}" if rivals else ""
            yield f"{link.mention.text!r} was taken to mean {printable(link.label, 60)}{among}"
        namesakes = [c for c in link.candidates if c.label == link.label and c.kind == link.kind]
        if namesakes:
            others = ", ".join(map(_with_description, namesakes[:3])) + (" …" if len(namesakes) > 3 else "")
            yield (
                f"{len(namesakes) + 1} things are called {printable(link.label, 60)!r}: {_with_description(link)} is "
                f"linked, and there are {others}; -e IRI takes one"
            )


def _with_description(entity: LinkedEntity) -> str:
    return f"{entity.term} ({entity.description})" if entity.description else str(entity.term)


def missing_notes(missing: Iterable[tuple[str, Sequence[LinkedEntity]]]) -> Iterator[str]:
    """The names in a question that the graph lacks, where others are linked: what was asked of them is open.

    :param missing: each with what is called nearly so.
    """
    for name, near in missing:
        meant = f"; did you mean {'; '.join(printable(entity.label, 60) for entity in near)}?" if near else ""
        yield f"not found in the graph: {printable(name, 80)!r}{meant}"
