"""What is said about two entities of the question at once: other paths through the node that stands between them."""

from __future__ import annotations

from kgsparql.answering.session import Session
from kgsparql.evidence.wikibase_statements import told_beside
from kgsparql.exploration import mediated_paths
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.rdf.paths import Constraint, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import UNWALKED, is_mediator
from kgsparql.retrievers._path_enumeration import Enumeration

__all__ = ["add_shared", "others_named"]


def add_shared(made: Enumeration, link: LinkedEntity, session: Session) -> None:
    """Have the paths through a statement, or a blank node, that another entity of the question is said in too keep to
    just such nodes: of the prize that two people shared, not of any that one of them received.

    Nothing is asked where no such node is near, or nothing else is linked.
    """
    others = others_named(link, session)
    steps = [
        path.steps[0] for path in made.paths if len(path) == 1 and any(is_mediator(end) for end in made.ends[path])
    ]
    if not others or not steps:
        return
    with session.within_budget():
        found, _ = mediated_paths(
            session.graph, [(made.start, step) for step in steps], direction=session.direction, skip=UNWALKED
        )
        paths = [path for own in found.values() for path in own]
        between: dict[Term, tuple[Step, IRI]] = {}
        for path in paths:
            if path.end in others:
                between.setdefault(path.hops[0].end, (path.hops[1].step, path.end))  # type: ignore[arg-type]
        for hop in told_beside(paths, session, in_grace=False):
            if hop.end in others and hop.direction == "forward":
                between[hop.start] = (hop.step, hop.end)  # type: ignore[assignment]
        shared: dict[PropertyPath, list[Term]] = {}
        for path in paths:
            node, shape = path.hops[0].end, path.property_path
            if node in between and path.end not in others and not is_mediator(path.end):
                step, other = between[node]
                made.constraints.setdefault(shape, Constraint(1, step, (other,)))
                shared.setdefault(shape, []).append(path.end)
        made.take_in(shared)


def others_named(link: LinkedEntity, session: Session) -> dict[Term, LinkedEntity]:
    """The entities that other words of the question name."""
    return {
        other.term: other
        for other in session.link()
        if other.term != link.term and _are_apart(other.mention, link.mention)
    }


def _are_apart(one: Mention, other: Mention) -> bool:
    """Whether two mentions share no word; what was given need not be mentioned at all."""
    return min(one.start, other.start) < 0 or one.end <= other.start or other.end <= one.start
