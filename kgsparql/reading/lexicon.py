"""The words of a language that shape a question, or what they are in English: read from the file of the language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, cached_property, partial
from importlib.resources import files
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass
from kgsparql.errors import OptionError
from kgsparql.linking.words import STOP_WORDS, stem
from kgsparql.rdf.literals import unit_words
from kgsparql.rdf.terms import first_of, normalised
from kgsparql.reading.clauses import Comparison
from kgsparql.resources import packaged_toml

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
    Of each form of words, ``is_present("feeds")`` or so tells whether a word may have it.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.tables = given
        self.__dict__.update(given)
        for form, (ending, *others) in self.verb_endings.items():  # after a stem of two letters, at least
            longer = "".join(f"(?<!{other})" for other in others)
            ends = re.compile(f"..+{ending}{longer}", re.DOTALL).fullmatch
            setattr(self, f"is_{form}", lambda word, ends=ends: ends(word) is not None)

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

    def sex_of(self, word: str) -> frozenset[str]:
        """Return the words for a woman, or for a man, of which a word is one: those of ``daughter``."""
        found: frozenset[str] = next((own for own in (self.female, self.male) if word in own), frozenset())
        return found

    def other_ends(self, word: str) -> tuple[str, ...]:
        """Return the words that name the same relation as one, seen from its other end: ``child`` of ``parents``."""
        others: tuple[str, ...] = self.inverse.get(stem(word)) or self.inverse.get(word, ())
        return others

    def day_number(self, word: str) -> str:
        """Return a word without what follows the number of a day: 14 of ``14th``."""
        return next((word.removesuffix(end) for end in self.day_endings if word.endswith(end)), word)

    def is_participle(self, word: str) -> bool:
        """Tell whether a word has the form of a past participle: ``directed``, ``born``."""
        return word in self.participles or (self.is_past(word) and word not in self.no_participles)

    def is_verb(self, word: str) -> bool:
        """Tell whether a word has the form of a verb."""
        return word in self.verbs or self.is_participle(word) or self.is_present(word)


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


@cache
def lexicon() -> Lexicon:
    """Return the words of English, which questions of all languages are read in."""
    document = packaged_toml("reading/lexicon/en.toml")
    words = {key: frozenset(text.split()) for key, text in document.get("words", {}).items()}
    pairs = {key: _pair_table(text) for key, text in document.get("pairs", {}).items()}
    phrases = {key: dict.fromkeys(texts, True) for key, texts in document.get("phrases", {}).items()}
    tables = {key: _typed_value(key, document[key]) for key in document.keys() - {"words", "pairs", "phrases"}}
    pairs["units"] = {**unit_words(), **pairs.get("units", {})}
    pairs["inverse"] = {word: tuple(others.split("|")) for word, others in pairs.get("inverse", {}).items()}
    return Lexicon(words | pairs | phrases | tables)


def _typed_value(key: str, value: Any) -> Any:
    """Return a value of the file as the field has it."""
    if key == "contractions":
        return {place: _pair_table(text) for place, text in value.items()}
    if key in {"superlatives", "orders", "comparatives"}:
        made = ComparativeWord if key == "comparatives" else SuperlativeWord
        return {word: made(first, tuple(rest)) for word, (first, *rest) in value.items()}
    if isinstance(value, str):
        return value
    return {word: tuple(own) if isinstance(own, list) else own for word, own in value.items()}


def _pair_table(text: str) -> dict[str, Any]:
    """Return ``a:b c:d`` as a table; numbers and truth values as such."""
    read: dict[str, bool] = {"true": True, "false": False}
    pairs = (pair.split(":") for pair in text.split())
    return {key: int(value) if value.isdecimal() else read.get(value, value) for key, value in pairs}


# --- Another language than English: what its words are in English

Kind = OneOf["closed", "adjectives", "nouns", "verbs", "names"]
_SHORTEST = 3  # letters of a part of a compound, and of the stem of an inflected word, at least


class Meaning(NamedTuple):
    """What a word or phrase is in English; of a verb: base form, past, participle; else what may be meant."""

    kind: Kind
    english: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """The words of one language; ``docs/languages.md`` says what each field is for."""

    language: str
    order: str
    noun_capitals: bool
    decimal_comma: bool
    possessive: str
    decade_ending: str
    words: Mapping[str, frozenset[str]]
    pairs: Mapping[str, Mapping[str, str]]
    endings: Mapping[str, tuple[str, ...]]
    meanings: Mapping[Kind, Mapping[str, Meaning]]
    sentences: Mapping[str, str]

    @cached_property
    def closed_words(self) -> frozenset[str]:
        """The words that shape a sentence, each alone."""
        words = (normalised(word) for key in self.meanings["closed"] for word in key.split())
        return frozenset(words) | self.words["fillers"]

    def phrase(self, texts: Sequence[str], *, likely: Kind) -> tuple[int, Meaning] | None:
        """Return how many of the first words have a meaning together, as many as possible, and the meaning.

        :param likely: what the first word is, where it may be several.
        """
        stems = self.stems_of(texts[0]) if len(texts) > 1 else []
        kinds: tuple[Kind, ...] = ("closed", "adjectives", "nouns", "names")
        firsts = {kind: (texts[0], *(stems if kind != "closed" else ())) for kind in kinds}
        hits = (longest_phrase(self.meanings[kind], [one, *texts[1:]]) for kind, own in firsts.items() for one in own)
        longest = max(filter(None, hits), key=itemgetter(0), default=None)
        if longest is not None and longest[0] > 1:
            return longest
        meaning = self.meaning(texts[0], likely=likely)
        return None if meaning is None else (1, meaning)

    def meaning(self, word: str, *, likely: Kind = "verbs") -> Meaning | None:
        """Return what a word is, inflected or not; what is likely first, where it may be several.

        >>> german = glossary("de")
        >>> german.meaning("gearbeitet").english[0], german.meaning("stadte", likely="nouns").english
        ('work', ('city',))
        """
        verb, adjective, noun = self.verb, partial(self._meaning_of_inflected, kind="adjectives"), self._noun_of
        orders: dict[Kind, Sequence[Callable[[str], Meaning | None]]]
        orders = {"nouns": (noun, adjective, verb), "adjectives": (adjective, verb, noun)}
        own = self.meanings["closed"].get, self.meanings["names"].get
        readers = (*own, *orders.get(likely, (verb, adjective, noun)))
        return first_of(filter(None, (read(form) for read in readers for form in self.spelled(word))))

    def spelled(self, word: str) -> tuple[str, ...]:
        """Return a word, and what it is if signs stand for other letters: ``ae`` for ``ä``."""
        other = word
        for sign, letter in self.pairs["spellings"].items():
            other = other.replace(sign, letter)
        return (word,) if other == word else (word, other)

    def verb(self, word: str) -> Meaning | None:
        """Return what a form of a verb is."""
        prefixes = self.endings["participle"]
        begins = (
            p + prefix for prefix in prefixes for p in ("", *self.words["particles"]) if word.startswith(p + prefix)
        )
        forms = (own.removesuffix(e) + word[len(own) :] for own in begins for e in prefixes)
        return first_of(filter(None, (self._meaning_of_inflected(form, "verbs") for form in (word, *forms))))

    def is_present(self, word: str) -> bool:
        """Tell whether a form of a verb is surely of the present tense: by an ending behind the stem of an infinitive.

        >>> [glossary("de").is_present(word) for word in ("arbeitet", "arbeitete", "starb")]
        [True, False, False]
        """
        stems = [word.removesuffix(end) for end in self.endings["present"] if word.endswith(end)]
        return any(stem + end in self.meanings["verbs"] for stem in stems for end in self.endings["infinitives"])

    def _noun_of(self, word: str) -> Meaning | None:
        """Return what a noun is; of one that is made of two words, the first tells what kind: ``Albumtitel``."""
        if (found := self._meaning_of_inflected(word, "nouns")) is not None:
            return found
        for at in range(len(word) - _SHORTEST, _SHORTEST - 1, -1) if self.endings["joints"] else ():
            last = self._meaning_of_inflected(word[at:], "nouns")
            stems = (word[:at].removesuffix(joint) for joint in ("", *self.endings["joints"]))
            tables = self.meanings["nouns"], self.meanings["verbs"], self.meanings["adjectives"]
            first = first_of(table[stem] for stem in stems for table in tables if stem in table)
            if first is not None and last is not None:
                return Meaning("nouns", tuple(f"{first.english[0]} {own}" for own in last.english))
        return None

    def _meaning_of_inflected(self, word: str, kind: Kind) -> Meaning | None:
        """Find a word in a table, else without one of its endings."""
        stems = (word.removesuffix(end) for end in ("", *self.endings[kind]) if word.endswith(end))
        table = self.meanings[kind]
        return first_of(table[stem] for stem in stems if stem in table and (stem == word or len(stem) >= _SHORTEST))

    def stems_of(self, word: str) -> list[str]:
        """Return a noun without each of its endings: what a name in the graph may be."""
        ends = self.endings["nouns"]
        return [word[: -len(end)] for end in ends if word.endswith(end) and len(word) - len(end) >= _SHORTEST]


@cache
def glossary(language: str) -> Glossary:
    """Return the words of a language.

    :raises OptionError: if there is no file.
    """
    if language not in languages():
        raise OptionError(f"no words of the language {language!r}", hint=f"there are: en, {', '.join(languages())}")
    document = packaged_toml(f"reading/lexicon/{language}.toml")
    endings = {key: tuple(sorted(text.split(), key=len)) for key, text in document["endings"].items()}
    words = {key: frozenset(w.replace("_", " ") for w in text.split()) for key, text in document["words"].items()}
    inflected = endings["infinitives"], words["accented"]
    meanings = _Meanings(document["meanings"], inflected)
    pairs = {
        key: dict(pair.replace("_", " ").split(":") for pair in text.split()) for key, text in document["pairs"].items()
    }
    return Glossary(**{**document, "endings": endings, "meanings": meanings, "words": words, "pairs": pairs})


def said_in(language: str) -> Mapping[str, str]:
    """Return the sentences of answers and doubts in a language, by those in English; none of English."""
    return glossary(language).sentences if language in languages() else {}


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that questions are read in, beside English."""
    own = (file.name.removesuffix(".toml") for file in files("kgsparql.reading").joinpath("lexicon").iterdir())
    return tuple(sorted(name for name in own if len(name) == 2 and name != lexicon().language))


