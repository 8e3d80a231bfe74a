"""What exploration is compared with: the same definitions, followed over a list of triples without any query."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from hypothesis import strategies as st

from kgsparql import IRI, BlankNode, KnowledgeGraph, Literal, Term, Triple
from kgsparql.exploration import Found, PredicatePath, paths_of_several
from kgsparql.exploration.predicate_paths import Keep
from kgsparql.rdf.paths import Directions, Hop, Path, PropertyPath, may_follow
from kgsparql.rdf.vocabulary import RDF_TYPE, UNWALKED
from tests.world import LABEL, ex

__all__ = ["ex"]

CLASS_KINDS = {
    "http://www.w3.org/2000/01/rdf-schema#Class",
    "http://www.w3.org/2002/07/owl#Class",
    "http://www.w3.org/2002/07/owl#Restriction",
}


def predicate_paths(
    graph: KnowledgeGraph, start: Term, *, max_hops: int = 3, frontier: int = 200, direction: Directions = "both",
    skip: Iterable[IRI] = UNWALKED, keep: Keep | None = None,
) -> Found[PredicatePath]:  # fmt: skip
    """The paths from one entity, which retrievers find from several at once."""
    (found,) = paths_of_several(graph, [(start, skip, keep)], max_hops=max_hops, frontier=frontier, direction=direction)
    return found


def hops_from(
    triples: Iterable[Triple], *, direction: Directions = "both", skip: Collection[IRI] = UNWALKED,
    literals: bool = False,
) -> dict[Term, set[Hop]]:  # fmt: skip
    """The hops that leave each term."""
    hops: dict[Term, set[Hop]] = defaultdict(set)
    for triple in triples:
        if triple.predicate in skip or (isinstance(triple.object, Literal) and not literals):
            continue
        if direction != "inverse":
            hops[triple.subject].add(Hop(triple))
        if direction != "forward":
            hops[triple.object].add(Hop(triple, "inverse"))
    return hops


def classes_of(triples: Iterable[Triple]) -> set[Term]:
    """Objects of rdf:type, and what is declared a class."""
    typing = [triple for triple in triples if triple.predicate == RDF_TYPE]
    declared = {t.subject for t in typing if isinstance(t.object, IRI) and t.object.value in CLASS_KINDS}
    return {t.object for t in typing} | declared


def all_shortest_paths(
    triples: Collection[Triple], start: IRI, end: IRI, *, max_hops: int = 5, direction: Directions = "both",
    skip: Collection[IRI] = UNWALKED,
) -> set[Path]:  # fmt: skip
    """Breadth first from the start; every way to the end over the fewest hops, not through literals.

    Nor through classes, but between two of them.
    """
    hops, classes = hops_from(triples, direction=direction, skip=skip), classes_of(triples)
    if start == end:
        return {Path(start)}
    distance: dict[Term, int] = {start: 0}
    arriving: dict[Term, set[Hop]] = defaultdict(set)
    level: list[Term] = [start]
    while level and end not in distance and distance[level[0]] < max_hops:
        following: dict[Term, None] = {}
        for term in level:
            if term in classes - {start} and not {start, end} <= classes:
                continue
            for hop in hops[term]:
                if distance.setdefault(hop.end, distance[term] + 1) == distance[term] + 1:
                    arriving[hop.end].add(hop)
                    following[hop.end] = None
        level = list(following)

    def back(term: Term) -> Iterator[tuple[Hop, ...]]:
        if term == start:
            yield ()
        for hop in arriving[term]:
            for before in back(hop.start):
                yield (*before, hop)

    return {Path(start, way) for way in back(end)} if end in distance else set()


def all_walks(
    triples: Collection[Triple], start: IRI, *, max_hops: int, direction: Directions = "both",
    through_literals: bool = False,
) -> dict[PropertyPath, set[Term]]:  # fmt: skip
    """The ends of every walk that may be walked, by its property path."""
    hops = hops_from(triples, direction=direction, literals=True)
    ends: dict[PropertyPath, set[Term]] = defaultdict(set)
    walks: list[tuple[Hop, ...]] = [()]
    for _ in range(max_hops):
        walks = [
            (*walk, hop)
            for walk in walks
            for hop in hops[walk[-1].end if walk else start]
            if (through_literals or not walk or not isinstance(walk[-1].end, Literal))
            and (not walk or may_follow(walk[-1], hop))
        ]
        for walk in walks:
            ends[PropertyPath(tuple(hop.step for hop in walk))].add(walk[-1].end)
    return ends


OWL_CLASS = IRI("http://www.w3.org/2002/07/owl#Class")


# Names of which one is the beginning of another, and characters that sort on either side of ">".
IRIS = [ex(name) for name in ("n", "n-1", "n1", "nA", "né", "m")]
BLANK = [BlankNode("b0"), BlankNode("b1")]
CLASSES = [ex("C"), ex("D")]
PREDICATES = [ex("p"), ex("q"), ex("p-1")]

subjects = st.sampled_from([*IRIS, *IRIS, *BLANK, *CLASSES])
plain = st.builds(Triple, subjects, st.sampled_from(PREDICATES), st.sampled_from([*IRIS, *IRIS, *BLANK, *CLASSES]))
literal = st.builds(
    Triple, subjects, st.sampled_from([*PREDICATES, LABEL]),
    st.sampled_from([Literal("x\t\n"), Literal(1), Literal("<")]),
)  # fmt: skip
typed = st.builds(Triple, subjects, st.just(RDF_TYPE), st.sampled_from([*CLASSES, OWL_CLASS]))
multigraphs = st.lists(st.one_of(plain, plain, plain, plain, literal, typed), max_size=30, unique=True)
"""Graphs with parallel and repeated triples, blank nodes, literals, classes and self loops."""
