"""Members of RDF lists and containers in plans: a predicate that leads to a list means what is in it, in its order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kgsparql.dataclasses import dataclass, replace
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import PlannedReading, back
from kgsparql.plans.plan_compiler import PlanCompiler
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import mapped, parts
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import LIST_END, LIST_FIRST, LIST_REST
from kgsparql.reading.gaps import left_out_at, other_kind

A_LIST = other_kind("what is in a list", "the list")
_RDF = LIST_FIRST.value.removesuffix("first")
_PLACE = re.compile(re.escape(_RDF) + r"_([1-9][0-9]*)\Z")
_LONGEST, _READ = 25, 5_000
"""Members of a list that are told apart; cells of lists, or predicates at them, that are read."""


@dataclass(slots=True)
class ListMembers:
    """Puts the members of lists in their place in plans of one question."""

    profiler: Profiler
    is_unread: bool = False

    def read(self, reading: PlannedReading, place: tuple[int, int] | None) -> PlannedReading:
        """Return a reading about the members; doubted, where they cannot be told.

        :param place: of the word that says which of them is asked for, and which: 1 of the `second`, -1 of the `last`.
        """
        if (plan := reading.plan) is None:
            return reading
        paths = [part.path for part in parts(plan) if isinstance(part, a.Ends | a.Has | a.Lacks)]
        self.profiler.look_at_ends([step.predicate for path in paths for step in path.steps])
        made, doubts = mapped(plan, self.in_place), reading.doubts
        if place is not None and made != plan and isinstance(made, a.Either):
            position, at = place
            doubts = tuple(doubt for doubt in doubts if doubt.position != position)
            if -len(made.sets) <= at < len(made.sets):
                made = made.sets[at]
            else:
                doubts += left_out_at([position])
        measured = [part for part in parts(made) if isinstance(part, a.HowMany | a.Value | a.Summarised)]
        of = next((part.items for part in parts(made) if hasattr(part, "items")), a.Items(()))
        if self.is_unread or any(self._ways_in_lists(of, one.path) for one in measured):
            doubts += (A_LIST,)
        return replace(reading, plan=made, doubts=doubts)

    def in_place(self, part: Any) -> Any:
        """Return a part of a plan with the members of lists in the place of these."""
        match part:
            case a.Ends(start, path) if ways := self._ways_in_lists(start, path):
                return a.Either(tuple(a.Ends(start, way) for way in ways))
            case a.Has(items, path) | a.Lacks(items, path) if ways := self._ways_in_lists(items, path):
                sets = tuple(replace(part, path=way) for way in ways)
                return a.Either(sets) if isinstance(part, a.Has) else a.Both(sets)
        return part

    def _ways_in_lists(self, start: a.ItemSet, path: PropertyPath) -> list[PropertyPath]:
        """Find the paths to each place of the lists that a path leads to; none where it leads to none."""
        for at, step in enumerate(path.steps):
            if not self.profiler.at_ends(step.predicate).lead_to_lists:
                continue
            x, cell = Variable("x"), Variable("cell")
            compiler = PlanCompiler(self.profiler.vocabulary, _READ)
            before = a.Ends(start, PropertyPath(path.steps[: at + 1]))
            is_forward = step.direction == "forward"
            lists = compiler.members(before, x) if is_forward else (g.Fact(Variable("of"), step.predicate, x),)
            first, last = path.steps[: at + is_forward], path.steps[at + is_forward :]
            ways = [own if is_forward else back(own) for own in self._ways_to_members(lists, x, cell)]
            return [PropertyPath((*first, *way.steps, *last)) for way in ways]
        return []

    def _ways_to_members(self, lists: g.Group, x: Variable, cell: Variable) -> Iterator[PropertyPath]:
        p, graph = Variable("p"), self.profiler.graph
        head = g.Select(((p, None),), (*lists, g.Fact(x, p, cell)), distinct=True, limit=_READ)
        used = {own for found in graph.select(g.select_query("at_lists", head)) if isinstance(own := found["p"], IRI)}
        numbers = sorted(int(found[1]) for own in used if (found := _PLACE.match(own.value)) is not None)
        for number in numbers:
            yield PropertyPath((Step(IRI(f"{_RDF}_{number}")),))
        if LIST_FIRST in used:
            rest = g.OneOfPredicates(x, (), cell, then=(LIST_REST,))
            cells = (*lists, rest, g.Fact(cell, LIST_FIRST, Variable("member")))
            read = graph.select(g.select_query("cells", g.Select(((x, None), (cell, None)), cells, True, limit=_READ)))
            longest = max(Counter(one["x"] for one in read).values(), default=0)
            self.is_unread |= longest > _LONGEST or len(read) == _READ or not read.complete
            for place in range(min(longest, _LONGEST)):
                yield PropertyPath((*[Step(LIST_REST)] * place, Step(LIST_FIRST)))
        elif not numbers:
            some = graph.select(g.select_query("lists", g.Select(((x, None),), lists, True, limit=2)))
            if {one["x"] for one in some} == {LIST_END}:  # empty: nothing
                yield PropertyPath((Step(LIST_FIRST),))


def without_places(plan: Any) -> Any:
    """Make a plan for reading, in which the members of lists are what the predicate leads to, whatever their place."""

    def change(part: Any) -> Any:
        if not isinstance(part, a.Either | a.Both):
            return part
        plain = dict.fromkeys(mapped(one, _without_list_steps) for one in part.sets)
        return next(iter(plain)) if len(plain) == 1 else part

    return mapped(plan, change)


def _without_list_steps(part: Any) -> Any:
    if isinstance(part, PropertyPath):
        of_lists = {LIST_FIRST, LIST_REST}
        kept = (s for s in part.steps if s.predicate not in of_lists and not _PLACE.match(s.predicate.value))
        return PropertyPath(tuple(kept))
    return part
