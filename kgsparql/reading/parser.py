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
    positions_in,
    relations,
)
from kgsparql.reading.lexicon import Lexicon, lexicon
from kgsparql.reading.verb_phrases import VerbPhrases

_ADVERBIAL = {"place", "time", "manner"}
"""What question words ask for that stand for no noun."""


def read_question(read: Chunked, language: Lexicon | None = None) -> Clauses:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    return _Parser(read, language or lexicon()).question()


class _Parser(VerbPhrases):
    """Reads one question."""

    _asks_number = False

    def question(self) -> Clauses:
        """Read the question, and note what is left."""
        question = self._with_choices() or self._any_question()
        self._make_count(question)
        lexicon, passed = self.lexicon, set(self.signposts)
        own = [(at, text) for at, text in enumerate(self.texts) if at not in self.in_names]
        possessive, pronouns = lexicon.possessive_pronouns, lexicon.pronouns
        first = min((chunk.end for chunk in self.read.chunks if chunk.is_name), default=len(self.texts))
        personal = lexicon.personal_pronouns - lexicon.generic_pronouns  # before any name, nobody tells whom they mean
        found = (
            at
            for at, text in own
            if text in possessive or (text in pronouns and at not in passed) or (text in personal and at < first)
        )
        question.pronouns = tuple(found)
        said = positions_in(question) | passed
        empty = lexicon.empty_words - lexicon.negations - lexicon.or_words
        left = set(range(len(self.texts))) - said
        question.unread = tuple(sorted(at for at in left if at in self.in_names or self.texts[at] not in empty))
        return question

    def _make_count(self, question: Clauses) -> None:
        """Take ``the number of films``, and what is to be counted, for a question of how many."""
        phrase, chunks = question.phrase, question.phrase.chunks
        is_number = [self.texts[at] in self.lexicon.count_words for chunk in chunks for at in chunk.span] == [True]
        if question.form == "set" and is_number and phrase.of is not None and not phrase.restrictions:
            self.signposts += chunks[0].span
            question.phrase, self._asks_number = phrase.of, True
        if question.form == "set" and self._asks_number:
            question.form = "count"

    # --- Kinds of questions

    def _with_choices(self) -> Clauses | None:
        """Read ``Who is older, Ann or Bob?``; None for other questions."""
        start = self._start_of_choices()
        if start is None:
            return None
        end, self.end = self.end, start
        question = self._any_question()
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
            if position in self.in_names and position not in self.chunks:  # `University of California, San Diego`
                continue
            is_out = self.texts[position] in lexicon.of_choices and self.texts[position + 1] in lexicon.of_words
            if is_out or any(sign in self.read.gaps[position - 1] for sign in ",:"):
                rest = {self.texts[at] for at in range(position, self.end) if at not in self.in_names}
                is_clause = rest & (lexicon.relatives | lexicon.auxiliaries)
                return position if (is_out or rest & lexicon.or_words) and not is_clause else None
        return None

    def _any_question(self) -> Clauses:
        """Read a question by its first words."""
        lexicon = self.lexicon
        self._skip_openers()
        word, after = self.word(), self.word(1)
        measured = self.phrase_in(lexicon.measures)
        if word in lexicon.prepositions and after in lexicon.question_words and self.at + 2 < self.end:
            self.skip()
            question = self._any_question()
            _front_preposition(question.phrase, word)
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
            self.skip(statement[0])
            return self._said_of(self.noun_phrase(with_modifiers=False), "", is_negated=False)
        return self._yes_no_question() if word in lexicon.auxiliaries else self._phrase_question()

    def _skip_openers(self) -> None:
        """Go over ``Please tell me``, ``List all``, ``Can you show me``."""
        lexicon, ahead = self.lexicon, 0
        while self.word(ahead) in lexicon.openers:
            ahead += 1
        is_opening = self.word(ahead) in lexicon.imperatives | lexicon.question_words.keys()
        if ahead and is_opening and self.word() not in lexicon.prepositions:
            self.skip(ahead)
        while self.word() in lexicon.imperatives:
            self._asks_number = self._asks_number or self.word() in lexicon.count_words
            self.skip()
            while self.word() in lexicon.after_imperatives:
                self.skip()

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
        head = phrase.head
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
        phrase, lexicon, mark = question.phrase, self.lexicon, self.mark()
        asks_how = self._asks_how(phrase)
        auxiliary = self.texts[self.skip()[0]]
        if self.word() in lexicon.regarded and self.word(1) in lexicon.regarded_as:
            self.skip(2)
        if self.word() in lexicon.existence_words and not self.is_verb(1):
            self.skip()
            self.modifiers(phrase)
            if not self.is_done and (self.word() in lexicon.auxiliaries or self.is_verb()):
                phrase.restrictions += self.verb_phrases()
            return
        other = NounPhrase()
        if not self._is_predicate(phrase):
            if phrase.chunks or asks_how or self.is_participle(self.end - 1):
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
        if word in lexicon.negations - lexicon.no_words or is_degree or self.is_bound():
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
        auxiliary = self.texts[self.skip()[0]]
        is_negated = self.word() in lexicon.negations
        if is_negated or (self.word() in lexicon.be_forms and self.is_verb(1, after_noun=False)):
            self.back(mark)
            said += self.verb_phrases()
            return
        self.reserve_main_verb(auxiliary)
        is_owned = self.word() in lexicon.owners
        if self.word() in lexicon.generic_pronouns:
            self.skip()
        elif self.word() in lexicon.subject_pronouns:
            self.take()
        subject = self.noun_phrase()
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

    # --- Yes or no, and phrases

    def _yes_no_question(self) -> Clauses:
        """Read a question that begins with an auxiliary."""
        lexicon = self.lexicon
        auxiliary = self.texts[self.skip()[0]]
        is_owned = self.word() in lexicon.owners and self.word(1) in lexicon.auxiliaries | lexicon.have_forms
        if self.word() in lexicon.existence_words or is_owned:
            self.skip()
            while self.word() in lexicon.auxiliaries:
                self.skip()
            phrase = self.noun_phrase()
            if not self.is_done and (self.word() in lexicon.auxiliaries or self.is_verb()):
                phrase.restrictions += self.verb_phrases()
            return Clauses("ask", phrase, asks_existence=True)
        is_negated = self.word() in lexicon.negations
        self.skip(int(is_negated))
        if auxiliary in lexicon.be_forms:
            self._reserve_predicate()
        else:
            self.reserve_main_verb(auxiliary)
        phrase = self.noun_phrase(with_modifiers=False)
        if not phrase.parts and not (phrase.head is not None and phrase.head.is_name):
            self.modifiers(phrase)
        self.main_verb = None
        if auxiliary in lexicon.be_forms:
            self._give_back_nouns(phrase)
        return self._said_of(phrase, auxiliary, is_negated)

    def _reserve_predicate(self) -> None:
        """Find the last participle, or the comparative before ``than``, which no subject before it may take."""
        own = [at for at in range(self.at, self.end) if at not in self.in_names]
        than = next((at for at in own if self.texts[at] in self.lexicon.than_words), None)
        self.main_verb = (
            next((at for at in reversed(own) if self.is_participle(at)), None) if than is None else than - 1
        )

    def _give_back_nouns(self, phrase: NounPhrase) -> None:
        """Give back what stands after a name, or is one after a noun: ``is Ann laureate``, ``is Ann's spouse Bob``."""
        closed = self.lexicon.and_words | self.lexicon.or_words | self.lexicon.prepositions
        while phrase.of is not None and phrase.of_form == "of":
            phrase = phrase.of  # is the capital of Germany Berlin
        is_owned = phrase.of is not None and bool(phrase.chunks) and bool(phrase.chunks[-1].entities)
        kept = 1 if phrase.chunks and phrase.chunks[0].is_name else len(phrase.chunks) - is_owned
        if 0 < kept < len(phrase.chunks) and (self.is_done or self.word() in closed):
            self.at = phrase.chunks[kept].start
            del phrase.chunks[kept:]

    def _said_of(self, phrase: NounPhrase, auxiliary: str, is_negated: bool) -> Clauses:
        """Read what a question asks whether it holds of a phrase; or which of two, or whether one has more."""
        question = Clauses("ask", phrase, asks_existence=self.is_done)
        if self.is_done:
            return question
        question.said = self.verb_phrases(auxiliary=auxiliary)
        self.take_rest(question.said)
        for relation in relations(question.said) if is_negated else ():
            relation.is_negated = not relation.is_negated
        only = question.said[0] if question.said else None
        if len(question.said) != 1 or not isinstance(only, Predication):
            return question
        if phrase.joined_by == "or" and _is_adverb(only):
            asked = next(word for word, asks_for in self.lexicon.question_words.items() if asks_for == "any")
            return Clauses("choose", NounPhrase(asked=asked, restrictions=[only]), choices=phrase)
        if only.compared and only.object and not only.is_negated:
            question.form, question.said = "compare", []
            question.comparative, question.other = only.compared, only.object
            if only.object.of is not None and not only.object.chunks:  # than that of Ann
                only.object.chunks = list(phrase.chunks)
            summaries = self.lexicon.summaries
            question.measured = tuple(at for at in only.verb if self.texts[at] not in summaries)
            question.summary = next((summaries[self.texts[at]] for at in only.verb if self.texts[at] in summaries), "")
        return question

    def _phrase_question(self) -> Clauses:
        """Read a phrase, which may end with its question word: ``the films of X were written by who``."""
        lexicon = self.lexicon
        found = (at for at in range(max(self.at + 1, self.end - 3), self.end) if at not in self.in_names)
        asked = next((at for at in found if self.texts[at] in lexicon.question_words), None)
        if asked is not None:
            before = asked - 1
            while before > self.at and self.texts[before] in lexicon.prepositions:
                before -= 1
            word = self.texts[before]
            looks_like_verb = word in lexicon.verbs or lexicon.is_participle(word) or lexicon.is_present(word)
            is_name = before in self.in_names or word in lexicon.function_words
            self.main_verb = before if looks_like_verb and not is_name else None
        phrase = self.noun_phrase()
        if asked is None or asked < self.at:
            is_statement = phrase.head is not None and phrase.head.is_name and self.word() in lexicon.auxiliaries
            if is_statement:
                return self._said_of(phrase, "", is_negated=False)
            if not self.is_done:
                phrase.restrictions += self.verb_phrases()
            return Clauses("set", phrase)
        return Clauses("set", self._asked_last(phrase, asked))

    def _asked_last(self, subject: NounPhrase, asked: int) -> NounPhrase:
        """Read the verb, and the question word after it, of a subject."""
        lexicon, between = self.lexicon, range(self.at, asked)
        texts = self.texts
        closed = lexicon.function_words | (lexicon.fillers - lexicon.verbs)
        together = tuple(at for at in between if texts[at] in lexicon.together_words)
        verb = tuple(at for at in between if texts[at] not in closed and at not in self.in_names)
        is_after_be = any(texts[at] in lexicon.be_forms for at in between)
        prepositions = [texts[at] for at in between if texts[at] in lexicon.prepositions]
        self.skip(len(between))
        phrase = self.noun_phrase()
        phrase.asked = texts[asked]
        relation = Predication(verb=verb, subject=subject, light="" if verb else "be")
        relation.is_passive = is_after_be and bool(verb) and self.is_participle(verb[0])
        relation.preposition = prepositions[-1] if prepositions else ""
        relation.is_negated = any(texts[at] in lexicon.negations for at in between)
        if self.word() in lexicon.prepositions:
            relation.preposition = texts[self.skip()[0]]
        if together and not subject.parts:
            relation = Predication(verb=verb[:1], object=NounPhrase(of=subject, of_form="same", same=together[:1]))
        phrase.restrictions.append(relation)
        return phrase


def _front_preposition(phrase: NounPhrase, preposition: str) -> None:
    """Give the preposition before a question word to the verb: ``By whom was X advised?``."""
    relation = next((one for one in reversed(list(relations(phrase.restrictions))) if one.subject is not None), None)
    if relation is not None and not relation.preposition:
        relation.preposition = preposition


def _is_adverb(relation: Predication) -> bool:
    """Tell whether a relation compares what it is said of: ``older``, ``born first``."""
    compared, other = relation.compared, relation.object
    is_extreme = other is not None and (other.superlative is not None or other.most is not None)
    return (compared is not None and other is None) or is_extreme
