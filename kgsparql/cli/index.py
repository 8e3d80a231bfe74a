"""``kgsparql index``: the labels of a graph, for search by spelling and by meaning."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli import _common as c

__all__ = ["index"]


@c.reported
def index(
    kg: c.KgOption = None,
    embedder: Annotated[str, typer.Option("--embedder", metavar="SPEC", help="As for ask.")] = "auto",
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped."""
    with c.opened(
        c.sources(kg), embedder=embedder, input_format=input_format, base=base, encoding=encoding, skip_bad=skip_bad,
        cache=not no_cache, quiet=quiet,
    ) as knowledge:  # fmt: skip
        built = knowledge.build_index()
    meaning = f"by spelling and by meaning ({built.embedder})" if built.embedder else "by spelling"
    c.say(f"indexed {built.rows:,} labels, searched {meaning}, in {built.directory}", quiet=quiet)
