"""Query plans evaluated in plain Python on a few triples, the slow and obvious way, to compare queries with it."""

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import date_number, read_as, term_text
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, Term, Triple
from kgsparql.schema.vocabulary import GraphVocabulary

Key: TypeAlias = Any
"""What is compared: a number, a date as a number, a text in small letters, or a term."""

_COMPARED: dict[a.Comparison, Callable[[Key, Key], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CALCULATED: dict[a.Arithmetic, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "round": lambda number, digits: Fraction(floor(number * 10**digits + Fraction(1, 2)), 10 ** int(digits)),
}  # fmt: skip
_SUMMARIES: dict[a.Summary, Callable[[list[Key]], Key]] = {
    "sum": sum, "avg": lambda keys: sum(keys) / len(keys), "min": min, "max": max,
}  # fmt: skip


class Facts:
    """Some triples, on which plans are evaluated."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.vocabulary = GraphVocabulary()
        self.members: set[Term] = set()
        self.bound: dict[str, Any] = {}
        self._forward: dict[tuple[Term, IRI], set[Term]] = defaultdict(set)
        self._inverse: dict[tuple[Term, IRI], set[Term]] = defaultdict(set)
        for triple in triples:
            self._forward[triple.subject, triple.predicate].add(triple.object)
            self._inverse[triple.object, triple.predicate].add(triple.subject)

    # --- sets

    def items(self, items: a.ItemSet) -> set[Term]:  # noqa: PLR0911 - one arm an operator
        """The items of a set."""
        match items:
            case a.Members():
                return self.members
            case a.Instances(of):
                return self._instances(of)
            case a.Items(terms):
                return set(terms)
            case a.Ends(start, path):
                return {end for one in self.items(start) for end in self._along(one, path)}
            case a.Where(inner):
                return {x for x in self.items(inner) if self._compares(x, items)}
            case a.Named(inner, word):
                return {x for x in self.items(inner) if any(word.casefold() in name for name in self._names(x))}
            case a.Has(inner, path, to):
                return {x for x in self.items(inner) if self._onward(x, path, to)}
            case a.Lacks(inner, path, to):
                return {x for x in self.items(inner) if not self._onward(x, path, to)}
            case a.Both(sets):
                return set.intersection(*map(self.items, sets))
            case a.Either(sets):
                return set.union(*map(self.items, sets))
            case a.Minus(inner, without):
                return self.items(inner) - self.items(without)
            case a.Top():
                return self._best(items)

    def _instances(self, of: IRI) -> set[Term]:
        below: set[Term] = set()
        found: set[Term] = {of}
        while found:
            below |= found
            found = {n for broad in found for p in self.vocabulary.narrower for n in self._inverse[broad, p]} - below
        return {one for kind in below for p in self.vocabulary.types for one in self._inverse[kind, p]}

    def _best(self, top: a.Top) -> set[Term]:
        choose = max if top.largest else min
        keys = {x: self._keys(top.measure, x) for x in self.items(top.items)}
        best = {x: choose(found) for x, found in keys.items() if found}
        if top.number == 1:
            overall = choose(best.values(), default=None)
            return {x for x, key in best.items() if key == overall}
        return set(sorted(best, key=lambda x: (-best[x] if top.largest else best[x], term_text(x)))[: top.number])

    def _ways(self, start: Term, path: PropertyPath) -> set[tuple[Term, ...]]:
        """The ways along a path: no step that goes back returns to the term just left."""
        ways: set[tuple[Term, ...]] = {(start,)}
        for i, step in enumerate(path.steps):
            table = self._forward if step.direction == "forward" else self._inverse
            back = i > 0 and step.inverts(path.steps[i - 1])
            ways = {(*w, n) for w in ways for n in table[w[-1], step.predicate] if not (back and n == w[-2])}
        return ways

    def _along(self, start: Term, path: PropertyPath) -> set[Term]:
        return {way[-1] for way in self._ways(start, path)}

    def _onward(self, x: Term, path: PropertyPath, to: a.ItemSet | None) -> set[Term]:
        ends = self._along(x, path)
        return ends if to is None else ends & self.items(to)

    def _names(self, x: Term) -> list[str]:
        found = (name for label in self.vocabulary.labels for name in self._forward[x, label])
        return [name.value.lower() for name in found if isinstance(name, Literal)]

    # --- measures

    def _keys(self, measure: a.Measure | a.Number, x: Term) -> list[Key]:
        """What an item is measured to have; equal values of different things on the way are several."""
        match measure:
            case a.Value(path, kind, _, among):
                ways = self._ways(x, path)
                if among is not None:
                    ways = {way for way in ways if way[-1] in self.items(among)}
                ends = {(way[-2], read_as(way[-1], kind)) for way in ways}
                return [key for _, key in ends if key is not None]
            case a.HowMany(path, among):
                return [Fraction(len(self._onward(x, path, among)))]
            case a.Summarised(summary, path, _):
                return _summarised(summary, self._keys(a.Value(path), x))
            case a.OfColumn(column, inner):
                return [] if (own := self.bound[column]) is None else self._keys(inner, own)
            case a.Calculated(sign, left, right):
                pairs = [(one, two) for one in self._keys(left, x) for two in self._keys(right, x)]
                return list({_CALCULATED[sign](one, two) for one, two in pairs if sign != "/" or two})
            case _:
                number = self.number(measure)
                return [] if number is None else [number]

    def _compares(self, x: Term, where: a.Where) -> bool:
        """Tell whether a value of an item compares as is asked."""
        measure, value = where.measure, where.value
        keys, kind = self._keys(measure, x), measure.kind if isinstance(measure, a.Value) else "number"
        if not isinstance(value, IRI | Literal):
            others = self._keys(value, x)
        elif isinstance(measure, a.Value) and kind == "date" and isinstance(value, Literal):
            # At the precision of the value: of a year only years are compared.
            ends = [end.value for end in self._along(x, measure.path) if isinstance(end, Literal)]
            keys, others = [date_number(end, like=value) for end in ends], [date_number(value.value, like=value)]
        else:
            others = [read_as(value, kind if kind in {"text", "item"} else "number")]
        compare, known = _COMPARED[where.comparison], [two for two in others if two is not None]
        return any(compare(one, two) for one in keys if one is not None for two in known)

    # --- numbers, yes or no, tables

    def number(self, number: a.Number | a.Measure) -> Key | None:
        """A number; nothing where there is none, as the average of nothing or what is divided by zero."""
        match number:
            case a.Count(items):
                return Fraction(len(self.items(items)))
            case a.SummaryOf(summary, items, measure):
                keys = [key for x in self.items(items) for key in self._keys(measure, x)]
                return 0 if summary == "sum" and not keys else next(iter(_summarised(summary, keys)), None)
            case a.Constant(value):
                return Fraction(value)
            case a.Calculated(sign, left, right):
                one, two = self.number(left), self.number(right)
                return None if one is None or two is None or (sign == "/" and not two) else _CALCULATED[sign](one, two)
            case _:
                raise AssertionError(f"not a number: {number}")

    def holds(self, condition: a.Condition) -> bool | None:
        """Whether a condition holds; nothing where a number that it compares is not there."""
        match condition:
            case a.Exists(items):
                return bool(self.items(items))
            case a.Compares(left, comparison, right):
                one, two = self.number(left), self.number(right)
                return None if one is None or two is None else _COMPARED[comparison](one, two)
            case a.Not(inner):
                found = self.holds(inner)
                return None if found is None else not found

    def groups(self, table: a.Grouped) -> dict[Term, tuple[Key | None, ...]]:
        """The columns of each group that is kept, in whatever order."""
        members: dict[Term, set[Term]] = defaultdict(set)
        for x in self.items(table.items):
            for key in self._along(x, table.key):
                members[key].add(x)
        rows = {key: tuple(self._column(column, inside) for column in table.columns) for key, inside in members.items()}
        if table.having is None:
            return rows
        name, comparison, number = table.having
        at, bound = [column.name for column in table.columns].index(name), self.number(number)
        return {
            key: row
            for key, row in rows.items()
            if None not in (row[at], bound) and _COMPARED[comparison](row[at], bound)
        }

    def rows(self, table: a.ItemTable) -> Iterator[tuple[Key | None, ...]]:
        """The rows of a table, in whatever order: a row for each value of each column, and what it leads to."""
        for x in self.items(table.items):
            for bound in self._bindings(x, table.columns):
                self.bound = bound
                if table.having is not None:
                    name, comparison, value = table.having
                    one, others = self.bound[name], self._keys(value, x)
                    if one is None or not any(_COMPARED[comparison](one, other) for other in others):
                        continue
                yield (x, *self.bound.values())

    def _bindings(self, x: Term, columns: tuple[a.Column, ...]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{}]
        for column in columns:
            longer = []
            for self.bound in found:
                keys = self._keys(column.measure, x) or [None] * column.optional
                longer += [{**self.bound, column.name: key} for key in keys]
            found = longer
        return found

    def best_of_each(self, table: a.BestOfEach) -> set[tuple[Term, Term]]:
        """Each group with its best items."""
        choose = max if table.largest else min
        found = {x: self._keys(table.measure, x) for x in self.items(table.items)}
        best = {x: choose(own) for x, own in found.items() if own}
        pairs = [(key, x) for x in best for key in self._along(x, table.key)]
        overall: dict[Term, Key] = {}
        for key, x in pairs:
            overall[key] = choose(overall.get(key, best[x]), best[x])
        return {(key, x) for key, x in pairs if best[x] == overall[key]}

    def _column(self, column: a.Column, inside: set[Term]) -> Key | None:
        own = Facts(())
        own.__dict__ |= {**self.__dict__, "members": inside}
        return own.number(column.measure) if inside or not isinstance(column.measure, a.SummaryOf) else None


def _summarised(summary: a.Summary, keys: list[Key]) -> list[Key]:
    return [_SUMMARIES[summary](keys)] if keys else []
