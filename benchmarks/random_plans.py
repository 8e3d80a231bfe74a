"""Random plans over a graph, each with a limit of seconds: whether all end in time, and how many are computed.

    python -m benchmarks.random_plans GRAPH [-n 200] [--seed 1] [--seconds 5] [--unlimited 60] [-o FILE]

The plans are typed: paths leave classes by predicates that their instances have, and are compared with values that are
there. They are nested up to five deep, and the same for the same graph and seed. One that is not computed in time is
run once more with the longer limit, as the plans that end in it are what the share is of.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import kgsparql
from kgsparql.budget import Budget, Usage
from kgsparql.errors import KgsparqlError, PlanError
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import written_plan
from kgsparql.plans.running import run
from kgsparql.plans.type_check import check
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import CLASS_KINDS, RDF_TYPE
from kgsparql.schema.vocabulary import GraphVocabulary

DEPTH = 5
COMPUTED = "computed"
_LATE_S = 2.0  # what a limit may be exceeded by
_FEWEST = 5  # instances of a class that is asked about, and triples of a step from them


class RandomPlans:
    """Draws plans that make sense on a graph."""

    def __init__(self, graph: OxigraphGraph, seed: int) -> None:
        self.random = Random(seed)
        triples = [quad.triple for quad in graph.quads()]
        kinds: dict[Term, list[IRI]] = defaultdict(list)
        for subject, predicate, far in triples:
            if predicate == RDF_TYPE and isinstance(far, IRI):
                kinds[subject].append(far)
        sizes = Counter(kind for own in kinds.values() for kind in own)
        self.items: dict[IRI, list[IRI]] = {
            kind: sorted((x for x, own in kinds.items() if kind in own and isinstance(x, IRI)), key=str)
            for kind, size in sorted(sizes.items(), key=str)
            if size >= _FEWEST and kind not in CLASS_KINDS
        }
        steps: dict[IRI, Counter[tuple[Step, IRI | a.Kind]]] = defaultdict(Counter)
        self.values: dict[IRI, list[Literal]] = defaultdict(list)
        for subject, predicate, far in triples:
            if isinstance(far, Literal):
                self.values[predicate].append(far)
            ends: list[Any] = [_kind_of(far)] if isinstance(far, Literal) else kinds.get(far, [])
            for own in kinds.get(subject, ()):
                for end in ends:
                    steps[own][Step(predicate), end] += 1
                    if not isinstance(far, Literal):
                        steps[end][Step(predicate, "inverse"), own] += 1
        self.steps = {
            kind: sorted((one for one, count in steps[kind].items() if count >= _FEWEST and _leads(one, self)), key=str)
            for kind in self.items
        }
        self.classes = [kind for kind in self.items if self.items[kind] and self._onward(kind)]

    def draw(self, count: int) -> Iterator[a.Plan]:
        """Yield plans."""
        forms: tuple[Callable[[], a.Plan], ...] = (
            self._set, self._set, self._count, self._summary, self._condition, self._table, self._groups, self._best,
        )  # fmt: skip
        while count:
            try:
                check(plan := self.random.choice(forms)())
            except (PlanError, IndexError):  # too many parts, or nothing of the kind leaves the class
                continue
            count -= 1
            yield plan

    def _onward(self, kind: IRI) -> list[tuple[Step, IRI]]:
        return [(step, end) for step, end in self.steps[kind] if isinstance(end, IRI)]

    def _path(self, kind: IRI) -> tuple[PropertyPath, IRI]:
        steps = list[Step]()
        for _ in range(self.random.choice((1, 1, 1, 2))):
            step, kind = self.random.choice(self._onward(kind))
            steps.append(step)
        return PropertyPath(tuple(steps)), kind

    def _value(self, kind: IRI, kinds: tuple[a.Kind, ...]) -> a.Value:
        before, own = tuple[Step, ...](), kind
        if self.random.random() < 0.25:
            path, own = self._path(kind)
            before = path.steps
        step, end = self.random.choice([one for one in self.steps[own] if one[1] in kinds])
        return a.Value(PropertyPath((*before, step)), end)  # type: ignore[arg-type]

    def _measure(self, kind: IRI, depth: int, kinds: tuple[a.Kind, ...] = ("number", "date")) -> a.Measure:
        form = self.random.random()
        if form < 0.3 or "number" not in kinds:
            path, end = self._path(kind)
            among = self._items(depth - 1, end) if self.random.random() < 0.3 else None
            return a.HowMany(path, among)
        if form < 0.4:
            number = self._value(kind, ("number",))
            summary: a.Summary = self.random.choice(("sum", "avg", "min", "max"))
            return a.Summarised(summary, number.path)
        if form < 0.5:
            sign: a.Arithmetic = self.random.choice(("+", "-", "*", "/"))
            return a.Calculated(sign, self._value(kind, ("number",)), self._measure(kind, depth - 1, ("number",)))
        return self._value(kind, kinds)

    def _set(self) -> a.ItemSet:
        return self._items(DEPTH, self.random.choice(self.classes))

    def _items(self, depth: int, kind: IRI) -> a.ItemSet:  # noqa: PLR0911 - one arm a form
        """Draw a set of things of a class."""
        if depth <= 1 or self.random.random() < 0.1:
            if self.random.random() < 0.2:
                return a.Items(tuple(self.random.sample(self.items[kind], min(3, len(self.items[kind])))))
            return a.Instances(kind)
        within = partial(self._items, depth - 1)
        match self.random.choice(
            ("ends", "ends", "where", "where", "has", "has", "lacks", "sets", "minus", "top", "named")
        ):
            case "ends":
                path, end = self._path(kind)
                return a.Ends(within(end), PropertyPath(tuple(step.reversed for step in reversed(path.steps))))
            case "where":
                return self._where(kind, depth)
            case "has" | "lacks" as form:
                path, end = self._path(kind)
                to = within(end) if self.random.random() < 0.6 else None
                return (a.Has if form == "has" else a.Lacks)(within(kind), path, to)
            case "sets":
                return self.random.choice((a.Both, a.Either))((within(kind), within(kind)))
            case "minus":
                return a.Minus(within(kind), within(kind))
            case "top":
                number, is_largest = self.random.choice((1, 3)), self.random.random() < 0.5
                return a.Top(within(kind), self._measure(kind, depth), number, is_largest)
            case _:
                return a.Named(within(kind), self.random.choice("aeiou"))

    def _where(self, kind: IRI, depth: int) -> a.Where:
        measure = self._measure(kind, depth)
        comparison: a.Comparison = self.random.choice(("=", "!=", "<", "<=", ">", ">="))
        inner = self._items(depth - 1, kind)
        if isinstance(measure, a.Value):
            value = self.random.choice(self.values[measure.path.last_step.predicate])
            return a.Where(inner, measure, comparison, value)
        other = self._measure(kind, depth - 1, ("number",)) if self.random.random() < 0.3 else self._constant()
        return a.Where(inner, measure, comparison, other)

    def _constant(self) -> a.Constant:
        return a.Constant(Decimal(self.random.choice((0, 1, 2, 5, 10, 100))))

    def _count(self) -> a.Count:
        return a.Count(self._set())

    def _summary(self) -> a.SummaryOf:
        kind = self.random.choice(self.classes)
        summary: a.Summary = self.random.choice(("sum", "avg", "min", "max"))
        return a.SummaryOf(summary, self._items(DEPTH - 1, kind), self._measure(kind, DEPTH - 2, ("number",)))

    def _condition(self) -> a.Condition:
        if self.random.random() < 0.5:
            return a.Exists(self._set())
        comparison: a.Comparison = self.random.choice(("=", "<", ">"))
        return a.Compares(self._count(), comparison, self.random.choice((self._count, self._constant))())

    def _table(self) -> a.ItemTable:
        kind = self.random.choice(self.classes)
        columns = tuple(
            a.Column(f"c{i}", self._measure(kind, 2), optional=self.random.random() < 0.5)
            for i in range(self.random.choice((1, 2, 3)))
        )
        return a.ItemTable(self._items(DEPTH - 1, kind), columns, order_by=self.random.choice(("", "c0")))

    def _groups(self) -> a.Grouped:
        kind = self.random.choice(self.classes)
        path, _ = self._path(kind)
        some = (a.SummaryOf("avg", a.Members(), self._value(kind, ("number",))), a.Count(a.Members()))
        columns = (a.Column("n", a.Count(a.Members())), a.Column("of", self.random.choice(some)))
        return a.Grouped(self._items(DEPTH - 1, kind), path, columns, order_by="n")

    def _best(self) -> a.BestOfEach:
        kind = self.random.choice(self.classes)
        path, _ = self._path(kind)
        return a.BestOfEach(self._items(DEPTH - 1, kind), path, self._measure(kind, 2))


def _kind_of(literal: Literal) -> a.Kind:
    kind = literal_kind(literal)
    return "text" if kind == "boolean" else kind


def _leads(step: tuple[Step, IRI | a.Kind], plans: RandomPlans) -> bool:
    """Tell whether it leads to numbers, dates or things of a class that is asked about."""
    return step[1] in {"number", "date"} or (step[1] in plans.items and step[0].predicate != RDF_TYPE)


def outcome_of(plan: a.Plan, graph: OxigraphGraph, seconds: float) -> tuple[str, float, float]:
    """What a plan came to within a limit, the seconds it took, and those of processors."""
    usage = Usage(Budget(max_seconds=seconds, max_queries=None))
    usage.begin_asking(is_remote=False)
    began, used = time.monotonic(), _processor_s()
    try:
        found = run(plan, graph.within(usage), vocabulary=GraphVocabulary.of(graph))
        said = COMPUTED if not found.unread else "computed, not all facts"
    except KgsparqlError as error:
        said = error.message
    took = time.monotonic() - began
    graph.close()  # those of its processes count when they are over
    return said, round(took, 3), round(_processor_s() - used, 3)


def _processor_s() -> float:
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def main() -> None:
    """Run the plans; print those that are slow, and how many ended how."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("-n", type=int, default=200, help="plans")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="the limit of each")
    parser.add_argument("--unlimited", type=float, default=60, help="the limit of what is run again; 0: nothing is")
    parser.add_argument("-o", "--out", type=Path, help="a file for the plans and what they came to, a line each")
    given = parser.parse_args()
    rows = list[dict[str, Any]]()
    with kgsparql.open(given.graph, embedder="none") as knowledge:
        graph: Any = knowledge.graph
        for number, plan in enumerate(RandomPlans(graph, given.seed).draw(given.n)):
            row = dict(zip(("said", "seconds", "processor_s"), outcome_of(plan, graph, given.seconds), strict=True))
            row |= {"number": number, "plan": written_plan(plan)}
            if not row["said"].startswith(COMPUTED) and given.unlimited:
                row["then"], _, row["then_s"] = outcome_of(plan, graph, given.unlimited)
            rows.append(row)
            if given.out:
                with given.out.open("w" if number == 0 else "a", encoding="utf-8") as out:
                    print(json.dumps(row), file=out)
    _tell(rows, given.seconds)


