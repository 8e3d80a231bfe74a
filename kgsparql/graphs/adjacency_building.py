"""Building an adjacency from a store: in parts on the disk, so that the memory hardly grows with the graph."""

from __future__ import annotations

import heapq
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import compress, islice
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
    Adjacency,
    Revision,
    batches,
    open_adjacency,
    starts_of,
)
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions
from kgsparql.graphs.manifest import StoredSource
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.parsing import blank_nodes, quads
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

Array: TypeAlias = npt.NDArray[Any]

# A graph of fewer is searched by queries: they take milliseconds there.
MIN_TRIPLES = 100_000
_WAIT_S = 600.0
# Triples that are looked at together.
_CHUNK = 100_000
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

# Subject and object in the syntax of N-Triples or TSV, and the number of the predicate.
_TripleText: TypeAlias = tuple[str, str, int]


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
        made.mkdir(0o700)  # the graph may be private
        runs = _read_triples(graph, work, {predicate: n for n, predicate in enumerate(predicates)}, counts, progress)
        terms, iris = _write_names(made, work, runs)
        _write_neighbours(made, work, terms, predicates)
        for path in made.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
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
    graph: OxigraphGraph, work: Path, predicates: Mapping[IRI, int], counts: Mapping[IRI, int],
    progress: Progress | None,
) -> list[Path]:  # fmt: skip
    """Read all triples: from the files that a store was filled from, where they are as they were, else from the store.

    In a store of ten million triples each term is looked up by its hash in 40 µs, and parsed in one.
    """
    total = sum(counts.values())
    if total == sum(source.triples for source in graph.stored):
        with suppress(KgsparqlError, OSError):
            return _write_triples(_triples_of_files(graph.stored, predicates), work, total, progress)
        shutil.rmtree(work)
    return _write_triples(_triples_of_store(graph.store, predicates, work), work, total, progress)


def _triples_of_files(sources: Iterable[StoredSource], predicates: Mapping[IRI, int]) -> Iterator[_TripleText]:
    """Read the files again.

    :raises StoreError: for one that cannot be read again, or is not the one that was loaded.
    """
    for source in sources:
        if source.source == "-" or len(source.recipe) != 4:  # a fifth part is the hash of a JSON-LD context
            raise StoreError("cannot be read again")
        form, base, encoding, skip_bad = (part or None for part in source.recipe)
        file = RdfFile(source.source, Path(source.source))
        options = ReadOptions(format=form, base=base, encoding=encoding, skip_bad=bool(skip_bad))
        for quad in quads(file, options, blank_nodes()):
            subject, object_, number = str(quad.subject), str(quad.object), predicates.get(quad.predicate)
            if number is None or subject[0] == "_" or object_[0] == "_":
                raise StoreError("is not what was loaded, or has blank nodes, which the store names in its own way")
            yield subject, object_, number
        if file.tally.digest.hexdigest() != source.sha256:
            raise StoreError("is not what was loaded")


def _triples_of_store(store: ox.Store, predicates: Mapping[IRI, int], work: Path) -> Iterator[_TripleText]:
    """Read the triples of a store, a predicate at a time: the engine looks up two terms for each, and not three.

    :raises StoreError: if the store cannot be read.
    """
    path = work / "pairs.tsv"
    for predicate, number in predicates.items():
        query = Query.load("adjacency_pairs").bind(predicate=[predicate])
        try:
            results: Any = store.query(query.text, use_default_graph_as_union=True)
            results.serialize(path, ox.QueryResultsFormat.TSV)
        except (RuntimeError, ValueError, SyntaxError) as error:
            raise StoreError(f"the triples of {predicate} cannot be read: {error}") from error
        with path.open(encoding="utf-8", newline="\n") as lines:
            next(lines)
            for line in lines:
                subject, _, object_ = line.partition("\t")
                yield subject, object_.rstrip("\n"), number


