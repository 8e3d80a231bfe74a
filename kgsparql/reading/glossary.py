"""Another language than English: what its words are in English, read from the file of the language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property, lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, fields
from kgsparql.errors import DataError, OptionError
from kgsparql.linking.words import STOP_WORDS
from kgsparql.rdf.terms import normalised
from kgsparql.reading.lexicon import lexicon, longest_phrase

Kind = OneOf["closed", "adjectives", "nouns", "verbs", "names"]
_KEYS = {
    table: frozenset(keys.split())
    for table, keys in {
        "words": "accented fillers genitives objects particles perfect_with_be plural signs singular subjects than",
        "pairs": "before_numbers cognates governed relatives spellings",
        "endings": "adjectives infinitives joints nouns owners participle plural plural_nouns verbs",
        "meanings": "closed adjectives names nouns verbs",
    }.items()
}
_KEYS_BY_ORDER = {
    "de": {"words": "accusatives become"},
    "romance": {
        "words": "articles clitics compares more partitives passives reflexives verb_openers whether",
        "endings": "many participles we",
        "pairs": "personal",
    },
}
"""More that a grammar of the order of words knows."""
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
        firsts = [
            (self.meanings[kind], first) for kind in kinds for first in (texts[0], *(stems if kind != "closed" else ()))
        ]
        hits = (longest_phrase(table, [first, *texts[1:]]) for table, first in firsts)
        longest = max((hit for hit in hits if hit is not None), key=lambda hit: hit[0], default=None)
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
        return next((hit for read in readers for form in self.spelled(word) if (hit := read(form)) is not None), None)

    def spelled(self, word: str) -> tuple[str, ...]:
        """Return a word, and what it is if signs stand for other letters: ``ae`` for ``ä``."""
        other = word
        for sign, letter in self.pairs["spellings"].items():
            other = other.replace(sign, letter)
        return (word,) if other == word else (word, other)

    def verb(self, word: str) -> Meaning | None:
        """Return what a form of a verb is."""
        begins = [p + prefix for prefix in self.endings["participle"] for p in ("", *self.words["particles"])]
        forms = (
            own.removesuffix(e) + word[len(own) :]
            for own in begins
            for e in self.endings["participle"]
            if word.startswith(own)
        )
        return next(
            (hit for form in (word, *forms) if (hit := self._meaning_of_inflected(form, "verbs")) is not None), None
        )

    def _noun_of(self, word: str) -> Meaning | None:
        """Return what a noun is; of one that is made of two words, the first tells what kind: ``Albumtitel``."""
        if (found := self._meaning_of_inflected(word, "nouns")) is not None:
            return found
        for at in range(len(word) - _SHORTEST, _SHORTEST - 1, -1) if self.endings["joints"] else ():
            last = self._meaning_of_inflected(word[at:], "nouns")
            stems = (word[:at].removesuffix(joint) for joint in ("", *self.endings["joints"]))
            tables = self.meanings["nouns"], self.meanings["verbs"], self.meanings["adjectives"]
            first = next((table[stem] for stem in stems for table in tables if stem in table), None)
            if first is not None and last is not None:
                return Meaning("nouns", tuple(f"{first.english[0]} {own}" for own in last.english))
        return None

    def _meaning_of_inflected(self, word: str, kind: Kind) -> Meaning | None:
        """Find a word in a table, else without one of its endings."""
        stems = (word.removesuffix(end) for end in ("", *self.endings[kind]) if word.endswith(end))
        table = self.meanings[kind]
        return next((table[stem] for stem in stems if stem in table and (stem == word or len(stem) >= _SHORTEST)), None)

    def stems_of(self, word: str) -> list[str]:
        """Return a noun without each of its endings: what a name in the graph may be."""
        ends = self.endings["nouns"]
        return [word[: -len(end)] for end in ends if word.endswith(end) and len(word) - len(end) >= _SHORTEST]


@lru_cache(maxsize=8)
def glossary(language: str) -> Glossary:
    """Return the words of a language.

    :raises DataError: if a key is missing in its file, or unknown. :raises OptionError: if there is no file.
    """
    if language not in languages():
        raise OptionError(f"no words of the language {language!r}", hint=f"there are: en, {', '.join(languages())}")
    file = files("kgsparql.reading").joinpath(f"lexicon/{language}.toml")
    return glossary_of(tomllib.loads(file.read_text(encoding="utf-8")), f"lexicon/{language}.toml")


def glossary_of(document: Mapping[str, Any], name: str) -> Glossary:
    """Make a glossary of what its file says.

    :param name: of the file, for errors.
    :raises DataError: if a key is missing, or unknown.
    """
    _check_keys(document, frozenset(field.name for field in fields(Glossary)), name)
    for table, keys in _KEYS.items():
        more = _KEYS_BY_ORDER.get(document["order"], {}).get(table, "").split()
        _check_keys(document[table], keys.union(more), f"{name}, [{table}],")
    endings = {key: tuple(sorted(text.split(), key=len)) for key, text in document["endings"].items()}
    words = {key: frozenset(w.replace("_", " ") for w in text.split()) for key, text in document["words"].items()}
    inflected = endings["infinitives"], words["accented"]
    meanings = _Meanings(document["meanings"], inflected)
    pairs = {
        key: dict(pair.replace("_", " ").split(":") for pair in text.split()) for key, text in document["pairs"].items()
    }
    return Glossary(**{**document, "endings": endings, "meanings": meanings, "words": words, "pairs": pairs})


def _check_keys(table: Mapping[str, object], known: frozenset[str], name: str) -> None:
    for problem, keys in (("lacks", known - table.keys()), ("has unknown keys:", table.keys() - known)):
        if keys:
            raise DataError(f"{name} {problem} {', '.join(sorted(keys))}", code="E_RESOURCE")


@lru_cache(maxsize=1)
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
    found: dict[str, Meaning] = {}
    for pair in text.split():
        keys, english = pair.split(":")
        first, *others = keys.split(",")
        meaning = Meaning(kind, tuple(english.replace("_", " ").split("/" if kind == "verbs" else "|")))
        root = next(
            (first.removesuffix(end) for end in reversed(infinitives) if kind == "verbs" and first.endswith(end)), first
        )
        for stem in (first, *others, root):
            parts = (part if part in accented else normalised(part) for part in stem.split("_"))
            found.setdefault(" ".join(parts), meaning)
    return found


def language_of(own: Set[str], question: str = "") -> tuple[str, bool]:
    """Tell the language of a question by the words that shape a sentence; and if that is clear.

    The default is English, also for a language without a file; where another has as many words, which is likely is
    told, but not clear.

    :param own: its words that are in no name; one with a capital may be.

    >>> language_of({"who", "directed"})
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
