"""Choices in replies that are not JSON: numbered lines, tables, comma lists; names of candidates, and scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_VALUE = (
    r"[-+−]?(?:\d{1,30}(?:[.,]\d{1,30})?|[.,]\d{1,30})(?:[eE][-+]?\d{1,4})?(?:\s?%|\s?/\s?\d{1,9}(?:[.,]\d{1,9})?)?"
)
# Without the word for it, only what looks like a score is one: a label may end in (1998).
_SHARE = r"(?:[01]?[.,]\d{1,30}|[01]|\d{1,3}(?:[.,]\d{1,9})?\s?%|\d{1,3}(?:[.,]\d{1,9})?\s?/\s?\d{1,3})"
_NAMED = re.compile(
    rf"[(\[{{]?\s*\b(?:score|relevance|confidence|probability)\b[*_]*\s*(?::|=|is\b|of\b)?[*_]*\s*"
    rf"(?P<value>{_VALUE}|(?<=[:=])\s?[a-z]{{1,20}}|(?<=[:=]\s)[a-z]{{1,20}})[*_]*\s*[)\]}}]?",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    rf"(?:[(\[]\s?(?P<inside>{_SHARE})\s?[)\]]|(?:^|[:=|,]\s?|\s[-–—]\s)(?P<after>{_SHARE}))\s?[.;,*]{{0,3}}$"
)
_NUMBER = re.compile(rf"{_VALUE}")
_MARKS = " \t\r\n\"'“”‘’„«»`*{}<>"
_BEFORE_NAME = re.compile(r"[/#:.](?=\S)")
_MAX_NAME = 1000


def without_marks(text: str) -> str:
    """The text without the quotes, braces and emphasis around it.

    >>> without_marks("**{capital of}**")
    'capital of'
    """
    return text.strip(_MARKS)


def score_of(value: Any) -> float | None:
    """A score, clipped to 0 … 1; ``None`` for anything else.

    >>> [score_of(value) for value in (0.4, "0,4", "40%", "9/10", 1e9, "-1", "NaN", "high", None)]
    [0.4, 0.4, 0.4, 0.9, 1.0, 0.0, None, None, None]
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = _as_float(value) if isinstance(value, str) else value
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return None
    return float(min(max(number, 0), 1))


def _as_float(text: str) -> float | None:
    bare = text.strip(_MARKS + "()[]").replace("−", "-")
    if len(bare) > 100 or not _NUMBER.fullmatch(bare):
        return None
    share, _, whole = bare.replace(",", ".").removesuffix("%").partition("/")
    divisor = float(whole) if whole else 100.0 if bare.endswith("%") else 1.0
    return float(share) / divisor if divisor else None


def split_score(text: str) -> tuple[str, str | None]:
    """A text without its score, and the score in it or behind it, as it is written.

    >>> split_score("capital of (Score: 0.4)"), split_score("capital of: 40%"), split_score("World Cup (1998)")
    (('capital of', '0.4'), ('capital of', '40%'), ('World Cup (1998)', None))
    """
    if len(text) > _MAX_NAME:
        return text, None
    if spelled_out := list(_NAMED.finditer(text)):
        named = spelled_out[-1]
        return text[: named.start()].strip(" \t-–—:|,;"), named.group("value").strip()
    text = text.rstrip()
    trailing = _TRAILING.search(text)
    if trailing is None:
        return text, None
    return text[: trailing.start()].rstrip(" \t-–—:=|,"), trailing.group("inside") or trailing.group("after")


