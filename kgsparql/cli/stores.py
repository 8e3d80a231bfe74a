"""``load`` and ``info``: stores on disk, and what is in a graph."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import (
    BaseOption,
    ContextOption,
    EncodingOption,
    GraphOptions,
    InputFormatOption,
    SkipBadOption,
)
from kgsparql.cli._snapshot_options import SnapshotOptions
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable


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

    with c.Progress(quiet=quiet) as shown:
        report = load_store(
            files, store, graph=graph_iri or (graph or None), base=base, format=input_format, encoding=encoding,
            skip_bad=skip_bad, context=context, progress=shown,
        )  # fmt: skip
    for source in report.loaded:
        skipped = f", {_skipped(source.skipped)} (first: {source.first_skipped})" if source.skipped else ""
        c.say(f"loaded {source.source}: {source.triples:,} triples{skipped}", quiet=quiet)
    for name in report.unchanged:
        c.say(f"unchanged {name}", quiet=quiet)
    c.say(f'ask it: kgsparql ask "…" -k {shlex.quote(str(store))}', quiet=quiet)


@c.command
def info(
    graph: GraphOptions,
    snapshots: SnapshotOptions,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    lang: c.LangOption = "en",
) -> None:
    """Say what a graph holds: its sources, triples, named graphs, commonest classes and predicates, its label index.

    Of several graphs, what each of them holds, in JSON as a list.
    """
    form = c.chosen_format(form, output)
    graphs = []
    with snapshots.opened(graph.say, "info", kg=graph.sources, lang=lang) as snapshot:
        for one in graph.one_by_one():
            with one.opened(languages=c.languages(lang), snapshot=snapshot) as knowledge:
                graphs.append(knowledge.info())
    if form == "json":
        c.write_json(graphs if len(graphs) > 1 else graphs[0], output)
        return
    c.write("\n".join(line for facts in graphs for line in _lines(facts)), output)


def _lines(facts: dict[str, Any]) -> list[str]:
    triples = "triples not counted" if facts["triples"] is None else f"{facts['triples']:,} triples"
    lines = [f"{facts['name']}: {triples}", *_endpoint_lines(facts.get("endpoint"), facts["name"])]
    for source in facts["sources"]:
        skipped = f", {_skipped(source['skipped'])}" if source["skipped"] else ""
        graph = f" in <{source['graph']}>" if source["graph"] else ""
        lines.append(f"  source     {printable(source['source'], 400)} ({source['triples']:,} triples{skipped}){graph}")
    lines += [f"  graph      {iri}" for iri in facts["named_graphs"]]
    for kind in ("classes", "predicates"):
        name = {"classes": "class", "predicates": "predicate"}[kind]
        lines += [f"  {name:<10} {e['curie']} ! {printable(e['label'], 60)} ({e['count']:,})" for e in facts[kind]]
    lines.append(f"  labels     {facts['label_index']}")
    lines += [f"  cut        {cut}" for cut in facts["cuts"]]
    lines += [f"  missing    {what}: {printable(why, 300)}" for what, why in facts["missing"].items()]
    return lines


def _endpoint_lines(facts: dict[str, Any] | None, name: str) -> list[str]:
    if facts is None:
        return []
    from kgsparql.graphs.endpoint_info import NAMED_GRAPHS

    at = f"{facts['url']}: " if facts["url"] != name else ""
    described = facts["triples_as_described"]
    lines = [f"  endpoint   {at}{facts['summary']}", f"  limits     {', '.join(facts['said_of_limits'])}"]
    lines.append(f"  dialect    {NAMED_GRAPHS[facts['shows_named_graphs']]}; text search: {facts['text_search']}")
    if described is not None:
        lines.append(f"  described  {described:,} triples, as the endpoint says")
    return lines + [f"  elsewhere  -k {other}" for other in facts["elsewhere"]]


def _skipped(count: int) -> str:
    return f"{counted(count, 'bad statement')} skipped"
