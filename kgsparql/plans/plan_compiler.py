"""One SPARQL query for a plan: sets bind one variable, measures bind values of it, numbers are sub-selects.

Absence is ``NOT EXISTS``, the best of a set a join with the best value, how many a grouped sub-select that may be
missing. Dates are compared as numbers (``19660301``), at the precision of what they are compared with: this is the same
on every engine, whatever the datatypes.
"""

from __future__ import annotations

from itertools import filterfalse

from kgsparql.dataclasses import replace
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import each_of, key_of
from kgsparql.plans.plan_patterns import ITEM, VALUE, PlanCompiler
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Expression, Group, Variable, apply, filter_by
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import zip_equal
from kgsparql.schema.vocabulary import GraphVocabulary

_MOST_ROWS = 10_000


def compiled(plan: a.Plan, *, vocabulary: GraphVocabulary | None = None, limit: int = _MOST_ROWS) -> Query:
    """The query of a plan: ``?answer`` of a set (with ``?value`` of a best one), ``?value`` of a number or a yes/no.

    A table has ``?answer`` or, grouped, ``?key``, and its columns as ``?column0``, ``?column1`` …

    >>> from kgsparql.rdf.paths import PropertyPath
    >>> from kgsparql.rdf.terms import IRI
    >>> by = a.Ends(a.Items((IRI("http://e.org/Ann"),)), PropertyPath.of("^http://e.org/by"))
    >>> print(compiled(a.Count(by)).text)
    SELECT (?n0 AS ?value) WHERE {
      {
        SELECT (COUNT(DISTINCT ?i1) AS ?n0) WHERE {
          VALUES ?i2 { <http://e.org/Ann> }
          ?i1 <http://e.org/by> ?i2 .
        }
      }
    }
    """
    return g.select_query("plan", _select(plan, PlanCompiler(vocabulary or GraphVocabulary(), limit)))


def asked_query(plan: a.Plan, query: Query) -> Query:
    """Write the query of a plan, as :func:`compiled` made it, for who wants its rows alone: just the asked columns.

    A yes or no is an ASK; what is measured of the best is no column; the limit that is not the question's is left out.

    >>> from kgsparql.rdf.terms import IRI
    >>> found = a.Exists(a.Both((a.Items((IRI("http://e.org/Ann"),)), a.Instances(IRI("http://e.org/Person")))))
    >>> asked_query(found, compiled(found)).text.split()[:5]
    ['ASK', '{', 'VALUES', '?i1', '{']
    """
    select: g.Select = query.made_of
    if isinstance(plan, a.Exists):
        (counted,) = select.group
        (any_one,) = counted.group if isinstance(counted, g.Select) else ()
        return g.ask_query(any_one.group if isinstance(any_one, g.Select) else ())
    if isinstance(plan, a.Condition):
        return g.ask_query((*select.group, *(g.Filter(holds) for _, holds in select.columns if holds)))
    if isinstance(plan, a.Top):
        order = () if plan.number == 1 else select.order
        select = replace(select, head=select.head[:1], order=order)
    elif isinstance(plan, a.ItemTable) and not plan.shows_items:
        select = replace(select, head=tuple(one for one in select.head if one != ITEM))
    return g.select_query("asked", replace(select, limit=None if select.limit == _MOST_ROWS else select.limit))


def _select(plan: a.Plan, compiler: PlanCompiler) -> g.Select:
    if isinstance(plan, a.ItemTable):
        return _table(plan, compiler)
    if isinstance(plan, a.Grouped):
        return _grouped(plan, compiler)
    if isinstance(plan, a.Numbers):
        numbers = [compiler.number(column.measure) for column in plan.columns]
        values = tuple((Variable(f"column{i}"), number.value) for i, number in enumerate(numbers))
        return g.Select(values, tuple(pattern for number in numbers for pattern in number.group))
    if isinstance(plan, a.BestOfEach):
        return _best_of_each(plan, compiler)
    if isinstance(plan, a.Number):
        number = compiler.number(plan)
        return g.Select(((VALUE, number.value),), number.group)
    if isinstance(plan, a.Condition):
        group, holds = compiler.condition(plan)
        return g.Select(((VALUE, holds),), group)
    if not isinstance(plan, a.Top):
        return g.Select((ITEM,), compiler.members(plan, ITEM), distinct=True, limit=compiler.limit)
    found = compiler.measured(plan.measure, ITEM, plan.items)
    head, group = (ITEM, (VALUE, found.value)), (*compiler.members(plan, ITEM), *found.group)
    order = ((found.key, plan.largest), (apply("STR", ITEM), False))
    return g.Select(head, group, distinct=True, order=order, limit=compiler.limit)


