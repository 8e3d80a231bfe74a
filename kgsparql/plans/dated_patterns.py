"""Patterns of facts with dates: which held at some time, when they began, how long they lasted; and of who says what.

Dates are compared by days, as numbers such as 20090131. A year alone begins with its first day and is over with its
last one. What is not known, or no date, excludes nothing that the other end does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import DAY, MONTH, YEAR, date_key, today
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Expression, Group, Variable, apply, filter_by
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, XSD, Literal, distinct, zip_equal
from kgsparql.rdf.vocabulary import (
    DEPRECATED_RANK,
    PRECISION,
    PREFERRED_RANK,
    RANK,
    RDF_TYPE,
    REIFIES,
    SAME_AS,
    STATEMENT_PARTS,
    qualifier_value,
    statement_claim,
    statement_value,
)
from kgsparql.schema.dating import ITSELF
from kgsparql.schema.patterns import patterns
from kgsparql.schema.vocabulary import GraphVocabulary

_LAST_DAYS = (("^(-?[0-9]{4,})$", "$1-12"), ("^(-?[0-9]{4,}-[0-9]{2})$", "$1-31"))
"""How a year, then a month, is written as its last day."""
_PRECISIONS = ((9, "^(-?[0-9]+)-.*$"), (10, "^(-?[0-9]+-[0-9]+)-.*$"))
"""The numbers that a Wikibase has for years and months, each with what is kept of a date."""


_DECIMAL = IRI(f"{XSD}decimal")
_DAYS_OF_MONTH, _DAYS_OF_YEAR = (Literal(text, datatype=_DECIMAL) for text in ("30.436875", "365.2425"))


class Compiler(Protocol):
    """What makes patterns of sets and paths."""

    vocabulary: GraphVocabulary
    new: g.Variables
    facts: list[g.Fact] | None

    def members(self, items: a.ItemSet | tuple[a.ItemSet, ...], x: Variable) -> Group:
        """Make the patterns of the items of a set."""
        ...

    def along(self, start: Variable, path: PropertyPath, end: Variable, holders: tuple[Variable, ...] = ()) -> Group:
        """Make the patterns of a path."""
        ...

    def fact(self, subject: g.Node, predicate: IRI | Variable, far: g.Node) -> g.Fact:
        """Make a pattern that is told as a fact."""
        ...

    def any_of(self, start: g.Node, predicates: tuple[IRI, ...], end: g.Node) -> Group:
        """Make the patterns of one of several predicates."""
        ...

    def unseen(self) -> AbstractContextManager[None]:
        """Tell no facts within."""
        ...


def dated(to: Compiler, items: Any, x: Variable) -> Group:
    """What facts with dates lead to, or their dates; what named graphs say; what is not known."""
    match items:
        case a.Unknown(inner):
            nameless = apply("||", apply("isBlank", x), apply("CONTAINS", apply("STR", x), "/.well-known/genid/"))
            said = (g.Fact(x, by := to.new("p"), to.new("i")), filter_by("!", apply("sameTerm", by, RDF_TYPE)))
            texts = "|".join(map(re.escape, sorted(patterns()["nothing"])))
            is_nothing = filter_by("REGEX", apply("LCASE", apply("STR", x)), f"^({texts})$")
            arms = (g.Filter(nameless), g.NotExists(said)), (is_nothing,)
            return (g.Union(tuple((*to.members(inner, x), *arm) for arm in arms)),)
        case a.Sources(saying):
            return (g.Said(x, to.members(saying, to.new("i"))),)
        case a.Disputed(inner, path):
            one, by = to.new("v"), to.new("g")
            others, alike = _said_by(to, x, by, path, to.new("v")), g.NotExists(_said_by(to, x, by, path, one))
            return (*to.members(inner, x), *_said_by(to, x, to.new("g"), path, one), *others, alike)
        case a.OnlyIn(inner, graph):
            by, another = to.new("g"), to.new("g")
            is_other = filter_by("!", apply("sameTerm", by, another))
            alike = g.NotExists((*_said_by(to, x, another), is_other))
            return (*to.members(inner, x), *to.members(graph, by), *_said_by(to, x, by), alike)
        case a.Held():
            return facts_at(to, items, x)[0]
        case a.Beside():
            return _beside_others(to, items, x)
    return _times_of(to, items, x)


def _said_by(
    to: Compiler, x: Variable, by: Variable, path: PropertyPath | None = None, value: Variable | None = None
) -> Group:
    """Make the patterns of what a named graph says of an item, or what is the same, by a path or at all."""
    twin, far = to.new("i"), value or to.new("i")
    said: Group = (g.Fact(twin, to.new("p"), far),) if path is None else to.along(twin, path, far)
    return same_as(x, twin), g.Said(by, said)


def same_as(x: Variable, twin: Variable) -> g.OneOfPredicates:
    """Make the pattern of an item, or of what is the same."""
    return g.OneOfPredicates(x, (), twin, then=(Step(SAME_AS), Step(SAME_AS, "inverse")))


def facts_at(
    to: Compiler, facts: a.Held, x: Variable, of: Variable | None = None, unit: Variable | None = None
) -> tuple[Group, Variable]:
    """Facts that lead to ``x`` and held then, and the variable of what stands for them, which has the dates.

    :param of: what they are of, where that is known. :param unit: of the numbers, where it is asked for.
    """
    near, node = of or to.new("i"), x if facts.dates == ITSELF else to.new("i")
    stated = to.along(near, facts.path, x) if node is x else _stated_fact(to, near, facts.path, x, node, unit)
    group = stated if of else (*to.members(facts.start, near), *stated)
    group += _ends_in(to, facts, x)
    if not (facts.first or facts.last or facts.over_by):
        return group, node
    (starts, begun), (ends, over) = _day_of(to, facts, node, "start"), _day_of(to, facts, node, "end")
    conditions = [_unless_unknown(apply("<=", begun, facts.last))] if facts.last else []
    conditions += [_unless_unknown(apply(">=", over, facts.first))] if facts.first else []
    conditions += [apply("<", over, facts.over_by)] if facts.over_by else []
    conditions += [] if facts.with_undated else [_is_known(begun, over)]
    dated = (*group, *starts, *ends, *map(g.Filter, conditions))
    bare = _undated_facts(to, facts, x) if facts.with_undated else ()
    return ((g.Union((dated, bare)),) if bare else dated), node


def _undated_facts(to: Compiler, facts: a.Held, x: Variable) -> Group:
    """Facts that nothing stands for which could have a date; none where each has such."""
    step, near = facts.path.first_step, to.new("i")
    dating = to.vocabulary.dated.get(step.predicate)
    if dating is None or dating.by is None or len(facts.path.steps) > 1:
        return ()
    with to.unseen():
        stated = g.NotExists(_stated_fact(to, near, facts.path, x, to.new("i"))[1:])
    return (*to.members(facts.start, near), *to.along(near, facts.path, x), stated, *_ends_in(to, facts, x))


def _ends_in(to: Compiler, facts: a.Held, x: Variable) -> Group:
    return () if facts.to is None else to.members(facts.to, x)


def _beside_others(to: Compiler, items: a.Beside, x: Variable) -> Group:
    """What facts lead to that held before, after or while others did."""
    (own, node), (others, other) = facts_at(to, items.facts, x), facts_at(to, items.others, to.new("i"))
    sides = (items.facts, node), (items.others, other)
    (starts, begun), (other_starts, other_begun) = (_day_of(to, *side, "start") for side in sides)
    group = (*own, *others, *starts, *other_starts)
    if items.order != "while":
        one, two = (begun, other_begun) if items.order == "before" else (other_begun, begun)
        return (*group, filter_by("<", one, two))
    (ends, over), (other_ends, other_over) = (_day_of(to, *side, "end") for side in sides)
    conditions = map(_unless_unknown, (apply("<=", begun, other_over), apply(">=", over, other_begun)))
    known = (_is_known(begun, over), _is_known(other_begun, other_over))
    return (*group, *ends, *other_ends, *map(g.Filter, (*conditions, *known)))


def _times_of(to: Compiler, items: a.Times, x: Variable) -> Group:
    """When facts began, were over, or both: the dates; of a Wikibase, texts as precise as it says these are."""
    dates, of = items.facts.dates, items.of
    group, node = facts_at(to, items.facts, x if dates == ITSELF else to.new("i"))
    if node == x:
        return (*group, filter_by("isLiteral", x))
    moments: tuple[a.Moment, ...] = ("start", "end") if of == "span" else (of,)
    arms = list[Group]()
    for moment in moments:
        date = to.new("d")
        precise, text = _as_precise(to, items.facts, node, moment, date)
        if not precise:
            some = (*(dates.began if of != "end" else ()), *(dates.over if of != "start" else ()), *dates.at)
            return (*group, *_along_any(to, node, some, x), filter_by("isLiteral", x))
        day = apply("REPLACE", text, "T00:00:00Z$", "")
        found = _date_of(to, items.facts, node, moment, date)
        arms.append((*found, filter_by("isLiteral", date), *precise, g.Bind(x, day)))
    return (*group, *g.any_of(arms))


def when(to: Compiler, measure: a.When, x: Variable) -> tuple[Group, Expression]:
    """When a fact that leads to ``x`` began or was over, as a number; or how many years it lasted, until today."""
    group, node = facts_at(to, measure.facts, x)
    begun, over = (node, node) if measure.facts.dates == ITSELF else (to.new("d"), to.new("d"))
    starts, ends = _date_of(to, measure.facts, node, "start", begun), _date_of(to, measure.facts, node, "end", over)
    until = apply("IF", apply("BOUND", over), apply("STR", over), today())
    if measure.of == "years":
        (first, began), (last, ended) = _days_to(to, begun), _days_to(to, until)
        years = apply("/", apply("-", ended, began), _DAYS_OF_YEAR)
        tenths = apply("/", apply("ROUND", apply("*", years, 10)), Literal("10.0", datatype=_DECIMAL))
        # Of one without dates there would be no number, and so no longest of all.
        is_known = filter_by(">=", years, 0)
        return (*group, *starts, *_if_known(ends), *first, *last, is_known), tenths
    group += starts if measure.of == "start" else _if_known(ends)
    day = to.new("n")
    key = date_key(begun if measure.of == "start" else _last_day(until), DAY)
    return (*group, g.Bind(day, key), filter_by("isNumeric", day)), day


def _days_to(to: Compiler, date: Expression) -> tuple[Group, Expression]:
    """The days to a date, with months of one length: what tells how long something lasted to a tenth of a year."""
    year, month, day = to.new("n"), to.new("n"), to.new("n")
    binds = (g.Bind(name, date_key(date, own)) for name, own in ((year, YEAR), (month, MONTH), (day, DAY)))
    # From 2009, 200905 and 20090531: months since the year 0, and days of the month.
    months = apply("-", month, apply("*", year, 88))
    of_month = apply("-", day, apply("*", month, 100))
    return tuple(binds), apply("+", apply("*", months, _DAYS_OF_MONTH), of_month)


def _stated_fact(  # noqa: PLR0917 - as a path has them
    to: Compiler, near: Variable, path: PropertyPath, far: Variable, node: Variable, unit: Variable | None = None
) -> Group:
    """A fact, by what stands for it: a node on the way, or one beside a predicate."""
    if len(path.steps) > 1:
        return to.along(near, path, far, (node,))
    (step,) = path.steps
    subject, end = (near, far) if step.is_forward else (far, near)
    if step.predicate in to.vocabulary.joined:
        return joined_by(to, step.predicate, node, subject, end, unit)
    dating = to.vocabulary.dated.get(step.predicate)
    if dating is None:
        return _claimed_fact(to, subject, step.predicate, end, node)
    fact = to.fact(subject, step.predicate, end)
    if dating.by == REIFIES:
        return (fact, to.fact(node, REIFIES, fact))
    ends: tuple[g.Node, ...] = (subject, step.predicate, end)
    return (fact, *(to.fact(node, by, one) for by, one in zip_equal(STATEMENT_PARTS, ends)))


def joined_by(  # noqa: PLR0917 - as a triple has them
    to: Compiler, relation: IRI, node: Variable, subject: Variable, far: Variable, unit: Variable | None = None
) -> Group:
    """What nodes join two things, or the key of one; of two that are joined by one predicate, neither is the other.

    :param unit: of the number that they lead to, where it is asked for; it is told with the facts.
    """
    if (keyed := to.vocabulary.keyed.get(relation)) is not None:
        of_key = (to.fact(far, keyed.key, node), g.Fact(far, RDF_TYPE, keyed.kind))
        return (to.fact(subject, relation, node), *of_key, filter_by("!=", subject, far))
    arms, ways, amounts = list[Group](), to.vocabulary.joined[relation], to.vocabulary.amounts.get(relation)
    beside = () if amounts is None or (unit is None and to.facts is None) else amounts.beside
    for way in ways:
        own, via = node if len(ways) == 1 else to.new("j"), to.new("i")  # unbound in the solutions of another arm
        arm: Group = tuple(to.fact(*fact) for fact in way.facts(own, subject, far, via))
        if beside:
            arm += (g.Optional(to.any_of(own if way.value is None else via, beside, unit or to.new("u"))),)
        arm += (filter_by("!", apply("sameTerm", subject, far)),) if way.is_mutual else ()
        arms.append(arm if own == node else (*arm, g.Bind(node, own)))
    return g.any_of(arms)


def _claimed_fact(to: Compiler, subject: Variable, direct: IRI, far: Variable, node: Variable) -> Group:
    """A statement of a Wikibase that is not deprecated."""
    if (claim := statement_claim(direct)) is None:
        raise PlanError(f"the facts of {direct.value} have no dates in this graph")
    with to.unseen():
        deprecated = g.NotExists((to.fact(node, RANK, DEPRECATED_RANK),))
    return (to.fact(subject, claim, node), to.fact(node, statement_value(claim), far), deprecated)


def of_best_rank(subject: Variable, claim: IRI, node: Variable, other: Variable) -> Group:
    """Keep the statements of a Wikibase that none is preferred to, and that are not deprecated."""
    preferred = tuple(g.Fact(one, RANK, PREFERRED_RANK) for one in (node, other))
    better = (g.Fact(subject, claim, other), preferred[1], g.NotExists(preferred[:1]))
    return g.NotExists((g.Fact(node, RANK, DEPRECATED_RANK),)), g.NotExists(better)


def _date_of(to: Compiler, facts: a.Held, node: Variable, of: a.Moment, date: Variable) -> Group:
    """The date at which a fact began, or was over; of what was at one time, that; none of what leads to it itself."""
    if node == date:
        return ()
    paths = (*(facts.dates.began if of == "start" else facts.dates.over), *facts.dates.at)
    return _along_any(to, node, paths, date)


def _along_any(to: Compiler, node: Variable, paths: Sequence[PropertyPath], date: Variable) -> Group:
    """Any of some paths, those as long as the first: each place with all its predicates.

    Not each path by itself: of a solution by one of them, the facts of the others would be told, too.
    """
    steps = [path.steps for path in paths if len(path.steps) == len(paths[0].steps)]
    by = [distinct(step.predicate for step in some) for some in zip_equal(*steps)]
    nodes = [node, *(to.new("i") for _ in by[1:]), date]
    return tuple(pattern for at, some in enumerate(by) for pattern in to.any_of(nodes[at], some, nodes[at + 1]))


def _day_of(to: Compiler, facts: a.Held, node: Variable, of: a.Moment) -> tuple[Group, Expression]:
    """The day on which a fact began, or was over, as a number; unbound where it is not known."""
    date, day = node if facts.dates == ITSELF else to.new("d"), to.new("n")
    found = _date_of(to, facts, node, of, date)
    precise, text = _as_precise(to, facts, node, of, date)
    key = date_key(_last_day(text) if of == "end" else text, DAY)
    return (*_if_known((*found, *precise)), g.Bind(day, key)), day


def _if_known(dates: Group) -> Group:
    return (g.Optional(dates),) if dates else ()


def _as_precise(to: Compiler, facts: a.Held, node: Variable, of: a.Moment, date: Variable) -> tuple[Group, Expression]:
    """The text of a date, as precise as a Wikibase says that it is: it writes a year as the first of January."""
    paths = facts.dates.began if of == "start" else facts.dates.over
    by = qualifier_value(paths[0].steps[0].predicate) if paths else None
    text = apply("STR", date)
    if by is None:
        return (), text
    value, precision = to.new("v"), to.new("p")
    with to.unseen():
        known = g.Optional((to.fact(node, by, value), to.fact(value, PRECISION, precision)))
    cut: Expression = text
    for number, pattern in _PRECISIONS:
        is_such = apply("COALESCE", apply("=", precision, number), False)
        cut = apply("IF", is_such, apply("REPLACE", text, pattern, "$1"), cut)
    return (known,), cut


def _last_day(text: Expression) -> Expression:
    for pattern, last in _LAST_DAYS:
        text = apply("REPLACE", text, pattern, last)
    return text


def _is_known(*days: Expression) -> Expression:
    """That a fact has a date at either end."""
    return apply("||", *(apply("COALESCE", apply("isNumeric", one), False) for one in days))


def _unless_unknown(condition: Expression) -> Expression:
    """A condition, which holds where it cannot be told."""
    return apply("COALESCE", condition, True)
