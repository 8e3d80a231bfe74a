"""From a question to the entities it names."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kgsparql.graphs.protocols import KnowledgeGraph
from kgsparql.linking.candidates import Candidate, Matched
from kgsparql.linking.labels.index import LabelIndex
from kgsparql.linking.labels.rows import Kind, LabelRow
from kgsparql.linking.mention_detection import Reading
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.linking.words import place_of, trigrams, words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import IRI, normalised

__all__ = ["MAX_CANDIDATES", "THRESHOLD", "LinkedEntity", "Linker", "Matched", "Mention"]

THRESHOLD = 0.7
"""Score below which nothing is linked, whatever it was found by."""

ALIKE = 1 / 3
"""Share of parts of words below which a label is not suggested."""
MAX_LINKS = 10
MAX_CANDIDATES = 20
_CLOSE = 0.9
"""From this share of a link's score on, another candidate may be meant where no label is the mention itself."""


@dataclass(frozen=True, slots=True)
class Mention:
    """The part of a question that names something.

    :param start: in characters of the question, as is ``end``.
    :param is_type: it is, or may only be, the name of a class or predicate: `film` in `which film …`.
    """

    text: str
    start: int
    end: int
    is_type: bool = False


@dataclass(frozen=True, slots=True)
class LinkedEntity:
    """An entity of the graph that a question names.

    :param label: the name it was found by.
    :param score: in [0, 1]; 1 for one that was given.
    :param candidates: what else the same mention may be, the best first.
    :param description: what tells it from another that is shown under the same label; empty where there is none.
    """

    term: IRI
    label: str
    score: float
    kind: Kind
    matched: Matched
    mention: Mention
    candidates: tuple[LinkedEntity, ...] = ()
    description: str = ""

    @property
    def namesakes(self) -> tuple[LinkedEntity, ...]:
        """The candidates that are called the same, but for case and signs, by all the words of the mention."""
        name = normalised(self.label)
        return tuple(c for c in self._of_all_words if normalised(c.label) == name and c.kind == self.kind)

    @property
    def also_meant(self) -> tuple[LinkedEntity, ...]:
        """The candidates that may just as well be meant: the namesakes; where no label is the mention, those near it.

        Not what a part of the mention is called: Joseph is not what Joseph Beuys means.
        """
        if self.matched == "exact":
            return self.namesakes
        same = set(self.namesakes)
        return tuple(c for c in self._of_all_words if c in same or c.score >= _CLOSE * self.score)

    @property
    def _of_all_words(self) -> list[LinkedEntity]:
        own = set(words(normalised(self.mention.text)))
        return [c for c in self.candidates if own.issubset(words(normalised(c.mention.text)))]


