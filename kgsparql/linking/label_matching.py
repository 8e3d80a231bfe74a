"""How well a label fits the words of a question, mistyped ones too, and its signs; the candidates that come of it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from kgsparql.dataclasses import dataclass, frozen, replace
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import LabelRow, Vocabulary, unlikeliness
from kgsparql.linking.words import TextToken, is_unspaced, key_of, stem, tokens, trigrams, with_signs, words
from kgsparql.rdf.terms import normalised

Matched: TypeAlias = OneOf["given", "exact", "text", "vector", "same as"]
"""How an entity was found."""
THRESHOLD = 0.7  # likeness below which a text does not mean a name, however it was found
ALL_WORDS, MISTYPED_WORDS, _SPAN = 0.9, 0.8, 0.05
"""Likeness from which a label has all words of a text, and from which it may have them; how much more it can be."""
SAME_STEM = 0.95  # likeness of words with one stem: ``directors`` and ``director``
TYPE_WORD = 0.3  # factor on the weight of a word of a class or predicate: `film`, `city`, `time zone`
WHOLE = 0.999  # coverage from which all of a label was found
_STOP_WEIGHT = 0.1
"""Weight of a stop word of the question: `The Last Man` is a better match than `Last Man`, where both are labels."""
_MISSING_STOP = 0.5
"""Weight of a stop word that only the label has: `This Is Not a Film` is a little less what `film` asks for."""

LEAST_CORRECTED = 6
"""Characters of a name in which a mistyped word is corrected: shorter ones are one letter from too many others."""
SHORT = 2  # characters of a word, or a name, that is too short to be mistyped
_MUCH_BETTER_KNOWN = 5  # times that a name with other signs is in more triples, so that it may be meant
_ACCENTS = re.compile("[\u0300-\u036f]")


@frozen
class Fit:
    """A label laid over a question.

    :param places: numbers of the question's tokens that the label's words matched.
    :param coverage: in [0, 1]: the share of the label's words, weighted by rarity, that was found.
    :param weight: the sum of the weights of the words that were found; comparable within one question.
    """

    places: frozenset[int]
    coverage: float
    weight: float

    @property
    def first(self) -> int:
        """Number of the first token."""
        return min(self.places)

    @property
    def last(self) -> int:
        """Number of the last token."""
        return max(self.places)


@frozen
class LinkCandidate:
    """A label that may be what some words of a question mean.

    :param score: in [0, 1]: how much of the label was found, or how near its meaning is.
    :param weight: how much of the question it explains: the longest, rarest match has most.
    :param is_common: it rests on words that are more likely to be just words: `write`, `films`, `words`.
    """

    row: LabelRow
    fit: Fit
    score: float
    weight: float
    matched: Matched
    is_type: bool
    language_rank: int
    is_common: bool = False

    @property
    def order(self) -> tuple[float, bool, int, int, str, str]:
        """Sort key: the most specific first; then the preferred language, the better connected, the IRI."""
        row = self.row
        return (-round(self.weight, 6), self.matched != "exact", self.language_rank, -row.degree, row.iri, row.text)


_ALIKE = str.maketrans(
    {**dict.fromkeys("‘’‚‛′ʼ`´", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—―−", "-"), "\u00ad": None}
)
_TELLING_AFTER = re.compile(r"[#♯♭*°]+|-(?=[?.!,;:)\"'’”]*(?:\s|\Z))")  # C#, A*, D-


@lru_cache(maxsize=20_000)
def written(text: str) -> str:
    """Fold what a reader takes for the same: capitals, white space, widths, quotation marks, dashes. Signs stay.

    >>> written("«Catch‑22»") == written('"catch-22"'), written("CO₂") == written("CO2"), written("Ｃ＃")
    (True, False, 'c#')
    """
    if not text.isascii():
        small = [c for c in text if unicodedata.decomposition(c).startswith(("<super>", "<sub>"))]  # other signs
        folded = "".join(c if c in small else unicodedata.normalize("NFKC", c) for c in text)
        text = unicodedata.normalize("NFC", folded)
    return " ".join(text.replace("_", " ").translate(_ALIKE).casefold().split())


def written_forms(label: str) -> set[str]:
    """Return what a label is folded to, with and without a parenthesis at its end."""
    whole = written(label)
    return {whole, whole.rpartition(" (")[0] or whole} if whole.endswith(")") else {whole}


def signed_place(label: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Widen the place of a name in a text by the signs beside it that its label has, or that tell another name.

    >>> text = "Who made C#, Yahoo! or .NET?"
    >>> [text[slice(*signed_place(*place))] for place in (("C", text, 9, 10), ("Yahoo!", text, 13, 18))]
    ['C#', 'Yahoo!']
    """
    if text[:start].endswith("*") and text[end:].startswith("*"):  # only emphasis
        return start, end
    first, last = with_signs(text, start, end)
    places = itertools.product(range(first, start + 1), range(last, end - 1, -1))
    names = written_forms(label)
    start, end = next((place for place in places if written(text[slice(*place)]) in names), (start, end))
    after = _TELLING_AFTER.match(text, end)
    is_free = not text[:first] or text[first - 1].isspace()
    return start - (is_free and text[start - 1 : start] in {"@", "."}), end if after is None else after.end()


