"""What the statements of a Wikibase say that stand on the ways of an answer: asked for once, cited, and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.verbalising import with_statements
from kgsparql.exploration import missing_sides, statement_sides
from kgsparql.rdf.paths import Hop, Path
from kgsparql.rdf.terms import Term

__all__ = ["read_statements", "told_beside", "with_names", "worded"]


def read_statements(paths: Iterable[Path], session: Session, *, in_grace: bool = True) -> None:
    """Ask, once in a session, what these paths do not say of the statements they go through; two queries at most.

    :param in_grace: it will be shown: it is asked for whatever the budget says, unless the graph is lost.
    """
    known = session.statements
    wanted = {key: predicate for key, predicate in missing_sides(paths).items() if key not in known}
    if not wanted:
        return
    found = {}
    if not in_grace or session.lost is None:
        with session.looking_up(in_grace=in_grace):
            found = statement_sides(session.graph.unlimited() if in_grace else session.graph, wanted)
    known.update({key: found.get(key) for key in wanted})


def told_beside(ways: Sequence[Path], session: Session, *, in_grace: bool = True) -> list[Hop]:
    """What statements on these ways join and some way does not say, each as a hop from a statement.

    A statement that says there is no value has none.

    :param in_grace: as for :func:`read_statements`.
    """
    read_statements(ways, session, in_grace=in_grace)
    triples = {key: session.statements[key] for key in missing_sides(ways)}
    return [
        Hop(triple, "forward" if side == "value" else "inverse")
        for (_, side), triple in triples.items() if triple is not None
    ]  # fmt: skip


def worded(
    ways: Sequence[Path], session: Session, labels: Mapping[Term, str], *, in_grace: bool = True
) -> tuple[Mapping[Term, str], tuple[CitedTriple, ...]]:
    """Labels in which the statements on these ways have names, and the triples that say so, to be cited too.

    :param labels: of all other terms of the ways.
    :param in_grace: as for :func:`read_statements`.
    """
    told = told_beside(ways, session, in_grace=in_grace)
    if not told:
        return labels, ()
    terms = dict.fromkeys(term for hop in told for term in (hop.start, hop.triple.predicate, hop.end))
    named = {**session.labels(terms, in_grace=in_grace), **labels}
    cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in told)
    return with_statements(named, ways, [hop.triple for hop in told]), cited


def with_names(items: Iterable[EvidenceItem], labels: Mapping[Term, str]) -> Mapping[Term, str]:
    """Labels in which the statements of these items have names: of one in several items, that in the first."""
    for item in reversed(list(items)):
        ways = item.ways or ((item.path,) if item.path is not None else ())
        labels = with_statements(labels, ways, [cited.triple for cited in item.triples])
    return labels
