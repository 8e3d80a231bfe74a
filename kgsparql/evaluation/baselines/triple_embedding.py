"""The nearest triples: every triple of the graph is compared with the question, without walking and linking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.answering.option_ranges import Within
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.errors import OptionError
from kgsparql.evaluation.baselines._triples import NearestTriples
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import path_text
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term, Triple, normalised


@dataclass(frozen=True, slots=True)
class TripleEmbedding(Retriever):
    """The triples most like the question are the evidence; their terms that the question does not name, the answers.

    :param triples: how many.
    """

    name: ClassVar[str] = "triple_embedding"
    summary: ClassVar[str] = "the triples whose texts are most like the question"
    source: ClassVar[str] = "a baseline: Baek et al., 2023, arXiv 2310.13481 (direct fact retrieval), without training"
    cost: ClassVar[Cost] = Cost(calls="1", rounds="1", queries="20 + 2 * entities")

    triples: Annotated[int, Within(1, 1_000)] = 20
    index: NearestTriples | None = field(default=None, repr=False, compare=False)

    def retrieve(self, session: Session) -> Retrieval:
        """The nearest triples (N), each an item; candidates are their terms, those of the best first.

        :raises OptionError: without an index of the triples.
        """
        if self.index is None:
            raise OptionError("triple_embedding has no index of this graph", hint="evaluation.baselines.load makes it")
        found = self.index.nearest(session.question, self.triples)
        terms = dict.fromkeys(term for t, _ in found for term in (t.subject, t.predicate, t.object))
        labels = session.labels(terms, in_grace=True)
        evidence = Evidence(_item(triple, score, labels) for triple, score in found)
        return Retrieval(evidence=evidence, candidates=tuple(_candidates(evidence, labels, session)))


def _item(triple: Triple, score: float, labels: Mapping[Term, str]) -> EvidenceItem:
    hop = Hop(triple)
    path = Path(triple.subject, (hop,))
    if not isinstance(triple.subject, IRI):
        raise TypeError(f"{triple} has a blank node")
    return EvidenceItem(
        kind="neighbours",
        text=path_text(path, labels),
        triples=(CitedTriple(triple),),
        query=path_queries.walk_triples(
            PropertyPath((Step(triple.predicate),)), [triple.subject], [triple.object], limit=1
        ),
        score=score,
        ways=(path,),
    )


def _candidates(evidence: Evidence, labels: Mapping[Term, str], session: Session) -> Iterator[AnswerTerm]:
    """The subjects and objects that the question does not name, by the best triple each is in.

    If it names all of them, those that were not linked; if all were linked, all.
    """
    linked: set[Term] = {link.term for link in session.links}
    asked = f" {normalised(session.own_words)} "
    markers: dict[Term, list[str]] = {}
    for item in evidence:
        for way in item.ways:
            for term in dict.fromkeys((way.end, way.start)):
                markers.setdefault(term, []).append(item.marker)
    unlinked = [term for term in markers if term not in linked]
    new = [term for term in unlinked if f" {normalised(labels[term])} " not in asked]
    for term in new or unlinked or markers:
        yield AnswerTerm(term, labels[term], evidence[markers[term][0]].score, tuple(markers[term]))
