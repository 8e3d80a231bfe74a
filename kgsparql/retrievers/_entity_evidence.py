"""The entity method's evidence: the lines that fit the question best, and passages about the entities.

Passages are from documents and from texts of the graph; an entity that has neither gets a card of its facts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgsparql.answering.choosing import ranked_choices
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import NO_QUERY, CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import read_statements
from kgsparql.evidence.verbalising import Line, arrow, line_terms
from kgsparql.exploration import NeighbourGroup, Text, neighbours
from kgsparql.exploration.batched_select import lookup
from kgsparql.graphs.notes import Cut
from kgsparql.linking.documents import BYTES_PER_TOKEN, Gazetteer, passage_spans
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.passages import PASSAGE_TOKENS
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step, may_follow
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, as_iri, normalised, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.retrievers._walking import (
    SHOWN,
    line_candidates,
    line_item,
    lines_around,
    lines_beyond,
    named_hops,
    telling_lines,
    without_inverse_lines,
)

_FRONTIER = 100  # ends of lines that are walked on from for each further hop
_MAX_PREDICATES_ON_CARD = 40
_MAX_NEIGHBOURS_ON_CARD = 5


def lines_of(
    groups: Sequence[NeighbourGroup], named: Collection[Term], session: Session, *, max_hops: int
) -> list[Line]:
    """Find the lines of one step around all entities, and of up to ``max_hops + 1`` steps from the named ones.

    :param named: the entities that longer lines begin at; those of other entities say little about the question.
    """
    around = lines_around(groups)
    lines = without_inverse_lines(around)
    with session.within_budget():
        level = lines_beyond([line for line in around if line.start in named], session, frontier=_FRONTIER, limit=SHOWN)
        lines += level
        for _ in range(1, max_hops):
            level = _longer_lines(level, session)
            lines += level
    with session.within_budget():
        return telling_lines(lines, session)
    return lines


def _longer_lines(lines: Sequence[Line], session: Session) -> list[Line]:
    """Continue lines by one step, from at most 100 of their ends, and never in a circle."""
    reached: dict[IRI, list[Path]] = {}
    for line in lines:
        for way in line.ways:
            if isinstance(way.end, IRI):
                reached.setdefault(way.end, []).append(way)
    onward = list(reached)
    if len(onward) > _FRONTIER:
        session.note_cuts([Cut("neighbours walked on from", _FRONTIER, len(onward))])
    found = neighbours(session.graph, onward[:_FRONTIER], direction=session.direction, limit=SHOWN)
    # A line is partial if it continues a line that was cut, or one with an end that was not walked on from.
    partial = {(line.start, line.path) for line in lines if not line.exact or line.count > len(line.ways)}
    partial |= {(way.start, way.property_path) for term in onward[_FRONTIER:] for way in reached[term]}
    longer: dict[tuple[Term, PropertyPath], list[Path]] = {}
    cut: set[tuple[Term, PropertyPath]] = set()
    for group in found.items:
        is_whole = group.exact and group.count == len(group.neighbours)
        for way in reached[group.entity]:
            key = way.start, PropertyPath((*way.property_path.steps, group.step))
            if not is_whole or (way.start, way.property_path) in partial:
                cut.add(key)
            for hop in named_hops(group):
                if hop.end in way.terms:
                    if may_follow(way.hops[-1], hop):
                        cut.add(key)  # a circle, which the query of the path would walk
                else:
                    longer.setdefault(key, []).append(way.then(Path(group.entity, (hop,))))
    return [Line(key[1], tuple(ways[:SHOWN]), len(ways), exact=key not in cut) for key, ways in longer.items()]


def best_lines(
    lines: Sequence[Line],
    matched: Mapping[Term, LinkedEntity],
    groups: Iterable[NeighbourGroup],
    session: Session,
    *,
    at_most: int,
    by_degree: bool,
) -> list[tuple[Line, float]]:
    """Take the lines that fit the question best, with more edges first among equals; or those with the most edges.

    The score of the entity is added, so that lines of less similar entities rank lower. Half of the lines are direct
    facts of what the question names, if there are so many. Of longer lines with the same ends, one is kept.

    :param groups: the neighbours of the entities: how many edges each has.
    :return: each with only the ways that are shown, and its score.
    """
    degree: Counter[Term] = Counter()
    for group in groups:
        degree[group.entity] += group.count
    edges = [degree[line.start] + line.count for line in lines]
    candidates = []
    for line, edge_count, candidate in zip(lines, edges, line_candidates(lines, session), strict=True):
        score = float(edge_count) if by_degree else (candidate.score or 0.0) + matched[line.start].score
        candidates.append(replace(candidate, score=score))
    candidates.sort(key=lambda c: (-edges[c.number], c.text, str(lines[c.number].start), str(c.path)))
    named = {link.term for link in session.links}
    own = [c for c in candidates if lines[c.number].start in named and len(lines[c.number].path.steps) == 1]
    own = [] if by_degree else own
    question, purpose = session.masked_question, "lines around the entities"
    chosen = ranked_choices(question, own, purpose, (at_most + 1) // 2, session)
    taken = {choice.candidate.number for choice in chosen}
    rest = [candidate for candidate in candidates if candidate.number not in taken]
    chosen += ranked_choices(question, rest, purpose, at_most - len(chosen), session)
    best = [(lines[choice.candidate.number], choice.score) for choice in sorted(chosen, key=lambda c: -c.score)]
    return [(replace(line, ways=line.ways[:SHOWN]), score) for line, score in best]


def line_items(
    ranked: Sequence[tuple[Line, float]], groups: Sequence[NeighbourGroup], session: Session
) -> list[EvidenceItem]:
    """Make lines evidence: a line of one step has the kind ``neighbours``, a longer one the kind ``path``.

    Where a line of one step is whole, its several ends can be named as the answer with one marker.

    :param groups: the neighbours of the entities; their blank nodes are no ends of lines.
    """
    labels = session.labels(line_terms(line for line, _ in ranked), in_grace=True)
    read_statements([way for line, _ in ranked for way in line.ways], session.labels)
    left_out = {(g.entity, g.step): [term for term in g.neighbours if is_mediator(term)] for g in groups}
    items = []
    for line, score in ranked:
        start = as_iri(line.start)
        item = replace(line_item(line, labels, session), score=score)
        if not item.cuts and len(line.path.steps) == 1 and len(line.ends) > 1:
            mediators = left_out.get((start, line.path.steps[0]), ())
            query = path_queries.answers(
                line.path, start,
                without_blank=any(isinstance(term, BlankNode) for term in mediators),
                without_statements=any(isinstance(term, IRI) for term in mediators),
            )  # fmt: skip
            item = replace(item, query=query, ends=line.ends)
        items.append(item)
    return items


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A candidate for a passage.

    :param entities: the entities that count and that it mentions.
    :param number: of a passage in a document; its text is read only if it is chosen.
    :param item: the passage itself, if it is not from a document.
    """

    entities: frozenset[IRI]
    number: int = -1
    item: EvidenceItem | None = None


