"""What a run says of itself, so that somebody else can make it again, and nobody goes on with another."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from kgsparql import retrievers
from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Dataset
from kgsparql.evaluation.runs.running import Plan
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.query import Query
from kgsparql.terms import Literal, printable

__all__ = ["check_same", "configuration", "now", "prompts_hash"]

_PACKAGES = (
    "kgsparql", "pyoxigraph", "rdflib", "SPARQLWrapper", "lancedb", "openai", "sentence-transformers", "torch", "numpy",
)  # fmt: skip

_PROMPTS = ("composing", "choosing", "augmenting", "evaluation.baselines.closed_book")
"""Modules with prompts beside the methods' own."""

_MAY_DIFFER = frozenset({"began", "ended", "workers", "format"})
"""What may be another when a run goes on; of the rest, everything must be as it was."""


def configuration(
    dataset: Dataset, knowledge: KnowledgeBase, plan: Plan, *, sampling: Mapping[str, Any], embedder: str
) -> dict[str, Any]:
    """The configuration of a run, as ``run.json`` holds it.

    :param sampling: how the questions were drawn: ``limit`` and ``sample_seed``.
    """
    asking, graph = plan.asking, knowledge.graph
    questions = "\n".join(f"{q.id}\t{q.text}" for q in plan.questions)
    return {
        "versions": dict(_versions()),
        "python": platform.python_version(),
        "dataset": {
            "name": dataset.name, "source": dataset.source, "licence": dataset.licence,
            "questions_sha256": hashlib.sha256(questions.encode()).hexdigest(),
        },
        "graph": {"name": _name(graph.name), "fingerprint": graph.fingerprint, "triples": _triples(knowledge)},
        "questions": len(plan.questions),
        **sampling,
        "methods": [
            {
                "label": method.label, "method": method.retriever.name, "options": dict(method.options),
                "with_model": method.with_model,
            }
            for method in plan.methods
        ],
        "model": "oracle" if plan.oracle is not None else "" if asking.model is None else asking.model.name,
        "gold_topics": plan.gold_topics,
        "augment": asking.augment,
        "rerank": asking.rerank,
        "complete": asking.complete,
        "direction": asking.direction,
        "languages": list(knowledge.languages),
        "seed": asking.seed,
        "embedder": "" if knowledge.embedder is None else knowledge.embedder.name,
        "asked_embedder": embedder,
        "budget": asdict(asking.budget),
        "prompts": prompts_hash(),
        "workers": plan.workers,
        "began": now(),
        "ended": None,
    }  # fmt: skip


def check_same(there: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    """Refuse to go on with a run that is another.

    :raises InputError: which says what differs.
    """
    differ = [
        f"{name}: {printable(repr(there.get(name)), 80)} there, {printable(repr(wanted.get(name)), 80)} now"
        for name in sorted({*there, *wanted} - _MAY_DIFFER)
        if there.get(name) != wanted.get(name)
    ]
    if differ:
        raise InputError(
            f"{path} is a run of something else: {'; '.join(differ)}", hint="the same command, or another directory"
        )


def prompts_hash() -> str:
    """A hash of every prompt: another one, and replies of a model may be others.

    >>> len(prompts_hash())
    64
    """
    own = [f"retrievers.{module.name}" for module in iter_modules(retrievers.__path__)]
    found = []
    for name in sorted({*own, *_PROMPTS}):
        module = import_module(f"kgsparql.{name}")
        found += [
            f"{name}.{constant}\n{text}"
            for constant, text in sorted(vars(module).items())
            if constant.isupper() and isinstance(text, str)
        ]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def now() -> str:
    """The time, as a run writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _name(graph: str) -> str:
    """What a graph is called without the folders of this machine."""
    return graph if "://" in graph else Path(graph).name


def _versions() -> Iterator[tuple[str, str]]:
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def _triples(knowledge: KnowledgeBase) -> int | None:
    """How many triples the graph holds; nobody asks an endpoint that."""
    if knowledge.graph.is_remote:
        return None
    (found,) = knowledge.graph.select(Query.load("info_triples"))
    count = found["count"]
    return int(count.value) if isinstance(count, Literal) else None
