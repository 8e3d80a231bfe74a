"""Reads a question by the grammar."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from kgsparql.reading.building import Builders
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import Clauses, NounPhrase, positions_in
from kgsparql.reading.lexicon import Lexicon, lexicon
from kgsparql.reading.parser import _note_each, _note_number
from kgsparql.reading.peg import Grammar
from kgsparql.reading.tagging import tagged


@lru_cache(maxsize=8)
def grammar(language: str) -> tuple[Grammar, Builders]:
    """Return the grammar of a language, and what builds its values."""
    text = files("kgsparql.reading").joinpath(f"grammar/{language}.txt").read_text(encoding="utf-8")
    return Grammar(text), Builders(lexicon(language))


def read_question(read: Chunked, language: Lexicon | None = None) -> Clauses:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    lex = language or lexicon()
    rules, builders = grammar(lex.language)
    words = tagged(read, lex)
    end, question = rules.parse(words, "Question", builders) or (0, Clauses("set", NounPhrase()))
    _note_number(question.phrase)
    _note_each(question)
    empty = lex.empty_words - lex.negations - lex.or_words
    used = positions_in(question) | set(range(end)) - {p for p in range(end) if read.texts[p] in lex.time_adverbs}
    question.unread = tuple(p for p in range(len(read.texts)) if p not in used and read.texts[p] not in empty)
    return question
