"""How often the entity a question is about is linked, and how long a first question waits for its index.

    python benchmarks/linking.py DATA [FOLDER …] [--embedder auto] [--misses] [--labels 100000]

DATA holds folders with ``graph.nt.gz`` and ``questions.jsonl``, whose ``topic_entities`` are the gold. ``top 1`` is the
first link; ``top 3`` is the three best of all candidates; ``recall`` and ``precision`` are over all links and all gold
entities. ORKG asks about a paper's content far more often than about the entity its source calls the topic.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph

from kgsparql import OxigraphGraph
from kgsparql.linking.graph_indexes import build_label_index, label_index
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.models.embedders import open_embedder
from kgsparql.rdf.terms import IRI

FOLDERS = ("metaqa", "fb15k237", "wikidata_qald10", "nobel", "ck25", "emckg", "orkg")
MAX_QUESTIONS = 300
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--embedder", default="none", help="as for kgsparql ask; auto embeds every label first")
    parser.add_argument("--misses", action="store_true", help="print what was linked wrongly")
    parser.add_argument(
        "--labels", type=int, default=0, help="only time the first index of a graph with so many labels"
    )
    asked = parser.parse_args()
    if asked.labels:
        first_index(asked.labels)
        return
    print(
        f"{'set':18} {'questions':>9} {'top 1':>6} {'top 3':>6} {'recall':>7} {'precision':>9} {'index s':>8} {'ms':>6}"
    )
    for folder in asked.folders:
        evaluate(asked.data / folder, asked.embedder, shows_misses=asked.misses)


def evaluate(folder: Path, spec: str, *, shows_misses: bool) -> None:
    store = pyoxigraph.Store()
    with gzip.open(folder / "graph.nt.gz") as stream:
        store.bulk_load(stream, pyoxigraph.RdfFormat.N_TRIPLES)
    graph = OxigraphGraph(store, name=folder.name, fingerprint=folder.name)
    embedder = open_embedder(spec)
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        make = label_index if embedder is None else build_label_index
        index = make(graph, Path(directory) / "index", embedder=embedder)
        took = time.perf_counter() - began
        linker = Linker(index)
        for name, questions in groups(folder):
            scores = score(linker, questions, shows_misses=shows_misses)
            print(
                f"{name:18} {len(questions):9} {scores} {took:8.2f} {milliseconds(linker, questions):6.1f}", flush=True
            )


def groups(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The questions with a gold entity, those of MetaQA by hops."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [question for question in map(json.loads, lines) if question["topic_entities"]]
    hops = sorted({question["hops"] for question in asked}) if folder.name == "metaqa" else [None]
    for hop in hops:
        chosen = [question for question in asked if hop is None or question["hops"] == hop]
        if len(chosen) > MAX_QUESTIONS:
            chosen = random.Random(SEED).sample(chosen, MAX_QUESTIONS)
        yield folder.name + (f" {hop} hop" if hop else ""), chosen


def score(linker: Linker, questions: list[dict[str, Any]], *, shows_misses: bool) -> str:
    first = third = found = wanted = given = 0
    for question in questions:
        gold = {entity["iri"] for entity in question["topic_entities"]}
        links = linker.link(question["question"])
        terms = [link.term.value for link in links]
        first += bool(gold & set(terms[:1]))
        third += bool(gold & {term.value for term in ranked(links)[:3]})
        found, wanted, given = found + len(gold & set(terms)), wanted + len(gold), given + len(terms)
        if shows_misses and not gold & set(terms[:1]):
            labels = [entity["label"] for entity in question["topic_entities"]]
            print(f"  {question['question'][:150]}\n    gold {labels}")
            print(f"    got  {[(link.label, link.mention.text, link.score, link.matched) for link in links]}")
    shares = first / len(questions), third / len(questions), found / wanted, found / max(given, 1)
    return "{:6.1f} {:6.1f} {:7.1f} {:9.1f}".format(*(100 * share for share in shares))


def ranked(links: tuple[LinkedEntity, ...]) -> list[IRI]:
    """Links before candidates, the first candidate of each before the second of any."""
    lists = [(link, *link.candidates) for link in links]
    return [found[rank].term for rank in range(21) for found in lists if rank < len(found)]


def milliseconds(linker: Linker, questions: list[dict[str, Any]]) -> float:
    began = time.perf_counter()
    for question in questions:
        linker.link(question["question"])
    return (time.perf_counter() - began) * 1000 / len(questions)


def first_index(labels: int) -> None:
    """The time from a loaded graph to the first link."""
    chooser = random.Random(SEED)
    syllables = "ka ro mi ten lu bor sha vi dan pel gor ix ana tor che wil".split()
    words = ["".join(chooser.choices(syllables, k=chooser.randint(2, 4))).capitalize() for _ in range(labels // 4)]
    label = pyoxigraph.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")

    def quads() -> Iterator[pyoxigraph.Quad]:
        for i in range(labels):
            subject = pyoxigraph.NamedNode(f"http://example.org/{i}")
            text = " ".join(chooser.choices(words, k=chooser.randint(1, 4)))
            yield pyoxigraph.Quad(subject, label, pyoxigraph.Literal(text))
            for _ in range(4):
                predicate = pyoxigraph.NamedNode(f"http://example.org/p{chooser.randint(0, 20)}")
                other = pyoxigraph.NamedNode(f"http://example.org/{chooser.randrange(labels)}")
                yield pyoxigraph.Quad(subject, predicate, other)

    store = pyoxigraph.Store()
    store.bulk_extend(quads())
    graph = OxigraphGraph(store, name="generated", fingerprint=str(labels))
    with tempfile.TemporaryDirectory() as directory:
        for when in ("first", "again"):
            began = time.perf_counter()
            linker = Linker(label_index(graph, Path(directory) / "index"))
            linker.link(f"Where is {words[0]} {words[1]}?")
            print(f"{labels:,} labels, {when}: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
