"""Triple patterns that share variables: what a query joins, so that it can be joined across several graphs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from kgsparql.rdf.paths import Constraint, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term

_LIST = re.compile(r"[^\[\],\s][^\[\],]*")
_LIMIT = 1000

Values: TypeAlias = Mapping[str, tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple pattern: names of variables; the predicate may be an IRI."""

    subject: str
    predicate: str | IRI
    object: str

    @property
    def variables(self) -> frozenset[str]:
        """The variables that a solution binds."""
        return frozenset(name for name in (self.subject, self.predicate, self.object) if isinstance(name, str))

    @classmethod
    def of(cls, near: str, step: Step, far: str) -> TriplePattern:
        """The pattern of a step from one variable to another."""
        return cls(near, step.predicate, far) if step.direction == "forward" else cls(far, step.predicate, near)

    @classmethod
    def parse(cls, text: str) -> TriplePattern:
        """The pattern that a text writes in the comments at the head of a query.

        >>> TriplePattern.parse("?a <http://e.org/p> ?b").predicate, TriplePattern.parse("?a ?p ?b").predicate
        (<NamedNode value=http://e.org/p>, 'p')
        """
        subject, predicate, far = (place.removeprefix("?") for place in text.split())
        return cls(subject, IRI(predicate[1:-1]) if predicate.startswith("<") else predicate, far)

    @classmethod
    def declared(cls, header: Mapping[str, str]) -> tuple[TriplePattern, ...]:
        """The triples that every solution shows: ``triples`` in the head of a query, else ``joins``."""
        return tuple(map(cls.parse, _listed(header, "triples" if "triples" in header else "joins")))


@dataclass(frozen=True, slots=True)
class Join:
    """A query as patterns, which can be asked one by one where the triples are in several graphs.

    :param head: variables, and their names in a solution.
    :param values: the terms that a variable may be; for a variable in ``skipped`` the predicates that it is not.
    :param apart: pairs of variables that are different terms.
    :param classless: variables that are not classes, as ``queries/classes.rq`` finds them.
    :param ranges: variable of a literal → variable with language ranges, one of which must match the literal's tag.
    :param number: returned as ``?walk``.
    """

    patterns: tuple[TriplePattern, ...]
    head: tuple[tuple[str, str], ...]
    values: Values = field(default_factory=lambda: MappingProxyType({}))
    skipped: frozenset[str] = frozenset()
    apart: tuple[tuple[str, str], ...] = ()
    literals: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    classless: frozenset[str] = frozenset()
    ranges: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    number: int | None = None
    limit: int = _LIMIT

    @property
    def names(self) -> frozenset[str]:
        """The variables that every solution binds."""
        return frozenset(name for _, name in self.head) | ({"walk"} if self.number is not None else frozenset())

    @property
    def one_of(self) -> tuple[tuple[IRI, ...], ...]:
        """For each pattern whose predicate is a variable: the predicates it may be, where these are given."""
        names = [p.predicate for p in self.patterns if isinstance(p.predicate, str) and p.predicate not in self.skipped]
        return tuple(
            tuple(term for term in self.values[name] if isinstance(term, IRI)) for name in names if name in self.values
        )

    @property
    def shown(self) -> tuple[TriplePattern, ...]:
        """Its patterns, with the names that variables have in a solution."""
        names = dict(self.head)
        return tuple(
            TriplePattern(names.get(p.subject, p.subject), p.predicate, names.get(p.object, p.object))
            for p in self.patterns
        )

    def bound(self, name: str, terms: Sequence[Term]) -> Join:
        """The join with the terms of one variable."""
        return replace(self, values=MappingProxyType({**self.values, name: tuple(dict.fromkeys(terms))}))

    @classmethod
    def declared(cls, header: Mapping[str, str]) -> Join | None:
        """The join that the comments at the head of a query declare; ``None`` without ``joins`` there.

        >>> found = Join.declared({"joins": "[?a ?p ?b, ?b ?q ?c]", "variables": "[a, c]", "literals": "[c]"})
        >>> found.patterns[1].subject, sorted(found.names), sorted(found.literals)
        ('b', ['a', 'c'], ['c'])
        """
        if "joins" not in header:
            return None
        return cls(
            tuple(map(TriplePattern.parse, _listed(header, "joins"))),
            tuple((name, name) for name in _listed(header, "variables")),
            skipped=frozenset(_listed(header, "skipped")),
            literals=frozenset(_listed(header, "literals")),
            others=frozenset(_listed(header, "no_literals")),
            classless=frozenset(_listed(header, "no_classes")),
            ranges=MappingProxyType(dict(pair.split() for pair in _listed(header, "ranges"))),
        )

    @classmethod
    def along(
        cls, path: PropertyPath, *, constraints: Sequence[Constraint], number: int | None, ends_only: bool
    ) -> Join:
        """The join along a property path that :func:`kgsparql.rdf.path_queries.walk` asks for."""
        nodes = [f"n{i}" for i in range(len(path.steps) + 1)]
        steps = [TriplePattern.of(nodes[i], step, nodes[i + 1]) for i, step in enumerate(path.steps)]
        asides = [TriplePattern.of(nodes[c.at], c.step, f"c{i}") for i, c in enumerate(constraints)]
        back = [
            (nodes[i + 1], nodes[i - 1]) for i in range(1, len(path.steps)) if path.steps[i].inverts(path.steps[i - 1])
        ]
        shown = [*nodes, *(f"c{i}" for i in range(len(constraints)))]
        head = [("n0", "n0"), (nodes[-1], "end")] if ends_only else [(name, name) for name in shown]
        values = {f"c{i}": tuple(c.values) for i, c in enumerate(constraints)}
        return cls((*steps, *asides), tuple(head), MappingProxyType(values), apart=tuple(back), number=number)


def _listed(header: Mapping[str, str], name: str) -> list[str]:
    return [found.strip() for found in _LIST.findall(header.get(name, ""))]
