"""One row for each name of an entity, class or predicate, and their search by key, word, trigram, vector, spelling."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Literal as OneOf
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.words import STOP_WORDS, in_turn, stem, words
from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import Naming

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""


def silent(what: str, done: int, total: int | None) -> None:
    """Say nothing of the progress."""


MAX_TEXT_CHARACTERS = 300
MAX_DEGREE = 10_001
RECIPE = "labels-11"
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

    def idf(self, word: str) -> float:
        """Return how much a word says about which label is meant; more than 0."""
        return math.log(1 + self.labels / (0.5 + self.counts.get(word, 0)))

    @property
    def highest_idf(self) -> float:
        """Return the idf of a word that one label has."""
        return math.log(1 + self.labels / 1.5)


def type_stems(row: LabelRow) -> list[str]:
    """Return the stems of a short class or predicate label; of `location.location.time_zones`, of the last part."""
    if row.kind == "entity" or row.role == "alternative":
        return []
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

    def held_rows(self) -> Iterable[LabelRow]:
        """Return all rows, where they are at hand and few; else none."""
        return ()

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
    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """Find the keys that are at most so many typing errors from another text, with how many: the likeliest first.

        None are found where not all labels are at hand: the text may be that of a label that is not.

        :param words: find words of the vocabulary, not keys.
        """

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
    directory: Path | None = None
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


# --- Several places of one graph, or several graphs

_ROLES = ("label", "alternative", "derived")


@dataclass(frozen=True)
class CombinedLabels(LabelSearch):
    """Labels of several places of one graph, or of several graphs; a name that several have is one row.

    Its degree is their sum. A name that one has only from an IRI is left out of a search in which another gives a
    label. A graph of several that fails when its labels are looked up does not keep the others back.

    :param names: of the graphs, in the order of the parts; none for the places of one graph.
    :param failed: the errors of those that failed, by name; they are not asked again in this question.
    """

    parts: tuple[LabelSearch, ...]
    names: tuple[str, ...] = ()
    failed: dict[str, KgsparqlError] = field(default_factory=dict)

    @property
    def has_vectors(self) -> bool:
        """Tell whether any part has vectors."""
        return any(part.has_vectors for part in self.parts)

    def with_graph(self, graph: KnowledgeGraph) -> CombinedLabels:
        """See :meth:`LabelSearch.with_graph`; each of several graphs gets its own member of the graph."""
        members = {member.name: member for member in graph.members}
        of_parts = [members.get(name) for name in self.names] or [graph] * len(self.parts)
        parts = (part.with_graph(own) if own else part for part, own in zip(self.parts, of_parts, strict=True))
        return replace(self, parts=tuple(parts), failed={})

    def held_rows(self) -> Iterable[LabelRow]:
        """See :meth:`LabelSearch.held_rows`."""
        return chain.from_iterable(part.held_rows() for part in self.parts)

    def offline(self) -> CombinedLabels:
        """See :meth:`LabelSearch.offline`."""
        return replace(self, parts=tuple(part.offline() for part in self.parts))

    def for_text(self, text: str, languages: tuple[str, ...]) -> CombinedLabels:
        """See :meth:`LabelSearch.for_text`."""
        found: list[LabelSearch] = []
        for name, part in zip_longest(self.names, self.parts):
            try:
                found.append((part.offline() if name in self.failed else part).for_text(text, languages))
            except GRAPH_FAILED as error:
                if name is None:
                    raise
                self.failed[name] = error
                found.append(part.offline().for_text(text, languages))
        if self.names and len(self.failed) == len(self.parts):
            raise self.failed[self.names[0]]
        return replace(self, parts=tuple(found))

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:
        """See :meth:`LabelSearch.notes`; says which graphs failed, so that their names were not looked up."""
        notes = dict.fromkeys(note for part in self.parts for note in part.notes(linked))
        whys = (f"{error.message_about(name)}; its names were not looked up" for name, error in self.failed.items())
        return (*notes, *whys)

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:
        """See :meth:`LabelSearch.vocabulary`."""
        found = [part.vocabulary(wanted) for part in self.parts]
        return Vocabulary(
            {word: count for word in wanted if (count := sum(part.counts.get(word, 0) for part in found))},
            sum(part.labels for part in found),
            frozenset[str]().union(*(part.type_stems for part in found)),
            capitals_tell=any(part.capitals_tell for part in found),
        )

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`LabelSearch.exact`."""
        found = _without_repeats(row for part in self.parts for row in part.exact(keys))
        return sorted(found, key=lambda row: (row.key, row))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.with_words`."""
        return _without_repeats(in_turn(part.with_words(wanted, limit=limit) for part in self.parts))[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`LabelSearch.like`."""
        return _without_repeats(in_turn(part.like(key, limit=limit) for part in self.parts))[:limit]

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """See :meth:`LabelSearch.near`."""
        return nearest_first(text, (hit for part in self.parts for hit in part.near(text, edits=edits, words=words)))

    def nearest(self, vectors: NDArray[np.float32], *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`LabelSearch.nearest`; asks the parts that have vectors."""
        found = [part.nearest(vectors, limit=limit) for part in self.parts if part.has_vectors]
        nearest = []
        for number in range(len(vectors)):
            best: dict[tuple[str, ...], tuple[LabelRow, float]] = {}
            hits = chain.from_iterable(of_part[number] for of_part in found)
            for hit in sorted(hits, key=lambda hit: (-hit[1], hit[0])):
                best.setdefault(_identity_of(hit[0]), hit)
            nearest.append(list(best.values())[:limit])
        return nearest


def rows_by(column: str, rows: Iterable[LabelRow]) -> dict[str, list[LabelRow]]:
    """Group rows by what is in a column: their ``key``, ``text`` or ``iri``."""
    found: dict[str, list[LabelRow]] = defaultdict(list)
    for row in rows:
        found[getattr(row, column)].append(row)
    return found


def _identity_of(row: LabelRow) -> tuple[str, ...]:
    return row.iri, row.text, row.key, row.language


def _without_repeats(rows: Iterable[LabelRow]) -> list[LabelRow]:
    all_rows = list(rows)
    kinds = {row.iri: row.kind for row in reversed(all_rows) if row.kind != "entity"}  # the first of each
    named = {row.iri for row in all_rows if row.role != "derived"}
    merged: dict[tuple[str, ...], LabelRow] = {}
    for row in all_rows:
        if row.role != "derived" or row.iri not in named:
            known = merged.get(_identity_of(row), row._replace(degree=0))
            role, kind = min(row.role, known.role, key=_ROLES.index), kinds.get(row.iri, row.kind)
            merged[_identity_of(row)] = row._replace(role=role, degree=row.degree + known.degree, kind=kind)
    return list(merged.values())


def federated_index(indexes: Mapping[str, LabelIndex]) -> LabelIndex:
    """Join the indexes of several graphs, by name; with vectors if all have vectors of the same embedder."""
    parts = indexes.values()
    embedders = {index.embedder for index in parts}
    return LabelIndex(
        CombinedLabels(tuple(index.search for index in parts), tuple(indexes)), rows=sum(index.rows for index in parts),
        texts=sum(index.texts for index in parts), embedder=embedders.pop() if len(embedders) == 1 else None,
    )  # fmt: skip


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
