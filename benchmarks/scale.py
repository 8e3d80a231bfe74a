"""What indexing in shards costs, from which `docs/scale.md` reckons: processor time, memory and bytes, by size.

    python -m benchmarks.scale [--triples 100000 1000000] [--shards 16] [--embed 5000]

On graphs made up as in `growth.py`, of which every fifth triple is a label. For each size: the index of one run; all
shards one after the other, of which the mean and the worst are told; their merge. Each command is a process of its own.
Vectors are left out of these, as they cost the same however labels are divided: `--embed` measures them on so many.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from benchmarks import growth

SIZES = (100_000, 1_000_000)
Figure = tuple[str, float, float, float]
"""What was run, its processor time in seconds, its peak of memory in MB, and MB on the disk after it."""


def measure(triples: int, shards: int) -> Iterator[Figure]:
    """Figures of one size."""
    with tempfile.TemporaryDirectory() as place:
        file, store = Path(place, "graph.nt"), Path(place, "store")
        with file.open("w", encoding="utf-8") as out:
            out.writelines(growth.lines(triples))
        cache, whole, parts = (Path(place, name) for name in ("cache", "whole", "parts"))

        def index(into: Path, *more: str) -> tuple[float, float, float]:
            command = ("index", "-k", str(store), "--embedder", "none", "--index", str(into), *more)
            used = growth.run(command, cache)
            return (*used, megabytes(into))

        yield "load", *growth.run(("load", str(file), "--store", str(store)), cache), megabytes(store)
        file.unlink()
        index(whole)  # builds the adjacency, too, and counts what all later ones read
        index(Path(place, "once more"), "--shard", f"1/{shards}")
        yield "index, one run", *index(Path(place, "again"))
        each = [index(parts, "--shard", f"{number}/{shards}") for number in range(1, shards + 1)]
        yield "a shard, mean", mean(e[0] for e in each), mean(e[1] for e in each), each[-1][2] / shards
        yield "a shard, worst", max(e[0] for e in each), max(e[1] for e in each), each[-1][2] / shards
        yield "all shards", sum(e[0] for e in each), max(e[1] for e in each), each[-1][2]
        yield "merge", *index(parts, "--merge")


def embedding(texts: int) -> tuple[float, float]:
    """Texts in a second of processor time, and bytes of a vector, with the default embedder."""
    from kgsparql.models.embedders import open_embedder

    embedder = open_embedder("auto")
    if embedder is None:
        raise SystemExit("no embedding model is installed")
    names = [growth.name_of(i) for i in range(texts)]
    embedder.embed(names[:32])
    begun = time.process_time()
    vectors = embedder.embed(names)
    return texts / (time.process_time() - begun), vectors.nbytes / texts


def megabytes(directory: Path) -> float:
    """The size of all files in a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    """Measure, print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, nargs="*", default=SIZES)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--embed", type=int, default=0, metavar="TEXTS")
    options = parser.parse_args()
    for triples in options.triples:
        for name, seconds, memory, disk in measure(triples, options.shards):
            print(f"{triples:>12,} {name:<16} {seconds:8.2f} s {memory:8.0f} MB {disk:10.2f} MB on disk", flush=True)
    if options.embed:
        speed, size = embedding(options.embed)
        print(f"{options.embed:>12,} texts embedded: {speed:,.0f} a second of processor time, {size:,.0f} bytes each")


if __name__ == "__main__":
    main()
