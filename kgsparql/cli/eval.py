"""``kgsparql eval``: runs of every method on questions, and which method is best.

Without the name of a command, what follows ``eval`` is a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import HOW_TO_ADD, GraphOptions, LimitOptions, ModelOptions, opened_to_ask, options_of
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import DataError, InputError
from kgsparql.linking.words import comma_separated, counted
from kgsparql.rdf.terms import Json, json_text, printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.run_plan import MethodProgress
    from kgsparql.knowledge_base import KnowledgeBase

_MAX_PROBLEMS = 5


def _opened_dataset(dataset: str, graph: GraphOptions, asked: RunOptions) -> tuple[Dataset, GraphOptions]:
    """Load a dataset, and find its graph: that of ``-k``, else the one beside the questions, else the usual one.

    What could not be read of the dataset is shown on stderr.
    """
    from kgsparql.evaluation.datasets import load, sample

    loaded = load(dataset)
    graph.say(f"{loaded.name}: {len(loaded.questions):,} questions")
    problems = [f"  {printable(problem, 300)}" for problem in loaded.problems]
    graph.say("\n".join(c.most_lines(problems, _MAX_PROBLEMS, "  … and {}: run.json lists them")))
    drawn = replace(loaded, questions=sample(loaded.questions, asked.limit, asked.seed))
    is_beside = loaded.graph and not graph.kg
    return drawn, replace(graph, kg=list(map(str, loaded.graph))) if is_beside else graph


@frozen
class RunOptions:
    """Which questions, with which methods, and into which directory; each field is an option of the command line."""

    output: Annotated[Path, c.option("-o --output RUN", "The directory of the run.")]
    retriever: Annotated[str, c.option("-r --retriever NAMES", "Between commas; or all.")] = "all"
    option: Annotated[
        list[str] | None, c.option("-O --option METHOD.NAME=VALUE", "An option of a method; repeatable.")
    ] = None
    gold_topics: Annotated[
        bool, c.option("--gold-topics", "Give the entities of each question instead of linking them.")
    ] = False
    limit: Annotated[int | None, c.option("--limit N", "So many questions, equally of each number of hops.", min=1)] = (
        None
    )
    workers: Annotated[
        int | None,
        c.option("--workers", "Questions at the same time; 4 with a model or endpoint, else 1.", min=1, max=64),
    ] = None
    embedder: c.EmbedderOption = "auto"
    lang: c.LangOption = "en"
    seed: Annotated[int, c.option("--seed", "Which questions are drawn.")] = 0


@c.command
def run(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    dataset: Annotated[
        str,
        typer.Argument(metavar="DATASET", help="A folder with a graph and questions; a file of JSON Lines."),
    ],
    asked: RunOptions,
) -> None:
    """Ask every question of a dataset with every method; one line for each answer, whatever happens to the others.

    Then: kgsparql eval compare RUN
    """
    from kgsparql.evaluation import run_plan as plans
    from kgsparql.evaluation.run_directory import check_new

    methods = plans.load_methods(asked.retriever, options_of(asked.option))
    is_with_model = model.is_named and not model.no_model
    check_new(asked.output)
    drawn, graph = _opened_dataset(dataset, graph, asked)
    with opened_to_ask(graph, model, limits, asked, is_one_method=False) as (knowledge, asking):
        graph.say("" if is_with_model or model.no_model else HOW_TO_ADD)
        questions, gaps = _known_questions(drawn, knowledge)
        plan = plans.Plan(
            questions=questions, methods=methods, asking=asking, gold_topics=asked.gold_topics,
            workers=asked.workers or (4 if is_with_model or knowledge.graph.is_remote else 1),
        )  # fmt: skip
        config = plans.configuration(
            drawn, knowledge, plan, sampling={"limit": asked.limit, "seed": asked.seed, **gaps}, embedder=asked.embedder
        )
        graph.say(f"{counted(len(questions), 'question')}, {counted(len(methods), 'method')}")
        with _tally_bar(graph) as tell:
            plans.run(knowledge, plan, asked.output, config, tell=tell)
    graph.say(f"compare: kgsparql eval compare {asked.output}")


def _known_questions(dataset: Dataset, knowledge: KnowledgeBase) -> tuple[tuple[Question, ...], Json]:
    """Find the answers of questions, and what a reader of their figures must know; those without are left out."""
    from kgsparql.evaluation.datasets import answered, missing_share

    share = missing_share(dataset, knowledge)
    if share > 0.5:  # it is another graph
        raise DataError(
            f"{100 * share:.0f} % of the terms in the gold answers and topics are not in {knowledge.graph.name}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    known = answered(dataset, knowledge)
    left_out = [printable(problem, 200) for problem in known.problems]
    without = sum(question.answers == () for question in known.questions)
    return known.questions, {"left_out": left_out, "missing_share": round(share, 4), "without_answer": without}


@contextmanager
def _tally_bar(graph: GraphOptions) -> Iterator[Callable[[MethodProgress], None]]:
    """Show how far a method is as a bar, and at its end a line that stays."""
    with c.Progress(quiet=graph.quiet) as shown:

        def tell(at: MethodProgress) -> None:
            shown(at.method, at.done, at.total)
            if at.done == at.total:
                shown.close()
                more = f" · {at.failed:,} failed" if at.failed else ""
                more += f" · {at.without_model:,} WITHOUT THE MODEL (--require-model: an error)" * bool(
                    at.without_model
                )
                graph.say(
                    f"{at.method} {at.done:,}/{at.total:,} · Hits@1 {100 * at.hits / max(1, at.done):.1f} %{more}"
                )

        yield tell


@c.command
def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Directories of runs, of one dataset or several.")
    ] = None,
    *,
    form: Annotated[str | None, c.format_option("text or json.")] = None,
    output: c.OutputOption = None,
    metrics: Annotated[str, c.option("--metrics NAMES", "These, between commas, or all; the first decides.")] = "",
    told: c.MessageOptions,
) -> None:
    """Compare methods: their quality and cost side by side, and how far each is from the best, with 95 % intervals.

    Runs are scored from their files; nothing is asked again. Differences are over the questions that both were asked.
    """
    from kgsparql.evaluation import comparison
    from kgsparql.evaluation.run_directory import Run

    is_json = c.chosen_format(form, output) == "json"
    if not runs:
        raise InputError("no run was given", hint="kgsparql eval compare RUN …")
    opened = {path.resolve(): Run.open(path) for path in runs}.values()  # a run that is named twice is one
    found = comparison.compare(opened, metrics=comma_separated(metrics))
    lines = comparison.comparison_lines(found) if is_json else ()
    c.write(json_text([*lines], indent=1) if is_json else comparison.comparison_text(found), output)


evaluate = c.group(
    "Measure methods on questions with known answers: `kgsparql eval DATASET -o RUN`, then `eval compare RUN`.",
    run, compare, default="run", no_args_is_help=True,
)  # fmt: skip
