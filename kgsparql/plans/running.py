"""A plan run on a graph: the value, what it rests on and what it leaves out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations, filterfalse, groupby, zip_longest
from math import ceil, prod
from typing import Any, cast

from pyoxigraph import Quad, QuerySolutions, Store

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, is_about_the_query
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import term_text
from kgsparql.plans.left_out import LeftOut, found_left_out
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.plan_patterns import ITEM, VALUE, PlanCompiler
from kgsparql.plans.type_check import (
    UNITS,
    check,
    class_of_all,
    is_of_members,
    kind_of,
    mapped,
    parts,
    parts_of,
    terms_in,
    too_large,
    with_group_items,
    without_places,
)
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.literals import duration_of
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Labels, Literal, Row, Term, Triple, distinct, first_of, whole_number
from kgsparql.schema.amounts import unit_text
from kgsparql.schema.vocabulary import GraphVocabulary, classes_below

MOST_FACTS = 2_000
"""Of the solutions of what a value rests on, those that are fetched."""
MOST_ROWS = 10_000  # items or rows of an answer, at most
_MOST_TIED = 1_000  # of what shares the last place
_MOST_NEXT, _MOST_BESIDE = 3, 10  # of what comes next to the best of a set; of the best, and of the facts of each

NO_NUMBER = "no value: the engine makes no number of the facts"
_NO_NUMBERS = frozenset(("", "NaN", "INF", "-INF"))


@frozen
class Compared:
    """What the best of a set are the best of.

    :param next: the best of all others, with their values; none where there are no others, or nobody looked.
    :param size: how many items the set has; 0 where nobody counted.
    :param facts: what says the values of the best, and what says those of the next.
    """

    next: tuple[tuple[Term, Term | None], ...]
    size: int
    facts: tuple[tuple[Triple, ...], tuple[Triple, ...]]


@frozen
class Computed:
    """What a plan came to.

    :param columns: names of the columns of :attr:`rows`; the first is the item, the group, or the value.
    :param rows: a number and a yes or no are one row of one term, which may be missing: the average of nothing.
    :param facts: triples that the value rests on.
    :param all_facts: whether these are all of them.
    :param empty_part: the first part of the plan that has no items, where the value is no, nothing or 0.
    :param left_out: values that cannot be read as a number or a date, and items that would be divided by zero.
    :param measured: of the best of a set, the value of each row.
    :param compared: of the best of a set, what they are the best of.
    :param unread: why the graph did not give all of this: what is here stands, and is not sure.
    :param units: of numbers that are answers, what the graph says that they are in.
    :param retired: how many were left out that are deprecated, withdrawn or replaced.
    :param twins: how many that are the same as others.
    :param directly: how many of the items are next to where the plan begins, where it goes on from these.
    :param tied: how many share the last place of the first so many, and are cut off.
    :param multiplied: two columns of which each value of one stands beside each of the other, for some item.
    :param uncounted: a class that is too large to be counted or ranked, and how many the endpoint says that it has.
    """

    plan: a.Plan
    query: Query
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    facts: tuple[Triple, ...]
    all_facts: bool
    is_cut: bool
    empty_part: a.ItemSet | None = None
    left_out: tuple[LeftOut, ...] = ()
    measured: Row = ()
    compared: Compared | None = None
    unread: str = ""
    uncounted: tuple[IRI, int] | None = None
    directly: int | None = None
    retired: int = 0
    twins: int = 0
    tied: int = 0
    multiplied: tuple[str, ...] = ()
    units: Labels = field(default_factory=dict)

    @property
    def value(self) -> Term | None:
        """The number, or the yes or no; ``None`` where there is none, or the answer is a set or a table."""
        return self.rows[0][0] if self.rows and isinstance(self.plan, a.Number | a.Condition) else None

    @property
    def is_no_number(self) -> bool:
        """Tell whether the engine makes no number of the facts: it may be too large for it, or divided by zero."""
        return isinstance(self.plan, a.Number) and bool(self.facts) and term_text(self.value) in _NO_NUMBERS

    @property
    def is_table(self) -> bool:
        """Whether :attr:`rows` are a table: a row for each item or group."""
        return isinstance(self.plan, a.Table | a.Numbers)

    @property
    def counts(self) -> frozenset[int]:
        """The places of the columns that say how many there are."""
        plan = self.plan
        if isinstance(plan, a.Count):
            return frozenset((0,))
        columns = plan.columns if isinstance(plan, a.ItemTable | a.Grouped) else ()
        first = int(not isinstance(plan, a.ItemTable) or plan.shows_items)
        return frozenset(i for i, one in enumerate(columns, first) if isinstance(one.measure, a.HowMany | a.Count))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of all rows, each once."""
        return distinct(filter(None, chain(*self.rows)))

    @property
    def items(self) -> tuple[Term, ...]:
        """The items of a set, in their order."""
        if not isinstance(self.plan, a.ItemSet):
            return ()
        return distinct(row[0] for row in self.rows if row[0] is not None)


