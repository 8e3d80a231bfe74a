"""Building an adjacency from a store: in parts on the disk, so that the memory hardly grows with the graph."""

from __future__ import annotations

import heapq
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.graphs.adjacency import ABOUT_FILE, IS_CLASS, MAX_DEGREE, Adjacency, Revision, open_adjacency
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parsing import BlankNodes, quads
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, whole_number
from kgsparql.rdf.vocabulary import CLASS_KINDS, RDF_TYPE
from kgsparql.storage.files import (
    is_disk_full,
    partial_path,
    remove_leftovers,
    replace_directory,
    replace_text,
    sealed_json,
    seals,
    writer_lock,
)

MIN_TRIPLES = 100_000
"""A graph of fewer is searched by queries: they take milliseconds there."""
_WAIT_S = 600.0
_CHUNK = 100_000
"""Triples that are looked at together."""
_RUN = 500_000
"""Names that are sorted together; all files of them are open when they are merged."""
_TEXT = 1 << 20
"""Bytes of the engine's output that are split together."""
_BUCKET = 2_000_000
"""Neighbours that are sorted together."""
_IRI_MARK = b"0"
"""What the name of an IRI begins with while names are sorted, and that of a blank node with a 1: IRIs come first."""

_TRIPLE = np.dtype([("subject", "<i8"), ("object", "<i8"), ("predicate", "<u4")])
"""The hashes of subject and object, and the number of the predicate."""
_EDGE = np.dtype([("subject", "<u4"), ("object", "<u4"), ("predicate", "<u4")])
_LITERAL = np.dtype([("subject", "<u4"), ("predicate", "<u4"), ("object", "<i8")])


def build_adjacency(graph: OxigraphGraph, *, progress: Progress | None = None) -> Adjacency | None:
    """Open the adjacency of a graph that is kept, or make one; ``None`` for a graph that does without.

    Another process that is building it is waited for.

    :raises StoreError: if it cannot be made, or not be kept.
    """
    revision = graph.revision
    if revision is None:
        return None
    found = graph.select(Query.load("index_predicates"))
    counts = {p: whole_number(s["triples"]) for s in found if isinstance(p := s["predicate"], IRI)}
    if sum(counts.values()) < MIN_TRIPLES:
        return None
    with writer_lock(revision.directory, wait_s=_WAIT_S):
        kept = open_adjacency(revision)
        if kept is None:
            remove_leftovers(revision.directory)
            _write_adjacency(graph, revision, counts, progress)
            kept = open_adjacency(revision)
    return kept


def _write_adjacency(
    graph: OxigraphGraph, revision: Revision, counts: Mapping[IRI, int], progress: Progress | None
) -> None:
    predicates = sorted(counts, key=lambda predicate: predicate.value)
    work, made = partial_path(revision.directory), partial_path(revision.directory)
    try:
        made.mkdir()
        reader = _read_triples(graph, work, {predicate: n for n, predicate in enumerate(predicates)}, counts, progress)
        terms, iris = _write_names(made, reader)
        _write_neighbours(made, reader.directory, terms, predicates)
        about = {"predicates": [predicate.value for predicate in predicates], "iris": iris}
        sealed = {**revision.made_of, **about, "files": seals(made, sorted(made.iterdir()))}
        replace_text(made / ABOUT_FILE, sealed_json(sealed), sync=True)
        replace_directory(made, revision.directory)
    except OSError as error:
        why = "no space left on the device" if is_disk_full(error) else error.strerror or error
        place = str(revision.directory)
        raise StoreError(f"{place}: cannot be written: {why}", path=place) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(made, ignore_errors=True)


def _read_triples(
    graph: OxigraphGraph,
    work: Path,
    predicates: Mapping[IRI, int],
    counts: Mapping[IRI, int],
    progress: Progress | None,
) -> TripleReader:
    """Read all triples: from the files that a store was filled from, where they are as they were, else from the store.

    In a store of ten million triples each term is looked up by its hash in 40 µs, and parsed in one.
    """
    total = sum(counts.values())
    if total == sum(source.triples for source in graph.stored):
        with TripleReader(work / "files", total, progress) as reader:
            if _read_files(reader, graph.stored, predicates):
                return reader
        shutil.rmtree(work / "files")
    with TripleReader(work / "store", total, progress) as reader:
        reader.read_store(graph.store, predicates)
    return reader


