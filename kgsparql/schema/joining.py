"""Nodes that say by two facts what a predicate says by one: a class whose things only join others."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from weakref import WeakKeyDictionary

from kgsparql.dataclasses import dataclass
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, local_name, normalised, split_camel_case
from kgsparql.rdf.vocabulary import CLASS_KINDS, OF_ONTOLOGIES, RDF_TYPE, may_be_name
from kgsparql.schema.patterns import patterns

_NODES, _FACTS = 40, 600  # nodes of a class, and triples of these, that tell what they are
_CLASSES, _TOGETHER = 400, 20  # classes that are looked at; of which one query reads nodes
_LITERALS, _LINKS = 3, 3  # predicates that a node has at most: to literals, and to things
_SEVERAL = 3  # nodes, at least, where only their ends tell how they are joined
_HASH = re.compile(r"(?:^|[/#_:.-])(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{8,}$|^\d*$", re.IGNORECASE)
_READ: WeakKeyDictionary[KnowledgeGraph, dict[IRI, tuple[Joined, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Joined:
    """The nodes of a class, which stand for what a predicate would say of one thing about another.

    :param kind: the class; its name is that of the relation.
    :param start: the predicate from a node to what the relation is said of; ``end``, to what is said of it.
    """

    kind: IRI
    start: IRI
    end: IRI

    def facts(self, node: g.Node, subject: g.Node, far: g.Node) -> tuple[tuple[g.Node, IRI, g.Node], ...]:
        """List the ends and the predicate of each fact of a node that joins two things."""
        return (node, RDF_TYPE, self.kind), (node, self.start, subject), (node, self.end, far)


def joining_classes(graph: KnowledgeGraph) -> dict[IRI, tuple[Joined, ...]]:
    """Find the classes whose nodes only join things, each with how these are joined; both ways, where only kinds tell.

    So are the predicates of nodes, where these are called as what they lead to.

    None at endpoints: it would be a query for every class. Nodes have no name, nothing leads to them, and each has one
    fact by both predicates. Which of these leads to the subject is told by their names (``patterns.toml``), by the one
    that is called as the class is, else by what they lead to, where nothing is at both ends.
    """
    origin = graph.origin
    if not graph.is_embedded or not graph.held(frozenset((RDF_TYPE,))):
        return {}
    if (read := _READ.get(origin)) is None:
        read = dict(_joining_classes(origin))
        if origin.is_as_loaded:
            _READ[origin] = read
    return read


def roles_without_meaning(joined: Mapping[IRI, tuple[Joined, ...]]) -> frozenset[IRI]:
    """List the predicates of nodes that say nothing but which end is which: `from`, `to`."""
    return frozenset(role for own in joined.values() for way in own for role in (way.start, way.end)) - joined.keys()


def steps_across(joined: Mapping[IRI, tuple[Joined, ...]]) -> dict[tuple[Term, Term, Term], tuple[Step, ...]]:
    """List the steps that a node stands for, by its class and the predicates from it to the near and the far end."""
    across: dict[tuple[Term, Term, Term], tuple[Step, ...]] = defaultdict(tuple)
    for relation, ways in joined.items():
        for way in ways:
            across[way.kind, way.start, way.end] += (Step(relation),)
            across[way.kind, way.end, way.start] += (Step(relation, "inverse"),)
    return across


def _joining_classes(graph: KnowledgeGraph) -> Iterator[tuple[IRI, tuple[Joined, ...]]]:
    x, kind, p, y = map(Variable, ("x", "kind", "p", "y"))
    used = g.Select(((kind, None),), (g.Fact(x, RDF_TYPE, kind),), distinct=True, limit=_CLASSES)
    kinds = [one["kind"] for one in graph.select(g.select_query("kinds", used))]
    own = [one for one in kinds if isinstance(one, IRI) and not one.value.startswith(OF_ONTOLOGIES)]
    for at in range(0, len(own), _TOGETHER):
        queries = []
        for one in own[at : at + _TOGETHER]:
            nodes = g.Select(
                ((kind, None), (x, None)), (g.Values(kind, (one,)), g.Fact(x, RDF_TYPE, kind)), limit=_NODES
            )
            facts = g.Select(((kind, None), (x, None), (p, None), (y, None)), (nodes, g.Fact(x, p, y)), limit=_FACTS)
            queries.append(g.select_query("nodes", facts))
        found: dict[Term, dict[Term, list[tuple[IRI, Term]]]] = defaultdict(lambda: defaultdict(list))
        for said in graph.select(Query.union(queries)):
            if isinstance(predicate := said["p"], IRI):
                found[said["kind"]][said["x"]].append((predicate, said["y"]))
        for one in own[at : at + _TOGETHER]:
            links = _links(found[one])
            if not links or not _is_nothing_led_to(graph, one):
                continue
            if ways := _ways(graph, one, links, found[one]):
                yield one, ways
            if len(ways) == 1:
                yield from _by_role(graph, ways[0])
            elif len(links) == 2 and all(map(_is_nameless, found[one])):
                for way in ways or (Joined(one, *links[:2]), Joined(one, *links[1::-1])):
                    yield from _by_role(graph, way)


def _links(nodes: Mapping[Term, list[tuple[IRI, Term]]]) -> list[IRI]:
    """List the predicates by which every node leads to one thing; none where nodes are things themselves."""
    once, others = Counter[IRI](), set[IRI]()
    for facts in nodes.values():
        counts = Counter(p for p, y in facts if p != RDF_TYPE and not isinstance(y, Literal))
        once.update(p for p, number in counts.items() if number == 1)
        others.update(p for p, y in facts if isinstance(y, Literal) or counts[p] > 1)
        others.update(p for p, y in facts if p == RDF_TYPE and y in CLASS_KINDS)
    always = sorted((p for p, number in once.items() if number == len(nodes)), key=str)
    is_thing = any(map(may_be_name, others)) or RDF_TYPE in others or len(others) > _LITERALS
    return [] if is_thing or not 2 <= len(once) <= _LINKS or len(always) < 2 else always


def _is_nothing_led_to(graph: KnowledgeGraph, kind: IRI) -> bool:
    x, p, y = map(Variable, ("x", "p", "y"))
    some = g.Select(((x, None),), (g.Fact(x, RDF_TYPE, kind),), limit=_NODES)
    return not graph.select(g.select_query("led_to", g.Select(((x, None),), (some, g.Fact(y, p, x)), limit=1)))


def _ways(graph: KnowledgeGraph, kind: IRI, links: list[IRI], nodes: Collection[Term]) -> tuple[Joined, ...]:
    """Tell which predicate leads to the subject, and which to the object; both ways, or none, where nothing tells."""
    starts, ends = ([one for one in links if _is_called(one, role, kind)] for role in ("start", "end"))
    if len(starts) == len(ends) == 1:
        return (Joined(kind, *starts, *ends),)
    if len(links) > 2 or not all(map(_is_nameless, nodes)):  # it may be a thing: a chapter `of` a book, `by` somebody
        return ()
    ends = ends or [one for one in links if not starts and not {*_words(kind)}.isdisjoint(_words(one))]
    if len(starts) + len(ends) == 1:
        (other,) = {*links} - {*starts, *ends}
        return (Joined(kind, *(starts or [other]), *(ends or [other])),)
    if starts or ends or len(nodes) < _SEVERAL or _share_ends(graph, kind, links):
        return ()
    return Joined(kind, *links), Joined(kind, *reversed(links))


def _by_role(graph: KnowledgeGraph, by: Joined) -> Iterator[tuple[IRI, tuple[Joined, ...]]]:
    """Yield the predicate of nodes that says itself what it leads to: the `employer` of an employment.

    Where others than nodes of the class have it, it is what it is there.
    """
    x, y = Variable("x"), Variable("y")
    others = (g.Fact(x, by.end, y), g.NotExists((g.Fact(x, RDF_TYPE, by.kind),)))
    is_word = not any(_is_called(by.end, role, by.kind) for role in ("start", "end"))
    if is_word and not graph.select(g.select_query("elsewhere", g.Select(((x, None),), others, limit=1))):
        yield by.end, (by,)


def _is_called(predicate: IRI, role: str, kind: IRI) -> bool:
    """Whether what a predicate is called, without the words of the class, is a word of a role: `hasSubject`."""
    rest = [word for word in _words(predicate) if word not in {*_words(kind), "has"}]
    return len(rest) == 1 and rest[0] in patterns()[role]


def _is_nameless(node: Term) -> bool:
    """Whether the IRI of a node says nothing to a person, either: `c4f1a09b2e7d`, and no `VAV-2-12`."""
    return not isinstance(node, IRI) or _HASH.search(local_name(node)) is not None


def _share_ends(graph: KnowledgeGraph, kind: IRI, links: list[IRI]) -> bool:
    """Whether anything is at both ends, so that nothing tells who does it from whom it is done to."""
    x, z, y = map(Variable, ("x", "z", "y"))
    first, second = ((g.Fact(one, RDF_TYPE, kind), g.Fact(one, by, y)) for one, by in zip((x, z), links, strict=True))
    return bool(graph.select(g.select_query("both_ends", g.Select(((y, None),), (*first, *second), limit=1))))


@cache
def _words(iri: IRI) -> tuple[str, ...]:
    return tuple(normalised(split_camel_case(local_name(iri))).split())


def value_nodes(graph: KnowledgeGraph) -> dict[IRI, IRI]:
    """Find the predicates that lead to nodes which stand for a value, each with the one that leads to the value.

    Such a node has one value, no name, and one more fact at most: its unit.
    """
    x, p, node, q, y = map(Variable, ("x", "p", "node", "q", "y"))
    found: dict[IRI, IRI] = {}
    for value in sorted(graph.held(frozenset(map(IRI, patterns()["value"]))), key=str):
        some = g.Select(((node, None),), (g.Fact(node, value, y),), limit=_FACTS)
        to = g.Select(((p, None),), (some, g.Fact(x, p, node)), distinct=True, limit=_CLASSES)
        for one in graph.select(g.select_query("to_values", to)):
            if isinstance(by := one["p"], IRI):
                nodes = g.Select(((node, None),), (g.Fact(x, by, node),), distinct=True, limit=_NODES)
                facts = g.Select(((node, None), (q, None), (y, None)), (nodes, g.Fact(node, q, y)), limit=_FACTS)
                if _are_values(graph.select(g.select_query("of_values", facts)), value):
                    found[by] = value
    return found


def _are_values(facts: Iterable[Solution], value: IRI) -> bool:
    own: dict[Term, list[Term]] = defaultdict(list)
    for one in facts:
        if one["q"] != RDF_TYPE:
            own[one["node"]].append(one["q"])
        if one["q"] == value and not isinstance(one["y"], Literal):
            return False
    return bool(own) and all(said.count(value) == 1 and len(said) <= 2 for said in own.values())