def run(plan: a.Plan, graph: KnowledgeGraph, *, vocabulary: GraphVocabulary | None = None) -> Computed:
    """What a plan comes to on a graph.

    :raises PlanError: for a plan that makes no sense.
    :raises QueryError: if the engine refuses the query, or fails.
    """
    check(plan)
    own = vocabulary or GraphVocabulary()
    plan = with_shares_counted(plan, graph, own)
    query, columns = compiled(plan, vocabulary=own, limit=MOST_ROWS), _columns_of(plan)
    if (large := too_large(plan, graph)) is not None:
        is_all = isinstance(plan, a.Count) and class_of_all(plan.items, graph) == large[0]
        number = ((Literal(large[1]),),) if is_all and len(terms_in(plan)) <= 2 else ()
        return Computed(plan, query, tuple(columns.values()), number, (), False, False, uncounted=large)
    found = graph.select(query)
    rows, best = tuple(tuple(map(solution.get, columns)) for solution in found), dict[Term | None, Term | None]()
    if isinstance(plan, a.Top):  # the value is evidence, and no column
        best = {solution.get(ITEM.name): solution.get(VALUE.name) for solution in reversed([*found])}
    if isinstance(plan, a.Top | a.ItemTable):  # what they are ordered by is no column
        rows = distinct(rows)
    if isinstance(plan, a.Condition):
        rows = tuple(tuple(map(_as_boolean, row)) for row in rows)
    rows = tuple(_with_durations(plan, rows))
    beside = _BesideValue(graph, own)
    facts, are_all = _facts_of(plan, beside)
    if not isinstance(plan, a.Top | a.Table):
        place = _list_places(plan, facts, own).get  # else by name: the same on every engine
        rows = tuple(sorted(rows, key=lambda r: (place(r[0], 0), isinstance(r[0], BlankNode), str(r[0]))))
    first, bare = int(isinstance(plan, a.ItemTable) and not plan.shows_items), [row[1:] for row in rows]
    is_cut = not found.complete or len(rows) == MOST_ROWS
    compared = _best_compared(plan, [*best], beside, is_small=are_all) if isinstance(plan, a.Top) and best else None
    next_to, alone = _next_to(plan), with_group_items(plan)
    is_nothing = not rows or (len(rows) == 1 and term_text(rows[0][0]) in {"", "0", "false"})
    return Computed(
        plan=plan, query=query, columns=tuple(columns.values())[first:],
        rows=rows if not first else tuple(bare) if len(columns) > 2 else distinct(bare),
        facts=facts, all_facts=are_all, is_cut=is_cut,
        empty_part=_first_empty(alone, beside) if is_nothing else None,
        left_out=found_left_out(alone, beside.select, own),
        measured=tuple(best[row[0]] for row in rows) if best else (),
        compared=compared, unread=beside.failed or found.missing,
        tied=_tied_with_last(plan, beside), multiplied=_columns_multiplied(plan, rows),
        retired=_left_out_by(a.Current, alone, beside), twins=_left_out_by(a.Once, alone, beside),
        units=_units_of(rows, facts, own) if isinstance(plan, a.ItemSet) else {},
        directly=None if next_to is None else beside.number_of(next_to),
    )  # fmt: skip


