"""As few readings as hold the right one: fits `kgsparql/answering/guarantee.json`, and judges it on graphs left out.

    python -m benchmarks.guarantee QUESTIONS                 # of graphs in the folder above that of QUESTIONS
    python -m benchmarks.guarantee QUESTIONS --json ASKED    # keeps what came of it; --read ASKED asks nothing again

A line of QUESTIONS has ``question``, ``graph`` (a path from that folder, or from here), ``set`` and ``gold``: labels in
any order, rows, true or false, or a number; ``[]`` where the graph has no answer, null where nobody judged. ``fault``
says why gold is wrong. Sets that are called ``meta…`` were made of triples; people asked the others.

How likely the right reading is among the first, the first two or three is a logistic regression on what the confidence
rests on. From how likely on is enough, the questions of people say, each by a fit without its graph (cross-conformal
prediction, Vovk 2015): the least at which so many of those that are not abstained from hold the right one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import kgsparql
from benchmarks.confidence import Asked, Values, fitted
from kgsparql.answering import choices, pipeline
from kgsparql.answering.ask_options import GUARANTEES, AskOptions
from kgsparql.answering.confidence import Calibration
from kgsparql.answering.readings import shown_terms
from kgsparql.budget import Budget
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.plans.running import Computed
from kgsparql.rdf.terms import IRI, Term
from kgsparql.retrievers import load

ROOT = Path(__file__).parents[1]
PAGE, TARGET = ROOT / "benchmarks" / "GUARANTEE.md", ROOT / "kgsparql" / "answering" / "guarantee.json"
MOST_ROWS, MOST_S, PER_PROCESS = 400, 60, 60  # rows that are judged; seconds of a question; questions of a process
KINDS = ("people", "made")

Line = Mapping[str, Any]
Names = Callable[[Term | None], set[str]]


@dataclass(frozen=True)
class Listed:
    """A question, and whether its readings hold the right one.

    :param right: whether the first, one of the first two, one of the first three is right.
    :param listed: how many readings there are; of a sure answer at least one.
    :param is_sure: whether one was answered; else the readings are what a person chooses from.
    """

    graph: str
    kind: str
    question: str
    signals: Mapping[str, float]
    listed: int
    right: Sequence[bool]
    is_answerable: bool
    is_faulty: bool
    is_sure: bool = False


# --- asking


def asked_of(path: Path, lines: Sequence[Line]) -> list[Listed]:
    """Ask questions of one graph; as a choice costs a question more, all readings are judged in the first."""
    with kgsparql.open(path, embedder="none") as knowledge:
        return [_listed(knowledge, line) for line in lines]


def _listed(knowledge: KnowledgeBase, line: Line) -> Listed:
    session = knowledge.session(line["question"], AskOptions(budget=Budget(max_seconds=MOST_S)))
    retriever = load("auto", {})
    found, session, first = pipeline._found_in_session(retriever, session)  # noqa: SLF001
    made = pipeline._answer_of(found, retriever, session)  # noqa: SLF001
    assert first is not None  # no model has chosen
    likely = [one.found for one in choices._likeliest([*choices._followed_readings(first, session)])]  # noqa: SLF001

    def is_right(terms: Iterable[Term], computed: Computed | None) -> bool:
        rows = () if computed is None or not computed.is_table else computed.rows[:MOST_ROWS]
        every = [*{*terms, *(term for row in rows for term in row if term is not None)}]
        labels = (session.labels(every, in_grace=True), knowledge.labels(every))

        def names(term: Term | None) -> set[str]:
            value = str(getattr(term, "value", term or ""))
            local = {value.rstrip("/#").replace("#", "/").rpartition("/")[2]} if isinstance(term, IRI) else set[str]()
            return {_plain(one) for one in ({value} | local | {str(own.get(term, value)) for own in labels if term})}

        return is_gold(line["gold"], [*terms], rows, names)

    own = [is_right(shown_terms(one), one.computed) for one in likely]
    right = [any(own[:size]) for size in (1, 2, 3)]
    if made.sure:
        nothing = line["gold"] in ([], False, 0)
        is_planned = made.retriever != "path_ranking"
        right[0] = nothing if made.status == "not_in_graph" else is_right(
            [one.term for one in made.best], made.computed if is_planned else None
        )  # fmt: skip
    return Listed(
        str(line["graph"]), KINDS[str(line["set"]).startswith("meta")], line["question"], dict(made.signals),
        0 if made.status == "no_entity" else 1 if made.status == "not_in_graph" else max(len(own), int(made.sure)),
        right, line["gold"] != [], "fault" in line, bool(made.sure),
    )  # fmt: skip


def is_gold(gold: Any, terms: Sequence[Term], rows: Sequence[Sequence[Term | None]], names: Names) -> bool:
    """Tell whether a reading comes to gold: as a set of names, of any language or local; or of rows, in any order.

    Gold may have one column more than was asked for; rows may be flat in gold.
    """
    if not isinstance(gold, list):
        return _is_same([{_plain(gold)}], [names(one) for one in terms])
    if not gold or max(len(rows), len(terms)) >= MOST_ROWS:
        return False
    cells = [[names(one) for one in row] for row in rows] or [[names(one)] for one in terms]
    if not isinstance(gold[0], list):
        wanted = [{"true" if one == "yes" else "false" if one == "no" else _plain(one)} for one in gold]
        wanted = wanted if len(gold) == 1 else [{_plain(one)} for one in gold]
        return any(_is_same(wanted, own) for own in ([*itertools.chain(*cells)], [row[0] for row in cells]))
    width = len(cells[0]) if cells else 0
    if not len(gold[0]) - 1 <= width <= min(5, len(gold[0])) or not width:
        return False
    return any(
        _is_same_rows({tuple(_plain(row[i]) for i in columns) for row in gold}, cells)
        for columns in itertools.permutations(range(len(gold[0])), width)
    )


def _is_same(wanted: Sequence[set[str]], found: Sequence[set[str]]) -> bool:
    """Tell whether each of two collections of names has everything of the other."""
    return all(any(one & own for own in found) for one in wanted) and all(
        any(one & own for one in wanted) for own in found
    )


def _is_same_rows(wanted: set[tuple[str, ...]], found: Sequence[Sequence[set[str]]]) -> bool:
    def fits(row: tuple[str, ...], own: Sequence[set[str]]) -> bool:
        return all(value in names for value, names in zip(row, own, strict=True))

    return all(any(fits(one, own) for own in found) for one in wanted) and all(
        any(fits(one, own) for one in wanted) for own in found
    )


def _plain(value: Any) -> str:
    text = str(value).strip()
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text.lower()


# --- fitting


def scores(rows: Sequence[Listed], fits: Sequence[Calibration]) -> Values:
    """How likely the right reading is among the first, the first two or three, of shape (questions, 3)."""
    return np.array([[own.score(row.signals) for own in fits] for row in rows])


def fits_of(rows: Sequence[Listed]) -> list[Calibration]:
    """A fit for each size, that of the confidence."""

    def fit(at: int) -> Calibration:
        is_sure, f1, margin, said = False, 0.0, 0.0, ""  # what a fit does not look at
        return fitted([
            Asked(row.graph, row.kind, row.question, row.signals, is_sure, float(row.right[at]), f1, margin, said)
            for row in rows
        ])  # fmt: skip

    return [fit(at) for at in range(3)]


def sizes_at(least: float, claimed: Values, listed: Values) -> Values:
    """How many readings are enough; 0 where all of them are not."""
    is_enough = (claimed >= least) & (np.arange(1, 4) <= listed[:, None])
    return np.where(is_enough.any(axis=1), is_enough.argmax(axis=1) + 1, 0)


def held(rows: Sequence[Listed], sizes: Values) -> Values:
    """Of those that are not abstained from, whether the set holds the right reading."""
    return np.array([row.right[size - 1] for row, size in zip(rows, sizes, strict=True) if size], float)


def least_of(rows: Sequence[Listed], claimed: Values, percent: int) -> float:
    """From how likely on sets hold the right reading so often: the least, one more counted as wrong; else never."""
    listed = np.array([row.listed for row in rows])
    for least in np.unique(claimed.round(4)):
        right = held(rows, sizes_at(least, claimed, listed))
        if len(right) and (len(right) - right.sum() + 1) / (len(right) + 1) <= 1 - percent / 100:
            return float(least)
    return 2.0


@dataclass(frozen=True)
class Judged:
    """A question whose graph was left out, and of each number of questions of 100 how many readings were enough."""

    row: Listed
    sizes: Mapping[int, int]


def left_out(rows: Sequence[Listed], faulty: Sequence[Listed]) -> tuple[list[Judged], dict[str, float]]:
    """Judge each question by fits, and by what is enough, of other graphs; and say what is enough by all of them.

    :param faulty: questions that are judged as well, and nothing is fitted to.
    """
    graphs = sorted({row.graph for row in rows})
    fits = {graph: fits_of([row for row in rows if row.graph != graph]) for graph in graphs}
    claimed = {id(row): scores([row], fits[row.graph])[0] for row in (*rows, *faulty)}
    people = [row for row in rows if row.kind == "people"]

    def enough(some: Sequence[Listed]) -> dict[int, float]:
        return {
            percent: least_of(some, np.array([claimed[id(row)] for row in some]), percent) for percent in GUARANTEES
        }

    judged = list[Judged]()
    for graph in graphs:
        least = enough([row for row in people if row.graph != graph])
        for row in (one for one in (*rows, *faulty) if one.graph == graph):
            own = {p: int(sizes_at(least[p], claimed[id(row)][None], np.array([row.listed]))[0]) for p in GUARANTEES}
            judged.append(Judged(row, own))
    return judged, {str(percent): least for percent, least in enough(people).items()}


# --- judging


def figures(judged: Sequence[Judged], percent: int) -> str:
    """Coverage, mean size, and how many of those that the graph can answer are abstained from, as cells of a table."""
    sizes = np.array([one.sizes[percent] for one in judged])
    right = held([one.row for one in judged], sizes)
    can = [one.sizes[percent] == 0 for one in judged if one.row.is_answerable]
    covered = f"{100 * right.mean():.1f} of {len(right):,} | {sizes[sizes > 0].mean():.2f}" if len(right) else "– | –"
    return f"{covered} | {100 * np.mean(can):.0f}" if can else f"{covered} | –"


HEAD = """\
# How often the readings of a guarantee hold the right one

