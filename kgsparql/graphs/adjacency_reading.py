"""Reading all triples of a graph for an adjacency: as hashes, to be sorted later, with the name of each term once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgsparql.errors import StoreError
from kgsparql.graphs.adjacency import BLANK_MARK, IRI_MARK
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI

TRIPLE = np.dtype([("subject", "<i8"), ("object", "<i8"), ("predicate", "<u4")])
"""The hashes of subject and object, and the number of the predicate."""

_CHUNK = 100_000
"""Triples that are looked at together."""
_RUN = 500_000
"""Names that are sorted together; all files of them are open when they are merged."""
_TEXT = 1 << 20
"""Bytes of the engine's output that are split together."""


class TripleReader:
    """Writes triples into files of hashes; use it as a context manager.

    Hashes have 64 bits: among a hundred million terms two have the same one with a chance of 1 in 4,000. A path that
    is wrong for this reason is not found again when evidence is verified.

    :param directory: for the files: ``edges``, whose object is an IRI or a blank node, ``literals``, and ``names``.
    :param progress: called with the number of triples that were read.
    :ivar triples: how many were read.
    """

    def __init__(self, directory: Path, progress: Callable[[int], None]) -> None:
        self.triples = 0
        self.directory = directory
        self._progress = progress
        self._open_files = ExitStack()
        self._files: list[BinaryIO] = []
        self._subjects: list[str] = []
        self._objects: list[str] = []
        self._predicates: list[int] = []
        self._seen = np.empty(0, np.int64)
        self._new_names: list[str] = []
        self._runs: list[Path] = []

    def __enter__(self) -> TripleReader:
        (self.directory / "names").mkdir(parents=True)
        self._files = [
            self._open_files.enter_context((self.directory / name).open("wb")) for name in ("edges", "literals")
        ]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._keep()
                self._keep_names()
        finally:
            with suppress(OSError) if kind is not None else nullcontext():
                self._open_files.close()

    def read_store(self, store: ox.Store, predicates: Mapping[IRI, int]) -> None:
        """Read the triples of a store, a predicate at a time: the engine looks up two terms for each, and not three.

        :param predicates: all there are, with their numbers.
        :raises StoreError: if the store cannot be read, or has triple terms, which have neighbours of their own.
        """
        for predicate, number in predicates.items():
            lines = _Lines(self, number)
            query = Query.load("adjacency_pairs").bind(predicate=[predicate])
            try:
                results: Any = store.query(query.text, use_default_graph_as_union=True)
                results.serialize(lines, ox.QueryResultsFormat.TSV)
            except (RuntimeError, ValueError, SyntaxError) as error:
                raise StoreError(f"the triples of {predicate} cannot be read: {error}") from error
            lines.split()

    def read_quads(self, quads: Iterable[ox.Quad], predicates: Mapping[IRI, int]) -> bool:
        """Read quads as a parser gives them; ``False`` for a predicate that is not known, or a blank node."""
        found = iter(quads)
        while some := list(islice(found, _CHUNK)):
            subjects, objects = [str(quad.subject) for quad in some], [str(quad.object) for quad in some]
            numbers = [predicates.get(quad.predicate, -1) for quad in some]
            if -1 in numbers or any(term.startswith("_") for terms in (subjects, objects) for term in terms):
                return False
            self.add(subjects, objects, numbers)
        return True

    def add(self, subjects: list[str], objects: list[str], predicates: list[int]) -> None:
        """Add triples: two terms each in the syntax of N-Triples or TSV, and the number of the predicate."""
        self._subjects += subjects
        self._objects += objects
        self._predicates += predicates
        self.triples += len(subjects)
        self._progress(self.triples)
        if len(self._subjects) >= _CHUNK:
            self._keep()

    def _keep(self) -> None:
        """Write the triples of a chunk, and the names of terms that are new."""
        subjects, objects, count = self._subjects, self._objects, len(self._subjects)
        triples = np.empty(count, TRIPLE)
        triples["subject"] = np.fromiter(map(hash, subjects), np.int64, count)
        triples["object"] = np.fromiter(map(hash, objects), np.int64, count)
        triples["predicate"] = self._predicates
        first = np.fromiter(map(ord, map(itemgetter(0), objects)), np.uint32, count)
        is_edge = (first == ord("<")) | (first == ord("_"))
        edges = np.flatnonzero(is_edge)
        for file, some in zip(self._files, (triples[edges], triples[~is_edge]), strict=True):
            file.write(some.tobytes())
        hashes, places = np.unique(
            np.concatenate([triples["subject"][edges], triples["object"][edges]]), return_index=True
        )
        new = ~_are_in(hashes, self._seen)
        hashes, places = hashes[new], places[new]
        as_subject = places < len(edges)
        names = [_name(subjects[i]) for i in edges[places[as_subject]].tolist()]
        names += [_name(objects[i]) for i in edges[places[~as_subject] - len(edges)].tolist()]
        self._new_names += names
        if len(self._new_names) >= _RUN:
            self._keep_names()
        self._seen = np.sort(np.concatenate([self._seen, hashes]), kind="stable")  # merges two sorted parts
        self._subjects, self._objects, self._predicates = [], [], []

    def _keep_names(self) -> None:
        self._new_names.sort()
        self._runs.append(self.directory / "names" / str(len(self._runs)))
        self._runs[-1].write_text("\n".join([*self._new_names, ""]), encoding="utf-8", newline="\n")
        self._new_names = []

    def sorted_names(self) -> Iterator[bytes]:
        """The names of all terms of edges, in order."""
        with ExitStack() as files:
            yield from map(bytes.rstrip, heapq.merge(*(files.enter_context(run.open("rb")) for run in self._runs)))


class _Lines:
    """What the engine writes about a predicate: lines with a subject and an object, below a heading."""

    def __init__(self, reader: TripleReader, predicate: int) -> None:
        self._reader = reader
        self._predicate = predicate
        self._pieces: list[bytes] = []
        self._size = 0
        self._below_heading = False

    def write(self, data: bytes) -> int:
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= _TEXT:
            self.split()
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def split(self) -> None:
        """Hand on the whole lines there are."""
        lines, _, rest = b"".join(self._pieces).rpartition(b"\n")
        self._pieces, self._size = [rest], len(rest)
        fields = lines.decode().replace("\n", "\t").split("\t") if lines else []
        if fields and not self._below_heading:
            del fields[:2]
            self._below_heading = True
        if fields:
            self._reader.add(fields[::2], fields[1::2], [self._predicate] * (len(fields) // 2))


def hash_of_name(name: bytes) -> int:
    """The hash of the term that has a name."""
    text = name[1:].decode()
    return hash(f"<{text}>" if name.startswith(IRI_MARK) else f"_:{text}")


def _name(term: str) -> str:
    """The name of an IRI or a blank node, by which it is sorted."""
    if term[0] == "_":
        return BLANK_MARK.decode() + term[2:]
    if term[1] == "<":
        raise StoreError("the graph has triple terms")
    return IRI_MARK.decode() + term[1:-1]


def _are_in(some: npt.NDArray[np.int64], sorted_: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    if not len(sorted_):
        return np.zeros(len(some), np.bool_)
    return np.asarray(sorted_[np.minimum(np.searchsorted(sorted_, some), len(sorted_) - 1)] == some)