def every_row(found: Computed, graph: OxigraphGraph) -> Iterator[Row]:
    """Yield all rows of a table that was cut, as the engine finds them anew: few are in memory at once."""
    select = replace(found.query.made_of, limit=getattr(found.plan, "limit", None))
    solutions = graph.stream(g.select_query("rows", select))
    names = [*_columns_of(found.plan)]
    rows = _with_durations(found.plan, (tuple(map(solution.get, names)) for solution in solutions))
    shown = (row[len(names) - len(found.columns) :] for row in rows)
    yield from (row for row, _ in groupby(shown)) if len(found.columns) > 1 else dict.fromkeys(shown)


def with_shares_counted(plan: a.Plan, graph: KnowledgeGraph, vocabulary: GraphVocabulary) -> a.Plan:
    """Count of what a plan has so many percent, rounded up: no query has a limit that it computes itself."""

    def counted(part: Any) -> Any:
        if not (isinstance(part, a.Top) and part.share):
            return part
        every = _number_of(graph.select(compiled(a.Count(part.items), vocabulary=vocabulary))) or 0
        return replace(part, number=max(1, ceil(every * part.share / 100)))

    return cast("a.Plan", mapped(plan, counted))


def _tied_with_last(plan: a.Plan, beside: _BesideValue) -> int:
    """Count what has the value of the last of the first so many, and is not among them."""
    top, by = first_of(part for part in parts_of(plan, a.Top) if part.number > 1), VALUE.name
    if isinstance(plan, a.ItemTable | a.Grouped) and plan.order_by and plan.limit:
        columns = plan.measured if isinstance(plan, a.ItemTable) else plan.columns
        by = f"column{[one.name for one in columns].index(plan.order_by if isinstance(plan.order_by, str) else '')}"
        number, more = plan.limit, cast("a.Plan", replace(plan, limit=plan.limit + _MOST_TIED))
    elif top is not None:
        number, more = top.number, replace(top, number=top.number + _MOST_TIED)
    else:
        return 0
    each = dict[Any, Term | None]()
    for place, row in enumerate(beside.rows_of(more)):
        each.setdefault(row.get(ITEM.name) if by == VALUE.name else place, row.get(by))
    values = [*each.values()]
    return values[number:].count(values[number - 1]) if values[number:] else 0


def _columns_multiplied(plan: a.Plan, rows: Sequence[Row]) -> tuple[str, ...]:
    """Find two columns of a table of which an item has several values each, and a row for each pair of these."""
    columns = plan.columns if isinstance(plan, a.ItemTable) else ()
    apart = [i for i, one in enumerate(columns, 1) if isinstance(one.measure, a.Value)]
    each: dict[Term | None, list[Row]] = defaultdict(list)
    for row in rows if len(apart) > 1 else ():
        each[row[0]].append(row)
    for own in (own for own in each.values() if len(own) > 3):
        for one, other in combinations(apart, 2):
            sizes = [len({row[i] for row in own}) for i in (one, other)]
            if min(sizes) > 1 and len({(row[one], row[other]) for row in own}) == prod(sizes):
                return columns[one - 1].name, columns[other - 1].name
    return ()


def _left_out_by(form: type[a.Current | a.Once], plan: a.Plan, beside: _BesideValue) -> int:
    """Count what a plan leaves out for being deprecated, or the same as another."""
    left_out = (a.Count(a.Minus(part.items, part)) for part in parts_of(plan, form))
    return sum(beside.number_of(one) or 0 for one in left_out)


def _units_of(rows: Iterable[Row], facts: Iterable[Triple], vocabulary: GraphVocabulary) -> dict[Term, str]:
    """The units that stand beside the numbers of some rows, each with one."""
    ways, numbers = {by for own in vocabulary.amounts.values() for by in own.beside}, {row[0] for row in rows}
    said = [(fact.subject, unit_text(fact.object)) for fact in facts if fact.predicate in ways]
    found: dict[Term, set[str]] = defaultdict(set)
    for fact in facts if said else ():
        if fact.object in numbers and isinstance(fact.object, Literal):
            found[fact.object] |= {text for node, text in said if node == fact.subject}
    return {number: text for number, texts in found.items() if len(texts) == 1 for text in texts}