def _read_files(reader: TripleReader, sources: Iterable[StoredSource], predicates: Mapping[IRI, int]) -> bool:
    """Read the files again; ``False`` if one cannot be, or is not the one that was loaded."""
    for source in sources:
        if source.source == "-" or len(source.recipe) != 4:  # a fifth part is the hash of a JSON-LD context
            return False
        form, base, encoding, skip_bad = (part or None for part in source.recipe)
        file = RdfFile(source.source, Path(source.source))
        try:
            options = ReadOptions(format=form, base=base, encoding=encoding, skip_bad=bool(skip_bad))
            found = quads(file, options, BlankNodes())
            if not reader.read_quads(found, predicates) or file.tally.sha256 != source.sha256:
                return False
        except (KgsparqlError, OSError):
            return False
    return True


class TripleReader:
    """Writes triples into files of hashes; use it as a context manager.

    Hashes have 64 bits: among a hundred million terms two have the same one with a chance of 1 in 4,000. A path that
    is wrong for this reason is not found again when evidence is verified.

    :param directory: for the files: ``edges``, whose object is an IRI or a blank node, ``literals``, and ``names``.
    :param total: the number of triples, for the progress.
    """

    def __init__(self, directory: Path, total: int, progress: Progress | None) -> None:
        self.directory = directory
        self._total, self._progress, self._done = total, progress, 0
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
        paths = (self.directory / name for name in ("edges", "literals"))
        self._files = [self._open_files.enter_context(path.open("wb")) for path in paths]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._write_chunk()
                self._write_names()
        finally:
            with suppress(OSError) if kind is not None else nullcontext():
                self._open_files.close()

    def read_store(self, store: ox.Store, predicates: Mapping[IRI, int]) -> None:
        """Read the triples of a store, a predicate at a time: the engine looks up two terms for each, and not three.

        :param predicates: all there are, with their numbers.
        :raises StoreError: if the store cannot be read, or has triple terms, which have neighbours of their own.
        """
        for predicate, number in predicates.items():
            lines = _PairLines(self, number)
            query = Query.load("adjacency_pairs").bind(predicate=[predicate])
            try:
                results: Any = store.query(query.text, use_default_graph_as_union=True)
                results.serialize(lines, ox.QueryResultsFormat.TSV)
            except (RuntimeError, ValueError, SyntaxError) as error:
                raise StoreError(f"the triples of {predicate} cannot be read: {error}") from error
            lines.flush_lines()

    def read_quads(self, found: Iterator[ox.Quad], predicates: Mapping[IRI, int]) -> bool:
        """Read quads as a parser gives them; ``False`` for a predicate that is not known, or a blank node."""
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
        self._done += len(subjects)
        if self._progress is not None:
            self._progress("reading triples", min(self._done, self._total), self._total)
        if len(self._subjects) >= _CHUNK:
            self._write_chunk()

    def _write_chunk(self) -> None:
        """Write the triples of a chunk, and the names of terms that are new."""
        subjects, objects, count = self._subjects, self._objects, len(self._subjects)
        triples = np.empty(count, _TRIPLE)
        triples["subject"] = np.fromiter(map(hash, subjects), np.int64, count)
        triples["object"] = np.fromiter(map(hash, objects), np.int64, count)
        triples["predicate"] = self._predicates
        first = np.fromiter(map(ord, map(itemgetter(0), objects)), np.uint32, count)
        is_edge = (first == ord("<")) | (first == ord("_"))
        edges = np.flatnonzero(is_edge)
        for file, some in zip(self._files, (triples[edges], triples[~is_edge]), strict=True):
            some.tofile(file)
        both = np.concatenate([triples["subject"][edges], triples["object"][edges]])
        hashes, places = np.unique(both, return_index=True)
        new = ~_are_in(hashes, self._seen)
        hashes, places = hashes[new], places[new]
        as_subject = places < len(edges)
        self._new_names += [_sort_name(subjects[i]) for i in edges[places[as_subject]].tolist()]
        self._new_names += [_sort_name(objects[i]) for i in edges[places[~as_subject] - len(edges)].tolist()]
        if len(self._new_names) >= _RUN:
            self._write_names()
        self._seen = np.sort(np.concatenate([self._seen, hashes]), kind="stable")  # merges two sorted parts
        self._subjects, self._objects, self._predicates = [], [], []

    def _write_names(self) -> None:
        self._new_names.sort()
        self._runs.append(self.directory / "names" / str(len(self._runs)))
        self._runs[-1].write_text("\n".join([*self._new_names, ""]), encoding="utf-8", newline="\n")
        self._new_names = []

    def sorted_names(self) -> Iterator[bytes]:
        """Yield the names of all terms of edges in order, each with its mark."""
        with ExitStack() as files:
            yield from map(bytes.rstrip, heapq.merge(*(files.enter_context(run.open("rb")) for run in self._runs)))


