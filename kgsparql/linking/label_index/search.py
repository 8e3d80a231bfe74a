"""One row for each name of an entity, class or predicate, and their search by key, word, trigram, vector, spelling."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal as OneOf
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.words import STOP_WORDS, stem, words
from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.lance_tables import Location

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""

MAX_TEXT_CHARACTERS = 300
MAX_DEGREE = 10_001
RECIPE = "labels-7"
"""Changes whenever the rows, the keys or the tables would be made differently."""

_PARENTHESIS = re.compile(r"(.*\S)\s+\([^()]*\)$", re.DOTALL)
_MAX_TYPE_WORDS = 2  # in longer labels of types some words may be names, as in `MP of the Sejm ID`
_SMALL_LETTERS = 0.02  # capitals mark names in a graph in which a larger share of labels begins with a small letter


class LabelRow(NamedTuple):
    """One name of one thing.

    :param key: the text as it is compared; ``Thriller (song)`` has a second row with the key ``thriller``.
    :param role: ``derived`` for the end of an IRI, where the graph has no name.
    :param language: in lower case; empty for none.
    :param degree: triples it is in, counted to 10,001.
    """

    iri: str
    text: str
    key: str
    role: Role = "label"
    language: str = ""
    kind: Kind = "entity"
    degree: int = 0


class Rows(Protocol):
    """Rows that can be counted, and read several times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[LabelRow]: ...


def clean_text(text: str) -> str:
    """Remove white space around a text and cut it to 300 characters."""
    return text[: MAX_TEXT_CHARACTERS + 100].strip()[:MAX_TEXT_CHARACTERS]


def label_row(iri: str, text: str, *, role: Role = "label", language: str = "") -> LabelRow | None:
    """Make the row of a name, its text cleaned; ``None`` for a name that is empty, or only the IRI."""
    name = clean_text(text)
    key = normalised(name)
    return LabelRow(iri, name, key, role, language) if key and name != iri else None


def short_key(text: str) -> str:
    """Return the key of a name without the parenthesis at its end; of the whole name if it is nothing else."""
    found = _PARENTHESIS.match(text) if text.endswith(")") else None
    return normalised(found[1] if found else text)


def with_short(row: LabelRow) -> Iterator[LabelRow]:
    """Yield a row and, if its text ends in a parenthesis, a second one whose key is without it.

    >>> [(row.key, row.role) for row in with_short(LabelRow("http://e.org/a", "Thriller (song)", "thriller song"))]
    [('thriller song', 'label'), ('thriller', 'alternative')]
    """
    yield row
    key = short_key(row.text)
    if key and key != row.key:
        yield row._replace(key=key, role="derived" if row.role == "derived" else "alternative")


