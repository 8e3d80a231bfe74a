"""The words of a language that shape a question: one value, read from the file of the language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from kgsparql.dataclasses import dataclass, fields
from kgsparql.errors import DataError
from kgsparql.linking.words import stem
from kgsparql.reading.clauses import Comparison, Summary

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


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of one language; ``lexicon/en.toml`` says what each field is for.

    Keys of tables may be phrases of up to five words: ``at least``.
    """

    language: str
    possessive: str
    decade_ending: str
    decimal_sign: str
    grouping_sign: str
    order: str
    determiners: frozenset[str]
    definites: frozenset[str]
    possessive_pronouns: frozenset[str]
    pronouns: frozenset[str]
    subject_pronouns: frozenset[str]
    personal_pronouns: frozenset[str]
    generic_pronouns: frozenset[str]
    owners: frozenset[str]
    auxiliaries: frozenset[str]
    be_forms: frozenset[str]
    do_forms: frozenset[str]
    have_forms: frozenset[str]
    negations: frozenset[str]
    no_words: frozenset[str]
    except_words: frozenset[str]
    else_words: frozenset[str]
    except_phrases: Mapping[str, bool]
    without_words: frozenset[str]
    and_words: frozenset[str]
    or_words: frozenset[str]
    nor_words: frozenset[str]
    but_words: frozenset[str]
    both_words: frozenset[str]
    either_words: frozenset[str]
    relatives: frozenset[str]
    relative_possessives: frozenset[str]
    prepositions: frozenset[str]
    verb_prepositions: frozenset[str]
    locatives: frozenset[str]
    moving: frozenset[str]
    place_prepositions: frozenset[str]
    by_words: frozenset[str]
    of_words: frozenset[str]
    as_words: frozenset[str]
    regarded_as: frozenset[str]
    with_words: frozenset[str]
    than_words: frozenset[str]
    existence_words: frozenset[str]
    existence_verbs: frozenset[str]
    anaphors: frozenset[str]
    dummies: frozenset[str]
    fillers: frozenset[str]
    light: frozenset[str]
    adverbs: frozenset[str]
    only_words: frozenset[str]
    time_adverbs: frozenset[str]
    imperatives: frozenset[str]
    openers: frozenset[str]
    after_imperatives: frozenset[str]
    place_verbs: frozenset[str]
    place_nouns: frozenset[str]
    regarded: frozenset[str]
    naming_words: frozenset[str]
    particles: frozenset[str]
    count_words: frozenset[str]
    stated_verbs: frozenset[str]
    share_words: frozenset[str]
    day_endings: frozenset[str]
    century_words: frozenset[str]
    half_words: frozenset[str]
    range_words: frozenset[str]
    word_nouns: frozenset[str]
    selecting: frozenset[str]
    kinds: frozenset[str]
    members: frozenset[str]
    top_words: frozenset[str]
    same_words: frozenset[str]
    together_words: frozenset[str]
    share_verbs: frozenset[str]
    amounts: frozenset[str]
    empty_nouns: frozenset[str]
    explaining: frozenset[str]
    renowned: frozenset[str]
    measure_words: frozenset[str]
    between_words: frozenset[str]
    passing_words: frozenset[str]
    indefinites: frozenset[str]
    others: frozenset[str]
    reasons: frozenset[str]
    time_nouns: frozenset[str]
    starting: frozenset[str]
    ending: frozenset[str]
    beginning: frozenset[str]
    moments: frozenset[str]
    reporting: frozenset[str]
    lists: frozenset[str]
    facets: frozenset[str]
    distributives: frozenset[str]
    universals: frozenset[str]
    how_words: frozenset[str]
    last_words: frozenset[str]
    of_choices: frozenset[str]
    participles: frozenset[str]
    no_participles: frozenset[str]
    verbs: frozenset[str]
    verb_endings: Mapping[str, tuple[str, ...]]
    intransitives: frozenset[str]
    edge_verbs: frozenset[str]
    verb_labels: frozenset[str]
    label_openers: frozenset[str]
    agent_suffixes: frozenset[str]
    act_suffixes: frozenset[str]
    no_agents: frozenset[str]
    persons: frozenset[str]
    companions: frozenset[str]
    identity_nouns: frozenset[str]
    gendered: frozenset[str]
    distancing: frozenset[str]
    containment: frozenset[str]
    location_labels: frozenset[str]
    locations: frozenset[str]
    units: Mapping[str, str]
    written: Mapping[str, str]
    unit_words: frozenset[str]
    contractions: Mapping[str, Mapping[str, str]]
    question_words: Mapping[str, str]
    hints: Mapping[str, tuple[str, ...]]
    sorts: Mapping[str, tuple[str, ...]]
    relative_adverbs: Mapping[str, str]
    superlatives: Mapping[str, SuperlativeWord]
    quantifiers: Mapping[str, bool]
    comparatives: Mapping[str, ComparativeWord]
    bounds: Mapping[str, Comparison]
    value_prepositions: Mapping[str, Comparison]
    order_words: Mapping[str, Comparison]
    open_ends: Mapping[str, str]
    summaries: Mapping[str, Summary]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    months: Mapping[str, int]
    asides: Mapping[str, bool]
    and_phrases: Mapping[str, bool]
    statements: Mapping[str, bool]
    sum_phrases: Mapping[str, bool]
    order_openers: Mapping[str, bool]
    orders: Mapping[str, bool]
    times_phrases: Mapping[str, bool]
    difference_phrases: Mapping[str, bool]
    other_names: Mapping[str, bool]
    roundings: Mapping[str, int]
    value_questions: Mapping[str, bool]
    multipliers: Mapping[str, int]
    date_orders: Mapping[str, str]
    measures: Mapping[str, tuple[str, ...]]
    closings: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, tuple[str, ...]]
    plurals: Mapping[str, Mapping[str, str]]
    irregular: Mapping[str, str]
    inverse: Mapping[str, tuple[str, ...]]

    @cached_property
    def function_words(self) -> frozenset[str]:
        """The words that shape a sentence and name nothing."""
        joining = self.and_words | self.or_words | self.but_words | self.both_words | self.either_words
        closed = self.determiners | self.auxiliaries | self.negations | self.relatives | self.prepositions
        return joining | closed | self.dummies | self.except_words | frozenset(self.question_words)

    @cached_property
    def empty_words(self) -> frozenset[str]:
        """The words that no name or class is made of: function words and fillers."""
        return self.function_words | self.fillers

    @cached_property
    def light_words(self) -> frozenset[str]:
        """The words that say nothing, or too little, of what is asked."""
        return self.empty_words | self.light

    @cached_property
    def kind_nouns(self) -> frozenset[str]:
        """The nouns that say of what kind a value is, and no more after the name of a fact: the `email address`."""
        sorts = frozenset(word for names in self.sorts.values() for name in names for word in name.split())
        return sorts | self.measure_words | self.time_nouns | self.place_nouns | self.count_words

    def other_ends(self, word: str) -> tuple[str, ...]:
        """Return the words that name the same relation as one, seen from its other end: ``child`` of ``parents``."""
        return self.inverse.get(stem(word)) or self.inverse.get(word, ())

    def is_participle(self, word: str) -> bool:
        """Tell whether a word has the form of a past participle: ``directed``, ``born``."""
        return word in self.participles or (self._has_ending(word, "participle") and word not in self.no_participles)

    def is_progressive(self, word: str) -> bool:
        """Tell whether a word has the form of a present participle: ``starring``."""
        return self._has_ending(word, "progressive")

    def is_present(self, word: str) -> bool:
        """Tell whether a word has the form of the third person: ``feeds``; a plural may have it, too."""
        return self._has_ending(word, "present")

    def is_verb(self, word: str) -> bool:
        """Tell whether a word has the form of a verb."""
        return word in self.verbs or self.is_participle(word) or self.is_present(word)

    def is_adverb(self, word: str) -> bool:
        """Tell whether a word has the form of an adverb: ``originally``."""
        return self._has_ending(word, "adverb")

    def _has_ending(self, word: str, form: str) -> bool:
        """Tell whether a word has an ending of a verb, and a stem before it."""
        ending, *others = self.verb_endings[form]
        return len(word) > len(ending) + 1 and word.endswith(ending) and not word.endswith(tuple(others))


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
    known = {field.name for field in fields(Lexicon)}
    for problem, keys in (("lacks", known - given.keys()), ("has unknown keys:", given.keys() - known)):
        if keys:
            raise DataError(f"{name} {problem} {', '.join(sorted(keys))}", code="E_RESOURCE")
    return Lexicon(**given)


def _typed_value(key: str, value: Any) -> Any:
    """Return a value of the file as the field has it."""
    if key in {"contractions", "plurals"}:
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
