"""What a page says of a run in words: its sentences, what it cost, and whether it still stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsparql.serving.sentences import said_by

if TYPE_CHECKING:
    from kgsparql.answering.recheck import Recheck

_OPTIONS = re.compile(r" \(-e .*?\)(?=,| or |;|$)")
_WAY_OUT = "ask again with a name as the graph has it"


def run_words(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a page reads of a finished run beside the run: its sentences, gaps, notes and meter."""
    if "answer" not in run:
        return {}
    answer = run["answer"]
    gaps = [gap["text"] for gap in answer["not_understood"]]
    notes = [note for note in answer["notes"] if note["code"] != "frontier" and note["text"] not in gaps]
    return {
        "said": said_by(answer),
        "gaps": [_gap(gap) for gap in answer["not_understood"]],
        "notes": [_WAY_OUT if note["code"] == "way_out" else note["text"] for note in notes],
        "meter": meter(answer["usage"], left_out=run["left_out"]),
    }


def _gap(gap: Mapping[str, str]) -> str:
    """Words of the question that the answer does not account for; a page has a click where a terminal has options.

    >>> _gap({"code": "ambiguous", "text": "'Bragg' may mean 2 things (-e dbr:A or -e dbr:B)"})
    "'Bragg' may mean 2 things. Click the underlined name to choose."
    """
    text = _OPTIONS.sub("", gap["text"])
    return f"{text}. Click the underlined name to choose." if gap["code"] == "ambiguous" else text


def meter(usage: Mapping[str, Any], *, left_out: int = 0) -> str:
    """What a run cost; without prices that is unknown, never 0.

    :param left_out: steps that were too many to be kept.

    >>> usage = {"queries": 1, "rows": 1200, "model_calls": 2, "cached_calls": 0, "prompt_tokens": 40, "cost": None}
    >>> meter({**usage, "completion_tokens": 9, "seconds": 0.5})
    '1 query · 1,200 solutions · 2 model calls · 40 tokens in, 9 out · cost unknown (no prices) · 0.50 s'
    """
    parts = [_count(usage["queries"], "query", "queries"), _count(usage["rows"], "solution"), *_model_words(usage)]
    if usage["seconds"] is not None:
        parts.append(f"{usage['seconds']:.2f} s")
    if left_out:
        parts.append(f"{_count(left_out, 'step')} not kept")
    return " · ".join(parts)


def _model_words(usage: Mapping[str, Any]) -> list[str]:
    if not usage["model_calls"]:
        return ["no model calls"]
    kept = f" ({_count(usage['cached_calls'], 'kept reply', 'kept replies')})" if usage["cached_calls"] else ""
    tokens = f"{_count(usage['prompt_tokens'], 'token')} in, {usage['completion_tokens']:,} out"
    cost = "cost unknown (no prices)" if usage["cost"] is None else f"cost {usage['cost']}"
    return [_count(usage["model_calls"], "model call") + kept, tokens, cost]


def recheck_words(found: Recheck) -> dict[str, Any]:
    """The verdict, what else is to be known of it, the triples that are gone, and the evidence that changed."""
    if not found.stands:
        verdict = "It does not stand any more."
    elif not found.is_whole:
        verdict = "What could be checked stands; not all could be checked."
    else:
        run_again = _count(len(found.items), "query", "queries")
        verdict = f"It stands: {_count(found.found, 'triple')} found again, {run_again} run again."
    notes = []
    if found.is_of_other_graphs:
        notes.append(f"answered from {', '.join(found.answer.graphs)}, but checked on {', '.join(found.graphs)}")
    changed = [
        f"{item.marker}: " + (item.why or f"{_count(len(item.gone), 'answer')} gone, {len(item.new):,} new")
        for item in found.items
        if item.verdict in {"changed", "refused"}
    ]
    return {"verdict": verdict, "notes": notes, "gone": [str(triple) for triple in found.gone], "changed": changed}


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
