"""Labels in one run of bytes, a mapped file or in memory: their rows, keys, words, trigrams, and who has which."""

from __future__ import annotations

import io
import json
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial
from itertools import chain, count, groupby
from operator import attrgetter
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from kgsparql.dataclasses import dataclass, field
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.search import (
    SMALL_LETTERS,
    LabelRow,
    Vocabulary,
    inverse_frequency,
    nearest_first,
    rows_by,
    term_scores,
    type_stems,
)
from kgsparql.linking.words import in_turn, trigrams, words
from kgsparql.models.embedding import Embedder, Floats
from kgsparql.rdf.terms import Json, normalised, zip_equal

EMBED_AT_ONCE = 2_000  # up to so many texts are embedded on first use, in 2 to 4 s; more only by ``kgsparql index``

_MOST_HELD = 500_000  # rows that are made Python objects for who wants all, in some 200 MB
_ROWS_AT_ONCE = 10_000
_COUNTS_KEPT = 4_096  # whose counts are remembered
_LENGTH_BYTES = 8  # of the length at the end
_LINE_END = 10
_PARTS = ("starts", "lengths", "hashes", "order", "owners", "first owners", "sizes of owners")  # beside the texts
_SAME_SCORE = 1e-8  # scores that differ less are equal, but for the order in which they were summed
_QUOTED = json.encoder.encode_basestring


