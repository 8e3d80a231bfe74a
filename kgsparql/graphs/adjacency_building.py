"""Building an adjacency from a store: in parts on the disk, so that the memory hardly grows with the graph."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.graphs.adjacency import IRI_MARK, IS_CLASS, MOST_DEGREE, Adjacency, Revision, open_adjacency
from kgsparql.graphs.adjacency_reading import TRIPLE, TripleReader, hash_of_name
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parse_errors import is_disk_full
from kgsparql.graphs.parsing import BlankNodes, quads
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, whole_number
from kgsparql.rdf.vocabulary import CLASS_KINDS, RDF_TYPE
from kgsparql.storage.array_file import ArrayWriter
from kgsparql.storage.files import partial_path, remove_leftovers, writer_lock
from kgsparql.storage.sorted_names import front_coded

FEWEST_TRIPLES = 100_000
"""A graph of fewer is searched by queries: they take milliseconds there."""
_WAIT_S = 600.0

_CHUNK = 250_000
"""Triples that are read from a file together."""
_BUCKET = 2_000_000
"""Neighbours that are sorted together."""

_EDGE = np.dtype([("subject", "<u4"), ("object", "<u4"), ("predicate", "<u4")])
_LITERAL = np.dtype([("subject", "<u4"), ("predicate", "<u4"), ("object", "<i8")])


def build_adjacency(graph: OxigraphGraph, *, progress: Progress | None = None) -> Adjacency | None:
    """The adjacency of a graph: the one that is kept, or a new one; ``None`` for a graph that does without.

    Another process that is building it is waited for.

    :raises StoreError: if it cannot be made, or not be kept.
    """
    revision = graph.revision
    if revision is None:
        return None
    found = graph.select(Query.load("index_predicates"))
    counts = {p: whole_number(s["triples"]) for s in found if isinstance(p := s["predicate"], IRI)}
    if sum(counts.values()) < FEWEST_TRIPLES:
        return None
    with writer_lock(revision.file, wait_s=_WAIT_S):
        kept = open_adjacency(revision)
        if kept is None:
            remove_leftovers(revision.file)
            _write(graph, revision, counts, progress)
            kept = open_adjacency(revision)
    return kept


def _write(graph: OxigraphGraph, revision: Revision, counts: Mapping[IRI, int], progress: Progress | None) -> None:
    predicates = sorted(counts, key=lambda predicate: predicate.value)
    work = partial_path(revision.file)
    try:
        reader = _read(graph, work, {predicate: n for n, predicate in enumerate(predicates)}, counts, progress)
        about = {**revision.made_of, "predicates": [predicate.value for predicate in predicates]}
        with ArrayWriter(revision.file, about) as writer:
            terms = _write_names(writer, reader)
            _write_neighbours(writer, reader.directory, terms, predicates)
    except OSError as error:
        why = "no space left on the device" if is_disk_full(error) else error.strerror or error
        raise StoreError(f"{revision.file}: cannot be written: {why}", path=str(revision.file)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _read(
    graph: OxigraphGraph,
    work: Path,
    predicates: Mapping[IRI, int],
    counts: Mapping[IRI, int],
    progress: Progress | None,
) -> TripleReader:
    """All triples: from the files that a store was filled from, where they are as they were, else from the store.

    In a store of ten million triples each term is looked up by its hash in 40 µs, and parsed in one.
    """
    total = sum(counts.values())

    def show(done: int) -> None:
        if progress is not None:
            progress("reading triples", min(done, total), total)

    if total == sum(source.triples for source in graph.stored):
        with TripleReader(work / "files", show) as reader:
            if _read_files(reader, graph.stored, predicates):
                return reader
        shutil.rmtree(work / "files")
    with TripleReader(work / "store", show) as reader:
        reader.read_store(graph.store, predicates)
    return reader


def _read_files(reader: TripleReader, sources: Iterable[StoredSource], predicates: Mapping[IRI, int]) -> bool:
    """Whether all files could be read again, and are those that were loaded."""
    for source in sources:
        if source.source == "-" or len(source.recipe) != 4:  # a fifth part is the hash of a JSON-LD context
            return False
        form, base, encoding, skip_bad = source.recipe
        file = RdfFile(source.source, Path(source.source))
        try:
            options = ReadOptions(
                format=form or None, base=base or None, encoding=encoding or None, skip_bad=bool(skip_bad)
            )
            found = quads(file, options, BlankNodes())
            if not reader.read_quads(found, predicates) or file.tally.sha256 != source.sha256:
                return False
        except (KgsparqlError, OSError):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Terms:
    """The numbers of terms by their hashes, which are sorted."""

    hashes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, hashes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """The numbers of terms, and whether each is known."""
        if not len(self):
            return np.zeros(len(hashes), np.uint32), np.zeros(len(hashes), np.bool_)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self) - 1)
        return self.numbers[places], self.hashes[places] == hashes


def _write_names(writer: ArrayWriter, reader: TripleReader) -> _Terms:
    hashes, starts, iris = array("q"), array("Q", [0]), 0

    def names() -> Iterator[bytes]:
        nonlocal iris
        for name in reader.sorted_names():
            hashes.append(hash_of_name(name))
            iris += name.startswith(IRI_MARK)
            yield name

    with writer.array("names", "|u1") as file:
        for block in front_coded(names()):
            file.write(block)
            starts.append(starts[-1] + len(block))
    writer.write("name_starts", np.frombuffer(starts, np.uint64))
    writer.about["iris"] = iris
    found = np.frombuffer(hashes, np.int64) if hashes else np.empty(0, np.int64)
    order = np.argsort(found).astype(np.uint32)
    return _Terms(found[order], order)


def _write_neighbours(writer: ArrayWriter, work: Path, terms: _Terms, predicates: list[IRI]) -> None:
    """Write the neighbours of all terms, sorted, those of some terms after those of others."""
    degrees = _number_edges(work, terms)
    _number_literals(work, terms)
    step_type = "<u2" if 2 * len(predicates) <= 1 << 16 else "<u4"
    literal_type = "<u1" if len(predicates) <= 1 << 8 else step_type
    counts, literals, described = (np.zeros(len(terms), np.int64) for _ in range(3))
    with ExitStack() as files:
        others_file = files.enter_context(writer.array("others", "<u4"))
        steps_file, literals_file = (
            files.enter_context((work / name).open("wb")) for name in ("steps", "described_by")
        )
        for low, high in _ranges(degrees):
            of, others, steps = _neighbours(work, low, high)
            counts[low:high] = np.bincount(of, minlength=high - low)
            literals[low:high], described[low:high], by = _literals(work, low, high)
            others_file.write(others.tobytes())
            steps_file.write(steps.astype(step_type).tobytes())
            literals_file.write(by.astype(literal_type).tobytes())
    for name, kind, file_name in (("steps", step_type, "steps"), ("literals", literal_type, "described_by")):
        with writer.array(name, kind) as file, (work / file_name).open("rb") as kept:
            shutil.copyfileobj(kept, file)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    writer.write("starts", starts.astype("<u4" if starts[-1] < 1 << 32 else "<u8"))
    writer.write("literal_counts", described.astype("<u1" if described.max(initial=0) < 1 << 8 else "<u4"))
    about = np.minimum(counts + literals, MOST_DEGREE).astype("<u2")
    about[_classes(work, terms, predicates)] |= IS_CLASS
    writer.write("about", about)


def _number_edges(work: Path, terms: _Terms) -> npt.NDArray[np.int64]:
    """Write the edges with numbers for hashes; returns how many each term has, repeated ones included."""
    degrees = np.zeros(len(terms), np.int64)
    with (work / "numbered").open("wb") as file:
        for chunk in _chunks(work / "edges", TRIPLE):
            edges = np.empty(len(chunk), _EDGE)
            edges["predicate"] = chunk["predicate"]
            for end in ("subject", "object"):
                edges[end] = terms.of(chunk[end])[0]
                degrees += np.bincount(edges[end], minlength=len(terms))
            file.write(edges.tobytes())
    return degrees


def _number_literals(work: Path, terms: _Terms) -> None:
    with (work / "described").open("wb") as file:
        for chunk in _chunks(work / "literals", TRIPLE):
            numbers, known = terms.of(chunk["subject"])
            found = np.empty(int(known.sum()), _LITERAL)
            found["subject"] = numbers[known]
            found["predicate"], found["object"] = chunk["predicate"][known], chunk["object"][known]
            file.write(found.tobytes())


def _classes(work: Path, terms: _Terms, predicates: list[IRI]) -> npt.NDArray[np.bool_]:
    """Which terms are classes: by declaration, or because something is an instance of them."""
    classes = np.zeros(len(terms), np.bool_)
    if RDF_TYPE in predicates:
        typing = predicates.index(RDF_TYPE)
        numbers, known = terms.of(np.array([hash(str(kind).encode()) for kind in CLASS_KINDS], np.int64))
        for edges in _chunks(work / "numbered", _EDGE):
            typed = edges[edges["predicate"] == typing]
            classes[typed["object"]] = True
            classes[typed["subject"][np.isin(typed["object"], numbers[known])]] = True
    return classes


def _ranges(degrees: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of terms, ``(from, to)``, with as many neighbours as are sorted together, or one term with more."""
    ends = np.cumsum(degrees)
    low = 0
    while low < len(degrees):
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + _BUCKET, "right")))
        yield low, high
        low = high


