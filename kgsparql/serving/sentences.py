"""The sentences of an answer, each with its citations, and whether it rests on anything that was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_CITATION = r"\s?\[[A-Z]\d+(?:, [A-Z]\d+)*\]"
_CITED = re.compile(r"\s?\[([A-Z]\d+(?:, [A-Z]\d+)*)\]")
_END = re.compile(rf"[.!?][\"')\]]*(?:{_CITATION})*\s+(?=\S)")
_ABBREVIATION = re.compile(r"(?:^|[\s.(])(?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|No|vs|ca|e\.g|i\.e|etc)\.$|^\s*\d+\.$")
_INITIAL = re.compile(r"(?:^|[\s.(])(\w)\.$")


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