class PackedLabels:
    """Labels of an index as :func:`pack` writes them; only what a search needs of them is read.

    >>> found = PackedLabels.of([LabelRow("http://e.org/a", "Marie Curie", "marie curie")])
    >>> [row.text for row in found.like("curye marie", limit=5)]
    ['Marie Curie']

    Results come in a fixed order, the best first, then by IRI and text.

    :param embedder: that of the vectors; else it compares texts by meaning if they are few, embedding them then.
    :param vectors: finds the nearest of all texts by vectors that are kept, with their cosines.
    :ivar embedder: of which every label has a vector, so that :meth:`nearest` finds some; ``None`` without vectors.
    """

    def __init__(self, data: Any, embedder: Embedder | None = None, vectors: Any = None) -> None:
        self._packed = _Packed(data)
        self._row_ends = self._packed.array("row ends")
        self._keys, self._words, self._trigrams = (_Texts(self._packed, name) for name in ("keys", "words", "trigrams"))
        self.row_count: int = self._packed.about["rows"]
        self.embedder = embedder if vectors or 0 < self._packed.about["texts"] <= EMBED_AT_ONCE else None
        self._vectors = vectors

    @classmethod
    def of(cls, rows: Iterable[LabelRow], embedder: Embedder | None = None) -> PackedLabels:
        """Pack rows in memory: of a graph so small that reading them again is as fast, or those found for one text."""
        return cls(packed_bytes(rows), embedder)

    def with_graph(self, graph: KnowledgeGraph) -> PackedLabels:  # noqa: ARG002 - none is asked
        """Return this search for one question; labels that are not at hand are looked up in this view of the graph."""
        return self

    def offline(self) -> PackedLabels:
        """Return the part that needs no graph: all that can be searched while the graph does not answer."""
        return self

    def for_text(self, text: str, languages: tuple[str, ...]) -> PackedLabels:  # noqa: ARG002 - all labels are here
        """Return the search to use for one text; an endpoint is asked here for all labels that the text may name."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of an answer should know about the search."""
        return ()

    def rows(self) -> Iterator[LabelRow]:
        """Yield all rows, in the order in which they were packed."""
        for at in range(0, self.row_count, _ROWS_AT_ONCE):
            yield from self._rows_at(np.arange(at, min(at + _ROWS_AT_ONCE, self.row_count)))

    def held_rows(self) -> Iterable[LabelRow]:
        """Return all rows, where they are few; else none."""
        return self.rows() if self.row_count <= _MOST_HELD else ()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return what the labels have of words."""
        about = self._packed.about
        return Vocabulary(self._words.count, len(self._keys), frozenset(about["type_stems"]), about["capitals_tell"])

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """Find the rows with one of these keys."""
        return self._rows_of_keys(self._keys.places_of(keys))

    def with_words(self, wanted: Collection[str], *, limit: int) -> list[LabelRow]:
        """Find rows that have some of these words: first those with the rarest ones and few other words."""
        return self._rows_of_keys(self._words.best_owners(wanted, limit, self._keys))[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """Find rows that share trigrams with a normalised text."""
        return self._rows_of_keys(self._trigrams.best_owners(trigrams(key), limit, self._keys))[:limit]

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """Find the keys that are at most so many typing errors from another text, with how many: the likeliest first.

        None are found where not all labels are at hand: the text may be that of a label that is not.

        :param words: find words of the vocabulary, not keys.
        """
        return (self._words if words else self._keys).near(text, edits=edits)

    def nearest(self, vectors: Floats, *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """Find, for each vector, the rows of the nearest texts with their cosines; vectors are ``(n, dimension)``."""
        if self._vectors is not None:
            found = self._vectors.nearest(vectors, limit=limit)
        elif self.embedder is not None and self.row_count:
            found = nearest_texts(vectors, *self._embedded_texts, limit)
        else:
            found = [[] for _ in vectors]
        rows = rows_by("text", self.exact({normalised(text) for hits in found for text, _ in hits}))
        return [[(row, cosine) for text, cosine in hits for row in rows[text]] for hits in found]

    def _rows_of_keys(self, places: Iterable[int]) -> list[LabelRow]:
        """Read the rows of some keys, those of each in order."""
        of_keys = [np.empty(0, np.int64), *map(self._keys.owners, places)]
        rows = self._rows_at(np.concatenate(of_keys))
        return [row for _, own in groupby(rows, key=attrgetter("key")) for row in sorted(own)]

    def _rows_at(self, numbers: NDArray[np.int64]) -> Iterator[LabelRow]:
        places = zip_equal(self._row_ends[numbers].tolist(), self._row_ends[numbers + 1].tolist())
        text = "".join(self._packed.text("rows", *place) for place in places)
        return map(LabelRow._make, json.loads(f"[{text[:-1]}]"))  # but for the comma at the end

    @cached_property
    def _embedded_texts(self) -> tuple[list[str], Floats]:
        """Embed the texts, which are few."""
        texts = sorted({row.text for row in self.rows()})
        return texts, cast("Embedder", self.embedder).embed(texts)


class LabelsWithMore(PackedLabels):
    """Labels of a graph, and more names of its things beside them, searched as one."""

    def __init__(self, labels: PackedLabels, more: Iterable[LabelRow]) -> None:
        super().__init__(packed_bytes(more))
        self.labels = labels

    def _beside(self, labels: PackedLabels) -> LabelsWithMore:
        other = copy(self)
        other.labels = labels
        return other

    def with_graph(self, graph: KnowledgeGraph) -> LabelsWithMore:
        """See :meth:`PackedLabels.with_graph`."""
        return self._beside(self.labels.with_graph(graph))

    def offline(self) -> LabelsWithMore:
        """See :meth:`PackedLabels.offline`."""
        return self._beside(self.labels.offline())

    def for_text(self, text: str, languages: tuple[str, ...]) -> LabelsWithMore:
        """See :meth:`PackedLabels.for_text`."""
        return self._beside(self.labels.for_text(text, languages))

    @property
    def notes(self) -> tuple[str, ...]:
        """See :attr:`PackedLabels.notes`."""
        return self.labels.notes

    @property
    def vocabulary(self) -> Vocabulary:
        """See :meth:`PackedLabels.vocabulary`."""
        one, more = self.labels.vocabulary, super().vocabulary
        return Vocabulary(
            lambda word: one.count(word) + more.count(word), one.labels + more.labels,
            one.type_stems | more.type_stems, one.capitals_tell or more.capitals_tell,
        )  # fmt: skip

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`PackedLabels.exact`."""
        return sorted({*self.labels.exact(keys), *super().exact(keys)}, key=lambda row: (row.key, row))

    def with_words(self, wanted: Collection[str], *, limit: int) -> list[LabelRow]:
        """See :meth:`PackedLabels.with_words`."""
        found = self.labels.with_words(wanted, limit=limit), super().with_words(wanted, limit=limit)
        return list(dict.fromkeys(in_turn(found)))[:limit]

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """See :meth:`PackedLabels.like`."""
        found = self.labels.like(key, limit=limit), super().like(key, limit=limit)
        return list(dict.fromkeys(in_turn(found)))[:limit]

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """See :meth:`PackedLabels.near`."""
        found = (one(text, edits=edits, words=words) for one in (self.labels.near, super().near))
        return nearest_first(text, chain(*found))

    def nearest(self, vectors: Floats, *, limit: int) -> list[list[tuple[LabelRow, float]]]:
        """See :meth:`PackedLabels.nearest`; the names beside the labels have no vectors."""
        return self.labels.nearest(vectors, limit=limit)


