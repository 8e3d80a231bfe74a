"""One side of a search for shortest paths: the terms at each distance from its end, and the hops that lead there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from kgsparql.exploration.batched_select import far_end, select_about, skipping
from kgsparql.exploration.mediators import hop_of, mediated_paths
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import BOUND, KnowledgeGraph, Solution
from kgsparql.rdf.paths import Directions, Hop, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term

__all__ = ["SearchRules", "SearchSide", "link_arms"]


@dataclass(frozen=True, slots=True)
class SearchRules:
    """What paths may use.

    :param skip: predicates that paths do not use.
    :param hub_limit: a term with more hops than this is not expanded.
    :param classes: whether paths may lead through classes, as those between two classes may.
    """

    skip: frozenset[IRI]
    hub_limit: int
    classes: bool = False


def link_arms(direction: Directions, rules: SearchRules) -> list[Query]:
    """The queries for the hops that a path may take from some entities, not bound to these yet.

    Where paths may lead through classes these also find literals, which :meth:`SearchSide.take` leaves out.
    """
    name = "neighbours" if rules.classes else "links"
    return [skipping(Query.load(f"{name}_{way}"), "predicate", rules.skip) for way in directions(direction)]


@dataclass(slots=True)
class SearchSide:
    """The terms reached from one end.

    :param direction: in which this side walks, away from its end.
    :param levels: the terms at distance 0, 1, 2 …
    :param distances: of each term in them.
    :param arriving: for each term but the end, the hops by which it was first reached.
    :param behind: for each blank node, the hops that leave it: they came together with the hop to it.
    :param closed: the end itself has too many hops, so that only the other side can be expanded.
    """

    end: IRI
    direction: Directions
    levels: list[set[Term]] = field(default_factory=list)
    distances: dict[Term, int] = field(default_factory=dict)
    arriving: dict[Term, dict[Hop, None]] = field(default_factory=dict)
    behind: dict[Term, dict[Hop, None]] = field(default_factory=dict)
    cuts: dict[Cut, None] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self.levels.append({self.end})
        self.distances[self.end] = 0

    @property
    def frontier(self) -> set[Term]:
        """The terms reached last."""
        return self.levels[-1]

    @property
    def depth(self) -> int:
        """How many hops from the end the frontier is."""
        return len(self.levels) - 1

    def distance(self, term: Term) -> int | None:
        """How far a term is from the end; ``None`` if it was not reached."""
        return self.distances.get(term)

    def expand(self, graph: KnowledgeGraph, rules: SearchRules) -> None:
        """Add the terms one hop further from the frontier."""
        arms = link_arms(self.direction, rules)
        entities = sorted((term for term in self.frontier if isinstance(term, IRI)), key=str)
        found = select_about(graph, arms, entities, bound=max(BOUND, rules.hub_limit))
        self.take(graph, rules, found.solutions, hubs=found.over)

    def take(
        self, graph: KnowledgeGraph, rules: SearchRules, solutions: Iterable[Solution], *, hubs: Iterable[Term] = ()
    ) -> None:
        """Add a level from solutions of :func:`link_arms` for the frontier; the hops of hubs are left out."""
        found = [solution for solution in solutions if not isinstance(far_end(solution)[1], Literal)]
        degrees = Counter(solution["entity"] for solution in found)
        closed = {*hubs, *(term for term, degree in degrees.items() if degree > rules.hub_limit)}
        if self.end in closed:
            self.closed = True
            return
        for term in closed:
            self.cuts[Cut("hops", rules.hub_limit, degrees.get(term), str(term))] = None
        hops = []
        for solution in found:
            if solution["entity"] not in closed:
                way, far = far_end(solution)
                hops.append(hop_of(solution["entity"], solution["predicate"], far, way))
        self._arrive([*self._with_mediators(graph, rules, hops), *self._hops_behind()])

    def _arrive(self, hops: Iterable[Hop]) -> None:
        distance = self.depth + 1
        level: set[Term] = set()
        for hop in hops:
            end = hop.end
            if self.distances.setdefault(end, distance) == distance:
                level.add(end)
                self.arriving.setdefault(end, {})[hop] = None
        self.levels.append(level)

    def _hops_behind(self) -> list[Hop]:
        """The hops that leave the blank nodes of the frontier; a cut for one that was met behind another."""
        hops: list[Hop] = []
        for term in self.frontier:
            if isinstance(term, BlankNode):
                if term not in self.behind:
                    self.cuts[Cut("hops through nested blank nodes", 2, None, str(self._named_before(term)))] = None
                hops.extend(self.behind.get(term, ()))
        return hops

    def _named_before(self, term: Term) -> Term:
        """The last term with a name on the way to a blank node."""
        while isinstance(term, BlankNode):
            term = next(iter(self.arriving[term])).start
        return term

    def _with_mediators(self, graph: KnowledgeGraph, rules: SearchRules, hops: list[Hop]) -> list[Hop]:
        """The hops; those to a blank node are asked for again, together with the hops that leave it."""
        plain = [hop for hop in hops if not isinstance(hop.end, BlankNode)]
        groups = dict.fromkeys((cast("IRI", hop.start), hop.step) for hop in hops if isinstance(hop.end, BlankNode))
        if not groups:
            return plain
        found, cuts = mediated_paths(graph, groups, direction=self.direction, skip=rules.skip, nested=False)
        self.cuts.update(dict.fromkeys(cuts))
        paths = [path for some in found.values() for path in some]
        # A class is no mediator. Where blank nodes keep their names, those met before are known not to be classes.
        met = {hop.end for hop in hops}
        if any(path.hops[0].end in met for path in paths):
            paths = [path for path in paths if path.hops[0].end in met]
        classes = set() if rules.classes else _classes(graph, (path.end for path in paths))
        for path in paths:
            there, onward = path.hops
            plain.append(there)
            if not isinstance(onward.end, Literal) and onward.end not in classes:
                self.behind.setdefault(there.end, {})[onward] = None
        return plain


def _classes(graph: KnowledgeGraph, terms: Iterable[Term]) -> set[Term]:
    """Which of these terms are classes."""
    entities = sorted({term for term in terms if isinstance(term, IRI)}, key=str)
    return {solution["entity"] for solution in select_about(graph, [Query.load("classes")], entities).solutions}
