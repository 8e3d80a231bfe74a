"""The values a question passes through: what was found, what was written, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.answering.value_types import AnswerType, computed_type, type_of_terms, unit_of
from kgsparql.errors import KgsparqlError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.evidence_tree import DecisionTree
from kgsparql.evidence.notes import Fallback
from kgsparql.graphs.notes import Note
from kgsparql.rdf.terms import Term, printable

if TYPE_CHECKING:
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.plans.running import Computed


LISTED = 10
"""Answers that are listed for a person."""

MAX_CHOICES = 60
"""Candidates that a model is shown, and can choose by their number; of more, those that the ranker likes best."""

COMPUTED_MARKER = "Q1"
"""Of the item of evidence that is a value or table computed from facts."""

_NO_TREE = DecisionTree()

Status = OneOf["answered", "partial", "not_in_graph", "no_entity"]
Grounding = OneOf["graph", "model", "mixed"]


@dataclass(frozen=True, slots=True)
class AnswerTerm:
    """A term that answers the question, and the markers of the evidence it is in.

    :param score: higher is better; comparable only within one answer.
    :param description: what tells it from another that is shown under the same label; empty where there is none.
    """

    term: Term
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()
    description: str = ""

    @property
    def shown(self) -> str:
        """The label, and the description after it."""
        return f"{self.label} ({self.description})" if self.description else self.label


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement and the evidence it rests on."""

    text: str
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InferenceStep:
    """A triple of the evidence that the answer was inferred from, and the marker of its item."""

    marker: str
    cited: CitedTriple


@dataclass(frozen=True, slots=True)
class Draft:
    """What a method wrote, before anybody checked it.

    :param text: the answer in words; empty if there is none but the ranked candidates.
    :param sufficient: whether the writer thought the evidence enough; ``None`` if nobody judged.
    :param removed: how many citations, choices and steps the writer made up, which are gone.
    :param removed_names: some of them, as a reader may be told.
    :param is_ungrounded: the writer answered, but none of the evidence carries it; ``text`` says so.
    :param is_ranked: nobody chose among the answers: they are candidates in order.
    """

    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: Grounding = "graph"
    inference: tuple[InferenceStep, ...] = ()
    tree: DecisionTree = _NO_TREE
    sufficient: bool | None = None
    removed: int = 0
    removed_names: tuple[str, ...] = field(default=(), compare=False)
    is_ungrounded: bool = False
    is_ranked: bool = False


GapCode = OneOf[
    "name",
    "part_of_name",
    "predicate",
    "word",
    "operation",
    "ambiguous",
    "kind",
    "step",
    "reading",
    "value",
    "language",
]


@dataclass(frozen=True, slots=True)
class Gap:
    """Words of a question that the answer does not account for.

    :param text: the sentence for the reader.
    """

    code: GapCode
    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a method found.

    :param sufficient: whether the method thought it enough; ``None`` if it does not judge.
    :param draft: what the method's own sufficiency call already wrote.
    :param notes: what a limit cut off, and whatever else the reader should know.
    :param computed: what a query plan came to, where that is what was found.
    :param gaps: what of the question a computed answer leaves out.
    """

    evidence: Evidence = field(default_factory=Evidence)
    candidates: tuple[AnswerTerm, ...] = ()
    sufficient: bool | None = None
    draft: Draft | None = None
    tree: DecisionTree = _NO_TREE
    notes: tuple[Note, ...] = ()
    computed: Computed | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def best_item(self) -> EvidenceItem | None:
        """The piece of evidence with paths that the first candidate rests on."""
        first = self.candidates[0].markers if self.candidates else ()
        return next((item for item in self.evidence if item.marker in first and item.paths), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """The verified draft with its evidence, and what it cost.

    :param graphs: the graphs that were asked, by their names.
    :param model: who was asked to choose and to write; empty if nobody was.
    :param labels: a label for every term of the evidence, predicates too, and of what was computed; answers and links
        carry their own.
    :param notes: everything the reader should know: cuts, fallbacks, limits, what was left out.
    :param removed: citations and steps that a model made up; none of them is shown.
    :param gaps: what of the question the answer does not account for; there is none in an answer that is `answered`.
    :param computed: what a query plan came to: its rows, the query, and whether the facts give the same value again.
    :param error: what kept a model from writing the answer, where one was asked: the evidence is still whole.
    """

    question: str
    status: Status
    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    linked: tuple[LinkedEntity, ...] = ()
    grounding: Grounding = "graph"
    inference: tuple[InferenceStep, ...] = ()
    tree: DecisionTree = _NO_TREE
    graphs: tuple[str, ...] = ()
    retriever: str = ""
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    labels: Mapping[Term, str] = field(default_factory=dict)
    fallbacks: tuple[Fallback, ...] = ()
    removed: int = 0
    is_ranked: bool = False
    gaps: tuple[Gap, ...] = ()
    computed: Computed | None = None
    error: KgsparqlError | None = None

    @property
    def value(self) -> Term | None:
        """The number, or the yes or no, that was computed; ``None`` for an answer that names things."""
        return None if self.computed is None else self.computed.value

    @property
    def type(self) -> AnswerType | None:
        """What kind of value the answer is, or its best candidates are; ``None`` where nothing answers."""
        rests_on = self.cited
        if self.computed is not None and any(self.evidence[marker].kind == "computed" for marker in rests_on):
            computed = computed_type(self.computed)
        else:
            computed = None
        if computed is not None or self.best:
            return computed or type_of_terms([one.term for one in self.best])
        return "text" if self.status in {"answered", "partial"} and (rests_on or self.grounding == "model") else None

    @property
    def unit(self) -> str:
        """The unit of the number that was computed: ``%``, or as the graph names it; empty where none is sure."""
        return "" if self.computed is None or self.type != "number" else unit_of(self.computed)

    @property
    def cited(self) -> tuple[str, ...]:
        """The markers of what the answer rests on, in the order of the evidence; the rest was only found on the way."""
        used = {
            *(marker for claim in self.claims for marker in claim.markers),
            *(marker for term in self.answers for marker in term.markers),
            *(step.marker for step in self.inference),
        }
        return tuple(item.marker for item in self.evidence if item.marker in used)

    @property
    def best(self) -> tuple[AnswerTerm, ...]:
        """The answers; where nobody chose among candidates, those that the best reading of the question leads to.

        If the first candidate is met from several names of the question, those that are met from all of these.
        """
        if not self.is_ranked or not self.answers:
            return self.answers
        first = self.answers[0]
        named = self._names(first)
        if len(named) > 1:
            return tuple(takewhile(lambda one: self._names(one) >= named, self.answers))
        return tuple(takewhile(lambda one: one.markers[:1] == first.markers[:1], self.answers))

    def _names(self, one: AnswerTerm) -> set[object]:
        """What of the question leads to an answer: two meanings of one name are one."""
        starts = {path.start for marker in one.markers for path in self.evidence[marker].paths[:1]}
        names: dict[Term, object] = {
            meant.term: link.mention for link in self.linked for meant in (*link.candidates, link)
        }
        return {names.get(start, start) for start in starts}

    def __str__(self) -> str:
        """The answer in words; :func:`kgsparql.render` shows also what it rests on."""
        return "\n".join(printable(line, 4_000) for line in self.text.splitlines())

    def __repr__(self) -> str:
        named = "; ".join(printable(one.shown, 120) for one in self.best[:3])
        return f"<Answer {self.status}: {named if self.is_ranked and named else str(self).partition(chr(10))[0]}>"
