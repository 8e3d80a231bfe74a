"""Whole questions: what is asked for, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    Chunk,
    Clauses,
    Form,
    Light,
    NounPhrase,
    Predication,
    Restriction,
    Superlative,
    phrases_in,
    positions_in,
    relations,
)
from kgsparql.reading.endings import Differences
from kgsparql.reading.lexicon import Lexicon, lexicon

_ADVERBIAL = {"place", "time", "manner"}
"""What question words ask for that stand for no noun."""


def read_question(read: Chunked, language: Lexicon | None = None) -> Clauses:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    return _Parser(read, language or lexicon()).question()


class _Parser(Differences):
    """Reads one question."""

    opening: tuple[int, ...] = ()  # `is it true that`
    _asks_number = _is_listing = False

    def question(self) -> Clauses:
        """Read the question, and note what is left."""
        self.take_order()
        if self.word(1) not in self.lexicon.distributives:
            self.take_request()
        question = self._with_choices() or self.any_question()
        self.take_exception(question.phrase)
        question.order, question.asks_value, question.digits = self.order, self.asks_value, self.digits
        self._make_count(question)
        self._make_share(question)
        _note_each(question)
        question.columns += self.columns_requested() if question.form == "set" else ()
        self.signposts += _note_number(question.phrase)
        question.is_listing, question.other_names = self._is_listing, self.named_otherwise(question)
        lexicon, passed = self.lexicon, set(self.signposts)
        found = [at for at in range(len(self.texts)) if at not in self.in_names and self._is_unknown(at, passed)]
        is_told = question.each is not None or bool(question.columns)
        found = [at for at in found if self.texts[at - 1] not in lexicon.have_forms]  # who have their home somewhere
        question.pronouns = () if is_told else tuple(at for at in found if not self._is_of_word(at + 1))
        empty = lexicon.empty_words - lexicon.negations - lexicon.or_words
        left = set(range(len(self.texts))) - positions_in(question)
        unread = {at for at in left - passed if at in self.in_names or self.texts[at] not in empty}
        question.unread = tuple(sorted(unread | set(filter(self._is_for_name, left))))
        question.closing = () if question.phrase.chunks else lexicon.closings.get(" ".join(self.texts[-2:]), ())
        return question

    def _is_for_name(self, position: int) -> bool:
        """Tell whether a word that says little stands where a name would: ``may``, of ``the singer of may``."""
        lexicon, text = self.lexicon, self.texts[position]
        closed = lexicon.function_words - lexicon.prepositions - lexicon.question_words.keys()
        is_last = position == len(self.texts) - 1 and text in closed
        is_said = is_last or (text in lexicon.auxiliaries and position not in self.signposts)
        return is_said and self.texts[max(0, position - 1)] in lexicon.prepositions

    def _is_unknown(self, at: int, passed: set[int]) -> bool:
        """Tell whether a word is a pronoun of which nobody tells whom or what it means: no name is before it."""
        lexicon, text = self.lexicon, self.texts[at]
        first = min((chunk.end for chunk in self.read.chunks if chunk.is_name), default=len(self.texts))
        last, before = len(self.texts) - 1, self.texts[at - 1] if at else ""
        if text in lexicon.anaphors:  # and not: there are, are there
            is_there = not {before, self.texts[min(at + 1, last)]}.isdisjoint(lexicon.auxiliaries)
            return 0 < at < first and not is_there
        if first > last:
            is_it = text == "it" and at < last  # is it true that …
            return at > 0 and text in lexicon.pronouns and not is_it and before not in lexicon.than_words
        is_personal = text in lexicon.personal_pronouns - lexicon.generic_pronouns and at not in self.opening
        is_seen = text in lexicon.pronouns and at not in passed
        return text in lexicon.possessive_pronouns or is_seen or (is_personal and at < first)

    def _make_count(self, question: Clauses) -> None:
        """Take ``the number of films``, and what is to be counted, for a question of how many."""
        phrase, chunks = question.phrase, question.phrase.chunks
        is_number = [self.texts[at] in self.lexicon.count_words for chunk in chunks for at in chunk.span] == [True]
        if question.form == "set" and is_number and phrase.of is not None and not phrase.restrictions:
            self.signposts += chunks[0].span
            question.phrase, self._asks_number = phrase.of, True
            if phrase.summary:  # the average number of films per director
                self.signposts.append(phrase.summary[0])
                question.summary = phrase.summary[1]
        if question.form == "set" and self._asks_number:
            question.form = "count"

    def _make_share(self, question: Clauses) -> None:
        """Take ``what percentage of the films are French`` for a whole, and what tells its part."""
        phrase, words = question.phrase, self.lexicon.share_words
        is_share = [self.texts[at] in words for chunk in phrase.chunks for at in chunk.span] == [True]
        if question.form == "set" and is_share and phrase.of is not None:
            self.signposts += phrase.chunks[0].span
            question.form, question.phrase = "share", phrase.of
            question.said = [*phrase.of.restrictions, *phrase.restrictions]
            phrase.of.restrictions = []

    def _is_of_word(self, position: int) -> bool:
        """Tell whether a word is the name of something, which goes without saying whose: ``in their name``."""
        return self.texts[position : position + 1] != () and self.texts[position] in self.lexicon.identity_nouns

    # --- Kinds of questions

    def _with_choices(self) -> Clauses | None:
        """Read ``Who is older, Ann or Bob?``; None for other questions."""
        start = self._start_of_choices()
        if start is None:
            return None
        end, self.end = self.end, start
        question = self.any_question()
        self.at, self.end = max(self.at, start), end
        while self.word() in self.lexicon.of_choices | self.lexicon.of_words:
            self.skip()
        choices = self.noun_phrase(with_modifiers=False)
        if choices.parts:
            question.form, question.choices = "choose", choices
        return question

    def _start_of_choices(self) -> int | None:
        """Return where the choices of ``which …, A or B`` and ``which of them …, out of A and B`` begin."""
        lexicon = self.lexicon
        if not self.texts or self.texts[0] not in lexicon.question_words:
            return None
        for position in range(2, self.end - 2):
            chunk = self.chunks.get(position)
            if position in self.in_names and chunk is None:  # `University of California, San Diego`
                continue
            if chunk is not None and chunk.is_value and not chunk.entities:  # in 1905, 1910 or 1920
                continue
            is_out = self.texts[position] in lexicon.of_choices and self.texts[position + 1] in lexicon.of_words
            if is_out or any(sign in self.read.gaps[position - 1] for sign in ",:"):
                rest = {self.texts[at] for at in range(position, self.end) if at not in self.in_names}
                is_clause = rest & (lexicon.relatives | lexicon.auxiliaries)
                return position if (is_out or rest & lexicon.or_words) and not is_clause else None
        return None

    def any_question(self) -> Clauses:
        lexicon = self.lexicon
        self._skip_openers()
        word, after = self.word(), self.word(1)
        measured = self.phrase_in(lexicon.measures)
        is_each = word in lexicon.prepositions and after in lexicon.distributives
        found = self.read_difference() or (self._for_each() if is_each else self._read_times())
        if found is not None:
            return found
        if word in lexicon.prepositions and after in lexicon.question_words and self.at + 2 < self.end:
            self.skip()
            question = self.any_question()
            self._front_preposition(question.phrase, word)
            return question
        if word in lexicon.how_words and after in lexicon.amounts:
            self.skip(3 if self.word(2) in lexicon.of_words else 2)
            return self._after_phrase(self.noun_phrase(), "count")
        if measured is not None:
            self.skip(measured[0])
            return replace(self._after_phrase(NounPhrase(asked=word), "set"), measures=measured[1])
        if word in lexicon.relative_possessives:
            self.skip()
            noun = self.noun_phrase(with_modifiers=False)
            said = [Predication(whose=noun, said=self.verb_phrases())]
            return Clauses("set", NounPhrase(asked=word, restrictions=[*said]))
        if word in lexicon.question_words:
            return self._wh_question()
        if statement := self.phrase_in(lexicon.statements):
            self.opening = self.skip(statement[0])
            return self.statement()
        return self.yes_no_question() if word in lexicon.auxiliaries else self.phrase_question()

    def _read_times(self) -> Clauses | None:
        """Read ``how often did Ann win a prize`` as how many prizes she won; without object, whatever it leads to."""
        times = self.phrase_in(self.lexicon.times_phrases)
        if times is None:
            return None
        asked = self.word()
        self.skip(times[0])
        question = self._after_phrase(NounPhrase(asked=asked), "count")
        said = question.phrase.restrictions
        only = said[0] if len(said) == 1 else None
        if isinstance(only, Predication) and only.object is not None and only.object.head and only.object.head.classes:
            question.phrase = only.object
            question.phrase.restrictions.append(replace(only, object=None))
        return question

    def _for_each(self) -> Clauses:
        """Read ``For each director, how many films did they make?``: what is asked has to do with the first phrase."""
        self.skip()
        end, lexicon = self.end, self.lexicon
        inner = (at for at in range(self.at + 1, end) if at not in self.in_names)
        stops = (at for at in inner if "," in self.read.gaps[at - 1] or self.texts[at] in lexicon.imperatives)
        self.end = next(stops, end)
        each = self.noun_phrase()
        self.end = end
        question = self.any_question() if not self.is_done else Clauses("set", NounPhrase())
        phrase = question.phrase
        is_count = self._asks_number or any(self.texts[one.start] in lexicon.count_words for one in phrase.chunks[:1])
        if question.form == "count" or is_count:
            owner = phrase.of if phrase.of is not None and is_count else phrase
            owner.restrictions.append(Predication(light="have", subject=each))
        elif phrase.summary is not None:
            phrase.of = phrase.of or each
        elif question.form == "set":
            said = (own.object for own in relations(phrase.restrictions))
            if not (phrase.superlative or any(own and (own.superlative or own.most) for own in said)):
                question.columns, question.phrase = phrase.parts or (phrase,), each  # else the best of each
        question.each = each
        return question

    def _skip_openers(self) -> None:
        """Go over ``Please tell me``, ``List all``, ``Can you show me``."""
        lexicon, ahead = self.lexicon, 0
        while self.word(ahead) in lexicon.openers:
            ahead += 1
        for comma in range(ahead, self.end if ahead > 1 else 0):  # I want to write to them all, for each
            begins = self.word(comma) in lexicon.imperatives or self.word(comma + 1) in lexicon.distributives
            if begins and "," in self.read.gaps[comma - 1] and not any(at in self.chunks for at in range(comma)):
                self.skip(comma)
                return
        is_opening = self.word(ahead) in lexicon.imperatives | lexicon.question_words.keys()
        if ahead and is_opening and self.word() not in lexicon.prepositions:
            self.skip(ahead)
        start = self.at
        while self.word() in lexicon.imperatives and not (self.at > start and self._is_of_word(self.at)):
            self._is_listing = True
            self._asks_number = self._asks_number or self.word() in lexicon.count_words
            self.skip()
            while self.word() in lexicon.after_imperatives:
                self.skip()

    def _front_preposition(self, phrase: NounPhrase, preposition: str) -> None:
        """Give the preposition before a question word to the verb: ``By whom was X advised?``."""
        found = [*reversed(list(relations(phrase.restrictions)))]
        for one in found:
            if one.light == "be" and one.subject is None and not one.preposition:  # in which country are the places
                one.subject, one.object = one.object, None
        said = (one for one in found if one.subject is not None)
        if (relation := next(said, None)) is None or relation.preposition:
            return
        is_stated = {self.texts[at] for at in relation.verb} <= self.lexicon.stated_verbs
        if relation.subject is not None and relation.subject.is_negated and is_stated:
            self.signposts += relation.verb  # for which countries is no capital given
            relation.subject.is_negated, relation.is_negated = False, True
            relation.object, relation.subject, relation.verb, relation.light = relation.subject, None, (), "have"
            relation.is_passive = False
        else:
            relation.preposition = preposition

    def _wh_question(self) -> Clauses:
        """Read a question that begins with a question word."""
        lexicon, word = self.lexicon, self.word()
        phrase, asks_for = NounPhrase(asked=word), lexicon.question_words[word]
        self.skip()
        while self.word() in lexicon.determiners and self.word(1) in lexicon.auxiliaries:
            self.skip()  # who all
        is_verb = self.word() in lexicon.auxiliaries or (self.is_verb() and self._is_surely_verb())
        if asks_for == "manner" and not is_verb and not self.is_done:
            self.main_verb = self.end - 1
            subject = self.noun_phrase()
            phrase.restrictions.append(Predication(verb=self.verb_words(), subject=subject))
            return Clauses("set", phrase)
        if asks_for in {"any", "agent"} and self.word() in lexicon.selecting:
            self.skip()
            choices = self.noun_phrase()
            if choices.parts:
                return replace(self._after_phrase(phrase, "choose"), choices=choices)
            phrase = choices
            phrase.asked = word
        elif asks_for == "any" and not is_verb:
            phrase = self.noun_phrase()
            first = phrase.parts[0] if phrase.parts else phrase
            if first.of is not None and first.of_form == "'s":  # which laureate's advisor
                owner, first.of = first.of, None
                owner.asked = word
                owner.restrictions.append(Predication(whose=first, said=self.verb_phrases()))
                return Clauses("set", owner)
            first.asked = word
            self._forget_names(first)
        return self._after_phrase(phrase, "set")

    def _is_surely_verb(self) -> bool:
        """Tell whether a word after ``which`` that may be a verb is no noun: no class, nor before another verb."""
        chunk, word, lexicon = self.chunk(), self.word(), self.lexicon
        if chunk is not None and chunk.classes:
            return False
        rest = {self.texts[at] for at in range(self.at + 1, self.end) if at not in self.in_names}
        is_known = word in lexicon.verbs or lexicon.is_participle(word)
        return is_known or not rest & (lexicon.auxiliaries | lexicon.verbs)

    def _forget_names(self, phrase: NounPhrase) -> None:
        """Take what is written small after its question word for a noun: ``which country`` names none."""
        head = None if phrase.kinds else phrase.head  # which kinds of sand
        if head is not None and head.entities and self.read.raw[head.start][:1].islower():
            phrase.chunks[-1] = replace(head, entities=(), is_strong=False)

    # --- After the phrase that is asked for

    def _after_phrase(self, phrase: NounPhrase, form: Form) -> Clauses:
        """Read what is said of the phrase that is asked for."""
        question, lexicon, word = Clauses(form, phrase), self.lexicon, self.word()
        if self.is_done:
            return question
        if word in lexicon.be_forms:
            self._after_be(question)
        elif word in lexicon.existence_verbs:
            self.said_of_such(phrase, 1)
        elif word in lexicon.auxiliaries and (word not in lexicon.have_forms or self._has_verb_later(form)):
            self._after_do(question)
        elif self._asks_how(phrase) and self.is_noun_phrase() and not self.is_verb():
            subject = self.noun_phrase(with_modifiers=False)  # where Berlin located
            phrase.restrictions.append(self.verb_after(subject, "be", is_negated=False))
        else:
            phrase.restrictions += self.verb_phrases()
        self.take_rest(question.phrase.restrictions)
        return question

    def _asks_how(self, phrase: NounPhrase) -> bool:
        """Tell whether a phrase is nothing but ``where``, ``when``, ``how``, ``why``."""
        return not phrase.chunks and self.lexicon.question_words.get(phrase.asked) in _ADVERBIAL

    def _has_verb_later(self, form: Form) -> bool:
        """Tell whether a subject follows ``has``: ``has Ann won``; not ``have a child born``."""
        rest = range(self.at + 2, self.end)
        own = [at for at in rest if at not in self.in_names]
        joining = self.lexicon.and_words | self.lexicon.or_words | self.lexicon.but_words
        own = own[: next((i for i, at in enumerate(own) if self.texts[at] in joining), len(own))]
        chunk = self.chunk(1)
        is_definite = self.word(1) in self.lexicon.definites or (chunk is not None and chunk.is_name)
        has_clause = any(self.texts[at] in self.lexicon.relatives for at in own)
        is_owner = form == "count" and is_definite and chunk is not None and chunk.end >= self.end
        return is_owner or (is_definite and not has_clause and any(map(self.is_participle, own)))

    def _after_be(self, question: Clauses) -> None:
        """Read what follows a phrase and a form of ``be``."""
        phrase, lexicon, mark, asks_how = question.phrase, self.lexicon, self.mark(), self._asks_how(question.phrase)
        auxiliary = self.texts[self.skip()[0]]
        if self.word() in lexicon.regarded and self.word(1) in lexicon.regarded_as:
            self.skip(2)
        rest = {self.word(ahead) for ahead in range(1, self.end - self.at)}
        is_anywhere = self.word() in lexicon.locatives and rest <= lexicon.determiners | lexicon.fillers  # in the graph
        if is_anywhere or (self.word() in lexicon.existence_words and not self.is_verb(1)):
            self.said_of_such(phrase, 1 + is_anywhere * len(rest))
            return
        if self.takes_bare_noun(phrase):
            return
        other = NounPhrase()
        if not self._is_predicate(phrase):
            is_stranded = self.texts[self.end - 1] in lexicon.prepositions and self.is_participle(self.end - 2)
            if phrase.chunks or asks_how or is_stranded or self.is_participle(self.end - 1):
                self.reserve_main_verb(auxiliary)
            other = self.noun_phrase()
        if other.is_empty and not other.most and not other.superlative:
            self.back(mark)
            phrase.restrictions += self.verb_phrases()
        elif self._is_verb_or_adjective():
            phrase.restrictions.append(self.verb_of(other))
        elif phrase.chunks or asks_how or self.word() in lexicon.determiners | lexicon.prepositions:
            self._take_copula(question, other)
        else:
            first = other.parts[0] if other.parts else other
            first.asked = first.asked or phrase.asked
            other.restrictions += phrase.restrictions
            question.phrase = other
            is_bare = other.of is None and not other.restrictions and not other.superlative
            question.is_definition = is_bare and question.form == "set" and self._is_one(other.head)

    def _is_one(self, head: Chunk | None) -> bool:
        """Tell whether a noun names one thing, or a class as such: ``What is a power tool?``."""
        if head is None or head.entities or not head.classes:
            return head is not None and bool(head.entities)
        return head.start > 0 and self.texts[head.start - 1] in self.lexicon.indefinites

    def _is_predicate(self, phrase: NounPhrase) -> bool:
        """Tell whether no noun phrase follows ``be``, but what is said of the subject: a participle, ``in X``."""
        lexicon, word, chunk = self.lexicon, self.word(), self.chunk()
        is_strong = chunk is not None and chunk.is_strong
        degree = self.phrase_in(lexicon.comparatives)
        is_degree = self.begins_comparison() or (degree is not None and self.at + degree[0] >= self.end)
        mark, is_measured = self.mark(), self.value_with_adjective() is not None
        self.back(mark)
        if word in lexicon.negations - lexicon.no_words or is_degree or self.is_bound() or is_measured:
            return True
        if self.is_verb(after_noun=False) and not is_strong:
            return True
        is_word = chunk is None and word != "" and word not in lexicon.function_words
        is_adjective = is_word and self.word(1) in lexicon.prepositions - lexicon.of_words
        closed = lexicon.prepositions | lexicon.both_words | lexicon.either_words
        return bool(phrase.chunks) and (word in closed or is_adjective)

    def _is_verb_or_adjective(self) -> bool:
        """Tell whether a verb, or a word in its place, follows a subject."""
        word = self.word()
        closed = self.lexicon.function_words | self.lexicon.time_adverbs
        is_open = word != "" and word not in closed and self.chunk() is None
        return is_open or self.is_verb(after_noun=False)

    def _take_copula(self, question: Clauses, other: NounPhrase) -> None:
        """Say of the phrase asked for what it is, or where something is."""
        phrase, lexicon = question.phrase, self.lexicon
        if self.word() in lexicon.determiners and self.word(1):  # which films was X the director of
            noun = self.noun_phrase(with_modifiers=False)
            if self._asks_how(phrase):
                phrase.restrictions.append(Predication(light="be", subject=other, object=noun))
                return
            while self.word() in lexicon.prepositions:
                self.skip()
            phrase.restrictions.append(Predication(whose=noun, said=[Predication(light="be", object=other)]))
            return
        preposition = self.texts[self.skip()[0]] if self.word() in lexicon.prepositions else ""
        if not phrase.chunks and not preposition and other.of is not None:
            other.asked, question.phrase = phrase.asked, other
        elif phrase.chunks and not preposition:
            phrase.restrictions.append(Predication(light="be", object=other))
        else:
            phrase.restrictions.append(Predication(light="be", subject=other, preposition=preposition))

    def _after_do(self, question: Clauses) -> None:
        """Read the subject and the verb after ``did``, ``has``, ``can``."""
        said, lexicon, mark = question.phrase.restrictions, self.lexicon, self.mark()
        auxiliary, word = self.texts[self.skip()[0]], self.word()
        is_none, is_negated, is_owned = (word in own for own in (lexicon.no_words, lexicon.negations, lexicon.owners))
        if (is_negated and not is_none) or (word in lexicon.be_forms and self.is_verb(1, after_noun=False)):
            self.back(mark)
            said += self.verb_phrases()
            return
        self.skip(int(is_none))  # which genres does no film have
        self.reserve_main_verb(auxiliary)
        if self.word() in lexicon.generic_pronouns:
            self.skip()
        elif self.word() in lexicon.subject_pronouns:
            self.take()
        subject = self.noun_phrase()
        if (summed := self.phrase_in(lexicon.sum_phrases)) is not None:
            question.phrase = replace(subject, summary=(self.at, "sum"), asked=question.phrase.asked)
            self.take_words(summed[0])
            return
        while self.word() in lexicon.negations | lexicon.existence_words:
            is_negated = is_negated or self.word() in lexicon.negations
            self.skip()
        light: Light = "have" if auxiliary in lexicon.have_forms else "do"
        while self.word() in lexicon.have_forms | lexicon.be_forms:
            light = "have" if self.word() in lexicon.have_forms else light
            self.skip()
        relation = self.verb_after(subject, light, is_negated)
        if is_owned and not relation.verb and relation.object is None:
            self._note_location(said, relation)  # which suppliers do we have in Toulouse
            return
        said.append(relation)
        while self.word() in lexicon.and_words and self.is_verb(1, after_noun=False):
            self.skip()
            said.append(self.verb_after(subject, light, is_negated))

    @staticmethod
    def _note_location(said: list[Restriction], relation: Predication) -> None:
        """Say where something is of what ``we have``, which says nothing else."""
        for preposition, other in relation.more:
            said.append(Predication(light="be", preposition=preposition, object=other, is_negated=relation.is_negated))


def _note_number(phrase: NounPhrase) -> list[int]:
    """Take ``which three are the heaviest``, ``the top 3 with the highest mass`` for the three heaviest.

    Return the positions of ``top``.
    """
    found = (said.object for said in relations(phrase.restrictions))
    best = next((own for own in found if own and (own.superlative or own.most)), None)
    number, top = phrase.quantity, phrase.superlative
    if best is None or (top is not None and top.measures):
        return []
    extreme = best.superlative or Superlative(*(best.most or (-1, True)))
    if top is not None:
        best.superlative, phrase.superlative = replace(extreme, number=top.number, is_share=top.is_share), None
        return [top.position]
    if number is not None and number.comparison == "=" and not number.is_of_value:
        best.superlative = replace(extreme, number=int(number.number), is_share=number.is_share)
        phrase.quantity = None
    return []


def _note_each(question: Clauses) -> None:
    """Note of what something is asked one by one; of ``name every film``, the films are what is asked for."""
    each = next((phrase for phrase in phrases_in(question) if phrase.is_each), question.each)
    parts = question.phrase.parts
    if parts and each is not None and all(part.of is not None and part.of.is_each for part in parts):
        question.columns, question.phrase = parts, each  # the name and the price of every film
    if parts and not parts[0].is_theirs and all(part.is_theirs for part in parts[1:]):
        question.phrase, question.columns = parts[0], parts[1:]  # the films and their years
    question.each = None if each is question.phrase and not question.columns else each
