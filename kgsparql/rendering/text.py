"""Answers as text for a person, and as Markdown, in which all that graph or model wrote is text, never a link."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kgsparql import events as e
from kgsparql.answering.answer import LISTED, Answer, AnswerTerm, InferenceStep, more_text
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import counted
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import Literal, Term, printable
from kgsparql.rendering.rows import aligned_table, markdown_table, table_line, without_rows

_SHOWN_RIVALS = 3
"""Alternatives to a link that are shown."""

_SHOWN_FALLBACKS = 6
"""Different fallbacks that are shown."""

_INSTEAD = {
    "mentions": "the linker found the names",
    "sentences": "the facts are shown as they are",
    "answer": "there are ranked candidates instead",
}
"""What was done instead, where the reply to a call was unusable."""


def shown_queries(item: EvidenceItem) -> list[tuple[str, str]]:
    """Return the queries of an item, each with a line that names its source, if there are several."""
    return [(f"of {printable(own.source, 200)}:", own.query.shown) for own in item.queries] or [("", item.query.shown)]


def listed_answers(answer: Answer) -> list[str]:
    """Return the first answers with their markers; none if the text names all, or they are a value or a table."""
    is_value = answer.computed is not None and (answer.computed.is_table or answer.value is not None)
    if answer.is_ranked or is_value:
        return []
    text = answer.text.casefold()
    first = answer.answers[:LISTED]
    is_named = (any(name.casefold() in text for name in (one.shown, answer_name(one))) for one in first)
    if len(answer.answers) <= LISTED and all(is_named):
        return []
    return [f"{answer_name(one)}  [{', '.join(one.markers)}]" for one in first]


def answer_name(one: AnswerTerm) -> str:
    """Say what an answer is called: a value in a person's form."""
    return printable(value_text(one.term) if isinstance(one.term, Literal) else one.shown, 180)


def titled_items(answer: Answer, cited: Collection[str]) -> Iterator[tuple[str, list[EvidenceItem]]]:
    """Yield the evidence with these markers, then the other evidence, each with its heading."""
    used = [item for item in answer.evidence if item.marker in cited]
    rest = [item for item in answer.evidence if item.marker not in cited]
    if used:
        yield "Evidence", used
    if rest:
        yield "Also found" if used else "Found in the graph", rest


def step_text(step: InferenceStep, answer: Answer) -> str:
    """Write a step of an inference: the labels of its triple."""
    triple = step.cited.triple
    names = [printable(answer.labels.get(t) or str(t), 120) for t in (triple.subject, triple.predicate, triple.object)]
    return f"{names[0]} —{names[1]}→ {names[2]}"


def link_lines(answer: Answer) -> Iterator[str]:
    """Yield a line for each link: the mention, the entity, and what else may be meant."""
    for link in answer.linked:
        mention = f"{link.mention.text!r} → " if link.mention.text else ""
        rivals = link.likely_alternatives
        named = ", ".join(_rival_text(one, link) for one in rivals[:_SHOWN_RIVALS])
        others = f"; or {named}{' …' if len(rivals) > _SHOWN_RIVALS else ''}" if rivals else ""
        label = f"{printable(link.label, 80)}{_description_text(link)}"
        yield f"{mention}{label} {link.term} ({link.matched} {link.score:.2f}{others})"


def _rival_text(one: LinkedEntity, link: LinkedEntity) -> str:
    label = f"{printable(one.label, 80)} " if one.label != link.label else ""
    return f"{label}{one.term}{_description_text(one)}"


def _description_text(link: LinkedEntity) -> str:
    return f" ({printable(link.description, 80)})" if link.description else ""


def fallback_lines(answer: Answer) -> Iterator[str]:
    """Yield a line for each different fallback that no note mentions."""
    counts = Counter((f.purpose, f.reason) for f in answer.fallbacks if f.purpose != "ranking")
    noted = {note.cause for note in answer.notes}
    lines = []
    for (purpose, reason), count in counts.items():
        plain = reason.rpartition(" [E_")[0] or reason
        if reason in noted:
            continue
        times = f" ({count} times)" if count > 1 else ""
        instead = f"; {_INSTEAD[purpose]}" if purpose in _INSTEAD else ""
        lines.append(f"{purpose}: {plain}{instead}{times}")
    yield from lines[:_SHOWN_FALLBACKS]
    if len(lines) > _SHOWN_FALLBACKS:
        yield f"{len(lines) - _SHOWN_FALLBACKS} more fallbacks (-f json lists them all)"


def cost_line(answer: Answer) -> str:
    """Write one line: the status, what was verified, and the cost."""
    usage = answer.usage
    seconds = [] if usage.get("seconds") is None else [f"{usage['seconds']:.2f} s"]
    before = f" ({usage['prepared']:,} more to prepare)" if usage.get("prepared") else ""
    spent = f"{counted(usage.get('queries', 0), 'query', 'queries')}{before} · {_model_cost(usage)}"
    return " · ".join([answer.status, *_verified_counts(answer), spent, *seconds])