def as_written(rows: Sequence[LabelRow], text: str, own: Sequence[TextToken]) -> Sequence[LabelRow]:
    """Keep the rows of one key that words of a text may mean: where one is written just so, none with other signs."""
    if len(rows) < 2 or len({row.text for row in rows}) < 2:
        return rows
    places = ((row, signed_place(row.text, text, own[0].start, own[-1].end)) for row in rows)
    said = {row: written(text[slice(*place)]) for row, place in places}
    right = [row for row in rows if said[row] in written_forms(row.text)]
    best = max(right or rows, key=lambda row: (len(said[row]), row.degree))
    asked, most = said[best], _MUCH_BETTER_KNOWN * best.degree

    def may_be(row: LabelRow) -> bool:  # accents may be left out, and signs of what is much better known
        names = written_forms(row.text)
        names |= {_ACCENTS.sub("", unicodedata.normalize("NFD", name)) for name in names}
        return asked in names or (row.degree > most and asked == normalised(asked))

    return [row for row in rows if may_be(row)] if right else rows


def exact_fit(
    question: Sequence[TextToken], start: int, end: int, vocabulary: Vocabulary, stops: Collection[str]
) -> Fit:
    """The fit of a label whose key is that of the tokens from ``start`` to before ``end``."""
    weight = sum(_weight(token.text, vocabulary, stops) for token in question[start:end])
    return Fit(frozenset(range(start, end)), 1.0, weight)


def _weight(word: str, vocabulary: Vocabulary, stops: Collection[str]) -> float:
    if word in stops:
        return _STOP_WEIGHT
    return vocabulary.idf(word) * (TYPE_WORD if stem(word) in vocabulary.type_stems else 1.0)


def best_fit(
    key: str, question: Sequence[TextToken], allowed: Sequence[int], vocabulary: Vocabulary, stops: Collection[str], *,
    well_spelled: Collection[int] = (),
) -> Fit | None:  # fmt: skip
    """The best fit of a label's words to tokens of a question, each token used once; ``None`` if no word fits.

    :param allowed: numbers of the tokens that may be matched.
    :param well_spelled: numbers of those in which no typing error is assumed.
    """
    label = words(key)
    content, missing = list[str](), list[str]()
    for word in label:
        (missing if word in stops else content).append(word)
    free = list(allowed)
    places: set[int] = set()
    found = total = weight = 0.0
    for negative_idf, word in sorted((-vocabulary.idf(word), word) for word in content or label):
        idf = -negative_idf
        total += idf
        likeness, _, best = max(
            ((_likeness(word, question[i].text, vocabulary, i in well_spelled), -i, i) for i in free), default=(0, 0, 0)
        )
        if likeness > 0:
            free.remove(best)
            places.add(best)
            found += idf * likeness
            weight += _weight(word, vocabulary, stops) * likeness
    if not places:
        return None
    if missing:
        asked = {token.text for token in question}
        total += sum(_MISSING_STOP for word in missing if word not in asked)
    return Fit(frozenset(places), found / total, weight)


