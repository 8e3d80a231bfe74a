"""What the mistyped words of a question may be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgsparql.linking.label_index.search import LabelSearch
from kgsparql.linking.label_matching import similarity
from kgsparql.linking.words import TextToken, is_unspaced

LEAST_CORRECTED = 6
"""Characters of a name in which a mistyped word is corrected: shorter ones are one letter from too many others."""
_SHORT = 2
"""Characters of a word, or a name, that is too short to be mistyped."""
_MOST = 20
"""Words of labels that one word may be."""
_MOST_KEYS = 50
"""Keys of labels that one text may be."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A word that a token may be.

    :param place: number of the token.
    :param likeness: in [0, 1]: how alike the name is to what the question has.
    """

    place: int
    word: str
    likeness: float


def near_keys(search: LabelSearch, key: str) -> dict[str, int]:
    """Keys that are one typing error from another one, with the number of errors; two, if a long one has none."""
    return dict(_nearest(search.near_keys, key)[:_MOST_KEYS])


def _nearest(near: Callable[..., list[tuple[str, int]]], text: str) -> list[tuple[str, int]]:
    found = near(text, edits=1) if len(text) > _SHORT else []
    return found or (near(text, edits=2) if len(text) >= LEAST_CORRECTED else [])


@dataclass(frozen=True)
class Corrections:
    """The words of a question that no label has, and the words of labels that are nearest to them.

    A word that a label has is spelled right, whatever it is like.

    :param content: numbers of the tokens that are no stop words.
    :param small: numbers of those without a capital, in a question that writes names with capitals.
    """

    tokens: Sequence[TextToken]
    content: Collection[int]
    small: Collection[int]
    search: LabelSearch

    @cached_property
    def unknown(self) -> frozenset[int]:
        """Numbers of the tokens that may be mistyped."""
        counts = self.search.vocabulary({token.text for token in self.tokens}).counts
        return frozenset(
            i for i in self.content
            if not counts.get(word := self.tokens[i].text) and not is_unspaced(word[0])
            and not any(map(str.isdecimal, word))
        )  # fmt: skip

    @cached_property
    def _near(self) -> dict[int, list[tuple[str, int]]]:
        found = {i: _nearest(self.search.near_words, self.tokens[i].text)[:_MOST] for i in sorted(self.unknown)}
        return {i: near for i, near in found.items() if near}

    @property
    def words(self) -> list[str]:
        """Words of labels that mistyped words may be, whatever is beside them."""
        return [word for i, near in self._near.items() for word, _ in near if self._likeness(i, word)]

    def is_lost(self, i: int) -> bool:
        """Whether a token may be a mistyped name, but no label has a word that is near to it."""
        return i in self.unknown and i not in self.small and i not in self._near

    def within(self, start: int, end: int, length: int) -> Iterator[Correction]:
        """What the only mistyped word from ``start`` to before ``end`` may be.

        Where one letter makes another name of a word, as of `Faust` and `Fausta`, it only counts beside another word.

        :param length: of all these words together, in characters.
        """
        unknown = self.unknown.intersection(range(start, end))
        if len(unknown) != 1:
            return
        (place,) = unknown
        has_others = length >= LEAST_CORRECTED and sum(i in self.content for i in range(start, end)) > 1
        for word, edits in self._near.get(place, ()):
            likeness = 1 - 1 / length if has_others and edits == 1 else self._likeness(place, word)
            if likeness:
                yield Correction(place, word, likeness)

    def _likeness(self, i: int, word: str) -> float:
        """How alike a token and the word it may be are; where names have capitals, a word without is spelled right."""
        return 0.0 if i in self.small else similarity(word, self.tokens[i].text)
