"""Building an adjacency: every term gets a number in lexical order, and numpy sorts the edges by these."""

from __future__ import annotations

import shutil
from array import array
from collections import defaultdict
from collections.abc import Iterator
from itertools import compress, count, repeat
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgsparql.errors import StoreError
from kgsparql.graphs.adjacency import (
    ABOUT_FILE,
    IS_CLASS,
    MAX_DEGREE,
    Adjacency,
    Revision,
    open_adjacency,
    starts_of,
)
from kgsparql.graphs.files import Progress
from kgsparql.rdf.query import Query
from kgsparql.rdf.vocabulary import CLASS_KINDS, RDF_TYPE
from kgsparql.storage.files import (
    is_disk_full,
    partial_path,
    remove_leftovers,
    replace_directory,
    replace_text,
    sealed_json,
    sizes_of,
    writer_lock,
)

Array: TypeAlias = npt.NDArray[Any]

_WAIT_S = 600.0
_BLANK = b"\xff"  # is in no UTF-8
_BLOCK = 1 << 21  # bytes of triples that are looked at together


def build_adjacency(store: ox.Store, revision: Revision, progress: Progress | None) -> Adjacency | None:
    """Open the adjacency that is kept for a state of a store, or make one. Another process that makes it is waited for.

    :raises StoreError: if it cannot be made, or not be kept.
    """
    place = revision.directory
    with writer_lock(place, wait_s=_WAIT_S):
        if (kept := open_adjacency(revision)) is not None:
            return kept
        remove_leftovers(place)
        made = partial_path(place)
        try:
            made.mkdir(0o700)  # the graph may be private
            about = {**revision.made_of, **_write_arrays(made, _read_triples(store, progress))}
            replace_text(made / ABOUT_FILE, sealed_json(about), sync=True)
            replace_directory(made, place)
        except OSError as error:
            why = "no space left on the device" if is_disk_full(error) else error.strerror or error
            raise StoreError(f"{place}: cannot be written: {why}", path=str(place)) from error
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return open_adjacency(revision)


class _Triples(NamedTuple):
    """The triples of a store as columns of numbers; terms and predicates are numbered in the order they were read.

    :param edges: subjects, predicates and objects that are no literals.
    :param literals: subjects, predicates, and hashes of literals.
    """

    terms: dict[bytes, int]
    predicates: dict[bytes, int]
    edges: list[array[int]]
    literals: list[array[int]]


def _read_triples(store: ox.Store, progress: Progress | None) -> _Triples:
    terms, predicates = defaultdict[bytes, int](count().__next__), dict[bytes, int]()
    edges, literals = [array("I"), array("I"), array("I")], [array("I"), array("I"), array("q")]
    total, done = len(store) if progress else 0, 0
    for predicate, starts, far in _blocks_of(store):
        number = predicates.setdefault(predicate, len(predicates))
        are_edges = [term[0] in b"<_" for term in far]
        parts = (edges, are_edges, terms.__getitem__), (literals, [not one for one in are_edges], hash)
        for (subjects, by, ends), kept, number_of in parts:
            subjects.extend(map(terms.__getitem__, compress(starts, kept)))
            ends.extend(map(number_of, compress(far, kept)))
            by.extend(repeat(number, len(ends) - len(by)))
        done += len(far)
        if progress is not None:
            progress("reading triples", min(done, total), total)
    if any(term.startswith(b"<<") for term in terms):
        raise StoreError("the graph has triple terms")
    return _Triples(terms, predicates, edges, literals)