def _likeness(word: str, asked: str, vocabulary: Vocabulary, is_well_spelled: bool) -> float:
    """As :func:`similarity`, but a word that other labels have is no typing error."""
    likeness = similarity(word, asked)
    return likeness if likeness >= SAME_STEM or not (is_well_spelled or vocabulary.count(asked)) else 0.0


@dataclass(frozen=True)
class Likeness:
    """How like labels are to a text that is looked up, in [0, 1].

    The text itself has 1; then come labels with all its words, what is a typing error away, what may have its words
    with such errors, and labels that are a part of the text; below :data:`THRESHOLD`, those that only have some words
    or letters in common.

    :param asked: the text, normalised.
    :param vocabulary: of the labels; without one, words do not count, only letters.
    :param stops: words that need not be in a label; not all words of the text are.
    """

    asked: str
    vocabulary: Vocabulary | None
    stops: Collection[str]

    @cached_property
    def _said_tokens(self) -> list[TextToken]:
        return tokens(self.asked)

    @cached_property
    def _content_places(self) -> list[int]:
        return [i for i, token in enumerate(self._said_tokens) if token.text not in self.stops]

    def of(self, key: str) -> float:
        """Return how like the key of a label is."""
        if self.asked == key:
            return 1.0
        right, fit = share_right(self.asked, key), None
        if self.vocabulary is not None:
            fit = best_fit(key, self._said_tokens, self._content_places, self.vocabulary, self.stops)
        if fit is not None and fit.places.issuperset(self._content_places):
            is_said = {stem(self._said_tokens[i].text) for i in self._content_places} <= {
                stem(word) for word in words(key)
            }
            if is_said or not right:
                return (ALL_WORDS if is_said else MISTYPED_WORDS) + _SPAN * fit.coverage
        if right:
            return MISTYPED_WORDS + _SPAN + _SPAN * right
        letters, others = trigrams(self.asked), trigrams(key)
        found = THRESHOLD * len(letters & others) / len(letters | others)
        if fit is None or self.vocabulary is None:
            return found
        rarity = {i: self.vocabulary.idf(self._said_tokens[i].text) for i in self._content_places}
        said = sum(rarity[i] for i in fit.places) / sum(rarity.values())
        is_part = fit.coverage > WHOLE
        part = (MISTYPED_WORDS - THRESHOLD) * said + THRESHOLD if is_part else THRESHOLD * said * fit.coverage
        return max(found, part)


def share_right(text: str, other: str) -> float:
    """Return the share of a text that is right if it is another one with a typing error or two; 0 if it is not.

    A little less for unlikely errors.

    >>> share_right("incepton", "inception"), share_right("inseptiom", "inception"), share_right("up", "us")
    (0.8888888888888888, 0.79, 0.0)
    """
    from rapidfuzz.distance import OSA  # two swapped neighbours are one edit

    allowed = 0 if len(text) <= SHORT else 1 if len(text) < LEAST_CORRECTED else 2
    edits = OSA.distance(text, other, score_cutoff=allowed)
    _, *unlikely = unlikeliness(text, other, edits)
    return 1 - (edits + sum(unlikely) / 10) / (len(text) + 1) if edits <= allowed else 0.0


def language_rank(language: str, wanted: Sequence[str]) -> int:
    """Return how little a language is wanted: those that are and ``mul``; then none, English, any other."""
    if language == "mul":
        return 0
    for rank, own in enumerate(wanted):
        if language == own or language.startswith(f"{own}-"):
            return rank
    return len(wanted) + (0 if not language else 1 if language == "en" else 2)


def is_only_prefix(asked: Sequence[str], key: str) -> bool:
    """Whether a word of a question begins a word of a label, while question and label share no whole word.

    >>> [is_only_prefix(*some) for some in ((["frank"], "frankreich"), (["frank"], "anne frank"), (["film"], "films"))]
    [True, False, False]
    """
    label = words(key)
    if {stem(word) for word in asked} & {stem(word) for word in label}:
        return False
    return any(word.startswith(own) for own in asked for word in label)


