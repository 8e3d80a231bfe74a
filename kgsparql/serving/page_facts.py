"""What a page tells beside its answers: of the graph, of a node, of names while one types, and parts to change."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from heapq import nsmallest
from itertools import islice
from operator import itemgetter

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import error_json, term_json
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.errors import InputError, KgsparqlError, NotFoundError
from kgsparql.exploration import NeighbourGroup, descriptions, types
from kgsparql.exploration.labels import Description
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.words import STOP_WORDS, in_turn
from kgsparql.plans.algebra import Count, Ends, Instances, Items, ItemSet, ItemTable, Plan, Table
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import MOST_COUNTED, chips, options, part_words
from kgsparql.plans.english import THEY, reached
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.set_profile import Profiler
from kgsparql.plans.type_check import check, parts_of, terms_in
from kgsparql.plans.writing import Label, Writer, in_words
from kgsparql.rdf.paths import Hop, PropertyPath, Step
from kgsparql.rdf.terms import IRI, BlankNode, Json, Labels, Term, normalised, parse_term, printable
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.retrievers import names
from kgsparql.retrievers._planned_question import GivenPlan
from kgsparql.schema.vocabulary import GraphVocabulary
from kgsparql.serving.starters import example_questions

_MOST_INSTEAD, _MOST_NEXT = 4, 3
_PAGE = 12  # neighbours that are shown at once
_MAX_NEIGHBOURS = 600
_MAX_OF_GROUP = 120
"""Of one predicate and direction. All are fetched each time: fewer of a hub's could be others."""
_MAX_CHARACTERS = 300


def asked_instead(knowledge: KnowledgeBase, answer: Answer) -> list[str]:
    """List what may be asked instead of a question without a sure answer or choices, with names that are alike."""
    if answer.status == "answered" or answer.choices:
        return []
    linker, question = knowledge.indexes.linker, answer.question
    unknown = list(linker.unlinked_names(question, answer.linked))
    alike = () if answer.linked else linker.suggest(question)
    unknown += [(one.mention.text, (one,)) for one in alike]
    asked = [
        question.replace(words, one.label)
        for words, near in unknown if words
        for one in near if any(own[:1] == words[:1].casefold() for own in one.label.casefold().split())
    ]  # fmt: skip
    return [printable(one, 200) for one in dict.fromkeys(asked) if one != question][:_MOST_INSTEAD]


def graph_facts(knowledge: KnowledgeBase, asking: AskOptions) -> Json:
    """Describe the graph, and what may be asked of it, as JSON; make its index of labels before the first question."""
    facts: Json = {
        "name": printable(knowledge.graph.name, 200), "triples": None, "examples": [], "error": None,
        "methods": list(names()), "method": asking.retriever,
        "model": "" if asking.model is None else asking.model.name,
    }  # fmt: skip
    try:
        facts["triples"] = knowledge.info(shown=1)["triples"]
        _ = knowledge.indexes.linker
        facts["examples"] = list(example_questions(knowledge))
    except KgsparqlError as error:  # told on the page: questions may still be answered
        facts["error"] = error_json(error)
    return facts


def node_neighbours(knowledge: KnowledgeBase, asking: AskOptions, query: Mapping[str, str]) -> Json:
    """Describe a node as JSON: its kinds and description, and those of its triples after some others."""
    term, after = parse_term(query.get("term", "")), query.get("after", "0")
    if not isinstance(term, IRI):
        raise InputError("only what has an IRI can be looked up", hint="look up a node beside it")
    if not (after.isascii() and after.isdecimal() and len(after) < 6 and int(after) < _MAX_NEIGHBOURS):
        raise InputError(f"no more than {_MAX_NEIGHBOURS} neighbours are shown here", hint="a query finds all")
    lookups = knowledge.bounded(asking)
    groups = lookups.show(term, limit=_MAX_OF_GROUP).items
    hops = list(islice(_hops_by_turns(groups), int(after), int(after) + _PAGE))
    labels = lookups.labels([term, *(one for hop in hops for one in hop.triple)])
    about = descriptions(lookups.graph, [term], languages=knowledge.languages)[term]
    kinds = about.classes or tuple(lookups.labels(types(lookups.graph, [term])[term]).values())
    return {
        "node": _node_term(term, labels),
        "curie": printable(lookups.prefixes.compress(term), _MAX_CHARACTERS),
        "kinds": [printable(kind, 60) for kind in kinds[:3]],
        "description": printable(about.text, _MAX_CHARACTERS),
        "graphs": [lookups.graph.name],
        "count": sum(group.count for group in groups),
        "is_exact": all(group.exact for group in groups),
        "triples": [
            {name: _node_term(getattr(hop.triple, name), labels) for name in ("subject", "predicate", "object")}
            | {"direction": hop.direction}
            for hop in hops
        ],
    }  # fmt: skip


