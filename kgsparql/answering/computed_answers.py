"""What a query plan came to, as evidence, candidates and the draft of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.answering.answer import COMPUTED_MARKER, AnswerTerm, Claim, Draft, Gap, Retrieval
from kgsparql.answering.answer_words import rows_text
from kgsparql.answering.session import Session
from kgsparql.answering.value_types import unit_of
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.evidence_tree import DecisionTree
from kgsparql.graphs.graph import Source
from kgsparql.graphs.notes import Cut
from kgsparql.plans import algebra as a
from kgsparql.plans.measure_words import Label
from kgsparql.plans.running import Computed
from kgsparql.plans.type_check import terms_in
from kgsparql.plans.wording import in_words, none_in_words
from kgsparql.rdf.terms import Literal, Term, Triple, printable

_CITED = 100
"""Facts that an item cites, at most; of more, a sample."""
_SAMPLE = 20
_NOTHING = "nothing"
_FAILED = "No value: the engine gives none, though the facts for it are there; it may be too large"
_READINGS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((a.Count,), "counted"),
    ((a.Exists, a.Compares, a.SameItems, a.Not, a.AllOf, a.AnyOf), "checked"),
    ((a.Top,), "compared"),
    ((a.SummaryOf, a.Calculated, a.Constant, a.ItemTable, a.Grouped), "computed"),
)


def _shown_facts(found: Computed) -> tuple[Triple, ...]:
    """The facts that are cited; of many a sample, first those that name an item of the answer."""
    if len(found.facts) <= _CITED:
        return found.facts
    items = frozenset(found.items)
    return tuple(sorted(found.facts, key=lambda fact: items.isdisjoint((fact.subject, fact.object)))[:_SAMPLE])


def computed_retrieval(
    found: Computed, session: Session, *, score: float = 1.0, gaps: tuple[Gap, ...] = ()
) -> Retrieval:
    """What a plan came to: one item of evidence (Q1), its answers as candidates, and the draft that says them.

    :param score: how well the plan fits the question; comparable only within one answer.
    :param gaps: what of the question the plan leaves out.
    """
    if found.is_confirmed is False:
        gaps = (Gap("reading", "", "computed again from its facts, the value is not the same"), *gaps)
    examples = [own.example for own in found.left_out]
    labels = session.labels([*terms_in(found.plan), *found.terms, *examples], in_grace=True)
    gaps = (*gaps, *(Gap("value", "", own.in_words(labels.__getitem__)) for own in found.left_out))
    reading = reading_in_words(found.plan, lambda term: labels[term])
    shown = _shown_facts(found)
    sources = tuple(Source(member.name) for member in session.graph.members)
    item = EvidenceItem(
        kind="computed",
        text=f"{reading} = {_value_text(found, labels.__getitem__)}{_basis(found, len(shown))}",
        triples=tuple(CitedTriple(triple, sources=sources) for triple in shown),
        query=found.query,
        score=score,
        ends=found.items,
        cuts=(Cut("rows", len(found.rows)),) if found.is_cut else (),
        marker=COMPUTED_MARKER,
    )
    session.note_cuts(item.cuts)
    answers = tuple(
        AnswerTerm(term, labels[term], score, (COMPUTED_MARKER,))
        for term in (found.items or _values(found))
        if term is not None
    )
    return Retrieval(
        Evidence([item]),
        answers,
        draft=_draft(found, reading, answers, labels.__getitem__),
        tree=DecisionTree(),
        computed=found,
        gaps=gaps,
    )


def reading_in_words(plan: a.Plan, label: Label) -> str:
    """Which reading of the question a plan is: what was done, and to what.

    >>> from kgsparql.rdf.terms import IRI
    >>> reading_in_words(a.Count(a.Instances(IRI("http://e.org/City"))), lambda term: "city")
    'counted: cities'
    """
    done = next((word for forms, word in _READINGS if isinstance(plan, forms)), "found")
    said = in_words(plan, label).removeprefix("the number of " if isinstance(plan, a.Count) else "")
    return f"{done}: {printable(said, 600)}"


def _values(found: Computed) -> Sequence[Term | None]:
    """The values of a plan that has no items: one number, one yes or no, or the first column of a table."""
    return tuple(dict.fromkeys(row[0] for row in found.rows))


def _value_text(found: Computed, label: Label) -> str:
    """What a plan came to, on one line."""
    if found.has_failed:
        return "no value"
    if isinstance(found.plan, a.Exists | a.Compares | a.SameItems | a.Not | a.AllOf | a.AnyOf):
        return _NOTHING if found.value is None else "yes" if found.value == Literal(value=True) else "no"
    unit = "" if found.value is None else unit_of(found)
    return f"{rows_text(found, label)} {unit}".strip() or _NOTHING


def _basis(found: Computed, shown: int) -> str:
    """What a value rests on, and whether it was computed again."""
    if not found.facts:
        return ""
    of = "" if shown == len(found.facts) else f" of {'' if found.all_facts else 'more than '}{len(found.facts):,}"
    again = {True: "; computed again from them: the same", False: "; computed again from them: NOT the same", None: ""}
    return f" ({shown}{of} facts{again[found.is_confirmed]})"


def _draft(found: Computed, reading: str, answers: tuple[AnswerTerm, ...], label: Label) -> Draft:
    """The draft: the value, then the reading it is of; nothing is said to be so where nothing was found."""
    value = _value_text(found, label)
    if found.has_failed:
        return Draft(f"{_FAILED} [{COMPUTED_MARKER}]\n{reading}", sufficient=False)
    if value == _NOTHING:
        part = found.empty_part if found.empty_part != found.plan else None
        empty = "" if part is None else f"; {none_in_words(part, label)} in this graph"
        return Draft(f"Nothing in this graph [{COMPUTED_MARKER}]\n{reading}{empty}", sufficient=False)
    is_none = isinstance(found.plan, a.Count | a.Exists) and found.empty_part is not None
    where = " in this graph" if is_none else ""
    claim = Claim(f"{reading} = {value}", (COMPUTED_MARKER,))
    return Draft(f"{value}{where} [{COMPUTED_MARKER}]\n({reading})", answers, (claim,), sufficient=True)
