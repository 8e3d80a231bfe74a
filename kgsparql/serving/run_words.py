"""What a page says of a run in words: its sentences, what it cost, and whether it still stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgsparql.linking.words import counted

if TYPE_CHECKING:
    from kgsparql.answering.recheck import Recheck

_OPTIONS = re.compile(r" \(-e .*?\)(?=,| or |;|$)")
_WAY_OUT = "ask again with a name as the graph has it"
_CITATION = r"\s?\[[A-Z]\d+(?:, [A-Z]\d+)*\]"
_CITED = re.compile(r"\s?\[([A-Z]\d+(?:, [A-Z]\d+)*)\]")
_END = re.compile(rf"[.!?][\"')\]]*(?:{_CITATION})*\s+(?=\S)")
_ABBREVIATION = re.compile(r"(?:^|[\s.(])(?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|No|vs|ca|e\.g|i\.e|etc)\.$|^\s*\d+\.$")
_INITIAL = re.compile(r"(?:^|[\s.(])(\w)\.$")


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
    parts = [counted(usage["queries"], "query", "queries"), counted(usage["rows"], "solution"), *_model_words(usage)]
    if usage["seconds"] is not None:
        parts.append(f"{usage['seconds']:.2f} s")
    if left_out:
        parts.append(f"{counted(left_out, 'step')} not kept")
    return " · ".join(parts)


def _model_words(usage: Mapping[str, Any]) -> list[str]:
    if not usage["model_calls"]:
        return ["no model calls"]
    kept = f" ({counted(usage['cached_calls'], 'kept reply', 'kept replies')})" if usage["cached_calls"] else ""
    tokens = f"{counted(usage['prompt_tokens'], 'token')} in, {usage['completion_tokens']:,} out"
    cost = "cost unknown (no prices)" if usage["cost"] is None else f"cost {usage['cost']}"
    return [counted(usage["model_calls"], "model call") + kept, tokens, cost]


def recheck_words(found: Recheck) -> dict[str, Any]:
    """The verdict, what else is to be known of it, the triples that are gone, and the evidence that changed."""
    if not found.stands:
        verdict = "It does not stand any more."
    elif not found.is_whole:
        verdict = "What could be checked stands; not all could be checked."
    else:
        run_again = counted(len(found.items), "query", "queries")
        verdict = f"It stands: {counted(found.found, 'triple')} found again, {run_again} run again."
    notes = []
    if found.is_of_other_graphs:
        notes.append(f"answered from {', '.join(found.answer.graphs)}, but checked on {', '.join(found.graphs)}")
    changed = [
        f"{item.marker}: " + (item.why or f"{counted(len(item.gone), 'answer')} gone, {len(item.new):,} new")
        for item in found.items
        if item.verdict in {"changed", "refused"}
    ]
    return {"verdict": verdict, "notes": notes, "gone": [str(triple) for triple in found.gone], "changed": changed}


def said_by(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    r"""The lines of an answer's text: whether each is an aside, and its sentences: ``parts`` and ``rests``.

    A part is text, or a list of markers. Only a sentence that a model wrote may rest on nothing.

    :param answer: the JSON object of an answer.

    >>> claims = [{"text": "She moved.", "markers": ["P1"]}]
    >>> text = "Born in Warsaw [P1, N2]. She moved. Nobody knows.\n(ranked)"
    >>> lines = said_by({"text": text, "model": "m", "status": "answered", "claims": claims})
    >>> [[sentence["rests"] for sentence in line["sentences"]] for line in lines], lines[0]["sentences"][0]["parts"]
    ([[True, True, False], [True]], ['Born in Warsaw', ['P1', 'N2'], '.'])
    """
    is_written = bool(answer["model"]) and answer["status"] != "not_in_graph"
    lines = []
    for line in filter(str.strip, answer["text"].split("\n")):
        is_aside = re.fullmatch(r"\(.*\)", line.strip()) is not None
        told = [
            {"parts": _parts(one), "rests": is_aside or not is_written or _rests(one, answer["claims"])}
            for one in sentences(line)
        ]
        lines.append({"is_aside": is_aside, "sentences": told})
    return lines


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line, each with the citations behind its full stop; initials and abbreviations end none.

    >>> list(sentences("J. Doe (e.g. Dr. X) left. [P1] She stayed. 2. No."))
    ['J. Doe (e.g. Dr. X) left. [P1]', 'She stayed.', '2. No.']
    """
    begun = 0
    for end in _END.finditer(line):
        before = line[begun : end.start() + 1]
        initial = _INITIAL.search(before)
        if _ABBREVIATION.search(before) or (initial and initial[1].isupper()):
            continue
        yield line[begun : end.end()].rstrip()
        begun = end.end()
    yield line[begun:]


def _parts(sentence: str) -> list[str | list[str]]:
    """Text and markers in their order; without those that are empty."""
    pieces: Sequence[str] = _CITED.split(sentence)  # text and citations take turns
    return [piece.split(", ") if at % 2 else piece for at, piece in enumerate(pieces) if piece]


def _rests(sentence: str, claims: Sequence[Mapping[str, Any]]) -> bool:
    if _CITED.search(sentence) or not re.search(r"\w{2}", sentence):
        return True
    text = sentence.strip()
    return any(claim["markers"] and (text in claim["text"] or claim["text"] in text) for claim in claims)
