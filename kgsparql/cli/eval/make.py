"""``kgsparql eval make``: questions about the user's own graph, so that methods can be measured there."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import ModelOptions
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.making.making import MadeQuestions, Progress
    from kgsparql.models.language_model import LanguageModel


_SHOWN = 8
"""Questions shown as examples."""


@c.command
def make(
    graph: GraphOptions,
    model: ModelOptions,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the questions are written.")],
    count: Annotated[int, typer.Option("-n", "--number", min=1, max=100_000, help="How many questions.")] = 200,
    max_hops: Annotated[
        int, typer.Option("--max-hops", min=1, max=3, help="The longest path from topic to answer.")
    ] = 3,
    max_answers: Annotated[int, typer.Option("--max-answers", min=1, max=1000, help="Of one question.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Which questions are made.")] = 0,
    lang: c.LangOption = "en",
) -> None:
    """Make questions with known answers from a graph: its frequent paths in English, each verified by execution.

    As many of each number of hops and direction as the graph allows. The same seed gives the same questions. With a
    model they are rephrased, a call for each; without one they repeat the labels of predicates, which favours methods
    that compare labels. Then: kgsparql eval FOLDER -o RUN
    """
    from kgsparql.evaluation.making.made_dataset import check_folder, write_dataset
    from kgsparql.evaluation.making.making import make as made_from

    check_folder(output)
    opened = model.opened(seed=seed)
    with (
        opened or nullcontext(),
        c.Progress(quiet=graph.quiet) as shown,
        graph.opened(languages=c.languages(lang), embedder="none") as knowledge,
    ):
        made = made_from(knowledge, count, seed=seed, max_hops=max_hops, max_answers=max_answers, progress=shown)
        if opened is not None:
            made = _rephrased(graph, made, opened, shown)
        name = "" if opened is None else opened.name
        write_dataset(output, made, knowledge, sources=graph.sources, seed=seed, model=name)
    c.write("\n".join(_lines(made, output, count)), None)
    if len(made.questions) < count:
        why = "; ".join(made.why_no_more) or "there are no other paths"
        graph.say(f"{len(made.questions):,} of {count:,}: {why}")
    if opened is None:
        graph.say(
            "the questions repeat the labels of predicates, which favours methods that compare labels (rephrase: -m)"
        )
    if made.are_shared:
        graph.say("nearly every name is shared by several entities here: measure with --gold-topics")
    if not any(source == "-" or "://" in source for source in graph.sources):
        graph.say(f"measure: kgsparql eval {output} -o RUN")
    else:
        graph.say(f"measure: kgsparql eval {output} -k GRAPH -o RUN")


def _rephrased(graph: GraphOptions, made: MadeQuestions, model: LanguageModel, progress: Progress) -> MadeQuestions:
    from kgsparql.answering.ask_options import ignore
    from kgsparql.budget import Budget, Usage
    from kgsparql.evaluation.making.rephrasing import rephrased

    usage = Usage(Budget(max_seconds=None))
    found = rephrased(made, model, usage, ignore, progress=progress)
    why = ", ".join(f"{count} {reason}" for reason, count in found.reasons)
    graph.say(
        f"{len(made.questions) - found.kept:,} rephrased by {model.name} with {usage.model_calls:,} calls, "
        f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
        + (f"; {found.kept:,} as they were" if found.kept else "")
        + (f" ({why})" if why else "")
    )
    return found.made


def _lines(made: MadeQuestions, output: Path, count: int) -> list[str]:
    of = f" of {count:,}" if len(made.questions) < count else ""
    lines = [f"{len(made.questions):,}{of} questions in {output}"]
    for (hops, direction), own in made.counts.items():
        lines.append(f"  {own:>6,}  {hops} hop{'s' if hops > 1 else ' '} {direction}")
    step = max(1, len(made.questions) // _SHOWN)
    return [*lines, "for example:", *(f"  {printable(q.text, 200)}" for q in made.questions[::step][:_SHOWN])]