class Names:
    """The names of numbered candidates; case, underscores, quotes and braces do not matter.

    >>> names = Names(["capital of", "capital", "part of", "part_of"])
    >>> names.numbers("wiki.relation.Capital_of"), names.numbers("part of"), names.numbers("capitals")
    ((1,), (3, 4), ())
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers: dict[str, tuple[int, ...]] = {}
        for number, name in enumerate(names, 1):
            if key := _key(name):
                self._numbers[key] = (*self._numbers.get(key, ()), number)
        self._keys = [_key(name) for name in names]

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def numbers(self, text: str) -> tuple[int, ...]:
        """The candidates of this name, which may follow a namespace; of the longest name that fits."""
        if len(text) > _MAX_NAME:
            return ()
        key = _key(text)
        if key in self._numbers or not key:
            return self._numbers.get(key, ())
        space = key.find(" ")
        for separator in list(_BEFORE_NAME.finditer(key))[:20]:
            if 0 <= space < separator.start():
                break
            if found := self._numbers.get(key[separator.end() :]):
                return found
        return ()

    def mentions(self, text: str, number: int) -> bool:
        """Whether the text contains the name of this candidate, as whole words."""
        key = self._keys[number - 1] if number <= len(self._keys) else ""
        return bool(key) and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", _key(text[:_MAX_NAME])) is not None


def _key(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").split()).strip(_MARKS).rstrip(".,;:").strip(_MARKS)


_MAX_LINE = 1000  # longer lines are prose, unless they are lists with commas
_BULLET = re.compile(r"^\s*(?:>|[-*•+–‣]\s|#{1,6}\s)?\s*(?:\[[ xX]\]\s)?")
# A number and what makes it the number of a choice; "3.5", "10:30" and "1998 FIFA World Cup" are none.
_MARKER = re.compile(
    r"^(?:[(\[#]|no\.?\s|number\s)?\s*(?P<number>-?\d{1,9})(?P<mark>\s*\*{0,2}(?:[)\]]|[.:](?!\d)|:(?=[01]?[.,]\d)"
    r"|\s[-–—](?=\s)|[|=]|(?=\(|\[)|$))[*.:]{0,3}\s*",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"^[(\[#]?\s?(-?\d{1,9})\s?[)\].]?$")
_LEAD_IN = re.compile(r"^([^:\d]{1,100}):\s+(\S.*)$")
_VERB = re.compile(r"\b(?:is|are)\b:?\s+")
_SEPARATOR = re.compile(r"[,;](?!\d)\s*(?:and\s+|&\s*)?|,(?=\d)|\s+(?:and|&)\s+|\s>\s")
_BRACED = re.compile(r"\{([^{}]{1,300})\}\s{0,3}(\([^()]{1,40}\))?")
_QUOTED = re.compile(r"(?<!\w)([\"'“‘`])([^\"“”‘’`]{1,300}?)[\"'”’`](?!\w)")
_TABLE_RULE = re.compile(r"^[\s|:+-]+$")
_NONE = {
    "none", "no", "nothing", "none of them", "none of these", "none of the above", "none of the candidates", "n/a",
    "no relevant candidates", "empty", "[]",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedChoice:
    """One choice as the model wrote it.

    :param number: of the candidate; ``None`` for none that can be read.
    :param name: beside the number, or instead of it.
    :param score: as written; ``None`` for none.
    :param is_marker: whether the number begins a line, where it may also count the lines of the reply.
    """

    number: int | None
    name: str = ""
    score: Any = None
    is_marker: bool = False


def says_none(text: str) -> bool:
    """Whether a text says only that nothing on the list is right."""
    return " ".join(without_marks(text).casefold().split()).strip(" .!\"'") in _NONE


def choice_of_text(text: str, names: Names) -> ListedChoice | None:
    """The choice in a few words: ``3``, ``3. capital of (0.8)``, ``capital of: 40%``; ``None`` for anything else."""
    if len(text) > _MAX_LINE:
        return None
    bare = _BULLET.sub("", text, count=1).strip().strip("*_`").strip()
    if names.numbers(bare):
        return ListedChoice(None, without_marks(bare))
    if integer := _INTEGER.match(without_marks(bare)):
        return ListedChoice(int(integer.group(1)))
    marker = _MARKER.match(bare)
    rest = bare[marker.end() :] if marker else bare
    if braced := _BRACED.match(rest):
        rest = braced.group(1) + (braced.group(2) or "")
    name, score = ("", None) if not rest else (rest, None) if names.numbers(rest) else split_score(rest)
    name = without_marks(name)
    if marker is None:
        return ListedChoice(None, name, score) if names.numbers(name) else None
    choice = ListedChoice(int(marker.group("number")), name, score, is_marker=True)
    return choice if _is_choice(choice, marker.group("mark"), rest, names) else None


def _is_choice(choice: ListedChoice, mark: str, rest: str, names: Names) -> bool:
    """Whether a line that begins with a number is a choice, not a sentence in a numbered list."""
    if not mark.strip(" *") and rest:
        return not choice.name  # "3 (0.8)" is a choice, "3 (three) of them" is not
    if choice.score is not None or not choice.name or names.numbers(choice.name):
        return True
    if names:
        return choice.number is not None and choice.number > 0 and names.mentions(choice.name, choice.number)
    return len(choice.name.split()) <= 12 and not choice.name.endswith((".", "!", "?"))


def choices_of_text(text: str, names: Names) -> list[ListedChoice | None]:
    """The choices in a text that is not JSON, ``None`` for each that cannot be read; none in prose."""
    choices: list[ListedChoice | None] = []
    for line in text.splitlines():
        bare = line.strip()
        if not bare or says_none(bare):
            continue
        if bare.count("|") >= 2 and len(bare) <= _MAX_LINE:
            row = _choice_of_row([without_marks(cell) for cell in bare.strip("|").split("|")], names)
            if row is not None or (choices and not _TABLE_RULE.match(bare)):  # the head comes before the first row
                choices.append(row)
        else:
            choices.extend(_choices_of_line(bare, names))
    return choices


def _choices_of_line(line: str, names: Names) -> list[ListedChoice | None]:
    if (choice := choice_of_text(line, names)) is not None:
        return [choice]
    if names and len(line) <= _MAX_LINE:
        braced = [choice_of_text(f"{inner} {score}".strip(), names) for inner, score in _BRACED.findall(line)]
        if any(choice is not None for choice in braced):
            return list(braced)
    lead_in = _LEAD_IN.match(line)
    listed = _choices_of_list(lead_in.group(2) if lead_in else _BULLET.sub("", line, count=1), names)
    if listed or not names or len(line) > _MAX_LINE:
        return listed
    if quoted := [name for _, name in _QUOTED.findall(line) if names.numbers(name)]:
        return [ListedChoice(None, name) for name in quoted]
    verb = _VERB.search(line)
    parts = _SEPARATOR.split(line[verb.end() :].strip()) if verb else []
    return [ListedChoice(None, part) for part in parts] if all(names.numbers(part) for part in parts) else []


def _choices_of_list(text: str, names: Names) -> list[ListedChoice | None]:
    """The choices of a line of numbers or names between commas; none if it is a sentence."""
    parts = [part for part in _SEPARATOR.split(text.strip().rstrip(".")) if part.strip()]
    choices = [choice_of_text(part, names) for part in parts]
    read = [choice for choice in choices if choice is not None]
    if not read or not all(choice.number is None or not choice.name for choice in read):
        return []
    unread = [part for part, choice in zip(parts, choices, strict=True) if choice is None]
    is_list = all(len(part.split()) <= 4 and not re.search(r"[A-Za-z]\W+\d|\d\s+[A-Za-z]", part) for part in unread)
    return choices if is_list else []


def _choice_of_row(cells: list[str], names: Names) -> ListedChoice | None:
    """The choice of a table row: its first whole number, its last cell that is a score, its first other cell."""
    number = next((cell for cell in cells if _INTEGER.match(cell)), None)
    others = [cell for cell in cells if cell and cell is not number]
    score = next((cell for cell in reversed(others) if split_score(cell)[1] == cell), None)
    name = next((cell for cell in others if cell is not score), "")
    if number is None:
        return ListedChoice(None, name, score) if names.numbers(name) else None
    return ListedChoice(int(number.strip("()[].# ")), name, score, is_marker=True)