def _hops_by_turns(groups: Iterable[NeighbourGroup]) -> Iterator[Hop]:
    """Yield the first neighbour of each group, forward and inverse by turns, then the second; labels and such last."""
    walked = [group for group in groups if group.step.predicate not in UNWALKED]
    yield from in_turn(in_turn([g.hops for g in walked if g.step.direction == way]) for way in ("forward", "inverse"))
    yield from in_turn(group.hops for group in groups if group.step.predicate in UNWALKED)


def _node_term(term: Term, labels: Labels) -> Json:
    label = "[]" if isinstance(term, BlankNode) else printable(labels[term], _MAX_CHARACTERS)
    return {"term": str(term), "label": label, "type": term_json(term, label)["type"]}


# -- Names that complete what somebody is writing ----------------------------------------------------------------------

_MOST_WORDS = 6  # of what is written that may be the beginning of one name
_LEAST_CHARACTERS = 2
_MOST_COMPARED = 400  # of the names that begin so: the best known of them
_MOST_OF_NAME = 120  # characters of what something is
_KIND, _WHOLE = 50_000, 100_000  # more than the degree of anything that is as well known as that


def beginnings(text: str) -> list[tuple[int, str]]:
    """List where a name may begin that is being written, and what there is of it, the longest first."""
    words = list(re.finditer(r"[^\s?!,;:\"“”()]+", text))[-_MOST_WORDS:]
    found = [(word.start(), normalised(text[word.start() :])) for word in words if text[-1:].isalnum()]
    return [one for one in found if len(one[1]) >= _LEAST_CHARACTERS and one[1] not in STOP_WORDS["en"]]


class Completions:
    """Names by the beginnings of their words; the best known come first, before them classes and predicates."""

    def __init__(self, rows: Iterable[LabelRow]) -> None:
        self._words = sorted(
            (
                row.key[at:],
                _KIND * (row.kind == "entity") - _WHOLE * (at == 0) - min(row.degree, _KIND - 1),
                (row.role != "label", number),
                row,
            )
            for number, row in enumerate(rows)
            if row.text
            for at in (0, *(gap.end() for gap in re.finditer(" ", row.key)))
        )

    def of(self, text: str, *, limit: int = 8) -> tuple[int, list[LabelRow]]:
        """Complete the last words of a text, as many as begin a name together: from where on, and the names."""
        for start, written in beginnings(text):
            first, last = (bisect_left(self._words, (end,)) for end in (written, f"{written}\U0010ffff"))
            best = nsmallest(_MOST_COMPARED, self._words[first:last], key=itemgetter(1, 2))
            if named := {row.iri: row for *_, row in reversed(best)}:
                return start, list(reversed(named.values()))[:limit]
        return len(text), []


def told_names(knowledge: KnowledgeBase, rows: Iterable[LabelRow]) -> list[Json]:
    """Tell what names stand for: of which kind each is, and its description; an endpoint is not asked for these."""
    things = {row: IRI(row.iri) for row in rows if "://" in row.iri and not knowledge.graph.is_remote}
    about = descriptions(knowledge.graph, things.values(), languages=knowledge.languages)
    told = []
    for row in rows:
        own = about[things[row]] if row in things else Description("", ())
        kinds = own.classes[:2] if row.kind == "entity" else ()
        hint = printable(" · ".join(filter(None, (*kinds, own.text))), _MOST_OF_NAME)
        told.append({"label": printable(row.text, _MAX_CHARACTERS), "kind": row.kind, "about": hint})
    return told


# -- The parts of what a run was understood as, what else could stand there, and what that comes to --------------------

