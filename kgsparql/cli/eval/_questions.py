"""What the commands of ``eval`` share: the questions of a dataset, how they are asked, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, LimitOptions, ModelOptions, contradiction
from kgsparql.errors import CancelledError, DataError, InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.runs.plan import Method, Plan
    from kgsparql.evaluation.runs.running import MethodProgress
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.knowledge_base import KnowledgeBase


_MISSING = 0.5
"""A graph that lacks more than this share of the gold terms is taken for another graph."""

_PROBLEMS = 5
"""Unreadable lines that are shown."""

_EVERY_S = 30.0
"""How often :class:`TallyLine` writes a line where there is no terminal."""

DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A folder with a graph and questions; a file of JSONL, QALD, TEXT2SPARQL, LC-QuAD or CSV.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="FIELD=NAME,…", help="Columns of a CSV file: question=…,answers=…,topics=…,id=…,sparql=…"
    ),
]


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Which questions, and how they are asked; each field is an option of the command line."""

    oracle: Annotated[
        bool, typer.Option("--oracle", help="In place of a model, one that knows the gold path: how far a method gets.")
    ] = False
    gold_topics: Annotated[
        bool, typer.Option("--gold-topics", help="Give the entities of each question instead of linking them.")
    ] = False
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="So many questions, equally of each number of hops."),
    ] = None
    sample_seed: Annotated[int, typer.Option("--sample-seed", help="Which questions --limit draws.")] = 0
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            max=64,
            help="Questions at the same time; 4 with a model or endpoint, else 1. Local graphs: in other processes.",
        ),
    ] = None
    complete: c.CompleteOption = True
    qualifiers: Annotated[bool, typer.Option("--qualifiers", help="As for ask.")] = False
    embedder: c.EmbedderOption = "auto"
    direction: c.DirectionOption = "both"
    lang: c.LangOption = "en"
    seed: Annotated[int, typer.Option("--seed", help="For methods, and for whatever else is drawn.")] = 0

    def sample(self, dataset: Dataset) -> Dataset:
        """Keep the questions that ``--limit`` draws."""
        from kgsparql.evaluation.datasets import sample

        return replace(dataset, questions=sample(dataset.questions, self.limit, self.sample_seed))

    def configuration(self, dataset: Dataset, knowledge: KnowledgeBase, plan: Plan, **about: Any) -> dict[str, Any]:
        """Describe a run, as its directory keeps it."""
        from kgsparql.evaluation.runs.plan import configuration

        sampling = {"limit": self.limit, "sample_seed": self.sample_seed, **about}
        return configuration(dataset, knowledge, plan, sampling=sampling, embedder=self.embedder)

    def asking(self, model: ModelOptions, limits: LimitOptions, snapshot: Snapshot | None = None) -> AskOptions:
        """Make what is the same for all questions; the model, if there is one, is to be closed."""
        from kgsparql.answering.ask_options import AskOptions

        if self.oracle and model.is_named:
            raise OptionError("--oracle together with a model", hint="leave out one of them")
        return AskOptions(
            direction=c.checked_direction(self.direction), seed=self.seed, budget=limits.budget(),
            complete=self.complete, qualifiers=self.qualifiers,
            model=model.opened(seed=self.seed, snapshot=snapshot),
        )  # fmt: skip

    def plan(
        self, knowledge: KnowledgeBase, asking: AskOptions, questions: Sequence[Question], methods: Sequence[Method]
    ) -> Plan:
        """Make the plan of a run."""
        from kgsparql.evaluation.oracle import oracle_for, predicates_by_name
        from kgsparql.evaluation.runs.plan import Plan

        predicates = predicates_by_name(knowledge.graph) if self.oracle else {}

        @cache  # every method asks for the same
        def oracle(question: Question) -> Any:
            return oracle_for(question, predicates, knowledge.graph)

        is_slow = asking.model is not None or knowledge.graph.is_remote
        return Plan(
            questions=questions, methods=methods, asking=asking, gold_topics=self.gold_topics,
            oracle=oracle if self.oracle else None,
            workers=self.workers or (4 if is_slow else 1),
        )  # fmt: skip


def opened_dataset(
    dataset: str, columns: str | None, graph: GraphOptions, *, language: str
) -> tuple[Dataset, GraphOptions]:
    """Load a dataset, and find its graph: that of ``-k``, else the one beside the questions, else the usual one.

    The licence, and what could not be read of the dataset, are shown on stderr.
    """
    from kgsparql.evaluation.datasets import load

    loaded = load(dataset, columns=_named_columns(columns), language=language)
    licence = loaded.licence or "no licence information: check before you publish anything made with it"
    source = f" · {loaded.source}" if loaded.source else ""
    graph.say(f"{loaded.name}: {len(loaded.questions):,} questions{source} · {licence}")
    for problem in loaded.problems[:_PROBLEMS]:
        graph.say(f"  {printable(str(problem), 300)}")
    if len(loaded.problems) > _PROBLEMS:
        graph.say(f"  … and {len(loaded.problems) - _PROBLEMS:,} more like these: kgsparql eval validate lists them")
    is_beside = loaded.graph and not graph.kg
    return loaded, replace(graph, kg=list(map(str, loaded.graph))) if is_beside else graph