def _write_triples(triples: Iterator[_TripleText], work: Path, total: int, progress: Progress | None) -> list[Path]:
    """Write triples as hashes: ``edges``, whose object is an IRI or a blank node, and ``literals``.

    Hashes have 64 bits: among a hundred million terms two have the same one with a chance of 1 in 4,000. A path that
    is wrong for this reason is not found again when evidence is verified.

    :return: files with the sorted names of the terms of edges, each once in all files.
    """
    work.mkdir(0o700)
    seen, new_names, runs, done = np.empty(0, np.int64), list[str](), list[Path](), 0

    def write_names() -> None:
        runs.append(work / f"names-{len(runs)}")
        runs[-1].write_text("\n".join([*sorted(new_names), ""]), encoding="utf-8", newline="\n")
        new_names.clear()

    with (work / "edges").open("wb") as edge_file, (work / "literals").open("wb") as literal_file:
        while some := list(islice(triples, _CHUNK)):
            subjects, objects, numbers = zip(*some, strict=True)
            chunk = np.empty(len(some), _TRIPLE)
            chunk["subject"] = np.fromiter(map(hash, subjects), np.int64, len(some))
            chunk["object"] = np.fromiter(map(hash, objects), np.int64, len(some))
            chunk["predicate"] = numbers
            is_edge = np.array([term[0] in "<_" for term in objects])
            chunk[is_edge].tofile(edge_file)
            chunk[~is_edge].tofile(literal_file)
            ends = [*compress(subjects, is_edge), *compress(objects, is_edge)]
            both = np.append(chunk["subject"][is_edge], chunk["object"][is_edge])
            hashes, places = np.unique(both, return_index=True)
            new = ~_Terms(seen, seen).of(hashes)[1]
            new_names += [_sort_name(ends[place]) for place in places[new].tolist()]
            if len(new_names) >= _RUN:
                write_names()
            seen = np.sort(np.concatenate([seen, hashes[new]]), kind="stable")  # merges two sorted parts
            done += len(some)
            if progress is not None:
                progress("reading triples", min(done, total), total)
        write_names()
    return runs


def _sort_name(term: str) -> str:
    if term[0] == "_":
        return f"1{term[2:]}"
    if term[1] == "<":
        raise StoreError("the graph has triple terms")
    return f"0{term[1:-1]}"


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
    hashes, lengths, iris = array("q"), array("L"), 0
    with (work / "all_names").open("wb") as file, ExitStack() as files:
        for line in heapq.merge(*(files.enter_context(run.open("rb")) for run in runs)):
            name, is_iri = line[1:].rstrip(), line.startswith(_IRI_MARK)
            hashes.append(hash(f"<{name.decode()}>" if is_iri else f"_:{name.decode()}"))
            lengths.append(len(name))
            iris += is_iri
            file.write(name)
    np.save(made / "names", _mapped_array(work / "all_names", "|u1"))
    np.save(made / "name_starts", _starts_of_counts(np.array(lengths, np.int64)))
    found = np.array(hashes, np.int64)
    order = np.argsort(found).astype(np.uint32)
    return _Terms(found[order], order), iris


def _write_neighbours(made: Path, work: Path, terms: _Terms, predicates: list[IRI]) -> None:
    """Write the neighbours of all terms, sorted, those of some terms after those of others."""
    degrees = _number_triples(work, terms)
    edges, described = _mapped_array(work / "numbered", _EDGE), _mapped_array(work / "described", _LITERAL)
    step_type = "<u2" if 2 * len(predicates) <= 1 << 16 else "<u4"
    types = {"others": "<u4", "steps": step_type, "literals": "|u1" if len(predicates) <= 1 << 8 else step_type}
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
    if RDF_TYPE in predicates:
        typed = edges[edges["predicate"] == predicates.index(RDF_TYPE)]
        numbers, known = terms.of(np.array([hash(str(kind)) for kind in CLASS_KINDS], np.int64))
        classes = np.append(typed["object"], typed["subject"][np.isin(typed["object"], numbers[known])])
        about[np.unique(classes)] |= IS_CLASS
    np.save(made / "about", about)


def _number_triples(work: Path, terms: _Terms) -> Array:
    """Write the triples with numbers for hashes; returns how many edges each term has, repeated ones included."""
    degrees = np.zeros(len(terms.hashes), np.int64)
    with (work / "numbered").open("wb") as file:
        for chunk in _read_chunks(work / "edges"):
            edges = np.empty(len(chunk), _EDGE)
            edges["predicate"] = chunk["predicate"]
            for end in ("subject", "object"):
                edges[end] = terms.of(chunk[end])[0]
                degrees += np.bincount(edges[end], minlength=len(degrees))
            edges.tofile(file)
    with (work / "described").open("wb") as file:
        for chunk in _read_chunks(work / "literals"):
            numbers, known = terms.of(chunk["subject"])
            found = np.empty(len(chunk), _LITERAL)
            found["subject"], found["predicate"], found["object"] = numbers, chunk["predicate"], chunk["object"]
            found[known].tofile(file)
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
