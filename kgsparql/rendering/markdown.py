"""Answers as Markdown: all that graph or model wrote is text in it, never a link, an image or a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgsparql.answering.answer import LISTED, Answer, more_text
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import markdown_table, table_line
from kgsparql.rendering.text import (
    MAX_ANSWER_CHARACTERS,
    MAX_EVIDENCE_CHARACTERS,
    MAX_NOTE_CHARACTERS,
    cost_line,
    fallback_lines,
    link_lines,
    listed_answers,
    shown_queries,
    step_text,
    titled_items,
)

_RANKED = "Ranked candidates"


def markdown_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer as lines of Markdown."""
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
            yield from ("", f"**{item.marker}** {_escaped(item.sourced_text, MAX_EVIDENCE_CHARACTERS)}")
            if item.query.text and item.marker in answer.cited:
                for source, query in shown_queries(item):
                    yield from ("", f"<details><summary>{f'SPARQL {_escaped(source)}'.rstrip(' :')}</summary>", "")
                    yield from ("```sparql", query.replace("```", "` ` `"), "```", "", "</details>")
    notes = [*answer.notes, *fallback_lines(answer)]
    yield from _markdown_section("Notes", [f"- {_escaped(note, MAX_NOTE_CHARACTERS)}" for note in notes])
    yield from ("", f"_{cost_line(answer)}_")


def _markdown_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"### {heading}", "", *lines)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of an answer as Markdown: lists stay lists, other lines become paragraphs."""
    was_listed = False
    for line in text.splitlines():
        shown = printable(line, MAX_ANSWER_CHARACTERS)
        bullet = _bullet(shown)
        if not shown:
            continue
        if not (bullet and was_listed):
            yield ""
        yield (
            f"**{_RANKED}**\n"
            if shown == _RANKED
            else bullet + _escaped(shown.removeprefix(bullet), MAX_ANSWER_CHARACTERS)
        )
        was_listed = bool(bullet) or shown == _RANKED


def _bullet(line: str) -> str:
    """Return the bullet or number at the beginning of a line of a list; empty for other lines.

    >>> _bullet("- one"), _bullet("12. twelve"), _bullet("1965 was it")
    ('- ', '12. ', '')
    """
    found = re.match(r"(?:[-*+]|[0-9]{1,4}[.)]) ", line)
    return found[0] if found else ""


def _escaped(text: str, limit: int = 500) -> str:
    """Write graph text as Markdown in which nothing becomes a link, an image or a tag."""
    return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", printable(text, limit))
