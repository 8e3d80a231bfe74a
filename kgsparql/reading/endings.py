"""What stands at the end of a question (in which order, rounded, ``and how many``), and what compares two things.

Of two, how much more one has than the other: ``how many years older``, ``the difference between``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from kgsparql.reading.clauses import Clauses, Comparative, NounPhrase, Predication, Superlative
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


class Differences(Endings, ABC):
    """Reads questions for the difference of two numbers, or of two dates."""

    @abstractmethod
    def any_question(self) -> Clauses:
        """Read a question by its first words."""

    def read_difference(self) -> Clauses | None:
        """Read ``how much taller is A than B``, ``how many more films than books``; None for other questions."""
        lexicon, start, end = self.lexicon, self.mark(), self.end
        by, unit, ways = int(self.word() in lexicon.by_words), "", list[Callable[[], Clauses | None]]()
        if self.word(by) in lexicon.how_words and self.word(by + 1) in lexicon.amounts:
            self.skip(by + 2)
            unit = lexicon.units.get(self.word(), "") if self.chunk() is None else ""
            self.skip(int(unit != ""))
            ways = [self._how_much_more, self._between_two, self._by_how_much]
        elif asked := self.phrase_in(lexicon.difference_phrases):
            self.skip(asked[0])
            ways = [self._between_two]
        mark = self.mark()
        for way in ways:
            if (question := way()) is not None and self.is_done:
                return replace(question, unit=unit)
            self.main_verb, self.end = None, end
            self.back(mark)
        self.back(start)
        return None

    def named_otherwise(self, question: Clauses) -> NounPhrase | None:
        """Return what other names are asked of, and after it the one that is asked about; ``None`` if more is said."""
        lexicon = self.lexicon
        wanted = {word for phrase in lexicon.other_names for word in phrase.split()}
        own = [chunk for chunk in self.read.chunks if chunk.is_name or chunk.classes]
        names = [chunk for chunk in own if not wanted.issuperset(self.texts[at] for at in chunk.span)]
        closed = (lexicon.function_words | lexicon.amounts | lexicon.how_words | lexicon.imperatives) - wanted
        closed -= lexicon.negations | lexicon.except_words
        said = [text for at, text in enumerate(self.texts) if at not in self.in_names and text not in closed]
        is_asked = {"set": 1, "count": 1, "ask": 2}.get(question.form) == len(names)
        return NounPhrase(chunks=names) if is_asked and " ".join(said) in lexicon.other_names else None

    def _by_how_much(self) -> Clauses | None:
        """Read ``is A taller than B`` after ``by how much``, ``how many years``."""
        if self.word() not in self.lexicon.auxiliaries:
            return None
        question = self.any_question()
        return replace(question, form="difference") if question.form == "compare" else None

    def _how_much_more(self) -> Clauses | None:
        """Read ``taller is A than B``, ``later did A die than B``, ``more films than books``."""
        lexicon, end = self.lexicon, self.end
        than = next((at for at in range(self.at + 1, end) if self.texts[at] in lexicon.than_words), None)
        difference = self.phrase_in(lexicon.comparatives)
        if than is None or difference is None or than in self.in_names:
            return None
        compared = Comparative(self.at, *difference[1])
        self.take_words(difference[0])
        if self.at == than:  # older than B is A
            self.skip()
            other = self.noun_phrase(with_modifiers=False)
            self.skip(int(self.word() in lexicon.be_forms))
            return Clauses("difference", self.noun_phrase(), other=other, comparative=compared)
        self.end = than
        counted = NounPhrase() if self.word() in lexicon.auxiliaries else self.noun_phrase()
        is_there = self.word() in lexicon.be_forms and self.word(1) in lexicon.existence_words
        if is_there or self.word(1) in lexicon.owners:  # are there in A, do we have in A
            self.skip(2 + (self.word(2) in lexicon.have_forms))
            self.modifiers(counted)
        if self.is_done:
            return self._of_two_sets(counted, compared, end)
        if self.word() in lexicon.do_forms:
            self.reserve_main_verb(self.word())
        self.skip(int(self.word() in lexicon.auxiliaries))
        first, self.main_verb = self.noun_phrase(with_modifiers=False), None
        if not self.is_done:
            self.modifiers(first)
        self.skip(int(self.word() in lexicon.have_forms))
        measured = (*sorted(counted.positions), *self.verb_words())
        is_whole, self.end = self.is_done, end
        self.skip()
        other = self.noun_phrase()
        self.skip(int(self.word() in lexicon.auxiliaries))
        if not other.chunks and other.of is not None:  # than that of B
            other.chunks = list(first.chunks)
        is_pair = is_whole and not first.is_empty and not other.is_empty
        return Clauses("difference", first, other=other, comparative=compared, measured=measured) if is_pair else None

    def _of_two_sets(self, phrase: NounPhrase, compared: Comparative, end: int) -> Clauses | None:
        """Read the second of two sets: ``than books are there``, ``than in France``."""
        lexicon, self.end = self.lexicon, end
        self.skip()
        if self.word() in lexicon.prepositions:
            said = Predication(light="be", preposition=self.texts[self.skip()[0]], object=self.noun_phrase())
            other = NounPhrase(chunks=list(phrase.chunks), restrictions=[said])
        else:
            other = self.noun_phrase()
        while self.word() in lexicon.auxiliaries | lexicon.existence_words:
            self.skip()
        if phrase.is_empty or other.is_empty or compared.measures:
            return None
        head, last = phrase.head, other.head
        if head and last and last.classes and not head.classes:
            phrase.chunks.append(last)  # more vegan than vegetarian recipes
        sides = (phrase, other) if compared.comparison == ">" else (other, phrase)
        return Clauses("difference", sides[0], other=sides[1], comparative=compared)

    def _between_two(self) -> Clauses | None:
        """Read ``between the births of A and B``, ``in height between A and B``; ``passed``, ``lie`` say nothing."""
        lexicon, measured = self.lexicon, NounPhrase()
        while self.word() in lexicon.be_forms | lexicon.existence_words | lexicon.passing_words:
            self.skip()
        if self.word() in lexicon.prepositions - lexicon.between_words:
            self.skip()
            measured = self._without_count(self.noun_phrase(with_modifiers=False))
        if self.word() not in lexicon.between_words:
            return None
        self.skip()
        phrase = self._without_count(self.noun_phrase())
        pair = [self._without_count(part) for part in phrase.parts]
        if phrase.of is not None and len(phrase.of.parts) == 2:  # the birth of A and B
            pair = [self._without_count(part) if part.of else replace(phrase, of=part) for part in phrase.of.parts]
        elif measured.chunks:
            pair = [replace(measured, of=part, of_form="of") for part in pair]
        self.skip(int(self.word() in lexicon.passing_words))
        are_measured = len(pair) == 2 and all(part.of is not None and part.chunks for part in pair)
        return Clauses("difference", pair[0], other=pair[1]) if are_measured else None

    def _without_count(self, phrase: NounPhrase) -> NounPhrase:
        """Take ``the children of Ann`` for ``the number of children of Ann``."""
        words = {self.texts[at] for at in phrase.positions}
        if phrase.of is None or not words or not words <= self.lexicon.count_words:
            return phrase
        self.signposts += phrase.positions
        return phrase.of
