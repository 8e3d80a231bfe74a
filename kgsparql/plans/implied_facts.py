"""What steps are said, too, by what a graph declares: beyond the triples of the items that are looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, starmap
from typing import NamedTuple, TypeAlias

from kgsparql.dataclasses import replace
from kgsparql.graphs.graph import KnowledgeGraph, select_each
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import DISJOINT_WITH, EXISTENTIAL, LIST_REST, ON_PROPERTY, RDF_TYPE, SUBCLASS_OF
from kgsparql.schema.dating import Joined
from kgsparql.schema.joining import led_across, steps_across
from kgsparql.schema.vocabulary import GraphVocabulary

Ends: TypeAlias = dict[Step, dict[Term, set[Term]]]
"""Where the steps from some items lead."""
MOST_OF_EACH = 1_000  # triples that are read, in each direction, of each of several sets


class _Between(NamedTuple):
    """A node between an item and another term.

    :param at: the place of the set that the item is of.
    :param back: the step from the item to the node; ``steps``, those from the item to the other term.
    :param is_in_place: these are in the place of that.
    """

    at: int
    item: Term
    node: Term
    far: Term
    back: Step
    steps: tuple[Step, ...]
    is_in_place: bool = True


def add_declared(facts: Iterable[Ends], vocabulary: GraphVocabulary) -> None:
    """Add what steps are, too, by what the graph declares of their predicates."""
    implied = vocabulary.implied
    for own in facts if implied else ():
        stated = [(other, found) for step, found in [*own.items()] for other in implied.get(step, ())]
        for other, found in stated:
            for near, ends in found.items():
                own[other][near] = own[other][near] | ends


def add_nodes(facts: Sequence[Ends], some: Sequence[g.Pattern], graph: KnowledgeGraph, of: GraphVocabulary) -> None:
    """Add what nodes say of the items as steps, in the place of the nodes.

    :param some: patterns that bind ``?x`` to the items, of each set.
    """
    if all(map(of.to_nodes.isdisjoint, facts)):
        return
    said = [*_nodes_between(some, graph, of)]
    for one in said:  # first: where a role is a relation, too, its step leads elsewhere
        if one.is_in_place:
            facts[one.at][one.back][one.item].discard(one.node)
    for one in said:
        for step in one.steps:
            facts[one.at][step][one.item].add(one.far)
    for own in facts:
        for step in of.to_nodes & own.keys():
            own[step] = {near: ends for near, ends in own[step].items() if ends}
            if not own[step]:
                del own[step]


def _nodes_between(some: Sequence[g.Pattern], graph: KnowledgeGraph, of: GraphVocabulary) -> Iterator[_Between]:
    kind, near, end, x, node, far = variables("kind near end x node far")
    yield from _nodes_led_to(some, graph, led_across(of.joined))
    across = steps_across(of.joined)
    ways = [way for way in chain(*of.joined.values()) if not way.is_looked_for]
    if not ways:
        return
    kinds, roles = {way.kind: 0 for way in ways}, {role: 0 for way in ways for role in (way.start, way.end)}
    facts: g.Group = (g.Fact(node, near, x), g.Fact(node, RDF_TYPE, kind), g.Fact(node, end, far))
    joined = (*facts, g.Values(kind, (*kinds,)), g.Values(near, (*roles,)), g.Values(end, (*roles,)))
    head = (kind, near, end, x, node, far)
    selects = [g.Select(head, (items, *joined), limit=MOST_OF_EACH) for items in some]
    for at, one in select_each(graph, "joined", selects):
        steps = across.get((one["kind"], by := one["near"], one["end"]), ())
        if isinstance(by, IRI) and steps and one["x"] != one["far"]:
            yield _Between(at, one["x"], one["node"], one["far"], Step(by, "inverse"), steps)


def _nodes_led_to(
    some: Sequence[g.Pattern], graph: KnowledgeGraph, ways: Mapping[Joined, Sequence[IRI]]
) -> Iterator[_Between]:
    x, node, far, office = variables("x node far office")
    together = defaultdict[tuple[Joined, tuple[IRI, ...]], dict[Term | None, Sequence[IRI]]](dict)
    for way, relations in ways.items():
        *roles, held = way.office or (None,)
        together[replace(way, office=None), tuple(filter(None, roles))][held] = relations
    selects, found = [], list[tuple[int, Step, str, dict[Term | None, Sequence[IRI]]]]()
    for ((way, by), called), (at, items) in product(together.items(), enumerate(some)):
        beside = tuple(g.Fact(node, role, office) for role in by)
        onward, backward = way.to_nodes
        for back, direction, ends in ((onward, "forward", (x, far)), (backward, "inverse", (far, x))):
            group = (items, *starmap(g.Fact, way.facts(node, *ends)), *beside)
            head = (x, node, far, office) if by else (x, node, far)
            selects.append(g.Select(head, group, limit=MOST_OF_EACH))
            found.append((at, back, direction, called))
    for number, one in select_each(graph, "led_to", selects):
        at, back, direction, called = found[number]
        if relations := called.get(one.get("office"), ()):
            steps = tuple(Step(relation, direction) for relation in relations)  # type: ignore[arg-type]
            yield _Between(at, one["x"], one["node"], one["far"], back, steps, is_in_place="office" not in one)


def add_values(facts: Sequence[Ends], some: Sequence[g.Pattern], graph: KnowledgeGraph, of: GraphVocabulary) -> None:
    """Put values in the place of the nodes that stand for them.

    :param some: patterns that bind ``?x`` to the items, of each set.
    """
    x, node, value = variables("x node value")
    selects, places = [], list[tuple[int, Step]]()
    for at, own in enumerate(facts):
        for step in [step for step in own if step.direction == "forward" and step.predicate in of.valued]:
            places.append((at, step))
            to_value = (g.Fact(x, step.predicate, node), g.Fact(node, of.valued[step.predicate], value))
            selects.append(g.Select((x, value), (some[at], *to_value), limit=MOST_OF_EACH))
            for item, told in own.pop(step).items():
                if texts := {end for end in told if isinstance(end, Literal)}:
                    own[step][item] |= texts
    for number, one in select_each(graph, "values", selects):
        at, step = places[number]
        facts[at][step].setdefault(one["x"], set()).add(one["value"])
    for at, step in places:
        if not facts[at][step]:
            del facts[at][step]


def add_restricted(terms: tuple[IRI, ...], facts: Ends, graph: KnowledgeGraph) -> None:
    """Add what restrictions say of some classes, as if their predicates led there, and what those above exclude."""
    x, rule, by, far = variables("x rule by far")
    if terms and graph.held(frozenset((DISJOINT_WITH,))):
        above_it = g.OneOfPredicates(x, (), rule, then=(SUBCLASS_OF,))
        either = g.Union(((g.Fact(rule, DISJOINT_WITH, far),), (g.Fact(far, DISJOINT_WITH, rule),)))
        for found in g.found(graph, "disjoint", (x, far), (g.Values(x, terms), above_it, either), limit=MOST_OF_EACH):
            facts[Step(DISJOINT_WITH)][found["x"]].add(found["far"])
    said = (g.Fact(rule, ON_PROPERTY, by), g.OneOfPredicates(x, (SUBCLASS_OF,), rule, then=(SUBCLASS_OF,)))
    for way, near, end in (("forward", x, far), ("inverse", far, x)):
        if terms:
            above = () if way == "forward" else (SUBCLASS_OF,)  # who has what is below it has it, too
            group = (g.Values(near, terms), *said, g.OneOfPredicates(rule, EXISTENTIAL, far, then=above))
            select = g.Select((x, by, far), group, limit=MOST_OF_EACH)
            for found in graph.select(g.select_query("restrictions", select)):
                if isinstance(by_it := found["by"], IRI):
                    facts[Step(by_it, "forward" if near == x else "inverse")][found[near.name]].add(found[end.name])


def add_list_owners(terms: tuple[IRI, ...], facts: Ends, ways: tuple[IRI, ...], graph: KnowledgeGraph) -> None:
    """Add what has some terms in its lists, as if it led to these."""
    x, cell, start, p, owner = variables("x cell list p owner")
    rest = g.OneOfPredicates(start, (), cell, then=(LIST_REST,))
    group = (g.Values(x, terms), g.OneOfPredicates(cell, ways, x), rest, g.Fact(owner, p, start))
    head = (x, p, owner)
    for found in graph.select(g.select_query("in_lists", g.Select(head, group, limit=MOST_OF_EACH))):
        if isinstance(found["p"], IRI) and found["p"] != LIST_REST:
            facts[Step(found["p"], "inverse")][found["x"]].add(found["owner"])
