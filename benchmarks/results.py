"""Everything that can be measured without a language model, as one page: ``benchmarks/RESULTS.md``.

    python benchmarks/results.py DATA                    # every set below DATA that is there; an hour or more
    python benchmarks/results.py DATA --sets metaqa,orkg --limit 30 -o page.md

Each set is asked with ``kgsparql eval``: every method without a model. The runs are kept in ``--work``: what is there
is not asked again, and an interrupted page goes on. Then come what each method spends with a scripted model, beside
what it says it spends at most, and what other methods retrieved
on the ORKG questions, scored by the same metrics.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the scripted server is among the tests, the peers beside this file

import kgsparql  # noqa: E402
from benchmarks import peers  # noqa: E402
from kgsparql.evaluation.comparison import Comparison, Row, compare  # noqa: E402
from kgsparql.evaluation.datasets import load as load_questions  # noqa: E402
from kgsparql.evaluation.run_directory import Run  # noqa: E402
from kgsparql.retrievers import load, names  # noqa: E402
from tests.model_server import ModelServer  # noqa: E402
from tests.scripted import Player  # noqa: E402

PAGE = ROOT / "benchmarks" / "RESULTS.md"


@dataclass(frozen=True)
class Set:
    """A folder of questions.

    :param limit: questions that are drawn of it; ``None`` for all.
    :param about: what a reader must know to read its figures.
    """

    name: str
    limit: int | None
    about: str


SETS = (
    Set("nobel_bundled", None, "The bundled graph and its 40 questions (`fixtures/`), written by us."),
    Set("metaqa", 150, "Films: nine predicates, one to three hops, every question from a template."),
    Set("pathquestion", 100, "Freebase people: two and three hops, no classes."),
    Set("fb15k237", 100, "Real search-engine questions (WebQSP) on a subset of Freebase with 237 predicates."),
    Set(
        "wikidata_qald10", None,
        "QALD-10 on an extract of Wikidata. Yes/no and count questions are in it; only `query_plan` computes those, "
        "and on a sparse graph a negative one is trivially true: read the breakdown by type.",
    ),
    Set("nobel", 105, "Laureates and institutions, seven templates: a demonstration, not a benchmark."),
    Set("ck25", None, "A fictional company: literals, aggregates, results of several columns."),
    Set(
        "orkg", None,
        "Scholarly papers. The gold is triples: `triple_recall` and `triple_hit@10` decide, beside the peers below.",
    ),
    Set("emckg", 40, "Medical dialogues: the gold is what a doctor's reply names, which is not all there is."),
)  # fmt: skip

QUALITY = ("hits@1", "expected_hits@1", "f1", "mrr", "linking_recall@1")
TRIPLES = ("triple_recall", "triple_hit@10", "triple_f1")
RELIABILITY = ("grounded", "fallbacks", "truncated", "failed")


def main() -> None:
    """Make the runs that are not there yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder with a folder for each set")
    parser.add_argument("--sets", help="comma-separated; all by default")
    parser.add_argument("--limit", type=int, help="questions of each set, instead of its own number")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "results", help="where runs are kept")
    parser.add_argument("--runs-only", action="store_true", help="make runs, write no page")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    wanted = [one for one in SETS if options.sets is None or one.name in options.sets.split(",")]
    options.work.mkdir(parents=True, exist_ok=True)
    parts = [HEAD.format(version=kgsparql_version())]
    for one in wanted:
        folder = bundled(options.work) if one.name == "nobel_bundled" else options.data / one.name
        if not folder.is_dir():
            print(f"{one.name}: not there", file=sys.stderr)
            continue
        run = run_of(one, folder, options.work, limit=options.limit or one.limit)
        if not options.runs_only:
            parts.append("\n".join(section(one, run)))
    if options.runs_only:
        return
    parts.append("\n".join(costs()))
    if (options.data / "orkg" / "peers").is_dir() and any(one.name == "orkg" for one in wanted):
        parts.append("\n".join(peers_section(options.data / "orkg")))
    options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


HEAD = """\
# Results

Written by `python benchmarks/results.py DATA` from the runs it made. kgsparql {version}, on the open questions of each
set, no language model anywhere: none could be reached where this was made. `kgsparql/evaluation/metrics.py` defines
the metrics. Figures are means over questions; in brackets are 95 % intervals (questions drawn anew).

The entities are linked from the question, nobody is told the number of hops, options are as by default.

Graphs of more than 100,000 triples (MetaQA, FB15k-237) have their adjacency, as `kgsparql index` makes it: fewer
queries are asked then.

What must be computed (counts, yes or no, extremes, tables) is measured by kind in [COMPUTED.md](COMPUTED.md)."""


def kgsparql_version() -> str:
    """The version that is measured."""
    from importlib.metadata import version

    return version("kgsparql")


def bundled(work: Path) -> Path:
    """The bundled graph and its questions as a folder."""
    folder = work / "nobel_bundled"
    folder.mkdir(exist_ok=True)
    for name, file in (("graph.ttl", "nobel.ttl"), ("questions.jsonl", "nobel_questions.jsonl")):
        (folder / name).write_bytes((ROOT / "fixtures" / file).read_bytes())
    return folder


def run_of(one: Set, folder: Path, work: Path, *, limit: int | None) -> Run:
    """The run of a set; of a large graph, with its adjacency."""
    kgsparql.open(load_questions(folder).graph[0], embedder=None).index_paths()
    path = work / f"{one.name}-no_model"
    if (path / "run.json").is_file():
        if (made := Run.open(path)).config["ended"] and made.config["limit"] == limit:
            return made
        shutil.rmtree(path)  # it was stopped, or is of other questions
    more = [] if limit is None else ["--limit", str(limit)]
    asked = ["eval", str(folder), "--no-model", "-r", "all", *more, "-o", str(path)]
    command = [sys.executable, "-m", "kgsparql", *asked]
    print("$", *command[1:], file=sys.stderr)
    subprocess.run(command, check=True)
    return Run.open(path)


