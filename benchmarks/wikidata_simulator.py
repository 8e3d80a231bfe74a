"""What an operator of Wikidata's query service would see of a run of questions, and whether it can go again offline.

    python benchmarks/wikidata_simulator.py                          # the bundled graph
    python benchmarks/wikidata_simulator.py DATA/wikidata_qald10     # 40 SELECT questions on an extract of Wikidata
    python benchmarks/wikidata_simulator.py DATA/wikidata_qald10 --charge 8 --workers 8

DATA is a folder with a graph (`graph.nt.gz`) and `questions.jsonl`. The service is `oxigraph serve` behind a proxy with
Wikidata's limits: 60 seconds of query time a minute, 30 errors a minute, one way to reach whoever asks, and a ban for
those who ask while they are to wait. Its clock goes `--speed` times as fast as ours, and every query is charged
`--charge` of its seconds, so that there is something to wait for. Then the same run goes again from the snapshot that
it left, with the service gone. Exit code 1 if anything was impolite, a question was lost, a connection was made in the
second run, or its answers are not the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the simulator is among the tests

from kgsparql.evaluation.dataset import Question  # noqa: E402
from kgsparql.evaluation.metrics import METRICS  # noqa: E402
from kgsparql.evaluation.record import Record  # noqa: E402
from kgsparql.graphs import EndpointGraph  # noqa: E402
from kgsparql.graphs.snapshots import Snapshot  # noqa: E402
from kgsparql.knowledge_base import KnowledgeBase  # noqa: E402
from tests.endpoints.servers import oxigraph_serve, store_of  # noqa: E402
from tests.endpoints.wikidata_simulator import (  # noqa: E402
    IMPOLITE,
    WikidataSimulator,
    answers_of_run,
    questions_of,
    records_of_run,
)


def main() -> None:
    """Run the questions twice, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="folder; the bundled graph without one")
    parser.add_argument("--retriever", default="think_on_graph")
    parser.add_argument("--limit", type=int, default=40, help="questions")
    parser.add_argument("--workers", type=int, default=4, help="questions at the same time")
    parser.add_argument("--speed", type=float, default=60.0, help="of the clock of the service")
    parser.add_argument("--charge", type=float, default=4.0, help="seconds of its clock for each query")
    options = parser.parse_args()
    os.environ.setdefault("KGSPARQL_CONTACT", "https://example.org/benchmark")
    with served(options.data) as (url, file), tempfile.TemporaryDirectory() as directory:
        folder, questions = Path(directory), questions_of(file, limit=options.limit)
        simulator = WikidataSimulator(url, speed=options.speed, charge=lambda _: options.charge)

        def run(mode: Literal["write", "only"]) -> tuple[list[Record], bytes]:
            with Snapshot(folder / "snapshot", mode) as snapshot:
                profile = simulator.profile()
                graph = EndpointGraph(simulator.url, profile=profile, note=print, recording=snapshot.recording)
                knowledge = KnowledgeBase(graph, embedder="none", snapshot=snapshot)
                made = records_of_run(
                    knowledge, questions, folder / mode, method=options.retriever, workers=options.workers
                )
            return made, answers_of_run(folder / mode)

        with simulator:
            records, answers = timed(options.retriever, lambda: run("write"))
        told(simulator, questions, records)
        with Sockets() as sockets:
            _, again = timed("the same from its snapshot", lambda: run("only"))
    print(f"{'sockets opened':<18} {sockets.connected:>8}")
    print(f"{'same bytes':<18} {'yes' if again == answers else 'NO':>8}")
    lost = len(questions) - sum(record.error is None for record in records)
    is_rude = any(simulator.figures[name] for name in IMPOLITE) or simulator.most_at_once > 1
    sys.exit(1 if lost or is_rude or sockets.connected or again != answers else 0)


class Sockets:
    """Counts the connections that this process makes, while the ``with`` lasts."""

    def __init__(self) -> None:
        self.connected = 0
        self._counts = False
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _: object) -> None:
        self.connected += self._counts and event == "socket.connect"

    def __enter__(self) -> Self:
        self._counts = True
        return self

    def __exit__(self, *_: object) -> None:
        self._counts = False


def timed(what: str, run: Callable[[], tuple[list[Record], bytes]]) -> tuple[list[Record], bytes]:
    """What a run came to, and a line about how long it took."""
    began = time.monotonic()
    done = run()
    print(f"{what}: {len(done[0])} questions in {time.monotonic() - began:.1f} s")
    return done


def told(simulator: WikidataSimulator, questions: Sequence[Question], records: Sequence[Record]) -> None:
    """What was seen on both sides."""
    for name, figure in simulator.figures.items():
        print(f"{name:<18} {figure:>8,}")
    sizes = [request.sent for request in simulator.requests]
    print(f"{'bytes a reply':<18} {statistics.median(sizes):>8,.0f} median, {max(sizes):,} most")
    print(f"{'queries a question':<18} {len(simulator.requests) / len(questions):>8.1f}")
    by_id = {question.id: question for question in questions}
    hits = [METRICS["hits@1"].of(by_id[record.question], record) or 0.0 for record in records]
    print(f"{'hits@1':<18} {statistics.fmean(hits or [0.0]):>8.2f}")
    print(f"{'lost questions':<18} {len(questions) - sum(record.error is None for record in records):>8}")
    for agent in {request.headers.get("user-agent", "") for request in simulator.requests}:
        print(f"User-Agent: {agent}")


@contextmanager
def served(data: Path | None) -> Iterator[tuple[str, Path]]:
    """The URL of an engine over a folder's graph, and the file of its questions."""
    with tempfile.TemporaryDirectory() as folder:
        graph, questions = ROOT / "fixtures" / "nobel.ttl", ROOT / "fixtures" / "nobel_questions.jsonl"
        if data is not None:
            graph, questions = Path(folder) / "graph.nt", data / "questions.jsonl"
            with gzip.open(data / "graph.nt.gz") as packed, graph.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        with oxigraph_serve(store_of(graph, Path(folder) / "store")) as url:
            yield url, questions


if __name__ == "__main__":
    main()