def _named_columns(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(field.strip() and equals and name.strip() for field, equals, name in pairs):
        raise OptionError(f"--columns {printable(text, 80)}", hint="for example --columns question=q,answers=a")
    return {field.strip(): name.strip() for field, _, name in pairs}


def check_directory(output: Path, *, resume: bool, file: str = "run.json") -> None:
    """Check the directory of a run before any work.

    :param file: marks a directory as one of a run.
    """
    from kgsparql.evaluation.runs.directory import check_room, is_free

    if output.is_file():
        raise InputError(f"{output}: a file", hint="name a directory that is not there yet")
    what = Path(file).stem
    is_there = (output / file).is_file()
    if resume and not is_there:
        raise InputError(f"{output}: no {what} to go on with", hint="leave out --resume to begin one")
    if not resume and is_there:
        raise InputError(f"{output}: a {what} is there already", hint="--resume goes on with it; or name another")
    if not resume and not is_free(output):
        raise InputError(f"{output}: not an empty directory", hint="name one that is not there yet")
    check_room(output)


def with_answers(dataset: Dataset, knowledge: KnowledgeBase, graph: GraphOptions) -> tuple[Dataset, float]:
    """Fill in answers, and return the share of gold terms and topics that the graph does not mention, too.

    Where it has only SPARQL, the dataset gets the answers of that. Questions without answers are left out.
    """
    from kgsparql.evaluation.validation import answered, missing_share

    share = missing_share(dataset, knowledge)
    if share > _MISSING:
        raise DataError(
            f"{100 * share:.0f} % of the terms in the gold answers and topics are not in {knowledge.graph.name}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    if share:
        graph.say(
            f"{100 * share:.1f} % of the terms in the gold answers and topics are not in the graph: its figures are "
            "not those of the whole dataset (kgsparql eval validate says which questions)"
        )
    known = answered(dataset, knowledge)
    for problem in known.problems[len(dataset.problems) :]:
        graph.say(f"  left out: {printable(str(problem), 300)}")
    return known, share


def methods_with(
    path: Path | None, names: str | None, options: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Return the names of several methods, and the options of each; a preset is for its own method among them."""
    from kgsparql.evaluation.runs.plan import NO_MODEL, checked_names, options_by_method
    from kgsparql.retrievers._loading import Preset

    preset = None if path is None else Preset.load(path)
    methods = checked_names(names or (preset.method if preset else "all"))
    if preset and not {"all", "methods", preset.method, preset.method + NO_MODEL} & set(methods):
        raise contradiction(path, preset, names)
    found: dict[str, dict[str, Any]] = {**options_by_method(options, methods)}
    if preset is not None:
        found[preset.method] = preset.with_options(found.get(preset.method, {}))
    return methods, found


def _tally_text(at: MethodProgress) -> str:
    """Say in one line how many questions are done, how good the answers are, and their cost.

    >>> from kgsparql.evaluation.runs.running import MethodProgress
    >>> _tally_text(MethodProgress("mindmap", 30, 90, hits=24, cost=0.0123))
    'mindmap 30/90 · Hits@1 80.0 % · cost 0.0123'
    """
    parts = [f"{at.method} {at.done:,}/{at.total:,}"]
    if at.done:
        parts.append(f"Hits@1 {100 * at.hits / at.done:.1f} %")
    if at.failed:
        parts.append(f"{at.failed:,} failed")
    if at.cost is not None:
        parts.append(f"cost {at.cost:.4g}")
    return " · ".join(parts)


class TallyLine(c.Progress):
    """A bar that shows how far a method is; a line at its end and, where there is no terminal, now and then.

    Of a run that is stopped it says how to go on with it.
    """

    def __init__(self, directory: Path, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._directory, self._quiet = directory, quiet
        self._last_line_at = time.monotonic()

    def __exit__(self, *exception: object) -> None:
        """Take the bar off the terminal."""
        super().__exit__(*exception)
        if isinstance(exception[1], KeyboardInterrupt | CancelledError):
            c.say(f"stopped; the same command with --resume goes on: {self._directory}", quiet=self._quiet)

    def tell(self, at: MethodProgress) -> None:
        """Show it; the line of a method that is done stays on the screen."""
        is_due = not self._enabled and time.monotonic() - self._last_line_at > _EVERY_S
        if at.done == at.total or is_due:
            self.clear()
            self._last_line_at = time.monotonic()
            c.say(_tally_text(at), quiet=self._quiet)
        else:
            self(at.method, at.done, at.total)
