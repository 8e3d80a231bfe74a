"""The predicates at some entities with counts, and what a whole graph holds."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from kgsparql.dataclasses import asdict, dataclass, field
from kgsparql.errors import GRAPH_FAILED, InputError, StoreError
from kgsparql.exploration.batched_select import (
    Found,
    NeighbourGroup,
    batched_select,
    entities_of,
    skipped_in,
    skipping,
    union_of,
)
from kgsparql.graphs.graph import KnowledgeGraph, Solutions, StatedSizes
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Step, directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Json, PrefixMap, Term, parse_term, whole_number
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.storage.response_cache import COUNTS, ResponseCache

Labels = Callable[[Iterable[Term]], dict[Term, str]]

# Triples that one counting query looks at (60 ms); where there are more, a count is a lower bound.
COUNTED = 200_000

_KEPT_S = 0.03  # a count that took less time is not kept
_MAX_KEPT_BYTES = 20_000_000

# Seconds for each count at a public endpoint.
_COUNT_S = 20.0


def predicates(
    graph: KnowledgeGraph, entities: Iterable[Term], *, direction: Directions = "both", skip: Iterable[IRI] = UNWALKED
) -> Found[NeighbourGroup]:
    """Count the predicates at each entity, with the number of distinct neighbours that each leads to.

    One query for a chunk of entities. Entities are in the order given, the steps of each in lexical order.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    skipped = skipped_in(graph, skip)
    arms = [skipping(Query.load(f"counts_{way}"), "predicate", skipped) for way in directions(direction)]
    batched = batched_select(
        graph, lambda chunk, _: union_of([arm.bind(entity=chunk) for arm in arms]), starts,
        key_of=lambda solution: solution["entity"], bound=COUNTED,
        weight=lambda solution: whole_number(solution["solutions"]),
    )  # fmt: skip
    counts: dict[Term, list[NeighbourGroup]] = {entity: [] for entity in starts}
    for solution in batched.seen:
        entity, predicate = solution["entity"], solution["predicate"]
        way: Direction = "forward" if "forward" in solution else "inverse"
        if isinstance(entity, IRI) and isinstance(predicate, IRI):
            count, is_exact = whole_number(solution[way]), entity not in batched.over
            counts[entity].append(NeighbourGroup(entity, Step(predicate, way), (), count, is_exact))
    cuts = (Cut("predicates", len(some), None, str(entity)) for entity, some in batched.over.items())
    ordered = [c for entity in starts for c in sorted(counts[entity], key=lambda count: step_key(count.step))]
    return Found(tuple(ordered), tuple(cuts))


def degrees(graph: KnowledgeGraph, entities: Iterable[Term], *, skip: Iterable[IRI] = UNWALKED) -> Counter[Term]:
    """Add up what :func:`predicates` counts at each entity."""
    found: Counter[Term] = Counter()
    for count in predicates(graph, entities, skip=skip).items:
        found[count.entity] += count.count
    return found


def step_key(step: Step) -> tuple[str, str]:
    """Return the key that lists of steps are sorted by."""
    return step.predicate.value, step.direction


def predicate_counts(graph: KnowledgeGraph) -> dict[IRI, int]:
    """Count the triples of each predicate of a graph, the commonest first, then in lexical order.

    A triple that is in several named graphs counts once.
    """
    kind = "_distinct" if graph.may_repeat_triples else ""
    return _predicate_counts(counted(graph, Query.load(f"index_predicates{kind}")))


def _predicate_counts(solutions: Solutions) -> dict[IRI, int]:
    counts = {p: whole_number(s["triples"]) for s in solutions if isinstance(p := s["predicate"], IRI)}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0].value)))


def counted(graph: KnowledgeGraph, query: Query, select: Callable[[Query], Solutions] | None = None) -> Solutions:
    """Select what a query finds that reads a whole graph; of a file or store, as it was counted before.

    Ten million triples take 7 s. Of two processes at once both count, and one of the two equal results stays.

    :param select: runs the query, if not the graph itself: within the time of a question, say.
    """
    run = select or graph.select
    if not graph.is_as_loaded:
        return run(query)
    request = {"graph": graph.fingerprint, "query": query.text}
    with ResponseCache() as cache:
        # What is not kept, or damaged, is counted again.
        with suppress(StoreError, InputError, LookupError, TypeError, AttributeError):
            if (kept := cache.lookup(COUNTS, request)) is not None:
                rows = tuple({name: parse_term(term) for name, term in row.items()} for row in kept["rows"])
                return Solutions(tuple(kept["variables"]), rows)
        began = time.perf_counter()
        found = run(query)
        if found.complete and time.perf_counter() - began >= _KEPT_S:
            rows_kept = [{name: str(term) for name, term in solution.items()} for solution in found]
            with suppress(StoreError):  # what cannot be kept is counted again next time
                cache.put(COUNTS, request, {"variables": found.variables, "rows": rows_kept})
                cache.prune(COUNTS, at_most_s=math.inf, most_bytes=_MAX_KEPT_BYTES)
    return found