def nearest_texts(vectors: Floats, texts: Sequence[str], matrix: Floats, limit: int) -> list[list[tuple[str, float]]]:
    """Find, for each vector, the texts of the nearest rows of a matrix, with their cosines; all are of unit length."""
    found = []
    for cosines in vectors @ matrix.T:
        best = np.argsort(-cosines.round(6), kind="stable")[:limit]
        found.append([(texts[i], float(cosines[i])) for i in best])
    return found


# --- Reading


class _Packed:
    """Run of bytes: texts and arrays one after the other, at the end where each is, and that one's length."""

    def __init__(self, data: Any) -> None:
        self._view = memoryview(data)
        size = int.from_bytes(self._view[-_LENGTH_BYTES:], "little")
        self.about: Json = json.loads(bytes(self._view[-_LENGTH_BYTES - size : -_LENGTH_BYTES]))

    def array(self, name: str) -> NDArray[Any]:
        at, count, kind = self.about["parts"][name]
        return np.frombuffer(self._view, kind, count, at)

    def text(self, name: str, start: int, end: int) -> str:
        at = self.about["parts"][name][0]
        return str(self._view[at + start : at + end], "utf-8")


class _Texts:
    """Different texts, the shortest first, and the numbers of what has each: of rows with a key, of keys with a word.

    :ivar count: how many have a text; it is counted many times for each word of a question.
    """

    def __init__(self, packed: _Packed, name: str) -> None:
        self._text_between = partial(packed.text, f"{name} texts")
        of = {part: packed.array(f"{name} {part}") for part in _PARTS}
        self._starts, self._lengths, self._hashes, self._order, self._owners, self._firsts, self._sizes = of.values()
        self.count = lru_cache(_COUNTS_KEPT)(lambda text: sum(len(self.owners(at)) for at in self.places_of([text])))

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: Any) -> Any:
        return self.between(place, place + 1)[0]

    def between(self, start: int, end: int) -> list[str]:
        """List the texts from one place up to another."""
        if start >= end:
            return []
        return self._text_between(int(self._starts[start]), int(self._starts[end]) - 1).split("\n")

    def near(self, text: str, *, edits: int) -> list[tuple[str, int]]:
        """Find the other texts at most so many edits away, with their distance: the likeliest to be meant first.

        Those of about the same length are compared letter by letter: 1.5 ms with 126,764 names, 47 ms with a million.

        Source: optimal string alignment distance (Damerau 1964; Levenshtein 1966), by ``rapidfuzz``.
        """
        if len(text) <= edits:
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        start, end = np.searchsorted(self._lengths, [len(text) - edits, len(text) + edits + 1])
        candidates = self.between(int(start), int(end))
        hits = process.extract(text, candidates, scorer=OSA.distance, score_cutoff=edits, limit=None)
        return nearest_first(text, ((hit, int(distance)) for hit, distance, _ in hits if distance))

    def places_of(self, texts: Collection[str]) -> Iterator[int]:
        """Find texts by their hashes, in order; those that are not there are left out."""
        wanted = sorted(set(texts))
        hashes = np.fromiter(map(_hash_of, wanted), "<i8", len(wanted))
        firsts, lasts = self._hashes.searchsorted(hashes), self._hashes.searchsorted(hashes, "right")
        for text, first, last in zip_equal(wanted, firsts.tolist(), lasts.tolist()):
            for place in self._order[first:last].tolist():
                if self[place] == text:
                    yield place

    def owners(self, place: int) -> NDArray[Any]:
        """Return the numbers of what has a text."""
        return self._owners[self._firsts[place] : self._firsts[place + 1]]

    @cached_property
    def _owner_weights(self) -> NDArray[np.float64]:
        """Return the weight of one text for each owner, by how many it has."""
        sizes = self._sizes.astype(np.float64)
        return term_scores(1.0, 1.0, sizes, max(sizes.mean() if len(sizes) else 1.0, 1e-9))

    def best_owners(self, texts: Collection[str], limit: int, names: _Texts) -> list[int]:
        """Find the owners that have most of some texts, the best first; by BM25, as if none had one twice."""
        scores = np.zeros(len(names))
        for at in self.places_of(texts):
            owners = self.owners(at)
            scores[owners] += inverse_frequency(len(names), len(owners))
        scores *= self._owner_weights
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit] - _SAME_SCORE]
        # Equal scores in the order of the names, so that the limit cuts the same every time.
        hits = zip_equal(scores[found].tolist(), found.tolist())
        return [at for _, at in sorted(hits, key=lambda hit: (-round(hit[0], 9), names[hit[1]]))[:limit]]


