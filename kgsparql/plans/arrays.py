"""Plans as JSON: short arrays over names that a list gives to the terms of a graph, both for models and for files.

A plan in a file is ``{"names": {"C1": {"term": "<http://…>"}, …}, "plan": ["count", "C1"]}``. What a name stands for is
looked up in the list it was made with, so that nothing a model wrote gets further than this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast, get_args

from kgsparql.dataclasses import dataclass, field, fields, frozen, replace
from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import decimal
from kgsparql.rdf.paths import Direction, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Json, Literal, parse_term, printable
from kgsparql.schema.dating import Dates

MAX_DEPTH = 12  # levels of arrays in a plan

_PERCENT = re.compile(r"(?=.*[1-9])\d+(\.\d+)?%\Z")
_NO_PREDICATE = re.compile(r"[CEL]\d")  # by its letter: entities, classes and texts of a list
_COMPARISONS, _ARITHMETIC, _SUMMARIES = (get_args(words) for words in (a.Comparison, a.Arithmetic, a.Summary))
_EXACT_NUMBERS = frozenset(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal"))


@frozen
class ListedName:
    """What a name of a list stands for: an item (E), a class (C), a predicate (R) or a value of the question (L).

    :param kind: of a predicate, what it leads to.
    :param unit: of a predicate, of its numbers.
    :param also: of an item, others of its name that nothing tells apart from it.
    :param read_by: of a predicate that leads to items named by numbers, or to several of one name: the predicate of
        the names, by which these are compared and grouped.
    """

    term: IRI | Literal
    kind: a.Kind = "item"
    unit: str = ""
    also: tuple[IRI, ...] = ()
    read_by: IRI | None = None

    @property
    def items(self) -> a.Items:
        """The item, with the others of its name."""
        return a.Items((self.term, *self.also))


Names = Mapping[str, ListedName]


def _where(
    items: a.ItemSet, measure: a.Measure, comparison: a.Comparison, value: IRI | Literal | a.Measure | a.Number
) -> a.Where:
    """A date that is compared with a whole number is compared by its year."""
    is_whole = isinstance(value, Literal) and value.datatype == Literal(0).datatype
    if is_whole and isinstance(measure, a.Value) and measure.kind in {"date", "time"}:
        measure = replace(measure, kind="year")
    return a.Where(items, measure, comparison, value)


_OPERATIONS = """
    set items Items item+
    set ends Ends set path
    set where Where set measure comparison value
    set named Named set text place?
    set has Has set path set?
    set lacks Lacks set path set?
    set and Both set+
    set or Either set+
    set minus Minus set set
    set current Current set
    set retired Retired set
    set once Once set
    set unknown Unknown set
    set sources Sources set
    set disputed Disputed set path
    set only-in OnlyIn set set
    set held Held set path dates whole whole whole whole set?
    set beside Beside facts order-of-times facts
    set times Times facts moment
    set top Top set measure many order
    measure n HowMany path set?
    measure year Value values
    measure when When facts moment
    measure to Value values set
    measure of OfColumn name measure
    measure SUMMARIES Summarised values
    measure ARITHMETIC Calculated measure measure
    number count Count set
    number SUMMARIES SummaryOf set measure
    number ARITHMETIC Calculated number number
    condition exists Exists set
    condition compare Compares number comparison number
    condition not Not condition
    table table ItemTable set columns rows?
    table group Grouped set key groups rows?
    table best BestOfEach set key measure order
    table numbers Numbers numbered+
"""
"""The operations of each sort: by the word that its array begins with what it stands for, and the sorts of its parts.

