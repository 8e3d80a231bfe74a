"""The same questions to a file and to every SPARQL server that is installed: right, sure, how long, how many queries?

    python -m benchmarks.endpoints -o docs/endpoints.md   # 12 questions over the bundled graph; the table goes there
    python -m benchmarks.endpoints --servers rdflib-endpoint --show                         # what is answered
    python -m benchmarks.endpoints --data DATA --methods entity,mindmap --evidence          # the same evidence, too?
    python -m benchmarks.endpoints --methods think_on_graph --round-trip 0.1                # 100 ms more each time

DATA is a folder with a graph (`graph.nt.gz`) and `questions.jsonl`. ``alike``: status and answers are the file's (and,
with ``--evidence``, all that is told of them), but for those that a limit cut apart. ``first``: seconds of the first
question, with all that is read before it; seconds and queries of a question are medians of the others, with what 19 of
20 of them are below, the longest, and which question that was.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import kgsparql
from benchmarks.spread import Spread
from kgsparql.answering.answer import Answer
from kgsparql.errors import KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import load as load_dataset
from kgsparql.events import Event, QueryRun
from kgsparql.rdf.terms import normalised
from tests.endpoints.proxy import Proxy
from tests.endpoints.sameness import differences, told, was_cut
from tests.endpoints.servers import SERVERS

FIXTURES = Path(__file__).parents[1] / "fixtures"
COLUMNS = (
    "method",
    "server",
    "right",
    "sure",
    "wrong and sure",
    "alike",
    "cut apart",
    "first",
    "seconds",
    "p95",
    "max",
    "queries",
    "slowest",
)


@dataclass(frozen=True)
class Asked:
    """An answer, or ``None`` where an error came instead, and what it cost."""

    question: Question
    answer: Answer | None
    seconds: float
    queries: int
    is_cut: bool = False

    @property
    def found(self) -> tuple[str, frozenset[str]]:
        if self.answer is None:
            return ("error", frozenset())
        return (self.answer.status, frozenset(normalised(one.label) for one in self.answer.best))

    @property
    def is_right(self) -> bool:
        gold = {normalised(one.label) for one in self.question.answers or ()}
        return self.found[1] == gold

    @property
    def is_sure(self) -> bool:
        return self.found[0] == "answered"

    def is_as(self, other: Asked, *, evidence: bool) -> bool:
        """Tell whether the answer is that to the same question elsewhere."""
        if not evidence or self.answer is None or other.answer is None:
            return self.found == other.found
        return not differences(told(self.answer), told(other.answer))


def asked(source: str | Path, questions: Sequence[Question], method: str, *, show: str = "") -> list[Asked]:
    """Ask a graph all questions, one after the other."""
    every, chosen = [], {"retriever": method} if method else {}
    with kgsparql.open(source, name="data") as knowledge:
        for question in questions:
            events: list[Event] = []
            began, answer = time.perf_counter(), None
            try:
                answer = knowledge.ask(question.text, **chosen, emit=events.append)
            except KgsparqlError as error:
                print(f"{show or source}: {question.text}: {error}", file=sys.stderr)
            seconds = time.perf_counter() - began
            queries = sum(isinstance(event, QueryRun) for event in events)
            one = Asked(question, answer, seconds, queries, answer is not None and was_cut(answer, events))
            every.append(one)
            if show:
                told_of = f"{one.found[0]:12}{seconds:6.1f} s{queries:4} queries  {question.text}"
                print(f"{show:16}{'right' if one.is_right else '':6}{told_of}  {sorted(one.found[1])[:6]}", flush=True)
    return every


def row(method: str, server: str, own: Sequence[Asked], file: Sequence[Asked], *, evidence: bool) -> list[str]:
    """Make the line of one server and method."""
    alike = [one.is_as(other, evidence=evidence) for one, other in zip(own, file, strict=True)]
    cuts = [one.is_cut or other.is_cut for one, other in zip(own, file, strict=True)]
    counts = (
        sum(one.is_right for one in own),
        sum(one.is_right and one.is_sure for one in own),
        sum(one.is_sure and not one.is_right for one in own),
        sum(alike),
        sum(cut and not same for cut, same in zip(cuts, alike, strict=True)),
    )
    later = own[1:] or own
    took = Spread.of((one.question.text, one.seconds) for one in later)
    queries = statistics.median(one.queries for one in later)
    seconds = [f"{own[0].seconds:.1f}", f"{took.median:.1f}", f"{took.p95:.1f}", f"{took.max:.1f}"]
    return [method, server, *map(str, counts), *seconds, f"{queries:.0f}", took.told_slowest]


@contextlib.contextmanager
def served(server: str, data: Path, round_trip_s: float) -> Iterator[str | Path]:
    """The file, or the URL of a server over it, each of whose replies comes later than it would."""
    if server == "file":
        yield data
        return
    with tempfile.TemporaryDirectory() as folder, SERVERS[server](data, Path(folder)) as url:
        if not round_trip_s:
            yield url
            return
        with Proxy(url, latency_s=round_trip_s) as proxy:
            yield proxy.url


def table(data: Path, questions: Sequence[Question], options: argparse.Namespace) -> list[str]:
    """Ask everywhere, and make the table; a server that is not installed is left out, and it is said why."""
    lines: list[list[str]] = []
    file: dict[str, list[Asked]] = {}
    methods = options.methods.split(",") if options.methods else [""]
    with kgsparql.open(FIXTURES / "wikidata_statements.ttl") as other:
        other.find("the model of embeddings is loaded before anything is measured")
    for server in ["file", *options.servers]:
        try:
            with served(server, data, options.round_trip) as source:
                for method in methods:
                    own = asked(source, questions, method, show=server if options.show else "")
                    file.setdefault(method, own)
                    lines.append(row(method, server, own, file[method], evidence=options.evidence))
        except pytest.skip.Exception as missing:
            print(f"{server} is left out: {missing}", file=sys.stderr)
    kept = [
        at
        for at, name in enumerate(COLUMNS)
        if (methods != [""] or name != "method") and (options.evidence or name != "cut apart")
    ]
    cells = [list(COLUMNS), ["---"] * len(COLUMNS), *sorted(lines, key=lambda line: methods.index(line[0]))]
    return [f"| {' | '.join(line[at] for at in kept)} |" for line in cells]


def main() -> None:
    """Start the servers one after the other, ask, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.endpoints", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder; the bundled graph without one")
    parser.add_argument("--methods", default="", help="comma-separated; the default without any")
    parser.add_argument("--servers", default=list(SERVERS), type=lambda text: text.split(","), help="comma-separated")
    parser.add_argument("--limit", type=int, default=40, help="questions; of a folder those that a SELECT answers")
    parser.add_argument("--round-trip", type=float, default=0.0, metavar="S", help="seconds added to each query")
    parser.add_argument("--evidence", action="store_true", help="compare all that is told, too")
    parser.add_argument("--show", action="store_true", help="each answer")
    parser.add_argument("-o", "--out", type=Path, help="the page whose table between <!-- servers --> is replaced")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KGSPARQL_CACHE_DIR"] = str(Path(folder) / "cache")
        data, file = FIXTURES / "nobel.ttl", FIXTURES / "endpoint_questions.jsonl"
        if options.data:
            data, file = Path(folder) / "graph.nt", options.data / "questions.jsonl"
            data.write_bytes(gzip.decompress((options.data / "graph.nt.gz").read_bytes()))
        questions = [one for one in load_dataset(file).questions if one.type in {"", "SELECT"}][: options.limit]
        lines = table(data, questions, options)
    print("\n".join(lines))
    if options.out:
        page = options.out.read_text(encoding="utf-8")
        mark = "<!-- servers -->"
        before, _, after = page.split(mark)
        options.out.write_text("\n".join([f"{before}{mark}", "", *lines, "", f"{mark}{after}"]), encoding="utf-8")


if __name__ == "__main__":
    main()
