"""Building an adjacency from a store: in parts on the disk, so that the memory hardly grows with the graph."""

from __future__ import annotations

import heapq
import os
import shutil
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.graphs.adjacency import (
    ABOUT_FILE,
    IS_CLASS,
    MAX_DEGREE,
    MIN_TRIPLES,
    NAMES_TOGETHER,
    Adjacency,
    Revision,
    batches,
    open_adjacency,
    starts_of,
)
from kgsparql.graphs.child_process import connected_to_parent
from kgsparql.graphs.decoding import ChunkReader
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, format_of
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parsing import blank_nodes, opened, parsed_quads, quads
from kgsparql.rdf.query import Query
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

Array: TypeAlias = npt.NDArray[Any]

_WAIT_S = 600.0
# Of N-Triples that are split together.
_BLOCK_BYTES = 1 << 21
_NICE = 10  # of who builds for later: who asks now goes first
# Triples that are looked at together.
_CHUNK = 20_000
# Names that are sorted together; all files of them are open when they are merged.
_RUN = 500_000
# Neighbours that are sorted together.
_BUCKET = 2_000_000
# What the name of an IRI begins with while names are sorted, and that of a blank node with a 1: IRIs come first.
_IRI_MARK = b"0"

# The hashes of subject and object, and the number of the predicate.
_TRIPLE = np.dtype([("subject", "<i8"), ("object", "<i8"), ("predicate", "<u4")])
_EDGE = np.dtype([("subject", "<u4"), ("object", "<u4"), ("predicate", "<u4")])
_LITERAL = np.dtype([("subject", "<u4"), ("predicate", "<u4"), ("object", "<i8")])

# Subjects, predicates and objects of triples, in the syntax of N-Triples or TSV.
_Columns: TypeAlias = tuple[Sequence[bytes], Sequence[bytes], Sequence[bytes]]


class _Content(NamedTuple):
    """What an adjacency is built of: the files that a store was filled from, and the store.

    :param store: ``None`` for one in the memory of another process, or that is not filled yet.
    :param filled: waits for the end of a load that has begun, and returns the content of the store.
    """

    revision: Revision
    stored: tuple[StoredSource, ...]
    store: ox.Store | None = None
    filled: Callable[[], _Content] | None = None


def main() -> None:
    """Build an adjacency for a process that goes on meanwhile: to fill the store, then it sends a second frame."""
    (request, _), frames, _ = connected_to_parent()
    if request.get("alone"):
        os.nice(_NICE)
    try:
        content = _content_of(request)
        if request.get("is_filling"):
            filled = cache(lambda: _content_of(frames.get()[0]))
            with suppress(KgsparqlError):
                _kept_or_built(content._replace(store=None, filled=filled), None)
            content = filled()
        _kept_or_built(content, None)
    except (KgsparqlError, OSError) as error:
        sys.exit(str(error))  # the graph is searched by queries


def _content_of(request: dict[str, Any]) -> _Content:
    directory, stored = request["directory"], map(StoredSource.from_json, request["stored"])
    return _Content(
        Revision(**request["revision"]), tuple(stored), ox.Store.read_only(directory) if directory else None
    )


def build_adjacency(graph: OxigraphGraph, *, progress: Progress | None = None) -> Adjacency | None:
    """Open the adjacency of a graph that is kept, or make one; ``None`` for a graph that does without.

    Another process that is building it is waited for.

    :raises StoreError: if it cannot be made, or not be kept.
    """
    if graph.revision is None or len(graph.store) < MIN_TRIPLES:
        return None
    return _kept_or_built(_Content(graph.revision, graph.stored, graph.store), progress)


def _kept_or_built(content: _Content, progress: Progress | None) -> Adjacency | None:
    place = content.revision.directory
    with writer_lock(place, wait_s=_WAIT_S):
        kept = open_adjacency(content.revision)
        if kept is None:
            remove_leftovers(place)
            _write_adjacency(content, progress)
            kept = open_adjacency(content.revision)
    return kept


