"""What the tools do: each asks the graph, and makes a small result of what was found."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgsparql.answering.answer import rows_text
from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.answering.unclear_names import content_words
from kgsparql.budget import Usage
from kgsparql.errors import AmbiguousLabelError, InputError, NotFoundError
from kgsparql.events import Emit
from kgsparql.evidence.term_labels import descriptions_of, namesake_groups
from kgsparql.exploration import neighbours, shortest_paths
from kgsparql.exploration.labels import value_uses
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.plans.algebra import Top
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, PrefixMap, Term, printable
from kgsparql.serving import tool_results as r
from kgsparql.serving.tool_results import ask_result, joined, long_query_note, query_text, told_notes

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.plans.running import Computed
    from kgsparql.retrievers._planned_question import PlannedQuestion, QuestionTerm

_MAX_USES = 5
"""Uses of a text as a value."""
_MAX_MEANINGS = 4
"""Of a name, beside the one that was taken."""
_MAX_TIES = 20
"""Things of the same value as the last that is shown, which are named."""
_MAX_NEAR = 3
"""Names like the one that was given, and uses of it as a value, that are told."""
_MAX_EXAMPLES = 3
"""Of what has a value."""
_NOTHING_FOUND = (
    "nothing matches: check the predicates with show; a text matches only with its language or datatype, as in "
    '"Bonn"@en, so start from the IRI that find gives'
)


_NO_CLASSES = "nothing has an rdf:type; perhaps a predicate such as 'instance of' says what things are"


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
        self._names = _Names(knowledge, asking)

    def ask(self, given: r.AskParameters, call: ToolCall) -> r.AskResult:
        """Answer with evidence; where that is in doubt, beside what a plan comes to without a doubt."""
        lookups = self._lookups(call)
        meant = [self._names.resolve(name, lookups) for name in given.entities]
        asking = replace(self._asking, cancel=call.cancel, emit=call.emit)
        answer = self._knowledge.answer(given.question, asking.about(meant) if meant else asking)
        missing = {gap.text: gap.words for gap in answer.gaps if gap.code == "name"}
        values = {text: self._names.values_in_words(name, lookups) for text, name in missing.items()}
        explained = {text: f"{text}; {'; '.join(lines)}" for text, lines in values.items() if lines}
        notes = self._sure_plan(answer, tuple(meant), call) if answer.computed is None else []
        notes += [] if answer.computed is None else self._ties(answer.computed)
        return ask_result(answer, given, explained=explained, notes=notes)

    def _sure_plan(self, answer: Answer, meant: tuple[IRI, ...], call: ToolCall) -> list[str]:
        """Say what a plan comes to that nothing speaks against, where paths do not answer without a doubt.

        Not of an endpoint, which plans ask more than its limits allow.
        """
        graphs = self._knowledge.graph.members
        if not answer.gaps or len(graphs) > 1 or graphs[0].is_remote:
            return []
        planned = self._plan(answer.question, call, entities=meant)
        found, chosen = planned.computed, planned.chosen
        if found is None or chosen is None or planned.doubts or found.left_out or found.empty_part is not None:
            return []
        rows = rows_text(found, lambda term: planned.labels[term])
        return [f"the tool plan is sure of an answer: {printable(chosen.words, 400)} = {rows}"] if rows else []

    def find(self, given: r.FindParameters, call: ToolCall) -> r.FindResult:
        """Find entities by their labels."""
        found = self._knowledge.find(given.text, limit=given.limit)
        terms = [one.term for one in found]
        groups = namesake_groups((one.term, one.label) for one in found)
        shared = {term for group in groups for term in group}
        about = self._names.descriptions([*groups, *([term] for term in terms if term not in shared)], given.text)
        is_near = any(_has_word_of(given.text, one.label) for one in found)
        return r.FindResult(
            found=[
                r.ToolTerm.of(
                    one.term, one.label, kind=one.kind, score=round(one.score, 3),
                    description=about.get(one.term, ""),
                )
                for one in found
            ],
            values=self._names.values(given.text, self._lookups(call))[:_MAX_USES],
            more="" if len(found) < given.limit else "perhaps there are more: raise limit",
            notes=[] if is_near else ["no label has any of these words: the nearest are probably something else"],
        )  # fmt: skip

    def show(self, given: r.ShowParameters, call: ToolCall) -> r.ShowResult:
        """Show what is around an entity."""
        lookups = self._lookups(call)
        entity = self._names.resolve(given.entity, lookups)
        if given.predicate is None:
            found = lookups.show(entity, direction=given.direction, limit=given.limit)
        else:
            ahead = [Step(predicate) for predicate in self._names.predicates(given.predicate, lookups)]
            behind = [step.reversed for step in ahead]
            steps = {"both": [*ahead, *behind], "forward": ahead, "inverse": behind}[given.direction]
            found = neighbours(lookups.graph, [entity], steps=steps, limit=given.limit)
        shown = found.items[: given.max_predicates]
        labels = lookups.labels([entity, *(t for g in shown for t in (g.step.predicate, *g.neighbours))])
        groups = [
            r.ToolNeighbours(
                predicate=_labelled(group.step.predicate, labels), direction=group.step.direction, count=group.count,
                is_exact=group.exact, neighbours=[_labelled(term, labels) for term in group.neighbours],
            )
            for group in shown
        ]  # fmt: skip
        more = []
        if len(found.items) > len(shown):
            more.append(f"{len(shown)} of {len(found.items):,} predicates: raise max_predicates")
        if any(group.count > len(group.neighbours) for group in groups):
            more.append("some predicates have more neighbours: give predicate, and raise limit")
        return r.ShowResult(entity=_labelled(entity, labels), groups=groups, more=joined(*more))

    def paths(self, given: r.PathsParameters, call: ToolCall) -> r.PathsResult:
        """Find shortest paths between two entities."""
        from kgsparql.evidence.verbalising import path_text

        lookups = self._lookups(call)
        start, end = (self._names.resolve(name, lookups) for name in (given.start, given.end))
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
            other = "" if given.direction == "both" else ", or give direction both"
            more.insert(0, f"no path of at most {given.max_hops} hops: raise max_hops{other}")
        return r.PathsResult(paths=paths, more="; ".join(more))

    def plan(self, given: r.PlanParameters, call: ToolCall) -> r.PlanResult:
        """Compute what a question asks for."""
        lookups = self._lookups(call)
        meant = tuple(self._names.resolve(name, lookups) for name in given.entities)
        planned = self._plan(given.question, call, entities=meant)
        found, chosen, doubts, labels = planned.computed, planned.chosen, [*planned.doubts], planned.labels
        own = "" if chosen is None else chosen.words
        others = list({one.words: one for one in planned.candidates if one.words != own}.values())[: r.OTHER_PLANS]
        if given.other_plan is not None and given.other_plan <= len(others):
            chosen = others[given.other_plan - 1]
            found = self._knowledge.run(chosen.plan)
            doubts = ["this is a less likely reading, which was asked for"]
            labels = {**labels, **lookups.labels(found.terms)}
        words = [printable(one.words, 400) for one in others]
        is_all_read = chosen is not None and not chosen.left_out
        notes = told_notes(planned.notes, untold={"missing_name"} if is_all_read else ())
        if found is None or chosen is None:
            why = "nothing was computed: no plan fits the question and the names of this graph; try ask, find and query"
            return r.PlanResult(
                words="", is_sure=False, doubts=[why, *doubts], columns=[], rows=[], facts=0,
                linked=_links_of(planned.named), other_plans=words, notes=notes,
            )  # fmt: skip
        doubts += [own.in_words(lambda term: labels[term]) for own in found.left_out]
        if found.is_confirmed is False:
            doubts.append("computed again from its facts, the value is not the same")
        if found.rows and all(term is None for row in found.rows for term in row[-1:]):
            doubts.insert(0, "no row has a value, so this is probably not what was asked")
        return r.PlanResult(
            words=printable(chosen.words, 600), is_sure=not doubts, doubts=doubts,
            columns=list(found.columns), rows=[_shown_row(row, labels) for row in found.rows[: given.limit]],
            facts=len(found.facts), linked=_links_of(planned.named),
            sparql=query_text(found.query, is_whole=given.whole_queries),
            other_plans=words, notes=[*notes, *self._ties(found)],
            more=joined(
                _more_rows_text("rows", len(found.rows), given.limit, has_more=found.is_cut),
                long_query_note([found.query], is_whole=given.whole_queries),
            ),
        )  # fmt: skip

    def _plan(self, question: str, call: ToolCall, *, entities: tuple[IRI, ...] = ()) -> PlannedQuestion:
        return self._knowledge.plan(question, entities=entities, budget=self._asking.budget, cancel=call.cancel)

    def _ties(self, found: Computed) -> list[str]:
        """Say what has the same value as the last of the first few, and is not among them only because they are few."""
        plan = found.plan
        if not isinstance(plan, Top) or plan.number == 1 or len(found.rows) < plan.number:
            return []
        last = found.rows[-1][1]
        wider = self._knowledge.run(replace(plan, number=plan.number + _MAX_TIES + 1)).rows
        shown = {row[0] for row in found.rows}
        same = [row[0] for row in wider if row[1] == last and row[0] is not None and row[0] not in shown]
        if not same:
            return []
        named = self._knowledge.labels(same[:_MAX_TIES])
        count = f"{len(same)}" if len(same) <= _MAX_TIES else f"more than {_MAX_TIES}"
        return [f"{count} more with the same value as the last: {printable('; '.join(named.values()), 600)}"]

    def query(self, given: r.QueryParameters, call: ToolCall) -> r.QueryToolResult:
        """Run a checked query."""
        if len(self._knowledge.graph.members) > 1:
            raise InputError("a query of your own runs on one graph", hint="ask, find, show and paths take several")
        result = self._knowledge.query(
            given.sparql, timeout_s=given.max_seconds, max_rows=given.limit, cancel=call.cancel
        )
        solutions = result.solutions
        rows = [[solution.get(name) for name in solutions.variables] for solution in solutions]
        terms = [term for row in rows for term in row if term is not None]
        terms += [term for triple in result.triples for term in triple]
        labels = self._lookups(call).labels(terms)
        more = _more_rows_text("rows or triples", result.rows, given.limit, has_more=result.cut is not None)
        return r.QueryToolResult(
            form=result.form, boolean=result.boolean if result.form == "ASK" else None,
            columns=list(solutions.variables), rows=[_shown_row(row, labels) for row in rows],
            triples=[r.ToolTriple.of(triple, labels) for triple in result.triples], is_complete=result.complete,
            more=more if result.rows or result.form == "ASK" else _NOTHING_FOUND,
        )  # fmt: skip

    def info(self, given: r.InfoParameters, _: ToolCall) -> r.InfoResult:
        """Say what the graph holds."""
        facts = self._knowledge.info(shown=given.limit)
        return r.InfoResult(
            name=facts["name"], triples=facts["triples"], languages=list(self._knowledge.languages),
            classes=_counted_terms(facts["classes"]),
            predicates=_counted_terms(facts["predicates"]),
            named_graphs=[printable(one) for one in facts["named_graphs"]], prefixes=self._own_prefixes(facts),
            notes=[
                *(f"{what}: {printable(why)}" for what, why in facts["missing"].items()),
                *([] if facts["classes"] else [_NO_CLASSES]),
            ],
            more=f"{'; '.join(facts['cuts'])}: raise limit" if facts["cuts"] else "",
        )  # fmt: skip

    def _own_prefixes(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Return the prefixes of the graph and of the settings, and those of the terms that are named."""
        named = [one["curie"].partition(":")[0] for kind in ("classes", "predicates") for one in facts[kind]]
        wanted, shipped = {*self._knowledge.graph.prefixes, *named}, set(PrefixMap.default())
        return {own[0]: own[1] for own in self._knowledge.prefixes if own[0] in wanted or own not in shipped}

    def _lookups(self, call: ToolCall) -> GraphLookups:
        """Make lookups whose queries end with the time of a question, or when the call is stopped."""
        known = self._knowledge
        graph = known.graph.within(Usage(self._asking.budget, cancel=call.cancel))
        return GraphLookups(graph, languages=known.languages, prefixes=dict(known.prefixes))