def _with_durations(plan: a.Plan, rows: Iterable[Row]) -> Iterator[Row]:
    """The same rows, with totals, averages and differences of amounts of time as durations."""
    table = getattr(plan, "columns", None)
    measures: list[Any] = [plan] if table is None else [one.measure for one in table]
    measures = measures if table is None or isinstance(plan, a.Numbers) else [None, *measures]
    kinds = [kind_of(one)[0] if isinstance(one, a.Measure | a.Number) else "item" for one in measures]
    for row in rows:
        cells = zip_longest(row, kinds[: len(row)])
        yield tuple(duration_of(one, UNITS.get(kind, "")) if isinstance(one, Literal) else one for one, kind in cells)


def _next_to(plan: a.Plan) -> a.Count | None:
    """How many of the items are one step from where the plan begins, if it goes on in any number of steps."""

    def once(part: Any) -> Any:
        match part:
            case a.Ends(start, PropertyPath((*before, last))) if last.is_repeated:
                return a.Ends(start, PropertyPath((*before, last._replace(is_repeated=False))))
        return part

    items = plan.items if isinstance(plan, a.Count) else plan
    near = a.Both(tuple(map(once, items.sets))) if isinstance(items, a.Both) else once(items)
    return None if near == items else a.Count(near)


def _number_of(found: Solutions) -> int | None:
    return first_of(whole_number(one[VALUE.name]) for one in found if VALUE.name in one)


@dataclass(slots=True)
class _BesideValue:
    """Asks a graph for what is told beside a value, while there is time, and an endpoint until it fails at it."""

    graph: KnowledgeGraph
    vocabulary: GraphVocabulary
    failed: str = ""

    def rows_of(self, plan: a.Plan, most: int = MOST_ROWS) -> Solutions:
        """Run the query of a plan."""
        return self.select(compiled(plan, vocabulary=self.vocabulary, limit=most))

    def number_of(self, plan: a.Count) -> int | None:
        """Count the items of a set, where that is told."""
        return _number_of(self.rows_of(plan))

    def select(self, query: Query) -> Solutions:
        try:
            if not self.failed:
                return self.graph.select(query)
        except (*GRAPH_FAILED, BudgetExceededError) as error:
            is_late = error.detail.get("limit") == "seconds"  # the value stands
            if not (is_late or (self.graph.is_remote and is_about_the_query(error))):
                raise
            self.failed = error.message
        return Solutions(cut=self.failed)


def _columns_of(plan: a.Plan) -> dict[str, str]:
    """The columns of a plan's rows, by the variables of its query."""
    if isinstance(plan, a.BestOfEach):
        return {"key": "group", ITEM.name: "item"}
    if isinstance(plan, a.Numbers):
        return {f"column{i}": column.name for i, column in enumerate(plan.columns)}
    if isinstance(plan, a.Table):
        names = [column.name for column in plan.columns]
        first = {"key": "group"} if isinstance(plan, a.Grouped) else {ITEM.name: "item"}
        return first | {f"column{i}": name for i, name in enumerate(names)}
    return {ITEM.name: "item"} if isinstance(plan, a.ItemSet) else {VALUE.name: "value"}


def _facts_of(plan: a.Plan, beside: _BesideValue) -> tuple[tuple[Triple, ...], bool]:
    """The triples that a plan rests on, each once, and whether these are all."""
    own, queries = beside.vocabulary, list[Witnesses](witnesses(plan, vocabulary=beside.vocabulary))
    kinds = [part.of for part in parts_of(plan, a.Instances) if own.narrower]
    queries += map(partial(subclass_facts, vocabulary=own), dict.fromkeys(kinds))
    triples = dict[Triple, None]()
    are_all = True
    for witness in queries:
        found = beside.select(witness.query)
        are_all &= found.complete and len(found) < MOST_FACTS
        for solution in found:
            triples.update(dict.fromkeys(witness.triples(solution)))
    return tuple(sorted(triples, key=str)), are_all


