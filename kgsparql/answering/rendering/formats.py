"""Answers in the formats of ``kgsparql ask``; as text, what a person asked for comes first.

As Markdown, everything that graph or model wrote is text in it, never a link, an image or a tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_words import more_text
from kgsparql.answering.rendering.answer_parts import (
    LISTED,
    answer_name,
    cost_line,
    fallback_lines,
    link_lines,
    listed_answers,
    shown_queries,
    step_text,
    titled_items,
)  # fmt: skip
from kgsparql.answering.rendering.answer_rows import as_lines
from kgsparql.answering.rendering.computed_tables import aligned_table, markdown_table, table_line, without_rows
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.rdf.terms import Term, printable

_LONGEST = 20_000
"""Characters of a piece of evidence."""

_ANSWER = 4_000
"""Characters of a line of an answer."""

_NOTE = 600
"""Characters of a note."""

_WIDE = 100
"""A longer line of evidence is broken into its parts; beside what an answer rests on, it is cut."""

_ALSO = 4
"""Pieces of evidence that are shown beside those that an answer rests on."""

_BAR = " | "
"""Between the parts of a line of evidence."""

_KEPT_BAR = "\0|\0"
"""Stands for a bar inside a label while a line is split; no printable line has it."""

_RANKED = "Ranked candidates"

_BY_RANK = "(candidates of the best reading, by rank; no model wrote an answer)"

_ASIDE = frozenset({"frontier"})
"""Codes of notes that change nothing in what a person would do: they are in JSON, and shown with ``-v``."""


def render(answer: Answer, form: str = "text", *, verbose: int = 0, told_graphs: bool = False, at: str = "") -> str:
    """The answer in one of the formats of ``kgsparql ask``.

    :param told_graphs: name the graph of each item in text, even if all are from one.
    :param at: when it was given, for TriG; left out where it is empty.
    """
    if form in {"json", "jsonl"}:
        return json.dumps(answer.to_json(), ensure_ascii=False, indent=2 if form == "json" else None)
    if form in {"plain", "csv", "tsv"}:
        return as_lines(answer, form)
    if form in {"trig", "nanopub"}:
        from kgsparql.answering.answer_rdf import answer_to_trig
        from kgsparql.answering.nanopub import answer_to_nanopub

        return (answer_to_trig if form == "trig" else answer_to_nanopub)(answer, at=at)
    if form in {"svg", "dot", "mermaid"}:
        return _picture(answer, form)
    if form == "html":
        from kgsparql.answering.drawing.html import answer_to_html

        return answer_to_html(answer)
    if form == "md":
        return "\n".join(_markdown(answer))
    return "\n".join(_text(answer, verbose, told_graphs=told_graphs))


def _picture(answer: Answer, form: str) -> str:
    from kgsparql.answering.drawing.dot import drawing_to_dot
    from kgsparql.answering.drawing.drawing import drawing_of
    from kgsparql.answering.drawing.mermaid import drawing_to_mermaid
    from kgsparql.answering.drawing.svg import drawing_to_svg

    drawn = drawing_of(answer)
    if form == "svg":
        return drawing_to_svg(drawn, title=answer.question)
    return (drawing_to_dot if form == "dot" else drawing_to_mermaid)(drawn)


def _text(answer: Answer, verbose: int, *, told_graphs: bool) -> Iterator[str]:
    yield from _first_lines(answer)
    listed = listed_answers(answer)
    more = more_text(answer.answers[LISTED:], answer.evidence) if listed else ""
    numbered = [f"{i:>4}  {line}" for i, line in enumerate(listed, 1)]
    yield from _text_section("Answers", [*numbered, f"      {more}"] if more else numbered)
    steps = [f"{i:>4}  {step_text(step, answer)}  [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    yield from _text_section("Inference", steps)
    yield from _text_section("Tree", [answer.tree.text()] if answer.tree and verbose else [])
    is_of_several = told_graphs or len({graph for item in answer.evidence for graph in item.graphs}) > 1
    for heading, items in titled_items(answer, _rests_on(answer)):
        is_aside = heading == "Also found" and not verbose
        lines: list[str] = []
        for item in _few(items) if is_aside else items:
            shown = without_rows(item, answer)
            lines += _item_lines(shown, answer.labels, told_graphs=is_of_several, is_cut=is_aside)
            for title, query in shown_queries(item) if verbose else ():
                lines += [f"        {line}" for line in (*([title] if title else []), *query.splitlines())]
        left = len(items) - _ALSO if is_aside else 0
        yield from _text_section(heading, [*lines, f"      … {left:,} more (-v shows all)"] if left > 0 else lines)
    notes = [*(note for note in answer.notes if verbose or note.code not in _ASIDE), *fallback_lines(answer)]
    yield from _text_section("Notes", [f"      {printable(note, _NOTE)}" for note in notes])
    yield ""
    yield from (f"{'' if at else 'Linked':<6}  {line}" for at, line in enumerate(link_lines(answer)))
    yield cost_line(answer)


def _first_lines(answer: Answer) -> Iterator[str]:
    """The answer; where nobody chose, what the best reading leads to, after what keeps it from being an answer."""
    if not answer.is_ranked or not answer.best:
        yield from _lines_with_table(answer)
        return
    if answer.gaps:
        yield printable(answer.text.partition("\n")[0], _ANSWER)
    best = answer.best
    names = [answer_name(one) for one in best[:LISTED]]
    more = more_text(best[LISTED:], answer.evidence)
    listed = "; ".join([*names, *([more] if more else [])])
    yield f"{'Nearest: ' if answer.gaps else ''}{printable(listed, _ANSWER)}  [{', '.join(_rests_on(answer))}]"
    yield _BY_RANK


def _lines_with_table(answer: Answer) -> Iterator[str]:
    """The lines of the answer's text; a computed table stands in the place of its rows, or below what a model wrote.

    What a model may have written has a bar before each further line: it cannot pass for evidence, or for the last line.
    """
    table, line_of_table = aligned_table(answer), table_line(answer)
    lines = answer.text.splitlines()
    bar = "│ " if answer.model and not answer.is_ranked else ""
    for at, line in enumerate(lines):
        shown = f"{bar if at else ''}{printable(line, _ANSWER)}"
        yield from table if table and line == line_of_table else [shown.rstrip()]
    if table and line_of_table not in lines:
        yield from ("", *table)


def _rests_on(answer: Answer) -> list[str]:
    """The markers of what the answer rests on; of ranked candidates, the best from each entity that leads to all."""
    if not answer.is_ranked or not answer.best:
        return list(answer.cited)
    first, *others = answer.best
    starts: dict[object, str] = {}
    for marker in first.markers:
        if all(marker in one.markers for one in others):
            way = answer.evidence[marker].paths[:1]
            starts.setdefault(way[0].start if way else None, marker)
    return list(starts.values())


def _few(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """At most four pieces of evidence in their order, among them the first path, neighbours and passage."""
    first = {item.kind: item.marker for item in reversed(items)}
    others = [item.marker for item in items if item.marker not in first.values()]
    shown = {*first.values(), *others[: _ALSO - len(first)]}
    return [item for item in items if item.marker in shown]


def _text_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", heading, *lines)


def _item_lines(item: EvidenceItem, labels: Mapping[Term, str], *, told_graphs: bool, is_cut: bool) -> Iterator[str]:
    """An item after its marker; a long one with each of its parts on a line of its own, or cut."""
    shown = printable(item.sourced_text, _WIDE if is_cut else _LONGEST)
    has_parts = item.kind in {"path", "neighbours"} and len(shown) > _WIDE
    first, *others = _parts(shown, item, labels) if has_parts else [shown]
    lines = [first, *(f"| {part}" for part in others)]
    lines[-1] += "" if all(cited.verified for cited in item.triples) else "  (not checked)"
    if told_graphs and item.graphs:
        lines[-1] += f"  ({printable(', '.join(item.graphs), 200)})"
    yield f"{item.marker:>4}  {lines[0]}"
    yield from (f"      {line}" for line in lines[1:])


def _parts(shown: str, item: EvidenceItem, labels: Mapping[Term, str]) -> list[str]:
    """The parts of a line of evidence between the bars; a bar inside a label separates nothing."""
    terms = {term for c in item.triples for term in (c.triple.subject, c.triple.predicate, c.triple.object)}
    names = {printable(labels.get(term) or str(term), 120) for term in terms}
    for name in sorted((name for name in names if _BAR in name), key=len, reverse=True):
        shown = shown.replace(name, name.replace(_BAR, _KEPT_BAR))
    return [part.replace(_KEPT_BAR, _BAR) for part in shown.split(_BAR)]


def _markdown(answer: Answer) -> Iterator[str]:
    """The answer as lines of Markdown."""
    yield f"## {_escaped(answer.question)}"
    yield from _paragraphs("\n".join(line for line in answer.text.splitlines() if line != table_line(answer)))
    yield from ("", *markdown_table(answer, _escaped)) if table_line(answer) else ()
    listed = listed_answers(answer)
    more = more_text(answer.answers[LISTED:], answer.evidence) if listed else ""
    numbered = [f"{i}. {_escaped(line)}" for i, line in enumerate(listed, 1)]
    yield from _markdown_section("Answers", [*numbered, "", _escaped(more)] if more else numbered)
    steps = [f"{i}. {_escaped(step_text(step, answer))} [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    if steps:
        yield from _markdown_section("Inference", [*steps, "", "```mermaid", answer.tree.mermaid(), "```"])
    yield from _markdown_section("Linked", [f"- {_escaped(line)}" for line in link_lines(answer)])
    for title, items in titled_items(answer, answer.cited):
        yield from ("", f"### {title}")
        for item in items:
            yield from ("", f"**{item.marker}** {_escaped(item.sourced_text, _LONGEST)}")
            if item.query.text and item.marker in answer.cited:
                for source, query in shown_queries(item):
                    yield from ("", f"<details><summary>{f'SPARQL {_escaped(source)}'.rstrip(' :')}</summary>", "")
                    yield from ("```sparql", query.replace("```", "` ` `"), "```", "", "</details>")
    notes = [*answer.notes, *fallback_lines(answer)]
    yield from _markdown_section("Notes", [f"- {_escaped(note, _NOTE)}" for note in notes])
    yield from ("", f"_{cost_line(answer)}_")


def _markdown_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"### {heading}", "", *lines)


def _paragraphs(text: str) -> Iterator[str]:
    """The lines of an answer as Markdown: lists stay lists, other lines become paragraphs."""
    was_listed = False
    for line in text.splitlines():
        shown = printable(line, _ANSWER)
        bullet = _bullet(shown)
        if not shown:
            continue
        if not (bullet and was_listed):
            yield ""
        yield f"**{_RANKED}**\n" if shown == _RANKED else bullet + _escaped(shown.removeprefix(bullet), _ANSWER)
        was_listed = bool(bullet) or shown == _RANKED


def _bullet(line: str) -> str:
    """The bullet or number at the beginning of a line of a list; empty for other lines.

    >>> _bullet("- one"), _bullet("12. twelve"), _bullet("1965 was it")
    ('- ', '12. ', '')
    """
    found = re.match(r"(?:[-*+]|[0-9]{1,4}[.)]) ", line)
    return found[0] if found else ""


def _escaped(text: str, limit: int = 500) -> str:
    """Graph text as Markdown in which nothing becomes a link, an image or a tag."""
    return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", printable(text, limit))