@lru_cache(maxsize=100_000)
def similarity(word: str, other: str) -> float:
    """How alike two words are: 1 for the same, 0 for different ones; between, for typing errors and endings.

    >>> similarity("physics", "physics"), similarity("movie", "movies"), similarity("actor", "director")
    (1.0, 0.95, 0.0)
    >>> similarity("benjamin", "benjamim")
    0.875
    """
    if word == other:
        return 1.0
    if stem(word) == stem(other):
        return SAME_STEM
    shorter, longer = sorted((len(word), len(other)))
    # Short words are one edit from too many others: `Faust` from `Fausta`; and `deliver` is two edits from `driver`.
    # But two letters at the end may be an ending, as in `injured` and `injury`.
    is_long = shorter >= 9 or word[:5] == other[:5]
    allowed = 0 if shorter < 6 else 2 if is_long else 1
    if word[0] != other[0]:  # so do names such as `Hoover` and `Mover`
        allowed = 1 if shorter >= 8 else 0
    if longer - shorter > allowed or any(c.isdigit() for c in word + other):
        return 0.0  # a number with another digit is another number
    from rapidfuzz.distance import OSA  # two swapped neighbours are one edit

    edits = OSA.distance(word, other)
    return round(1 - edits / longer, 3) if edits <= allowed else 0.0


# --- What the mistyped words of a question may be

LEAST_ALONE = 4
"""The same of a word where nothing else in the question may be a name: the reader is asked whether it is meant,
since of five letters a quarter of the names that a graph does not have are one letter from a label."""
_MOST = 20  # words of labels that one word may be
_MOST_KEYS = 50  # keys of labels that one text may be
_FEW = 3  # of more labels that are one letter away, none is likely to be meant
_LONGEST = 6  # words of a name that is looked for, though labels have each of its words
_LEAST_NAME = 7  # characters of such a name
_FEW_WORDS = 2  # of a name; in a longer one, the others tell that it is meant, if the wrong one is itself no name
_MORE_USUAL = 10
"""So many times as many labels must have a word as the word that was typed, if that is no mistake of the labels."""
_MOST_LABELS = 1_000_000
"""Where there are more, no whole names are compared: it takes long, and most are one letter from some other."""


@frozen
class Correction:
    """The key of a label that some words of a question may be.

    :param likeness: in [0, 1]: how alike it is to what the question has.
    :param is_likely: whether it is more likely to be meant than what was typed.
    """

    key: str
    likeness: float
    is_likely: bool = True


def near_texts(search: PackedLabels, text: str, *, words: bool = False) -> list[tuple[str, int]]:
    """Find the keys, or words, of labels that are one typing error from a text, or two, with how many there are."""
    found = search.near(text, edits=1, words=words) if len(text) > SHORT else []
    found = found or (search.near(text, edits=2, words=words) if len(text) >= LEAST_CORRECTED else [])
    return found[: _MOST if words else _MOST_KEYS]