def _best_compared(plan: a.Top, best: Sequence[Term | None], beside: _BesideValue, *, is_small: bool) -> Compared:
    """Tell what the best of a set are the best of; an endpoint is not asked for the next of a large set."""
    named = tuple(item for item in best if isinstance(item, IRI | Literal))
    following = dict[Term, Term | None]()
    size = 0
    if (is_small or not beside.graph.is_remote) and len(named) == len(best) <= _MOST_BESIDE:
        others = a.Top(a.Minus(plan.items, a.Items(named)), plan.measure, 1, plan.largest)
        found = beside.rows_of(others, _MOST_NEXT)
        following = {row[ITEM.name]: row.get(VALUE.name) for row in found if ITEM.name in row}
        size = beside.number_of(a.Count(plan.items)) or 0
    next_named = tuple(item for item in following if isinstance(item, IRI | Literal))
    facts = []
    for some in (named, next_named):
        own = a.Top(a.Both((plan.items, a.Items(some[:_MOST_BESIDE]))), plan.measure, 1, plan.largest)
        witness, *_ = witnesses(own, vocabulary=beside.vocabulary, limit=_MOST_BESIDE)
        solutions = beside.select(witness.query) if some else ()
        facts.append(distinct(triple for solution in solutions for triple in witness.triples(solution)))
    return Compared(tuple(following.items()), size, (facts[0], facts[1]))


def rows_from_facts(plan: a.Plan, query: Query, facts: Iterable[Triple]) -> tuple[Row, ...]:
    """Return the rows that the query of a plan gives on a few triples alone."""
    store = Store()
    store.extend(Quad(*fact) for fact in facts)
    # Not by OxigraphGraph, which forks a process for each compiled query.
    found = cast("QuerySolutions", store.query(query.text))
    return tuple(tuple(solution[name] for name in _columns_of(plan)) for solution in found)


def _list_places(plan: a.Plan, facts: Sequence[Triple], vocabulary: GraphVocabulary) -> dict[Term | None, int]:
    """Number the members of a list by their places, where a plan is about these."""
    if not isinstance(plan, a.Either) or without_places(plan) == plan:
        return {}
    members = [rows_from_facts(one, compiled(one, vocabulary=vocabulary), facts) for one in plan.sets]
    return {row[0]: place for place, rows in reversed([*enumerate(members)]) for row in rows}


def _as_boolean(term: Term | None) -> Term | None:
    """A yes or no as everywhere: Virtuoso gives 1 and 0."""
    return {"1": Literal(value=True), "0": Literal(value=False)}.get(term_text(term), term)


def _first_empty(plan: a.Plan, beside: _BesideValue) -> a.ItemSet | None:
    """The innermost part of a plan that has no items: where the plan ran dry."""
    sets = [part for part in parts(plan) if isinstance(part, a.ItemSet) and not isinstance(part, a.Items)]
    for part in reversed(sets):
        found = beside.rows_of(a.Exists(part))
        if not found.complete:
            return None
        if not found or term_text(_as_boolean(next(iter(found)).get(VALUE.name))) == "false":
            return part
    return None


@frozen
class Witnesses:
    """The query of the facts that a plan rests on: each solution shows the triples that these patterns make."""

    query: Query
    facts: tuple[g.Fact, ...]

    def triples(self, solution: Mapping[str, Term]) -> Iterator[Triple]:
        """The triples of a solution; a pattern of which it leaves something open makes none."""
        for fact in self.facts:
            if (triple := _triple_of(fact, solution)) is not None:
                yield triple


def _triple_of(fact: g.Fact, solution: Mapping[str, Term]) -> Triple | None:
    places = (fact.subject, fact.predicate, fact.object)
    subject, predicate, far = (solution.get(n.name) if isinstance(n, Variable) else n for n in places)
    far = _triple_of(far, solution) if isinstance(far, g.Fact) else far
    is_whole = isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and far is not None
    return Triple(subject, predicate, far) if is_whole else None  # type: ignore[arg-type]