class _Meanings(dict[Kind, dict[str, Meaning]]):
    """Tables of what words mean, each made when it is first needed: for an English question, one of five is."""

    def __init__(self, texts: Mapping[Kind, str], inflected: tuple[Sequence[str], frozenset[str]]) -> None:
        super().__init__()
        self._texts, self._inflected = texts, inflected

    def __missing__(self, kind: Kind) -> dict[str, Meaning]:
        self[kind] = found = _meanings_by_word(kind, self._texts[kind], *self._inflected)
        return found


def _meanings_by_word(
    kind: Kind, text: str, infinitives: Sequence[str], accented: frozenset[str]
) -> dict[str, Meaning]:
    """Return ``word:english`` pairs as a table; the first stem of a verb is an infinitive, which has an ending."""
    found = dict[str, Meaning]()
    for pair in text.split():
        keys, english = pair.split(":")
        first, *others = keys.split(",")
        meaning = Meaning(kind, tuple(english.replace("_", " ").split("/" if kind == "verbs" else "|")))
        root = next(
            (first.removesuffix(end) for end in reversed(infinitives) if kind == "verbs" and first.endswith(end)), first
        )
        for form in (first, *others, root):
            parts = (part if part in accented else normalised(part) for part in form.split("_"))
            found.setdefault(" ".join(parts), meaning)
    return found


