"""How fast kgsparql is, beside the alternatives, in one command: short tables in SPEED.md.

    python -m benchmarks DATA [--quick] [-o benchmarks/SPEED.md] [--json FILE] [--sections start growth …]

DATA is a folder of graphs with questions, one folder each, as `oewn/graph.nt.gz`. Sections whose graph is not there are
left out, and the page says so. Each part runs in a process of its own; what is compared takes turns within it. Figures
are processor time, which a busy machine bends less than it does the clock; still, read the ratios.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import first, growth, neighbourhoods, shortest_paths, startup, typos, warm
from benchmarks.spread import Spread

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page.

    :param alternative: the figure beside it, in the same unit; ``None`` for none.
    :param goal: what was asked for, as text.
    :param is_met: whether the goal is reached; ``None`` without one.
    """

    what: str
    ours: float
    unit: str
    alternative: float | None = None
    beside: str = ""
    goal: str = ""
    is_met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the alternative."""
        return self.ours / self.alternative if self.alternative else None


def at_most(what: str, ours: float, unit: str, limit: float) -> Row:
    """A line whose figure may not be larger."""
    return Row(what, ours, unit, goal=f"≤ {limit:g} {unit}", is_met=ours <= limit)


def times_at_most(what: str, ours: float, unit: str, limit: float, *, other: float, beside: str) -> Row:
    """A line whose figure may be so many times the alternative's."""
    return Row(what, ours, unit, other, beside, f"≤ {limit:g} ×", ours <= limit * other)


def spread_rows(
    what: str, own: Spread, unit: str, limit: float | None = None, limit_95: float | None = None
) -> Iterable[Row]:
    """The lines of many times: the middle, what 19 of 20 are below, the longest and what that was."""
    for name, figure, most in (("median", own.median, limit), ("19 of 20 below", own.p95, limit_95)):
        yield Row(f"{what}: {name}", figure, unit) if most is None else at_most(f"{what}: {name}", figure, unit, most)
    yield Row(f"{what}: slowest, “{own.told_slowest}”", own.max, unit)


def start(_: Path, *, quick: bool) -> Iterable[Row]:
    """Starting: commands in a new process, on the bundled graph of 1,500 triples."""
    found = run(startup.measure, rounds=1 if quick else 5)
    limits = {"--help": 0.25, "retrievers": 0.25, "ask, new question": 0.8, "ask, again": 0.5}
    by_torch = "150 texts, sentence-transformers"
    for name, seconds in found.items():
        if name in limits:
            yield at_most(name, seconds, "s", limits[name])
        elif name == "150 texts, NumPy":
            yield times_at_most(
                "150 texts as vectors", seconds, "s", 0.2, other=found[by_torch], beside="sentence-transformers"
            )
        elif name != by_torch:
            yield Row(name, seconds, "s")


def beginning(data: Path, *, quick: bool) -> Iterable[Row]:
    """What a user meets first, nothing indexed by hand: beside reading the file into the engine."""
    for name, first_s, cold_s in (("ck25", 0.9, 0.5), ("fb15k237", 5.2, 0.9)):
        if graph_of(data, name):
            found = run(first.measure, data / name, questions=10 if quick else 40)
            seconds, load = found["first_s"], found["load_s"]
            yield Row(
                f"{name}, first question ever, elapsed",
                seconds,
                "s",
                load,
                "loading",
                f"≤ {first_s} s",
                seconds <= first_s,
            )
            yield from spread_rows(f"{name}, cold question of {first.COLD}", found["cold_s"], "s", cold_s)
            yield at_most(f"{name}, cold question: {', '.join(first.HEAVY)} imported", found["heavy"], "", 0)
            yield from spread_rows(f"{name}, warm question", found["warm_ms"], "ms", 100, 300)


def looking(data: Path, *, quick: bool) -> Iterable[Row]:
    """Neighbours with labels, for an entity, beside the best queries by hand, and loops over the engine's triples."""
    for name in ("oewn", "fb15k237"):
        if graph := graph_of(data, name):
            found = run(neighbourhoods.measure, graph, entities=50 if quick else 200, seed=1)
            for way, other, limit in (
                ("one", "one by hand", 3),
                ("one", "one by patterns", 2),
                ("batch", "batch by hand", 1.5),
            ):
                what = f"{name}, {'one a call' if way == 'one' else '200 a call'}"
                yield times_at_most(what, found[way], "ms", limit, other=found[other], beside=other.split(" ", 1)[1])
            yield from [*spread_rows(f"{name}, one a call", found["each"], "ms")][1:]


def joining(data: Path, *, quick: bool) -> Iterable[Row]:
    """All shortest paths between two random entities, beside a plain compressed adjacency in NumPy."""
    for name in ("oewn", "fb15k237"):
        if graph := graph_of(data, name):
            found = run(shortest_paths.measure, graph, pairs=10 if quick else 60, seed=1)
            yield from shortest_path_rows(name, found)


def shortest_path_rows(name: str, found: Mapping[str, Any]) -> Iterable[Row]:
    """The lines of one graph."""
    own, plain = found["adjacency_ms"], found["plain_csr_ms"].median
    yield times_at_most(f"{name}, median", own.median, "ms", 3, other=plain, beside="plain adjacency")
    yield from [*spread_rows(name, own, "ms")][1:]
    yield Row(f"{name}, by SPARQL, median", found["queries_ms"].median, "ms", plain, "plain adjacency")
    yield from [*spread_rows(f"{name}, by SPARQL", found["queries_ms"], "ms")][1:]
    yield times_at_most(f"{name}, building", found["build_s"], "s", 1, other=found["load_s"], beside="loading")
    yield at_most(f"{name}, on the disk, an edge", found["bytes_an_edge"], "bytes", 25)


