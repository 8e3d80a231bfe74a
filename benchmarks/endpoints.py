"""The same questions embedded, on `oxigraph serve` and on Virtuoso: the same answers and evidence? at what cost?

    python benchmarks/endpoints.py                          # 40 questions over Wikidata claims, every method
    python benchmarks/endpoints.py --methods entity --show  # one method, with what differs
    python benchmarks/endpoints.py --questions 10 --skip latency

Three tables: how many questions have the same answers and evidence as in this process, those that a limit cut apart
(`cut`: some evidence or result was cut; `cut, other`: was cut, and not the same); queries and bytes of each question on
Virtuoso; and seconds of Think-on-Graph (width 3, depth 3) when every round trip takes 100 ms more, with the queries
that waited for each other. No model, no embeddings; labels are read before, and not counted.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gzip
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the servers are among the tests

from kgsparql.answering.answer import Answer  # noqa: E402
from kgsparql.evaluation.datasets import load as load_dataset  # noqa: E402
from kgsparql.events import Event, QueryRun  # noqa: E402
from kgsparql.graphs import open_graph  # noqa: E402
from kgsparql.knowledge_base import KnowledgeBase  # noqa: E402
from kgsparql.retrievers import load, names  # noqa: E402
from tests.endpoints.sameness import differences, told, was_cut  # noqa: E402
from tests.endpoints.servers import oxigraph_serve, store_of, virtuoso  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "wikidata_qald10"
ROUND_TRIP_S = 0.1
TARGET_S = 3.0


@dataclass
class Relay:
    """Passes bytes on between clients and a server, counts them, and holds each request back for a while."""

    target: tuple[str, int]
    delay_s: float = 0.0
    requests: int = 0
    sent: int = 0
    received: int = 0
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def reset(self) -> None:
        self.requests = self.sent = self.received = 0

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self.target)
            for sock in (client, server):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answered = threading.Event()
            answered.set()
            threading.Thread(target=self._out, args=(client, server, answered), daemon=True).start()
            threading.Thread(target=self._back, args=(server, client, answered), daemon=True).start()

    def _out(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                is_new = answered.is_set()
                answered.clear()
                if is_new and self.delay_s:
                    time.sleep(self.delay_s)
                with self._counting:
                    self.requests += is_new
                    self.sent += len(data)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _back(self, server: socket.socket, client: socket.socket, answered: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                answered.set()
                with self._counting:
                    self.received += len(data)
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relayed(url: str, *, delay_s: float = 0.0) -> Iterator[tuple[str, Relay]]:
    """The same endpoint behind a relay."""
    parts = urlsplit(url)
    relay = Relay((parts.hostname or "", parts.port or 80), delay_s)
    relay.start()
    yield urlunsplit(parts._replace(netloc=f"127.0.0.1:{relay.port}")), relay


def knowledge_of(source: str | Path) -> KnowledgeBase:
    knowledge = KnowledgeBase(open_graph(source, name="wikidata"), embedder="none")
    knowledge.indexes.index  # noqa: B018 - labels are read before any question
    return knowledge


def asked(knowledge: KnowledgeBase, question: str, method: str, **options: object) -> tuple[Answer, list[Event]]:
    events: list[Event] = []
    return knowledge.ask(question, retriever=load(method, options), emit=events.append), events


def waits(events: list[Event]) -> int:
    """The longest chain of queries of which each began when the one before was done."""
    runs = sorted((e.at_s - e.seconds, e.at_s) for e in events if isinstance(e, QueryRun))
    chain, until = 0, -1.0
    for began, ended in runs:
        if began >= until:
            chain, until = chain + 1, ended
    return chain


def sameness(bases: dict[str, KnowledgeBase], questions: list[str], methods: list[str], *, show: bool) -> bool:
    print(f"{'method':16}{'engine':12}{'same':>6}{'of':>5}{'answered':>10}{'cut':>6}{'cut, other':>12}{'differ':>8}")
    is_fine = True
    for method in methods:
        embedded = {question: asked(bases["embedded"], question, method) for question in questions}
        for engine, knowledge in bases.items():
            counts: collections.Counter[str] = collections.Counter()
            shown = []
            for question in questions:
                answer, events = asked(knowledge, question, method) if engine != "embedded" else embedded[question]
                parts = differences(told(embedded[question][0]), told(answer))
                cut = was_cut(answer, events) or was_cut(*embedded[question])
                counts["answered"] += bool(answer.answers)
                counts["cut"] += cut
                counts["same" if not parts else "cut, other" if cut else "differ"] += 1
                if parts:
                    shown.append(f"    {question}: {', '.join(parts)}{' (cut)' if cut else ''}")
            print(
                f"{method:16}{engine:12}{counts['same']:6}{len(questions):5}{counts['answered']:10}{counts['cut']:6}"
                f"{counts['cut, other']:12}{counts['differ']:8}",
                flush=True,
            )
            is_fine = is_fine and not counts["differ"]
            if show:
                print("\n".join(shown))
    return is_fine


def cost(url: str, questions: list[str], methods: list[str]) -> None:
    print(f"\n{'method':16}{'queries':>9}{'most':>6}{'kB sent':>9}{'kB received':>13}   (a question, on Virtuoso)")
    with relayed(url) as (through, relay):
        knowledge = knowledge_of(through)
        asked(knowledge, questions[0], methods[0])  # what is found out once about an endpoint
        for method in methods:
            relay.reset()
            queries = []
            for question in questions:
                before = relay.requests
                asked(knowledge, question, method)
                queries.append(relay.requests - before)
            mean, number = statistics.mean(queries), len(questions)
            print(
                f"{method:16}{mean:9.1f}{max(queries):6}{relay.sent / number / 1000:9.1f}"
                f"{relay.received / number / 1000:13.1f}",
                flush=True,
            )


def latency(urls: dict[str, str], questions: list[str]) -> bool:
    print(f"\nThink-on-Graph (3, 3), {1000 * ROUND_TRIP_S:.0f} ms added to each round trip, target {TARGET_S:g} s")
    print(f"{'engine':12}{'median s':>9}{'90 % s':>8}{'queries':>9}{'in a row':>10}")
    is_fine = True
    for engine, url in urls.items():
        with relayed(url, delay_s=ROUND_TRIP_S) as (through, _):
            knowledge = knowledge_of(through)
            asked(knowledge, questions[0], "think_on_graph", width=3, depth=3)
            seconds, queries, chains = [], [], []
            for question in questions:
                began = time.perf_counter()
                _, events = asked(knowledge, question, "think_on_graph", width=3, depth=3)
                seconds.append(time.perf_counter() - began)
                queries.append(sum(isinstance(event, QueryRun) for event in events))
                chains.append(waits(events))
        median = statistics.median(seconds)
        most = statistics.quantiles(seconds, n=10)[-1] if len(seconds) > 1 else median
        print(
            f"{engine:12}{median:9.2f}{most:8.2f}{statistics.median(queries):9.0f}{statistics.median(chains):10.0f}",
            flush=True,
        )
        is_fine = is_fine and median <= TARGET_S
    return is_fine


def main() -> int:
    """Start the servers, ask, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=DATA, type=Path, help="a folder of graph.nt.gz and questions.jsonl")
    parser.add_argument("--methods", default=",".join(names()), help="comma-separated")
    parser.add_argument("--questions", type=int, default=40, help="how many SELECT questions")
    parser.add_argument("--skip", default="", help="comma-separated: sameness, cost, latency")
    parser.add_argument("--show", action="store_true", help="which questions differ, and in what")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"skipped: no folder {options.data}")
        return 0
    dataset = load_dataset(options.data)
    questions = [q.text for q in dataset.questions if q.type == "SELECT"][: options.questions]
    methods, skip, is_fine = options.methods.split(","), options.skip.split(","), True
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["KGSPARQL_CACHE_DIR"] = str(directory / "cache")
        data = directory / "graph.nt"
        data.write_bytes(gzip.decompress((options.data / "graph.nt.gz").read_bytes()))
        urls = {
            "oxigraph": stack.enter_context(oxigraph_serve(store_of(data, directory / "store"))),
            "virtuoso": stack.enter_context(virtuoso(data, directory / "virtuoso", max_rows=1_000_000)),
        }
        if "sameness" not in skip:
            bases = {engine: knowledge_of(source) for engine, source in {"embedded": data, **urls}.items()}
            is_fine = sameness(bases, questions, methods, show=options.show) and is_fine
        if "cost" not in skip:
            cost(urls["virtuoso"], questions, methods)
        if "latency" not in skip:
            is_fine = latency(urls, questions) and is_fine
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
