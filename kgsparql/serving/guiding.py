"""Guided building: the parts of what a run was understood as, what else could stand there, and what that comes to."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.errors import InputError, KgsparqlError, NotFoundError
from kgsparql.evidence.verbalising import arrow
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.plans.algebra import Column, Ends, Instances, Items, ItemTable, Plan, Table, Value
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import MOST_COUNTED, chips, options, part_words
from kgsparql.plans.type_check import check, terms_in
from kgsparql.plans.writing import Writer, in_words
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, Term, iri, printable
from kgsparql.retrievers._planned_question import GivenPlan
from kgsparql.serving.page_facts import Sent


class SaidWord(Sent):
    """What some words mean; without an IRI they are forgotten."""

    text: Annotated[str, Field(max_length=200)]
    means: Annotated[str, Field(max_length=2_000)] | None = None


_MOST_CHARACTERS = 2_000  # of a plan in words
_LIMITS = Budget(max_seconds=10.0, max_queries=60)
_KEY = secrets.token_bytes(32)
_SEALED = 64  # characters of a seal
_NAMED_KINDS = {"class", "ends"}  # sets with a name of their own


def run_chips(knowledge: KnowledgeBase, asking: AskOptions, run: dict[str, Any], number: int | None) -> dict[str, Any]:
    """Tell what a run was understood as, and its parts; or what could stand in the place of one of these.

    Each option has its plan, sealed: no browser makes plans of its own, which could be too much for an engine.
    """
    plan = _plan_of_run(knowledge, asking, run)
    if plan is None:
        return {"words": "", "chips": []}
    parts = chips(plan)
    if number is None:
        labels = knowledge.labels(terms_in(plan))
        label = labels.__getitem__
        parts_told = [
            {"kind": one.kind, "words": part_words(one.kind, part, label), "said": _said_words(run, part, labels)}
            for one, part in ((one, one.part_of(plan)) for one in parts)
        ]
        return {"words": printable(in_words(plan, label), _MOST_CHARACTERS), "chips": parts_told}
    if number >= len(parts):
        raise NotFoundError("there is no such part", hint="open the run again")
    session = knowledge.session(run["question"], replace(asking.without_model(), budget=_LIMITS))
    vocabulary, kind = session.vocabulary, parts[number].kind
    found, is_cut = options(plan, parts[number], session.graph, vocabulary=vocabulary, languages=knowledge.languages)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    kind = "condition" if kind == "predicate" else kind  # with its direction
    told = [
        {
            "words": printable(part_words(kind, one.part, label), 200), "is_now": one.plan == plan,
            "count": one.count, "plan": _sealed_plan(one.plan), "term": _term_of(one.part),
        } for one in found
    ]  # fmt: skip
    return {"options": told, "is_cut": is_cut, "most": MOST_COUNTED}


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


def _term_of(part: Any) -> str | None:
    """Return the term that stands at a chip, where words of a question can mean it."""
    match part:
        case Step(predicate, "forward") | Instances(predicate) | Items((IRI() as predicate,)):
            return predicate.value
        case Column(_, Value(PropertyPath((step,)))):
            return _term_of(step)
    return None


def _said_words(run: dict[str, Any], part: Any, labels: Mapping[Term, str]) -> str:
    """Find the words of the question from which a part was read, or those for which there was nothing in the graph."""
    term, answer, step = _term_of(part), run.get("answer", {}), arrow(part, labels) if isinstance(part, Step) else "\n"
    named = [own["mention"] for own in answer.get("linked", ()) if own["term"]["value"] == term]
    named += [said for own in run.get("events", ()) for said, way in own.get("matches", ()) if step in way]
    return next(filter(None, [*named, *(own["words"] for own in answer.get("not_understood", ()))]), "")


def own_words(knowledge: KnowledgeBase, said: SaidWord | None = None) -> dict[str, Any]:
    """Tell what words mean in the graph as the user said; keep or forget one before."""
    own = knowledge.own_words
    if said is not None and said.means is not None:
        own.keep(said.text, iri(said.means))
    elif said is not None:
        own.forget(said.text)
    kept = own.read()
    label = knowledge.labels(one.means for one in kept)
    return {"words": [{"text": one.text, "means": label[one.means]} for one in kept] if own.files else None}


def asked_plan(knowledge: KnowledgeBase, asking: AskOptions, sealed: str) -> tuple[str, AskOptions]:
    """Read a plan that an option came with; return its words, as a question, and how it is asked."""
    text = sealed[_SEALED:]
    if not hmac.compare_digest(sealed[:_SEALED].encode(), _seal_of(text).encode()):
        raise InputError("this is no option of this page, or of before it was started", hint="ask the question again")
    plan = read_plan_file(json.loads(text))
    check(plan)
    words = in_words(plan, knowledge.labels(terms_in(plan)).__getitem__)
    given = replace(asking.without_model(), retriever=GivenPlan(plan), options={}, language="en")
    return printable(words, _MOST_CHARACTERS), given


def _plan_of_run(knowledge: KnowledgeBase, asking: AskOptions, run: dict[str, Any]) -> Plan | None:
    """Return what was computed; where the answer was found by a path, the likeliest plan, which is made once."""
    computed = run.get("answer", {}).get("computed") or {"plan": run.get("plan")}
    if computed["plan"] is None:
        entities, own = tuple(run["options"].get("entities", ())), asking.budget
        planned = knowledge.plan(
            run["question"], entities=entities, budget=own, language=asking.language, after=asking.after
        )
        best = planned.chosen or next(iter(planned.candidates), None)
        plan = _plan_of_path(run.get("answer", {})) if best is None else best.plan
        if plan is None:
            return None
        run["plan"] = computed["plan"] = written_plan(plan)
    return read_plan_file(computed["plan"])


def _plan_of_path(answer: dict[str, Any]) -> Plan | None:
    """Make a plan of the likeliest path, where no word of the question says what is asked of a name."""
    steps, walked = list[Step](), list[dict[str, Any]]()
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


def _seal_of(text: str) -> str:
    return hmac.new(_KEY, text.encode(), "sha256").hexdigest()
