"""Entity linking: from a question to the entities it names."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from kgsparql.errors import GRAPH_FAILED
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.corrections import near_keys
from kgsparql.linking.label_index.names import Spellings
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import CombinedLabels, LabelIndex, LabelRow, unlikeliness
from kgsparql.linking.label_matching import SAME_STEM, LinkCandidate
from kgsparql.linking.linked_entity import NOWHERE, LinkedEntity, Mention, mention_in
from kgsparql.linking.mention_detection import MentionDetector
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.linking.words import inflections, place_of, signed_place, trigrams, words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import IRI, normalised

THRESHOLD = 0.7  # score below which nothing is linked, however it was found

ALIKE = 1 / 3  # A label with a smaller share of trigrams in common is not suggested
MAX_LINKS = 10
MAX_CANDIDATES = 20
_SUGGESTED = 3  # names, or labels like a name, that are told where nothing is linked


class Linker:
    """Links mentions to labels: longest match first, one entity per mention, the same links every time.

    :param embedder: finds labels that mean the same in other words; used if the index has its vectors of all labels.
    :param languages: labels in any language match; these, in order, are preferred among equals.
    """

    def __init__(
        self, index: LabelIndex, embedder: Embedder | None = None, *, languages: tuple[str, ...] = ("en",)
    ) -> None:
        self.index = index
        self.embedder = embedder if index.search.has_vectors else None
        self.languages = tuple(tag.lower() for tag in languages)
        self._asked: KnowledgeGraph | None = None
        self._looked_up: dict[str, None] = {}
        self._failures: list[str] = []

    def with_graph(self, graph: KnowledgeGraph) -> Linker:
        """The same linker for one question, which looks labels up in that question's view of the graph."""
        other = copy.copy(self)
        index = replace(self.index, search=self.index.search.with_graph(graph))
        vars(other).update(index=index, _asked=graph if self.index.rows else None, _looked_up={}, _failures=[])
        return other

    def notes(self, links: Sequence[LinkedEntity]) -> tuple[str, ...]:
        """What the reader of an answer should know about the search of labels."""
        return (*self.index.search.notes({link.term.value for link in links}), *self._failures)

    def link(self, question: str, mentions: Sequence[tuple[str, bool]] | None = None) -> tuple[LinkedEntity, ...]:
        """The entities a question names, the most specific first; none twice, and no two for the same words.

        Where no entity is named, classes and predicates that are named exactly.

        :param mentions: names in the question that somebody else found, and whether each names a type; linked in their
            order. Without them, or where none can be linked, the words of the question are linked.
        """
        found = self._links_of_mentions(question, mentions or ()) or self._links_in_text(question)
        if self._learn_names(self._unknown_names(question, found)):
            found = self._links_of_mentions(question, mentions or ()) or self._links_in_text(question)
        if all(link.kind == "predicate" for link in found):  # a predicate says how, not of what
            return self._links_by_part_or_plural(question) or found
        return found

    def _unknown_names(self, text: str, links: Sequence[LinkedEntity]) -> list[str]:
        """What may be a name that the index does not know, as it may be spelled: what is written like one, if any is.

        Without links, or where no name has a capital, all of a text with a word that no label has.
        """
        if self._asked is None or not self._asked.is_remote:
            return []
        spellings = Spellings(text, self.languages)
        known = [(link.mention.start, link.mention.end) for link in links if link.matched == "exact"]
        content = [(token.start, token.end) for token in spellings.content]
        left = [(s, e) for s, e in content if not any(start <= s and e <= end for start, end in known)]
        if links and spellings.is_cased:
            left = [(s, e) for s, e in left if s and text[s].isupper()]
            names = [name for name in spellings.names if any(text[s:e] in name for s, e in left)]
            return [form for name in names for form in (name, name[:1].upper() + name[1:])]
        forms = [[key, *inflections(key)] for key in (normalised(text[s:e]) for s, e in left)]
        counts = self.index.search.vocabulary([form for some in forms for form in some]).counts
        is_known = all(any(map(counts.get, some)) for some in forms)
        return [] if links and is_known else list(spellings.exact)

    def _learn_names(self, names: Iterable[str]) -> bool:
        """Look names up at endpoints whose labels were read before; whether any is found, which is then known."""
        keys = {name: normalised(name) for name in names if name not in self._looked_up}
        known = {row.key for row in self.index.search.exact(keys.values())}
        new = [name for name, key in keys.items() if key not in known]
        if self._asked is None or not new:
            return False
        from kgsparql.linking.label_index.lookup import EndpointLabels  # most questions need none of it

        self._looked_up.update(dict.fromkeys(new))
        rows: list[LabelRow] = []
        asked, failed = self._asked.members, self._asked.errors
        for member in asked:
            if member.is_remote and member.name not in failed and not member.profile.has_many_labels:
                try:
                    rows += EndpointLabels(member).named(new, self.languages)
                except GRAPH_FAILED as error:
                    if len(asked) == 1:  # several graphs say themselves which of them fail
                        self._failures.append(f"{error.message_about(member.name)}; its names were not looked up")
        if rows:
            self.index = replace(self.index, search=CombinedLabels((self.index.search, PackedLabels.of(rows))))
        return bool(rows)

    def _links_of_mentions(self, question: str, mentions: Sequence[tuple[str, bool]]) -> tuple[LinkedEntity, ...]:
        """For each mention, the best entity that no mention before it took; for types only if no other is linked."""
        for wanted in ([text for text, is_type in mentions if not is_type], [text for text, kind in mentions if kind]):
            links: dict[IRI, LinkedEntity] = {}
            for text in wanted[:MAX_LINKS]:
                for link in self._links_in_text(text)[:1]:
                    rest = [c for c in (link, *link.candidates) if c.score >= THRESHOLD and c.term not in links]
                    if rest:
                        mention = mention_in(question, text, is_type=link.mention.is_type)
                        others = tuple(c for c in link.candidates if c.term != rest[0].term)
                        links[rest[0].term] = replace(rest[0], mention=mention, candidates=others)
            if links:
                return tuple(links.values())
        return ()

    def _links_in_text(self, question: str) -> tuple[LinkedEntity, ...]:
        """The links of the question's words: exact labels, similar ones, ones near in meaning; else by a last name."""
        detector = MentionDetector(question, self.index.search, self.languages)
        found = self._candidates(detector)
        others = [c for c in found if c.row.kind != "entity" and c.matched == "exact" and c.row.degree]
        wanted, labelled = _without_derived([c for c in found if c.row.kind == "entity"], others)
        if self._links_without_overlap(detector, wanted):
            return self._links_without_overlap(detector, sorted(wanted + labelled, key=lambda c: c.order))
        return self._links_without_overlap(detector, others) or self._link_by_last_name(detector, wanted)

    def _link_by_last_name(self, detector: MentionDetector, found: Sequence[LinkCandidate]) -> tuple[LinkedEntity, ...]:
        """The best connected of the things whose label ends with a name in the question, such as `Einstein`.

        For questions that write names with capitals, where nothing else is linked. Its score is below the threshold.
        """
        names = {i for run in detector.name_runs() for i in run} if detector.is_cased else set()
        possible = [c for c in found if c.matched == "text" and c.fit.places <= names]
        ending = [c for c in possible if c.row.key.endswith(f" {detector.tokens[c.fit.last].text}")]
        return _best_connected(detector, ending, possible)

    def _links_by_part_or_plural(self, question: str) -> tuple[LinkedEntity, ...]:
        """The best connected of the things that a name in the question is the first or last word of; else a class.

        The class may be named in the plural: `offices`.
        """
        detector = MentionDetector(question, self.index.search, self.languages)
        found = self._candidates(detector)
        classes = [c for c in found if c.row.kind == "class" and c.fit.coverage >= SAME_STEM and c.row.degree]
        if detector.is_cased:
            typed = {
                place for c in found if c.row.kind != "entity" and c.fit.coverage >= SAME_STEM for place in c.fit.places
            }
            runs = {run[0] for run in detector.name_runs() if len(run) == 1} - typed
            whole = [c for c in found if c.row.kind == "entity" and c.matched == "text" and c.fit.places <= runs]
            parts = [
                c for c in whole if detector.tokens[c.fit.last].text in (words(c.row.key)[0], words(c.row.key)[-1])
            ]
            if best := _best_connected(detector, parts, whole):
                return best
        return self._links_without_overlap(detector, classes)

    def looked_for(self, question: str) -> tuple[str, ...]:
        """The first words of a question that may be names."""
        detector = MentionDetector(question, self.index.search, self.languages)
        spans = [(detector.tokens[run[0]].start, detector.tokens[run[-1]].end) for run in detector.name_runs()]
        return tuple(dict.fromkeys(question[start:end] for start, end in spans))[:_SUGGESTED]

    def suggest(self, question: str, *, alike: float = ALIKE) -> tuple[LinkedEntity, ...]:
        """Labels that look like some words of a question in which nothing is linked, the most alike first.

        Names and rare words come first.

        :param alike: the share of the trigrams that a label must have more of in common.
        """
        detector = MentionDetector(question, self.index.search, self.languages)
        found: dict[str, LinkedEntity] = {}
        for run in detector.name_runs():
            first, last = detector.tokens[run[0]], detector.tokens[run[-1]]
            mention = Mention(question[first.start : last.end], first.start, last.end)
            key = normalised(mention.text)
            near = near_keys(detector.search, key)
            similar = [(row, _share_right(key, near[row.key])) for row in detector.search.exact(near.keys())]
            similar += _trigram_likeness(detector, key, limit=3 * _SUGGESTED)
            for row, shared in similar:
                if shared > alike and row.kind != "predicate":
                    entity = LinkedEntity(IRI(row.iri), row.text, shared, row.kind, "text", mention)
                    found[row.text] = max(found.get(row.text, entity), entity, key=lambda e: e.score)
        return tuple(sorted(found.values(), key=lambda e: (-e.score, e.label, e.term.value))[:_SUGGESTED])

    def unlinked_names(
        self, question: str, links: Sequence[LinkedEntity], mentions: Sequence[tuple[str, bool]] | None = None
    ) -> tuple[tuple[str, tuple[LinkedEntity, ...]], ...]:
        """The names in a question that were not linked, each with labels that look like it.

        :param mentions: as for :meth:`link`; without them, the unknown names of a question in English.
        """
        places = [(link.mention.start, link.mention.end) for link in links]
        names = [(text, place_of(text, question)) for text, is_type in mentions or () if not is_type]
        if not names:
            detector = MentionDetector(question, self.index.search, self.languages)
            names = [(question[start:end], (start, end)) for start, end in detector.unknown_name_spans()]
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

        Labels that are a typing error from the whole text come before those that only have some of its words.
        """
        key = normalised(text)
        if not self.index.search.exact([key]):
            self._learn_names(self._unknown_names(text, ()))
        detector = MentionDetector(text, self.index.search, self.languages)
        near = near_keys(detector.search, key)
        candidates, rows = self._candidates_and_rows(detector, near)
        if any(c.matched == "exact" and c.row.key == key for c in candidates):
            rows = []  # it is spelled right
        rows = sorted(rows, key=lambda r: (unlikeliness(key, r.key, near[r.key]), -r.degree, r))
        found = self._as_found(text, ((row, _share_right(key, near[row.key])) for row in rows))
        most = max((entity.score for entity in found.values()), default=1.0)
        whole = set(words(key))
        scored: dict[str, tuple[float, LinkCandidate]] = {}
        for c in sorted(candidates, key=lambda c: (-c.score, c.order)):
            is_whole = whole.issubset(words(c.row.key))
            scored.setdefault(c.row.iri, (c.score if is_whole else min(most, c.score), c))
        for score, c in sorted(scored.values(), key=lambda hit: -hit[0])[:limit]:
            found.setdefault(c.row.iri, replace(_linked_entity(detector, c), score=round(score, 4)))
        if not any(entity.score >= THRESHOLD for entity in found.values()):
            # Half the score, so that labels with whole words in common come first.
            alike = [(row, round(share / 2, 4)) for row, share in _trigram_likeness(detector, key, limit=limit)]
            found = self._as_found(text, alike) | found
        return sorted(found.values(), key=lambda e: -e.score)[:limit]

    @staticmethod
    def _as_found(text: str, rows: Iterable[tuple[LabelRow, float]]) -> dict[str, LinkedEntity]:
        """What rows name, each once with its first score, as found for all of a text."""
        mention = Mention(text, 0, len(text))
        found: dict[str, LinkedEntity] = {}
        for row, score in rows:
            found.setdefault(row.iri, LinkedEntity(IRI(row.iri), row.text, score, row.kind, "text", mention))
        return found

    def similar(self, question: str, *, limit: int = 10, threshold: float = 0.5) -> tuple[LinkedEntity, ...]:
        """The entities whose labels are most like a whole question, the best first; classes if no entity is.

        By meaning where the index has vectors of all labels, at the cost of one embedding; else by words in common.

        :param threshold: the least score: a cosine, or the share of words in common.
        """
        if self.embedder is None:
            known = self.find(question, limit=5 * limit)
            shared = BM25Ranker().similarities([entity.label for entity in known], [question])
            found = [replace(e, score=round(float(share), 4)) for e, (share,) in zip(known, shared, strict=True)]
        else:
            search = self.index.search.for_text(question, self.languages)
            (hits,) = search.nearest(self.embedder.embed([question]), limit=5 * limit)
            found = [
                LinkedEntity(IRI(row.iri), row.text, round(min(1.0, cosine), 4), row.kind, "vector", NOWHERE)
                for row, cosine in hits
            ]
        near = [entity for entity in found if entity.score >= threshold]
        near = [e for e in near if e.kind == "entity"] or [e for e in near if e.kind == "class"]
        best: dict[IRI, LinkedEntity] = {}
        for entity in sorted(near, key=lambda e: (-e.score, e.label, e.term.value)):
            best.setdefault(entity.term, entity)
        return tuple(best.values())[:limit]

    def _candidates(self, detector: MentionDetector) -> list[LinkCandidate]:
        return self._candidates_and_rows(detector, ())[0]

    def _candidates_and_rows(
        self, detector: MentionDetector, keys: Collection[str]
    ) -> tuple[list[LinkCandidate], list[LabelRow]]:
        """All candidates in their order; beside them, the rows with some keys."""
        found, rows = detector.candidates_by_key(keys)
        exact = [c for c in found if c.matched == "exact"]
        if detector.content:
            found += detector.text_candidates(exact)
            if self.embedder is not None:
                found += detector.vector_candidates(exact, self.embedder)
        return sorted(found, key=lambda c: c.order), rows

    def _links_without_overlap(
        self, detector: MentionDetector, found: Sequence[LinkCandidate]
    ) -> tuple[LinkedEntity, ...]:
        """Greedy: the heaviest candidate takes its words; others for any of these words become its candidates.

        Beside a name, common words name nothing: `films` in `Which films did Jane Campion write?`.
        """
        links: list[tuple[LinkedEntity, bool]] = []
        taken: set[int] = set()
        entities: set[str] = set()
        for candidate in found:
            if candidate.score < THRESHOLD or candidate.fit.places & taken or candidate.row.iri in entities:
                continue
            taken |= candidate.fit.places
            entities.add(candidate.row.iri)
            rivals = (c for c in found if c.fit.places & candidate.fit.places)
            links.append((_linked_entity(detector, candidate, rivals), candidate.is_common))
            if len(links) == MAX_LINKS:
                break
        return tuple([link for link, is_common in links if not is_common] or [link for link, _ in links])


def _share_right(key: str, edits: int) -> float:
    """The share of a text that is right, if it is so many edits from what is meant."""
    return round(1 - edits / (len(key) + 1), 4)


def _trigram_likeness(detector: MentionDetector, key: str, *, limit: int) -> list[tuple[LabelRow, float]]:
    """Labels like a key, each with the share of trigrams that both have, in [0, 1]."""
    asked = trigrams(key)
    rows = detector.search.like(key, limit=limit)
    return [(row, round(len(asked & trigrams(row.key)) / len(asked | trigrams(row.key)), 4)) for row in rows]


def _without_derived(
    wanted: Sequence[LinkCandidate], others: Sequence[LinkCandidate]
) -> tuple[list[LinkCandidate], list[LinkCandidate]]:
    """The wanted ones without names made from IRIs whose words another kind's label has; and classes so labelled."""
    labelled = [c for c in others if c.row.role == "label"]
    places = {place for c in labelled for place in c.fit.places}
    derived = [c for c in wanted if c.row.role == "derived" and c.fit.places <= places]
    freed = {place for c in derived for place in c.fit.places}
    classes = [c for c in labelled if c.row.kind == "class"]  # the words of a predicate say how, not of what
    return [c for c in wanted if c not in derived], [c for c in classes if c.fit.places & freed]


