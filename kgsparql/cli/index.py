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
    from kgsparql.linking.label_index.search import LabelIndex
    from kgsparql.linking.label_index.shards import Shard
    from kgsparql.linking.passages.indexing import IndexedTexts


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
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only part I of N, such as 3/16: run all, anywhere, at any time; then --merge.",
        ),
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Join the parts of all shards into the index.")] = False,
    embedder: c.EmbedderOption = "auto",
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped.

    Of a large store or file, it also builds the adjacency that paths are found in, without queries.

    With --text it also cuts the documents of a directory into passages, and finds the entities they mention. They take
    the place of documents that were indexed before. With --class it reads the labels of some classes of an endpoint, a
    page at a time: what was read before a stop is kept, and a higher --limit adds to it.

    A large graph can be indexed by many processes, on machines that share the cache directory or --index: each does its
    --shard, and when all are done, --merge makes the index that one run would have made. With --text the shards are of
    the documents, and the labels must have been indexed before.
    """
    from kgsparql.linking.label_index.shards import Shard

    _check_together(class_, text, shard, merge=merge)
    part = None if shard is None else Shard.parse(shard)
    if text is not None:
        from kgsparql.linking.passages.documents import files_of
        from kgsparql.linking.passages.indexing import checked_tokens

        files_of(text)  # errors of the directory come before anything long begins
        checked_tokens(passage_tokens)
    built, texts, edges = None, None, 0
    with graph.opened(embedder=embedder) as knowledge:
        if class_:
            built = knowledge.indexes.build_slice(map(knowledge.resolve_class, class_), limit=limit)
        elif text is None or (part is None and not merge):
            built = knowledge.indexes.merge() if merge else knowledge.indexes.build(part)
            edges = 0 if part else knowledge.index_paths()
        if text is not None:
            texts = knowledge.indexes.index_texts(text, passage_tokens=passage_tokens, shard=part, merge=merge)
    if built is not None:
        where = f", in {built.directory}" if built.directory else ""  # of several graphs each has its own
        graph.say(f"indexed {built.rows:,} labels{_way(built, part)}{where}")
    if edges:
        graph.say(f"indexed {edges:,} edges between things, for paths")
    if texts is not None:
        _say_what_was_indexed(graph, texts)


def _way(built: LabelIndex, part: Shard | None) -> str:
    """Of which shard the labels are, or how they are searched."""
    if part is not None:
        return f" of shard {part}"
    return f", searched by spelling and by meaning ({built.embedder})" if built.embedder else ", searched by spelling"


def _check_together(class_: list[str] | None, text: Path | None, shard: str | None, *, merge: bool) -> None:
    if class_ and text is not None:
        raise OptionError("--class is of no use with --text", hint="index documents with a graph that is read whole")
    if class_ and (shard or merge):
        raise OptionError("--class is of no use with --shard or --merge", hint="leave out --class")
    if shard and merge:
        raise OptionError("--shard and --merge are two steps", hint="run all shards first, then --merge")


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
