"""The lattice of spans of a question: every label that some of its words may mean, looked up once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from operator import attrgetter

from kgsparql.linking.english_forms import is_past_form
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import Kind, LabelRow, Vocabulary, rows_by
from kgsparql.linking.label_matching import (
    SAME_STEM,
    TYPE_WORD,
    WHOLE,
    Correction,
    Corrections,
    Fit,
    LinkCandidate,
    Matched,
    as_written,
    best_fit,
    exact_fit,
    is_only_prefix,
    language_rank,
)
from kgsparql.linking.linked_entity import Mention
from kgsparql.linking.words import (
    COPULAS,
    LABEL_OPENERS,
    consecutive,
    countries,
    inflections,
    is_proper,
    other_numbers,
    stem,
    stop_words,
    tokens,
    words,
)
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.terms import normalised

MAX_NGRAMS = 20_000  # N-grams of one question: all of them up to 200 words; of longer texts, only the shorter ones
USUAL_NGRAM = 12
_VARIED = 4  # words of a span whose other forms are looked up, too
INFLECTED = 0.9  # score of a label that has a span in the other number
ADJECTIVE = 0.95  # score of a country that a word is the adjective of
OPENED = 0.98  # score of a predicate that a span is the name of, but for its first word: `has part`
_OF_LANGUAGES = frozenset(("language", "languages", "spoken", "written", "speak", "word", "name"))
MAX_WINDOW = 4  # content words that are compared with labels by meaning
# Factors on the score or the weight of a candidate:
ALTERNATIVE = 0.97  # score, where it was found by another name than its label
SCATTERED = 0.95
"""Score of a label that shares words with the question, but is no part of it as it stands. Where other words stand
between the shared ones, once more, and also on the weight."""
PARTIAL = 0.6  # weight of a label of which only a part was found, or which is only near in meaning
SHORT_NUMBER = 0.3  # score of a number of one or two digits: it more likely counts something than is meant itself
COMMON_WORD = 0.75
"""Score of a name that was found for one lower-case word, or only for similar words, in a question that writes names
with capitals; also of a label that is near in meaning, but of which a word of the question is only the beginning."""
LOWER_CASE = 0.6
"""Weight of a label found for lower-case words, where the question and the labels of the graph write names with
capitals."""
EXACT_CASE = 1.02  # weight of a label with the same capitals as in the question, where capitals mark names
BEGUN = 0.8
"""The cosine below which a label of which a name is only the beginning loses score: to a model, Frank is much like
Frankreich."""

_ASKING = frozenset(
    {"who", "whom", "whose", "what", "which", "where", "when", "why", "how", "does", "did", "is", "are"}
)
_BEFORE_NOUNS = frozenset({"a", "an", "any", "each", "every", "many", "some", "what", "which"})
_CLAUSE = re.compile(r"[,.;:?!…](?:\s|$)|[、。？！；]")
_ASKING_FRAME = re.compile(
    r"(?i)\A(?:when|where|how) (?:was|were) .*\s(\w+ed|born)\W*\Z|\A(?:(?:what|how|many|do|can|are|is|there|you|i"
    r"|we|me|us|could|please|all|describe|find|give|list|show|tell|know|said|anything|everything|facts?|information) )+"
    r"about\b|\A(?:describe|find|give|list|name|show|tell)\b|\bhow \w+|\bin (?:the|this|your) (?:data\w*|graph)\W*\Z"
)
"""Words that ask, whatever is asked: `know` and `old` are labels, too, of a graph of words."""
_QUOTES = frozenset("'\"‘’“”«»")


class Lattice:
    """The words of a question, and the labels that spans of them may mean.

    :ivar tokens: the words of the question; methods speak of them by their numbers.
    :ivar is_cased: whether the question writes names with capitals.
    :ivar content: numbers of the tokens that are no stop words.
    """

    def __init__(self, question: str, search: PackedLabels, languages: tuple[str, ...]) -> None:
        self.question = question
        self.search = search.for_text(question, languages)
        self.languages = languages
        self.tokens = tokens(question)
        self.stops = stop_words((*languages, "en"))
        self.is_cased = question != question.upper() and any(map(self._is_marked, range(1, len(self.tokens))))
        frames = [match.span(match.lastindex or 0) for match in _ASKING_FRAME.finditer(question)]
        self.content, asking = list[int](), list[int]()
        for i, token in enumerate(self.tokens):
            # `US` and `WHO` are not the stop words `us` and `who`.
            is_acronym = self.is_cased and token.end - token.start > 1 and question[token.start : token.end].isupper()
            if is_acronym or token.text not in self.stops:
                is_framed = any(start <= token.start < end for start, end in frames)
                (asking if is_framed and (i == 0 or not self._is_marked(i)) else self.content).append(i)
        self.content = self.content or asking
        self._content = frozenset(self.content)
        # Where names have capitals, a word without one is a word, not a mistyped name.
        self._small = frozenset(i for i in self.content if self.is_cased and not self._is_capital(i))
        self._corrections = Corrections(
            self.tokens, self._content, self._small, self.stops, self.search, self.vocabulary
        )

    def _is_capital(self, i: int) -> bool:
        return self.question[self.tokens[i].start].isupper()

    def _gap_before(self, i: int) -> str:
        return self.question[self.tokens[i - 1].end : self.tokens[i].start]

    def _is_marked(self, i: int) -> bool:
        """Whether the capital of a word marks a name: `I`, and the first word of a sentence, have one anyway."""
        is_long = self.tokens[i].end - self.tokens[i].start > 1
        return is_long and self._is_capital(i) and not any(char in ".?!:" for char in self._gap_before(i))

    @cached_property
    def by_letters(self) -> tuple[LinkCandidate, ...]:
        """All that is written like some words of the question, in its order.

        Every label that is, word for word, a part of it, or would be without one mistyped word; then what shares words.
        """
        found, corrected = list[LinkCandidate](), list[tuple[int, int, Correction]]()
        for start, end in self._ngrams:
            exact = [hit for hit in self.rows.get((start, end), ()) if hit[1] in {1.0, ADJECTIVE}]
            found += [self._exact_candidate(*hit, start, end) for hit in exact]
            if not exact and end - start <= USUAL_NGRAM:
                corrected += ((start, end, one) for one in self._corrections.of(start, end))
        rows = rows_by("key", self.search.exact({one.key for _, _, one in corrected})) if corrected else {}
        for start, end, one in corrected:
            found += [self._corrected_candidate(row, start, end, one) for row in rows.get(one.key, ())]
        if self.content:
            found += self._text_candidates(found)
        return self._in_order(found)

    def candidates(self, embedder: Embedder | None) -> Sequence[LinkCandidate]:
        """All that some words of the question may mean, in its order; by meaning, too, if there is an embedder."""
        if embedder is None or not self.content:
            return self.by_letters
        return self._in_order((*self.by_letters, *self._vector_candidates(embedder)))

    def _in_order(self, found: Iterable[LinkCandidate]) -> tuple[LinkCandidate, ...]:
        meant = (c for c in found if not self._is_common_noun(c.row, c.fit.first, c.fit.last + 1))
        return tuple(sorted(meant, key=attrgetter("order")))

    def _is_common_noun(self, row: LabelRow, start: int, end: int) -> bool:
        """Whether words are a common noun, and no name because some thing is called so: `which soccer club`."""
        is_name = row.kind == "entity" and row.text[0].isupper() and self.is_cased
        if not is_name or end - start == 1 or any(map(self._is_capital, range(start, end))):
            return False
        return start > 0 and self.tokens[start - 1].text in _BEFORE_NOUNS

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What the labels have of words."""
        return self.search.vocabulary

    @cached_property
    def rows(self) -> Mapping[tuple[int, int], list[tuple[LabelRow, float]]]:
        """The rows that spans of words name, with 1; less, where the label has another form of them."""
        found: dict[tuple[int, int], list[tuple[LabelRow, float]]] = defaultdict(list)
        named, adjectives = set[tuple[int, int]](), list[tuple[int, int, LabelRow]]()
        for key, rows in rows_by("key", self.search.exact(self._span_keys)).items():
            for start, end, score in self._span_keys.get(key, ()):
                for row in as_written(rows, self.question, self.tokens[start:end]) if score == 1.0 else rows:
                    if self._is_common_noun(row, start, end):
                        continue
                    if score == ADJECTIVE and row.kind == "entity":
                        adjectives.append((start, end, row))
                    elif score != ADJECTIVE and (score != OPENED or row.kind == "predicate"):
                        found[start, end].append((row, score))
                        if score == 1.0 and row.kind == "entity":
                            named.add((start, end))
        for start, end, row in adjectives:
            if (start, end) not in named:  # else the language is called so
                found[start, end].append((row, ADJECTIVE))
        return found

    @cached_property
    def _span_keys(self) -> dict[str, list[tuple[int, int, float]]]:
        """The keys of all spans, as they are and in other forms, with how sure each is."""
        found: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
        longest = max(USUAL_NGRAM, MAX_NGRAMS // max(1, len(self.tokens)))
        for start, first in enumerate(self.tokens):
            before = ""
            for end, last in enumerate(self.tokens[start : start + longest], start + 1):
                before += " " if end > start + 1 and not last.joined else ""
                key = before + last.text
                found[key].append((start, end, 1.0))
                for country in countries().get(key, ()):
                    if self._is_before_noun(end) or self._is_said_of_one(start, end):
                        found[country].append((start, end, ADJECTIVE))
                if end - start <= _VARIED:
                    if end - start == 2 and self.stops.isdisjoint((first.text, last.text)):
                        found[first.text + last.text].append((start, end, INFLECTED))  # `gluten-free`, in one
                    for opener in LABEL_OPENERS:  # `has part`
                        found[f"{opener} {key}"].append((start, end, OPENED))
                    for other in other_numbers(last.text):
                        found[before + other].append((start, end, INFLECTED))
                    for form in _with_other_head([one.text for one in self.tokens[start:end]]):
                        found[form].append((start, end, INFLECTED))
                before = key
        return found

    def _is_before_noun(self, place: int) -> bool:
        """Whether a word may be a noun that the one before it describes: not of `where Italian is spoken`."""
        if place not in self._content or is_past_form(self.tokens[place].text):
            return False
        return self._gap_before(place).isspace()

    def _is_said_of_one(self, start: int, end: int) -> bool:
        """Whether what ends the question is said of somebody: who is *Norwegian*; no language is."""
        before = {token.text for token in self.tokens[:start]}
        return end == len(self.tokens) and not COPULAS.isdisjoint(before) and before.isdisjoint(_OF_LANGUAGES)

    def rows_with(self, forms: Sequence[str], kind: Kind, places: Sequence[int], *, limit: int = 100) -> list[LabelRow]:
        """Find the rows of a kind whose label has one of some words at one of these places, such as -1 for the last."""
        wanted = {*forms}
        return [
            row for row in self.search.with_words(forms, limit=limit)
            if row.kind == kind and not wanted.isdisjoint(words(row.key)[at] for at in places)
        ] if forms else []  # fmt: skip

    def respelled(self, place: int) -> list[str]:
        """List the words of labels that a word of the question, in either number, may be with one letter wrong."""
        text = self.tokens[place].text
        near = {
            word for form in (text, *other_numbers(text)) for word, _ in self.search.near(form, edits=1, words=True)
        }
        return sorted(word for word in near if word[0] == text[0])

    @cached_property
    def _ngrams(self) -> list[tuple[int, int]]:
        """The spans that may be a name: with a word that is no stop word, or written like one, or all there is."""
        return [
            (start, end) for spans in self._span_keys.values() for start, end, score in spans
            if score == 1.0 and (not self._content.isdisjoint(range(start, end)) or end - start == len(self.tokens)
                or is_proper(self.question, self.tokens, start, end))
        ]  # fmt: skip

    def _corrected_candidate(self, row: LabelRow, start: int, end: int, corrected: Correction) -> LinkCandidate:
        found = exact_fit(self.tokens, start, end, self.vocabulary, self.stops)
        weight = found.weight * corrected.likeness * (PARTIAL if len(self._content & found.places) == 1 else 1.0)
        found = replace(found, coverage=corrected.likeness, weight=weight)
        factor = SCATTERED * (1.0 if corrected.is_likely else COMMON_WORD)
        return self._candidate(row, found, corrected.likeness * factor, "text")

    def _exact_candidate(self, row: LabelRow, score: float, start: int, end: int) -> LinkCandidate:
        found = exact_fit(self.tokens, start, end, self.vocabulary, self.stops)
        mention = self.question[self.tokens[start].start : self.tokens[end - 1].end]
        case_tells = self.is_cased or (self.vocabulary.capitals_tell and row.role == "label")
        is_as_written = row.text.startswith(mention) and normalised(mention) == row.key
        weight = found.weight * (EXACT_CASE if case_tells and is_as_written else 1.0)
        return self._candidate(row, replace(found, weight=weight), score, "exact")

    def _candidate(self, row: LabelRow, found: Fit, score: float, matched: Matched) -> LinkCandidate:
        places = sorted(self._content & found.places or found.places)
        weight = found.weight
        score *= 1.0 if row.role == "label" else ALTERNATIVE
        is_type = row.kind != "entity"
        is_short = len(places) == 1 or matched == "text"
        if not is_type and is_short and self._only_types(places, row.key):
            is_type, score = True, score * TYPE_WORD
        elif len(places) == 1 and self.tokens[places[0]].text.isdecimal() and len(self.tokens[places[0]].text) < 3:
            score *= SHORT_NUMBER
        elif self.is_cased and self.vocabulary.capitals_tell and not any(map(self._is_capital, places)):
            weight *= LOWER_CASE
            if row.text[0].isupper() and is_short:
                score *= COMMON_WORD
        rank = language_rank(row.language, self.languages)
        is_common = self._small.issuperset(places) and self._is_just_words(row, found, matched)
        return LinkCandidate(row, found, score, weight * score, matched, is_type, rank, is_common)

    def _is_just_words(self, row: LabelRow, found: Fit, matched: Matched) -> bool:
        """Whether lower-case words, in a question that writes names with capitals, are no mention of this label."""
        is_name = row.text[0].isupper()
        is_one = len(found.places) == 1
        if matched == "text":
            # Where every label has a capital, `tumors` may well mean Tumor; but `words` never The Words.
            return (is_name or is_one) and (self.vocabulary.capitals_tell or found.coverage < SAME_STEM)
        return matched == "exact" and is_one and is_name and self.vocabulary.capitals_tell

    def _only_types(self, places: Sequence[int], key: str) -> bool:
        """Whether all matched words, or all content words of the label, are names of classes or predicates."""
        types, content = self.vocabulary.type_stems, {stem(word) for word in words(key) if word not in self.stops}
        return types.issuperset(stem(self.tokens[i].text) for i in places) or (bool(content) and content <= types)

    def name_runs(self) -> list[list[int]]:
        """List the tokens of possible names: content words side by side, then each; those with capitals, if any."""
        likely = [i for i in self.content if i not in self._small] or self.content
        runs = [[i for i in run if i in likely] for run in consecutive(self.content)]
        return [run for run in runs if len(run) > 1] + [[i] for i in likely]

    def names(self) -> Iterator[Mention]:
        """Yield what may be a name; what has several words, first."""
        for run in self.name_runs():
            place = self.tokens[run[0]].start, self.tokens[run[-1]].end
            yield Mention(self.question[slice(*place)], *place)

    def unknown_name_spans(self) -> Iterator[tuple[int, int]]:
        """Start and end, in characters, of what is written like a name and has a word that is in no label.

        Only of a question that begins with an English question word: elsewhere a capital may not mark a name. One
        word before a lower-case word may be an adjective: `German` in `German physicists`.
        """
        if not self.is_cased or self.tokens[0].text not in _ASKING:
            return
        run: list[int] = []
        for i in range(1, len(self.tokens)):
            gap = self._gap_before(i)
            if len(run) == 1 and not _QUOTES.isdisjoint(gap):
                run = []  # what it is stands before a name in quotation marks: City 'Aberdeen'
            if self._is_name(i):
                run.append(i)
            if run and (not self._is_name(i) or i == len(self.tokens) - 1):
                is_adjective = len(run) == 1 and i not in run and i in self._small and gap.isspace()
                if not is_adjective and not all(self.vocabulary.count(self.tokens[j].text) for j in run):
                    yield self.tokens[run[0]].start, self.tokens[run[-1]].end
                run = []

    def _is_name(self, i: int) -> bool:
        return i in self._content and self._is_marked(i)

    def _text_candidates(self, exact: Sequence[LinkCandidate]) -> Iterator[LinkCandidate]:
        """Labels that share words or similar words with the question, without those that are already exact."""
        exact_rows = {c.row for c in exact if c.matched == "exact"}
        rows = [row for row in self.search.with_words(self._searched_words(), limit=100) if row not in exact_rows]
        for row in rows:
            found = best_fit(row.key, self.tokens, self.content, self.vocabulary, self.stops, well_spelled=self._small)
            if found is not None:
                yield self._text_candidate(row, found)

    def _searched_words(self) -> list[str]:
        """List the content words of the question, other forms of them, and what mistyped ones may be."""
        asked = [self.tokens[i].text for i in self.content]
        forms = chain.from_iterable(map(inflections, asked))
        return list(dict.fromkeys([*asked, *filter(self.vocabulary.count, forms), *self._corrections.words]))

    def _text_candidate(self, row: LabelRow, found: Fit) -> LinkCandidate:
        between = self._content.intersection(range(found.first, found.last))
        factor = 1.0 if between <= found.places else SCATTERED
        is_whole = found.coverage > WHOLE
        found = replace(found, weight=found.weight * (1.0 if is_whole else PARTIAL) * factor)
        if not is_whole and len(found.places) == 1:
            # One word of several: `verizon` is enough for Verizon Communications, `kind` is not for Richard Kind.
            factor *= min(1.0, self.vocabulary.idf(self.tokens[found.first].text) / self.vocabulary.highest_idf)
        return self._candidate(row, found, found.coverage * SCATTERED * factor, "text")

    def _vector_candidates(self, embedder: Embedder) -> Iterator[LinkCandidate]:
        """Labels that mean nearly the same as a few words of the question that no exact label covers."""
        exact = (c for c in self.by_letters if c.matched == "exact" and not c.is_type)
        windows = list(self._windows({i for c in exact for i in c.fit.places}))
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
        for row, (cosine, window) in best.items():
            weight = sum(self.vocabulary.idf(self.tokens[i].text) for i in window)
            # In a question that writes names with capitals, a lower-case word may be an abbreviation: `chem`.
            is_name = not self._small.issuperset(window)
            is_unlike = cosine < BEGUN and is_name and is_only_prefix([self.tokens[i].text for i in window], row.key)
            score = cosine * COMMON_WORD if is_unlike else cosine
            yield self._candidate(row, Fit(frozenset(window), score, weight * PARTIAL), score, "vector")

    def _windows(self, covered: Collection[int]) -> Iterator[tuple[int, ...]]:
        """One to four content words of one clause, at most two other words between them, none of them covered."""
        for first in range(len(self.content)):
            for last in range(first, min(first + MAX_WINDOW, len(self.content))):
                window = tuple(self.content[first : last + 1])
                text = self.question[self.tokens[window[0]].start : self.tokens[window[-1]].end]
                if window[-1] in covered or window[-1] - window[0] >= len(window) + 2 or _CLAUSE.search(text):
                    break
                yield window


def _with_other_head(texts: Sequence[str]) -> Iterator[str]:
    """Yield names in the other number whose head is not their last word: `levels of training`, `final tables made`."""
    at = 0 if texts[1:2] == ["of"] else len(texts) - 2
    if len(texts) > 2 and (at == 0 or is_past_form(texts[-1])):
        for other in other_numbers(texts[at]):
            yield " ".join([*texts[:at], other, *texts[at + 1 :]])
