"""``kgsparql eval DATASET``: every method on every question, into a directory that can be gone on with."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._option_groups import with_groups
from kgsparql.cli._preset_option import PresetOption, methods_with
from kgsparql.cli._snapshot_options import SnapshotOptions
from kgsparql.cli.eval._datasets import (
    ColumnsOption,
    DatasetArgument,
    check_directory,
    graph_of,
    opened_dataset,
    share_that_is_missing,
    with_answers,
)
from kgsparql.cli.eval._question_options import QuestionOptions
from kgsparql.errors import CancelledError, OptionError
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.runs.plan import Plan
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["run"]


@c.reported
@with_groups
def run(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    asked: QuestionOptions,
    snapshots: SnapshotOptions,
    dataset: DatasetArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The directory of the run.")],
    retriever: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--retriever",
            metavar="NAMES",
            help="Methods between commas; all, methods or baselines; NAME+no_model for one without the model.",
            show_default="all, or that of --preset",
        ),
    ] = None,
    preset: PresetOption = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-O", "--option", metavar="METHOD.NAME=VALUE", help="An option of a method; repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is in the directory.")] = False,
    columns: ColumnsOption = None,
) -> None:
    """Ask every question of a dataset with every method; one line for each answer, whatever happens to the others.

    `--resume` goes on after Ctrl-C, a lost endpoint or a full disk, and pays for nothing twice. Then:
    kgsparql eval compare RUN
    """
    from kgsparql.cli.ask import options_of
    from kgsparql.evaluation.datasets import sample
    from kgsparql.evaluation.runs import configuration as config
    from kgsparql.evaluation.runs.methods import check_options, load_methods

    names, options = methods_with(preset, retriever, options_of(option))
    check_options(options)
    check_directory(output, resume=resume)
    loaded = opened_dataset(dataset, columns, language=c.languages(asked.lang)[0], quiet=graph.quiet)
    graph = graph_of(graph, loaded)
    with ExitStack() as stack:
        snapshot = stack.enter_context(
            snapshots.opened(
                graph.say, "eval", dataset=loaded.name, kg=graph.sources, methods=names, limit=asked.limit,
                embedder=asked.embedder,
            )
        )  # fmt: skip
        asking = asked.asking(model, limits, snapshot)
        stack.enter_context(asking.model or nullcontext())
        languages = c.languages(asked.lang)
        opened = graph.opened(languages=languages, embedder=asked.embedder, snapshot=snapshot, fresh=model.fresh)
        knowledge = stack.enter_context(opened)
        chosen = asked.oracle or asking.model is not None
        methods, notes = load_methods(names, options, knowledge, model=asking.model is not None, chosen=chosen)
        for note in (*notes, "" if chosen or model.no_model else HOW_TO_ADD):
            graph.say(note)
        drawn = replace(loaded, questions=sample(loaded.questions, asked.limit, asked.sample_seed))
        questions, about = _questions_there(output) if resume else _questions_of(drawn, knowledge, graph)
        plan = asked.plan(knowledge, asking, questions, methods)
        sampling = {"limit": asked.limit, "sample_seed": asked.sample_seed, **about}
        wanted = config.configuration(drawn, knowledge, plan, sampling=sampling, embedder=asked.embedder)
        graph.say(f"{counted(len(questions), 'question')}, {counted(len(methods), 'method')}")
        graph.say(_about_oracle(plan))
        _run(knowledge, plan, output, wanted, quiet=graph.quiet)
    graph.say(f"compare: kgsparql eval compare {output}")


def _questions_of(
    drawn: Dataset, knowledge: KnowledgeBase, graph: GraphOptions
) -> tuple[tuple[Question, ...], dict[str, Any]]:
    """The questions with their answers, and what a reader of their figures must know."""
    from kgsparql.evaluation.datasets import LEFT_OUT

    share = share_that_is_missing(drawn, knowledge, graph)
    known = with_answers(drawn, knowledge, graph)
    without = sum(question.answers == () for question in known.questions)
    if without:
        graph.say(f"{without:,} questions have no right answer: who finds nothing is right")
    unread = [problem for problem in drawn.problems if problem.message.startswith(LEFT_OUT)]
    reasons = [printable(str(problem), 200) for problem in (*unread, *known.problems[len(drawn.problems) :])]
    return known.questions, {"left_out": reasons, "missing_share": round(share, 4), "without_answer": without}


def _questions_there(output: Path) -> tuple[tuple[Question, ...], dict[str, Any]]:
    """The questions of the run that is gone on with: nobody looks for their answers again."""
    from kgsparql.evaluation.runs.directory import Run

    there = Run.open(output)
    return there.questions, {name: there.config.get(name) for name in ("left_out", "missing_share", "without_answer")}


def _about_oracle(plan: Plan) -> str:
    """For how many questions the oracle knows nothing, if there is one.

    :raises OptionError: if it knows nothing of any.
    """
    if plan.oracle is None:
        return ""
    unknown = sum(plan.oracle(question) is None for question in plan.questions)
    if unknown == len(plan.questions):
        raise OptionError(
            "--oracle: no question says how its answers are reached", hint="it needs `path` or `golden_triples`"
        )
    return f"for {unknown:,} of {len(plan.questions):,} questions the oracle knows no way" if unknown else ""


def _run(knowledge: KnowledgeBase, plan: Plan, output: Path, wanted: dict[str, object], *, quiet: bool) -> None:
    """Ask, with the tally on the screen; what was begun is gone on with."""
    from kgsparql.cli.eval._tally import TallyLine
    from kgsparql.evaluation.runs.running import resume_or_begin

    try:
        with TallyLine(quiet=quiet) as line:
            resume_or_begin(knowledge, plan, output, wanted, tell=line)
    except (KeyboardInterrupt, CancelledError):
        c.say(f"stopped; the same command with --resume goes on: {output}", quiet=quiet)
        raise
