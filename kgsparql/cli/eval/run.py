"""``kgsparql eval DATASET``: every method on every question, into a directory that can be gone on with."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._option_groups import with_groups
from kgsparql.cli._preset_option import PresetOption, methods_with
from kgsparql.cli.eval._datasets import (
    ColumnsOption,
    DatasetArgument,
    answerable,
    check_directory,
    graph_of,
    opened_dataset,
)
from kgsparql.cli.eval._question_options import QuestionOptions
from kgsparql.errors import CancelledError

if TYPE_CHECKING:
    from kgsparql.evaluation.runs.running import Plan
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["run"]


@c.reported
@with_groups
def run(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    asked: QuestionOptions,
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
    asking = asked.asking(model, limits)
    check_directory(output, resume=resume)
    loaded = opened_dataset(dataset, columns, language=c.languages(asked.lang)[0], quiet=graph.quiet)
    graph = graph_of(graph, loaded)
    with (
        asking.model or nullcontext(),
        graph.opened(languages=c.languages(asked.lang), embedder=asked.embedder) as knowledge,
    ):
        chosen = asked.oracle or asking.model is not None
        methods, notes = load_methods(names, options, knowledge, model=asking.model is not None, chosen=chosen)
        for note in (*notes, "" if chosen or model.no_model else HOW_TO_ADD):
            graph.say(note)
        drawn = replace(loaded, questions=sample(loaded.questions, asked.limit, asked.sample_seed))
        questions = answerable(drawn, knowledge, graph).questions
        plan = asked.plan(knowledge, asking, questions, methods)
        sampling = {"limit": asked.limit, "sample_seed": asked.sample_seed}
        wanted = config.configuration(loaded, knowledge, plan, sampling=sampling, embedder=asked.embedder)
        _run(knowledge, plan, output, wanted, quiet=graph.quiet)
    graph.say(f"compare: kgsparql eval compare {output}")


def _run(knowledge: KnowledgeBase, plan: Plan, output: Path, wanted: dict[str, object], *, quiet: bool) -> None:
    """Ask, with the tally on the screen; what was begun is gone on with."""
    from kgsparql.cli.eval._tally import TallyLine
    from kgsparql.evaluation.runs.resuming import ask_all

    try:
        with TallyLine(quiet=quiet) as line:
            ask_all(knowledge, plan, output, wanted, tell=line)
    except (KeyboardInterrupt, CancelledError):
        c.say(f"stopped; the same command with --resume goes on: {output}", quiet=quiet)
        raise
