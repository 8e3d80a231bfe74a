"""``kgsparql eval make``: questions about the user's own graph, so that methods can be measured there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.made_questions.making import MadeQuestions

_MAX_EXAMPLES = 8


@c.command
def make(
    graph: GraphOptions,
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

    As many of each number of hops and direction as the graph allows. The same seed gives the same questions. They
    repeat the labels of predicates, which favours methods that compare labels. Then: kgsparql eval FOLDER -o RUN
    """
    from kgsparql.evaluation.making import check_folder, write_dataset
    from kgsparql.made_questions.making import make as made_from

    check_folder(output)
    with (
        c.Progress(quiet=graph.quiet) as shown,
        graph.opened(languages=c.languages(lang), embedder="none") as knowledge,
    ):
        made = made_from(knowledge, count, seed=seed, max_hops=max_hops, max_answers=max_answers, progress=shown)
        write_dataset(output, made, knowledge, sources=graph.sources, seed=seed)
    c.write("\n".join(_summary_lines(made, output, count)), None)
    if len(made.questions) < count:
        why = "; ".join(made.why_no_more) or "there are no other paths"
        graph.say(f"{len(made.questions):,} of {count:,}: {why}")
    graph.say("the questions repeat the labels of predicates, which favours methods that compare labels")
    if made.are_shared:
        graph.say("nearly every name is shared by several entities here: measure with --gold-topics")
    if not any(source == "-" or "://" in source for source in graph.sources):
        graph.say(f"measure: kgsparql eval {output} -o RUN")
    else:
        graph.say(f"measure: kgsparql eval {output} -k GRAPH -o RUN")


def _summary_lines(made: MadeQuestions, output: Path, count: int) -> list[str]:
    of = f" of {count:,}" if len(made.questions) < count else ""
    lines = [f"{len(made.questions):,}{of} questions in {output}"]
    for (hops, direction), own in made.counts.items():
        lines.append(f"  {own:>6,}  {hops} hop{'s' if hops > 1 else ' '} {direction}")
    step = max(1, len(made.questions) // _MAX_EXAMPLES)
    return [*lines, "for example:", *(f"  {printable(q.text, 200)}" for q in made.questions[::step][:_MAX_EXAMPLES])]
