"""One query about many terms: sent in few requests, each bounded; terms with too many solutions are named."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from kgsparql.errors import InputError
from kgsparql.graphs.graph import BOUND, Halving, KnowledgeGraph, Solution, Solutions
from kgsparql.rdf.paths import Direction
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable
from kgsparql.rdf.vocabulary import LABELS

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Term)


@dataclass(slots=True)
class BatchedSolutions(Generic[K]):
    """The solutions of :func:`batched_select`.

    :param solutions: every solution for every key but those in ``over``.
    :param over: the keys with more solutions than the bound, each with those of its solutions that were seen.
    """

    solutions: list[Solution] = field(default_factory=list)
    over: dict[K, list[Solution]] = field(default_factory=dict)

    @property
    def seen(self) -> list[Solution]:
        """All solutions that were seen; a key in ``over`` has more."""
        return [*self.solutions, *(solution for some in self.over.values() for solution in some)]


def batched_select(
    graph: KnowledgeGraph,
    query_of: Callable[[Sequence[K], int], Query],
    keys: Iterable[K],
    *,
    key_of: Callable[[Solution], object],
    bound: int | Callable[[int], int] = BOUND,
    weight: Callable[[Solution], int] | None = None,
    chunk_size: int | None = None,
) -> BatchedSolutions[K]:
    """Ask about all keys in chunks; a chunk whose solutions exceed the bound, or were cut, is asked about in parts.

    A chunk within its bound is complete, so ordinary keys cost one query a chunk. A single key that exceeds the bound,
    or whose result an endpoint cuts, is in ``over``; so are all keys of a chunk where the endpoint cuts results for
    ever smaller parts.

    :param query_of: the query for some keys, each of its arms limited to one solution more than the bound.
    :param bound: of the solutions of a query; or a function from the number of its keys to that.
    :param weight: how much of the bound a solution uses up: where solutions are counts, the count; 1 without.
    """
    chunk_size = max(1, chunk_size or graph.chunk_size)
    distinct = list(dict.fromkeys(keys))
    todo = deque(distinct[i : i + chunk_size] for i in range(0, len(distinct), chunk_size))
    batched: BatchedSolutions[K] = BatchedSolutions()
    halving = Halving()
    while todo:
        chunk = todo.popleft()
        at_most = bound if isinstance(bound, int) else bound(len(chunk))
        found = selected(graph, query_of(chunk, at_most))
        gives_up = halving.should_give_up(found)
        size = len(found) if weight is None else sum(map(weight, found))
        if not found.cut and size + found.left_out <= at_most:
            batched.solutions.extend(found)
            continue
        if gives_up:
            batched.over.update((key, [s for s in found if key_of(s) == key]) for key in chunk)
            continue
        if len(chunk) > 1:
            graph.will_ask_again(found)
        over, parts = _parts(chunk, found, at_most, key_of, weight)
        if over is not None:
            batched.over[over] = [s for s in found if key_of(s) == over]
        todo.extendleft(reversed(parts))
    return batched


def select_about(
    graph: KnowledgeGraph, arms: Sequence[Query], terms: Iterable[T], *, parameter: str = "entity", bound: int = BOUND
) -> BatchedSolutions[T]:
    """The solutions of queries about terms, all of which have one parameter for these; as :func:`batched_select`."""
    union = limited_union(tuple(arms), bound + 1)
    return batched_select(
        graph,
        lambda chunk, _: union.bind(**{parameter: chunk}),
        terms,
        key_of=lambda solution: solution[parameter],
        bound=bound,
    )


def _parts(
    chunk: list[K],
    found: Solutions,
    at_most: int,
    key_of: Callable[[Solution], object],
    weight: Callable[[Solution], int] | None,
) -> tuple[K | None, list[list[K]]]:
    """The key of a chunk that alone has too many solutions, if any, and the parts to ask about in its place."""
    if len(chunk) == 1:
        return chunk[0], []
    weights: Counter[object] = Counter()
    for solution in found:
        weights[key_of(solution)] += 1 if weight is None else weight(solution)
    heaviest = next((key for key in chunk if 2 * weights[key] > weights.total()), None)
    if heaviest is None:
        # Those in the result tell how many go into half of the bound; halving again and again reads all thrice.
        fitting = at_most * len(weights) // (2 * max(1, weights.total()))
        size = max(1, min(fitting, (len(chunk) + 1) // 2))
        return None, [chunk[start : start + size] for start in range(0, len(chunk), size)]
    rest = [key for key in chunk if key != heaviest]
    return (heaviest, [rest]) if weights[heaviest] > at_most else (None, [[heaviest], rest])


def entities_of(terms: Iterable[Term]) -> list[IRI]:
    """The IRIs to start from, each once.

    :raises InputError: for a blank node, which has no name outside the result it came in, and for a literal.
    """
    found: dict[IRI, None] = {}
    for term in terms:
        if isinstance(term, IRI):
            found[term] = None
        elif isinstance(term, BlankNode):
            raise InputError(
                "a blank node cannot be a start: it has no name outside its graph", hint="start from an IRI beside it"
            )
        else:
            raise InputError(f"not an IRI: {printable(str(term), 80)}", hint="start from the term it describes")
    return list(found)


def skipped_in(graph: KnowledgeGraph, skip: Iterable[IRI]) -> frozenset[IRI]:
    """The predicates to skip; if these include the usual label predicates, this graph's own as well.

    Of a graph in this process, those that it has.
    """
    skipped = frozenset(skip)
    own = graph.naming.labels if skipped.issuperset(LABELS) else ()
    return graph.held(skipped if skipped.issuperset(own) else skipped.union(own))


@lru_cache(maxsize=256)
def skipping(query: Query, parameter: str, skip: frozenset[IRI]) -> Query:
    """The query with its skipped predicates bound; without any, the query as it is."""
    terms = sorted(skip, key=str)
    return query.bind(**{parameter: terms}) if terms else query


def union_of(arms: Sequence[Query]) -> Query:
    """A single query as it is, several as one union."""
    return arms[0] if len(arms) == 1 else Query.union(arms)


@lru_cache(maxsize=256)
def limited_union(arms: tuple[Query, ...], limit: int) -> Query:
    """The union of queries with a limit each, whose parameters are still to be bound: then it is made once for many."""
    return union_of([arm.limit(limit) for arm in arms])


def selected(graph: KnowledgeGraph, query: Query, *, is_whole: Callable[[Solution], bool] | None = None) -> Solutions:
    """The solutions of a query, each with all variables of its arm.

    In a large union Virtuoso now and then leaves a variable unbound that the arm alone binds: then each arm is sent
    alone.

    :param is_whole: whether a solution has all its variables; by default, those of any arm.
    """
    found = graph.select(query)
    if len(query.arms) < 2 or graph.is_embedded:
        return found
    variables = {arm.variables for arm in query.arms}
    whole = is_whole or (lambda solution: frozenset(solution) in variables)
    if all(whole(solution) for solution in found):
        return found
    parts = [graph.select(arm) for arm in query.arms]
    solutions = tuple(solution for part in parts for solution in part)
    return Solutions.together(parts, variables=found.variables, solutions=solutions)


def far_end(solution: Solution) -> tuple[Direction, Term]:
    """The direction that a solution's triple was walked in, and the term at its far end."""
    term = solution.get("object")
    return ("forward", term) if term is not None else ("inverse", solution["subject"])


def order_key(term: Term) -> tuple[int, str, str, str]:
    """The key that lists of terms are sorted by: as ``ORDER BY STR(?x) LANG(?x)``, blank nodes last, all alike.

    >>> sorted([BlankNode("b"), Literal("b"), IRI("a:b"), Literal("b", language="de")], key=order_key)[0].value
    'a:b'
    """
    if isinstance(term, Literal):
        return 0, term.value, term.language or "", term.datatype.value
    if isinstance(term, IRI):
        return 0, term.value, "", ""
    return (2, str(term), "", "") if isinstance(term, Triple) else (1, "", "", "")
