"""One row for each name of an entity, class or predicate, and their search by key, word, trigram, vector, spelling."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.dataclasses import frozen
from kgsparql.linking.words import STOP_WORDS, stem, words
from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import Naming, is_wikibase_item

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""


def silent(what: str, done: int, total: int | None) -> None:
    """Say nothing of the progress."""


MAX_TEXT_CHARACTERS = 300
MAX_DEGREE = 10_001
RECIPE = "labels-19"
"""Changes whenever the rows, the keys or the tables would be made differently."""

_PARENTHESIS = re.compile(r"(.*\S)\s+\([^()]*\)$", re.DOTALL)
_MAX_TYPE_WORDS = 2  # in longer labels of types some words may be names, as in `MP of the Sejm ID`
SMALL_LETTERS = 0.02  # where a larger share of labels begins with a small letter, capitals mark names


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


def clean_text(text: str) -> str:
    """Remove white space around a text and cut it to 300 characters."""
    return text[: MAX_TEXT_CHARACTERS + 100].strip()[:MAX_TEXT_CHARACTERS]


def label_row(iri: str, text: str, *, role: Role = "label", language: str) -> LabelRow | None:
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


def rows_by(column: str, rows: Iterable[LabelRow]) -> dict[str, list[LabelRow]]:
    """Group rows by what is in a column: their ``key``, ``text`` or ``iri``."""
    found = defaultdict(list)
    for row in rows:
        found[getattr(row, column)].append(row)
    return found


@frozen
class Vocabulary:
    """Words of the labels: how many labels have each, and which are words of types and predicates.

    :param count: tells how many distinct keys have a word.
    :param labels: the number of distinct keys.
    :param type_stems: stems of the words of class and predicate labels.
    :param capitals_tell: capitals mark names, because some labels begin with a small letter.
    """

    count: Callable[[str], int]
    labels: int
    type_stems: frozenset[str] = frozenset()
    capitals_tell: bool = False

    def idf(self, word: str) -> float:
        """Return how much a word says about which label is meant; more than 0."""
        return math.log(1 + self.labels / (0.5 + self.count(word)))

    @property
    def highest_idf(self) -> float:
        """Return the idf of a word that one label has."""
        return math.log(1 + self.labels / 1.5)


def type_stems(row: LabelRow) -> list[str]:
    """Return the stems of a short class or predicate label; of `location.location.time_zones`, of the last part.

    In an item of a Wikibase a word with a capital is a name: `province of Iran`.
    """
    if row.kind == "entity" or row.role == "alternative":
        return []
    key = normalised(row.text.rsplit(".", 1)[-1]) if row.role == "derived" else row.key
    is_item = is_wikibase_item(row.iri)
    content = [w for w in words(key) if w not in STOP_WORDS["en"] and (w in row.text or not is_item)]
    return [stem(word) for word in content] if len(content) <= _MAX_TYPE_WORDS else []


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


# --- BM25, for everything that scores texts by words

# Source: Okapi BM25 (Robertson and Zaragoza 2009, section 3.4), with k1 = 1.2 and b = 0.75.
K1 = 1.2
_B = 0.75


def inverse_frequency(texts: int, having: int) -> float:
    """Return how rare a word is that so many of the texts have."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


def term_scores(
    idf: float, counts: NDArray[np.float64] | float, lengths: NDArray[np.float64], usual: float
) -> NDArray[np.float64]:
    """Return what one word adds to the score of each text, from how often each has it; lengths are in words.

    >>> term_scores(inverse_frequency(10, 1), np.array([1.0, 2.0]), np.array([5.0, 5.0]), 5.0).round(2)
    array([1.99, 2.74])
    """
    return np.asarray(idf * counts * (K1 + 1) / (counts + K1 * (1 - _B + _B * lengths / usual)))
