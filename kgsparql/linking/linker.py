"""Entity linking: from a question to the entities it names."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TypeAlias

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.label_matching import (
    MISTYPED_WORDS,
    SAME_STEM,
    THRESHOLD,
    Likeness,
    LinkCandidate,
    Matched,
    language_rank,
    near_texts,
    signed_place,
)
from kgsparql.linking.lattice import ALTERNATIVE, Lattice
from kgsparql.linking.linked_entity import NOWHERE, LinkedEntity, Mention, mention_in
from kgsparql.linking.words import inflections, place_of, stop_words, words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import IRI, distinct, normalised

Mentions: TypeAlias = Sequence[tuple[str, bool]] | None
"""Names that somebody found in a question, and whether each names a type; ``None`` where nobody looked for them."""

ALIKE = 0.25  # likeness below which a label is not suggested
MAX_LINKS = 10
MAX_CANDIDATES = 20
_COMPARED = 100  # labels with words of a text that is looked up
_SIMILAR = 20  # labels with letters of it
_NEAREST = 50  # labels that are compared by meaning
_KEPT = 8  # texts whose lattices are kept
_SUGGESTED = 3  # names, or labels like a name, that are told where nothing is linked


class Linker:
    """Links mentions to labels: longest match first, one entity per mention, the same links every time.

    :ivar embedder: finds labels that mean the same in other words, where all labels have its vectors.
    :param languages: labels in any language match; these, in order, are preferred among equals.
    """

    def __init__(self, search: PackedLabels, *, languages: tuple[str, ...] = ("en",)) -> None:
        self.search = search
        self.embedder = search.embedder
        self.languages = tuple(tag.lower() for tag in languages)
        self._lattices: dict[str, Lattice] = {}

    def lattice(self, text: str) -> Lattice:
        """The spans of a text and the labels they may mean, looked up once."""
        if (known := self._lattices.get(text)) is None:
            if len(self._lattices) >= _KEPT:
                self._lattices = {}
            known = self._lattices[text] = Lattice(text, self.search, self.languages)
        return known

    def by_letters(self) -> Linker:
        """The same linker, which finds nothing by meaning."""
        other = copy.copy(self)
        other.embedder = None
        return other

    def with_graph(self, graph: KnowledgeGraph) -> Linker:
        """The same linker for one question, which looks labels up in that question's view of the graph."""
        other = copy.copy(self)
        vars(other).update(search=self.search.with_graph(graph), _lattices={})
        return other

    def link(self, question: str, mentions: Mentions = None) -> tuple[LinkedEntity, ...]:
        """The entities a question names, the most specific first; none twice, and no two for the same words.

        Where no entity is named, classes and predicates that are named exactly.

        :param mentions: names in the question that somebody else found, and whether each names a type; linked in their
            order. Without them, or where none can be linked, the words of the question are linked.
        """
        found = self._links_of_words(question, mentions)
        if any(link.kind != "predicate" for link in found):
            return found
        lattice = self.lattice(question)  # a predicate says how, not of what
        hits = lattice.candidates(self.embedder)
        typed = [c for c in hits if c.row.kind != "entity" and c.fit.coverage >= SAME_STEM]
        classes = [c for c in typed if c.row.kind == "class" and c.row.degree]
        places = {place for c in typed for place in c.fit.places}
        entities = [c for c in hits if c.row.kind == "entity" and c.fit.places.isdisjoint(places)]
        return _link_by_part(lattice, entities, (0, -1)) or _links_without_overlap(lattice, classes) or found

    def _links_of_words(self, question: str, mentions: Mentions) -> tuple[LinkedEntity, ...]:
        """Find, for each mention, the best entity that none before it took; for types only if no other is linked.

        Without any, all words are linked.
        """
        links = dict[IRI, LinkedEntity]()
        for text, is_type in sorted((mentions or ())[:MAX_LINKS], key=itemgetter(1)):
            for link in () if is_type and links else self._links_in_text(text)[:1]:
                rest = [c for c in (link, *link.candidates) if c.score >= THRESHOLD and c.term not in links]
                if rest:
                    mention = mention_in(question, text, is_type=link.mention.is_type)
                    others = tuple(c for c in link.candidates if c.term != rest[0].term)
                    links[rest[0].term] = replace(rest[0], mention=mention, candidates=others)
        return tuple(links.values()) or self._links_in_text(question)

    def _links_in_text(self, question: str) -> tuple[LinkedEntity, ...]:
        """The links of a text's words: exact labels, similar ones, ones near in meaning; else by a last name."""
        lattice = self.lattice(question)
        found = lattice.candidates(self.embedder)
        entities = [one for one in found if one.row.kind == "entity"]
        others = [c for c in found if c.row.kind != "entity" and c.matched == "exact" and c.row.degree]
        links = _links_without_overlap(lattice, entities)
        kinds = {
            start
            for (start, end), rows in lattice.rows.items()
            if end == start + 1 and any(row.kind == "class" for row, _ in rows)
        }
        named = [one for one in entities if len(one.fit.places) > 1 or one.fit.places.isdisjoint(kinds)]  # an airport
        return links or _links_without_overlap(lattice, others) or _link_by_part(lattice, named, (-1,))

    def looked_for(self, question: str) -> tuple[str, ...]:
        """The first words of a question that may be names."""
        return distinct(one.text for one in self.lattice(question).names())[:_SUGGESTED]

    def suggest(self, question: str) -> tuple[LinkedEntity, ...]:
        """Labels that are like a name in a question in which nothing is linked, the most alike first."""
        lattice = self.lattice(question)
        found, names = dict[str, LinkedEntity](), [*lattice.names()]
        for name in names:
            if any(one.start <= name.start and name.end <= one.end for one in names if one != name):
                continue  # a part of a name is none: Chris Mungall is not Fungal
            for entity in self._alike_labels(lattice.search, name, by_words=False):
                # `ontologies` is no Ontologized MIABIS
                is_name = name.text[:1].isupper() or entity.label.casefold().startswith(name.text)
                if entity.score > (ALIKE if is_name else MISTYPED_WORDS) and entity.kind != "predicate":
                    found[entity.label] = max(found.get(entity.label, entity), entity, key=lambda e: e.score)
        return tuple(sorted(found.values(), key=lambda e: (-e.score, e.label, e.term.value))[:_SUGGESTED])

    def unlinked_names(
        self, question: str, links: Sequence[LinkedEntity], mentions: Mentions = None
    ) -> tuple[tuple[str, tuple[LinkedEntity, ...]], ...]:
        """The names in a question that were not linked, each with labels that look like it.

        :param mentions: as for :meth:`link`; without them, the unknown names of a question in English.
        """
        names = [(text, place_of(text, question)) for text, is_type in mentions or () if not is_type]
        for start, end in () if names else self.lattice(question).unknown_name_spans():
            names.append((question[start:end], (start, end)))
        places = [link.mention.place for link in links]
        lost = {
            text: None
            for text, place in names
            if place is not None
            and not any(start < place[1] and place[0] < end for start, end in places)
            and not self._links_in_text(text)
        }
        return tuple((text, self.suggest(text)) for text in list(lost)[:MAX_LINKS])

    def find(self, text: str, *, limit: int = 10) -> list[LinkedEntity]:
        """Entities, classes and predicates whose labels are most like a text, the best first.

        From :data:`THRESHOLD` on, a label has all words of the text, or is a part of it.
        """
        name = Mention(text, 0, len(text))
        return self._alike_labels(self.search.for_text(text, self.languages), name, embedder=self.embedder)[:limit]

    def _alike_labels(
        self, search: PackedLabels, name: Mention, *, by_words: bool = True, embedder: Embedder | None = None
    ) -> list[LinkedEntity]:
        """What has labels that are like a name, each once: by letters, by words, by meaning."""
        key, stops = normalised(name.text), stop_words(self.languages)
        stops = frozenset() if stops.issuperset(words(key)) else stops  # `The Who`
        asked = [word for word in words(key) if word not in stops]
        rows = {*search.exact([key, *(near for near, _ in near_texts(search, key))]), *search.like(key, limit=_SIMILAR)}
        vocabulary = None
        if by_words:
            vocabulary = search.vocabulary
            forms = [form for word in asked for form in (word, *inflections(word))]
            for word in asked:
                forms += () if vocabulary.count(word) else [near for near, _ in near_texts(search, word, words=True)]
            rows.update(search.with_words(distinct(forms), limit=_COMPARED))
        likeness = Likeness(key, vocabulary, stops)
        alike = {other: likeness.of(other) for other in {row.key for row in rows}}
        hits: list[tuple[LabelRow, float, Matched]] = [
            (row, alike[row.key], "exact" if row.key == key else "text") for row in rows
        ]
        if embedder is not None and asked:
            (nearest,) = search.nearest(embedder.embed([name.text]), limit=_NEAREST)
            hits += [(row, min(cosine, MISTYPED_WORDS), "vector") for row, cosine in nearest]
        scored = ((row, own if row.role == "label" else own * ALTERNATIVE, how) for row, own, how in hits)
        found = dict[str, LinkedEntity]()
        for row, score, how in sorted(scored, key=self._by_likeness):
            entity = LinkedEntity(IRI(row.iri), row.text, round(score, 4), row.kind, how, name, degree=row.degree)
            found.setdefault(row.iri, entity)
        return list(found.values())

    def _by_likeness(self, hit: tuple[LabelRow, float, str]) -> tuple[float, int, int, LabelRow]:
        row, score, _ = hit
        return -round(score, 4), language_rank(row.language, self.languages), -row.degree, row

    def similar(self, question: str, *, limit: int = 10, threshold: float = 0.5) -> tuple[LinkedEntity, ...]:
        """The entities whose labels are most like a whole question, the best first; classes if no entity is.

        By meaning where the index has vectors of all labels, at the cost of one embedding; else by words in common.

        :param threshold: the least score: a cosine, or a likeness.
        """
        search = self.search.for_text(question, self.languages)
        if self.embedder is None:
            found = self._alike_labels(search, replace(NOWHERE, text=question))
        else:
            (hits,) = search.nearest(self.embedder.embed([question]), limit=5 * limit)
            found = [
                LinkedEntity(IRI(row.iri), row.text, round(min(1.0, cosine), 4), row.kind, "vector", NOWHERE)
                for row, cosine in hits
            ]
        near = [entity for entity in found if entity.score >= threshold]
        near = [e for e in near if e.kind == "entity"] or [e for e in near if e.kind == "class"]
        best = dict[IRI, LinkedEntity]()
        for entity in sorted(near, key=lambda e: (-e.score, e.label, e.term.value)):
            best.setdefault(entity.term, entity)
        return tuple(best.values())[:limit]