def _blocks_of(store: ox.Store) -> Iterator[tuple[bytes, list[bytes], list[bytes]]]:
    """Read subjects and objects a predicate at a time: the engine looks up two terms for each triple, and not three."""
    try:
        found: Any = store.query(Query.load("index_predicates").text, use_default_graph_as_union=True)
        for predicate in [solution["predicate"] for solution in found]:
            query = Query.load("adjacency_pairs").bind(predicate=[predicate])
            results: Any = store.query(query.text, use_default_graph_as_union=True)
            with TemporaryFile() as lines:
                results.serialize(lines, ox.QueryResultsFormat.TSV)
                lines.seek(0)
                next(lines)  # the names of the columns
                while block := lines.read(_BLOCK) + lines.readline():
                    terms = block.replace(b"\n", b"\t").split(b"\t")
                    yield str(predicate).encode(), terms[:-1:2], terms[1::2]
    except (RuntimeError, ValueError, SyntaxError) as error:
        raise StoreError(f"the triples cannot be read: {error}") from error


def _write_arrays(made: Path, read: _Triples) -> dict[str, Any]:
    """Write each array into a file, those of the names first, and let go of what was read; say what is beside them."""
    kinds = [own for kind in CLASS_KINDS if (own := read.terms.get(str(kind).encode())) is not None]
    type_number = read.predicates.get(str(RDF_TYPE).encode())
    (names, rank), (predicates, place) = map(_in_order, (read.terms, read.predicates))
    iris, texts = sum(name[:1] != _BLANK for name in names), [name.removeprefix(_BLANK) for name in names]
    del names
    np.save(made / "name_starts", _starts_of(np.fromiter(map(len, texts), np.int64)))
    np.save(made / "names", np.frombuffer(b"".join(texts), "u1"))
    del texts
    s, p, o = (np.frombuffer(column, column.typecode) for column in read.edges)
    s, p, o = rank[s], place[p], rank[o]
    here, others, steps = _distinct_rows(np.append(s, o), np.append(o, s), np.append(2 * p, 2 * p + 1))
    subjects, by, values = (np.frombuffer(column, column.typecode) for column in read.literals)
    subjects, by, _ = _distinct_rows(rank[subjects], place[by], values)
    described, literals = _distinct_rows(subjects, by)
    edges_of, literals_of, kinds_of = (np.bincount(of, minlength=len(rank)) for of in (here, subjects, described))
    about = np.minimum(edges_of + literals_of, MAX_DEGREE).astype("<u2")
    if type_number is not None:
        typed = p == place[type_number]
        about[np.append(o[typed], s[typed & np.isin(o, rank[kinds])])] |= IS_CLASS
    step_type = next(kind for kind in ("u1", "<u2", "<u4") if 2 * len(predicates) <= 1 << 8 * int(kind[-1]))
    arrays = {
        "starts": _starts_of(edges_of), "others": others.astype("<u4"), "steps": steps.astype(step_type),
        "literal_starts": _starts_of(kinds_of), "literals": literals.astype(step_type), "about": about,
    }  # fmt: skip
    for name, own in arrays.items():
        np.save(made / name, own)
    return {
        "predicates": [predicate.decode() for predicate in predicates],
        "iris": iris,
        "sizes": sizes_of(made, made.iterdir()),
    }


def _in_order(terms: dict[bytes, int]) -> tuple[list[bytes], Array]:
    """Sort the names of terms, those of blank nodes last and marked; return them, and the place of each term.

    The terms are let go of.
    """
    popped = (terms.popitem()[0] for _ in range(len(terms)))  # so that no name is there twice
    names = [term[1:-1] if term[:1] == b"<" else _BLANK + term[2:] for term in popped][::-1]
    terms.clear()
    order = array("I", sorted(range(len(names)), key=names.__getitem__))
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order))
    return [*map(names.__getitem__, order)], places


def _starts_of(counts: Array) -> Array:
    starts = np.append(0, np.cumsum(counts))
    return starts.astype("<u4" if starts[-1] < 1 << 32 else "<u8")


def _distinct_rows(*columns: Array) -> list[Array]:
    """Sort rows by their columns, and keep each once."""
    order = np.lexsort(columns[::-1])
    columns = tuple(column[order] for column in columns)
    new = starts_of(*columns) if len(order) else order
    return [column[new] for column in columns]
