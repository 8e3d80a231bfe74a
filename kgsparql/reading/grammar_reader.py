"""Reads a question by the grammar of its language: its ends first, then what is asked, then what is left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from kgsparql.dataclasses import replace
from kgsparql.reading.building import Builders
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    Clauses,
    NounPhrase,
    Predication,
    Restriction,
    Superlative,
    phrases_in,
    positions_in,
    relations,
)
from kgsparql.reading.lexicon import Lexicon, lexicon
from kgsparql.reading.peg import Grammar
from kgsparql.reading.tagging import Tags, tagged

_CUTS = ("Ending", "Request", "Choices")
"""What may stand at the end of a question; it is read first, so that no phrase takes its words."""


@lru_cache(maxsize=8)
def grammar(language: str) -> tuple[Grammar, Builders]:
    """Return the grammar of a language, and what builds its values."""
    text = files("kgsparql.reading").joinpath(f"grammar/{language}.txt").read_text(encoding="utf-8")
    return Grammar(text), Builders(lexicon(language))


def read_question(read: Chunked, language: Lexicon | None = None) -> Clauses:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    own = language or lexicon()
    return _Reader(read, own).question()


class _Reader:
    """Reads one question."""

    def __init__(self, read: Chunked, own: Lexicon) -> None:
        self.read, self.lexicon, self.texts = read, own, read.texts
        self.rules, self.builders = grammar(own.language)
        self.words = tagged(read, own)
        self.last = len(self.words) - 1
        self.passed: set[int] = set()

    def question(self) -> Clauses:
        """Read the question, and note what is left."""
        ends = [self._cut(name) for name in _CUTS]
        self._mark_main_verb()
        end, question = self.rules.parse(self.words, "Question", self.builders) or (0, Clauses("set", NounPhrase()))
        self.passed |= set(range(end)) if end != self.last else set()
        self.passed |= {at for at in range(min(end, self.last))}
        for rule, (found, places) in zip(_CUTS, ends, strict=True):
            if rule != "Request" or question.form == "set":
                question = replace(question, **found)
                self.passed |= places
        if question.choices is not None:
            question = replace(question, form="choose")
        if question.form == "compare":
            texts, summaries = self.texts, self.lexicon.summaries
            summary = next((summaries[texts[at]] for at in question.measured if texts[at] in summaries), "")
            measured = tuple(at for at in question.measured if texts[at] not in summaries)
            question = replace(question, measured=measured, summary=summary)
        question = _with_share(_with_count(question, self.texts, self.lexicon), self.texts, self.lexicon)
        question = _with_each(replace(question, phrase=_with_number(question.phrase)))
        return self._with_rest(question)

    def _cut(self, rule: str) -> tuple[Mapping[str, Any], set[int]]:
        """Read what stands at the end, or is put in, and take it out; return the fields of the question it gives."""
        for at in range(2, self.last):
            found = self.rules.parse(self.words, rule, self.builders, at) if self.words[at] else None
            if found is not None:
                self.words[at] = self.words[found[0]]
                return found[1], set(range(at, found[0]))
        return {}, set()

    def _mark_main_verb(self) -> None:
        """Mark the verb after ``did``, or before a question word at the end, so that no noun phrase takes it."""
        found = self.rules.parse(self.words, "Main", self.builders)
        if found is not None:
            self.words[found[1].start]["main"] = found[1]

    def _with_rest(self, question: Clauses) -> Clauses:
        """Note what is in no clause, and what stands for a name that is not known."""
        own, texts = self.lexicon, self.texts
        empty = own.empty_words - own.negations - own.or_words
        passed = {at for at in self.passed if texts[at] not in own.time_adverbs} | positions_in(question)
        left = set(range(len(texts))) - passed
        unread = {at for at in left if texts[at] not in empty or "name" in self.words[min(at, self.last)]}
        unread |= set(filter(self._is_for_name, set(range(len(texts))) - positions_in(question)))
        closing = () if question.phrase.chunks else own.closings.get(" ".join(texts[-2:]), ())
        is_told = question.each is not None or bool(question.columns)
        unknown = tuple(at for at in range(len(texts)) if self._is_unknown(at)) if not is_told else ()
        return replace(
            question,
            unread=tuple(sorted(unread)),
            closing=closing,
            other_names=self._named_otherwise(question),
            pronouns=unknown,
        )

    def _is_for_name(self, position: int) -> bool:
        """Tell whether a word that says little stands where a name would: ``may``, of ``the singer of may``."""
        own, text = self.lexicon, self.texts[position]
        closed = own.function_words - own.prepositions - own.question_words.keys()
        is_said = position == len(self.texts) - 1 and text in closed
        is_said = is_said or (text in own.auxiliaries and position not in self.passed)
        return is_said and self.texts[max(0, position - 1)] in own.prepositions

    def _is_unknown(self, at: int) -> bool:
        """Tell whether a word is a pronoun of which nobody tells whom or what it means: no name is before it."""
        own, texts = self.lexicon, self.texts
        text, last = texts[at], len(texts) - 1
        if text not in own.pronouns | own.anaphors | own.possessive_pronouns | own.personal_pronouns:
            return False
        opening = self.words[0].get("statements")
        if opening is not None and at < opening.end:
            return False
        if any(at in chunk.span for chunk in self.read.chunks if chunk.is_strong or len(chunk.span) > 1):
            return False
        before, after = texts[at - 1] if at else "", texts[min(at + 1, last)]
        if before in own.have_forms or (after in own.identity_nouns and at < last):
            return False
        first = min((chunk.end for chunk in self.read.chunks if chunk.is_name), default=len(texts))
        if text in own.anaphors:
            return 0 < at < first and {before, after}.isdisjoint(own.auxiliaries)
        if first > last:
            return at > 0 and text in own.pronouns and not (text == "it" and at < last) and before not in own.than_words
        is_personal = text in own.personal_pronouns - own.generic_pronouns
        return text in own.possessive_pronouns or (is_personal and at < first) or (text in own.pronouns and at not in self.passed)

    def _named_otherwise(self, question: Clauses) -> NounPhrase | None:
        """Return what other names are asked of, and after it the one that is asked about; None if more is said."""
        own = self.lexicon
        wanted = {word for phrase in own.other_names for word in phrase.split()}
        chunks = [chunk for chunk in self.read.chunks if chunk.is_name or chunk.classes]
        names = [chunk for chunk in chunks if not wanted.issuperset(self.texts[at] for at in chunk.span)]
        closed = (own.function_words | own.amounts | own.how_words | own.imperatives) - wanted
        closed -= own.negations | own.except_words
        inside = {at for c in self.read.chunks if c.is_strong or len(c.span) > 1 for at in c.span}
        said = [text for at, text in enumerate(self.texts) if at not in inside and text not in closed]
        is_asked = {"set": 1, "count": 1, "ask": 2}.get(question.form) == len(names)
        return NounPhrase(chunks=names) if is_asked and " ".join(said) in own.other_names else None


def _is_word_of(phrase: NounPhrase, texts: tuple[str, ...], words: frozenset[str]) -> bool:
    return [texts[at] in words for chunk in phrase.chunks for at in chunk.span] == [True]


def _with_count(question: Clauses, texts: tuple[str, ...], own: Lexicon) -> Clauses:
    """Take ``the number of films``, and what is to be counted, for a question of how many."""
    phrase = question.phrase
    if question.form == "set" and _is_word_of(phrase, texts, own.count_words) and phrase.of and not phrase.restrictions:
        return replace(
            question, form="count", phrase=phrase.of, summary=phrase.summary[1] if phrase.summary else question.summary
        )
    is_count = question.form == "set" and any(text in own.imperatives & own.count_words for text in texts[:3])
    return replace(question, form="count") if is_count else question


def _with_share(question: Clauses, texts: tuple[str, ...], own: Lexicon) -> Clauses:
    """Take ``what percentage of the films are French`` for a whole, and what tells its part."""
    phrase = question.phrase
    if question.form != "set" or phrase.of is None or not _is_word_of(phrase, texts, own.share_words):
        return question
    said = [*phrase.of.restrictions, *phrase.restrictions]
    return replace(question, form="share", phrase=replace(phrase.of, restrictions=[]), said=said)


def _with_number(phrase: NounPhrase) -> NounPhrase:
    """Take ``which three are the heaviest``, ``the top 3 with the highest mass`` for the three heaviest."""
    said = next((one for one in relations(phrase.restrictions) if one.object and (one.object.superlative or one.object.most)), None)
    number, top = phrase.quantity, phrase.superlative
    if said is None or said.object is None or (top is not None and top.measures):
        return phrase
    extreme = said.object.superlative or Superlative(*(said.object.most or (-1, True)))
    if top is not None:
        best, changed = replace(extreme, number=top.number, is_share=top.is_share), replace(phrase, superlative=None)
    elif number is not None and number.comparison == "=" and not number.is_of_value:
        best, changed = replace(extreme, number=int(number.number), is_share=number.is_share), replace(phrase, quantity=None)
    else:
        return phrase
    mended = replace(said, object=replace(said.object, superlative=best))
    return replace(changed, restrictions=[_in_place(one, said, mended) for one in phrase.restrictions])


def _in_place(one: Restriction, old: Predication, new: Predication) -> Restriction:
    if isinstance(one, Predication):
        return new if one is old else one
    return replace(one, branches=[[_in_place(own, old, new) for own in branch] for branch in one.branches])


def _with_each(question: Clauses) -> Clauses:
    """Note of what something is asked one by one; of ``name every film``, the films are what is asked for."""
    each = next((phrase for phrase in phrases_in(question) if phrase.is_each), question.each)
    parts = question.phrase.parts
    if parts and each is not None and all(part.of is not None and part.of.is_each for part in parts):
        question = replace(question, columns=parts, phrase=each)  # the name and the price of every film
    if parts and not parts[0].is_theirs and all(part.is_theirs for part in parts[1:]):
        question = replace(question, phrase=parts[0], columns=parts[1:])  # the films and their years
    return replace(question, each=None if each is question.phrase and not question.columns else each)
