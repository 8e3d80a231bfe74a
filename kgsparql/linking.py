"""From a question to the entities it names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

from kgsparql.embedding import Embedder
from kgsparql.label_index import LabelIndex
from kgsparql.label_matching import Fit, exact_fit, fit
from kgsparql.label_rows import Kind, LabelRow
from kgsparql.label_search import Vocabulary
from kgsparql.terms import IRI, normalised
from kgsparql.words import Token, is_unspaced, stem, stop_words, tokens

__all__ = ["THRESHOLD", "LinkedEntity", "Linker", "Matched", "Mention"]

Matched: TypeAlias = OneOf["given", "exact", "text", "vector"]

THRESHOLD = 0.6
"""Score below which nothing is linked, whatever it was found by."""

MAX_LINKS = 10
MAX_CANDIDATES = 20
MAX_NGRAMS = 20_000
"""N-grams of one question: all of them up to 200 words; in longer texts the longer ones are left out."""
USUAL_NGRAM = 8

MAX_WINDOW = 4
"""Content words that are compared with labels by meaning."""

ALTERNATIVE = 0.97
SCATTERED = 0.95
PARTIAL = 0.6
TYPE_WORD = 0.3
COMMON_WORD = 0.65
LOWER_CASE = 0.6
EXACT_CASE = 1.02

_CLAUSE = re.compile(r"[,.;:?!…、。？！；](?:\s|$)|[、。？！；]")


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
    """

    term: IRI
    label: str
    score: float
    kind: Kind
    matched: Matched
    mention: Mention
    candidates: tuple[LinkedEntity, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    row: LabelRow
    fit: Fit
    score: float
    weight: float
    matched: Matched
    is_type: bool
    language_rank: int

    @property
    def order(self) -> tuple[float, bool, int, int, str, str]:
        """Most specific first; then the asked language, the better connected, the IRI."""
        row = self.row
        return (-round(self.weight, 6), self.matched != "exact", self.language_rank, -row.degree, row.iri, row.text)


class Linker:
    """Links mentions to labels: longest match first, one entity per mention, the same links every time.

    :param index: the labels.
    :param embedder: for labels that mean the same in other words; used if the index has vectors of all its labels.
    :param threshold: the least score of a link.
    :param languages: labels in any language match; these, in order, are preferred among equals.
    :param kinds: what may be linked. Classes and predicates are linked all the same when nothing else is.
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

    def link(self, question: str) -> tuple[LinkedEntity, ...]:
        """The entities a question names, the most specific first; none twice, and no two for the same words."""
        reading = _Reading(question, self.index, self.languages)
        found = sorted(self._candidates(reading), key=lambda c: c.order)
        links = self._choose(reading, [c for c in found if c.row.kind in self.kinds])
        if links:
            return links
        others = (c for c in found if c.row.kind not in self.kinds and c.matched == "exact" and c.row.degree)
        return self._choose(reading, list(others))

    def _candidates(self, reading: _Reading) -> Iterator[_Candidate]:
        if not reading.content:
            return
        exact = list(reading.exact())
        yield from exact
        yield from reading.textual(exact)
        if self.embedder is not None:
            yield from reading.similar(exact, self.embedder)

    def _choose(self, reading: _Reading, found: Sequence[_Candidate]) -> tuple[LinkedEntity, ...]:
        """Greedy: the heaviest candidate takes its words; what else wanted any of them becomes its candidates."""
        links: list[LinkedEntity] = []
        taken: set[int] = set()
        linked: set[str] = set()
        for candidate in found:
            if candidate.score < self.threshold or candidate.fit.places & taken or candidate.row.iri in linked:
                continue
            taken |= candidate.fit.places
            linked.add(candidate.row.iri)
            rivals = [c for c in found if c.fit.places & candidate.fit.places and c is not candidate]
            links.append(reading.linked(candidate, rivals))
            if len(links) == MAX_LINKS:
                break
        return tuple(links)


class _Reading:
    """One question, read: its words, and what the index says about them."""

    def __init__(self, question: str, index: LabelIndex, languages: tuple[str, ...]) -> None:
        self.question = question
        self.search = index.search
        self.languages = languages
        self.tokens = tokens(question)
        self.stops = stop_words((*languages, "en"))
        self.is_cased = question != question.upper() and any(map(self._is_marked, range(1, len(self.tokens))))
        self.content = [i for i, token in enumerate(self.tokens) if token.text not in self.stops or self._is_acronym(i)]
        self._content = frozenset(self.content)

    def _is_capital(self, i: int) -> bool:
        return self.question[self.tokens[i].start].isupper()

    def _is_marked(self, i: int) -> bool:
        """Whether the capital of a word tells something: `I`, and the first word of a sentence, have one anyway."""
        between = self.question[self.tokens[i - 1].end : self.tokens[i].start]
        is_long = self.tokens[i].end - self.tokens[i].start > 1
        return is_long and self._is_capital(i) and not any(char in ".?!:" for char in between)

    def _is_acronym(self, i: int) -> bool:
        """`US` and `WHO` are not the stop words `us` and `who`, in a question that is not all capitals."""
        token = self.tokens[i]
        return self.is_cased and token.end - token.start > 1 and self.question[token.start : token.end].isupper()

    def exact(self) -> Iterator[_Candidate]:
        """Every label that is, word for word, a part of the question."""
        spans = defaultdict(list)
        for start, end in self._ngrams():
            spans[self._key(start, end)].append((start, end))
        rows = self.search.exact(spans.keys())
        vocabulary = self.search.vocabulary({token.text for token in self.tokens})
        for row in rows:
            for start, end in spans[row.key]:
                yield self._exact_candidate(row, start, end, vocabulary)

    def _ngrams(self) -> Iterator[tuple[int, int]]:
        longest = max(USUAL_NGRAM, MAX_NGRAMS // len(self.tokens))
        content = set(self.content)
        for start in range(len(self.tokens)):
            has_content = False
            for end in range(start + 1, min(len(self.tokens), start + longest) + 1):
                has_content = has_content or end - 1 in content
                if has_content and not self._is_fragment(start, end):
                    yield start, end

    def _is_fragment(self, start: int, end: int) -> bool:
        """Whether it is one character out of a run of a script without spaces: too little to go by."""
        if end - start > 1 or not is_unspaced(self.tokens[start].text[0]):
            return False
        return self.tokens[start].joined or (end < len(self.tokens) and self.tokens[end].joined)

    def _key(self, start: int, end: int) -> str:
        first, *others = self.tokens[start:end]
        return first.text + "".join(t.text if t.joined else f" {t.text}" for t in others)

    def _exact_candidate(self, row: LabelRow, start: int, end: int, vocabulary: Vocabulary) -> _Candidate:
        found = exact_fit(self.tokens, start, end, vocabulary, self.stops)
        mention = self.question[self.tokens[start].start : self.tokens[end - 1].end]
        weight = found.weight * (EXACT_CASE if mention == row.text else 1.0)
        return self._candidate(row, found, 1.0, weight, vocabulary)

    def _candidate(
        self, row: LabelRow, found: Fit, score: float, weight: float, vocabulary: Vocabulary, matched: Matched = "exact"
    ) -> _Candidate:
        places = [i for i in found.places if i in self._content]
        score *= 1.0 if row.role == "label" else ALTERNATIVE
        is_type = row.kind != "entity"
        if not is_type and self._only_types(places, vocabulary):
            is_type, score = True, score * TYPE_WORD
        elif len(places) == 1 and self.tokens[places[0]].text.isdecimal() and len(self.tokens[places[0]].text) < 3:
            score *= TYPE_WORD  # a count, not the number's own entity
        elif self.is_cased and vocabulary.capitals_tell and not any(self._is_capital(i) for i in places):
            weight *= LOWER_CASE
            if row.text[0].isupper() and (len(places) == 1 or matched == "text"):
                score *= COMMON_WORD
        rank = self._language_rank(row.language)
        return _Candidate(row, found, score, weight * score, matched, is_type, rank)

    def _only_types(self, places: Sequence[int], vocabulary: Vocabulary) -> bool:
        """Whether every word that was matched belongs to classes or predicates, and is no more than a word or two."""
        return all(stem(self.tokens[i].text) in vocabulary.type_stems for i in places)

    def _language_rank(self, language: str) -> int:
        for rank, wanted in enumerate(self.languages):
            if language == wanted or language.startswith(f"{wanted}-"):
                return rank
        return len(self.languages) + bool(language)

    def textual(self, exact: Sequence[_Candidate]) -> Iterator[_Candidate]:
        """Labels that share words, or nearly share them, with the question; what is already exact is left out."""
        lists = [self.search.with_words([self.tokens[i].text for i in self.content], limit=100)]
        done = {frozenset(c.fit.places) for c in exact}
        for run in self._runs():
            if frozenset(run) not in done:
                lists.append(self.search.like(self._key(run[0], run[-1] + 1), limit=20))
        exact_rows = {c.row for c in exact}
        rows = [row for row in merged(lists, limit=100) if row not in exact_rows]
        wanted = {word for row in rows for word in row.key.split()} | {token.text for token in self.tokens}
        vocabulary = self.search.vocabulary(wanted)
        for row in rows:
            found = fit(row.key, self.tokens, self.content, vocabulary, self.stops)
            if found is not None:
                yield self._text_candidate(row, found, vocabulary)

    def _runs(self) -> Iterator[list[int]]:
        """Content words that stand side by side."""
        run: list[int] = []
        for i in self.content:
            if run and i != run[-1] + 1:
                yield run
                run = []
            run.append(i)
        if run:
            yield run

    def _text_candidate(self, row: LabelRow, found: Fit, vocabulary: Vocabulary) -> _Candidate:
        between = [i for i in self.content if found.first <= i <= found.last and i not in found.places]
        factor = SCATTERED if between else 1.0
        is_whole = found.coverage > 0.999
        weight = found.weight * (1.0 if is_whole else PARTIAL) * factor
        if not is_whole and len(found.places) == 1:
            # One word out of several: `verizon` is enough for Verizon Communications, `kind` is not for Richard Kind.
            factor *= vocabulary.idf(self.tokens[found.first].text) / vocabulary.highest_idf
        return self._candidate(row, found, found.coverage * SCATTERED * factor, weight, vocabulary, "text")

    def similar(self, exact: Sequence[_Candidate], embedder: Embedder) -> Iterator[_Candidate]:
        """Labels that mean nearly the same as a few words of the question which no label has exactly."""
        windows = list(self._windows({i for c in exact if not c.is_type for i in c.fit.places}))
        if not windows:
            return
        texts = [self.question[self.tokens[w[0]].start : self.tokens[w[-1]].end] for w in windows]
        numbers = {token.text for token in self.tokens}
        best: dict[LabelRow, tuple[float, tuple[int, ...]]] = {}
        for window, hits in zip(windows, self.search.nearest(embedder.embed(texts), limit=5), strict=True):
            for row, cosine in hits:
                # To a model, 2009 is much the same as 2016.
                if all(w in numbers for w in row.key.split() if any(map(str.isdecimal, w))):
                    best[row] = max(best.get(row, (0.0, ())), (round(min(cosine, 1.0), 4), window))
        vocabulary = self.search.vocabulary({token.text for token in self.tokens})
        for row, (cosine, window) in best.items():
            told = sum(vocabulary.idf(self.tokens[i].text) for i in window)
            found = Fit(frozenset(window), cosine, told * PARTIAL)
            yield self._candidate(row, found, cosine, found.weight, vocabulary, "vector")

    def _windows(self, known: Collection[int]) -> Iterator[tuple[int, ...]]:
        """One to four content words of one clause, at most two others between, none that an exact label has."""
        for first in range(len(self.content)):
            for last in range(first, min(first + MAX_WINDOW, len(self.content))):
                window = tuple(self.content[first : last + 1])
                text = self.question[self.tokens[window[0]].start : self.tokens[window[-1]].end]
                if window[-1] in known or window[-1] - window[0] >= len(window) + 2 or _CLAUSE.search(text):
                    break
                yield window

    def linked(self, candidate: _Candidate, rivals: Iterable[_Candidate] = ()) -> LinkedEntity:
        """A candidate as the caller sees it, with the best rivals of other entities."""
        first, last = self.tokens[candidate.fit.first], self.tokens[candidate.fit.last]
        mention = Mention(self.question[first.start : last.end], first.start, last.end, candidate.is_type)
        row = candidate.row
        entity = LinkedEntity(IRI(row.iri), row.text, round(candidate.score, 4), row.kind, candidate.matched, mention)
        others: dict[str, LinkedEntity] = {}
        for rival in rivals:
            if rival.row.iri != row.iri and rival.row.iri not in others and len(others) < MAX_CANDIDATES:
                others[rival.row.iri] = self.linked(rival)
        return replace(entity, candidates=tuple(others.values()))


def merged(lists: Sequence[Sequence[LabelRow]], *, limit: int) -> list[LabelRow]:
    """Rows of several ranked lists, those that are high in many first.

    Source: reciprocal rank fusion, Cormack, Clarke and Büttcher (SIGIR 2009), with their k = 60.
    """
    scores: dict[LabelRow, float] = defaultdict(float)
    for rows in lists:
        for rank, row in enumerate(rows, 1):
            scores[row] += 1 / (60 + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 9), row))[:limit]
