"""Plans as JSON, the other way: the object of a plan for a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kgsparql.plans import algebra as a
from kgsparql.plans.listed_names import ListedName
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal


def written_plan(plan: a.Plan) -> dict[str, Any]:
    """The object of a plan for a file: its names, and the arrays over them.

    >>> written_plan(a.Count(a.Instances(IRI("http://e.org/City"))))
    {'names': {'C1': {'term': '<http://e.org/City>'}}, 'plan': ['count', 'C1']}
    """
    writer = _Writer()
    arrays = writer.plan(plan)
    return {"names": {name: _named_json(one) for name, one in writer.names.items()}, "plan": arrays}


def _named_json(name: ListedName) -> dict[str, str]:
    kind = {} if name.kind == "item" else {"kind": name.kind}
    return {"term": str(name.term), **kind, **({"unit": name.unit} if name.unit else {})}


_EXACT_NUMBERS = frozenset(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal"))


@dataclass(slots=True)
class _Writer:
    """Plans to arrays; each term gets a name the first time it comes up."""

    names: dict[str, ListedName] = field(default_factory=dict)

    def name(self, letter: str, term: IRI | Literal, kind: a.Kind = "item", unit: str = "") -> str:
        known = ListedName(term, kind, unit)
        for name, one in self.names.items():
            if one == known and name.startswith(letter):
                return name
        name = f"{letter}{1 + sum(one.startswith(letter) for one in self.names)}"
        self.names[name] = known
        return name

    def path(self, path: PropertyPath, kind: a.Kind = "item", unit: str = "") -> Any:
        last = len(path.steps) - 1
        steps = [
            self.name("R", s.predicate, kind if i == last else "item", unit if i == last else "")
            + ("<" if s.direction == "inverse" else ">")
            for i, s in enumerate(path.steps)
        ]
        return steps[0] if len(steps) == 1 else steps

    def plan(self, part: Any) -> Any:
        """The arrays of any part of a plan."""
        if isinstance(part, a.ItemTable | a.Grouped):
            return self.table(part)
        if isinstance(part, IRI | Literal):
            return self.name("E" if isinstance(part, IRI) else "L", part)
        found = self.items(part)
        return self.value(part) if found is None else found

    def items(self, part: Any) -> Any:  # noqa: PLR0911 - one arm an operator
        match part:
            case a.Instances(of):
                return self.name("C", of)
            case a.Items((term,)):
                return self.name("E", term)
            case a.Items(terms):
                return ["items", *(self.name("E", term) for term in terms)]
            case a.Ends(start, path):
                return ["ends", self.plan(start), self.path(path)]
            case a.Where(inner, measure, comparison, value):
                return ["where", self.plan(inner), self.plan(measure), comparison, self.compared(value)]
            case a.Named(inner, word):
                return ["named", self.plan(inner), self.name("L", Literal(word))]
            case a.Has(inner, path, to) | a.Lacks(inner, path, to):
                word = "has" if isinstance(part, a.Has) else "lacks"
                return [word, self.plan(inner), self.path(path), *([] if to is None else [self.plan(to)])]
            case a.Both(sets):
                return ["and", *map(self.plan, sets)]
            case a.Either(sets):
                return ["or", *map(self.plan, sets)]
            case a.Minus(inner, without):
                return ["minus", self.plan(inner), self.plan(without)]
            case a.Top(inner, measure, number, largest):
                return ["top", self.plan(inner), self.plan(measure), number, "desc" if largest else "asc"]
        return None

    def compared(self, value: IRI | Literal | a.Measure) -> Any:
        """What a measure is compared with; a number as it is."""
        if isinstance(value, Literal) and value.datatype.value in _EXACT_NUMBERS:
            return self.value(a.Constant(Decimal(value.value)))
        return self.plan(value)

    def value(self, part: Any) -> Any:  # noqa: PLR0911 - one arm an operator
        match part:
            case a.Value(path, "year", _):
                return ["year", self.path(path)]
            case a.Value(path, kind, unit):
                return self.path(path, kind, unit)
            case a.HowMany(path, among):
                return ["n", self.path(path), *([] if among is None else [self.plan(among)])]
            case a.Summarised(summary, path, unit):
                return [summary, self.path(path, "number", unit)]
            case a.Calculated(operator, left, right):
                return [operator, self.plan(left), self.plan(right)]
            case a.Constant(value):
                return int(value) if value == int(value) else float(value)
            case a.Count(items):
                return ["count", self.plan(items)]
            case a.SummaryOf(summary, items, measure):
                return [summary, self.plan(items), self.plan(measure)]
        return self.condition(part)

    def condition(self, part: Any) -> Any:
        match part:
            case a.Exists(items):
                return ["exists", self.plan(items)]
            case a.Compares(left, comparison, right):
                return ["compare", self.plan(left), comparison, self.plan(right)]
            case a.SameItems(left, right):
                return ["same", self.plan(left), self.plan(right)]
            case a.Not(inner):
                return ["not", self.plan(inner)]
            case a.AllOf(conditions):
                return ["all", *map(self.plan, conditions)]
            case a.AnyOf(conditions):
                return ["any", *map(self.plan, conditions)]
        raise AssertionError(f"no plan: {part}")

    def table(self, table: a.ItemTable | a.Grouped) -> list[Any]:
        order = {"order": table.order_by, "largest_first": table.largest_first} if table.order_by else {}
        options: dict[str, Any] = {**order, **({} if table.limit is None else {"limit": table.limit})}
        if isinstance(table, a.ItemTable):
            columns = [[c.name, self.plan(c.measure), *(["optional"] if c.optional else [])] for c in table.columns]
            return ["table", self.plan(table.items), columns, *([options] if options else [])]
        if table.having is not None:
            name, comparison, number = table.having
            options["having"] = [name, comparison, self.plan(a.Constant(number))]
        groups = [[c.name] if c.summary is None else [c.name, c.summary, self.plan(c.measure)] for c in table.columns]
        return ["group", self.plan(table.items), self.path(table.key), groups, *([options] if options else [])]
