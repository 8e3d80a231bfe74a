"""What is collected for the reader of an answer: notes, limits, failures, and what was done in the second-best way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import BudgetExceededError, EndpointError, QueryError
from kgsparql.events import FallbackUsed, LimitReached
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut, Note
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import Term

LIMIT = "limit"  # the code of a note about a list that a limit cut
MISSING_NAME = "missing_name"  # the code of a note about a name that no label of the graph has; its cause is the name
WITHOUT_MODEL = frozenset({"model_failed", "trial"})  # codes of notes that say that the answer is the one without it
CUT_SHORT = frozenset({LIMIT, "frontier", "budget_reached", "graph_lost"})
"""Codes of notes that say that a limit cut something off, or that the budget, or the graph, was gone too early."""

_CUTS_SHOWN = 8
_REASONS_SHOWN = 3


@frozen
class Fallback:
    """Something that was done in the second-best way: a reply that could not be used, words instead of meaning."""

    purpose: str
    reason: str


@dataclass(slots=True)
class Notes:
    """Collects what came up while a graph was asked one question, and emits limits and fallbacks as they come up.

    :param labels: of the terms that were looked up so far; cuts are worded with them.
    :param partial: a limit of the budget, or a graph that could not be asked any more, ended some step early.
    :param texts: the notes so far, in the order they came up.
    :param links_at: how many notes there were when the entities of the question were linked.
    """

    graph: MeteredGraph
    labels: dict[Term, str] = field(default_factory=dict)
    fallbacks: list[Fallback] = field(default_factory=list)
    partial: bool = False
    lost: EndpointError | QueryError | None = None
    links_at: int = 0
    texts: list[Note] = field(default_factory=list)
    _cuts: dict[Cut, None] = field(default_factory=dict)

    def copied(self) -> Notes:
        """Return the same notes, to go on apart from these."""
        return replace(
            self, fallbacks=[*self.fallbacks], labels=dict(self.labels), texts=[*self.texts], _cuts=dict(self._cuts)
        )

    def append(self, text: str, *, code: str = "method", cause: str = "") -> None:
        """Add a line for the reader; the rest is for programs, as in :class:`~kgsparql.graphs.notes.Note`."""
        self.texts.append(Note(code, text, cause))

    def extend(self, notes: Iterable[Note]) -> None:
        """Add several notes."""
        self.texts.extend(notes)

    def drop(self, code: str, settled: Collection[str]) -> None:
        """Take back those of the notes with a code that are settled, or have a cause that is."""
        self.texts = [note for note in self.texts if note.code != code or not {note, note.cause} & {*settled}]

    def fall_back(self, purpose: str, reason: str) -> None:
        """Count something that was done in the second-best way."""
        self.fallbacks.append(Fallback(purpose, reason))
        self.graph.emit(FallbackUsed(purpose=purpose, reason=reason))

    def add_cuts(self, cuts: Iterable[Cut]) -> None:
        """Add what a limit left out; each cut once."""
        for cut in cuts:
            if cut not in self._cuts:
                self._cuts[cut] = None
                self.graph.emit(LimitReached(what=cut.what, message=cut.said(self.labels)))

    def lines(self, about_links: Iterable[Note] = ()) -> tuple[Note, ...]:
        """Everything the reader should know, each line once: the notes, then what limits left out."""
        graph = self.graph
        shown = [*self.texts[: self.links_at], *about_links, *self.texts[self.links_at :]]
        shown = list(dict.fromkeys([*shown, *(Note("ignored", line) for line in graph.ignored.notes)]))
        if reasons := sorted(set(graph.cut_short)):
            why = "; ".join([*reasons[:_REASONS_SHOWN], *(["…"] if len(reasons) > _REASONS_SHOWN else [])])
            shown.append(Note("result_cut", f"{graph.name} cut {counted(len(graph.cut_short), 'result')}: {why}"))
        cuts = [Note("frontier" if cut.is_frontier else LIMIT, cut.said(self.labels)) for cut in self._cuts]
        more = len(cuts) - _CUTS_SHOWN
        rest = [Note(LIMIT, f"{more:,} more limits were reached (-v shows them)")] if more > 0 else []
        return (*shown, *cuts[:_CUTS_SHOWN], *rest)

    @property
    def why_partial(self) -> str:
        """Say why something was left out."""
        ends = (str(note) for note in self.texts if note.code in {"budget_reached", "graph_lost"})
        return next(ends, "some steps were left out")

    def lose(self, error: EndpointError | QueryError) -> None:
        """Go on without the graph, which is noted once."""
        if self.lost is None:
            self.lost = error
            self.append(f"{error.message}: some steps were left out", code="graph_lost")
            self.graph.emit(LimitReached(what="endpoint", message=error.message))
        self.partial = True

    def end(self, error: BudgetExceededError) -> None:
        """Go on with what was found until the budget was spent, which is noted once."""
        if not self.partial:
            way_out = f" ({error.hint})" if error.hint else ""
            self.append(f"{error.message}: some steps were left out{way_out}", code="budget_reached")
            self.graph.emit(LimitReached(what=str(error.detail.get("limit", "budget")), message=error.message))
        self.partial = True

    @contextmanager
    def within_budget(self, *failures: type[EndpointError | QueryError]) -> Iterator[None]:
        """Let a step end early: when the budget is spent, or an endpoint gone, what was found so far stands.

        :param failures: what else is no error here.
        """
        try:
            yield
        except (EndpointError, *failures) as error:
            self.lose(error)
        except BudgetExceededError as error:
            self.end(error)
