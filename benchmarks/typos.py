"""How often a name with one wrong letter is found, and how long it takes, beside a string library over all labels.

    python benchmarks/typos.py GRAPH [GRAPH …] [--names 300] [--seed 0]

GRAPH is an RDF file or a store. Names of at least four letters are drawn from its labels; each gets one letter
inserted, deleted, substituted or swapped with its neighbour, in a way that gives no other name of the graph. ``hit@k``
is the share of names of which one of the first k results is a thing so named, by whichever of its names it was found.
``find`` searches the mistyped name, ``link`` links a question that has it, each name in the next of ten sentence
frames; ``worst frame`` is the frame in which fewest of all names are linked. ``rapidfuzz`` compares it with every
label. ``ms`` is the median processor time of one search, all threads together, after one search that reads the index.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from itertools import cycle
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA

from benchmarks.spread import Spread
from kgsparql import open_graph
from kgsparql.linking.graph_indexes import label_index
from kgsparql.linking.label_index.reading import read_labels
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.rdf.terms import normalised

FRAMES = (
    "What is {}?", "Who is {}?", "What do you know about {}?", "Tell me about {}", "How old is {}?", "Where is {}?",
    "When was {} founded?", "How many facts are there about {}?", "Is {} in the graph?", "list everything about {}",
)  # fmt: skip
LEAST_LETTERS = 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=Path, metavar="GRAPH")
    parser.add_argument("--names", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(f"{'graph':24} {'labels':>9} {'way':10} {'hit@1':>6} {'hit@10':>6} ms")
    for path in asked.graphs:
        found = measure(path, names=asked.names, seed=asked.seed)
        for way in ("find", "link", "rapidfuzz"):
            one, ten, ms = (found[f"{way}_{what}"] for what in ("hit_1", "hit_10", "ms"))
            print(f"{str(path)[-24:]:24} {found['labels']:9,.0f} {way:10} {one:6.3f} {ten:6.3f} {ms}", flush=True)
        print(
            f"{str(path)[-24:]:24} {found['labels']:9,.0f} {'worst frame':10} {found['worst_frame_hit_1']:5.3f}",
            flush=True,
        )


def measure(graph_path: Path, *, names: int, seed: int) -> dict[str, float | Spread]:
    """``find_hit_1``, ``find_hit_10``, ``find_ms``; the same of ``link`` and ``rapidfuzz``; and how many ``labels``."""
    graph = open_graph([str(graph_path)])
    rows = [*read_labels(graph)]
    named: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        named[row.key].add(row.iri)
    keys = sorted(named)
    asked = typos(sorted({row.text for row in rows if row.kind == "entity"}), named, names, random.Random(seed))
    with tempfile.TemporaryDirectory() as directory:
        linker = Linker(label_index(graph, Path(directory) / "index"))
        frames = cycle(FRAMES)
        ways: dict[str, Callable[[str], list[set[str]]]] = {
            "find": lambda text: things(linker.find(text)),
            "link": lambda text: things(ranked(linker.link(next(frames).format(text)))),
            "rapidfuzz": lambda text: [named[key] for key in nearest(text, keys)],
        }
        found: dict[str, float | Spread] = {"labels": len(keys)}
        for way, search in ways.items():
            search(asked[0][1])
            ranks, times = [], []
            for text, mistyped in asked:
                began = time.process_time()
                results = search(mistyped)
                times.append((mistyped, 1000 * (time.process_time() - began)))
                ranks.append(next((at for at, some in enumerate(results) if some & named[normalised(text)]), 10))
            found[f"{way}_hit_1"] = sum(rank == 0 for rank in ranks) / len(ranks)
            found[f"{way}_hit_10"] = sum(rank < 10 for rank in ranks) / len(ranks)
            found[f"{way}_ms"] = Spread.of(times)
        right = [
            sum(
                any(some & named[normalised(text)] for some in things(linker.link(frame.format(typed)))[:1])
                for text, typed in asked
            )
            for frame in FRAMES
        ]
        found["worst_frame_hit_1"] = min(right) / len(asked)
    return found


def typos(texts: Sequence[str], keys: Container[str], count: int, chooser: random.Random) -> list[tuple[str, str]]:
    """So many names, each with a mistyped form of it that is no name of the graph."""
    found: list[tuple[str, str]] = []
    for text in chooser.sample(texts, len(texts)):
        if sum(map(str.isalpha, text)) >= LEAST_LETTERS:
            mistyped = next((t for t in (typo(text, chooser) for _ in range(20)) if normalised(t) not in keys), None)
            if mistyped is not None:
                found.append((text, mistyped))
        if len(found) == count:
            break
    return found


def typo(text: str, chooser: random.Random) -> str:
    """A text with one letter inserted, deleted, substituted or swapped with the next."""
    at = chooser.choice([i for i, char in enumerate(text) if char.isalpha()])
    letter = chooser.choice(LETTERS)
    letter = letter.upper() if text[at].isupper() else letter
    following = text[at + 1 : at + 2]
    if following.isalpha() and following.casefold() != text[at].casefold() and chooser.random() < 1 / 4:
        return text[:at] + following + text[at] + text[at + 2 :]
    return chooser.choice(
        (text[:at] + letter + text[at:], text[:at] + text[at + 1 :], text[:at] + letter + text[at + 1 :])
    )


def things(found: Sequence[LinkedEntity]) -> list[set[str]]:
    return [{entity.term.value} for entity in found[:10]]


def ranked(links: Sequence[LinkedEntity]) -> list[LinkedEntity]:
    """Links before their other candidates."""
    return [*links, *(candidate for link in links for candidate in link.candidates)]


def nearest(text: str, keys: Sequence[str]) -> list[str]:
    return [key for key, *_ in process.extract(normalised(text), keys, scorer=OSA.distance, limit=10, score_cutoff=3)]


if __name__ == "__main__":
    main()
