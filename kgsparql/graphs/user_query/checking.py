"""Checks of a SPARQL text that it must pass before any parser may see it: linear time, no recursion.

A parser may cut a text elsewhere than the specification does: Oxigraph 0.5 reads characters, not tokens, so that it
takes ``ASKFROM <g> {}`` for ``ASK FROM``, and ``?a<?b#>`` for a comparison and a comment where the specification sees
an IRI. A text with two readings is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias, cast, get_args

from kgsparql.dataclasses import frozen
from kgsparql.errors import ForbiddenQueryError, InputError, LimitError, QuerySyntaxError
from kgsparql.rdf.query import prologue
from kgsparql.rdf.terms import IRI, PrefixMap, printable

Form: TypeAlias = OneOf["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
_FORBIDDEN = frozenset("SERVICE LOAD FROM INSERT DELETE CLEAR DROP CREATE COPY MOVE ADD WITH USING NAMED INTO".split())
_GLUED = ("SERVICE", "FROM", "INSERT", "DELETE", "LOAD")
# Words are allowed by name, because Oxigraph 0.5 also takes two keywords that are written as one: ``ASKFROM <g> {}``.
_WORDS = frozenset(
    """A ABS ADJUST AS ASC ASK AVG BASE BIND BNODE BOUND BY CEIL COALESCE CONCAT CONSTRUCT CONTAINS COUNT DATATYPE DAY
    DESC DESCRIBE DISTINCT ENCODE_FOR_URI EXISTS FALSE FILTER FLOOR GRAPH GROUP GROUP_CONCAT HASLANG HASLANGDIR HAVING
    HOURS IF IN IRI ISBLANK ISIRI ISLITERAL ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LANGMATCHES LATERAL LCASE LIMIT MAX
    MD5 MIN MINUS MINUTES MONTH NOT NOW OBJECT OFFSET OPTIONAL ORDER PREDICATE PREFIX RAND REDUCED REGEX REPLACE ROUND
    SAMETERM SAMPLE SECONDS SELECT SEPARATOR SHA1 SHA256 SHA384 SHA512 STR STRAFTER STRBEFORE STRDT STRENDS STRLANG
    STRLANGDIR STRLEN STRSTARTS STRUUID SUBJECT SUBSTR SUM TIMEZONE TRIPLE TRUE TZ UCASE UNDEF UNION URI UUID VALUES
    VERSION WHERE YEAR""".split()
)
_HINT = "only SELECT, ASK, CONSTRUCT and DESCRIBE are run, and over nothing but the graph that is open"
_PAIR = "write the other one of the pair, or leave both out"
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
_LIMITS = {"length": (1_000_000, "longer in characters than"), "depth": (100, "nested deeper than"),
           "tokens": (20_000, "longer in tokens than")}  # fmt: skip
"""Below what ends Oxigraph 0.5 (2,000 nested groups, 10,000 conditions), or nearly so: what is below these and ends the
engine all the same ends a process of its own."""


@frozen
class CheckedQuery:
    """A query that :func:`check` found harmless to parse and run.

    :param text: the text to run: codepoint escapes decoded, declarations added for known prefixes that it uses.
    :param added: number of these declarations; each is a line before the user's text.
    """

    form: Form
    text: str
    added: int = 0


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


def check(text: str, *, prefixes: PrefixMap | None = None) -> CheckedQuery:
    r"""Check SPARQL typed by a user or written by a model, without parsing it. The engine finds other errors.

    :param prefixes: declared where the text uses them and does not declare them; the shipped ones by default.
    :raises LimitError: if it is too long, too deep, or has too many tokens.
    :raises ForbiddenQueryError: if it is an update, names its own dataset, or asks another server.
    :raises QuerySyntaxError: if it cannot be SPARQL.

    >>> print(check("SELECT * { ?s rdfs:label 'SERVICE' }").text)
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    SELECT * { ?s rdfs:label 'SERVICE' }
    >>> check("SELECT * { ?s ?p ?o } # comment\n; DROP ALL")
    Traceback (most recent call last):
    ...
    kgsparql.errors.ForbiddenQueryError: line 2:3: DROP is not run here
    """
    _refuse_over("length", len(text))
    decoded = _without_codepoint_escapes(text.removeprefix("\ufeff"))
    tokens = tokenise(decoded)
    _refuse_forbidden(tokens, decoded)
    form = _form_of(tokens, decoded)
    added = prologue(_undeclared_prefixes(tokens, decoded, dict(prefixes or PrefixMap.default())))
    return CheckedQuery(form, added + decoded, added.count("\n"))


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _syntax_error(message: str, text: str, offset: int, *, hint: str = _HINT) -> QuerySyntaxError:
    line, column = _line_and_column(text, offset)
    return QuerySyntaxError(f"line {line}:{column}: {message}", hint=hint, line=line, column=column)


def _without_codepoint_escapes(text: str) -> str:
    r"""Decode ``\uXXXX`` and ``\UXXXXXXXX``: in SPARQL 1.1 they stand for characters anywhere.

    A quote, backslash or line end becomes an escape of a string, so that it cannot end the string it stands in.
    """

    def decoded(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]  # an escaped backslash: what follows it is not an escape
        codepoint = int(digits, 16)
        if codepoint > 0x10FFFF or 0xD800 <= codepoint <= 0xDFFF:
            raise _syntax_error(f"no character has the code {match[0]}", text, match.start())
        return _ESCAPES.get(chr(codepoint), chr(codepoint))

    return _CODEPOINT.sub(decoded, text)


def tokenise(text: str) -> list[SparqlToken]:
    """Split a text into its tokens, without white space and comments."""
    found: list[SparqlToken] = []
    opened: list[int] = []
    position = operators = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _syntax_error(f"{printable(text[position], 10)!r} starts nothing that SPARQL knows", text, position)
        kind, part, start, position = match.lastgroup or "", match[0], position, match.end()
        if kind == "space":
            continue
        if kind == "string" and len(part) == 2 and text[position : position + 1] == part[0]:
            raise _syntax_error(f"the string that starts with {part[0] * 3} does not end", text, start)
        if kind == "sign" and part in _CLOSERS:
            partner = found[opened.pop()].text if opened else ""
            if _CLOSING.get(partner) != part:
                expected = f"{_CLOSING[partner]} is expected for {partner}" if partner else "nothing is open"
                raise _syntax_error(f"{part} here, but {expected}", text, start, hint=_PAIR)
        token = SparqlToken(kind, part, start, opened[-1] if opened else -1)
        if kind == "iri" and _is_ambiguous_iri(token, found):
            hint = "write a space after < to compare, or give the IRI a prefix"
            raise _syntax_error(f"{printable(part, 40)} is an IRI or a comparison", text, start, hint=hint)
        found.append(token)
        if kind == "sign" and part in _CLOSING:
            opened.append(len(found) - 1)
        operators = operators + len(part) if part in _PREFIX_OPERATORS else 0
        _refuse_over("depth", max(operators, len(opened)))
        _refuse_over("tokens", len(found))
    if opened:
        raise _syntax_error(f"{found[opened[-1]].text} is never closed", text, found[opened[-1]].start, hint=_PAIR)
    return found


def _refuse_over(name: str, number: int) -> None:
    most, words = _LIMITS[name]
    if number > most:
        raise LimitError(f"the query is {words} {most:,}", hint="ask for less at once", limit=name)


def _is_ambiguous_iri(token: SparqlToken, before: Sequence[SparqlToken]) -> bool:
    """Tell whether the ``<`` of an IRI in parentheses after an operand may also compare and start an expression."""
    if token.owner < 0 or before[token.owner].text != "(" or _is_row_of_values(before, token.owner):
        return False
    previous = before[-1]
    is_operand = previous.kind in _TERMS or previous.word in {"TRUE", "FALSE"} or previous.text in _CLOSERS
    return is_operand and bool(_OPERAND.match(token.text[1:]) and _HIDING.search(token.text))


def _is_row_of_values(tokens: Sequence[SparqlToken], opened: int) -> bool:
    """Tell whether a parenthesis opens a row of ``VALUES (?a ?b) { … }``."""
    i = tokens[opened].owner - 1
    if i < 0 or tokens[i + 1].text != "{" or tokens[i].text != ")":
        return False
    i -= 1
    while tokens[i].kind == "variable":
        i -= 1
    return tokens[i].text == "(" and tokens[i - 1].word == "VALUES"


def _refuse_forbidden(tokens: Sequence[SparqlToken], text: str) -> None:
    for i, token in enumerate(tokens):
        found: str | None = ""
        if token.kind == "word" and token.word not in _WORDS:
            word = token.word
            found = word if word in _FORBIDDEN else next((part for part in _GLUED if part in word), None)
        elif token.kind in {"name", "blank"}:
            found = _clause_in_name(tokens, i)
        if found is None:
            is_iri = text[: token.start].endswith("<")
            hint = "an IRI has no spaces; to find one by its name: kgsparql find TEXT" if is_iri else _HINT
            raise _syntax_error(f"{printable(token.text, 40)} is not a word of SPARQL", text, token.start, hint=hint)
        if found:
            line, column = _line_and_column(text, token.start)
            raise ForbiddenQueryError(f"line {line}:{column}: {found} is not run here", hint=_HINT, word=found)


def _clause_in_name(tokens: Sequence[SparqlToken], i: int) -> str:
    """Return the clause that Oxigraph 0.5 may see in a name, which it cuts in two; empty for none.

    It reads ``SERVICE:p {`` as a SERVICE clause where no triple can stand; ``a:b.c.SERVICE ?v {``, and
    ``a:SERVICE ?v {`` when the IRI of ``a:SERVICE`` is not valid, as the end of a triple and a SERVICE clause;
    ``ASK FROM:g {`` as FROM.
    """
    token, upper = tokens[i], tokens[i].text.upper()
    following = [*tokens[i + 1 : i + 3], token, token]
    before = tokens[i - 1].word if i else ""
    if "SERVICE" in upper:
        opens = following[0].text == "{" and before != "GRAPH"
        if opens or (following[1].text == "{" and following[0].kind in {"name", "iri", "variable"}):
            return "SERVICE"
    return "FROM" if "FROM" in upper and token.owner < 0 and before != "PREFIX" else ""


def _form_of(tokens: Sequence[SparqlToken], text: str) -> Form:
    """Return the first word after the prologue, checked."""
    i = 0
    lengths = {"PREFIX": 3, "BASE": 2, "VERSION": 2}
    while i < len(tokens) and tokens[i].word in lengths:
        i += lengths[tokens[i].word]
    if i >= len(tokens):
        raise QuerySyntaxError("there is no query", hint=_HINT)
    word = tokens[i].word
    if word not in get_args(Form):
        shown = printable(tokens[i].text, 40)
        raise _syntax_error(f"a query does not start with {shown}", text, tokens[i].start)
    return cast("Form", word)


def _undeclared_prefixes(
    tokens: Sequence[SparqlToken], text: str, known: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the known prefixes that are used and not declared, in the order of their first use."""
    declared = {
        token.text[:-1] for before, token in pairwise(tokens) if before.word == "PREFIX" and token.text.endswith(":")
    }
    for token in tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == "name" and prefix not in declared:
            if prefix not in known:
                hint = "declare it before the query, or write the IRI in full"
                shown = printable(prefix, 40)
                raise _syntax_error(f"the prefix {shown}: is not declared", text, token.start, hint=hint)
            declared.add(prefix)
            yield prefix, known[prefix]


def iris_of(query: CheckedQuery) -> list[IRI]:
    """List the IRIs that are terms in a query, as it names no graphs, datatypes and functions.

    >>> [iri.value for iri in iris_of(check("SELECT * { ?s a dbo:City ; <http://e.org/at> '1'^^xsd:date }"))]
    ['http://dbpedia.org/ontology/City', 'http://e.org/at']
    """
    tokens, declared, found = tokenise(query.text), dict[str, str](), dict[IRI, None]()
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1], tokens[(i + 1) % len(tokens)]
        is_term = before.word not in {"PREFIX", "BASE", "GRAPH"} and before.text != "^^" and after.text != "("
        if tokens[i - 2].word == "PREFIX":
            declared[before.text[:-1]] = token.text[1:-1]
        elif token.kind in {"iri", "name"} and is_term:
            with suppress(InputError):  # of a base
                found[PrefixMap(declared).expand(re.sub(r"\\(.)", r"\1", token.text))] = None
    return [*found]
