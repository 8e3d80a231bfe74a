"""The tokens of a SPARQL text, without parsing it: linear time, no recursion, limits before anything else.

A parser may only see a text that was found harmless here. But a parser may cut the text elsewhere than the
specification does: Oxigraph 0.5 reads characters, not tokens, so that it takes ``ASKFROM <g> {}`` for ``ASK FROM``, and
``?a<?b#>`` for a comparison and a comment where the specification sees an IRI. A text with two readings is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgsparql.errors import LimitError, QuerySyntaxError
from kgsparql.rdf.terms import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """How large a query may be.

    Each is well below the number that crashes Oxigraph 0.5 (stack of 8 MiB): 2,000 nested groups, 4,500 nested
    parentheses, 2,000 described IRIs, 5,000 BIND or MINUS, 10,000 conditions or path alternatives; or that keeps its
    planner busy for seconds: 200 OPTIONAL or groups, 500 path steps.

    :param length: characters.
    :param depth: brackets, or prefix operators, inside one another.
    :param tokens: tokens outside the data of ``VALUES`` and ``IN``.
    :param data: terms inside ``VALUES`` and ``IN``.
    :param unbracketed: terms and variables outside all brackets, as after ``DESCRIBE``.
    :param regex: characters of a regular expression when its counted repetitions are written out.
    """

    length: int = 1_000_000
    depth: int = 100
    tokens: int = 4_000
    data: int = 10_000
    unbracketed: int = 500
    optionals: int = 100
    unions: int = 200
    conditions: int = 500
    alternatives: int = 500
    steps: int = 100
    regex: int = 10_000


class SparqlToken(NamedTuple):
    """A token, where it starts, and the index of the token that opened the bracket around it (-1 for none)."""

    kind: str
    text: str
    start: int
    owner: int

    @property
    def word(self) -> str:
        """The keyword in capitals; empty for any other token."""
        return self.text.upper() if self.kind == "word" else ""


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"{_BASE}_0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CHARS = rf"{_NAME}\-"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_ECHAR = r"""\\[tbnrf\\"']"""
# The length of prefixes and labels is bounded, and so is how far the scanner backtracks.
_PREFIX = rf"(?:[{_BASE}](?:[{_CHARS}.]{{0,200}}[{_CHARS}])?)?"
_TOKEN = re.compile(
    rf"""
    (?P<space>(?:[ \t\r\n]|\#[^\r\n]*)++)
    |(?P<iri><[^<>"{{}}|^`\\\x00-\x20]*+>)
    |(?P<string>'''(?:'{{0,2}}(?:[^'\\]|{_ECHAR}))*+'''|\"\"\"(?:"{{0,2}}(?:[^"\\]|{_ECHAR}))*+\"\"\"
        |'(?:[^'\\\r\n]|{_ECHAR})*+'|"(?:[^"\\\r\n]|{_ECHAR})*+")
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*+(?:--[A-Za-z]+)?)
    |(?P<blank>_:[{_BASE}_0-9](?:[{_CHARS}.]{{0,1000}}[{_CHARS}])?)
    |(?P<name>{_PREFIX}:(?:(?:[{_BASE}_:0-9]|{_ESCAPED})(?:(?:[{_CHARS}.:]|{_ESCAPED}){{0,2000}}(?:[{_CHARS}:]|{_ESCAPED}))?)?)
    |(?P<variable>[?$][{_BASE}_0-9][{_NAME}]*+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<sign>\|\||&&|\^\^|<=|>=|!=|<<|>>|\{{\||\|\}}|[{{}}()\[\];,.+\-*/<>=!^|~?])
    """,
    re.VERBOSE,
)
_CLOSING = {"(": ")", "{": "}", "[": "]", "<<": ">>", "{|": "|}"}
_CLOSERS = frozenset(_CLOSING.values())
_PREFIX_OPERATORS = frozenset(("!", "+", "-", "^", "^^"))
_TERMS = frozenset(("iri", "name", "blank", "variable", "number", "string", "language"))
_CODEPOINT = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPES = {'"': r"\"", "'": r"\'", "\\": r"\\", "\n": r"\n", "\r": r"\r"}

# What follows "<" where that could also be a comparison, and what would then hide something from this scanner.
_OPERAND = re.compile(r"[?$+\-!(='.0-9#]|true|false|[^:/?#]*:(?!//)|\w+\(", re.IGNORECASE)
_HIDING = re.compile(r"['#(\[!]|.{500}")


def place(text: str, offset: int) -> str:
    r"""Return line and column of an offset, from 1.

    >>> place("ab\ncd", 4)
    '2:2'
    """
    return f"{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


def syntax_error(message: str, text: str, offset: int, *, hint: str = "") -> QuerySyntaxError:
    """Make a syntax error that says where."""
    line, column = place(text, offset).split(":")
    return QuerySyntaxError(f"line {line}:{column}: {message}", hint=hint, line=int(line), column=int(column))


def too_much(message: str, limit: str) -> LimitError:
    """Make the error for a query over one of its limits."""
    return LimitError(message, hint="ask for less at once", limit=limit)


def without_codepoint_escapes(text: str) -> str:
    r"""Decode ``\uXXXX`` and ``\UXXXXXXXX``: in SPARQL 1.1 they stand for characters anywhere.

    A quote, backslash or line end becomes an escape of a string, so that it cannot end the string it stands in.

    :raises QuerySyntaxError: for an escape that stands for no character.

    >>> without_codepoint_escapes(r"S\u0045RVICE"), without_codepoint_escapes(r"'\\u0045'")
    ('SERVICE', "'\\\\u0045'")
    """

    def decoded(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]  # an escaped backslash: what follows it is not an escape
        codepoint = int(digits, 16)
        if codepoint > 0x10FFFF or 0xD800 <= codepoint <= 0xDFFF:
            raise syntax_error(f"no character has the code {match[0]}", text, match.start())
        return _ESCAPES.get(chr(codepoint), chr(codepoint))

    return _CODEPOINT.sub(decoded, text)


def tokenise(text: str, limits: QueryLimits) -> list[SparqlToken]:
    """Split a text into its tokens, without white space and comments.

    :raises LimitError: if the text is larger or nested deeper than the limits.
    :raises QuerySyntaxError: for a character that starts no token, or a bracket without its partner.
    """
    return _Scanner(text, limits).tokens()


class _Scanner:
    def __init__(self, text: str, limits: QueryLimits) -> None:
        self._text = text
        self._limits = limits
        self._found: list[SparqlToken] = []
        self._open: list[int] = []
        self._data: dict[int, str] = {}  # opening token of data, and the keyword it belongs to
        self._awaits = ""  # VALUES or IN, until its data opens
        self._run = self._counted = self._in_data = 0

    def tokens(self) -> list[SparqlToken]:
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self._error_at(
                    f"{printable(self._text[position], 10)!r} starts nothing that SPARQL knows", position
                )
            kind, found = match.lastgroup or "", match[0]
            if kind == "string" and len(found) == 2 and self._text[position + 2 : position + 3] == found[0]:
                raise self._error_at(f"the string that starts with {found[0] * 3} does not end", position)
            position = match.end()
            if kind != "space":
                self._add_token(kind, found, match.start())
        if self._open:
            opened = self._found[self._open[-1]]
            raise self._error_at(f"{opened.text} is never closed", opened.start)
        return self._found

    def _error_at(self, message: str, offset: int, **detail: Any) -> QuerySyntaxError:
        return syntax_error(message, self._text, offset, **detail)

    def _add_token(self, kind: str, found: str, start: int) -> None:
        if kind == "iri":
            self._refuse_ambiguous_iri(found, start)
        if found in _CLOSERS and kind == "sign":
            self._close_bracket(found, start)
        token = SparqlToken(kind, found, start, self._open[-1] if self._open else -1)
        self._found.append(token)
        self._count_token(token)
        if kind == "sign" and found in _CLOSING:
            self._open_bracket(found, start)
        elif self._awaits == "IN" or (self._awaits and kind != "variable" and found not in {"(", ")"}):
            self._awaits = ""
        if token.word in {"VALUES", "IN"}:
            self._awaits = token.word

    def _count_token(self, token: SparqlToken) -> None:
        if token.owner in self._data and (token.kind in _TERMS or token.text in {"(", ")", ",", "^^"} or token.word):
            self._in_data += token.kind in _TERMS or bool(token.word)
            self._run = 0
        else:
            self._counted += 1
            self._run = self._run + len(token.text) if token.text in _PREFIX_OPERATORS else 0
        for name, number in (("tokens", self._counted), ("data", self._in_data), ("depth", self._run)):
            self._refuse_over(name, number, token.start)

    def _refuse_over(self, name: str, number: int, offset: int) -> None:
        most = getattr(self._limits, name)
        if number > most:
            what = {"tokens": "the query has more than {} tokens", "data": "VALUES and IN hold more than {} terms",
                    "depth": "nesting is deeper than {}"}[name].format(f"{most:,}")  # fmt: skip
            raise too_much(f"{what}, at {place(self._text, offset)}", name)

    def _open_bracket(self, found: str, start: int) -> None:
        index, outer = len(self._found) - 1, self._open[-1] if self._open else -1
        if (self._awaits, found) in {("VALUES", "{"), ("IN", "(")}:
            self._data[index] = self._awaits
        elif found == "(" and self._data.get(outer) == "VALUES":
            self._data[index] = "VALUES"
        if (self._awaits, found) != ("VALUES", "("):
            self._awaits = ""
        self._open.append(index)
        self._refuse_over("depth", len(self._open), start)

    def _close_bracket(self, found: str, start: int) -> None:
        opened = self._found[self._open.pop()] if self._open else None
        if opened is None or _CLOSING[opened.text] != found:
            expected = f"{_CLOSING[opened.text]} is expected for {opened.text}" if opened else "nothing is open"
            raise self._error_at(f"{found} here, but {expected}", start)

    def _refuse_ambiguous_iri(self, found: str, start: int) -> None:
        """Refuse an IRI in parentheses after an operand where ``<`` may also compare and start an expression."""
        inner = self._open[-1] if self._open else -1
        if inner < 0 or self._found[inner].text != "(" or self._data.get(inner) == "VALUES":
            return
        previous = self._found[-1]
        is_operand = previous.kind in _TERMS or previous.word in {"TRUE", "FALSE"} or previous.text in _CLOSERS
        if is_operand and _OPERAND.match(found[1:]) and _HIDING.search(found):
            hint = "write a space after < to compare, or give the IRI a prefix"
            raise self._error_at(f"{printable(found, 40)} is an IRI or a comparison", start, hint=hint)
