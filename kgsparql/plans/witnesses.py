"""What a plan rests on: the queries of its facts, and the triples that their solutions show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from kgsparql.plans import algebra as a
from kgsparql.plans.plan_compiler import PlanCompiler, classes_below
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Term, Triple


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The query of the facts that a plan rests on: each solution shows the triples that these patterns make."""

    query: Query
    facts: tuple[g.Fact, ...]

    def triples(self, solution: Mapping[str, Term]) -> Iterator[Triple]:
        """The triples of a solution; a pattern of which it leaves something open makes none."""
        for fact in self.facts:
            places = (fact.subject, fact.predicate, fact.object)
            subject, predicate, far = (solution.get(n.name) if isinstance(n, Variable) else n for n in places)
            if isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and far is not None:
                yield Triple(subject, predicate, far)


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
    return tuple(Witnesses(*PlanCompiler(known, limit).facts_of(*part)) for part in _witnessed(plan))


def subclass_facts(of: IRI, *, vocabulary: GraphVocabulary, limit: int) -> Witnesses:
    """The query of what says which classes are below a class."""
    new, below = g.Variables(), vocabulary.narrower
    narrow, broad, one, other = new("c"), new("c"), new("p"), new("p")
    direct, further = g.Fact(narrow, one, of), g.Fact(narrow, other, broad)
    arms = (
        (g.Values(one, below), direct),
        (g.Values(other, below), further, classes_below(broad, of, vocabulary)),
    )
    head = tuple((name, None) for name in (narrow, one, other, broad))
    select = g.Select(head, (g.Union(arms),), distinct=True, limit=limit)
    return Witnesses(g.select_query("subclasses", select), (direct, further))


def _witnessed(plan: a.Plan | a.Measure) -> Iterator[tuple[a.ItemSet, tuple[a.Measure, ...], tuple[PropertyPath, ...]]]:
    """The sets that a plan looks at, with what is measured of their items, and the paths to what groups them."""
    match plan:
        case a.Count(items) | a.Exists(items):
            yield items, (), ()
        case a.SummaryOf(_, items, measure) | a.Top(items, measure):
            yield items, (measure,), ()
        case a.ItemTable(items, columns):
            yield items, tuple(column.measure for column in columns), ()
        case a.Grouped(items, key, columns):
            yield items, tuple(c.measure for c in columns if c.measure is not None), (key,)
        case a.Calculated(_, left, right) | a.Compares(left, _, right) | a.SameItems(left, right):
            yield from _witnessed(left)
            yield from _witnessed(right)
        case a.Not(inner):
            yield from _witnessed(inner)
        case a.AllOf(conditions) | a.AnyOf(conditions):
            for one in conditions:
                yield from _witnessed(one)
        case a.Constant():
            return
        case items:
            yield cast("a.ItemSet", items), (), ()