def naming(data: Path, *, quick: bool) -> Iterable[Row]:
    """Names with one letter wrong, without vectors, in questions of ten frames; beside rapidfuzz over all labels."""
    for name in ("fb15k237", "oewn"):
        if graph := graph_of(data, name):
            found = run(typos.measure, graph, names=50 if quick else 200, seed=1)
            labels = f"{found['labels']:,.0f} labels"
            for way in ("find", "link"):
                first, ten = found[f"{way}_hit_1"], found[f"{way}_hit_10"]
                theirs = found["rapidfuzz_hit_1"]
                yield Row(f"{name}, {way}: hit@1", first, "", theirs, "rapidfuzz", "≥ .95", first >= 0.95)
                yield Row(
                    f"{name}, {way}: hit@10", ten, "", found["rapidfuzz_hit_10"], "rapidfuzz", "≥ .99", ten >= 0.99
                )
                own, other = found[f"{way}_ms"], found["rapidfuzz_ms"].median
                yield Row(
                    f"{name}, {way}: median of {labels}", own.median, "ms", other, "rapidfuzz", "≤ 10 ms",
                    own.median <= 10,
                )  # fmt: skip
                yield from [*spread_rows(f"{name}, {way}", own, "ms")][1:]
            worst = found["worst_frame_hit_1"]
            yield Row(f"{name}, link in the worst frame: hit@1", worst, "", None, "", "≥ .95", worst >= 0.95)


def asking(data: Path, *, quick: bool) -> Iterable[Row]:
    """A question after others in one process, none of its texts embedded before: processor time without a model."""
    for name, limit in (("metaqa", 120), ("fb15k237", 250)):
        if graph_of(data, name):
            methods = ("path_ranking",) if quick else warm.names()
            found = run(warm.measure, data / name, limit=15 if quick else 50, methods=tuple(methods))
            for method in methods:
                most = limit if method == "path_ranking" else 1.5 * limit
                yield from spread_rows(f"{name}, {method}", found[method], "ms", most)


def growing(_: Path, *, quick: bool) -> Iterable[Row]:
    """Commands in new processes on made-up graphs of growing size."""
    sizes = growth.SIZES[:2] if quick else growth.SIZES
    for triples in sizes:
        for name, (seconds, megabytes) in run(growth.measure, triples).items():
            yield Row(f"{triples:,} triples: {name}", seconds, "s")
            yield Row(f"{triples:,} triples: {name}, memory", megabytes, "MB")


SECTIONS: Mapping[str, Callable[..., Iterable[Row]]] = {
    "start": start, "first": beginning, "names": naming, "neighbours": looking, "paths": joining, "questions": asking,
    "growth": growing,
}  # fmt: skip


def run(measure: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """What a measurement gives, in a new process: nothing of an earlier one is in memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments, **options).result()


def graph_of(data: Path, name: str) -> Path | None:
    """The graph of a folder; ``None`` where there is none."""
    return next((file for file in sorted((data / name).glob("graph.*")) if file.is_file()), None)


def page(sections: Mapping[str, Sequence[Row]], *, quick: bool) -> str:
    """The tables, as Markdown."""
    made = f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {multiprocessing.cpu_count()} processors"
    parts = [
        "# Speed", "",
        f"Made by `python -m benchmarks DATA{' --quick' if quick else ''}` ({made}). Processor time, medians;",
        "of many questions, names or pairs also what 19 of 20 are below, and the slowest.",
        "The graphs in DATA are not part of this repository. A goal that is missed is in **bold**.", "",
    ]  # fmt: skip
    for name, rows in sections.items():
        parts += [f"## {(SECTIONS[name].__doc__ or name).rstrip('.')}", ""]
        if not rows:
            parts += ["Not measured: its graphs are not there.", ""]
            continue
        parts += ["| what | kgsparql | beside it | ratio | goal |", "|---|---|---|---|---|"]
        parts += [_line(row) for row in rows] + [""]
    return "\n".join(parts)


def _line(row: Row) -> str:
    ratio = row.ratio
    theirs = "" if row.alternative is None else f"{_figure(row.alternative, row.unit)} ({row.beside})"
    goal = f"**{row.goal}**" if row.is_met is False else row.goal
    cells = [row.what, _figure(row.ours, row.unit), theirs, "" if ratio is None else f"{ratio:.2g} ×", goal]
    return f"| {' | '.join(cells)} |"


def _figure(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def main() -> None:
    """Measure section by section; write the page, and the figures as JSON where that is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "benchmarks" / "SPEED.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here, too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, questions and sizes")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    found: dict[str, list[Row]] = {}
    for name in options.sections:
        print(f"{name} …", file=sys.stderr, flush=True)
        found[name] = list(SECTIONS[name](options.data, quick=options.quick))
        for row in found[name]:
            print(_line(row), flush=True)
    options.out.write_text(page(found, quick=options.quick), encoding="utf-8")
    figures = {name: [asdict(row) for row in rows] for name, rows in found.items()}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
