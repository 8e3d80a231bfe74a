"""Noun phrases: determiners, superlatives, chunks, possessors, and what is said of the noun after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from typing import Literal as OneOf

from kgsparql.reading.clauses import Chunk, Light, NounPhrase, Predication, Restriction, Superlative
from kgsparql.reading.openings import Openings


class NounPhrases(Openings, ABC):
    """Reads noun phrases. Names take no modifiers but relative clauses: ``born in Germany worked at``."""

    _open = 0  # phrases whose modifiers are being read

    @abstractmethod
    def verb_phrases(self, auxiliary: str = "", *, is_participle: bool = False) -> list[Restriction]:
        """Read what is said of one subject."""

    @abstractmethod
    def comparison(self, verb: tuple[int, ...] = ()) -> Predication | None:
        """Read ``older than Ann`` or ``wider than 3``; None where there is none."""

    # --- Phrases

    def noun_phrase(self, *, with_modifiers: bool = True) -> NounPhrase:
        """Read a noun phrase, or several that are joined by ``and``, ``or``, commas."""
        is_both = self.word() in self.lexicon.both_words
        first = self._one_noun_phrase(with_modifiers=with_modifiers)
        mark = self.mark()
        parts, joined_by = [first], ""
        while not self.is_done and not first.is_empty:
            joint = self._skip_joint()
            if joint is None:
                break
            part = self._one_noun_phrase(with_modifiers=with_modifiers)
            if part.is_empty or (part.is_theirs and self._open and not first.is_theirs):
                break  # the books by Ann, and their years
            part.is_theirs = part.is_theirs or (first.is_theirs and not part.asked)
            parts.append(part)
            joined_by = joint or joined_by
            if joined_by:
                mark = self.mark()
        self.back(mark)
        if len(parts) == 1 or not joined_by:
            return first
        self._share_possessor(parts)
        is_negated, first.is_negated = first.is_negated, False
        joined: OneOf["and", "or"] = "or" if joined_by == "or" and not is_both else "and"
        return NounPhrase(parts=tuple(parts), joined_by=joined, is_negated=is_negated, is_both=is_both)

    def _share_possessor(self, parts: list[NounPhrase]) -> None:
        """Give the possessor of the last of some phrases to all: ``the director and writer of Jaws``."""
        last = parts[-1]
        if last.of is None or last.of_form != "of" or last.is_theirs:
            return
        owner = {self.texts[at] for at in last.of.positions}
        of_itself = (
            owner | self.lexicon.identity_nouns if owner & self.lexicon.facets else set()
        )  # name, place of birth
        for part in parts[:-1]:
            is_own = any(self.texts[at] in of_itself for at in part.positions)
            if part.of is None and not is_own and not (part.head and part.head.is_name):
                part.of, part.of_form = copy(last.of), "of"

    def _skip_joint(self) -> str | None:
        """Go over what joins two noun phrases: ``and``, ``or``, empty for a comma; None where nothing does."""
        word, lexicon = self.word(), self.lexicon
        joining = self.phrase_in(lexicon.and_phrases)
        if joining is not None and self.begins_object(joining[0]):
            self.skip(joining[0])
            return "and"
        is_and = word in lexicon.and_words
        is_or = word in lexicon.or_words and self.word(1) not in lexicon.comparatives  # in 1905 or later
        if is_and or is_or:
            repeated = self.word(1) in lexicon.place_prepositions | lexicon.by_words | lexicon.of_words
            if not self.begins_object(1) and not (repeated and self.is_noun_phrase(2)):
                return None
            self.skip(1 if self.begins_object(1) else 2)
            return "and" if is_and else "or"
        return "" if self.is_at_comma() and self.is_noun_phrase() else None

    def _one_noun_phrase(self, *, with_modifiers: bool) -> NounPhrase:
        with self.one_deeper():
            phrase = NounPhrase()
            while not self.is_done and self.takes_opening(phrase):
                pass
            if self.word() in self.lexicon.question_words and not phrase.chunks:
                phrase.asked = self.texts[self.skip()[0]]
            if self.word() in self.lexicon.kinds and self.word(1) in self.lexicon.of_words:
                phrase.kinds = (self.take(),)
                self.skip()
            phrase = self._with_nouns(phrase)
            if phrase.same and self.word() in self.lexicon.as_words:
                self.skip()
                phrase.of, phrase.of_form = self.noun_phrase(with_modifiers=False), "same"
                return phrase
            self.take_bound_after(phrase)
            if with_modifiers:
                self.modifiers(phrase)
            return phrase

    # --- Nouns

    def _with_nouns(self, phrase: NounPhrase) -> NounPhrase:
        """Read the chunks of a phrase; return it, or the phrase that belongs to it: ``X's films``."""
        while not self.is_done and not (phrase.chunks and self.is_at_comma()):
            self.at = self.inserted.stop if self.at in self.inserted else self.at
            mark = self.possessive_words()
            if mark is not None and phrase.chunks and not (mark == 0 and not self.is_noun_phrase()):
                self.skip(mark)
                phrase = self._possessed_phrase(phrase)
                if mark == 0 and not phrase.chunks:
                    break
                continue
            has_noun = bool(phrase.chunks or phrase.asked) or self.at == self.main_verb
            chunk, word = self._name_of_predicate() or self.chunk(), self.word()
            if chunk and (chunk.is_strong or chunk.number is not None or word not in self.lexicon.function_words):
                if has_noun and ((self.is_verb() and not chunk.is_strong) or self._begins_contact_clause()):
                    break
                phrase.chunks.append(chunk)
                self.at = min(chunk.end, self.end)
                if chunk.is_name and len(phrase.chunks) == 1 and self._is_compound_participle():
                    return self._compound_phrase(phrase)
                continue
            closed = self.lexicon.function_words | self.lexicon.together_words | self.lexicon.adverbs
            if not word or word in closed | self.lexicon.time_adverbs or self.phrase_in(self.lexicon.except_phrases):
                break
            if (has_noun and self.is_verb()) or (phrase.chunks and self.phrase_in(self.lexicon.superlatives)):
                break
            if self.phrase_in(self.lexicon.comparatives) and (phrase.chunks or self.word(1) in self.lexicon.than_words):
                break
            if word in self.lexicon.fillers - self.lexicon.identity_nouns and not phrase.chunks:
                self.skip()
                continue
            position = self.take()
            phrase.chunks.append(Chunk(position, position + 1, self.read.raw[position]))
        return phrase

    def _begins_contact_clause(self) -> bool:
        """Tell whether a name is the subject of a clause about the noun before: ``the films Spielberg directed``."""
        chunk = self.chunk()
        if chunk is None or not chunk.is_name or chunk.end >= self.end or chunk.end == self.main_verb:
            return False
        after = len(chunk.span)
        is_end = self.at + after + 1 >= self.end or self.word(after + 1) in self.lexicon.auxiliaries
        is_end = is_end or self.at + after + 1 == self.main_verb
        return is_end and self.is_verb(after) and self.is_participle(chunk.end)

    def _name_of_predicate(self) -> Chunk | None:
        """Return the name of a predicate of several words as one chunk: ``product manager``, the ``place of birth``.

        A name that reads as part of a sentence, such as ``located in``, is one after a determiner or an owner only.
        """
        ends = [end for start, end in self.read.predicates if start == self.at and end <= self.end]
        span = range(self.at, max(ends, default=self.at))
        if len(span) < 2 or any(at in self.chunks and self.chunks[at].is_name for at in span):
            return None
        openers = self.lexicon.determiners | self.lexicon.relative_possessives | self.lexicon.have_forms
        openers |= {self.lexicon.possessive, *self.lexicon.question_words}
        if self.texts[span.stop - 1] in self.lexicon.prepositions and self.is_noun_phrase(len(span)):
            return None  # a member of Marketing
        is_joined = any(self.texts[at] in self.lexicon.function_words for at in span) or self.is_verb()
        if is_joined and not (self.at > 0 and self.texts[self.at - 1] in openers):
            return None
        known = self.chunk()
        classes = known.classes if known is not None and known.end == span.stop else ()
        named = self.read.predicates[span.start, span.stop]
        return Chunk(span.start, span.stop, self.read.text_of(span.start, span.stop), classes=classes, predicates=named)

    def _possessed_phrase(self, owner: NounPhrase) -> NounPhrase:
        """Begin the phrase of what belongs to an owner: ``X's oldest``; its nouns are read next."""
        phrase = NounPhrase(of=owner, of_form="'s")
        while not self.is_done and self.takes_opening(phrase):
            pass
        if not self.is_done and self.word() not in self.lexicon.function_words:  # no verb: `Ann's sibling`
            chunk = self._name_of_predicate() or self.chunk() or Chunk(self.at, self.at + 1, self.read.raw[self.at])
            phrase.chunks.append(chunk)
            self.at = min(chunk.end, self.end)
        return phrase

    def _is_compound_participle(self) -> bool:
        """Tell whether a participle and its noun follow a name: ``Gareth Edwards directed movies``."""
        if self.is_done or self.at < 2 or self.at == self.main_verb or not self.is_participle(self.at):
            return False
        after, chunk = self.word(1), self.chunk(1)
        closed = self.lexicon.function_words | self.lexicon.last_words
        is_noun = after != "" and after not in closed and not (chunk and (chunk.is_strong or chunk.number is not None))
        return is_noun and self.word(2) not in self.lexicon.together_words | self.lexicon.with_words

    def _compound_phrase(self, agent: NounPhrase) -> NounPhrase:
        """Read the participle and noun after the name of who did it."""
        verb = (self.take(),)
        by = min(self.lexicon.by_words)
        phrase = self._one_noun_phrase(with_modifiers=False)
        phrase.restrictions.append(Predication(verb=verb, is_passive=True, preposition=by, object=agent))
        return phrase

    def takes_bare_noun(self, phrase: NounPhrase) -> bool:
        """Take a name, and the noun that it is of what is asked for: ``what is X part of``, ``of what is X part``."""
        lexicon, mark, last = self.lexicon, self.mark(), self.end
        end = last - 1 if self.texts[last - 1] in lexicon.of_words else last
        names = [
            chunk.end for chunk in self.read.chunks if chunk.is_name and self.at <= chunk.start and chunk.end < end
        ]
        nouns, closed = range(max(names, default=end), end), lexicon.function_words | lexicon.verbs
        is_of = end < last or self.texts[0] in lexicon.of_words
        if not (is_of and nouns) or any(self.texts[at] in closed or self.is_participle(at) for at in nouns):
            return False
        self.end = nouns.start
        owner = self.noun_phrase()
        is_whole, self.end = self.is_done, last
        if not is_whole:
            self.back(mark)
            return False
        self.at = last
        noun = NounPhrase(chunks=[Chunk(at, at + 1, self.read.raw[at]) for at in nouns])
        phrase.restrictions.append(Predication(whose=noun, said=[Predication(light="be", object=owner)]))
        return True

    # --- What follows a noun

    def modifiers(self, phrase: NounPhrase) -> None:
        """Read what is said of a noun after it, into its phrase."""
        before = -1
        self._open += 1
        while not self.is_done and before != self.at:
            before = self.at
            if not self.skips_aside():
                self._take_modifier(phrase)
        self._open -= 1

    def _take_modifier(self, phrase: NounPhrase) -> None:
        """Read one of-phrase, clause, participle, comparison or prepositional phrase, if there is one."""
        word, lexicon = self.word(), self.lexicon
        is_ranked = phrase.superlative is not None and word in lexicon.by_words
        is_empty = not (phrase.chunks or phrase.of or phrase.asked or is_ranked)
        if (is_empty and word not in lexicon.of_words) or word in lexicon.than_words:
            return
        if self._takes_clause(phrase) or is_empty or self._is_closed_name(phrase) or not word:
            return
        if self.phrase_in(lexicon.and_phrases):  # as well as
            return
        if word in lexicon.naming_words and self.chunk(1) is not None and self.chunks[self.at + 1].is_strong:
            self.skip()
            phrase.chunks.append(self.chunks[self.at])
            self.at = min(phrase.chunks[-1].end, self.end)
        elif phrase.superlative and word in lexicon.by_words and self._is_measure_next(phrase.superlative):
            self.skip()
            start = self.at
            self.noun_phrase()
            self._order_by(phrase, phrase.superlative, range(start, self.at))
        elif self.at != self.main_verb and (relation := self.comparison()):
            phrase.restrictions.append(relation)
        elif word in lexicon.without_words:
            self.skip()
            phrase.restrictions.append(Predication(light="have", object=self.noun_phrase(), is_negated=True))
        elif self._begins_exception():
            self.take_exception(phrase)
        elif (
            self.at != self.main_verb
            and (self.is_participle(self.at) or lexicon.is_progressive(word))
            and self.is_verb()
        ):
            phrase.restrictions += self.verb_phrases(is_participle=True)
        elif word in lexicon.prepositions and (self.begins_object(1) or self.word(1) in lexicon.negations):
            self._take_prepositional(phrase, word)

    def _begins_exception(self) -> bool:
        return self.word() in self.lexicon.except_words or self.phrase_in(self.lexicon.except_phrases) is not None

    def take_exception(self, phrase: NounPhrase) -> None:
        """Read ``except Ann`` as said of a phrase; where it ends a question, it is said of what is asked for."""
        if self._begins_exception():
            self.skip((self.phrase_in(self.lexicon.except_phrases) or (1,))[0])
            phrase.restrictions.append(Predication(light="be", object=self.noun_phrase(), is_negated=True))

    def _order_by(self, phrase: NounPhrase, best: Superlative, positions: range) -> None:
        """Take some words for what a superlative measures."""
        texts = (self.texts[at] for at in positions if self.texts[at] not in self.lexicon.determiners)
        self.signposts += positions
        phrase.superlative = replace(best, measures=(" ".join(texts),))

    def _is_measure_next(self, best: Superlative) -> bool:
        """Tell whether a measure follows ``by``, and not who did it: ``the heaviest elements by atomic number``."""
        after = self.chunk(1)
        is_plain = after is None or not (after.entities or after.classes)
        return self.word(1) != "" and (not best.measures or is_plain)

    def _is_closed_name(self, phrase: NounPhrase) -> bool:
        """Tell whether a phrase is a number, or ends with a name, which nothing restricts but a relative clause."""
        head = phrase.head
        is_number = head is not None and head.is_value and len(phrase.chunks) == 1
        return head is not None and (head.is_name or is_number) and not phrase.asked

    def _takes_clause(self, phrase: NounPhrase) -> bool:
        """Take an of-phrase or a relative clause, with or without its pronoun; return whether there was one."""
        word, lexicon = self.word(), self.lexicon
        if self._begins_contact_clause():
            self._object_relative(phrase, "")
            return True
        if word in lexicon.of_words and self._takes_owner(phrase):
            return True
        is_relative = word in lexicon.relatives and self.at + 1 < self.end
        if self.word(is_relative) in lexicon.owners and self._is_end(is_relative + 2):
            self.skip(min(is_relative + 2, self.end - self.at))  # the products we offer, or that we offer
            return True
        if phrase.chunks and word in lexicon.subject_pronouns | lexicon.distributives and self.word(1) in lexicon.verbs:
            self.skip()  # the department they belong to, the year each came out
            phrase.restrictions.append(Predication(verb=self.verb_words(), light="have"))
            phrase.is_theirs = True
            closed = lexicon.prepositions | lexicon.particles
            while self.word() in closed and not (self.begins_object(1) or self.phrase_in(lexicon.and_phrases)):
                self.skip()
            return True
        if self._is_closed_name(phrase):
            # of "people born in Berlin who won", "who" means the people
            is_own = (self._open == 1 or len(phrase.chunks) > 1) and word not in lexicon.relative_adverbs
            is_relative = is_relative and is_own and self.main_verb is None
        elif word in lexicon.prepositions and self.word(1) in lexicon.relatives and self.is_noun_phrase(2):
            self.skip(2)
            self._object_relative(phrase, word)
            return True
        if is_relative:
            self.skip()
            self.relative_clause(phrase, word)
        return is_relative

    def _is_end(self, offset: int) -> bool:
        """Tell whether nothing, or only where, follows."""
        return self.at + offset >= self.end or self.word(offset) in self.lexicon.prepositions

    def _takes_owner(self, phrase: NounPhrase) -> bool:
        """Take an of-phrase; return whether there was one. ``X's place of death`` is one noun."""
        after = self.word(1)
        if phrase.of_form == "'s" and after and not self.chunk(1) and after not in self.lexicon.function_words:
            self.skip()
            position = self.take()
            phrase.chunks.append(Chunk(position, position + 1, self.read.raw[position]))
            return True
        owner = phrase
        if phrase.of is not None and phrase.of_form == "'s" and not self._is_closed_name(phrase.of):
            owner = phrase.of  # the spouse's name of X
        is_that = self.at > 0 and self.texts[self.at - 1] in self.lexicon.definites
        has_noun = bool(owner.chunks or owner.asked or owner.superlative) or is_that
        if owner.of is not None or not has_noun:
            return False
        self.skip()
        start, best = self.at, owner.superlative
        owner.of, owner.of_form = self.noun_phrase(), "of"
        head = owner.of.head
        if best and not (best.measures or owner.chunks) and head and not (head.classes or head.entities):
            owner.of, owner.of_form = None, ""
            self._order_by(owner, best, range(start, self.at))  # the top 10 % of all widths
            return True
        if owner.of.is_empty and not owner.of.superlative:
            owner.of, owner.of_form = None, ""
        return True

    def _take_prepositional(self, phrase: NounPhrase, word: str) -> None:
        """Read a preposition and its phrase: ``rooms on Floor 2``."""
        if word in self.lexicon.by_words and not phrase.chunks:
            return
        self.skip()
        light: Light = "have" if word in self.lexicon.with_words else "be"
        other = self.noun_phrase()
        if word in self.lexicon.distributives or other.is_each:
            other.is_each = True
            phrase.restrictions.append(Predication(light="have", subject=other))
            return
        is_negated, other.is_negated = other.is_negated, False
        phrase.restrictions.append(Predication(preposition=word, light=light, object=other, is_negated=is_negated))

    def relative_clause(self, phrase: NounPhrase, word: str) -> None:
        """Read a relative clause after its pronoun, into the phrase that it restricts."""
        lexicon = self.lexicon
        if word in lexicon.relative_possessives:
            noun = self.noun_phrase(with_modifiers=False)
            holder = NounPhrase(asked=word)
            if self.is_noun_phrase():
                self._object_relative(holder, "")
            else:
                holder.restrictions += self.verb_phrases()
            phrase.restrictions.append(Predication(whose=noun, said=holder.restrictions))
            return
        begins_verb = self.word() in lexicon.auxiliaries | lexicon.negations | lexicon.adverbs or self.is_verb()
        if word in lexicon.relative_adverbs and not self.is_verb():
            self._object_relative(phrase, lexicon.relative_adverbs[word])
        elif begins_verb or not self.is_noun_phrase():
            phrase.restrictions += self.verb_phrases()
        else:
            self._object_relative(phrase, "")

    def _object_relative(self, phrase: NounPhrase, preposition: str) -> None:
        """Read a relative clause with a subject of its own: ``where Mozart was born and died``."""
        lexicon = self.lexicon
        subject = self.noun_phrase(with_modifiers=False)
        is_negated = False
        while True:
            while self.word() in lexicon.auxiliaries | lexicon.negations | lexicon.adverbs:
                is_negated = is_negated or self.word() in lexicon.negations
                self.skip()
            verb = self.verb_words()
            after = preposition
            if self.word() in lexicon.prepositions and not self.begins_object(1):
                after = self.texts[self.skip()[0]]
            relation = Predication(verb=verb, subject=copy(subject), preposition=after, is_negated=is_negated)
            is_after_be = bool(verb) and verb[0] > 0 and self.texts[verb[0] - 1] in lexicon.be_forms
            relation.is_passive = is_after_be and self.is_participle(verb[0])
            phrase.restrictions.append(relation)
            if self.word() not in lexicon.and_words or not self.is_verb(1, after_noun=False):
                return
            self.skip()

    def verb_words(self) -> tuple[int, ...]:
        """Read the words of a verb, at most three, without fillers."""
        found: list[int] = []
        closed = self.lexicon.function_words | self.lexicon.time_adverbs
        while len(found) < 3 and (word := self.word()) and word not in closed:
            if self.chunk() is not None and self.chunks[self.at].is_strong:
                break
            if word in self.lexicon.fillers and not self.is_participle(self.at) and self.at != self.main_verb:
                self.skip()
            else:
                found.append(self.take())
        return tuple(found)

    def verb_of_event(self) -> tuple[int, ...]:
        """Read what happened to the thing after ``before``: ``before Ann was born``; nothing where a verb goes on."""
        mark = self.mark()
        while self.word() in self.lexicon.auxiliaries:
            self.skip()
        verb = self.verb_words() if self.is_verb() else ()
        joining = self.lexicon.and_words | self.lexicon.or_words | self.lexicon.but_words
        if not verb or not (self.is_done or self.is_at_comma() or self.word() in joining):
            self.back(mark)
            return ()
        return verb
