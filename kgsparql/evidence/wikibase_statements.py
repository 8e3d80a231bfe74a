"""What the statements of a Wikibase say that stand on the paths of an answer: asked for once, cited, and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.evidence.verbalising import with_statements
from kgsparql.exploration import missing_sides, statement_sides
from kgsparql.rdf.paths import Hop, Path
from kgsparql.rdf.terms import Term


def read_statements(paths: Iterable[Path], terms: TermLabels, *, in_grace: bool = True) -> None:
    """Ask, once in a question, what these paths do not say of the statements they go through; two queries at most.

    :param in_grace: it will be shown: it is asked for whatever the budget says, unless the graph is lost.
    """
    known = terms.statements
    wanted = {key: predicate for key, predicate in missing_sides(paths).items() if key not in known}
    if not wanted:
        return
    found = {}
    if not in_grace or terms.notes.lost is None:
        with terms.notes.looking_up(in_grace=in_grace):
            found = statement_sides(terms.graph.unlimited() if in_grace else terms.graph, wanted)
    known.update({key: found.get(key) for key in wanted})


def statement_hops(paths: Sequence[Path], terms: TermLabels, *, in_grace: bool = True) -> list[Hop]:
    """What statements on these paths join and some path does not say, each as a hop from a statement.

    A statement that says there is no value has none.
    """
    read_statements(paths, terms, in_grace=in_grace)
    triples = {key: terms.statements[key] for key in missing_sides(paths)}
    return [
        Hop(triple, "forward" if side == "value" else "inverse")
        for (_, side), triple in triples.items() if triple is not None
    ]  # fmt: skip


def statement_labels(
    paths: Sequence[Path], terms: TermLabels, labels: Mapping[Term, str], *, in_grace: bool = True
) -> tuple[Mapping[Term, str], tuple[CitedTriple, ...]]:
    """Labels in which the statements on these paths have names, and the triples that say so, to be cited too."""
    hops = statement_hops(paths, terms, in_grace=in_grace)
    if not hops:
        return labels, ()
    stated = (term for hop in hops for term in (hop.start, hop.triple.predicate, hop.end))
    named = {**terms(stated, in_grace=in_grace), **labels}
    cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in hops)
    return with_statements(named, paths, [hop.triple for hop in hops]), cited


def labels_from_items(items: Iterable[EvidenceItem], labels: Mapping[Term, str]) -> Mapping[Term, str]:
    """Labels in which the statements of these items have names: of one in several items, that in the first."""
    for item in reversed(list(items)):
        labels = with_statements(labels, item.paths, [cited.triple for cited in item.triples])
    return labels
