"""Another language than English: what its words are in English, read from the file of the language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple
from typing import Literal as OneOf

from kgsparql.errors import DataError, OptionError
from kgsparql.rdf.terms import normalised
from kgsparql.reading.lexicon import lexicon, longest_phrase

Kind = OneOf["closed", "adjective", "noun", "verb"]
_SHORTEST = 3
"""Letters of a part of a compound, and of the stem of an inflected word, at least."""


class Meaning(NamedTuple):
    """What a word or phrase is in English; of a verb: base form, past, participle; else what may be meant."""

    kind: Kind
    english: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """The words of one language; ``docs/languages.md`` says what each field is for."""

    language: str
    verb_last: bool
    noun_capitals: bool
    decimal_comma: bool
    possessive: str
    decade_ending: str
    spellings: Mapping[str, str]
    joints: tuple[str, ...]
    words: Mapping[str, frozenset[str]]
    relatives: Mapping[str, str]
    relative_objects: frozenset[str]
    governed: Mapping[str, str]
    endings: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, Meaning]
    adjectives: Mapping[str, Meaning]
    nouns: Mapping[str, Meaning]
    verbs: Mapping[str, Meaning]

    @cached_property
    def closed_words(self) -> frozenset[str]:
        """The words that shape a sentence, each alone."""
        return frozenset(word for key in self.closed for word in key.split()) | self.words["fillers"]

    def phrase(self, texts: Sequence[str], *, is_noun: bool) -> tuple[int, Meaning] | None:
        """Return how many of the first words have a meaning together, as many as possible, and the meaning.

        :param is_noun: the first word is written like a noun.
        """
        firsts = (texts[0], *self.stems_of(texts[0])) if len(texts) > 1 else texts
        found = [
            hit
            for table in ((self.closed, self.nouns) if is_noun else (self.closed, self.adjectives, self.nouns))
            for first in firsts
            if (hit := longest_phrase(table, [first, *texts[1:]])) is not None
        ]
        if found and (longest := max(found, key=lambda hit: hit[0]))[0] > 1:
            return longest
        meaning = self.meaning(texts[0], is_noun=is_noun)
        return None if meaning is None else (1, meaning)

    def meaning(self, word: str, *, is_noun: bool = False) -> Meaning | None:
        """Return what a word is, inflected or not; of a noun and a verb, what the capital says.

        >>> german = glossary("de")
        >>> german.meaning("gearbeitet").english[0], german.meaning("stadte", is_noun=True).english
        ('work', ('city',))
        """
        readers: list[Callable[[str], Meaning | None]] = [self.closed.get, self.verb, self._adjective, self._noun]
        for read in (self.closed.get, self._noun, self._adjective, self.verb) if is_noun else readers:
            for form in self.spelled(word):
                if (found := read(form)) is not None:
                    return found
        return None

    def spelled(self, word: str) -> tuple[str, ...]:
        """Return a word, and what it is if signs stand for other letters: ``ae`` for ``ä``."""
        other = word
        for sign, letter in self.spellings.items():
            other = other.replace(sign, letter)
        return (word,) if other == word else (word, other)

    def verb(self, word: str) -> Meaning | None:
        """Return what a form of a verb is."""
        prefix = self.endings["participle"][0] if self.endings["participle"] else ""
        forms = [word]
        if prefix:
            own = ("", *(p for p in self.words["particles"] if word.startswith(p + prefix)))
            forms += [p + word[len(p + prefix) :] for p in own if word.startswith(p + prefix)]
        return next((hit for form in forms if (hit := _inflected(form, self.verbs, self.endings["verb"]))), None)

    def _adjective(self, word: str) -> Meaning | None:
        return _inflected(word, self.adjectives, self.endings["adjective"])

    def _noun(self, word: str) -> Meaning | None:
        return _inflected(word, self.nouns, self.endings["noun"]) or self._compound(word)

    def _compound(self, word: str) -> Meaning | None:
        """Return what a word is that is made of two others, the first of which tells what kind: ``Albumtitel``."""
        if not self.joints:
            return None
        for at in range(len(word) - _SHORTEST, _SHORTEST - 1, -1):
            last = _inflected(word[at:], self.nouns, self.endings["noun"])
            if last is None:
                continue
            stems = (word[:at].removesuffix(joint) for joint in ("", *self.joints) if word[:at].endswith(joint))
            first = next(
                (hit for stem in stems if (hit := self.nouns.get(stem)) or (hit := self.verbs.get(stem))), None
            )
            if first is not None:
                return Meaning("noun", tuple(f"{one} {own}" for one in first.english[:1] for own in last.english))
        return None

    def is_plural(self, word: str) -> bool:
        """Tell whether a finite verb has a plural subject."""
        return word in self.words["plural"] or word.endswith(self.endings["plural"])

    def stems_of(self, word: str) -> list[str]:
        """Return a noun without each of its endings: what a name in the graph may be."""
        return [word[: -len(end)] for end in self.endings["noun"] if word.endswith(end) and len(word) > len(end) + 2]


def _inflected(word: str, table: Mapping[str, Meaning], endings: Sequence[str]) -> Meaning | None:
    """Find a word in a table, else without one of its endings."""
    if word in table:
        return table[word]
    stems = (word[: -len(end)] for end in endings if word.endswith(end) and len(word) - len(end) >= _SHORTEST)
    return next((table[stem] for stem in stems if stem in table), None)


@lru_cache(maxsize=8)
def glossary(language: str) -> Glossary:
    """Return the words of a language.

    :raises DataError: if a key is missing in its file, or unknown. :raises OptionError: if there is no file.
    """
    if language not in languages():
        hint = f"there are: en, {', '.join(languages())}"
        raise OptionError(f"no words of the language {language!r}", hint=hint)
    file = files("kgsparql.reading").joinpath(f"lexicon/{language}.toml")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    relatives = document.pop("relatives", {})
    given: dict[str, Any] = {
        **document,
        "spellings": dict(pair.split(":") for pair in document.get("spellings", "").split()),
        "joints": tuple(document.get("joints", "").split()),
        "words": {key: frozenset(text.split()) for key, text in document.get("words", {}).items()},
        "relatives": dict(pair.split(":") for pair in relatives.get("pairs", "").split()),
        "governed": dict(pair.split(":") for pair in document.get("governed", "").split()),
        "relative_objects": frozenset(relatives.get("objects", "").split()),
        "endings": {key: tuple(text.split()) for key, text in document.get("endings", {}).items()},
        "closed": _meanings("closed", document, "|"),
        "adjectives": _meanings("adjective", document, "|", key="adjectives"),
        "nouns": _meanings("noun", document, "|", key="nouns"),
        "verbs": _verb_meanings(document),
    }
    known = {field.name for field in fields(Glossary)}
    for problem, keys in (("lacks", known - given.keys()), ("has unknown keys:", given.keys() - known)):
        if keys:
            raise DataError(f"lexicon/{language}.toml {problem} {', '.join(sorted(keys))}", code="E_RESOURCE")
    return Glossary(**given)


@lru_cache(maxsize=1)
def languages() -> tuple[str, ...]:
    """Return the languages that questions are read in, beside English."""
    own = (file.name.removesuffix(".toml") for file in files("kgsparql.reading").joinpath("lexicon").iterdir())
    return tuple(sorted(name for name in own if len(name) == 2 and name != lexicon().language))


def _meanings(kind: Kind, document: Mapping[str, Any], sign: str, *, key: str = "") -> dict[str, Meaning]:
    """Return ``word:english|other`` pairs as a table; ``_`` joins the words of a phrase."""
    pairs = (pair.split(":") for pair in document.get(key or kind, {}).get("pairs", "").split())
    return {normalised(word): Meaning(kind, tuple(english.replace("_", " ").split(sign))) for word, english in pairs}


def _verb_meanings(document: Mapping[str, Any]) -> dict[str, Meaning]:
    """Return the stems of verbs, each with the English forms; the first is an infinitive, and is in the table, too."""
    found: dict[str, Meaning] = {}
    for pair in document.get("verbs", {}).get("pairs", "").split():
        stems, english = pair.split(":")
        meaning = Meaning("verb", tuple(english.replace("_", " ").split("/")))
        first = stems.split(",")[0]
        ends = tuple(document["endings"]["infinitive"].split())
        roots = [first[: -len(end)] for end in ends if first.endswith(end)][:1]
        for stem in (*stems.split(","), *roots):
            found.setdefault(normalised(stem), meaning)
    return found


def language_of(texts: Sequence[str], is_small: Sequence[bool]) -> tuple[str, bool]:
    """Tell the language of a question by the words that shape a sentence, and are in no name; and if that is clear.

    A word with a capital may be one of a name. The default is English; where another has as many, which is likely is
    told, but not clear.

    >>> texts = "who directed la la land".split()
    >>> language_of(texts, [True, True, False, False, False])
    ('en', True)
    """
    own = {text for text, small in zip(texts, is_small, strict=True) if small}
    english = lexicon()
    hits = {tag: _hits(own, glossary(tag).closed_words) for tag in languages()}
    best = max(hits, key=lambda tag: hits[tag], default="")
    mine = _hits(own, english.function_words | english.imperatives)
    if hits.get(best, 0) < mine or not hits.get(best):
        return english.language, True
    if hits[best] > mine:
        return best, True
    known = sum(glossary(best).meaning(text) is not None for text in own)
    known_here = sum(text in english.empty_words | english.verbs or english.is_participle(text) for text in own)
    return best, known > known_here


def _hits(texts: Collection[str], closed: frozenset[str]) -> int:
    return sum(text in closed for text in texts)
