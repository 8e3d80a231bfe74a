"""What a run asks, with its configuration, so that it can be repeated; and asking it, each answer written as it comes.

Questions are asked in threads, which serve where a model or an endpoint is waited for: Python runs one at a time.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from kgsparql import retrievers
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.retriever import Retriever
from kgsparql.dataclasses import asdict, dataclass, frozen, replace
from kgsparql.errors import CancelledError, EndpointError, KgsparqlError, OptionError, our_error, redacted
from kgsparql.evaluation.dataset import Dataset, Question, Record
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.run_directory import Run
from kgsparql.events import ignore
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import comma_separated
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Json, printable, whole_number
from kgsparql.storage.files import digest_of, writer_lock


@frozen(kw_only=True)
class Plan:
    """What a run asks, and how.

    :param asking: everything that is the same for all questions and methods.
    :param gold_topics: the entities are given, not linked.
    """

    questions: Sequence[Question]
    methods: Sequence[Retriever]
    asking: AskOptions
    gold_topics: bool = False
    workers: int = 1


def load_methods(text: str, options: Mapping[str, str]) -> list[Retriever]:
    """Load methods by their names, between commas; ``all`` stands for those of kgsparql.

    :param options: of ``method.option``; the method may be left out where only one is asked.
    :raises OptionError: for a name that is none, an option that a method does not have, or of one that is not asked.

    >>> [one.paths_kept for one in load_methods("mindmap", {"mindmap.paths_kept": "3"})]
    [3]
    """
    named = comma_separated(text)
    own: dict[str, dict[str, str]] = {
        name: {} for one in named for name in (retrievers.names() if one == "all" else [one])
    }
    if not own:
        raise OptionError("no method", hint="-r all, or the names of some")
    for name, value in options.items():
        method, dot, option = name.rpartition(".")
        if not dot and len(own) > 1:
            example = f"-O {next(iter(own))}.{printable(name, 60)}=…"
            raise OptionError(f"-O {printable(name, 60)}: of which method?", hint=f"for example {example}")
        if dot and method not in own:
            raise OptionError(f"-O {printable(method, 60)}.…: this method is not asked", hint="name it with -r")
        own[method or next(iter(own))][option] = value
    return [retrievers.load(name, chosen) for name, chosen in own.items()]


def options_of(method: Retriever) -> Json:
    """Return the options of a method, as JSON has them."""
    values = {field.name: getattr(method, field.name) for field in retrievers.option_fields(type(method))}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def configuration(dataset: Dataset, knowledge: KnowledgeBase, plan: Plan, *, sampling: Json, embedder: str) -> Json:
    """Describe a run, as ``run.json`` holds it.

    :param dataset: as it was read, before anybody looked for answers.
    :param sampling: how the questions were drawn (``limit``, ``seed``), and figures about them.
    """
    asking, graph, model = plan.asking, knowledge.graph, plan.asking.model
    own_embedder = knowledge.indexes.embedder
    return {
        "versions": {name: version(name) for name in ("kgsparql", "pyoxigraph")},
        "python": platform.python_version(),
        "dataset": {
            "name": dataset.name,
            "sha256": digest_of([one.to_json() for one in dataset.questions]),
            "questions_sha256": digest_of([one.to_json() for one in plan.questions]),
        },
        "graph": {
            "name": graph.name if "://" in graph.name else Path(graph.name).name,  # no folders of this machine
            "fingerprint": graph.fingerprint,
            "triples": None if graph.is_remote else whole_number(graph.select(Query.load("info_triples"))[0]["count"]),
        },
        "questions": len(plan.questions),
        **sampling,
        "methods": [{"label": method.name, "options": options_of(method)} for method in plan.methods],
        "model": "" if model is None else model.name,
        "server": "" if model is None else redacted(model.client.base_url),
        "reply_tokens": None if model is None else model.reply_tokens,
        "gold_topics": plan.gold_topics,
        "languages": list(knowledge.languages),
        "embedder": "" if own_embedder is None else own_embedder.name, "asked_embedder": embedder,
        "budget": asdict(asking.budget), "workers": plan.workers,
        "began": now(), "ended": None,
    }  # fmt: skip


def now() -> str:
    """Return the time, as a run writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


UNREACHABLE = 3  # questions in a row that an endpoint or a model server did not answer, after which the run stops


@dataclass(slots=True)
class MethodProgress:
    """How far a method is.

    :param hits: sum of ``hits@1`` over the questions that are done.
    """

    method: str
    done: int
    total: int
    hits: float = 0.0
    failed: int = 0
    without_model: int = 0

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        self.without_model += record.is_without_model


Tell = Callable[[MethodProgress], None]

QuestionOutcome = tuple[Question, Record, KgsparqlError | None]
"""What came of a question, and what it, or its model's part, ended with."""


def run(knowledge: KnowledgeBase, plan: Plan, path: Path, config: Json, *, tell: Tell = ignore) -> Run:
    """Ask all questions, method by method, into a new directory; a question that fails is recorded with its error.

    :param config: from :func:`kgsparql.evaluation.run_plan.configuration`.
    :raises InputError: if there is something in the directory.
    :raises StoreLockedError: if another process is writing there.
    :raises UnreachableError: after three questions in a row that an endpoint or a model server did not answer; what is
        done is kept.
    """
    with writer_lock(path):
        there = Run.begin(path, config, plan.questions)
        for method in plan.methods:
            progress = MethodProgress(method.name, 0, len(plan.questions))
            tell(progress)
            lost_in_a_row = 0
            with closing(_outcomes_of_method(knowledge, plan, method, plan.questions)) as outcomes:
                for question, record, error in outcomes:
                    there.add(record)
                    progress.add(question, record)
                    tell(progress)
                    lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
                    if lost_in_a_row >= UNREACHABLE:
                        stopped = error or EndpointError("nobody answers")
                        stopped.hint = f"{UNREACHABLE} questions in a row: the run stops. {stopped.hint or ''}".strip()
                        raise stopped
        there.write_config({**config, "ended": now()})
    return there


def _outcomes_of_method(
    knowledge: KnowledgeBase, plan: Plan, method: Retriever, questions: Sequence[Question]
) -> Generator[QuestionOutcome]:
    """Yield the outcomes as they come; at most ``plan.workers`` questions are asked at the same time.

    A question is asked only when the outcome of another is dealt with, so that none begins after a run stopped.
    """
    waiting = iter(questions)
    with ThreadPoolExecutor(plan.workers) as threads:
        ask = partial(_outcome_of, knowledge, plan, method)
        asked = {threads.submit(ask, one) for one in islice(waiting, plan.workers)}
        try:
            while asked:
                done, asked = wait(asked, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                    asked |= {threads.submit(ask, one) for one in islice(waiting, 1)}
        except BaseException:
            plan.asking.cancel.set()  # the threads are waited for
            raise


def _outcome_of(knowledge: KnowledgeBase, plan: Plan, method: Retriever, question: Question) -> QuestionOutcome:
    """Ask one question with one method; nothing is recorded if the run was stopped."""
    asking = replace(plan.asking, retriever=method, options={}, choices=False)
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    about = {"question": question.id, "method": method.name}
    began = time.monotonic()
    try:
        answer = knowledge.answer(question.text, asking)
        record = Record.of(answer, **about)
        return question, record, answer.error if isinstance(answer.error, KgsparqlError) else None
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end a night's run: it counts as wrong, and says why
        known = our_error(error)
        return question, Record.failed(known, seconds=time.monotonic() - began, **about), known
