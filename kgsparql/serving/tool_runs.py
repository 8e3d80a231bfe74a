"""What the tools do: each asks the graph, and makes a small result of what was found."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.budget import Usage
from kgsparql.errors import InputError
from kgsparql.events import Emit
from kgsparql.evidence.term_labels import descriptions_of, namesake_groups
from kgsparql.exploration import neighbours, shortest_paths
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.graphs.protocols import members_of, within
from kgsparql.linking.words import words
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import PrefixMap, Term, normalised, printable
from kgsparql.serving import tool_parameters as p
from kgsparql.serving import tool_results as r
from kgsparql.serving.tool_answers import ask_result, joined, long_query_note, query_text, said_of_tools

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.plans.running import Computed

_OTHER_PLANS = 4
_NOTHING_FOUND = (
    "nothing matches: check the predicates with show; a text matches only with its language or datatype, as in "
    '"Bonn"@en, so start from the IRI that find gives'
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: how it is stopped, and who is told of its steps."""

    cancel: threading.Event = field(default_factory=threading.Event)
    emit: Emit = ignore


class ToolRuns:
    """Runs tools on one graph.

    :param asking: how ``ask`` asks; its time is that of every tool but ``query``.
    """

    def __init__(self, knowledge: KnowledgeBase, asking: AskOptions) -> None:
        self._knowledge = knowledge
        self._asking = asking

    def ask(self, given: p.AskParameters, call: ToolCall) -> r.AskResult:
        """An answer with its evidence."""
        meant = [self._knowledge.resolve(name) for name in given.entities]
        asking = replace(self._asking, cancel=call.cancel, emit=call.emit)
        answer = self._knowledge.answer(given.question, asking.about(meant) if meant else asking)
        return ask_result(answer, given)

    def find(self, given: p.FindParameters, call: ToolCall) -> r.FindResult:
        """Entities by their labels."""
        known = self._knowledge
        found = known.find(given.text, limit=given.limit)
        groups = namesake_groups((one.term, one.label) for one in found)
        asking = replace(self._asking, cancel=call.cancel)
        about = descriptions_of(groups, known.session(given.text, asking).labels) if groups else {}
        wanted = set(words(normalised(given.text)))
        is_near = any(not wanted.isdisjoint(words(normalised(one.label))) for one in found)
        return r.FindResult(
            found=[_found(one, about.get(one.term, "")) for one in found],
            more="" if len(found) < given.limit else "perhaps there are more: raise limit",
            notes=[] if is_near else ["no label has any of these words: the nearest are probably something else"],
        )

    def show(self, given: p.ShowParameters, call: ToolCall) -> r.ShowResult:
        """What is around an entity."""
        lookups = self._lookups(call)
        entity = lookups.resolve(given.entity)
        if given.predicate is None:
            found = lookups.show(entity, direction=given.direction, limit=given.limit)
        else:
            ahead = Step(lookups.resolve(given.predicate))
            steps = {"both": [ahead, ahead.reversed], "forward": [ahead], "inverse": [ahead.reversed]}[given.direction]
            found = neighbours(lookups.graph, [entity], steps=steps, limit=given.limit)
        shown = found.items[: given.max_predicates]
        labels = lookups.labels([entity, *(t for g in shown for t in (g.step.predicate, *g.neighbours))])
        groups = [
            r.ToolNeighbours(
                predicate=r.LabelledTerm.of(group.step.predicate, labels), direction=group.step.direction,
                count=group.count, is_exact=group.exact,
                neighbours=[r.LabelledTerm.of(term, labels) for term in group.neighbours],
            )
            for group in shown
        ]  # fmt: skip
        more = []
        if len(found.items) > len(shown):
            more.append(f"{len(shown)} of {len(found.items):,} predicates: raise max_predicates")
        if any(group.count > len(group.neighbours) for group in groups):
            more.append("of a predicate with more neighbours than are shown: give predicate, and raise limit")
        return r.ShowResult(entity=r.LabelledTerm.of(entity, labels), groups=groups, more=joined(*more))

    def paths(self, given: p.PathsParameters, call: ToolCall) -> r.PathsResult:
        """Shortest paths between two entities."""
        from kgsparql.evidence.verbalising import path_text

        lookups = self._lookups(call)
        start, end = lookups.resolve(given.start), lookups.resolve(given.end)
        found = shortest_paths(lookups.graph, start, end, max_hops=given.max_hops, direction=given.direction)
        shown = found.items[: given.limit]
        labels = lookups.labels([start, end, *(term for path in shown for triple in path.triples for term in triple)])
        paths = [
            r.ToolPath(text=path_text(path, labels), triples=[r.ToolTriple.of(one, labels) for one in path.triples])
            for path in shown
        ]
        more = [str(cut) for cut in found.cuts]
        if len(found.items) > len(shown):
            more.insert(0, f"{len(shown)} of {len(found.items):,} shortest paths: raise limit")
        if not paths:
            more.insert(0, f"no path of at most {given.max_hops} hops: raise max_hops, or give direction both")
        return r.PathsResult(paths=paths, more="; ".join(more))

    def plan(self, given: p.PlanParameters, call: ToolCall) -> r.PlanResult:
        """What a question computes."""
        planned = self._knowledge.plan(given.question, budget=self._asking.budget, cancel=call.cancel)
        others = [one.words for one in planned.candidates if one is not planned.chosen]
        found, chosen = planned.computed, planned.chosen
        notes = [said_of_tools(printable(note)) for note in planned.notes]
        if found is None or chosen is None:
            why = "nothing was computed: no plan fits the question and the names of this graph; try ask, find and query"
            return r.PlanResult(
                words="", is_sure=False, doubts=[why, *planned.doubts], columns=[], rows=[], facts=0, is_confirmed=None,
                sparql="", other_plans=others[:_OTHER_PLANS], notes=notes,
            )  # fmt: skip
        doubts = [*planned.doubts, *(own.in_words(lambda term: planned.labels[term]) for own in found.left_out)]
        return r.PlanResult(
            words=printable(chosen.words, 600), is_sure=not doubts and found.is_confirmed is not False, doubts=doubts,
            columns=list(found.columns), rows=_rows(found, planned.labels, given.limit), facts=len(found.facts),
            is_confirmed=found.is_confirmed, sparql=query_text(found.query, given), other_plans=others[:_OTHER_PLANS],
            notes=notes,
            more=joined(
                _more("rows", len(found.rows), given.limit, has_more=found.is_cut),
                long_query_note([found.query], given),
            ),
        )  # fmt: skip

    def query(self, given: p.QueryParameters, call: ToolCall) -> r.QueryToolResult:
        """The result of a checked query."""
        if len(members_of(self._knowledge.graph)) > 1:
            raise InputError("a query of your own runs on one graph", hint="ask, find, show and paths take several")
        result = self._knowledge.query(
            given.sparql, timeout_s=given.max_seconds, max_rows=given.limit, cancel=call.cancel
        )
        solutions = result.solutions
        rows = [[solution.get(name) for name in solutions.variables] for solution in solutions]
        terms = [term for row in rows for term in row if term is not None]
        terms += [term for triple in result.triples for term in triple]
        labels = self._lookups(call).labels(terms)
        more = _more("rows or triples", result.rows, given.limit, has_more=result.cut is not None)
        return r.QueryToolResult(
            form=result.form, boolean=result.boolean if result.form == "ASK" else None,
            columns=list(solutions.variables), rows=[_row(row, labels) for row in rows],
            triples=[r.ToolTriple.of(triple, labels) for triple in result.triples], is_complete=result.complete,
            more=more if result.rows or result.form == "ASK" else _NOTHING_FOUND,
        )  # fmt: skip

    def info(self, given: p.InfoParameters, _: ToolCall) -> r.InfoResult:
        """What the graph holds."""
        facts = self._knowledge.info(shown=given.limit)
        return r.InfoResult(
            name=facts["name"], triples=facts["triples"], languages=list(self._knowledge.languages),
            classes=[_counted(one) for one in facts["classes"]],
            predicates=[_counted(one) for one in facts["predicates"]],
            named_graphs=[printable(one) for one in facts["named_graphs"]], prefixes=self._own_prefixes(facts),
            notes=[f"{what}: {printable(why)}" for what, why in facts["missing"].items()],
            more=f"{'; '.join(facts['cuts'])}: raise limit" if facts["cuts"] else "",
        )  # fmt: skip

    def _own_prefixes(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """The prefixes of the graph and of the settings, and those of the terms that are named."""
        named = [one["curie"].partition(":")[0] for kind in ("classes", "predicates") for one in facts[kind]]
        wanted, shipped = {*self._knowledge.graph.prefixes, *named}, set(PrefixMap.default())
        return {own[0]: own[1] for own in self._knowledge.prefixes if own[0] in wanted or own not in shipped}

    def _lookups(self, call: ToolCall) -> GraphLookups:
        """Lookups whose queries end with the time of a question, or when the call is stopped."""
        known = self._knowledge
        graph = within(known.graph, Usage(self._asking.budget, cancel=call.cancel))
        return GraphLookups(graph, languages=known.languages, prefixes=dict(known.prefixes))


def _more(what: str, shown: int, limit: int, *, has_more: bool = False) -> str:
    if shown > limit:
        return f"{limit} of {shown:,} {what}: raise limit"
    return f"more than {shown:,} {what}: raise limit, or ask for less" if has_more else ""


def _row(row: Iterable[Term | None], labels: Mapping[Term, str]) -> list[r.LabelledTerm | None]:
    return [None if term is None else r.LabelledTerm.of(term, labels) for term in row]


def _rows(found: Computed, labels: Mapping[Term, str], limit: int) -> list[list[r.LabelledTerm | None]]:
    return [_row(row, labels) for row in found.rows[:limit]]


def _found(one: LinkedEntity, description: str) -> r.FoundEntity:
    named = r.LabelledTerm.of(one.term, {one.term: one.label})
    return r.FoundEntity(
        term=named.term, label=named.label, kind=one.kind, score=round(one.score, 3),
        description=printable(description, r.MOST_CHARACTERS),
    )  # fmt: skip


def _counted(one: Mapping[str, Any]) -> r.CountedTerm:
    return r.CountedTerm(term=printable(one["term"], 2_000), label=printable(one["label"]), count=one["count"])
