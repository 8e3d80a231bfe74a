"""Patterns of the parts of a plan: sets, what is measured of their items, numbers, conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.dated_patterns import dated, facts_at, joined_by, of_best_rank, when
from kgsparql.plans.expressions import (
    AGGREGATES,
    Measured,
    calculated,
    date_key,
    decimal,
    distinct_values,
    each_of,
    in_one_unit,
    is_instant,
    is_read,
    key_of,
    precision_of,
)
from kgsparql.plans.type_check import is_of_members, kind_of, parts_of, widest
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Expression, Group, Variable, apply, filter_by
from kgsparql.rdf.literals import unit
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, distinct, first_of
from kgsparql.rdf.vocabulary import DISJOINT_WITH, EXISTENTIAL, ON_PROPERTY, SAME_AS, SUBCLASS_OF, claim_kind
from kgsparql.schema.amounts import Amounts
from kgsparql.schema.dating import Dates
from kgsparql.schema.kinds import predicate_of_things
from kgsparql.schema.vocabulary import GraphVocabulary, classes_below

ITEM, VALUE = Variable("answer"), Variable("value")
"""What a query of a plan gives: the items of a set; a number, or what is measured of an item."""


@dataclass(slots=True)
class PlanCompiler:
    """Makes patterns of the parts of one plan; with ``facts``, single steps, and keeps each that a solution shows."""

    vocabulary: GraphVocabulary
    limit: int
    new: g.Variables = field(default_factory=g.Variables)
    facts: list[g.Fact] | None = None
    columns: dict[str, tuple[Variable, a.ItemSet, Group]] = field(default_factory=dict)
    group: tuple[a.ItemSet, PropertyPath, Variable] | None = None

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What is inside a summary or an absence is not among the facts of a solution."""
        kept, self.facts = self.facts, None
        yield
        self.facts = kept

    def facts_of(
        self, table: a.ItemTable, paths: Sequence[PropertyPath], of: a.Grouped | None = None
    ) -> tuple[Query, tuple[g.Fact, ...]]:
        """The query of the facts of the rows of a table, and of the paths that group its items.

        :param of: the items are those of its groups.
        """
        self.facts, x = [], self.new("i")
        self.group = None if of is None else (of.items, of.key, self.new("k"))
        group = [*self.members(table.items, x)]
        for column, found in self.row(table, x):
            is_number = isinstance(column.measure, a.HowMany | a.Summarised)  # which is no fact
            group.append(self.where_measured(replace(found, group=found.group[is_number:]), x, table.items))
        for path in paths:
            group += self.along(x, path, self.new("k"))
        facts = distinct(self.facts)
        names = [n for fact in facts for n in (fact.subject, fact.predicate, fact.object) if isinstance(n, Variable)]
        head = distinct([x, *names])
        return g.select_query("witnesses", g.Select(head, tuple(group), distinct=True, limit=self.limit)), facts

    def unread(self, measure: a.Value) -> Group:
        """Patterns of what a value of ``?answer`` should be read from and cannot: ``?value``, the literal."""
        amounts, unit = self._amounts_at(measure), self.new("u")
        such = is_read(VALUE, measure.kind) if amounts is None else in_one_unit(amounts, VALUE, unit, measure.unit)[1]
        left_out = apply("&&", apply("isLiteral", VALUE), apply("!", apply("COALESCE", such, False)))  # no error
        return (*self.along(ITEM, measure.path, VALUE, (), None if amounts is None else unit), g.Filter(left_out))

    # --- sets

    def members(self, items: a.ItemSet | tuple[a.ItemSet, ...], x: Variable) -> Group:  # noqa: PLR0911, PLR0912
        """Patterns whose solutions bind ``x`` to the items of a set, or of any of several, some more than once."""
        match items:
            case a.Members():
                items, path, key = cast("tuple[a.ItemSet, PropertyPath, Variable]", self.group)
                return (*self.members(items, x), *self.along(x, path, key))
            case a.Instances(of):
                return self._instances_of(of, x)
            case a.Items(terms):
                return (g.Values(x, terms),)
            case a.Ends(start, path):
                return (*self._each_once(start, near := self.new("i"), 1), *self.along(near, path, x))
            case a.Where(inner, measure):
                conditions = [*filter(None, (items.other_end, items))]
                inner = conditions[0].items
                found, group = self.measured(measure, x, inner), list[g.Pattern]()
                for one in conditions:
                    left, right, more = self._compared(measure, one.value, found, x, inner)
                    group += [*more, filter_by(one.comparison, left, right)]
                return (*self.members(inner, x), *found.group, *group)
            case a.Named(inner, word, place):
                said = apply("COALESCE", label := self.new("l"), apply("IF", apply("isLiteral", x), x, ""))
                is_there = filter_by(place, key_of(said, "text"), word.casefold())
                return (*self.members(inner, x), g.Optional(self.any_of(x, self.vocabulary.labels, label)), is_there)
            case a.Has(inner, path, to):
                return (*self._each_once(inner, x, 1), *self._onward(x, path, to))
            case a.Lacks(inner, path, None | a.Items() as to):
                with self.unseen():
                    absent = g.NotExists(self._onward(x, path, to))
                return (*self.members(inner, x), absent)
            case a.Lacks(inner, path, to):  # Oxigraph would make the set anew for each row
                return self.members(a.Minus(inner, a.Has(widest(inner), path, to)), x)
            case a.Both(sets):
                return tuple(pattern for one in sets for pattern in self.members(one, x))
            case tuple():
                return (g.Union(tuple(self.members(one, x) for one in items)),)
            case a.Either(sets):
                return self._each_once(sets, x)
            case a.Minus(inner, without):
                with self.unseen():
                    left_out = g.Without(self.members(without, x))
                return (*self.members(inner, x), left_out)
            case a.Held() | a.Beside() | a.Times() | a.Sources() | a.Disputed() | a.OnlyIn() | a.Unknown():
                return dated(self, items, x)
            case a.Current() | a.Retired() | a.Once():
                return self._kept_of(items, x)
            case a.Top():
                return self._best(items, x)
            case _:
                raise AssertionError(f"not a set: {items}")

    def _kept_of(self, items: a.Current | a.Retired | a.Once, x: Variable) -> Group:
        """The items of a set that are marked as deprecated, those that are not, or one of those that are the same."""
        found = self.members(items.items, x)
        if isinstance(items, a.Retired):
            return (*found, g.Union(self._marks_of(x)))
        with self.unseen():
            if isinstance(items, a.Current):
                return (*found, *map(g.NotExists, self._marks_of(x)))
            same, other = (Step(SAME_AS), Step(SAME_AS, "inverse")), self.new("i")
            is_first = filter_by("<", apply("STR", other), apply("STR", x))
            twins = (g.OneOfPredicates(x, same, other), *self.members(items.items, other), is_first)
            return (*found, g.NotExists(twins))

    def _marks_of(self, x: Variable) -> tuple[Group, ...]:
        """What each mark says of an item; without values, that anything is said by it."""
        marks = [(self.new("i"), *own) for own in self.vocabulary.retired]
        return tuple(
            (self.fact(x, by, mark), *((g.Values(mark, values),) if values else ())) for mark, by, values in marks
        )

    def _instances_of(self, of: IRI, x: Variable) -> Group:
        """The items of a class and, unless all classes are flat, of those below it.

        Oxigraph puts no union in order with other patterns, so without need for one a query may take seconds longer.
        """
        vocabulary = self.vocabulary
        if having := predicate_of_things(of):
            return (self.fact(x, having, self.new("i")),)
        types, narrower = vocabulary.types, vocabulary.narrower
        if not narrower:
            return self.any_of(x, types, of)
        if vocabulary.has_classes_as_items(of):
            return (classes_below(x, of, vocabulary),)
        below = (*self.any_of(x, types, kind := self.new("c")), classes_below(kind, of, vocabulary))
        return (g.Union((self.any_of(x, types, of), below)),)

    def _each_once(self, items: a.ItemSet | tuple[a.ItemSet, ...], x: Variable, paths: int = 0) -> Group:
        """The items of a set, or of any of several, each once: what many lead to would be measured as often.

        Of more than so many paths apart, too: Oxigraph puts no union in order, and reads it for each row.
        """
        found = self.members(items, x)
        has_more = self.facts is None and len([*parts_of(items, a.Ends, *[a.Has] * paths)]) > paths
        return (g.Select((x,), found, distinct=True),) if has_more else found

    def _best(self, top: a.Top, x: Variable) -> Group:
        items = top.items
        summary: g.Aggregation = "MAX" if top.largest else "MIN"
        best, y = self.new("m"), x if top.number > 1 else self.new("i")
        with self.unseen():
            other = self.measured(top.measure, y, items)
            others = (*self._each_once(items, y), *other.group)
            if top.number == 1:
                overall = g.Select(((best, g.Aggregate(summary, other.key)),), others)
                own = self.measured(top.measure, x, items)
                group = (*self._each_once(items, x), *own.group, overall, filter_by("=", own.key, best))
                # Flat in the group around it, Oxigraph would find the best again for each of its rows.
                ranked = g.Select((x, best), group, distinct=True)
            else:
                order = ((best, top.largest), (apply("STR", x), False))
                each = each_of(x, best, g.Aggregate(summary, other.key), others)
                ranked = replace(each, order=order, limit=top.number)
        if self.facts is None:
            return (ranked,)
        found = self.measured(top.measure, x, items)
        shown = (filter_by("=", found.key, best),) if top.number == 1 else ()
        return (ranked, *self.members(items, x), *found.group, *shown)

    def _onward(self, x: Variable, path: PropertyPath, to: a.ItemSet | None, far: Variable | None = None) -> Group:
        far = far or self.new("i")
        if isinstance(to, a.Held) and to.path == path:  # its own
            return facts_at(self, to, far, x)[0]
        return (*self.along(x, path, far), *(() if to is None else self.members(to, far)))

    def along(
        self,
        start: Variable,
        path: PropertyPath,
        end: Variable,
        holders: tuple[Variable, ...] = (),
        unit: Variable | None = None,
    ) -> Group:
        """A path; a step that goes back does not return to the item just left.

        :param holders: of a longer path, the variable of what the last step leaves from.
        :param unit: of the number that it leads to.
        """
        nodes = [start, *(self.new("i") for _ in path.steps[1 + len(holders) :]), *holders, end]
        group = list[g.Pattern]()
        for i, step in enumerate(path.steps):
            ends = (nodes[i], nodes[i + 1]) if step.is_forward else (nodes[i + 1], nodes[i])
            is_last = i == (len(path.steps) - 1 if step.is_forward else 0)
            own = unit if is_last else None
            group += (
                self._repeated(*ends, step.predicate) if step.is_repeated else self._said_of(*ends, step, is_last, own)
            )
            other = i if step.is_repeated else i - 1 if i and step.inverts(path.steps[i - 1]) else None
            if other is not None:  # neither back where it came from, nor round to where it began
                group.append(filter_by("!", apply("sameTerm", nodes[i + 1], nodes[other])))
        return tuple(group)

    def _said_of(self, subject: Variable, far: Variable, step: Step, is_last: bool, unit: Variable | None) -> Group:
        """A step, in an ontology also as restrictions say it of a class or one above: each thing of it has some such.

        Who has tuna has fish, of which it is a kind. As evidence, plans name both: ``KnownGraph.with_kinds_below``.

        :param subject: of the triple, as ``far`` is its object, whichever way the step goes.
        :param is_last: its object is an end of the path, where a value is meant by the node that stands for it.
        """
        vocabulary, by = self.vocabulary, step.predicate
        if by == DISJOINT_WITH:  # and so is what is below either
            near, kind = self.new("i"), self.new("i")
            stated = self._either_way(near, *vocabulary.stated_by(by), kind)
            return (*self._or_above(subject, near), *stated, *self._or_above(far, kind))
        amounts = vocabulary.amounts.get(by) if is_last else None
        beside = () if amounts is None or (unit is None and self.facts is None) else amounts.beside
        if is_last and (values := vocabulary.valued.get(by)):
            node = self.new("i")
            of_it = (g.Optional(self.any_of(node, beside, unit or self.new("u"))),) if beside else ()
            nodes = [one for one in values if one in vocabulary.valued]  # which lead to another node
            arms = tuple((*self.any_of(node, (one,), far), *of_it) for one in values if one not in nodes)
            arms += tuple(self._said_of(node, far, Step(one), is_last, unit) for one in nodes)
            through: Group = (self.fact(subject, by, node), *(arms[0] if len(arms) == 1 else (g.Union(arms),)))
            through += of_best_rank(subject, by, node, self.new("i")) if claim_kind(by) else ()
            stated = (*self.any_of(subject, (by,), far), filter_by("isLiteral", far))
            return (g.Union((through, stated)),)
        if by in vocabulary.joined or by in vocabulary.keyed:
            return joined_by(self, by, self.new("j"), subject, far, unit)
        if by in vocabulary.relations:
            return self._either_way(subject, *vocabulary.stated_by(by), far)
        if by not in vocabulary.restricted:
            of_it = (g.Optional(self.any_of(subject, beside, unit or self.new("u"))),) if beside else ()
            return (self.fact(subject, by, far), *of_it)
        rule = self.new("r")
        above = (*self._repeated(subject, rule, SUBCLASS_OF), self.fact(rule, ON_PROPERTY, by))
        if self.facts is None and step.is_inverse:
            to: Group = (g.OneOfPredicates(rule, EXISTENTIAL, far, then=(SUBCLASS_OF,)),)
        else:
            to = self.any_of(rule, EXISTENTIAL, far)
        # Oxigraph reads both arms of a union anew for each row, in the worst order.
        return (g.Union((self.any_of(subject, (by,), far), (*above, *to))),) if by in vocabulary.stated else above + to

    def _repeated(self, start: Variable, end: Variable, predicate: IRI) -> Group:
        """One step or more; its facts are those on any way from one to the other."""
        onward, back = self.vocabulary.stated_by(predicate)
        some = (*map(Step, onward), *(Step(one, "inverse") for one in back))
        if self.facts is None:
            return (g.OneOfPredicates(start, some, end, then=some),)
        near, far = self.new("i"), self.new("i")
        before, after = g.OneOfPredicates(start, (), near, then=some), g.OneOfPredicates(far, (), end, then=some)
        return (before, *self._either_way(near, onward, back, far), after)

    def _or_above(self, item: Variable, kind: Variable) -> Group:
        """An item, or a class above it."""
        above = g.OneOfPredicates(item, (), kind, then=(SUBCLASS_OF,))
        return (above,) if self.facts is None else (above, g.Optional(self._repeated(item, kind, SUBCLASS_OF)))

    def _either_way(self, start: Variable, onward: tuple[IRI, ...], back: tuple[IRI, ...], end: Variable) -> Group:
        led = self.any_of(start, onward, end)
        return (g.Union((led, self.any_of(end, back, start))),) if back else led

    def any_of(self, start: g.Node, predicates: tuple[IRI, ...], end: g.Node) -> Group:
        """One of several predicates from one node to another."""
        if self.facts is None:
            (first, *others) = predicates
            return (g.OneOfPredicates(start, predicates, end) if others else g.Fact(start, first, end),)
        predicate = self.new("p")  # unbound in the solutions of another arm, which do not show this fact
        shown = self.fact(start, predicate, end)
        # Oxigraph reads all triples of all predicates for a variable, again and again; least where VALUES comes last.
        return (g.Fact(start, predicates[0], end) if len(predicates) == 1 else shown, g.Values(predicate, predicates))

    def fact(self, subject: g.Node, predicate: IRI | Variable, far: g.Node) -> g.Fact:
        """A triple pattern; one of the facts of a solution, where these are told."""
        fact = g.Fact(subject, predicate, far)
        if self.facts is not None:
            self.facts.append(fact)
        return fact

    # --- measures

    def row(self, table: a.ItemTable, x: Variable) -> Iterator[tuple[a.Column, Measured]]:
        """What is measured of an item by each column of a table; what a column leads to is bound for those after it."""
        for column in table.measured:
            found = self.measured(column.measure, x, table.items)
            used = [self.columns[one.column] for one in parts_of(column.measure, a.OfColumn)]
            before = tuple(pattern for _, _, way in used for pattern in way)
            found = replace(found, group=(*before, *found.group))
            if isinstance(found.value, Variable) and kind_of(column.measure)[0] == "item":
                self.columns[column.name] = found.value, table.led_to(column.name), found.group
            yield column, found

    def measured(self, measure: a.Measure | a.Number, x: Variable, items: a.ItemSet) -> Measured:
        """What is measured of the items of a set, which are bound to ``x``."""
        match measure:
            case a.OfColumn(column, inner):
                own, within, _ = self.columns[column]
                found = self.measured(inner, own, within)
                if isinstance(inner, a.HowMany):  # an empty cell has no 0
                    known = apply("IF", apply("BOUND", own), found.value, self.new("none"))
                    found = Measured(found.group, known, known)
                return found
            case a.Value():
                return self._measured_value(measure, x)
            case a.When():
                group, key = when(self, measure, x)
                return Measured(group, key, key)
            case a.HowMany(path, among):
                number, far = self.new("n"), self.new("i")
                with self.unseen():
                    group = (*self._each_once(items, x), *self._onward(x, path, among, far))
                    if (facts := self._facts_counted(among or a.Ends(items, path))) is not None:
                        group, far = facts_at(self, facts, far, x)
                counts = each_of(x, number, g.Aggregate("COUNT", far), group)
                known = apply("COALESCE", number, 0)
                return Measured((g.Optional((counts,)), *self._shown(x, path, among)), known, known)
            case a.Summarised(summary, path, unit, kind):
                number, value = self.new("n"), self.new("v")
                with self.unseen():
                    found = self.measured(a.Value(path, kind, unit), x, items)
                    rows = distinct_values((x,), value, found, self.members(items, x))
                of = g.Aggregate(AGGREGATES[summary], value)
                return Measured((each_of(x, number, of, (rows,)), *self._shown(x, path, None)), number, number)
            case a.Calculated(operator, left, right):
                return calculated(operator, self.measured(left, x, items), self.measured(right, x, items))
            case _:
                return self.number(measure)

    def _measured_value(self, measure: a.Value, x: Variable) -> Measured:
        """The values at the end of a path from an item."""
        path, kind, among = measure.path, measure.kind, measure.among
        value, holders = self.new("v"), [self.new("i")] if path.is_long else []
        amounts, unit = self._amounts_at(measure), self.new("u")
        asked = None if amounts is None else unit
        if isinstance(among, a.Held):
            along, *holders = facts_at(self, among, value, x, asked)
            among = None
        elif self._leads_to_values(path):
            node, near = self.new("j"), self.new("i") if path.steps[1:] else x
            along = self.along(x, PropertyPath(path.steps[:-1]), near) if path.steps[1:] else ()
            along, holders = along + joined_by(self, path.last, node, near, value, asked), [node]
        else:
            along = self.along(x, path, value, (*holders,), asked)
        if amounts is not None:
            key, is_known = in_one_unit(amounts, value, unit, measure.unit)
            return Measured((*along, g.Filter(is_known)), key, key, (*holders,))
        key = key_of(value, kind)
        read: Group = () if kind in {"text", "item"} else (g.Filter(is_read(value, kind)),)
        read += () if among is None else self.members(among, value)
        return Measured((*along, *read), key if kind == "year" else value, key, (*holders,))

    def _facts_counted(self, items: a.ItemSet) -> a.Held | None:
        """The facts that are counted in the place of the values which they lead to."""
        facts = a.Held(items.start, items.path, Dates()) if isinstance(items, a.Ends) else items
        is_so = isinstance(facts, a.Held) and facts.path.is_direct and self._leads_to_values(facts.path)
        return facts if is_so else None  # type: ignore[return-value]

    def _leads_to_values(self, path: PropertyPath) -> bool:
        """Whether nodes say the last step, a number: of two of them equal numbers are two."""
        last = path.last_step
        return last.is_forward and any(way.is_value for way in self.vocabulary.joined.get(last.predicate, ()))

    def _amounts_at(self, measure: a.Value) -> Amounts | None:
        """What the numbers of a measure are in, where these are several units."""
        last, of_time = measure.path.last_step, unit(measure.unit).kind == unit("s").kind
        own = Amounts(measure.unit, {}, is_mixed=True) if of_time else None  # durations in hours
        found = self.vocabulary.amounts.get(last.predicate, own) if last.is_forward else None
        is_so = found and measure.kind == "number" and (found.is_mixed or measure.unit not in {"", found.sign})
        return found if is_so else None

    def where_measured(self, found: Measured, x: Variable, items: a.ItemSet) -> g.Optional:
        """What is measured of the items that have it: an OPTIONAL at the head of the group would pass over others."""
        with self.unseen():
            bound = self.members(items, x) if isinstance(first_of(found.group), g.Optional) else ()
        return g.Optional((*bound, *found.group))

    def _compared(
        self, measure: a.Measure, value: IRI | Literal | a.Measure | a.Number, found: Measured, x: Variable,
        items: a.ItemSet,
    ) -> tuple[Expression, Expression, Group]:  # fmt: skip
        """Both sides of a comparison, and the patterns of the right one."""
        if isinstance(value, IRI):
            return found.key, value, ()
        if not isinstance(value, Literal):
            other = self.measured(value, x, items)
            return found.key, other.key, other.group
        if isinstance(measure, a.Value) and measure.kind in {"date", "time"}:
            if is_instant(value, measure.kind):
                return key_of(found.value, "time"), key_of(value, "time"), ()
            precision = precision_of(value)
            return date_key(found.value, precision), Literal(precision.number(value.value) or 0), ()
        if isinstance(measure, a.Value) and measure.kind in {"text", "clock"}:
            return found.key, Literal(value.value.lower()), ()
        return found.key, value, ()

    def _shown(self, x: Variable, path: PropertyPath, among: a.ItemSet | None) -> Group:
        """What a summary summarises, where the facts are asked for."""
        return () if self.facts is None else (g.Optional(self._onward(x, path, among)),)

    # --- numbers and conditions

    def number(self, number: a.Number | a.Measure) -> Measured:
        """A number, as sub-selects."""
        match number:
            case a.Count(items):
                value, x = self.new("n"), self.new("i")
                if is_of_members(number) and self.group is not None:
                    some = each_of(self.group[2], value, g.Aggregate("COUNT", x), self.members(items, x))
                    known = apply("COALESCE", value, 0)
                    return Measured((g.Optional((some,)),), known, known)
                facts, group = self._facts_counted(items), self.members(items, x)
                group, x = (group, x) if facts is None else facts_at(self, facts, x)
                select = g.Select(((value, g.Aggregate("COUNT", x)),), group)
                return Measured((select,), value, value)
            case a.SummaryOf(summary, items, measure):
                return self._summary(summary, items, measure)
            case a.Constant(value):
                literal = decimal(value)
                return Measured((), literal, literal)
            case a.Calculated(operator, left, right):
                return calculated(operator, self.number(left), self.number(right))
            case _:
                raise PlanError("a number over a set is needed, and this is what each item has")

    def _summary(self, summary: a.Summary, items: a.ItemSet, measure: a.Measure) -> Measured:
        x, value, number = self.new("i"), self.new("v"), self.new("n")
        of = g.Aggregate(AGGREGATES[summary], value)
        found, members = self.measured(measure, x, items), self.members(items, x)
        if is_of_members(a.SummaryOf(summary, items, measure)) and self.group is not None:
            key = self.group[2]
            each = distinct_values((key, x), value, found, members)
            some = each_of(key, number, of, (each,))
            return Measured((g.Optional((some,)),), number, number)
        if summary in {"min", "max"}:
            key = self.new("k")
            head, order = ((value, found.value), (key, found.key)), ((found.key, summary == "max"),)
            return Measured((g.Select(head, (*members, *found.group), order=order, limit=1),), value, key)
        rows = distinct_values((x,), value, found, members)
        if summary == "sum":
            return Measured((g.Select(((number, of),), (rows,)),), number, number)
        known = self.new("k")  # the average of nothing is nothing, not 0
        average = g.Select(((number, of), (known, g.Aggregate("COUNT", value))), (rows,))
        return Measured((average, filter_by(">", known, 0)), number, number)

    def condition(self, condition: a.Condition) -> tuple[Group, Expression]:
        """Patterns and the expression that is true where a condition holds."""
        match condition:
            case a.Exists(items):
                number, x = self.new("n"), self.new("i")
                any_one = g.Select((x,), self.members(items, x), limit=1)
                return (g.Select(((number, g.Aggregate("COUNT", x)),), (any_one,)),), apply(">", number, 0)
            case a.Compares(left, comparison, right):
                one, other = self.number(left), self.number(right)
                return (*one.group, *other.group), apply(comparison, one.key, other.key)
            case a.Not(inner):
                group, holds = self.condition(inner)
                return group, apply("!", holds)
            case _:
                raise AssertionError(f"not a condition: {condition}")
