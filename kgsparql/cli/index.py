"""``kgsparql index``: the labels of a graph, for search by spelling and by meaning."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions, with_graph

__all__ = ["index"]


@c.reported
@with_graph
def index(
    graph: GraphOptions,
    embedder: Annotated[str, typer.Option("--embedder", metavar="SPEC", help="As for ask.")] = "auto",
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped."""
    with graph.opened(embedder=embedder) as knowledge:
        built = knowledge.build_index()
    meaning = f"by spelling and by meaning ({built.embedder})" if built.embedder else "by spelling"
    graph.say(f"indexed {built.rows:,} labels, searched {meaning}, in {built.directory}")
