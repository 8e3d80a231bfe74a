"""Facts with dates: where a graph says since when, and until when, what a predicate says is so.

It says so of a node that stands for the fact: a statement of a Wikibase, a node with a predicate to each end of it (a
membership, a term of office), a reifier of RDF 1.2, or a statement as RDF 1.0 has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from kgsparql.dataclasses import frozen, replace
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import (
    IRI,
    BlankNode,
    Literal,
    Term,
    distinct,
    grouped,
    iris_in,
    local_name,
    name_words,
    normalised,
    split_camel_case,
)
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE, REIFIES, STATEMENT_PARTS, qualifier
from kgsparql.schema.patterns import patterns

_NODES, _FACTS = 400, 4_000  # of a class, or reifiers, that tell what they are
_OFFICES = 1_000  # of so many or more, none is a relation
_YEAR = re.compile(r"-?\d{4}(-\d\d){0,2}\Z")


@frozen
class Dates:
    """The paths from what stands for a fact to when it began, when it was over, and when it was so; any may be none."""

    began: tuple[PropertyPath, ...] = ()
    over: tuple[PropertyPath, ...] = ()
    at: tuple[PropertyPath, ...] = ()

    @property
    def are_known(self) -> bool:
        """Whether there is any."""
        return bool(self.began or self.over or self.at)

    def __or__(self, other: Dates) -> Dates:
        """Make the dates by either."""
        each = zip((self.began, self.over, self.at), (other.began, other.over, other.at), strict=True)
        return Dates(*(distinct((*one, *more)) for one, more in each))


ITSELF = Dates(at=(PropertyPath(()),))
"""The dates of facts that lead to a date: it is when they were so."""


@frozen
class Dating:
    """How what a predicate says is dated.

    :param by: what leads from a reifier to the fact, or from a statement of RDF 1.0 to its predicate; ``None`` where
        nodes say it that lead to both ends (``GraphVocabulary.joined``).
    """

    dates: Dates
    by: IRI | None = None


_ROLES = ("since", "until", "moment")
Facts = Sequence[tuple[IRI, Term]]
Nodes = Mapping[Term, Facts]


def wikibase_dates(held: Iterable[IRI]) -> Dates:
    """Make the dates of statements by those qualifiers for times that a graph has."""
    known = {*held}
    began, over, at = ((PropertyPath((Step(one),)),) if one in known else () for one in TIME_QUALIFIERS)
    return Dates(began, over, at)


TIME_QUALIFIERS = tuple(map(qualifier, ("P580", "P582", "P585")))
"""The qualifiers of Wikidata for when something began, when it was over, and when it was."""


def dates_among(facts: Iterable[tuple[IRI, Term]], before: tuple[Step, ...] = (), role: str = "") -> Dates:
    """Sort predicates to dates by what they are called: ``startDate``, ``until``, ``year``.

    :param before: the steps that lead to what has them. :param role: what these say already.
    """
    values = grouped((predicate, value) for predicate, value in facts if isinstance(value, Literal))
    typed = {one for one, some in values.items() if any(literal_kind(value) == "date" for value in some)}
    like = {one for one, some in values.items() if all(map(is_date, some))} - typed
    if any(role_of(one) != "moment" and role_of(one) for one in values.keys() - typed - like):
        like = set()  # from 0 to 1200, to 1850, are no years
    kept = (one for one in values if one in typed | like)
    return _by_role((role or role_of(one), PropertyPath((*before, Step(one)))) for one in kept)


def dates_called(paths: Iterable[tuple[PropertyPath, str]]) -> Dates:
    """Sort paths to dates by what they are called."""
    return _by_role((_role_said({*name.split()}), path) for path, name in paths)


def _by_role(paths: Iterable[tuple[str, PropertyPath]]) -> Dates:
    found = grouped(paths)
    return Dates(*(tuple(found.get(role, ())) for role in _ROLES))


def role_of(predicate: IRI) -> str:
    """Tell whether a predicate is called as what leads to when something began, was over, or was; empty for others.

    >>> [role_of(IRI(f"http://e.org/{name}")) for name in ("validFrom", "endDate", "year", "retrieved")]
    ['since', 'until', 'moment', '']
    """
    return _role_said({*name_words(predicate)})


def _role_said(said: set[str]) -> str:
    role = next((role for role in ("until", "since") if said & patterns()[role]), "")
    return role or ("moment" if said <= patterns()["moment"] else "")


def is_date(value: Literal) -> bool:
    """Tell whether a literal is a date or a year, by its datatype or its digits."""
    return literal_kind(value) == "date" or (_YEAR.match(value.value) is not None and value.value < "2100")


def reified(graph: KnowledgeGraph) -> dict[IRI, Dating]:
    """Find the predicates whose facts stand reified with dates in a graph; at endpoints, none."""
    ways = [by for by in (REIFIES, STATEMENT_PARTS[1]) if graph.is_embedded and graph.held(frozenset((by,)))]
    return {p: own for by in ways for p, own in _reified_by(by, graph).items()}


def _reified_by(by: IRI, graph: KnowledgeGraph) -> dict[IRI, Dating]:
    node, x, p, y, q, date = variables("node x p y q date")
    fact: g.Fact = g.Fact(node, by, g.Fact(x, p, y)) if by == REIFIES else g.Fact(node, by, p)
    some = g.Select((node, p), (fact,), limit=_FACTS)
    said = g.found(graph, "reified", (p, q, date), (some, g.Fact(node, q, date)), limit=_FACTS)
    facts = grouped((one["p"], (one["q"], one["date"])) for one in said if isinstance(one["p"], IRI))
    return {p: Dating(own, by=by) for p, said_of in facts.items() if (own := dates_among(said_of)).are_known}


@frozen
class Joined:
    """The nodes of a class, which stand for what a predicate would say of one thing about another.

    :param kind: the class; its name is that of the relation.
    :param start: the predicate from a node to what the relation is said of; ``end``, to what is said of it.
    :param is_led: ``start`` leads to the node: from a club to a membership, and from there to the member.
    :param office: the predicate from a node to what ``end`` is there, and which is meant; these are walked to, too.
    :param is_value: ``end`` leads to a number or a text. :param is_alone: the nodes have nothing else: prices.
    :param value: the predicate from there to the number or text, where ``end`` leads to a node for it.
    """

    kind: IRI
    start: IRI
    end: IRI
    is_led: bool = False
    is_value: bool = False
    is_alone: bool = False
    office: tuple[IRI, IRI] | None = None
    value: IRI | None = None

    def facts(self, node: g.Node, subject: g.Node, far: g.Node, via: g.Node) -> tuple[tuple[g.Node, IRI, g.Node], ...]:
        """List the ends and the predicate of each fact of a node that joins two things.

        :param via: what stands for a value, where a node does.
        """
        near = (subject, self.start, node) if self.is_led else (node, self.start, subject)
        held = () if self.office is None else ((node, *self.office),)
        said = ((node, self.end, far),) if self.value is None else ((node, self.end, via), (via, self.value, far))
        return (node, RDF_TYPE, self.kind), near, *said, *held

    @property
    def is_mutual(self) -> bool:
        """Whether the same predicate leads to both: to two who are married."""
        return self.start == self.end and not self.is_led

    @property
    def to_nodes(self) -> tuple[Step, Step]:
        """The steps from what the relation is said of to the nodes, and from what is said of it."""
        return Step(self.start, "forward" if self.is_led else "inverse"), Step(self.end, "inverse")


def dated_ways(kind: IRI, nodes: Nodes, graph: KnowledgeGraph) -> tuple[Dates, list[tuple[IRI, Joined]]]:
    """Find the dates of nodes that stand for what is so in some time, and how they join things, with the relation.

    None where they are things, or undated. Nodes have no name, a date at one end, and two links, or one and one that
    leads to them, or one and a value. A relation is called as a link, a value, or their class; an office is one of its
    own: the `mayor` of a town, and the `treasurer` of a club.
    """
    facts = [fact for own in nodes.values() for fact in own if fact[0] not in LABELS]
    is_nameless = bool(nodes) and are_nameless(kind, nodes)
    if observed := _observed_ways(kind, facts, graph, is_nameless=is_nameless):
        return dates_among(facts, role="moment"), observed
    if not is_nameless:
        return Dates(), []
    dates = dates_among(facts)
    spans = {p for p, y in facts if isinstance(y, BlankNode) or not patterns()["span"].isdisjoint(name_words(p))}
    for one in sorted(spans, key=str):
        dates |= _dates_of_spans(kind, one, graph)
    *_, last = ("", *name_words(kind))
    is_counted = not last.endswith(tuple(patterns()["happening"]))  # of one day each: a population, no order
    lasts = bool(dates.began or dates.over)
    if not (lasts or (dates.at and is_counted)):
        return Dates(), []
    values = sorted({p for p, y in facts if isinstance(y, Literal) and not is_date(y)}, key=str)
    links = sorted({_links_of([fact for fact in own if fact[0] not in spans]) for own in nodes.values()})
    if lasts and (offices := _office_ways(kind, links, graph)) is not None:
        return dates, offices
    ways = list[tuple[IRI, Joined]]()
    if lasts and all(len(own) == 2 for own in links):
        pairs = [way for one, other in links for way in {(one, other), (other, one)}]
        ways = [(end, Joined(kind, start, end)) for start, end in pairs]
        starts = dict.fromkeys(start for start, _ in pairs)
        ways += [(value, Joined(kind, start, value, is_value=True)) for start, value in product(starts, values)]
    elif all(len(own) == 1 for own in links):
        led = _led_to(kind, [own for (own,) in links], graph)
        if len({own for _, own in led}) == len(links) == len(led):
            ways = [(one, Joined(kind, *pair, is_led=True)) for pair in led for one in sorted({*pair}, key=str)]
        elif not led and (lasts or len(values) == 1):
            for (start,), value in product(links, values):
                way = Joined(kind, start, value, is_value=True, is_alone=True)
                ways += [(value, way)] + [(kind, way)] * (len(values) == 1)
    return dates, ways


def observed(facts: Facts) -> list[IRI]:
    """List the predicates by which nodes say which property of something they are of."""
    return _called_as("property", (p for p, y in facts if not isinstance(y, Literal)))


def _called_as(role: str, predicates: Iterable[IRI]) -> list[IRI]:
    """List the predicates whose last words are those of a part that they play."""
    return [one for one in distinct(predicates) if {*name_words(one)[-1:]} & patterns()[role]]


def _observed_ways(kind: IRI, facts: Facts, graph: KnowledgeGraph, *, is_nameless: bool) -> list[tuple[IRI, Joined]]:
    """Find the relations that observations stand for: each property that they are of, from what has it to the result.

    What has it is called so (the feature of interest), or is the only link but who measured it, and with what.
    """
    by = observed(facts)
    if len(by) != 1 or not (is_nameless or patterns()["observing"] & {*name_words(by[0])}):  # a product has properties
        return []
    x, link, end, value, y = variables("x link end value y")
    values = frozenset(map(IRI, patterns()["value"]))
    some = (g.Fact(x, RDF_TYPE, kind), g.Fact(x, link, end), g.Values(value, tuple(graph.held(values))))
    nodes = g.found(graph, "results", (link, value), (*some, g.Fact(end, value, y)), distinct=True, limit=_FACTS)
    ends = [(one["link"], one["value"]) for one in nodes]
    numbers = distinct(p for p, y in facts if p in values or (isinstance(y, Literal) and literal_kind(y) == "number"))
    ends = ends or [(one, None) for one in _called_as("result", numbers) or numbers]
    links = distinct(p for p, y in facts if not isinstance(y, Literal) and p not in {RDF_TYPE, *by, *dict(ends)})
    passed = _called_as("observer", links)
    starts = _called_as("observed", links) or [one for one in links if one not in passed]
    if len(starts) != 1 or len(ends) != 1:
        return []
    return _each_office(by[0], Joined(kind, starts[0], ends[0][0], is_value=True, value=ends[0][1]), graph)


def _each_office(role: IRI, way: Joined, graph: KnowledgeGraph) -> list[tuple[IRI, Joined]]:
    """Make a relation of each thing that nodes lead to by their role; of none where there are many."""
    x, office = variables("x office")
    facts = (g.Fact(x, RDF_TYPE, way.kind), g.Fact(x, role, office))
    found = g.found(graph, "offices", (office,), facts, distinct=True, limit=_OFFICES)
    few = iris_in(one["office"] for one in found) if len(found) < _OFFICES else ()
    return [(one, replace(way, office=(role, one))) for one in sorted(few, key=str)]


def _office_ways(kind: IRI, links: Sequence[tuple[IRI, ...]], graph: KnowledgeGraph) -> list[tuple[IRI, Joined]] | None:
    """Find who holds which office of what, by what three links are called; ``None`` where they are not called so."""
    every = {one for own in links for one in own}
    called = {name: _called_as(name, every) for name in ("role", "holder")}
    match called["role"], called["holder"], [*every.difference(*called.values())]:
        case [role], [holder], [of] if all({holder, of} <= {*own} for own in links):
            return _each_office(role, Joined(kind, of, holder), graph)
    return None


def _led_to(kind: IRI, links: Sequence[IRI], graph: KnowledgeGraph) -> list[tuple[IRI, IRI]]:
    """List the predicates that lead to nodes of a class, each with a link from these."""
    x, node, p, q, y = variables("x node p q y")
    facts = (g.Fact(node, RDF_TYPE, kind), g.Fact(x, p, node), g.Fact(node, q, y), g.Values(q, tuple(links)))
    found = g.found(graph, "led", (p, q), facts, distinct=True, limit=_FACTS)
    return [(one["p"], one["q"]) for one in found]


def _dates_of_spans(kind: IRI, link: IRI, graph: KnowledgeGraph) -> Dates:
    """Find the dates of the nodes for spans of time that a predicate leads to: at their ends, or at nodes for these."""
    x, span, q, end, r, date = variables("x span q end r date")
    some = g.Select((span,), (g.Fact(x, RDF_TYPE, kind), g.Fact(x, link, span)), limit=_NODES)
    group = (some, g.Fact(span, q, end), g.Optional((g.Fact(end, r, date),)))
    found = Dates()
    for one in g.found(graph, "spans", (q, end, r, date), group, limit=_FACTS):
        by = one["q"]
        found |= dates_among([(by, one["end"])], (Step(link),))
        if "r" in one and (role := role_of(by)):
            found |= dates_among([(one["r"], one["date"])], (Step(link), Step(by)), role)
    return found


def are_nameless(kind: IRI, nodes: Nodes) -> bool:
    """Tell whether no node of a class has a name."""
    return all(_is_nameless(node, kind, facts) for node, facts in nodes.items())


def _is_nameless(node: Term, kind: IRI, facts: Facts) -> bool:
    """Whether a node has no name but its class and a number: `n12`, `Term#3`, a blank node."""
    said = [y.value for p, y in facts if p in LABELS and isinstance(y, Literal)]
    said += [local_name(node)] if isinstance(node, IRI) else []
    of_class = {*name_words(kind)}
    for text in said:
        words = {*re.findall(r"[^\W\d_]+", normalised(split_camel_case(text)))} - of_class
        if any(len(word) > 1 for word in words) or not re.search(r"\d", text):
            return False
    return True


def _links_of(facts: Facts) -> tuple[IRI, ...]:
    """List the predicates by which a node leads to things, once for each; blank nodes may stand for times."""
    return tuple(sorted((p for p, y in facts if isinstance(y, IRI) and p != RDF_TYPE), key=str))
