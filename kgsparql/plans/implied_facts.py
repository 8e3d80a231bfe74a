"""What steps are said, too, by what a graph declares: beyond the triples of the items that are looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product, starmap
from typing import TypeAlias

from kgsparql.dataclasses import replace
from kgsparql.graphs.graph import KnowledgeGraph, Solution, select_each
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Literal, Term, iris_in, zip_equal
from kgsparql.rdf.vocabulary import DISJOINT_WITH, EXISTENTIAL, LIST_REST, ON_PROPERTY, RDF_TYPE, SUBCLASS_OF
from kgsparql.schema.dating import Joined
from kgsparql.schema.vocabulary import GraphVocabulary

Ends: TypeAlias = dict[Step, dict[Term, set[Term]]]
"""Where the steps from some items lead."""
MOST_OF_EACH = 1_000  # triples that are read, in each direction, of each of several sets


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
    said = [*_nodes_between(facts, some, graph, of.joined)]
    for own, one, back, _ in said:  # first: where a role is a relation, too, its step leads elsewhere
        if "office" not in one:
            own[back][one["x"]].discard(one["node"])
    for own, one, _, steps in said:
        for step in steps:
            own[step][one["x"]].add(one["far"])
    for own in facts:
        for step in of.to_nodes & own.keys():
            own[step] = {near: ends for near, ends in own[step].items() if ends}
            if not own[step]:
                del own[step]


def _nodes_between(
    facts: Sequence[Ends], some: Sequence[g.Pattern], graph: KnowledgeGraph, joined: Mapping[IRI, Sequence[Joined]]
) -> Iterator[tuple[Ends, Solution, Step, list[Step]]]:
    """Find what nodes join the items with: of a kind of nodes by all its relations together.

    :return: of the set that an item is of, how nodes join it, by which step it led to them, and what they say.
    """
    x, node, far, office, via = variables("x node far office via")
    called = defaultdict[tuple[Joined, tuple[IRI, ...]], dict[Term | None, list[IRI]]](lambda: defaultdict(list))
    for relation, way in ((relation, way) for relation, ways in joined.items() for way in ways):
        *roles, held = way.office or (None,)
        called[replace(way, office=None), tuple(filter(None, roles))][held].append(relation)
    selects, found = [], list[tuple[Ends, Step, str, dict[Term | None, list[IRI]]]]()
    for ((way, by), relations), (own, items) in product(called.items(), zip_equal(facts, some)):
        beside = tuple(g.Fact(node, role, office) for role in by)
        onward, backward = way.to_nodes
        for back, direction, ends in ((onward, "forward", (x, far)), (backward, "inverse", (far, x))):
            if back in own:
                group = (items, *starmap(g.Fact, way.facts(node, *ends, via)), *beside)
                head = (x, node, far, office) if by else (x, node, far)
                selects.append(g.Select(head, group, limit=MOST_OF_EACH))
                found.append((own, back, direction, relations))
    for number, one in select_each(graph, "joined", selects):
        own, back, direction, relations = found[number]
        if one["x"] != one["far"]:
            said = relations.get(one.get("office"), ())
            yield own, one, back, [Step(relation, direction) for relation in said]  # type: ignore[arg-type]


def add_values(facts: Sequence[Ends], some: Sequence[g.Pattern], graph: KnowledgeGraph, of: GraphVocabulary) -> None:
    """Put values in the place of the nodes that stand for them.

    :param some: patterns that bind ``?x`` to the items, of each set.
    """
    x, node, value = variables("x node value")
    selects, places = [], list[tuple[int, Step]]()
    for at, own in enumerate(facts):
        for step in [step for step in own if step.direction == "forward" and step.predicate in of.valued]:
            places.append((at, step))
            by = of.valued[step.predicate]
            then = tuple(after for one in by for after in of.valued.get(one, ()))
            to_value = (g.Fact(x, step.predicate, node), g.OneOfPredicates(node, by, value, then=then))
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


def add_keyed(facts: Sequence[Ends], some: Sequence[g.Pattern], graph: KnowledgeGraph, of: GraphVocabulary) -> None:
    """Put things in the place of their keys, and add what has the keys of the items.

    :param some: patterns that bind ``?x`` to the items, of each set.
    """
    x, far, code = variables("x far code")
    selects, places = [], list[tuple[Ends, Step]]()
    for (own, items), (by, to) in product(zip_equal(facts, some), of.keyed.items()):
        for step, begin, end, holder in ((Step(by), by, to.key, far), (Step(by, "inverse"), to.key, by, x)):
            if Step(begin) in own:
                ends = (g.Fact(x, begin, code), g.Fact(far, end, code), g.Fact(holder, RDF_TYPE, to.kind))
                group = (items, *ends, g.Filter(g.Apply("!=", (x, far))))
                selects.append(g.Select((x, far), group, limit=MOST_OF_EACH))
                places.append((own, step))
    for number, one in [*select_each(graph, "keyed", selects)]:
        own, step = places[number]
        own[step][one["x"]] = {*iris_in(own[step][one["x"]]), one["far"]}


def add_restricted(terms: tuple[IRI, ...], facts: Ends, graph: KnowledgeGraph) -> None:
    """Add what restrictions say of some classes, as if their predicates led there, and what those above exclude."""
    if not terms:
        return
    x, rule, by, far = variables("x rule by far")
    if graph.held(frozenset((DISJOINT_WITH,))):
        above_it = g.OneOfPredicates(x, (), rule, then=(SUBCLASS_OF,))
        either = g.Union(((g.Fact(rule, DISJOINT_WITH, far),), (g.Fact(far, DISJOINT_WITH, rule),)))
        for found in g.found(graph, "disjoint", (x, far), (g.Values(x, terms), above_it, either), limit=MOST_OF_EACH):
            facts[Step(DISJOINT_WITH)][found["x"]].add(found["far"])
    said = (g.Fact(rule, ON_PROPERTY, by), g.OneOfPredicates(x, (SUBCLASS_OF,), rule, then=(SUBCLASS_OF,)))
    for way, near, end in (("forward", x, far), ("inverse", far, x)):
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