def _verified_counts(answer: Answer) -> Iterator[str]:
    """Say how many of the citations, and of all triples, were verified in the graph."""
    rests_on = list(answer.evidence.keep(answer.cited))
    cited = [item for item in rests_on if item.triples]
    checked = sum(1 for item in cited if all(triple.verified for triple in item.triples))
    if cited:
        count = counted(len(cited), "citation")
        yield f"{count} checked" if checked == len(cited) else f"{checked} of {count} checked"
    if texts := sum(1 for item in rests_on if item.kind == "passage" and not item.triples):
        yield f"{counted(texts, 'passage')} cited"
    verified = {t.triple for item in answer.evidence for t in item.triples if t.verified}
    if triples := answer.evidence.triples:
        yield f"{len(verified):,} of {counted(len(triples), 'triple')} found again"


def _model_cost(usage: Mapping[str, Any]) -> str:
    calls, cached = usage.get("model_calls", 0), usage.get("cached_calls")
    if not calls:
        return "0 model calls"
    kept = f" ({counted(cached, 'kept reply', 'kept replies')})" if cached else ""
    money = "" if usage.get("cost") is None else f" · cost {_money_text(usage['cost'])}"
    return f"{counted(calls, 'model call')}{kept} · {usage.get('tokens', 0):,} tokens{money}"


def _money_text(cost: float) -> str:
    """Write a cost in plain digits, however small.

    >>> _money_text(0.0001234), _money_text(1e-7), _money_text(12.3456)
    ('0.00012', '0.0000001', '12.35')
    """
    if cost >= 1 or not cost:
        return f"{cost:.2f}"
    return f"{cost:.12f}".rstrip("0") if cost < 1e-6 else f"{float(f'{cost:.2g}'):.8f}".rstrip("0")


MAX_EVIDENCE_CHARACTERS = 20_000
"""Characters of a piece of evidence."""

MAX_ANSWER_CHARACTERS = 4_000
"""Characters of a line of an answer."""

MAX_NOTE_CHARACTERS = 600
"""Characters of a note."""

_WIDE = 100
"""A longer line of evidence is broken into its parts; beside what an answer rests on, it is cut."""

_ALSO = 4
"""Pieces of evidence that are shown beside those that an answer rests on."""

_BAR = " | "
"""Between the parts of a line of evidence."""

_KEPT_BAR = "\0|\0"
"""Stands for a bar inside a label while a line is split; no printable line has it."""

_BY_RANK = "(candidates of the best reading, by rank; no model wrote an answer)"

_ASIDE = frozenset({"frontier"})
"""Codes of notes that change nothing in what a person would do: they are in JSON, and shown with ``-v``."""


def text_lines(answer: Answer, *, verbose: int = 0, told_graphs: bool = False) -> Iterator[str]:
    """Yield the lines of an answer for a person; parameters as of :func:`kgsparql.render`."""
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
        for item in _few_items(items) if is_aside else items:
            shown = without_rows(item, answer)
            lines += _item_lines(shown, answer.labels, told_graphs=is_of_several, is_cut=is_aside)
            for title, query in shown_queries(item) if verbose else ():
                lines += [f"        {line}" for line in (*([title] if title else []), *query.splitlines())]
        left = len(items) - _ALSO if is_aside else 0
        yield from _text_section(heading, [*lines, f"      … {left:,} more (-v shows all)"] if left > 0 else lines)
    notes = [*(note for note in answer.notes if verbose or note.code not in _ASIDE), *fallback_lines(answer)]
    yield from _text_section("Notes", [f"      {printable(note, MAX_NOTE_CHARACTERS)}" for note in notes])
    yield ""
    yield from (f"{'' if at else 'Linked':<6}  {line}" for at, line in enumerate(link_lines(answer)))
    yield cost_line(answer)