With ``?`` a part may be missing, with ``+`` more of it may follow.
"""
_FORMS: dict[str, dict[str, tuple[type, str]]] = {}
for _sort, _word, _kind, _parts in (line.split(maxsplit=3) for line in _OPERATIONS.strip().splitlines()):
    _words = {"SUMMARIES": _SUMMARIES, "ARITHMETIC": _ARITHMETIC}.get(_word, (_word,))
    _FORMS.setdefault(_sort, {}).update(dict.fromkeys(_words, (getattr(a, _kind), _parts)))
_MAKERS: dict[type, Callable[..., Any]] = {
    a.Numbers: lambda columns: a.Numbers(tuple(columns)),
    a.Held: lambda start, path, dates, first, last, over_by, undated, to=None: a.Held(
        start, path, dates, first, last, over_by, bool(undated), to
    ),
    a.Items: lambda items: a.Items(tuple(term for one in items for term in one.terms)),
    a.Where: _where,
    a.Value: lambda values, among=None: replace(values, among=among) if among else a.Value(values.path, "year"),
    a.Top: lambda items, measure, number, largest: a.Top(
        items, measure, *((1, largest, number) if isinstance(number, Decimal) else (number, largest))
    ),
    a.Summarised: lambda word, values: a.Summarised(word, values.path, values.unit, values.kind),
}
"""What the parts of some operations make, that are not just their fields."""
_WORD_OF = {
    kind: word
    for forms in _FORMS.values()
    for word, (kind, _) in forms.items()
    if word not in (*_SUMMARIES, *_ARITHMETIC)
}
_ENDS: dict[str, Json] = {"order": {"desc": True, "asc": False}, "optional": {"optional": True}}
_WORDS = {"comparison": _COMPARISONS, "moment": (*get_args(a.Moment), "years"), "order-of-times": get_args(a.TimeOrder)}
_WORDS["place"] = get_args(a.TextPlace)
_OPTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    "order": ("order_by", (str, list)), "largest_first": ("largest_first", (bool,)),
    "limit": ("limit", (int,)), "items": ("shows_items", (bool,)), "having": ("having", (list,)),
}  # fmt: skip
"""What is said about the rows of a table: its field, and of what types it is in JSON; a measure is a list."""


def read_plan(written: Any, names: Names) -> a.Plan:
    """The plan that arrays over names stand for.

    :raises PlanError: for what is no plan, or a name that is not in the list; it says where.

    >>> of = {"C1": ListedName(IRI("http://e.org/City")), "R1": ListedName(IRI("http://e.org/size"), "number")}
    >>> read_plan(["top", "C1", "R1>", 1, "desc"], of).measure.kind
    'number'
    >>> read_plan(["count", "C9"], of)
    Traceback (most recent call last):
    kgsparql.errors.PlanError: C9 is not in the list; there are C1, R1
    """
    word = written[0] if isinstance(written, list) and written and isinstance(written[0], str) else ""
    sort = next((sort for sort in ("condition", "number", "table") if word in _FORMS[sort]), "set")
    return cast("a.Plan", _Reader(names).part(sort, written))


def read_plan_file(content: Any) -> a.Plan:
    """The plan of an object as :func:`written_plan` makes it.

    :raises PlanError: for another object; it says what is missing.

    >>> read_plan_file({"names": {"C1": {"term": "<http://e.org/City>"}}, "plan": ["count", "C1"]})
    Count(items=Instances(of=<NamedNode value=http://e.org/City>))
    """
    if not (isinstance(content, dict) and isinstance(content.get("names"), dict) and "plan" in content):
        is_question = isinstance(content, dict) and "candidates" in content
        why = ": of this question none was made" if is_question else ': an object with "names" and "plan" is expected'
        raise PlanError(f"not a plan{why}")
    return read_plan(content["plan"], {str(name): _name_of(str(name), one) for name, one in content["names"].items()})


def _name_of(name: str, one: Any) -> ListedName:
    try:
        term = parse_term(one["term"])
        kind, unit = one.get("kind", "item"), str(one.get("unit", ""))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise PlanError(f'{name}: {{"term": "<IRI>"}} is expected, with a kind and a unit if it has one') from error
    if kind not in get_args(a.Kind) or not isinstance(term, IRI | Literal):
        raise PlanError(f"{name}: a term with a name, and one of the kinds {', '.join(get_args(a.Kind))}")
    return ListedName(term, kind, unit)


@dataclass(slots=True)
class _Reader:
    names: Names
    depth: int = 0

    def part(self, sort: str, written: Any) -> Any:
        """What a part of some sort stands for: an operation, or an end."""
        match written:
            case ["count", _] | ["sum" | "avg" | "min" | "max", _, _] if sort in {"measure", "value"}:
                sort = "number"  # over a set, and nothing that each item has
        match written:
            case ["where", inner, path, "=" | "!=" as comparison, str(name)] if (
                name in self.names and self.names[name].also
            ):
                return self.part(sort, ["has" if comparison == "=" else "lacks", inner, path, name])
            case [str() as word, *_] if word in _FORMS.get(sort, ()):
                return self.operation(sort, written)
        return self.end(sort, written)

    def operation(self, sort: str, written: Sequence[Any]) -> Any:
        """What the array of an operation makes of its parts."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise PlanError(f"a plan is nested more than {MAX_DEPTH} deep")
        word, *parts = written
        kind, sorts = _FORMS[sort][word]
        read = self.parts(sort, sorts, parts)
        self.depth -= 1
        options = read.pop() if isinstance(read[-1], dict) else {}
        if not options.keys() <= {each.name for each in fields(kind)}:
            raise _unlike("option of a table", parts[-1])
        made = [tuple(read)] if sorts.endswith("+") else read
        return _MAKERS.get(kind, kind)(*([] if kind in _WORD_OF else [word]), *made, **options)

    def parts(self, sort: str, sorts: str, written: Any) -> list[Any]:
        """The parts of an array, each of its sort."""
        named = sorts.split()
        if not isinstance(written, list):
            raise _unlike(sort, written)
        if sorts.endswith("+"):
            named += named[-1:] * (len(written) - len(named))
        if not sum("?" not in one for one in named) <= len(written) <= len(named):
            raise _unlike(sort, written)
        return [self.part(one.rstrip("?+"), part) for one, part in zip(named, written, strict=False)]

    def end(self, sort: str, written: Any) -> Any:  # noqa: PLR0911, PLR0912 - one arm a sort
        """A name, a number, a path, or something else that is no operation."""
        is_number = isinstance(written, int | float | Decimal) and not isinstance(written, bool)
        match sort, written:
            case "set", "each":
                return a.Members()
            case "set", str():
                return a.Instances(self.iri("class", written)) if written[:1] == "C" else self.named(written).items
            case "item", _:
                return self.named(written).items
            case "text", str():
                return self.named(written).term.value
            case "name", str():
                return printable(written, 60)
            case (("measure" | "number"), _) if is_number:
                return a.Constant(Decimal(str(written)))
            case "value", _ if is_number:
                return decimal(Decimal(str(written)))
            case "value", str() if written[-1:] not in {"<", ">"} and self.is_term(written):
                return self.named(written).term
            case "value", _:
                return self.part("measure", written)
            case (("path" | "key" | "measure" | "values"), str() | [str(), *_]):
                return self.path(sort, [written] if isinstance(written, str) else written)
            case _, str() if written in _ENDS.get(sort, ()):
                return _ENDS[sort][written]
            case _, str() if written in _WORDS.get(sort, ()):
                return written
            case "whole" | "many", int():
                return written
            case "many", str() if _PERCENT.match(written):
                return Decimal(written[:-1])
            case "facts", list():
                return self.part("set", written)
            case "dates", [list() as began, list() as over, list() as at]:
                return Dates(*(tuple(map(self.path_of_date, some)) for some in (began, over, at)))
            case "columns", list():
                return tuple(a.Column(*self.parts("column", "name measure optional?", one)) for one in written)
            case "numbered", list():
                return a.Column(*self.parts("column", "name number", written))
            case "groups", list():
                return tuple(map(self.group_column, written))
            case "rows", dict():
                return self.options(written)
        raise _unlike(sort, written)

    def path(self, sort: str, steps: Sequence[Any]) -> PropertyPath | a.Value:
        """A path, or what is measured at its end: of items named by numbers, the names."""
        path = PropertyPath(tuple(map(self.step, steps)))
        last = self.named(steps[-1].rstrip("<>+"))
        if sort == "path":
            return path
        if path.last_step.is_inverse:
            return path if sort == "key" else a.Value(path, "item")
        if last.read_by is not None:
            path = PropertyPath((*path.steps, Step(last.read_by, "forward")))
        return path if sort == "key" else a.Value(path, last.kind, last.unit)

    def path_of_date(self, written: Any) -> PropertyPath:
        """A path to a date; it is empty where what a fact leads to is the date."""
        return PropertyPath(tuple(map(self.step, [written] if isinstance(written, str) else written)))

    def group_column(self, written: Any) -> a.Column:
        """A name alone stands for how many items a group has, one with a summary for that of a measure."""
        match written:
            case [name]:
                return a.Column(self.part("name", name), a.Count(a.Members()))
            case [name, str() as summary, measure] if summary in _SUMMARIES:
                written = [name, [summary, "each", measure]]
        return a.Column(*self.parts("column of a group", "name number", written))

    def step(self, written: Any) -> Step:
        if not isinstance(written, str):
            raise _unlike("path", written)
        one = written.rstrip("+")
        direction: Direction = "inverse" if one.endswith("<") else "forward"
        return Step(self.iri("predicate", one.rstrip("<>")), direction, one != written)

    def options(self, given: Mapping[str, Any]) -> Json:
        """What is said about the rows of a table, by the names of its fields."""
        found: Json = {}
        for name, value in given.items():
            own, kind = _OPTIONS.get(name, ("", ()))
            if value is not None and type(value) not in kind:
                raise _unlike("option of a table", {name: value})
            found |= {} if value is None else {own: value}
        if not isinstance(found.get("order_by", ""), str):
            found["order_by"] = self.part("measure", found["order_by"])
        if "having" in found:
            found["having"] = tuple(self.parts("option of a table", "name comparison measure", found["having"]))
        return found

    def is_term(self, name: str) -> bool:
        """Whether a name stands for a value, and not for a predicate."""
        return self.named(name).kind == "item" or isinstance(self.named(name).term, Literal)

    def iri(self, sort: str, name: str) -> IRI:
        term = self.named(name).term
        if sort == "predicate" and _NO_PREDICATE.match(name):
            raise PlanError(f"{name} is no predicate")
        if not isinstance(term, IRI):
            raise PlanError(f"{name}: a {sort} is an IRI, and this is {printable(str(term), 40)}")
        return term

    def named(self, name: Any) -> ListedName:
        if not isinstance(name, str) or name not in self.names:
            shown = printable(str(name), 40)
            raise PlanError(f"{shown} is not in the list; there are {', '.join(list(self.names)[:20]) or 'no names'}")
        return self.names[name]


def _unlike(sort: str, written: Any) -> PlanError:
    return PlanError(f"no {sort} is written so: {printable(str(written), 80)}")


def written_plan(plan: a.Plan) -> Json:
    """The object of a plan for a file: its names, and the arrays over them.

    >>> written_plan(a.Count(a.Instances(IRI("http://e.org/City"))))
    {'names': {'C1': {'term': '<http://e.org/City>'}}, 'plan': ['count', 'C1']}
    """
    writer = _Writer()
    arrays = writer.part(plan)
    names = dict[str, dict[str, str]]()
    for name, one in writer.names.items():
        kind = {} if one.kind == "item" else {"kind": one.kind}
        names[name] = {"term": str(one.term), **kind, **({"unit": one.unit} if one.unit else {})}
    return {"names": names, "plan": arrays}


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
            self.name("R", s.predicate, *((kind, unit) if i == last else ()))
            + ("<" if s.is_inverse else ">")
            + "+" * s.is_repeated
            for i, s in enumerate(path.steps)
        ]
        return steps[0] if len(steps) == 1 else steps

    def part(self, part: Any) -> Any:  # noqa: PLR0911, PLR0912 - one arm an end
        """The array of an operation, or the name, the number or the word that stands for an end."""
        match part:
            case a.Instances(of):
                return self.name("C", of)
            case a.Items((term,)):
                return self.name("E", term)
            case a.Items(terms):
                return ["items", *(self.name("E", term) for term in terms)]
            case a.Named(items, word, place):
                where = [place] if place != "CONTAINS" else []
                return ["named", self.part(items), self.name("L", Literal(word)), *where]
            case a.Value(among=among) if among is not None:
                return ["to", self.part(replace(part, among=None)), self.part(among)]
            case a.Members():
                return "each"
            case a.Top(items, measure, number, largest, share):
                return ["top", *map(self.part, (items, measure, f"{share:f}%" if share else number, largest))]
            case a.Value(path, "year"):
                return ["year", self.path(path)]
            case a.Value(path, kind, unit):
                return self.path(path, kind, unit)
            case a.Summarised(summary, path, unit, kind):
                return [summary, self.path(path, kind, unit)]
            case a.Constant(value):
                return int(value) if value == int(value) else float(value)
            case a.Held():
                own = [part.start, part.path, part.dates, part.first, part.last, part.over_by, int(part.with_undated)]
                return ["held", *map(self.part, own), *(() if part.to is None else [self.part(part.to)])]
            case a.Column(name, measure, optional):
                return [name, self.part(measure), *(["optional"] if optional else [])]
            case a.ItemTable() | a.Grouped():
                return self.table(part)
            case PropertyPath():
                return self.path(part)
            case Dates(began, over, at):
                return [[self.path(one) for one in own] for own in (began, over, at)]
            case Literal() if part.datatype.value in _EXACT_NUMBERS:
                return self.part(a.Constant(Decimal(part.value)))
            case IRI() | Literal():
                return self.name("E" if isinstance(part, IRI) else "L", part)
            case bool():
                return "desc" if part else "asc"
            case str() | int():
                return part
        values = [getattr(part, each.name) for each in fields(part)]
        flat = [one for value in values for one in (value if type(value) is tuple else (value,)) if one is not None]
        return [*([_WORD_OF[type(part)]] if type(part) in _WORD_OF else []), *map(self.part, flat)]

    def table(self, table: a.ItemTable | a.Grouped) -> list[Any]:
        usual = {each.name: each.default for each in fields(table)}
        said = {name: getattr(table, own) for name, (own, _) in _OPTIONS.items() if own in usual}
        options = {name: value for name, value in said.items() if value != usual[_OPTIONS[name][0]]}
        if not isinstance(table.order_by, str):
            by = self.part(table.order_by)
            options["order"] = [by] if isinstance(by, str) else by
        if "having" in options:
            options["having"] = [*map(self.part, options["having"])]
        key = [self.path(table.key)] if isinstance(table, a.Grouped) else []
        columns = [self.part(column) for column in table.columns]
        return [_WORD_OF[type(table)], self.part(table.items), *key, columns, *([options] if options else [])]