def witnesses(plan: a.Plan, *, vocabulary: GraphVocabulary | None = None, limit: int = 2_000) -> tuple[Witnesses, ...]:
    """The queries of the facts that a plan rests on: one for each set that it counts, compares or lists.

    What is absent has no facts: those of the set that was looked at stand for it.

    >>> from kgsparql.rdf.paths import PropertyPath
    >>> by = a.Ends(a.Items((IRI("http://e.org/Ann"),)), PropertyPath.of("^http://e.org/by"))
    >>> (found,) = witnesses(a.Count(by))
    >>> list(found.triples({"i0": IRI("http://e.org/Book"), "i1": IRI("http://e.org/Ann")}))[0].subject.value
    'http://e.org/Book'
    """
    known = vocabulary or GraphVocabulary()
    beside = (getattr(plan, "columns", ()), getattr(plan, "having", ()), *(o.value for o in parts_of(plan, a.Where)))
    numbers: Iterator[Any] = filterfalse(is_of_members, parts_of(beside, a.SummaryOf, a.Count))
    looked_at = dict.fromkeys(looked for one in (plan, *numbers) for looked in _witnessed_facts(one))
    return tuple(Witnesses(*PlanCompiler(known, limit).facts_of(*one)) for one in looked_at)


def subclass_facts(of: IRI, *, vocabulary: GraphVocabulary) -> Witnesses:
    """The query of what says which classes are below a class."""
    new, below = g.Variables(), vocabulary.narrower
    narrow, broad, one, other = new("c"), new("c"), new("p"), new("p")
    direct, further = g.Fact(narrow, one, of), g.Fact(narrow, other, broad)
    # Apart: else Oxigraph goes down from the class again for each that is below a class.
    above = g.Select((broad,), (classes_below(broad, of, vocabulary),), distinct=True)
    arms = ((direct, g.Values(one, below)), (above, further, g.Values(other, below)))
    select = g.Select((narrow, one, other, broad), (g.Union(arms),), distinct=True, limit=MOST_FACTS)
    return Witnesses(g.select_query("subclasses", select), (direct, further))


def _witnessed_facts(
    plan: a.Plan | a.Measure,
) -> Iterator[tuple[a.ItemTable, tuple[PropertyPath, ...], a.Grouped | None]]:
    """The sets that a plan looks at, with what is measured of their items, and the paths to what groups them."""
    match plan:
        case a.Count(items) | a.Exists(items):
            yield _looked_at(items), (), None
        case a.SummaryOf(_, items, measure) | a.Top(items, measure):
            yield _looked_at(items, measure), (), None
        case a.ItemTable(columns=columns, having=having):
            compared = () if having is None else (a.Column("", having[2], optional=True),)
            yield replace(plan, columns=(*columns, *compared)), (), None
        case a.BestOfEach(items, key, measure):
            yield _looked_at(items, measure), (key,), None
        case a.Grouped(items, key, columns):
            yield _looked_at(items), (key,), None
            numbers: Iterator[Any] = parts_of((columns, plan.having), a.Count, a.SummaryOf)
            for number in filter(is_of_members, numbers):
                yield from ((own, (), plan) for own, _, _ in _witnessed_facts(number))
        case a.Calculated(_, left, right) | a.Compares(left, _, right):
            yield from _witnessed_facts(left)
            yield from _witnessed_facts(right)
        case a.Not(inner):
            yield from _witnessed_facts(inner)
        case a.Numbers(columns):
            for column in columns:
                yield from _witnessed_facts(column.measure)
        case a.Constant():
            return
        case items:
            yield _looked_at(cast("a.ItemSet", items)), (), None


def _looked_at(items: a.ItemSet, *measures: a.Measure) -> a.ItemTable:
    return a.ItemTable(items, tuple(a.Column(str(i), measure) for i, measure in enumerate(measures)))