def _first_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer; where nobody chose, what keeps it from being one, and what the best reading leads to."""
    if not answer.is_ranked or not answer.best:
        yield from _lines_with_table(answer)
        return
    if answer.gaps:
        yield printable(answer.text.partition("\n")[0], MAX_ANSWER_CHARACTERS)
    best = answer.best
    names = [answer_name(one) for one in best[:LISTED]]
    more = more_text(best[LISTED:], answer.evidence)
    listed = "; ".join([*names, *([more] if more else [])])
    nearest, markers = "Nearest: " if answer.gaps else "", ", ".join(_rests_on(answer))
    yield f"{nearest}{printable(listed, MAX_ANSWER_CHARACTERS)}  [{markers}]"
    yield _BY_RANK


def _lines_with_table(answer: Answer) -> Iterator[str]:
    """Yield the lines of the answer's text; a computed table stands in place of its rows, or below a model's words.

    What a model may have written has a bar before each further line: it cannot pass for evidence, or for the last line.
    """
    table, line_of_table = aligned_table(answer), table_line(answer)
    lines = answer.text.splitlines()
    bar = "│ " if answer.model and not answer.is_ranked else ""
    for at, line in enumerate(lines):
        shown = f"{bar if at else ''}{printable(line, MAX_ANSWER_CHARACTERS)}"
        yield from table if table and line == line_of_table else [shown.rstrip()]
    if table and line_of_table not in lines:
        yield from ("", *table)


def _rests_on(answer: Answer) -> list[str]:
    """Return the markers that an answer rests on; of ranked candidates, the best from each entity that leads to all."""
    if not answer.is_ranked or not answer.best:
        return list(answer.cited)
    first, *others = answer.best
    starts: dict[object, str] = {}
    for marker in first.markers:
        if all(marker in one.markers for one in others):
            way = answer.evidence[marker].paths[:1]
            starts.setdefault(way[0].start if way else None, marker)
    return list(starts.values())


def _few_items(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Return at most four pieces of evidence in their order, among them the first path, neighbours and passage."""
    first = {item.kind: item.marker for item in reversed(items)}
    others = [item.marker for item in items if item.marker not in first.values()]
    shown = {*first.values(), *others[: _ALSO - len(first)]}
    return [item for item in items if item.marker in shown]


def _text_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", heading, *lines)


def _item_lines(item: EvidenceItem, labels: Mapping[Term, str], *, told_graphs: bool, is_cut: bool) -> Iterator[str]:
    """Yield an item after its marker; a long one with each of its parts on a line of its own, or cut."""
    shown = printable(item.sourced_text, _WIDE if is_cut else MAX_EVIDENCE_CHARACTERS)
    has_parts = item.kind in {"path", "neighbours"} and len(shown) > _WIDE
    first, *others = _line_parts(shown, item, labels) if has_parts else [shown]
    lines = [first, *(f"| {part}" for part in others)]
    lines[-1] += "" if all(cited.verified for cited in item.triples) else "  (not checked)"
    if told_graphs and item.graphs:
        lines[-1] += f"  ({printable(', '.join(item.graphs), 200)})"
    yield f"{item.marker:>4}  {lines[0]}"
    yield from (f"      {line}" for line in lines[1:])


def _line_parts(shown: str, item: EvidenceItem, labels: Mapping[Term, str]) -> list[str]:
    """Return the parts of a line of evidence between the bars; a bar inside a label separates nothing."""
    terms = {term for c in item.triples for term in (c.triple.subject, c.triple.predicate, c.triple.object)}
    names = {printable(labels.get(term) or str(term), 120) for term in terms}
    for name in sorted((name for name in names if _BAR in name), key=len, reverse=True):
        shown = shown.replace(name, name.replace(_BAR, _KEPT_BAR))
    return [part.replace(_KEPT_BAR, _BAR) for part in shown.split(_BAR)]


def step_words(event: e.Event) -> str:  # noqa: PLR0911 - one arm a kind
    """Say what happened, in one line; empty for what is shown in another way: the evidence, the answer.

    >>> step_words(e.QueryRun(name="labels", solutions=1200, seconds=0.0042))
    'labels: 1,200 solutions, 4.2 ms'
    """
    match event:
        case e.QueryRun():
            cut = "" if event.complete else ", cut by the endpoint"
            return f"{event.name}: {event.solutions:,} solutions{cut}, {event.seconds * 1000:.1f} ms"
        case e.PathsSearched():
            what = f"shortest paths from {event.start} to {event.end}" if event.end else f"paths from {event.start}"
            return f"{what}: {event.paths:,} in the adjacency, {event.seconds * 1000:.1f} ms"
        case e.ModelCalled():
            tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
            outcome = f"failed: {event.error}" if event.error else tokens
            took = "kept reply" if event.cached else f"{event.seconds:.2f} s"
            return f"{event.model} ({event.purpose}): {outcome}, {took}"
        case e.EntitiesLinked():
            found = "; ".join(f"{m!r} → {label}" for m, _, label, _, _ in event.entities) or "nothing"
            return f"linked: {printable(found, 400)}"
        case e.CandidatesChosen():
            of = len(event.kept) + event.pruned
            return f"{event.purpose}: kept {len(event.kept)} of {of} ({event.chosen_by})"
        case e.LimitReached():
            return printable(event.message, 300)
        case e.FallbackUsed():
            return f"{event.purpose}: {printable(event.reason, 300)}"
        case e.Verified():
            return f"verified: {event.found} found again, {event.removed} removed, {event.unknown} not checkable"
        case _:
            return ""


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