def chunk_scores(
    mentioned: Sequence[Collection[IRI]],
    similarity: Mapping[IRI, float],
    *,
    node_freq_weight: float,
    node_sim_weight: float,
) -> list[float]:
    """Score each passage: the share of the entities that it mentions, and their mean similarity, weighted.

    Source: VectorInstitute kg-rag (2025), the entity-based method's score of chunks.

    :param mentioned: the entities of each passage; those without a similarity do not count.

    >>> a, b = IRI("http://e.org/a"), IRI("http://e.org/b")
    >>> scores = chunk_scores([[a, b], [b]], {a: 1.0, b: 0.5}, node_freq_weight=0.4, node_sim_weight=0.6)
    >>> [round(score, 9) for score in scores]
    [0.85, 0.5]
    """
    scores = []
    for terms in mentioned:
        own = [similarity[term] for term in dict.fromkeys(terms) if term in similarity]
        frequency = len(own) / len(similarity) if own else 0.0
        mean = sum(own) / len(own) if own else 0.0
        scores.append(node_freq_weight * frequency + node_sim_weight * mean)
    return scores


def passage_items(
    similarity: Mapping[IRI, float],
    texts: Sequence[Text],
    groups: Sequence[NeighbourGroup],
    session: Session,
    *,
    at_most: int,
    node_freq_weight: float,
    node_sim_weight: float,
) -> list[EvidenceItem]:
    """Take the best passages: of documents, of texts in the graph, and cards of the entities that have neither.

    Among equals, passages of documents come first, those most like the question before others. A long text of the graph
    is cut to the part that fits the question best.
    """
    chunks = [*_of_documents(similarity, session), *_of_texts(similarity, texts, session)]
    covered = {term for chunk in chunks for term in chunk.entities}
    chunks += _entity_cards([term for term in similarity if term not in covered], groups, session)
    scores = chunk_scores(
        [chunk.entities for chunk in chunks], similarity,
        node_freq_weight=node_freq_weight, node_sim_weight=node_sim_weight,
    )  # fmt: skip
    best = sorted(range(len(chunks)), key=lambda i: (-round(scores[i], 12), i))[:at_most]
    read = {passage.number: passage for passage in session.passages.read([chunks[i].number for i in best])}
    items = []
    for i in best:
        item = chunks[i].item
        if item is None:
            found = read[chunks[i].number]
            item = EvidenceItem("passage", found.text, (), NO_QUERY, excerpt=found.excerpt)
        items.append(replace(item, score=scores[i]))
    return items


