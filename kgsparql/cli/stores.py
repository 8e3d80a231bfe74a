"""``load`` and ``info``: stores on disk, and what is in a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import OptionError
from kgsparql.terms import printable

__all__ = ["info", "load"]


@c.reported
def load(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="RDF files, directories of them, or -.")],
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="The store; made if it is not there.")],
    graph: Annotated[
        bool, typer.Option("--graph", help="Give each file its own named graph, which a later load can replace.")
    ] = False,
    graph_iri: Annotated[
        str | None, typer.Option("--graph-iri", metavar="IRI", help="The same for one file, with this name.")
    ] = None,
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Load RDF files into a store on disk: all of them or, if one is bad or you press Ctrl-C, none."""
    from kgsparql.graphs import load_store

    with c.progress(quiet=quiet) as shown:
        report = load_store(
            files, store, graph=graph_iri or (graph or None), base=base, format=input_format, encoding=encoding,
            skip_bad=skip_bad, progress=shown,
        )  # fmt: skip
    for source in report.loaded:
        skipped = (
            f", {source.skipped:,} bad statements skipped (first: {source.first_skipped})" if source.skipped else ""
        )
        c.say(f"loaded {source.source}: {source.triples:,} triples{skipped}", quiet=quiet)
    for name in report.unchanged:
        c.say(f"unchanged {name}", quiet=quiet)
    c.say(f'ask it: kgsparql ask "…" -k {store}', quiet=quiet)


@c.reported
def info(
    kg: c.KgOption = None,
    form: Annotated[str, typer.Option("-f", "--format", metavar="FORMAT", help="Output: text or json.")] = "text",
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Say what a graph holds: its sources, triples, named graphs, commonest classes and predicates, its label index."""
    if form not in {"text", "json"}:
        raise OptionError(f"no output format {printable(form, 40)!r}", hint="one of: text, json")
    with c.opened(
        c.sources(kg), input_format=input_format, base=base, encoding=encoding, skip_bad=skip_bad, cache=not no_cache,
        quiet=quiet,
    ) as knowledge:  # fmt: skip
        facts = knowledge.info()
    c.write(json.dumps(facts, ensure_ascii=False, indent=2) if form == "json" else "\n".join(_lines(facts)), None)


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"{facts['name']}: {facts['triples']:,} triples"]
    for source in facts["sources"]:
        skipped = f", {source['skipped']:,} bad statements skipped" if source["skipped"] else ""
        graph = f" in <{source['graph']}>" if source["graph"] else ""
        lines.append(f"  source     {source['source']} ({source['triples']:,} triples{skipped}){graph}")
    lines += [f"  graph      {iri}" for iri in facts["named_graphs"]]
    for kind in ("classes", "predicates"):
        name = {"classes": "class", "predicates": "predicate"}[kind]
        lines += [f"  {name:<10} {e['curie']} ! {printable(e['label'], 60)} ({e['count']:,})" for e in facts[kind]]
    lines.append(f"  labels     {facts['label_index']}")
    return lines
