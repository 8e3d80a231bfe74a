"""``load``: files into a store on disk."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import BaseOption, ContextOption, EncodingOption, InputFormatOption, SkipBadOption
from kgsparql.linking.words import counted


@c.command
def load(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="RDF files, directories of them, or -.")],
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="The store; made if it is not there.")],
    graph: Annotated[
        bool, typer.Option("--graph", help="Give each file its own named graph, which a later load can replace.")
    ] = False,
    graph_iri: Annotated[
        str | None, typer.Option("--graph-iri", metavar="IRI", help="The same for one file, with this name.")
    ] = None,
    input_format: InputFormatOption = None,
    base: BaseOption = None,
    encoding: EncodingOption = None,
    skip_bad: SkipBadOption = False,
    context: ContextOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Load RDF files into a store on disk: all of them or, if one is bad or you press Ctrl-C, none."""
    from kgsparql.graphs import load_store
    from kgsparql.graphs.files import left_out

    with c.Progress(quiet=quiet) as shown:
        report = load_store(
            files, store, graph=graph_iri or (graph or None), base=base, format=input_format, encoding=encoding,
            skip_bad=skip_bad, context=context, progress=shown,
        )  # fmt: skip
    for name in filter(None, map(left_out, files)):
        c.say(name, quiet=quiet)
    for source in report.loaded:
        skipped = (
            f", {counted(source.skipped, 'bad statement')} skipped (first: {source.first_skipped})"
            if source.skipped
            else ""
        )
        c.say(f"loaded {source.source}: {source.triples:,} triples{skipped}", quiet=quiet)
    for name in report.unchanged:
        c.say(f"unchanged {name}", quiet=quiet)
    c.say(f'ask it: kgsparql ask "…" -k {shlex.quote(str(store))}', quiet=quiet)
