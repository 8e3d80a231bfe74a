"""What stands before a noun: determiners, superlatives, quantities."""

from __future__ import annotations

from dataclasses import replace

from kgsparql.reading.clauses import Comparative, Comparison, NounPhrase, Quantity, Superlative
from kgsparql.reading.cursor import Cursor

_RANK_DIGITS = 4


class Openings(Cursor):
    """Reads what stands before a noun, and quantities after it, into its phrase."""

    def takes_opening(self, phrase: NounPhrase) -> bool:
        """Take one of the words that stand before a noun; return whether there was one."""
        word, lexicon = self.word(), self.lexicon
        chunk = self.chunk()
        if (chunk is not None and chunk.is_strong and chunk.number is None) or not (word or chunk):
            return False
        if word in lexicon.both_words | lexicon.either_words - lexicon.no_words:
            self.skip()
        elif self.is_member():
            self.skip(2)
        elif word in lexicon.time_adverbs:
            self.take()  # changes what is asked: is left unread
        elif word in lexicon.determiners and self.word(1) in lexicon.same_words:
            self.skip()
            phrase.same = (self.take(),)
        elif self.is_bound() or self._is_open_number():
            phrase.quantity = self._read_bound()
        elif word in lexicon.no_words:
            self.skip()
            phrase.is_negated = True
        elif self._takes_extreme(phrase):
            pass
        elif self._is_small_number() or self._is_share_of():
            is_share = self._is_share_of()
            phrase.quantity = replace(self.take_quantity("="), is_share=is_share)
            self.skip(is_share * (1 + (self.word() in lexicon.share_words)))
        elif word in lexicon.summaries and all(
            start != self.at or end < start + 2 for start, end in self.read.predicates
        ):
            phrase.summary = (self.take(), lexicon.summaries[word])
        elif word in lexicon.determiners:
            phrase.is_theirs = word in lexicon.possessive_pronouns
            phrase.every = self.at if word in lexicon.universals else phrase.every
            phrase.is_each = phrase.is_each or word in lexicon.distributives
            self.skip()
        else:
            return False
        return True

    def _takes_extreme(self, phrase: NounPhrase) -> bool:
        """Take a superlative, or a comparative in its place: ``the second oldest``, ``top 5``, ``the older``."""
        word, lexicon = self.word(), self.lexicon
        words, rank, several = self.ranks()
        is_ranked = words > 0 and self.phrase_in(lexicon.superlatives, words) is not None
        if is_ranked:
            self.skip(words)
        extreme, comparative = self.phrase_in(lexicon.superlatives), self.phrase_in(lexicon.comparatives)
        if word in lexicon.top_words and self.number(1) is not None:
            position = self.take()
            is_share, number = self.is_percentage(), int(self.take_quantity("=").number)
            phrase.superlative = Superlative(position, is_largest=True, number=number, is_share=is_share)
            self.skip(int(is_share and self.word() in lexicon.share_words))
        elif extreme and self.word(extreme[0]) in lexicon.identity_nouns:
            return False  # first name
        elif extreme and self.word(extreme[0]) in lexicon.count_words and self.word(extreme[0] + 1) in lexicon.of_words:
            phrase.most = (self.at, extreme[1].is_largest)  # the largest number of
            self.take_words(extreme[0] + 2)
        elif word in lexicon.quantifiers and (extreme or comparative or (0,))[0] == 1 and self.number(1) is None:
            phrase.most = (self.take(), lexicon.quantifiers[word])
        elif self.number() is not None and self.phrase_in(lexicon.superlatives, 1):
            number = int(self.take_quantity("=").number)
            return self._takes_extreme(phrase) and self._sets_number(phrase, number)
        elif extreme:
            own = (rank, several) if is_ranked else (1, 1)
            phrase.superlative = Superlative(self.at, *extreme[1], rank=own[0], number=own[1])
            self.take_words(extreme[0])
            if not phrase.chunks and self.number() is not None and self.is_percentage():
                share = int(self.take_quantity("=").number)  # the heaviest 10 % of the products
                phrase.superlative = replace(phrase.superlative, number=share, is_share=True)
        elif several > 1:
            phrase.superlative = Superlative(self.at, is_largest=True, rank=rank, number=several)
            self.take_words(words)
        elif comparative and self._is_before_noun(comparative[0]):
            phrase.superlative = Superlative(self.at, comparative[1].comparison == ">", comparative[1].measures)
            self.take_words(comparative[0])
        else:
            return False
        return True

    def ranks(self) -> tuple[int, int, int]:
        """Return how many words say a rank or several, the first, and how many: ``second``, ``6th to the 10th``."""
        first, ahead = self._rank_at(0), 2 + (self.word(2) in self.lexicon.definites)
        last = self._rank_at(ahead) if self.word(1) in self.lexicon.range_words else 0
        return (ahead + 1, first, last - first + 1) if 0 < first < last else (int(first > 0), first, 1)

    def _rank_at(self, offset: int) -> int:
        """Return the rank at a word, 0 for none."""
        word, lexicon = self.word(offset), self.lexicon
        digits = next((word.removesuffix(end) for end in lexicon.day_endings if word.endswith(end)), "")
        return lexicon.ordinals.get(word, int(digits) if digits.isdecimal() and len(digits) < _RANK_DIGITS else 0)

    def _is_share_of(self) -> bool:
        """Tell whether ``10 % of`` begins here."""
        after = self.word(1 + (self.word(1) in self.lexicon.share_words))
        return self.number() is not None and self.is_percentage() and after in self.lexicon.of_words

    def is_percentage(self) -> bool:
        """Tell whether a number stands here that is one of a hundred: ``10 %``."""
        return "%" in self.read.gaps[self.at] or self.word(1) in self.lexicon.share_words

    @staticmethod
    def _sets_number(phrase: NounPhrase, number: int) -> bool:
        """Ask for several: ``the three largest``."""
        if phrase.superlative is not None:
            phrase.superlative = replace(phrase.superlative, number=number)
        return True

    def take_words(self, number: int) -> None:
        """Go over the words of a phrase, which stands in the clause by its first word."""
        self.take()
        self.skip(number - 1)

    def _is_before_noun(self, offset: int) -> bool:
        """Tell whether a noun follows a comparative, so that it stands for a superlative: ``the older laureate``."""
        after = self.word(offset)
        is_preposition = self.word() in self.lexicon.prepositions | self.lexicon.bounds.keys()
        is_noun = after != "" and after not in self.lexicon.function_words
        return is_noun and not is_preposition and self.number(offset) is None

    # --- Quantities

    def _read_bound(self) -> Quantity:
        """Read ``more than 100``."""
        start = self.at
        if self._is_open_number():
            quantity, is_more = self.take_quantity("="), self.lexicon.quantifiers[self.word(1)]
            self.skip(2)
            quantity = replace(quantity, comparison=">=" if is_more else "<=")
        else:
            comparison, words = self._bound_words()
            self.skip(words)
            quantity = self.take_quantity(comparison)
        return replace(quantity, positions=tuple(range(start, self.at)))

    def _is_small_number(self) -> bool:
        """Tell whether a number of things stands here, and no year, name or rank: ``two prizes``."""
        chunk = self.chunk()
        if chunk is None or chunk.number is None or chunk.entities or chunk.unit:
            return False
        after = self.chunk(len(chunk.span))
        if chunk.may_be_years and after is not None:
            return False  # 1984 films
        return self.is_noun_phrase(len(chunk.span)) and (after is None or after.number is None)

    def _is_open_number(self) -> bool:
        """Tell whether a number stands here with a bound after it: ``five or more``."""
        is_or = self.number() is not None and self.word(1) in self.lexicon.or_words
        return is_or and self.word(2) in self.lexicon.quantifiers

    def open_preposition(self, value: NounPhrase) -> str:
        """Take ``or later`` behind a value; return the preposition that says the same: ``since``."""
        difference = self.lexicon.comparatives.get(self.word(1)) if self.word() in self.lexicon.or_words else None
        if difference is None or value.head is None or not value.head.is_value:
            return ""
        self.skip(2)
        prepositions = self.lexicon.value_prepositions.items()
        return next(word for word, comparison in prepositions if comparison == f"{difference.comparison}=")

    def _bound_words(self) -> tuple[Comparison, int]:
        """Return how a number that follows compares, and how many words say so."""
        if self.is_range():
            return "=", 1
        if found := self.phrase_in(self.lexicon.bounds):
            return found[1], found[0]
        words, difference = self.phrase_in(self.lexicon.comparatives) or (0, None)
        return (difference.comparison, words + 1) if difference else ("=", 0)

    def value_with_adjective(self) -> Comparative | None:
        """Read ``at least 15 mm wide``, ``30 cm tall``; None where a number has no such adjective behind it."""
        words = self._bound_words()[1]
        chunk = self.chunk(words)
        adjective = self.word(words + len(chunk.span)) if chunk is not None and chunk.number is not None else ""
        keys = [key for how in self.lexicon.how_words if (key := f"{how} {adjective}") in self.lexicon.measures]
        if not keys:
            return None
        quantity = self._read_bound()
        return Comparative(self.take(), quantity.comparison, self.lexicon.measures[keys[0]], quantity)

    def take_bound_after(self, phrase: NounPhrase) -> None:
        """Take a quantity after its noun: ``a rating above 4``, ``a rating of at least 4``, ``a rating of 5``."""
        if len(phrase.chunks) > 1 and phrase.chunks[-1].is_value and not phrase.quantity:
            self._take_value_after(phrase)
        if not phrase.chunks or phrase.chunks[-1].number is not None or phrase.quantity:
            return
        has_of = self.word() in self.lexicon.of_words
        head, is_range = phrase.chunks[-1], self.is_range(int(has_of))
        if not (self.is_bound(int(has_of)) or is_range) and not (has_of and self.number(1) is not None):
            return
        value, is_thing = self.chunk(1), bool(head.classes or head.entities)
        if is_thing and value is not None and value.may_be_years and (is_range or has_of):
            return  # the laureates between 1900 and 1910, the operas of 1905
        difference = self.phrase_in(self.lexicon.comparatives)
        if difference is not None and difference[1].measures and (head.classes or head.entities):
            return  # brands heavier than 5, but a rating higher than 5
        mark = self.mark()
        positions = self.skip(int(has_of))
        quantity = self.with_unit(self._read_bound() if self.is_bound() or is_range else self.take_quantity("="))
        is_last = self.is_done or self.word() in self.lexicon.function_words or self.is_at_comma() or self.is_verb()
        if is_last:
            phrase.quantity = replace(quantity, positions=(*positions, *quantity.positions), is_of_value=True)
        else:
            self.back(mark)

    def _take_value_after(self, phrase: NounPhrase) -> None:
        """Take a value right behind its noun: ``the atomic number 96``, ``the year 1879``, ``laureates 1921``."""
        *_, noun, value = phrase.chunks
        if len(phrase.chunks) == 2 and self.read.text_of(noun.start, noun.end).lower() in self.lexicon.time_nouns:
            self.signposts += noun.span
            phrase.chunks = [value]
        elif noun.classes and (value.may_be_years or value.date is not None) and phrase.of is None:
            phrase.chunks.pop()
            phrase.of, phrase.of_form = NounPhrase(chunks=[value]), "of"
        elif not (noun.entities or value.entities):
            phrase.chunks.pop()
            phrase.quantity = Quantity("=", value, tuple(value.span), is_of_value=True)