def _write_adjacency(content: _Content, progress: Progress | None) -> None:
    place = content.revision.directory
    work, made = partial_path(place), partial_path(place)
    try:
        made.mkdir(0o700)  # the graph may be private
        runs, predicates = _read_triples(content, work, progress)
        terms, iris = _write_names(made, work, runs)
        _write_neighbours(made, work, terms, predicates)
        for path in made.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        about = {"predicates": sorted(predicates), "iris": iris}
        if content.filled is not None:
            read, content = content, content.filled()
            if [source.sha256 for source in read.stored] != [source.sha256 for source in content.stored]:
                raise StoreError("is not what was loaded")
        sealed = {**content.revision.made_of, **about, "files": seals(made, sorted(made.iterdir()))}
        replace_text(made / ABOUT_FILE, sealed_json(sealed), sync=True)
        replace_directory(made, place)
    except OSError as error:
        why = "no space left on the device" if is_disk_full(error) else error.strerror or error
        raise StoreError(f"{place}: cannot be written: {why}", path=str(place)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(made, ignore_errors=True)


def _read_triples(content: _Content, work: Path, progress: Progress | None) -> tuple[list[Path], list[str]]:
    """Read all triples: from the files that a store was filled from, where they are as they were, else from the store.

    In a store of ten million triples each term is looked up by its hash in 40 µs, and parsed in one.
    """
    total = sum(source.triples for source in content.stored)
    if content.store is None:
        return _write_triples(_triples_of_files(content), work, total, progress)
    if total == len(content.store):
        with suppress(KgsparqlError, OSError):
            return _write_triples(_triples_of_files(content), work, total, progress)
        shutil.rmtree(work)
    return _write_triples(_triples_of_store(content.store, work), work, len(content.store), progress)


def _triples_of_files(content: _Content) -> Iterator[_Columns]:
    """Read the files again.

    :raises StoreError: for one that cannot be read again, or is not the one that was loaded.
    """
    nodes = blank_nodes()
    for source in content.stored:
        if source.source == "-" or len(source.recipe) != 4:  # a fifth part is the hash of a JSON-LD context
            raise StoreError("cannot be read again")
        form, base, encoding, skip_bad = (part or None for part in source.recipe)
        file = RdfFile(source.source, Path(source.source))
        options = ReadOptions(format=form, base=base, encoding=encoding, skip_bad=bool(skip_bad))
        if (
            content.store is None and content.filled is None
        ):  # in memory, the blank nodes of files have the names that they get here
            yield from _triple_lines(quads(file, options, nodes))
        else:
            with opened(file, options) as reader:
                in_lines = format_of(file, options) == ox.RdfFormat.N_TRIPLES and not skip_bad
                read = _read_lines(reader) if in_lines else _triple_lines(parsed_quads(reader, file, options))
                for columns in read:
                    if b"_" in {term[:1] for some in columns[::2] for term in some}:
                        raise StoreError("has blank nodes, which the store names in its own way")
                    yield columns
        if file.tally.digest.hexdigest() != source.sha256:
            raise StoreError("is not what was loaded")


def _triple_lines(quads: Iterator[ox.Quad]) -> Iterator[_Columns]:
    """Write quads as text, which the engine does in half the time that it takes to ask it for their terms."""
    triples = map(attrgetter("triple"), quads)
    while text := ox.serialize(islice(triples, _CHUNK), format=ox.RdfFormat.N_TRIPLES):
        yield _columns_of(text.split(b" .\n")[:-1])


def _columns_of(lines: Iterable[bytes]) -> _Columns:
    subjects, predicates, objects = zip(*(line.split(b" ", 2) for line in lines), strict=True)
    return subjects, predicates, objects


def _read_lines(reader: ChunkReader) -> Iterator[_Columns]:
    """Read N-Triples that were loaded: lines as the engine writes them are only split; it parses others."""
    blocks, size, rest = list[bytes](), 0, b""
    while data := reader.read():
        blocks.append(data)
        size += len(data)
        if size > _BLOCK_BYTES:
            block, end, rest = (rest + b"".join(blocks)).rpartition(b"\n")
            blocks, size = [], 0
            yield from _columns_of_lines(block + end)
    yield from _columns_of_lines(rest + b"".join(blocks))


def _columns_of_lines(text: bytes) -> Iterator[_Columns]:
    *lines, rest = text.split(b" .\n")
    if not rest and not any(mark in text for mark in (b"\t", b"\\u", b"\\U")) and text.count(b"\n") == len(lines):
        with suppress(ValueError):  # of a line that has not three parts
            subjects, predicates, objects = columns = _columns_of(lines)
            ends = {term[:1] + (term[-1:] if term.startswith(b"<") else b"") for term in objects}
            if (
                {term[:1] for term in subjects} <= {b"<", b"_"}
                and ends <= {b"<>", b"_", b'"'}
                and all(term.startswith(b"<") and term.find(b">") == len(term) - 1 for term in set(predicates))
            ):
                yield columns
                return
    yield from _triple_lines(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))


