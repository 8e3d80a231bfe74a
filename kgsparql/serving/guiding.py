"""Guided building: the parts of what a run was understood as, what else could stand there, and what that comes to."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import replace
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget
from kgsparql.errors import InputError, KgsparqlError, NotFoundError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.plans.algebra import Ends, Items, ItemTable, Plan, Table
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import MOST_COUNTED, chips, options, part_words
from kgsparql.plans.type_check import check, terms_in
from kgsparql.plans.writing import Writer, in_words
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI, printable
from kgsparql.retrievers._planned_question import GivenPlan

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
            {"kind": one.kind, "words": part_words(one.kind, part, label)}
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
            "count": one.count, "plan": _sealed_plan(one.plan),
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
