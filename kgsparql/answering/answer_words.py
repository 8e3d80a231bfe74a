"""Answers in words, for drafts and for all formats: pure functions of values, without a session."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from kgsparql.answering.answer import AnswerTerm
from kgsparql.answering.value_types import type_of_terms
from kgsparql.evidence.evidence import Evidence
from kgsparql.plans.measure_words import Label
from kgsparql.plans.running import Computed
from kgsparql.rdf.literals import number_text, value_text
from kgsparql.rdf.terms import Literal, Term, printable

_NAMED_ROWS = 10
_DECIMAL_PLACES = 6


def candidates_text(answers: Sequence[AnswerTerm], *, more: str = "") -> str:
    """Ranked candidates as lines under a heading that does not call them an answer; empty without any.

    :param more: a last line, for those that are not listed.

    >>> from kgsparql.rdf.terms import Literal
    >>> print(candidates_text([AnswerTerm(Literal("1965"), "1965", 0.5, ("P1", "N2"))]))
    Ranked candidates
     1. 1965  [P1, N2]
    """
    lines = [f"{i:>2}. {printable(a.shown, 180)}  [{', '.join(a.markers)}]" for i, a in enumerate(answers, 1)]
    return "\n".join(["Ranked candidates", *lines, *([f"    {more}"] if more else [])]) if lines else ""


def more_text(left: Sequence[AnswerTerm], evidence: Evidence) -> str:
    """How many answers are not listed, and how all are found; empty if none is left."""
    if not left:
        return ""
    shared = set(left[0].markers).intersection(*(term.markers for term in left))
    terms = {term.term for term in left}
    item = next((item for item in evidence if item.marker in shared and terms <= set(item.ends)), None)
    are_cut = any(cut.what == "ends" for one in evidence if one.marker in shared for cut in one.cuts)
    number = f"… {'at least ' if are_cut else ''}{len(left):,} more"
    return number + (f": the query of {item.marker} finds them all" if item is not None else "")


def rows_text(found: Computed, label: Label) -> str:
    """The first rows of what a plan came to, on one line; empty where there are none, or one without a value."""
    if found.rows == ((None,),):
        return ""
    shown = found.rows[:_NAMED_ROWS]
    rows = [" | ".join(cell_text(term, i, found, label) for i, term in enumerate(row)) for row in shown]
    more = f"; and {len(found.rows) - _NAMED_ROWS:,} more" if len(found.rows) > _NAMED_ROWS else ""
    return "; ".join(rows) + more


def cell_text(term: Term | None, column: int, found: Computed, label: Label) -> str:
    """A term of a row for a person: counts, which are no years, in groups of three digits, long fractions rounded.

    >>> from types import SimpleNamespace
    >>> from kgsparql.rdf.terms import IRI
    >>> decimal = IRI("http://www.w3.org/2001/XMLSchema#decimal")
    >>> texts = "1209", "91.5454545454545", "0.0000000001"
    >>> found = SimpleNamespace(counts={0})
    >>> [cell_text(Literal(text, datatype=decimal), 0, found, str) for text in texts]
    ['1,209', '91.545455', '0.0000000001']
    """
    if term is None:
        return "–"
    if not isinstance(term, Literal):
        return printable(label(term), 120)
    if column in found.counts and term.value.isdecimal():
        return f"{int(term.value):,}"
    fraction = term.value.partition(".")[2]
    if type_of_terms([term]) == "number" and fraction.isdecimal() and len(fraction) > _DECIMAL_PLACES:
        rounded = number_text(f"{Decimal(term.value):.{_DECIMAL_PLACES}f}")
        return rounded if rounded.strip("-0") else term.value  # what is small is not nothing
    return printable(value_text(term), 120)
