"""Verb phrases: a verb with its objects and prepositions, comparisons, and what ``and``, ``or``, ``but`` join."""

from __future__ import annotations

from dataclasses import replace

from kgsparql.reading.clauses import (
    Alternatives,
    Clauses,
    Comparative,
    Light,
    NounPhrase,
    Predication,
    Restriction,
    is_adverb,
    name_value,
    relations,
    share_argument,
    with_preposition,
)
from kgsparql.reading.noun_phrases import NounPhrases


class VerbPhrases(NounPhrases):
    """Reads what is said of one subject, which is None in each relation.

    :ivar last_place: the place named last, and its preposition, for ``there``.
    """

    last_place: tuple[str, NounPhrase] | None = None

    def verb_phrases(self, auxiliary: str = "", *, is_participle: bool = False) -> list[Restriction]:
        """Read verb phrases that ``and``, ``or`` or ``but`` join; those joined by ``or`` become alternatives.

        :param auxiliary: that was read before: ``is`` of ``Is Ann a chemist?``.
        """
        with self.one_deeper():
            start = self.at
            branches = [[self.verb_phrase(auxiliary, is_participle=is_participle)]]
            if self.at == start:
                return []
            while not self.is_done:
                mark, joint = self.mark(), self.word()
                last = branches[-1][-1]
                following = self.joined_phrase(last, is_participle=is_participle)
                if following is None:
                    self.back(mark)
                    break
                is_or = joint in self.lexicon.or_words - self.lexicon.nor_words
                if is_or and self._is_under_negation(last, following):
                    is_or, following.is_negated = False, True
                branches += [[]] if is_or else []
                branches[-1].append(following)
            return [*branches[0]] if len(branches) == 1 else [Alternatives([[*branch] for branch in branches])]

    def _is_under_negation(self, last: Predication, following: Predication) -> bool:
        """Tell whether a negation holds of the next verb, too: ``did not work or study there``."""
        if not (last.is_negated and last.verb and following.verb):
            return False
        negation, auxiliary = last.verb[0] - 1, self.texts[last.verb[0] - 2]
        is_base = auxiliary in self.lexicon.do_forms and not self.is_participle(following.verb[0])
        return self.texts[negation] in self.lexicon.negations and is_base

    def joined_phrase(self, last: Predication, *, is_participle: bool = False) -> Predication | None:
        """Read ``and``, ``or``, ``but`` or a comma and a verb phrase, whose verb may be left out; None without one."""
        lexicon = self.lexicon
        is_nor = self.word() in lexicon.nor_words
        if self.word() in lexicon.and_words | lexicon.or_words | lexicon.but_words:
            self.skip()
        elif not self.is_at_comma() or not (self.is_verb() or self.word() in lexicon.auxiliaries):
            return None
        is_asking = self.word() in lexicon.question_words and self.word(1) in lexicon.auxiliaries
        if is_asking and (self.word(2) in lexicon.subject_pronouns or self.is_noun_phrase(2)):
            return None  # another question
        if self.word() in lexicon.relatives and not self.is_noun_phrase():
            self.skip()
        is_negated = self.word() in lexicon.negations and not self.is_verb(1)
        is_negated = is_negated and (self.word(1) in lexicon.prepositions or self.is_noun_phrase(1))
        self.skip(int(is_negated))
        is_negated = is_negated or is_nor
        if compared := self.comparison(last.verb):  # after A died and before B died, taller than 2 and wider than 3
            return replace(compared, is_negated=is_negated)
        if self.word() in lexicon.prepositions and self.begins_object(1) and not self.is_bound():
            return with_preposition(last, self.texts[self.skip()[0]], self.noun_phrase(), is_negated)
        begins_verb = self.word() in lexicon.auxiliaries | lexicon.negations | lexicon.adverbs or self.is_verb()
        if begins_verb and not (is_negated and self.is_noun_phrase()):
            is_adjacent = bool(last.verb) and self.at == last.verb[-1] + 2
            found = self.verb_phrase(is_participle=is_participle)
            found.is_negated = found.is_negated or is_nor
            share_argument(last, found, is_adjacent=is_adjacent)
            return found
        if self.is_noun_phrase():
            found = replace(last, object=self.noun_phrase(), is_negated=is_negated, more=[])
            share_argument(last, found, is_adjacent=False)
            return None if found.object is None or found.object.is_empty else found
        return None

    def verb_phrase(self, auxiliary: str = "", *, is_participle: bool = False) -> Predication:
        """Read one verb phrase."""
        with self.one_deeper():
            relation = Predication()
            auxiliary = self._last_auxiliary(relation, auxiliary)
            self._take_verb(relation, auxiliary, is_participle=is_participle)
            if found := self.comparison(relation.verb) or self._bare_comparative():
                relation.object, relation.compared = found.object, found.compared
                return relation
            self._take_arguments(relation)
            has_object = relation.object is not None and not relation.preposition
            has_agent = bool(relation.verb) and relation.preposition in self.lexicon.by_words
            relation.is_passive = (relation.is_passive and not has_object) or has_agent
            if self.word() in self.lexicon.anaphors and self.last_place is not None and relation.object is None:
                self.skip()
                preposition, relation.object = self.last_place
                is_moving = preposition in self.lexicon.moving
                relation.preposition = min(self.lexicon.relative_adverbs.values()) if is_moving else preposition
            self._note_place(relation)
            return relation

    def _last_auxiliary(self, relation: Predication, auxiliary: str) -> str:
        """Go over auxiliaries, negations and adverbs; return the last auxiliary."""
        lexicon = self.lexicon
        while not self.is_done and (word := self.word()):
            is_copula = auxiliary in lexicon.be_forms
            if word in lexicon.regarded and is_copula and self.word(1) in lexicon.regarded_as:
                self.skip(2)
                continue
            if word in lexicon.without_words or (word in lexicon.no_words and not self.is_verb(1)):
                break
            if word in lexicon.time_adverbs:
                self.take()  # changes what is asked: is left unread
                continue
            relation.is_only = relation.is_only or (word in lexicon.only_words and self.number(1) is None)
            if word in lexicon.negations:
                relation.is_negated = True
            elif word in lexicon.auxiliaries:
                auxiliary = word
            elif not (
                word in lexicon.adverbs | lexicon.both_words | lexicon.either_words or self._is_subject(auxiliary)
            ):
                break
            self.skip()
        return auxiliary

    def _is_subject(self, auxiliary: str) -> bool:
        """Tell whether a pronoun stands for the subject of the phrase before: ``and did he die in Paris``."""
        is_after_auxiliary = auxiliary != "" and self.texts[self.at - 1] == auxiliary
        return is_after_auxiliary and self.word() in self.lexicon.subject_pronouns - self.lexicon.anaphors

    def _take_verb(self, relation: Predication, auxiliary: str, *, is_participle: bool) -> None:
        """Read the verb of a phrase, or what stands for it."""
        lexicon, word = self.lexicon, self.word()
        if word in lexicon.without_words:
            self.skip()
            relation.light, relation.is_negated = "have", not relation.is_negated
            return
        closed = lexicon.prepositions | lexicon.determiners | lexicon.negations | lexicon.and_words | lexicon.or_words
        if word and word not in closed and not self._is_object_of(auxiliary):
            if word in lexicon.have_forms:
                self.skip()
            else:
                relation.verb = (self.take(),)
                is_before_rank = self.word(1) in lexicon.last_words  # came out first
                if self.word() in lexicon.particles and (is_before_rank or not self.begins_object(1)):
                    relation.verb += () if self.word() in lexicon.fillers else (self.at,)
                    self.skip()
        light: Light = "have" if auxiliary in lexicon.have_forms or word in lexicon.have_forms else "be"
        relation.light = "" if relation.verb else light
        if relation.verb and self.is_participle(relation.verb[0]) and word not in lexicon.intransitives:
            relation.is_passive = auxiliary in lexicon.be_forms or is_participle

    def _is_object_of(self, auxiliary: str) -> bool:
        """Tell whether what follows an auxiliary is no verb, but a noun phrase: ``is X a Y``, ``was the author of``."""
        chunk, lexicon, degree = self.chunk(), self.lexicon, self.phrase_in(self.lexicon.comparatives)
        if self.begins_comparison() or self.is_bound() or (degree and self.at + degree[0] >= self.end):
            return True
        is_extreme = self.word() in lexicon.quantifiers or self.phrase_in(lexicon.superlatives)
        if (is_extreme and self.is_noun_phrase(1)) or self.ranks()[2] > 1:
            return True
        is_named = chunk is not None and bool(chunk.entities or chunk.classes) and not self.is_verb()
        if is_named or (chunk is not None and (chunk.is_strong or chunk.number is not None)):
            return True
        if auxiliary in lexicon.have_forms:
            is_bare = chunk is None and self.word(1) in lexicon.prepositions - lexicon.of_words
            return not (self.is_participle(self.at) or is_bare)  # has expertise in
        if auxiliary not in lexicon.be_forms or self.word(1) in lexicon.than_words:
            return False
        if not chunk and self.word(1) in lexicon.prepositions - lexicon.of_words:
            return False  # responsible for
        return not self.is_verb(after_noun=False)

    def _take_arguments(self, relation: Predication) -> None:
        """Read the object of a verb, and its prepositions with theirs."""
        lexicon = self.lexicon
        relation.is_only = relation.is_only or (self.word() in lexicon.only_words and self.number(1) is None)
        self.skip(int(self.word() in lexicon.only_words))
        is_sharing = bool(relation.verb) and self.texts[relation.verb[0]] in lexicon.share_verbs
        if self.begins_object() or self.word() in lexicon.quantifiers or self.phrase_in(lexicon.superlatives):
            is_own = relation.light == "have" and self.word() in lexicon.possessive_pronouns
            found = self.noun_phrase(with_modifiers=not is_sharing)
            if is_own:
                name_value(found)
            relation.is_negated = relation.is_negated or found.is_negated
            if not found.is_empty or found.most or found.superlative or found.quantity:
                found.is_negated, relation.object = False, found
            if self._takes_measured_comparison(relation, found):
                return
        while (word := self.word()) in lexicon.prepositions and not self.skips_aside():
            length, _ = self.phrase_in(lexicon.value_prepositions) or (1, None)
            word = " ".join(self.texts[self.at : self.at + length])  # in or after
            self.skip(length - 1)
            if not (self.begins_object(1) or self.word(1) in lexicon.question_words):
                if relation.object is not None:
                    return  # it belongs to what is asked for
                self.skip()
                relation.preposition = relation.preposition or word
                continue
            if relation.object is None and (found_comparison := self.comparison(relation.verb)):
                relation.object, relation.compared = found_comparison.object, found_comparison.compared
                return
            self.skip()
            found = self.noun_phrase()
            word = self.open_preposition(found) or word
            if found.is_negated:  # in neither France nor Germany
                relation.is_negated, found.is_negated = True, False
            if relation.object is None:
                relation.object, relation.preposition = found, word
            else:
                relation.more.append((word, found))
        has_role = bool(relation.more) and relation.more[0][0] in lexicon.regarded_as
        if has_role and relation.light == "have" and relation.object is not None:
            _, relation.whose = relation.more.pop(0)  # has Ann as a student
            relation.said = [Predication(light="be", object=relation.object)]
            relation.object, relation.light = None, ""

    def _note_place(self, relation: Predication) -> None:
        """Remember the place that a relation names."""
        for preposition, other in [(relation.preposition, relation.object), *relation.more]:
            if preposition in self.lexicon.locatives and other is not None and other.chunks:
                self.last_place = (preposition, other)

    # --- Verbs after their subject

    def take_rest(self, restrictions: list[Restriction]) -> None:
        """Read further verb phrases after ``and``, ``or``, ``but``."""
        last = restrictions[-1] if restrictions else None
        mark, is_or = self.mark(), self.word() in self.lexicon.or_words
        found = self.joined_phrase(last) if isinstance(last, Predication) else None
        if last is None or found is None:
            self.back(mark)
        elif is_or:
            restrictions[-1] = Alternatives([[last], [found]])
        else:
            restrictions.append(found)

    def verb_of(self, subject: NounPhrase) -> Predication:
        """Read the verb after its subject: ``was X born in``, ``was X advised by``."""
        verb = self.verb_words() or (self.take(),)
        relation = Predication(verb=verb, subject=subject, is_passive=self.is_participle(verb[-1]))
        self._take_prepositions(relation)
        return relation

    def _take_prepositions(self, relation: Predication) -> None:
        """Read prepositions after the verb; one without a phrase belongs to what is asked for."""
        while (word := self.word()) in self.lexicon.prepositions:
            self.skip()
            if self.begins_object():
                relation.more.append((word, self.noun_phrase()))
            else:
                relation.preposition = relation.preposition or word

    def verb_after(self, subject: NounPhrase, light: Light, is_negated: bool) -> Predication:
        """Read a verb, with what stands after it, whose subject stands before it."""
        verb = self.verb_words()
        relation = Predication(verb=verb, light="" if verb else light, is_negated=is_negated)
        relation.subject = None if subject.is_empty else subject
        if self.word() in self.lexicon.relatives and self.at + 1 < self.end:
            word = self.texts[self.skip()[0]]
            self.relative_clause(subject, word)
        if self.begins_object():
            relation.object = self.noun_phrase()
        self._take_prepositions(relation)
        return relation

    # --- Comparisons

    def begins_comparison(self) -> bool:
        """Tell whether ``older than`` or ``before X`` begins here."""
        found = self.phrase_in(self.lexicon.comparatives)
        return found is not None and self.word(found[0]) in self.lexicon.than_words

    def comparison(self, verb: tuple[int, ...] = ()) -> Predication | None:
        """Read ``older than Ann``, ``wider than 3``, and, after a verb, ``before Ann``."""
        if (measured := self.value_with_adjective()) is not None:
            return Predication(verb=verb, light="" if verb else "be", compared=measured)
        found = self.phrase_in(self.lexicon.comparatives)
        is_quantity = self.word() in self.lexicon.quantifiers and self.is_bound()
        if found is not None and self.begins_comparison() and not is_quantity:
            position = self.at
            self.take_words(found[0])
            self.skip()
            return self._compared_with(verb, Comparative(position, *found[1]))
        chunk, order = self.chunk(1), self.lexicon.order_words.get(self.word())
        is_predicate = bool(verb) and (verb[-1], self.at + 1) in self.read.predicates  # `located before` Ann
        is_name = chunk is not None and chunk.is_name and chunk.number is None
        if verb and order and is_name and not is_predicate and self.texts[verb[0]] not in self.lexicon.naming_words:
            return self._compared_with(verb, Comparative(self.take(), order))
        return None

    def _bare_comparative(self) -> Predication | None:
        """Read a comparative that nothing is compared with: ``Is Ann or Bob older?``."""
        found = self.phrase_in(self.lexicon.comparatives)
        if found is None or self.word() in self.lexicon.prepositions | self.lexicon.bounds.keys():
            return None
        is_last = self.at + found[0] >= self.end
        if not is_last and self.word(found[0]) not in self.lexicon.prepositions - self.lexicon.than_words:
            return None
        position = self.at
        self.take_words(found[0])
        return Predication(compared=Comparative(position, *found[1]))

    def _compared_with(self, verb: tuple[int, ...], comparative: Comparative) -> Predication:
        """Read what something is compared with: a number, a phrase, or another measure of it: ``than it is tall``."""
        lexicon, at = self.lexicon, 2 * (self.word() in self.lexicon.subject_pronouns)
        adjectives = [f"{how} {self.word(at)}" for how in lexicon.how_words]
        if own := next((lexicon.measures[key] for key in adjectives if key in lexicon.measures), ()):
            self.skip(at + 1)
            return Predication(verb=verb, light="" if verb else "be", compared=replace(comparative, own=own))
        if self.number() is None:
            other = self.noun_phrase()
            if self.texts[comparative.position] in self.lexicon.order_words:
                comparative = replace(comparative, event=self.verb_of_event())
            return Predication(verb=verb, light="" if verb else "be", object=other, compared=comparative)
        quantity = self.with_unit(self.take_quantity(comparative.comparison))
        return Predication(verb=verb, light="" if verb else "be", compared=replace(comparative, quantity=quantity))

    def _takes_measured_comparison(self, relation: Predication, found: NounPhrase) -> bool:
        """Take ``than France`` after ``has more inhabitants``: the noun becomes the verb; return whether it was one."""
        position = found.most[0] if found.most else found.superlative.position if found.superlative else None
        if self.word() not in self.lexicon.than_words or position is None:
            return False
        difference = self.lexicon.comparatives.get(self.texts[position])
        if difference is None:
            return False
        self.skip()
        words = found.positions | ({found.summary[0]} if found.summary else set())
        self.signposts += {found.summary[0]} if found.summary else ()
        relation.verb, relation.light = tuple(sorted({*relation.verb, *words})), "have"
        relation.compared = Comparative(position, *difference)
        relation.object = self.noun_phrase()
        return True

    # --- Questions like statements

    def yes_no_question(self) -> Clauses:
        """Read a question that begins with an auxiliary."""
        lexicon = self.lexicon
        auxiliary = self.texts[self.skip()[0]]
        is_owned = self.word() in lexicon.owners and self.word(1) in lexicon.auxiliaries | lexicon.have_forms
        if self.word() in lexicon.existence_words or is_owned:
            self.skip()
            while self.word() in lexicon.auxiliaries:
                self.skip()
            return self._existence_of(self.noun_phrase())
        is_negated = self.word() in lexicon.negations - lexicon.no_words
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
        return self.said_of(phrase, auxiliary, is_negated)

    def statement(self) -> Clauses:
        """Read a sentence, of which it is asked whether it is so: its subject comes before its verb."""
        lexicon = self.lexicon
        if self.word() in lexicon.existence_words and self.word(1) in lexicon.auxiliaries:
            self.skip(2)
            return self._existence_of(self.noun_phrase())
        phrase = self.noun_phrase(with_modifiers=False)
        if not phrase.parts and not (phrase.head is not None and phrase.head.is_name):
            self.modifiers(phrase)
        return self.said_of(phrase, "", is_negated=False)

    def _existence_of(self, phrase: NounPhrase, words: int = 0) -> Clauses:
        self.said_of_such(phrase, words)
        return Clauses("ask", phrase, asks_existence=True)

    def said_of_such(self, phrase: NounPhrase, words: int = 0) -> None:
        """Read what is said of a phrase after so many words that restrict nothing, such as ``exist``."""
        self.skip(words)
        self.modifiers(phrase)
        if not self.is_done and (self.word() in self.lexicon.auxiliaries or self.is_verb()):
            phrase.restrictions += self.verb_phrases()

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
        kinds = [at for at, chunk in enumerate(phrase.chunks) if chunk.classes]
        if phrase.every is not None and kinds and kinds[0] + 1 < len(phrase.chunks):
            self.at = phrase.chunks[kinds[0] + 1].start  # are all employees members of a team
            phrase.of, phrase.of_form, phrase.restrictions = None, "", []
            del phrase.chunks[kinds[0] + 1 :]
            return
        while phrase.parts or (phrase.of is not None and phrase.of_form == "of"):
            phrase = phrase.parts[-1] if phrase.parts else phrase.of or phrase  # is the capital of Germany Berlin
        first, last = (phrase.chunks[0], phrase.chunks[-1]) if phrase.chunks else (None, None)
        is_owned = (
            phrase.of is not None and last is not None and bool(last.entities or (last.classes and last.is_strong))
        )
        is_thing = first is not None and (first.is_name or (self.is_done and bool(first.entities)))
        kept = 1 if is_thing else len(phrase.chunks) - is_owned  # is argon radioactive
        if 0 < kept < len(phrase.chunks) and (self.is_done or self.word() in closed):
            self.at = phrase.chunks[kept].start
            del phrase.chunks[kept:]

    def said_of(self, phrase: NounPhrase, auxiliary: str, is_negated: bool) -> Clauses:
        """Read what a question asks whether it holds of a phrase; or which of two, or whether one has more."""
        if not is_negated and self.word() in self.lexicon.existence_verbs:
            return self._existence_of(phrase, 1)
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
        if phrase.joined_by == "or" and is_adverb(only):
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

    def phrase_question(self) -> Clauses:
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
                return self.said_of(phrase, "", is_negated=False)
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