_MOST_PLAN_CHARACTERS = 2_000  # of a plan in words
_MOST_COMPARED_PLANS = 3  # beside the likeliest: whether one of them finds what was answered
_PART_LIMITS = Budget(max_seconds=10.0, max_queries=60)
_KEY = secrets.token_bytes(32)
_SEALED = 64  # characters of a seal
_NAMED_KINDS = {"class", "ends"}  # sets with a name of their own


def run_chips(knowledge: KnowledgeBase, asking: AskOptions, run: Json, number: int | None) -> Json:
    """Tell what a run was understood as, and its parts; or what could stand in the place of one of these.

    Each option has its plan, sealed: no browser makes plans of its own, which could be too much for an engine.
    """
    plan = _plan_of_run(knowledge, asking, run)
    if plan is None:
        return {"words": "", "chips": [], "is_near": False, "next": []}
    parts = chips(plan)
    if number is None:
        label = knowledge.labels(terms_in(plan)).__getitem__
        parts_told = [{"kind": one.kind, "words": part_words(one.kind, one.part_of(plan), label)} for one in parts]
        words = printable(in_words(plan, label), _MOST_PLAN_CHARACTERS)
        following = _next_plans(run["answer"], plan, knowledge.bounded(asking.without_model()).graph)
        label = knowledge.labels({term for one in following for term in terms_in(one)}).__getitem__
        next_told = [{"words": _words_after(plan, one, label), "plan": _sealed_plan(one)} for one in following]
        return {"words": words, "chips": parts_told, "is_near": run.get("is_near", False), "next": next_told}
    if number >= len(parts):
        raise NotFoundError("there is no such part", hint="open the run again")
    session = knowledge.session(run["question"], replace(asking.without_model(), budget=_PART_LIMITS))
    kind = parts[number].kind
    found, is_cut = options(plan, parts[number], session.graph, vocabulary=session.vocabulary)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    kind = "condition" if kind == "predicate" else kind  # with its direction
    told = [
        {
            "words": printable(part_words(kind, one.part, label), 200),
            "is_now": one.plan == plan,
            "count": one.count, "plan": _sealed_plan(one.plan),
        } for one in found
    ]  # fmt: skip
    return {"options": told, "is_cut": is_cut, "most": MOST_COUNTED}


def graph_kinds(knowledge: KnowledgeBase) -> list[Json]:
    """List the kinds of things of one graph on this machine, the commonest first, each with the plan of all of them."""
    found = knowledge.schema().kinds if knowledge.graph.is_embedded and not knowledge.is_empty else ()
    return [
        {"label": one.label, "count": one.count, "examples": [*one.examples], "plan": _sealed_plan(every)}
        for one in found if one.count for every in [Instances(IRI(one.iri))]
    ]  # fmt: skip


def kind_relations(knowledge: KnowledgeBase, asking: AskOptions, sealed: str) -> Json:
    """Tell what may be said of the things of a kind, as the options of a condition."""
    run = {"question": "kind", "answer": {"computed": {"plan": written_plan(plan := _opened_plan(sealed))}}}
    return run_chips(knowledge, asking, run, len(chips(plan)) - 1)


def column_heads(knowledge: KnowledgeBase, answer: Answer) -> list[str]:
    """Name the columns of a computed table by what is in them: kinds of things, where their items or groups stand."""
    if answer.computed is None or not isinstance(plan := answer.computed.plan, Table):
        return []
    try:
        say = Writer(knowledge.labels(terms_in(plan)).__getitem__)
    except KgsparqlError:  # the endpoint has gone since: the answer stands
        return [*answer.computed.columns]
    sets = {"item": plan.items} | ({} if isinstance(plan, ItemTable) else {"group": Ends(plan.items, plan.key)})
    called = {name: phrase.single for name, items in sets.items() if (phrase := say.phrase(items)).kind in _NAMED_KINDS}
    return [called.get(name, name) for name in answer.computed.columns]


def asked_plan(knowledge: KnowledgeBase, asking: AskOptions, sealed: str) -> tuple[str, AskOptions]:
    """Read a plan that an option came with; return its words, as a question, and how it is asked."""
    plan = _opened_plan(sealed)
    words = in_words(plan, knowledge.labels(terms_in(plan)).__getitem__)
    given = replace(asking.without_model(), retriever=GivenPlan(plan), options={}, language="en", after=None)
    return printable(words, _MOST_PLAN_CHARACTERS), given