class _PairLines:
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
            self.flush_lines()
        return len(data)

    def flush(self) -> None:
        """Hold nothing back."""

    def flush_lines(self) -> None:
        """Hand on the whole lines there are."""
        lines, _, rest = b"".join(self._pieces).rpartition(b"\n")
        self._pieces, self._size = [rest], len(rest)
        fields = lines.decode().replace("\n", "\t").split("\t") if lines else []
        if fields and not self._below_heading:
            del fields[:2]
            self._below_heading = True
        if fields:
            self._reader.add(fields[::2], fields[1::2], [self._predicate] * (len(fields) // 2))


def _sort_name(term: str) -> str:
    if term[0] == "_":
        return f"1{term[2:]}"
    if term[1] == "<":
        raise StoreError("the graph has triple terms")
    return f"0{term[1:-1]}"


def _are_in(some: npt.NDArray[np.int64], ordered: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(some), np.bool_)
    return np.asarray(ordered[np.minimum(np.searchsorted(ordered, some), len(ordered) - 1)] == some)


@dataclass(frozen=True, slots=True)
class _Terms:
    """The numbers of terms by their hashes, which are sorted."""

    hashes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, hashes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """Look up the numbers of terms, and whether each is known."""
        if not len(self):
            return np.zeros(len(hashes), np.uint32), np.zeros(len(hashes), np.bool_)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self) - 1)
        return self.numbers[places], self.hashes[places] == hashes


def _save_array(made: Path, name: str, values: npt.NDArray[Any]) -> None:
    with (made / f"{name}.npy").open("wb") as file:
        np.save(file, values)
        file.flush()
        os.fsync(file.fileno())


def _save_written(made: Path, name: str, written: Path, dtype: str) -> None:
    """Save what was written in parts; it is mapped, not read."""
    _save_array(made, name, np.memmap(written, dtype, "r") if written.stat().st_size else np.empty(0, dtype))


def _starts_of_counts(counts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Say where the values of each term begin among all, in as few bytes as hold the last number."""
    ends = np.cumsum(counts, dtype=np.uint64)
    starts = np.concatenate([np.zeros(1, np.uint64), ends])
    return starts.astype("<u4" if starts[-1] < 1 << 32 else "<u8")


def _write_names(made: Path, reader: TripleReader) -> tuple[_Terms, int]:
    """Write the names of all terms; returns their numbers, and how many are IRIs."""
    hashes, lengths, iris = array("q"), array("L"), 0
    written = reader.directory / "all_names"
    with written.open("wb") as file:
        for marked in reader.sorted_names():
            name, is_iri = marked[1:], marked.startswith(_IRI_MARK)
            hashes.append(hash(f"<{name.decode()}>" if is_iri else f"_:{name.decode()}"))
            lengths.append(len(name))
            iris += is_iri
            file.write(name)
    _save_written(made, "names", written, "|u1")
    _save_array(made, "name_starts", _starts_of_counts(np.array(lengths, np.int64)))
    found = np.array(hashes, np.int64)
    order = np.argsort(found).astype(np.uint32)
    return _Terms(found[order], order), iris


def _write_neighbours(made: Path, work: Path, terms: _Terms, predicates: list[IRI]) -> None:
    """Write the neighbours of all terms, sorted, those of some terms after those of others."""
    degrees = _number_edges(work, terms)
    _number_literals(work, terms)
    step_type = "<u2" if 2 * len(predicates) <= 1 << 16 else "<u4"
    literal_type = "|u1" if len(predicates) <= 1 << 8 else step_type
    types = {"others": "<u4", "steps": step_type, "literals": literal_type}
    counts, literals, described = (np.zeros(len(terms), np.int64) for _ in range(3))
    out = work / "out"
    out.mkdir()
    with ExitStack() as files:
        opened = {name: files.enter_context((out / name).open("wb")) for name in types}
        for low, high in _term_ranges(degrees):
            of, others, steps = _sorted_neighbours(work, low, high)
            counts[low:high] = np.bincount(of, minlength=high - low)
            literals[low:high], described[low:high], by = _sorted_literals(work, low, high)
            for name, values in (("others", others), ("steps", steps), ("literals", by)):
                values.astype(types[name]).tofile(opened[name])
    for name, dtype in types.items():
        _save_written(made, name, out / name, dtype)
    _save_array(made, "starts", _starts_of_counts(counts))
    _save_array(made, "literal_starts", _starts_of_counts(described))
    about = np.minimum(counts + literals, MAX_DEGREE).astype("<u2")
    about[_mark_classes(work, terms, predicates)] |= IS_CLASS
    _save_array(made, "about", about)


def _number_edges(work: Path, terms: _Terms) -> npt.NDArray[np.int64]:
    """Write the edges with numbers for hashes; returns how many each term has, repeated ones included."""
    degrees = np.zeros(len(terms), np.int64)
    with (work / "numbered").open("wb") as file:
        for chunk in _read_chunks(work / "edges", _TRIPLE):
            edges = np.empty(len(chunk), _EDGE)
            edges["predicate"] = chunk["predicate"]
            for end in ("subject", "object"):
                edges[end] = terms.of(chunk[end])[0]
                degrees += np.bincount(edges[end], minlength=len(terms))
            edges.tofile(file)
    return degrees


def _number_literals(work: Path, terms: _Terms) -> None:
    with (work / "described").open("wb") as file:
        for chunk in _read_chunks(work / "literals", _TRIPLE):
            numbers, known = terms.of(chunk["subject"])
            found = np.empty(int(known.sum()), _LITERAL)
            found["subject"] = numbers[known]
            found["predicate"], found["object"] = chunk["predicate"][known], chunk["object"][known]
            found.tofile(file)


def _mark_classes(work: Path, terms: _Terms, predicates: list[IRI]) -> npt.NDArray[np.bool_]:
    """Mark which terms are classes: by declaration, or because something is an instance of them."""
    classes = np.zeros(len(terms), np.bool_)
    if RDF_TYPE in predicates:
        typing = predicates.index(RDF_TYPE)
        numbers, known = terms.of(np.array([hash(str(kind)) for kind in CLASS_KINDS], np.int64))
        for edges in _read_chunks(work / "numbered", _EDGE):
            typed = edges[edges["predicate"] == typing]
            classes[typed["object"]] = True
            classes[typed["subject"][np.isin(typed["object"], numbers[known])]] = True
    return classes


def _term_ranges(degrees: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of terms, ``(from, to)``, with as many neighbours as are sorted together, or one term with more."""
    ends = np.cumsum(degrees)
    low = 0
    while low < len(degrees):
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + _BUCKET, "right")))
        yield low, high
        low = high


