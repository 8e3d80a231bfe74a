"""One query about many terms or walks, sent in few requests, each bounded; what is found, and what limits left out."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Generic, NamedTuple, TypeVar, cast

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.errors import InputError
from kgsparql.graphs.graph import BOUND, Halving, KnowledgeGraph, Solution, Solutions, in_parts
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Hop, Path, PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable, spellings
from kgsparql.rdf.vocabulary import LABELS

T = TypeVar("T")


@frozen
class Found(Generic[T]):
    """Items, and the limits that left others out; without a cut, nothing was left out."""

    items: tuple[T, ...] = ()
    cuts: tuple[Cut, ...] = ()


@frozen
class NeighbourGroup:
    """The neighbours of an entity along one step, at most as many as were asked for; none where they were only counted.

    :param count: of all neighbours; at least so many if ``exact`` is ``False``.
    :param mediated: paths of two hops through those neighbours that are blank nodes.
    """

    entity: IRI
    step: Step
    neighbours: tuple[Term, ...]
    count: int
    exact: bool = True
    mediated: tuple[Path, ...] = ()

    @property
    def hops(self) -> list[Hop]:
        """The hop to each neighbour."""
        return [self.step.hop(self.entity, far) for far in self.neighbours]


class PredicatePath(NamedTuple):
    """A property path that leads somewhere."""

    path: PropertyPath
    ends: tuple[Term, ...] = ()


class StepUse(NamedTuple):
    """How some terms use a step.

    :param having: how many of them have it.
    :param most: different ends that one of them has, at most.
    :param ends: the first of all ends.
    """

    having: int
    most: int
    ends: tuple[Term, ...]

    @classmethod
    def of(cls, found: Mapping[Term, set[Term]], kept: int) -> StepUse:
        """Summarise what a step leads to from each term that has it."""
        ends = sorted(set().union(*found.values()), key=str)
        return cls(len(found), max(map(len, found.values())), tuple(ends[:kept]))


@frozen
class Label:
    """A label of a term."""

    text: str
    language: str | None = None
    derived: bool = False


K = TypeVar("K", bound=Hashable)
TermT = TypeVar("TermT", bound=Term)


@dataclass(slots=True)
class BatchedSolutions(Generic[K]):
    """The solutions for every key but those in ``over``, which have more than the bound, with those that were seen."""

    solutions: list[Solution] = field(default_factory=list)
    over: dict[K, list[Solution]] = field(default_factory=dict)

    @property
    def seen(self) -> list[Solution]:
        """All solutions that were seen; a key in ``over`` has more."""
        return [*self.solutions, *chain.from_iterable(self.over.values())]


def batched_select(
    graph: KnowledgeGraph, query_of: Callable[[Sequence[K], int], Query], keys: Iterable[K], *,
    key_of: Callable[[Solution], object], bound: int | Callable[[int], int] = BOUND,
    weight: Callable[[Solution], int] | None = None, chunk_size: int | None = None,
) -> BatchedSolutions[K]:  # fmt: skip
    """Ask about all keys in chunks; a chunk whose solutions exceed the bound, or were cut, is asked about in parts.

    A chunk within its bound is complete, so ordinary keys cost one query a chunk. A single key that exceeds the bound,
    or whose result an endpoint cuts, is in ``over``; so are all keys of a chunk where the endpoint cuts results for
    ever smaller parts.

    :param query_of: the query for some keys, each of its arms limited to one solution more than the bound.
    :param bound: of the solutions of a query; or a function from the number of its keys to that.
    :param weight: how much of the bound a solution uses up: where solutions are counts, the count; 1 without.
    """
    chunk_size = max(1, chunk_size or graph.chunk_size)
    todo = deque(in_parts(list(dict.fromkeys(keys)), chunk_size))
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
        over, parts = _split_chunk(chunk, found, at_most, key_of, weight)
        if over is not None:
            batched.over[over] = [s for s in found if key_of(s) == over]
        todo.extendleft(reversed(parts))
    return batched


def select_about(
    graph: KnowledgeGraph, arms: Sequence[Query], terms: Iterable[TermT], *, parameter: str = "entity",
    bound: int = BOUND,
) -> BatchedSolutions[TermT]:  # fmt: skip
    """Ask queries about terms, all of which have one parameter for these; as :func:`batched_select`."""
    union = limited_union(tuple(arms), bound + 1)
    return batched_select(
        graph, lambda chunk, _: union.bind(**{parameter: chunk}), terms, key_of=lambda solution: solution[parameter],
        bound=bound,
    )  # fmt: skip


def _split_chunk(
    chunk: Sequence[K], found: Solutions, at_most: int, key_of: Callable[[Solution], object],
    weight: Callable[[Solution], int] | None,
) -> tuple[K | None, list[Sequence[K]]]:  # fmt: skip
    """Return the key of a chunk that alone has too many solutions, if any, and the parts to ask about in its place."""
    if len(chunk) == 1:
        return chunk[0], []
    weights: Counter[object] = Counter()
    for solution in found:
        weights[key_of(solution)] += 1 if weight is None else weight(solution)
    heaviest = next((key for key in chunk if 2 * weights[key] > weights.total()), None)
    if heaviest is None:
        # Those in the result tell how many go into half of the bound; halving again and again reads all thrice.
        fitting = at_most * len(weights) // (2 * weights.total()) if weights else len(chunk)
        size = max(1, min(fitting, (len(chunk) + 1) // 2))
        return None, [*in_parts(chunk, size)]
    rest = [key for key in chunk if key != heaviest]
    return (heaviest, [rest]) if weights[heaviest] > at_most else (None, [[heaviest], rest])


def entities_of(terms: Iterable[Term]) -> list[IRI]:
    """Return the IRIs to start from, each once.

    :raises InputError: for a blank node, which has no name outside the result it came in, and for a literal.
    """
    starts = list(dict.fromkeys(terms))
    for term in starts:
        if isinstance(term, BlankNode):
            raise InputError(
                "a blank node cannot be a start: it has no name outside its graph", hint="start from an IRI beside it"
            )
        if not isinstance(term, IRI):
            raise InputError(f"not an IRI: {printable(str(term), 80)}", hint="start from the term it describes")
    return cast("list[IRI]", starts)


def skipped_in(graph: KnowledgeGraph, skip: Iterable[IRI]) -> frozenset[IRI]:
    """Return the predicates to skip; if these include the usual label predicates, those that this graph states, too."""
    skipped, naming = frozenset(skip), graph.naming
    own = frozenset(naming.labels).difference(naming.measured) if skipped.issuperset(LABELS) else ()
    return graph.held(skipped if skipped.issuperset(own) else skipped.union(own))


@lru_cache(maxsize=256)
def skipping(query: Query, parameter: str, skip: frozenset[IRI]) -> Query:
    """Make the query with its skipped predicates bound; without any, the query as it is."""
    terms = sorted(skip, key=str)
    return query.bind(**{parameter: terms}) if terms else query


def union_of(arms: Sequence[Query]) -> Query:
    """Return a single query as it is, several as one union."""
    return arms[0] if len(arms) == 1 else Query.union(arms)


@lru_cache(maxsize=256)
def limited_union(arms: tuple[Query, ...], limit: int) -> Query:
    """Make the union of queries with a limit each, not bound to terms yet: then it is made once for many."""
    return union_of([arm.limit(limit) for arm in arms])


def selected(graph: KnowledgeGraph, query: Query, *, is_whole: Callable[[Solution], bool] | None = None) -> Solutions:
    """Return the solutions of a query, each with all variables of its arm.

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
    return Solutions(
        found.variables, tuple(chain(*parts)), cut="; ".join(dict.fromkeys(part.cut for part in parts if part.cut)),
        invalid=sum(part.invalid for part in parts), left_out=sum(part.left_out for part in parts),
    )  # fmt: skip


