"""What kind of value an answer is, and in which unit."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import kind_of
from kgsparql.rdf.terms import Literal, Term

if TYPE_CHECKING:
    from kgsparql.plans.running import Computed

AnswerType = OneOf["entities", "number", "boolean", "date", "text", "table"]
"""``entities``: things, by their IRIs; ``number``, ``boolean``, ``date`` (a year and a month, too) and ``text``: one or
more literals of that kind, ``text`` also words that a model wrote; ``table``: rows that were computed."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_BY_DATATYPE: dict[str, AnswerType] = {
    **dict.fromkeys(("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth"), "date"),
    **dict.fromkeys(
        (
            "integer decimal double float int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
            "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte"
        ).split(),
        "number",
    ),
    "boolean": "boolean",
}


def type_of_terms(terms: Collection[Term]) -> AnswerType:
    """The kind of some values: things where one of them is no literal, text where literals are of several kinds.

    >>> from kgsparql.rdf.terms import IRI
    >>> type_of_terms([Literal(3), Literal(2.5)]), type_of_terms([Literal("3")])
    ('number', 'text')
    >>> type_of_terms([IRI("http://e.org/a"), Literal(3)]), type_of_terms([Literal(3), Literal("three")])
    ('entities', 'text')
    """
    literals = [term for term in terms if isinstance(term, Literal)]
    if len(literals) < len(terms):
        return "entities"
    kinds = {_BY_DATATYPE.get(one.datatype.value.removeprefix(_XSD), "text") for one in literals}
    return kinds.pop() if len(kinds) == 1 else "text"


def computed_type(found: Computed) -> AnswerType | None:
    """The kind of what a plan came to; ``None`` for a set of items, whose terms tell, and where there is no value."""
    if found.is_table:
        return "table"
    if isinstance(found.plan, a.SummaryOf) and kind_of(found.plan)[0] in {"date", "year"}:
        return "date"
    return None if found.value is None else type_of_terms([found.value])


def unit_of(found: Computed) -> str:
    """The unit of a computed number: ``%``, or that of the measure it sums up, as the graph names it; empty for none.

    A sum, an average, the least and the most keep the unit of their measure. Nothing is said of what was calculated by
    other means, and of a unit that stands in a label (``depth mm``) or at the value: neither is sure.
    """
    match found.plan:
        case a.Calculated("*", a.Calculated("/", a.Count(), a.Count()), a.Constant(value)) if value == 100:
            return "%"
        case a.SummaryOf(_, _, a.Value(_, _, unit) | a.Summarised(_, _, unit)):
            return unit
    return ""
