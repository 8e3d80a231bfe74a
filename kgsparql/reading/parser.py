"""Reads a question by the grammar of its language: what stands at its end, what is asked, and what is left."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from kgsparql.dataclasses import replace
from kgsparql.reading.building import Builders
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    Alternatives,
    NounPhrase,
    Predication,
    Restriction,
    Superlative,
    relations,
)
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import Lexicon, lexicon
from kgsparql.reading.peg import Grammar, RuleReader
from kgsparql.reading.tagging import tagged

_ENDS = ("Ending", "Request", "Choices")
"""Rules for what may stand at the end of a question: they are tried first, so that no phrase takes its words."""


@lru_cache(maxsize=8)
def grammar(language: str) -> Grammar:
    """Return the grammar of a language."""
    file = files("kgsparql.reading").joinpath(f"grammar/{language}.txt")
    return Grammar(file.read_text(encoding="utf-8"))


def read_question(read: Chunked, language: Lexicon | None = None) -> Form:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    return _Reader(read, language or lexicon()).question()


class _Reader:
    """Reads one question.

    :ivar passed: positions of the words that a rule has read, in a clause or not.
    """

    def __init__(self, read: Chunked, own: Lexicon) -> None:
        self.read, self.lexicon, self.texts, self.builders = read, own, read.texts, Builders(read, own)
        self.words = tagged(read, own)
        self._begin_reading()
        self.passed = set[int]()

    def question(self) -> Form:
        """Read the question, and note what is left."""
        ends = [self._take_end(rule) for rule in _ENDS]
        if (verb := self.reading.rule("Main", 0)) is not None:
            self.words[verb[1].start]["main"] = verb[1]
            self._begin_reading()
        end, question, _ = self.reading.rule("Question", 0) or (0, self.builders.form(), [])
        self.passed |= set(range(min(end, len(self.words) - 1)))
        for found, places in ends:
            if "columns" not in found or question.asks == "set":
                question = replace(question, **found)
                self.passed |= places
        if question.asks == "compare":
            question = self._with_summary(question)
        question = self._with_form(question)
        return self._with_rest(_with_each(replace(question, phrase=_with_number(question.phrase))))

    def _begin_reading(self) -> None:
        self.reading = RuleReader(grammar(self.lexicon.language), self.words, self.builders.build)

    def _take_end(self, rule: str) -> tuple[dict[str, Any], set[int]]:
        """Take out what stands at the end, or is put in; return the fields of the question it gives, and its places."""
        for at in range(2, len(self.words) - 1):
            if (found := self.reading.rule(rule, at)) is not None:
                self.words[at] = self.words[found[0]]
                self._begin_reading()
                return found[1], set(range(at, found[0]))
        return {}, set()

    def _with_summary(self, question: Form) -> Form:
        """Take ``average`` of ``a higher average rating than`` for how several values become one."""
        summaries, texts = self.lexicon.summaries, self.texts
        kinds = [summaries[texts[at]] for at in question.measured if texts[at] in summaries]
        measured = tuple(at for at in question.measured if texts[at] not in summaries)
        return replace(question, measured=measured, summary=kinds[0] if kinds else "")

    def _with_form(self, question: Form) -> Form:
        """Tell a question of how many, of what share, and for one of several by its words: ``the number of films``."""
        phrase, own = question.phrase, self.lexicon
        words = [self.texts[at] for chunk in phrase.chunks for at in chunk.span]
        if question.choices is not None:
            return replace(question, asks="choose")
        if question.asks != "set":
            return question
        if phrase.of is not None and len(words) == 1 and words[0] in own.count_words and not phrase.restrictions:
            summary = phrase.summary[1] if phrase.summary else question.summary
            return replace(question, asks="count", phrase=phrase.of, summary=summary)
        if phrase.of is not None and len(words) == 1 and words[0] in own.share_words:
            said = (*phrase.of.restrictions, *phrase.restrictions)
            return replace(question, asks="share", phrase=replace(phrase.of, restrictions=()), said=said)
        is_count = not own.imperatives.isdisjoint(own.count_words.intersection(self.texts[:3]))
        return replace(question, asks="count") if is_count else question

    # --- What is left

    def _with_rest(self, question: Form) -> Form:
        """Note what is in no clause, and what stands for a name that is not known."""
        own, texts, told = self.lexicon, self.texts, question.positions
        empty = own.empty_words - own.negations - own.or_words
        in_names = {at for chunk in self.read.chunks if chunk.is_name for at in chunk.span}
        passed = told | {at for at in self.passed if texts[at] not in own.time_adverbs}
        unread = {at for at, text in enumerate(texts) if at not in passed and (at in in_names or text not in empty)}
        unread |= {at for at in range(len(texts)) if at not in told and self._is_for_name(at)}
        is_told = question.each is not None or bool(question.columns)
        return replace(
            question,
            unread=tuple(sorted(unread)),
            closing=() if question.phrase.chunks else own.closings.get(" ".join(texts[-2:]), ()),
            other_names=self._named_otherwise(question),
            pronouns=() if is_told else tuple(filter(self._is_unknown, range(len(texts)))),
        )

    def _is_for_name(self, at: int) -> bool:
        """Tell whether a word that says little stands where a name would: ``may``, of ``the singer of may``."""
        own, text = self.lexicon, self.texts[at]
        closed = own.function_words - own.prepositions - own.question_words.keys()
        is_last = at == len(self.texts) - 1 and text in closed
        is_said = is_last or (text in own.auxiliaries and at not in self.passed)
        return is_said and self.texts[max(0, at - 1)] in own.prepositions

    def _is_in_name(self, at: int) -> bool:
        return any(at in chunk.span for chunk in self.read.chunks if chunk.is_strong or len(chunk.span) > 1)

    def _is_unknown(self, at: int) -> bool:
        """Tell whether a word is a pronoun of which nobody tells whom or what it means: no name is before it."""
        own, texts, end = self.lexicon, self.texts, len(self.texts)
        text, before, after = texts[at], texts[at - 1] if at else "", texts[at + 1] if at + 1 < end else ""
        opening = self.words[0].get("statements")
        is_opening = opening is not None and at < opening.end
        if is_opening or self._is_in_name(at) or before in own.have_forms or after in own.identity_nouns:
            return False
        first = min((chunk.end for chunk in self.read.chunks if chunk.is_name), default=end)
        if text in own.anaphors:
            return 0 < at < first and own.auxiliaries.isdisjoint((before, after))
        if first == end:
            return at > 0 and text in own.pronouns and not (text == "it" and after) and before not in own.than_words
        is_personal = text in own.personal_pronouns - own.generic_pronouns and at < first
        return text in own.possessive_pronouns or is_personal or (text in own.pronouns and at not in self.passed)

    def _named_otherwise(self, question: Form) -> NounPhrase | None:
        """Return what other names are asked of, and after it the one that is asked about; None if more is said."""
        own = self.lexicon
        wanted = {word for phrase in own.other_names for word in phrase.split()}
        chunks = [chunk for chunk in self.read.chunks if chunk.is_name or chunk.classes]
        names = [chunk for chunk in chunks if not wanted.issuperset(self.texts[at] for at in chunk.span)]
        closed = (own.function_words | own.amounts | own.how_words | own.imperatives) - wanted
        closed -= own.negations | own.except_words
        said = [text for at, text in enumerate(self.texts) if text not in closed and not self._is_in_name(at)]
        is_asked = {"set": 1, "count": 1, "ask": 2}.get(question.asks) == len(names)
        return NounPhrase(chunks=tuple(names)) if is_asked and " ".join(said) in own.other_names else None


def _with_number(phrase: NounPhrase) -> NounPhrase:
    """Take ``which three are the heaviest``, ``the top 3 with the highest mass`` for the three heaviest."""
    number, top = phrase.quantity, phrase.superlative
    for said in relations(phrase.restrictions):
        other = said.object
        if other is None or not (other.superlative or other.most) or (top is not None and top.measures):
            continue
        best = other.superlative or Superlative(*(other.most or (-1, True)))
        if top is not None:
            best, phrase = replace(best, number=top.number, is_share=top.is_share), replace(phrase, superlative=None)
        elif number is not None and number.comparison == "=" and not number.is_of_value:
            best = replace(best, number=int(number.number), is_share=number.is_share)
            phrase = replace(phrase, quantity=None)
        else:
            break
        mended = replace(said, object=replace(other, superlative=best))
        return replace(phrase, restrictions=tuple(_in_place(one, said, mended) for one in phrase.restrictions))
    return phrase


def _in_place(one: Restriction, old: Predication, new: Predication) -> Restriction:
    if isinstance(one, Predication):
        return new if one is old else one
    return Alternatives(tuple(tuple(_in_place(own, old, new) for own in branch) for branch in one.branches))


def _with_each(question: Form) -> Form:
    """Note of what something is asked one by one; of ``name every film``, the films are what is asked for."""
    each = next((phrase for phrase in question.phrases if phrase.is_each), question.each)
    parts = question.phrase.parts
    if parts and each is not None and all(part.of is not None and part.of.is_each for part in parts):
        question = replace(question, columns=parts, phrase=each)  # the name and the price of every film
    if parts and not parts[0].is_theirs and all(part.is_theirs for part in parts[1:]):
        question = replace(question, phrase=parts[0], columns=parts[1:])  # the films and their years
    return replace(question, each=None if each is question.phrase and not question.columns else each)
