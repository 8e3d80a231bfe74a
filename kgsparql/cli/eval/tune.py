"""``kgsparql eval tune``: options chosen on one part of the questions, and what they are worth on the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._option_groups import with_groups
from kgsparql.cli.eval._datasets import (
    ColumnsOption,
    DatasetArgument,
    answerable,
    check_directory,
    graph_of,
    opened_dataset,
)
from kgsparql.cli.eval._question_options import QuestionOptions
from kgsparql.errors import CancelledError, InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.tuning.results import Tuning
    from kgsparql.evaluation.tuning.search_spaces import Space
    from kgsparql.evaluation.tuning.splitting import Split
    from kgsparql.evaluation.tuning.trials import Search
    from kgsparql.evaluation.tuning.tuning import Bench
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["tune"]

ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "-O",
        "--option",
        metavar="NAME=VALUES",
        help="Values to try: 3,5,10 or 1..5 or 0.1..0.5/0.1; between | where they have commas. Repeatable.",
    ),
]
TrialsOption = Annotated[
    int | None, typer.Option("--trials", min=1, metavar="N", help="Of a random search.", show_default="30")
]
ShareOption = Annotated[
    float, typer.Option("--split", metavar="SHARE", help="Of the questions: those options are chosen on.")
]
PresetOutOption = Annotated[
    Path | None, typer.Option("--preset-out", metavar="FILE", help="The preset.", show_default="RUN/preset.toml")
]


@c.reported
@with_groups
def tune(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    asked: QuestionOptions,
    dataset: DatasetArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The directory of the trials.")],
    retriever: Annotated[str, typer.Option("-r", "--retriever", metavar="NAME", help="The method.")] = "path_ranking",
    option: ValuesOption = None,
    search: Annotated[str, typer.Option("--search", metavar="HOW", help="grid, random, or one-at-a-time.")] = "grid",
    trials: TrialsOption = None,
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="What is made better.")] = "f1",
    share: ShareOption = 0.5,
    columns: ColumnsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the directory.")] = False,
    preset_out: PresetOutOption = None,
    form: c.TextOrJsonOption = None,
    reproducible: c.ReproducibleOption = False,
) -> None:
    """Choose options of a method on one part of the questions, and see what they are worth on the others.

    Every setting is a run of its own in RUN/trials, so that `--resume` pays for nothing twice, with other values or
    another search too. The chosen options are written as a preset, without options where nothing beat the defaults:
    kgsparql ask --preset RUN/preset.toml
    """
    from kgsparql.evaluation.datasets import sample
    from kgsparql.evaluation.tuning.results import FEWEST, few_held_out
    from kgsparql.evaluation.tuning.search_spaces import Space
    from kgsparql.evaluation.tuning.splitting import checked_share, split
    from kgsparql.evaluation.tuning.tuning import checked_metric

    shape = c.two_formats(form, None)
    wanted = _checked_search(search, trials, asked.seed)
    space = Space.read(retriever, _values(retriever, option))
    checked_metric(metric)
    checked_share(share)
    check_directory(output, resume=resume, file="tuning.json")
    preset_file = _checked_file(preset_out) or output / "preset.toml"
    loaded = opened_dataset(dataset, columns, language=c.languages(asked.lang)[0], quiet=graph.quiet)
    graph = graph_of(graph, loaded)
    asking = asked.asking(model, limits)
    n = min(asked.limit or len(loaded.questions), len(loaded.questions))
    graph.say(_what_it_takes(space, wanted, n, share, with_model=asking.model is not None, more=asked.more_calls))
    with (
        asking.model or nullcontext(),
        graph.opened(languages=c.languages(asked.lang), embedder=asked.embedder) as knowledge,
    ):
        graph.say("" if asked.oracle or asking.model is not None or model.no_model else HOW_TO_ADD)
        drawn = replace(loaded, questions=sample(loaded.questions, asked.limit, asked.sample_seed))
        questions = answerable(drawn, knowledge, graph).questions
        parts = split(questions, share, seed=asked.sample_seed)
        graph.say(str(parts))
        graph.say(few_held_out(len(parts.held_out)) if len(parts.held_out) < FEWEST else "")
        bench = _bench(knowledge, loaded, asked, asking, questions, path=output, space=space, metric=metric)
        found = _tuned(bench, parts, wanted, seed=asked.seed, quiet=graph.quiet)
    _write(found, preset_file, shape, reproducible=reproducible)
    graph.say(found.advice(preset_file))


def _checked_file(preset: Path | None) -> Path | None:
    if preset is not None and not preset.parent.is_dir():
        raise InputError(f"{preset}: its directory is not there", hint="make it, or name another file")
    return preset


def _checked_search(search: str, trials: int | None, seed: int) -> Search:
    from kgsparql.evaluation.tuning.trials import Search

    if trials is not None and search != "random":
        raise OptionError(f"--trials with --search {printable(search, 40)}", hint="it is for --search random")
    return Search(kind=search, trials=trials or 30, seed=seed)


def _values(method: str, option: list[str] | None) -> dict[str, str]:
    """The values to try of each option.

    :raises OptionError: for an option of another method, or one that is named twice.
    """
    from kgsparql.cli.ask import options_of
    from kgsparql.evaluation.runs.methods import options_by_method

    options = options_of(option)
    if len(options) < len(option or ()):
        raise OptionError("an option is named twice", hint='its values stand together: -O "NAME=3,5,10"')
    found = options_by_method(options, [method])
    for other in found:
        if other != method:
            raise OptionError(f"-O {printable(other, 60)}.…: this method is not tuned", hint=f"-r {method} is")
    return found.get(method, {})


def _what_it_takes(space: Space, search: Search, n: int, share: float, *, with_model: bool, more: int) -> str:
    """How many trials there will be on how many questions, and what that may cost.

    :param more: calls for each question beside the method's own.
    """
    from kgsparql.evaluation.tuning.search_spaces import search_cost

    most = search_cost(space, search.kind, search.trials, seed=search.seed)
    development = round(share * n)
    held_out = n - development
    calls = (most.calls + more * most.trials) * development + (most.calls_held_out + 2 * more) * held_out
    cost = f"about {calls:,} model calls at most" if with_model else "no model calls"
    about = "at most " if search.kind == "one-at-a-time" else ""
    return (
        f"{about}{most.trials:,} trials of {space.method} on some {development:,} questions, "
        f"then 2 on some {held_out:,}: {cost}"
    )


def _bench(
    knowledge: KnowledgeBase,
    loaded: Dataset,
    asked: QuestionOptions,
    asking: AskOptions,
    questions: Sequence[Question],
    *,
    path: Path,
    space: Space,
    metric: str,
) -> Bench:
    from kgsparql.evaluation.runs import configuration as config
    from kgsparql.evaluation.tuning.tuning import Bench

    sampling = {"limit": asked.limit, "sample_seed": asked.sample_seed}
    return Bench(
        knowledge=knowledge, plan=asked.plan(knowledge, asking, questions, ()), path=path, space=space, metric=metric,
        configuration=lambda plan: config.configuration(
            loaded, knowledge, plan, sampling=sampling, embedder=asked.embedder
        ),
    )  # fmt: skip


def _tuned(bench: Bench, parts: Split, search: Search, *, seed: int, quiet: bool) -> Tuning:
    """Try, with the tally on the screen."""
    from kgsparql.cli.eval._tally import TallyLine
    from kgsparql.evaluation.tuning.tuning import tune as tune_all

    try:
        with TallyLine(quiet=quiet) as line:
            return tune_all(replace(bench, tell=line), parts, search, seed=seed)
    except (KeyboardInterrupt, CancelledError):
        c.say(f"stopped; the same command with --resume goes on: {bench.path}", quiet=quiet)
        raise


def _write(found: Tuning, preset_file: Path, shape: str, *, reproducible: bool) -> None:
    from importlib.metadata import version

    from kgsparql.evaluation.tuning.tables import as_json, as_text

    c.write(found.preset(kgsparql=version("kgsparql")).to_toml(), preset_file)
    c.write((as_json if shape == "json" else as_text)(found, reproducible=reproducible), None)
