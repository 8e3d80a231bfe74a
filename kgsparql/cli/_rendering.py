"""Answers as text, Markdown, JSON, JSON Lines or TriG."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgsparql.answer import Answer, InferenceStep, candidates_text
from kgsparql.errors import OptionError
from kgsparql.terms import printable

__all__ = ["FORMATS", "render"]

_CLOSE = 0.9
"""From this share of a link's score on, another candidate is shown beside it: it may have been meant."""

_LONGEST = 20_000
"""Characters of a piece of evidence."""

FORMATS = ("text", "md", "json", "jsonl", "trig", "mermaid")


def render(answer: Answer, form: str, *, verbose: int = 0) -> str:
    """The answer in one of :data:`FORMATS`.

    :raises OptionError: for another format.
    """
    if form == "json":
        return json.dumps(answer.to_json(), ensure_ascii=False, indent=2)
    if form == "jsonl":
        return json.dumps(answer.to_json(), ensure_ascii=False)
    if form == "trig":
        from kgsparql.rdf_output import answer_to_trig

        return answer_to_trig(answer)
    if form == "mermaid":
        return answer.tree.mermaid()
    if form == "md":
        return "\n".join(_markdown(answer))
    if form == "text":
        return "\n".join(_text(answer, verbose))
    raise OptionError(f"no output format {printable(form, 40)!r}", hint=f"one of: {', '.join(FORMATS)}")


def _text(answer: Answer, verbose: int) -> Iterator[str]:
    yield from (printable(line, 4_000) for line in answer.text.splitlines())
    if answer.inference:
        yield ""
        yield "Inference"
        for i, step in enumerate(answer.inference, 1):
            yield f"{i:>4}  {_said(step, answer)}  [{step.marker}]"
    if len(answer.evidence):
        yield ""
        yield "Evidence"
        for item in answer.evidence:
            shown = printable(item.sourced_text, _LONGEST)
            yield f"{item.marker:>4}  {shown}{'' if _checked(answer, item.marker) else '  (not checked)'}"
            if verbose >= 1:
                yield from (f"        {line}" for line in item.query.text.splitlines())
    if answer.tree and verbose >= 1:
        yield ""
        yield "Tree"
        yield answer.tree.text()
    if answer.linked:
        yield ""
        yield "Linked"
        for link in answer.linked:
            mention = f"{link.mention.text!r} → " if link.mention.text else ""
            close = [c for c in link.candidates if c.score >= _CLOSE * link.score][:3]
            others = f"; or {', '.join(str(c.term) for c in close)}" if close else ""
            yield f"      {mention}{printable(link.label, 80)} {link.term} ({link.matched} {link.score:.2f}{others})"
    if answer.notes:
        yield ""
        yield "Notes"
        yield from (f"      {printable(note, 300)}" for note in answer.notes)
    yield ""
    yield _cost(answer)


def _said(step: InferenceStep, answer: Answer) -> str:
    triple = step.cited.triple
    names = [printable(answer.labels.get(t) or str(t), 120) for t in (triple.subject, triple.predicate, triple.object)]
    return f"{names[0]} —{names[1]}→ {names[2]}"


def _checked(answer: Answer, marker: str) -> bool:
    return all(cited.verified for cited in answer.evidence[marker].triples)


def _cost(answer: Answer) -> str:
    usage, triples = answer.usage, answer.evidence.triples
    seconds = "" if usage.get("seconds") is None else f" · {usage['seconds']:.2f} s"
    checked = sum(1 for item in answer.evidence for cited in item.triples if cited.verified)
    cited = sum(len(item.triples) for item in answer.evidence)
    return (
        f"{answer.status} · {checked} of {cited} citations found again ({len(triples)} triples) · "
        f"{usage.get('queries', 0)} queries · {_calls(usage)}{seconds}"
    )


def _calls(usage: Mapping[str, Any]) -> str:
    """What the model cost: calls, tokens, money where the prices are known."""
    calls, cached = usage.get("model_calls", 0), usage.get("cached_calls")
    if not calls:
        return "0 model calls"
    kept = f" ({cached} kept replies)" if cached else ""
    cost = "" if usage.get("cost") is None else f" · cost {usage['cost']:.4g}"
    return f"{calls} model call{'' if calls == 1 else 's'}{kept} · {usage.get('tokens', 0):,} tokens{cost}"


def _markdown(answer: Answer) -> Iterator[str]:
    yield f"## {_escaped(answer.question)}"
    yield ""
    is_list = answer.answers and answer.text == candidates_text(answer.answers)
    yield "**Ranked candidates**" if is_list else _escaped(answer.text)
    if answer.answers:
        yield ""
        for i, term in enumerate(answer.answers, 1):
            yield f"{i}. {_escaped(term.label)} [{', '.join(term.markers)}]"
    if answer.inference:
        yield ""
        yield "### Inference"
        yield ""
        for i, step in enumerate(answer.inference, 1):
            yield f"{i}. {_escaped(_said(step, answer))} [{step.marker}]"
        yield ""
        yield "```mermaid"
        yield answer.tree.mermaid()
        yield "```"
    if len(answer.evidence):
        yield ""
        yield "### Evidence"
        for item in answer.evidence:
            yield ""
            yield f"**{item.marker}** {_escaped(item.sourced_text, _LONGEST if item.kind == 'passage' else 500)}"
            if item.query.text:
                yield ""
                yield "```sparql"
                yield item.query.text.replace("```", "` ` `")
                yield "```"
    if answer.notes:
        yield ""
        yield "### Notes"
        yield from (f"- {_escaped(note)}" for note in answer.notes)
    yield ""
    yield f"_{_cost(answer)}_"


def _escaped(text: str, limit: int = 500) -> str:
    """Graph text as Markdown text: nothing in it becomes a link, an image or a tag."""
    shown = printable(text, limit)
    for char in "\\`*_[]<>#|!":
        shown = shown.replace(char, "\\" + char)
    return shown