def section(one: Set, run: Run) -> Iterator[str]:
    """One set: what it is, then a table."""
    config = run.config
    yield f"## {one.name}"
    yield ""
    triples = f"{config['graph']['triples']:,} triples" if config["graph"]["triples"] else "an endpoint"
    yield f"{one.about} {config['questions']:,} questions, {triples}; ranked with {config['embedder']}."
    (found,) = compare([run], metrics=[*QUALITY, *TRIPLES, *RELIABILITY, "queries"])
    yield ""
    yield from table(found)
    yield from by_slice(run, found)


def table(found: Comparison) -> Iterator[str]:
    """A row for each method."""
    shown = [m for m in (*QUALITY, *TRIPLES) if m in found.defined]
    columns = ["method", "n", *shown, *RELIABILITY, "queries"]
    yield row_of(columns)
    yield row_of(["---"] * len(columns))
    for row in found.rows:
        quality = [cell(row, m, interval=m in {"hits@1", "expected_hits@1", "triple_recall"}) for m in shown]
        trust = [f"{100 * row.mean(m):.0f} %" if row.values(m) else "–" for m in RELIABILITY]
        yield row_of([f"`{row.name}`", str(len(row.scores)), *quality, *trust, cell(row, "queries", digits=1)])


def by_slice(run: Run, found: Comparison) -> Iterator[str]:
    """``hits@1`` by number of hops, else by type where there are a few."""
    for kind in ("hops", "type"):
        groups: dict[Any, list[tuple[str, str]]] = {}
        for question in run.questions:
            groups.setdefault(getattr(question, kind) or "unknown", []).append((question.id, question.text))
        if not 1 < len(groups) <= 8:
            continue
        values = sorted(groups, key=str)
        yield ""
        yield row_of([f"hits@1 by {kind}", *map(str, values)])
        yield row_of(["---"] * (len(values) + 1))
        for row in found.rows:
            yield row_of([f"`{row.name}`", *(sliced(row, groups[value]) for value in values)])


def sliced(row: Row, keys: Sequence[tuple[str, str]]) -> str:
    """``hits@1`` of some of the questions of a row, and how many they are."""
    hits = [own for key, own in row.values("hits@1").items() if key in keys]
    return f"{np.mean(hits):.3f} (n {len(hits)})" if hits else ""


def cell(row: Row, metric: str, *, interval: bool = False, digits: int = 3) -> str:
    """A figure as the tables write it."""
    values = [*row.values(metric).values()]
    if not values:
        return "–"
    text = f"{row.mean(metric):.{digits}f}"
    if not interval:
        return text
    drawn, random = np.array([*values, 0.0, 1.0]), np.random.default_rng(0)  # one of each besides: else 1.0 is certain
    means = [random.choice(drawn, drawn.size).mean() for _ in range(2_000)]
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{text} ({low:.2f}–{high:.2f})"


def row_of(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def costs() -> Iterator[str]:
    """What each method spends at most, and what it spent with a scripted model on the bundled questions."""
    yield "## What a question costs"
    yield ""
    yield "What each method says it spends at most (`kgsparql retrievers`), and the most it spent on the 40 bundled"
    yield "questions with a scripted model that chooses at once and never says that the evidence is enough (the longest"
    yield "way), linked from the question. The scripted model says nothing about quality."
    yield ""
    columns = ["method", "calls: bound", "most", "mean", "rounds: bound", "most", "queries: bound", "most", "mean"]
    yield row_of(columns)
    yield row_of(["---"] * len(columns))
    knowledge = kgsparql.open(ROOT / "fixtures" / "nobel.ttl", embedder="none")
    with (ROOT / "fixtures" / "nobel_questions.jsonl").open(encoding="utf-8") as file:
        questions = [json.loads(line)["question"] for line in file]
    for name in names():
        method = load(name)
        used: list[dict[str, Any]] = []
        entities = 1
        with (
            ModelServer(Player(sufficient=False)) as server,
            kgsparql.open_model("scripted", base_url=server.url, mode=None) as model,
        ):
            for question in questions:
                answer = knowledge.ask(question, retriever=name, model=model, trial=False)
                used.append(dict(answer.usage))
                entities = max(entities, len(answer.linked))
        bounds = method.cost(entities=entities)._asdict()
        calls, rounds, queries = ([u[what] for u in used] for what in ("model_calls", "rounds", "queries"))
        yield row_of([
            f"`{name}`", str(bounds["calls"]), str(max(calls)), f"{sum(calls) / len(calls):.1f}",
            str(bounds["rounds"]), str(max(rounds)),
            str(bounds["queries"]), str(max(queries)), f"{sum(queries) / len(queries):.1f}",
        ])  # fmt: skip


def peers_section(folder: Path) -> Iterator[str]:
    """What other methods retrieved on the ORKG questions."""
    found, problems = peers.tables(folder)
    yield "## orkg, other methods"
    yield ""
    yield "What four other methods retrieved on this graph, from the files of their authors, scored by our metrics."
    yield "They used o3-mini and gpt-4o-mini; the rows above used no model."
    for title, rows in found.items():
        yield ""
        yield f"### {title}"
        yield ""
        yield peers.markdown(rows).strip()
    yield ""
    yield peers.NOTES.strip()
    for problem in problems:
        yield f"- not read: {problem}"


if __name__ == "__main__":
    main()
