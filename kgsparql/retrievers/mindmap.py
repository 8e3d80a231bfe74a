"""MindMap: shortest paths that chain the question's entities, and what lies around them.

Source: Wen, Wang, Sun, "MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language Models",
ACL 2024 (arXiv 2308.09729), section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from kgsparql.answer import AnswerTerm, Retrieval
from kgsparql.choosing import Candidate
from kgsparql.evidence import CitedTriple, Cut, Evidence, EvidenceItem
from kgsparql.exploration import neighbours
from kgsparql.paths import Path, Step
from kgsparql.query import Query
from kgsparql.questions import asks_for_others, expected_kind, shared_words
from kgsparql.retriever import Cost, Retriever
from kgsparql.retrievers._chains import chained_paths, chains, round_robin
from kgsparql.retrievers._lines import lines_around, lines_beyond
from kgsparql.retrievers._tree import decision_tree
from kgsparql.session import Session
from kgsparql.terms import IRI, BlankNode, Term
from kgsparql.verbalising import Line, arrow_text, line_terms, line_text, nested_text, path_text, reversed_text
from kgsparql.vocabulary import RDF_TYPE

__all__ = ["MindMap"]

_ON_THE_WAY = 0.5
"""What a term between the start and the ends of a line counts for, beside one at its end."""

_SHARED_WORDS = 0.05
"""What a line counts for that has every content word of the question in its wording."""

_OTHERS = 0.05
"""What a line that walks a predicate and then back counts for, where the question asks for others with the same."""

_KIND = 0.5
"""What being of the kind that the question asks for counts for, beside fitting it."""


@dataclass(frozen=True, slots=True)
class MindMap(Retriever):
    """Evidence as in MindMap's evidence graph.

    :param paths_kept: paths shown, over all chains.
    :param lines_per_entity: neighbour lines for each linked entity.
    :param neighbour_lines: neighbour lines in all.
    :param ends_per_line: neighbours that one line holds.
    :param paths_per_pair: shortest paths kept between two entities that follow each other.
    :param max_hops: the longest shortest path.
    :param hub_limit: terms with more edges are not walked through.
    :param frontier: neighbours that are walked on from, where there is no pair to connect.
    :param two_hop_when_single: where there is no pair to connect, go two hops out and keep what fits the question.
    """

    name: ClassVar[str] = "mindmap"
    summary: ClassVar[str] = "shortest paths between the question's entities, and their neighbours"
    source: ClassVar[str] = "Wen et al., ACL 2024, arXiv 2308.09729"
    cost: ClassVar[Cost] = Cost(
        calls="0", rounds="0", queries="(entities - 1) * (4 + 2 * max(0, max_hops - 4)) + entities + 12"
    )

    paths_kept: int = 5
    lines_per_entity: int = 5
    neighbour_lines: int = 20
    ends_per_line: int = 50
    paths_per_pair: int = 5
    max_hops: int = 5
    hub_limit: int = 10_000
    frontier: int = 200
    two_hop_when_single: bool = True

    def retrieve(self, session: Session) -> Retrieval:
        """Paths first (P), then neighbour lines (N); candidates from both."""
        links = session.link()
        entities = [link.term for link in links]
        classes = [link.term for link in links if link.kind == "class"]
        items: list[EvidenceItem] = []
        with session.within_budget():
            items += self._path_items(entities, session)
        with session.within_budget():
            near = neighbours(session.graph, entities, direction=session.direction, limit=self.frontier)
            members = neighbours(session.graph, classes, steps=[Step(RDF_TYPE, "inverse")], limit=self.frontier)
            session.note_cuts((*near.cuts, *members.cuts))
            around = lines_around((*near.items, *members.items))
            if not items and self.two_hop_when_single:
                beyond = lines_beyond(around, session, frontier=self.frontier, limit=self.ends_per_line)
                items += self._best_lines(beyond, self.paths_kept, "two-hop paths", session)
            quota = max(1, min(self.lines_per_entity, self.neighbour_lines // max(1, len(entities))))
            for entity in entities:
                own = [line for line in around if line.start == entity]
                items += self._best_lines(own, quota, "neighbour lines", session)
        evidence = Evidence(items)
        session.note_cuts(cut for item in evidence for cut in item.cuts)
        labels = session.labels(
            t for triple in evidence.triples for t in (triple.subject, triple.predicate, triple.object)
        )
        return Retrieval(
            evidence=evidence,
            candidates=tuple(_candidates(evidence, frozenset(entities), session)),
            tree=decision_tree(evidence, labels),
        )

    def _path_items(self, entities: Sequence[IRI], session: Session) -> list[EvidenceItem]:
        """Whole paths through the linked entities, those that fit the question best first."""
        found, cuts = chains(
            entities, session,
            max_hops=self.max_hops, paths_per_pair=self.paths_per_pair, hub_limit=self.hub_limit,
        )  # fmt: skip
        kept = round_robin([chained_paths(chain) for chain in found], self.paths_kept)
        labels = session.labels(t for path in kept for x in path.triples for t in (x.subject, x.predicate, x.object))
        texts = [path_text(path, labels) for path in kept]
        session.note_cuts(cuts)
        scored = sorted(zip(kept, texts, session.rank(texts), strict=True), key=lambda entry: -entry[2])
        return [self._path_item(path, text, float(score)) for path, text, score in scored]

    def _path_item(self, path: Path, text: str, score: float) -> EvidenceItem:
        ends = None if isinstance(path.end, BlankNode) else [path.end]
        query = Query.walk_triples(path.property_path, [_iri(path.start)], ends, limit=self.ends_per_line)
        cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in path.hops)
        return EvidenceItem("path", text, cited, query, path=path, score=score)

    def _best_lines(self, lines: Sequence[Line], at_most: int, purpose: str, session: Session) -> list[EvidenceItem]:
        """The lines that fit the question best; of two-hop lines with the same ends, one."""
        kinds = session.kinds([[way.terms for way in line.ways] for line in lines])
        labels = session.labels(step.predicate for line in lines for step in line.path)
        candidates = [
            _candidate(i, line, kind, labels, session.masked_question)
            for i, (line, kind) in enumerate(zip(lines, kinds, strict=True))
        ]
        best: dict[object, EvidenceItem] = {}
        for choice in session.choose.choose(session.masked_question, candidates, purpose, len(candidates)):
            line = lines[choice.candidate.number]
            key = frozenset(line.ends) if len(line.path) > 1 else line
            if key not in best:
                best[key] = self._line_item(line, choice.score, session)
            if len(best) == at_most:
                break
        return list(best.values())

    def _line_item(self, line: Line, score: float, session: Session) -> EvidenceItem:
        shown = Line(line.path, line.ways[: self.ends_per_line], line.count, line.exact)
        text = line_text(shown, session.labels(line_terms([shown])))
        cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in shown.ways for hop in way.hops)
        query = Query.walk_triples(line.path, [_iri(line.start)], limit=self.ends_per_line)
        known = line.count if line.exact else None
        cuts = (Cut("ends", len(shown.ways), known, text),) if line.count > len(shown.ways) else ()
        two = len(line.path) > 1
        return EvidenceItem("path" if two else "neighbours", text, tuple(cited), query, None, score, cuts)


def _candidate(number: int, line: Line, kinds: Sequence[str], labels: Mapping[Term, str], question: str) -> Candidate:
    """A line as something to choose, in three wordings, with what it has in common with the question to the letter."""
    nested = nested_text(line.path, kinds, labels)
    bonus = _SHARED_WORDS * shared_words(question, nested)
    if line.path.goes_back and asks_for_others(question):
        bonus += _OTHERS
    return Candidate(
        number, nested, (arrow_text(line.path, kinds, labels), reversed_text(line.path, kinds, labels)), bonus
    )


def _candidates(evidence: Evidence, linked: frozenset[Term], session: Session) -> Iterator[AnswerTerm]:
    """Terms of the evidence that the question did not name, by the best item each is in and by their kind.

    The best item, not the sum of all: a sum puts first what lies on every way, such as the university between two
    colleagues (``benchmarks/mindmap.py`` prints both).
    """
    scores: dict[Term, float] = {}
    markers: dict[Term, list[str]] = {}
    for item in evidence:
        starts = {_near(cited) for cited in item.triples}
        for term in dict.fromkeys(_far(cited) for cited in item.triples):
            if term not in linked and not isinstance(term, BlankNode):
                weight = _ON_THE_WAY if item.path is None and term in starts else 1.0
                scores[term] = max(scores.get(term, 0.0), item.score * weight)
                markers.setdefault(term, []).append(item.marker)
    terms = list(scores)
    labels = session.labels(terms)
    kinds = [kind for (kind,) in session.kinds([[(term,)] for term in terms])]
    fits = session.fit(expected_kind(session.question), kinds)
    total = {term: scores[term] + _KIND * fit for term, fit in zip(terms, fits, strict=True)}
    if terms and max(total.values()) <= 0:
        session.notes.append("nothing in the evidence fits the words of the question: the order says nothing")
    for term in sorted(terms, key=lambda t: (-total[t], labels[t], str(t))):
        yield AnswerTerm(term, labels[term], total[term], tuple(markers[term]))


def _near(cited: CitedTriple) -> Term:
    return cited.triple.subject if cited.direction == "forward" else cited.triple.object


def _far(cited: CitedTriple) -> Term:
    return cited.triple.object if cited.direction == "forward" else cited.triple.subject


def _iri(term: Term) -> IRI:
    if not isinstance(term, IRI):
        raise TypeError(f"a walk starts at an IRI, not at {term}")
    return term