def _neighbours(work: Path, low: int, high: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32], npt.NDArray[Any]]:
    """Of the terms from ``low`` to ``high``: whose neighbour it is, the neighbour, the step; sorted, each once."""
    pairs, steps = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    for edges in _chunks(work / "numbered", _EDGE):
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


def _literals(
    work: Path, low: int, high: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Of the terms from ``low`` to ``high``: how many triples with a literal each has, and how many predicates of such.

    The third are these predicates, those of one term together, in order.
    """
    chunks = (c[(c["subject"] >= low) & (c["subject"] < high)] for c in _chunks(work / "described", _LITERAL))
    found = np.concatenate([np.empty(0, _LITERAL), *chunks])
    found = found[np.lexsort((found["object"], found["predicate"], found["subject"]))]
    subjects, predicates = (found["subject"] - np.uint32(low)).astype(np.int64), found["predicate"]
    new_group = np.ones(len(found), np.bool_)
    new_group[1:] = (subjects[1:] != subjects[:-1]) | (predicates[1:] != predicates[:-1])
    new = new_group.copy()
    new[1:] |= found["object"][1:] != found["object"][:-1]
    counts, described = (np.bincount(subjects[some], minlength=high - low) for some in (new, new_group))
    return counts, described, predicates[new_group]


def _chunks(path: Path, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, dtype, _CHUNK)):
            yield chunk