def recipe(naming: Naming) -> str:
    """Return the recipe for the rows of a graph with these label predicates; made by another, an index is stale."""
    known = Naming()  # links that a graph does not use change no row
    is_known = naming.labels == known.labels and set(naming.links) <= set(known.links)
    own = [] if is_known else [[p.value for p in naming.labels], [p.value for p in naming.links]]
    return json.dumps([RECIPE, *own])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of the labels: how many labels have each, and which are words of types and predicates.

    :param counts: word to the number of distinct keys that have it.
    :param labels: the number of distinct keys.
    :param type_stems: stems of the words of class and predicate labels.
    :param capitals_tell: capitals mark names, because some labels begin with a small letter.
    """

    counts: Mapping[str, int]
    labels: int
    type_stems: frozenset[str] = frozenset()
    capitals_tell: bool = False

    @classmethod
    def of(cls, rows: Iterable[LabelRow], keys: Collection[str]) -> Vocabulary:
        """Count the words of some labels; a key counts once, however many languages or entities have it."""
        types: set[str] = set()
        small = 0
        for row in rows:
            small += row.kind == "entity" and row.text[0].islower()
            if row.kind != "entity" and row.role != "alternative":
                types.update(_type_stems(row))
        counts = Counter(chain.from_iterable(set(words(key)) for key in keys))
        return cls(counts, len(keys), frozenset(types), capitals_tell=small > _SMALL_LETTERS * len(keys))

    def idf(self, word: str) -> float:
        """Return how much a word says about which label is meant; more than 0."""
        return math.log(1 + self.labels / (0.5 + self.counts.get(word, 0)))

    @property
    def highest_idf(self) -> float:
        """Return the idf of a word that one label has."""
        return math.log(1 + self.labels / 1.5)


def _type_stems(row: LabelRow) -> list[str]:
    """Return the stems of a short class or predicate label; of `location.location.time_zones`, of the last part."""
    key = normalised(row.text.rsplit(".", 1)[-1]) if row.role == "derived" else row.key
    content = [word for word in words(key) if word not in STOP_WORDS["en"]]
    return [stem(word) for word in content] if len(content) <= _MAX_TYPE_WORDS else []


class LabelSearch(ABC):
    """Labels that can be searched; results come in a fixed order, the best first, then by IRI and text.

    What is not abstract is as a search does it that has all labels at hand.
    """

    @property
    @abstractmethod
    def has_vectors(self) -> bool:
        """Tell whether every label has a vector, so that :meth:`nearest` may be used."""

    def with_graph(self, graph: KnowledgeGraph) -> LabelSearch:  # noqa: ARG002 - none is asked
        """Return this search for one question; labels that are not at hand are looked up in this view of the graph."""
        return self

    def offline(self) -> LabelSearch:
        """Return the part that needs no graph: all that can be searched while the graph does not answer."""
        return self

    def for_text(self, text: str, languages: tuple[str, ...]) -> LabelSearch:  # noqa: ARG002 - all labels are here
        """Return the search to use for one text; an endpoint is asked here for all labels that the text may name."""
        return self

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is nothing to say
        """Say what the reader of an answer should know about the search."""
        return ()

    @abstractmethod
    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """Return the vocabulary; its counts hold for at least the wanted words."""

    @abstractmethod
    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """Find the rows with one of these keys."""

    @abstractmethod
    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """Find rows that have some of these words: first those with the rarest ones and few other words."""

    @abstractmethod
    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """Find rows that share trigrams with a normalised text."""

    @abstractmethod
    def near_keys(self, key: str, *, edits: int) -> list[tuple[str, int]]:
        """Find the keys that are at most so many typing errors from another text, with how many: the likeliest first.

        None are found where not all labels are at hand: the text may be that of a label that is not.
        """

    @abstractmethod
    def near_words(self, word: str, *, edits: int) -> list[tuple[str, int]]:
        """Do as :meth:`near_keys` for one word and the words of the vocabulary."""

    @abstractmethod
    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """Find, for each vector, the rows of the nearest texts with their cosines; vectors are ``(n, dimension)``."""


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Labels that a linker searches, and what is known about them.

    :param embedder: name of the embedder whose vectors all labels have; ``None`` without vectors.
    :param directory: where it is kept; ``None`` for one that is made again each time.
    :param note: what a person should know, such as that nothing could be kept.
    """

    search: LabelSearch
    rows: int = 0
    texts: int = 0
    embedder: str | None = None
    directory: Location | None = None
    note: str = ""


# --- Spelling


def nearest_first(text: str, near: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Sort texts with their distance from another one, each once: the likeliest to be meant first."""
    return sorted(set(near), key=lambda hit: (unlikeliness(text, *hit), hit[0]))


def unlikeliness(text: str, other: str, edits: int) -> tuple[int, bool, bool]:
    """Make a sort key: how unlikely it is that a text is a mistyped form of another one, so many edits away.

    There is one way to leave out a certain letter or to swap two, but 25 to type a wrong one, or one too many; and the
    first letter is seldom wrong.

    Source: the noisy channel of Kernighan, Church and Gale (COLING 1990), its probabilities taken as equal.
    """
    is_one_way = len(other) > len(text) or sorted(other) == sorted(text)
    return edits, not is_one_way, other[:1] != text[:1]


class SpellingSearch:
    """Texts that are found by others a few edits away: those of about the same length are compared letter by letter.

    That takes 1.5 ms with 126,764 names, and 47 ms with a million.

    :param lengths: of the texts in characters, ascending, of shape ``(n_texts,)``.
    :param between: gives the texts from one place up to another.
    """

    def __init__(self, lengths: NDArray[np.integer], between: Callable[[int, int], list[str]]) -> None:
        self._lengths = lengths
        self._between = between

    @classmethod
    def of(cls, texts: Iterable[str]) -> SpellingSearch:
        """Make a search of texts in memory.

        >>> SpellingSearch.of(["inception", "interception", "exception"]).near("incepton", edits=1)
        [('inception', 1)]
        """
        ordered = sorted(texts, key=len)
        return cls(np.array(list(map(len, ordered)), dtype=np.int64), lambda start, end: ordered[start:end])

    def near(self, text: str, *, edits: int) -> list[tuple[str, int]]:
        """Find the other texts at most so many edits away, with their distance: the likeliest to be meant first.

        Source: optimal string alignment distance (Damerau 1964; Levenshtein 1966), by ``rapidfuzz``.
        """
        if len(text) <= edits:
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        start, end = np.searchsorted(self._lengths, [len(text) - edits, len(text) + edits + 1])
        candidates = self._between(int(start), int(end))
        hits = process.extract(text, candidates, scorer=OSA.distance, score_cutoff=edits, limit=None)
        return nearest_first(text, ((hit, int(distance)) for hit, distance, _ in hits if distance))
