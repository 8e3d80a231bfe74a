"""``kgsparql eval DATASET``: every method on every question, in a directory with which the run can be resumed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import (
    HOW_TO_ADD,
    GraphOptions,
    LimitOptions,
    ModelOptions,
    PresetOption,
    SnapshotOptions,
    options_of,
)
from kgsparql.cli.eval._questions import (
    ColumnsOption,
    DatasetArgument,
    QuestionOptions,
    TallyLine,
    check_directory,
    methods_with,
    opened_dataset,
    with_answers,
)
from kgsparql.errors import OptionError
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.runs.plan import Plan
    from kgsparql.knowledge_base import KnowledgeBase


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Which methods are asked, and into which directory; each field is an option of the command line."""

    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The directory of the run.")]
    retriever: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--retriever",
            metavar="NAMES",
            help="Methods between commas; all, methods or baselines; NAME+no_model for one without the model.",
            show_default="all, or that of --preset",
        ),
    ] = None
    preset: PresetOption = None
    option: Annotated[
        list[str] | None,
        typer.Option("-O", "--option", metavar="METHOD.NAME=VALUE", help="An option of a method; repeatable."),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is in the directory.")] = False
    columns: ColumnsOption = None


@c.command
def run(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    asked: QuestionOptions,
    snapshots: SnapshotOptions,
    dataset: DatasetArgument,
    how: RunOptions,
) -> None:
    """Ask every question of a dataset with every method; one line for each answer, whatever happens to the others.

    `--resume` goes on after Ctrl-C, a lost endpoint or a full disk, and pays for nothing twice. Then:
    kgsparql eval compare RUN
    """
    from kgsparql.evaluation.runs.plan import check_options, load_methods
    from kgsparql.evaluation.runs.running import resume_or_begin

    names, options = methods_with(how.preset, how.retriever, options_of(how.option))
    check_options(options)
    check_directory(how.output, resume=how.resume)
    languages = c.languages(asked.lang)
    loaded, graph = opened_dataset(dataset, how.columns, graph, language=languages[0])
    with snapshots.opened(
        graph.say, "eval", dataset=loaded.name, kg=graph.sources, methods=names, limit=asked.limit,
        embedder=asked.embedder,
    ) as snapshot:  # fmt: skip
        asking = asked.asking(model, limits, snapshot)
        opened = graph.opened(languages=languages, embedder=asked.embedder, snapshot=snapshot, fresh=model.fresh)
        with asking.model or nullcontext(), opened as knowledge:
            chosen = asked.oracle or asking.model is not None
            methods, notes = load_methods(names, options, knowledge, model=asking.model is not None, chosen=chosen)
            for note in (*notes, "" if chosen or model.no_model else HOW_TO_ADD):
                graph.say(note)
            drawn = asked.sample(loaded)
            questions, about = _questions_of_run(how.output) if how.resume else _questions_of(drawn, knowledge, graph)
            plan = asked.plan(knowledge, asking, questions, methods)
            wanted = asked.configuration(drawn, knowledge, plan, **about)
            graph.say(f"{counted(len(questions), 'question')}, {counted(len(methods), 'method')}")
            graph.say(_about_oracle(plan))
            with TallyLine(how.output, quiet=graph.quiet) as line:
                resume_or_begin(knowledge, plan, how.output, wanted, tell=line.tell)
    graph.say(f"compare: kgsparql eval compare {how.output}")


def _questions_of(
    drawn: Dataset, knowledge: KnowledgeBase, graph: GraphOptions
) -> tuple[tuple[Question, ...], dict[str, Any]]:
    """Find the answers of questions, and what a reader of their figures must know."""
    from kgsparql.evaluation.datasets import LEFT_OUT

    known, share = with_answers(drawn, knowledge, graph)
    without = sum(question.answers == () for question in known.questions)
    if without:
        graph.say(f"{without:,} questions have no right answer: who finds nothing is right")
    unread = [problem for problem in drawn.problems if problem.message.startswith(LEFT_OUT)]
    reasons = [printable(str(problem), 200) for problem in (*unread, *known.problems[len(drawn.problems) :])]
    return known.questions, {"left_out": reasons, "missing_share": round(share, 4), "without_answer": without}


def _questions_of_run(output: Path) -> tuple[tuple[Question, ...], dict[str, Any]]:
    """Read the same of a run that is resumed: the answers of its questions are not looked up again."""
    from kgsparql.evaluation.runs.directory import Run

    run = Run.open(output)
    return run.questions, {name: run.config.get(name) for name in ("left_out", "missing_share", "without_answer")}


def _about_oracle(plan: Plan) -> str:
    """Say for how many questions the oracle knows no way; nothing without an oracle.

    :raises OptionError: if that is so for all of them.
    """
    if plan.oracle is None:
        return ""
    unknown = sum(plan.oracle(question) is None for question in plan.questions)
    if unknown == len(plan.questions):
        raise OptionError(
            "--oracle: no question says how its answers are reached", hint="it needs `path` or `golden_triples`"
        )
    return f"for {unknown:,} of {len(plan.questions):,} questions the oracle knows no way" if unknown else ""
