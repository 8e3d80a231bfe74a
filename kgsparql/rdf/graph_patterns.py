"""SELECT queries from typed parts: patterns, expressions and sub-selects that are values, and one way to write them.

With :mod:`kgsparql.rdf.query` and :mod:`kgsparql.rdf.path_queries` the only module that makes query text. Variables
are written by number, terms after they are validated; operators come from closed lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Protocol, TypeAlias
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.errors import QueryBindingError
from kgsparql.rdf.paths import Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, XSD, BlankNode, Literal, Triple, validated

Operator = OneOf["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "&&", "||", "!"]
Function = OneOf[
    "STR", "LCASE", "CONTAINS", "STRSTARTS", "STRENDS", "REGEX", "REPLACE", "CONCAT", "COALESCE", "IF", "isBlank",
    "isLiteral", "isNumeric", "sameTerm", "ROUND", "FLOOR", "BOUND", "DATATYPE", "decimal", "integer", "dateTime",
]  # fmt: skip
Aggregation = OneOf["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE"]


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A variable, by its name: a letter and a number, or a name that this package gives."""

    name: str

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.name.isidentifier()):
            raise QueryBindingError(f"not a variable: {self.name!r}")

    def __str__(self) -> str:
        return f"?{self.name}"


def variables(names: str) -> Iterator[Variable]:
    """Make the variables of some names.

    >>> x, y = variables("x y")
    >>> print(x, y)
    ?x ?y
    """
    return map(Variable, names.split())


Node: TypeAlias = "Variable | IRI | Literal | Triple | Fact"


@frozen
class Apply:
    """An operator or a function applied to expressions."""

    name: Operator | Function
    arguments: tuple[Expression, ...]


@frozen
class Aggregate:
    """An aggregate over the solutions of a group; a count is of distinct values."""

    name: Aggregation
    of: Expression


Expression: TypeAlias = "Node | Apply | Aggregate"


def apply(name: Operator | Function, *arguments: Expression | str | float) -> Apply:
    """Apply an operator or a function to expressions; what is a value of Python stands for the literal.

    >>> apply("=", Variable("x"), 1)
    Apply(name='=', arguments=(Variable(name='x'), <Literal value=1 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#integer>>))
    """
    return Apply(name, tuple(Literal(one) if isinstance(one, str | float | int) else one for one in arguments))


def filter_by(name: Operator | Function, *arguments: Expression | str | float) -> Filter:
    """Make the filter by an operator or a function that is applied to expressions."""
    return Filter(apply(name, *arguments))


@frozen
class Fact:
    """A triple pattern, or in the place of an object one for a triple term; the predicate may be a variable."""

    subject: Node
    predicate: IRI | Variable
    object: Node


@frozen
class OneOfPredicates:
    """One of several predicates, or steps, from one node to another."""

    start: Node
    predicates: tuple[IRI | Step, ...]
    end: Node
    then: tuple[IRI | Step, ...] = ()


@frozen
class Values:
    """The terms that a variable may be."""

    variable: Variable
    terms: tuple[IRI | Literal, ...]


@frozen
class Filter:
    """A condition."""

    condition: Expression


@frozen
class Bind:
    """What a variable is."""

    variable: Variable
    value: Expression


@frozen
class Said:
    """A group that one named graph says."""

    graph: Variable
    group: Group


@frozen
class NotExists:
    """That a group has no solution."""

    group: Group


@frozen
class Without:
    """Without the solutions of a group."""

    group: Group


@frozen
class Optional:
    """A group that may have no solution."""

    group: Group


@frozen
class Union:
    """Groups of which one has the solution."""

    groups: tuple[Group, ...]


@frozen
class Select:
    """A SELECT query, or a sub-select where it stands in a group.

    :param head: variables, each with the expression that it is where the group does not bind it.
    :param order: expressions, and whether the largest comes first.
    """

    head: tuple[HeadPart, ...]
    group: Group
    distinct: bool = False
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None

    @property
    def columns(self) -> list[tuple[Variable, Expression | None]]:
        """The head, ``None`` beside each variable that the group binds."""
        return [(one, None) if isinstance(one, Variable) else one for one in self.head]


Pattern: TypeAlias = (
    "Fact | OneOfPredicates | Values | Filter | Bind | Said | NotExists | Without | Optional | Union | Select"
)
HeadPart: TypeAlias = "Variable | tuple[Variable, Expression | None]"
Group: TypeAlias = "tuple[Pattern, ...]"


def any_of(groups: Sequence[Group]) -> Group:
    """Make the patterns of which one has the solution."""
    return groups[0] if len(groups) == 1 else (Union(tuple(groups)),)


@dataclass(slots=True)
class Variables:
    """Gives variables that were not used before."""

    _numbers: Iterator[int] = field(default_factory=count)

    def __call__(self, letter: str) -> Variable:
        """Make a new variable: a letter and the next number."""
        return Variable(f"{letter}{next(self._numbers)}")


