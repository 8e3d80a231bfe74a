"""What text and Markdown both say of an answer, line by line: links, fallbacks, and what was verified and spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kgsparql.answering.answer import Answer, AnswerTerm, InferenceStep
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import counted
from kgsparql.rdf.literal_text import value_text
from kgsparql.rdf.terms import Literal, printable

LISTED = 10
"""Answers that are listed."""

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


def shown_queries(item: EvidenceItem) -> list[tuple[str, str]]:
    """The queries of an item, each with a line that names its source, if there are several."""
    return [(f"of {printable(own.source, 200)}:", own.query.shown) for own in item.queries] or [("", item.query.shown)]


def listed_answers(answer: Answer) -> list[str]:
    """The first answers with their markers; none if the text names all answers, or they are a value or a table."""
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
    """What an answer is called: a value in a person's form."""
    return printable(value_text(one.term) if isinstance(one.term, Literal) else one.shown, 180)


def titled_items(answer: Answer, cited: Collection[str]) -> Iterator[tuple[str, list[EvidenceItem]]]:
    """The evidence with these markers, then the other evidence, each with its heading."""
    used = [item for item in answer.evidence if item.marker in cited]
    rest = [item for item in answer.evidence if item.marker not in cited]
    if used:
        yield "Evidence", used
    if rest:
        yield "Also found" if used else "Found in the graph", rest


def step_text(step: InferenceStep, answer: Answer) -> str:
    """A step of an inference: the labels of its triple."""
    triple = step.cited.triple
    names = [printable(answer.labels.get(t) or str(t), 120) for t in (triple.subject, triple.predicate, triple.object)]
    return f"{names[0]} —{names[1]}→ {names[2]}"


def link_lines(answer: Answer) -> Iterator[str]:
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


def fallback_lines(answer: Answer) -> Iterator[str]:
    """A line for each different fallback that no note mentions."""
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
    yield from lines[:_FALLBACKS]
    if len(lines) > _FALLBACKS:
        yield f"{len(lines) - _FALLBACKS} more fallbacks (-f json lists them all)"


def cost_line(answer: Answer) -> str:
    """One line: the status, what was verified, and the cost."""
    usage = answer.usage
    seconds = [] if usage.get("seconds") is None else [f"{usage['seconds']:.2f} s"]
    before = f" ({usage['prepared']:,} more to prepare)" if usage.get("prepared") else ""
    spent = f"{counted(usage.get('queries', 0), 'query', 'queries')}{before} · {_model_cost(usage)}"
    return " · ".join([answer.status, *_verified_counts(answer), spent, *seconds])


def _verified_counts(answer: Answer) -> Iterator[str]:
    """How many of the citations, and of all triples, were verified in the graph."""
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
    money = "" if usage.get("cost") is None else f" · cost {_money(usage['cost'])}"
    return f"{counted(calls, 'model call')}{kept} · {usage.get('tokens', 0):,} tokens{money}"


def _money(cost: float) -> str:
    """A cost in plain digits, however small.

    >>> _money(0.0001234), _money(1e-7), _money(12.3456)
    ('0.00012', '0.0000001', '12.35')
    """
    if cost >= 1 or not cost:
        return f"{cost:.2f}"
    return f"{cost:.12f}".rstrip("0") if cost < 1e-6 else f"{float(f'{cost:.2g}'):.8f}".rstrip("0")
