"""What the reader of an answer is told beside it: notes, limits, failures, and what was done in the second-best way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from kgsparql.answering.answer import Fallback
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, EndpointError, QueryError
from kgsparql.events import Emit, FallbackUsed, LimitReached
from kgsparql.exploration import StatementSide
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.linking.labels.federated import UNFOUND
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import MAX_CANDIDATES, THRESHOLD
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import IRI, Term, Triple, printable

__all__ = ["NAMESAKES_TOLD", "Telling", "link_notes", "missing_notes"]

NAMESAKES_TOLD = 3
"""Of the things that are called the same as what is linked, those that are named."""

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
    lost: EndpointError | QueryError | None = None
    descriptions: dict[Term, str] = field(default_factory=dict)
    statements: dict[tuple[IRI, StatementSide], Triple | None] = field(default_factory=dict)
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
        failures = self.graph.failures
        known = (*(n for n in self.notes if not _is_said(n, failures)), *failures, *self.graph.ignored.notes)
        return (*dict.fromkeys(known), *self._cut_short(), *messages[:_CUTS_TOLD], *rest)

    def _cut_short(self) -> list[str]:
        """What the endpoint cut, in a line."""
        cut = self.graph.cut_short
        reasons = sorted(set(cut))
        more = "; …" if len(reasons) > _REASONS_TOLD else ""
        said = f"{'; '.join(reasons[:_REASONS_TOLD])}{more}"
        return [f"{self.graph.name} cut {counted(len(cut), 'result')}: {said}"] if cut else []

    def lose(self, error: EndpointError | QueryError) -> None:
        """Go on without the graph, and tell the reader once."""
        if self.lost is None:
            self.lost = error
            self.notes.append(f"{error.message}: some steps were left out")
            self.emit(LimitReached(what="endpoint", message=error.message))
        self.partial = True

    def end(self, error: BudgetExceededError) -> None:
        """Go on with what was found until the budget was spent, and tell the reader once."""
        if not self.partial:
            way_out = f" ({error.hint})" if error.hint else ""
            self.notes.append(f"{error.message}: some steps were left out{way_out}")
            self.emit(LimitReached(what=str(error.detail.get("limit", "budget")), message=error.message))
        self.partial = True

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """A step that may end early: when the budget is spent, or an endpoint gone, what was found so far stands."""
        try:
            yield
        except EndpointError as error:
            self.lose(error)
        except BudgetExceededError as error:
            self.end(error)

    @contextmanager
    def looking_up(self, *, in_grace: bool) -> Iterator[None]:
        """A look-up: what goes wrong with it is raised; or, ``in_grace``, becomes a note.

        :raises KgsparqlError: if it is not ``in_grace``, and the graph fails or the budget is spent.
        """
        try:
            yield
        except GRAPH_FAILED as error:
            if not in_grace:
                raise
            self.lose(error)
        except BudgetExceededError as error:
            if not in_grace:
                raise
            self.end(error)


def _is_said(note: str, failures: Iterable[str]) -> bool:
    """Whether a note says nothing but what these lines about graphs that failed say.

    >>> failed = ["e.org: no reply; what it holds may be missing"]
    >>> _is_said("e.org: no reply; names that only it knows are not found", failed), _is_said("e.org is old", failed)
    (True, False)
    """
    why, _, what = note.rpartition("; ")
    is_of_names = what == UNFOUND
    return any((is_of_names and line.startswith(f"{why}; ")) or note.endswith(f": {line}") for line in failures)


def link_notes(links: Iterable[LinkedEntity]) -> Iterator[str]:
    """What the reader should know of links: names that several things have, and what else may be meant."""
    for link in links:
        if link.matched != "given" and link.score < THRESHOLD:
            rivals = [printable(c.label, 60) for c in link.candidates[:3]]
            among = f", the best connected of those and {'; '.join(rivals)}" if rivals else ""
            yield f"{link.mention.text!r} was taken to mean {printable(link.label, 60)}{among}"
        if link.namesakes:
            yield _namesakes_note(link)


def _namesakes_note(link: LinkedEntity) -> str:
    """That others are called the same, the first of them, and how to take one."""
    others = link.namesakes
    at_least = "at least " if others[-1] == link.candidates[-1] and len(link.candidates) == MAX_CANDIDATES else ""
    named = ", ".join(_with_description(other, link) for other in others[:NAMESAKES_TOLD])
    more = " …" if len(others) > NAMESAKES_TOLD or at_least else ""
    said = f"the other is {named}" if len(others) == 1 else f"the others are {named}{more}"
    return (
        f"{at_least}{len(others) + 1} things are called {printable(link.label, 60)!r}: {_with_description(link, link)} "
        f"is linked, {said}; -e IRI takes one"
    )


def _with_description(entity: LinkedEntity, link: LinkedEntity) -> str:
    label = f"{printable(entity.label, 60)} " if entity.label != link.label else ""
    return f"{label}{entity.term}{f' ({entity.description})' if entity.description else ''}"


def missing_notes(missing: Iterable[tuple[str, Sequence[LinkedEntity]]]) -> Iterator[str]:
    """The names in a question that the graph lacks, where others are linked: what was asked of them is open.

    :param missing: each with what is called nearly so.
    """
    for name, near in missing:
        meant = f"; did you mean {'; '.join(printable(entity.label, 60) for entity in near)}?" if near else ""
        yield f"not found in the graph: {printable(name, 80)!r}{meant}"
