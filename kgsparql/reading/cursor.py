"""A place in the words of a question, and what the words there may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from kgsparql.reading.chunks import MAX_WORDS, Chunked
from kgsparql.reading.clauses import Chunk, Comparison, Quantity
from kgsparql.reading.lexicon import LONGEST_PHRASE, Lexicon, longest_phrase

Value = TypeVar("Value")

MAX_DEPTH = 40
MAX_PHRASES = 2_000
"""Phrases that are begun in one question; beyond, or deeper, the question ends: the rest is unread."""


class Cursor:
    """Reads the words of a question from left to right; words within names are not looked at.

    :ivar at: position of the next word. :ivar end: position after the last word that may be read.
    :ivar main_verb: position of the verb after ``AUXILIARY SUBJECT``, which no phrase before it may take.
    :ivar signposts: positions that were read, but stand in no clause: ``than``, numbers of a comparison.
    :ivar inserted: positions that a noun phrase goes over: ``the films - list the years - that``.
    """

    def __init__(self, read: Chunked, lexicon: Lexicon) -> None:
        self.read = read
        self.lexicon = lexicon
        self.texts = read.texts
        self.at = 0
        self.end = min(len(read.texts), MAX_WORDS)
        self.main_verb: int | None = None
        self.signposts: list[int] = []
        self.inserted = range(0)
        self.chunks = {chunk.start: chunk for chunk in read.chunks}
        covering = (chunk.span for chunk in read.chunks if chunk.is_strong or len(chunk.span) > 1)
        self.in_names = frozenset(position for span in covering for position in span)
        self._depth = 0
        self._begun = 0

    # --- Moving

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be read."""
        return self.at >= self.end

    def take(self) -> int:
        """Go one word on; return the position of the word."""
        self.at += 1
        return self.at - 1

    def skip(self, words: int = 1) -> tuple[int, ...]:
        """Go on over words that stand in no clause; return their positions."""
        positions = tuple(range(self.at, self.at + words))
        self.signposts += positions
        self.at += words
        return positions

    def skips_aside(self) -> bool:
        """Go over words that say nothing, such as ``in the world``; return whether there were any."""
        found = self.phrase_in(self.lexicon.asides)
        if found is not None:
            self.skip(found[0])
        return found is not None

    def mark(self) -> tuple[int, int]:
        """Return a place to go :meth:`back` to."""
        return self.at, len(self.signposts)

    def back(self, mark: tuple[int, int]) -> None:
        """Go back, as if nothing had been read since."""
        self.at = mark[0]
        del self.signposts[mark[1] :]

    @contextmanager
    def one_deeper(self) -> Iterator[None]:
        """Read a phrase within the present one; where there are too many, the question ends here."""
        self._depth += 1
        self._begun += 1
        if self._depth > MAX_DEPTH or self._begun > MAX_PHRASES:
            self.end = min(self.end, self.at)
        yield
        self._depth -= 1

    # --- Looking

    def word(self, offset: int = 0) -> str:
        """Return a word; empty at the end, and in a name."""
        position = self.at + offset
        return self.texts[position] if 0 <= position < self.end and position not in self.in_names else ""

    def chunk(self, offset: int = 0) -> Chunk | None:
        """Return the chunk that begins at a word."""
        position = self.at + offset
        return self.chunks.get(position) if position < self.end else None

    def number(self, offset: int = 0) -> Decimal | None:
        """Return the number at a word."""
        chunk = self.chunk(offset)
        return None if chunk is None else chunk.number

    def take_quantity(self, comparison: Comparison) -> Quantity:
        """Go on over a number, and return it as what something compares so with."""
        value = self.chunks[self.at]
        return Quantity(comparison, value, self.skip(len(value.span)))

    def with_unit(self, quantity: Quantity) -> Quantity:
        """Take a word behind a number that nobody knows for its unit, which is not known either: ``5 florps``."""
        word, closed = self.word(), self.lexicon.empty_words
        is_known = word in closed or self.chunk() is not None or self.read.is_type_word(min(self.at, self.end - 1))
        if quantity.value.unit or not word or is_known or self.is_verb():
            return quantity
        return replace(
            quantity, value=replace(quantity.value, unit=word), positions=(*quantity.positions, *self.skip())
        )

    def is_range(self, offset: int = 0) -> bool:
        """Tell whether words such as ``between`` stand before a range of numbers."""
        chunk = self.chunk(offset + 1)
        is_between = self.word(offset) in self.lexicon.between_words
        return is_between and chunk is not None and chunk.number is not None and chunk.last is not None

    def phrase_in(self, table: Mapping[str, Value], offset: int = 0) -> tuple[int, Value] | None:
        """Return how many of the next words are a key of a table, and what it says of them."""
        texts = [self.word(offset + ahead) for ahead in range(LONGEST_PHRASE)]
        return longest_phrase(table, texts[: texts.index("")] if "" in texts else texts)

    def is_at_comma(self) -> bool:
        """Tell whether a comma stands before the next word."""
        return 0 < self.at <= len(self.texts) and "," in self.read.gaps[self.at - 1]

    def possessive_words(self) -> int | None:
        """Return how many words the mark of a possessor has here: 1 of ``'s``, 0 of ``s'``; None without one."""
        if not 0 < self.at < self.end or self.read.gaps[self.at - 1].strip() not in {"'", "’"}:
            return None
        is_mark = self.texts[self.at] == self.lexicon.possessive and self.at not in self.in_names
        if is_mark and self.texts[self.at - 1] not in self.lexicon.question_words:
            return 1
        return 0 if self.texts[self.at - 1].endswith(self.lexicon.possessive) and not is_mark else None

    def is_noun_phrase(self, offset: int = 0) -> bool:
        """Tell whether a noun phrase begins at a word, which may be a determiner."""
        while self.word(offset) in self.lexicon.determiners:
            offset += 1
        if self.at + offset >= self.end:
            return False
        if self.is_member(offset):
            return True
        chunk = self.chunk(offset)
        if chunk and (chunk.entities or chunk.classes or chunk.is_strong or chunk.number is not None):
            return True
        word = self.word(offset)
        is_closed = word in self.lexicon.function_words | self.lexicon.have_forms | self.lexicon.adverbs
        return bool(word) and not is_closed and not self.is_verb(offset, after_noun=False)

    def is_member(self, offset: int = 0) -> bool:
        """Tell whether ``one of`` begins at a word: what follows says what of."""
        return self.word(offset) in self.lexicon.members and self.word(offset + 1) in self.lexicon.of_words

    def is_bound(self, offset: int = 0) -> bool:
        """Tell whether words such as ``more than``, with a number after them, begin at a word."""
        if self.is_range(offset):
            after = offset + 1 + len(self.chunks[self.at + offset + 1].span)
            return self.is_noun_phrase(after) and self.number(after) is None
        found = self.phrase_in(self.lexicon.bounds, offset) or self._phrase_of_comparison(offset)
        return found is not None and self.number(offset + found[0]) is not None

    def _phrase_of_comparison(self, offset: int) -> tuple[int, object] | None:
        """Return how many words a comparative with ``than`` has."""
        found = self.phrase_in(self.lexicon.comparatives, offset)
        if found is None or self.word(offset + found[0]) not in self.lexicon.than_words:
            return None
        return found[0] + 1, found[1]

    def begins_object(self, offset: int = 0) -> bool:
        """Tell whether a noun phrase, with all that may stand before its noun, begins at a word."""
        word, lexicon = self.word(offset), self.lexicon
        opening = lexicon.no_words | lexicon.both_words | lexicon.either_words | lexicon.determiners
        is_extreme = self.phrase_in(lexicon.superlatives, offset) is not None
        return self.is_noun_phrase(offset) or word in opening or is_extreme or self.is_bound(offset)

    def is_participle(self, position: int) -> bool:
        """Tell whether a word has the form of a past participle."""
        return position not in self.in_names and self.lexicon.is_participle(self.texts[position])

    def is_verb(self, offset: int = 0, *, after_noun: bool = True) -> bool:
        """Tell by its form, and by what follows, whether a word is the verb of a clause."""
        position, lexicon = self.at + offset, self.lexicon
        word = self.word(offset)
        if not word or position == self.main_verb:
            return bool(word)
        if word in lexicon.function_words or word in lexicon.superlatives or word in lexicon.summaries:
            return False
        is_past = lexicon.is_participle(word)
        is_known = word in lexicon.verbs and self.word(offset + 1) not in lexicon.of_words
        chunk = self.chunk(offset)
        is_past = is_past or (after_noun and self._agrees(offset))
        if chunk and (chunk.entities or chunk.classes) and not (is_known or is_past):
            return False
        if is_past:
            return True
        following = self._is_followed_like_a_verb(offset)
        if is_known and (following or after_noun):
            return True
        if not following or not after_noun:
            return False
        is_present = lexicon.is_present(word) and position + 1 < self.end
        if not chunk and self.word(offset + 1) in lexicon.determiners:
            return True
        takes_object = self.word(offset + 1) in lexicon.verb_prepositions | lexicon.determiners or self.chunk(
            offset + 1
        )
        return lexicon.is_progressive(word) or (is_present and bool(takes_object))

    def _agrees(self, offset: int) -> bool:
        """Tell whether a word agrees with the class before it as a verb: which trains *stop* at Ulm."""
        position, lexicon = self.at + offset, self.lexicon
        are_many, is_one = map(lexicon.is_present, (self.texts[position - 1], self.word(offset)))
        if are_many == is_one or all(chunk.end != position or not chunk.classes for chunk in self.chunks.values()):
            return False
        is_only = self.texts[0] in lexicon.question_words and lexicon.auxiliaries.isdisjoint(self.texts)
        after, closed = self.word(offset + 1), lexicon.prepositions - lexicon.of_words | lexicon.determiners
        is_followed = (
            after in closed | lexicon.no_words | lexicon.quantifiers.keys() or self.number(offset + 1) is not None
        )
        return is_followed and (are_many or is_only)

    def _is_followed_like_a_verb(self, offset: int) -> bool:
        """Tell whether what follows a word is what may follow a verb: the end, a preposition, a phrase."""
        position, lexicon = self.at + offset + 1, self.lexicon
        if position >= self.end or position in self.chunks:
            return True
        after = self.word(offset + 1)
        closed = lexicon.prepositions | lexicon.determiners | lexicon.negations | lexicon.question_words.keys()
        joining = lexicon.and_words | lexicon.or_words | lexicon.but_words | lexicon.anaphors
        return after in closed | joining or after in lexicon.superlatives or after in lexicon.comparatives

    # --- The main verb

    def reserve_main_verb(self, auxiliary: str) -> None:
        """Find the verb after ``AUXILIARY SUBJECT``: the last word that may be it; no phrase before may take it."""
        self.main_verb = None
        rest = range(self.end - 1, self.at, -1)
        self.main_verb = next((at for at in rest if self._may_be_main_verb(auxiliary, at)), None)

    def _may_be_main_verb(self, auxiliary: str, position: int) -> bool:
        """Tell whether a word may be the main verb of a question with an auxiliary."""
        lexicon, text, chunk = self.lexicon, self.texts[position], self.chunks.get(position)
        is_closed = position in self.in_names or text in lexicon.function_words
        if is_closed or (chunk is not None and (chunk.number is not None or chunk.is_strong)):
            return False
        is_class, is_participle = chunk is not None and bool(chunk.classes), self.is_participle(position)
        is_after_name = position - 1 in self.in_names
        after = self.word(position + 1 - self.at)
        is_last = position + 1 >= self.end or after in lexicon.last_words
        if auxiliary in lexicon.do_forms:
            return not is_participle and self._may_follow_do(position, is_class, is_last, after)
        if is_participle:
            is_stranded = after in lexicon.prepositions and position + 2 >= self.end
            return auxiliary in lexicon.have_forms or is_last or is_stranded or is_after_name
        return is_after_name and after in lexicon.prepositions and not is_class

    def _may_follow_do(self, position: int, is_class: bool, is_last: bool, after: str) -> bool:
        """Tell whether a word may be the verb of ``did``: in its base form, and no noun after a preposition."""
        lexicon, text, before = self.lexicon, self.texts[position], self.texts[position - 1]
        has_object = after in lexicon.determiners or position + 1 in self.chunks
        ends = is_last or after in lexicon.prepositions | lexicon.relatives | lexicon.and_words or has_object
        is_noun = before in lexicon.prepositions | lexicon.determiners
        has_verb = not lexicon.have_forms.isdisjoint(self.texts[self.at : position])  # does X have a Y
        is_closed = is_noun or has_verb or lexicon.is_present(text)
        return ends and not is_closed and (text in lexicon.verbs or not is_class)
