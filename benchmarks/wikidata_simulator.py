"""What an operator of Wikidata's query service would see of our questions, and whether its users get what a file gives.

    python -m benchmarks.wikidata_simulator DATA/wikidata_qald10                # 40 questions, the default method
    python -m benchmarks.wikidata_simulator DATA/wikidata_qald10 --charge 3 --show

DATA is a folder with a graph (`graph.nt.gz`) and `questions.jsonl`, the bundled graph without it. The service is
`oxigraph serve` behind a proxy with Wikidata's limits: 60 seconds a query, 60 seconds of query time and 30 errors a
minute, 5 queries at a time, one way to reach whoever asks, and a ban for those who ask while they are to wait; it has
statements beside direct claims, and a search of its own. Its clock goes `--speed` times as fast as ours, and every
query is charged `--charge` of its seconds, so that there is something to wait for.

Each question is asked of the file and of the service, with status and answers beside each other. Exit code
1 if anything was impolite, or a question was lost.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import kgsparql
from benchmarks.wikidata_service import (
    IMPOLITE,
    ItemSearch,
    WikidataSimulator,
    as_wikidata_has_it,
)
from kgsparql import EndpointGraph
from kgsparql.errors import KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import load as load_dataset
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.terms import normalised
from tests.endpoints.servers import oxigraph_serve, store_of

ROOT = Path(__file__).parents[1]
MOST_QUERIES = 40


def main() -> None:
    """Ask, print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wikidata_simulator", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("data", nargs="?", type=Path, help="folder; the bundled graph without one")
    parser.add_argument("--retriever", default="", help="the default method without it")
    parser.add_argument("--limit", type=int, default=40, help="questions")
    parser.add_argument("--speed", type=float, default=60.0, help="of the clock of the service")
    parser.add_argument("--charge", type=float, default=1.0, help="seconds of its clock for each query")
    parser.add_argument("--manners", choices=["Blazegraph", "QLever"], default="Blazegraph", help="of the engine")
    parser.add_argument("--show", action="store_true", help="each question")
    options = parser.parse_args()
    os.environ.setdefault("KGSPARQL_CONTACT", "https://example.org/benchmark")
    with tempfile.TemporaryDirectory() as directory:
        os.environ["KGSPARQL_CACHE_DIR"] = f"{directory}/cache"
        sys.exit(0 if compared(options, Path(directory)) else 1)


def compared(options: argparse.Namespace, folder: Path) -> bool:
    """Ask the file and the service; tell whether the service was asked politely, and answered all."""
    data, questions_file = unpacked(options.data, folder)
    questions = [one for one in load_dataset(questions_file).questions if one.text][: options.limit]
    as_wikidata_has_it(data, folder / "served.nt")
    lines, chosen = [], {"retriever": options.retriever} if options.retriever else {}
    with oxigraph_serve(store_of(folder / "served.nt", folder / "store")) as url:
        how = {"speed": options.speed, "charge": lambda _: options.charge, "manners": options.manners}
        with WikidataSimulator(url, search=ItemSearch(data), **how) as simulator:
            graph = EndpointGraph(simulator.url, name="data", profile=simulator.profile(), note=print)
            with kgsparql.open(data, name="data") as file, KnowledgeBase(graph) as service:
                for question in questions:
                    before = len(simulator.requests)
                    found = [outcome(one, question, chosen) for one in (file, service)]
                    lines.append((question, *found, len(simulator.requests) - before))
                    if options.show or found[0] != found[1]:
                        print(f"{lines[-1][-1]:4} queries  {question.text}", *found, sep="\n      ", flush=True)
            told(simulator)
    queries = [line[-1] for line in lines]
    gold = [{normalised(one.label) for one in line[0].answers or ()} for line in lines]
    print(f"{'alike':<22} {sum(line[1] == line[2] for line in lines):>4} of {len(lines)}")
    for at, name in ((1, "file"), (2, "service")):
        rights = [line[at][1] == right for line, right in zip(lines, gold, strict=True)]
        sure = sum(line[at][0] == "answered" for line, is_right in zip(lines, rights, strict=True) if is_right)
        wrong = sum(line[at][0] == "answered" for line, is_right in zip(lines, rights, strict=True) if not is_right)
        print(f"{name:<22} {sum(rights):>4} right, {sure} of them sure; {wrong} wrong and sure")
    print(f"{'queries a question':<22} {statistics.median(queries):>4.0f} median, {max(queries)} most")
    print(f"{f'over {MOST_QUERIES} queries':<22} {sum(number > MOST_QUERIES for number in queries):>4} questions")
    return not is_rude(simulator) and not simulator.throttled and not any(line[2][0] == "error" for line in lines)


def outcome(knowledge: KnowledgeBase, question: Question, chosen: dict[str, str]) -> tuple[str, set[str]]:
    """Ask, and return status and answers."""
    try:
        answer = knowledge.ask(question.text, **chosen)
    except KgsparqlError as error:
        return "error", {error.message}
    return answer.status, {normalised(one.label) for one in answer.best}


def is_rude(simulator: WikidataSimulator) -> bool:
    """Tell whether its operators would mind."""
    return any(simulator.figures[name] for name in IMPOLITE) or simulator.most_at_once > 1


def told(simulator: WikidataSimulator) -> None:
    """Print what the service saw."""
    for name, figure in simulator.figures.items():
        print(f"{name:<22} {figure:>8,}")
    sizes = [request.sent for request in simulator.requests]
    print(f"{'bytes a reply':<22} {statistics.median(sizes):>8,.0f} median, {max(sizes):,} most")
    for agent in {request.headers.get("user-agent", "") for request in simulator.requests}:
        print(f"User-Agent: {agent}")


def unpacked(data: Path | None, folder: Path) -> tuple[Path, Path]:
    """Return the graph of a folder, unpacked, and the file of its questions; those that are bundled without one."""
    if data is None:
        return ROOT / "fixtures" / "nobel.ttl", ROOT / "fixtures" / "nobel_questions.jsonl"
    with gzip.open(data / "graph.nt.gz") as packed, (folder / "graph.nt").open("wb") as unpacked_:
        shutil.copyfileobj(packed, unpacked_)
    return folder / "graph.nt", data / "questions.jsonl"


if __name__ == "__main__":
    main()
