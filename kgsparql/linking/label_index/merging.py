"""Joining the parts in which the shards of a graph were indexed: into the index that one run would have made."""

from __future__ import annotations

import heapq
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsparql.errors import IndexStaleError, ModelMismatchError, StoreError
from kgsparql.linking.label_index.building import IndexContent
from kgsparql.linking.label_index.rows import LabelRow
from kgsparql.linking.label_index.shards import Shard
from kgsparql.models.embedding import Embedder
from kgsparql.storage.lance_tables import Tables
from kgsparql.storage.location import Location

FOLDER = "shards"
"""The directory of the parts, below that of an index."""
_PART = re.compile(r"[0-9]+-of-([0-9]+)")


@dataclass(frozen=True, slots=True)
class Part:
    """What one shard has of an index."""

    tables: Tables
    manifest: dict[str, Any]

    def rows(self) -> Iterator[LabelRow]:
        """Its rows, sorted."""
        columns = list(LabelRow._fields)
        for found in self.tables.batches(self.manifest["labels"]):
            yield from map(LabelRow._make, zip(*(found[name].to_pylist() for name in columns), strict=True))

    def vectors(self, embedder: str) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Its texts, sorted, with their vectors."""
        for found in self.tables.batches(self.manifest["vectors"][embedder]["table"]):
            flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            yield from zip(found["text"].to_pylist(), flat.reshape(len(found), -1), strict=True)


@dataclass(frozen=True, slots=True)
class MergedRows:
    """The rows of all parts in the order of one index; read from the parts each time, so that few are in memory."""

    parts: Sequence[Part]

    def __len__(self) -> int:
        return sum(part.manifest["rows"] for part in self.parts)

    def __iter__(self) -> Iterator[LabelRow]:
        return heapq.merge(*(part.rows() for part in self.parts))


class MergedVectors:
    """Gives, as an embedder, the vectors that parts have; the model is not asked again.

    :param embedder: whose vectors they are.
    """

    def __init__(self, parts: Sequence[Part], embedder: Embedder) -> None:
        self.name = embedder.name
        full = [part for part in parts if part.manifest["rows"]]
        self.dimension = int(full[0].manifest["vectors"][self.name]["dimension"]) if full else embedder.dimension
        found = heapq.merge(*(part.vectors(self.name) for part in full), key=itemgetter(0))
        self._vectors = (next(same) for _, same in groupby(found, itemgetter(0)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape ``(n_texts, dimension)``; texts are asked for in their order, each once."""
        wanted = iter(texts)
        text, vectors = next(wanted, None), []
        while text is not None:
            known, vector = next(self._vectors, ("", None))
            if vector is None or known > text:
                raise StoreError(f"the shards have no vector of {text!r}", hint="index them again")
            if known == text:  # smaller ones were written before a merge was stopped
                vectors.append(vector)
                text = next(wanted, None)
        return np.stack(vectors)


def complete_parts(content: IndexContent, directory: Location, embedder: Embedder | None) -> list[Part]:
    """The parts of an index in their order, if all are there, complete, and of this state of the graph.

    :raises StoreError: if some are missing or unfinished, or they are of different counts.
    :raises IndexStaleError: if one was made of another state of the graph.
    :raises ModelMismatchError: if one has vectors of another embedder, or none though there is an embedder.
    """
    folder, command = directory / FOLDER, f"kgsparql index -k {shlex.quote(content.name)}"
    parts = []
    for shard, part in finished_shards(folder, content.name, command):
        _check(
            part.manifest, shard, content, embedder, f"with the options of the others, run: {command} --shard {shard}"
        )
        parts.append(part)
    return parts


def finished_shards(folder: Location, of: str, command: str) -> Iterator[tuple[Shard, Part]]:
    """The shards in a directory, in their order, with what was indexed of them.

    :param of: the graph they are of.
    :param command: that indexes one, with ``--shard`` behind it.
    :raises StoreError: if one is missing or unfinished, or they are of different counts.
    """
    counts = sorted({int(found[1]) for name in Tables(folder).published_below() if (found := _PART.fullmatch(name))})
    if not counts:
        raise StoreError(
            f"{folder}: no shard of what {of} has now is finished",
            hint=f"run: {command} --shard 1/16, and so on to 16/16",
        )
    if len(counts) > 1:
        written = " and ".join(f"1/{count}" for count in counts)
        raise StoreError(
            f"{folder}: there are shards of several counts, as {written}", hint="delete those that are not to be merged"
        )
    for shard in (Shard(number, counts[0]) for number in range(1, counts[0] + 1)):
        tables = Tables(folder / shard.folder)
        manifest = tables.manifest()
        if manifest is None:
            raise StoreError(
                f"{tables.directory}: shard {shard} is missing or not finished for what {of} has now",
                hint=f"with the options of the others, run: {command} --shard {shard}",
            )
        yield shard, Part(tables, manifest)


def _check(
    manifest: dict[str, Any], shard: Shard, content: IndexContent, embedder: Embedder | None, again: str
) -> None:
    if not content.is_in(manifest):
        raise IndexStaleError(f"shard {shard} was made from other data than {content.name} has now", hint=again)
    there, wanted = sorted(manifest["vectors"]), [] if embedder is None else [embedder.name]
    if there != wanted:
        raise ModelMismatchError(
            f"shard {shard} has vectors of {', '.join(there) or 'no model'}, not of {', '.join(wanted) or 'no model'}",
            hint=f"merge with the --embedder that all shards have, or {again}",
        )
