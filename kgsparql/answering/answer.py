"""The values a question passes through: what was found, what was written, the answer; and their words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.dataclasses import field, frozen
from kgsparql.errors import KgsparqlError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.notes import Fallback
from kgsparql.evidence.verbalising import DecisionTree
from kgsparql.graphs.notes import Note
from kgsparql.rdf.literals import OF_RDF, literal_kind, number_text, python_value, value_text
from kgsparql.rdf.terms import Labels, Literal, Term, first_of, printable
from kgsparql.reading.gaps import Gap
from kgsparql.reading.lexicon import said_in

if TYPE_CHECKING:
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.models.trust import Trust
    from kgsparql.plans.algebra import ItemSet, Plan
    from kgsparql.plans.running import Computed
    from kgsparql.plans.writing import Label


AnswerType = OneOf["entities", "number", "boolean", "date", "text", "table"]
"""``entities``: things, by their IRIs; ``number``, ``boolean``, ``date`` (a year and a month, too) and ``text``: one or
more literals of that kind, ``text`` also words that a model wrote; ``table``: rows that were computed."""


def type_of_terms(terms: Collection[Term]) -> AnswerType:
    """Tell the kind of some values: things where one of them is no literal, text where literals are of several kinds.

    >>> type_of_terms([Literal(3), Literal(2.5)]), type_of_terms([Literal(3), Literal("three")])
    ('number', 'text')
    """
    literals = [term for term in terms if isinstance(term, Literal)]
    if len(literals) < len(terms):
        return "entities"
    kinds = set(map(literal_kind, literals))
    return kinds.pop() if len(kinds) == 1 else "text"


def computed_type(found: Computed) -> AnswerType | None:
    """Tell the kind of what a plan came to; ``None`` for a set of items, whose terms tell, and without a value."""
    from kgsparql.plans import algebra as a  # with all of the plans, which most answers do not need
    from kgsparql.plans.type_check import kind_of

    if found.is_table:
        return "table"
    if isinstance(found.plan, a.SummaryOf) and kind_of(found.plan)[0] in {"date", "time", "year"}:
        return "date"
    return None if found.value is None else type_of_terms([found.value])


def unit_of(found: Computed) -> str:
    """Name the unit of a computed number: ``%``, or that of its measure, as the graph names it; empty for none.

    A value that has its unit as its datatype says it itself.
    """
    from kgsparql.plans import algebra as a
    from kgsparql.plans.type_check import UNITS, kind_of

    plan = found.plan
    if len(units := {*found.units.values()}) == 1:
        return units.pop()
    if isinstance(found.value, Literal) and isinstance(plan, a.Number):
        is_duration = kind_of(plan)[0] in UNITS and literal_kind(found.value) != "number"
        if is_duration or not OF_RDF.match(found.value.datatype.value):
            return ""
    match plan.left if isinstance(plan, a.Calculated) and plan.operator == "round" else plan:
        case a.Calculated("*", a.Calculated("/", a.Count(), a.Count()), a.Constant(value)) if value == 100:
            return "%"
        case a.SummaryOf(_, _, a.Value(_, _, unit) | a.Summarised(_, _, unit)) | a.Top(_, a.Value(_, _, unit)):
            return unit
        case a.Calculated("-", a.SummaryOf(_, _, a.Value(_, _, unit))):
            return unit
    return ""


AND_MORE = "and {} more"
LISTED = 10  # answers that are listed for a person
MAX_CHOICES = 60  # candidates that a model is shown, and can choose by their number: those that the ranker likes best
COMPUTED_MARKER = "Q1"  # of the item of evidence that is a value or table computed from facts
_NO_TREE = DecisionTree()

Status = OneOf["answered", "partial", "not_in_graph", "no_entity"]
Grounding = OneOf["graph", "mixed"]
"""``mixed``: of the graph, but for a step that only a model states."""


@frozen
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


@frozen
class Claim:
    """One statement and the evidence it rests on."""

    text: str
    markers: tuple[str, ...]


@frozen
class InferenceStep:
    """A triple of the evidence that the answer was inferred from, and the marker of its item."""

    marker: str
    cited: CitedTriple


@frozen
class Draft:
    """What a method wrote, before anybody checked it.

    :param text: the answer in words; empty if there is none but the ranked candidates.
    :param own_steps: steps towards the answer that a model says, and that are not in the graph, in its words.
    :param sufficient: whether the writer thought the evidence enough; ``None`` if nobody judged.
    :param is_ranked: nobody chose among the answers: they are candidates in order.
    """

    text: str
    answers: tuple[AnswerTerm, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: Grounding = "graph"
    inference: tuple[InferenceStep, ...] = ()
    own_steps: tuple[str, ...] = ()
    tree: DecisionTree = _NO_TREE
    sufficient: bool | None = None
    is_ranked: bool = False


@frozen
class Support:
    """How clearly a question is read, as far as the method knows.

    :param fit: how well a plan fits the words; 0 where there is none. :param lead: by how much more than the next.
    :param path_lead: how much better the best path fits than one that leads elsewhere; 0.5 where that is not known.
    """

    fit: float = 0.0
    lead: float = 0.0
    path_lead: float = 0.5


@frozen
class Reading:
    """One way to read a question: a line that a model may choose by its number.

    :param text: what it is, and what it comes to, in words.
    :param follow: finds all that it comes to; ``None`` where that is nothing.
    :param passage: a text that it is, of which words may be quoted.
    :param plan: that it is, where it is one.
    """

    text: str
    follow: Callable[[], Retrieval | None]
    passage: EvidenceItem | None = None
    plan: Plan | None = None


@frozen
class ReadingChoice:
    """A likely reading of a question that is in doubt.

    :param reading: what it takes the question for, in words.
    :param count: how many things or rows it comes to; 1 for a number, or a yes or no.
    :param first: the first of these, as a person reads them.
    """

    reading: str
    count: int
    first: tuple[str, ...]


@frozen
class Retrieval:
    """What a method found.

    :param draft: what the method's own sufficiency call already wrote.
    :param notes: what a limit cut off, and whatever else the reader should know.
    :param computed: what a query plan came to, where that is what was found.
    :param gaps: what of the question it leaves out, where the method knows that: of what is computed, or judged.
    :param is_judged: the gaps are all that there are.
    :param support: how clearly the question was read, as far as the method says; ``None`` where it does not.
    :param confidence: how likely the best candidates are right, once that was weighed.
    :param readings: lists the ways to read the question, where the method knows more than the evidence shows; with
        ``True`` it looks for further ones, too.
    """

    evidence: Evidence = field(default_factory=Evidence)
    candidates: tuple[AnswerTerm, ...] = ()
    draft: Draft | None = None
    notes: tuple[Note, ...] = ()
    computed: Computed | None = None
    gaps: tuple[Gap, ...] = ()
    is_judged: bool = False
    support: Support | None = None
    confidence: float = 0.0
    readings: Callable[[bool], Sequence[Reading]] | None = field(default=None, repr=False, compare=False)

    @property
    def best_item(self) -> EvidenceItem | None:
        """The piece of evidence with paths that the first candidate rests on."""
        first = self.candidates[0].markers if self.candidates else ()
        return first_of(item for item in self.evidence if item.marker in first and item.paths)


@frozen
class Answer:
    """The verified draft with its evidence, and what it cost.

    :param own_steps: steps towards it that a model says, and that are not in the graph, in its words.
    :param graphs: the name of the graph that was asked; ``digest`` is a hash of what a file or a store holds.
    :param model: who was asked to choose and to write; empty if nobody was.
    :param trust: what the model was found good for, where that is known.
    :param labels: a label for every term of the evidence, predicates too, and of what was computed; answers and links
        carry their own.
    :param notes: everything the reader should know: cuts, fallbacks, limits, what was left out.
    :param gaps: what of the question the answer does not account for; there is none in an answer that is `answered`.
    :param choices: where it is in doubt, the likely readings of the question, the likeliest first: asked again with
        ``reading=2``, the second is the answer.
    :param guarantee: in how many of 100 questions the ``choices``, or where there are none the answer, hold the right
        one; 0 where that was not asked, or no readings do.
    :param confidence: how likely the answer, or the best candidate, is right, in [0, 1]; 0 where there is none.
    :param signals: what the confidence rests on, each in [0, 1] and 1 at best.
    :param computed: what a query plan came to: its rows, the query, and whether the facts give the same value again.
    :param language: of the question, and of the sentences around the answer.
    :param they: what *they* and *them* were taken for in it: things found before.
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
    own_steps: tuple[str, ...] = ()
    tree: DecisionTree = _NO_TREE
    graphs: tuple[str, ...] = ()
    digest: str = ""
    retriever: str = ""
    model: str = ""
    trust: Trust | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    labels: Labels = field(default_factory=dict)
    fallbacks: tuple[Fallback, ...] = ()
    is_ranked: bool = False
    gaps: tuple[Gap, ...] = ()
    choices: tuple[ReadingChoice, ...] = ()
    guarantee: int = 0
    confidence: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)
    computed: Computed | None = None
    they: ItemSet | None = None
    language: str = "en"
    error: KgsparqlError | None = None

    @property
    def value(self) -> Term | None:
        """The number, or the yes or no, that was computed; ``None`` for an answer that names things."""
        return None if self.computed is None else self.computed.value

    @property
    def values(self) -> tuple[Any, ...]:
        """What :attr:`best` names, or the rows of a table, as Python has it: ``int``, ``Decimal``, ``date`` …"""
        if self.type == "table" and self.computed is not None:
            return tuple(tuple(map(python_value, row)) for row in self.computed.rows)
        return tuple(python_value(one.term) for one in self.best)

    def say(self, sentence: str) -> str:
        """Return a sentence in the language of the question."""
        return said_in(self.language).get(sentence, sentence)

    def __bool__(self) -> bool:
        """Refuse to be taken for true: a no is an answer as well."""
        raise TypeError("an answer is neither true nor false: look at answer.values, and at answer.status for doubt")

    @property
    def type(self) -> AnswerType | None:
        """What kind of value the answer is, or its best candidates are; ``None`` where nothing answers."""
        rests_on, computed = self.cited, None
        if self.computed is not None and any(self.evidence[marker].kind == "computed" for marker in rests_on):
            computed = computed_type(self.computed)
        if computed is not None or self.best:
            return computed or type_of_terms([one.term for one in self.best])
        return "text" if self.status in {"answered", "partial"} and rests_on else None

    @property
    def unit(self) -> str:
        """The unit of the number that was computed: ``%``, or as the graph names it; empty where none is sure."""
        return "" if self.computed is None or self.type != "number" else unit_of(self.computed)

    @property
    def cited(self) -> tuple[str, ...]:
        """The markers of what the answer rests on, in the order of the evidence; the rest was only found on the way.

        Of ranked candidates, the best rests on what comes first from each entity that leads to all of them.
        """
        first, *others = self.best if self.is_ranked and self.best else (None,)
        if first is not None:
            starts = dict[object, str]()
            for marker in first.markers:
                if all(marker in one.markers for one in others):
                    way = self.evidence[marker].paths[:1]
                    starts.setdefault(way[0].start if way else None, marker)
            return tuple(starts.values()) or tuple({one.markers[0]: 0 for one in self.best})  # of the same things
        used = {
            *(marker for claim in self.claims for marker in claim.markers),
            *(marker for term in self.answers for marker in term.markers),
            *(step.marker for step in self.inference),
        }
        return tuple(item.marker for item in self.evidence if item.marker in used)

    @property
    def sure(self) -> bool:
        """Whether nothing is in doubt: it is the answer, or that there is none in this graph."""
        return self.status in {"answered", "not_in_graph"} and not self.gaps

    @property
    def best(self) -> tuple[AnswerTerm, ...]:
        """The answers; where nobody chose among candidates, those that the best reading of the question leads to."""
        if not self.is_ranked or not self.answers:
            return self.answers
        first = self.answers[0]
        named = self._meaning_keys(first)
        if len(named) > 1:
            return tuple(takewhile(lambda one: self._meaning_keys(one) >= named, self.answers))
        twins = {link.term for link in self.linked if link.matched == "same as"}
        leading = {first.markers[0]}  # and the same of what is the same
        for own in [self.evidence[first.markers[0]]] if twins else ():
            others = [item for item in self.evidence if item.paths and not twins.isdisjoint((own.start, item.start))]
            leading |= {item.marker for item in others if item.property_path == own.property_path}
        return tuple(takewhile(lambda one: not leading.isdisjoint(one.markers[:1]), self.answers))

    def _meaning_keys(self, one: AnswerTerm) -> set[object]:
        """List what of the question leads to an answer: two meanings of one name are one."""
        starts = {path.start for marker in one.markers for path in self.evidence[marker].paths[:1]}
        names: dict[Term, object] = {
            meant.term: link.mention for link in self.linked for meant in (*link.candidates, link)
        }
        return {names.get(start, start) for start in starts}

    def __str__(self) -> str:
        """Return the answer in words; :func:`kgsparql.render` shows also what it rests on."""
        return "\n".join(printable(line, 4_000) for line in self.text.splitlines())

    def __repr__(self) -> str:
        named = "; ".join(printable(one.shown, 120) for one in self.best[:3])
        return f"<Answer {self.status}: {named if self.is_ranked and named else str(self).partition(chr(10))[0]}>"


