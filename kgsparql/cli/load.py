"""``load`` and ``index``: files into a store on disk, and the index with which entities are found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import FileOptions, GraphOptions
from kgsparql.errors import OptionError
from kgsparql.linking.words import counted

if TYPE_CHECKING:
    from kgsparql.linking.label_index.search import LabelIndex
    from kgsparql.linking.passages import IndexedTexts

_MAX_NAMED = 20


@c.command
def load(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="RDF files, directories of them, or -.")],
    store: Annotated[Path, c.option("--store DIR", "The store; made if it is not there.")],
    graph: Annotated[
        bool, c.option("--graph", "Give each file its own named graph, which a later load can replace.")
    ] = False,
    graph_iri: Annotated[str | None, c.option("--graph-iri IRI", "The same for one file, with this name.")] = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
    *,
    how: FileOptions,
) -> None:
    """Load RDF files into a store on disk: all of them or, if one is bad or you press Ctrl-C, none."""
    from kgsparql.graphs import load_store
    from kgsparql.graphs.files import left_out

    with c.Progress(quiet=quiet) as shown:
        report = load_store(files, store, graph=graph_iri or (graph or None), progress=shown, **how.reading)
    lines = [*filter(None, map(left_out, files))]
    for source in report.loaded:
        skipped = f", {counted(source.skipped, 'bad statement')} skipped (first: {source.first_skipped})"
        lines.append(f"loaded {source.source}: {source.triples:,} triples{skipped if source.skipped else ''}")
    lines += [f"unchanged {name}" for name in report.unchanged]
    for line in [*lines, f'ask it: kgsparql ask "…" -k {shlex.quote(str(store))}']:
        c.say(line, quiet=quiet)


@c.command
def index(
    graph: GraphOptions,
    class_: Annotated[
        list[str] | None, c.option("--class CLASS", "Of a large endpoint: only instances of this class; repeat.")
    ] = None,
    limit: Annotated[int, c.option("--limit N", "With --class: so many instances of each, at most.", min=1)] = 10_000,
    text: Annotated[
        Path | None, c.option("--text DIR", "Documents about entities (.txt, .md, .pdf), for -r entity.")
    ] = None,
    passage_tokens: Annotated[
        int, c.option("--passage-tokens N", "Tokens of a passage of these documents, at most.")
    ] = 200,
    embedder: c.EmbedderOption = "auto",
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped.

    Of a large store or file, it also builds the adjacency that paths are found in, without queries.

    With --text it also cuts the documents of a directory into passages, and finds the entities they mention. They take
    the place of documents that were indexed before. With --class it reads the labels of some classes of an endpoint;
    they take the place of those that were read before.
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
            built = knowledge.indexes.build_slice(map(knowledge.resolve, class_), limit=limit)
        else:
            built = knowledge.indexes.build()
            edges = knowledge.index_paths()
        if text is not None:
            texts = knowledge.indexes.index_texts(text, passage_tokens=passage_tokens)
    _say_what_was_indexed(graph, built, edges, texts)


def _say_what_was_indexed(graph: GraphOptions, built: LabelIndex, edges: int, texts: IndexedTexts | None) -> None:
    where = f", in {built.directory}" if built.directory else ""  # of several graphs each has its own
    way = f"spelling and by meaning ({built.embedder})" if built.embedder else "spelling"
    graph.say(f"indexed {built.rows:,} labels, searched by {way}{where}")
    if edges:
        graph.say(f"indexed {edges:,} edges between things, for paths")
    if texts is None:
        return
    for line in c.most_lines([f"left out {one}" for one in texts.skipped], _MAX_NAMED, "left out {} files"):
        graph.say(line)
    done = "indexed" if texts.changed else "unchanged:"
    mentions = counted(texts.mentions, "time")
    counts = f"{counted(texts.documents, 'document')}, {counted(texts.passages, 'passage')}"
    graph.say(f"{done} {counts} that mention entities {mentions}")
    if not texts.mentions:
        graph.say("no label of the graph is in these documents: they will not be found")