def _table(table: a.ItemTable, compiler: PlanCompiler) -> g.Select:
    group = list(compiler.members(table.items, ITEM))
    head = list[g.HeadPart]()
    order = list[tuple[Expression, bool]]()
    keys = dict[str, Expression]()
    for number, (column, found) in enumerate(compiler.row(table, ITEM)):
        more = (compiler.where_measured(found, ITEM, table.items),) if column.optional else found.group
        group += filterfalse(group.__contains__, more)
        head.append((Variable(f"column{number}"), found.value))
        keys[column.name] = found.key
        if column.name == ("" if number == len(table.columns) else table.order_by):
            if column.optional and not table.largest_first:  # what has none would come first
                order.append((apply("COALESCE", apply("=", found.value, found.value), False), True))
            order.append((found.key, table.largest_first))
    if isinstance(by := table.order_by, a.Value) and by.path.goes_back:  # the values themselves
        order.append((key_of(ITEM, by.kind), table.largest_first))
    if table.having is not None:
        name, comparison, value = table.having
        bound = compiler.measured(value, ITEM, table.items)
        group += (*bound.group, filter_by(comparison, keys[name], bound.key))
    order.append((apply("STR", ITEM), False))
    head.insert(0 if table.shows_items else len(head), ITEM)
    return g.Select(tuple(head), tuple(group), distinct=True, order=tuple(order), limit=table.limit or compiler.limit)


def _grouped(table: a.Grouped, compiler: PlanCompiler) -> g.Select:
    key = Variable("key")
    compiler.group = table.items, table.key, key
    every = g.Select((key,), compiler.members(a.Members(), compiler.new("i")), distinct=True)
    group: list[g.Pattern] = [every]
    columns = {column.name: compiler.number(column.measure) for column in table.columns}
    for column, found in zip_equal(table.columns, columns.values()):
        is_whole = not isinstance(column.measure, a.Calculated)  # in which nothing is divided by zero
        group += found.group if is_whole else [g.Optional((every, *found.group))]
    if table.having is not None:
        name, comparison, value = table.having
        bound = compiler.number(value)
        group += (*bound.group, filter_by(comparison, columns[name].key, bound.key))
    order: list[tuple[Expression, bool]] = [(apply("STR", key), False)]
    if table.order_by:
        order.insert(0, (columns[table.order_by].key, table.largest_first))
    head: list[g.HeadPart] = [key]
    head += [(Variable(f"column{i}"), found.value) for i, found in enumerate(columns.values())]
    return g.Select(tuple(head), tuple(group), order=tuple(order), limit=table.limit or compiler.limit)


def _best_of_each(table: a.BestOfEach, compiler: PlanCompiler) -> g.Select:
    key, best, y = Variable("key"), compiler.new("m"), compiler.new("i")

    def measured(x: Variable) -> tuple[Group, Expression]:
        found = compiler.measured(table.measure, x, table.items)
        return (*compiler.members(table.items, x), *compiler.along(x, table.key, key), *found.group), found.key

    others, value = measured(y)
    overall = each_of(key, best, g.Aggregate("MAX" if table.largest else "MIN", value), others)
    group, own = measured(ITEM)
    order = tuple((apply("STR", one), False) for one in (key, ITEM))
    rows = (*group, overall, filter_by("=", own, best))
    return g.Select((key, ITEM), rows, distinct=True, order=order, limit=compiler.limit)
