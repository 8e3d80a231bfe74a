"""Paths through blank nodes and Wikibase statements. No later query can name a blank node: both hops come at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal as OneOf
from typing import TypeAlias, cast

from kgsparql.exploration.batched_select import batched_select, far_end, skipped_in, skipping, union_of
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Directions, Hop, Path, Step, directions, may_follow
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term, Triple
from kgsparql.rdf.vocabulary import claim_part, is_mediator, is_statement, statement_value

Group = tuple[IRI, Step]

StatementSide: TypeAlias = OneOf["subject", "value"]
"""One end of a statement: the entity it is about, or its value."""


def hop_of(near: Term, predicate: Term, far: Term, direction: Direction) -> Hop:
    """The hop from one term to another."""
    subject, object_ = (near, far) if direction == "forward" else (far, near)
    return Hop(Triple(subject, predicate, object_), direction)  # type: ignore[arg-type]


def mediated_paths(
    graph: KnowledgeGraph, groups: Iterable[Group], *, direction: Directions, skip: Iterable[IRI], nested: bool = True
) -> tuple[dict[Group, list[Path]], list[Cut]]:
    """The paths of two hops that start with these groups and lead through a blank node.

    :param groups: pairs of an entity and a step, each with a blank node among its neighbours.
    :param direction: of the second hop.
    :param nested: whether a path that ends at a blank node is a cut.
    :return: the paths of each group; and a cut for each group that has too many.
    """
    skipped = skipped_in(graph, skip)
    wanted = list(dict.fromkeys(groups))
    onward = directions(direction)
    found: dict[Group, list[Path]] = {group: [] for group in wanted}
    cuts: list[Cut] = []
    for first in directions("both"):
        arms = [skipping(Query.load(f"mediated_{first}_{second}"), "onward", skipped) for second in onward]
        batched = batched_select(
            graph,
            lambda chunk, bound, arms=arms: union_of(  # type: ignore[misc]
                [arm.bind_rows(("entity", "predicate"), chunk).limit(bound + 1) for arm in arms]
            ),
            [(entity, step.predicate) for entity, step in wanted if step.direction == first],
            key_of=lambda solution: (solution["entity"], solution["predicate"]),
        )
        for (entity, predicate), some in batched.over.items():
            cuts.append(Cut("hops through blank nodes", len(some), None, f"{entity} {Step(predicate, first)}"))
            batched.solutions.extend(some)
        for solution in batched.solutions:
            group, path = _path(solution)
            if may_follow(*path.hops):
                found[group].append(path)
    for (entity, step), paths in found.items():
        if nested and any(is_mediator(path.end) for path in paths):
            cuts.append(Cut("hops through nested blank nodes", 2, None, f"{entity} {step}"))
    return found, cuts


def missing_sides(paths: Iterable[Path]) -> dict[tuple[IRI, StatementSide], IRI | None]:
    """The sides of Wikibase statements that are not on these paths, though the paths lead through the statements.

    :return: for each such side the predicate that joins it to the statement, where the path tells which.
    """
    wanted: dict[tuple[IRI, StatementSide], IRI | None] = {}
    for path in paths:
        for before, after in pairwise(path.hops):
            node = before.end
            if not isinstance(node, IRI) or not is_statement(node):
                continue
            parts = {part[0]: p for p in (before.triple.predicate, after.triple.predicate) if (part := claim_part(p))}
            if "claim" not in parts:
                wanted.setdefault((node, "subject"), None)
            if "statement" not in parts:
                value = statement_value(parts["claim"]) if "claim" in parts else None
                wanted[node, "value"] = wanted.get((node, "value")) or value
    return wanted


def statement_sides(
    graph: KnowledgeGraph, wanted: Mapping[tuple[IRI, StatementSide], IRI | None]
) -> dict[tuple[IRI, StatementSide], Triple]:
    """The triples that join Wikibase statements to their subjects and values; one query for each kind of side.

    :param wanted: as :func:`missing_sides` returns them.
    :return: the triple of each; none for a statement that there is no value.
    """
    found: dict[tuple[IRI, StatementSide], Triple] = {}
    nodes = [node for node, side in wanted if side == "subject"]
    for start in range(0, len(nodes), graph.chunk_size):
        chunk = nodes[start : start + graph.chunk_size]
        for solution in graph.select(Query.load("neighbours_inverse").bind(entity=chunk).limit(10 * len(chunk))):
            node, claim = solution["entity"], solution["predicate"]
            part = claim_part(claim) if isinstance(claim, IRI) else None
            if isinstance(node, IRI) and part is not None and part[0] == "claim":
                found.setdefault((node, "subject"), hop_of(node, claim, solution["subject"], "inverse").triple)
    pairs = []
    for (node, side), predicate in wanted.items():
        about = found.get((node, "subject"))
        own = predicate if about is None else statement_value(about.predicate)
        if side == "value" and own is not None:
            pairs.append((node, own))
    for start in range(0, len(pairs), graph.chunk_size):
        rows = pairs[start : start + graph.chunk_size]
        query = Query.load("group_forward").bind_rows(("entity", "predicate"), rows).limit(2 * len(rows))
        for solution in graph.select(query):
            triple = hop_of(solution["entity"], solution["predicate"], solution["object"], "forward").triple
            found.setdefault((triple.subject, "value"), triple)  # type: ignore[arg-type]
    return found


def _path(solution: Solution) -> tuple[Group, Path]:
    entity, predicate = cast("IRI", solution["entity"]), cast("IRI", solution["predicate"])
    first, mediator = far_end(solution)
    second: Direction = "forward" if "far_object" in solution else "inverse"
    end = solution["far_object" if second == "forward" else "far_subject"]
    hops = (hop_of(entity, predicate, mediator, first), hop_of(mediator, solution["onward"], end, second))
    return (entity, Step(predicate, first)), Path(entity, hops)
