"""``load`` and ``index``, ``find``, ``show``, ``paths`` and ``info``: a graph made ready, and looked around in."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import FileOptions, GraphOptions
from kgsparql.dataclasses import asdict, frozen
from kgsparql.errors import NotFoundError
from kgsparql.linking.words import counted
from kgsparql.linking.words import words as words_of
from kgsparql.rdf.terms import Json, Labels, Literal, Term, Triple, normalised, printable

if TYPE_CHECKING:
    from kgsparql.graphs.notes import Cut
    from kgsparql.knowledge_base import KnowledgeBase

_MIN_SHARE_OF_BEST = 1 / 4  # a label without any of the words is shown only from this share of the best score on


@c.command
def load(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="RDF files, directories of them, or -.")],
    store: Annotated[Path, c.option("--store DIR", "The store that is made.")],
    graph: Annotated[bool, c.option("--graph", "Give each file its own named graph.")] = False,
    *,
    told: c.MessageOptions,
    how: FileOptions,
) -> None:
    """Load RDF files into a new store on disk: all of them or, if one is bad or you press Ctrl-C, none."""
    from kgsparql.graphs.files import left_out, note_on_size, rdf_files
    from kgsparql.graphs.stores import load_store

    if note := note_on_size(found for file in files for found in rdf_files(file)):
        told.say(note)
    with c.Progress(quiet=told.quiet) as shown:
        loaded = load_store(files, store, has_graphs=graph, progress=shown, **how.reading)
    lines = [*filter(None, map(left_out, files))]
    for source in loaded:
        skipped = f", {counted(source.skipped, 'bad statement')} skipped (first: {source.first_skipped})"
        lines.append(f"loaded {source.source}: {source.triples:,} triples{skipped if source.skipped else ''}")
    for line in [*lines, f'ask it: kgsparql ask "…" -k {shlex.quote(str(store))}']:
        told.say(printable(line, 2_000))


@c.command
def index(
    graph: GraphOptions,
    embedder: c.EmbedderOption = "auto",
) -> None:
    """Build the label index once, so that questions find entities by meaning too; goes on where it was stopped.

    Of a large store or file, it also builds the adjacency that paths are found in, without queries.
    """
    with graph.opened(embedder=embedder) as knowledge:
        built, directory = knowledge.indexes.build(), knowledge.indexes.directory
        edges = knowledge.index_paths()
    way = f"spelling and by meaning ({built.embedder.name})" if built.embedder else "spelling"
    graph.say(f"indexed {built.row_count:,} labels, searched by {way}, in {directory}")
    if edges:
        graph.say(f"indexed {edges:,} edges between things, for paths")


@frozen
class LookupOptions(c.ShownOptions):
    """How much of a result is shown, and how."""

    limit: Annotated[int, c.option("-n --limit", "How many to show.", min=1)] = 10
    lang: c.LangOption = "en"


@c.command
def find(
    graph: GraphOptions, text: Annotated[str, typer.Argument(help="What to look for: a name, or part of one.")],
    how: LookupOptions, embedder: c.EmbedderOption = "auto",
) -> None:  # fmt: skip
    """Search the labels: one line per entity, the best first."""
    from kgsparql.exploration.lookups import empty_graph_error

    with graph.opened(lang=how.lang, embedder=embedder) as knowledge:
        found = knowledge.find(text, limit=how.limit)
    if not found:
        if knowledge.is_empty:
            raise empty_graph_error(knowledge.graph)
        raise NotFoundError(f"nothing like {printable(text, 80)!r}", hint="try fewer or other words")
    wanted, least = set(words_of(normalised(text))), _MIN_SHARE_OF_BEST * found[0].score
    named = {one.term for one in found if not wanted.isdisjoint(words_of(normalised(one.label)))}
    found = [one for one in found if one.term in named or one.score >= least]
    if not named:
        graph.say(f"no label has {'this word' if len(wanted) == 1 else 'any of these words'}; the nearest:")
    rows = [{"term": str(e.term), "label": e.label, "score": round(e.score, 4), "matched": e.matched} for e in found]
    lines = [f"{knowledge.prefixes.compress(e.term)} ! {printable(e.label, 120)}  {e.score:.2f}" for e in found]
    how.write(rows, lines)


@c.command
def show(
    graph: GraphOptions,
    entity: Annotated[str, typer.Argument(help="An IRI, a CURIE such as dbr:Bonn, or an exact label.")],
    how: LookupOptions, direction: c.DirectionOption = "both",
) -> None:  # fmt: skip
    """Show what is around an entity, both ways, at most LIMIT neighbours for each predicate."""
    way = c.checked_direction(direction)
    with graph.opened(lang=how.lang) as knowledge:
        term = knowledge.resolve(entity)
        found = knowledge.show(term, direction=way, limit=how.limit)
        labels = knowledge.labels([term, *(t for g in found.items for t in (g.step.predicate, *g.neighbours))])
    groups, lines = [], [f"{knowledge.prefixes.compress(term)} ! {printable(labels[term], 120)}"]
    for group in found.items:
        predicate, direction = group.step.predicate, group.step.direction
        near = [{"term": str(t), "label": labels[t]} for t in group.neighbours]
        groups.append({
            "predicate": str(predicate), "predicate_label": labels[predicate], "direction": direction,
            "count": group.count, "exact": group.exact, "neighbours": near,
        })  # fmt: skip
        name = printable(labels[predicate], 80)
        arrow = f"—{name}→" if direction == "forward" else f"←{name}—"
        ends = "; ".join(_end_text(knowledge, t, labels) for t in group.neighbours)
        more = f"; … ({group.count:,}{'' if group.exact else '+'} in all)"
        is_whole = group.exact and group.count <= len(near)
        lines.append(f"  {arrow} {ends}{'' if is_whole else more}")
    cuts = [str(cut) for cut in found.cuts]
    how.write({"term": str(term), "label": labels[term], "groups": groups, "cuts": cuts}, lines)
    _say_cuts(found.cuts, graph, how)


@c.command
def paths(
    graph: GraphOptions, start: Annotated[str, typer.Argument(help="An IRI, a CURIE, or an exact label.")],
    end: Annotated[str, typer.Argument(help="The same.")], how: LookupOptions,
    max_hops: Annotated[int, c.option("--max-hops", "The longest path.", min=0, max=10)] = 5,
    direction: c.DirectionOption = "both",
) -> None:  # fmt: skip
    """Show the shortest paths between two entities."""
    from kgsparql.evidence.verbalising import path_text
    from kgsparql.exploration.lookups import check_mentioned

    way = c.checked_direction(direction)
    with graph.opened(lang=how.lang) as knowledge:
        ends = knowledge.resolve(start), knowledge.resolve(end)
        found = knowledge.paths(*ends, max_hops=max_hops, direction=way)
        if not found.items:
            for term in ends:
                check_mentioned(knowledge.graph, term)
            other_way = "" if way == "both" else ", or try --direction both"
            raise NotFoundError(f"no path of at most {max_hops} hops", hint=f"raise --max-hops{other_way}")
        shown = found.items[: how.limit]
        labels = knowledge.labels([*ends, *(t for path in shown for triple in path.triples for t in triple)])
    rows = [
        {
            "start": str(path.start), "start_label": labels[path.start],
            "hops": [
                {
                    "predicate": str(hop.triple.predicate), "predicate_label": labels[hop.triple.predicate],
                    "direction": hop.direction, "end": str(hop.end), "end_label": labels[hop.end],
                } for hop in path.hops
            ],
        } for path in shown
    ]  # fmt: skip
    how.write(rows, [path_text(path, labels) for path in shown])
    if len(found.items) > how.limit and not how.is_json:
        graph.say(f"{len(shown)} of {len(found.items):,} shortest paths shown (-n shows more)")
    _say_cuts(found.cuts, graph, how)


@c.command
def info(
    graph: GraphOptions,
    to: c.ShownOptions,
    schema: Annotated[
        bool, c.option("--schema", "Say instead what the graph is read as: its kinds and relations, a line each.")
    ] = False,
    lang: c.LangOption = "en",
) -> None:  # fmt: skip
    """Say what a graph holds: its sources, triples, named graphs, commonest classes and predicates, its label index.

    And what can be asked, for example: questions that were made of the graph, and that are answered without a model.
    """
    from kgsparql.serving.starters import example_questions

    # No embedder: loading one would take longer than all of this, and the questions say the graph's own words.
    with graph.opened(lang=lang, embedder="none") as knowledge:
        if schema:
            read = knowledge.schema()
            to.write(asdict(read), [str(read)])
        else:
            facts = {**knowledge.info(), "example_questions": example_questions(knowledge)}
            to.write(facts, _info_lines(facts))


def _end_text(knowledge: KnowledgeBase, term: Term, labels: Labels) -> str:
    """Write the label of a term with its language; a triple as Turtle has it."""
    if isinstance(term, Triple):
        return printable(knowledge.prefixes.compress(term), 200)
    language = term.language if isinstance(term, Literal) else None
    return printable(labels[term], 80) + (f"@{language}" if language else "")


def _say_cuts(cuts: Iterable[Cut], graph: GraphOptions, how: LookupOptions) -> None:
    for cut in () if how.is_json else cuts:
        graph.say(f"cut: {printable(cut, 300)}")


def _info_lines(facts: Json) -> list[str]:
    name, triples = facts["name"], facts["triples"]
    lines = [f"{printable(name, 400)}: {'triples not counted' if triples is None else f'{triples:,} triples'}"]
    if endpoint := facts.get("endpoint"):
        at = f"{endpoint['url']}: " if endpoint["url"] != name else ""
        lines += [f"  endpoint   {at}{endpoint['summary']}"]
        lines += [f"  dialect    text search: {endpoint['text_search']}"]
        lines += [f"  linker     {endpoint['linker_url']}"] if endpoint["linker_url"] else []
        lines += [f"  elsewhere  -k {other}" for other in endpoint["elsewhere"]]
    for source in facts["sources"]:
        skipped = f", {counted(source['skipped'], 'bad statement')} skipped" if source["skipped"] else ""
        graph = f" in <{source['graph']}>" if source["graph"] else ""
        lines.append(f"  source     {printable(source['source'], 400)} ({source['triples']:,} triples{skipped}){graph}")
    lines += [f"  graph      {iri}" for iri in facts["named_graphs"]]
    for kind, one in (("classes", "class"), ("predicates", "predicate")):
        lines += [f"  {one:<10} {e['curie']} ! {printable(e['label'], 60)} ({e['count']:,})" for e in facts[kind]]
    lines.append(f"  labels     {facts['label_index']}")
    lines += [f"  cut        {cut}" for cut in facts["cuts"]]
    lines += [f"  missing    {what}: {printable(why, 300)}" for what, why in facts["missing"].items()]
    examples = [f"    {printable(text, 200)}" for text in facts["example_questions"]]
    return [*lines, *(["  Ask, for example:", *examples] if examples else [])]