def _triples_of_store(store: ox.Store, work: Path) -> Iterator[_Columns]:
    """Read the triples of a store, a predicate at a time: the engine looks up two terms for each, and not three.

    :raises StoreError: if the store cannot be read.
    """
    path = work / "pairs.tsv"
    try:
        found: Any = store.query(Query.load("index_predicates").text, use_default_graph_as_union=True)
        for predicate in [solution["predicate"] for solution in found]:
            query, text = Query.load("adjacency_pairs").bind(predicate=[predicate]), str(predicate).encode()
            results: Any = store.query(query.text, use_default_graph_as_union=True)
            results.serialize(path, ox.QueryResultsFormat.TSV)
            with path.open("rb") as lines:
                next(lines)
                while some := list(islice(lines, _CHUNK)):
                    subjects, objects = zip(*(line.rstrip(b"\n").split(b"\t") for line in some), strict=True)
                    yield subjects, [text] * len(some), objects
    except (RuntimeError, ValueError, SyntaxError) as error:
        raise StoreError(f"the triples cannot be read: {error}") from error


def _write_triples(
    triples: Iterator[_Columns], work: Path, total: int, progress: Progress | None
) -> tuple[list[Path], list[str]]:
    """Write triples as hashes: ``edges``, whose object is an IRI or a blank node, and ``literals``.

    Hashes have 64 bits: among a hundred million terms two have the same one with a chance of 1 in 4,000. A path that
    is wrong for this reason is not found again when evidence is verified.

    :return: files with the sorted names of the terms, each once in all files; the predicates in the order of their
        numbers.
    """
    work.mkdir(0o700)
    seen, new_names, runs, done = np.empty(0, np.int64), list[bytes](), list[Path](), 0
    numbers: dict[bytes, int] = {}

    def write_names() -> None:
        runs.append(work / f"names-{len(runs)}")
        runs[-1].write_bytes(b"\n".join([*sorted(new_names), b""]))
        new_names.clear()

    with (work / "edges").open("wb") as edge_file, (work / "literals").open("wb") as literal_file:
        for subjects, predicates, objects in triples:
            chunk = np.empty(len(subjects), _TRIPLE)
            chunk["subject"] = np.fromiter(map(hash, subjects), np.int64, len(chunk))
            chunk["object"] = np.fromiter(map(hash, objects), np.int64, len(chunk))
            chunk["predicate"] = [numbers.setdefault(predicate, len(numbers)) for predicate in predicates]
            is_edge = np.array([term[0] in b"<_" for term in objects])
            chunk[is_edge].tofile(edge_file)
            chunk[~is_edge].tofile(literal_file)
            ends = [*subjects, *compress(objects, is_edge)]
            hashes, places = np.unique(np.append(chunk["subject"], chunk["object"][is_edge]), return_index=True)
            new = ~_Terms(seen, seen).of(hashes)[1]
            new_names += [_sort_name(ends[place]) for place in places[new].tolist()]
            if len(new_names) >= _RUN:
                write_names()
            seen = np.sort(np.concatenate([seen, hashes[new]]), kind="stable")  # merges two sorted parts
            done += len(chunk)
            if progress is not None:
                progress("reading triples", min(done, total), total)
        write_names()
    return runs, [predicate[1:-1].decode() for predicate in numbers]