def graph_info(graph: KnowledgeGraph, labels: Labels, prefixes: PrefixMap, *, shown: int) -> Json:
    """Count sources, triples, named graphs, commonest classes and predicates, as a JSON object.

    A triple that is in several named graphs counts once. ``missing`` says what an endpoint could not count, and why.

    :param shown: how many named graphs, classes and predicates; ``cuts`` says where there are more.
    :raises UnreachableError: for an endpoint that does not reply at all.
    """
    counter = _Counter(graph)
    if graph.is_remote:
        graph.select(Query.load("any"))  # an unreachable endpoint is an error, not a list of missing counts
        counter.said = graph.sizes
    triples, predicates = counter.triples_and_predicates(shown + 1)
    named, graphs = counter.named_graphs(shown + 1)
    classes = counter.counts("classes", Query.load("info_classes"), shown + 1)
    commonest = {"classes": classes, "predicates": predicates}
    cuts = [Cut("named graphs", shown, graphs)] if len(named) > shown else []
    cuts += [Cut(what, shown) for what, rows in commonest.items() if len(rows) > shown]
    return {
        "name": graph.name, "triples": triples, "sources": [asdict(source) for source in graph.stored],
        "named_graphs": named[:shown],
        **{what: counter.described(what, rows[:shown], labels, prefixes) for what, rows in commonest.items()},
        "cuts": [str(cut) for cut in cuts], "missing": counter.missing,
    }  # fmt: skip


@dataclass(slots=True)
class _Counter:
    """Counts in a graph. What an endpoint cannot do is ``missing``; of a graph on this machine it is an error.

    What an endpoint has ``said`` that it holds is not counted.
    """

    graph: KnowledgeGraph
    missing: dict[str, str] = field(default_factory=dict)
    said: StatedSizes = field(default_factory=StatedSizes)

    def triples_and_predicates(self, most: int) -> tuple[int | None, Sequence[tuple[Term, int]]]:
        """Count the triples, and the commonest predicates: of a graph in this process, all from one query."""
        kind = ""
        with self._noting_missing("named graphs"):
            kind = "_distinct" if self.graph.may_repeat_triples else ""
        if self.graph.is_embedded:
            counts = _predicate_counts(self._select_counts("predicates", Query.load(f"index_predicates{kind}")))
            return sum(counts.values()), list(counts.items())[:most]
        is_said = self.said.stated("predicate") is not None
        whole = [*self.said.counts.get("all", {}).values()] if is_said else []
        triples = whole[0] if whole else self._counted_number("triples", Query.load(f"info_triples{kind}"))
        return triples, self.counts("predicates", Query.load(f"info_predicates{kind}"), most)

    def named_graphs(self, most: int) -> tuple[list[str], int | None]:
        """Find the names of some named graphs, and the number of all where there are as many.

        No query is sent to a graph that has none.
        """
        if (own := self.graph.named_graphs()) is not None:
            return [str(name) for name in own[:most]], len(own)
        if "named graphs" in self.missing:
            return [], None
        named = [str(s["graph"]) for s in self._select_counts("named graphs", Query.load("info_graphs").limit(most))]
        more = len(named) == most
        return named, self._counted_number("named graphs", Query.load("info_graph_count")) if more else len(named)

    def counts(self, what: str, query: Query, most: int) -> list[tuple[Term, int]]:
        """Count terms, the commonest first."""
        if said := self.said.stated("class" if what == "classes" else "predicate"):
            return [*said.items()][:most]
        found = self._select_counts(what, query.limit(most))
        return [(solution["term"], whole_number(solution["count"])) for solution in found]

    def described(
        self, what: str, counts: Sequence[tuple[Term, int]], labels: Labels, prefixes: PrefixMap
    ) -> list[Json]:
        """Write terms with their counts, CURIEs and labels."""
        named = {}
        with self._noting_missing(f"labels of {what}", "read"):
            named = labels([term for term, _ in counts])
        return [
            {
                "term": str(term),
                "curie": prefixes.compress(term),
                "label": named.get(term, ""),
                "count": count,
            }
            for term, count in counts
        ]

    def _counted_number(self, what: str, query: Query) -> int | None:
        solutions = self._select_counts(what, query)
        return whole_number(solutions[0]["count"]) if solutions else None

    def _select_counts(self, what: str, query: Query) -> Solutions:
        with self._noting_missing(what):
            found = self.graph.select(query, _COUNT_S) if self.graph.profile.is_public else counted(self.graph, query)
            if found.complete:
                return found
            self.missing[what] = "not counted: the endpoint cut the result"
        return Solutions()

    @contextmanager
    def _noting_missing(self, what: str, done: str = "counted") -> Iterator[None]:
        try:
            yield
        except GRAPH_FAILED as error:
            if not self.graph.is_remote:
                raise
            self.missing[what] = f"not {done}: the endpoint gave up ({error.message})"
