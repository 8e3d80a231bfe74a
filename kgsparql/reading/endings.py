"""What stands at the end of a question: in which order, rounded, ``and how many``, ``List their names``."""

from __future__ import annotations

from abc import ABC

from kgsparql.reading.clauses import NounPhrase, Superlative
from kgsparql.reading.verb_phrases import VerbPhrases

_BREAKS, _CLOSING = frozenset(".?!;:-–—("), frozenset(("-", "–", "—", ")"))  # before a request; behind it
_DIGIT_WORDS = 3  # after `rounded to`, at most: `two decimal places`


class Endings(VerbPhrases, ABC):
    """Reads the end of a question, before all else: no phrase may take its words.

    :ivar order: in which the answers are asked for. :ivar asks_value: what was measured is asked for, too.
    :ivar digits: to how many numbers are rounded. :ivar request: where the nouns stand that are asked for besides.
    """

    order: Superlative | None = None
    request: range | None = None
    asks_value = False
    digits: int | None = None

    def take_order(self) -> None:
        """Take from the end of a question in which order the answers are asked for, and ``and how many``."""
        lexicon, end = self.lexicon, self.end
        for position in range(2, end):
            opener = self.phrase_in(lexicon.order_openers, position)
            order = self.phrase_in(lexicon.orders, position)
            value = self.phrase_in(lexicon.value_questions, position)
            extreme = self.phrase_in(lexicon.superlatives, position)
            rounding = self.phrase_in(lexicon.roundings, position)
            is_first = self.texts[end - 1] in lexicon.last_words and position < end - 1
            if value is not None and self._is_of_measure(position + value[0]):
                self.asks_value = True
            elif rounding is not None and end - position - rounding[0] <= _DIGIT_WORDS:
                number = self.number(position + rounding[0])
                self.digits = rounding[1] if number is None else int(number)
            elif opener or order or (extreme and is_first and position + extreme[0] >= end - 2):
                self.order = self._order_from(position, opener[0] if opener else 0)
            else:
                continue
            self.signposts += range(position, end)
            last = self.texts[position - 1] in lexicon.and_words | lexicon.dummies | lexicon.imperatives
            self.end = position - last
            return

    def take_request(self) -> None:
        """Take what is asked for besides: ``Show name and year``, ``and what are their names``, ``- list ids -``."""
        for at in range(2, self.end - 1):
            gap, is_joined = self.read.gaps[at - 1], self.word(at - 1) in self.lexicon.and_words
            is_new = " " in gap and not _BREAKS.isdisjoint(gap)
            start = self._start_of_request(at) if is_new or is_joined or "," in gap else at
            if start > at and (is_new or self.word(start) in self.lexicon.possessive_pronouns):
                ends = (p for p in range(start + 1, self.end) if not _CLOSING.isdisjoint(self.read.gaps[p - 1].split()))
                self.request = range(start, next(ends, self.end))
                self.inserted = range(at - is_joined, self.request.stop)
                self.signposts += range(self.inserted.start, start)
                self.end = self.inserted.start if self.request.stop == self.end else self.end
                return

    def _start_of_request(self, at: int) -> int:
        """Return where the nouns of a request begin, after ``for each of them give me``, ``what are``; else its own."""
        lexicon, first = self.lexicon, at
        if self.word(at) in lexicon.prepositions and self.word(at + 1) in lexicon.distributives:
            at += 4 if self.word(at + 2) in lexicon.of_words else 2
        if self.word(at) in lexicon.imperatives:
            while self.word(at + 1) in lexicon.after_imperatives:
                at += 1
            return at + 1
        is_asked = lexicon.question_words.get(self.word(at)) == "any" and self.word(at + 1) in lexicon.be_forms
        return at + 2 if is_asked and self.word(at + 2) in lexicon.possessive_pronouns else first

    def columns_requested(self) -> tuple[NounPhrase, ...]:
        """Read the nouns of a request."""
        if self.request is None:
            return ()
        self.at, self.end, self.inserted, self.main_verb = self.request.start, self.request.stop, range(0), None
        phrase = self.noun_phrase()
        return phrase.parts or (phrase,)

    def _is_of_measure(self, start: int) -> bool:
        """Tell whether nothing else is asked for after ``and how many``: ``are they``, ``is that average``."""
        rest = {self.texts[at] for at in range(start, self.end)}
        return rest <= self.lexicon.function_words | self.lexicon.summaries.keys() | {self.texts[self.end - 1]}

    def _order_from(self, start: int, opener: int) -> Superlative:
        """Read what the answers are ordered by, and whether the largest comes first."""
        lexicon, is_largest, measures = self.lexicon, False, list[str]()
        nouns: list[str] = []
        at = start + opener
        while at < self.end:
            extreme, order = self.phrase_in(lexicon.superlatives, at), self.phrase_in(lexicon.orders, at)
            if extreme is not None and at + extreme[0] <= self.end - (not opener):
                is_largest, measures = extreme[1].is_largest, [*extreme[1].measures]
            elif order is not None:
                is_largest = order[1]
            elif self.texts[at] not in lexicon.empty_words | lexicon.last_words:
                nouns.append(self.texts[at])
            at += (extreme or order or (1,))[0]
        return Superlative(start, is_largest, (*nouns, *measures))
