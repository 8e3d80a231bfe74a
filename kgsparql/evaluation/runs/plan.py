"""What a run asks: questions, and methods as the user named them; and how far it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsparql import retrievers
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.choosing import Chooser, RankerChooser
from kgsparql.answering.retriever import Retriever
from kgsparql.answering.routing import AUTO
from kgsparql.errors import OptionError
from kgsparql.evaluation import baselines
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import comma_separated
from kgsparql.rdf.terms import printable

DEFAULT = "path_ranking"
"""The method that is also asked without the model of a run, to see what the model is worth."""

NO_MODEL = "+no_model"
"""The end of the label of a method that is asked without the model."""

GROUPS = ("all", "methods", "baselines")

Oracles = Callable[[Question], "Callable[[RankerChooser], Chooser] | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method as a run asks it.

    :param with_model: it may ask the model of the run.
    :param links: it looks for the entities of a question.
    """

    label: str
    retriever: Retriever
    options: Mapping[str, Any]
    with_model: bool = True
    links: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run asks, and how.

    :param asking: everything that is the same for all questions and methods.
    :param gold_topics: the entities are given, not linked.
    :param oracle: who chooses instead of a model, for each question; ``None`` for nobody.
    """

    questions: Sequence[Question]
    methods: Sequence[Method]
    asking: AskOptions
    gold_topics: bool = False
    oracle: Oracles | None = None
    workers: int = 1


@dataclass(slots=True)
class MethodProgress:
    """How far a method is.

    :param hits: sum of ``hits@1`` over the questions that are done.
    :param seconds_left: for this method; ``None`` while it is not known.
    """

    method: str
    done: int
    total: int
    hits: float = 0.0
    failed: int = 0
    cost: float | None = None
    seconds_left: float | None = None

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        if record.measured.cost is not None:
            self.cost = (self.cost or 0.0) + record.measured.cost


def checked_names(text: str) -> tuple[str, ...]:
    """The names of methods from ``mindmap,entity``; ``all``, ``methods`` and ``baselines`` stand for many.

    :raises OptionError: for a name that is none.

    >>> checked_names("mindmap,mindmap,path_ranking+no_model")
    ('mindmap', 'path_ranking+no_model')
    """
    known = {*retrievers.names(), *baselines.names(), AUTO}
    names = tuple(dict.fromkeys(comma_separated(text)))
    for name in names:
        if name not in GROUPS and name.removesuffix(NO_MODEL) not in known:
            there = ", ".join([*GROUPS, *sorted(known)])
            raise OptionError(f"no method {printable(name, 60)!r}", hint=f"there are: {there}")
    if not names:
        raise OptionError("no method", hint="-r all, or the names of some")
    return names


def options_by_method(options: Mapping[str, str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The options of each method, from ``method.option=value``; without the method where only one is asked.

    >>> options_by_method({"mindmap.paths_kept": "3"}, ["mindmap", "entity"])
    {'mindmap': {'paths_kept': '3'}}
    """
    found: dict[str, dict[str, str]] = {}
    for name, value in options.items():
        method, dot, option = name.rpartition(".")
        if not dot and (len(names) != 1 or names[0] in GROUPS):
            raise OptionError(
                f"-O {printable(name, 60)}: of which method?", hint=f"for example -O mindmap.{printable(name, 60)}=…"
            )
        found.setdefault(method or names[0].removesuffix(NO_MODEL), {})[option] = value
    return found


def check_options(options: Mapping[str, Mapping[str, Any]]) -> None:
    """Check the options of methods before anything long begins.

    :raises OptionError: for an option or a value that does not exist.
    """
    for name, own in options.items():
        if name == AUTO or name in retrievers.names():
            retrievers.load(name, own)


def load_methods(
    names: Sequence[str], options: Mapping[str, Mapping[str, Any]], knowledge: KnowledgeBase,
    *, model: bool, chosen: bool,
) -> tuple[list[Method], list[str]]:  # fmt: skip
    """The methods that names stand for, and notes that say what was left out of a group, and why.

    :param chosen: a model or an oracle chooses: then a method without either is a baseline.
    :raises OptionError: for options of a method that is not asked, and where a method that was named cannot be asked.
    """
    wanted: dict[str, bool] = {}
    for name in names:
        if name in {"all", "methods"}:
            wanted |= {one: True for one in retrievers.names() if one not in wanted}
        if name in {"all", "baselines"}:
            more = [*([DEFAULT + NO_MODEL] if chosen else []), *baselines.names()]
            wanted |= {one: False for one in more if one not in wanted}
        if name not in GROUPS:
            wanted[name] = True
    for name in options:
        if name not in {one.removesuffix(NO_MODEL) for one in wanted}:
            raise OptionError(f"-O {printable(name, 60)}.…: this method is not asked", hint="name it with -r")
    methods, notes = [], []
    for label, is_named in wanted.items():
        name = label.removesuffix(NO_MODEL)
        own = options.get(name, {})
        if name in baselines.names():
            why_not = baselines.why_not(name, knowledge, model=model)
            if why_not and not is_named:
                notes.append(f"{name} is left out: {why_not}")
                continue
            retriever = baselines.load(name, knowledge, own)
        else:
            retriever = retrievers.load(name, own)
        values = {f.name: getattr(retriever, f.name) for f in retrievers.option_fields(type(retriever))}
        methods.append(Method(
            label=label, retriever=retriever, with_model=label == name, links=name not in baselines.UNLINKED,
            options={option: _recorded_value(value) for option, value in values.items()},
        ))  # fmt: skip
    return methods, notes


def _recorded_value(value: Any) -> Any:
    """A value as a run records it: a file by a hash, since with another content it is another method."""
    if isinstance(value, str) and value and Path(value).is_file():
        digest = hashlib.sha256(Path(value).read_bytes()).hexdigest()
        return f"{Path(value).name} (sha256 {digest[:16]})"
    return list(value) if isinstance(value, tuple) else value
