"""Questions with yes or no, comparisons of two, and phrases that may end with their question word."""

from __future__ import annotations

from kgsparql.reading.clauses import Clauses, NounPhrase, Predication, relations
from kgsparql.reading.verb_phrases import VerbPhrases


class Statements(VerbPhrases):
    """Reads questions that are made like statements."""

    def yes_no_question(self) -> Clauses:
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
        return self.said_of(phrase, auxiliary, is_negated)

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

    def said_of(self, phrase: NounPhrase, auxiliary: str, is_negated: bool) -> Clauses:
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


def _is_adverb(relation: Predication) -> bool:
    """Tell whether a relation compares what it is said of: ``older``, ``born first``."""
    compared, other = relation.compared, relation.object
    is_extreme = other is not None and (other.superlative is not None or other.most is not None)
    return (compared is not None and other is None) or is_extreme
