"""Answers in the formats of ``kgsparql ask``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgsparql.answering.answer import Answer, InferenceStep
from kgsparql.answering.ranked_answers import more_text
from kgsparql.cli._answer_rows import as_lines
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.linked_entity import LinkedEntity
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

_RIVALS = 3
"""Alternatives to a link that are shown."""

_FALLBACKS = 6
"""Different fallbacks that are shown."""

_INSTEAD = {
    "mentions": "the linker found the names",
    "sentences": "the facts are shown as they are",
    "answer": "there are ranked candidates instead",
}
"""What was done instead, where the reply to a call was unusable."""


def render(answer: Answer, form: str, *, verbose: int = 0, told_graphs: bool = False) -> str:
    """The answer in one of the formats of ``kgsparql ask``.

    :param told_graphs: name the graph of each item in text, even if all are from one.
    """
    if form in {"json", "jsonl"}:
        return json.dumps(answer.to_json(), ensure_ascii=False, indent=2 if form == "json" else None)
    if form in {"plain", "csv", "tsv"}:
        return as_lines(answer, form)
    if form == "trig":
        from kgsparql.answering.answer_rdf import answer_to_trig

        return answer_to_trig(answer)
    if form == "mermaid":
        return answer.tree.mermaid(nothing="nothing to draw")
    if form == "md":
        return "\n".join(_markdown(answer))
    return "\n".join(_text(answer, verbose, told_graphs=told_graphs))


def _text(answer: Answer, verbose: int, *, told_graphs: bool) -> Iterator[str]:
    yield from (printable(line, _ANSWER) for line in answer.text.splitlines())
    listed = _listed_answers(answer)
    more = more_text(answer.answers[_LISTED:], answer.evidence) if listed else ""
    numbered = [f"{i:>4}  {line}" for i, line in enumerate(listed, 1)]
    yield from _text_section("Answers", [*numbered, f"      {more}"] if more else numbered)
    steps = [f"{i:>4}  {_step_text(step, answer)}  [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    yield from _text_section("Inference", steps)
    yield from _text_section("Tree", [answer.tree.text()] if answer.tree and verbose else [])
    yield from _text_section("Linked", [f"      {line}" for line in _link_lines(answer)])
    is_of_several = told_graphs or len({graph for item in answer.evidence for graph in item.graphs}) > 1
    for heading, items in _titled_items(answer):
        lines: list[str] = []
        for item in items:
            lines += _item_lines(item, answer.labels, told_graphs=is_of_several)
            for title, query in _queries(item) if verbose else ():
                lines += [f"        {line}" for line in (*([title] if title else []), *query.splitlines())]
        yield from _text_section(heading, lines)
    notes = [*answer.notes, *_fallback_lines(answer)]
    yield from _text_section("Notes", [f"      {printable(note, _NOTE)}" for note in notes])
    yield from ("", _cost(answer))


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
    if answer.is_ranked:
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
    steps = [f"{i}. {_escaped(_step_text(step, answer))} [{step.marker}]" for i, step in enumerate(answer.inference, 1)]
    if steps:
        yield from _markdown_section("Inference", [*steps, "", "```mermaid", answer.tree.mermaid(), "```"])
    yield from _markdown_section("Linked", [f"- {_escaped(line)}" for line in _link_lines(answer)])
    for title, items in _titled_items(answer):
        yield from ("", f"### {title}")
        for item in items:
            yield from ("", f"**{item.marker}** {_escaped(item.sourced_text, _LONGEST)}")
            if item.query.text and item.marker in answer.cited:
                for source, query in _queries(item):
                    yield from ("", f"<details><summary>{f'SPARQL {_escaped(source)}'.rstrip(' :')}</summary>", "")
                    yield from ("```sparql", query.replace("```", "` ` `"), "```", "", "</details>")
    notes = [*answer.notes, *_fallback_lines(answer)]
    yield from _markdown_section("Notes", [f"- {_escaped(note, _NOTE)}" for note in notes])
    yield from ("", f"_{_cost(answer)}_")


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


def _titled_items(answer: Answer) -> Iterator[tuple[str, list[EvidenceItem]]]:
    """The cited evidence, then the other evidence, each with its heading."""
    cited = set(answer.cited)
    used = [item for item in answer.evidence if item.marker in cited]
    rest = [item for item in answer.evidence if item.marker not in cited]
    if used:
        yield "Evidence", used
    if rest:
        yield "Also found" if used else "Found in the graph", rest


def _step_text(step: InferenceStep, answer: Answer) -> str:
    """A step of an inference: the labels of its triple."""
    triple = step.cited.triple
    names = [printable(answer.labels.get(t) or str(t), 120) for t in (triple.subject, triple.predicate, triple.object)]
    return f"{names[0]} —{names[1]}→ {names[2]}"


def _link_lines(answer: Answer) -> Iterator[str]:
    """A line for each link: the mention, the entity, and what else may be meant."""
    for link in answer.linked:
        mention = f"{link.mention.text!r} → " if link.mention.text else ""
        rivals = link.likely_alternatives
        named = ", ".join(_rival(one, link) for one in rivals[:_RIVALS])
        others = f"; or {named}{' …' if len(rivals) > _RIVALS else ''}" if rivals else ""
        label = f"{printable(link.label, 80)}{_description(link)}"
        yield f"{mention}{label} {link.term} ({link.matched} {link.score:.2f}{others})"


def _rival(one: LinkedEntity, link: LinkedEntity) -> str:
    label = f"{printable(one.label, 80)} " if one.label != link.label else ""
    return f"{label}{one.term}{_description(one)}"


def _description(link: LinkedEntity) -> str:
    return f" ({printable(link.description, 80)})" if link.description else ""


def _fallback_lines(answer: Answer) -> Iterator[str]:
    """A line for each different fallback that no note mentions."""
    counts = Counter((f.purpose, f.reason) for f in answer.fallbacks if f.purpose != "ranking")
    lines = []
    for (purpose, reason), count in counts.items():
        plain = reason.rpartition(" [E_")[0] or reason
        if any(plain in note for note in answer.notes):
            continue
        times = f" ({count} times)" if count > 1 else ""
        instead = f"; {_INSTEAD[purpose]}" if purpose in _INSTEAD else ""
        lines.append(f"{purpose}: {plain}{instead}{times}")
    yield from lines[:_FALLBACKS]
    if len(lines) > _FALLBACKS:
        yield f"{len(lines) - _FALLBACKS} more fallbacks (-f json lists them all)"


def _cost(answer: Answer) -> str:
    """One line: the status, what was verified, and the cost."""
    usage = answer.usage
    seconds = [] if usage.get("seconds") is None else [f"{usage['seconds']:.2f} s"]
    before = f" ({usage['prepared']:,} more to prepare)" if usage.get("prepared") else ""
    counted = f"{_count(usage.get('queries', 0), 'query', 'queries')}{before} · {_model_cost(usage)}"
    return " · ".join([answer.status, *_verified_counts(answer), counted, *seconds])


def _verified_counts(answer: Answer) -> Iterator[str]:
    """How many of the citations, and of all triples, were verified in the graph."""
    rests_on = list(answer.evidence.keep(answer.cited))
    cited = [item for item in rests_on if item.triples]
    checked = sum(1 for item in cited if all(triple.verified for triple in item.triples))
    if cited:
        count = _count(len(cited), "citation", "citations")
        yield f"{count} checked" if checked == len(cited) else f"{checked} of {count} checked"
    if texts := len(rests_on) - len(cited):
        yield f"{_count(texts, 'passage', 'passages')} cited"
    verified = {t.triple for item in answer.evidence for t in item.triples if t.verified}
    if triples := answer.evidence.triples:
        yield f"{len(verified):,} of {_count(len(triples), 'triple', 'triples')} found again"


def _model_cost(usage: Mapping[str, Any]) -> str:
    calls, cached = usage.get("model_calls", 0), usage.get("cached_calls")
    if not calls:
        return "0 model calls"
    kept = f" ({_count(cached, 'kept reply', 'kept replies')})" if cached else ""
    money = "" if usage.get("cost") is None else f" · cost {_money(usage['cost'])}"
    return f"{_count(calls, 'model call', 'model calls')}{kept} · {usage.get('tokens', 0):,} tokens{money}"


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _money(cost: float) -> str:
    """A cost in plain digits, however small.

    >>> _money(0.0001234), _money(1e-7), _money(12.3456)
    ('0.00012', '0.0000001', '12.35')
    """
    if cost >= 1 or not cost:
        return f"{cost:.2f}"
    return f"{cost:.12f}".rstrip("0") if cost < 1e-6 else f"{float(f'{cost:.2g}'):.8f}".rstrip("0")