def _best_connected(
    detector: MentionDetector, parts: Sequence[LinkCandidate], possible: Sequence[LinkCandidate]
) -> tuple[LinkedEntity, ...]:
    """The best connected of what has a part of a name, or all of it: *Marie Curie, née Sklodowska*, not *Pierre Curie*.

    :param possible: what has any of the words: what may be meant, too.
    """
    names = [frozenset(run) for run in detector.name_runs() if len(run) > 1]
    whole = [c for c in possible if any(name <= c.fit.places for name in names)]
    chosen = sorted(whole or parts, key=lambda c: (-c.row.degree, c.order))
    if not chosen:
        return ()
    others = (c for c in possible if c not in chosen and c.fit.places & chosen[0].fit.places)
    return (_linked_entity(detector, chosen[0], [*chosen, *others]),)


def _linked_entity(
    detector: MentionDetector, candidate: LinkCandidate, rivals: Iterable[LinkCandidate] = ()
) -> LinkedEntity:
    """The entity of a candidate; its own candidates are the best rivals that are other entities.

    What has a name is no namesake of a lesser known thing that has none, only an IRI that ends so: often its equal in
    another vocabulary, of which nothing else is said.
    """
    first, last = detector.tokens[candidate.fit.first], detector.tokens[candidate.fit.last]
    row = candidate.row
    place = signed_place(row.text, detector.question, first.start, last.end)
    mention = Mention(detector.question[slice(*place)], *place, candidate.is_type)
    score = round(candidate.score, 4)
    entity = LinkedEntity(IRI(row.iri), row.text, score, row.kind, candidate.matched, mention, degree=row.degree)
    others: dict[str, LinkedEntity] = {}
    for rival in rivals:
        is_unnamed = rival.row.role == "derived" != row.role and rival.row.key == row.key
        if rival.row.iri not in {row.iri, *others} and not (is_unnamed and rival.row.degree < row.degree):
            others[rival.row.iri] = _linked_entity(detector, rival)
            if len(others) == MAX_CANDIDATES:
                break
    return replace(entity, candidates=tuple(others.values()))