def _sort_name(term: bytes) -> bytes:
    if term.startswith(b"<<"):
        raise StoreError("the graph has triple terms")
    return b"1" + term[2:] if term.startswith(b"_") else b"0" + term[1:-1]


class _Terms(NamedTuple):
    """The numbers of terms by their hashes, which are sorted."""

    hashes: Array
    numbers: Array

    def of(self, hashes: Array) -> tuple[Array, Array]:
        """Look up the numbers of terms, and whether each is known."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.uint32), np.zeros(len(hashes), np.bool_)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return self.numbers[places], self.hashes[places] == hashes


def _mapped_array(path: Path, dtype: npt.DTypeLike) -> Array:
    """Map what was written in parts, in place of reading it."""
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)


def _starts_of_counts(counts: Array) -> Array:
    """Say where the values of each term begin among all, in as few bytes as hold the last number."""
    starts = np.append(np.uint64(0), np.cumsum(counts, dtype=np.uint64))
    return starts.astype("<u4" if starts[-1] < 1 << 32 else "<u8")


def _write_names(made: Path, work: Path, runs: Iterable[Path]) -> tuple[_Terms, int]:
    """Write the names of all terms; returns their numbers, and how many are IRIs."""
    hashes, lengths, iris, block = array("q"), array("L"), 0, list[bytes]()

    def write_block() -> None:
        low, high = min(block), max(block)
        same = next((i for i, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
        lengths.append(file.write(b"\n".join([low[:same], *(name[same:] for name in block)])))
        block.clear()

    with (work / "all_names").open("wb") as file, ExitStack() as files:
        for line in heapq.merge(*(files.enter_context(run.open("rb")) for run in runs)):
            name, is_iri = line[1:].rstrip(), line.startswith(_IRI_MARK)
            hashes.append(hash(b"<%b>" % name if is_iri else b"_:" + name))
            iris += is_iri
            if len(block) == NAMES_TOGETHER:
                write_block()
            block.append(name)
        if block:  # a graph may be empty
            write_block()
    np.save(made / "names", _mapped_array(work / "all_names", "|u1"))
    np.save(made / "name_starts", _starts_of_counts(np.array(lengths, np.int64)))
    found = np.array(hashes, np.int64)
    order = np.argsort(found).astype(np.uint32)
    return _Terms(found[order], order), iris


def _write_neighbours(made: Path, work: Path, terms: _Terms, predicates: list[str]) -> None:
    """Write the neighbours of all terms, sorted, those of some terms after those of others."""
    ranks = np.argsort(np.argsort(np.array(predicates, object)))
    degrees = _number_triples(work, terms, ranks)
    edges, described = _mapped_array(work / "numbered", _EDGE), _mapped_array(work / "described", _LITERAL)
    step_type = next(kind for kind in ("|u1", "<u2", "<u4") if 2 * len(predicates) <= 1 << 8 * int(kind[-1]))
    types = {"others": "<u4", "steps": step_type, "literals": step_type}
    counts, literals, literal_steps = (np.zeros(len(degrees), np.int64) for _ in range(3))
    with ExitStack() as files:
        opened = {name: files.enter_context((work / f"all_{name}").open("wb")) for name in types}
        for some in batches(degrees, _BUCKET):
            of, others, steps = _sorted_neighbours(edges, some)
            counts[some] = np.bincount(of, minlength=some.stop - some.start)
            literals[some], literal_steps[some], by = _sorted_literals(described, some)
            for name, values in (("others", others), ("steps", steps), ("literals", by)):
                values.astype(types[name]).tofile(opened[name])
    for name, dtype in types.items():
        np.save(made / name, _mapped_array(work / f"all_{name}", dtype))
    np.save(made / "starts", _starts_of_counts(counts))
    np.save(made / "literal_starts", _starts_of_counts(literal_steps))
    about = np.minimum(counts + literals, MAX_DEGREE).astype("<u2")
    if RDF_TYPE.value in predicates:
        typed = edges[edges["predicate"] == ranks[predicates.index(RDF_TYPE.value)]]
        numbers, known = terms.of(np.array([hash(str(kind).encode()) for kind in CLASS_KINDS], np.int64))
        classes = np.append(typed["object"], typed["subject"][np.isin(typed["object"], numbers[known])])
        about[np.unique(classes)] |= IS_CLASS
    np.save(made / "about", about)


def _number_triples(work: Path, terms: _Terms, ranks: Array) -> Array:
    """Write the triples with numbers for hashes; returns how many edges each term has, repeated ones included.

    :param ranks: of the predicates, in lexical order.
    """
    degrees = np.zeros(len(terms.hashes), np.int64)
    with (work / "numbered").open("wb") as file:
        for chunk in _read_chunks(work / "edges"):
            edges = np.empty(len(chunk), _EDGE)
            edges["predicate"] = ranks[chunk["predicate"]]
            for end in ("subject", "object"):
                edges[end] = terms.of(chunk[end])[0]
                degrees += np.bincount(edges[end], minlength=len(degrees))
            edges.tofile(file)
    with (work / "described").open("wb") as file:
        for chunk in _read_chunks(work / "literals"):
            found = np.empty(len(chunk), _LITERAL)
            found["subject"], found["object"] = terms.of(chunk["subject"])[0], chunk["object"]
            found["predicate"] = ranks[chunk["predicate"]]
            found.tofile(file)
    return degrees


def _sorted_neighbours(edges: Array, some: slice) -> tuple[Array, Array, Array]:
    """Sort, of some terms: whose neighbour it is, the neighbour, the step; each once."""
    pairs, steps = [], []
    for inverse, (here, there) in enumerate((("subject", "object"), ("object", "subject"))):
        mine = edges[(edges[here] >= some.start) & (edges[here] < some.stop)]
        pairs.append(_packed_pairs(mine[here] - some.start, mine[there]))
        steps.append(2 * mine["predicate"] + inverse)
    pair, step = _distinct_rows(np.concatenate(pairs), np.concatenate(steps))
    return (pair >> 32).astype(np.int64), pair.astype(np.uint32), step


def _sorted_literals(described: Array, some: slice) -> tuple[Array, Array, Array]:
    """Count, of some terms, the triples with a literal of each, and the predicates of such.

    The third are these predicates, those of one term together, in order.
    """
    mine = described[(described["subject"] >= some.start) & (described["subject"] < some.stop)]
    pair, _ = _distinct_rows(_packed_pairs(mine["subject"] - some.start, mine["predicate"]), mine["object"])
    groups = pair[starts_of(pair)]
    counts, steps = (
        np.bincount((own >> 32).astype(np.int64), minlength=some.stop - some.start) for own in (pair, groups)
    )
    return counts, steps, groups.astype(np.uint32)


def _packed_pairs(first: Array, second: Array) -> Array:
    """Make one number of two, which sorts by the first."""
    return first.astype(np.uint64) << np.uint64(32) | second


def _distinct_rows(*columns: Array) -> list[Array]:
    """Sort rows by their columns, and keep each once."""
    order = np.lexsort(columns[::-1])
    columns = tuple(column[order] for column in columns)
    new = starts_of(*columns)
    return [column[new] for column in columns]


def _read_chunks(path: Path) -> Iterator[Array]:
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, _TRIPLE, _CHUNK)):
            yield chunk


if __name__ == "__main__":
    main()
