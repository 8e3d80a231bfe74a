"""Find citations in a text of a model, write them in one way, and remove those whose marker is not known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from kgsparql.dataclasses import dataclass

_END = r"(?![A-Za-z0-9])"
_BETWEEN = r"\s?(?:[,;/&|+、，和与–—-]|\band\b)?\s?"


def _run_of_markers(one: str, before: str = "") -> re.Pattern[str]:
    """Compile a pattern of one or more markers and what stands between them."""
    return re.compile(rf"{before}(?:{one}){_END}(?:{_BETWEEN}(?:{one}){_END})*+")


# The letters of our own markers cite also without square brackets.
_BEFORE = r"(?<![\w/#.:-])"
_ONLY = _run_of_markers(r"[A-Za-z]\s?[0-9]{1,6}|[0-9]{1,3}")
_OURS = _run_of_markers(r"[PNTQ]\s?[0-9]{1,6}", _BEFORE)
_BARE = _run_of_markers(r"[PNTQ][0-9]{1,6}", _BEFORE)
_SQUARE = re.compile(r"\s?[\[【〔［]{1,2}([^\[\]【】〔〕［］]{1,200})[\]】〕］]{1,2}")
_ROUND = re.compile(r"\s?[({（]([^(){}（）]{1,200})[)}）]")
_TOKEN = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]?)\s?(\d{1,6})(?![A-Za-z0-9])")
_FULL_WIDTH = re.compile(r"(?<!\w)[PNTQＰＮＴＱ]\s?[0-9０-９]{1,6}(?!\w)")
_EDGES = " ,;:./&|+、，"


@dataclass(frozen=True, slots=True)
class CitedText:
    """Text as it is shown, and the markers it cites.

    :param text: with every citation as ``[P1, N2]``, without unknown markers.
    :param known: markers that exist, each once; ``unknown``: markers that do not.
    """

    text: str
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def cited_text(text: str, known: Collection[str]) -> CitedText:
    """Find what a text cites: every marker in brackets, and P1, N1, T1 … anywhere.

    >>> cited_text("He did [p01 and P99], as N2 says.", ["P1", "N2"])
    CitedText(text='He did [P1], as N2 says.', known=('P1', 'N2'), unknown=('P99',))
    """
    found: dict[str, None] = {}
    unknown: dict[str, None] = {}

    def known_markers(run: str) -> str:
        markers = _markers_in(run)
        unknown.update(dict.fromkeys(m for m in markers if m not in known))
        found.update(dict.fromkeys(m for m in markers if m in known))
        return ", ".join(m for m in markers if m in known)

    def square(match: re.Match[str]) -> str:
        inside = match[1].strip(_EDGES)
        if not _ONLY.fullmatch(inside) and not _OURS.search(inside):
            return match[0]
        runs = _ONLY if _ONLY.fullmatch(inside) else _OURS
        left = runs.sub(lambda run: known_markers(run[0]), inside).strip(_EDGES)
        return f" [{left}]" if left else ""

    def round_(match: re.Match[str]) -> str:
        if not _OURS.fullmatch(match[1].strip()):
            return match[0]
        left = known_markers(match[1])
        return f" [{left}]" if left else ""

    def bare(match: re.Match[str]) -> str:
        left = known_markers(match[0])
        return match[0] if all(m in known for m in _markers_in(match[0])) else left or "[…]"

    text = _FULL_WIDTH.sub(lambda marker: unicodedata.normalize("NFKC", marker[0]), text)
    shown = _SQUARE.sub(square, text)
    return CitedText(_BARE.sub(bare, _ROUND.sub(round_, shown)).strip(), tuple(found), tuple(unknown))


def _markers_in(run: str) -> list[str]:
    """Read the markers of a run, in one spelling, each once."""
    return list(dict.fromkeys(f"{letter.upper()}{int(number)}" for letter, number in _TOKEN.findall(run)))