def _tell(rows: list[dict[str, Any]], limit: float) -> None:
    in_time = [row for row in rows if row["said"].startswith(COMPUTED)]
    slow = [row for row in rows if row not in in_time and row.get("then", "").startswith(COMPUTED)]
    ends = max(1, len(in_time) + len(slow))
    quick = len(in_time) + sum(row["then_s"] <= limit for row in slow)
    late = sum(row["seconds"] > limit + _LATE_S for row in rows)
    print(f"{len(rows)} plans, {late} later than {limit + _LATE_S:g} s; {ends} end with the longer limit")
    print(
        f"of these within {limit:g} s: {100 * len(in_time) / ends:.1f} %, of processor time {100 * quick / ends:.1f} %"
    )
    print(f"without all facts: {sum(row['said'] != COMPUTED for row in in_time)}")
    for what in ("seconds", "processor_s"):
        times = sorted(row[what] for row in rows)
        half, most = (times[int(share * (len(times) - 1))] for share in (0.5, 0.95))
        print(f"{what}: median {half:.2f}, p95 {most:.2f}, max {times[-1]:.2f}")
    for row in sorted(rows, key=lambda row: -row["processor_s"])[:5]:
        print(f"  {row['number']:>4} {row['processor_s']:6.2f} s  {row['said']}; {row.get('then', '')[:60]}")


if __name__ == "__main__":
    main()
