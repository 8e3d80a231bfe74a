"""The configuration of a run, so that others can repeat it, and nobody resumes it with another."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Dataset, Question
from kgsparql.evaluation.runs.plan import Plan
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, printable
from kgsparql.redaction import redacted

_PACKAGES = (
    "kgsparql", "pyoxigraph", "rdflib", "SPARQLWrapper", "lancedb", "openai", "sentence-transformers", "torch", "numpy",
)  # fmt: skip

_MAY_DIFFER = frozenset(
    {"began", "ended", "workers", "format", "server", "left_out", "missing_share", "without_answer"}
)
"""What may change when a run is resumed; all the rest must be the same."""

_LISTED = 6
"""Differences that the error lists."""


def configuration(
    dataset: Dataset, knowledge: KnowledgeBase, plan: Plan, *, sampling: Mapping[str, Any], embedder: str
) -> dict[str, Any]:
    """The configuration of a run, as ``run.json`` holds it.

    :param dataset: as it was read, before anybody looked for answers.
    :param sampling: how the questions were drawn (``limit``, ``sample_seed``), and figures about them.
    """
    asking, graph, model = plan.asking, knowledge.graph, plan.asking.model
    return {
        "versions": dict(_versions()),
        "python": platform.python_version(),
        "dataset": {
            "name": dataset.name, "source": dataset.source, "licence": dataset.licence,
            "sha256": _questions_hash(dataset.questions), "questions_sha256": _questions_hash(plan.questions),
        },
        "graph": {
            "name": graph.name if "://" in graph.name else Path(graph.name).name,  # no folders of this machine
            "fingerprint": graph.fingerprint, "triples": _triples(knowledge),
        },
        "questions": len(plan.questions),
        **sampling,
        "methods": [
            {
                "label": method.label, "method": method.retriever.name, "options": dict(method.options),
                "with_model": method.with_model,
            }
            for method in plan.methods
        ],
        "model": "oracle" if plan.oracle is not None else "" if model is None else model.name,
        "server": "" if model is None else redacted(model.client.base_url),
        "temperature": None if model is None else model.temperature,
        "reply_tokens": None if model is None else model.reply_tokens,
        "gold_topics": plan.gold_topics,
        "augment": asking.augment,
        "rerank": asking.rerank,
        "complete": asking.complete,
        "qualifiers": asking.qualifiers,
        "direction": asking.direction,
        "languages": list(knowledge.languages),
        "seed": asking.seed,
        "embedder": "" if knowledge.indexes.embedder is None else knowledge.indexes.embedder.name,
        "asked_embedder": embedder,
        "budget": asdict(asking.budget),
        "prompts": prompts_hash(),
        "workers": plan.workers,
        "began": now(),
        "ended": None,
    }  # fmt: skip


def check_same(there: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    """Refuse to resume a run that has another configuration.

    :raises InputError: that says what differs.
    """
    old, new = (dict(_leaves({k: v for k, v in one.items() if k not in _MAY_DIFFER})) for one in (there, wanted))
    differ = [
        f"{name}: {_value_text(old.get(name))} there, {_value_text(new.get(name))} now"
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]
    if differ:
        more = f"; and {len(differ) - _LISTED} more" if len(differ) > _LISTED else ""
        raise InputError(
            f"{path} is a run of something else: {'; '.join(differ[:_LISTED])}{more}",
            hint="the same command, or another directory",
        )


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The single values of a configuration with their paths; members of a list are named by their labels, if any.

    >>> dict(_leaves({"seed": 1, "methods": [{"label": "m", "options": {"n": 2}}]}))
    {'seed': 1, 'methods.m.label': 'm', 'methods.m.options.n': 2}
    """
    if isinstance(value, Mapping):
        for key, own in value.items():
            yield from _leaves(own, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value and all(isinstance(own, Mapping) for own in value):
        for place, own in enumerate(value):
            yield from _leaves(own, f"{name}.{own.get('label', place)}")
    else:
        yield name, value


def _value_text(value: Any) -> str:
    return "nothing" if value is None else printable(str(value), 40)


def _questions_hash(questions: Iterable[Question]) -> str:
    lines = (json.dumps(question.to_json(), ensure_ascii=False, sort_keys=True) for question in questions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def prompts_hash() -> str:
    """Hash the text of every prompt, wherever it stands: if it differs, so may the replies of a model."""
    from kgsparql.answering import choosing, composing
    from kgsparql.evaluation.baselines import closed_book
    from kgsparql.retrievers import _written_plans, entity, mindmap, struct_gpt

    prompts = (
        choosing.MENDING, choosing.RULES,
        closed_book.NOT_KNOWN, closed_book.RULES,
        composing.CLOSED_BOOK, composing.NOT_ANSWERED, composing.NO_EVIDENCE, composing.OWN_KNOWLEDGE, composing.REPLY,
        composing.RULES, composing.UNGROUNDED,
        entity.NUMERIC, entity.REASONING, entity.RULES, entity.TEXT,
        mindmap.MENTIONS, mindmap.REPLY, mindmap.RULES, mindmap.SENTENCES,
        struct_gpt.CONSTRAINTS,
        _written_plans.RULES,
    )  # fmt: skip
    return hashlib.sha256("\n".join(sorted(map(str, prompts))).encode()).hexdigest()


def now() -> str:
    """The time, as a run writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> Iterator[tuple[str, str]]:
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def _triples(knowledge: KnowledgeBase) -> int | None:
    """How many triples the graph holds; endpoints are not asked."""
    if knowledge.graph.is_remote:
        return None
    (found,) = knowledge.graph.select(Query.load("info_triples"))
    count = found["count"]
    return int(count.value) if isinstance(count, Literal) else None
