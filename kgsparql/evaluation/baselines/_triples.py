"""Every triple of a graph as a text, and the triples nearest to a question: by meaning, or by common words.

Vectors are kept in the directory of the label index, below ``triples``: ``triples.jsonl`` is written first and in one
step, vectors are added to ``vectors.f32`` as they come, so that a build that was killed can go on.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsparql.evaluation.dataset import triple_of
from kgsparql.exploration import predicate_counts
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking import bm25
from kgsparql.linking.words import STOP_WORDS, root, words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Triple, normalised, printable
from kgsparql.resources import cache_directory
from kgsparql.storage.files import put_in_place, writer_lock
from kgsparql.storage.lance_tables import errors_translated

RECIPE = "triples-1"
"""Changes whenever the triples, their order or their texts would be others."""

_AT_ONCE = 256
"""Triples that are embedded together: as many are lost if the process is killed."""

_WRITTEN = 10_000
"""Triples that are written together."""

_COMPARED = 65_536
"""Vectors that are compared at a time, some 100 MB."""

_LITERAL = 200
"""Characters of a term in a text."""


class NearestTriples(Protocol):
    """An index that finds the triples nearest to a text."""

    def nearest(self, text: str, limit: int) -> list[tuple[Triple, float]]:
        """At most so many triples, the nearest first, with their scores; the same for the same text."""
        ...


def predicates_of(knowledge: KnowledgeBase) -> dict[IRI, int]:
    """The predicates whose triples are compared, with how many there are, in lexical order."""
    counted, naming = predicate_counts(knowledge.graph), knowledge.graph.naming
    named = {*naming.labels, *naming.links}  # their objects are in the texts of all other triples
    return {p: counted[p] for p in sorted(counted, key=str) if p not in named}


def size(knowledge: KnowledgeBase) -> int:
    """About how many triples are compared: those with blank nodes are counted, but not compared."""
    return sum(predicates_of(knowledge).values())


def _triples(knowledge: KnowledgeBase) -> Iterator[Triple]:
    """The triples between terms that have names, predicate by predicate, in lexical order."""
    query = Query.load("index_triples")
    for predicate in predicates_of(knowledge):
        found = knowledge.graph.select(query.bind(predicate=[predicate]))
        triples = (Triple(s["subject"], predicate, s["object"]) for s in found if isinstance(s["subject"], IRI))
        yield from sorted(triples, key=str)


def _texts(triples: Sequence[Triple], knowledge: KnowledgeBase) -> list[str]:
    """The triples in the words of their labels."""
    terms = dict.fromkeys(term for t in triples for term in (t.subject, t.predicate, t.object))
    labels = knowledge.labels(terms)
    return [" ".join(printable(labels[term], _LITERAL) for term in (t.subject, t.predicate, t.object)) for t in triples]


@dataclass(frozen=True, slots=True)
class TripleVectors:
    """The triples of a graph with the vectors of an embedder, on the disk.

    :param begins: where in the file of triples each of them begins, shape ``(n_triples,)``.
    """

    directory: Path
    embedder: Embedder
    begins: NDArray[np.int64]

    @classmethod
    def opened(cls, knowledge: KnowledgeBase, embedder: Embedder) -> TripleVectors | None:
        """The vectors of this graph, if they are there and complete."""
        directory = _directory(knowledge, embedder)
        triples, vectors = directory / "triples.jsonl", directory / "vectors.f32"
        if not triples.is_file() or not vectors.is_file():
            return None
        begins = _begins(triples)
        whole = vectors.stat().st_size == 4 * len(begins) * embedder.dimension
        return cls(directory, embedder, begins) if whole else None

    @classmethod
    def built(cls, knowledge: KnowledgeBase, embedder: Embedder) -> TripleVectors:
        """The vectors of this graph; they are made, or completed, if need be.

        :raises StoreLockedError: if another process is making them.
        """
        directory = _directory(knowledge, embedder)
        if (found := cls.opened(knowledge, embedder)) is not None:
            return found
        with writer_lock(directory):
            with errors_translated(directory):
                directory.mkdir(parents=True, exist_ok=True)
            if not (directory / "triples.jsonl").is_file():
                _write_triples(directory / "triples.jsonl", knowledge)
            made = cls(directory, embedder, _begins(directory / "triples.jsonl"))
            made._embed(knowledge)
        return made

    def _embed(self, knowledge: KnowledgeBase) -> None:
        row, total = 4 * self.embedder.dimension, len(self.begins)
        file = self.directory / "vectors.f32"
        with errors_translated(self.directory), file.open("ab") as stream:
            done = min(stream.tell() // row, total)
            stream.truncate(done * row)
        while done < total:
            some = self._triples_at(range(done, min(done + _AT_ONCE, total)))
            vectors = self.embedder.embed(_texts(some, knowledge))
            with errors_translated(self.directory), file.open("ab") as stream:
                stream.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
            done += len(some)
            if knowledge.indexes.progress is not None:
                knowledge.indexes.progress("embedding triples", done, total)

    def nearest(self, text: str, limit: int) -> list[tuple[Triple, float]]:
        """As :meth:`NearestTriples.nearest`: by the cosine of text and triple."""
        total = len(self.begins)
        if not total:
            return []
        asked = self.embedder.embed([text])[0]
        shape = total, self.embedder.dimension
        vectors = np.memmap(self.directory / "vectors.f32", dtype="<f4", mode="r", shape=shape)
        scores = np.concatenate([vectors[i : i + _COMPARED] @ asked for i in range(0, total, _COMPARED)])
        best = _best(scores, limit)
        return [(t, float(scores[i])) for t, i in zip(self._triples_at(best), best, strict=True)]

    def _triples_at(self, places: Sequence[int]) -> list[Triple]:
        found = []
        with (self.directory / "triples.jsonl").open("rb") as stream:
            for place in places:
                stream.seek(int(self.begins[place]))
                found.append(triple_of(*json.loads(stream.readline())))
        return found


def _directory(knowledge: KnowledgeBase, embedder: Embedder) -> Path:
    key = json.dumps([RECIPE, embedder.name, knowledge.languages])
    kept = knowledge.indexes.directory
    place = kept if isinstance(kept, Path) else cache_directory() / "labels" / kept.name  # files need a directory
    return place / "triples" / hashlib.sha256(key.encode()).hexdigest()[:24]


def _write_triples(file: Path, knowledge: KnowledgeBase) -> None:
    partial = file.with_suffix(".partial")
    triples = _triples(knowledge)
    with errors_translated(file.parent):
        partial.write_bytes(b"")
    while some := list(islice(triples, _WRITTEN)):
        lines = (json.dumps([str(t.subject), str(t.predicate), str(t.object)], ensure_ascii=False) for t in some)
        with errors_translated(file.parent), partial.open("a", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    with errors_translated(file.parent):
        put_in_place(partial, file)


def _begins(file: Path) -> NDArray[np.int64]:
    begins, at = array("q"), 0
    with file.open("rb") as stream:
        for line in stream:
            begins.append(at)
            at += len(line)
    return np.array(begins, dtype=np.int64)


def _best(scores: NDArray[np.floating], limit: int) -> list[int]:
    """The places of the highest scores, the best first; ties in their order.

    >>> _best(np.array([0.5, 0.9, 0.5, 0.1]), 2)
    [1, 0]
    """
    if limit < len(scores):
        least = np.partition(scores, -limit)[-limit]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")
    return [int(place) for place in places[order][:limit]]


@dataclass(frozen=True, slots=True)
class TripleWords:
    """The triples of a graph with the words of their texts, in memory: for graphs that are small.

    :param postings: for each stem the triples that have it, and how often.
    :param lengths: stems of each triple, shape ``(n_triples,)``.

    Source: Okapi BM25, as :mod:`kgsparql.linking.bm25`.
    """

    triples: tuple[Triple, ...]
    postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    lengths: NDArray[np.float64]

    @classmethod
    def built(cls, knowledge: KnowledgeBase) -> TripleWords:
        """The index of a graph."""
        found: list[Triple] = []
        postings: dict[str, tuple[array[int], array[float]]] = {}
        lengths = array("d")
        source = _triples(knowledge)
        while some := list(islice(source, _AT_ONCE)):
            for text in _texts(some, knowledge):
                counts = Counter(_stems(text))
                for stem, count in counts.items():
                    places, times = postings.setdefault(stem, (array("q"), array("d")))
                    places.append(len(lengths))
                    times.append(count)
                lengths.append(sum(counts.values()))
            found += some
        numbered = {stem: (np.array(p, np.int64), np.array(t, np.float64)) for stem, (p, t) in postings.items()}
        return cls(tuple(found), numbered, np.array(lengths, np.float64))

    def nearest(self, text: str, limit: int) -> list[tuple[Triple, float]]:
        """As :meth:`NearestTriples.nearest`; triples without any word of the text are left out."""
        scores = np.zeros(len(self.triples))
        usual = float(self.lengths.mean()) if len(self.lengths) else 1.0
        for stem in sorted(set(_stems(text))):
            if stem in self.postings:
                places, counts = self.postings[stem]
                idf = bm25.inverse_frequency(len(scores), len(places))
                norms = bm25.length_norms(self.lengths[places], usual)
                scores[places] += bm25.term_scores(idf, counts, norms)
        return [(self.triples[i], float(scores[i])) for i in _best(scores, limit) if scores[i] > 0]


def _stems(text: str) -> list[str]:
    return [root(word) for word in words(normalised(text)) if word not in STOP_WORDS["en"]]