class Linker:
    """Links mentions to labels: longest match first, one entity per mention, the same links every time.

    :param index: the labels.
    :param embedder: for labels that mean the same in other words; used if the index has its vectors of all labels.
    :param threshold: the least score of a link.
    :param languages: labels in any language match; these, in order, are preferred among equals.
    :param kinds: what may be linked. Classes and predicates that are named exactly are linked when nothing else is.
    """

    def __init__(
        self,
        index: LabelIndex,
        embedder: Embedder | None = None,
        *,
        threshold: float = THRESHOLD,
        languages: tuple[str, ...] = ("en",),
        kinds: tuple[Kind, ...] = ("entity",),
    ) -> None:
        self.index = index
        self.embedder = embedder if index.search.has_vectors else None
        self.threshold = threshold
        self.languages = tuple(tag.lower() for tag in languages)
        self.kinds = kinds

    def asking(self, graph: KnowledgeGraph) -> Linker:
        """The same linker for one question: labels that must be asked for are asked of its view of the graph."""
        other = copy.copy(self)
        other.index = replace(self.index, search=self.index.search.asking(graph))
        return other

    def notes(self, links: Sequence[LinkedEntity]) -> tuple[str, ...]:
        """What the reader of an answer should know of how labels were searched."""
        return self.index.search.notes({link.term.value for link in links})

    def link(self, question: str, mentions: Sequence[tuple[str, bool]] | None = None) -> tuple[LinkedEntity, ...]:
        """The entities a question names, the most specific first; none twice, and no two for the same words.

        :param mentions: the names in the question and whether each names a type, where somebody else found them; they
            are linked in their order. Where nothing is, as without them, the words of the question are.
        """
        return self._mentioned(question, mentions or ()) or self._named(question)

    def _mentioned(self, question: str, mentions: Sequence[tuple[str, bool]]) -> tuple[LinkedEntity, ...]:
        """The best entity for each mention that no mention before it took; for types only if there is no other."""
        for wanted in ([text for text, is_type in mentions if not is_type], [text for text, kind in mentions if kind]):
            links: dict[IRI, LinkedEntity] = {}
            for text in wanted[:MAX_LINKS]:
                for link in self._named(text)[:1]:
                    rest = [c for c in (link, *link.candidates) if c.score >= self.threshold and c.term not in links]
                    if rest:
                        mention = _placed(text, question, is_type=link.mention.is_type)
                        others = tuple(c for c in link.candidates if c.term != rest[0].term)
                        links[rest[0].term] = replace(rest[0], mention=mention, candidates=others)
            if links:
                return tuple(links.values())
        return ()

    def _named(self, question: str) -> tuple[LinkedEntity, ...]:
        reading = Reading(question, self.index.search, self.languages)
        found = self._candidates(reading)
        others = [c for c in found if c.row.kind not in self.kinds and c.matched == "exact" and c.row.degree]
        wanted, labelled = _without_derived([c for c in found if c.row.kind in self.kinds], others)
        if self._choose(reading, wanted):
            return self._choose(reading, sorted(wanted + labelled, key=lambda c: c.order))
        return self._choose(reading, others) or self._by_last_name(reading, wanted)

    def _by_last_name(self, reading: Reading, found: Sequence[Candidate]) -> tuple[LinkedEntity, ...]:
        """Of the things whose label ends with a name in the question, such as `Einstein`, the best connected.

        Only where nothing else is linked, in a question that gives names capitals. The score stays below the threshold.
        """
        names = {i for run in reading.names() for i in run} if reading.is_cased else set()
        possible = [c for c in found if c.matched == "text" and c.fit.places <= names]
        ending = [c for c in possible if c.row.key.endswith(f" {reading.tokens[c.fit.last].text}")]
        ending.sort(key=lambda c: (-c.row.degree, c.order))
        return tuple(linked(reading, best, ending) for best in ending[:1])

    def suggest(self, question: str, *, limit: int = 3) -> tuple[LinkedEntity, ...]:
        """Labels that look like some words of a question, the nearest first: for one of which nothing is linked.

        Names and rare words are looked at first; what has less than a third of its parts of words in common with them
        is no suggestion.
        """
        reading = Reading(question, self.index.search, self.languages)
        found: dict[str, LinkedEntity] = {}
        for run in reading.names():
            first, last = reading.tokens[run[0]], reading.tokens[run[-1]]
            mention = Mention(question[first.start : last.end], first.start, last.end)
            for row, shared in _alike(reading, normalised(mention.text), limit=3 * limit):
                if shared > ALIKE and row.kind != "predicate":
                    entity = LinkedEntity(IRI(row.iri), row.text, shared, row.kind, "text", mention)
                    found[row.text] = max(found.get(row.text, entity), entity, key=lambda e: e.score)
        return tuple(sorted(found.values(), key=lambda e: (-e.score, e.label, e.term.value))[:limit])

    def missing(
        self, question: str, links: Sequence[LinkedEntity], mentions: Sequence[tuple[str, bool]] | None = None
    ) -> tuple[tuple[str, tuple[LinkedEntity, ...]], ...]:
        """The names in a question that nothing was linked to, each with labels that look like it.

        :param mentions: as for :meth:`link`; without them, what a question in English writes like a name, and a word of
            which no label has.
        """
        places = [(link.mention.start, link.mention.end) for link in links]
        names = [(text, place_of(text, question)) for text, is_type in mentions or () if not is_type]
        if not names:
            reading = Reading(question, self.index.search, self.languages)
            names = [(question[start:end], (start, end)) for start, end in reading.unknown_names()]
        lost = {
            text: None
            for text, place in names
            if place is not None
            and not any(start < place[1] and place[0] < end for start, end in places)
            and not self._named(text)
        }
        return tuple((text, self.suggest(text)) for text in list(lost)[:MAX_LINKS])

    def find(self, text: str, *, limit: int = 10) -> list[LinkedEntity]:
        """Everything of any kind whose label is like a text, the best first, however little like it."""
        reading = Reading(text, self.index.search, self.languages)
        found: dict[str, LinkedEntity] = {}
        for candidate in sorted(self._candidates(reading), key=lambda c: (-c.score, c.order)):
            found.setdefault(candidate.row.iri, linked(reading, candidate))
        key = normalised(text)
        for row, shared in _alike(reading, key, limit=limit):
            # Below every label of which whole words were found: only parts of words are the same.
            entity = LinkedEntity(
                IRI(row.iri), row.text, round(shared / 2, 4), row.kind, "text", Mention(text, 0, len(text))
            )
            found.setdefault(row.iri, entity)
        return sorted(found.values(), key=lambda e: -e.score)[:limit]

    def similar(self, question: str, *, limit: int = 10, threshold: float = 0.5) -> tuple[LinkedEntity, ...]:
        """The entities whose labels are most like a whole question, the best first; classes where no entity is.

        By meaning where the index has vectors of all labels, which is one embedding; else by the words in common.

        :param threshold: the least score: a cosine, or the share of words in common.
        """
        if self.embedder is None:
            known = self.find(question, limit=5 * limit)
            shared = BM25Ranker().similarities([entity.label for entity in known], [question])
            found = [replace(e, score=round(float(share), 4)) for e, (share,) in zip(known, shared, strict=True)]
        else:
            search = self.index.search.about(question, self.languages)
            (hits,) = search.nearest(self.embedder.embed([question]), limit=5 * limit)
            nowhere = Mention("", -1, -1)
            found = [
                LinkedEntity(IRI(row.iri), row.text, round(min(1.0, cosine), 4), row.kind, "vector", nowhere)
                for row, cosine in hits
            ]
        near = [entity for entity in found if entity.score >= threshold]
        near = [e for e in near if e.kind in self.kinds] or [e for e in near if e.kind == "class"]
        best: dict[IRI, LinkedEntity] = {}
        for entity in sorted(near, key=lambda e: (-e.score, e.label, e.term.value)):
            best.setdefault(entity.term, entity)
        return tuple(best.values())[:limit]

    def _candidates(self, reading: Reading) -> list[Candidate]:
        exact = list(reading.exact())
        if not reading.content:
            return sorted(exact, key=lambda c: c.order)
        found = [*exact, *reading.textual(exact)]
        if self.embedder is not None:
            found += reading.similar(exact, self.embedder)
        return sorted(found, key=lambda c: c.order)

    def _choose(self, reading: Reading, found: Sequence[Candidate]) -> tuple[LinkedEntity, ...]:
        """Greedy: the heaviest candidate takes its words; what else wanted any of them becomes its candidates.

        Beside a real name, common words name nothing: `films` in `Which films did Jane Campion write?`.
        """
        links: list[LinkedEntity] = []
        common: list[bool] = []
        taken: set[int] = set()
        entities: set[str] = set()
        for candidate in found:
            if candidate.score < self.threshold or candidate.fit.places & taken or candidate.row.iri in entities:
                continue
            taken |= candidate.fit.places
            entities.add(candidate.row.iri)
            rivals = (c for c in found if c.fit.places & candidate.fit.places)
            links.append(linked(reading, candidate, rivals))
            common.append(candidate.is_common)
            if len(links) == MAX_LINKS:
                break
        if all(common):
            return tuple(links)
        return tuple(link for link, is_common in zip(links, common, strict=True) if not is_common)