def language_of(own: Set[str], question: str) -> tuple[str, bool]:
    """Tell the language of a question by the words that shape a sentence; and if that is clear.

    The default is English, also for a language without a file; where another has as many words, which is likely is
    told, but not clear.

    :param own: its words that are in no name; one with a capital may be.

    >>> language_of({"who", "directed"}, "Who directed it?")
    ('en', True)
    """
    english = lexicon()
    hits = dict[str, int]()
    for tag in languages():
        if question.lstrip()[:1] in glossary(tag).words["signs"]:
            return tag, True
        hits[tag] = len(own & glossary(tag).closed_words)
    most = max(hits.values(), default=0)
    mine = len(own & (english.function_words | english.imperatives))
    unread = max(len(own & stops) for tag, stops in STOP_WORDS.items() if tag not in hits)
    if most < max(mine, unread, 1):
        return english.language, True
    equal = [tag for tag, number in hits.items() if number == most]
    known = {tag: sum(glossary(tag).meaning(text) is not None for text in own) for tag in equal}
    best = max(equal, key=known.__getitem__)
    if most > mine and 2 * known[best] >= len(own):
        return best, True
    if most > mine:  # one word that it has, too: *Kde se narodil*
        return english.language, True
    known_here = sum(text in english.empty_words | english.verbs or english.is_participle(text) for text in own)
    return best, known[best] > known_here
