"""Reading JSON that was written by hand, so to say: one pass over the text, whatever is in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Found", "Scan", "scan"]

_MAX_DEPTH = 100
_OPENING = re.compile(r"[\[{]")
_BRACKET = re.compile(r"[\[\]{}]")
_BRACKET_OR_STRING = re.compile(r'[\[\]{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_GAP = re.compile(r"(?:\s++|//[^\n]*+)*+")

# A quote ends a string only where JSON could go on after it: a model forgets to escape those inside. Possessive
# throughout (++, *+), so that no text makes the reading more than linear.
_END = r"(?=\s*(?:[,:}\]\"]|//|\Z)|[^\S\n]*\n)"
_NOT_END = _END.replace("(?=", "(?!", 1)
_STRINGS = {
    '"': re.compile(rf'"((?:[^"\\]++|\\.|"{_NOT_END})*+)"', re.DOTALL),
    "'": re.compile(rf"'((?:[^'\\]++|\\.|'{_NOT_END})*+)'", re.DOTALL),
    "“": re.compile(r"“((?:[^“”\\]++|\\.)*+)[”“]", re.DOTALL),
    "„": re.compile(r"„((?:[^“”\\]++|\\.)*+)[”“]", re.DOTALL),
    "”": re.compile(r"”((?:[^“”\\]++|\\.)*+)[”“]", re.DOTALL),
    "‘": re.compile(rf"‘((?:[^’\\]++|\\.|’{_NOT_END})*+)’", re.DOTALL),
}
_BARE_KEY = re.compile(r"([A-Za-z_]\w*+|\d{1,9}+)\s*+:(?!//)")
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?=[\s,\]}]|//)")
_LITERAL = re.compile(r"(-?\w++)(?=[\s,\]}]|//|\Z)")
_LITERALS: dict[str, Any] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False, "null": None,
    "None": None, "undefined": None, "NaN": float("nan"), "nan": float("nan"), "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}  # fmt: skip
# What only an object can hold without quotes, since prose in brackets looks like an array of it.
_DECIMAL_COMMA = re.compile(r"[01],\d++(?=\s*[,}])")
_DECIMAL_COMMA_CUT = re.compile(r"[01],\d*+\Z")
_SHARE = re.compile(r"[-+]?[\d.]++\s?(?:%|/\s?[\d.]++)(?=\s*[,}])")
_WORD = re.compile(r"[A-Za-z_][\w.-]*+(?=\s*[,\]}])")
_CUT_TOKEN = re.compile(r"[-+\w.%/$\\]{0,80}+\s*+\Z")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Cut(Exception):  # noqa: N818 - signals inside this module, never seen outside
    """The text ended inside a value."""


class _Broken(Exception):  # noqa: N818
    """Something that JSON does not have there."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object or array in a text.

    :param value: a ``dict`` or ``list``; ``None`` if nothing of it can be used.
    :param start: where its bracket is; ``end`` is where to look for the next one.
    :param whole: whether it was closed; otherwise the text ended first, and ``value`` has its complete members.
    :param is_json: whether it had a quoted key, or a member; prose in brackets has neither.
    """

    value: Any
    start: int
    end: int
    whole: bool
    is_json: bool

    @property
    def rank(self) -> int:
        """Objects and arrays of objects (2) before other arrays (1), which may cite, and those before empty ones."""
        if isinstance(self.value, dict):
            return 2 if self.value else 0
        return 2 if any(isinstance(member, dict) for member in self.value) else int(bool(self.value))


@dataclass(frozen=True, slots=True)
class Scan:
    """All outermost objects and arrays of a text.

    :param text: what was scanned; where things start and end is said of it.
    :param found: in the order of the text; the last one may be cut.
    :param damaged: whether there was also one that cannot be used.
    """

    text: str
    found: tuple[Found, ...]
    damaged: bool

    @property
    def best(self) -> Found | None:
        """The one that counts: the last of those with the highest rank, a whole one before one that is cut."""
        return max(self.found, key=lambda found: (found.rank, found.whole, found.start), default=None)


def scan(text: str) -> Scan:
    """Find the objects and arrays of a text, in time linear in its length.

    >>> [found.value for found in scan('first {"a": [1, 2,]} then {b: 3} and [12, 1').found]
    [{'a': [1, 2]}, {'b': 3}, [12]]
    """
    found, damaged, at = [], False, 0
    while opening := _OPENING.search(text, at):
        one = _Reader(text, opening.start()).read()
        if one.value is not None:
            found.append(one)
        damaged |= one.value is None and one.is_json
        at = one.end
    return Scan(text, tuple(found), damaged)


def _balanced_end(text: str, start: int) -> int:
    depth = 0
    for bracket in _BRACKET_OR_STRING.finditer(text, start):
        char = text[bracket.start()]
        depth += 1 if char in "[{" else -1 if char in "]}" else 0
        if depth == 0:
            return bracket.end()
    return len(text)


@dataclass(slots=True)
class _Frame:
    items: dict[str, Any] | list[Any]
    key: str | None = None  # of the value that comes next, in an object
    needs_comma: bool = False


@dataclass(slots=True)
class _Reader:
    """Reads one object or array from its bracket on."""

    text: str
    start: int
    at: int = 0
    frames: list[_Frame] = field(default_factory=list)
    is_json: bool = False
    mended: bool = False

    def read(self) -> Found:
        self.at = self.start
        self._open(self.text[self.at])
        try:
            while (value := self._step()) is None:
                pass
        except _Cut:
            value = self._closed()
            # An empty one at the very end of prose may as well be part of the prose, but nobody can tell.
            return Found(value, self.start, len(self.text), whole=False, is_json=True)
        except _Broken:
            # What is inside something broken is no answer of its own; what is inside brackets in prose may be.
            end = _balanced_end(self.text, self.start) if self.is_json else max(self.at, self.start + 1)
            return Found(None, self.start, end, whole=False, is_json=self.is_json)
        return Found(value, self.start, self.at, whole=True, is_json=True)

    def _step(self) -> dict[str, Any] | list[Any] | None:
        """Read one token; the outermost container, once it is closed."""
        gap = _GAP.match(self.text, self.at)
        line_break = gap is not None and "\n" in gap.group()
        self.at = gap.end() if gap else self.at
        if self.at >= len(self.text):
            raise _Cut
        char, frame = self.text[self.at], self.frames[-1]
        if char in "]}":
            return self._close(dict if char == "}" else list)
        if char == ",":
            if frame.key is not None:
                raise _Broken
            frame.needs_comma = False
            self.at += 1
        elif frame.needs_comma and not (line_break or (char in "[{" and isinstance(frame.items, list))):
            raise _Broken
        elif isinstance(frame.items, dict) and frame.key is None:
            frame.key, frame.needs_comma = self._key(char), False
        elif char in "[{":
            self._open(char)
        else:
            self._put(self._scalar(char))
        return None

    def _open(self, char: str) -> None:
        if len(self.frames) >= _MAX_DEPTH:
            raise _Broken
        self.frames.append(_Frame({} if char == "{" else []))
        self.at += 1

    def _close(self, kind: type) -> dict[str, Any] | list[Any] | None:
        while True:
            if not self.frames or self.frames[-1].key is not None:
                raise _Broken
            items = self.frames.pop().items
            if self.frames:
                self._put(items)
            if isinstance(items, kind):
                break
            self.mended = True
        self.at += 1
        if not self.frames and self.mended and _BRACKET.search(self.text, self.at):
            raise _Broken  # a bracket is missing, and it is not certain where
        return None if self.frames else items

    def _put(self, value: Any) -> None:
        frame = self.frames[-1]
        if isinstance(frame.items, list):
            frame.items.append(value)
        elif frame.key is not None:
            frame.items[frame.key] = value
        frame.key, frame.needs_comma, self.is_json = None, True, True

    def _key(self, char: str) -> str:
        if char in _STRINGS:
            key = self._string(char)
            gap = _GAP.match(self.text, self.at)
            self.at = gap.end() if gap else self.at
            if self.at >= len(self.text):
                raise _Cut
            if self.text[self.at] != ":":
                raise _Broken
            self.at += 1
            self.is_json = True
            return key
        if bare := _BARE_KEY.match(self.text, self.at):
            self.at = bare.end()
            return bare.group(1)
        raise self._failure()

    def _scalar(self, char: str) -> Any:
        if char in _STRINGS:
            return self._string(char)
        in_object = isinstance(self.frames[-1].items, dict)
        if in_object and _DECIMAL_COMMA_CUT.match(self.text, self.at):
            raise _Cut
        if in_object and (decimal := _DECIMAL_COMMA.match(self.text, self.at)):
            return self._taken(decimal)
        if number := _NUMBER.match(self.text, self.at):
            return _number(self._taken(number))
        literal = _LITERAL.match(self.text, self.at)
        if literal and literal.group() in _LITERALS:
            return _LITERALS[self._taken(literal)]
        if any(isinstance(frame.items, dict) for frame in self.frames):
            word = _WORD.match(self.text, self.at) or _SHARE.match(self.text, self.at)
            if word:
                return self._taken(word)
        raise self._failure()

    def _taken(self, match: re.Match[str]) -> str:
        self.at = match.end()
        return match.group()

    def _string(self, quote: str) -> str:
        string = _STRINGS[quote].match(self.text, self.at)
        if string is None:
            raise _Cut
        self.at = string.end()
        return _unescaped(string.group(1))

    def _failure(self) -> Exception:
        """A token that the end of the text cut, or one that is wrong."""
        return _Cut() if _CUT_TOKEN.match(self.text, self.at) else _Broken()

    def _closed(self) -> dict[str, Any] | list[Any] | None:
        """The outermost container with the members that were complete; ``None`` if there are none."""
        while True:
            items = self.frames.pop().items
            if not self.frames:
                return items or None
            if items:
                self._put(items)


def _number(token: str) -> int | float:
    digits = token.lstrip("+-")
    if digits.isdecimal() and len(digits) <= 4000:  # where Python stops
        return int(token)
    return float(token)


def _unescaped(string: str) -> str:
    if "\\" in string:
        string = _ESCAPE.sub(_escape, string)
    if _SURROGATE.search(string):
        string = string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return string


def _escape(match: re.Match[str]) -> str:
    name = match.group(1)
    if len(name) == 5:
        return chr(int(name[1:], 16))
    if name in _ESCAPES:
        return _ESCAPES[name]
    return f"\\{name}" if name.isalnum() else name