@dataclass(frozen=True)
class Corrections:
    """The words of a question that no label has, or that make no label together, and the labels nearest to them.

    :param content: numbers of the tokens that are no stop words.
    :param small: numbers of those without a capital, in a question that writes names with capitals.
    """

    tokens: Sequence[TextToken]
    content: frozenset[int]
    small: frozenset[int]
    stops: Collection[str]
    search: PackedLabels
    vocabulary: Vocabulary

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Numbers of the tokens that may be mistyped."""
        return frozenset(
            i for i in self.content
            if not self.vocabulary.count(word := self.tokens[i].text) and not is_unspaced(word[0])
            and not any(map(str.isdecimal, word))
        )  # fmt: skip

    @cached_property
    def _near(self) -> dict[int, list[tuple[str, int]]]:
        return {
            i: near for i in sorted(self.unknown) if (near := near_texts(self.search, self.tokens[i].text, words=True))
        }

    @property
    def words(self) -> list[str]:
        """Words of labels that mistyped words may be, whatever is beside them."""
        return [word for i, near in self._near.items() for word, _ in near if self._similarity(i, word)]

    def of(self, start: int, end: int) -> Iterator[Correction]:
        """What the tokens from ``start`` to before ``end`` may be, if one of them is mistyped."""
        content = self.content.intersection(range(start, end))
        unknown = self.unknown & content
        if not unknown or self._near.keys().isdisjoint(unknown):
            yield from self._of_known(start, end, len(content))
        if len(unknown) == 1:
            yield from self._of_word(start, end, *unknown)
            if len(content) == 1 and self._is_alone(*content):
                yield from self._of_alone(key_of(self.tokens[start:end]))

    def _of_word(self, start: int, end: int, place: int) -> Iterator[Correction]:
        """With a word of labels for the one that no label has.

        Where one letter makes another name of a word, as of `Faust` and `Fausta`, it only counts beside another word.
        """
        typed = key_of(self.tokens[start:end])
        has_others = len(typed) >= LEAST_CORRECTED and sum(i in self.content for i in range(start, end)) > 1
        before, after = self.tokens[start:place], self.tokens[place + 1 : end]
        for word, edits in self._near.get(place, ()):
            key = key_of([*before, replace(self.tokens[place], text=word), *after])
            likeness = share_right(typed, key) if has_others and edits == 1 else self._similarity(place, word)
            if likeness:
                yield Correction(key, likeness)

    def _similarity(self, i: int, word: str) -> float:
        """How alike a token and the word it may be are; where names have capitals, a word without is spelled right."""
        return 0.0 if i in self.small else similarity(word, self.tokens[i].text)

    def _is_alone(self, i: int) -> bool:
        """Whether nothing but a word that no label has may be the name that a question must have."""
        if len(self.tokens[i].text) < LEAST_ALONE or i in self.small or self.vocabulary.labels > _MOST_LABELS:
            return False
        return all(stem(self.tokens[j].text) in self.vocabulary.type_stems for j in self.content - self.small - {i})

    def _of_alone(self, key: str) -> Iterator[Correction]:
        """All labels one letter away, if they are few; if not, those for which a letter was left out or swapped.

        Another last letter makes another name, as a last vowel does: `Mario` and `Maria`, `Faust` and `Fausta`.
        """
        found = [other for other, _ in self.search.near(key, edits=1)]
        other_names = {key[:-1], *(key + vowel for vowel in "aeiou")}
        near = [other for other in found if other not in other_names and other[:-1] != key[:-1]]
        likely = near if len(near) <= _FEW else [other for other in near if not any(unlikeliness(key, other, 0))]
        for other in near:
            yield Correction(other, share_right(key, other), other in likely and len(likely) <= _FEW)

    def _of_known(self, start: int, end: int, content: int) -> Iterator[Correction]:
        """Labels of several words for words that labels have, but never together: `Mark Wiliams`."""
        is_small = start in self.small - self.unknown and not self.tokens[start].text[0].isdecimal()
        is_long = 1 < end - start <= _LONGEST and {start, end - 1} <= self.content
        if is_small or not is_long or self.vocabulary.labels > _MOST_LABELS:
            return
        key = key_of(self.tokens[start:end])
        near = self.search.near(key, edits=1) if len(key) >= _LEAST_NAME else []
        for other, _ in near if len(near) <= _FEW else ():
            changed = [pair for pair in zip(words(key), words(other), strict=False) if pair[0] != pair[1]]
            if len(words(key)) == len(words(other)) and self._may_be(*changed[0]):
                word, meant = changed[0]
                count = self.vocabulary.count
                is_usual = count(meant) >= _MORE_USUAL * count(word)  # `Order ou Malta`
                is_told = content > _FEW_WORDS and not self.search.exact([word])  # `Iraq football team`
                yield Correction(other, share_right(key, other), is_told or is_usual)

    def _may_be(self, word: str, other: str) -> bool:
        """Whether a word is no number and no initial, so that another letter may be a mistake."""
        is_number = any(map(str.isdecimal, word + other)) or not {*word, *other} - {*"ivx"}
        is_long = len(word + other) > SHORT + 1 or other in self.stops
        return not is_number and is_long and word in {self.tokens[i].text for i in self.content}