def select_query(name: str, select: Select) -> Query:
    """Write the query of a SELECT."""
    return Query(name, _select_text(select, ""), made_of=select)


class Asked(Protocol):
    """A graph that solves queries."""

    def select(self, query: Query) -> Iterable[Mapping[str, Any]]:
        """Return the solutions of a SELECT."""


def found(graph: Asked, name: str, head: tuple[HeadPart, ...], group: Group, **options: Any) -> list[Mapping[str, Any]]:
    """Find the solutions of a SELECT in a graph; it has ``options`` as of :class:`Select`."""
    return [*graph.select(select_query(name, Select(head, group, **options)))]


def ask_query(group: Group) -> Query:
    """Write the query of an ASK: whether a group has a solution."""
    return Query("asked", f"ASK {{\n{_group_text(group, '  ')}}}")


def _select_text(select: Select, indent: str) -> str:
    head = " ".join(str(v) if e is None else f"({_expression_text(e)} AS {v})" for v, e in select.columns)
    lines = [f"{indent}SELECT {'DISTINCT ' if select.distinct else ''}{head} WHERE {{"]
    lines += [f"{_group_text(select.group, indent + '  ')}{indent}}}"]
    if select.group_by:
        lines.append(f"{indent}GROUP BY {' '.join(map(str, select.group_by))}")
    if select.having is not None:
        lines.append(f"{indent}HAVING({_expression_text(select.having)})")
    if select.order:
        by = " ".join(f"{'DESC' if largest else 'ASC'}({_expression_text(e)})" for e, largest in select.order)
        lines.append(f"{indent}ORDER BY {by}")
    if select.limit is not None:
        lines.append(f"{indent}LIMIT {int(select.limit)}")
    return "\n".join(lines)


def _group_text(group: Group, indent: str) -> str:
    return "".join(_pattern_text(pattern, indent) for pattern in group)


def _pattern_text(pattern: Pattern, indent: str) -> str:
    inner = indent + "  "
    match pattern:
        case Fact(subject, predicate, far):
            return f"{indent}{_node_text(subject)} {_node_text(predicate)} {_node_text(far)} .\n"
        case OneOfPredicates():
            path, then = ("|".join(map(_step_text, some)) for some in (pattern.predicates, pattern.then))
            steps = [f"({path})"] * bool(path) + [f"({then})*"] * bool(then)
            if path == then:  # Oxigraph took 70 s for what takes no millisecond so
                steps = [f"({path})+"]
            return f"{indent}{_node_text(pattern.start)} {'/'.join(steps)} {_node_text(pattern.end)} .\n"
        case Values():
            return f"{indent}VALUES {pattern.variable} {{ {' '.join(map(_node_text, pattern.terms))} }}\n"
        case Filter():
            return f"{indent}FILTER({_expression_text(pattern.condition)})\n"
        case Bind(variable, value):
            return f"{indent}BIND({_expression_text(value)} AS {variable})\n"
        case NotExists() | Without() | Optional() | Said():
            words = {NotExists: "FILTER NOT EXISTS", Without: "MINUS", Optional: "OPTIONAL"}
            word = f"GRAPH {pattern.graph}" if isinstance(pattern, Said) else words[type(pattern)]
            return f"{indent}{word} {{\n{_group_text(pattern.group, inner)}{indent}}}\n"
        case Union():
            arms = [f"{{\n{_group_text(group, inner)}{indent}}}" for group in pattern.groups]
            return f"{indent}{' UNION '.join(arms)}\n"
        case Select():
            return f"{indent}{{\n{_select_text(pattern, inner)}\n{indent}}}\n"


def _step_text(step: IRI | Step) -> str:
    if isinstance(step, IRI):
        return str(validated(step))
    return f"{'^' * (step.direction == 'inverse')}{validated(step.predicate)}"


def _node_text(node: Node | BlankNode) -> str:
    if isinstance(node, Variable):
        return str(node)
    if isinstance(node, Triple | Fact):
        return f"<<( {_node_text(node.subject)} {_node_text(node.predicate)} {_node_text(node.object)} )>>"
    if not isinstance(node, IRI | Literal):
        raise QueryBindingError(f"{type(node).__name__} cannot be in a query", hint="start from an IRI beside it")
    return str(validated(node))


def _expression_text(expression: Expression) -> str:
    match expression:
        case Apply("!", (one,)):
            return f"!({_expression_text(one)})"
        case Apply("decimal" | "integer" | "dateTime" as name, (one,)):
            return f"<{XSD}{name}>({_expression_text(one)})"
        case Apply(name, arguments) if name[0].isalpha():
            return f"{name}({', '.join(map(_expression_text, arguments))})"
        case Apply(name, arguments):
            return f"({f' {name} '.join(map(_expression_text, arguments))})"
        case Aggregate("COUNT", of):
            return f"COUNT(DISTINCT {_expression_text(of)})"
        case Aggregate(name, of):
            return f"{name}({_expression_text(of)})"
        case _:
            return _node_text(expression)
