"""Labels in one run of bytes, a mapped file or in memory: their rows, keys, words, trigrams, and who has which."""

from __future__ import annotations

import io
import json
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial, reduce
from itertools import groupby
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
from kgsparql.linking.words import trigrams, words
from kgsparql.models.embedding import Embedder, Floats
from kgsparql.rdf.terms import Json, normalised

EMBED_AT_ONCE = 2_000  # up to so many texts are embedded on first use, in 2 to 4 s; more only by ``kgsparql index``

_MOST_HELD = 500_000  # rows that are made Python objects for who wants all, in some 200 MB
_ROWS_AT_ONCE = 10_000
_COUNTS_KEPT = 4_096  # whose counts are remembered
_KEYS_AT_ONCE = 100_000  # whose trigrams are found at once, in some 100 MB
_LENGTH_BYTES = 8  # of the length at the end
_LINE_END, _SPACE = 10, 32
_CHARACTER_BITS = 21  # of a code point; a trigram is one number
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
        self._key_texts, self._word_texts = (_Texts(self._packed, name) for name in ("keys", "words"))
        self.row_count: int = self._packed.about["rows"]
        self.embedder = embedder if vectors or 0 < self._packed.about["texts"] <= EMBED_AT_ONCE else None
        self._vectors = vectors
        self._postings = cache(partial(_Postings, self._packed))

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

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is nothing to say
        """Say what the reader of an answer should know about the search."""
        return ()

    def rows(self) -> Iterator[LabelRow]:
        """Yield all rows, in the order in which they were packed."""
        for at in range(0, self.row_count, _ROWS_AT_ONCE):
            yield from self._rows_at(np.arange(at, min(at + _ROWS_AT_ONCE, self.row_count)))

    def held_rows(self) -> Iterable[LabelRow]:
        """Return all rows, where they are few; else none."""
        return self.rows() if self.row_count <= _MOST_HELD else ()

    def vocabulary(self, wanted: Collection[str]) -> Vocabulary:  # noqa: ARG002 - all of it is at hand
        """Return the vocabulary; its counts hold for at least the wanted words."""
        return self._own_vocabulary

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """Find the rows with one of these keys."""
        return self._rows_of_keys(self._key_texts.places_of(keys))

    def with_words(self, wanted: Sequence[str], *, limit: int) -> list[LabelRow]:
        """Find rows that have some of these words: first those with the rarest ones and few other words."""
        return self._best_rows("word keys", self._word_texts.places_of(wanted), limit)

    def like(self, key: str, *, limit: int) -> list[LabelRow]:
        """Find rows that share trigrams with a normalised text."""
        codes = np.array(
            sorted(reduce(lambda code, own: code << _CHARACTER_BITS | ord(own), each, 0) for each in trigrams(key)),
            dtype=np.uint64,
        )
        known = self._packed.array("trigrams")
        places = np.searchsorted(known, codes)
        found = (int(at) for at, code in zip(places, codes, strict=True) if at < len(known) and known[at] == code)
        return self._best_rows("trigram keys", found, limit)

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:
        """Find the keys that are at most so many typing errors from another text, with how many: the likeliest first.

        None are found where not all labels are at hand: the text may be that of a label that is not.

        :param words: find words of the vocabulary, not keys.
        """
        return (self._word_texts if words else self._key_texts).near(text, edits=edits)

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

    def _best_rows(self, postings: str, terms: Iterable[int], limit: int) -> list[LabelRow]:
        return self._rows_of_keys(self._postings(postings).best(terms, limit, self._key_texts))[:limit]

    def _rows_of_keys(self, places: Iterable[int]) -> list[LabelRow]:
        """Read the rows of some keys, those of each in order."""
        of_keys = [np.empty(0, np.int64), *(self._packed.listed("key rows", place) for place in places)]
        rows = self._rows_at(np.concatenate(of_keys))
        return [row for _, own in groupby(rows, key=attrgetter("key")) for row in sorted(own)]

    def _rows_at(self, numbers: NDArray[np.int64]) -> Iterator[LabelRow]:
        ends = self._packed.array("row ends")
        places = zip(ends[numbers].tolist(), ends[numbers + 1].tolist(), strict=True)
        text = "".join(self._packed.text("rows", *place) for place in places)
        return map(LabelRow._make, json.loads(f"[{text[:-1]}]"))  # but for the comma at the end

    @cached_property
    def _embedded_texts(self) -> tuple[list[str], Floats]:
        """Embed the texts, which are few."""
        texts = sorted({row.text for row in self.rows()})
        return texts, cast("Embedder", self.embedder).embed(texts)

    @cached_property
    def _own_vocabulary(self) -> Vocabulary:
        about, counts = self._packed.about, _WordCounts(self._word_texts, self._packed.array("word keys starts"))
        return Vocabulary(counts, len(self._key_texts), frozenset(about["type_stems"]), about["capitals_tell"])


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
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            at, count, kind = self.about["parts"][name]
            self._arrays[name] = np.frombuffer(self._view, kind, count, at)
        return self._arrays[name]

    def text(self, name: str, start: int, end: int) -> str:
        at = self.about["parts"][name][0]
        return str(self._view[at + start : at + end], "utf-8")

    def listed(self, name: str, place: int) -> NDArray[Any]:
        """Return what belongs to one of many."""
        starts = self.array(f"{name} starts")
        return self.array(name)[starts[place] : starts[place + 1]]


