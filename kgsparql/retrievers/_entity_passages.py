"""The entity method's passages about entities: of documents, of texts of the graph, and cards of facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import NO_QUERY, CitedTriple, EvidenceItem
from kgsparql.evidence.verbalising import arrow
from kgsparql.exploration import NeighbourGroup, Text
from kgsparql.exploration.batched_select import lookup
from kgsparql.linking.documents import BYTES_PER_TOKEN, Gazetteer, passage_spans
from kgsparql.linking.passages import PASSAGE_TOKENS
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, normalised, printable
from kgsparql.rdf.vocabulary import is_mediator

_MAX_PREDICATES_ON_CARD = 40
_MAX_NEIGHBOURS_ON_CARD = 5

_Chunk: TypeAlias = tuple[frozenset[IRI], EvidenceItem | int]
"""The entities that a passage mentions, and the passage, or its number in a document: that is read only if chosen."""


def chunk_score(mentioned: Collection[IRI], similarity: Mapping[IRI, float], weights: tuple[float, float]) -> float:
    """Score a passage: the share of the entities that it mentions, and their mean similarity, weighted.

    Source: VectorInstitute kg-rag (2025), the entity-based method's score of chunks.

    >>> a, b = IRI("http://e.org/a"), IRI("http://e.org/b")
    >>> round(chunk_score([a, b], {a: 1.0, b: 0.5}, (0.4, 0.6)), 9), chunk_score([b], {a: 1.0, b: 0.5}, (0.4, 0.6))
    (0.85, 0.5)
    """
    own = [similarity[term] for term in dict.fromkeys(mentioned) if term in similarity]
    return weights[0] * (len(own) / len(similarity)) + weights[1] * (sum(own) / len(own)) if own else 0.0


def passage_items(
    similarity: Mapping[IRI, float],
    texts: Sequence[Text],
    groups: Sequence[NeighbourGroup],
    session: Session,
    *,
    at_most: int,
    weights: tuple[float, float],
) -> list[EvidenceItem]:
    """Take the best passages; among equals first those of documents, the likest first, then texts, then cards."""
    chunks = [*_document_chunks(similarity, session), *_text_chunks(similarity, texts, session)]
    covered = {term for mentioned, _ in chunks for term in mentioned}
    chunks += _entity_cards([term for term in similarity if term not in covered], groups, session)
    scores = [chunk_score(mentioned, similarity, weights) for mentioned, _ in chunks]
    best = sorted(range(len(chunks)), key=lambda i: (-round(scores[i], 12), i))[:at_most]
    numbers = [number for _, number in (chunks[i] for i in best) if isinstance(number, int)]
    read = {passage.number: passage for passage in session.passages.read(numbers)}
    items = []
    for i in best:
        _, item = chunks[i]
        if isinstance(item, int):
            item = EvidenceItem("passage", read[item].text, (), NO_QUERY, excerpt=read[item].excerpt)
        items.append(replace(item, score=scores[i]))
    return items


def _document_chunks(similarity: Mapping[IRI, float], session: Session) -> list[_Chunk]:
    found = session.passages.mentioning(similarity)
    like = [number for number in session.passages.like(session.masked_question) if number in found] if found else []
    return [(found[number], number) for number in dict.fromkeys([*like, *found])]


def _text_chunks(similarity: Mapping[IRI, float], texts: Sequence[Text], session: Session) -> Iterator[_Chunk]:
    labels = session.labels([*similarity, *(text.predicate for text in texts)], in_grace=True)
    keys: dict[str, list[str]] = {}
    for term in similarity:
        keys.setdefault(normalised(labels[term]), []).append(term.value)
    matcher = Gazetteer(keys, languages=session.labels.languages)
    for text in texts:
        if isinstance(text.entity, IRI):
            part = _best_part(text.literal.value, session)
            named = frozenset(m.term for m in matcher.mentions(part)) | {text.entity}
            path = PropertyPath((Step(text.predicate),))
            item = EvidenceItem(
                kind="passage",
                text=f"{labels[text.entity]} ({labels[text.predicate]}): {part}",
                triples=(CitedTriple(Triple(text.entity, text.predicate, text.literal)),),
                query=path_queries.walk_triples(path, [text.entity], [text.literal], limit=1),
            )
            yield named & similarity.keys(), item


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
    shown = _facts_on_cards(terms, groups)
    labels = session.labels(_card_terms(shown), in_grace=True)
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
            cited = tuple(CitedTriple(hop.triple, hop.direction) for hop in kept)
            item = EvidenceItem("passage", text, cited, query=lookup(hop.triple for hop in kept))
            yield frozenset((term,)), item


def passage_terms(terms: Sequence[IRI], texts: Sequence[Text], groups: Sequence[NeighbourGroup]) -> list[Term]:
    """List every term whose label the passages about some entities may need, so that one query fetches them all."""
    covered = {text.entity for text in texts}
    uncovered = [term for term in terms if term not in covered]
    return [*terms, *(text.predicate for text in texts), *_card_terms(_facts_on_cards(uncovered, groups))]


def _card_terms(facts: Mapping[IRI, Sequence[Sequence[Hop]]]) -> list[Term]:
    hops = [hop for own in facts.values() for fact in own for hop in fact]
    return [*facts, *(term for hop in hops for term in (hop.step.predicate, hop.end))]


def _facts_on_cards(terms: Sequence[IRI], groups: Sequence[NeighbourGroup]) -> dict[IRI, list[list[Hop]]]:
    """Take the first hops of each predicate: those to literals, then those from the entity, then those to it."""
    found: dict[IRI, list[list[Hop]]] = {term: [] for term in terms}
    for group in groups:
        if named := [hop for hop in group.hops if not is_mediator(hop.end)]:
            found.get(group.entity, []).append(named[:_MAX_NEIGHBOURS_ON_CARD])
    for facts in found.values():
        facts.sort(key=lambda fact: (not isinstance(fact[0].end, Literal), fact[0].direction != "forward"))
    return {term: facts[:_MAX_PREDICATES_ON_CARD] for term, facts in found.items()}
