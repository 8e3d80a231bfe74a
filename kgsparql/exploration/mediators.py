"""What lies behind blank nodes, which no later query can name: fetched together with the way to them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import cast

from kgsparql.evidence import Cut
from kgsparql.exploration.asking import ask_all, far_end, skipping, union_of
from kgsparql.graph import KnowledgeGraph, Solution
from kgsparql.paths import Direction, Directions, Hop, Path, Step, directions, may_follow
from kgsparql.query import Query
from kgsparql.terms import IRI, Term, Triple
from kgsparql.vocabulary import claim_part, is_mediator, statement_value

__all__ = ["hop_of", "mediated_paths", "statement_values"]

Group = tuple[IRI, Step]


def hop_of(near: Term, predicate: Term, far: Term, direction: Direction) -> Hop:
    """The hop from one term of a solution to another."""
    subject, object_ = (near, far) if direction == "forward" else (far, near)
    return Hop(Triple(subject, predicate, object_), direction)  # type: ignore[arg-type]


def mediated_paths(
    graph: KnowledgeGraph, groups: Iterable[Group], *, direction: Directions, skip: Iterable[IRI], nested: bool = True
) -> tuple[dict[Group, list[Path]], list[Cut]]:
    """The paths of two hops that lead from these groups through a blank node.

    :param groups: pairs of an entity and a step, each with a blank node among its neighbours.
    :param direction: of the second hop.
    :param nested: whether a path that ends at a blank node again is a cut.
    :return: the paths of each group; and a cut for each group that has too many.
    """
    skipped = frozenset(skip)
    wanted = list(dict.fromkeys(groups))
    onward = directions(direction)
    found: dict[Group, list[Path]] = {group: [] for group in wanted}
    cuts: list[Cut] = []
    for first in directions("both"):
        arms = [skipping(Query.load(f"mediated_{first}_{second}"), "onward", skipped) for second in onward]
        asked = ask_all(
            graph,
            lambda chunk, bound, arms=arms: union_of(  # type: ignore[misc]
                [arm.bind_rows(("entity", "predicate"), chunk).limit(bound + 1) for arm in arms]
            ),
            [(entity, step.predicate) for entity, step in wanted if step.direction == first],
            key_of=lambda solution: (solution["entity"], solution["predicate"]),
        )
        for (entity, predicate), some in asked.over.items():
            cuts.append(Cut("hops through blank nodes", len(some), None, f"{entity} {Step(predicate, first)}"))
            asked.solutions.extend(some)
        for solution in asked.solutions:
            group, path = _path(solution)
            if may_follow(*path.hops):
                found[group].append(path)
    for (entity, step), paths in found.items():
        if nested and any(is_mediator(path.end) for path in paths):
            cuts.append(Cut("hops through nested blank nodes", 2, None, f"{entity} {step}"))
    return found, cuts


def statement_values(graph: KnowledgeGraph, paths: Iterable[Path]) -> dict[Term, Triple]:
    """What each statement of a Wikibase that these paths go through to a qualifier, or come from one, says itself.

    :return: the triple from the statement to its value; none for one that says there is no value.
    """
    wanted = dict.fromkeys(
        (node, predicate)
        for path in paths
        for before, after in pairwise(path.hops)
        if isinstance(node := before.end, IRI) and is_mediator(node)
        and (predicate := _value_predicate(before.triple.predicate, after.triple.predicate)) is not None
    )  # fmt: skip
    found: dict[Term, Triple] = {}
    rows = list(wanted)
    for start in range(0, len(rows), graph.chunk_size):
        chunk = rows[start : start + graph.chunk_size]
        query = Query.load("group_forward").bind_rows(("entity", "predicate"), chunk).limit(2 * len(chunk))
        for solution in graph.select(query):
            triple = hop_of(solution["entity"], solution["predicate"], solution["object"], "forward").triple
            found.setdefault(solution["entity"], triple)
    return found


def _value_predicate(*predicates: IRI) -> IRI | None:
    """Which predicate leads from a statement to its value, if of these two one leads to it and one to a qualifier."""
    parts = {part[0]: predicate for predicate in predicates if (part := claim_part(predicate)) is not None}
    return statement_value(parts["claim"]) if parts.keys() == {"claim", "qualifier"} else None


def _path(solution: Solution) -> tuple[Group, Path]:
    entity, predicate = cast("IRI", solution["entity"]), cast("IRI", solution["predicate"])
    first, mediator = far_end(solution)
    second: Direction = "forward" if "far_object" in solution else "inverse"
    end = solution["far_object" if second == "forward" else "far_subject"]
    hops = (hop_of(entity, predicate, mediator, first), hop_of(mediator, solution["onward"], end, second))
    return (entity, Step(predicate, first)), Path(entity, hops)
