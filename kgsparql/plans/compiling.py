"""One SPARQL query for a plan."""

from __future__ import annotations

from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import AGGREGATES, decimal, distinct_values, each_of
from kgsparql.plans.plan_compiler import ITEM, VALUE, PlanCompiler
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Apply, Expression, Variable
from kgsparql.rdf.query import Query


def compiled(plan: a.Plan, *, vocabulary: GraphVocabulary | None = None, limit: int = 10_000) -> Query:
    """The query of a plan: ``?answer`` of a set (with ``?value`` of a best one), ``?value`` of a number or a yes/no.

    A table has ``?answer`` or, grouped, ``?key``, and its columns as ``?column0``, ``?column1`` …

    :raises PlanError: never: check the plan first, with :func:`kgsparql.plans.type_check.check`.

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


def _select(plan: a.Plan, compiler: PlanCompiler) -> g.Select:
    match plan:
        case a.ItemTable():
            return _table(plan, compiler)
        case a.Grouped():
            return _grouped(plan, compiler)
        case _ if isinstance(plan, a.Number):
            number = compiler.number(plan)
            return g.Select(((VALUE, number.value),), number.group)
        case _ if isinstance(plan, a.Condition):
            group, holds = compiler.condition(plan)
            return g.Select(((VALUE, holds),), group)
        case a.Top(items, measure, _, largest):
            found = compiler.measured(measure, ITEM, items)
            return g.Select(
                ((ITEM, None), (VALUE, found.value)),
                (*compiler.members(plan, ITEM), *found.group),
                distinct=True,
                order=((found.key, largest), (Apply("STR", (ITEM,)), False)),
                limit=compiler.limit,
            )
        case _:
            return g.Select(((ITEM, None),), compiler.members(plan, ITEM), distinct=True, limit=compiler.limit)


def _table(table: a.ItemTable, compiler: PlanCompiler) -> g.Select:
    group = list(compiler.members(table.items, ITEM))
    head: list[tuple[Variable, Expression | None]] = [(ITEM, None)]
    order: list[tuple[Expression, bool]] = []
    for number, column in enumerate(table.columns):
        found = compiler.measured(column.measure, ITEM, table.items)
        group += [g.Optional(found.group)] if column.optional else found.group
        head.append((Variable(f"column{number}"), found.value))
        if column.name == table.order_by:
            order.append((found.key, table.largest_first))
    order.append((Apply("STR", (ITEM,)), False))
    return g.Select(tuple(head), tuple(group), distinct=True, order=tuple(order), limit=table.limit or compiler.limit)


def _grouped(table: a.Grouped, compiler: PlanCompiler) -> g.Select:
    key = Variable("key")
    columns = {column.name: Variable(f"column{i}") for i, column in enumerate(table.columns)}
    x = compiler.new("i")
    keys = (*compiler.members(table.items, x), *compiler.along(x, table.key, key))
    group: list[g.Pattern] = [g.Select(((key, None),), keys, distinct=True)]
    group += [g.Optional((_group_column(compiler, table, c, key, columns[c.name]),)) for c in table.columns]
    if table.having is not None:
        name, comparison, number = table.having
        group.append(g.Filter(Apply(comparison, (columns[name], decimal(number)))))
    order: list[tuple[Expression, bool]] = [(Apply("STR", (key,)), False)]
    if table.order_by:
        order.insert(0, (columns[table.order_by], table.largest_first))
    head = ((key, None), *((column, None) for column in columns.values()))
    return g.Select(head, tuple(group), order=tuple(order), limit=table.limit or compiler.limit)


def _group_column(
    compiler: PlanCompiler, table: a.Grouped, column: a.GroupColumn, key: Variable, into: Variable
) -> g.Select:
    x = compiler.new("i")
    keys = (*compiler.members(table.items, x), *compiler.along(x, table.key, key))
    if column.summary is None or column.measure is None:
        return each_of(key, into, g.Aggregate("COUNT", x), keys)
    found, value = compiler.measured(column.measure, x, table.items), compiler.new("v")
    rows = distinct_values((key, x, *found.holders), value, found.key, (*keys, *found.group))
    return each_of(key, into, g.Aggregate(AGGREGATES[column.summary], value), (rows,))
