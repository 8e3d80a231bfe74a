"""Plans in English: what was computed, as a person would say it.

Nothing is left out, and a name that fits no English pattern is quoted. What is said depends on the plan and the names
in it alone. Open next: ``set_sets.py`` for sets, ``measure_sets.py`` for what is measured of items.
"""

from __future__ import annotations

from kgsparql.plans import algebra as a
from kgsparql.plans.list_members import without_places
from kgsparql.plans.phrases import Phrase, listed
from kgsparql.plans.set_words import DATES_COMPARED, NUMBERS_COMPARED, Label, SetWords, how_many, is_for_one, is_time
from kgsparql.rdf.literals import number_text

UNNAMED = frozenset({"value", "number"})
"""Names of columns that say nothing."""


def in_words(plan: a.Plan, label: Label) -> str:
    """What a plan computes.

    :param label: what a class, a predicate or an item is called.

    >>> from kgsparql.rdf.paths import PropertyPath
    >>> from kgsparql.rdf.terms import IRI, Literal
    >>> city, size = IRI("http://e.org/City"), PropertyPath.of("http://e.org/size")
    >>> called = {city: "city", IRI("http://e.org/size"): "size"}.__getitem__
    >>> in_words(a.Top(a.Instances(city), a.Value(size)), called)
    'the city with the largest size'
    >>> in_words(a.Count(a.Where(a.Instances(city), a.Value(size), ">", Literal("50000"))), called)
    'the number of cities whose size is more than 50,000'
    """
    sets, plan = SetWords(label), without_places(plan)
    if isinstance(plan, a.Number):
        return sets.measure(plan)
    if isinstance(plan, a.Condition):
        return f"whether {_condition_text(plan, sets)}"
    if isinstance(plan, a.ItemSet):
        return sets.phrase(plan).own_number
    if isinstance(plan, a.BestOfEach):
        return _best_text(plan, sets)
    return _item_table(plan, sets) if isinstance(plan, a.ItemTable) else _groups_text(plan, sets)


def none_in_words(items: a.ItemSet, label: Label) -> str:
    """That a set has no items.

    >>> from kgsparql.rdf.terms import IRI
    >>> none_in_words(a.Instances(IRI("http://e.org/City")), lambda term: "city")
    'there are no cities'
    """
    return _condition_text(a.Not(a.Exists(items)), SetWords(label))


def _condition_text(condition: a.Condition, sets: SetWords) -> str:  # noqa: PLR0911 - one arm a form
    match condition:
        case a.Exists(items):
            return _existence_text(items, sets, is_so=True)
        case a.Not(a.Exists(items)):
            return _existence_text(items, sets, is_so=False)
        case a.Compares(a.Count(items), comparison, a.Constant(value)):
            phrase, number = sets.phrase(items), how_many(comparison, str(value))
            if is_for_one(comparison, str(value)):
                return f"there is {number} {phrase.single}{phrase.tail}"
            return f"there are {number} {phrase.all_of_them}"
        case a.Compares(left, comparison, right):
            compared = DATES_COMPARED if is_time(left, sets.label) else NUMBERS_COMPARED
            return f"{sets.measure(left)} {compared[comparison]} {sets.measure(right)}"
        case a.SameItems(left, right):
            return f"{sets.phrase(left).definite} and {sets.phrase(right).definite} are the same"
        case a.Not(inner):
            return f"it is not so that {_condition_text(inner, sets)}"
        case a.AllOf(conditions):
            return listed([_condition_text(own, sets) for own in conditions])
        case a.AnyOf(conditions):
            return listed([_condition_text(own, sets) for own in conditions], "or")


def _existence_text(items: a.ItemSet, sets: SetWords, *, is_so: bool) -> str:
    phrase = sets.phrase(items)
    if phrase.kind == "names" and not phrase.is_plain:
        return _is_among(phrase, is_so=is_so)
    if phrase.kind == "best":
        return f"there is {phrase.plural}{phrase.tail}" if is_so else f"nothing is {phrase.plural}{phrase.tail}"
    if phrase.kind == "names":
        return f"there is {'' if is_so else 'no '}{phrase.plural}"
    if phrase.kind == "those":
        return f"there are {'any' if is_so else 'none'}{phrase.tail}"
    return f"there are {'any' if is_so else 'no'} {phrase.all_of_them}"


def _is_among(named: Phrase, *, is_so: bool) -> str:
    """Whether what is named is what is said of it: *Ann is among those whose …*."""
    who, be = (named.plural, "is" if is_so else "is not")
    if not named.is_one:
        who, be = f"{'any' if is_so else 'none'} of {named.plural}", "is"
    left = listed(named.exceptions, "or") if named.exceptions else ""
    if named.clauses:
        return f"{who} {be} among those{named.said}{left and f', except {left}'}"
    if named.is_one:
        return f"{who} {'is not' if is_so else 'is'} among {left}"
    return f"{who} {be} among all but {left}"


def _item_table(table: a.ItemTable, sets: SetWords) -> str:
    columns = [_column_text(sets.measure(column.measure), column.name) for column in table.columns]
    items = sets.phrase(table.items)
    of = items.definite if items.is_singular else f"each of {items.definite}"
    return f"for {of}: {listed(columns)}{order_text(table, sets)}"


def _best_text(table: a.BestOfEach, sets: SetWords) -> str:
    key, best = sets.phrase(a.Ends(table.items, table.key)), sets.most(table.measure, largest=table.largest)
    each = f"each {key.single}{key.tail}" if key.kind == "ends" else f"each of {key.definite}"
    return f"for {each}: the one {best} among {sets.phrase(table.items).definite}"


def _groups_text(table: a.Grouped, sets: SetWords) -> str:
    columns = []
    for column in table.columns:
        text = "how many of them"
        if column.summary is not None and column.measure is not None:
            text = sets.summary_of_them(column.summary, column.measure)
        columns.append(_column_text(text, column.name))
    key = sets.phrase(a.Ends(table.items, table.key))
    each = f"each {key.single}{key.tail}" if key.kind == "ends" else f"each of {key.definite}"
    kept = ""
    if table.having is not None:
        name, comparison, number = table.having
        what = "it" if len(columns) == 1 else name
        kept = f", where {what} {NUMBERS_COMPARED[comparison]} {number_text(str(number))}"
    return f"for {each}: {listed(columns)}{kept}{order_text(table, sets)}"


def _column_text(text: str, name: str) -> str:
    return text if not name or name in UNNAMED or name == text.strip("'") else f"{text} ({name})"


def order_text(table: a.ItemTable | a.Grouped, sets: SetWords) -> str:
    """In which order the rows of a table are, as what follows its columns; empty for none."""
    if not table.order_by:
        return ""
    measures = [column.measure for column in table.columns if column.name == table.order_by]
    in_time = any(measure is not None and is_time(measure, sets.label) for measure in measures)
    first, last = ("latest", "earliest") if in_time else ("largest", "smallest")
    best = first if table.largest_first else last
    by = "" if len(table.columns) == 1 else f" {table.order_by}"
    if table.limit is None:
        return f", the {best}{by} first"
    return f", the {table.limit:,} with the {best}{by}" if by else f", the {table.limit:,} {best}"
