"""``find``, ``show`` and ``paths``: looking around in a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import NotFoundError, OptionError
from kgsparql.terms import IRI, Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.evidence import Cut
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.paths import Path

__all__ = ["find", "paths", "show"]

FormOption = Annotated[str, typer.Option("-f", "--format", metavar="FORMAT", help="Output: text or json.")]
LimitOption = Annotated[int, typer.Option("-n", "--limit", min=1, help="How many to show.")]


@c.reported
def find(
    text: Annotated[str, typer.Argument(help="What to look for: a name, or part of one.")],
    kg: c.KgOption = None,
    limit: LimitOption = 10,
    embedder: Annotated[str, typer.Option("--embedder", metavar="SPEC", help="As for ask.")] = "auto",
    form: FormOption = "text",
    lang: c.LangOption = "en",
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Search the labels: one line per entity, the best first."""
    _check(form)
    with c.opened(
        c.sources(kg), languages=c.languages(lang), embedder=embedder, input_format=input_format, base=base,
        encoding=encoding, skip_bad=skip_bad, cache=not no_cache, quiet=quiet,
    ) as knowledge:  # fmt: skip
        found = knowledge.find(text, limit=limit)
    if not found:
        raise NotFoundError(f"nothing like {printable(text, 80)!r}", hint="try fewer or other words")
    if form == "json":
        rows = [
            {"term": str(e.term), "label": e.label, "score": round(e.score, 4), "matched": e.matched} for e in found
        ]
        c.write(json.dumps(rows, ensure_ascii=False, indent=2), None)
        return
    for e in found:
        c.write(f"{_curie(knowledge, e.term)} ! {printable(e.label, 120)}  {e.score:.2f}", None)


@c.reported
def show(
    entity: Annotated[str, typer.Argument(help="An IRI, a CURIE such as dbr:Bonn, or an exact label.")],
    kg: c.KgOption = None,
    limit: LimitOption = 10,
    direction: c.DirectionOption = "both",
    form: FormOption = "text",
    lang: c.LangOption = "en",
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Show what is around an entity, both ways, at most LIMIT neighbours for each predicate."""
    _check(form)
    way = c.checked_direction(direction)
    with c.opened(
        c.sources(kg), languages=c.languages(lang), input_format=input_format, base=base, encoding=encoding,
        skip_bad=skip_bad, cache=not no_cache, quiet=quiet,
    ) as knowledge:  # fmt: skip
        term = knowledge.resolve(entity)
        found = knowledge.show(term, direction=way, limit=limit)
        labels = knowledge.labels([term, *(t for g in found.items for t in (g.step.predicate, *g.neighbours))])
    if form == "json":
        groups = [
            {
                "predicate": str(group.step.predicate),
                "predicate_label": labels[group.step.predicate],
                "direction": group.step.direction,
                "count": group.count,
                "exact": group.exact,
                "neighbours": [{"term": str(t), "label": labels[t]} for t in group.neighbours],
            }
            for group in found.items
        ]
        data = {"term": str(term), "label": labels[term], "groups": groups, "cuts": [str(cut) for cut in found.cuts]}
        c.write(json.dumps(data, ensure_ascii=False, indent=2), None)
        return
    c.write(f"{_curie(knowledge, term)} ! {printable(labels[term], 120)}", None)
    for group in found.items:
        name = printable(labels[group.step.predicate], 80)
        arrow = f"—{name}→" if group.step.direction == "forward" else f"←{name}—"
        total = f"{group.count:,}" if group.exact else f"{group.count:,}+"
        ends = "; ".join(_shown(t, labels) for t in group.neighbours)
        more = f"; … ({total} in all)" if group.count > len(group.neighbours) or not group.exact else ""
        c.write(f"  {arrow} {ends}{more}", None)
    _say_cuts(found.cuts, quiet=quiet)


@c.reported
def paths(
    start: Annotated[str, typer.Argument(help="An IRI, a CURIE, or an exact label.")],
    end: Annotated[str, typer.Argument(help="The same.")],
    kg: c.KgOption = None,
    limit: LimitOption = 10,
    max_hops: Annotated[int, typer.Option("--max-hops", min=0, max=10, help="The longest path.")] = 5,
    direction: c.DirectionOption = "both",
    form: FormOption = "text",
    lang: c.LangOption = "en",
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Show the shortest paths between two entities."""
    from kgsparql.verbalising import path_text

    _check(form)
    way = c.checked_direction(direction)
    with c.opened(
        c.sources(kg), languages=c.languages(lang), input_format=input_format, base=base, encoding=encoding,
        skip_bad=skip_bad, cache=not no_cache, quiet=quiet,
    ) as knowledge:  # fmt: skip
        ends = knowledge.resolve(start), knowledge.resolve(end)
        found = knowledge.paths(*ends, max_hops=max_hops, direction=way)
        if not found.items:
            raise NotFoundError(f"no path of at most {max_hops} hops", hint="raise --max-hops, or try --direction both")
        shown = found.items[:limit]
        labels = knowledge.labels([*ends, *(t for path in shown for triple in path.triples for t in _terms(triple))])
    if form == "json":
        c.write(json.dumps([_path_json(path, labels) for path in shown], ensure_ascii=False, indent=2), None)
        return
    for path in shown:
        c.write(path_text(path, labels), None)
    if len(found.items) > limit:
        c.say(f"{len(shown)} of {len(found.items):,} shortest paths shown (-n shows more)", quiet=quiet)
    _say_cuts(found.cuts, quiet=quiet)


def _shown(term: Term, labels: Mapping[Term, str]) -> str:
    language = term.language if isinstance(term, Literal) else None
    return printable(labels[term], 80) + (f"@{language}" if language else "")


def _check(form: str) -> None:
    if form not in {"text", "json"}:
        raise OptionError(f"no output format {printable(form, 40)!r}", hint="one of: text, json")


def _say_cuts(cuts: Iterable[Cut], *, quiet: bool) -> None:
    for cut in cuts:
        c.say(f"cut: {printable(str(cut), 300)}", quiet=quiet)


def _curie(knowledge: KnowledgeBase, term: Term) -> str:
    return knowledge.prefixes.compress(term) if isinstance(term, IRI) else str(term)


def _terms(triple: Any) -> tuple[Term, Term, Term]:
    return triple.subject, triple.predicate, triple.object


def _path_json(path: Path, labels: dict[Term, str]) -> dict[str, Any]:
    return {
        "start": str(path.start),
        "start_label": labels[path.start],
        "hops": [
            {
                "predicate": str(hop.triple.predicate),
                "predicate_label": labels[hop.triple.predicate],
                "direction": hop.direction,
                "end": str(hop.end),
                "end_label": labels[hop.end],
            }
            for hop in path.hops
        ],
    }
