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
from typing import ClassVar

from kgsparql import retrievers
from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.retriever import AUTO, Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.dataclasses import asdict, dataclass, frozen, replace
from kgsparql.errors import CancelledError, EndpointError, InputError, KgsparqlError, OptionError, our_error, redacted
from kgsparql.evaluation.dataset import Dataset, Question, Record
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.run_directory import Run
from kgsparql.events import ignore
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import comma_separated
from kgsparql.models.chat_completion import Call, plain
from kgsparql.models.replies import UNKNOWN
from kgsparql.models.reply_json import json_value, unusable
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Json, Literal, normalised, printable, whole_number
from kgsparql.storage.files import digest_of, writer_lock

DEFAULT = "path_ranking"  # the method that is also asked without the model of a run, to see what the model is worth
NO_MODEL = "+no_model"  # the end of the label of a method that is asked without the model
GROUPS = ("all", "methods", "baselines")

_MAY_DIFFER = {"began", "ended", "workers", "format", "server", "left_out", "missing_share", "without_answer"}
"""What may change when a run is resumed; all the rest must be the same."""


@frozen(kw_only=True)
class Method:
    """Method as a run asks it; without the model of the run if its label ends so."""

    label: str
    retriever: Retriever

    @property
    def with_model(self) -> bool:
        """Whether it may ask the model of the run."""
        return not self.label.endswith(NO_MODEL)

    @property
    def options(self) -> Json:
        """Its options, as JSON has them."""
        values = {
            field.name: getattr(self.retriever, field.name) for field in retrievers.option_fields(type(self.retriever))
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@frozen(kw_only=True)
class Plan:
    """What a run asks, and how.

    :param asking: everything that is the same for all questions and methods.
    :param gold_topics: the entities are given, not linked.
    """

    questions: Sequence[Question]
    methods: Sequence[Method]
    asking: AskOptions
    gold_topics: bool = False
    workers: int = 1


def checked_names(text: str) -> tuple[str, ...]:
    """Read the names of methods from ``mindmap,entity``; ``all``, ``methods`` and ``baselines`` stand for many.

    :raises OptionError: for a name that is none.

    >>> checked_names("mindmap,mindmap,path_ranking+no_model")
    ('mindmap', 'path_ranking+no_model')
    """
    known = {*retrievers.names(), ClosedBook.name, AUTO}
    names = tuple(dict.fromkeys(comma_separated(text)))
    for name in names:
        if name not in GROUPS and name.removesuffix(NO_MODEL) not in known:
            there = ", ".join([*GROUPS, *sorted(known)])
            raise OptionError(f"no method {printable(name, 60)!r}", hint=f"there are: {there}")
    if not names:
        raise OptionError("no method", hint="-r all, or the names of some")
    return names


def options_by_method(options: Mapping[str, str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Sort ``method.option=value`` by method; the method may be left out where only one is asked.

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


def load_methods(names: Sequence[str], options: Mapping[str, Json], *, model: bool) -> tuple[list[Method], list[str]]:
    """Load the methods that names stand for, with notes that say what was left out of a group, and why.

    :param model: there is one: then a method without it is a baseline.
    :raises OptionError: for options of a method that is not asked, and where a method that was named cannot be asked.
    """
    first = [DEFAULT + NO_MODEL] if model else []
    groups = {"methods": retrievers.names(), "baselines": [*first, ClosedBook.name]}
    groups["all"] = [*groups["methods"], *groups["baselines"]]
    wanted = dict.fromkeys(label for name in names for label in groups.get(name, [name]))
    for name in options:
        if name not in {label.removesuffix(NO_MODEL) for label in wanted}:
            raise OptionError(f"-O {printable(name, 60)}.…: this method is not asked", hint="name it with -r")
    methods, notes = [], []
    for label in wanted:
        name = label.removesuffix(NO_MODEL)
        if name != ClosedBook.name:
            methods.append(Method(label=label, retriever=retrievers.load(name, options.get(name))))
        elif label in names or model:
            methods.append(Method(label=label, retriever=retrievers.with_options(ClosedBook, options.get(name))))
        else:
            notes.append(f"{name} is left out: it asks the model alone, and there is none (-m names one)")
    return methods, notes


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
            "name": dataset.name, "source": dataset.source, "licence": dataset.licence,
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
        "methods": [
            {
                "label": method.label, "method": method.retriever.name, "options": method.options,
                "with_model": method.with_model,
            }
            for method in plan.methods
        ],
        "model": "" if model is None else model.name,
        "server": "" if model is None else redacted(model.client.base_url),
        "reply_tokens": None if model is None else model.reply_tokens,
        "gold_topics": plan.gold_topics,
        "direction": asking.direction, "languages": list(knowledge.languages),
        "embedder": "" if own_embedder is None else own_embedder.name, "asked_embedder": embedder,
        "budget": asdict(asking.budget), "workers": plan.workers,
        "began": now(), "ended": None,
    }  # fmt: skip


def check_same(there: Json, wanted: Json, path: Path) -> None:
    """Refuse to resume a run that has another configuration.

    :raises InputError: that says what differs.
    """
    differ = [n for n in {**there, **wanted} if n not in _MAY_DIFFER and there.get(n) != wanted.get(n)]
    if differ:
        raise InputError(
            f"{path} is a run of something else: it differs in {', '.join(differ)}",
            hint="the same command, or another directory",
        )


def now() -> str:
    """Return the time, as a run writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- The baseline of every paper in the field: the model alone ---------------------------------------------------------

CLOSED_BOOK_RULES = """\
You answer questions from memory, with nothing to look things up in. Reply with the names of the answers alone, as they
are usually written: no sentences, no explanations, one entry for each answer, the likeliest first. If the question has
several right answers, list all that you know. A number or a date is an entry by itself. If you do not know, reply with
an empty list. Reply with JSON only. An example, for another question:
{"answers": ["Ada Novak", "Jon Berg"]}"""

NOT_KNOWN = "The model does not know the answer."

_MAX_NAMES = 100  # that are read of a reply
_MAX_NAME_CHARACTERS = 300  # a longer answer is a sentence, not a name


@frozen
class ClosedBook(Retriever):
    """Model that is asked without the graph: its answers are literals without evidence, grounded in the ``model``."""

    name: ClassVar[str] = "closed_book"
    summary: ClassVar[str] = "the model alone, without the graph"
    source: ClassVar[str] = "a baseline of every paper in the field"
    asks_on_the_way: ClassVar[bool] = True

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs: one call, and the queries about its entities."""
        return Cost(1, 1, 5 + 2 * entities)

    def retrieve(self, session: Session) -> Retrieval:
        """Return no evidence, and a draft of names; nothing where no model is asked.

        :raises ModelReplyError: if the reply cannot be used.
        """
        if session.model is None:
            return Retrieval()
        asked = f"Question: {plain(session.question, 4_000)}"
        call = Call("closed book", CLOSED_BOOK_RULES, asked, {"answers": [str]}, _answer_names)
        kept = (session.ask_model(call, required=True) or [])[:_MAX_NAMES]
        if not kept:
            return Retrieval(draft=Draft(NOT_KNOWN, grounding="model", sufficient=False))
        return Retrieval(
            draft=Draft(
                "; ".join(kept),
                answers=tuple(AnswerTerm(Literal(name), name, 1 / place) for place, name in enumerate(kept, 1)),
                grounding="model",
            )
        )


def _answer_names(text: str) -> list[str]:
    """Read the names in a reply, none twice; none from a model that says it does not know.

    >>> _answer_names('{"answers": ["Marie Curie", "unknown", "Marie Curie", 1903]}')
    ['Marie Curie', '1903']
    """
    value = json_value(text)
    listed = value.get("answers", value.get("answer")) if isinstance(value, dict) else value
    listed = [listed] if isinstance(listed, str | int | float) else listed
    if not isinstance(listed, list):
        raise unusable(text, "a list of answers")
    said = (printable(one, _MAX_NAME_CHARACTERS) for one in listed if isinstance(one, str | int | float))
    names: dict[str, str] = {}
    for name in said:
        names.setdefault(normalised(name), " ".join(name.split()))
    return [name for key, name in names.items() if key not in UNKNOWN]


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
    cost: float | None = None

    def add(self, question: Question, record: Record) -> None:
        """Count one more answer."""
        self.done += 1
        self.hits += METRICS["hits@1"].of(question, record) or 0.0
        self.failed += record.error is not None
        self.without_model += record.is_without_model
        if (cost := record.measured.cost) is not None:
            self.cost = (self.cost or 0.0) + cost


Tell = Callable[[MethodProgress], None]

QuestionOutcome = tuple[Question, Record, KgsparqlError | None]
"""What came of a question, and what it, or its model's part, ended with."""


def resume_or_begin(knowledge: KnowledgeBase, plan: Plan, path: Path, config: Json, *, tell: Tell = ignore) -> Run:
    """Complete the run in a directory: what is there is kept, the rest is asked.

    :param config: from :func:`kgsparql.evaluation.run_plan.configuration`.
    :raises InputError: if what is there is a run of something else, or no run.
    :raises StoreLockedError: if another process is writing it.
    """
    began = config["began"]
    with writer_lock(path):
        if (path / "run.json").is_file():
            there = Run.open(path)
            there.mend()
            check_same(there.config, config, path)
            began = there.config["began"]
        else:
            there = Run.begin(path, config, plan.questions)
        run(knowledge, plan, there, tell=tell)
        there.write_config({**config, "began": began, "ended": now()})
    return Run.open(path)


def run(knowledge: KnowledgeBase, plan: Plan, there: Run, *, tell: Tell = ignore) -> None:
    """Ask what is not answered yet, method by method.

    A question that fails is recorded with its error. If an endpoint or a model server did not answer it, it is asked
    again when the run is resumed.

    :raises UnreachableError: after three such questions in a row; what is done is kept.
    """
    for method in plan.methods:
        progress, left = MethodProgress(method.label, 0, len(plan.questions)), []
        records = there.records(method.label)
        for question in plan.questions:
            record = records.get(question.id)
            if record is None or record.is_lost:
                left.append(question)
            else:
                progress.add(question, record)
        tell(progress)
        lost_in_a_row = 0
        with closing(_outcomes_of_method(knowledge, plan, method, left)) as outcomes:
            for question, record, error in outcomes:
                there.add(record)
                progress.add(question, record)
                tell(progress)
                lost_in_a_row = lost_in_a_row + 1 if record.is_lost else 0
                if lost_in_a_row >= UNREACHABLE:
                    stopped = error or EndpointError("nobody answers")
                    about = f"{UNREACHABLE} questions in a row: the run stops; --resume goes on with it."
                    stopped.hint = f"{about} {stopped.hint or ''}".strip()
                    raise stopped


def _outcomes_of_method(
    knowledge: KnowledgeBase, plan: Plan, method: Method, questions: Sequence[Question]
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


def _outcome_of(knowledge: KnowledgeBase, plan: Plan, method: Method, question: Question) -> QuestionOutcome:
    """Ask one question with one method; nothing is recorded if the run was stopped."""
    asking = replace(plan.asking, retriever=method.retriever, options={}, choices=False)
    if plan.gold_topics:
        asking = asking.about(topic.iri for topic in question.topics)
    if not method.with_model:
        asking = asking.without_model()
    about = {"question": question.id, "method": method.label}
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