def _more_rows_text(what: str, shown: int, limit: int, *, has_more: bool = False) -> str:
    if shown > limit:
        return f"{limit} of {shown:,} {what}: raise limit"
    return f"more than {shown:,} {what}: raise limit, or ask for less" if has_more else ""


def _labelled(term: Term, labels: Mapping[Term, str]) -> r.ToolTerm:
    return r.ToolTerm.of(term, labels.get(term))


def _shown_row(row: Iterable[Term | None], labels: Mapping[Term, str]) -> list[r.ToolTerm | None]:
    return [None if term is None else _labelled(term, labels) for term in row]


def _links_of(terms: Iterable[QuestionTerm]) -> list[r.ToolLink]:
    """List what a question names, in its words; what else they may mean stands behind the first."""
    links: dict[str, list[QuestionTerm]] = {}
    for own in terms:
        links.setdefault(own.words, []).append(own)
    return [
        r.ToolLink.of(
            first.term, first.label, words=printable(words, 200),
            alternatives=[r.ToolTerm.of(one.term, one.label) for one in others[:_MAX_MEANINGS]],
        )
        for words, (first, *others) in links.items()
    ]  # fmt: skip


def _counted_terms(found: Iterable[Mapping[str, Any]]) -> list[r.ToolTerm]:
    return [
        r.ToolTerm(term=printable(one["term"], 2_000), label=printable(one["label"]), count=one["count"])
        for one in found
    ]