# --- Writing


def packed_bytes(rows: Iterable[LabelRow]) -> memoryview:
    """Pack rows in memory."""
    stream = io.BytesIO()
    pack(rows, stream)
    return stream.getbuffer()


def pack(rows: Iterable[LabelRow], stream: BinaryIO) -> dict[str, int]:
    """Write rows and all that finds them; return how many rows and different texts there are."""
    writer = _Writer(stream)
    ends, texts, stems, small = array("Q", [0]), set(), set(), 0

    def keys_of_rows() -> Iterator[list[str]]:
        nonlocal small
        for row in rows:
            quoted = ",".join(map(_QUOTED, row[:-1]))
            ends.append(ends[-1] + stream.write(f"[{quoted},{row.degree}],".encode("utf-8", "replace")))
            texts.add(hash(row.text))
            small += row.kind == "entity" and row.text[0].islower()
            stems.update(type_stems(row))
            yield [row.key]

    keys = writer.put_texts("keys", keys_of_rows())
    writer.parts["rows"] = [0, ends[-1], "u1"]
    writer.put("row ends", np.array(ends, "<u8"))
    writer.put_texts("words", map(words, keys))
    writer.put_texts("trigrams", map(trigrams, keys))
    counts = {"rows": len(ends) - 1, "texts": len(texts)}
    capitals_tell = small > SMALL_LETTERS * len(keys)
    about = {**counts, "type_stems": sorted(stems), "capitals_tell": capitals_tell, "parts": writer.parts}
    end = json.dumps(about).encode()
    stream.write(end + len(end).to_bytes(_LENGTH_BYTES, "little"))
    return counts


@dataclass()
class _Writer:
    """Writer of texts and arrays, one after the other; where each is."""

    stream: BinaryIO
    parts: dict[str, list[Any]] = field(default_factory=dict)

    def put(self, name: str, values: NDArray[Any]) -> None:
        at = self.stream.tell()
        at += self.stream.write(bytes(-at % _LENGTH_BYTES))  # so that numbers are where the processor reads them fast
        self.parts[name] = [at, len(values), values.dtype.str]
        self.stream.write(values.data)

    def put_texts(self, name: str, owned: Iterable[Collection[str]]) -> list[str]:
        """Write the texts that each of some owners has, and who has each; return the texts, the shortest first."""
        numbers = defaultdict[str, int](count().__next__)
        found, different, sizes = array("I"), array("I"), array("H")
        for some in owned:
            sizes.append(len(some))
            own = {*some}
            different.append(len(own))
            found.extend(map(numbers.__getitem__, own))
        ordered = sorted(sorted(numbers), key=len)
        total = len(ordered)
        written = np.frombuffer("\n".join([*ordered, ""]).encode("utf-8", "replace"), "u1")
        hashes = np.fromiter(map(_hash_of, ordered), "<i8", total)
        by_hash, places = np.argsort(hashes, kind="stable"), np.empty(total, np.int64)
        places[np.fromiter(map(numbers.__getitem__, ordered), np.int64, total)] = np.arange(total)
        had, owners = places[np.array(found, np.int64)], np.repeat(np.arange(len(sizes)), different)
        arrays = (
            np.append(0, np.flatnonzero(written == _LINE_END) + 1).astype("<u4"),
            np.fromiter(map(len, ordered), "<u2", total), hashes[by_hash], by_hash.astype("<u4"),
            owners[np.argsort(had, kind="stable")].astype("<u4"),
            np.append(0, np.cumsum(np.bincount(had, minlength=total))).astype("<u4"), np.array(sizes, "<u2"),
        )  # fmt: skip
        for part, values in zip_equal(("texts", *_PARTS), (written, *arrays)):
            self.put(f"{name} {part}", values)
        return ordered


def _hash_of(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))
