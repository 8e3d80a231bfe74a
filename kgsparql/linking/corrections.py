"""What the mistyped words of a question may be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial

from kgsparql.dataclasses import dataclass, replace
from kgsparql.linking.label_index.search import LabelSearch, Vocabulary, unlikeliness
from kgsparql.linking.label_matching import LEAST_CORRECTED, SHORT, share_right, similarity
from kgsparql.linking.words import TextToken, is_unspaced, key_of, stem, words

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


@dataclass(frozen=True, slots=True)
class Correction:
    """The key of a label that some words of a question may be.

    :param likeness: in [0, 1]: how alike it is to what the question has.
    :param is_likely: whether it is more likely to be meant than what was typed.
    """

    key: str
    likeness: float
    is_likely: bool = True


def near_keys(search: LabelSearch, key: str) -> list[str]:
    """Find the keys that are one typing error from another one; two, if a long one has none."""
    return [near for near, _ in _nearest(search.near, key)[:_MOST_KEYS]]


def near_words(search: LabelSearch, word: str) -> list[tuple[str, int]]:
    """Find the words of labels that are one typing error from another one, or two, with how many there are."""
    return _nearest(partial(search.near, words=True), word)[:_MOST]


def _nearest(near: Callable[..., list[tuple[str, int]]], text: str) -> list[tuple[str, int]]:
    found = near(text, edits=1) if len(text) > SHORT else []
    return found or (near(text, edits=2) if len(text) >= LEAST_CORRECTED else [])


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
    search: LabelSearch
    vocabulary: Vocabulary

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Numbers of the tokens that may be mistyped."""
        counts = self.vocabulary.counts
        return frozenset(
            i for i in self.content
            if not counts.get(word := self.tokens[i].text) and not is_unspaced(word[0])
            and not any(map(str.isdecimal, word))
        )  # fmt: skip

    @cached_property
    def _near(self) -> dict[int, list[tuple[str, int]]]:
        found = {i: near_words(self.search, self.tokens[i].text) for i in sorted(self.unknown)}
        return {i: near for i, near in found.items() if near}

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
        key = key_of(self.tokens[start:end])
        is_small = start in self.small - self.unknown and not self.tokens[start].text[0].isdecimal()
        is_long = 1 < end - start <= _LONGEST and len(key) >= _LEAST_NAME and {start, end - 1} <= self.content
        if is_small or not is_long or self.vocabulary.labels > _MOST_LABELS:
            return
        near = self.search.near(key, edits=1)
        for other, _ in near if len(near) <= _FEW else ():
            changed = [pair for pair in zip(words(key), words(other), strict=False) if pair[0] != pair[1]]
            if len(words(key)) == len(words(other)) and self._may_be(*changed[0]):
                word, meant = changed[0]
                counts = self.search.vocabulary({word, meant}).counts
                is_usual = counts.get(meant, 0) >= _MORE_USUAL * counts.get(word, 0)  # `Order ou Malta`
                is_told = content > _FEW_WORDS and not self.search.exact([word])  # `Iraq football team`
                yield Correction(other, share_right(key, other), is_told or is_usual)

    def _may_be(self, word: str, other: str) -> bool:
        """Whether a word is no number and no initial, so that another letter may be a mistake."""
        is_number = any(map(str.isdecimal, word + other)) or not {*word, *other} - {*"ivx"}
        is_long = len(word + other) > SHORT + 1 or other in self.stops
        return not is_number and is_long and word in {self.tokens[i].text for i in self.content}