def _of_documents(similarity: Mapping[IRI, float], session: Session) -> list[_Chunk]:
    found = session.passages.mentioning(similarity)
    if not found:
        return []
    like = [number for number in session.passages.like(session.masked_question) if number in found]
    return [_Chunk(found[number], number) for number in dict.fromkeys([*like, *found])]


def _of_texts(similarity: Mapping[IRI, float], texts: Sequence[Text], session: Session) -> Iterator[_Chunk]:
    labels = session.labels([*similarity, *(text.predicate for text in texts)], in_grace=True)
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for term in similarity:
        keys[normalised(labels[term])].append(term.value)
    matcher = Gazetteer(keys, languages=session.labels.languages)
    for text in texts:
        if isinstance(text.entity, IRI):
            part = _best_part(text.literal.value, session)
            named = frozenset(m.term for m in matcher.mentions(part)) | {text.entity}
            triple = Triple(text.entity, text.predicate, text.literal)
            path = PropertyPath((Step(text.predicate),))
            item = EvidenceItem(
                kind="passage",
                text=f"{labels[text.entity]} ({labels[text.predicate]}): {part}",
                triples=(CitedTriple(triple),),
                query=path_queries.walk_triples(path, [text.entity], [text.literal], limit=1),
            )
            yield _Chunk(named & similarity.keys(), item=item)


def _best_part(text: str, session: Session) -> str:
    """Cut a text to the part that fits the question best, with marks where text is left out."""
    parts = list(passage_spans(text, tokens=PASSAGE_TOKENS))
    if len(parts) < 2:
        return text.strip()
    scores = session.ranker.rank(session.masked_question, [text[start:end] for start, end in parts])
    start, end = parts[int(np.argmax(scores))]
    return f"{'… ' if start > parts[0][0] else ''}{text[start:end]}{' …' if end < parts[-1][1] else ''}"


def _entity_cards(terms: Sequence[IRI], groups: Sequence[NeighbourGroup], session: Session) -> Iterator[_Chunk]:
    """Make a card for each entity: its literals, then its links, as many as a passage holds."""
    shown = _facts_of(terms, groups)
    labels = session.labels(_terms_of(shown), in_grace=True)
    for term, facts in shown.items():
        text, kept = labels[term], list[Hop]()
        left = PASSAGE_TOKENS * BYTES_PER_TOKEN - len(text.encode("utf-8", "replace"))
        for fact in facts:
            ends = "; ".join(printable(labels[hop.end], 120) for hop in fact)
            fact_text = f" {arrow(fact[0].step, labels)} {ends}"
            left -= len(fact_text.encode("utf-8", "replace")) + 1
            if left < 0:
                break
            text += f"{'.' if kept and text[-1] not in '.!?…' else ''}{fact_text}"
            kept += fact
        if kept:
            item = EvidenceItem(
                kind="passage",
                text=text,
                triples=tuple(CitedTriple(hop.triple, hop.direction) for hop in kept),
                query=lookup(hop.triple for hop in kept),
            )
            yield _Chunk(frozenset((term,)), item=item)


def passage_terms(terms: Sequence[IRI], texts: Sequence[Text], groups: Sequence[NeighbourGroup]) -> list[Term]:
    """List every term whose label the passages about some entities may need, so that one query fetches them all."""
    covered = {text.entity for text in texts}
    shown = _facts_of([term for term in terms if term not in covered], groups)
    return [*terms, *(text.predicate for text in texts), *_terms_of(shown)]


def _facts_of(terms: Sequence[IRI], groups: Sequence[NeighbourGroup]) -> dict[IRI, list[list[Hop]]]:
    own: dict[IRI, list[NeighbourGroup]] = {term: [] for term in terms}
    for group in groups:
        if group.entity in own:
            own[group.entity].append(group)
    return {term: _facts_on_card(some) for term, some in own.items()}


def _terms_of(facts: Mapping[IRI, Sequence[Sequence[Hop]]]) -> list[Term]:
    hops = [hop for own in facts.values() for fact in own for hop in fact]
    return [*facts, *(term for hop in hops for term in (hop.step.predicate, hop.end))]


def _facts_on_card(groups: Sequence[NeighbourGroup]) -> list[list[Hop]]:
    """Take the first hops of each predicate: those to literals, then those from the entity, then those to it."""
    ends = ([hop for hop in group.hops if not is_mediator(hop.end)][:_MAX_NEIGHBOURS_ON_CARD] for group in groups)
    facts = [hops for hops in ends if hops]
    facts.sort(key=lambda fact: (not isinstance(fact[0].end, Literal), fact[0].direction != "forward"))
    return facts[:_MAX_PREDICATES_ON_CARD]