def _sorted_neighbours(
    work: Path, low: int, high: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32], npt.NDArray[Any]]:
    """Sort, of the terms from ``low`` to ``high``: whose neighbour it is, the neighbour, the step; each once."""
    pairs, steps = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    for edges in _read_chunks(work / "numbered", _EDGE):
        for inverse, (here, there) in enumerate((("subject", "object"), ("object", "subject"))):
            mine = edges[(edges[here] >= low) & (edges[here] < high)]
            pairs.append((mine[here] - np.uint32(low)).astype(np.uint64) << np.uint64(32) | mine[there])
            steps.append(2 * mine["predicate"] + np.uint32(inverse))
    pair, step = np.concatenate(pairs), np.concatenate(steps)
    order = np.lexsort((step, pair))
    pair, step = pair[order], step[order]
    new = np.ones(len(pair), np.bool_)
    new[1:] = (pair[1:] != pair[:-1]) | (step[1:] != step[:-1])
    pair = pair[new]
    return (pair >> np.uint64(32)).astype(np.int64), pair.astype(np.uint32), step[new]


def _sorted_literals(
    work: Path, low: int, high: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Count, of the terms from ``low`` to ``high``, the triples with a literal of each, and the predicates of such.

    The third are these predicates, those of one term together, in order.
    """
    chunks = (c[(c["subject"] >= low) & (c["subject"] < high)] for c in _read_chunks(work / "described", _LITERAL))
    found = np.concatenate([np.empty(0, _LITERAL), *chunks])
    found = found[np.lexsort((found["object"], found["predicate"], found["subject"]))]
    subjects, predicates = (found["subject"] - np.uint32(low)).astype(np.int64), found["predicate"]
    new_group = np.ones(len(found), np.bool_)
    new_group[1:] = (subjects[1:] != subjects[:-1]) | (predicates[1:] != predicates[:-1])
    new = new_group.copy()
    new[1:] |= found["object"][1:] != found["object"][:-1]
    counts, described = (np.bincount(subjects[some], minlength=high - low) for some in (new, new_group))
    return counts, described, predicates[new_group]


def _read_chunks(path: Path, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, dtype, _CHUNK)):
            yield chunk
