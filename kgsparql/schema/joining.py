"""Nodes that say by two facts what a predicate says by one: a class whose things only join others."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from kgsparql.exploration.counting import counted
from kgsparql.graphs.graph import KnowledgeGraph, Solution, in_parts, select_each
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable, variables
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, Term, iris_in, local_name, name_words
from kgsparql.rdf.vocabulary import OF_ONTOLOGIES, RANK, RDF_TYPE, claim_kind, statement_value
from kgsparql.schema.dating import Dating, Joined, Nodes, are_nameless, dated_ways, observed
from kgsparql.schema.patterns import patterns

_WORDS = 3  # of a text that is a note
_NODES, _FACTS = 40, 600  # nodes of a class, and triples of these, that tell what they are
_CLASSES = 400  # that are looked at
_TYPED, _NODES_ASKED = 1_000_000, 12  # of an endpoint: things of which classes are read; and nodes of each class
_FIRST = 3  # nodes of a class that tell whether others are looked at
_KEYS = 12  # values of a predicate that tell of what they are keys
_KEY = re.compile(r"(?!.*\d\d-\d\d)[\w./-]+(?: [\w./-]+){0,4}")
_CODE = re.compile(r"(?=.*[A-Z\d])(?=.*[A-Za-z])[A-Z\d./_-]{1,12}")  # no number, and no word
_HASH = re.compile(r"(?:^|[/#_:.-])(?=[a-f]*\d)([\da-f]{8,})$", re.IGNORECASE)


def joining_classes(
    graph: KnowledgeGraph,
) -> tuple[dict[IRI, tuple[Joined, ...]], frozenset[IRI], dict[IRI, Dating]]:
    """Find the classes whose nodes only join two things, each with how these are joined; and the links of join tables.

    Of nodes with dates, either link is what the relation is called: the `member` of a club, the `club` of a member.

    Nodes have no name, their IRIs say nothing, nothing leads to them, and they have two facts and no more. Which of
    these leads to the subject is told by their names (``patterns.toml``), or by the one that is called as the class is.
    At an endpoint these are three requests, and dates are not read: they would be a query for every class.
    """
    if not graph.held(frozenset((RDF_TYPE,))):
        return {}, frozenset(), {}
    kinds, each = _used_classes(graph), _NODES_ASKED
    if not graph.is_remote:
        kinds, each = [kind for kind, own in _nodes_of_classes(graph, kinds, _FIRST) if _may_join(kind, own)], _NODES
    found = dict(_nodes_of_classes(graph, kinds, each))
    ways = {kind: way for kind, nodes in found.items() if (way := _way(kind, _links(nodes))) is not None}
    joined: dict[IRI, tuple[Joined, ...]] = {kind: (ways[kind],) for kind in _kinds_not_led_to(graph, [*ways])}
    links = frozenset(link for nodes in found.values() for link in _links_of_table(nodes))
    if graph.is_remote:
        return joined, links, {}
    dated, roles = dict[IRI, Dating](), defaultdict[IRI, tuple[Joined, ...]](tuple)
    for kind in (kind for kind in found if kind not in joined):
        dates, own = dated_ways(kind, found[kind], graph)
        for role, one in own:
            roles[role] += (one,)
            if dates.are_known:
                dated[role] = Dating(dates if role not in dated else dates | dated[role].dates)
    alone = {role: own for role, own in roles.items() if _are_said_by_nodes_alone(role, own, graph)}
    return joined | alone, links, {role: own for role, own in dated.items() if role in alone}


def roles_without_meaning(joined: Mapping[IRI, tuple[Joined, ...]]) -> frozenset[IRI]:
    """List the predicates of nodes that say nothing but which end is which: `from`, `to`."""
    ways = (way for own in joined.values() for way in own if way.office is None)
    return frozenset(role for way in ways for role in (way.start, way.end)) - joined.keys()


def _used_classes(graph: KnowledgeGraph) -> list[IRI]:
    """List classes that things are of: as an endpoint states them, else those of its first things."""
    x, kind = variables("x kind")
    typed: g.Group = (g.Fact(x, RDF_TYPE, kind),)
    group = (g.Select((kind,), typed, limit=_TYPED),) if graph.is_remote else typed
    used: Iterable[Term] | None = graph.sizes.stated("class")
    if used is None:
        query = g.select_query("kinds", g.Select((kind,), group, distinct=True, limit=_CLASSES))
        used = [one["kind"] for one in counted(graph, query)]
    own = [one for one in iris_in(used) if not one.value.startswith(OF_ONTOLOGIES)]
    return own[:MAX_ARMS] if graph.is_remote else own


def _may_join(kind: IRI, nodes: Nodes) -> bool:
    """Tell whether nodes of a class may join things; what some of them do not, the class does not."""
    return bool(
        _links(nodes) or _links_of_table(nodes) or are_nameless(kind, nodes) or any(map(observed, nodes.values()))
    )


def _nodes_of_classes(graph: KnowledgeGraph, kinds: Sequence[IRI], each: int) -> Iterator[tuple[IRI, Nodes]]:
    """Yield classes, each with what some of its nodes have."""
    x, kind, p, y = variables("x kind p y")
    for some in in_parts(kinds, MAX_ARMS):
        queries = []
        for one in some:
            nodes = g.Select((kind, x), (g.Values(kind, (one,)), g.Fact(x, RDF_TYPE, kind)), limit=each)
            facts = g.Select((kind, x, p, y), (nodes, g.Fact(x, p, y)), limit=_FACTS // _NODES * each)
            queries.append(g.select_query("nodes", facts))
        found: dict[Term, dict[Term, list[tuple[Any, Term]]]] = defaultdict(lambda: defaultdict(list))
        for said in graph.select(Query.union(queries)):
            found[said["kind"]][said["x"]].append((said["p"], said["y"]))
        yield from ((one, found[one]) for one in some)


def _links(nodes: Nodes) -> list[IRI]:
    """List the two predicates by which every node leads to one thing; none where nodes are things themselves.

    What has a name, a date, a number or a third link is asked for itself (which flights, how many orders), as is what
    two of join the same things.
    """
    links = sorted({p for facts in nodes.values() for p, _ in facts if p != RDF_TYPE}, key=str)
    ends = Counter(frozenset(one for one in facts if one[0] != RDF_TYPE) for facts in nodes.values())
    joined = [dict(own) for own in ends]
    is_of_links = all(len(own) == len(said) == 2 for own, said in zip(joined, ends, strict=True))
    are_things = any(isinstance(y, Literal) for own in joined for y in own.values())
    is_thing = are_things or not _are_without_words(nodes) or max(ends.values(), default=0) > 1
    return links if len(links) == 2 and is_of_links and not is_thing else []


def _links_of_table(nodes: Nodes) -> set[IRI]:
    """List the links of a table that only joins two others, as tables are mapped: with their keys as values, too."""
    said = [fact for facts in nodes.values() for fact in facts if fact[0] != RDF_TYPE]
    links = {p for p, y in said if not isinstance(y, Literal)}
    keys = [{*name_words(p)} for p, y in said if isinstance(y, Literal)]
    are_keys = bool(keys) and all(any(key <= {*name_words(link)} for link in links) for key in keys)
    each = (Counter(p for p, y in facts if p in links and not isinstance(y, Literal)) for facts in nodes.values())
    is_of_both = len(links) == 2 and all(own == Counter(links) for own in each)
    return links if are_keys and is_of_both else set()


def _are_said_by_nodes_alone(role: IRI, nodes: Iterable[Joined], graph: KnowledgeGraph) -> bool:
    """Whether a predicate leads from nothing but nodes of some classes."""
    x, y = variables("x y")
    kinds = {one.kind for one in nodes}
    others = tuple(g.NotExists((g.Fact(end, RDF_TYPE, kind),)) for kind in kinds for end in (x, y))
    return not g.found(graph, "others", (x,), (g.Fact(x, role, y), *others), limit=1)


def _kinds_not_led_to(graph: KnowledgeGraph, kinds: Sequence[IRI]) -> list[IRI]:
    x, p, y = variables("x p y")
    led = set[IRI]()
    for part in in_parts(kinds, MAX_ARMS):
        some = [g.Select((x,), (g.Fact(x, RDF_TYPE, kind),), limit=_NODES) for kind in part]
        each = [g.Select((x,), (nodes, g.Fact(y, p, x)), limit=1) for nodes in some]
        led |= {part[at] for at, _ in select_each(graph, "led_to", each)}
    return [kind for kind in kinds if kind not in led]


def _way(kind: IRI, links: list[IRI]) -> Joined | None:
    """Tell which predicate leads to the subject, and which to the object; ``None`` where their names do not."""
    *_, last = ("", *name_words(kind))
    if not links or last.endswith(tuple(patterns()["happening"])):
        return None
    starts, ends = ([one for one in links if _is_called(one, role, kind)] for role in ("start", "end"))
    if len(starts) == len(ends) == 1:
        return Joined(kind, starts[0], ends[0])
    of_kind = {*name_words(kind)}
    called = [one for one in links if of_kind.issubset(name_words(one)) or of_kind.issuperset(name_words(one))]
    if starts or ends or len(called) != 1:
        return None
    (other,) = {*links} - {*called}
    return Joined(kind, other, called[0])


def _is_called(predicate: IRI, role: str, kind: IRI) -> bool:
    """Whether what a predicate is called, without the words of the class, is a word of a role: `hasSubject`."""
    rest = [word for word in name_words(predicate) if word not in {*name_words(kind), "has"}]
    return len(rest) == 1 and rest[0] in patterns()[role]


def _are_without_words(nodes: Iterable[Term]) -> bool:
    """Whether the IRIs of nodes say nothing to a person: `c4f1a09b2e7d`, and no `VAV-2-12`; not all are of digits."""
    found = [_HASH.search(local_name(node)) for node in nodes if isinstance(node, IRI)]
    return all(found) and (not found or not all(one[1].isdecimal() for one in found if one))


class Keyed(NamedTuple):
    """Which things the values of a predicate mean, as a column holds the keys of rows of another table.

    :param kind: the class of these things.
    :param key: the predicate by which each has a value that no other of them has.
    """

    kind: IRI
    key: IRI


def key_columns(graph: KnowledgeGraph) -> dict[IRI, Keyed]:
    """Find the predicates whose values are keys of things of another kind: `dept_cd "WKS"`, of a department.

    Every value is the key of one such thing, and no link of both says the same. What is no code, or a number, is a key
    only where the predicate is called as the class is, or as its key.
    """
    if graph.is_remote or not graph.held(frozenset((RDF_TYPE,))):
        return {}
    values, owners = defaultdict[IRI, dict[Literal, None]](dict), defaultdict[IRI, set[IRI]](set)
    for of, nodes in _nodes_of_classes(graph, _used_classes(graph), _NODES_ASKED):
        for p, value in chain.from_iterable(nodes.values()):
            if isinstance(value, Literal) and _KEY.fullmatch(value.value):
                values[p][value] = None
                owners[p].add(of)
    some = [(p, (*own,)[:_KEYS]) for p, own in values.items() if len(own) > 1]
    y, key, kind, code = variables("y key kind code")
    holders: list[g.Group] = [(g.Values(code, own), g.Fact(y, key, code), g.Fact(y, RDF_TYPE, kind)) for _, own in some]
    found, selects = dict[IRI, Keyed](), [g.Select((key, kind), one, limit=_FACTS) for one in holders]
    ways = Counter((at, one["kind"], one["key"]) for at, one in select_each(graph, "keys", selects))
    for (at, *way), number in sorted(ways.items(), key=str):
        (by, own), to = some[at], Keyed(*way)  # type: ignore[arg-type]
        if number == len(own) and _may_be_key(by, to, owners[by], own) and _is_key(by, to, graph):
            found.setdefault(by, to)
    return found


def _may_be_key(by: IRI, to: Keyed, owners: set[IRI], values: Iterable[Literal]) -> bool:
    """Tell whether values may be keys by what they are called, or as codes that are no words."""
    own, of_key, of_kind = map(set, map(name_words, (by, to.key, to.kind)))
    is_called = not (own - patterns()["key"]).isdisjoint(of_key | of_kind)
    if any(literal_kind(one) != "text" for one in values):
        return is_called and by != to.key and not (own | of_key).isdisjoint(patterns()["key"])
    are_codes = all(_CODE.fullmatch(one.value) for one in values)
    return (by != to.key or owners > {to.kind}) and (is_called or are_codes)


def _is_key(by: IRI, to: Keyed, graph: KnowledgeGraph) -> bool:
    """Tell whether each value is the key of one thing, and nothing else links what has it with that."""
    x, y, z, code, link = variables("x y z code link")
    holder, other = ((g.Fact(one, RDF_TYPE, to.kind), g.Fact(one, to.key, code)) for one in (y, z))
    has = g.Fact(x, by, code)
    against: list[g.Group] = [
        (*holder, *other, g.Filter(g.Apply("!=", (y, z)))),
        (has, g.NotExists(holder)),
        (has, *holder, g.Fact(x, link, y)),
    ]
    return not any(g.found(graph, "keys", (code,), group, limit=1) for group in against)


def value_nodes(graph: KnowledgeGraph) -> dict[IRI, tuple[IRI, ...]]:
    """Find the predicates that lead to nodes which stand for a value, each with the one that leads to the value.

    Such a node has one value, and nothing else: with a unit, it is more than a number. A note is its text, whoever says
    it, and when: that is beside it.
    """
    x, p, node, q, y = variables("x p node q y")
    found = _claims_of(graph)
    for value in sorted(graph.held(frozenset(map(IRI, patterns()["value"]))), key=str):
        some = g.Select((node,), (g.Fact(node, value, y),), limit=_FACTS)
        for one in g.found(graph, "to_values", (p,), (some, g.Fact(x, p, node)), distinct=True, limit=_CLASSES):
            nodes = g.Select((node,), (g.Fact(x, one["p"], node),), distinct=True, limit=_NODES)
            if _are_values(g.found(graph, "of_values", (node, q, y), (nodes, g.Fact(node, q, y)), limit=_FACTS), value):
                found[one["p"]] = (value,)
    return found


def _claims_of(graph: KnowledgeGraph) -> dict[IRI, tuple[IRI, ...]]:
    """Find the predicates to the statements of a Wikibase, where none leads to their values alone."""
    x, p, node, q, y = variables("x p node q y")
    ranked = (
        g.Select((node,), (g.Fact(node, RANK, Variable("rank")),), limit=_FACTS),
        g.Fact(x, p, node),
        g.Fact(node, q, y),
    )
    said = g.found(graph, "claims", (p, q), ranked, distinct=True) if graph.held(frozenset((RANK,))) else ()
    pairs = [(one["p"], one["q"]) for one in said if claim_kind(one["p"]) == "claim"]
    own = {by: to for by, to in pairs if to == statement_value(by)}
    return {
        by: (to,)
        for by, to in own.items()
        if not graph.held(frozenset((IRI(by.value.replace("/prop/", "/prop/direct/")),)))
    }


def _are_values(facts: Iterable[Solution], value: IRI) -> bool:
    own: dict[Term, list[Term]] = defaultdict(list)
    values: list[Term] = []
    for one in facts:
        if one["q"] != RDF_TYPE:
            own[one["node"]].append(one["q"])
        values += [one["y"]] if one["q"] == value else []
    if not values or not all(isinstance(one, Literal) for one in values):
        return False
    are_texts = all(
        len(re.findall(r"[^\W\d_]{2,}", term.value)) >= _WORDS for term in values if isinstance(term, Literal)
    )
    return all(said.count(value) == 1 and (are_texts or said == [value]) for said in own.values())