def _links_without_overlap(lattice: Lattice, found: Sequence[LinkCandidate]) -> tuple[LinkedEntity, ...]:
    """Greedy: the heaviest candidate takes its words; others for any of these words become its candidates.

    Beside a name, common words name nothing: `films` in `Which films did Jane Campion write?`.
    """
    links, names = list[LinkedEntity](), list[LinkedEntity]()
    taken = set[int]()
    entities = set[str]()
    for candidate in found:
        if candidate.score < THRESHOLD or candidate.fit.places & taken or candidate.row.iri in entities:
            continue
        taken |= candidate.fit.places
        entities.add(candidate.row.iri)
        rivals = (c for c in found if c.fit.places & candidate.fit.places)
        links.append(_linked_entity(lattice, candidate, rivals))
        names += [] if candidate.is_common else links[-1:]
        if len(links) == MAX_LINKS:
            break
    return tuple(names or links)


def _link_by_part(lattice: Lattice, found: Sequence[LinkCandidate], places: Sequence[int]) -> tuple[LinkedEntity, ...]:
    """The best connected of what has a name in the question, such as `Einstein`, as its first or last word.

    What has all words of a name comes first: *Marie Curie, née Sklodowska*, and not *Pierre Curie*. Only where names
    have capitals; the score is below the threshold.

    :param places: of words in a label, that may be in the question.
    """
    runs = lattice.name_runs() if lattice.is_cased else []
    names = {i for run in runs for i in run}
    possible = [c for c in found if c.matched == "text" and c.fit.places <= names]
    parts = [c for c in possible if lattice.tokens[c.fit.last].text in {words(c.row.key)[at] for at in places}]
    whole = [c for c in possible if any(c.fit.places.issuperset(run) for run in runs if len(run) > 1)]
    chosen = sorted(whole or parts, key=lambda c: (-c.row.degree, c.order))
    if not chosen:
        return ()
    others = (c for c in possible if c not in chosen and c.fit.places & chosen[0].fit.places)
    return (_linked_entity(lattice, chosen[0], [*chosen, *others]),)


def _linked_entity(lattice: Lattice, candidate: LinkCandidate, rivals: Iterable[LinkCandidate] = ()) -> LinkedEntity:
    """The entity of a candidate; its own candidates are the best rivals that are other entities.

    What has a name is no namesake of a lesser known thing that has none, only an IRI that ends so: often its equal in
    another vocabulary, of which nothing else is said.
    """
    first, last = lattice.tokens[candidate.fit.first], lattice.tokens[candidate.fit.last]
    row = candidate.row
    place = signed_place(row.text, lattice.question, first.start, last.end)
    mention = Mention(lattice.question[slice(*place)], *place, candidate.is_type)
    score = round(candidate.score, 4)
    entity = LinkedEntity(IRI(row.iri), row.text, score, row.kind, candidate.matched, mention, degree=row.degree)
    others = dict[str, LinkedEntity]()
    for rival in rivals:
        is_unnamed = rival.row.role == "derived" != row.role and rival.row.key == row.key
        if rival.row.iri not in {row.iri, *others} and not (is_unnamed and rival.row.degree < row.degree):
            others[rival.row.iri] = _linked_entity(lattice, rival)
            if len(others) == MAX_CANDIDATES:
                break
    return replace(entity, candidates=tuple(others.values()))
