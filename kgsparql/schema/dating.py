"""Facts with dates: where a graph says since when, and until when, what a predicate says is so.

It says so of a node that stands for the fact: a statement of a Wikibase, a node with a predicate to each end of it (a
membership, a term of office), a reifier of RDF 1.2, or a statement as RDF 1.0 has it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

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
    for predicate, value in facts:
        if isinstance(value, Literal) and is_date(value):
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
    return _role_said({*normalised(split_camel_case(local_name(predicate))).split()})


def _role_said(said: set[str]) -> str:
    role = next((role for role in ("until", "since") if said & patterns()[role]), "")
    return role or ("moment" if said <= patterns()["moment"] else "")


def is_date(value: Literal) -> bool:
    """Tell whether a literal is a date or a year, by its datatype or its digits."""
    return literal_kind(value) == "date" or _YEAR.match(value.value) is not None


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


Pairs = set[tuple[IRI, IRI]]


def dated_links(kind: IRI, nodes: Nodes, graph: KnowledgeGraph) -> tuple[Pairs, Pairs, Dates]:
    """Find the pairs of links of nodes that stand for what is so of two things in some time, with where the times are.

    Nodes have no name, a date at one end at least, and two links, or one and one that leads to them: these are apart.
    """
    nothing: Pairs = set()
    if not nodes or not all(_is_nameless(node, kind, facts) for node, facts in nodes.items()):
        return nothing, nothing, Dates()
    dates = dates_among(fact for facts in nodes.values() for fact in facts if fact[0] not in LABELS)
    for one in {p for facts in nodes.values() for p, y in facts if isinstance(y, BlankNode)}:
        dates |= _dates_of_spans(kind, one, graph)
    if not (dates.began or dates.over):
        return nothing, nothing, Dates()
    links = {_links_of(facts) for facts in nodes.values()}
    if all(len(own) == 2 for own in links):
        return {(own[0], own[1]) for own in links}, nothing, dates
    if not all(len(own) == 1 for own in links):
        return nothing, nothing, Dates()
    x, node, p, q, y = map(Variable, ("x", "node", "p", "q", "y"))
    group = (
        g.Fact(node, RDF_TYPE, kind),
        g.Fact(x, p, node),
        g.Fact(node, q, y),
        g.Values(q, tuple(own[0] for own in links)),
    )
    found = graph.select(g.select_query("led", g.Select(((p, None), (q, None)), group, distinct=True, limit=_FACTS)))
    led = {(one["p"], one["q"]) for one in found if isinstance(one["p"], IRI) and isinstance(one["q"], IRI)}
    return nothing, led if len({own for _, own in led}) == len(links) == len(led) else nothing, dates


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
    of_class = {*normalised(split_camel_case(local_name(kind))).split()}
    for text in said:
        words = {*re.findall(r"[^\W\d_]+", normalised(split_camel_case(text)))} - of_class
        if any(len(word) > 1 for word in words) or not re.search(r"\d", text):
            return False
    return True


def _links_of(facts: Facts) -> tuple[IRI, ...]:
    """List the predicates by which a node leads to things, once for each; blank nodes may stand for times."""
    return tuple(sorted((p for p, y in facts if isinstance(y, IRI) and p != RDF_TYPE), key=str))