class _Texts(Sequence[str]):
    """Different texts, the shortest first."""

    def __init__(self, packed: _Packed, name: str) -> None:
        self._packed = packed
        self._name = name
        self._starts = packed.array(f"{name} starts")
        self._lengths = packed.array(f"{name} lengths")
        self._hashes, self._order = packed.array(f"{name} hashes"), packed.array(f"{name} order")

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: Any) -> Any:
        return self.between(place, place + 1)[0]

    def between(self, start: int, end: int) -> list[str]:
        """List the texts from one place up to another."""
        if start >= end:
            return []
        return self._packed.text(self._name, int(self._starts[start]), int(self._starts[end]) - 1).split("\n")

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
        for text, first, last in zip(wanted, firsts.tolist(), lasts.tolist(), strict=True):
            for place in self._order[first:last].tolist():
                if self[place] == text:
                    yield place


class _WordCounts(Mapping[str, int]):
    """How many keys have each word."""

    def __init__(self, texts: _Texts, starts: NDArray[Any]) -> None:
        self._all_texts = texts
        self._starts = starts
        self._counted = lru_cache(_COUNTS_KEPT)(self._keys_with)  # each word of a question is counted many times

    def __getitem__(self, word: str) -> int:
        if count := self._counted(word):
            return count
        raise KeyError(word)

    def _keys_with(self, word: str) -> int:
        return sum(int(self._starts[at + 1] - self._starts[at]) for at in self._all_texts.places_of([word]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_texts.between(0, len(self._all_texts)))

    def __len__(self) -> int:
        return len(self._all_texts)


class _Postings:
    """Keys by the words or trigrams they have; scored by BM25, as if no key had one twice."""

    def __init__(self, packed: _Packed, name: str) -> None:
        self._keys_of = partial(packed.listed, name)
        lengths = packed.array(f"{name} lengths").astype(np.float64)
        mean = lengths.mean() if len(lengths) else 1.0
        self._weights = term_scores(1.0, 1.0, lengths, max(mean, 1e-9))

    def best(self, terms: Iterable[int], limit: int, keys: _Texts) -> list[int]:
        """Find the places of the keys that have most of these, the best first."""
        scores = np.zeros(len(keys))
        for term in terms:
            places = self._keys_of(term)
            scores[places] += inverse_frequency(len(keys), len(places))
        scores *= self._weights
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            found = found[scores[found] >= np.partition(scores[found], -limit)[-limit] - _SAME_SCORE]
        # Equal scores in the order of the keys, so that the limit cuts the same every time.
        hits = zip(scores[found].tolist(), found.tolist(), strict=True)
        return [at for _, at in sorted(hits, key=lambda hit: (-round(hit[0], 9), keys[hit[1]]))[:limit]]


# --- Writing


def packed_bytes(rows: Iterable[LabelRow]) -> memoryview:
    """Pack rows in memory."""
    stream = io.BytesIO()
    pack(rows, stream)
    return stream.getbuffer()


def pack(rows: Iterable[LabelRow], stream: BinaryIO) -> dict[str, int]:
    """Write rows and all that finds them; return how many rows and different texts there are."""
    places: dict[str, int] = {}
    of_rows, ends, texts, stems, small = array("I"), array("Q", [0]), set(), set(), 0
    for row in rows:
        quoted = ",".join(map(_QUOTED, row[:-1]))
        ends.append(ends[-1] + stream.write(f"[{quoted},{row.degree}],".encode("utf-8", "replace")))
        of_rows.append(places.setdefault(row.key, len(places)))
        texts.add(hash(row.text))
        small += row.kind == "entity" and row.text[0].islower()
        stems.update(type_stems(row))
    writer = _Writer(stream)
    writer.parts["rows"] = [0, ends[-1], "u1"]
    writer.put("row ends", np.array(ends, "<u8"))
    keys = writer.put_texts("keys", places)
    writer.put_lists(
        "key rows", _best_first(places, keys)[np.array(of_rows, np.int64)], np.arange(len(of_rows)), len(keys)
    )
    _put_words(writer, keys)
    _put_trigrams(writer, keys)
    counts = {"rows": len(of_rows), "texts": len(texts)}
    capitals_tell = small > SMALL_LETTERS * len(keys)
    about = {**counts, "type_stems": sorted(stems), "capitals_tell": capitals_tell, "parts": writer.parts}
    end = json.dumps(about).encode()
    stream.write(end + len(end).to_bytes(_LENGTH_BYTES, "little"))
    return counts


def _best_first(numbers: Mapping[str, int], ordered: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each text, by the number that it had."""
    ranks = np.empty(len(ordered), np.int64)
    ranks[np.fromiter(map(numbers.__getitem__, ordered), np.int64, len(ordered))] = np.arange(len(ordered))
    return ranks


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

    def put_texts(self, name: str, texts: Iterable[str]) -> list[str]:
        """Write texts, the shortest first; return them so."""
        ordered = sorted(texts, key=lambda text: (len(text), text))
        written = np.frombuffer("".join(f"{text}\n" for text in ordered).encode("utf-8", "replace"), "u1")
        self.put(name, written)
        self.put(f"{name} starts", np.append(0, np.flatnonzero(written == _LINE_END) + 1).astype("<u4"))
        self.put(f"{name} lengths", np.fromiter(map(len, ordered), "<u2", len(ordered)))
        hashes = np.fromiter(map(_hash_of, ordered), "<i8", len(ordered))
        order = np.argsort(hashes, kind="stable")
        self.put(f"{name} hashes", hashes[order])
        self.put(f"{name} order", order.astype("<u4"))
        return ordered

    def put_lists(self, name: str, owners: NDArray[np.int64], values: NDArray[Any], count: int) -> None:
        """Write which values belong to each of so many."""
        self.put(name, values[np.argsort(owners, kind="stable")].astype("<u4"))
        self.put(f"{name} starts", np.append(0, np.cumsum(np.bincount(owners, minlength=count))).astype("<u4"))


def _put_words(writer: _Writer, keys: Sequence[str]) -> None:
    numbers: dict[str, int] = {}
    found, own, lengths = array("I"), array("I"), array("H")
    for key in keys:
        some = words(key)
        lengths.append(len(some))
        different = set(some)
        own.append(len(different))
        found.extend(numbers.setdefault(word, len(numbers)) for word in different)
    ordered = writer.put_texts("words", numbers)
    owners = _best_first(numbers, ordered)[np.array(found, np.int64)]
    writer.put_lists("word keys", owners, np.repeat(np.arange(len(keys)), own), len(ordered))
    writer.put("word keys lengths", np.array(lengths, "<u2"))


def _put_trigrams(writer: _Writer, keys: Sequence[str]) -> None:
    some = [_trigrams_in(keys[at : at + _KEYS_AT_ONCE], at) for at in range(0, max(1, len(keys)), _KEYS_AT_ONCE)]
    codes, places = (np.concatenate(one) for one in zip(*some, strict=True))
    order = np.argsort(codes, kind="stable")
    codes, places = codes[order], places[order]
    is_new = np.append(True, (codes[1:] != codes[:-1]) | (places[1:] != places[:-1]))[: len(codes)]
    codes, places = codes[is_new], places[is_new]
    different, owners = np.unique(codes, return_inverse=True)
    writer.put("trigrams", different)
    writer.put_lists("trigram keys", owners, places, len(different))
    writer.put("trigram keys lengths", np.bincount(places, minlength=len(keys)).astype("<u2"))


def _trigrams_in(keys: Sequence[str], first: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the trigrams of keys, as numbers, and the place of the key of each; :func:`trigrams` of all at once."""
    text = "\n{}\n".format("".join(f"{key}\n" for key in keys))
    characters = np.frombuffer(text.encode("utf-32-le", "replace"), "<u4").astype(np.uint64)
    is_end = characters == _LINE_END
    is_gap = is_end | (characters == _SPACE)
    before, one, two, three = is_gap[:-3], is_gap[1:-2], is_gap[2:-1], is_gap[3:]
    code, second, third = characters[1:-2], characters[2:-1], characters[3:]
    is_long, is_pair, is_single = ~(one | two | three), before & ~(one | two) & three, before & ~one & two
    longer = is_long | is_pair
    code = np.where(longer, code << _CHARACTER_BITS | second, code)
    code = np.where(is_long, code << _CHARACTER_BITS | third, code)
    taken = longer | is_single
    return code[taken], (np.cumsum(is_end)[1:-2] - 1 + first)[taken]


def _hash_of(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))
