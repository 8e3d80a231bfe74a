"""Guided building: the parts of what a run was understood as, what else could stand there, and what that comes to."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgsparql.budget import Budget
from kgsparql.errors import InputError, NotFoundError
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.chips import MOST_COUNTED, chips, options, part_words
from kgsparql.plans.type_check import check, terms_in
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.plans.wording import in_words
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._planned_question import GivenPlan

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.plans.algebra import Plan

_MOST_CHARACTERS = 2_000  # of a plan in words
_LIMITS = Budget(max_seconds=10.0, max_queries=60)
_KEY = secrets.token_bytes(32)
_SEALED = 64  # characters of a seal


def run_chips(knowledge: KnowledgeBase, asking: AskOptions, run: dict[str, Any], number: int | None) -> dict[str, Any]:
    """Tell what a run was understood as, and its parts; or what could stand in the place of one of these.

    Each option has its plan, sealed: no browser makes plans of its own, which could be too much for an engine.
    """
    plan = _plan_of_run(knowledge, asking, run)
    if plan is None:
        return {"words": "", "chips": []}
    parts = chips(plan)
    if number is None:
        label = knowledge.labels(terms_in(plan)).__getitem__
        said = [{"kind": one.kind, "words": part_words(one.kind, one.part_of(plan), label)} for one in parts]
        return {"words": printable(in_words(plan, label), _MOST_CHARACTERS), "chips": said}
    if number >= len(parts):
        raise NotFoundError("there is no such part", hint="open the run again")
    session = knowledge.session(run["question"], replace(asking.without_model(), budget=_LIMITS))
    vocabulary, kind = GraphVocabulary(labels=session.graph.naming.labels), parts[number].kind
    found, is_cut = options(plan, parts[number], session.graph, vocabulary=vocabulary)
    label = knowledge.labels({term for one in found for term in terms_in(one.plan)}).__getitem__
    kind = "condition" if kind == "predicate" else kind  # with its direction
    told = [
        {
            "words": printable(part_words(kind, one.part, label), 200), "is_now": one.plan == plan,
            "count": one.count, "plan": _sealed_plan(one.plan),
        } for one in found
    ]  # fmt: skip
    return {"options": told, "is_cut": is_cut, "most": MOST_COUNTED}


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
        if best is None:
            return None
        run["plan"] = computed["plan"] = written_plan(best.plan)
    return read_plan_file(computed["plan"])


def _sealed_plan(plan: Plan) -> str:
    text = json.dumps(written_plan(plan))
    return _seal_of(text) + text


def _seal_of(text: str) -> str:
    return hmac.new(_KEY, text.encode(), "sha256").hexdigest()