class _Names:
    """The names of one graph: what they may mean where they are no exact label, or are values and no names."""

    def __init__(self, knowledge: KnowledgeBase, asking: AskOptions) -> None:
        self._knowledge = knowledge
        self._asking = asking

    def resolve(self, name: str, lookups: GraphLookups) -> IRI:
        """Return the entity that is meant.

        :raises NotFoundError: if none is called exactly so; the hint says what is nearly, or has it as a text.
        :raises AmbiguousLabelError: if several are; the candidates say what each is.
        """
        try:
            return lookups.resolve(name)
        except AmbiguousLabelError as error:
            terms = [lookups.resolve(str(one)) for one in error.detail["candidates"]]
            error.detail["candidates"] = self._told_apart(terms, lookups)
            raise
        except NotFoundError as error:
            near = [f"{one.term} ({printable(one.label, 80)})" for one in self.like(name, limit=_MAX_NEAR)]
            meant = f"perhaps you mean {', '.join(near)}" if near else ""
            error.hint = "; ".join(filter(None, [meant, *self.values_in_words(name, lookups), error.hint]))
            raise

    def predicates(self, name: str, lookups: GraphLookups) -> list[IRI]:
        """Return the predicates that may be meant: of several of the name, whoever asks finds out which is used.

        :raises NotFoundError: as :meth:`resolve`.
        """
        try:
            return [lookups.resolve(name)]
        except AmbiguousLabelError as error:
            return [lookups.resolve(str(one)) for one in error.detail["candidates"]]
        except NotFoundError:
            return [self.resolve(name, lookups)]

    def like(self, text: str, *, limit: int) -> list[LinkedEntity]:
        """Find what has a word of the text in its label, the best first."""
        return [one for one in self._knowledge.find(text, limit=limit) if _has_word_of(text, one.label)]

    def values(self, text: str, lookups: GraphLookups) -> list[r.ToolValue]:
        """Find where a text is a value."""
        uses = value_uses(lookups.graph, text, languages=lookups.languages)
        examples = [entity for use in uses for entity in use.entities[:_MAX_EXAMPLES]]
        labels = lookups.labels([*(use.predicate for use in uses), *(use.value for use in uses), *examples])

        def shown(term: Term) -> r.ToolTerm:
            return r.ToolTerm.of(term, labels[term])

        return [
            r.ToolValue.of(
                use.value, labels[use.value], predicate=shown(use.predicate), count=len(use.entities),
                is_exact=use.is_exact, examples=[shown(entity) for entity in use.entities[:_MAX_EXAMPLES]],
            )
            for use in uses
        ]  # fmt: skip

    def values_in_words(self, text: str, lookups: GraphLookups) -> list[str]:
        """Write the same as lines, for an error or a note."""
        return [
            f"it is no name but a text, the {use.predicate.label!r} of {use.examples[0].label}"
            f"{_more_text(use)}"
            ": plan and query find by it"
            for use in self.values(text, lookups)[:_MAX_NEAR]
            if use.examples
        ]

    def descriptions(self, groups: Sequence[Sequence[IRI]], text: str) -> dict[IRI, str]:
        """Describe each term in a few words, which differ within a group."""
        about = descriptions_of(groups, self._knowledge.session(text, self._asking).labels) if groups else {}
        return {term: said for term, said in about.items() if isinstance(term, IRI)}

    def _told_apart(self, terms: Sequence[IRI], lookups: GraphLookups) -> list[str]:
        labels, about = lookups.labels(terms), self.descriptions([terms], "names")
        said = {term: ", ".join(filter(None, (labels[term], about.get(term, "")))) for term in terms}
        return [f"{term} ({printable(text, 120)})" for term, text in said.items()]


def _more_text(use: r.ToolValue) -> str:
    count = use.count or 0
    return f" and {count - 1}{'' if use.is_exact else '+'} more" if count > 1 else ""


def _has_word_of(text: str, label: str) -> bool:
    """Tell whether a label has a word of a text that is not as common as `at`."""
    return not set(content_words(text)).isdisjoint(content_words(label))
