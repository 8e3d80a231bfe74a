"""Answers as text, Markdown, JSON, JSON Lines, TriG or Mermaid."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kgsparql.answering.answer import Answer
from kgsparql.answering.ranked_answers import more_text
from kgsparql.cli._common import ANSWER_FORMATS
from kgsparql.cli._rendered_parts import cost, fallback_lines, link_lines, step_text, titled_items
from kgsparql.errors import OptionError
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.rdf.terms import Term, printable

_LONGEST = 20_000
"""Characters of a piece of evidence."""

_ANSWER = 4_000
"""Characters of a line of an answer."""

_NOTE = 600
"""Characters of a note."""

_LISTED = 10
"""Answers that are listed."""

_WIDE = 100
"""A longer line of evidence is broken into its parts."""

_BAR = " | "
"""Between the parts of a line of evidence."""

_KEPT_BAR = "\0|\0"
"""Stands for a bar inside a label while a line is split; no printable line has it."""

_RANKED = "Ranked candidates"


def render(answer: Answer, form: str, *, verbose: int = 0, told_graphs: bool = False) -> str:
    """The answer in one of the formats of ``kgsparql ask``.

    :param told_graphs: name the graph of each item in text, even if all are from one.
    """
    if form == "json":
        return json.dumps(answer.to_json(), ensure_ascii=False, indent=2)
    if form == "jsonl":
        return json.dumps(answer.to_json(), ensure_ascii=False)
    if form == "trig":
        from kgsparql.answering.answer_rdf import answer_to_trig

        return answer_to_trig(answer)
    if form == "mermaid":
        return answer.tree.mermaid(nothing="nothing to draw")
    if form == "md":
        return "\n".join(_markdown(answer))
    if form == "text":
        return "\n".join(_text(answer, verbose, told_graphs=told_graphs))
    raise OptionError(f"no output format {printable(form, 40)!r}", hint=f"one of: {', '.join(ANSWER_FORMATS)}")


def _text(answer: Answer, verbose: int, *, told_graphs: bool) -> Iterator[str]:
    yield from (printable(line, _ANSWER) for line in answer.text.splitlines())
    listed = _listed_answers(answer)
    more = more_text(answer.answers[_LISTED:], answer.evidence) if listed else ""
    numbered = [f"{i:>4}  {line}" for i, line in enumerate(listed, 1)]
    yield from _text_section("Answers", [*numbered, f"      {more}"] if more else numbered)
    steps = [f"{i:>4}  {step_text(step, answer)}  [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    yield from _text_section("Inference", steps)
    yield from _text_section("Tree", [answer.tree.text()] if answer.tree and verbose else [])
    yield from _text_section("Linked", [f"      {line}" for line in link_lines(answer)])
    is_of_several = told_graphs or len({graph for item in answer.evidence for graph in item.graphs}) > 1
    for heading, items in titled_items(answer):
        lines: list[str] = []
        for item in items:
            lines += _item_lines(item, answer.labels, told_graphs=is_of_several)
            for title, query in _queries(item) if verbose else ():
                lines += [f"        {line}" for line in (*([title] if title else []), *query.splitlines())]
        yield from _text_section(heading, lines)
    notes = [*answer.notes, *fallback_lines(answer)]
    yield from _text_section("Notes", [f"      {printable(note, _NOTE)}" for note in notes])
    yield ""
    yield cost(answer)


def _text_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", heading, *lines)


def _queries(item: EvidenceItem) -> list[tuple[str, str]]:
    """The queries of an item, each with a line that names its source, if there are several."""
    return [(f"of {printable(own.source, 200)}:", own.query.shown) for own in item.queries] or [("", item.query.shown)]


def _item_lines(item: EvidenceItem, labels: Mapping[Term, str], *, told_graphs: bool) -> Iterator[str]:
    """An item after its marker; a long one with each of its parts on a line of its own."""
    shown = printable(item.sourced_text, _LONGEST)
    first, *others = _parts(shown, item, labels) if item.kind != "passage" and len(shown) > _WIDE else [shown]
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


def _listed_answers(answer: Answer) -> list[str]:
    """The first answers with their markers; none if the text names all answers."""
    if answer.text.startswith(_RANKED):
        return []
    text = answer.text.casefold()
    first = answer.answers[:_LISTED]
    if len(answer.answers) <= _LISTED and all(term.shown.casefold() in text for term in first):
        return []
    return [f"{printable(term.shown, 180)}  [{', '.join(term.markers)}]" for term in first]


def _markdown(answer: Answer) -> Iterator[str]:
    yield f"## {_escaped(answer.question)}"
    yield from _paragraphs(answer.text)
    listed = _listed_answers(answer)
    more = more_text(answer.answers[_LISTED:], answer.evidence) if listed else ""
    numbered = [f"{i}. {_escaped(line)}" for i, line in enumerate(listed, 1)]
    yield from _markdown_section("Answers", [*numbered, "", _escaped(more)] if more else numbered)
    steps = [f"{i}. {_escaped(step_text(step, answer))} [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    if steps:
        yield from _markdown_section("Inference", [*steps, "", "```mermaid", answer.tree.mermaid(), "```"])
    yield from _markdown_section("Linked", [f"- {_escaped(line)}" for line in link_lines(answer)])
    for title, items in titled_items(answer):
        yield ""
        yield f"### {title}"
        for item in items:
            yield ""
            yield f"**{item.marker}** {_escaped(item.sourced_text, _LONGEST)}"
            if item.query.text and item.marker in answer.cited:
                for source, query in _queries(item):
                    yield from _folded(f"SPARQL {_escaped(source)}".rstrip(" :"), query)
    notes = [*answer.notes, *fallback_lines(answer)]
    yield from _markdown_section("Notes", [f"- {_escaped(note, _NOTE)}" for note in notes])
    yield ""
    yield f"_{cost(answer)}_"


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
    head, space, _ = line.partition(" ")
    is_number = head[:-1].isascii() and head[:-1].isdigit() and head[-1:] in {".", ")"} and len(head) < 6
    return head + space if space and (head in {"-", "*", "+"} or is_number) else ""


def _folded(title: str, query: str) -> tuple[str, ...]:
    """A query, folded until it is clicked on."""
    fenced = ("```sparql", query.replace("```", "` ` `"), "```")
    return ("", f"<details><summary>{title}</summary>", "", *fenced, "", "</details>")


def _escaped(text: str, limit: int = 500) -> str:
    """Graph text as Markdown in which nothing becomes a link, an image or a tag."""
    shown = printable(text, limit)
    for char in "\\`*_[]<>#|!":
        shown = shown.replace(char, "\\" + char)
    return shown
