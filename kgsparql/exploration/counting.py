"""The predicates at some entities, or of a whole graph, with counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from kgsparql.exploration.batched_select import batched_select, entities_of, skipped_in, skipping, union_of
from kgsparql.exploration.results import Found, PredicateCount
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import KnowledgeGraph, Solution
from kgsparql.rdf.paths import Direction, Directions, Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import UNWALKED

COUNTED = 200_000
"""Triples that one counting query looks at (60 ms); where there are more, a count is a lower bound."""


def predicates(
    graph: KnowledgeGraph, entities: Iterable[Term], *, direction: Directions = "both", skip: Iterable[IRI] = UNWALKED
) -> Found[PredicateCount]:
    """The predicates at each entity, with the number of distinct neighbours that each leads to.

    One query for a chunk of entities. Entities are in the order given, the steps of each in lexical order.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    skipped = skipped_in(graph, skip)
    arms = [skipping(Query.load(f"counts_{way}"), "predicate", skipped) for way in directions(direction)]
    batched = batched_select(
        graph,
        lambda chunk, _: union_of([arm.bind(entity=chunk) for arm in arms]),
        starts,
        key_of=lambda solution: solution["entity"],
        bound=COUNTED,
        weight=lambda solution: _integer(solution["solutions"]),
    )
    counts: dict[Term, list[PredicateCount]] = {entity: [] for entity in starts}
    for solutions, exact in ((batched.solutions, True), *((some, False) for some in batched.over.values())):
        for solution in solutions:
            counts[solution["entity"]].append(_count(solution, exact=exact))
    cuts = (Cut("predicates", len(some), None, str(entity)) for entity, some in batched.over.items())
    ordered = (count for entity in starts for count in sorted(counts[entity], key=lambda count: step_key(count.step)))
    return Found(tuple(ordered), tuple(cuts))


def predicate_counts(graph: KnowledgeGraph) -> dict[IRI, int]:
    """How many triples each predicate of a graph has, the commonest first, then in lexical order.

    A triple that is in several named graphs counts once.
    """
    kind = "_distinct" if graph.may_repeat_triples else ""
    found = graph.select(Query.load(f"index_predicates{kind}"))
    counts = {p: _integer(s["triples"]) for s in found if isinstance(p := s["predicate"], IRI)}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0]))))


def step_key(step: Step) -> tuple[str, str]:
    """The key that lists of steps are sorted by."""
    return step.predicate.value, step.direction


def _integer(term: Term) -> int:
    return int(cast("Literal", term).value)


def _count(solution: Solution, *, exact: bool) -> PredicateCount:
    way: Direction = "forward" if "forward" in solution else "inverse"
    step = Step(cast("IRI", solution["predicate"]), way)
    return PredicateCount(cast("IRI", solution["entity"]), step, _integer(solution[way]), exact)