Made by `python -m benchmarks.guarantee QUESTIONS`, {today} ({questions:,} questions of {graphs} graphs, no model,
no embedder). Each figure is of a graph that was left out of the fit, and of what is enough. *Held*: how many of 100
questions that are not abstained from have the right reading among those that are listed; where the graph has no
answer, only *Nothing in this graph* is right. *Abstains*: from how many of 100 that the graph can answer. What is
enough is fitted to the questions of people alone. The questions are not part of this repository; answers to most of
them were looked at while kgsparql was made, so that others may be harder.

| asked for | questions | held | readings, mean | abstains, % |
|---|---|---|---|---|"""
FAULTS = """
Gold is not what the graph says of {faults} questions, which are left out: numbers compared as texts, one of several
that share the place, a count for each group where one was asked for, joins of texts that differ by a space or of the
wrong column, a list that other gold contradicts. They were found by looking up in the graph what seemed wrong and
likely; the last line has them as wrong."""
BESIDE = """
## Beside others

CPR (Conformal Path Reasoning, arXiv 2605.08077) promises sets of paths, scored by a network trained for it: they
hold the right answer 34 % more often than the sets of conformal methods before it, and are 40 % smaller (in its
second version 45 and 52 %). Here nothing is trained on the graph that is asked, and what few readings do not hold is
said to be so. The questions are others: these figures and ours are not to be compared."""


def page(judged: Sequence[Judged]) -> Iterator[str]:
    """The figures by kind of graph, all of graphs left out, as Markdown."""
    whole = [one for one in judged if not one.row.is_faulty]
    people, made = ([one for one in whole if one.row.kind == kind] for kind in KINDS)
    graphs = len({one.row.graph for one in whole})
    yield HEAD.format(today=f"{datetime.now(UTC):%Y-%m-%d}", questions=len(whole), graphs=graphs)
    told = {"of people": people, "made of triples": made, "all": whole}
    for percent, (name, some) in itertools.product(GUARANTEES, told.items()):
        yield f"| {percent} | {name} ({len(some):,}) | {figures(some, percent)} |"
    if faults := sum(one.row.is_faulty for one in judged):
        every = [one for one in judged if one.row.kind == "people"]
        yield f"| 95 | of people, with wrong gold ({len(every):,}) | {figures(every, 95)} |"
        yield FAULTS.format(faults=faults)
    yield from chosen_from(people)
    yield "\n## By kind of graph, 95 of 100\n\n| graphs | questions | held | readings, mean | abstains, % |"
    yield "|---|---|---|---|---|"
    for name, some in (("of people", people), ("made of triples", made)):
        own = sorted(some, key=lambda one: _kind_of(one.row.graph))
        for kind, listed in ((kind, [*of]) for kind, of in itertools.groupby(own, lambda one: _kind_of(one.row.graph))):
            many = len({one.row.graph for one in listed})
            yield f"| {kind}{f' ({many} graphs)' * (many > 1)} | {name} ({len(listed)}) | {figures(listed, 95)} |"
    yield BESIDE


def chosen_from(judged: Sequence[Judged]) -> Iterator[str]:
    """Say how often the right reading is one of the at most three under a doubt, where the graph knows."""
    rows = [one.row for one in judged if not one.row.is_sure and one.row.is_answerable]
    shown = [row for row in rows if row.listed]
    if shown:
        right = sum(row.right[min(row.listed, 3) - 1] for row in shown)
        told = f"{len(shown)} show readings to choose from, and {right} the right one"
        yield f"\nOf {len(rows)} doubts of people where the graph knows, {told}."


def _kind_of(graph: str) -> str:
    folder, _, name = graph.rpartition("/")
    own = folder.rpartition("/")[2]
    return name.partition(".")[0] if own == "fixtures" else own


def read_lines(questions: Path) -> list[Line]:
    """Read the questions that somebody judged; where there are none, the reason is all that is said."""
    if not questions.is_file():
        sys.exit(f"skipped: {questions} is not here; the questions are not part of this repository")
    lines = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["gold"] is not None]


def asked(questions: Path, graphs: Path) -> list[Listed]:
    """Ask all questions whose graph is here, in two processes."""
    lines = sorted(read_lines(questions), key=lambda line: str(line["graph"]))
    parts = list[tuple[Path, list[Line]]]()
    for graph, own in itertools.groupby(lines, key=lambda line: str(line["graph"])):
        path = next((folder / graph for folder in (graphs, ROOT) if (folder / graph).is_file()), None)
        if path is None:
            print(f"{graph}: not here, left out", file=sys.stderr)
            continue
        some = [*own]
        parts += [(path, some[i : i + PER_PROCESS]) for i in range(0, len(some), PER_PROCESS)]
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as pool:
        return [*itertools.chain(*pool.map(asked_of, *zip(*parts, strict=True)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--graphs", type=Path, metavar="FOLDER", help="where graphs are; the folder above by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what came of the questions here")
    parser.add_argument("--read", type=Path, metavar="FILE", help="ask nothing: read what was kept")
    parser.add_argument("--dry", action="store_true", help="write no file")
    given = parser.parse_args()
    if given.read is not None:
        every = [Listed(**one) for one in json.loads(given.read.read_text(encoding="utf-8"))]
    else:
        every = asked(given.questions, given.graphs or given.questions.resolve().parents[1])
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in every], ensure_ascii=False), encoding="utf-8")
    rows = [row for row in every if not row.is_faulty]
    judged, least = left_out(rows, [row for row in every if row.is_faulty])
    shown = "\n".join(page(judged)) + "\n"
    print(shown)
    if not given.dry:
        sizes = [{"weights": own.weights, "bias": own.bias} for own in fits_of(rows)]
        listed = ",\n  ".join(map(json.dumps, sizes))
        made = f'{{\n "sizes": [\n  {listed}\n ],\n "least": {json.dumps(least)}\n}}\n'
        TARGET.write_text(made, encoding="utf-8", newline="\n")
        PAGE.write_text(shown, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