_NAMED_ROWS, _DECIMAL_PLACES = 10, 6


def more_text(left: Sequence[AnswerTerm], evidence: Evidence, say: Callable[[str], str] = str) -> str:
    """Say how many answers are not listed, and how all are found; empty if none is left."""
    if not left:
        return ""
    shared = set(left[0].markers).intersection(*(term.markers for term in left))
    terms = {term.term for term in left}
    item = first_of(item for item in evidence if item.marker in shared and terms <= set(item.ends))
    are_cut = any(cut.what == "ends" for one in evidence if one.marker in shared for cut in one.cuts)
    number = "… " + say("at least {} more" if are_cut else "{} more").format(f"{len(left):,}")
    return number + (say(": the query of {} finds them all").format(item.marker) if item is not None else "")


def rows_text(found: Computed, label: Label, *, with_values: bool = False, say: Callable[[str], str] = str) -> str:
    """Write the first rows of what a plan came to, on one line; empty where there are none, or one without a value.

    :param with_values: what each of the best has stands behind it.
    """
    if found.rows == ((None,),):
        return ""
    rows = [
        " | ".join(cell_text(term, i, found, label) for i, term in enumerate(row)) for row in found.rows[:_NAMED_ROWS]
    ]
    if with_values and found.measured:
        rows = [
            f"{row} ({cell_text(value, -1, found, label)})" for row, value in zip(rows, found.measured, strict=False)
        ]
    left = len(found.rows) - _NAMED_ROWS
    return "; ".join([*rows, *([say(AND_MORE).format(f"{left:,}")] if left > 0 else [])])


def cell_text(term: Term | None, column: int, found: Computed, label: Label) -> str:
    """Write a term of a row for a person: counts, no years, in groups of three digits, fractions rounded."""
    if term is None:
        return "–"
    if not isinstance(term, Literal):
        return printable(label(term), 120)
    if column in found.counts and term.value.isdecimal():
        return f"{int(term.value):,}"
    fraction = term.value.partition(".")[2]
    if type_of_terms([term]) == "number" and fraction.isdecimal() and len(fraction) > _DECIMAL_PLACES:
        rounded = number_text(f"{Decimal(term.value):.{_DECIMAL_PLACES}f}")
        text = rounded if rounded.strip("-0") else term.value  # what is small is not nothing
    else:
        text = printable(value_text(term, label(term) if term in found.items else ""), 120)
    is_bare = column < 0 and type_of_terms([term]) == "number"
    return f"{text} {found.units.get(term) or (unit_of(found) if is_bare else '')}".strip()