def far_end(solution: Solution) -> tuple[Direction, Term]:
    """Return the direction that a solution's triple was walked in, and the term at its far end."""
    term = solution.get("object")
    return ("forward", term) if term is not None else ("inverse", solution["subject"])


def hop_in(solution: Solution) -> Hop:
    """Return the hop that a solution shows, from its entity on."""
    way, far = far_end(solution)
    return Step(cast("IRI", solution["predicate"]), way).hop(solution["entity"], far)


def group_query(way: Direction, pairs: Sequence[tuple[IRI, IRI]]) -> Query:
    """Ask for the neighbours of entities, of each by its own predicate."""
    return Query.load(f"group_{way}").bind_rows(("entity", "predicate"), pairs)


def order_key(term: Term) -> tuple[int, str, str, str]:
    """Return the key to sort terms by: as ``ORDER BY STR(?x) LANG(?x)``, blank nodes last, all alike."""
    if isinstance(term, Literal):
        return 0, term.value, term.language or "", term.datatype.value
    if isinstance(term, IRI):
        return 0, term.value, "", ""
    return (2, str(term), "", "") if isinstance(term, Triple) else (1, "", "", "")


_TRIPLE = ("subject", "predicate", "object")
_TEXT = ("subject", "predicate", "text")


def lookup(triples: Iterable[Triple], *, named_graphs: bool = False) -> Query:
    """Make the query that finds those of some triples that a graph holds; with ``named_graphs``, in which named graphs.

    Literals are looked up by their text, so compare the solutions with the triples: literals of another language or
    datatype are found, too. Looked up as they are, Virtuoso misses literals that it has itself returned: some with a
    language, decimals without a fraction (it takes them for integers) and coordinates (which it refuses). No triple
    may have a blank node.
    """
    whole = []
    texts = []
    for subject, predicate, object_ in triples:
        if isinstance(object_, Literal):
            texts += [(subject, predicate, Literal(text)) for text in spellings(object_)]
        else:
            whole.append((subject, predicate, object_))
    name = "named_graphs" if named_graphs else "verify"
    arms = [Query.load(name).bind_rows(_TRIPLE, whole)] if whole or not texts else []
    arms += [Query.load(f"{name}_texts").bind_rows(_TEXT, texts)] if texts else []
    return union_of(arms)
