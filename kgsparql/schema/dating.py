"""Facts with dates: where a graph says since when, and until when, what a predicate says is so.

It says so of a node that stands for the fact: a statement of a Wikibase, a node with a predicate to each end of it (a
membership, a term of office), a reifier of RDF 1.2, or a statement as RDF 1.0 has it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from kgsparql.dataclasses import frozen
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, local_name, normalised, split_camel_case
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE, REIFIES, STATEMENT_PARTS, qualifier
from kgsparql.schema.patterns import patterns

_NODES, _FACTS = 400, 4_000  # of a class, or reifiers, that tell what they are
_OFFICES = 1_000  # of so many or more, none is a relation
_YEAR = re.compile(r"-?\d{4}(-\d\d){0,2}\Z")
_START, _END, _POINT = "P580", "P582", "P585"  # of Wikidata: start time, end time, point in time


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
        return Dates(
            tuple(dict.fromkeys((*self.began, *other.began))),
            tuple(dict.fromkeys((*self.over, *other.over))),
            tuple(dict.fromkeys((*self.at, *other.at))),
        )


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


TIME_QUALIFIERS = tuple(map(qualifier, (_START, _END, _POINT)))
"""The qualifiers of Wikidata for when something began, when it was over, and when it was."""


def dates_among(facts: Iterable[tuple[IRI, Term]], before: tuple[Step, ...] = (), role: str = "") -> Dates:
    """Sort predicates to dates by what they are called: ``startDate``, ``until``, ``year``.

    :param before: the steps that lead to what has them. :param role: what these say already.
    """
    found: dict[str, dict[PropertyPath, None]] = defaultdict(dict)
    values: dict[IRI, list[Literal]] = defaultdict(list)
    for predicate, value in facts:
        if isinstance(value, Literal):
            values[predicate].append(value)
    typed = {one for one, some in values.items() if any(literal_kind(value) == "date" for value in some)}
    like = {one for one, some in values.items() if all(map(is_date, some))} - typed
    if any(role_of(one) != "moment" and role_of(one) for one in values.keys() - typed - like):
        like = set()  # from 0 to 1200, to 1850, are no years
    for predicate in values:
        if predicate in typed | like:
            found[role or role_of(predicate)][PropertyPath((*before, Step(predicate)))] = None
    return Dates(*(tuple(found[name]) for name in _ROLES))


def dates_called(paths: Iterable[tuple[PropertyPath, str]]) -> Dates:
    """Sort paths to dates by what they are called."""
    found: dict[str, list[PropertyPath]] = defaultdict(list)
    for path, name in paths:
        found[_role_said({*name.split()})].append(path)
    return Dates(*(tuple(found[role]) for role in _ROLES))


def role_of(predicate: IRI) -> str:
    """Tell whether a predicate is called as what leads to when something began, was over, or was; empty for others.

    >>> [role_of(IRI(f"http://e.org/{name}")) for name in ("validFrom", "endDate", "year", "retrieved")]
    ['since', 'until', 'moment', '']
    """
    return _role_said({*_words_of(predicate)})


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
    node, x, p, y, q, date = map(Variable, ("node", "x", "p", "y", "q", "date"))
    fact: g.Fact = g.Fact(node, by, g.Fact(x, p, y)) if by == REIFIES else g.Fact(node, by, p)
    some = g.Select(((node, None), (p, None)), (fact,), limit=_FACTS)
    said = g.Select(((p, None), (q, None), (date, None)), (some, g.Fact(node, q, date)), limit=_FACTS)
    facts: dict[IRI, list[tuple[IRI, Term]]] = defaultdict(list)
    for one in graph.select(g.select_query("reified", said)):
        if isinstance(one["p"], IRI) and isinstance(one["q"], IRI):
            facts[one["p"]].append((one["q"], one["date"]))
    return {p: Dating(own, by=by) for p, said_of in facts.items() if (own := dates_among(said_of)).are_known}


@frozen
class DatedLinks:
    """How nodes of a class that have dates join things.

    :param pairs: their links to two things, either way round. :param led: a predicate to the nodes, and their one link.
    :param values: predicates to numbers and texts, each after a link, or a predicate to the nodes in ``led``.
    """

    dates: Dates
    pairs: tuple[tuple[IRI, IRI], ...] = ()
    led: tuple[tuple[IRI, IRI], ...] = ()
    values: tuple[tuple[IRI, IRI], ...] = ()
    office: Office | None = None


@frozen
class Office:
    """The links of memberships: to who is a member, of what, and as what; and the offices that there are.

    An office is a relation of its own: the `mayor` of a town, and the `treasurer` of a club.
    """

    holder: IRI
    of: IRI
    role: IRI
    offices: tuple[IRI, ...]


def dated_links(kind: IRI, nodes: Nodes, graph: KnowledgeGraph) -> DatedLinks | None:
    """Find the links of nodes that stand for what is so in some time; ``None`` where they are things, or undated.

    Nodes have no name, a date at one end, and two links, or one and one that leads to them, or one and a value.
    """
    if not nodes or not all(_is_nameless(node, kind, facts) for node, facts in nodes.items()):
        return None
    facts = [fact for own in nodes.values() for fact in own if fact[0] not in LABELS]
    dates = dates_among(facts)
    spans = {p for p, y in facts if isinstance(y, BlankNode) or not patterns()["span"].isdisjoint(_words_of(p))}
    for one in sorted(spans, key=str):
        dates |= _dates_of_spans(kind, one, graph)
    *_, last = ("", *_words_of(kind))
    is_counted = not last.endswith(tuple(patterns()["happening"]))  # of one day each: a population, no order
    if not (dates.began or dates.over or (dates.at and is_counted)):
        return None
    values = sorted({p for p, y in facts if isinstance(y, Literal) and not is_date(y)}, key=str)
    links = sorted({_links_of([fact for fact in own if fact[0] not in spans]) for own in nodes.values()})
    if (dates.began or dates.over) and (office := _office_of(kind, links, graph)) is not None:
        return DatedLinks(dates, office=office)
    if all(len(own) == 2 for own in links) and (dates.began or dates.over):
        pairs = tuple(way for one, other in links for way in {(one, other), (other, one)})
        return DatedLinks(dates, pairs, values=tuple(product({one for one, _ in pairs}, values)))
    if not all(len(own) == 1 for own in links):
        return None
    led = _led_to(kind, [own for (own,) in links], graph)
    if len({own for _, own in led}) == len(links) == len(led):
        return DatedLinks(dates, led=tuple(led))
    is_value = not led and (dates.began or dates.over or len(values) == 1)
    return DatedLinks(dates, values=tuple((own, value) for (own,) in links for value in values)) if is_value else None


def _office_of(kind: IRI, links: Sequence[tuple[IRI, ...]], graph: KnowledgeGraph) -> Office | None:
    """Find who holds which office of what, by what three links are called; ``None`` where they are not called so."""
    every = {one for own in links for one in own}
    called = {name: [one for one in every if _words_of(one)[-1] in patterns()[name]] for name in ("role", "holder")}
    match called["role"], called["holder"], [*every.difference(*called.values())]:
        case [role], [holder], [of] if all({holder, of} <= {*own} for own in links):
            x, office = Variable("x"), Variable("office")
            facts = (g.Fact(x, RDF_TYPE, kind), g.Fact(x, role, office))
            some = g.Select(((office, None),), facts, distinct=True, limit=_OFFICES)
            found = [one["office"] for one in graph.select(g.select_query("offices", some))]
            few = [one for one in found if isinstance(one, IRI)] if len(found) < _OFFICES else []
            return Office(holder, of, role, tuple(sorted(few, key=str)))
    return None


def _led_to(kind: IRI, links: Sequence[IRI], graph: KnowledgeGraph) -> list[tuple[IRI, IRI]]:
    """List the predicates that lead to nodes of a class, each with a link from these."""
    x, node, p, q, y = map(Variable, ("x", "node", "p", "q", "y"))
    facts = (g.Fact(node, RDF_TYPE, kind), g.Fact(x, p, node), g.Fact(node, q, y), g.Values(q, tuple(links)))
    found = graph.select(g.select_query("led", g.Select(((p, None), (q, None)), facts, distinct=True, limit=_FACTS)))
    return [(one["p"], one["q"]) for one in found if isinstance(one["p"], IRI) and isinstance(one["q"], IRI)]


def _dates_of_spans(kind: IRI, link: IRI, graph: KnowledgeGraph) -> Dates:
    """Find the dates of the nodes for spans of time that a predicate leads to: at their ends, or at nodes for these."""
    x, span, q, end, r, date = map(Variable, ("x", "span", "q", "end", "r", "date"))
    some = g.Select(((span, None),), (g.Fact(x, RDF_TYPE, kind), g.Fact(x, link, span)), limit=_NODES)
    group = (some, g.Fact(span, q, end), g.Optional((g.Fact(end, r, date),)))
    said = g.Select(((q, None), (end, None), (r, None), (date, None)), group, limit=_FACTS)
    found = Dates()
    for one in graph.select(g.select_query("spans", said)):
        if isinstance(by := one["q"], IRI):
            found |= dates_among([(by, one["end"])], (Step(link),))
            if isinstance(at := one.get("r"), IRI) and (role := role_of(by)):
                found |= dates_among([(at, one["date"])], (Step(link), Step(by)), role)
    return found


def _is_nameless(node: Term, kind: IRI, facts: Facts) -> bool:
    """Whether a node has no name but its class and a number: `n12`, `Term#3`, a blank node."""
    said = [y.value for p, y in facts if p in LABELS and isinstance(y, Literal)]
    said += [local_name(node)] if isinstance(node, IRI) else []
    of_class = {*_words_of(kind)}
    for text in said:
        words = {*re.findall(r"[^\W\d_]+", normalised(split_camel_case(text)))} - of_class
        if any(len(word) > 1 for word in words) or not re.search(r"\d", text):
            return False
    return True


def _words_of(iri: IRI) -> list[str]:
    return normalised(split_camel_case(local_name(iri))).split()


def _links_of(facts: Facts) -> tuple[IRI, ...]:
    """List the predicates by which a node leads to things, once for each; blank nodes may stand for times."""
    return tuple(sorted((p for p, y in facts if isinstance(y, IRI) and p != RDF_TYPE), key=str))