def _next_plans(answer: Json, plan: Plan, graph: KnowledgeGraph) -> Sequence[ItemSet]:
    """Make of a sure answer what may be asked next: what was counted, or what leads on from what was found."""
    if answer["gaps"]:
        return ()
    if isinstance(plan, Count):
        return (plan.items,)
    found = [one["term"] for one in answer["answers"] if one.get("best")]
    start = Items((IRI(found[0]["value"]),)) if [one["type"] for one in found] == ["uri"] else plan
    if not isinstance(start, ItemSet) or (start is plan and len(found) < 2):
        return ()
    said, uses = (
        {step.predicate for step in parts_of(plan, Step)},
        Profiler(graph, GraphVocabulary.of(graph))(start).uses,
    )
    return [Ends(start, use.path) for use in uses if use.step.predicate not in said][:_MOST_NEXT]


def _words_after(plan: Plan, following: ItemSet, label: Label) -> str:
    """Say what a plan comes to, of what another one found: *their places of birth*."""
    if isinstance(following, Ends) and following.start == plan:
        return printable(f"{reduce(reached, Writer(label).relations(following.path), THEY):owner}", 200)
    return printable(in_words(following, label), 200)


def _plan_of_run(knowledge: KnowledgeBase, asking: AskOptions, run: Json) -> Plan | None:
    """Return what was computed; where a path led to the answer, the likeliest plan that finds just that.

    Of a doubt it may be one that is only near it, which the run then says.
    """
    answer = run.get("answer", {})
    if answer.get("gaps") and not answer.get("choices"):
        return None  # nothing that was found is likely
    if (computed := answer.get("computed")) is not None:
        return read_plan_file(computed["plan"])
    if "plan" not in run:
        planned = knowledge.plan(
            run["question"], entities=tuple(run["options"].get("entities", ())), budget=asking.budget,
            language=asking.language, after=asking.after,
        )  # fmt: skip
        likely = [own.plan for own in (planned.chosen, *planned.candidates[:_MOST_COMPARED_PLANS]) if own]
        plans = likely if (path := _plan_of_path(answer)) is None else [*likely, path]
        found = {one["term"]["value"] for one in answer.get("answers", ()) if one.get("best")}
        same = (own for own in plans if _finds_just(own, found, knowledge.bounded(asking.without_model()).graph))
        plan = next(same, None)
        run["is_near"] = plan is None
        if plan is None and answer.get("gaps"):
            plan = next(iter(plans), None)
        run["plan"] = None if plan is None else written_plan(plan)
    return None if run["plan"] is None else read_plan_file(run["plan"])


def _finds_just(plan: Plan, values: set[str], graph: KnowledgeGraph) -> bool:
    """Tell whether a plan finds these values and no others."""
    if not isinstance(plan, ItemSet):
        return False
    query = compiled(plan, vocabulary=GraphVocabulary.of(graph), limit=len(values) + 1)
    return {getattr(one.get("answer"), "value", "") for one in graph.select(query)} == values


def _plan_of_path(answer: Json) -> Plan | None:
    """Make a plan of the likeliest path, where no word of the question says what is asked of a name."""
    steps, walked = list[Step](), list[Json]()
    for one in next((own["triples"] for own in answer.get("evidence", ()) if own["kind"] == "path"), ()):
        near, far = (one[end] for end in ("subject", "object")[:: 1 if one["direction"] == "forward" else -1])
        if walked and near["value"] != walked[-1]["value"]:
            break  # another end of the same path
        walked += [near, far]
        steps.append(Step(IRI(one["predicate"]["value"]), one["direction"]))
    if not steps or walked[0]["type"] != "uri":
        return None
    return Ends(Items((IRI(walked[0]["value"]),)), PropertyPath(tuple(steps)))


def _sealed_plan(plan: Plan) -> str:
    text = json.dumps(written_plan(plan))
    return _seal_of(text) + text


def _opened_plan(sealed: str) -> Plan:
    text = sealed[_SEALED:]
    if not hmac.compare_digest(sealed[:_SEALED].encode(), _seal_of(text).encode()):
        raise InputError("this is no option of this page, or of before it was started", hint="ask the question again")
    plan = read_plan_file(json.loads(text))
    check(plan)
    return plan


def _seal_of(text: str) -> str:
    return hmac.new(_KEY, text.encode(), "sha256").hexdigest()
