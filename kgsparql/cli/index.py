"""``index``: the index of labels and documents with which entities are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.errors import OptionError
from kgsparql.linking.words import counted

if TYPE_CHECKING:
    from kgsparql.linking.passages import IndexedTexts


_LISTED = 20
"""Files left out that are named."""


@c.command
def index(
    graph: GraphOptions,
    class_: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Of an endpoint that is too large: only the instances of this class (IRI, CURIE or name); repeat.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="With --class: so many instances of each, at most.")
    ] = 10_000,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text", metavar="DIR", help="Documents about the graph's entities (.txt, .md, .pdf), for -r entity."
        ),
    ] = None,
    passage_tokens: Annotated[
        int, typer.Option("--passage-tokens", metavar="N", help="Tokens of a passage of these documents, at most.")
    ] = 200,
    embedder: c.EmbedderOption = "auto",
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped.

    Of a large store or file, it also builds the adjacency that paths are found in, without queries.

    With --text it also cuts the documents of a directory into passages, and finds the entities they mention. They take
    the place of documents that were indexed before. With --class it reads the labels of some classes of an endpoint, a
    page at a time: what was read before a stop is kept, and a higher --limit adds to it.
    """
    if class_ and text is not None:
        raise OptionError("--class is of no use with --text", hint="index documents with a graph that is read whole")
    if text is not None:
        from kgsparql.linking.documents import files_of
        from kgsparql.linking.passages import checked_tokens

        files_of(text)  # errors of the directory come before anything long begins
        checked_tokens(passage_tokens)
    texts, edges = None, 0
    with graph.opened(embedder=embedder) as knowledge:
        if class_:
            built = knowledge.indexes.build_slice(map(knowledge.resolve_class, class_), limit=limit)
        else:
            built = knowledge.indexes.build()
            edges = knowledge.index_paths()
        if text is not None:
            texts = knowledge.indexes.index_texts(text, passage_tokens=passage_tokens)
    how = f", searched by spelling and by meaning ({built.embedder})" if built.embedder else ", searched by spelling"
    where = f", in {built.directory}" if built.directory else ""  # of several graphs each has its own
    graph.say(f"indexed {built.rows:,} labels{how}{where}")
    if edges:
        graph.say(f"indexed {edges:,} edges between things, for paths")
    if texts is not None:
        _say_what_was_indexed(graph, texts)


def _say_what_was_indexed(graph: GraphOptions, texts: IndexedTexts) -> None:
    for skipped in texts.skipped[:_LISTED]:
        graph.say(f"left out {skipped}")
    if len(texts.skipped) > _LISTED:
        graph.say(f"left out {len(texts.skipped) - _LISTED:,} more files")
    done = "indexed" if texts.changed else "unchanged:"
    graph.say(
        f"{done} {counted(texts.documents, 'document')}, {counted(texts.passages, 'passage')} that mention entities "
        f"{counted(texts.mentions, 'time')}"
    )
    if not texts.mentions:
        graph.say("no label of the graph is in these documents: they will not be found")
