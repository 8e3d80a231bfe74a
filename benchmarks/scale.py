"""What indexing costs, from which `docs/scale.md` reckons: processor time, memory and bytes, by size.

    python -m benchmarks.scale [--triples 100000 1000000] [--embed 5000]

On graphs made up as in `growth.py`, of which every fifth triple is a label. Each command is a process of its own.
Vectors are left out: `--embed` measures them on so many texts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import growth

SIZES = (100_000, 1_000_000)
Figure = tuple[str, float, float, float]
"""What was run, its processor time in seconds, its peak of memory in MB, and MB on the disk after it."""


def measure(triples: int) -> Iterator[Figure]:
    """Figures of one size."""
    with tempfile.TemporaryDirectory() as place:
        file, store = Path(place, "graph.nt"), Path(place, "store")
        with file.open("w", encoding="utf-8") as out:
            out.writelines(growth.lines(triples))
        cache = Path(place, "cache")

        def index(into: Path) -> tuple[float, float, float]:
            used = growth.run(("index", "-k", str(store), "--embedder", "none", "--index", str(into)), cache)
            return (*used, megabytes(into))

        yield "load", *growth.run(("load", str(file), "--store", str(store)), cache), megabytes(store)
        file.unlink()
        index(Path(place, "whole"))  # builds the adjacency, too, and counts what later ones read
        yield "index", *index(Path(place, "again"))


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
    parser.add_argument("--embed", type=int, default=0, metavar="TEXTS")
    options = parser.parse_args()
    for triples in options.triples:
        for name, seconds, memory, disk in measure(triples):
            print(f"{triples:>12,} {name:<16} {seconds:8.2f} s {memory:8.0f} MB {disk:10.2f} MB on disk", flush=True)
    if options.embed:
        speed, size = embedding(options.embed)
        print(f"{options.embed:>12,} texts embedded: {speed:,.0f} a second of processor time, {size:,.0f} bytes each")


if __name__ == "__main__":
    main()
