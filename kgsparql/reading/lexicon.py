"""The words of a language that shape a question: one value, read from the file of the language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kgsparql.errors import DataError
from kgsparql.linking.words import stem
from kgsparql.reading.clauses import Comparison

Value = TypeVar("Value")

LONGEST_PHRASE = 5


class SuperlativeWord(NamedTuple):
    """Of a superlative: which end is meant, and words for what is measured, the likeliest first."""

    is_largest: bool
    measures: tuple[str, ...]


class ComparativeWord(NamedTuple):
    """Of a comparative: how the values compare, and words for what is measured, the likeliest first."""

    comparison: Comparison
    measures: tuple[str, ...]


class Lexicon:
    """The words of one language; ``lexicon/en.toml`` says what each list and table is for.

    A list of words is a set of that name; a table has words, or phrases of up to five words, as keys: ``at least``.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.tables = given
        self.__dict__.update(given)
        for form, (ending, *others) in self.verb_endings.items():  # after a stem of two letters, at least
            longer = "".join(f"(?<!{other})" for other in others)
            setattr(self, f"_is_{form}", re.compile(f"..+{ending}{longer}", re.DOTALL).fullmatch)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @cached_property
    def function_words(self) -> frozenset[str]:
        """The words that shape a sentence and name nothing."""
        joining = self.and_words | self.or_words | self.but_words | self.both_words | self.either_words
        closed = self.determiners | self.auxiliaries | self.negations | self.relatives | self.prepositions
        return frozenset(joining | closed | self.dummies | self.except_words | self.question_words.keys())

    @cached_property
    def empty_words(self) -> frozenset[str]:
        """The words that no name or class is made of: function words and fillers."""
        return self.function_words.union(self.fillers)

    @cached_property
    def light_words(self) -> frozenset[str]:
        """The words that say nothing, or too little, of what is asked."""
        return self.empty_words.union(self.light)

    @cached_property
    def kind_nouns(self) -> frozenset[str]:
        """The nouns that say of what kind a value is, and no more after the name of a fact: the `email address`."""
        sorts = frozenset(word for names in self.sorts.values() for name in names for word in name.split())
        return sorts.union(self.measure_words, self.time_nouns, self.place_nouns, self.count_words)

    def other_ends(self, word: str) -> tuple[str, ...]:
        """Return the words that name the same relation as one, seen from its other end: ``child`` of ``parents``."""
        others: tuple[str, ...] = self.inverse.get(stem(word)) or self.inverse.get(word, ())
        return others

    def is_participle(self, word: str) -> bool:
        """Tell whether a word has the form of a past participle: ``directed``, ``born``."""
        return word in self.participles or (self._is_participle(word) is not None and word not in self.no_participles)

    def is_progressive(self, word: str) -> bool:
        """Tell whether a word has the form of a present participle: ``starring``."""
        return self._is_progressive(word) is not None

    def is_present(self, word: str) -> bool:
        """Tell whether a word has the form of the third person: ``feeds``; a plural may have it, too."""
        return self._is_present(word) is not None

    def is_verb(self, word: str) -> bool:
        """Tell whether a word has the form of a verb."""
        return word in self.verbs or self.is_participle(word) or self.is_present(word)

    def is_adverb(self, word: str) -> bool:
        """Tell whether a word has the form of an adverb: ``originally``."""
        return self._is_adverb(word) is not None


def longest_phrase(table: Mapping[str, Value], texts: Sequence[str]) -> tuple[int, Value] | None:
    """Return how many of the first words are a key of a table, as many as possible, and what it says of them.

    >>> longest_phrase({"most": 1, "most recent": 2}, ["most", "recent", "film"])
    (2, 2)
    """
    for length in range(min(LONGEST_PHRASE, len(texts)), 0, -1):
        key = " ".join(texts[:length])
        if key in table:
            return length, table[key]
    return None


@lru_cache(maxsize=8)
def lexicon(language: str = "en") -> Lexicon:
    """Return the words of a language.

    :raises DataError: if there is no file of the language, or a key is missing in it, or unknown.
    """
    name = f"lexicon/{language}.toml"
    file = files("kgsparql.reading").joinpath(name)
    if not language.isalpha() or not file.is_file():
        raise DataError(f"no {name} of kgsparql.reading", code="E_RESOURCE", hint="languages: en")
    return lexicon_of(tomllib.loads(file.read_text(encoding="utf-8")), name)


def lexicon_of(document: Mapping[str, Any], name: str) -> Lexicon:
    """Make a lexicon of what its file says.

    :param name: of the file, for errors.
    """
    words = {key: frozenset(text.split()) for key, text in document.get("words", {}).items()}
    pairs = {key: _pair_table(text) for key, text in document.get("pairs", {}).items()}
    phrases = {key: dict.fromkeys(texts, True) for key, texts in document.get("phrases", {}).items()}
    tables = {key: _typed_value(key, document[key]) for key in document.keys() - {"words", "pairs", "phrases"}}
    pairs["inverse"] = {word: tuple(others.split("|")) for word, others in pairs.get("inverse", {}).items()}
    given = words | pairs | phrases | tables
    known = given.keys() if given.get("language") == "en" else lexicon().tables.keys()
    for problem, keys in (("lacks", known - given.keys()), ("has unknown keys:", given.keys() - known)):
        if keys:
            raise DataError(f"{name} {problem} {', '.join(sorted(keys))}", code="E_RESOURCE")
    return Lexicon(given)


def _typed_value(key: str, value: Any) -> Any:
    """Return a value of the file as the field has it."""
    if key == "contractions":
        return {place: _pair_table(text) for place, text in value.items()}
    if key in {"hints", "verb_endings"}:
        return {word: tuple(text.split()) for word, text in value.items()}
    if key in {"superlatives", "comparatives"}:
        made = SuperlativeWord if key == "superlatives" else ComparativeWord
        return {word: made(first, tuple(rest)) for word, (first, *rest) in value.items()}
    if isinstance(value, str):
        return value
    return {word: tuple(own) if isinstance(own, list) else own for word, own in value.items()}


def _pair_table(text: str) -> dict[str, Any]:
    """Return ``a:b c:d`` as a table; numbers and truth values as such."""
    read: dict[str, bool] = {"true": True, "false": False}
    pairs = (pair.split(":") for pair in text.split())
    return {key: int(value) if value.isdecimal() else read.get(value, value) for key, value in pairs}
