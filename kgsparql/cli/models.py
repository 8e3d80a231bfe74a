"""``models``: what language models were found good for, and finding it out anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, wait_for_trial
from kgsparql.rdf.terms import printable


@c.command
def known(*, to: c.AloneOptions) -> None:
    """List the models that were tried out here in the last 30 days, and how each is used."""
    from kgsparql.models.trust import all_kept

    found = all_kept()
    lines = [f"{own['model']} at {own['server']}, tried {own['made'][:10]}: {own['use']}" for own in found]
    to.write(found, [printable(line, 400) for line in lines] or ["no model was tried out here"])
    to.say("" if found or to.is_json else "the first question with one tries it, or: kgsparql models trial MODEL")


@c.command
def trial(
    graph: GraphOptions,
    model: Annotated[str, typer.Argument(help="Its name, as its server has it.")],
    base_url: c.BaseUrlOption = None,
    number: Annotated[
        int, c.option("-n --number", "With -k: how many questions are made of the graph.", min=5, max=500)
    ] = 30,
    embedder: c.EmbedderOption = "auto",
    timeout: Annotated[float, c.option("--timeout SECONDS", "For one call of the model.", min=0.1)] = 60.0,
) -> None:
    """Try a model out, whatever was found before, and say how it will be used.

    Bundled questions are sent, some 9,000 tokens at most; with -k also questions that are made of this graph, and what
    is found with them holds for this graph alone.
    """
    from kgsparql.models.language_model import open_model
    from kgsparql.models.trust import keep_trust
    from kgsparql.retrievers._trial import Trial, tried_as

    with open_model(model, base_url=base_url, timeout_s=timeout) as opened:
        tried = Trial(opened, is_long=True)
        tried.start()
        wait_for_trial(tried, quiet=graph.quiet)
        if tried.error is not None:
            raise tried.error
        found = tried.trust
        assert found is not None  # noqa: S101 - or there is an error
        lines = []
        if graph.kg:
            from kgsparql.made_questions.model_trial import tried_on_graph

            with graph.opened(embedder=embedder) as knowledge, c.Progress(quiet=graph.quiet) as shown:
                asked = tried_on_graph(knowledge, opened.uncached(), found, number, progress=shown)
                on_graph, graph_name = tried_as(opened, knowledge.graph), knowledge.graph.name
            found, lines = replace(asked.applied(found), graph=graph_name), asked.lines
            keep_trust(on_graph, found)
        name = printable(opened.name, 100)
        told = [f"{name}: {found.in_words}", *lines, _meaning_of_trust(found.chooses, found.judges)]
        c.write("\n".join([*told, f"{found.tokens:,} tokens"]), None)


def _meaning_of_trust(chooses: bool, judges: bool) -> str:
    if chooses:
        return "its choice among numbered readings is followed, also against the ranking"
    if judges:
        return "where the ranking is not sure, its judgement of each path is weighed in; it never picks from a list"
    return "questions are answered as with --no-model, whatever model is named; --no-trial uses it all the same"


models = c.group("How language models are used here, and trying them out.", known, trial, default="known")