def _placed(text: str, question: str, *, is_type: bool) -> Mention:
    """A mention at its place in the question; a text that is not in it, word for word, has none."""
    place = place_of(text, question)
    return Mention("", -1, -1, is_type) if place is None else Mention(question[slice(*place)], *place, is_type)


def _alike(reading: Reading, key: str, *, limit: int) -> list[tuple[LabelRow, float]]:
    """Labels with the share of the runs of three characters that they have in common with a key."""
    asked = trigrams(key)
    rows = reading.search.like(key, limit=limit)
    return [(row, round(len(asked & trigrams(row.key)) / len(asked | trigrams(row.key)), 4)) for row in rows]


def _without_derived(
    wanted: Sequence[Candidate], others: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates without what only its IRI calls so, and the classes that the graph itself calls so instead."""
    labelled = [c for c in others if c.row.role == "label"]
    places = {place for c in labelled for place in c.fit.places}
    derived = [c for c in wanted if c.row.role == "derived" and c.fit.places <= places]
    freed = {place for c in derived for place in c.fit.places}
    classes = [c for c in labelled if c.row.kind == "class"]  # the words of a predicate say how, not of what
    return [c for c in wanted if c not in derived], [c for c in classes if c.fit.places & freed]


def linked(reading: Reading, candidate: Candidate, rivals: Iterable[Candidate] = ()) -> LinkedEntity:
    """A candidate as the caller sees it, with the best rivals that are other entities."""
    first, last = reading.tokens[candidate.fit.first], reading.tokens[candidate.fit.last]
    mention = Mention(reading.question[first.start : last.end], first.start, last.end, candidate.is_type)
    row = candidate.row
    entity = LinkedEntity(IRI(row.iri), row.text, round(candidate.score, 4), row.kind, candidate.matched, mention)
    others: dict[str, LinkedEntity] = {}
    for rival in rivals:
        if rival.row.iri != row.iri and rival.row.iri not in others:
            others[rival.row.iri] = linked(reading, rival)
            if len(others) == MAX_CANDIDATES:
                break
    return replace(entity, candidates=tuple(others.values()))
