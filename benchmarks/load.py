"""How long ``kgsparql load`` takes, against plain pyoxigraph bulk loading of the same file in the same run.

    python benchmarks/load.py graph.nt.gz [--rounds 2]

Both sides unpack the file and write a store on disk; ours also starts a process, hashes, checks and swaps. The ratio
of the best rounds is what counts: at most 1.15. Processor time is shown because it is steadier on a shared machine.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

from kgsparql.graphs.files import RdfFile, ReadOptions, format_of
from kgsparql.graphs.stores import load_store

AT_MOST = 1.15


def plain(path: Path, directory: Path) -> None:
    store = ox.Store(str(directory))
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as data:
        store.bulk_load(data, format_of(RdfFile(path.name, path), ReadOptions()))
    store.flush()


def ours(path: Path, directory: Path) -> None:
    load_store(path, directory)


def measured(load: Callable[[Path, Path], None], path: Path, scratch: Path) -> tuple[float, float]:
    """Seconds by the clock, and seconds of processor time in this process and its children."""
    directory = scratch / load.__name__
    start, busy = time.perf_counter(), processor_s()
    load(path, directory)
    taken = time.perf_counter() - start, processor_s() - busy
    shutil.rmtree(directory)
    return taken


def processor_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, help="an RDF file, packed or not")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rounds = [
            (measured(plain, options.file, Path(scratch)), measured(ours, options.file, Path(scratch)))
            for _ in range(options.rounds)
        ]
    for what, i in (("clock", 0), ("processor", 1)):
        theirs, mine = min(p[i] for p, _ in rounds), min(o[i] for _, o in rounds)
        print(f"{what}: plain pyoxigraph {theirs:.2f} s · kgsparql load {mine:.2f} s · {mine / theirs:.2f}x")
    ratio = min(o[0] for _, o in rounds) / min(p[0] for p, _ in rounds)
    if ratio > AT_MOST:
        raise SystemExit(f"more than {AT_MOST}x")


if __name__ == "__main__":
    main()
